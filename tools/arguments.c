/* arguments.c - the command line of the tools: one table of the tool's own options, and the library's table.
 *
 * What --help prints is made from the same tables, so it cannot fall behind. */
#include "common.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static const karst_option_info help_info = {"help", "", "", "print this text"};
static const karst_option_info version_info = {"version", "", "", "print the version and what it was built with"};

/* Whether name, of which length characters count, is the option known; '-' and '_' are alike. */
static bool is_named(const char *name, size_t length, const char *known)
{
  if (strlen(known) != length) return false;
  for (size_t i = 0; i < length; i++)
    if (name[i] != known[i] && !(name[i] == '_' && known[i] == '-')) return false;
  return true;
}

/* Option number i of the command: its own, then the library's, then help and version; false past the last. */
static bool option_info(const struct tool_command *command, size_t i, karst_option_info *info)
{
  size_t own = 0, library = 0;
  while (command->options[own].info.name) own++;
  if (i < own) {
    *info = command->options[i].info;
    return true;
  }
  i -= own;
  if (command->library_options) {
    if (karst_options_info(i, info)) return true;
    while (karst_options_info(library, info)) library++;
    i -= library;
  }
  *info = i == 0 ? help_info : version_info;
  return i < 2;
}

static void print_methods(const char *option, const char *title)
{
  const char *name, *help;
  printf("\n%s:\n", title);
  for (size_t i = 0; (name = karst_options_method(option, i, &help)); i++) printf("  %-18s  %s\n", name, help);
}

static void print_help(const struct tool_command *command)
{
  karst_option_info info;
  printf("usage: %s %s [options]\n%s\n\noptions:\n", tool_name(), command->operand_names, command->about);
  for (size_t i = 0; option_info(command, i, &info); i++) {
    int width = printf("  --%s%s%s", info.name, info.value[0] ? " " : "", info.value);
    if (width > 28) width = printf("\n") - 1;
    printf("%*s%s", 30 - width, "", info.help);
    if (info.default_value[0]) printf(" [%s]", info.default_value);
    printf("\n");
  }
  if (command->library_options) {
    print_methods("solver", "solvers");
    print_methods("precond", "preconditioners");
    print_methods("ordering", "orderings");
  }
  if (command->gallery) printf("\ngallery:\n");
  for (size_t i = 0; command->gallery && karst_gallery_name(i); i++)
    printf("  %-18s  %s\n", karst_gallery_name(i), karst_gallery_help(i));
  printf("\n%s\n", command->exit_statuses);
}

static int fail_unknown(const struct tool_command *command, const char *argument)
{
  char list[1024] = "";
  size_t used = 0;
  karst_option_info info;
  for (size_t i = 0; option_info(command, i, &info) && used < sizeof list; i++)
    used += (size_t)snprintf(list + used, sizeof list - used, "%s--%s", i ? ", " : "", info.name);
  return tool_fail(TOOL_FAILED, "unknown option %s; the options are %s", argument, list);
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
static int set(karst_context *context, const struct tool_command *command, const karst_option_info *info,
               const char *value)
{
  for (const struct tool_option *option = command->options; option->info.name; option++)
    if (option->info.name == info->name) return set_own(option, value);
  karst_status status = karst_options_set(context, command->library_options, info->name, value);
  return status ? tool_fail_library(context, status) : TOOL_GO_ON;
}

/* Handles the option at argv[*i] and advances *i over a value of its own. */
static int take_option(karst_context *context, const struct tool_command *command, int argc, char *argv[], int *i)
{
  const char *argument = argv[*i], *name = argument + 2, *value = strchr(name, '=');
  size_t length = value ? (size_t)(value++ - name) : strlen(name), number = 0;
  karst_option_info info;
  if (argument[1] != '-') return fail_unknown(command, argument);
  do {
    if (!option_info(command, number++, &info)) return fail_unknown(command, argument);
  } while (!is_named(name, length, info.name));
  if (!info.value[0] && value) return tool_fail(TOOL_FAILED, "--%s takes no value", info.name);
  if (info.value[0] && !value) {
    if (*i + 1 == argc) return tool_fail(TOOL_FAILED, "--%s needs a value: %s", info.name, info.value);
    value = argv[++*i];
  }
  if (info.name == help_info.name) {
    print_help(command);
    return TOOL_YES;
  }
  if (info.name == version_info.name) {
    printf("Karst %s\n%s\n", karst_version(), karst_build_features());
    return TOOL_YES;
  }
  return set(context, command, &info, value);
}

int tool_parse(karst_context *context, const struct tool_command *command, int argc, char *argv[])
{
  int operands = 0;
  for (int i = 1; i < argc; i++) {
    if (argv[i][0] == '-' && argv[i][1]) {
      int status = take_option(context, command, argc, argv, &i);
      if (status != TOOL_GO_ON) return status;
    } else if (operands == command->operand_count) {
      return tool_fail(TOOL_FAILED, "one argument too many, '%s': it takes %s", argv[i], command->operand_names);
    } else {
      command->operand[operands++] = argv[i];
    }
  }
  if (operands == command->operand_count) return TOOL_GO_ON;
  return tool_fail(TOOL_FAILED, "it takes %s and got %d argument%s; --help lists the options", command->operand_names,
                   operands, operands == 1 ? "" : "s");
}
