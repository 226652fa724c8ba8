/* rhs.c - makes the right-hand side of solve: from a file, generated, or the one that came with the matrix. */
#include "tools/src/common/load.h"
#include "tools/src/solve/solve_settings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Recognises random and random:SEED, where the seed is a whole number below 2^64. */
static bool is_random(const char *text, uint64_t *seed)
{
  char *end;
  if (strncmp(text, "random", 6) != 0 || (text[6] && text[6] != ':')) return false;
  *seed = 1;
  if (!text[6]) return true;
  if (text[7] < '0' || text[7] > '9') return false;
  errno = 0;
  *seed = strtoull(text + 7, &end, 10);
  return !*end && !errno;
}

static bool is_ones(const char *text) { return strcmp(text, "ones") == 0 || strcmp(text, "Aones") == 0; }

bool solve_rhs_needs_no_file(const char *text)
{
  uint64_t seed;
  return !text || is_ones(text) || is_random(text, &seed);
}

/* Fills the vector with the random numbers behind the first skip ones. */
static karst_status fill_random(karst_context *context, uint64_t seed, int64_t skip, karst_vector *vector)
{
  const int64_t rows = karst_vector_length(vector);
  if (skip == 0) return karst_vector_fill_random(vector, seed);
  karst_vector *all;
  karst_status status = karst_vector_create(context, skip + rows, &all);
  double *host = malloc((size_t)(skip + rows) * sizeof *host);
  if (!status && !host) status = karst_context_fail(context, KARST_ERROR_NO_MEMORY, "no memory for random numbers");
  if (!status) status = karst_vector_fill_random(all, seed);
  if (!status) status = karst_vector_get(all, skip + rows, host);
  if (!status) status = karst_vector_set(vector, rows, host + skip);
  karst_vector_destroy(all);
  free(host);
  return status;
}

/* Makes one value for each row of the matrix, except the rows that pad it; skip: the rows of lower ranks. */
static karst_status make(karst_context *context, const char *text, int64_t skip, int64_t rows, karst_vector **vector)
{
  uint64_t seed;
  const bool ones = is_ones(text), random = is_random(text, &seed);
  if (!ones && !random) return karst_vector_read(context, text, vector);
  karst_status status = karst_vector_create(context, rows, vector);
  if (status) return status;
  return ones ? karst_vector_fill(*vector, 1) : fill_random(context, seed, skip, *vector);
}

/* Computes v <- A v. */
static karst_status multiply(karst_context *context, const karst_matrix *A, karst_vector **v)
{
  karst_vector *product;
  karst_status status = karst_vector_create(context, karst_matrix_rows(A), &product);
  if (!status) status = karst_matrix_multiply(A, *v, product);
  if (status) {
    karst_vector_destroy(product);
    return status;
  }
  karst_vector_destroy(*v);
  *v = product;
  return KARST_SUCCESS;
}

/* Copies source into a vector that is as long as the padded matrix, where the data are if nothing is padded. */
static int pad(karst_context *context, const karst_matrix *A, const karst_vector *source, karst_vector **rhs)
{
  const int64_t rows = karst_matrix_rows_unpadded(A);
  double *values = NULL;
  karst_status status = karst_vector_create(context, karst_matrix_rows(A), rhs);
  if (!status && karst_vector_length(source) == karst_matrix_rows(A)) {
    status = karst_vector_copy(source, *rhs);
  } else if (!status) {
    const int exit_status = tool_vector_to_host(context, source, rows, &values);
    if (exit_status != TOOL_GO_ON) return exit_status;
    status = karst_vector_set(*rhs, rows, values);
  }
  free(values);
  return status ? tool_fail_library(context, status) : TOOL_GO_ON;
}

int solve_rhs(karst_context *context, const struct solve_settings *settings, const karst_matrix *A,
              const karst_vector *own, karst_vector **rhs, const char **text, const char **file)
{
  int64_t rows = karst_matrix_rows_unpadded(A);
  uint64_t seed;
  karst_vector *made = NULL;
  karst_status status = KARST_SUCCESS;
  int exit_status;
  bool use_own = !settings->rhs && own;
  *rhs = NULL;
  *text = use_own ? "the one that came with the matrix" : settings->rhs ? settings->rhs : "ones";
  if (strncmp(*text, "random:", 7) == 0 && !is_random(*text, &seed))
    return tool_fail(TOOL_FAILED, "--rhs random:SEED takes a whole number below 2^64, not '%s'", *text + 7);
  if (!use_own && strcmp(*text, "-") == 0)
    return tool_fail(TOOL_FAILED,
                     "--rhs takes a file, ones, Aones or random; only a matrix can come from standard input");
  const int64_t skip = (int64_t)karst_matrix_first_block_row(A) * karst_matrix_block_size(A);
  if (!use_own) status = make(context, *text, skip, rows, &made);
  const karst_vector *source = use_own ? own : made;
  *file = use_own ? karst_vector_source(own) : *karst_vector_source(made) ? settings->rhs : "";
  if (status) {
    exit_status = tool_fail_library(context, status);
  } else if (karst_vector_length(source) != rows && !(use_own && karst_vector_length(own) == karst_matrix_rows(A))) {
    exit_status =
        tool_fail(TOOL_FAILED, "the right-hand side (%s) has %lld rows, the matrix %lld (%s)", **file ? *file : *text,
                  (long long)karst_vector_length(source), (long long)rows, settings->matrix);
  } else {
    exit_status = pad(context, A, source, rhs);
  }
  karst_vector_destroy(made);
  if (exit_status == TOOL_GO_ON && strcmp(*text, "Aones") == 0) {
    status = multiply(context, A, rhs);
    if (status) exit_status = tool_fail_library(context, status);
  }
  return exit_status;
}
