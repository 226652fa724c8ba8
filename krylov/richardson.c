/* richardson.c - the correction iteration x = x + w M^-1 (b - A x), preconditioned Richardson iteration.
 *
 * Luo, Edwards, Luo and Mueller, A fine-grained block ILU scheme on regular structures for GPGPUs, equation (3), which
 * has w = 1; Saad, Iterative Methods for Sparse Linear Systems, 2nd edition, section 4.2. It converges if the spectral
 * radius of I - w A M^-1 is below 1, minimises nothing, and needs only an M close to A, which may change in each step.
 *
 * The residual of each step is b - A x, computed from x without a recurrence. So the squares of the norms that the
 * monitor gets are the sums of squares of the paper's Table 1 (row 0 the start, row l after l steps). In a cycle that
 * makes a correction d to k->base it is r0 - A d, with r0 = b - A base computed to twice the working precision.
 *
 * A step may make the residual larger. The x with the smallest one is kept without a copy: three vectors alternate
 * between x, the least so far, and the next x. Divergence is judged by the least. If a residual is so small and falls
 * so little that it must be rounding, the cycle claims to have converged, and drive.c continues by iterative
 * refinement.
 *
 * Vectors read (r) and written (w) in a step, besides the apply of M:
 *     x' = x + w z      2 r, 1 w     z = M^-1 r is overwritten by x'
 *     r = b - A x'      1 r, 1 w     with |r|^2, besides the product
 * and one download of |r|^2. Memory: two places of x, r, and the work space of the residual. */
#include "lib/method/krylov.h"

#include <float.h>
#include <math.h>

struct settings {
  double damping;
  int parts; /* used by the solver, which makes the preconditioner's matrix */
};

/* damping must be above zero, and a row accepts its smallest value, so that is tiny. */
static const karst_option own_rows[] = {
    {"damping", KARST_OPTION_REAL, false, offsetof(struct settings, damping), NULL, 1e-300, "1",
     "the factor of each correction of richardson", "A step is x = x + R M^-1 (b - A x). R is above 0."},
    {"parts", KARST_OPTION_INTEGER, false, offsetof(struct settings, parts), NULL, 1, "1",
     "number of boxes of the grid that the preconditioner of richardson keeps apart",
     "The grid of the matrix, or one found from its pattern, is cut into N boxes that are as near to cubes as "
     "possible; N is at least 1. The preconditioner is made from the matrix without the couplings between boxes, while "
     "the residual is that of the whole system."},
    {0}};
static const karst_option *const rows[] = {own_rows, NULL};

enum { FIRST, SECOND, R, SPACE, VECTORS };

enum { NORM2, DAMPING = NORM2 + 2, SCALARS };

/* A residual is taken for rounding if it is at most this part of the start's and has not fallen by a tenth in STILL
 * steps. A slow iteration may be taken for that too, which costs only a precise residual from time to time. */
static const double negligible = 1e4 * DBL_EPSILON, fall = 0.9;
enum { STILL = 10 };

/* The three vectors for x. The next step writes to one that holds neither x nor the least. */
struct places {
  double *place[3];      /* [n] each; the first is k->x */
  double *x, *least;     /* two of them, which may be the same */
  double norm;           /* of the residual of least */
  double fallen_to;      /* the norm of the residual after its last fall by a tenth */
  int still;             /* steps since then */
  const double *rhs;     /* b, or r0 for a correction */
  double *r;             /* [n] the residual of x */
  const double *r_begin; /* [n] that of the start of the cycle, which is read first */
};

static struct places richardson_begin(const karst_krylov *k)
{
  const struct settings *settings = k->settings;
  k->context->backend->fill(k->context, 1, settings->damping, k->work.scalar + DAMPING);
  if (k->iterations == 0) k->work.host_extra[0] = k->residual;
  return (struct places){.place = {k->x, k->work.vector[FIRST], k->work.vector[SECOND]},
                         .x = k->x,
                         .least = k->x,
                         .norm = k->residual,
                         .fallen_to = k->residual,
                         .rhs = k->base ? k->work.r : k->b,
                         .r = k->work.vector[R],
                         .r_begin = k->work.r};
}

static double *free_place(const struct places *p)
{
  int i = 0;
  while (p->place[i] == p->x || p->place[i] == p->least) i++;
  return p->place[i];
}

/* Computes r = rhs - A x and its norm; waits for the norm. */
static karst_status residual_of(const karst_krylov *k, const struct places *p, const double *x, double *norm)
{
  const karst_residual_space space = {p->r, k->work.vector[SPACE], k->work.scalar + NORM2};
  bool precise = false;
  double error;
  return k->A.residual(&k->A, p->rhs, x, -1, false, &space, &precise, norm, &error);
}

/* z = x + w z */
static void add_correction(const karst_krylov *k, const double *x, double *z)
{
  k->context->backend->combine(k->context, k->n, 1, 1, k->work.one, &x, k->work.scalar + DAMPING, z, NULL);
}

/* Finds the source of a NaN. The step to next has overwritten it, so the vectors of the step are computed again from x,
 * each in its own place; the residual of the start is no longer needed. */
static karst_status richardson_find_fault(karst_krylov *k, const struct places *p, double *next, karst_reason *reason)
{
  double norm, *z = k->work.vector[SPACE];
  const karst_krylov_vector vectors[] = {
      {k->A.product, p->r}, {"the preconditioned residual", z}, {"the solution", next}, {k->A.product, k->work.r}};
  karst_status status = residual_of(k, p, p->x, &norm);
  if (!status) status = karst_krylov_precondition(k, p->r, z);
  if (status) return status;
  k->context->backend->copy(k->context, k->n, z, next);
  add_correction(k, p->x, next);
  status = karst_krylov_multiply(k, next, k->work.r);
  return status ? status : karst_krylov_find_not_finite(k, 4, vectors, reason);
}

static bool stands_still(const karst_krylov *k, struct places *p, double norm)
{
  p->still = norm < fall * p->fallen_to ? 0 : p->still + 1;
  if (p->still == 0) p->fallen_to = norm;
  return p->still >= STILL && norm <= negligible * k->work.host_extra[0];
}

/* Takes steps until one ends the cycle. The last x is p->x, the best p->least. */
static karst_status richardson_advance(karst_krylov *k, struct places *p, karst_reason *reason)
{
  for (const double *r = p->r_begin;; r = p->r) {
    double norm, *next = free_place(p);
    karst_status status = karst_krylov_precondition(k, r, next);
    if (status) return status;
    add_correction(k, p->x, next);
    status = residual_of(k, p, next, &norm);
    if (status) return status;
    if (!isfinite(norm)) return richardson_find_fault(k, p, next, reason);
    p->x = next;
    if (norm < p->norm) {
      p->least = next;
      k->test.divergent *= norm / p->norm;
      p->norm = norm;
    }
    if (karst_krylov_compares(k, norm)) status = karst_krylov_compare(k, norm, p->r);
    if (status || karst_krylov_step(k, norm, k->test.goal)) return status;
    if (!stands_still(k, p, norm)) continue;
    k->claims.made = !k->base;
    return KARST_SUCCESS;
  }
}

/* Ends with the x that the monitor has accepted, else with the best x. */
static karst_status richardson_cycle(karst_krylov *k, karst_reason *reason)
{
  struct places p = richardson_begin(k);
  karst_status status = richardson_advance(k, &p, reason);
  const double *x = k->monitor.decision == KARST_ACCEPT ? p.x : p.least;
  if (x != k->x) k->context->backend->copy(k->context, k->n, x, k->x);
  return status;
}

extern const struct karst_krylov_ops karst_krylov_richardson;

const struct karst_krylov_ops karst_krylov_richardson = {
    .name = "richardson",
    .help = "the correction iteration x = x + w M^-1 (b - A x)",
    .flexible = true,
    .options = rows,
    .settings = sizeof(struct settings),
    .parts = &own_rows[1],
    .need = {.vectors = VECTORS, .scalars = SCALARS, .host = 1},
    .cycle = richardson_cycle,
};
