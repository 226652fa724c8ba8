/* test_wells_state.c - wells of a solver over its life: shut and singular wells, new values, kept factors, two solvers,
 * updates that fail, the same bits in each run, and what is refused. */
#include "lib/backend/wells_kernels.h"
#include "solver/solver.h"
#include "tests/support/named_values.h"
#include "tests/support/random_wells.h"

#include <stdio.h>

enum { ROWS = 50, BLOCK = 3, WELLS = 7 };

static struct well_arrays w;

static struct problem make_problem(karst_context *context, karst_wells **wells)
{
  struct problem p = problem_of(context, tap_random_matrix(context, ROWS, BLOCK, 4, 1.2), tap_seed());
  draw_wells(&w, ROWS, BLOCK, WELLS, 0.3);
  *wells = make_wells(context, ROWS, &w);
  return p;
}

static karst_solver *make_solver(const struct problem *p, const karst_wells *wells, const char *ordering)
{
  karst_solver *solver =
      solver_from(p->context, PAIRS("solver", "bicgstab", "precond", "iluk", "rtol", "1e-11", "ordering", ordering));
  tap_need(p->context, karst_solver_set_wells(solver, wells), "set wells");
  tap_need(p->context, karst_solver_setup(solver, p->A), "set-up");
  return solver;
}

static void check_solution(const struct problem *p, karst_solver *solver, const char *what)
{
  karst_matrix *inside = with_wells_inside(p->context, p->A, &w);
  const karst_result result = problem_solve(p, solver);
  const double residual = tap_residual(inside, p->b, p->x), norm = vector_norm(p->b);
  tap_ok(result.reason > 0 && residual <= 1.01e-11 * norm, "%s: the residual is %.1e of b", what, residual / norm);
  karst_matrix_destroy(inside);
}

static void check_error(karst_context *context, karst_status status, karst_status expected, const char *says)
{
  const char *sentence = karst_context_error(context);
  if (!tap_ok(status == expected && strstr(sentence, says), "refused: %s", says))
    tap_note("%s: \"%s\"", karst_status_text(status), sentence);
}

/* Well i gets zero couplings and this diagonal of D. */
static void shut(karst_index i, double diagonal)
{
  const int n = w.equations[i];
  const size_t entries = (size_t)(w.start[i + 1] - w.start[i]) * (size_t)(n * BLOCK);
  memset(w.B + well_entry(&w, i, w.start[i]), 0, entries * sizeof *w.B);
  memset(w.C + well_entry(&w, i, w.start[i]), 0, entries * sizeof *w.C);
  for (int e = 0; e < n * n; e++) w.D[well_square(&w, i) + e] = e / n == e % n ? diagonal : 0;
}

static void set_values(const struct problem *p, karst_wells *wells, karst_solver *solver)
{
  tap_need(p->context, karst_wells_update_values(wells, w.B, w.C, w.D), "values");
  tap_need(p->context, karst_solver_update(solver), "update");
}

/* A singular D, or a number that is not finite, ends the solve and names the well; a shut well is no failure. */
static void outcomes(karst_context *context)
{
  karst_wells *wells;
  struct problem p = make_problem(context, &wells);
  karst_solver *solver = make_solver(&p, wells, "rcm");
  karst_index bad = 0;
  check_solution(&p, solver, "all wells open");
  tap_ok(karst_wells_outcome(wells, &bad) == KARST_SOUND && bad == -1, "sound wells have no outcome");
  shut(1, 1);
  shut(4, 0);
  set_values(&p, wells, solver);
  tap_ok(karst_wells_outcome(wells, NULL) == KARST_SOUND, "a shut well may have a zero D");
  check_solution(&p, solver, "two wells shut");
  const int64_t of_3 = well_square(&w, 3), entries = well_entry(&w, WELLS, w.start[WELLS]);
  const int n = w.equations[3];
  for (int e = 0; e < n; e++) w.D[of_3 + (int64_t)e * n] = 0; /* a row of zeros */
  w.D[well_square(&w, 5)] = NAN;
  set_values(&p, wells, solver);
  const karst_result singular = problem_solve(&p, solver);
  const karst_reason reason = karst_wells_outcome(wells, &bad);
  tap_ok(singular.reason == KARST_SINGULAR_BLOCK && singular.iterations == 0 && reason == singular.reason && bad == 3 &&
             strstr(karst_solver_explain(solver), "D of well 3 is singular"),
         "%s", karst_solver_explain(solver));
  karst_vector *g = vector_of(context, karst_wells_unknowns(wells), 1);
  check_error(context, karst_wells_eliminate(wells, g, p.b), KARST_ERROR_ARGUMENT, "D of well 3 is singular");
  for (int e = 0; e < n * n; e++) w.D[of_3 + e] = e / n == e % n;
  set_values(&p, wells, solver);
  const karst_result nan = problem_solve(&p, solver);
  tap_ok(nan.reason == KARST_NOT_FINITE && strstr(karst_solver_explain(solver), "well 5"), "%s",
         karst_solver_explain(solver));
  shut(5, 1);
  w.C[entries - 1] = INFINITY;
  set_values(&p, wells, solver);
  const karst_reason infinite = karst_wells_outcome(wells, &bad);
  tap_ok(infinite == KARST_NOT_FINITE && bad == 5, "an infinity in C: well %lld", (long long)bad);
  w.C[entries - 1] = 0;
  w.B[well_entry(&w, 5, w.start[5])] = NAN; /* zeros follow */
  set_values(&p, wells, solver);
  tap_ok(karst_wells_outcome(wells, &bad) == KARST_NOT_FINITE && bad == 5, "a NaN in B: well %lld", (long long)bad);
  w.B[well_entry(&w, 5, w.start[5])] = 0;
  set_values(&p, wells, solver);
  check_solution(&p, solver, "repaired values");
  karst_vector_destroy(g);
  karst_solver_destroy(solver);
  karst_wells_destroy(wells);
  problem_destroy(&p);
}

/* A finite D whose inverse overflows is not called not finite, and is no failure if nothing couples with the well. */
static void inverse_overflows(karst_context *context)
{
  static const karst_index start[] = {0, 1, 2, 2}, cell[] = {4, 0};
  static const int equations[] = {2, 1, 1};
  const double couples[] = {1, 1, 1}, apart[] = {1, 1, 0}, sound[] = {1, 0, 0, 1, 1, 1e-310};
  double D[] = {1, 0, 0, 1, 1e-310, 0};
  karst_wells *wells;
  karst_index bad = 0;
  tap_need(context, karst_wells_create(context, 10, 1, 3, equations, start, cell, &wells), "wells");
  tap_need(context, karst_wells_update_values(wells, couples, apart, D), "values");
  tap_ok(karst_wells_outcome(wells, &bad) == KARST_SINGULAR_BLOCK && bad == 1, "one equation: well %lld",
         (long long)bad);
  karst_vector *g = vector_of(context, 4, 1), *b = vector_of(context, 10, 1);
  check_error(context, karst_wells_eliminate(wells, g, b), KARST_ERROR_ARGUMENT, "or its inverse overflows");
  tap_need(context, karst_wells_update_values(wells, apart, apart, D), "values");
  tap_ok(karst_wells_outcome(wells, &bad) == KARST_SOUND && bad == -1, "shut wells");
  D[0] = 1e-310;
  D[4] = 1;
  tap_need(context, karst_wells_update_values(wells, couples, apart, D), "values");
  tap_ok(karst_wells_outcome(wells, &bad) == KARST_SINGULAR_BLOCK && bad == 0, "two equations: well %lld",
         (long long)bad);
  tap_need(context, karst_wells_update_values(wells, couples, couples, sound), "values");
  tap_ok(karst_wells_outcome(wells, &bad) == KARST_SOUND && bad == -1, "a well without perforations");
  karst_vector_destroy(g), karst_vector_destroy(b);
  karst_wells_destroy(wells);
}

/* The clock by which auto measures stands still, so that only failed solves can change its choice. */
static double stopped(void) { return 0; }

/* Solves and updates with the preconditioner auto, and with so many steps of wells that cannot be solved in between.
 * Writes its choice after the last solve. */
static void choose(const struct problem *p, karst_wells *wells, int bad_steps, char choice[96])
{
  karst_solver *solver = solver_from(p->context, PAIRS("precond", "auto", "rtol", "1e-11"));
  solver->clock = stopped;
  tap_need(p->context, karst_solver_set_wells(solver, wells), "set wells");
  tap_need(p->context, karst_solver_setup(solver, p->A), "set-up");
  check_solution(p, solver, "auto");
  const double number = w.D[0];
  for (int step = 0; step <= bad_steps; step++) {
    w.D[0] = step < bad_steps ? NAN : number;
    set_values(p, wells, solver);
    const karst_result result = problem_solve(p, solver);
    tap_ok((result.reason > 0) == (step == bad_steps), "%s", karst_solver_explain(solver));
  }
  snprintf(choice, 96, "%s", tap_solver_text(solver, "auto_choice"));
  karst_solver_destroy(solver);
}

/* The preconditioner auto does not blame its choice for wells that cannot be solved; and no wells at all are wells. */
static void automatic(karst_context *context)
{
  karst_wells *wells, *none;
  struct problem p = make_problem(context, &wells);
  char choice[96], with_bad_steps[96];
  choose(&p, wells, 0, choice);
  choose(&p, wells, 2, with_bad_steps);
  tap_ok(choice[0] && strcmp(choice, with_bad_steps) == 0, "auto has the same choice: %s, %s", choice, with_bad_steps);
  tap_need(context, karst_wells_create(context, ROWS, BLOCK, 0, NULL, NULL, NULL, &none), "no wells");
  tap_need(context, karst_wells_update_values(none, NULL, NULL, NULL), "no values");
  karst_solver *solver = make_solver(&p, none, "rcm");
  const karst_result result = problem_solve(&p, solver);
  tap_ok(result.reason > 0 && tap_residual(p.A, p.b, p.x) <= 1.01e-11 * vector_norm(p.b), "no wells");
  karst_solver_destroy(solver);
  karst_wells_destroy(none);
  karst_wells_destroy(wells);
  problem_destroy(&p);
}

/* New values need an update of the solver or keep; without wells the solver solves A again. */
static void updates(karst_context *context)
{
  karst_wells *wells;
  struct problem p = make_problem(context, &wells);
  karst_solver *solver = make_solver(&p, wells, "natural");
  karst_result result;
  check_solution(&p, solver, "first values");
  for (int64_t v = 0; v < well_square(&w, WELLS); v++) w.D[v] *= 1.5;
  tap_need(context, karst_wells_update_values(wells, w.B, w.C, w.D), "values");
  check_error(context, karst_solver_solve(solver, p.b, p.x, &result), KARST_ERROR_ARGUMENT, "karst_solver_update");
  tap_need(context, karst_solver_keep(solver), "keep");
  check_solution(&p, solver, "new values with kept factors");
  for (int64_t v = 0; v < well_square(&w, WELLS); v++) w.D[v] *= 1.2;
  const int64_t entries = well_entry(&w, WELLS, w.start[WELLS]);
  karst_vector *B = vector_from(context, entries, w.B), *C = vector_from(context, entries, w.C);
  karst_vector *D = vector_from(context, well_square(&w, WELLS), w.D);
  tap_need(context, karst_context_synchronize(context), "values in device memory");
  tap_need(context,
           karst_wells_update_values(wells, karst_vector_const_values(B), karst_vector_const_values(C),
                                     karst_vector_const_values(D)),
           "values in device memory");
  karst_vector_destroy(B), karst_vector_destroy(C), karst_vector_destroy(D);
  tap_need(context, karst_solver_update(solver), "update");
  check_solution(&p, solver, "new values");
  tap_need(context, karst_solver_set_wells(solver, NULL), "no wells");
  check_error(context, karst_solver_solve(solver, p.b, p.x, &result), KARST_ERROR_ARGUMENT, "has not been set up");
  tap_need(context, karst_solver_setup(solver, p.A), "set-up");
  result = problem_solve(&p, solver);
  tap_ok(result.reason > 0 && tap_residual(p.A, p.b, p.x) <= 1.01e-11 * vector_norm(p.b), "without wells");
  karst_solver_destroy(solver);
  karst_wells_destroy(wells);
  problem_destroy(&p);
}

/* Updates that fail at a given upload, or at the inversion after three of them. */
static const struct karst_backend *working;
static int uploads_left;

static karst_status upload_or_fail(karst_context *context, void *device, const void *host, size_t bytes)
{
  return uploads_left-- > 0 ? working->upload(context, device, host, bytes)
                            : karst_fail(context, KARST_ERROR_DEVICE, "no upload");
}

static karst_status no_factor(karst_context *context, karst_wells *wells, karst_reason *reason, karst_index *bad)
{
  (void)wells;
  *reason = KARST_SINGULAR_BLOCK;
  *bad = 0;
  return karst_fail(context, KARST_ERROR_DEVICE, "no inversion");
}

static karst_status fail_update(karst_context *context, karst_wells *wells, int uploads)
{
  struct karst_backend backend = *context->backend;
  struct karst_wells_kernels kernels = *backend.wells;
  working = context->backend;
  uploads_left = uploads;
  backend.upload = upload_or_fail;
  kernels.factor = no_factor;
  backend.wells = &kernels;
  context->backend = &backend;
  const karst_status status = karst_wells_update_values(wells, w.B, w.C, w.D);
  context->backend = working;
  return status;
}

/* After an update that fails, wherever it does, wells are not sound, and solves refuse them until one succeeds. */
static void failed_updates(karst_context *context)
{
  static const char *const says = "the last karst_wells_update_values failed";
  enum { UPLOADS = 3 };
  karst_wells *wells;
  struct problem p = make_problem(context, &wells);
  karst_solver *solver = make_solver(&p, wells, "rcm");
  karst_vector *g = vector_of(context, karst_wells_unknowns(wells), 1);
  karst_result result;
  for (int uploads = -1; uploads <= UPLOADS; uploads++) {
    karst_index bad = 0;
    const karst_status status =
        uploads < 0 ? karst_wells_update_values(wells, w.B, NULL, w.D) : fail_update(context, wells, uploads);
    const karst_reason reason = karst_wells_outcome(wells, &bad);
    tap_ok(status == (uploads < 0 ? KARST_ERROR_ARGUMENT : KARST_ERROR_DEVICE) && reason == KARST_NOT_FINITE &&
               bad == -1,
           "an update that fails after %d uploads: %s", uploads, karst_reason_text(reason));
    check_error(context, karst_solver_solve(solver, p.b, p.x, &result), KARST_ERROR_ARGUMENT, says);
    tap_need(context, karst_solver_update(solver), "update");
    check_error(context, karst_solver_solve(solver, p.b, p.x, &result), KARST_ERROR_ARGUMENT, says);
    check_error(context, karst_wells_eliminate(wells, g, p.b), KARST_ERROR_ARGUMENT, says);
    set_values(&p, wells, solver);
    check_solution(&p, solver, "an update that succeeds");
  }
  karst_vector_destroy(g);
  karst_solver_destroy(solver);
  karst_wells_destroy(wells);
  problem_destroy(&p);
}

/* Two solvers in different orders share wells, and a solve has the same bits each time. */
static void together(karst_context *context)
{
  karst_wells *wells;
  struct problem p = make_problem(context, &wells);
  karst_solver *one = make_solver(&p, wells, "rcm"), *other = make_solver(&p, wells, "natural");
  check_solution(&p, one, "the first of two solvers");
  double *before = vector_on_host(p.x);
  check_solution(&p, other, "the second");
  problem_solve(&p, one);
  double *after = vector_on_host(p.x);
  tap_ok(memcmp(before, after, sizeof *before * (size_t)p.n) == 0, "the same bits in each solve");
  free(before), free(after);
  karst_solver_destroy(one);
  karst_solver_destroy(other);
  karst_wells_destroy(wells);
  problem_destroy(&p);
}

static void refused_wells(karst_context *context)
{
  const int equations[] = {2, 1}, none[] = {2, 0};
  const karst_index start[] = {0, 2, 3}, backwards[] = {0, 2, 1}, cell[] = {4, 0, 9}, outside[] = {4, 0, 10};
  karst_wells *wells = NULL;
#define REFUSE(says, ...)                                                                                              \
  (check_error(context, karst_wells_create(context, 10, 3, __VA_ARGS__, &wells), KARST_ERROR_ARGUMENT, says),          \
   tap_ok(!wells, "and no object"))
  REFUSE("well 1 has 0 equations", 2, none, start, cell);
  REFUSE("perforations of well 1 end", 2, equations, backwards, cell);
  REFUSE("well 1: block row 10 of perforation 2", 2, equations, start, outside);
  REFUSE("pattern of the wells", 2, NULL, start, cell);
  REFUSE("cells of the perforations", 2, equations, start, NULL);
  REFUSE("out of range", -1, equations, start, cell);
#undef REFUSE
  tap_need(context, karst_wells_create(context, 10, 3, 2, equations, start, cell, &wells), "wells");
  karst_vector *small = vector_of(context, 2, 0), *x = vector_of(context, 30, 0);
  check_error(context, karst_wells_eliminate(wells, small, x), KARST_ERROR_ARGUMENT, "vector g of the wells");
  check_error(context, karst_wells_recover(wells, NULL, small, small), KARST_ERROR_ARGUMENT, "vector x of the wells");
  check_error(context, karst_wells_recover(wells, NULL, x, x), KARST_ERROR_ARGUMENT, "vector w of the wells");
  karst_vector *part, *g = vector_of(context, 3, 0);
  tap_need(context, karst_vector_wrap(context, 3, karst_vector_values(x), &part), "part of x");
  check_error(context, karst_wells_recover(wells, NULL, x, part), KARST_ERROR_ARGUMENT, "w overlaps g or x");
  check_error(context, karst_wells_recover(wells, g, x, g), KARST_ERROR_ARGUMENT, "w overlaps g or x");
  karst_vector_destroy(part);
  karst_vector_destroy(g);
  check_error(context, karst_wells_update_values(wells, NULL, NULL, NULL), KARST_ERROR_ARGUMENT, "values of the wells");
  karst_vector_destroy(small);
  karst_vector_destroy(x);
  karst_wells_destroy(wells);
  karst_wells_destroy(NULL);
}

static void refused_solvers(karst_context *context)
{
  karst_wells *wells;
  struct problem p = make_problem(context, &wells);
  karst_matrix *larger = tap_random_matrix(context, ROWS + 1, BLOCK, 4, 1.2);
  karst_solver *solver = solver_from(context, PAIRS("scale", "block"));
  tap_need(context, karst_solver_set_wells(solver, wells), "set wells");
  check_error(context, karst_solver_setup(solver, p.A), KARST_ERROR_OPTION, "does not allow scale");
  check_error(context, karst_solver_setup(solver, larger), KARST_ERROR_ARGUMENT,
              "the wells are for 50 block rows of 3");
  check_error(context, karst_solver_set_operator(solver, multiply_by_matrix, p.A), KARST_ERROR_ARGUMENT,
              "remove one with NULL");
  tap_need(context, karst_solver_set_wells(solver, NULL), "no wells");
  tap_need(context, karst_solver_set_operator(solver, multiply_by_matrix, p.A), "operator");
  check_error(context, karst_solver_set_wells(solver, wells), KARST_ERROR_ARGUMENT, "remove one with NULL");
  karst_context *foreign = tap_context();
  karst_solver *of_foreign = solver_from(foreign, PAIRS("scale", "none"));
  check_error(foreign, karst_solver_set_wells(of_foreign, wells), KARST_ERROR_ARGUMENT, "another context");
  karst_solver_destroy(of_foreign);
  karst_context_destroy(foreign);
  karst_solver_destroy(solver);
  karst_matrix_destroy(larger);
  karst_wells_destroy(wells);
  problem_destroy(&p);
}

/* cg with rrb, which eliminates unknowns exactly where it can, solves for all of them with wells. */
static void no_reduction(karst_context *context)
{
  struct problem p = problem_from(context, "poisson2d:12x12", 1, tap_seed());
  static const karst_index start[] = {0, 3}, cell[] = {5, 70, 140};
  const double B[] = {1, 0.5, 2}, D[] = {-3};
  const int one = 1;
  karst_wells *wells;
  tap_need(context, karst_wells_create(context, 144, 1, 1, &one, start, cell, &wells), "wells");
  tap_need(context, karst_wells_update_values(wells, B, B, D), "values"); /* A + B' B / 3 is positive definite */
  karst_solver *solver = solver_from(context, PAIRS("solver", "cg", "precond", "rrb", "rtol", "1e-10"));
  tap_need(context, karst_solver_set_wells(solver, wells), "set wells");
  tap_need(context, karst_solver_setup(solver, p.A), "set-up");
  const karst_result result = problem_solve(&p, solver);
  w = (struct well_arrays){.b = 1, .wells = 1, .equations = {1}, .start = {0, 3}, .cell = {5, 70, 140}, .D = {-3}};
  memcpy(w.B, B, sizeof B);
  memcpy(w.C, B, sizeof B);
  karst_matrix *inside = with_wells_inside(context, p.A, &w);
  tap_ok(result.reason > 0 && tap_residual(inside, p.b, p.x) <= 1.01e-10 * vector_norm(p.b), "cg with rrb and a well");
  karst_matrix_destroy(inside);
  karst_wells_destroy(wells);
  problem_end(&p, solver);
}

int main(void)
{
  tap_each_device(outcomes, "outcomes of wells");
  tap_each_device(inverse_overflows, "inverses that overflow");
  tap_each_device(automatic, "wells and auto");
  tap_each_device(updates, "new values of wells");
  tap_each_device(failed_updates, "updates of wells that fail");
  tap_each_device(together, "two solvers with the same wells");
  tap_each_device(refused_wells, "wells that are refused");
  tap_each_device(refused_solvers, "solvers that refuse wells");
  tap_each_device(no_reduction, "wells and exact elimination");
  return tap_done();
}
