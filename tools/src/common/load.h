/* load.h - loads the matrices and vectors that the tools' arguments name. All functions report their own errors and
 * return TOOL_GO_ON or an exit status. */
#ifndef KARST_TOOLS_SRC_COMMON_LOAD_H
#define KARST_TOOLS_SRC_COMMON_LOAD_H

#include "tools/src/common/common.h"

/* A matrix as the options of the commands ask for it. */
struct tool_request {
  const char *name;     /* a file if one exists, else NAME:SIZES from the gallery */
  int block;            /* 0: the file header's block size or the problem's own */
  bool stored_triangle; /* the triangle that a symmetric file stores is all of it: files that the library reads */
  bool negate, insert_diagonal;
};
/* *rhs, unless rhs is NULL: the right-hand side that comes with the matrix, or NULL. *inserted: the number of blocks of
 * zeros that were inserted on the diagonal. After an error matrix and right-hand side are NULL. */
int tool_load(karst_context *context, const struct tool_request *request, karst_matrix **matrix, karst_vector **rhs,
              karst_index *inserted);

/* Sets what is done with entries of one row and column, as the option --duplicates says: sum or refuse; NULL if it is
 * not given. */
int tool_set_duplicates(karst_context *context, const char *text);

/* Whether a name is a problem of the gallery and no file has it. */
bool tool_is_problem(const char *name);

/* Reports an error if a name is no file and does not begin with a problem of the gallery. */
int tool_check_matrix(const char *name);

/* Makes the exact solution of a problem of the gallery; a file, or a problem without one, is refused. */
int tool_load_exact(karst_context *context, const char *name, karst_vector **exact);
/* Multiplies the matrix by -1, except the unit rows that pad it, and rhs too, so that the solution stays. rhs: the
 * right-hand side that came with the matrix, or NULL. */
int tool_negate(karst_context *context, karst_matrix *matrix, karst_vector *rhs);

/* Whether a file says that it is a dense array, as right-hand sides do. */
bool tool_is_array(const char *path);
/* Copy the first count values of a vector, or the values of a matrix as it stores them, to host memory that the caller
 * frees. */
int tool_vector_to_host(karst_context *context, const karst_vector *vector, int64_t count, double **values);
int tool_matrix_to_host(karst_context *context, const karst_matrix *matrix, double **values);
/* Writes the first count entries of a vector. */
int tool_write_vector(karst_context *context, const karst_vector *vector, int64_t count, const char *path);

#endif
