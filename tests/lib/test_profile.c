/* What an operation of a solve has taken, by its name: karst_context_profile counts the calls that the methods make,
 * disturbs no result, and divides the time between operations that call each other. A device with a queue is played by
 * a copy of the CPU's table, whose marks are times of a clock that goes as the test says. */
#include "lib/backend/backend.h"
#include "tests/support/failing_allocator.h"
#include "tests/support/problem.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The row of a name; no calls where there is none. */
static karst_profile row_of(const karst_context *context, const char *name)
{
  karst_profile row;
  for (size_t i = 0; karst_context_profile_row(context, i, &row); i++)
    if (strcmp(row.name, name) == 0) return row;
  return (karst_profile){.name = ""};
}

static int64_t calls_of(const karst_context *context, const char *name) { return row_of(context, name).calls; }

static size_t count_rows(const karst_context *context)
{
  karst_profile row;
  size_t count = 0;
  while (karst_context_profile_row(context, count, &row)) count++;
  return count;
}

/* A system that is set up, and what it has been solved with. */
struct system {
  karst_matrix *A;
  karst_vector *b, *x;
  karst_solver *solver;
  karst_result result;
  double *solution; /* the last one, on the host */
};

static void set_up(karst_context *context, const char *spec, const tap_settings *settings, struct system *s)
{
  *s = (struct system){0};
  tap_need(context, karst_gallery_create(context, spec, 0, &s->A, NULL), spec);
  const int64_t rows = karst_matrix_rows(s->A);
  s->b = vector_of(context, rows, 1);
  s->x = vector_of(context, rows, 0);
  tap_need(context, tap_solver_setup(context, settings, s->A, &s->solver), "solver");
  s->solution = calloc((size_t)rows, sizeof *s->solution);
  if (!s->solution) exit(1);
}

static void solve(karst_context *context, struct system *s)
{
  tap_need(context, karst_vector_fill(s->x, 0), "the start");
  tap_need(context, karst_solver_solve(s->solver, s->b, s->x, &s->result), "solve");
  tap_need(context, karst_vector_get(s->x, karst_matrix_rows(s->A), s->solution), "x");
}

static void destroy(struct system *s)
{
  free(s->solution);
  karst_solver_destroy(s->solver);
  karst_vector_destroy(s->x);
  karst_vector_destroy(s->b);
  karst_matrix_destroy(s->A);
}

/* The same solve twice, the second with a profile that begins after an update; the bits agree. */
static void solve_profiled(karst_context *context, struct system *s, const char *what)
{
  const size_t bytes = (size_t)karst_matrix_rows(s->A) * sizeof *s->solution;
  double *before = malloc(bytes);
  if (!before) exit(1);
  solve(context, s);
  memcpy(before, s->solution, bytes);
  const int iterations = s->result.iterations;
  tap_need(context, karst_context_profile(context, 1), "profile");
  solve(context, s);
  tap_need(context, karst_context_profile(context, 0), "no profile");
  tap_ok(s->result.iterations == iterations && iterations > 3 && memcmp(before, s->solution, bytes) == 0,
         "%s: a solve of %d iterations has the same bits when it is profiled", what, iterations);
  free(before);
}

/* What each method does in an iteration. The residuals before and after are operations of other names. Right
 * preconditioning applies once more for the x of each cycle, of which there is one. */
static void counts_calls(karst_context *context)
{
  static const struct {
    const char *solver;
    int products, applies, more;
  } method[] = {{"cg", 1, 1, 0}, {"gmres", 1, 1, 1}, {"fgmres", 1, 1, 0}, {"bicgstab", 2, 2, 0}};
  for (size_t i = 0; i < sizeof method / sizeof *method; i++) {
    struct system s;
    tap_settings settings;
    tap_settings_default(&settings);
    settings.solver = method[i].solver;
    settings.restart = 100;
    set_up(context, "poisson2d:20x20", &settings, &s);
    solve_profiled(context, &s, method[i].solver);
    const int64_t n = s.result.iterations, products = calls_of(context, "matrix product");
    const int64_t applies = calls_of(context, "precond apply (iluk)"), half = method[i].products - 1;
    tap_ok(products <= method[i].products * n && products >= method[i].products * n - half,
           "%s: %lld products in %lld iterations", method[i].solver, (long long)products, (long long)n);
    tap_ok(applies <= method[i].applies * n + method[i].more && applies >= method[i].applies * n - half,
           "%s: %lld applies", method[i].solver, (long long)applies);
    tap_ok(calls_of(context, "precond update (iluk)") == 0 && calls_of(context, "download") >= n &&
               calls_of(context, "dot products") > 0,
           "%s: no update, and a download in each iteration", method[i].solver);
    destroy(&s);
  }
}

/* A preconditioner of two stages has a row, and each stage one. */
static void counts_stages(karst_context *context)
{
  struct system s;
  tap_settings settings;
  tap_settings_default(&settings);
  settings.precond = "two-stage";
  set_up(context, "deadoil:6x5x4", &settings, &s);
  solve_profiled(context, &s, "two-stage");
  const int64_t both = calls_of(context, "precond apply (two-stage)");
  tap_ok(both > s.result.iterations && calls_of(context, "precond apply (jacobi)") == both &&
             calls_of(context, "precond apply (iluk)") == both &&
             calls_of(context, "diagonal blocks product") == both && calls_of(context, "residual") >= both,
         "two-stage: each of %lld applies is one of both stages", (long long)both);
  tap_ok(row_of(context, "precond apply (two-stage)").bytes == 0 &&
             row_of(context, "precond apply (jacobi)").bytes == 0 &&
             row_of(context, "precond apply (iluk)").bytes > 0 && row_of(context, "diagonal blocks product").bytes > 0,
         "and the bytes are those of the operations that move them");
  tap_need(context, karst_context_profile(context, 1), "profile");
  tap_need(context, karst_solver_update(s.solver), "update");
  tap_ok(calls_of(context, "precond update (two-stage)") == 1 && calls_of(context, "precond update (iluk)") == 1 &&
             calls_of(context, "invert diagonal") == 1 && calls_of(context, "matrix product") == 0,
         "an update is counted likewise, and the rows of the profile before are gone");
  tap_need(context, karst_solver_setup(s.solver, s.A), "setup");
  tap_ok(calls_of(context, "precond setup (two-stage)") == 1 && calls_of(context, "precond setup (jacobi)") == 1,
         "and so is a set-up");
  destroy(&s);
}

/* cg on the unknowns that rrb leaves has operations of its own. */
static void counts_reduced(karst_context *context)
{
  struct system s;
  tap_settings settings;
  tap_settings_default(&settings);
  settings.solver = "cg";
  settings.precond = "rrb";
  set_up(context, "jump2d:40x40", &settings, &s);
  solve_profiled(context, &s, "rrb");
  const int64_t products = calls_of(context, "reduced matrix product (rrb)");
  tap_ok(products >= s.result.iterations && products <= s.result.iterations + 4 &&
             calls_of(context, "reduced precond apply (rrb)") == s.result.iterations &&
             calls_of(context, "enter reduced system (rrb)") == 1 &&
             calls_of(context, "leave reduced system (rrb)") == 1 && calls_of(context, "matrix product") == 0,
         "a reduced system: %lld products with its matrix, and it is left once", (long long)products);
  tap_ok(row_of(context, "reduced matrix product (rrb)").bytes >= (double)products * 800 * 7 * sizeof(double),
         "which is read as often");
  destroy(&s);
}

/* The solution of a scaled system goes into the caller's order to be measured, and not once more at the end. Norms that
 * are compared on the way combine the basis, but fill nothing. */
static void counts_scaled(karst_context *context)
{
  struct system s;
  tap_settings settings;
  tap_settings_default(&settings);
  settings.scale = "diagonal";
  settings.restart = 100;
  set_up(context, "jump2d:20x20", &settings, &s);
  solve_profiled(context, &s, "a scaled system");
  const int64_t n = s.result.iterations, combinations = calls_of(context, "linear combination");
  tap_ok(calls_of(context, "scatter") == 1, "a scaled system: its solution is taken to the caller's order once");
  tap_ok(calls_of(context, "fill") == 1, "and only the start is filled");
  tap_ok(combinations > n + 2, "where norms are compared, in %lld combinations of %lld iterations",
         (long long)combinations, (long long)n);
  destroy(&s);
}

static karst_status multiply(void *user, const karst_vector *x, karst_vector *y)
{
  return karst_matrix_multiply(user, x, y);
}

static void counts_operator(karst_context *context)
{
  struct system s;
  tap_settings settings;
  tap_settings_default(&settings);
  set_up(context, "poisson2d:12x12", &settings, &s);
  tap_need(context, karst_solver_set_operator(s.solver, multiply, s.A), "the operator");
  solve_profiled(context, &s, "an operator");
  tap_ok(calls_of(context, "operator") > s.result.iterations &&
             calls_of(context, "operator") == calls_of(context, "matrix product"),
         "the caller's operator has a row, and what it calls too");
  destroy(&s);
}

/* The bytes of operations on known sizes. */
static void counts_bytes(karst_context *context)
{
  enum { N = 1000 };
  double norm, dot;
  karst_matrix *A = matrix_from(context, "poisson2d:40x25", 0);
  karst_vector *x = vector_of(context, N, 0), *y = vector_of(context, N, 0);
  tap_need(context, karst_context_profile(context, 1), "profile");
  tap_need(context, karst_vector_copy(x, y), "copy");
  tap_need(context, karst_vector_copy(x, y), "copy");
  tap_need(context, karst_vector_fill(x, 1), "fill");
  tap_need(context, karst_vector_norm(x, &norm), "norm");
  tap_need(context, karst_vector_dot(x, y, &dot), "dot");
  tap_need(context, karst_vector_add(2, x, y), "add");
  tap_need(context, karst_vector_scale(2, x), "scale");
  tap_need(context, karst_matrix_multiply(A, x, y), "multiply");
  const double blocks = 5 * N - 2 * 40 - 2 * 25, index = sizeof(karst_index);
  const karst_profile copy = row_of(context, "copy"), product = row_of(context, "matrix product");
  tap_ok(copy.calls == 2 && copy.bytes == 2 * 2 * 8.0 * N, "a copy reads and writes");
  tap_ok(row_of(context, "fill").bytes == 8.0 * N, "to fill is to write");
  tap_ok(row_of(context, "dot products").bytes == 8.0 * (N + 2 * N), "a norm reads one vector, a dot product two");
  tap_ok(row_of(context, "linear combination").bytes == 8.0 * (3 * N + 2 * N), "sums read and write y");
  tap_ok(product.calls == 1 && product.bytes == blocks * (8 + index) + (N + 1) * index + 2 * 8.0 * N,
         "a product reads the matrix once");
  karst_matrix_destroy(A);
  karst_vector_destroy(y);
  karst_vector_destroy(x);
}

/* Set-up with an ordering permutes the pattern once, and an update permutes the values alone. */
static void counts_permutation(karst_context *context)
{
  struct system s;
  tap_settings settings;
  tap_settings_default(&settings);
  settings.ordering = "rcm";
  set_up(context, "poisson2d:40x25", &settings, &s);
  tap_need(context, karst_context_profile(context, 1), "profile");
  tap_need(context, karst_solver_setup(s.solver, s.A), "setup");
  tap_need(context, karst_solver_update(s.solver), "update");
  const karst_profile row = row_of(context, "permute pattern");
  const double rows = 1000, blocks = 5 * rows - 2 * 40 - 2 * 25;
  tap_ok(row.calls == 1 && row.bytes == (3 * blocks + 2 * (rows + 1) + rows) * (double)sizeof(karst_index),
         "the pattern is permuted once, by set-up");
  destroy(&s);
}

/* Times are those of operations alone, and all of them fit into the time that has passed. */
static void adds_up(karst_context *context)
{
  struct system s;
  tap_settings settings;
  karst_profile row;
  karst_solver_info info;
  double sum = 0;
  bool sane = true;
  tap_settings_default(&settings);
  settings.precond = "two-stage";
  set_up(context, "deadoil:8x8x4", &settings, &s);
  tap_need(context, karst_context_profile(context, 1), "profile");
  tap_need(context, karst_solver_solve(s.solver, s.b, s.x, &s.result), "solve");
  tap_need(context, karst_context_profile(context, 0), "no profile");
  tap_need(context, karst_solver_get_info(s.solver, &info), "info");
  for (size_t i = 0; karst_context_profile_row(context, i, &row); i++) {
    sane = sane && row.calls > 0 && row.seconds >= 0 && row.bytes >= 0 && *row.name;
    sum += row.seconds;
  }
  /* A GPU's clock is another one; that of the CPU has no excuse but its own resolution. */
  tap_ok(sane && sum > 0 && sum <= 1.05 * info.time_solve + 1e-6, "the rows take %g of %g seconds", sum,
         info.time_solve);
  destroy(&s);
}

static void switches(karst_context *context)
{
  struct system s;
  karst_profile row = {.name = "none"};
  tap_settings settings;
  tap_settings_default(&settings);
  const struct karst_backend *backend = context->backend;
  tap_ok(!karst_context_profile_row(context, 0, &row) && strcmp(row.name, "none") == 0, "there are no rows at first");
  tap_ok(karst_context_profile(context, 0) == KARST_SUCCESS, "what is not on can be switched off");
  set_up(context, "poisson2d:8x8", &settings, &s);
  tap_need(context, karst_context_profile(context, 1), "profile");
  tap_ok(count_rows(context) == 0 && context->backend != backend, "and none when it begins");
  solve(context, &s);
  const int64_t calls = calls_of(context, "matrix product");
  tap_need(context, karst_context_profile(context, 0), "no profile");
  tap_ok(context->backend == backend, "without a profile the backend's own operations are called");
  solve(context, &s);
  tap_ok(calls > 0 && calls_of(context, "matrix product") == calls, "and what is done then is not counted");
  tap_need(context, karst_context_profile(context, 1), "profile");
  solve(context, &s);
  tap_ok(calls_of(context, "matrix product") == calls, "a profile begins anew");
  tap_need(context, karst_context_profile(context, 7), "profile");
  tap_ok(count_rows(context) == 0, "also from within one");
  tap_ok(!karst_context_profile_row(context, 0, NULL) && !karst_context_profile_row(NULL, 0, &row) &&
             karst_context_profile(NULL, 1) == KARST_ERROR_ARGUMENT,
         "nothing is asked of NULL");
  destroy(&s);
}

/* With the device the table of its operations changes. */
static void ends_with_the_device(karst_context *context)
{
  char device[128];
  snprintf(device, sizeof device, "%s", context->backend->name);
  tap_need(context, karst_context_profile(context, 1), "profile");
  tap_need(context, karst_context_set_threads(context, 1), "threads");
  tap_ok(context->profiling, "the number of threads does not end a profile");
  tap_need(context, karst_context_set_device(context, device), "device");
  karst_vector *x = vector_of(context, 5, 0);
  tap_ok(!context->profiling && count_rows(context) == 0, "a new device does");
  karst_vector_destroy(x);
}

/* ---- a method from outside, and operations within it ---- */

static karst_status accept(karst_precond *precond)
{
  (void)precond;
  return KARST_SUCCESS;
}

static void forget(karst_precond *precond) { (void)precond; }

static karst_status apply_and_switch(karst_precond *precond, const karst_vector *r, karst_vector *z)
{
  karst_status *answer = karst_precond_user(precond);
  *answer = karst_context_profile(karst_precond_context(precond), 0);
  return karst_vector_copy(r, z);
}

static karst_decision stop_profile(void *user, int iteration, double residual)
{
  (void)residual;
  if (iteration == 1) tap_need(user, karst_context_profile(user, 0), "no profile from a monitor");
  return KARST_GO_ON;
}

static void within_a_solve(karst_context *context)
{
  struct system s;
  tap_settings settings;
  karst_status answer = KARST_SUCCESS;
  const karst_precond_method method = {.name = "switcher",
                                       .help = "switches",
                                       .user = &answer,
                                       .setup = accept,
                                       .update = accept,
                                       .apply = apply_and_switch,
                                       .destroy = forget};
  tap_settings_default(&settings);
  settings.precond = "switcher";
  tap_need(context, karst_precond_register(context, &method), "register");
  set_up(context, "poisson2d:8x8", &settings, &s);
  solve_profiled(context, &s, "a method from outside");
  tap_ok(answer == KARST_ERROR_ARGUMENT && strstr(karst_context_error(context), "within"),
         "an operation that is timed cannot end the profile: %s", karst_context_error(context));
  const int64_t calls = calls_of(context, "precond apply (switcher)");
  tap_ok(calls > 0 && calls <= calls_of(context, "copy"), "it has a row of its name, and what it calls another");
  karst_solver_monitor(s.solver, stop_profile, context);
  tap_need(context, karst_context_profile(context, 1), "profile");
  solve(context, &s);
  tap_ok(!context->profiling && calls_of(context, "precond apply (switcher)") > 0 &&
             calls_of(context, "precond apply (switcher)") < calls,
         "a monitor can, in the middle of a solve");
  destroy(&s);
}

/* ---- a device with a queue, played by the CPU's table ---- */

static struct karst_backend queued;
static double device_clock, wrong_marks;
static long marks, marks_made, marks_allowed;

static karst_status create_mark(karst_context *context, void **mark)
{
  *mark = NULL;
  if (marks_made == marks_allowed) return karst_fail(context, KARST_ERROR_NO_MEMORY, "no more marks");
  const karst_status status = karst_allocate_zero(context, mark, 1, sizeof(double), "a mark");
  if (!status) marks_made++, marks++;
  return status;
}

static void destroy_mark(karst_context *context, void *mark)
{
  marks--;
  karst_release(context, mark);
}

static void set_mark(karst_context *context, void *mark)
{
  (void)context;
  memcpy(mark, &device_clock, sizeof device_clock);
}

static double seconds_between(karst_context *context, void *from, void *to)
{
  double begin, end;
  (void)context;
  memcpy(&begin, from, sizeof begin);
  memcpy(&end, to, sizeof end);
  if (end < begin) wrong_marks++;
  return end - begin;
}

/* A copy takes 1 second of this device, a product with diagonal blocks 10. */
static void slow_copy(karst_context *context, int64_t n, const double *x, double *y)
{
  device_clock += 1;
  karst_backends[0]->copy(context, n, x, y);
}

static void slow_diagonal(karst_context *context, karst_index count, int b, const double *S, const double *x, double *y)
{
  device_clock += 10;
  karst_backends[0]->multiply_diagonal(context, count, b, S, x, y);
}

static void play_queue(karst_context *context)
{
  queued = *karst_backends[0];
  queued.mark_create = create_mark;
  queued.mark_destroy = destroy_mark;
  queued.mark_set = set_mark;
  queued.mark_seconds = seconds_between;
  queued.copy = slow_copy;
  queued.multiply_diagonal = slow_diagonal;
  device_clock = 1e6;
  marks = marks_made = 0;
  marks_allowed = 1000000;
  context->backend = &queued;
}

/* Applies jacobi, which takes 10 seconds, and copies a number of times. */
static karst_status apply_slowly(karst_precond *precond, const karst_vector *r, karst_vector *z)
{
  const long *copies = karst_precond_user(precond);
  karst_status status = karst_precond_apply(karst_precond_data(precond), r, z);
  device_clock += 100;
  for (long i = 0; i < *copies && !status; i++) status = i % 2 ? karst_vector_copy(r, z) : karst_vector_scale(1, z);
  device_clock += 100;
  return status;
}

static karst_status make_jacobi(karst_precond *precond)
{
  karst_options *options;
  karst_precond *jacobi = karst_precond_data(precond);
  if (jacobi) return karst_precond_update(jacobi);
  karst_status status = karst_options_create(karst_precond_context(precond), &options);
  if (!status) status = karst_options_set(options, "precond", "jacobi");
  if (!status)
    status = karst_precond_create(karst_precond_context(precond), options, karst_precond_matrix(precond), &jacobi);
  if (!status) karst_precond_set_data(precond, jacobi);
  karst_options_destroy(options);
  return status;
}

static void destroy_jacobi(karst_precond *precond) { karst_precond_destroy(karst_precond_data(precond)); }

/* Operations within one another, fewer and more than there are marks for at a time. */
static void divides_queued_time(karst_context *context)
{
  long copies = 0;
  const karst_precond_method method = {.name = "slow",
                                       .help = "slow",
                                       .user = &copies,
                                       .setup = accept,
                                       .update = make_jacobi,
                                       .apply = apply_slowly,
                                       .destroy = destroy_jacobi};
  karst_precond *precond;
  if (!context->backend->host_memory) return;
  play_queue(context);
  tap_need(context, karst_precond_register(context, &method), "register");
  karst_options *options = options_of(context, PAIRS("precond", "slow"));
  karst_matrix *A = matrix_from(context, "poisson2d:4x4", 0);
  tap_need(context, karst_precond_create(context, options, A, &precond), "precond");
  karst_vector *r = vector_of(context, 16, 0), *z = vector_of(context, 16, 0);
  tap_need(context, karst_context_profile(context, 1), "profile");
  tap_ok(marks > 2, "marks are made at the beginning");
  for (copies = 3; copies < 5000; copies *= 7) {
    tap_need(context, karst_context_profile(context, 1), "profile");
    const long made = marks_made;
    for (int i = 0; i < 20; i++) tap_need(context, karst_precond_apply(precond, r, z), "apply");
    const karst_profile own = row_of(context, "precond apply (slow)"),
                        jacobi = row_of(context, "precond apply (jacobi)"),
                        product = row_of(context, "diagonal blocks product"), copy = row_of(context, "copy");
    tap_ok(own.calls == 20 && own.seconds == 20 * 200 && jacobi.calls == 20 && jacobi.seconds == 0 &&
               product.seconds == 20 * 10 && copy.calls == 20 * (copies / 2) && copy.seconds == (double)copy.calls,
           "%ld operations within each: %g s itself, %g s in copies", copies, own.seconds, copy.seconds);
    tap_ok(marks_made == made && wrong_marks == 0, "no mark is made on the way, and none is read too early");
  }
  tap_need(context, karst_context_profile(context, 0), "no profile");
  tap_ok(marks == 0 && context->backend == &queued && calls_of(context, "copy") > 0,
         "all marks are given back at the end, and the rows stay");
  marks_allowed = marks_made + 7;
  tap_ok(karst_context_profile(context, 1) == KARST_ERROR_NO_MEMORY && marks == 0 && context->backend == &queued &&
             !context->profiling && strcmp(karst_context_error(context), "no more marks") == 0,
         "without marks there is no profile");
  marks_allowed = 1000000;
  tap_need(context, karst_context_profile(context, 1), "profile");
  karst_vector_destroy(z);
  karst_vector_destroy(r);
  karst_precond_destroy(precond);
  karst_matrix_destroy(A);
  karst_options_destroy(options);
}

/* A context that is destroyed with a profile on gives back its marks. */
static void gives_marks_back(void)
{
  karst_context *context;
  tap_need(NULL, karst_context_create(NULL, &context), "context");
  play_queue(context);
  tap_need(context, karst_context_profile(context, 1), "profile");
  karst_context_destroy(context);
  tap_ok(marks == 0 && marks_made > 0, "a context gives back its marks");
}

/* More names than there are rows: the last row has the others. */
static void has_enough_rows(karst_context *context)
{
  enum { METHODS = 200 };
  static char names[METHODS][16];
  karst_options *options;
  karst_precond *precond;
  karst_profile row, last = {.name = ""};
  long copies = 0;
  int64_t updates = 0;
  tap_need(context, karst_options_create(context, &options), "options");
  karst_matrix *A = matrix_from(context, "poisson2d:4x4", 0);
  tap_need(context, karst_context_profile(context, 1), "profile");
  for (int i = 0; i < METHODS; i++) {
    snprintf(names[i], sizeof names[i], "method%d", i);
    const karst_precond_method method = {.name = names[i],
                                         .help = "one of many",
                                         .user = &copies,
                                         .setup = accept,
                                         .update = accept,
                                         .apply = apply_slowly,
                                         .destroy = forget};
    tap_need(context, karst_precond_register(context, &method), "register");
    tap_need(context, karst_options_set(options, "precond", names[i]), "precond");
    tap_need(context, karst_precond_create(context, options, A, &precond), "precond");
    karst_precond_destroy(precond);
  }
  size_t rows = 0;
  for (; karst_context_profile_row(context, rows, &row); rows++) {
    last = row;
    updates += strncmp(row.name, "precond update", 14) == 0;
  }
  tap_ok(rows > 20 && rows < METHODS && strcmp(last.name, "other operations") == 0 &&
             last.calls >= 2 * METHODS - (int64_t)(rows - 1) && updates > 10,
         "%zu rows, and %lld calls of other operations", rows, (long long)last.calls);
  karst_matrix_destroy(A);
  karst_options_destroy(options);
}

enum { THREADS = 4, TIMES = 2000 };

static void *copy_often(void *context)
{
  karst_vector *x = vector_of(context, 10, 0), *y = vector_of(context, 10, 0);
  for (int i = 0; i < TIMES; i++) tap_need(context, karst_vector_copy(x, y), "copy");
  karst_vector_destroy(y);
  karst_vector_destroy(x);
  return NULL;
}

/* Threads that use one context at once are counted in one profile. */
static void in_threads(void)
{
  karst_context *context;
  pthread_t thread[THREADS];
  int started = 0;
  tap_need(NULL, karst_context_create(NULL, &context), "context");
  tap_need(context, karst_context_profile(context, 1), "profile");
  while (started < THREADS && pthread_create(&thread[started], NULL, copy_often, context) == 0) started++;
  for (int t = 0; t < started; t++) pthread_join(thread[t], NULL);
  const karst_profile copy = row_of(context, "copy");
  tap_ok(copy.calls == (int64_t)started * TIMES && copy.bytes == 160.0 * (double)copy.calls,
         "%d threads make %lld copies", started, (long long)copy.calls);
  karst_context_destroy(context);
}

/* No memory for a profile: nothing has changed. A solve takes none for it. */
static void without_memory(void)
{
  struct failing_allocator memory = {0};
  karst_allocator allocator = failing_allocator(&memory);
  karst_context *context;
  struct system s;
  tap_settings settings;
  tap_settings_default(&settings);
  tap_need(NULL, karst_context_create(&allocator, &context), "context");
  const struct karst_backend *backend = context->backend;
  memory.fail_at = memory.calls + 1;
  tap_ok(karst_context_profile(context, 1) == KARST_ERROR_NO_MEMORY && context->backend == backend &&
             count_rows(context) == 0 && strstr(karst_context_error(context), "the profile"),
         "without memory there is no profile: %s", karst_context_error(context));
  memory.fail_at = 0;
  set_up(context, "poisson2d:9x9", &settings, &s);
  tap_need(context, karst_context_profile(context, 1), "profile");
  const long calls = memory.calls;
  tap_need(context, karst_solver_update(s.solver), "update");
  solve(context, &s);
  tap_need(context, karst_context_profile(context, 0), "no profile");
  tap_need(context, karst_context_profile(context, 1), "profile");
  tap_ok(memory.calls == calls, "a profiled solve allocates nothing, nor does a second profile");
  destroy(&s);
  karst_context_destroy(context);
  tap_ok(memory.outstanding == 0, "a context gives the profile back");
}

int main(void)
{
  tap_each_device(counts_calls, "calls of the methods");
  tap_each_device(counts_stages, "stages");
  tap_each_device(counts_reduced, "a reduced system");
  tap_each_device(counts_scaled, "a scaled system");
  tap_each_device(counts_operator, "an operator");
  tap_each_device(counts_bytes, "bytes");
  tap_each_device(counts_permutation, "a permutation");
  tap_each_device(adds_up, "the sum of times");
  tap_each_device(switches, "on and off");
  tap_each_device(ends_with_the_device, "another device");
  tap_each_device(within_a_solve, "from within");
  tap_each_device(has_enough_rows, "many names");
  tap_each_device(divides_queued_time, "a queue");
  gives_marks_back();
  in_threads();
  without_memory();
  return tap_done();
}
