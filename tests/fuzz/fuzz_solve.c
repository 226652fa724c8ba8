/* Small systems with any options and values, solved twice, and again with new values. What the library says of a
 * solution is judged in 113 bits:
 *
 *   - converged means |b - A x| <= max(rtol |b|, atol), as far as twice the working precision tells;
 *   - result.residual is |b - A x| within the rounding errors of computing it in the working precision;
 *   - x is finite where the start was, unless the reason is KARST_NOT_FINITE, and it is the start itself where there was
 *     no iteration, unless b = 0;
 *   - the same solve ends with the same bits. */
#include "fuzz.h"

#include <float.h>
#include <math.h>

enum { MOST_ROWS = 12, MOST_SIZE = 4, MOST = MOST_ROWS * MOST_SIZE };

__extension__ typedef __float128 quad;

typedef struct fuzz_system {
  karst_index rows, start[MOST_ROWS + 1], column[MOST_ROWS * MOST_ROWS];
  int b, n; /* n = b * rows */
  double value[MOST * MOST], rhs[MOST], start_x[MOST];
} fuzz_system;

/* A in about half of the systems a diagonal that dominates its row, so that many solves go on for a while. */
static void make_values(fuzz_input *input, fuzz_system *s)
{
  unsigned style = fuzz_byte(input);
  bool wild = style & 1, dominant = style & 2, symmetric = style & 4;
  const int b = s->b;
  for (karst_index i = 0; i < s->rows; i++)
    for (karst_index k = s->start[i]; k < s->start[i + 1]; k++)
      for (int v = 0; v < b * b; v++) {
        double *entry = &s->value[(ptrdiff_t)k * b * b + v];
        *entry = symmetric ? -1 : fuzz_value(input, wild);
        if (s->column[k] == i && v % (b + 1) == 0 && dominant) *entry += 4 * s->n;
      }
  bool zero = style & 8;
  for (int i = 0; i < s->n; i++) s->rhs[i] = zero ? 0 : fuzz_value(input, wild);
  for (int i = 0; i < s->n; i++) s->start_x[i] = style & 16 ? fuzz_value(input, style & 32) : 0;
}

static void make_system(fuzz_input *input, fuzz_system *s)
{
  s->rows = 1 + fuzz_choice(input, MOST_ROWS);
  s->b = 1 + fuzz_choice(input, MOST_SIZE);
  s->n = (int)s->rows * s->b;
  s->start[0] = 0;
  for (karst_index i = 0; i < s->rows; i++) {
    unsigned pattern = fuzz_byte(input) | fuzz_byte(input) << 8;
    if (!(pattern & 0x8000)) pattern |= 1u << i;
    s->start[i + 1] = s->start[i];
    for (karst_index j = 0; j < s->rows; j++)
      if (pattern >> j & 1) s->column[s->start[i + 1]++] = j;
  }
  make_values(input, s);
}

/* What option number i from 0 takes. The list is the harness's own, so that inputs mean the same options when the
 * library gets more; those for experiments follow the others. */
static bool find_option(int i, karst_option_info *info)
{
  static const char *const names[] = {
      "solver",          "restart",  "rtol",   "atol",       "max-iterations", "side",         "orthogonalise",
      "precond",         "level",    "sweeps", "sweep-mode", "sweep-scale",    "ilu-residual", "trisolve",
      "trisolve-sweeps", "ordering", "scale",  "shift",      "sweep-order",    "sweep-block",  "sweep-chunks",
  };
  for (size_t n = 0; karst_options_info(NULL, n, info); n++)
    if (strcmp(info->name, names[i]) == 0) return true;
  return false;
}

/* Some of the options, each from its own list of values or from numbers that are worth a try. */
static void make_options(fuzz_input *input, karst_options *options)
{
  static const char *const integers[] = {"0", "1", "2", "3", "5", "20", "60"};
  static const char *const reals[] = {"0", "1e-2", "1e-6", "1e-12", "1e-15", "1e-16", "1e-30", "1", "1e-300", "1e300"};
  (void)karst_options_set(options, "max-iterations", "60");
  for (int count = fuzz_choice(input, 9); count > 0; count--) {
    karst_option_info info;
    int number = fuzz_choice(input, 21), choice = (int)fuzz_byte(input);
    fuzz_must(find_option(number, &info), "option %d is unknown", number);
    const char *text = info.value;
    if (strcmp(text, "N") == 0)
      text = integers[choice % (int)(sizeof integers / sizeof integers[0])];
    else if (strcmp(text, "R") == 0)
      text = reals[choice % (int)(sizeof reals / sizeof reals[0])];
    else {
      int names = 1;
      for (char *bar = info.value; (bar = strchr(bar, '|')); names++) *bar++ = 0;
      for (choice %= names; choice > 0; choice--) text += strlen(text) + 1;
    }
    (void)karst_options_set(options, info.name, text); /* not all take 0 */
  }
}

static bool all_finite(int n, const double *x)
{
  for (int i = 0; i < n; i++)
    if (!isfinite(x[i])) return false;
  return true;
}

/* |b - A x| and |b| in 113 bits; *rounding: what errors of the working precision amount to in the first. */
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

static void check(const fuzz_system *s, const karst_options *options, const double *x, const karst_result *result)
{
  fuzz_must(!all_finite(s->n, s->start_x) || result->reason == KARST_NOT_FINITE || all_finite(s->n, x),
            "x is not finite, and the reason is %d", (int)result->reason);
  bool zero = true;
  for (int i = 0; i < s->n; i++) zero = zero && s->rhs[i] == 0;
  fuzz_must(result->iterations > 0 || zero || !memcmp(x, s->start_x, (size_t)s->n * sizeof *x),
            "x is not the start after no iteration (reason %d)", (int)result->reason);
  if (result->reason <= 0 && (!isfinite(result->residual) || result->reason == KARST_NOT_FINITE)) return;
  long double rhs_norm, rounding, norm = judge(s, x, &rhs_norm, &rounding);
  long double few = 64 * DBL_EPSILON, tiny = MOST * (long double)DBL_TRUE_MIN;
  if (result->reason > 0) {
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

/* Solves twice and compares. */
static void solve_and_check(karst_solver *solver, const fuzz_system *s, const karst_options *options, karst_vector *rhs,
                            karst_vector *x)
{
  karst_result first, second;
  double found[MOST];
  (void)karst_vector_set(rhs, s->n, s->rhs);
  if (!solve(solver, s, rhs, x, &first)) return;
  (void)karst_vector_get(x, s->n, found);
  check(s, options, found, &first);
  fuzz_must(solve(solver, s, rhs, x, &second), "the second solve fails");
  fuzz_must(!memcmp(found, karst_vector_values(x), (size_t)s->n * sizeof *found) && first.reason == second.reason &&
                first.iterations == second.iterations &&
                !memcmp(&first.residual, &second.residual, sizeof first.residual),
            "the second solve ends differently: %d and %d after %d and %d iterations", (int)first.reason,
            (int)second.reason, first.iterations, second.iterations);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  fuzz_system s;
  karst_options *options;
  struct failing_allocator memory;
  fuzz_input input = {data, size};
  karst_context *context = fuzz_open(&memory, 64 << 20);
  karst_matrix *A = NULL;
  karst_vector *rhs = NULL, *x = NULL;
  karst_solver *solver = NULL;
  karst_status status = karst_options_create(context, &options);
  fuzz_must(!status, "%s", karst_context_error(context));
  make_options(&input, options);
  make_system(&input, &s);
  status = karst_matrix_create(context, s.rows, s.b, s.start, s.column, s.value, KARST_COPY, &A);
  fuzz_must(!status, "%s", karst_context_error(context));
  status = karst_solver_create(context, options, &solver);
  fuzz_made(context, status, solver);
  if (!status && !karst_vector_create(context, s.n, &rhs) && !karst_vector_create(context, s.n, &x) &&
      !karst_solver_setup(solver, A)) {
    solve_and_check(solver, &s, options, rhs, x);
    if (input.size) {
      make_values(&input, &s);
      if (!karst_matrix_update_values(A, s.value) && !karst_solver_update(solver))
        solve_and_check(solver, &s, options, rhs, x);
    }
  }
  karst_solver_destroy(solver);
  karst_options_destroy(options);
  karst_vector_destroy(x);
  karst_vector_destroy(rhs);
  karst_matrix_destroy(A);
  fuzz_close(&memory, context);
  return 0;
}
