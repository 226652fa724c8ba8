/* hint_facts.c - see hint_facts.h. */
#include "tools/src/solve/hint_facts.h"
#include "tools/src/common/load.h"
#include "tools/src/common/reported_values.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST = 8 }; /* the block sizes that are tried */

/* The number of block (i,j), or -1: the columns of a block row ascend. */
static int64_t find_block(const karst_matrix *A, karst_index i, karst_index j)
{
  const karst_index *column = karst_matrix_column(A);
  karst_index first = karst_matrix_row_start(A)[i], end = karst_matrix_row_start(A)[i + 1];
  const karst_index stop = end;
  while (first < end) {
    const karst_index middle = first + (end - first) / 2;
    if (column[middle] < j)
      first = middle + 1;
    else
      end = middle;
  }
  return first < stop && column[first] == j ? first : -1;
}

/* Whether each block is the transpose of its mirror image, up to rounding. A block without an image must be zero. */
static bool is_symmetric(const karst_matrix *A, const double *value)
{
  const double rounding = 1e-12; /* far above rounding errors of assembly, far below an asymmetry that harms cg */
  const int b = karst_matrix_block_size(A);
  const int64_t bb = (int64_t)b * b;
  const karst_index *start = karst_matrix_row_start(A), *column = karst_matrix_column(A);
  for (karst_index i = 0; i < karst_matrix_block_rows(A); i++)
    for (karst_index k = start[i]; k < start[i + 1]; k++) {
      const int64_t image = find_block(A, column[k], i);
      for (int c = 0; c < b; c++)
        for (int r = 0; r < b; r++) {
          const double x = value[bb * k + c * b + r], y = image < 0 ? 0 : value[bb * image + r * b + c];
          if (fabs(x - y) > rounding * (fabs(x) + fabs(y))) return false;
        }
    }
  return true;
}

/* Adds up the entries and the magnitudes of scalar row r of block row i. */
static void sum_row(const karst_matrix *A, const double *value, karst_index i, int r, double *sum, double *magnitude)
{
  const int b = karst_matrix_block_size(A);
  *sum = *magnitude = 0;
  for (karst_index k = karst_matrix_row_start(A)[i]; k < karst_matrix_row_start(A)[i + 1]; k++)
    for (int c = 0; c < b; c++) {
      const double entry = value[(int64_t)b * b * k + c * b + r];
      *sum += entry;
      *magnitude += fabs(entry);
    }
}

static void look_at_row(const karst_matrix *A, const double *value, karst_index i, int r, double b, karst_index pivot,
                        struct hint_facts *facts)
{
  const int size = karst_matrix_block_size(A);
  const int64_t k = find_block(A, i, i);
  const double diagonal = k < 0 ? 0 : value[(int64_t)size * size * k + r * size + r];
  double sum, magnitude;
  sum_row(A, value, i, r, &sum, &magnitude);
  facts->positive += diagonal > 0;
  facts->negative += diagonal < 0;
  facts->empty += diagonal == 0;
  if (!(diagonal > 0 && magnitude - diagonal <= diagonal * (1 + 1e-12))) facts->dominated = false;
  facts->largest_b = fmax(facts->largest_b, fabs(b));
  if (!(fabs(sum) <= 1e-12 * magnitude)) facts->sums_to_zero = false;
  if (i == pivot && magnitude > 0) facts->zero_pivot_row = false;
  if (facts->unsolvable >= 0 || magnitude != 0 || b == 0 || !isfinite(b)) return;
  facts->unsolvable = (int64_t)size * i + r;
  facts->unsolvable_b = b;
}

bool hint_facts_find(karst_context *context, const karst_matrix *A, const karst_vector *b, karst_index pivot,
                     struct hint_facts *facts)
{
  const int size = karst_matrix_block_size(A);
  double *value = NULL, *rhs = NULL;
  *facts = (struct hint_facts){.rows = karst_matrix_rows_unpadded(A),
                               .unsolvable = -1,
                               .dominated = true,
                               .sums_to_zero = true,
                               .zero_pivot_row = true};
  const bool there = tool_matrix_to_host(context, A, &value) == TOOL_GO_ON &&
                     tool_vector_to_host(context, b, facts->rows, &rhs) == TOOL_GO_ON;
  for (int64_t row = 0; there && row < facts->rows; row++)
    look_at_row(A, value, (karst_index)(row / size), (int)(row % size), rhs[row], pivot, facts);
  if (there) facts->symmetric = is_symmetric(A, value);
  free(value);
  free(rhs);
  return there;
}

/* Reads cpr's own measure of the unknowns, without its stages, in a context on the CPU whose messages go nowhere. */
static karst_status couple(karst_context *context, const karst_matrix *A, const double *value, double *chosen,
                           double *next)
{
  karst_options *options = NULL;
  karst_matrix *copy = NULL;
  karst_precond *cpr = NULL;
  karst_value found;
  karst_status status =
      karst_matrix_create(context, karst_matrix_block_rows(A), karst_matrix_block_size(A), karst_matrix_row_start(A),
                          karst_matrix_column(A), value, KARST_REFERENCE, &copy);
  if (!status) status = karst_options_create(context, &options);
  if (!status) status = karst_options_set(options, "precond", "cpr");
  if (!status) status = karst_options_set(options, "first", "none");
  if (!status) status = karst_options_set(options, "second", "none");
  if (!status) status = karst_precond_create(context, options, copy, &cpr);
  for (size_t i = 0; !status && karst_precond_report(cpr, i, &found); i++) {
    if (strcmp(found.name, "cpr_coupling") == 0) *chosen = found.number;
    if (strcmp(found.name, "cpr_coupling_next") == 0) *next = found.number;
  }
  karst_precond_destroy(cpr);
  karst_options_destroy(options);
  karst_matrix_destroy(copy);
  return status;
}

bool hint_has_pressure(karst_context *context, const karst_matrix *A)
{
  double *value, chosen = 0, next = 0;
  karst_context *own;
  if (karst_matrix_block_size(A) == 1 || tool_matrix_to_host(context, A, &value) != TOOL_GO_ON) return false;
  karst_status status = karst_context_create(NULL, &own);
  if (!status) status = couple(own, A, value, &chosen, &next);
  karst_context_destroy(own);
  free(value);
  return !status && chosen >= 0.1 && next <= 0.5 * chosen; /* as cpr's own warnings have it */
}

bool hint_is_uneven(karst_context *context, const karst_matrix *A)
{
  const karst_index rows = karst_matrix_block_rows(A);
  const karst_index *start = karst_matrix_row_start(A), *column = karst_matrix_column(A);
  const int64_t bb = (int64_t)karst_matrix_block_size(A) * karst_matrix_block_size(A);
  double least = INFINITY, most = 0, *value = NULL;
  double *sum = calloc(2 * (size_t)rows + 1, sizeof *sum); /* of rows, then columns */
  const bool there = sum && tool_matrix_to_host(context, A, &value) == TOOL_GO_ON;
  for (karst_index i = 0; there && i < rows; i++)
    for (karst_index k = start[i]; k < start[i + 1]; k++)
      for (int64_t e = bb * k; e < bb * (k + 1) && column[k] != i; e++) {
        sum[i] += fabs(value[e]);
        sum[rows + column[k]] += fabs(value[e]);
      }
  for (karst_index i = 0; there && i < rows; i++) {
    if (!(sum[i] > 0 && sum[rows + i] > 0)) continue;
    least = fmin(least, sum[i] / sum[rows + i]);
    most = fmax(most, sum[i] / sum[rows + i]);
  }
  free(sum);
  free(value);
  return most > 1e3 * least;
}

bool hint_is_lower(const karst_matrix *A)
{
  const karst_index *start = karst_matrix_row_start(A), *column = karst_matrix_column(A);
  for (karst_index i = 0; i < karst_matrix_block_rows(A); i++)
    if (start[i + 1] > start[i] && column[start[i + 1] - 1] > i) return false;
  return true;
}

int64_t hint_count_missing(const karst_matrix *A)
{
  int64_t missing = 0;
  for (karst_index i = 0; i < karst_matrix_block_rows(A); i++) missing += find_block(A, i, i) < 0;
  return missing;
}

/* Whether elimination with row exchanges finds no pivot that is nearly zero. block: [d * d] column by column, lost. */
static bool is_regular(double *block, int d)
{
  double largest = 0;
  for (int i = 0; i < d * d; i++) largest = fmax(largest, fabs(block[i]));
  for (int k = 0; k < d; k++) {
    int pivot = k;
    for (int r = k + 1; r < d; r++)
      if (fabs(block[k * d + r]) > fabs(block[k * d + pivot])) pivot = r;
    if (!(fabs(block[k * d + pivot]) > 1e-12 * largest)) return false;
    for (int c = k; c < d; c++) {
      const double above = block[c * d + pivot];
      block[c * d + pivot] = block[c * d + k];
      block[c * d + k] = above;
      for (int r = k + 1; r < d; r++) block[c * d + r] -= above * block[k * d + r] / block[k * d + k];
    }
  }
  return true;
}

/* The number of blocks that hold an entry if they are of size d, or -1 where one on the diagonal is singular.
 * mark: [rows / d] of zeros, changed. */
static int64_t count_blocks(const karst_matrix *A, const double *value, int64_t rows, int d, int64_t *mark)
{
  const int b = karst_matrix_block_size(A);
  const karst_index *start = karst_matrix_row_start(A), *column = karst_matrix_column(A);
  int64_t count = 0;
  for (int64_t i = 0; i < rows / d; i++) {
    double diagonal[LARGEST * LARGEST] = {0};
    for (int64_t row = d * i; row < d * (i + 1); row++)
      for (karst_index k = start[row / b]; k < start[row / b + 1]; k++)
        for (int c = 0; c < b; c++) {
          const double entry = value[(int64_t)b * b * k + c * b + row % b];
          const int64_t j = (int64_t)b * column[k] + c;
          if (entry == 0 || j >= rows) continue;
          if (j / d == i) diagonal[j % d * d + row % d] = entry;
          count += mark[j / d] != i + 1;
          mark[j / d] = i + 1;
        }
    if (!is_regular(diagonal, d)) return -1;
  }
  return count;
}

int hint_find_block(karst_context *context, const karst_matrix *A)
{
  const int64_t rows = karst_matrix_rows_unpadded(A);
  double *value, least = INFINITY; /* scalars in blocks */
  int found = 0;
  int64_t *mark = calloc((size_t)rows / 2 + 1, sizeof *mark);
  if (!mark || tool_matrix_to_host(context, A, &value) != TOOL_GO_ON) {
    free(mark);
    return 0;
  }
  for (int d = 2; d <= LARGEST; d++) {
    if (d == karst_matrix_block_size(A) || rows % d != 0) continue;
    memset(mark, 0, ((size_t)rows / 2 + 1) * sizeof *mark);
    const int64_t blocks = count_blocks(A, value, rows, d, mark);
    if (blocks < 0 || (double)d * d * (double)blocks >= least) continue;
    least = (double)d * d * (double)blocks;
    found = d;
  }
  free(value);
  free(mark);
  return found;
}
