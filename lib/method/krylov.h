/* krylov.h - what a Krylov driver is. One const table a method; all tables in solver/methods.c.
 *
 * A driver sees an operator, a preconditioner and vectors in device memory, and takes its sums through sums.h. It
 * implements one function, cycle, which improves x from a known residual. Everything around it - the true residual
 * before and after, the tests on it, restarts when a recursive residual was wrong - is written once, in krylov/drive.c.
 *
 * Rules for a cycle. It allocates nothing. It downloads the scalars of an iteration in one piece, once the iteration is
 * queued, and may queue some of the next iteration meanwhile. It changes x only after it has found these scalars
 * finite, so that x is usable whenever it returns. Where a product or a preconditioner fails, it returns that status.
 * Where there is an outer system, karst_krylov_compare waits once more in the iterations that compare. */
#ifndef KARST_LIB_METHOD_KRYLOV_H
#define KARST_LIB_METHOD_KRYLOV_H

#include "lib/matrix/operator.h"
#include "lib/method/precond.h"
#include "lib/vector/sums.h"

typedef struct karst_krylov karst_krylov;

/* When a solve ends, whatever the method. */
typedef struct karst_krylov_limits {
  double rtol, atol;
  int max_iterations;
} karst_krylov_limits;

extern const karst_option karst_krylov_limits_rows[]; /* one for each field, in this order */

/* What a method needs besides x and the residual. */
typedef struct karst_krylov_workspace {
  int64_t vectors; /* of n scalars, in device memory */
  int64_t scalars; /* in device memory, with a mirror on the host */
  int64_t host;    /* further scalars on the host */
} karst_krylov_workspace;

struct karst_krylov_ops {
  const char *name;
  const char *help;                   /* one line */
  const char *details;                /* as in karst_option, like help */
  bool flexible;                      /* accepts a preconditioner that varies from apply to apply */
  bool reduces;                       /* may be given the system that a preconditioner's reduction leaves */
  bool applies_twice;                 /* an iteration takes two products and two applications of M */
  bool short_recurrences;             /* it never restarts, however many iterations it takes */
  bool breaks_down;                   /* it may where M is nearly A^-1, and no other driver goes on from there */
  const karst_option *const *options; /* lists of rows, NULL behind the last; or NULL */
  size_t settings;                    /* bytes that the rows fill */
  /* Of a method made of two others, which has no cycle of its own: it begins as the first, and where that fails the
   * solver goes on from its x with the other. Else NULL. */
  const struct karst_krylov_ops *first, *then;
  int then_restart;          /* the option restart of the other */
  const karst_option *parts; /* the row of options with the number of parts of the grid that the preconditioner's matrix
                              * is cut into; NULL: one part. The solver reads it and makes that matrix, for a driver
                              * sees A and M only */
  /* May change the settings to what a system of this size can use. */
  karst_krylov_workspace (*workspace)(const karst_krylov *k, void *settings);
  /* Whether a solve is judged by sqrt(r'M^-1 r), of a symmetric positive definite M, and not by |r|; NULL: never. */
  bool (*by_precond)(const karst_krylov *k);
  /* Improves k->x, given k->work.r = b - A x, or b - A (base + x) where k->base is not NULL, with norm k->residual >
   * k->test.target. *reason: KARST_SOUND when it wants the true residual (it believes to have converged, it restarts,
   * or the iteration limit is reached), else why it cannot go on. */
  karst_status (*cycle)(karst_krylov *k, karst_reason *reason);
};

/* The caller's system, where A is another one: convergence is judged by the caller's residual. */
typedef struct karst_krylov_outer {
  void *user;
  /* Brings the caller's x up to date with the driver's x, and computes the norm of its residual; the rest as in
   * karst_residual_norm. */
  karst_status (*measure)(void *user, const double *x, double target, bool bounded, bool *precise, double *norm,
                          double *error);
  /* The caller's norm of r, a residual of the driver's system. NULL: it is |r|. */
  karst_status (*norm)(void *user, const double *r, double *norm);
  /* As that of an operator, for the caller's system and the x measured last. */
  karst_status (*is_rounding)(void *user, bool *yes);
} karst_krylov_outer;

/* The work space of a driver, in device memory unless it says host. It is made once, at set-up, and is the cycle's
 * while a cycle runs. */
typedef struct karst_krylov_work {
  karst_krylov_workspace need; /* as the method's workspace has returned it */
  double *memory;              /* all of the device memory, one allocation */
  int64_t bytes;               /* held, host and device */
  double **vector;             /* [need.vectors] of n scalars: the method's own; the list is on the host */
  double *scalar;              /* [need.scalars] the method's own */
  double *host;                /* [need.scalars] the mirror on the host, then the method's host scalars */
  double *host_extra;          /* [need.host] where those begin */
  double *r;                   /* [n] the residual at the start of a cycle, which may overwrite it */
  double *norm2;               /* [2] r . r at the start of a cycle, and a place beside it */
  double *one;                 /* 1 */
} karst_krylov_work;

/* What a solve is tested by. The recursive residual of a cycle is compared with goal, and the true residual between
 * cycles with norm and merit. */
typedef struct karst_krylov_test {
  double norm;        /* that the caller's true residual is to reach; by_precond: that of atol alone */
  bool by_precond;    /* the solve is judged by sqrt(r'M^-1 r) too: merit, and the residual of each step */
  double merit;       /* by_precond: the merit to reach */
  double start_merit; /* by_precond: that of the start */
  double target;      /* norm of the driver's true residual to reach, as far as the ratio of both norms tells */
  double goal;        /* norm of the recursive residual at which the cycle ends: target, or less when that was wrong */
  double goal_atol;   /* by_precond: norm of the recursive residual itself at which the cycle ends too */
  double divergent;   /* that above which the solve has diverged; a method whose cycle keeps a better x lowers it */
  double compared_at; /* norm of the recursive residual when it was last compared with the caller's */
} karst_krylov_test;

/* What has been measured of an x between cycles. */
typedef struct karst_krylov_measured {
  double norm;  /* of the caller's true residual */
  double error; /* bound of what rounding has done to it, as from karst_residual_norm */
  double merit; /* the norm that says which x is best: norm, or sqrt(r'M^-1 r) of the true residual */
  bool precise; /* the true residual was computed to twice the working precision */
} karst_krylov_measured;

/* The x with the smallest merit so far, which the caller gets where the last one is worse. */
typedef struct karst_krylov_best {
  double *x; /* [n] device memory, in the work space */
  karst_krylov_measured measured;
  int iteration; /* after how many iterations the driver had it; 0: the start */
  bool outdated; /* k->x is better, and takes its place before the next cycle */
} karst_krylov_best;

/* What the cycles of a solve have claimed and gained. */
typedef struct karst_krylov_claims {
  bool made;      /* the cycle believes to have reached its goal */
  bool diverged;  /* the recursive residual has been above test.divergent */
  bool rounding;  /* by_precond: the true residual is rounding, component by component */
  int wrong;      /* cycles of this solve that believed to have reached their goal and had not */
  int idle;       /* cycles in a row that have gained nothing */
  double lowered; /* the norm that the method lowers, at the start of the cycle: residual unless cycle sets another */
  double lowest;  /* the least of these so far */
} karst_krylov_claims;

/* Why a solve could not go on: what was first seen to be NaN or infinite, such as "the start", or the norm that double
 * precision cannot square. */
typedef struct karst_krylov_fault {
  const char *what;      /* NULL: nothing */
  char text[96];         /* where that text is, if it had to be composed */
  karst_index block_row; /* of the first entry that is not finite, -1 where no single one is known */
  double norm;           /* that cannot be squared */
} karst_krylov_fault;

/* The caller's function that gets the residual norm of each iteration. */
typedef struct karst_krylov_monitor {
  karst_monitor_function function; /* or NULL */
  void *user;
  karst_decision decision; /* what it has returned last; anything but KARST_GO_ON ends the solve */
} karst_krylov_monitor;

struct karst_krylov {
  const struct karst_krylov_ops *ops;
  karst_context *context;
  karst_operator A;
  const karst_precond *M;            /* not owned */
  const karst_krylov_limits *limits; /* not owned; may change between solves */
  const void *settings;              /* what the rows of ops->options were set to; NULL where there are none */
  int64_t n;                         /* scalar unknowns */
  const karst_krylov_outer *outer;   /* or NULL: A is the caller's system */

  const double *b;    /* [n] of the solve under way */
  double *x;          /* [n] */
  const double *base; /* [n] what x is a correction to in this cycle, or NULL: x is all there is */
  bool kept_start;    /* x is the start, though cycles have run */
  bool is_up;         /* x is what outer->measure has been given last, so that the caller's x is up to date */
  int iterations;
  double residual; /* norm of the driver's true residual at the start of the cycle: now.norm, unless outer is set */

  karst_krylov_work work;
  karst_krylov_test test;
  karst_krylov_measured now; /* of x at the start of the cycle */
  karst_krylov_best best;
  karst_krylov_claims claims;
  karst_krylov_fault fault;
  karst_krylov_monitor monitor;
  karst_report report; /* what the method has to say of the last solve; karst_report_put fills it */
};

/* Settings from the options, and work space for systems with A's size; A itself is copied, and may be exchanged between
 * solves for one of its size. limits must outlive the driver. An M that varies under a driver that is not flexible is
 * KARST_ERROR_OPTION. */
karst_status karst_krylov_create(const struct karst_krylov_ops *ops, const karst_options *options,
                                 const karst_krylov_limits *limits, const karst_operator *A, const karst_precond *M,
                                 karst_krylov **krylov);
void karst_krylov_destroy(karst_krylov *krylov);
/* The limits have changed, the other options are those of create. The work space is made anew where it was cut to fewer
 * iterations; where there is no memory for that, the driver is as it was. */
karst_status karst_krylov_limit(karst_krylov **krylov, const karst_options *options);

/* Solves A x = b from x. b, x: n scalars of device memory. rtol_target, atol_target: norms of the true residual that
 * count as converged by rtol (the caller has computed rtol |b|) and by atol; of the caller's where k->outer is set. A
 * solve that is judged by sqrt(r'M^-1 r) has converged at rtol times that of the start instead, or, with an rtol
 * above 0, where each component of r is within the rounding errors of computing it.
 * Fills the result but for relative_residual, which is the caller's; block_row is in A's order. x is finite at return
 * if it was at the start, and the norm of its residual that is judged, computed precisely where an operator can, is
 * never larger than at the start: also where the call fails, with the status of a product, of an apply of M or of the
 * device, or because the monitor's value is no decision, in the middle of a cycle. */
karst_status karst_krylov_solve(karst_krylov *k, const double *b, double *x, double rtol_target, double atol_target,
                                karst_result *result);

/* What follows is for the drivers: y = A x */
static inline karst_status karst_krylov_multiply(const karst_krylov *k, const double *x, double *y)
{
  return k->A.multiply(&k->A, x, y);
}

/* The same, and result[i] = with[i] . y in device memory for i < count, which is 1 or 2; with[i] may be x or y. */
static inline karst_status karst_krylov_multiply_dots(const karst_krylov *k, const double *x, double *y, int count,
                                                      const double *const *with, double *result)
{
  if (k->A.multiply_dots) return k->A.multiply_dots(&k->A, x, y, count, with, result);
  const karst_status status = karst_krylov_multiply(k, x, y);
  if (!status) karst_sums_dots(k->context, k->n, count, with, y, result);
  return status;
}

/* The same, and *dot = x . y in device memory. */
static inline karst_status karst_krylov_multiply_dot(const karst_krylov *k, const double *x, double *y, double *dot)
{
  return k->A.multiply_dot ? k->A.multiply_dot(&k->A, x, y, dot) : karst_krylov_multiply_dots(k, x, y, 1, &x, dot);
}

/* z = M^-1 r */
static inline karst_status karst_krylov_precondition(const karst_krylov *k, const double *r, double *z)
{
  return k->A.precondition ? k->A.precondition(&k->A, r, z, NULL) : karst_precond_run_apply(k->M, r, z);
}

/* The same, and *dot = r . z in device memory. */
static inline karst_status karst_krylov_precondition_dot(const karst_krylov *k, const double *r, double *z, double *dot)
{
  if (k->A.precondition) return k->A.precondition(&k->A, r, z, dot);
  const karst_status status = karst_precond_run_apply(k->M, r, z);
  if (!status) karst_sums_dots(k->context, k->n, 1, &r, z, dot);
  return status;
}

/* host[first ..] = scalar[first ..], count of them: the one wait of an iteration. */
static inline karst_status karst_krylov_download(karst_krylov *k, int64_t first, int64_t count)
{
  return k->context->backend->download(k->context, k->work.host + first, k->work.scalar + first,
                                       (size_t)count * sizeof(double));
}

/* The same in two steps, between which a cycle may queue what it is likely to need next. */
static inline karst_status karst_krylov_download_begin(karst_krylov *k, int64_t first, int64_t count)
{
  const struct karst_backend *backend = k->context->backend;
  if (!backend->download_begin) return karst_krylov_download(k, first, count);
  return backend->download_begin(k->context, k->work.host + first, k->work.scalar + first,
                                 (size_t)count * sizeof(double));
}

static inline karst_status karst_krylov_download_end(karst_krylov *k)
{
  const struct karst_backend *backend = k->context->backend;
  return backend->download_end ? backend->download_end(k->context) : KARST_SUCCESS;
}

/* Counts one iteration, reports the method's own residual norm to the monitor, and returns whether the cycle should
 * end: because that is at most goal (k->test.goal, but for a method that asks more of itself), because it has fallen so
 * far in this cycle that it is no more than rounding, because it has grown out of all bounds, because the iteration
 * limit is reached, or because the monitor wants no more. */
bool karst_krylov_step(karst_krylov *k, double residual, double goal);

/* Whether the goal is to be set anew, with karst_krylov_compare, before a step to this norm of the recursive residual
 * is reported: where there is an outer system with a norm of its own, at each claim and while the norm falls. */
static inline bool karst_krylov_compares(const karst_krylov *k, double residual)
{
  return k->outer && k->outer->norm && !k->test.by_precond &&
         (residual <= k->test.goal || residual <= 0.25 * k->test.compared_at ||
          (residual <= 8 * k->test.goal && residual <= 0.7 * k->test.compared_at));
}

/* k->test.goal anew from the ratio of r's norm to the caller's norm of it. r: the recursive residual. */
karst_status karst_krylov_compare(karst_krylov *k, double residual, const double *r);

/* A vector as a sentence about it names it. */
typedef struct karst_krylov_vector {
  const char *what; /* "the preconditioned vector" */
  const double *values;
} karst_krylov_vector;

/* For a cycle that has found a scalar that is not finite: *reason = KARST_NOT_FINITE, and k->fault names the first of
 * the vectors, which come in the order they were computed, with an entry that is not finite, the number of the
 * iteration under way, and the entry's block row. Not the fast path: looks at the vectors on the host. */
karst_status karst_krylov_find_not_finite(karst_krylov *k, int count, const karst_krylov_vector *vectors,
                                          karst_reason *reason);

#endif
