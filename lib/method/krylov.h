/* krylov.h - the interface of a Krylov driver: one const table per method. solver/methods.c lists the tables.
 *
 * A driver sees an operator, a preconditioner and vectors in device memory, and takes its sums through sums.h. It
 * implements one function, cycle, which improves x from a known residual. krylov/drive.c does the rest for all drivers:
 * the true residual before and after, the tests on it, restarts after a wrong recursive residual.
 *
 * Rules for a cycle. It allocates nothing. It downloads the scalars of an iteration in one piece, once the iteration is
 * queued, and may queue part of the next iteration meanwhile. It changes x only after it has found these scalars
 * finite, so that x is usable whenever it returns. If a product or a preconditioner fails, it returns that status. With
 * an outer system, karst_krylov_compare waits once more in the iterations that compare. */
#ifndef KARST_LIB_METHOD_KRYLOV_H
#define KARST_LIB_METHOD_KRYLOV_H

#include "lib/matrix/operator.h"
#include "lib/method/precond.h"
#include "lib/vector/sums.h"

typedef struct karst_krylov karst_krylov;

/* When a solve ends, for all methods. */
typedef struct karst_krylov_limits {
  double rtol, atol;
  int max_iterations;
} karst_krylov_limits;

extern const karst_option karst_krylov_limits_rows[]; /* one per field, in this order */

/* The memory that a method needs besides x and the residual. */
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
  bool reduces;                       /* accepts the system that a preconditioner's reduction leaves */
  bool applies_twice;                 /* an iteration takes two products and two applications of M */
  bool short_recurrences;             /* never restarts */
  bool symmetric;                     /* A and M must be symmetric and positive definite */
  bool breaks_down;                   /* may break down if M is nearly A^-1, and no other driver then continues */
  const karst_option *const *options; /* lists of rows, NULL after the last; or NULL */
  size_t settings;                    /* bytes that the rows fill */
  /* For a method made of two others, without a cycle of its own: the solver runs the first, and if that fails,
   * continues from its x with the other. Else NULL. */
  const struct karst_krylov_ops *first, *then;
  int then_restart;          /* the option restart of the other method */
  const karst_option *parts; /* the row of options with the number of parts into which the grid of the preconditioner's
                              * matrix is cut; NULL: one part. The solver reads it and makes that matrix, because a
                              * driver sees only A and M */
  karst_krylov_workspace need; /* if workspace is NULL */
  /* The work space with these settings, which it may reduce to what a system of this size can use. */
  karst_krylov_workspace (*workspace)(const karst_krylov *k, void *settings);
  /* Whether a solve is judged by sqrt(r'M^-1 r), for a symmetric positive definite M, and not by |r|; NULL: never. */
  bool (*by_precond)(const karst_krylov *k);
  /* Improves k->x. On entry k->work.r = b - A x, or b - A (base + x) if k->base is not NULL, with norm k->residual >
   * k->test.target. *reason is KARST_SOUND if the cycle needs the true residual (it claims convergence, restarts, or
   * has reached the iteration limit), else the reason why it cannot continue. */
  karst_status (*cycle)(karst_krylov *k, karst_reason *reason);
};

/* The caller's system, if A is another one. The caller's residual decides on convergence. */
typedef struct karst_krylov_outer {
  void *user;
  /* Updates the caller's x from the driver's x and computes the norm of its residual; other arguments as in
   * karst_residual_norm. */
  karst_status (*measure)(void *user, const double *x, double target, bool bounded, bool *precise, double *norm,
                          double *error);
  /* The caller's norm of r, a residual of the driver's system. NULL: |r|. */
  karst_status (*norm)(void *user, const double *r, double *norm);
  /* As in an operator, for the caller's system and the x measured last. */
  karst_status (*is_rounding)(void *user, bool *yes);
} karst_krylov_outer;

/* The work space of a driver, in device memory unless marked host. Set-up makes it once. A running cycle owns it. */
typedef struct karst_krylov_work {
  karst_krylov_workspace need; /* as returned by the method's workspace */
  double *memory;              /* all of the device memory, one allocation */
  int64_t bytes;               /* bytes, host and device */
  double **vector;             /* [need.vectors] the method's own, of n scalars each; the list is on the host */
  double *scalar;              /* [need.scalars] the method's own */
  double *host;                /* [need.scalars] the mirror on the host, followed by the method's host scalars */
  double *host_extra;          /* [need.host] these host scalars */
  double *r;                   /* [n] the residual at the start of a cycle, which may overwrite it */
  double *norm2;               /* [2] r . r at the start of a cycle, and one more place */
  double *one;                 /* 1 */
} karst_krylov_work;

/* The targets of a solve. A cycle compares its recursive residual with goal; between cycles the true residual is
 * compared with norm and merit. */
typedef struct karst_krylov_test {
  double norm;        /* target of the caller's true residual; by_precond: from atol alone */
  bool by_precond;    /* the solve is judged by sqrt(r'M^-1 r) too: merit, and the residual of each step */
  double merit;       /* by_precond: target of the merit */
  double start_merit; /* by_precond: merit of the start */
  double target;      /* target of the driver's true residual, estimated from the ratio of both norms */
  double goal;        /* recursive residual that ends the cycle: target, or less if that was wrong */
  double goal_atol;   /* by_precond: unpreconditioned recursive residual that also ends the cycle */
  double divergent;   /* a larger residual means divergence; a method whose cycle keeps a better x lowers it */
  double compared_at; /* recursive residual at the last comparison with the caller's */
} karst_krylov_test;

/* Measured properties of an x between cycles. */
typedef struct karst_krylov_measured {
  double norm;  /* of the caller's true residual */
  double error; /* bound of its rounding errors, as from karst_residual_norm */
  double merit; /* the norm that ranks each x: norm, or sqrt(r'M^-1 r) of the true residual */
  bool precise; /* the true residual was computed to twice the working precision */
} karst_krylov_measured;

/* The x with the smallest merit so far, which the caller gets if the last one is worse. */
typedef struct karst_krylov_best {
  double *x; /* [n] device memory, in the work space */
  karst_krylov_measured measured;
  int iteration; /* number of iterations before it; 0: the start */
  bool outdated; /* k->x is better, and replaces it before the next cycle */
} karst_krylov_best;

/* The claims and progress of the cycles of a solve. */
typedef struct karst_krylov_claims {
  bool made;      /* the cycle claims to have reached its goal */
  bool diverged;  /* the recursive residual was above test.divergent */
  bool rounding;  /* by_precond: each component of the true residual is within rounding errors */
  int wrong;      /* wrong claims in this solve */
  int idle;       /* cycles in a row without progress */
  double lowered; /* the norm that the method lowers, at the start of the cycle: residual unless cycle sets another */
  double lowest;  /* the smallest of these so far */
} karst_krylov_claims;

/* Why a solve could not continue: the first NaN or infinity, such as in "the start", or the norm whose square is
 * outside double precision. */
typedef struct karst_krylov_fault {
  const char *what;      /* NULL: no fault */
  char text[96];         /* holds what, if the text was composed */
  karst_index block_row; /* of the first entry that is not finite; -1: unknown */
  double norm;           /* the norm that cannot be squared */
} karst_krylov_fault;

/* The caller's function that gets the residual norm of each iteration. */
typedef struct karst_krylov_monitor {
  karst_monitor_function function; /* or NULL */
  void *user;
  karst_decision decision; /* its last return value; any but KARST_GO_ON ends the solve */
  bool of_a_rank;          /* a rank has such a function, and all take its decision */
} karst_krylov_monitor;

struct karst_krylov {
  const struct karst_krylov_ops *ops;
  karst_context *context;
  karst_operator A;
  const karst_precond *M;            /* not owned */
  const karst_krylov_limits *limits; /* not owned; may change between solves */
  const void *settings;              /* values of the rows of ops->options; NULL without rows */
  int64_t n;                         /* scalar unknowns, of this rank */
  int64_t all;                       /* of all ranks */
  const karst_krylov_outer *outer;   /* or NULL: A is the caller's system */

  const double *b;    /* [n] of the current solve */
  double *x;          /* [n] */
  const double *base; /* [n] x is a correction to base in this cycle; NULL: x is the whole solution */
  bool kept_start;    /* x is the start, although cycles have run */
  bool is_up;         /* outer->measure has seen this x last, so the caller's x is up to date */
  int iterations;
  double residual; /* norm of the driver's true residual at the start of the cycle: now.norm, unless outer is set */

  karst_krylov_work work;
  karst_krylov_test test;
  karst_krylov_measured now; /* of x at the start of the cycle */
  karst_krylov_best best;
  karst_krylov_claims claims;
  karst_krylov_fault fault;
  karst_krylov_monitor monitor;
  karst_report report; /* the method's report on the last solve, filled by karst_report_put */
};

/* Makes a driver with settings from the options, and work space for systems of A's size. A is copied, and may be
 * replaced between solves by one of the same size. limits must outlive the driver. KARST_ERROR_OPTION if M varies and
 * the driver is not flexible, or if M is not symmetric and the driver needs that. */
karst_status karst_krylov_create(const struct karst_krylov_ops *ops, const karst_options *options,
                                 const karst_krylov_limits *limits, const karst_operator *A, const karst_precond *M,
                                 karst_krylov **krylov);
void karst_krylov_destroy(karst_krylov *krylov);
/* Takes changed limits; the other options are those of create. If the work space was limited to fewer iterations, the
 * call makes a new one; if there is no memory, the driver is unchanged. */
karst_status karst_krylov_limit(karst_krylov **krylov, const karst_options *options);

/* Solves A x = b from x. b, x: n scalars of device memory. rtol_target, atol_target: norms of the true residual, of the
 * caller's if k->outer is set, that count as converged by rtol (the caller has computed rtol |b|) and by atol. A solve
 * judged by sqrt(r'M^-1 r) has converged instead at rtol times that of the start, or, if rtol > 0, when each component
 * of r is within the rounding errors of computing it.
 * Fills the result except relative_residual, which the caller fills; block_row is in A's order. x is finite on return
 * if it was at the start. The judged norm of its residual, computed precisely if an operator can, is never larger than
 * at the start. This also holds if the call fails in a cycle, with the status of a product, of an apply of M or of the
 * device, or because the monitor returned an invalid value. */
karst_status karst_krylov_solve(karst_krylov *k, const double *b, double *x, double rtol_target, double atol_target,
                                karst_result *result);

/* For the drivers: y = A x */
static inline karst_status karst_krylov_multiply(const karst_krylov *k, const double *x, double *y)
{
  return karst_ranks_postpone(k->context, k->A.multiply(&k->A, x, y), k->n, y);
}

/* The same, and result[i] = with[i] . y in device memory for i < count, which is 1 or 2; with[i] may be x or y. */
static inline karst_status karst_krylov_multiply_dots(const karst_krylov *k, const double *x, double *y, int count,
                                                      const double *const *with, double *result)
{
  if (k->A.multiply_dots && !k->context->ranks) return k->A.multiply_dots(&k->A, x, y, count, with, result);
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
  if (k->A.precondition) return k->A.precondition(&k->A, r, z, NULL);
  return karst_ranks_postpone(k->context, karst_precond_run_apply(k->M, r, z), k->n, z);
}

/* The same, and *dot = r . z in device memory. */
static inline karst_status karst_krylov_precondition_dot(const karst_krylov *k, const double *r, double *z, double *dot)
{
  if (k->A.precondition) return k->A.precondition(&k->A, r, z, dot);
  const karst_status status = karst_krylov_precondition(k, r, z);
  if (!status) karst_sums_dots(k->context, k->n, 1, &r, z, dot);
  return status;
}

/* host[first ..] = scalar[first ..], count of them: the only wait of an iteration. */
static inline karst_status karst_krylov_download(karst_krylov *k, int64_t first, int64_t count)
{
  return karst_ranks_download(k->context, count, k->work.scalar + first, k->work.host + first);
}

/* The same in two steps, between which a cycle may queue work that it will probably need. */
static inline karst_status karst_krylov_download_begin(karst_krylov *k, int64_t first, int64_t count)
{
  const struct karst_backend *backend = k->context->backend;
  if (!backend->download_begin || k->context->ranks) return karst_krylov_download(k, first, count);
  return backend->download_begin(k->context, k->work.host + first, k->work.scalar + first,
                                 (size_t)count * sizeof(double));
}

static inline karst_status karst_krylov_download_end(karst_krylov *k)
{
  const struct karst_backend *backend = k->context->backend;
  return backend->download_end && !k->context->ranks ? backend->download_end(k->context) : KARST_SUCCESS;
}

/* Counts one iteration, reports the method's residual norm to the monitor, and returns whether the cycle should end:
 * the norm is at most goal (k->test.goal, unless a method needs more), or has fallen so far in this cycle that it is
 * only rounding, or has diverged; the iteration limit is reached; or the monitor ends the solve. */
bool karst_krylov_step(karst_krylov *k, double residual, double goal);

/* Whether karst_krylov_compare must set the goal again before a step with this recursive residual is reported: for an
 * outer system with a norm of its own, at each claim and while the norm falls. */
static inline bool karst_krylov_compares(const karst_krylov *k, double residual)
{
  return k->outer && k->outer->norm && !k->test.by_precond &&
         (residual <= k->test.goal || residual <= 0.25 * k->test.compared_at ||
          (residual <= 8 * k->test.goal && residual <= 0.7 * k->test.compared_at));
}

/* Sets k->test.goal again from the ratio of r's norm to the caller's norm of r. r: the recursive residual. */
karst_status karst_krylov_compare(karst_krylov *k, double residual, const double *r);

/* A vector and its name in a sentence. */
typedef struct karst_krylov_vector {
  const char *what; /* "the preconditioned vector" */
  const double *values;
} karst_krylov_vector;

/* For a cycle that has found a scalar that is not finite: sets *reason = KARST_NOT_FINITE, and k->fault to the first
 * vector with an entry that is not finite, the number of the current iteration, and the entry's block row. vectors are
 * in the order of their computation. Slow: it looks at the vectors on the host. */
karst_status karst_krylov_find_not_finite(karst_krylov *k, int count, const karst_krylov_vector *vectors,
                                          karst_reason *reason);

#endif
