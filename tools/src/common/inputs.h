/* inputs.h - the files that a command may read for a matrix. Commands refuse to overwrite them, and compare notices a
 * change of one. */
#ifndef KARST_TOOLS_SRC_COMMON_INPUTS_H
#define KARST_TOOLS_SRC_COMMON_INPUTS_H

#include "tools/src/common/common.h"

/* Receives a file, which need not exist: what it is, such as "the matrix", and its path, which is valid during the call
 * only. Returns TOOL_GO_ON, or an exit status that ends the search. */
typedef int (*tool_input_function)(void *user, const char *what, const char *path);

/* Calls visit for the file of the name, for those beside it (right-hand sides, PETSc's block size), and for the files
 * that a problem of the gallery names, as in blackoil:60x220x2,perm=FILE. Returns what the last visit has returned, or
 * an exit status after a reported error. */
int tool_each_input(const char *matrix, tool_input_function visit, void *user);

#endif
