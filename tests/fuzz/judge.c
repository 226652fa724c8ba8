/* judge.c - see judge.h. */
#include "tests/fuzz/judge.h"

#include <float.h>
#include <math.h>

__extension__ typedef __float128 quad;

static bool all_finite(int n, const double *x)
{
  for (int i = 0; i < n; i++)
    if (!isfinite(x[i])) return false;
  return true;
}

/* Computes |b - A x| and |b| in 113 bits. *rounding: bound of the working precision's errors in |b - A x|. */
static long double judge(const fuzz_system *s, const double *x, long double *rhs_norm, long double *rounding)
{
  quad square = 0, rhs_square = 0, error_square = 0;
  for (int i = 0; i < s->n; i++) {
    quad sum = s->rhs[i], magnitude = fabs(s->rhs[i]);
    int row = i % s->b, terms = 2;
    for (karst_index k = s->start[i / s->b]; k < s->start[i / s->b + 1]; k++)
      for (int c = 0; c < s->b; c++, terms++) {
        quad product = (quad)s->value[((ptrdiff_t)k * s->b + c) * s->b + row] * x[s->column[k] * s->b + c];
        sum -= product;
        magnitude += product < 0 ? -product : product;
      }
    quad error = terms * (DBL_EPSILON * magnitude + DBL_TRUE_MIN);
    square += sum * sum;
    rhs_square += (quad)s->rhs[i] * s->rhs[i];
    error_square += error * error;
  }
  *rhs_norm = sqrtl((long double)rhs_square);
  *rounding = sqrtl((long double)error_square);
  return sqrtl((long double)square);
}

static double number_of(const karst_options *options, const char *name)
{
  const char *text;
  return karst_options_get(options, name, &text) ? -1 : strtod(text, NULL);
}

static void check(const fuzz_system *s, const karst_options *options, bool reduces, const double *x,
                  const karst_result *result)
{
  fuzz_must(!all_finite(s->n, s->start_x) || result->reason == KARST_NOT_FINITE || all_finite(s->n, x),
            "x is not finite, and the reason is %d", (int)result->reason);
  bool zero = true;
  for (int i = 0; i < s->n; i++) zero = zero && s->rhs[i] == 0;
  bool stays = result->iterations == 0 && !zero && !(reduces && result->reason > 0);
  fuzz_must(!stays || !memcmp(x, s->start_x, (size_t)s->n * sizeof *x),
            "x is not the start after no iteration (reason %d)", (int)result->reason);
  if (result->reason <= 0 && (!isfinite(result->residual) || result->reason == KARST_NOT_FINITE)) return;
  long double rhs_norm, rounding, norm = judge(s, x, &rhs_norm, &rounding);
  long double few = 64 * DBL_EPSILON, tiny = MOST * (long double)DBL_TRUE_MIN;
  fuzz_must(result->reason != KARST_CONVERGED_ROUNDING || norm <= rounding * (1 + few) + tiny,
            "converged to rounding with |b - A x| = %.17Lg, rounding %.3Lg", norm, rounding);
  if (result->reason > 0 && result->reason != KARST_CONVERGED_PRECONDITIONED &&
      result->reason != KARST_CONVERGED_ROUNDING) {
    long double relative = number_of(options, "rtol") * rhs_norm, absolute = number_of(options, "atol");
    long double goal = relative > absolute ? relative : absolute;
    fuzz_must(norm <= goal * (1 + few) + few * rounding + tiny,
              "converged (%d) with |b - A x| = %.17Lg, goal %.17Lg, claimed %.17g", (int)result->reason, norm, goal,
              result->residual);
  }
  if (!isfinite(result->residual) || result->reason == KARST_OUT_OF_RANGE) return;
  fuzz_must(fabsl(norm - result->residual) <= rounding + few * norm + tiny,
            "reason %d: residual %.17g, in 113 bits %.17Lg, rounding %.3Lg", (int)result->reason, result->residual,
            norm, rounding);
}

static bool solve(karst_solver *solver, const fuzz_system *s, const karst_vector *rhs, karst_vector *x,
                  karst_result *result)
{
  (void)karst_vector_set(x, s->n, s->start_x);
  *result = (karst_result){.reason = KARST_SOUND};
  return karst_solver_solve(solver, rhs, x, result) == KARST_SUCCESS;
}

/* Whether the first solve with new values may change the choice of auto. Later solves do not. */
static bool learns(const karst_options *options)
{
  const char *text;
  return !karst_options_get(options, "precond", &text) && strcmp(text, "auto") == 0;
}

/* Solves twice, after a solve from which auto may learn, and compares the results. */
static void solve_and_check(karst_solver *solver, const fuzz_system *s, const karst_options *options, bool reduces,
                            karst_vector *rhs, karst_vector *x)
{
  karst_result first, second;
  double found[MOST];
  (void)karst_vector_set(rhs, s->n, s->rhs);
  for (int more = learns(options); more >= 0; more--) {
    if (!solve(solver, s, rhs, x, &first)) return;
    (void)karst_vector_get(x, s->n, found);
    check(s, options, reduces, found, &first);
  }
  fuzz_must(solve(solver, s, rhs, x, &second), "the second solve fails");
  fuzz_must(!memcmp(found, karst_vector_values(x), (size_t)s->n * sizeof *found) && first.reason == second.reason &&
                first.iterations == second.iterations &&
                !memcmp(&first.residual, &second.residual, sizeof first.residual),
            "the second solve ends differently: %d and %d after %d and %d iterations", (int)first.reason,
            (int)second.reason, first.iterations, second.iterations);
}

void fuzz_judge(const fuzz_maker *maker, const uint8_t *data, size_t size)
{
  fuzz_system s = {0};
  karst_options *options;
  struct failing_allocator memory;
  fuzz_input input = {data, size};
  karst_context *context = fuzz_open(&memory, 64 << 20);
  karst_matrix *A = NULL;
  karst_vector *rhs = NULL, *x = NULL;
  karst_solver *solver = NULL;
  karst_status status = karst_options_create(context, &options);
  fuzz_must(!status, "%s", karst_context_error(context));
  maker->options(&input, options);
  maker->system(&input, &s);
  status = karst_matrix_create(context, s.rows, s.b, s.start, s.column, s.value, KARST_COPY, &A);
  fuzz_must(!status, "%s", karst_context_error(context));
  if (s.nx > 0) fuzz_must(!karst_matrix_set_grid(A, s.nx, s.ny, 1), "%s", karst_context_error(context));
  status = karst_solver_create(context, options, &solver);
  fuzz_made(context, status, solver);
  if (!status && !karst_vector_create(context, s.n, &rhs) && !karst_vector_create(context, s.n, &x) &&
      !karst_solver_setup(solver, A)) {
    solve_and_check(solver, &s, options, maker->reduces, rhs, x);
    if (input.size) {
      maker->values(&input, &s);
      if (!karst_matrix_update_values(A, s.value) && !karst_solver_update(solver))
        solve_and_check(solver, &s, options, maker->reduces, rhs, x);
    }
  }
  karst_solver_destroy(solver);
  karst_options_destroy(options);
  karst_vector_destroy(x);
  karst_vector_destroy(rhs);
  karst_matrix_destroy(A);
  fuzz_close(&memory, context);
}
