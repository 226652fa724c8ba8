/* Wells beside the matrix: a reservoir whose wells have unknowns of their own, as simulators keep them.
 *     [ A  C' ] [x]   [b]   A: the reservoir in blocks of three unknowns; the first is the pressure.
 *     [ B  D  ] [w] = [0]   w: what each well produces, by the mean pressure of the cells that it is open to.
 * Each well has one equation, c x - w = 0, so that B = C = c and D = -1. Two steps are solved, the second with a well
 * shut. "wells cuda" runs on a GPU. */
#include <karst.h>
#include <stdio.h>

enum { NX = 20, NY = 20, NZ = 8, BLOCK = 3, CELLS = NX * NY * NZ, WELLS = 5, PERFORATIONS = WELLS * NZ };

/* Well i is open to the cells of a column; each perforation has a block of 1 by 3 in B and in C, and each well one of 1
 * by 1 in D. A shut well keeps its place. */
static void assemble(int shut, double *B, double *C, double *D)
{
  for (int p = 0; p < PERFORATIONS; p++)
    for (int c = 0; c < BLOCK; c++) B[BLOCK * p + c] = C[BLOCK * p + c] = c == 0 && p / NZ != shut ? 0.3 / NZ : 0;
  for (int i = 0; i < WELLS; i++) D[i] = -1;
}

/* Solves with the values of one step, and computes w. */
static karst_status solve(karst_solver *solver, karst_wells *wells, const karst_vector *b, karst_vector *x,
                          karst_vector *w, karst_result *result)
{
  double produced[WELLS] = {0};
  karst_status status = karst_vector_fill(x, 0);
  if (!status) status = karst_solver_solve(solver, b, x, result); /* b - C' D^-1 g is b: the wells' g is 0 */
  if (!status && result->reason > 0) status = karst_wells_recover(wells, NULL, x, w);
  if (!status && result->reason > 0) status = karst_vector_get(w, WELLS, produced);
  if (!status) printf("%s\n", karst_solver_explain(solver)); /* it names a well with a singular D */
  for (int i = 0; i < WELLS && !status && result->reason > 0; i++) printf("well %d produces %g\n", i, produced[i]);
  return status;
}

int main(int argc, char **argv)
{
  static double B[BLOCK * PERFORATIONS], C[BLOCK * PERFORATIONS], D[WELLS];
  karst_index first[WELLS + 1] = {0}, cell[PERFORATIONS];
  int equations[WELLS];
  karst_context *context = NULL;
  karst_options *options = NULL;
  karst_solver *solver = NULL;
  karst_matrix *A = NULL;
  karst_wells *wells = NULL;
  karst_vector *b = NULL, *x = NULL, *w = NULL;
  karst_result result = {KARST_SOUND, 0, -1, 0, 0};
  for (int i = 0; i < WELLS; i++) {
    equations[i] = 1;
    first[i + 1] = NZ * (i + 1);
    for (int k = 0; k < NZ; k++) cell[NZ * i + k] = (4 * i + 1) * (NX + 1) + NX * NY * k;
  }
  karst_status status = karst_context_create(NULL, &context);
  if (!status) status = karst_context_set_device(context, argc > 1 ? argv[1] : "cpu");
  if (!status) status = karst_gallery_create(context, "blackoil:20x20x8", BLOCK, &A, &b);
  if (!status) status = karst_vector_create(context, BLOCK * CELLS, &x);
  if (!status) status = karst_wells_create(context, CELLS, BLOCK, WELLS, equations, first, cell, &wells);
  if (!status) status = karst_vector_create(context, karst_wells_unknowns(wells), &w);
  if (!status) status = karst_options_create(context, &options);
  if (!status) status = karst_options_set(options, "precond", "cpr");
  if (!status) status = karst_solver_create(context, options, &solver);
  if (!status) status = karst_solver_set_wells(solver, wells);
  assemble(-1, B, C, D);
  if (!status) status = karst_wells_update_values(wells, B, C, D);
  if (!status) status = karst_solver_setup(solver, A);
  if (!status) status = solve(solver, wells, b, x, w, &result);
  assemble(2, B, C, D); /* the next step: new values of the matrix would come here too */
  if (!status) status = karst_wells_update_values(wells, B, C, D);
  if (!status) status = karst_solver_update(solver);
  if (!status) status = solve(solver, wells, b, x, w, &result);
  if (status) fprintf(stderr, "%s\n", context ? karst_context_error(context) : karst_status_text(status));

  karst_solver_destroy(solver);
  karst_options_destroy(options);
  karst_vector_destroy(w);
  karst_vector_destroy(x);
  karst_vector_destroy(b);
  karst_wells_destroy(wells);
  karst_matrix_destroy(A);
  karst_context_destroy(context);
  return status || result.reason < 0;
}
