/* reference.c - computes a direct solution by UMFPACK (T. Davis, Algorithm 832: UMFPACK V4.3, ACM TOMS 30(2), 2004).
 *
 * UMFPACK takes compressed columns. Compressed rows of A are compressed columns of A', so that A' is factored and the
 * transposed system solved. UMFPACK is under the GPL, so that only this command uses it, and not the library. */
#include "config.h"

#include "tools/src/solve/reference.h"

#ifdef HAVE_SUITESPARSE
#include "tools/src/common/load.h"

#include <math.h>
#include <stdlib.h>
#include <umfpack.h>

/* A scalar system of n rows in host memory. */
struct system {
  int64_t n;
  int64_t *start;  /* [n + 1] */
  int64_t *column; /* [start[n]] */
  double *value;   /* [start[n]] */
  double *b, *x;   /* [n] */
  double *x_ref;   /* [n] */
};

static void release(struct system *system)
{
  free(system->start);
  free(system->column);
  free(system->value);
  free(system->b);
  free(system->x);
  free(system->x_ref);
}

/* Copies the system without the padding, which karst_matrix_convert removes. */
static int gather(karst_context *context, const karst_matrix *A, const karst_vector *b, const karst_vector *x,
                  struct system *system)
{
  karst_matrix *scalar;
  karst_status status = karst_matrix_convert(A, 1, &scalar);
  if (status) return tool_fail_library(context, status);
  const karst_index *row_start = karst_matrix_row_start(scalar), *column = karst_matrix_column(scalar);
  int64_t entries = karst_matrix_blocks(scalar);
  system->n = karst_matrix_rows(scalar);
  system->start = calloc((size_t)system->n + 1, sizeof *system->start);
  system->column = calloc((size_t)entries + 1, sizeof *system->column);
  system->x_ref = calloc((size_t)system->n + 1, sizeof *system->x_ref);
  int exit_status = TOOL_GO_ON;
  if (!system->start || !system->column || !system->x_ref) {
    exit_status = tool_fail_memory("the reference solution");
  } else {
    for (int64_t i = 0; i <= system->n; i++) system->start[i] = row_start[i];
    for (int64_t k = 0; k < entries; k++) system->column[k] = column[k];
    exit_status = tool_matrix_to_host(context, scalar, &system->value);
  }
  if (exit_status == TOOL_GO_ON) exit_status = tool_vector_to_host(context, b, system->n, &system->b);
  if (exit_status == TOOL_GO_ON) exit_status = tool_vector_to_host(context, x, system->n, &system->x);
  karst_matrix_destroy(scalar);
  return exit_status;
}

/* Returns UMFPACK's status: 0, a positive warning, or a negative error. */
static int64_t factor_and_solve(const struct system *system, double *rcond)
{
  void *symbolic = NULL, *numeric = NULL;
  double info[UMFPACK_INFO] = {0};
  int64_t status =
      umfpack_dl_symbolic(system->n, system->n, system->start, system->column, system->value, &symbolic, NULL, info);
  if (!status)
    status = umfpack_dl_numeric(system->start, system->column, system->value, symbolic, &numeric, NULL, info);
  *rcond = numeric ? info[UMFPACK_RCOND] : 0;
  if (!status)
    status = umfpack_dl_solve(UMFPACK_At, system->start, system->column, system->value, system->x_ref, system->b,
                              numeric, NULL, info);
  umfpack_dl_free_symbolic(&symbolic);
  umfpack_dl_free_numeric(&numeric);
  return status;
}

static double norm(int64_t n, const double *x)
{
  double sum = 0;
  for (int64_t i = 0; i < n; i++) sum += x[i] * x[i];
  return sqrt(sum);
}

/* Returns a / b, or 0 if both are 0. */
static double ratio(double a, double b) { return a == 0 && b == 0 ? 0 : a / b; }

/* Overwrites system->x with x - x_ref and returns |b - A x_ref|. */
static double compare(struct system *system)
{
  double sum = 0;
  for (int64_t i = 0; i < system->n; i++) {
    double r = system->b[i];
    for (int64_t k = system->start[i]; k < system->start[i + 1]; k++)
      r -= system->value[k] * system->x_ref[system->column[k]];
    sum += r * r;
    system->x[i] -= system->x_ref[i];
  }
  return sqrt(sum);
}

int reference_solve(karst_context *context, const karst_matrix *A, const karst_vector *b, const karst_vector *x,
                    struct reference *reference)
{
  struct system system = {0};
  *reference = (struct reference){.difference = NAN, .residual = NAN};
  if (karst_matrix_rows_unpadded(A) == 0) { /* UMFPACK refuses an empty matrix */
    *reference = (struct reference){.rcond = 1};
    return TOOL_GO_ON;
  }
  int exit_status = gather(context, A, b, x, &system);
  if (exit_status == TOOL_GO_ON) {
    double start = tool_clock();
    int64_t status = factor_and_solve(&system, &reference->rcond);
    reference->time = tool_clock() - start;
    reference->singular = status == UMFPACK_WARNING_singular_matrix;
    if (status == UMFPACK_ERROR_out_of_memory) {
      exit_status = tool_fail_memory("UMFPACK's factors");
    } else if (status < 0) {
      exit_status = tool_fail(TOOL_FAILED, "UMFPACK failed with status %lld", (long long)status);
    } else if (!reference->singular) {
      reference->residual = ratio(compare(&system), norm(system.n, system.b));
      reference->difference = ratio(norm(system.n, system.x), norm(system.n, system.x_ref));
    }
  }
  release(&system);
  return exit_status;
}

int reference_check(void) { return TOOL_GO_ON; }

#else

int reference_solve(karst_context *context, const karst_matrix *A, const karst_vector *b, const karst_vector *x,
                    struct reference *reference)
{
  (void)context, (void)A, (void)b, (void)x, (void)reference;
  return reference_check();
}

int reference_check(void)
{
  return tool_fail(TOOL_FAILED, "--reference needs UMFPACK, but this build was configured without SuiteSparse");
}

#endif
