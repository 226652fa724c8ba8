/* arguments.c - reads the command line of a command: the command's own table of options, and the library's.
 *
 * --help prints the same tables. */
#include "tools/src/common/common.h"
#include "tools/src/common/option_list.h"
#include "tools/src/common/option_page.h"
#include "tools/src/common/options_file.h"
#include "tools/src/common/text.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static void print_methods(const karst_context *context, const char *option, const char *title)
{
  const char *name, *help;
  printf("\n%s:\n", title);
  for (size_t i = 0; (name = karst_options_method(context, option, i, &help, NULL)); i++)
    printf("  %-18s  %s\n", name, help);
}

static void print_help(const struct tool_option_list *list)
{
  const struct tool_command *command = list->command;
  const karst_context *context = list->context;
  printf("usage: %s %s [options]\n%s\n\noptions:\n", tool_name(), command->operand_names, command->about);
  for (size_t i = 0; i < list->count; i++) {
    const struct tool_option *option = &list->option[i];
    int width = printf("  --%s%s%s", option->name, option->value[0] ? " " : "", option->value);
    if (width > 28) width = printf("\n") - 1;
    printf("%*s%s", 30 - width, "", option->help);
    if (option->default_value[0]) printf(" [%s]", option->default_value);
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

static int fail_unknown_option(const struct tool_option_list *list, const char *argument)
{
  const char *near = tool_option_nearest(list, argument);
  if (near) return tool_fail(TOOL_FAILED, "unknown option %s; did you mean --%s?", argument, near);
  char names[1024] = "";
  for (size_t i = 0; i < list->count; i++)
    tool_append(names, sizeof names, "%s--%s", i ? ", " : "", list->option[i].name);
  return tool_fail(TOOL_FAILED, "unknown option %s; the options are %s", argument, names);
}

/* Sets the member of an option of the command's own. */
static int set_own(const struct tool_option *option, const char *value, void *settings)
{
  void *member = (char *)settings + option->place;
  long long count;
  switch (option->kind) {
  case TOOL_OF_LIBRARY:
    break;
  case TOOL_SWITCH:
    *(bool *)member = true;
    break;
  case TOOL_TEXT:
    if (!*value) return tool_fail(TOOL_FAILED, "--%s needs a value that is not empty", option->name);
    *(const char **)member = value;
    break;
  case TOOL_COUNT:
    if (!tool_integer(value, 1, INT_MAX, &count))
      return tool_fail(TOOL_FAILED, "--%s takes an integer from 1 to %d, not '%s'", option->name, INT_MAX, value);
    *(int *)member = (int)count;
    break;
  case TOOL_REAL:
    if (!tool_real(value, member))
      return tool_fail(TOOL_FAILED, "--%s takes a finite number of 0 or more, not '%s'", option->name, value);
    break;
  }
  return TOOL_GO_ON;
}

/* Sets an option, which takes or refuses the value as the tables say. */
static int set(const struct tool_option_list *list, const struct tool_option *option, const char *value)
{
  const struct tool_command *command = list->command;
  if (option->kind != TOOL_OF_LIBRARY) return set_own(option, value, command->settings);
  if (command->take) return command->take(command->user, option->name, value);
  karst_status status = karst_options_set(command->library_options, option->name, value);
  if (!status) return TOOL_GO_ON;
  const char *why = command->explain ? command->explain(option->name, value) : NULL;
  return why ? tool_fail(TOOL_FAILED, "--%s %s: %s", option->name, value, why)
             : tool_fail_library(list->context, status);
}

/* Handles the option at argv[*i] and advances *i over a value of its own. */
static int take_option(const struct tool_option_list *list, int argc, char *argv[], int *i)
{
  char *argument = argv[*i];
  const char *value;
  struct tool_option option;
  if (strcmp(argument, "-h") == 0) {
    print_help(list);
    return TOOL_YES;
  }
  if (argument[1] != '-' || !tool_option_find(list, argument, &option, &value))
    return fail_unknown_option(list, argument);
  if (value) argument[value - argument - 1] = '\0'; /* ends the name */
  if (option.name == tool_help.name && value) return tool_option_page(list, value);
  if (!option.value[0] && value) return tool_fail(TOOL_FAILED, "--%s takes no value", option.name);
  if (option.value[0] && !value) {
    if (*i + 1 == argc) return tool_fail(TOOL_FAILED, "--%s needs a value: %s", option.name, option.value);
    value = argv[++*i];
  }
  if (option.name == tool_help.name) {
    print_help(list);
    return TOOL_YES;
  }
  if (option.name == tool_version.name) {
    printf("Karst %s\n%s\n", karst_version(), karst_build_features());
    return TOOL_YES;
  }
  return set(list, &option, value);
}

/* Finds the command's own option called name among the arguments from *i on; values of other options do not count. Sets
 * *value, to NULL for a switch or a missing value, and moves *i behind it. */
static bool find_given(const struct tool_option_list *list, const char *name, int argc, char *argv[], int *i,
                       const char **value)
{
  struct tool_option option;
  while (*i < argc) {
    char *argument = argv[(*i)++];
    if (strcmp(argument, "--") == 0) break;
    if (strncmp(argument, "--", 2) != 0 || !tool_option_find(list, argument, &option, value)) continue;
    const bool apart = option.value[0] && !*value && *i < argc;
    if (apart) *value = argv[(*i)++];
    if (strcmp(option.name, name) == 0) return true;
  }
  return false;
}

/* Makes the answer JSON where --json is among the arguments of a command that has it. */
static void look_for_json(const struct tool_option_list *list, int argc, char *argv[])
{
  const char *value;
  int i = 0;
  if (find_given(list, "json", argc, argv, &i, &value) && !value) tool_answer_json();
}

/* Takes the option of a line. Options that end the program or read another file are refused. */
static int take_line(const struct tool_option_list *list, struct tool_options_line *line)
{
  struct tool_option option;
  const char *value;
  int first = 0;
  if (line->argument[0][2] && tool_option_find(list, line->argument[0], &option, &value) &&
      (strcmp(option.name, "options") == 0 || option.name == tool_help.name || option.name == tool_version.name))
    return tool_fail(TOOL_FAILED, "--%s is allowed on the command line only", option.name);
  int status = take_option(list, line->count, line->argument, &first);
  if (status == TOOL_GO_ON && first + 1 < line->count)
    status = tool_fail(TOOL_FAILED, "%s takes no value, but got '%s'", line->argument[0], line->argument[1]);
  return status;
}

/* Sets the options of a file. Its errors begin with the file and the line. */
static int take_file(const struct tool_option_list *list, const char *path)
{
  struct tool_options_file *file;
  char place[512];
  int status = tool_options_read(path, &file);
  for (size_t i = 0; file && i < file->count; i++)
    if (strcmp(file->line[i].argument[0], "--json") == 0)
      look_for_json(list, file->line[i].count, file->line[i].argument);
  for (size_t i = 0; file && i < file->count && status == TOOL_GO_ON; i++) {
    snprintf(place, sizeof place, "%s, line %ld", path, file->line[i].number);
    tool_place(place);
    status = take_line(list, &file->line[i]);
  }
  tool_place(NULL);
  return status;
}

static int take_files(const struct tool_option_list *list, int argc, char *argv[])
{
  const char *path;
  int status = TOOL_GO_ON;
  for (int i = 1; status == TOOL_GO_ON && find_given(list, "options", argc, argv, &i, &path);)
    if (path && *path) status = take_file(list, path); /* else take_option finds it missing */
  return status;
}

static int take_arguments(const struct tool_option_list *list, int argc, char *argv[])
{
  const struct tool_command *command = list->command;
  int operands = 0;
  look_for_json(list, argc - 1, argv + 1); /* also for an error in an argument before it */
  int status = take_files(list, argc, argv);
  if (status != TOOL_GO_ON) return status;
  bool ended = false; /* the options */
  for (int i = 1; i < argc; i++) {
    if (!ended && strcmp(argv[i], "--") == 0) {
      ended = true;
    } else if (!ended && argv[i][0] == '-' && argv[i][1]) {
      status = take_option(list, argc, argv, &i);
      if (status != TOOL_GO_ON) return status;
    } else if (operands == command->operand_count) {
      return tool_fail(TOOL_FAILED, "unexpected argument '%s': the command takes %s", argv[i], command->operand_names);
    } else {
      command->operand[operands++] = argv[i];
    }
  }
  if (command->operands_given) *command->operands_given = operands;
  if (command->operands_given || operands == command->operand_count) return TOOL_GO_ON;
  return tool_fail(TOOL_FAILED, "the command takes %s but got %d argument%s; --help lists the options",
                   command->operand_names, operands, operands == 1 ? "" : "s");
}

int tool_parse(karst_context *context, const struct tool_command *command, int argc, char *argv[])
{
  struct tool_option_list list;
  int status = tool_option_list_make(context, command, &list);
  if (status == TOOL_GO_ON) status = take_arguments(&list, argc, argv);
  tool_option_list_free(&list);
  return status;
}
