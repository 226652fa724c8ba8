/* Heat in many rods: rock and fluid, which exchange heat, in 1000 rods of 255 points, by implicit steps of time. Each
 * step is a batch of block-tridiagonal systems with two unknowns a point. The matrices are factored once, and each step
 * solves with the kept factors, in place. The mean of both temperatures begins as sin(pi x), and falls by the same
 * factor in each step. "tridiagonal cuda" runs on a GPU: each call copies arrays in host memory there and back, which a
 * program with arrays in device memory saves. */
#include <karst.h>
#include <stdio.h>
#include <stdlib.h>

static const double sine = 0.012271538285719925, cosine = 0.99992470183914454; /* of pi / 256 */
enum { RODS = 1000, POINTS = 255, UNKNOWNS = 2, BLOCK = UNKNOWNS * UNKNOWNS, STEPS = 20 };

/* Each row: (1 + 2 r) u_k - r (u_(k-1) + u_(k+1)) + e (u_k - v_k) = u_k of the last step, and the same with u and v
 * exchanged. Blocks are stored column by column, row after row of each rod (KARST_TRIDIAGONAL_AOS). */
static void assemble(double r, double e, double *lower, double *diagonal, double *upper)
{
  for (size_t row = 0; row < (size_t)RODS * POINTS; row++)
    for (int i = 0; i < BLOCK; i++) {
      const int on_diagonal = i / UNKNOWNS == i % UNKNOWNS;
      lower[row * BLOCK + (size_t)i] = upper[row * BLOCK + (size_t)i] = on_diagonal ? -r : 0;
      diagonal[row * BLOCK + (size_t)i] = on_diagonal ? 1 + 2 * r + e : -e;
    }
}

int main(int argc, char **argv)
{
  const double r = 1e-3 * (POINTS + 1) * (POINTS + 1); /* a step of 10^-3 over h^2 */
  double wave[POINTS + 1] = {0, sine};                 /* sin(pi x) at an end of a rod, and at its points */
  const size_t rows = (size_t)RODS * POINTS;
  const karst_tridiagonal_shape shape = {.systems = RODS, .rows = POINTS, .block_size = UNKNOWNS};
  double *lower = malloc(rows * BLOCK * sizeof *lower), *diagonal = malloc(rows * BLOCK * sizeof *diagonal);
  double *upper = malloc(rows * BLOCK * sizeof *upper), *u = malloc(rows * UNKNOWNS * sizeof *u), worst = 0, fall = 1;
  karst_context *context = NULL;
  karst_tridiagonal *batch = NULL;
  int64_t system;
  karst_index row;
  karst_reason reason = KARST_SOUND;
  karst_status status = lower && diagonal && upper && u ? KARST_SUCCESS : KARST_ERROR_NO_MEMORY;
  if (!status) status = karst_context_create(NULL, &context);
  if (!status) status = karst_context_set_device(context, argc > 1 ? argv[1] : "cpu");
  if (!status) status = karst_tridiagonal_create(context, &shape, &batch);
  if (!status) {
    assemble(r, 0.1, lower, diagonal, upper);
    printf("%s\n", karst_tridiagonal_describe(batch));
    status = karst_tridiagonal_factor(batch, lower, diagonal, upper);
  }
  if (!status) reason = karst_tridiagonal_outcome(batch, &system, &row);
  if (reason != KARST_SOUND)
    printf("%s in row %ld of rod %lld\n", karst_reason_text(reason), (long)row, (long long)system);
  for (int k = 2; k <= POINTS; k++) wave[k] = 2 * cosine * wave[k - 1] - wave[k - 2];
  for (size_t i = 0; i < rows && !status; i++) {
    u[UNKNOWNS * i] = 1.5 * wave[i % POINTS + 1]; /* the rock is warmer at first */
    u[UNKNOWNS * i + 1] = 0.5 * wave[i % POINTS + 1];
  }
  for (int i = 0; i < STEPS && !status && reason == KARST_SOUND; i++) {
    status = karst_tridiagonal_solve_factored(batch, 1, u, u);
    fall /= 1 + 2 * r * (1 - cosine);
  }
  for (size_t i = 0; i < rows && !status; i++) {
    const double error = (u[UNKNOWNS * i] + u[UNKNOWNS * i + 1]) / 2 - fall * wave[i % POINTS + 1];
    if (!(error <= worst && -error <= worst)) worst = error < 0 ? -error : error;
  }
  if (status)
    fprintf(stderr, "%s\n", context ? karst_context_error(context) : karst_status_text(status));
  else
    printf("after %d steps %.4f of the heat is left, with an error of %.1e\n", STEPS, fall, worst);
  karst_tridiagonal_destroy(batch);
  karst_context_destroy(context);
  free(lower);
  free(diagonal);
  free(upper);
  free(u);
  return status || reason != KARST_SOUND || !(worst < 1e-10);
}
