/* option_page.h - prints everything that the rows say about a command's options: as plain text, or for the files made
 * from them. */
#ifndef KARST_TOOLS_SRC_COMMON_OPTION_PAGE_H
#define KARST_TOOLS_SRC_COMMON_OPTION_PAGE_H

#include "tools/src/common/option_list.h"

/* Prints for --help=FORM: "options" is plain text; "markdown" is doc/options.md and "man" the section OPTIONS of the
 * man page, both without methods that a build or a program adds to the library. Returns an exit status. */
int tool_option_page(const struct tool_option_list *list, const char *form);

#endif
