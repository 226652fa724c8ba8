/* inputs.c - the files that a matrix is read from; see inputs.h. They are those that karst_matrix_read,
 * karst_vector_read_beside and the gallery look for. */
#include "tools/src/common/inputs.h"

#include "tools/src/common/beside.h"
#include "support/path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A file beside the matrix: its name has to in place of the last from, or behind the name if from is "". A name without
 * from has no such file. */
static int visit_variant(const char *matrix, const char *from, const char *to, const char *what,
                         tool_input_function visit, void *user)
{
  const char *at = matrix + strlen(matrix);
  while (strncmp(at, from, strlen(from)) != 0) {
    if (at == matrix) return TOOL_GO_ON;
    at--;
  }
  char *path = tool_format("%.*s%s%s", (int)(at - matrix), matrix, to, at + strlen(from));
  if (!path) return TOOL_FAILED;
  const int status = visit(user, what, path);
  free(path);
  return status;
}

static int visit_beside(const char *matrix, const char *ending, tool_input_function visit, void *user)
{
  char *path = tool_path_beside(matrix, ending);
  if (!path) return TOOL_FAILED;
  const int status = visit(user, "the right-hand side beside the matrix", path);
  free(path);
  return status;
}

/* The files in NAME:SIZES,key=FILE,key=FILE. A value that is not a file does not matter: no file has its name. */
static int visit_parameters(const char *problem, tool_input_function visit, void *user)
{
  int status = TOOL_GO_ON;
  const char *value = strchr(problem, ':') ? strchr(problem, '=') : NULL;
  for (; value && status == TOOL_GO_ON; value = strchr(value, '=')) {
    value++;
    char *path = tool_format("%.*s", (int)strcspn(value, ","), value);
    status = path ? visit(user, "a file of the problem", path) : TOOL_FAILED;
    free(path);
  }
  return status;
}

int tool_each_input(const char *matrix, tool_input_function visit, void *user)
{
  int status = visit(user, "the matrix", matrix);
  if (status == TOOL_GO_ON) status = visit_beside(matrix, TOOL_BESIDE_PLAIN, visit, user);
  if (status == TOOL_GO_ON) status = visit_beside(matrix, TOOL_BESIDE_PACKED, visit, user);
  if (status == TOOL_GO_ON)
    status = visit_variant(matrix, "matrix_istl", "rhs_istl", "the right-hand side beside the matrix", visit, user);
  if (status == TOOL_GO_ON)
    status = visit_variant(matrix, "", ".info", "the block size beside the matrix", visit, user);
  const size_t unpacked = karst_unpacked_length(matrix);
  if (status == TOOL_GO_ON && matrix[unpacked])
    status = visit_variant(matrix, matrix + unpacked, ".info", "the block size beside the matrix", visit, user);
  return status == TOOL_GO_ON ? visit_parameters(matrix, visit, user) : status;
}
