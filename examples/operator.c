/* An operator, a preconditioner and a convergence test of a program, for a system that the library does not know. To
 * have something to compare with, it is that of wells.c: a reservoir with wells that are not in its matrix.
 *     [ A  C' ] [x]   [b]   A: the reservoir in blocks of three unknowns; the first is the pressure.
 *     [ C  -I ] [w] = [0]   w = C x: what wells produce, by the mean pressure of the cells that each is open to.
 * Without w that is S x = b with S = A + C'C. A well couples its cells with each other: S is not stored, the solver
 * calls a function for S x. All vectors stay where the library has them, so that "operator cuda" runs on a GPU. */
#include <karst.h>
#include <stdio.h>

enum { NX = 20, NY = 20, NZ = 8, BLOCK = 3, ROWS = BLOCK * NX * NY * NZ, WELLS = 5, MOST_ITERATIONS = 200 };

struct wells {
  karst_matrix *A;
  karst_vector *c[WELLS], *d[WELLS]; /* rows of C, and of the preconditioner M^-1 c / (1 + c' M^-1 c) */
  int count;                         /* of wells that M has taken in, one after the other */
  double goal;                       /* a residual that is good enough for the time step */
};

/* y = S x */
static karst_status multiply(void *user, const karst_vector *x, karst_vector *y)
{
  const struct wells *wells = (const struct wells *)user;
  double w = 0;
  karst_status status = karst_matrix_multiply(wells->A, x, y);
  for (int i = 0; i < WELLS && !status; i++) {
    status = karst_vector_dot(wells->c[i], x, &w);
    if (!status) status = karst_vector_add(w, wells->c[i], y);
  }
  return status;
}

/* The four functions of the preconditioner. For a new pattern: */
static karst_status setup(karst_precond *precond)
{
  return karst_matrix_rows(karst_precond_matrix(precond)) == ROWS ? KARST_SUCCESS : KARST_ERROR_ARGUMENT;
}

/* z = M^-1 r, each well by the formula of Sherman and Morrison, (M + c c')^-1 r = M^-1 r - d c' M^-1 r. */
static karst_status apply(karst_precond *precond, const karst_vector *r, karst_vector *z)
{
  const struct wells *wells = (const struct wells *)karst_precond_user(precond);
  double w = 0;
  karst_status status = karst_precond_apply((const karst_precond *)karst_precond_data(precond), r, z);
  for (int i = 0; i < wells->count && !status; i++) {
    status = karst_vector_dot(wells->c[i], z, &w);
    if (!status) status = karst_vector_add(-w, wells->d[i], z);
  }
  return status;
}

/* For new values. M is the library's own ILU(0). A singular block in it is no failure but an outcome. */
static karst_status update(karst_precond *precond)
{
  struct wells *wells = (struct wells *)karst_precond_user(precond);
  karst_index row = -1;
  double w = 0;
  karst_context *context = karst_precond_context(precond);
  karst_precond *M = (karst_precond *)karst_precond_data(precond); /* NULL at first */
  karst_status status = M ? karst_precond_update(M) : karst_precond_create(context, NULL, wells->A, &M);
  karst_precond_set_data(precond, M);
  karst_reason reason = status ? KARST_SOUND : karst_precond_outcome(M, &row);
  if (reason != KARST_SOUND) karst_precond_set_outcome(precond, reason, row);
  for (int i = wells->count = 0; i < WELLS && !status && reason == KARST_SOUND; i = ++wells->count) {
    status = apply(precond, wells->c[i], wells->d[i]);
    if (!status) status = karst_vector_dot(wells->c[i], wells->d[i], &w);
    if (!status) status = karst_vector_scale(1 / (1 + w), wells->d[i]);
  }
  return status;
}

static void destroy(karst_precond *precond) { karst_precond_destroy((karst_precond *)karst_precond_data(precond)); }

/* The convergence test: a solve that is good enough is accepted, one that takes too long is stopped. */
static karst_decision judge(void *user, int iteration, double residual)
{
  struct wells *wells = (struct wells *)user;
  if (iteration == 0) wells->goal = 1e-6 * residual;
  return residual <= wells->goal ? KARST_ACCEPT : iteration < MOST_ITERATIONS ? KARST_GO_ON : KARST_STOP;
}

int main(int argc, char **argv)
{
  static struct wells wells;
  static double c[WELLS][ROWS];
  karst_context *context = NULL;
  karst_options *options = NULL;
  karst_solver *solver = NULL;
  karst_vector *b = NULL, *x = NULL;
  karst_result result = {KARST_SOUND, 0, -1, 0, 0};
  karst_precond_method method = {"wells", "iluk and wells", 1, NULL, 0, &wells, setup, update, apply, destroy, NULL};
  karst_status status = karst_context_create(NULL, &context);
  if (!status) status = karst_context_set_device(context, argc > 1 ? argv[1] : "cpu");
  if (!status) status = karst_gallery_create(context, "blackoil:20x20x8", BLOCK, &wells.A, &b);
  if (!status) status = karst_vector_create(context, ROWS, &x);
  for (int i = 0; i < WELLS && !status; i++) {
    for (int k = BLOCK * (4 * i + 1) * (NX + 1); k < ROWS; k += BLOCK * NX * NY) c[i][k] = 0.3 / NZ;
    status = karst_vector_create(context, ROWS, &wells.c[i]);
    if (!status) status = karst_vector_set(wells.c[i], ROWS, c[i]);
    if (!status) status = karst_vector_create(context, ROWS, &wells.d[i]);
  }
  if (!status) status = karst_precond_register(context, &method);
  if (!status) status = karst_options_create(context, &options);
  if (!status) status = karst_options_set(options, "precond", "wells");
  if (!status) status = karst_solver_create(context, options, &solver);
  if (!status) karst_solver_monitor(solver, judge, &wells);
  if (!status) status = karst_solver_set_operator(solver, multiply, &wells);
  if (!status) status = karst_solver_setup(solver, wells.A);
  if (!status) status = karst_solver_solve(solver, b, x, &result);
  if (!status) printf("%s\n|b - S x| / |b| = %.1e\n", karst_solver_explain(solver), result.relative_residual);
  if (status) fprintf(stderr, "%s\n", context ? karst_context_error(context) : karst_status_text(status));

  karst_solver_destroy(solver);
  karst_options_destroy(options);
  for (int i = 0; i < WELLS; i++) karst_vector_destroy(wells.c[i]), karst_vector_destroy(wells.d[i]);
  karst_vector_destroy(x);
  karst_vector_destroy(b);
  karst_matrix_destroy(wells.A);
  karst_context_destroy(context);
  return status || result.reason < 0;
}
