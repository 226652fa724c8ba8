/* option_list.h - all options that a command takes, gathered once, and how they are found by their names. */
#ifndef KARST_TOOLS_SRC_COMMON_OPTION_LIST_H
#define KARST_TOOLS_SRC_COMMON_OPTION_LIST_H

#include "tools/src/common/common.h"

struct tool_option_list {
  karst_context *context;
  const struct tool_command *command;
  size_t count;
  struct tool_option *option; /* [count] the command's own, the library's except experiments, help and version */
  size_t rows;
  karst_option_info *row; /* [rows] the library's, experiments too; none where the command takes none */
};

extern const struct tool_option tool_help, tool_version;

/* Gathers the options of a command. Returns TOOL_GO_ON or, where memory is short, an exit status; the caller frees the
 * list after that too. */
int tool_option_list_make(karst_context *context, const struct tool_command *command, struct tool_option_list *list);
void tool_option_list_free(struct tool_option_list *list);

/* The option that an argument --NAME or --NAME=VALUE names; *value: what follows '=', or NULL. The name of an option
 * such as --first.level is part of the argument, up to an '='. */
bool tool_option_find(const struct tool_option_list *list, const char *argument, struct tool_option *option,
                      const char **value);

/* The name of the option that is most like the argument; NULL if no name is near. */
const char *tool_option_nearest(const struct tool_option_list *list, const char *argument);

#endif
