/* cg.c - the preconditioned conjugate gradient method, for symmetric positive definite A and M.
 *
 * Hestenes and Stiefel, J. Res. Nat. Bur. Standards 49 (1952), 409-436; Saad, Iterative Methods for Sparse Linear
 * Systems, 2nd edition, Algorithm 9.1. An operator with p'Ap <= 0 or a preconditioner with r'z <= 0 is not positive
 * definite and ends the solve; where both are seen, as for a negative definite A with its own factors, the operator is
 * named.
 *
 * Vectors read (r) and written (w) in an iteration, besides the product with A and the apply of M:
 *     p'q               2 r
 *     r = r - alpha q   2 r, 1 w, with |r|^2
 *     x = x + alpha p   2 r, 1 w
 *     r'z               2 r
 *     p = z + beta p    2 r, 1 w
 * and one download of 4 scalars. Memory: p, q, z. */
#include "krylov.h"

#include <math.h>

/* r'z of this iteration and the last take turns in RZ and RZ + 1; the first LOOK scalars go to the host. */
enum { RZ, PQ = RZ + 2, RR, LOOK, ALPHA = LOOK, BETA, SCALARS };

enum { P, Q, Z, VECTORS };

static karst_krylov_workspace workspace(const karst_krylov *k, void *settings)
{
  (void)k;
  (void)settings;
  return (karst_krylov_workspace){.vectors = VECTORS, .scalars = SCALARS};
}

/* p = z = M^-1 r */
static karst_status begin(karst_krylov *k)
{
  const struct karst_backend *backend = k->context->backend;
  karst_status status = karst_krylov_precondition(k, k->r, k->vector[Z]);
  if (status) return status;
  backend->copy(k->context, k->n, k->vector[Z], k->vector[P]);
  karst_sums_dots(k->context, k->n, 1, (const double *const *)&k->r, k->vector[Z], k->scalar + RZ);
  return KARST_SUCCESS;
}

/* The step length along p, and the residual after that step. */
static karst_status advance(karst_krylov *k, int now)
{
  const struct karst_backend *backend = k->context->backend;
  double *p = k->vector[P], *q = k->vector[Q], *s = k->scalar;
  karst_status status = karst_krylov_multiply(k, p, q);
  if (status) return status;
  karst_sums_dots(k->context, k->n, 1, (const double *const *)&p, q, s + PQ);
  backend->quotient(k->context, 1, s + RZ + now, s + PQ, NULL, NULL, s + ALPHA);
  karst_sums_combine(k->context, k->n, 1, -1, s + ALPHA, (const double *const *)&q, NULL, k->r, s + RR);
  return karst_krylov_look(k, 0, LOOK);
}

/* Why the step must not be taken, or KARST_SOUND. */
static karst_status check(karst_krylov *k, int now, karst_reason *reason)
{
  double rz = k->host[RZ + now], pq = k->host[PQ];
  const karst_krylov_suspect suspect[] = {{"the preconditioned residual", k->vector[Z]},
                                          {"the search direction", k->vector[P]},
                                          {k->A.product, k->vector[Q]},
                                          {"the residual", k->r}};
  if (!isfinite(rz) || !isfinite(pq) || !isfinite(k->host[RR])) return karst_krylov_blame(k, 4, suspect, reason);
  if (pq < 0 || (pq == 0 && rz != 0))
    *reason = KARST_INDEFINITE_OPERATOR;
  else if (rz <= 0)
    *reason = KARST_INDEFINITE_PRECOND;
  return KARST_SUCCESS;
}

/* p = z + beta p with z = M^-1 r */
static karst_status turn(karst_krylov *k, int now)
{
  const struct karst_backend *backend = k->context->backend;
  double *z = k->vector[Z], *rz = k->scalar + RZ;
  karst_status status = karst_krylov_precondition(k, k->r, z);
  if (status) return status;
  karst_sums_dots(k->context, k->n, 1, (const double *const *)&k->r, z, rz + 1 - now);
  backend->quotient(k->context, 1, rz + 1 - now, rz + now, NULL, NULL, k->scalar + BETA);
  backend->combine(k->context, k->n, 1, 1, k->one, (const double *const *)&z, k->scalar + BETA, k->vector[P], NULL);
  return KARST_SUCCESS;
}

static karst_status cycle(karst_krylov *k, karst_reason *reason)
{
  const struct karst_backend *backend = k->context->backend;
  karst_status status = begin(k);
  for (int now = 0; !status; now = 1 - now) {
    status = advance(k, now);
    if (!status) status = check(k, now, reason);
    if (status || *reason != KARST_SOUND) return status;
    backend->combine(k->context, k->n, 1, 1, k->scalar + ALPHA, (const double *const *)&k->vector[P], NULL, k->x, NULL);
    double residual = sqrt(k->host[RR]);
    if (karst_krylov_compares(k, residual)) status = karst_krylov_compare(k, residual, k->r);
    if (status || karst_krylov_step(k, residual, k->goal)) return status;
    status = turn(k, now);
  }
  return status;
}

extern const struct karst_krylov_ops karst_krylov_cg;

const struct karst_krylov_ops karst_krylov_cg = {
    .name = "cg",
    .help = "conjugate gradients, for symmetric positive definite matrices",
    .workspace = workspace,
    .cycle = cycle,
};
