/* correct.c - prints |b - A x_l|^2 of the correction x_(l+1) = x_l + M^-1 (b - A x_l), x_0 = 0, for several
 * preconditioners side by side, as Table 1 of the paper on FGBILU (Luo, Edwards, Luo, Mueller) does for two.
 *
 * The squares of all rows are added on the host in one order and with more digits than a double has, so that digits
 * differ only if the residuals do. */
#include "tools/src/bench/cells/cells.h"
#include "tools/src/common/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the steps of all rows leave: sum[row * (steps + 1) + step]. */
typedef struct bench_sums {
  int steps;
  double *sum;
  double *host; /* [rows of A] a residual */
} bench_sums;

/* Writes value as Fortran's E20.12 does: 0.542674993335E+05. */
static void print_digits(char *text, size_t size, double value)
{
  char scientific[64];

  if (!isfinite(value) || value == 0) {
    snprintf(text, size, "%s", value == 0 ? "0.000000000000E+00" : isnan(value) ? "NaN" : "Infinity");
    return;
  }
  snprintf(scientific, sizeof scientific, "%.11e", value);
  const char *exponent = strchr(scientific, 'e');
  snprintf(text, size, "0.%c%.11sE%+03d", scientific[0], scientific + 2, atoi(exponent + 1) + 1);
}

/* Takes the sum of the squares of r. */
static karst_status take_sum(const karst_vector *r, bench_sums *sums, double *sum)
{
  const int64_t length = karst_vector_length(r);
  long double squares = 0;

  const karst_status status = karst_vector_get(r, length, sums->host);
  for (int64_t i = 0; i < length; i++) squares += (long double)sums->host[i] * sums->host[i];
  *sum = status ? NAN : (double)squares;
  return status;
}

static karst_status correct(const bench_row *row, bench_sums *sums, double *sum)
{
  const bench_place *place = row->place;
  const int64_t length = karst_vector_length(place->b);
  karst_vector *r = NULL, *z = NULL;

  karst_status status = karst_vector_create(place->context, length, &r);
  if (!status) status = karst_vector_create(place->context, length, &z);
  if (!status) status = karst_vector_fill(place->x, 0);
  if (!status) status = karst_vector_copy(place->b, r);
  if (!status) status = take_sum(r, sums, &sum[0]);
  for (int step = 1; !status && step <= sums->steps; step++) {
    status = karst_precond_apply(row->M, r, z);
    if (!status) status = karst_vector_add(1, z, place->x);
    if (!status) status = karst_matrix_residual(place->A, place->b, place->x, r, NULL);
    if (!status) status = take_sum(r, sums, &sum[step]);
  }
  karst_vector_destroy(z);
  karst_vector_destroy(r);
  return status;
}

static int correct_rows(bench_table *table, bench_sums *sums)
{
  int sound = 0;

  for (int r = 0; r < table->rows; r++) {
    bench_row *row = &table->row[r];
    if (bench_row_open(table, row)) {
      const karst_status status = correct(row, sums, sums->sum + (size_t)r * (size_t)(sums->steps + 1));
      if (status) return tool_fail_library(row->place->context, status);
      sound++;
    }
    bench_row_close(row);
  }
  return sound ? TOOL_GO_ON : tool_fail(TOOL_FAILED, "no preconditioner of --precond can be applied to this matrix");
}

/* Returns how many leading steps, the start included, have the same printed digits in all sound rows; *ratio is the
 * last one's |R|^2 over that of the start. */
static int count_equal(const bench_table *table, const bench_sums *sums, double *ratio)
{
  char first[32], other[32];
  int step = 0;

  *ratio = NAN;
  for (; step <= sums->steps; step++) {
    const double *start = NULL;
    for (int r = 0; r < table->rows; r++) {
      const double *sum = sums->sum + (size_t)r * (size_t)(sums->steps + 1);
      if (!table->row[r].sound) continue;
      print_digits(other, sizeof other, sum[step]);
      if (!start) memcpy(first, other, sizeof first);
      if (!start) start = sum;
      if (strcmp(first, other) != 0) return step;
    }
    if (start) *ratio = start[step] / start[0];
  }
  return step;
}

static void print_table(const bench_table *table, const bench_sums *sums)
{
  char digits[32];
  double ratio;
  int columns = 0;

  tool_print_safely(stdout, table->matrix);
  printf(": %ssums of squares of b - A x, %.0f cells, blocks of %d\n", table->what.negate ? "negated, " : "",
         table->cells, table->block_size);
  for (int r = 0; r < table->rows; r++)
    if (table->row[r].sound) printf("column %d: %s\n", ++columns, table->row[r].name);
  for (int step = 0; step <= sums->steps; step++) {
    printf("%4d", step);
    for (int r = 0; r < table->rows; r++) {
      if (!table->row[r].sound) continue;
      print_digits(digits, sizeof digits, sums->sum[(size_t)r * (size_t)(sums->steps + 1) + (size_t)step]);
      printf("  %18s", digits);
    }
    printf("\n");
  }
  const int equal = count_equal(table, sums, &ratio);
  if (equal)
    printf("all %d columns agree in all 12 digits in rows 0 to %d, where |R|^2/|R0|^2 = %.3e\n", columns, equal - 1,
           ratio);
  else
    printf("the %d columns differ from the start\n", columns);
}

static void print_json(const bench_table *table, const bench_sums *sums)
{
  char digits[32];
  double ratio;
  const int equal = count_equal(table, sums, &ratio);

  printf("{\"matrix\":");
  tool_print_json(stdout, table->matrix);
  printf(",\"cells\":%.0f,\"block\":%d,\"steps\":%d,\"equal_rows\":%d,\"ratio\":", table->cells, table->block_size,
         sums->steps, equal);
  printf(isfinite(ratio) ? "%.9g" : "null", ratio);
  printf(",\"columns\":[");
  for (int r = 0, printed = 0; r < table->rows; r++) {
    if (!table->row[r].sound) continue;
    printf("%s{\"program\":", printed++ ? "," : "");
    tool_print_json(stdout, table->row[r].name);
    printf(",\"squares\":[");
    for (int step = 0; step <= sums->steps; step++) {
      print_digits(digits, sizeof digits, sums->sum[(size_t)r * (size_t)(sums->steps + 1) + (size_t)step]);
      printf("%s\"%s\"", step ? "," : "", digits);
    }
    printf("]}");
  }
  printf("]}\n");
}

static int run_correction(karst_context *cpu, karst_context *gpu, const bench_settings *settings)
{
  static bench_table table;
  bench_sums sums = {.steps = settings->correction};

  int exit_status = bench_table_start(gpu, settings, &table);
  table.what = (bench_case){.matrix = settings->matrix, .block = settings->block, .negate = settings->negate};
  snprintf(table.matrix, sizeof table.matrix, "%s", settings->matrix);
  if (exit_status == TOOL_GO_ON) exit_status = bench_table_open(cpu, gpu, &table);
  if (exit_status == TOOL_GO_ON) {
    sums.host = malloc((size_t)(table.cells * table.block_size) * sizeof *sums.host + 1);
    sums.sum = calloc((size_t)table.rows, (size_t)(sums.steps + 1) * sizeof *sums.sum);
    exit_status = sums.host && sums.sum ? correct_rows(&table, &sums) : tool_fail_memory("the residuals");
  }
  if (exit_status == TOOL_GO_ON) {
    if (settings->json)
      print_json(&table, &sums);
    else
      print_table(&table, &sums);
  }
  free(sums.sum);
  free(sums.host);
  bench_table_close(&table);
  return exit_status == TOOL_GO_ON ? TOOL_YES : exit_status;
}

int bench_check_natural(karst_context *context, bench_settings *settings)
{
  (void)context;
  if (!settings->ordering) return TOOL_GO_ON;
  return tool_fail(TOOL_FAILED, "--grids and --correction use natural order; --ordering is not for them");
}

static bool with_correction(const bench_settings *settings) { return settings->correction > 0; }

const struct bench_mode bench_correction_mode = {
    .is_asked_for = with_correction,
    .ways = "fgbilu:sequential,fgbilu:wavefront,fgbilu:acc,fgbilu:cl,fgbilu:mixed,fgbilu:tiles",
    .check = bench_check_natural,
    .run = run_correction};
