/* arnoldi.c - see arnoldi.h: an orthonormal basis V of the Krylov space of B, with B V = V H.
 *
 * Saad, Iterative Methods for Sparse Linear Systems, 2nd edition, section 6.3, with classical Gram-Schmidt in one pass
 * or two, and section 6.5.3: Givens rotations on the host turn H into R while it grows and give the residual norm of
 * each step. B is A M^-1 (right) or M^-1 A (left). If the vectors Z_j = M^-1 v_j are kept, M may change in each step
 * (flexible): then A Z = V H. From the right that norm is the true one except for rounding. From the left it is
 * |M^-1 (b - A x)|, scaled here to begin at the true one. The cycle's goal is then less than the target, and still less
 * each time that the goal was too large.
 *
 * After one pass w keeps the error V'w = (I - V'V) h that V's own loss of orthogonality causes, and rounding errors. If
 * little of B v is left in w, dividing by |w| enlarges them. Daniel, Gragg, Kaufman and Stewart, Math. Comp. 30 (1976),
 * 772-795, repeat the pass wherever |w| has fallen far below |B v|: with a good preconditioner nearly everywhere.
 * Giraud and Langou, IMA J. Numer. Anal. 25 (2005), repeat it only where orthogonality really is lost. With "auto" the
 * host follows the loss as it follows H: the equation above is a recurrence for V'V, exact except for the rounding
 * errors of a pass, which random numbers of their size replace (as in Simon's for Lanczos's process, Linear Algebra
 * Appl. 61 (1984), 101-131). If the loss passes a limit, the second pass over v is queued with the next iteration,
 * before B v. Its products come with that iteration's download, and the column of H is made again.
 *
 * Vectors read (r) and written (w) in iteration j = 0, 1, ..., besides the apply of M and the product with A:
 *     h = V' w            j+2 r
 *     w = w - V h, |w|^2  j+2 r, 1 w    with "twice", both once more; with "auto" if digits were lost
 *     v = w / |w|         1 r, 1 w      not in the last of a cycle; once more after a late second pass
 * and one download of j + 2 scalars, 2 j + 3 with a second pass. If the caller's norm differs, iterations that compare
 * the two read V once more (lib/method/krylov.h). */
#include "krylov/arnoldi.h"

#include "lib/base/random.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* A column of H below this part of its own length is rounding. */
static const double negligible = 64 * DBL_EPSILON;

/* The largest entry of V'V that is accepted. The recurrence was seen to be too low by a factor of 30. With this limit
 * the systems that need a second pass took as many iterations as with two passes always, and others took one pass. */
static const double loss_limit = 1e-6;

karst_krylov_workspace karst_arnoldi_workspace(const karst_krylov *k, void *settings)
{
  karst_basis *basis = settings;
  karst_basis_limit(k, basis);
  int64_t m = basis->restart;
  int64_t watched = basis->passes == KARST_PASSES_AUTO ? m * m : 0;
  return (karst_krylov_workspace){
      .vectors = m + 1, .scalars = 2 + 3 * m, .host = m * (m + 1) / 2 + 4 * m + 1 + watched};
}

static karst_least_squares begin_triangle(const karst_krylov *k)
{
  int64_t m = karst_basis_of(k)->restart;
  karst_least_squares T = {.R = k->work.host_extra, .columns = 0};
  T.cosine = T.R + m * (m + 1) / 2;
  T.sine = T.cosine + m;
  T.g = T.sine + m;
  return T;
}

karst_arnoldi karst_arnoldi_begin(const karst_krylov *k, bool left, double **Z)
{
  const karst_basis *basis = karst_basis_of(k);
  int64_t m = basis->restart;
  return (karst_arnoldi){.left = left,
                         .Z = Z,
                         .twice = basis->passes == KARST_PASSES_TWICE,
                         .watched = basis->passes == KARST_PASSES_AUTO,
                         .norm2 = m + 1,
                         .overlap = k->work.host_extra + m * (m + 1) / 2 + 4 * m + 1,
                         .noise = 1,
                         .h = k->work.host_extra + m * (m + 1) / 2 + 3 * m + 1,
                         .T = begin_triangle(k)};
}

/* Adds a column of H: h[0..j], and below it next >= 0. Returns false and adds nothing if the column depends on those
 * before, so that the space cannot grow. */
static bool add_column(karst_least_squares *T, const double *h, double next)
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
  T->unrotated = T->g[j];
  T->cosine[j] = below / column[j];
  T->sine[j] = next / column[j];
  T->g[j + 1] = -T->sine[j] * T->g[j];
  T->g[j] *= T->cosine[j];
  T->columns++;
  return true;
}

/* Takes the last column out again. */
static void remove_column(karst_least_squares *T)
{
  T->columns--;
  T->g[T->columns] = T->unrotated;
}

/* R y = g */
static void solve_triangle(const karst_least_squares *T, double *y)
{
  for (int j = T->columns - 1; j >= 0; j--) y[j] = T->g[j];
  for (int j = T->columns - 1; j >= 0; j--) {
    const double *column = T->R + (int64_t)j * (j + 1) / 2;
    y[j] /= column[j];
    for (int i = 0; i < j; i++) y[i] -= column[i] * y[j];
  }
}

/* Returns the place of the vector between the two operators of B. */
static double *place_between(const karst_krylov *k, const karst_arnoldi *a, int j)
{
  return a->Z ? a->Z[j] : k->work.r;
}

/* w = B V[j] */
static karst_status apply_operator(karst_krylov *k, const karst_arnoldi *a, int j, double *w)
{
  const double *v = k->work.vector[j];
  double *between = place_between(k, a, j);
  if (a->left) {
    karst_status status = karst_krylov_multiply(k, v, between);
    return status ? status : karst_krylov_precondition(k, between, w);
  }
  karst_status status = karst_krylov_precondition(k, v, between);
  return status ? status : karst_krylov_multiply(k, between, w);
}

/* Makes the first basis vector; *norm: the norm that it was divided by. */
static karst_status begin_basis(karst_krylov *k, const karst_arnoldi *a, double *norm, karst_reason *reason)
{
  const struct karst_backend *backend = k->context->backend;
  double *first = k->work.vector[0];
  *norm = k->residual;
  if (!a->left) {
    backend->normalise(k->context, k->n, k->work.norm2, k->work.r, first);
    return KARST_SUCCESS;
  }
  karst_status status = karst_krylov_precondition(k, k->work.r, first);
  if (status) return status;
  karst_sums_dots(k->context, k->n, 1, (const double *const *)&first, first, k->work.scalar + a->norm2);
  status = karst_krylov_download(k, a->norm2, 1);
  if (status) return status;
  *norm = sqrt(k->work.host[a->norm2]);
  if (!isfinite(*norm))
    return karst_krylov_find_not_finite(k, 1, &(karst_krylov_vector){"the preconditioned residual", first}, reason);
  if (*norm == 0) *reason = KARST_BREAKDOWN_ARNOLDI;
  k->claims.lowered = *norm;
  backend->normalise(k->context, k->n, k->work.scalar + a->norm2, first, first);
  return KARST_SUCCESS;
}

/* Makes the late second pass over V[j]; scalars: |V[j]|^2 after it, then its j products. */
static void repeat_pass(karst_krylov *k, int j, double *scalars)
{
  const struct karst_backend *backend = k->context->backend;
  const double *const *V = (const double *const *)k->work.vector;
  karst_sums_dots(k->context, k->n, j, V, V[j], scalars + 1);
  karst_sums_combine(k->context, k->n, j, -1, scalars + 1, V, NULL, k->work.vector[j], scalars);
  backend->normalise(k->context, k->n, scalars, V[j], k->work.vector[j]);
}

/* Makes one step of Arnoldi's process: the next basis vector, and on the host h[0..j] (both passes added), |w|^2 and
 * the scalars of a late second pass. *finite: whether these are finite. */
static karst_status grow_basis(karst_krylov *k, const karst_arnoldi *a, int j, bool *finite)
{
  const struct karst_backend *backend = k->context->backend;
  const double *const *V = (const double *const *)k->work.vector;
  const int64_t first = a->norm2 - (a->late ? j + 1 : 0), last = a->norm2 + (a->twice ? 2 : 1) * (j + 1);
  double *w = k->work.vector[j + 1], *norm2 = k->work.scalar + a->norm2, *h = norm2 + 1, *correction = h + j + 1;
  if (a->late) repeat_pass(k, j, k->work.scalar + first);
  karst_status status = apply_operator(k, a, j, w);
  if (status) return status;
  karst_sums_dots(k->context, k->n, j + 1, V, w, h);
  karst_sums_combine(k->context, k->n, j + 1, -1, h, V, NULL, w, a->twice ? NULL : norm2);
  if (a->twice) {
    karst_sums_dots(k->context, k->n, j + 1, V, w, correction);
    karst_sums_combine(k->context, k->n, j + 1, -1, correction, V, NULL, w, norm2);
  }
  if (j + 1 < karst_basis_of(k)->restart) backend->normalise(k->context, k->n, norm2, w, w);
  status = karst_krylov_download(k, first, last + 1 - first);
  *finite = true;
  for (int64_t i = first; i <= last; i++) *finite = *finite && isfinite(k->work.host[i]);
  if (a->twice)
    for (int64_t i = a->norm2 + 1; i <= a->norm2 + 1 + j; i++) k->work.host[i] += k->work.host[i + j + 1];
  return status;
}

static double norm_of(const double *h, int count)
{
  double square = 0;
  for (int i = 0; i < count; i++) square += h[i] * h[i];
  return sqrt(square);
}

/* Follows the loss of orthogonality through a pass over vector number count, which has subtracted the products
 * h[0..count-1] with the vectors before and left a norm of next. Computes those products after the pass by the
 * recurrence. Returns the largest; infinity if only rounding is left, because dividing by it would overflow. */
static double follow_loss(karst_arnoldi *a, const double *h, int count, double next)
{
  const int64_t m = a->norm2 - 1;
  const double length = hypot(norm_of(h, count), next), noise = DBL_EPSILON * length;
  if (next <= negligible * length) return INFINITY;
  double *made = a->overlap + count * m, largest = 0;
  for (int i = 0; i < count; i++) made[i] = noise * (2 * karst_random_uniform(&a->noise) - 1);
  for (int l = 0; l < count; l++) {
    const double *row = a->overlap + l * m;
    for (int i = 0; i < count; i++) made[i] -= row[i] * h[l];
  }
  for (int i = 0; i < count; i++) {
    made[i] /= next;
    a->overlap[i * m + count] = made[i];
    largest = fmax(largest, fabs(made[i]));
  }
  made[count] = 0;
  return largest;
}

/* Finds, after column j, whether the new basis vector needs a late second pass, and keeps the column for it. */
static void check_loss(karst_arnoldi *a, const karst_krylov *k, int j, double next)
{
  const double *h = k->work.host + a->norm2 + 1;
  a->late = a->watched && follow_loss(a, h, j + 1, next) > loss_limit;
  if (!a->late) return;
  memcpy(a->h, h, (size_t)(j + 1) * sizeof *h);
  a->next = next;
}

/* Makes column j - 1 again after the late second pass: w = next v, V h + w = V (h + next c) + next |v| v'. Returns
 * false if the column depends on those before. */
static bool redo_column(karst_arnoldi *a, const karst_krylov *k)
{
  karst_least_squares *T = &a->T;
  const int j = T->columns;
  const double *c = k->work.host + a->norm2 - j, left = sqrt(c[-1]);
  for (int i = 0; i < j; i++) a->h[i] += a->next * c[i];
  follow_loss(a, c, j, left);
  remove_column(T);
  return add_column(T, a->h, a->next * left);
}

/* Finds which vector made from V[j] is not finite. Gram-Schmidt has spread the NaN over all of w, so the vectors are
 * computed again, except a kept M^-1 V[j], which a varying M would make differently now. */
static karst_status find_fault_of_growth(karst_krylov *k, const karst_arnoldi *a, int j, karst_reason *reason)
{
  double *w = k->work.vector[j + 1], *between = place_between(k, a, j);
  karst_status status = a->Z ? karst_krylov_multiply(k, between, w) : apply_operator(k, a, j, w);
  if (status) return status;
  const karst_krylov_vector vectors[] = {{a->left ? k->A.product : "the preconditioned vector", between},
                                         {a->left ? "the preconditioned vector" : k->A.product, w}};
  return karst_krylov_find_not_finite(k, 2, vectors, reason);
}

/* If the caller's norm differs and M is applied from the right: computes the residual in k->work.r, from which a new
 * goal follows. In the basis it is Q' (0, ..., 0, g), with Q the product of the rotations. */
static karst_status compare_with_caller(karst_krylov *k, const karst_arnoldi *a)
{
  const karst_least_squares *T = &a->T;
  const struct karst_backend *backend = k->context->backend;
  const int last = T->columns;
  const double residual = fabs(T->g[last]);
  double *y = k->work.host + a->norm2 + 1;
  if (a->left || last == karst_basis_of(k)->restart || !karst_krylov_compares(k, residual)) return KARST_SUCCESS;
  y[last] = T->g[last];
  for (int j = last - 1; j >= 0; j--) {
    y[j] = -T->sine[j] * y[j + 1];
    y[j + 1] *= T->cosine[j];
  }
  double *const coefficient = k->work.scalar + a->norm2 + 1, *const zero = coefficient + last + 1;
  y[last + 1] = 0;
  karst_status status = backend->upload(k->context, coefficient, y, ((size_t)last + 2) * sizeof(double));
  if (status) return status;
  backend->combine(k->context, k->n, last + 1, 1, coefficient, (const double *const *)k->work.vector, zero, k->work.r,
                   NULL);
  return karst_krylov_compare(k, residual, k->work.r);
}

/* Lets the basis grow until the residual norm is at the goal, or it cannot grow further: then *grows is false. */
static karst_status grow(karst_krylov *k, karst_arnoldi *a, bool *grows, karst_reason *reason)
{
  karst_least_squares *T = &a->T;
  const double scale = k->residual / T->g[0];
  bool done = false, finite;
  *grows = true;
  while (!done && T->columns < karst_basis_of(k)->restart) {
    const int j = T->columns;
    karst_status status = grow_basis(k, a, j, &finite);
    if (status) return status;
    if (!finite) return find_fault_of_growth(k, a, j, reason);
    if (a->late && (!redo_column(a, k) || T->g[j] == 0)) { /* V[j] and all made from it are rounding */
      *grows = T->columns == j;
      k->claims.made = *grows;
      return KARST_SUCCESS;
    }
    double next = sqrt(k->work.host[a->norm2]);
    *grows = add_column(T, k->work.host + a->norm2 + 1, next);
    if (j + 1 < karst_basis_of(k)->restart) check_loss(a, k, j, next);
    if (*grows) status = compare_with_caller(k, a);
    if (status) return status;
    double goal = a->left ? 0.5 * pow(0.1, k->claims.wrong) * k->test.target : k->test.goal;
    done = karst_krylov_step(k, scale * fabs(T->g[T->columns]), goal) || !*grows;
  }
  return KARST_SUCCESS;
}

karst_status karst_arnoldi_grow(karst_krylov *k, karst_arnoldi *a, karst_reason *reason)
{
  double norm;
  bool grows;
  karst_status status = begin_basis(k, a, &norm, reason);
  if (status || *reason != KARST_SOUND) return status;
  if (a->watched) a->overlap[0] = 0;
  a->T.g[0] = norm;
  status = grow(k, a, &grows, reason);
  if (status) return status;
  if (*reason == KARST_SOUND && !grows && fabs(a->T.g[a->T.columns]) > 0.9 * norm) *reason = KARST_BREAKDOWN_ARNOLDI;
  return KARST_SUCCESS;
}

karst_status karst_arnoldi_solve(karst_krylov *k, const karst_arnoldi *a, const double **y)
{
  double *host_y = k->work.host + a->norm2 + 1, *device_y = k->work.scalar + a->norm2 + 1;
  solve_triangle(&a->T, host_y);
  *y = device_y;
  return k->context->backend->upload(k->context, device_y, host_y, (size_t)a->T.columns * sizeof *host_y);
}
