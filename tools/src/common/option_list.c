/* option_list.c - see option_list.h. The library finds an option by its number only by counting through its tables,
 * which is too slow for each line of a file. */
#include "tools/src/common/option_list.h"
#include "support/nearest.h"

#include <stdlib.h>
#include <string.h>

const struct tool_option tool_help = {
    .name = "help",
    .value = "",
    .default_value = "",
    .help = "print a line for each option; so does -h. --help=options explains them all",
    .details =
        "--help=markdown and --help=man print the same as the page doc/options.md and the section OPTIONS of the "
        "man page."};
const struct tool_option tool_version = {
    .name = "version", .value = "", .default_value = "", .help = "print the version and what it was built with"};

/* Whether the first length characters of name are the option known; '-' and '_' are equal. */
static bool is_named(const char *name, size_t length, const char *known)
{
  if (strlen(known) != length) return false;
  for (size_t i = 0; i < length; i++)
    if (name[i] != known[i] && !(name[i] == '_' && known[i] == '-')) return false;
  return true;
}

static size_t count_own(const struct tool_command *command)
{
  size_t own = 0;
  while (command->options[own].name) own++;
  return own;
}

int tool_option_list_make(karst_context *context, const struct tool_command *command, struct tool_option_list *list)
{
  const size_t own = count_own(command);
  karst_option_info known;
  size_t rows = 0;
  while (command->library_options && karst_options_info(context, rows, &known)) rows++;
  *list = (struct tool_option_list){.context = context,
                                    .command = command,
                                    .option = malloc((own + rows + 2) * sizeof *list->option),
                                    .row = malloc((rows + 1) * sizeof *list->row)};
  if (!list->option || !list->row) return tool_fail_memory("the list of options");
  for (size_t i = 0; i < own; i++) list->option[list->count++] = command->options[i];
  for (; list->rows < rows && karst_options_info(context, list->rows, &list->row[list->rows]); list->rows++) {
    const karst_option_info *row = &list->row[list->rows];
    if (row->experiment) continue;
    list->option[list->count++] = (struct tool_option){
        .name = row->name, .value = row->value, .default_value = row->default_value, .help = row->help};
  }
  list->option[list->count++] = tool_help;
  list->option[list->count++] = tool_version;
  return TOOL_GO_ON;
}

void tool_option_list_free(struct tool_option_list *list)
{
  free(list->option);
  free(list->row);
  *list = (struct tool_option_list){0};
}

/* The option of the library that the first length characters of name mean, or NULL. */
static const karst_option_info *find_row(const struct tool_option_list *list, const char *name, size_t length)
{
  for (size_t i = 0; i < list->rows; i++)
    if (is_named(name, length, list->row[i].name)) return &list->row[i];
  return NULL;
}

/* An option such as first.level, which the library checks: here only the first part must be an option that has others
 * inside. The last part gives the form of its value; options for experiments are not listed. */
static bool find_inside(const struct tool_option_list *list, const char *name, size_t length,
                        struct tool_option *option)
{
  const char *point = memchr(name, '.', length), *last = point;
  const karst_option_info *outer = point ? find_row(list, name, (size_t)(point - name)) : NULL;
  if (!outer || outer->kind != KARST_OPTION_PRECOND) return false;
  for (const char *c = point; c < name + length; c++)
    if (*c == '.') last = c + 1;
  const karst_option_info *inner = find_row(list, last, (size_t)(name + length - last));
  *option =
      (struct tool_option){.name = name, .value = inner ? inner->value : "VALUE", .default_value = "", .help = ""};
  return !inner || !inner->experiment;
}

bool tool_option_find(const struct tool_option_list *list, const char *argument, struct tool_option *option,
                      const char **value)
{
  const char *name = argument + 2, *equals = strchr(name, '=');
  const size_t length = equals ? (size_t)(equals - name) : strlen(name);
  *value = equals ? equals + 1 : NULL;
  for (size_t i = 0; i < list->count; i++)
    if (is_named(name, length, list->option[i].name)) {
      *option = list->option[i];
      return true;
    }
  return find_inside(list, name, length, option);
}

static const char *name_of(const void *user, size_t i)
{
  const struct tool_option_list *list = user;
  return i < list->count ? list->option[i].name : NULL;
}

const char *tool_option_nearest(const struct tool_option_list *list, const char *argument)
{
  const char *given = argument + strspn(argument, "-");
  return karst_nearest(given, strcspn(given, "="), name_of, list);
}
