/* The Jacobian of examples/twophase is the derivative of its residual, and the mass agrees with the residual. */
#include "examples/twophase/twophase.h"
#include "tests/support/tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double dt = 0.5;

struct problem {
  struct reservoir reservoir;
  double *x, *start, *residual[2], *value[2];
  int64_t length, entries;
};

/* A state in which cells of either phase are immobile, flows go both ways and gravity has an effect. */
static void make(karst_context *context, bool pressed, struct problem *p)
{
  const char *const none[3] = {"", "", ""};
  memset(p, 0, sizeof *p);
  p->reservoir.size[0] = 4, p->reservoir.size[1] = 3, p->reservoir.size[2] = 3;
  reservoir_create(context, none, tap_seed(), &p->reservoir);
  p->reservoir.most_rate = 3;
  p->length = 2 * (int64_t)p->reservoir.rows;
  p->entries = 4 * (int64_t)p->reservoir.row_start[p->reservoir.rows];
  p->x = calloc((size_t)(4 * p->length + 2 * p->entries), sizeof(double));
  p->start = p->x + p->length;
  for (int k = 0; k < 2; k++) {
    p->residual[k] = p->start + (k + 1) * p->length;
    p->value[k] = p->start + 3 * p->length + k * p->entries;
  }
  flow_start(&p->reservoir, p->start);
  for (karst_index i = 0; i < p->reservoir.cells; i++) {
    p->x[2 * i + PRESSURE] = 300 + 10 * tap_random();
    p->x[2 * i + SATURATION] = 0.5 + 0.45 * tap_random();
  }
  for (karst_index i = p->reservoir.cells; i < p->reservoir.rows; i++) {
    p->x[2 * i + BHP] = i == p->reservoir.cells ? (pressed ? 800 : 400) : 275;
    p->x[2 * i + RATE] = 2 + tap_random();
  }
}

static void free_problem(struct problem *p)
{
  reservoir_destroy(&p->reservoir);
  free(p->x);
}

static void assemble(struct problem *p, int k, double outflow[PHASES])
{
  flow_assemble(&p->reservoir, p->start, dt, p->x, p->residual[k], p->value[k], outflow);
}

/* Returns the largest error of column u in units of its largest entry. A central difference is wrong by h^2 f'''/6 and
 * rounding. Where a flow turns within h its derivative jumps, and the test takes the difference to the other side,
 * which is wrong by h f''/2. */
static double column_error(struct problem *p, int64_t u)
{
  const struct reservoir *r = &p->reservoir;
  const double here = p->x[u], h = u % 2 == PRESSURE ? 1e-3 : 1e-6;
  double outflow[PHASES], worst = 0, largest = 0;
  double *column = calloc(2 * (size_t)p->length, sizeof(double)), *residual = column + p->length;
  assemble(p, 0, outflow);
  memcpy(residual, p->residual[0], (size_t)p->length * sizeof(double));
  for (karst_index row = 0; row < r->rows; row++)
    for (karst_index k = r->row_start[row]; k < r->row_start[row + 1]; k++)
      for (int a = 0; a < 2 && r->column[k] == u / 2; a++)
        column[2 * row + a] = p->value[0][4 * (int64_t)k + a + 2 * (u % 2)];
  p->x[u] = here + h;
  assemble(p, 0, outflow);
  p->x[u] = here - h;
  assemble(p, 1, outflow);
  p->x[u] = here;
  for (int64_t k = 0; k < p->length; k++) {
    const double above = (p->residual[0][k] - residual[k]) / h, below = (residual[k] - p->residual[1][k]) / h;
    const double central = (above + below) / 2;
    const double one_sided = fmin(fabs(above - column[k]), fabs(below - column[k]));
    worst = fmax(worst, fmin(one_sided, fabs(central - column[k])));
    largest = fmax(largest, fabs(column[k]));
  }
  free(column);
  return worst / fmax(largest, 1);
}

static void test_jacobian(karst_context *context, bool pressed)
{
  struct problem p;
  double worst = 0;
  make(context, pressed, &p);
  for (int64_t u = 0; u < p.length; u++) worst = fmax(worst, column_error(&p, u));
  tap_ok(worst < 1e-5, "the Jacobian with the injector at its %s is that of differences: %.1e",
         pressed ? "pressure" : "rate", worst);
  free_problem(&p);
}

/* Fluxes between cells cancel in the sum over all cells. */
static void test_balance(karst_context *context)
{
  struct problem p;
  double outflow[PHASES], sum[PHASES] = {0, 0};
  make(context, false, &p);
  assemble(&p, 0, outflow);
  for (int64_t k = 0; k < 2 * (int64_t)p.reservoir.cells; k++) sum[k % 2] += p.residual[0][k];
  for (int a = 0; a < PHASES; a++) {
    const double now = flow_amount(&p.reservoir, a, p.x), before = flow_amount(&p.reservoir, a, p.start);
    tap_ok(fabs(sum[a] - (now - before) / dt - outflow[a]) < 1e-9 * (fabs(sum[a]) + fabs(now) / dt),
           "the residuals of %s add up to the change in mass and the wells' rates", a == WATER ? "water" : "oil");
  }
  free_problem(&p);
}

int main(void)
{
  karst_context *context = NULL;
  if (karst_context_create(NULL, &context)) return 1;
  test_jacobian(context, false);
  test_jacobian(context, true);
  test_balance(context);
  karst_context_destroy(context);
  return tap_done();
}
