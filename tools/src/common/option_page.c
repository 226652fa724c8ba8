/* option_page.c - see option_page.h. The library's options are grouped by the methods that read them. */
#include "tools/src/common/option_page.h"
#include "tools/src/common/text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH = 79 /* columns of plain text */ };

struct page {
  enum form { PLAIN, MARKDOWN, MAN } form;
  int indent, column;   /* of plain text */
  bool begun, sentence; /* the paragraph has words; the last one ends a sentence */
  const struct tool_option_list *list;
  const karst_context *known; /* whose methods are listed; NULL: the library's own */
};

static void put_character(const struct page *page, char c)
{
  static const char special[] = "-\\'^~`";
  static const char *const roff[] = {"\\-", "\\e", "\\(aq", "\\(ha", "\\(ti", "\\(ga"};
  const char *found = page->form == MAN ? strchr(special, c) : NULL;
  if (found && c)
    fputs(roff[found - special], stdout);
  else
    putchar(c);
}

static void put_characters(const struct page *page, const char *text, size_t length)
{
  for (size_t i = 0; i < length; i++) put_character(page, text[i]);
}

/* The length of an option's name, --NAME, at the beginning of length characters; 0 if they do not begin with one. */
static size_t name_length(const char *text, size_t length)
{
  size_t end = strncmp(text, "--", 2) == 0 ? 2 + strspn(text + 2, "abcdefghijklmnopqrstuvwxyz-.") : 0;
  if (end > length) end = length;
  while (end > 2 && text[end - 1] == '.') end--;
  return end > 2 ? end : 0;
}

/* Puts a word, in which the name of an option stands out, behind a blank or on a new line. */
static void put_word(struct page *page, const char *word, size_t length)
{
  static const char *const begin[] = {"", "`", "\\fB"}, *const end[] = {"", "`", "\\fR"};
  const bool breaks = page->form == PLAIN ? page->column + (int)length >= WIDTH : page->form == MAN && page->sentence;
  if (page->begun) putchar(breaks ? '\n' : ' ');
  if (page->begun && breaks && page->form == PLAIN) page->column = printf("%*s", page->indent, "") - 1;
  if (page->form == MAN && (!page->begun || breaks) && strchr(".'", word[0])) fputs("\\&", stdout);
  for (size_t i = 0, name; i < length; i += name ? name : 1) {
    name = name_length(word + i, length - i);
    if (name) fputs(begin[page->form], stdout);
    put_characters(page, word + i, name ? name : 1);
    if (name) fputs(end[page->form], stdout);
  }
  page->column += (int)length + 1;
  page->begun = true;
  page->sentence = word[length - 1] == '.';
}

static void put_words(struct page *page, const char *text)
{
  text += strspn(text, " ");
  for (size_t length; *text; text += length + strspn(text + length, " ")) {
    length = strcspn(text, " ");
    put_word(page, text, length);
  }
}

/* Begins a paragraph of plain text at the column indent; first: how much of its first line is there already. */
static void begin(struct page *page, int indent, int first)
{
  page->indent = page->column = indent;
  page->begun = page->sentence = false;
  if (page->form == PLAIN) printf("%*s", indent - first, "");
}

/* The paragraph on an option or a method: its help as a sentence, more sentences, and the default. */
static void put_help(struct page *page, const char *help, const char *details, const char *default_value, bool capital)
{
  char text[256];
  const size_t length = strlen(help);
  snprintf(text, sizeof text, "%s%s", help, length && help[length - 1] == '.' ? "" : ".");
  if (capital) text[0] = (char)toupper((unsigned char)text[0]);
  put_words(page, text);
  if (details) put_words(page, details);
  snprintf(text, sizeof text, "Default: %s.", default_value);
  if (default_value[0]) put_words(page, text);
  putchar('\n');
}

static void put_heading(const struct page *page, const char *title)
{
  static const char *const before[] = {"\n", "\n## ", ".SS \""}, *const after[] = {":\n", "\n\n", "\"\n"};
  fputs(before[page->form], stdout);
  put_characters(page, title, strlen(title));
  fputs(after[page->form], stdout);
}

/* Puts the form of a value in a man page: words that are typed are bold, placeholders in capitals are italic. */
static void put_value(const struct page *page, const char *value)
{
  while (*value) {
    const size_t length = isalnum((unsigned char)*value) ? strspn(value, "abcdefghijklmnopqrstuvwxyz"
                                                                         "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.")
                                                         : 0;
    const bool placeholder = isupper((unsigned char)value[0]) && !islower((unsigned char)value[1]);
    if (length) fputs(placeholder ? "\\fI" : "\\fB", stdout);
    put_characters(page, value, length ? length : 1);
    if (length) fputs("\\fR", stdout);
    value += length ? length : 1;
  }
}

/* Puts the form of a value in plain text on lines of its own, broken behind a bar. */
static void put_lines(const char *value)
{
  int column = WIDTH;
  for (size_t length; *value; value += length) {
    length = strcspn(value, "|");
    length += value[length] == '|';
    if (column + (int)length > WIDTH) column = printf("\n      ") - 1;
    column += printf("%.*s", (int)length, value);
  }
  putchar('\n');
}

static void put_option(struct page *page, const struct tool_option *option)
{
  const char *gap = option->value[0] ? " " : "";
  if (page->form == MAN) {
    fputs(".TP\n\\fB\\-\\-", stdout);
    put_characters(page, option->name, strlen(option->name));
    printf("\\fR%s", gap);
    put_value(page, option->value);
    putchar('\n');
  } else if (page->form == PLAIN && strlen(option->name) + strlen(option->value) >= WIDTH - 4) {
    printf("  --%s", option->name);
    put_lines(option->value);
  } else {
    printf(page->form == PLAIN ? "  --%s%s%s\n" : "- **`--%s%s%s`**: ", option->name, gap, option->value);
  }
  begin(page, 6, 0);
  put_help(page, option->help, option->details, option->default_value, true);
}

/* The methods that an option chooses from, as a list below it. */
static void put_methods(struct page *page, const char *option)
{
  const char *name, *help, *details;
  for (size_t i = 0; (name = karst_options_method(page->known, option, i, &help, &details)); i++) {
    if (page->form == MAN) {
      fputs(i ? ".TP\n.B " : ".RS\n.TP\n.B ", stdout);
      put_characters(page, name, strlen(name));
      putchar('\n');
    }
    const int first = page->form == MAN ? 0 : printf(page->form == PLAIN ? "      %s: " : "  - `%s`: ", name);
    begin(page, 10 > first ? 10 : first, first);
    put_help(page, help, details, "", false);
  }
  if (page->form == MAN && karst_options_method(page->known, option, 0, NULL, NULL)) puts(".RE");
}

/* Appends to title which methods of one kind read an option, each chosen in turn; base is chosen again then. */
static karst_status name_readers(const struct page *page, karst_options *options, const char *kind, const char *base,
                                 const char *option, char *title, size_t size)
{
  const char *name;
  karst_status status = KARST_SUCCESS;
  size_t readers = 0;
  for (size_t i = 0; !status && (name = karst_options_method(page->known, kind, i, NULL, NULL)); i++) {
    status = karst_options_set(options, kind, name);
    if (status || !karst_options_used(options, option)) continue;
    if (readers++)
      tool_append(title, size, ", %s", name);
    else
      tool_append(title, size, "%s --%s %s", *title ? " or" : "With", kind, name);
  }
  return status ? status : karst_options_set(options, kind, base);
}

/* The title of the group of an option: the methods that read it. */
static karst_status make_title(const struct page *page, const char *option, char *title, size_t size)
{
  static const char *const kind[][2] = {{"solver", "auto"}, {"ordering", "natural"}, {"precond", "none"}};
  enum { KINDS = sizeof kind / sizeof kind[0] };
  karst_options *options;
  karst_status status = karst_options_create(page->list->context, &options);
  for (int k = 0; k < KINDS && !status; k++) status = karst_options_set(options, kind[k][0], kind[k][1]);
  const bool all = !status && karst_options_used(options, option);
  snprintf(title, size, "%s", all ? "Every solver" : "");
  for (int k = 0; k < KINDS && !status && !all; k++)
    status = name_readers(page, options, kind[k][0], kind[k][1], option, title, size);
  karst_options_destroy(options);
  return status;
}

/* The options of the library. A command that takes lists of values has karst-solve explain them. */
static karst_status put_library(struct page *page)
{
  const bool brief = page->list->command->take != NULL;
  char title[256], last[256] = "";
  karst_option_info row;
  karst_status status = KARST_SUCCESS;
  for (size_t i = 0; !status && karst_options_info(page->known, i, &row); i++) {
    if (row.experiment && page->form != MARKDOWN) continue;
    const struct tool_option option = {.name = row.name,
                                       .value = row.value,
                                       .default_value = row.default_value,
                                       .help = row.help,
                                       .details = brief ? NULL : row.details};
    status = make_title(page, row.name, title, sizeof title);
    if (strcmp(title, last) != 0) put_heading(page, title);
    memcpy(last, title, sizeof last);
    put_option(page, &option);
    if (row.experiment) puts("  For experiments: only programs and `--set` of bench take it.");
    if (!brief) put_methods(page, row.name);
  }
  return status;
}

/* The options of the command itself, and behind them help and version, which are the last of the list. */
static void put_own(struct page *page)
{
  const struct tool_command *command = page->list->command;
  const char *const *group = command->groups;
  for (const struct tool_option *own = command->options; own->name; own++) {
    if (group && *group && strcmp(group[0], own->name) == 0) {
      put_heading(page, group[1]);
      group += 2;
    }
    put_option(page, own);
  }
  put_option(page, &tool_help);
  put_option(page, &tool_version);
}

static void put_introduction(struct page *page)
{
  const struct tool_command *command = page->list->command;
  if (page->form == MAN)
    puts(".SH OPTIONS\n.\\\" \"make options-doc\" writes this section as --help=man prints it: change the rows "
         "instead.");
  if (page->form == MARKDOWN)
    printf("# Options\n\n<!-- \"make options-doc\" writes this page by %s --help=markdown: change the rows "
           "instead. -->\n\nThese are the options of the command %s.%s\n\n",
           tool_name(), tool_name(),
           command->library_options
               ? " Those below \"Every solver\" belong to the library: karst_options_set takes them "
                 "by the same names, and so do compare and `--set` of bench."
               : "");
  begin(page, 0, 0);
  put_words(page, "Write --name VALUE or --name=VALUE. Arguments behind -- are operands, also if they begin with a "
                  "hyphen.");
  put_words(page, command->take ? "Options of the methods take a list of values with commas between them; for integers "
                                  "A..B stands for all from A to B. karst-solve explains these options."
                                : "If an option is given twice, the last value counts.");
  putchar('\n');
}

int tool_option_page(const struct tool_option_list *list, const char *form)
{
  static const char *const forms[] = {[PLAIN] = "options", [MARKDOWN] = "markdown", [MAN] = "man"};
  struct page page = {.form = PLAIN, .list = list};
  while (page.form <= MAN && strcmp(forms[page.form], form) != 0) page.form++;
  if (page.form > MAN) return tool_fail(TOOL_FAILED, "--help takes options, markdown or man, not '%s'", form);
  if (page.form == PLAIN) page.known = list->context;
  put_introduction(&page);
  put_own(&page);
  const karst_status status = list->command->library_options ? put_library(&page) : KARST_SUCCESS;
  return status ? tool_fail_library(list->context, status) : TOOL_YES;
}
