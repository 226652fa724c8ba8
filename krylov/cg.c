/* cg.c - the preconditioned conjugate gradient method, for symmetric positive definite A and M.
 *
 * Hestenes and Stiefel, J. Res. Nat. Bur. Standards 49 (1952), 409-436; Saad, Iterative Methods for Sparse Linear
 * Systems, 2nd edition, Algorithm 9.1. An operator with p'Ap <= 0 or a preconditioner with r'z <= 0 is not positive
 * definite and ends the solve. If both occur, as for a negative definite A with its own factors, the reason names
 * the operator.
 *
 * Vectors read (r) and written (w) in an iteration, besides the product with A and the apply of M:
 *     p'q               2 r
 *     r = r - alpha q   2 r, 1 w, with |r|^2
 *     r'z               2 r
 *     x = x + alpha p   2 r, 1 w
 *     p = z + beta p    2 r, 1 w
 * and one download of 5 scalars. Memory: p, q, z. The operator and the preconditioner of a reduced system compute p'q
 * and r'z themselves, which saves these two passes; a matrix on a GPU saves that for p'q. On a GPU the last two lines
 * are one pass, which reads p once.
 *
 * Over several ranks an iteration takes two reductions instead of three: p'q, q'q and r'q; then |r|^2, of which the pass
 * that writes r has made this rank's part, and r'z together. Before M is applied, the step is judged by
 * |r - alpha q|^2 = |r|^2 - 2 alpha r'q + alpha^2 q'q. That loses its digits where the new |r| is far below the old one;
 * |r|^2 is then completed first.
 *
 * If the download takes time, Karst applies M meanwhile, unless M is a registered method or the step is expected to be
 * the last, if the residual falls as in the step before.
 *
 * With the option norm preconditioned a step is judged by sqrt(r'M^-1 r), as by de Jong, van der Ploeg, Ditzel and Vuik
 * (ETNA 46, 2017, 375-393, section 4.3): M is applied before the download and not after it.
 *
 * The coefficients of a cycle are those of the Lanczos process, whose tridiagonal matrix has at its ends the extreme
 * eigenvalues of M^-1 A (Saad, section 6.7.3): alpha_j = r'z / p'q and beta_j, the ratio of two r'z, make its diagonal
 * 1 / alpha_j + beta_j-1 / alpha_j-1 and the entries sqrt(beta_j) / alpha_j beside it. */
#include "lib/method/krylov.h"
#include "krylov/lanczos.h"

#include <math.h>

/* r'r and r'z of the residual at the start of an iteration and after its step alternate between the two pairs of
 * scalars. The first LOOK scalars are downloaded; the first LOOK_SPREAD of them over several ranks. */
enum { RR, RZ, PAIR, PQ = 2 * PAIR, LOOK, QQ = LOOK, RQ, LOOK_SPREAD, ALPHA = LOOK_SPREAD, BETA, SCALARS };

static int square(int now) { return RR + now * PAIR; }
static int product(int now) { return RZ + now * PAIR; }

enum { P, Q, Z, VECTORS };

enum { STEPS = 2048 /* of a cycle whose coefficients are kept */ };

enum { LEAST, LARGEST, DIAGONAL, BESIDE = DIAGONAL + STEPS, HOST = BESIDE + STEPS };

struct settings {
  int norm;
};

static const char *norm_name(size_t i)
{
  static const char *const names[] = {"true", "preconditioned", NULL};
  return names[i];
}

static const karst_option own_rows[] = {
    {"norm", KARST_OPTION_NAME, false, offsetof(struct settings, norm), norm_name, 0, "true",
     "the norm of the residual that rtol refers to in cg",
     "true is the norm of the true residual r, relative to that of b. With preconditioned a solve ends where "
     "sqrt(r'M^-1 r) is at most rtol times its value at the start, and the reason is KARST_CONVERGED_PRECONDITIONED. "
     "In an ordered or scaled system r and M are those of that system; in a reduced one (rrb) r is what the "
     "elimination leaves. atol refers to the true residual in both cases."},
    {0}};
static const karst_option *const rows[] = {own_rows, NULL};

static bool by_precond(const karst_krylov *k) { return ((const struct settings *)k->settings)->norm != 0; }

/* z = M^-1 r and r'z. whole: r'r is complete; if not, this rank's part of it is completed too. */
static karst_status precondition(const karst_krylov *k, int at, bool whole)
{
  double *z = k->work.vector[Z], *s = k->work.scalar;
  const double *const r = k->work.r;
  if (!karst_is_spread(k->context)) return karst_krylov_precondition_dot(k, r, z, s + product(at));
  const karst_status status = karst_krylov_precondition(k, r, z);
  if (status) return status;
  karst_sums_begin_dots(k->context, k->n, 1, &r, z, s + product(at));
  if (whole)
    karst_ranks_complete(k->context, 1, s + product(at));
  else
    karst_ranks_complete(k->context, PAIR, s + square(at));
  return KARST_SUCCESS;
}

/* p = z = M^-1 r */
static karst_status cg_begin(karst_krylov *k)
{
  const struct karst_backend *backend = k->context->backend;
  if (karst_is_spread(k->context)) backend->copy(k->context, 1, k->work.norm2, k->work.scalar + square(0));
  const karst_status status = precondition(k, 0, true);
  if (!status) backend->copy(k->context, k->n, k->work.vector[Z], k->work.vector[P]);
  return status;
}

/* The step length along p, and the residual after that step, with this rank's part of its square. */
static karst_status advance_spread(const karst_krylov *k, int now)
{
  double *q = k->work.vector[Q], *s = k->work.scalar;
  const double *against[] = {k->work.vector[P], q, k->work.r};
  const karst_status status = karst_krylov_multiply(k, k->work.vector[P], q);
  if (status) return status;
  karst_sums_begin_dots(k->context, k->n, 3, against, q, s + PQ);
  karst_ranks_complete(k->context, 3, s + PQ);
  karst_sums_begin_step(k->context, k->n, s + product(now), s + PQ, s + ALPHA, q, k->work.r, s + square(1 - now), NULL,
                        NULL);
  return KARST_SUCCESS;
}

static karst_status cg_advance(karst_krylov *k, int now)
{
  double *q = k->work.vector[Q], *s = k->work.scalar;
  if (karst_is_spread(k->context)) return advance_spread(k, now);
  const karst_status status = karst_krylov_multiply_dot(k, k->work.vector[P], q, s + PQ);
  if (!status)
    karst_sums_step(k->context, k->n, s + product(now), s + PQ, s + ALPHA, q, k->work.r, s + square(1 - now), NULL,
                    NULL);
  return status;
}

/* Over several ranks: finds r'r after the step on the host, from the sums before it. *whole: it was completed. */
static karst_status find_square(karst_krylov *k, int now, bool *whole)
{
  static const double digits = 1e-8; /* of r'r: the part below which less than half of them are left */
  double *s = k->work.host, *made = s + square(1 - now);
  const double quotient = s[PQ] != 0 ? s[product(now)] / s[PQ] : 0, alpha = isfinite(quotient) ? quotient : 0;
  *made = s[square(now)] - 2 * alpha * s[RQ] + alpha * alpha * s[QQ];
  *whole = *made < digits * s[square(now)];
  if (!*whole) return KARST_SUCCESS;
  karst_ranks_complete(k->context, 1, k->work.scalar + square(1 - now));
  return karst_krylov_download(k, square(1 - now), 1);
}

/* Whether M is applied to the residual before it is known whether the step is taken. A registered M is not applied if
 * the result may not be needed. expected: the residual after the step. */
static bool applies_early(const karst_krylov *k, double expected)
{
  return k->test.by_precond || (k->context->backend->download_begin && !k->context->ranks && !k->M->calls_registered &&
                                expected > k->test.goal);
}

/* Downloads the scalars that the step is judged by. *whole: r'r after the step is complete on the device. */
static karst_status download_scalars(karst_krylov *k, int now, bool early, bool *whole)
{
  const bool spread = karst_is_spread(k->context);
  karst_status status = k->test.by_precond ? precondition(k, 1 - now, false) : KARST_SUCCESS;
  if (!status) status = karst_krylov_download_begin(k, 0, spread ? LOOK_SPREAD : LOOK);
  if (status) return status;
  if (early && !k->test.by_precond) status = precondition(k, 1 - now, true);
  const karst_status ended = karst_krylov_download_end(k);
  *whole = !spread || k->test.by_precond;
  if (status || ended) return status ? status : ended;
  return *whole ? KARST_SUCCESS : find_square(k, now, whole);
}

/* Why the step must not be taken, or KARST_SOUND. early: M has been applied to the residual. */
static karst_status cg_check(karst_krylov *k, int now, bool early, karst_reason *reason)
{
  const double rz = k->work.host[product(now)], pq = k->work.host[PQ], rr = k->work.host[square(1 - now)],
               next = k->test.by_precond ? k->work.host[product(1 - now)] : 0;
  const karst_krylov_vector z = {"the preconditioned residual", k->work.vector[Z]};
  const karst_krylov_vector p = {"the search direction", k->work.vector[P]};
  const karst_krylov_vector z_in_p = {isfinite(rz) ? p.what : z.what, p.values}; /* where another z has replaced it */
  const karst_krylov_vector vectors[] = {
      early ? z_in_p : z, p, {k->A.product, k->work.vector[Q]}, {"the residual", k->work.r}, z};
  if (!isfinite(rz) || !isfinite(pq) || !isfinite(rr) || !isfinite(next))
    return karst_krylov_find_not_finite(k, k->test.by_precond ? 5 : 4, vectors, reason);
  if (pq < 0 || (pq == 0 && rz != 0))
    *reason = KARST_INDEFINITE_OPERATOR;
  else if (rz <= 0 || next < 0)
    *reason = KARST_INDEFINITE_PRECOND;
  return KARST_SUCCESS;
}

/* x = x + alpha p */
static void cg_correct(karst_krylov *k)
{
  k->context->backend->combine(k->context, k->n, 1, 1, k->work.scalar + ALPHA,
                               (const double *const *)&k->work.vector[P], NULL, k->x, NULL);
}

/* x = x + alpha p, p = z + beta p */
static void cg_turn(karst_krylov *k, int now)
{
  const struct karst_backend *backend = k->context->backend;
  double *p = k->work.vector[P], *z = k->work.vector[Z], *s = k->work.scalar;
  if (backend->turn) {
    backend->turn(k->context, k->n, s + ALPHA, s + product(1 - now), s + product(now), z, p, k->x);
    return;
  }
  cg_correct(k);
  backend->quotient(k->context, 1, s + product(1 - now), s + product(now), NULL, NULL, s + BETA);
  backend->combine(k->context, k->n, 1, 1, k->work.one, (const double *const *)&z, s + BETA, p, NULL);
}

/* Step number j of a cycle makes row j of the tridiagonal matrix; last: r'z and 1 / alpha of the step before. */
static void keep_coefficients(karst_krylov *k, int64_t j, int now, double last[2])
{
  if (j >= STEPS) return;
  double *diagonal = k->work.host_extra + DIAGONAL, *beside = k->work.host_extra + BESIDE;
  const double rz = k->work.host[product(now)], inverse = k->work.host[PQ] / rz, beta = j > 0 ? rz / last[0] : 0;
  diagonal[j] = inverse + beta * last[1];
  if (j > 0) beside[j - 1] = sqrt(beta) * last[1];
  last[0] = rz;
  last[1] = inverse;
}

static karst_status put_value(karst_krylov *k, const char *name, double number)
{
  return karst_report_put(k->context, &k->report, &(karst_value){.name = name, .number = number});
}

/* Reports the extreme eigenvalues of M^-1 A as the coefficients of these steps show them. The eigenvalues of each
 * cycle's matrix lie between those of M^-1 A, so the extremes over all cycles are the best estimates. */
static karst_status report_spectrum(karst_krylov *k, int64_t steps)
{
  double least, largest, *known = k->work.host_extra;
  if (steps == 0) return KARST_SUCCESS;
  karst_lanczos_extremes((int)(steps < STEPS ? steps : STEPS), known + DIAGONAL, known + BESIDE, &least, &largest);
  known[LEAST] = k->report.count > 0 ? fmin(known[LEAST], least) : least;
  known[LARGEST] = k->report.count > 0 ? fmax(known[LARGEST], largest) : largest;
  karst_status status = put_value(k, "condition_number", known[LARGEST] / known[LEAST]);
  if (!status) status = put_value(k, "eigenvalue_min", known[LEAST]);
  return status ? status : put_value(k, "eigenvalue_max", known[LARGEST]);
}

/* Counts a step; *ends: the cycle ends with it. */
static karst_status count_step(karst_krylov *k, int now, bool *ends)
{
  const double norm = sqrt(k->work.host[square(1 - now)]);
  const double residual = k->test.by_precond ? sqrt(k->work.host[product(1 - now)]) : norm;
  const bool meets_atol = k->test.by_precond && norm <= k->test.goal_atol;
  if (karst_krylov_compares(k, residual)) {
    const karst_status status = karst_krylov_compare(k, residual, k->work.r);
    if (status) return status;
  }
  *ends = karst_krylov_step(k, residual, meets_atol ? residual : k->test.goal);
  return KARST_SUCCESS;
}

/* Iterates until the cycle ends; *steps: the number of steps. The update of x is combined with the next direction, or
 * alone in the last step. */
static karst_status iterate(karst_krylov *k, karst_reason *reason, int64_t *steps)
{
  double last[2] = {0}, before = k->residual, expected = INFINITY;
  karst_status status = cg_begin(k);
  for (int now = 0; !status; now = 1 - now) {
    const bool early = applies_early(k, expected);
    bool whole = true;
    status = cg_advance(k, now);
    if (!status) status = download_scalars(k, now, early, &whole);
    if (!status) status = cg_check(k, now, early, reason);
    if (status || *reason != KARST_SOUND) return status;
    keep_coefficients(k, (*steps)++, now, last);
    bool ends = false;
    const double residual = sqrt(k->work.host[square(1 - now)]);
    expected = residual * (residual / before);
    before = residual;
    status = count_step(k, now, &ends);
    if (!status && !ends && !early) status = precondition(k, 1 - now, whole);
    if (status || ends) {
      cg_correct(k);
      return status;
    }
    cg_turn(k, now);
  }
  return status;
}

static karst_status cg_cycle(karst_krylov *k, karst_reason *reason)
{
  int64_t steps = 0;
  const karst_status status = iterate(k, reason, &steps), reported = report_spectrum(k, steps);
  return status ? status : reported;
}

extern const struct karst_krylov_ops karst_krylov_cg;

const struct karst_krylov_ops karst_krylov_cg = {
    .name = "cg",
    .help = "conjugate gradients, for symmetric positive definite matrices",
    .reduces = true,
    .short_recurrences = true,
    .symmetric = true,
    .options = rows,
    .settings = sizeof(struct settings),
    .need = {.vectors = VECTORS, .scalars = SCALARS, .host = HOST},
    .by_precond = by_precond,
    .cycle = cg_cycle,
};
