/* arguments.c - the command line of the tools: one table of the tool's own options, and the library's table.
 *
 * What --help prints is made from the same tables, so it cannot fall behind. */
#include "common.h"
#include "options_file.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static const struct tool_info help_info = {"help", "", "", "print this text; so does -h"};
static const struct tool_info version_info = {"version", "", "", "print the version and what it was built with"};

/* Whether name, of which length characters count, is the option known; '-' and '_' are alike. */
static bool is_named(const char *name, size_t length, const char *known)
{
  if (strlen(known) != length) return false;
  for (size_t i = 0; i < length; i++)
    if (name[i] != known[i] && !(name[i] == '_' && known[i] == '-')) return false;
  return true;
}

/* Option number i of the library that is not for experiments, or how many there are; false past the last. */
static bool library_info(const karst_context *context, size_t i, struct tool_info *info, size_t *count)
{
  karst_option_info known;
  *count = 0;
  for (size_t n = 0; karst_options_info(context, n, &known); n++) {
    if (known.experiment || (*count)++ != i) continue;
    *info = (struct tool_info){.name = known.name, .default_value = known.default_value, .help = known.help};
    memcpy(info->value, known.value, sizeof info->value);
    return true;
  }
  return false;
}

/* Option number i of the command: its own, then the library's, then help and version; false past the last. */
static bool option_info(const karst_context *context, const struct tool_command *command, size_t i,
                        struct tool_info *info)
{
  size_t own = 0, library = 0;
  while (command->options[own].info.name) own++;
  if (i < own) {
    *info = command->options[i].info;
    return true;
  }
  i -= own;
  if (command->library_options) {
    if (library_info(context, i, info, &library)) return true;
    i -= library;
  }
  *info = i == 0 ? help_info : version_info;
  return i < 2;
}

static void print_methods(const karst_context *context, const char *option, const char *title)
{
  const char *name, *help;
  printf("\n%s:\n", title);
  for (size_t i = 0; (name = karst_options_method(context, option, i, &help)); i++) printf("  %-18s  %s\n", name, help);
}

static void print_help(const karst_context *context, const struct tool_command *command)
{
  struct tool_info info;
  printf("usage: %s %s [options]\n%s\n\noptions:\n", tool_name(), command->operand_names, command->about);
  for (size_t i = 0; option_info(context, command, i, &info); i++) {
    int width = printf("  --%s%s%s", info.name, info.value[0] ? " " : "", info.value);
    if (width > 28) width = printf("\n") - 1;
    printf("%*s%s", 30 - width, "", info.help);
    if (info.default_value[0]) printf(" [%s]", info.default_value);
    printf("\n");
  }
  if (command->library_options) {
    print_methods(context, "solver", "solvers");
    print_methods(context, "precond", "preconditioners");
    print_methods(context, "ordering", "orderings");
  }
  if (command->gallery) printf("\ngallery:\n");
  for (size_t i = 0; command->gallery && karst_gallery_name(i); i++)
    printf("  %-18s  %s\n", karst_gallery_name(i), karst_gallery_help(i));
  printf("\n%s\n", command->exit_statuses);
}

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* Letters to insert, leave out, replace or swap with their neighbour that make a of b, of which length count: the
 * distance of Damerau and Levenshtein, no letter touched twice. Long names count as far apart. */
static size_t distance(const char *a, size_t length, const char *b)
{
  enum { LONGEST = 40 };
  size_t row[3][LONGEST + 1], width = strlen(b);
  if (length > LONGEST || width > LONGEST) return SIZE_MAX;
  for (size_t j = 0; j <= width; j++) row[0][j] = j;
  for (size_t i = 1; i <= length; i++) {
    size_t *now = row[i % 3], *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];
    now[0] = i;
    for (size_t j = 1; j <= width; j++) {
      now[j] = least(last[j - 1] + (a[i - 1] != b[j - 1]), least(last[j], now[j - 1]) + 1);
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) now[j] = least(now[j], before[j - 2] + 1);
    }
  }
  return row[length % 3][width];
}

/* The name of the option that argument may have been meant for, into a place of size; false where none is near. */
static bool find_nearest(const karst_context *context, const struct tool_command *command, const char *argument,
                         char *name, size_t size)
{
  const char *given = argument + strspn(argument, "-");
  size_t length = strcspn(given, "="), nearest = length / 4 + 2;
  struct tool_info info;
  if (length < 2) return false;
  name[0] = '\0';
  for (size_t i = 0; option_info(context, command, i, &info); i++) {
    size_t away = distance(given, length, info.name);
    bool begins = length < strlen(info.name) && strncmp(given, info.name, length) == 0;
    if (begins) away = least(away, 1);
    if (away >= nearest) continue;
    nearest = away;
    snprintf(name, size, "%s", info.name);
  }
  return name[0] != '\0';
}

static int fail_unknown(const karst_context *context, const struct tool_command *command, const char *argument)
{
  char list[1024] = "", name[64];
  size_t used = 0;
  struct tool_info info;
  for (size_t i = 0; option_info(context, command, i, &info) && used < sizeof list; i++)
    used += (size_t)snprintf(list + used, sizeof list - used, "%s--%s", i ? ", " : "", info.name);
  bool near = find_nearest(context, command, argument, name, sizeof name);
  return tool_fail(TOOL_FAILED, "unknown option %s; %s%s%sthe options are %s", argument, near ? "did you mean --" : "",
                   near ? name : "", near ? "? " : "", list);
}

static int set_own(const struct tool_option *option, const char *value)
{
  long long count;
  switch (option->kind) {
  case TOOL_SWITCH:
    *option->to.flag = true;
    break;
  case TOOL_TEXT:
    if (!*value) return tool_fail(TOOL_FAILED, "--%s needs a value that is not empty", option->info.name);
    *option->to.text = value;
    break;
  case TOOL_COUNT:
    if (!tool_integer(value, 1, INT_MAX, &count))
      return tool_fail(TOOL_FAILED, "--%s takes an integer from 1 to %d, not '%s'", option->info.name, INT_MAX, value);
    *option->to.count = (int)count;
    break;
  case TOOL_REAL:
    if (!tool_real(value, option->to.real))
      return tool_fail(TOOL_FAILED, "--%s takes a finite number of 0 or more, not '%s'", option->info.name, value);
    break;
  }
  return TOOL_GO_ON;
}

/* Sets an option, name of length characters, that takes or refuses value as the tables say. */
static int set(karst_context *context, const struct tool_command *command, const struct tool_info *info,
               const char *value)
{
  for (const struct tool_option *option = command->options; option->info.name; option++)
    if (option->info.name == info->name) return set_own(option, value);
  if (command->take) return command->take(command->user, info->name, value);
  karst_status status = karst_options_set(command->library_options, info->name, value);
  if (!status) return TOOL_GO_ON;
  const char *why = command->explain ? command->explain(info->name, value) : NULL;
  return why ? tool_fail(TOOL_FAILED, "--%s %s: %s", info->name, value, why) : tool_fail_library(context, status);
}

/* The option of the library that name means, of which length characters count; false where there is none. */
static bool find_known(const karst_context *context, const char *name, size_t length, karst_option_info *known)
{
  for (size_t n = 0; karst_options_info(context, n, known); n++)
    if (is_named(name, length, known->name)) return true;
  return false;
}

/* An option such as first.level, which the library will be asked for: here the first part has to be one with others
 * inside. The last part says what it takes, and is none for experiments. */
static bool find_inside(const karst_context *context, const char *name, size_t length, struct tool_info *info)
{
  const char *point = memchr(name, '.', length), *last = point;
  karst_option_info known;
  if (!point || !find_known(context, name, (size_t)(point - name), &known) || known.kind != KARST_OPTION_PRECOND)
    return false;
  for (const char *c = point; c < name + length; c++)
    if (*c == '.') last = c + 1;
  *info = (struct tool_info){.name = name, .value = "VALUE", .default_value = "", .help = ""};
  if (!find_known(context, last, (size_t)(name + length - last), &known)) return true;
  memcpy(info->value, known.value, sizeof info->value);
  return !known.experiment;
}

/* The option that an argument --NAME or --NAME=VALUE names; *value: what follows '=', or NULL. The name of
 * --first.level is that of the argument, up to an '='. */
static bool find_option(const karst_context *context, const struct tool_command *command, const char *argument,
                        struct tool_info *info, const char **value)
{
  const char *name = argument + 2, *equals = strchr(name, '=');
  size_t length = equals ? (size_t)(equals - name) : strlen(name);
  *value = equals ? equals + 1 : NULL;
  for (size_t i = 0; option_info(context, command, i, info); i++)
    if (is_named(name, length, info->name)) return true;
  return command->library_options && find_inside(context, name, length, info);
}

/* Handles the option at argv[*i] and advances *i over a value of its own. */
static int take_option(karst_context *context, const struct tool_command *command, int argc, char *argv[], int *i)
{
  char *argument = argv[*i];
  const char *value;
  struct tool_info info;
  if (strcmp(argument, "-h") == 0) {
    print_help(context, command);
    return TOOL_YES;
  }
  if (argument[1] != '-' || !find_option(context, command, argument, &info, &value))
    return fail_unknown(context, command, argument);
  if (value) argument[value - argument - 1] = '\0'; /* ends the name */
  if (!info.value[0] && value) return tool_fail(TOOL_FAILED, "--%s takes no value", info.name);
  if (info.value[0] && !value) {
    if (*i + 1 == argc) return tool_fail(TOOL_FAILED, "--%s needs a value: %s", info.name, info.value);
    value = argv[++*i];
  }
  if (info.name == help_info.name) {
    print_help(context, command);
    return TOOL_YES;
  }
  if (info.name == version_info.name) {
    printf("Karst %s\n%s\n", karst_version(), karst_build_features());
    return TOOL_YES;
  }
  return set(context, command, &info, value);
}

/* Finds the option of the command's own that is called name among the arguments from *i on, and not as the value of
 * another option. Sets *value, which is NULL for a switch or where it is missing, and moves *i behind it. */
static bool find_given(const karst_context *context, const struct tool_command *command, const char *name, int argc,
                       char *argv[], int *i, const char **value)
{
  struct tool_info info;
  while (*i < argc) {
    char *argument = argv[(*i)++];
    if (strncmp(argument, "--", 2) != 0 || !find_option(context, command, argument, &info, value)) continue;
    const bool apart = info.value[0] && !*value && *i < argc;
    if (apart) *value = argv[(*i)++];
    if (strcmp(info.name, name) == 0) return true;
  }
  return false;
}

/* Makes the answer JSON where --json is among the arguments of a command that has it. */
static void look_for_json(const karst_context *context, const struct tool_command *command, int argc, char *argv[])
{
  const char *value;
  int i = 0;
  if (find_given(context, command, "json", argc, argv, &i, &value) && !value) tool_answer_json();
}

/* Takes the option of a line. What a line may not hold is what ends the program or reads another file. */
static int take_line(karst_context *context, const struct tool_command *command, struct tool_options_line *line)
{
  struct tool_info info;
  const char *value;
  int first = 0;
  if (line->argument[0][2] && find_option(context, command, line->argument[0], &info, &value) &&
      (strcmp(info.name, "options") == 0 || info.name == help_info.name || info.name == version_info.name))
    return tool_fail(TOOL_FAILED, "--%s is for the command line alone", info.name);
  int status = take_option(context, command, line->count, line->argument, &first);
  if (status == TOOL_GO_ON && first + 1 < line->count)
    status = tool_fail(TOOL_FAILED, "%s takes no value, and got '%s'", line->argument[0], line->argument[1]);
  return status;
}

/* Sets what a file of options says. Its errors begin with the file and the line. */
static int take_file(karst_context *context, const struct tool_command *command, const char *path)
{
  struct tool_options_file *file;
  char place[512];
  int status = tool_options_read(path, &file);
  for (size_t i = 0; file && i < file->count; i++)
    if (strcmp(file->line[i].argument[0], "--json") == 0)
      look_for_json(context, command, file->line[i].count, file->line[i].argument);
  for (size_t i = 0; file && i < file->count && status == TOOL_GO_ON; i++) {
    snprintf(place, sizeof place, "%s, line %ld", path, file->line[i].number);
    tool_place(place);
    status = take_line(context, command, &file->line[i]);
  }
  tool_place(NULL);
  return status;
}

static int take_files(karst_context *context, const struct tool_command *command, int argc, char *argv[])
{
  const char *path;
  int status = TOOL_GO_ON;
  for (int i = 1; status == TOOL_GO_ON && find_given(context, command, "options", argc, argv, &i, &path);)
    if (path && *path) status = take_file(context, command, path); /* else take_option finds it missing */
  return status;
}

int tool_parse(karst_context *context, const struct tool_command *command, int argc, char *argv[])
{
  int operands = 0;
  look_for_json(context, command, argc - 1, argv + 1); /* also for an error in an argument before it */
  int status = take_files(context, command, argc, argv);
  if (status != TOOL_GO_ON) return status;
  for (int i = 1; i < argc; i++) {
    if (argv[i][0] == '-' && argv[i][1]) {
      status = take_option(context, command, argc, argv, &i);
      if (status != TOOL_GO_ON) return status;
    } else if (operands == command->operand_count) {
      return tool_fail(TOOL_FAILED, "one argument too many, '%s': it takes %s", argv[i], command->operand_names);
    } else {
      command->operand[operands++] = argv[i];
    }
  }
  if (command->operands_given) *command->operands_given = operands;
  if (command->operands_given || operands == command->operand_count) return TOOL_GO_ON;
  return tool_fail(TOOL_FAILED, "it takes %s and got %d argument%s; --help lists the options", command->operand_names,
                   operands, operands == 1 ? "" : "s");
}
