/* orthomin.c - ORTHOMIN(m), preconditioned from the right, truncated to the last m directions.
 *
 * Vinsome, Orthomin, an iterative method for solving sparse sets of simultaneous linear equations, SPE 5729 (1976);
 * Saad, Iterative Methods for Sparse Linear Systems, 2nd edition, section 6.9 (truncated GCR). With directions p and
 * their images q = A p, orthogonal to the last m images:
 *     z = M^-1 r, w = A z, beta_i = q_i'w / q_i'q_i
 *     p = z - sum beta_i p_i, q = w - sum beta_i q_i
 *     alpha = q'r / q'q, x = x + alpha p, r = r - alpha q
 *
 * M may differ from step to step: q is A p for any p, and alpha minimises |r| along it. With all directions kept that
 * is GMRESR (Van der Vorst and Vuik, Numer. Linear Algebra Appl. 1 (1994), 369-386), whose M is an inner iteration. So
 * orthomin accepts a preconditioner that varies.
 *
 * The images of nearly equal residuals are nearly parallel. If Gram-Schmidt leaves little of w, rounding errors would
 * soon dominate q. Such a pair is orthogonalised again before it is kept; with "twice" every pair is, with "once" no
 * pair.
 *
 * Vectors read (r) and written (w) in an iteration with c = min(steps, m) directions kept, besides apply and product:
 *     q_i'w         c+1 r        q, |q|^2   c+1 r, 1 w     p          c+1 r, 1 w     twice for such a pair
 *     q'r           2 r          r, |r|^2   2 r, 1 w       x          2 r, 1 w
 * and one download of c + 6 scalars. Memory: 2 m + 2 vectors, m kept pairs and a new one; a finished pair is exchanged
 * with the oldest one.
 *
 * Over several ranks an iteration takes two reductions instead of four: q_i'w; then q'r, q'q and r'r of the residual
 * before the step. From these, |r - alpha q|^2 = r'r - 2 alpha q'r + alpha^2 q'q, which loses its digits where the new
 * |r| is far below the old one; it is then summed after all. A pair that is orthogonalised again takes one more: what
 * little that subtracts follows from its q_i'q. */
#include "krylov/basis.h"

#include <float.h>
#include <math.h>

/* Scalars in device memory, with m = restart; all up to w'w are downloaded. */
enum {
  QR,
  OLD, /* r'r before the step; only over several ranks */
  QQ,
  RR,
  ALPHA,
  DOTS, /* [c + 1] q_i'w for each direction kept, then w'w; beta and 1 / q_i'q_i [m] follow after [m + 1] */
};

/* If less than these parts of w are left after orthogonalisation, the rest is only rounding, or has too much of it. */
static const double negligible = 64 * DBL_EPSILON, lossy = 0.1;

/* Views of the work space. */
struct ring {
  double **p, **q;          /* [m + 1] the kept pairs, then the new pair at position kept */
  double *beta, *inverse;   /* [m] device memory */
  int kept, next, capacity; /* directions kept; position of the next one; m */
  double again;             /* a pair is orthogonalised again if at most this part of w is left */
};

static karst_krylov_workspace orthomin_workspace(const karst_krylov *k, void *settings)
{
  karst_basis *basis = settings;
  karst_basis_limit(k, basis);
  int64_t m = basis->restart;
  return (karst_krylov_workspace){.vectors = 2 * m + 2, .scalars = DOTS + m + 1 + 2 * m};
}

static struct ring orthomin_begin(const karst_krylov *k)
{
  const karst_basis *basis = karst_basis_of(k);
  int m = basis->restart;
  return (struct ring){.p = k->work.vector,
                       .q = k->work.vector + m + 1,
                       .beta = k->work.scalar + DOTS + m + 1,
                       .inverse = k->work.scalar + DOTS + 2 * m + 1,
                       .capacity = m,
                       .again = basis->passes == KARST_PASSES_TWICE  ? INFINITY
                                : basis->passes == KARST_PASSES_ONCE ? -1
                                                                     : lossy};
}

/* Makes the image q orthogonal to those kept, and subtracts the same combination of directions from p. q'q is this
 * rank's part. */
static void orthogonalise(karst_krylov *k, const struct ring *ring)
{
  const struct karst_backend *backend = k->context->backend;
  int kept = ring->kept;
  double *s = k->work.scalar;
  const double *const *P = (const double *const *)ring->p, *const *Q = (const double *const *)ring->q;
  karst_sums_dots(k->context, k->n, kept + 1, Q, Q[kept], s + DOTS);
  if (kept > 0) {
    backend->multiply_elements(k->context, kept, ring->inverse, s + DOTS, ring->beta);
    backend->combine(k->context, k->n, kept, -1, ring->beta, P, NULL, ring->p[kept], NULL);
  }
  karst_sums_begin_combine(k->context, k->n, kept, ring->beta, Q, ring->q[kept], s + QQ);
}

/* The step length along the new pair, and the residual after that step, with the sums that decide on it. */
static void advance(const karst_krylov *k, const double *q)
{
  const struct karst_backend *backend = k->context->backend;
  const bool spread = karst_is_spread(k->context);
  const double *const against[] = {q, k->work.r};
  double *s = k->work.scalar;
  karst_sums_begin_dots(k->context, k->n, spread ? 2 : 1, against, k->work.r, s + QR);
  karst_ranks_complete(k->context, QQ + 1 - QR, s + QR);
  backend->quotient(k->context, 1, s + QR, s + QQ, NULL, NULL, s + ALPHA);
  karst_sums_begin_combine(k->context, k->n, 1, s + ALPHA, &q, k->work.r, s + RR);
}

/* Over several ranks: finds r'r after the step on the host, from the sums before it. */
static karst_status find_square(karst_krylov *k)
{
  static const double digits = 1e-8; /* of r'r: the part below which less than half of them are left */
  double *s = k->work.host;
  const double alpha = s[QQ] > 0 ? s[QR] / s[QQ] : 0;
  s[RR] = s[OLD] - 2 * alpha * s[QR] + alpha * alpha * s[QQ];
  if (!(s[RR] < digits * s[OLD])) return KARST_SUCCESS;
  karst_ranks_complete(k->context, 1, k->work.scalar + RR);
  return karst_krylov_download(k, RR, 1);
}

/* Makes the new pair, and downloads the scalars of a step along it. */
static karst_status make_direction(karst_krylov *k, const struct ring *ring)
{
  double *p = ring->p[ring->kept], *q = ring->q[ring->kept];
  karst_status status = karst_krylov_precondition(k, k->work.r, p);
  if (!status) status = karst_krylov_multiply(k, p, q);
  if (status) return status;
  orthogonalise(k, ring);
  advance(k, q);
  status = karst_krylov_download(k, 0, DOTS + ring->kept + 1);
  return !status && karst_is_spread(k->context) ? find_square(k) : status;
}

/* Finds which vector is not finite. Orthogonalisation has spread a NaN over all of p, q and r, so they are computed
 * again from x. */
static karst_status orthomin_find_fault(karst_krylov *k, const struct ring *ring, karst_reason *reason)
{
  double *p = ring->p[ring->kept], *q = ring->q[ring->kept];
  const struct karst_backend *backend = k->context->backend;
  const karst_residual_space space = {k->work.r, q, k->work.norm2};
  double norm, error;
  bool precise = false;
  backend->copy(k->context, k->n, k->x, p);
  if (k->base) backend->combine(k->context, k->n, 1, 1, k->work.one, &k->base, NULL, p, NULL);
  karst_status status = k->A.residual(&k->A, k->b, p, -1, false, &space, &precise, &norm, &error);
  if (!status) status = karst_krylov_precondition(k, k->work.r, p);
  if (!status) status = karst_krylov_multiply(k, p, q);
  if (status) return status;
  const karst_krylov_vector vectors[] = {
      {k->A.product, k->work.r}, {"the preconditioned residual", p}, {k->A.product, q}};
  return karst_krylov_find_not_finite(k, 3, vectors, reason);
}

/* Sets *reason if the step must not be taken. before: the residual norm before the step. */
static karst_status orthomin_check(karst_krylov *k, const struct ring *ring, double before, karst_reason *reason)
{
  const double *s = k->work.host;
  double made = sqrt(s[DOTS + ring->kept]), left = sqrt(s[QQ]);
  for (int i = 0; i <= ring->kept; i++)
    if (!isfinite(s[DOTS + i])) return orthomin_find_fault(k, ring, reason);
  if (!isfinite(s[QR]) || !isfinite(left) || !isfinite(s[RR])) return orthomin_find_fault(k, ring, reason);
  if (left <= negligible * made || fabs(s[QR]) <= DBL_EPSILON * left * before) *reason = KARST_BREAKDOWN_DIRECTION;
  return KARST_SUCCESS;
}

static void swap(double **a, double **b)
{
  double *held = *a;
  *a = *b;
  *b = held;
}

/* Orthogonalises the new pair again. Returns q'q after that: over several ranks without another sum, as q'q before it
 * minus sum beta_i q_i'q. */
static const double *repeat(karst_krylov *k, const struct ring *ring)
{
  const double *const beta = ring->beta, *const less = k->work.scalar + QQ;
  double *square = k->work.scalar + DOTS + ring->kept;
  orthogonalise(k, ring);
  if (!karst_is_spread(k->context)) return less;
  karst_sums_begin_dots(k->context, ring->kept, 1, &beta, k->work.scalar + DOTS, k->work.scalar + QQ);
  k->context->backend->combine(k->context, 1, 1, -1, k->work.one, &less, NULL, square, NULL);
  return square;
}

/* Keeps the new direction; if m are kept, it replaces the oldest one. */
static void keep(karst_krylov *k, struct ring *ring)
{
  int made = ring->kept, at = ring->next;
  const double *square = k->work.scalar + QQ;
  if (made > 0 && sqrt(k->work.host[QQ]) <= ring->again * sqrt(k->work.host[DOTS + made])) square = repeat(k, ring);
  swap(&ring->p[made], &ring->p[at]);
  swap(&ring->q[made], &ring->q[at]);
  k->context->backend->quotient(k->context, 1, k->work.one, square, NULL, NULL, ring->inverse + at);
  if (ring->kept < ring->capacity) ring->kept++;
  ring->next = (at + 1) % ring->capacity;
}

static karst_status orthomin_cycle(karst_krylov *k, karst_reason *reason)
{
  const struct karst_backend *backend = k->context->backend;
  struct ring ring = orthomin_begin(k);
  int begun_at = k->iterations;
  double before = k->residual;
  for (;;) {
    karst_status status = make_direction(k, &ring);
    if (!status) status = orthomin_check(k, &ring, before, reason);
    if (*reason == KARST_BREAKDOWN_DIRECTION && k->iterations > begun_at) {
      *reason = KARST_SOUND;
      return status;
    }
    if (status || *reason != KARST_SOUND) return status;
    backend->combine(k->context, k->n, 1, 1, k->work.scalar + ALPHA, (const double *const *)&ring.p[ring.kept], NULL,
                     k->x, NULL);
    before = sqrt(k->work.host[RR]);
    if (karst_krylov_compares(k, before)) status = karst_krylov_compare(k, before, k->work.r);
    if (status || karst_krylov_step(k, before, k->test.goal)) return status;
    keep(k, &ring);
  }
}

extern const struct karst_krylov_ops karst_krylov_orthomin;

static const karst_option *const rows[] = {karst_basis_rows, NULL};

const struct karst_krylov_ops karst_krylov_orthomin = {
    .name = "orthomin",
    .help = "truncated minimal residual method, for any matrix",
    .flexible = true,
    .options = rows,
    .settings = sizeof(karst_basis),
    .workspace = orthomin_workspace,
    .cycle = orthomin_cycle,
};
