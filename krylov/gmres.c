/* gmres.c - GMRES(m), the restarted generalised minimal residual method, preconditioned from the right or the left.
 *
 * Saad and Schultz, SIAM J. Sci. Stat. Comput. 7 (1986), 856-869; Saad, Iterative Methods for Sparse Linear Systems,
 * 2nd edition, Algorithms 9.4 (left) and 9.5 (right). Arnoldi's process, with classical Gram-Schmidt in one pass or
 * two, builds an orthonormal basis V of the Krylov space of B = A M^-1 (right) or M^-1 A (left) with B V = V H;
 * Givens rotations on the host turn H into R while it grows and give the residual norm of each step; at the end
 * R y = g and x = x + M^-1 V y or x + V y. From the right that norm is the true one but for rounding. From the left
 * it is |M^-1 (b - A x)|, scaled here to begin at the true one; the cycle asks for less than the target, and for ever
 * less when that turns out to have been too little.
 *
 * Vectors read (r) and written (w) in iteration j = 0, 1, ..., besides the apply of M and the product with A:
 *     h = V' w            j+2 r
 *     w = w - V h, |w|^2  j+2 r, 1 w    with "twice", both once more
 *     v = w / |w|         1 r, 1 w      not in the last of a cycle
 * and one download of j + 2 scalars. Memory: m + 1 vectors for V; the driver's residual serves as the one between A
 * and M. */
#include "krylov.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* In device memory: |w|^2, then h[0..j], then the second pass's part of h; at the end y takes the place of h. */
enum { NORM2, COLUMN };

/* A column of H below this part of its own length is rounding. */
static const double negligible = 64 * DBL_EPSILON;

/* The least squares problem min |g - H y|, as R and rotations. */
struct triangle {
  double *R;             /* [m (m + 1) / 2] columns one after the other */
  double *cosine, *sine; /* [m] */
  double *g;             /* [m + 1] the right-hand side, rotated; |g[j]| is the residual norm after j columns */
  int columns;
};

static karst_krylov_workspace workspace(const karst_options *options)
{
  int64_t m = options->restart;
  return (karst_krylov_workspace){.vectors = m + 1, .scalars = 1 + 2 * m, .host = m * (m + 1) / 2 + 3 * m + 1};
}

static struct triangle begin_triangle(const karst_krylov *k, double norm)
{
  int64_t m = k->options.restart;
  struct triangle T = {.R = k->host_extra, .columns = 0};
  T.cosine = T.R + m * (m + 1) / 2;
  T.sine = T.cosine + m;
  T.g = T.sine + m;
  T.g[0] = norm;
  return T;
}

/* Adds a column of H: h[0..j], and below it next >= 0. False, and nothing is added, when the column depends on those
 * before and the space cannot grow. */
static bool add_column(struct triangle *T, const double *h, double next)
{
  int j = T->columns;
  double *column = T->R + (int64_t)j * (j + 1) / 2, below = h[0], length2 = next * next;
  for (int i = 0; i < j; i++) {
    column[i] = T->cosine[i] * below + T->sine[i] * h[i + 1];
    below = T->cosine[i] * h[i + 1] - T->sine[i] * below;
  }
  for (int i = 0; i <= j; i++) length2 += h[i] * h[i];
  if (next <= negligible * sqrt(length2)) {
    if (fabs(below) <= negligible * sqrt(length2)) return false;
    next = 0;
  }
  column[j] = hypot(below, next);
  T->cosine[j] = below / column[j];
  T->sine[j] = next / column[j];
  T->g[j + 1] = -T->sine[j] * T->g[j];
  T->g[j] *= T->cosine[j];
  T->columns++;
  return true;
}

/* R y = g */
static void solve_triangle(const struct triangle *T, double *y)
{
  for (int j = T->columns - 1; j >= 0; j--) y[j] = T->g[j];
  for (int j = T->columns - 1; j >= 0; j--) {
    const double *column = T->R + (int64_t)j * (j + 1) / 2;
    y[j] /= column[j];
    for (int i = 0; i < j; i++) y[i] -= column[i] * y[j];
  }
}

/* w = B v; k->r takes what is between the two operators. */
static void apply_operator(karst_krylov *k, bool left, const double *v, double *w)
{
  if (left) {
    karst_krylov_multiply(k, v, k->r);
    karst_krylov_precondition(k, k->r, w);
  } else {
    karst_krylov_precondition(k, v, k->r);
    karst_krylov_multiply(k, k->r, w);
  }
}

/* The first basis vector, and the norm that it was divided by. */
static karst_status begin_basis(karst_krylov *k, bool left, double *norm, karst_reason *reason)
{
  const struct karst_backend *backend = k->context->backend;
  double *first = k->vector[0];
  *norm = k->residual;
  if (!left) {
    backend->normalise(k->context, k->n, k->norm2, k->r, first);
    return KARST_SUCCESS;
  }
  karst_krylov_precondition(k, k->r, first);
  backend->dots(k->context, k->n, 1, (const double *const *)&first, first, k->scalar + NORM2);
  karst_status status = karst_krylov_look(k, NORM2, 1);
  if (status) return status;
  *norm = sqrt(k->host[NORM2]);
  if (!isfinite(*norm))
    return karst_krylov_blame(k, 1, &(karst_krylov_suspect){"the preconditioned residual", first}, reason);
  if (*norm == 0) *reason = KARST_BREAKDOWN_ARNOLDI;
  k->measure = *norm;
  backend->normalise(k->context, k->n, k->scalar + NORM2, first, first);
  return KARST_SUCCESS;
}

/* One step of Arnoldi's process: the next basis vector, and on the host h[0..j] (both passes added) and |w|^2. */
static karst_status grow_basis(karst_krylov *k, bool left, bool twice, int j)
{
  const struct karst_backend *backend = k->context->backend;
  const double *const *V = (const double *const *)k->vector;
  double *w = k->vector[j + 1], *norm2 = k->scalar + NORM2, *h = k->scalar + COLUMN, *correction = h + j + 1;
  apply_operator(k, left, V[j], w);
  backend->dots(k->context, k->n, j + 1, V, w, h);
  backend->combine(k->context, k->n, j + 1, -1, h, V, NULL, w, twice ? NULL : norm2);
  if (twice) {
    backend->dots(k->context, k->n, j + 1, V, w, correction);
    backend->combine(k->context, k->n, j + 1, -1, correction, V, NULL, w, norm2);
  }
  if (j + 1 < k->options.restart) backend->normalise(k->context, k->n, norm2, w, w);
  karst_status status = karst_krylov_look(k, NORM2, 1 + (twice ? 2 : 1) * (j + 1));
  if (twice)
    for (int i = 0; i <= j; i++) k->host[COLUMN + i] += k->host[COLUMN + j + 1 + i];
  return status;
}

static bool is_finite(const double *value, int count)
{
  for (int i = 0; i < count; i++)
    if (!isfinite(value[i])) return false;
  return true;
}

/* What grew out of V[j] was not finite: computes it again, for Gram-Schmidt has spread it over all of w. */
static karst_status blame_growth(karst_krylov *k, bool left, int j, karst_reason *reason)
{
  double *w = k->vector[j + 1];
  apply_operator(k, left, k->vector[j], w);
  const karst_krylov_suspect suspect[] = {{left ? "the matrix times a vector" : "the preconditioned vector", k->r},
                                          {left ? "the preconditioned vector" : "the matrix times a vector", w}};
  return karst_krylov_blame(k, 2, suspect, reason);
}

/* x = x + M^-1 V y or x + V y; V y is formed in V's last column. */
static karst_status correct(karst_krylov *k, bool left, const struct triangle *T)
{
  const struct karst_backend *backend = k->context->backend;
  int last = T->columns - 1;
  if (last < 0) return KARST_SUCCESS;
  double *y = k->scalar + COLUMN, *u = k->vector[last], *step = left ? u : k->r;
  solve_triangle(T, k->host + COLUMN);
  karst_status status = backend->upload(k->context, y, k->host + COLUMN, (size_t)T->columns * sizeof(double));
  if (status) return status;
  backend->combine(k->context, k->n, last, 1, y, (const double *const *)k->vector, y + last, u, NULL);
  if (!left) karst_krylov_precondition(k, u, step);
  backend->combine(k->context, k->n, 1, 1, k->one, (const double *const *)&step, NULL, k->x, NULL);
  return KARST_SUCCESS;
}

static karst_status cycle(karst_krylov *k, karst_reason *reason)
{
  bool left = strcmp(k->options.side, "left") == 0, twice = strcmp(k->options.orthogonalise, "twice") == 0;
  double norm, goal = left ? 0.5 * pow(0.1, k->false_claims) * k->target : k->goal;
  karst_status status = begin_basis(k, left, &norm, reason);
  if (status || *reason != KARST_SOUND) return status;

  struct triangle T = begin_triangle(k, norm);
  double scale = k->residual / norm;
  bool grows = true, done = false;
  while (!done && T.columns < k->options.restart) {
    int j = T.columns;
    status = grow_basis(k, left, twice, j);
    if (status) return status;
    if (!is_finite(k->host, COLUMN + j + 1)) {
      status = blame_growth(k, left, j, reason);
      break;
    }
    grows = add_column(&T, k->host + COLUMN, sqrt(k->host[NORM2]));
    done = karst_krylov_step(k, scale * fabs(T.g[T.columns]), goal) || !grows;
  }
  if (!grows && fabs(T.g[T.columns]) > 0.9 * norm) *reason = KARST_BREAKDOWN_ARNOLDI;
  return status ? status : correct(k, left, &T);
}

extern const struct karst_krylov_ops karst_krylov_gmres;

const struct karst_krylov_ops karst_krylov_gmres = {
    .name = "gmres",
    .help = "restarted generalised minimal residual method, for any matrix",
    .workspace = workspace,
    .cycle = cycle,
};
