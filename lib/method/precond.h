/* precond.h - what a preconditioner is. One const table a method; all tables in solver/methods.c.
 *
 * To add one: write its file with a const table, add the table to solver/methods.c, and the tests tell what is
 * missing. CONTRIBUTING.md goes through it with block Jacobi. */
#ifndef KARST_LIB_METHOD_PRECOND_H
#define KARST_LIB_METHOD_PRECOND_H

#include "lib/matrix/matrix.h"
#include "lib/options/options.h"
#include "lib/options/report.h"

/* What preconditioners of one pattern share, in several threads too: nothing of it changes once it is made. */
typedef struct karst_precond_analysis {
  karst_context *context;
  const struct karst_precond_ops *ops;
  const void *settings; /* what it was made with */
  void *data;           /* the method's own */
  int64_t references;   /* preconditioners and others that hold it; changed atomically */
} karst_precond_analysis;

/* The system of the unknowns that are left where a preconditioner has eliminated the others exactly: of a vector r
 * of it the caller's residual has the norm |r|, for that of the eliminated unknowns is zero once leave has computed
 * them. Its vectors have elements of their own order, some of which may stand for no unknown and are zero. All of
 * device memory, and all queued. */
struct karst_reduction {
  int64_t (*size)(const struct karst_precond *p); /* elements; 0: nothing was eliminated exactly */
  /* The reduced right-hand side and start. b, x: of the matrix that p was made from. */
  void (*enter)(const struct karst_precond *p, const double *b, const double *x, double *reduced_b, double *reduced_x);
  /* All of x, from a solution of the reduced system. */
  void (*leave)(const struct karst_precond *p, const double *b, const double *reduced_x, double *x);
  /* y = S x; *dot = x . y, unless dot is NULL. */
  void (*multiply)(const struct karst_precond *p, const double *x, double *y, double *dot);
  /* z = M^-1 r; *dot = r . z, unless dot is NULL. */
  void (*apply)(const struct karst_precond *p, const double *r, double *z, double *dot);
  /* The block row of an element, or -1. */
  karst_index (*block_row)(const struct karst_precond *p, int64_t element);
};

/* What the order of the block rows is to a preconditioner, for whoever may choose one. */
typedef enum karst_order_use {
  KARST_ORDER_OWN,   /* it may be made for that of the matrix, such as that of a grid */
  KARST_ORDER_ANY,   /* nothing */
  KARST_ORDER_SWEEPS /* it solves triangles, whose rows wait less for each other in some orders */
} karst_order_use;

/* Where the preconditioner auto has a method on its ladder (solver/auto/auto.h). */
typedef enum karst_auto_place {
  KARST_AUTO_NEVER,
  KARST_AUTO_ALONE,   /* on one of its own, for symmetric diffusion on a grid of two dimensions */
  KARST_AUTO_BELOW,   /* below ILU(0) */
  KARST_AUTO_LEVEL_0, /* in place of ILU(0) */
  KARST_AUTO_LEVELS   /* at each level of its option level */
} karst_auto_place;

struct karst_precond_ops {
  const char *name;
  const char *help;    /* one line */
  const char *details; /* as in karst_option, like help */
  bool needs_diagonal; /* every block row must have its diagonal block */
  bool needs_grid;     /* every block must join cells with a common face, of the matrix's grid or one that is found */
  bool for_symmetric;  /* values that are not symmetric are warned of; the pattern is the method's own business */
  const karst_option *const *options; /* lists of rows, NULL behind the last; or NULL */
  size_t settings;                    /* bytes that the rows fill */
  karst_order_use order;
  karst_auto_place automatic;
  int by_tiles;       /* without an option trisolve: the largest block size for which, on a GPU, its sweeps go by tiles
                       * where an ordering makes some; 0: none */
  bool fetches;       /* it calls karst_matrix_fetch_pattern if and where it looks at the pattern; else set-up has */
  bool shares_matrix; /* the preconditioners of the rows of kind KARST_OPTION_PRECOND are for the same matrix */
  const karst_precond_method *outside; /* the caller's method behind it, or NULL */

  /* Makes that of the pattern half which follows from the pattern of p's matrix and the settings alone, into
   * p->analysis->data. It runs before setup, unless p is given the analysis of another preconditioner of that pattern.
   * What it has allocated when it fails, forget gives back, which gets p->analysis->data, NULL where it was not set.
   * All three are NULL for a method that has nothing to share. */
  karst_status (*analyse)(karst_precond *p);
  void (*forget)(karst_context *context, void *analysis);
  /* Returns the option in which an analysis depends on the settings and these two differ; NULL: none. */
  const char *(*differ)(const void *settings, const void *others);
  /* The pattern half: structure, schedules, memory. Looks at no value. Sets data and the info of p, and puts named
   * values. What it has allocated when it fails, destroy gives back. */
  karst_status (*setup)(karst_precond *p);
  /* The numeric half, for the first and for new values; allocates nothing. A singular block or a NaN is no error: it
   * is left in p->reason and p->block_row. Named values of the last update are forgotten before this one. */
  karst_status (*update)(karst_precond *p);
  /* z = M^-1 r on device memory; r and z do not overlap. Karst's own methods allocate nothing, wait for nothing and
   * succeed. One from outside may wait or fail: it has then given karst_fail a sentence, z is worth nothing, and the
   * solve under way ends with its status. */
  karst_status (*apply)(const karst_precond *p, const double *r, double *z);
  /* Accepts what a failed setup left behind. */
  void (*destroy)(karst_precond *p);
  const struct karst_reduction *reduction; /* NULL: eliminates nothing exactly */
};

/* Bytes that the operations of a preconditioner move at least, each value read or written once and without what they
 * leave to operations of the backend; 0: not known. For a profile. */
typedef struct karst_traffic {
  double update, apply;
  double apply_reduced, multiply_reduced; /* of its reduction */
} karst_traffic;

/* Level sets that the triangular solves of an application wait for one after the other, and whether these are steps
 * inside tiles; none for what solves no triangles, or by sweeps that wait for nothing. For predictions. */
typedef struct karst_waits {
  int64_t levels;
  bool by_tiles;
} karst_waits;

/* The bytes of so many scalars and indices. */
static inline double karst_traffic_of(int64_t scalars, int64_t indices)
{
  return (double)scalars * sizeof(double) + (double)indices * sizeof(karst_index);
}

struct karst_precond {
  const struct karst_precond_ops *ops;
  karst_context *context;
  const karst_matrix *A; /* not owned */
  const void *settings;  /* what the rows of ops->options were set to; NULL where there are none */
  int64_t generation;    /* of A's values at the last update, -1 where it failed */
  bool begun;            /* setup was called, so that destroy is */
  void *data;            /* the method's own */
  bool varies;           /* set by setup: M^-1 is not the same linear operator in each apply */
  bool calls_outside;    /* set by setup: an apply calls a function of the program's, which may wait or fail */
  karst_reason reason;   /* after update KARST_SOUND, _SINGULAR_BLOCK, _NOT_FINITE or _INDEFINITE_PRECOND */
  karst_index block_row;
  char explanation[160]; /* what update has to add about its reason, such as a node of the grid; "": nothing */
  karst_precond_analysis *analysis; /* that of ops->analyse, or one that was given; NULL: none; held */
  int64_t factor_entries;
  int64_t memory;        /* bytes held */
  karst_traffic traffic; /* these two are set by setup */
  karst_waits waits;
  double time_symbolic, time_factor; /* seconds of the last setup and update */
  karst_report report;               /* what the method has to say besides; karst_precond_put fills it */
};

/* A method that a caller has registered: what the library sees of it, and what he gave. */
struct karst_registered {
  struct karst_precond_ops ops;
  karst_precond_method method;
  const karst_option *list[2]; /* ops.options */
  struct karst_registered *next;
};

/* The library's own methods, which solver/methods.c lists; ends with NULL. Here and not there, for preconditioners have
 * others inside. */
extern const struct karst_precond_ops *const karst_precond_table[];

/* Method number i of a context: the library's own, then those registered, in that order. A number stays that method's.
 * NULL past the last; context NULL: the library's own. */
const struct karst_precond_ops *karst_precond_at(const karst_context *context, size_t i);
const char *karst_precond_name(const karst_context *context, size_t i);
/* The method of that name, or NULL. */
const struct karst_precond_ops *karst_precond_find(const karst_context *context, const char *name);
/* The choice of rows of kind KARST_OPTION_NAME that take a preconditioner's name: karst_option_choice adds the names of
 * the context's methods to those of the library's own. */
const char *karst_precond_choice(size_t i);

/* The functions of a registered method, as those of the library's. */
struct karst_precond_ops karst_precond_outside(const karst_precond_method *method);
/* Gives back the list of registered methods. */
void karst_precond_forget(karst_context *context);

/* The method that a set of options for a preconditioner inside another one names. */
karst_status karst_precond_chosen(karst_context *context, const karst_options *inner,
                                  const struct karst_precond_ops **ops);

/* KARST_ERROR_OPTION where a value is none of those that the method allows, or one inside it. */
karst_status karst_precond_check_options(karst_context *context, const struct karst_precond_ops *ops,
                                         const karst_options *options);
/* Whether A, the caller's matrix, has the diagonal blocks that the method needs, and those inside it that are for the
 * same matrix; warns of values that are not symmetric where it is for symmetric ones. */
karst_status karst_precond_check(const struct karst_precond_ops *ops, const karst_options *options,
                                 const karst_matrix *A);

/* Whether the method, and those inside it that are for the same matrix, serve A with its block rows in another order:
 * one that needs a grid does not find it then. */
karst_status karst_precond_check_order(const struct karst_precond_ops *ops, const karst_options *options,
                                       const karst_matrix *A);

/* Allocates a preconditioner, reads its settings from the options, and runs ops->analyse and ops->setup, without
 * factoring. */
karst_status karst_precond_prepare(const struct karst_precond_ops *ops, const karst_options *options,
                                   const karst_matrix *A, karst_precond **precond);
/* Does the same with an analysis that karst_precond_check_analysis accepts, of a matrix of the same pattern; NULL:
 * none. */
karst_status karst_precond_prepare_with(const struct karst_precond_ops *ops, const karst_options *options,
                                        const karst_matrix *A, karst_precond_analysis *analysis,
                                        karst_precond **precond);

/* Fails with KARST_ERROR_ARGUMENT where the options are others than those that the analysis depends on. */
karst_status karst_precond_check_analysis(const karst_precond_analysis *analysis, const karst_options *options);
/* Counts one more that holds the analysis, or one less, and the last destroys it; NULL is accepted. hold returns it. */
karst_precond_analysis *karst_precond_analysis_hold(karst_precond_analysis *analysis);
void karst_precond_analysis_release(karst_precond_analysis *analysis);

/* The functions of ops, each timed while the context is profiled. */
karst_status karst_precond_run_setup(karst_precond *p);
karst_status karst_precond_run_update(karst_precond *p);
karst_status karst_precond_run_apply(const karst_precond *p, const double *r, double *z);

/* The first block row of the matrix that was factored with a value that is not finite, or -1. */
karst_status karst_precond_find_not_finite(const karst_precond *precond, karst_index *block_row);

#endif
