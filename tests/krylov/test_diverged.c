/* A solve whose residual grows without bound ends as diverged, long before its square overflows, with an x that is no
 * worse than the start. The system is a star of condition 4. Its residual grows because the middle pivot of its
 * incomplete factorization is a rounding error. */
#include "tests/support/driver.h"
#include "tests/support/problem.h"

#include "lib/method/precond.h"
#include "lib/vector/vector.h"

#include <math.h>

enum { BEFORE = 35, AFTER = 14, N = BEFORE + 1 + AFTER, CENTRE = BEFORE };

static const double pivot = -3.9e-15, arm = 5, centre = 7;

/* z = U^-1 L^-1 r of ILU(0): arms before the centre are eliminated exactly, those after it couple to the pivot. */
static karst_status apply(const karst_precond *p, const double *r, double *z)
{
  double x[N];
  const double last = arm - 1 / pivot;
  karst_status status = p->context->backend->download(p->context, x, r, sizeof x);
  if (status) return status;
  for (int i = 0; i < BEFORE; i++) x[CENTRE] -= x[i] / arm;
  for (int i = CENTRE + 1; i < N; i++) x[i] = (x[i] - x[CENTRE] / pivot) / last;
  for (int i = CENTRE + 1; i < N; i++) x[CENTRE] -= x[i];
  x[CENTRE] /= pivot;
  for (int i = 0; i < BEFORE; i++) x[i] = (x[i] - x[CENTRE]) / arm;
  return p->context->backend->upload(p->context, z, x, sizeof x);
}

static const struct karst_precond_ops lost_pivot = {
    .name = "lost pivot", .setup = precond_succeed, .update = precond_succeed, .apply = apply};

static karst_matrix *make_star(karst_context *context)
{
  double rows[N * N] = {0};
  for (int i = 0; i < N; i++) {
    rows[i * N + CENTRE] = rows[CENTRE * N + i] = 1;
    rows[i * N + i] = i == CENTRE ? centre : arm;
  }
  return matrix_from_rows(context, N, 1, rows);
}

static void try(karst_context *context, const char *solver, double size)
{
  karst_matrix *A = make_star(context);
  karst_precond M = {.ops = &lost_pivot, .context = context, .A = A, .block_row = -1};
  karst_krylov_limits limits;
  karst_krylov *krylov;
  karst_result result;
  double answer[N];
  tap_settings settings = settings_for(solver, NULL);
  for (int i = 0; i < N; i++) answer[i] = size * (1 + i % 4);
  karst_vector *b = vector_of(context, N, 0), *x = vector_from(context, N, answer);
  tap_need(context, karst_matrix_multiply(A, x, b), "b");
  const double norm = vector_norm(b);
  tap_need(context, karst_vector_fill(x, 0), "start");
  tap_need(context, make_driver(&settings, A, &M, &limits, &krylov), "driver");
  tap_need(context, karst_krylov_solve(krylov, b->values, x->values, 1e-8 * norm, 0, &result), "solve");
  tap_ok(result.reason == KARST_DIVERGED && result.iterations < 2500, "%s, size %g: %s after %d iterations", solver,
         size, karst_reason_text(result.reason), result.iterations);
  tap_ok(tap_residual(A, b, x) <= norm * (1 + 1e-14) && result.residual <= norm * (1 + 1e-14),
         "x is no worse than the start: %.3e, |b| = %.3e", result.residual, norm);
  karst_krylov_destroy(krylov);
  karst_vector_destroy(b);
  karst_vector_destroy(x);
  karst_matrix_destroy(A);
}

static void test(karst_context *context)
{
  static const double sizes[] = {1, 1e-80, 1e80};
  for (int i = 0; i < 3; i++) {
    try(context, "bicgstab", sizes[i]);
    try(context, "richardson", sizes[i]);
  }
}

int main(void)
{
  tap_each_device(test, "divergence");
  return tap_done();
}
