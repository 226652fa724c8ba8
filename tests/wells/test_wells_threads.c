/* test_wells_threads.c - wells with so many perforations that threads share them: the product, the rows of the pressure
 * system and the whole solve have the same bits for one thread and for several. Solvers in four threads share wells. */
#include "tests/support/random_wells.h"

#include <pthread.h>

enum { ROWS = 4000, FEW = 50, BLOCK = 3, WELLS = 8, PERFORATIONS = 6000, EQUATIONS = 4 };

static int equations[WELLS];
static karst_index start[WELLS + 1], cell[PERFORATIONS];
static double B[PERFORATIONS * EQUATIONS * BLOCK], C[PERFORATIONS * EQUATIONS * BLOCK];
static double D[WELLS * EQUATIONS * EQUATIONS];

static void draw(void)
{
  for (int i = 0; i < WELLS; i++) {
    equations[i] = EQUATIONS;
    start[i + 1] = PERFORATIONS / WELLS * (i + 1);
    for (int e = 0; e < EQUATIONS * EQUATIONS; e++)
      D[i * EQUATIONS * EQUATIONS + e] = tap_random() + (e % EQUATIONS == e / EQUATIONS ? PERFORATIONS : 0);
  }
  for (int p = 0; p < PERFORATIONS; p++) cell[p] = (karst_index)tap_random_index(ROWS);
  for (size_t v = 0; v < sizeof B / sizeof *B; v++) B[v] = tap_random(), C[v] = tap_random();
}

/* The solution by a number of threads, for the caller to free. */
static double *solve(int threads, int *iterations)
{
  karst_context *context = tap_context();
  const karst_status status = tap_set_threads(context, threads);
  karst_wells *wells;
  if (status) {
    karst_context_destroy(context);
    return NULL;
  }
  struct problem p = problem_from(context, "blackoil:20x20x10,dt=10", BLOCK, 7);
  karst_solver *solver = solver_from(context, PAIRS("solver", "bicgstab", "precond", "cpr", "rtol", "1e-10"));
  tap_need(context, karst_wells_create(context, ROWS, BLOCK, WELLS, equations, start, cell, &wells), "wells");
  tap_need(context, karst_wells_update_values(wells, B, C, D), "values");
  tap_need(context, karst_solver_set_wells(solver, wells), "set wells");
  tap_need(context, karst_solver_setup(solver, p.A), "set-up");
  const karst_result result = problem_solve(&p, solver);
  double *x = vector_on_host(p.x);
  tap_ok(result.reason > 0, "%d threads: %s", threads, karst_solver_explain(solver));
  *iterations = result.iterations;
  problem_end(&p, solver);
  karst_wells_destroy(wells);
  karst_context_destroy(context);
  return x;
}

struct work {
  karst_context *context;
  const karst_matrix *A;
  const karst_wells *wells;
  const karst_vector *b;
  double x[FEW * BLOCK];
  karst_status status;
};

static void *solve_in_thread(void *user)
{
  struct work *work = user;
  karst_vector *x = NULL;
  karst_solver *solver = NULL;
  karst_result result = {.reason = KARST_SOUND};
  karst_status status = karst_solver_create(work->context, NULL, &solver);
  if (!status) status = karst_vector_create(work->context, FEW * BLOCK, &x);
  if (!status) status = karst_solver_set_wells(solver, work->wells);
  if (!status) status = karst_solver_setup(solver, work->A);
  if (!status) status = karst_solver_solve(solver, work->b, x, &result);
  if (!status) status = karst_vector_get(x, FEW * BLOCK, work->x);
  work->status = status ? status : result.reason > 0 ? KARST_SUCCESS : KARST_ERROR_ARGUMENT;
  karst_vector_destroy(x);
  karst_solver_destroy(solver);
  return NULL;
}

/* Solvers in four threads share a context, a matrix and wells. */
static void threads_together(void)
{
  enum { THREADS = 4 };
  static struct work work[THREADS];
  pthread_t thread[THREADS];
  karst_context *context = tap_context();
  struct problem p = problem_of(context, tap_random_matrix(context, FEW, BLOCK, 4, 1.2), tap_seed());
  static struct well_arrays arrays;
  draw_wells(&arrays, FEW, BLOCK, 7, 0.3);
  karst_wells *wells = make_wells(context, FEW, &arrays);
  bool same = true;
  for (int t = 0; t < THREADS; t++) {
    work[t] = (struct work){.context = context, .A = p.A, .wells = wells, .b = p.b};
    tap_need(context,
             pthread_create(&thread[t], NULL, solve_in_thread, &work[t]) ? KARST_ERROR_NO_MEMORY : KARST_SUCCESS,
             "thread");
  }
  for (int t = 0; t < THREADS; t++) pthread_join(thread[t], NULL);
  for (int t = 0; t < THREADS; t++)
    same = same && !work[t].status && memcmp(work[t].x, work[0].x, sizeof work[t].x) == 0;
  tap_ok(same, "four threads with the same wells have the same bits");
  karst_wells_destroy(wells);
  problem_destroy(&p);
  karst_context_destroy(context);
}

int main(void)
{
  int iterations[2] = {0, 0};
  draw();
  double *one = solve(1, &iterations[0]), *several = solve(3, &iterations[1]);
  if (several)
    tap_ok(iterations[0] == iterations[1] && memcmp(one, several, sizeof *one * ROWS * BLOCK) == 0,
           "one thread and three have the same bits");
  else
    tap_skip("this build has no threads", "one thread and three");
  free(one), free(several);
  threads_together();
  return tap_done();
}
