/* load.c - loads matrices and vectors; see load.h. */
#include "tools/src/common/load.h"
#include "support/nearest.h"
#include "tools/src/common/rutherford_boeing.h"
#include "tools/src/common/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

static bool is_gallery_name(const char *name)
{
  const char *problem;
  size_t length = strcspn(name, ":");
  for (size_t i = 0; (problem = karst_gallery_name(i)); i++)
    if (strlen(problem) == length && strncmp(problem, name, length) == 0) return true;
  return false;
}

static const char *problem_of(const void *user, size_t i)
{
  (void)user;
  return karst_gallery_name(i);
}

/* Reports why stat has just failed for a name that the gallery does not have; errno is stat's. */
static int fail_unknown_matrix(const char *name)
{
  if (errno != ENOENT && errno != ENOTDIR)
    return tool_fail(TOOL_FAILED, "%s cannot be read: %s", name, strerror(errno));
  const char *problem, *near = karst_nearest(name, strcspn(name, ":"), problem_of, NULL);
  if (near) return tool_fail(TOOL_FAILED, "no file named '%s': did you mean the problem %s?", name, near);
  char list[1024] = "";
  for (size_t i = 0; (problem = karst_gallery_name(i)); i++)
    tool_append(list, sizeof list, "%s%s", i ? ", " : "", problem);
  return tool_fail(TOOL_FAILED, "no file named '%s'; the generated problems are %s", name, list);
}

bool tool_is_problem(const char *name)
{
  struct stat file;
  return stat(name, &file) != 0 && is_gallery_name(name);
}

int tool_check_matrix(const char *name)
{
  struct stat file;
  return stat(name, &file) == 0 || is_gallery_name(name) ? TOOL_GO_ON : fail_unknown_matrix(name);
}

int tool_set_duplicates(karst_context *context, const char *text)
{
  if (!text) return TOOL_GO_ON;
  const bool refuse = strcmp(text, "refuse") == 0;
  if (!refuse && strcmp(text, "sum") != 0)
    return tool_fail(TOOL_FAILED, "duplicates \"%s\" is unknown: sum, refuse", text);
  const karst_status status =
      karst_context_set_duplicates(context, refuse ? KARST_DUPLICATES_REFUSE : KARST_DUPLICATES_SUM);
  return status ? tool_fail_library(context, status) : TOOL_GO_ON;
}

/* Reads a matrix file through the library or through RBio. */
static int read_file(karst_context *context, const char *path, int block_size, karst_matrix **matrix)
{
  karst_matrix *scalar;
  if (!is_rutherford_boeing(path)) {
    karst_status status = karst_matrix_read(context, path, block_size, matrix);
    return status ? tool_fail_library(context, status) : TOOL_GO_ON;
  }
  int exit_status = read_rutherford_boeing(context, path, &scalar);
  if (exit_status != TOOL_GO_ON || block_size <= 1) {
    *matrix = scalar;
    return exit_status;
  }
  karst_status status = karst_matrix_convert(scalar, block_size, matrix);
  karst_matrix_destroy(scalar);
  return status ? tool_fail_library(context, status) : TOOL_GO_ON;
}

/* Loads a matrix without changes. */
static int load(karst_context *context, const struct tool_request *request, karst_matrix **matrix, karst_vector **rhs)
{
  const char *name = request->name;
  struct stat file;
  const bool is_file = stat(name, &file) == 0;
  karst_status status = KARST_SUCCESS;
  int exit_status = TOOL_GO_ON;
  if (!is_file && !is_gallery_name(name)) return fail_unknown_matrix(name);
  if (request->stored_triangle && (!is_file || is_rutherford_boeing(name)))
    return tool_fail(TOOL_FAILED, "--stored-triangle is for symmetric Matrix Market files; %s is not one", name);
  if (!is_file)
    status = karst_gallery_create(context, name, request->block, matrix, rhs);
  else if (request->stored_triangle)
    status = karst_matrix_read_stored(context, name, request->block, matrix);
  else
    exit_status = read_file(context, name, request->block, matrix);
  if (!status && exit_status == TOOL_GO_ON && is_file && rhs) status = karst_vector_read_beside(context, name, rhs);
  return status ? tool_fail_library(context, status) : exit_status;
}

int tool_load(karst_context *context, const struct tool_request *request, karst_matrix **matrix, karst_vector **rhs,
              karst_index *inserted)
{
  karst_matrix *whole;
  *matrix = NULL;
  if (rhs) *rhs = NULL;
  int exit_status = load(context, request, matrix, rhs);
  if (exit_status == TOOL_GO_ON && request->negate) exit_status = tool_negate(context, *matrix, rhs ? *rhs : NULL);
  if (exit_status == TOOL_GO_ON && request->insert_diagonal) {
    const karst_status status = karst_matrix_insert_diagonal(*matrix, &whole, inserted);
    if (status) exit_status = tool_fail_library(context, status);
    if (!status) karst_matrix_destroy(*matrix);
    if (!status) *matrix = whole;
  }
  if (exit_status == TOOL_GO_ON) return TOOL_GO_ON;
  karst_matrix_destroy(*matrix);
  *matrix = NULL;
  if (rhs) karst_vector_destroy(*rhs);
  if (rhs) *rhs = NULL;
  return exit_status;
}

bool tool_is_array(const char *path)
{
  char format[16];
  FILE *file = fopen(path, "r");
  if (!file) return false;
  const bool array = fscanf(file, "%%%%MatrixMarket matrix %15s", format) == 1 && strcasecmp(format, "array") == 0;
  fclose(file);
  return array;
}

int tool_load_exact(karst_context *context, const char *name, karst_vector **exact)
{
  struct stat file;
  *exact = NULL;
  if (stat(name, &file) == 0)
    return tool_fail(TOOL_FAILED, "--exact is for problems of the gallery; %s is a file", name);
  if (!is_gallery_name(name)) return fail_unknown_matrix(name);
  karst_status status = karst_gallery_exact(context, name, exact);
  return status ? tool_fail_library(context, status) : TOOL_GO_ON;
}

/* Computes value <- -value for a matrix in host memory, except the units on the diagonal of the rows that pad it. Each
 * zero stays +0. */
static void negate_values(const karst_matrix *matrix, double *value)
{
  const int64_t b = karst_matrix_block_size(matrix), count = b * b * karst_matrix_blocks(matrix);
  const karst_index last = karst_matrix_block_rows(matrix) - 1;
  for (int64_t i = 0; i < count; i++) value[i] = 0 - value[i];
  if (karst_matrix_rows_unpadded(matrix) == karst_matrix_rows(matrix)) return;
  const karst_index *start = karst_matrix_row_start(matrix), *column = karst_matrix_column(matrix);
  for (karst_index block = start[last]; block < start[last + 1]; block++)
    for (int64_t r = karst_matrix_rows_unpadded(matrix) - b * last; column[block] == last && r < b; r++)
      value[b * b * block + r + b * r] = 1;
}

int tool_negate(karst_context *context, karst_matrix *matrix, karst_vector *rhs)
{
  double *value;
  int exit_status = tool_matrix_to_host(context, matrix, &value);
  if (exit_status != TOOL_GO_ON) return exit_status;
  negate_values(matrix, value);
  karst_status status = karst_matrix_update_values(matrix, value);
  if (!status && rhs) status = karst_vector_scale(-1, rhs);
  free(value);
  return status ? tool_fail_library(context, status) : TOOL_GO_ON;
}

int tool_vector_to_host(karst_context *context, const karst_vector *vector, int64_t count, double **values)
{
  *values = malloc((size_t)(count ? count : 1) * sizeof **values);
  if (!*values) return tool_fail_memory("a vector's values");
  karst_status status = karst_vector_get(vector, count, *values);
  if (!status) return TOOL_GO_ON;
  free(*values);
  *values = NULL;
  return tool_fail_library(context, status);
}

int tool_matrix_to_host(karst_context *context, const karst_matrix *matrix, double **values)
{
  int64_t b = karst_matrix_block_size(matrix), count = b * b * karst_matrix_blocks(matrix);
  karst_vector *view; /* only read, so that the matrix does not change */
  karst_status status = karst_vector_wrap(context, count, (double *)karst_matrix_value(matrix), &view);
  *values = NULL;
  if (status) return tool_fail_library(context, status);
  int exit_status = tool_vector_to_host(context, view, count, values);
  karst_vector_destroy(view);
  return exit_status;
}

int tool_write_vector(karst_context *context, const karst_vector *vector, int64_t count, const char *path)
{
  karst_vector *part;
  double *values;
  int exit_status = tool_vector_to_host(context, vector, count, &values);
  if (exit_status != TOOL_GO_ON) return exit_status;
  karst_status status = karst_vector_create(context, count, &part);
  if (!status) status = karst_vector_set(part, count, values);
  fflush(stdout); /* what was printed before is there first, where both go to one place */
  if (!status) status = karst_vector_write(part, path);
  karst_vector_destroy(part);
  free(values);
  return status ? tool_fail_library(context, status) : TOOL_GO_ON;
}
