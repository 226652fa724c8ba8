/* bench_kernels.h - what bench does without --grids, --correction and --solves: the times of set-up, update, an
 * iteration and its kernels, for Karst on each number of threads and on a GPU, and for peers, in turn. */
#ifndef KARST_TOOLS_SRC_BENCH_KERNELS_BENCH_KERNELS_H
#define KARST_TOOLS_SRC_BENCH_KERNELS_BENCH_KERNELS_H

#include "tools/src/bench/bench_place.h"
#include "tools/src/bench/bench_settings.h"

enum {
  BENCH_PLACES = 2,                   /* devices */
  BENCH_VARIANTS = 2 * BENCH_LIST + 4 /* Karst on each number of threads and on a GPU, in natural and in another
                                       * order, cuSPARSE on a GPU, and a peer */
};

/* The bytes that must move between memory and processor; see traffic.c. */
typedef struct bench_traffic {
  double matrix, factors, vector;                   /* sizes: A, the factors, one vector */
  double multiply, apply, orthogonalise, iteration; /* bytes moved by each of these */
} bench_traffic;

/* The system of a place in another order of its rows. */
typedef struct bench_ordered {
  karst_solver *solver;  /* which has made the rest, and owns it; NULL: closed */
  const karst_matrix *A; /* in the order */
  karst_precond *M;      /* of A */
  karst_order_cost cost;
  char trisolve[32]; /* how its triangles are solved, as it reports it, or "" */
} bench_ordered;

/* Adds to a context, once, what bench_ordered_open needs. */
karst_status bench_order_register(karst_context *context);
/* Sets the order of a case, which has one. */
karst_status bench_order_set(const bench_case *what, karst_options *options);
/* Orders the system of a place and makes the preconditioner of the options on it. It must be closed after a failure
 * too. */
karst_status bench_ordered_open(const bench_case *what, const karst_options *options, const bench_place *place,
                                bench_ordered *ordered);
void bench_ordered_close(bench_ordered *ordered);

/* What a preconditioner by sweeps reports of the last set-up. */
struct bench_sweeps {
  bool any;             /* false: it has none */
  double before, after; /* the nonlinear residual norms */
  int64_t fallbacks;    /* exact factorizations instead */
};

/* A peer, or Karst on a number of threads or on a GPU, and its figures for a case. */
typedef struct bench_variant {
  char name[64];
  bench_place *place;    /* NULL: another process */
  const char *precond;   /* name in Karst; with cusparse, A x is cuSPARSE's too */
  bool is_peer;          /* the variant times another library */
  karst_precond *M;      /* for timing M^-1 r; NULL without a place; with another order that of ordered */
  bool reordered;        /* the case's order, not the natural one */
  bench_ordered ordered; /* closed unless reordered */
  bench_traffic traffic; /* as the factors of this order have it */
  int threads;
  double copy, triad;     /* measured bandwidths, bytes per second; 0: not measured */
  bench_sample median;    /* median of the repetitions, for each quantity */
  karst_solver_info info; /* of the last set-up; zero for another process */
  struct bench_sweeps sweeps;
} bench_variant;

typedef struct bench_result {
  bench_case what;
  int repeat;
  int block_size;
  int64_t rows;
  int64_t blocks;
  int64_t factor_entries;
  bench_traffic traffic;
  double peak_memory; /* bytes of a process that loads the system and solves it on the CPU; 0: not measured */
  double cache;       /* bytes of the GPU's second-level cache; 0: none */
  int variants;
  bench_variant variant[BENCH_VARIANTS];
} bench_result;

/* Makes and factors the preconditioner of a variant. */
karst_status bench_karst_precond(const bench_case *what, bench_variant *variant);
/* Gives it back, if there is one. */
void bench_karst_precond_close(bench_variant *variant);
/* Runs one repetition: set-up, update, iterations, kernels, whole solves. On failure the context has the error's
 * sentence. */
karst_status bench_karst(const bench_case *what, bench_variant *variant, bench_sample *sample);
/* Measures the peak memory of a child process that loads the system and runs one cycle of GMRES. It must be called
 * while this process is small, because a child begins with its parent's pages. Returns TOOL_GO_ON, or the exit status
 * of an error that has been reported. */
int bench_karst_peak_memory(const bench_case *what, double *bytes);

bench_traffic bench_traffic_of(const karst_matrix *A, int64_t factor_entries, const bench_case *what);
/* Returns the seconds of an iteration outside A x and M^-1 r, from times taken separately. The result is not a number
 * if a time is missing, or if the times are too short and uneven to leave a difference. */
double bench_orthogonalise_seconds(const bench_sample *sample, int restart);

/* The columns of a report: set-up, symbolic, factor, update, iteration, A x, M^-1 r, vectors. The seconds of a column,
 * and why a variant has none there, or NULL. */
enum { BENCH_COLUMNS = 8 };
double bench_column_seconds(const bench_result *result, const bench_sample *sample, int column);
const char *bench_column_missing(const bench_result *result, const bench_variant *variant, int column);
void bench_report_table(const bench_result *result);
/* Prints one JSON object a variant, each on a line. Returns false in a build without jansson. */
bool bench_report_json(const bench_result *result);

/* What bench does without --grids, --correction and --solves. */
extern const struct bench_mode bench_kernels_mode;

#endif
