/* precond.h - the interface of a preconditioner: one const table per method. solver/methods.c lists the tables.
 *
 * To add one, write its file with a const table and add the table to solver/methods.c. The tests show what is missing.
 * CONTRIBUTING.md explains the steps with block Jacobi. */
#ifndef KARST_LIB_METHOD_PRECOND_H
#define KARST_LIB_METHOD_PRECOND_H

#include "lib/matrix/matrix.h"
#include "lib/options/options.h"
#include "lib/options/report.h"
#include "lib/wells/wells.h"

/* Data shared by preconditioners of one pattern, also in several threads: it never changes after it is made. */
typedef struct karst_precond_analysis {
  karst_context *context;
  const struct karst_precond_ops *ops;
  const void *settings; /* with which it was made */
  void *data;           /* the method's own */
  int64_t references;   /* number of holders, such as preconditioners; changed atomically */
} karst_precond_analysis;

/* The reduced system after a preconditioner has eliminated some unknowns exactly. For a vector r of it the caller's
 * residual has the norm |r|, because the residual of the eliminated unknowns is zero once leave has computed them. Its
 * vectors have an order of their own; elements that stand for no unknown are zero. All arrays are in device memory, and
 * all work is queued. */
struct karst_reduction {
  int64_t (*size)(const struct karst_precond *p); /* elements; 0: no exact elimination */
  /* Makes the reduced right-hand side and start. b, x: of the matrix that p was made from. */
  void (*enter)(const struct karst_precond *p, const double *b, const double *x, double *reduced_b, double *reduced_x);
  /* Makes all of x from a solution of the reduced system. */
  void (*leave)(const struct karst_precond *p, const double *b, const double *reduced_x, double *x);
  /* y = S x; *dot = x . y, unless dot is NULL. */
  void (*multiply)(const struct karst_precond *p, const double *x, double *y, double *dot);
  /* z = M^-1 r; *dot = r . z, unless dot is NULL. */
  void (*apply)(const struct karst_precond *p, const double *r, double *z, double *dot);
  /* The block row of an element, or -1. */
  karst_index (*block_row)(const struct karst_precond *p, int64_t element);
};

/* How the order of the block rows matters to a preconditioner, for code that chooses an order. */
typedef enum karst_order_use {
  KARST_ORDER_OWN,   /* the method may need the matrix's own order, such as that of a grid */
  KARST_ORDER_ANY,   /* any order serves equally */
  KARST_ORDER_SWEEPS /* it solves triangles, whose rows wait less for each other in some orders */
} karst_order_use;

/* The place of a method on the ladder of the preconditioner auto (solver/auto/auto.h). */
typedef enum karst_auto_place {
  KARST_AUTO_NEVER,
  KARST_AUTO_ALONE,   /* on a ladder of its own, for symmetric diffusion on a two-dimensional grid */
  KARST_AUTO_BELOW,   /* below ILU(0) */
  KARST_AUTO_LEVEL_0, /* in place of ILU(0) */
  KARST_AUTO_LEVELS,  /* at each level of its option level */
  KARST_AUTO_ABOVE    /* above the levels, for an elliptic equation, alone or among others */
} karst_auto_place;

struct karst_precond_ops {
  const char *name;
  const char *help;    /* one line */
  const char *details; /* as in karst_option, like help */
  bool needs_diagonal; /* every block row must have its diagonal block */
  bool needs_grid;     /* it works on the matrix's grid, or on one that is found */
  bool needs_faces;    /* most couplings of that grid must join cells with a common face; see karst_grid_check_faces */
  bool sums_equations; /* it combines the caller's equations, so scaled ones are refused */
  bool for_symmetric;  /* warns of values that are not symmetric; the method itself checks the pattern */
  bool unsymmetric;    /* M^-1 is not symmetric even if A is, with any options: drivers that need that refuse it */
  const karst_option *const *options; /* lists of rows, NULL after the last; or NULL */
  size_t settings;                    /* bytes that the rows fill */
  karst_order_use order;
  karst_auto_place automatic;
  int by_tiles;       /* for a method without an option trisolve: the largest block size for which its sweeps on a GPU
                       * use the tiles of an ordering; 0: never */
  bool fetches;       /* the method calls karst_matrix_fetch_pattern when it needs the pattern; else set-up does */
  bool shares_matrix; /* the preconditioners of the rows of kind KARST_OPTION_PRECOND are for the same matrix, or for
                       * one with the same pattern and grid */
  const karst_precond_method *registered; /* the caller's method behind it, or NULL */

  /* Makes the shareable half of set-up, which depends only on the pattern of p's matrix and the settings, into
   * p->analysis->data. It runs before setup, unless p receives the analysis of another preconditioner of that pattern.
   * If it fails, forget releases what it allocated; forget gets p->analysis->data, NULL if it was not set. All three
   * are NULL for a method that shares nothing. */
  karst_status (*analyse)(karst_precond *p);
  void (*forget)(karst_context *context, void *analysis);
  /* Returns an option that the analysis depends on and that differs between the two settings; NULL if none does. */
  const char *(*differ)(const void *settings, const void *others);
  /* The pattern half: structure, schedules, memory, without looking at values. Sets data and the info of p, and puts
   * named values. If it fails, destroy releases what it allocated. */
  karst_status (*setup)(karst_precond *p);
  /* Structure that depends on values, such as the levels of multigrid; NULL: none does. It runs before the first update,
   * and before a later one if due is set by then. It may allocate, and reports an outcome as update does, which does
   * not run then. */
  karst_status (*choose)(karst_precond *p);
  /* The numeric half, for the first and for new values; allocates nothing. A singular block or a NaN is not an error:
   * p->reason and p->block_row report it. Named values of the last update are removed before. */
  karst_status (*update)(karst_precond *p);
  /* z = M^-1 r on device memory; r and z do not overlap. Karst's own methods allocate nothing, wait for nothing and
   * succeed. A registered method may wait or fail. If it fails, it has given karst_fail a sentence, z is invalid, and
   * the current solve ends with its status. */
  karst_status (*apply)(const karst_precond *p, const double *r, double *z);
  /* Takes note of the iterations of a solve with the last update, -1 if it failed, and may set due; NULL: they do not
   * matter. */
  void (*solved)(karst_precond *p, int iterations);
  /* Accepts what a failed setup left. */
  void (*destroy)(karst_precond *p);
  const struct karst_reduction *reduction; /* NULL: no exact elimination */
};

/* Bytes that the operations of a preconditioner move at least, for profiles and predictions: each value read or written
 * counts once, without the operations of the backend and of the stages that they call; 0: unknown. */
typedef struct karst_traffic {
  double update, apply;
  double apply_reduced, multiply_reduced; /* of its reduction */
} karst_traffic;

/* The bytes of the given numbers of scalars and indices. */
static inline double karst_traffic_of(int64_t scalars, int64_t indices)
{
  return (double)scalars * sizeof(double) + (double)indices * sizeof(karst_index);
}

struct karst_precond {
  const struct karst_precond_ops *ops;
  karst_context *context;
  const karst_matrix *A;         /* not owned */
  const karst_wells_view *wells; /* beside A, in its order; not owned; NULL: there are none */
  const void *settings;          /* values of the rows of ops->options; NULL without rows */
  int64_t generation;            /* of A's values at the last update, -1 if it failed */
  bool alone;                    /* it works without the halo of A, if there is one */
  bool begun;                    /* setup was called, so destroy must be called */
  bool due;                      /* the next update runs choose first */
  void *data;                    /* the method's own */
  bool varies;                   /* set by setup: M^-1 is not the same linear operator in each apply */
  const char *unsymmetric; /* NULL: M^-1 is symmetric if A is. Else the option that is the cause, which setup sets,
                            * or "" if ops->unsymmetric is set */
  const char *instead;     /* the option that makes it symmetric, which setup sets with unsymmetric; or NULL */
  bool calls_registered;   /* set by setup: an apply calls a registered method, which may wait or fail */
  karst_reason reason;     /* after update KARST_SOUND, _SINGULAR_BLOCK, _NOT_FINITE, _INDEFINITE_PRECOND, or
                                  * _OUT_OF_RANGE: float cannot hold the factors of block_row */
  karst_index block_row;   /* of a distributed matrix, after the ranks have agreed: among those of all */
  bool agreed;             /* the ranks have agreed on a reason that is not KARST_SOUND */
  char explanation[160];   /* what update adds about its reason, such as a node of the grid; "" if nothing */
  karst_precond_analysis *analysis;   /* from ops->analyse, or given; NULL: no analysis; counted as a holder */
  struct karst_precond *const *stage; /* [stages] those inside it, which destroy releases */
  int stages;
  int64_t factor_entries;
  int64_t memory;                                 /* bytes held */
  karst_traffic traffic;                          /* setup sets these two */
  double time_symbolic, time_choose, time_factor; /* seconds of the last setup, choose and update */
  karst_report report;                            /* further values of the method, filled by karst_precond_put */
};

/* The halo of the matrix that p shares with other ranks; NULL: there is none, or p works alone. */
static inline karst_halo *karst_precond_halo(const karst_precond *p) { return p->alone ? NULL : p->A->halo; }

/* A registered method: the library's view of it, and the caller's struct. */
struct karst_registered {
  struct karst_precond_ops ops;
  karst_precond_method method;
  const karst_option *list[2]; /* ops.options */
  struct karst_registered *next;
};

/* The library's own methods, in the order of solver/methods.c; ends with NULL. It is declared here because
 * preconditioners contain others. */
extern const struct karst_precond_ops *const karst_precond_table[];

/* Method number i of a context: the library's own, then the registered ones, in that order. A method keeps its number.
 * NULL past the last; context NULL: only the library's own. */
const struct karst_precond_ops *karst_precond_at(const karst_context *context, size_t i);
const char *karst_precond_name(const karst_context *context, size_t i);
/* The method of that name, or NULL. */
const struct karst_precond_ops *karst_precond_find(const karst_context *context, const char *name);
/* The choices of a row of kind KARST_OPTION_NAME that takes a preconditioner's name: the library's own methods.
 * lib/options/options.c adds those registered in the context. */
const char *karst_precond_choice(size_t i);

/* Wraps the functions of a registered method as the library's own. */
struct karst_precond_ops karst_precond_registered(const karst_precond_method *method);
/* Releases the list of registered methods. */
void karst_precond_forget(karst_context *context);

/* Finds the method named by the set of options of a preconditioner inside another one. */
karst_status karst_precond_chosen(karst_context *context, const karst_options *inner,
                                  const struct karst_precond_ops **ops);

/* KARST_ERROR_OPTION if the method, or one inside it, does not allow one of the values. */
karst_status karst_precond_check_options(karst_context *context, const struct karst_precond_ops *ops,
                                         const karst_options *options);
/* Checks that A, the caller's matrix, has the diagonal blocks that the method, and those inside it for the same matrix,
 * need. Warns if the method is for symmetric values and A's are not. */
karst_status karst_precond_check(const struct karst_precond_ops *ops, const karst_options *options,
                                 const karst_matrix *A);

/* Checks that the method, and those inside it for the same matrix, can work on A with its block rows in another order:
 * a method that needs a grid would not find it. */
karst_status karst_precond_check_order(const struct karst_precond_ops *ops, const karst_options *options,
                                       const karst_matrix *A);

/* Allocates a preconditioner, reads its settings, and runs ops->analyse and ops->setup, without factoring. */
karst_status karst_precond_prepare(const struct karst_precond_ops *ops, const karst_options *options,
                                   const karst_matrix *A, karst_precond **precond);
/* The same for A with wells beside it, and with an analysis that karst_precond_check_analysis accepts, of the same
 * pattern. Each may be NULL for none. alone: with the rank's own matrix, without couplings with other ranks. */
karst_status karst_precond_prepare_with(const struct karst_precond_ops *ops, const karst_options *options,
                                        const karst_matrix *A, const karst_wells_view *wells,
                                        karst_precond_analysis *analysis, bool alone, karst_precond **precond);

/* KARST_ERROR_ARGUMENT if the options differ from those that the analysis depends on. */
karst_status karst_precond_check_analysis(const karst_precond_analysis *analysis, const karst_options *options);
/* Adds or removes a holder; the last release destroys the analysis. NULL is accepted. hold returns the analysis. */
karst_precond_analysis *karst_precond_analysis_hold(karst_precond_analysis *analysis);
void karst_precond_analysis_release(karst_precond_analysis *analysis);

/* Run the functions of ops, each timed while the context is profiled. */
karst_status karst_precond_run_setup(karst_precond *p);
karst_status karst_precond_run_choose(karst_precond *p);
karst_status karst_precond_run_update(karst_precond *p);
karst_status karst_precond_run_apply(const karst_precond *p, const double *r, double *z);

/* Runs ops->choose if it is due; karst_precond_update does too. A preconditioner with stages calls it for them. */
karst_status karst_precond_choose(karst_precond *p);
/* Gives the preconditioner of a distributed matrix the outcome of the first rank whose part is not sound, on all. An
 * outcome that the ranks have agreed on is kept at once, like a failure in karst_ranks_agree: a preconditioner inside may
 * be the place where a rank agrees whose own part is not sound before it. Collective. */
karst_status karst_precond_agree(karst_precond *p, karst_status status);
/* Reports the iterations of a solve. */
void karst_precond_solved(karst_precond *p, int iterations);

/* Finds the first block row of the factored matrix with a value that is not finite, or -1. */
karst_status karst_precond_find_not_finite(const karst_precond *precond, karst_index *block_row);

#endif
