/* bicgstab.c - the stabilised biconjugate gradient method, preconditioned from the right.
 *
 * Van der Vorst, SIAM J. Sci. Stat. Comput. 13 (1992), 631-644; Saad, Iterative Methods for Sparse Linear Systems,
 * 2nd edition, Algorithm 7.7, with A M^-1 for A. The shadow residual r* is the first residual of a cycle. One
 * iteration is two products with A and two applies of M:
 *     p^ = M^-1 p, v = A p^, alpha = rho / r*'v, s = r - alpha v
 *     s^ = M^-1 s, t = A s^, omega = t's / t't,  r = s - omega t, x = x + alpha p^ + omega s^
 *     rho' = r*'r, beta = (rho' / rho) (alpha / omega), p = r + beta (p - omega v)
 * A breakdown ends the cycle, and the next one starts with the true residual as r*. It ends the solve if the cycle has
 * neither lowered the residual nor taken two iterations.
 *
 * Vectors read (r) and written (w) in an iteration, besides the products and applies:
 *     r*'v, v'v   2 r           s, |s|^2   2 r, 1 w     t's, t't   2 r        r, |r|^2   2 r, 1 w
 *     r*'r        2 r           x          3 r, 1 w     p          3 r, 1 w
 * and one download of 10 scalars. On a GPU the kernels of the products compute the sums too: r*'v and t's then read one
 * vector, and v'v and t't none. r*'r is computed while r is written and reads r* alone. Memory: r*, p, v, p^, s^, t; s
 * overwrites r.
 *
 * Over several ranks an iteration takes two reductions instead of four: r*'v and v'v; then s's, r*'s, t's, t't and r*'t
 * together. From these, |r|^2 = s's - 2 omega t's + omega^2 t't and rho' = r*'s - omega r*'t. The first loses its digits
 * where |r| is far below |s|; r'r is then summed after all. */
#include "lib/method/krylov.h"

#include <float.h>
#include <math.h>

/* rho of this iteration and the next alternate between RHO and RHO + 1. The first LOOK scalars are downloaded. These
 * scalars are adjacent because one call writes or reads them: SIGMA VV, SS RS TS TT RT, ALPHA OMEGA, TURN UNIT. */
enum {
  RHO,
  SIGMA = RHO + 2, /* r*'v */
  VV,
  SS,
  RS, /* r*'s; this and r*'t only over several ranks */
  TS,
  TT,
  RT, /* r*'t */
  RR,
  LOOK,
  ALPHA = LOOK,
  OMEGA,
  BETA,
  TURN, /* -beta omega */
  UNIT, /* 1 */
  SCALARS
};

enum { SHADOW, P, V, P_HAT, S_HAT, T, VECTORS };

static void bicgstab_begin(karst_krylov *k)
{
  const struct karst_backend *backend = k->context->backend;
  backend->copy(k->context, k->n, k->work.r, k->work.vector[SHADOW]);
  backend->copy(k->context, k->n, k->work.r, k->work.vector[P]);
  backend->copy(k->context, 1, k->work.norm2, k->work.scalar + RHO);
  backend->fill(k->context, 1, 1, k->work.scalar + UNIT);
}

/* From p to alpha and s, which is formed in r. */
static karst_status first_half(karst_krylov *k, int now)
{
  double *v = k->work.vector[V], *s = k->work.scalar;
  const double *against[] = {k->work.vector[SHADOW], v};
  karst_status status = karst_krylov_precondition(k, k->work.vector[P], k->work.vector[P_HAT]);
  if (!status) status = karst_krylov_multiply_dots(k, k->work.vector[P_HAT], v, 2, against, s + SIGMA);
  if (status) return status;
  if (karst_is_spread(k->context))
    karst_sums_begin_step(k->context, k->n, s + RHO + now, s + SIGMA, s + ALPHA, v, k->work.r, s + SS,
                          k->work.vector[SHADOW], s + RS);
  else
    karst_sums_step(k->context, k->n, s + RHO + now, s + SIGMA, s + ALPHA, v, k->work.r, s + SS, NULL, NULL);
  return KARST_SUCCESS;
}

/* From s to omega, r and the next rho, with one reduction over the ranks. */
static karst_status second_half_spread(karst_krylov *k, int now)
{
  const struct karst_backend *backend = k->context->backend;
  double *t = k->work.vector[T], *s = k->work.scalar;
  const double *against[] = {k->work.r, t, k->work.vector[SHADOW]}, *rt = s + RT;
  karst_status status = karst_krylov_precondition(k, k->work.r, k->work.vector[S_HAT]);
  if (!status) status = karst_krylov_multiply(k, k->work.vector[S_HAT], t);
  if (status) return status;
  karst_sums_begin_dots(k->context, k->n, 3, against, t, s + TS);
  karst_ranks_complete(k->context, RT + 1 - SS, s + SS);
  backend->quotient(k->context, 1, s + TS, s + TT, NULL, NULL, s + OMEGA);
  backend->combine(k->context, k->n, 1, -1, s + OMEGA, (const double *const *)&t, NULL, k->work.r, NULL);
  backend->copy(k->context, 1, s + RS, s + RHO + 1 - now);
  backend->combine(k->context, 1, 1, -1, s + OMEGA, &rt, NULL, s + RHO + 1 - now, NULL);
  return KARST_SUCCESS;
}

/* From s to omega, r and the next rho. */
static karst_status second_half(karst_krylov *k, int now)
{
  double *t = k->work.vector[T], *s = k->work.scalar;
  const double *against[] = {k->work.r, t};
  karst_status status = karst_krylov_precondition(k, k->work.r, k->work.vector[S_HAT]);
  if (!status) status = karst_krylov_multiply_dots(k, k->work.vector[S_HAT], t, 2, against, s + TS);
  if (!status)
    karst_sums_step(k->context, k->n, s + TS, s + TT, s + OMEGA, t, k->work.r, s + RR, k->work.vector[SHADOW],
                    s + RHO + 1 - now);
  return status;
}

/* p = r + beta (p - omega v) */
static void bicgstab_turn(karst_krylov *k, int now)
{
  const struct karst_backend *backend = k->context->backend;
  double *s = k->work.scalar;
  const double *add[] = {k->work.vector[V], k->work.r};
  if (backend->turn_stabilised) {
    backend->turn_stabilised(k->context, k->n, s + RHO + 1 - now, s + RHO + now, s + ALPHA, s + OMEGA,
                             k->work.vector[V], k->work.r, k->work.vector[P]);
    return;
  }
  backend->quotient(k->context, 1, s + RHO + 1 - now, s + RHO + now, s + ALPHA, s + OMEGA, s + BETA);
  backend->quotient(k->context, -1, s + BETA, k->work.one, s + OMEGA, k->work.one, s + TURN);
  backend->combine(k->context, k->n, 2, 1, s + TURN, add, s + BETA, k->work.vector[P], NULL);
}

static karst_status bicgstab_find_fault(karst_krylov *k, karst_reason *reason)
{
  const karst_krylov_vector vectors[] = {{"the preconditioned direction", k->work.vector[P_HAT]},
                                         {k->A.product, k->work.vector[V]},
                                         {"the preconditioned residual", k->work.vector[S_HAT]},
                                         {k->A.product, k->work.vector[T]},
                                         {"the residual", k->work.r}};
  return karst_krylov_find_not_finite(k, 5, vectors, reason);
}

/* x = x + alpha p^ + omega s^, or without the second step; counts the iteration. Returns whether the cycle should end.
 * *norm becomes residual. */
static bool take_steps(karst_krylov *k, int steps, double residual, double *norm)
{
  const double *add[] = {k->work.vector[P_HAT], k->work.vector[S_HAT]};
  k->context->backend->combine(k->context, k->n, steps, 1, k->work.scalar + ALPHA, add, NULL, k->x, NULL);
  *norm = residual;
  return karst_krylov_step(k, residual, k->test.goal);
}

/* Checks the scalars of an iteration and takes the steps that are possible. *norm: of the recursive residual, before
 * and after. *reason: why no further step is possible. *done: the cycle should end. */
static karst_status end_iteration(karst_krylov *k, int now, double *norm, karst_reason *reason, bool *done)
{
  const double *s = k->work.host;
  double half = sqrt(s[SS]), after = sqrt(s[RR]), next_rho = s[RHO + 1 - now];
  *done = true;
  if (!isfinite(s[SIGMA]) || !isfinite(s[VV])) return bicgstab_find_fault(k, reason);
  if (fabs(s[SIGMA]) <= DBL_EPSILON * k->residual * sqrt(s[VV])) {
    *reason = KARST_BREAKDOWN_ALPHA;
    return KARST_SUCCESS;
  }
  if (!isfinite(half)) return bicgstab_find_fault(k, reason);
  if (half <= k->test.goal && !k->outer) { /* s is gone by now, and cannot be compared with the caller's residual */
    take_steps(k, 1, half, norm);
    return KARST_SUCCESS;
  }
  if (!isfinite(s[TS]) || !isfinite(s[TT])) return bicgstab_find_fault(k, reason);
  if (fabs(s[TS]) <= DBL_EPSILON * half * sqrt(s[TT])) {
    *reason = KARST_BREAKDOWN_OMEGA;
    if (half < *norm) take_steps(k, 1, half, norm);
    return KARST_SUCCESS;
  }
  if (!isfinite(after) || !isfinite(next_rho)) return bicgstab_find_fault(k, reason);
  if (karst_krylov_compares(k, after)) {
    karst_status status = karst_krylov_compare(k, after, k->work.r);
    if (status) return status;
  }
  *done = take_steps(k, 2, after, norm);
  if (fabs(next_rho) <= DBL_EPSILON * k->residual * after) *reason = KARST_BREAKDOWN_RHO;
  return KARST_SUCCESS;
}

/* Over several ranks: finds r'r on the host from the sums of the iteration. */
static karst_status find_square(karst_krylov *k)
{
  static const double digits = 1e-8; /* of s's: the part below which less than half of them are left */
  double *s = k->work.host, *place = k->work.scalar + RR;
  const double omega = s[TT] > 0 ? s[TS] / s[TT] : 0;
  const double *const r = k->work.r;
  s[RR] = s[SS] - 2 * omega * s[TS] + omega * omega * s[TT];
  if (!(s[RR] < digits * s[SS])) return KARST_SUCCESS;
  karst_sums_dots(k->context, k->n, 1, &r, r, place);
  return karst_krylov_download(k, RR, 1);
}

static karst_status bicgstab_cycle(karst_krylov *k, karst_reason *reason)
{
  int begun_at = k->iterations;
  double norm = k->residual;
  bool done = false;
  bicgstab_begin(k);
  for (int now = 0; !done && *reason == KARST_SOUND; now = 1 - now) {
    karst_status status = first_half(k, now);
    if (!status) status = karst_is_spread(k->context) ? second_half_spread(k, now) : second_half(k, now);
    if (!status) status = karst_krylov_download_begin(k, 0, LOOK);
    if (!status) bicgstab_turn(k, now); /* while the download is under way; wasted in the last iteration */
    if (!status) status = karst_krylov_download_end(k);
    if (!status && karst_is_spread(k->context)) status = find_square(k);
    if (!status) status = end_iteration(k, now, &norm, reason, &done);
    if (status) return status;
  }
  bool fruitful = k->iterations > begun_at + 1 || norm < k->residual;
  if (*reason != KARST_NOT_FINITE && fruitful) *reason = KARST_SOUND;
  return KARST_SUCCESS;
}

extern const struct karst_krylov_ops karst_krylov_bicgstab;

const struct karst_krylov_ops karst_krylov_bicgstab = {
    .name = "bicgstab",
    .help = "stabilised biconjugate gradients, for any matrix; short recurrences",
    .applies_twice = true,
    .short_recurrences = true,
    .breaks_down = true,
    .need = {.vectors = VECTORS, .scalars = SCALARS},
    .cycle = bicgstab_cycle,
};
