/* cg refuses a preconditioner that is not symmetric where the matrix is, names the option that is the cause, and takes
 * the others. Which ones are symmetric is measured. The couplings are random: with equal ones the factors of adi commute,
 * and its M is symmetric. */
#include "lib/backend/backend.h"
#include "tests/support/parilu_dense.h"
#include "tests/support/problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The largest difference of two entries of M^-1 that mirror each other, relative to the largest entry. */
static double asymmetry(karst_context *context, const karst_matrix *A, const char *const *pairs)
{
  karst_precond *M = precond_from(context, pairs, A);
  const int64_t n = karst_matrix_rows(A);
  double *inverse = tap_memory(n * n, sizeof *inverse), *unit = tap_memory(n, sizeof *unit), difference = 0, size = 0;
  for (int64_t j = 0; j < n; j++) {
    for (int64_t i = 0; i < n; i++) unit[i] = i == j;
    apply_on_host(M, unit, inverse + j * n);
  }
  for (int64_t j = 0; j < n; j++)
    for (int64_t i = 0; i <= j; i++) {
      difference = fmax(difference, fabs(inverse[j * n + i] - inverse[i * n + j]));
      size = fmax(size, fabs(inverse[j * n + i]));
    }
  free(inverse);
  free(unit);
  karst_precond_destroy(M);
  return difference / size;
}

static void symmetry(karst_context *context)
{
  static const struct {
    const char *pairs[9];
    const char *refused; /* how the sentence names it; NULL: cg takes it */
  } cases[] = {{{"precond", "jacobi"}, NULL},
               {{"precond", "iluk", "level", "1"}, NULL},
               {{"precond", "dilu"}, NULL},
               {{"precond", "fgbilu"}, NULL},
               {{"precond", "lines", "line-direction", "y"}, NULL},
               {{"precond", "lines", "line-direction", "y", "line-order", "zebra"}, "lines with line-order zebra"},
               {{"precond", "lines", "line-direction", "auto", "line-order", "zebra"}, "lines with line-order zebra"},
               {{"precond", "adi"}, "adi"},
               {{"precond", "amg", "amg-coarse-rows", "9", "amg-precision", "double"}, NULL},
               {{"precond", "amg", "amg-coarse-rows", "9", "amg-precision", "double", "amg-smoother", "lines"}, NULL},
               {{"precond", "amg", "amg-coarse-rows", "9", "amg-precision", "double", "amg-smoother", "adi"},
                "amg with amg-smoother adi"},
               {{"precond", "two-stage", "second", "lines"}, "two-stage"},
               {{"precond", "cpr", "first", "jacobi", "second", "lines"}, "cpr"}};
  char sentence[160];
  if (tap_lacks_kernels(context->backend->lines, "lines", "the methods")) return;
  struct pattern grid = pattern_grid(5, 4, 3);
  karst_matrix *A = symmetric_matrix(context, &grid, 1, 1);
  tap_need(context, karst_matrix_set_grid(A, 5, 4, 3), "grid");
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    const char *refused = cases[c].refused, *name = refused ? refused : cases[c].pairs[1];
    const double found = asymmetry(context, A, cases[c].pairs);
    /* The error is some roundings of double; the others differ by 1e-3 and more. */
    tap_ok(refused ? found > 1e-5 : found < 1e-13, "%s is %ssymmetric (%.1e)", name, refused ? "not " : "", found);
    karst_options *options = options_of(context, cases[c].pairs);
    karst_solver *solver;
    tap_need(context, karst_options_set(options, "solver", "cg"), "cg");
    tap_need(context, karst_solver_create(context, options, &solver), "solver");
    const karst_status status = karst_solver_setup(solver, A);
    snprintf(sentence, sizeof sentence, "cg needs a symmetric preconditioner, and %s is not: use%s bicgstab or fgmres",
             name,
             strstr(name, "zebra")      ? " line-order jacobi,"
             : strstr(name, "smoother") ? " amg-smoother lines,"
                                        : "");
    tap_ok(refused ? status == KARST_ERROR_OPTION && strstr(karst_context_error(context), sentence) : !status, "%s: %s",
           name, status ? karst_context_error(context) : "cg takes it");
    karst_solver_destroy(solver);
    karst_options_destroy(options);
  }
  karst_matrix_destroy(A);
  pattern_free(&grid);
}

int main(void)
{
  tap_each_device(symmetry, "symmetry");
  return tap_done();
}
