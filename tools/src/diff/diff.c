/* diff.c - the command diff: reports how far two vectors or two matrices are apart.
 *
 * The absolute difference is max |a_i - b_i| over the entries, the relative difference is this over max |b_i|. A and B
 * agree if max |a_i - b_i| <= max(rtol max |b_i|, atol). Entries that a matrix does not store are zeros. */
#include "tools/src/common/input.h"
#include "tools/src/common/load.h"
#include "tools/src/common/shared_rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct settings {
  const char *path[2];    /* A and B */
  const char *duplicates; /* sum or refuse, or NULL */
  double rtol, atol;
  bool quiet;
};

struct difference {
  double largest;      /* largest |a - b|; NaN if one is NaN */
  double norm;         /* max |b| */
  int64_t row, column; /* of the largest difference, counted from 0 */
};

static void look(struct difference *difference, int64_t row, int64_t column, double a, double b)
{
  double distance = a == b ? 0 : fabs(a - b); /* equal infinities agree */
  if (fabs(b) > difference->norm) difference->norm = fabs(b);
  if (isnan(difference->largest) || !(distance > difference->largest || isnan(distance))) return;
  difference->largest = distance;
  difference->row = row;
  difference->column = column;
}

static int compare_vectors(karst_context *context, karst_vector *const vector[2], struct difference *difference)
{
  int64_t rows = karst_vector_length(vector[0]);
  double *a, *b;
  if (rows != karst_vector_length(vector[1]))
    return tool_fail(TOOL_FAILED, "the vectors have different numbers of rows: %lld and %lld", (long long)rows,
                     (long long)karst_vector_length(vector[1]));
  int status = tool_vector_to_host(context, vector[0], rows, &a);
  if (status != TOOL_GO_ON) return status;
  status = tool_vector_to_host(context, vector[1], rows, &b);
  for (int64_t i = 0; status == TOOL_GO_ON && i < rows; i++) look(difference, i, 0, a[i], b[i]);
  free(a);
  free(b);
  return status;
}

/* Compares two scalar matrices of one size row by row, merging the columns. */
static int compare_matrices(karst_context *context, karst_matrix *const matrix[2], struct difference *difference)
{
  const karst_index *start_a = karst_matrix_row_start(matrix[0]), *start_b = karst_matrix_row_start(matrix[1]);
  const karst_index *column_a = karst_matrix_column(matrix[0]), *column_b = karst_matrix_column(matrix[1]);
  karst_index rows = karst_matrix_block_rows(matrix[0]);
  double *a, *b;
  if (rows != karst_matrix_block_rows(matrix[1]))
    return tool_fail(TOOL_FAILED, "the matrices have different numbers of rows: %lld and %lld", (long long)rows,
                     (long long)karst_matrix_block_rows(matrix[1]));
  int status = tool_matrix_to_host(context, matrix[0], &a);
  if (status != TOOL_GO_ON) return status;
  status = tool_matrix_to_host(context, matrix[1], &b);
  for (karst_index i = 0; status == TOOL_GO_ON && i < rows; i++) {
    karst_index p = start_a[i], q = start_b[i];
    while (p < start_a[i + 1] || q < start_b[i + 1]) {
      bool in_a = p < start_a[i + 1] && (q == start_b[i + 1] || column_a[p] <= column_b[q]);
      bool in_b = q < start_b[i + 1] && (p == start_a[i + 1] || column_b[q] <= column_a[p]);
      look(difference, i, in_a ? column_a[p] : column_b[q], in_a ? a[p] : 0, in_b ? b[q] : 0);
      p += in_a;
      q += in_b;
    }
  }
  free(a);
  free(b);
  return status;
}

/* Loads a matrix with block size 1 and without padding. */
static int load_scalar(karst_context *context, const char *name, karst_matrix **matrix)
{
  karst_matrix *loaded;
  int exit_status = tool_load(context, &(struct tool_request){.name = name}, &loaded, NULL, NULL);
  if (exit_status != TOOL_GO_ON) return exit_status;
  karst_status status = karst_matrix_convert(loaded, 1, matrix);
  karst_matrix_destroy(loaded);
  return status ? tool_fail_library(context, status) : TOOL_GO_ON;
}

static int compare(karst_context *context, const struct settings *settings, struct difference *difference)
{
  karst_vector *vector[2] = {NULL, NULL};
  karst_matrix *matrix[2] = {NULL, NULL};
  int exit_status = TOOL_GO_ON;
  /* B must be of the kind that A can be read as. */
  karst_status status = karst_vector_read(context, settings->path[0], &vector[0]);
  bool vectors = !status || tool_is_array(settings->path[0]); /* an array that cannot be read is a vector too */
  if (vectors) {
    if (!status) status = karst_vector_read(context, settings->path[1], &vector[1]);
    const char *about = vector[0] ? "A is a vector, so B must be one" : NULL;
    exit_status = status ? tool_fail_about(context, status, about) : compare_vectors(context, vector, difference);
  } else {
    for (int i = 0; exit_status == TOOL_GO_ON && i < 2; i++)
      exit_status = load_scalar(context, settings->path[i], &matrix[i]);
    if (exit_status == TOOL_GO_ON) exit_status = compare_matrices(context, matrix, difference);
  }
  for (int i = 0; i < 2; i++) {
    karst_vector_destroy(vector[i]);
    karst_matrix_destroy(matrix[i]);
  }
  if (exit_status != TOOL_GO_ON) return exit_status;
  bool agree = difference->largest <= fmax(settings->rtol * difference->norm, settings->atol);
  if (!settings->quiet) {
    double relative = difference->largest == 0 ? 0 : difference->largest / difference->norm;
    printf("largest difference %.6g, relative %.6g, in row %lld", difference->largest, relative,
           (long long)difference->row);
    if (!vectors) printf(", column %lld", (long long)difference->column);
    printf(" (counted from 0): %s\n", agree ? "they agree" : "they differ");
  }
  return agree ? TOOL_YES : TOOL_NO;
}

#define PLACE(member) offsetof(struct settings, member)

static const struct tool_option options[] = {
    {"rtol", "R", "1e-6", "agree where the difference is at most R times the largest absolute entry of B",
     "Either of --rtol and --atol is enough.", TOOL_REAL, PLACE(rtol)},
    {"atol", "R", "0", "agree where the difference is at most R", NULL, TOOL_REAL, PLACE(atol)},
    {TOOL_DUPLICATES_ROW, TOOL_TEXT, PLACE(duplicates)},
    {"quiet", "", "", "print errors only", "The exit status tells the rest.", TOOL_SWITCH, PLACE(quiet)},
    {.name = NULL},
};

int main(int argc, char *argv[])
{
  karst_context *context;
  struct settings settings = {.rtol = 1e-6};
  struct difference difference = {0};
  const struct tool_command command = {
      .about = "Compares two vectors or two matrices: files or pipes (- is standard input), or matrices\n"
               "NAME:SIZES from the gallery.",
      .operand_names = "A B",
      .operand_count = 2,
      .operand = settings.path,
      .options = options,
      .settings = &settings,
      .exit_statuses = "exit status: 0 they agree, 1 they differ, 2 bad input or usage",
  };
  tool_start(argv[0]);
  karst_status created = karst_context_create(NULL, &context);
  if (created) return tool_fail(TOOL_FAILED, "%s", karst_status_text(created));
  int status = tool_parse(context, &command, argc, argv);
  if (status == TOOL_GO_ON) status = tool_set_duplicates(context, settings.duplicates);
  for (int i = 0; status == TOOL_GO_ON && i < 2; i++) status = tool_input(settings.path[i], &settings.path[i]);
  if (status == TOOL_GO_ON) status = compare(context, &settings, &difference);
  karst_context_destroy(context);
  return tool_finish(status);
}
