/* bench.h - what the parts of bench share: the case to time, the quantities measured, and the protocol of a peer.
 *
 * A peer is a program that times another library on the same case. It is started as
 *     PEER MATRIX BLOCK LEVEL RESTART ITERATIONS
 * and prints one line with its name and version when the matrix is ready. Then it answers each line on its standard
 * input with one line: the first BENCH_PEER_QUANTITIES of one repetition, in the order of enum bench_quantity, with
 * "nan" for a quantity that it does not have. So the two programs run in turn, A B A B, each in its own address
 * space. For whole solves (--solves) two arguments follow, RTOL and STYLE, and the answer is the first
 * BENCH_PEER_SOLVE_QUANTITIES of enum bench_solve_quantity. */
#ifndef KARST_TOOLS_SRC_BENCH_BENCH_H
#define KARST_TOOLS_SRC_BENCH_BENCH_H

#include "tools/src/bench/bench_cuda.h"
#include "tools/src/bench/bench_settings.h"
#include "tools/src/common/common.h"

/* A kernel (A x, M^-1 r) is applied this many times for one time. */
#define BENCH_KERNEL_REPEATS 8

typedef struct bench_case {
  const char *matrix;           /* a gallery problem NAME:SIZES, or a file */
  int block;                    /* requested block size; 0: the matrix's own */
  int level;                    /* k of ILU(k) */
  int restart;                  /* m of GMRES(m) */
  int iterations;               /* number of iterations that are timed */
  double rtol;                  /* relative tolerance of whole solves; 0: none are timed */
  const char *way;              /* the preconditioner as the user names it, such as "fgbilu:tiles" */
  const karst_options *options; /* of Karst, for what the fields above do not set */
  bool negate;                  /* whether the matrix is multiplied by -1 */
  const char *ordering;         /* Karst is timed in this order of the rows too; NULL: in natural order alone */
  int tile_size;                /* of that order; 0: its own choice, or it has none */
} bench_case;

/* The solvers that whole solves are timed with. */
enum { BENCH_SOLVERS = 2 };
extern const char *const bench_solver[BENCH_SOLVERS];

/* The quantities are seconds, except the two residuals and the number of iterations. */
enum bench_quantity {
  BENCH_SETUP,          /* from a matrix to a solver that can iterate */
  BENCH_SYMBOLIC,       /* part of BENCH_SETUP: the pattern of the factors */
  BENCH_FACTOR,         /* part of BENCH_SETUP: the values of the factors */
  BENCH_UPDATE,         /* from new values in the same pattern to a solver that can iterate */
  BENCH_ITERATION,      /* one iteration of GMRES(m), with its share of the restarts */
  BENCH_MULTIPLY,       /* y = A x */
  BENCH_APPLY,          /* z = M^-1 r */
  BENCH_FIRST_RESIDUAL, /* residual norm at the first timed iteration */
  BENCH_LAST_RESIDUAL,  /* residual norm at the last timed iteration */
  BENCH_PEER_QUANTITIES,
  /* For each solver, its whole solve; these are not numbers if it does not converge. */
  BENCH_WHOLE_SETUP = BENCH_PEER_QUANTITIES,
  BENCH_WHOLE_SOLVE = BENCH_WHOLE_SETUP + BENCH_SOLVERS,
  BENCH_WHOLE_ITERATIONS = BENCH_WHOLE_SOLVE + BENCH_SOLVERS,
  BENCH_QUANTITIES = BENCH_WHOLE_ITERATIONS + BENCH_SOLVERS
};

/* What --solves measures: seconds, but for the iterations and the residual. */
enum bench_solve_quantity {
  BENCH_SOLVE_SETUP,      /* from a matrix to a solver that can iterate */
  BENCH_SOLVE_UPDATE,     /* from new values in the same pattern to a solver that can iterate */
  BENCH_SOLVE_SOLVE,      /* the first solve after that */
  BENCH_SOLVE_ITERATIONS, /* of that solve */
  BENCH_SOLVE_RESIDUAL,   /* |b - A x| / |b|, computed from x */
  BENCH_PEER_SOLVE_QUANTITIES,
  BENCH_SOLVE_AGAIN = BENCH_PEER_SOLVE_QUANTITIES, /* the same solve once more */
  BENCH_SOLVE_UPLOAD,                              /* b from the host to the GPU */
  BENCH_SOLVE_DOWNLOAD,                            /* x from the GPU to the host */
  BENCH_SOLVE_ORDER, /* the parts of BENCH_SOLVE_SETUP: order, pattern of the factors, their values */
  BENCH_SOLVE_SYMBOLIC,
  BENCH_SOLVE_FACTOR,
  BENCH_SOLVE_QUANTITIES
};

typedef struct bench_sample {
  double value[BENCH_QUANTITIES];
} bench_sample;

/* Times the iterations between two calls of a Krylov monitor. The first timed iteration follows iteration m + 1, when
 * every basis vector has been written once, so that no page is touched for the first time. Both calls are inside a
 * cycle, so that the same restarts are timed whether a library reports before or after it restarts. */
typedef struct bench_stopwatch {
  int first, last; /* iterations at which the monitor starts and stops it */
  double start, seconds;
  double first_residual, last_residual;
  bool stopped;
} bench_stopwatch;

static inline bench_stopwatch bench_stopwatch_new(const bench_case *what)
{
  return (bench_stopwatch){.first = what->restart + 1, .last = what->restart + 1 + what->iterations};
}

static inline void bench_stopwatch_step(bench_stopwatch *watch, int iteration, double residual)
{
  if (iteration == watch->first) {
    watch->first_residual = residual;
    watch->start = tool_clock();
  } else if (iteration == watch->last) {
    watch->seconds = tool_clock() - watch->start;
    watch->last_residual = residual;
    watch->stopped = true;
  }
}

/* Loads the matrix, and its right-hand side if it has one of the right length, else a vector of ones. Returns
 * TOOL_GO_ON, or the exit status of an error that has been reported. */
int bench_system_load(karst_context *context, const bench_case *what, karst_matrix **A, karst_vector **rhs);
/* Makes this process keep the memory that it frees. */
void bench_keep_memory(void);

/* ---- the parts of bench itself ---- */

enum {
  BENCH_PLACES = 2,                   /* devices */
  BENCH_VARIANTS = 2 * BENCH_LIST + 4 /* Karst on each number of threads and on a GPU, in natural and in another
                                       * order, cuSPARSE on a GPU, and a peer */
};

/* A device with the system in its memory. */
typedef struct bench_place {
  karst_context *context;
  karst_matrix *A;
  karst_vector *b, *x;
  bench_gpu *gpu;         /* NULL on the CPU */
  bench_product *product; /* NULL on the CPU, and if cuSPARSE is not available */
} bench_place;

/* Loads the system onto the device of the context, which is a GPU or not. On failure the place is left to be closed. */
int bench_place_open(karst_context *context, const bench_case *what, bool gpu, bench_place *place);
/* Copies the system of a place on the CPU onto the GPU of the context. */
int bench_place_copy(const bench_place *cpu, karst_context *context, bench_place *place);
/* Closes a place, also one that is incomplete or closed. */
void bench_place_close(bench_place *place);

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
/* Orders the system of a place and makes the preconditioner of the options on it. On failure it is to be closed. */
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

/* Measures bandwidths in bytes per second, the best of a few passes over arrays of length doubles. Returns false if
 * there is no memory. */
bool bench_stream(int threads, int64_t length, double *copy, double *triad);

typedef struct bench_peer bench_peer;
/* Starts program on a case and waits until it has the matrix; style is NULL, or what follows RTOL. On failure it prints
 * a sentence on standard error and returns NULL. */
bench_peer *bench_peer_start(const char *program, const bench_case *what, const char *style);
const char *bench_peer_name(const bench_peer *peer);
bool bench_peer_sample(bench_peer *peer, bench_sample *sample);
bool bench_peer_solve(bench_peer *peer, double value[BENCH_SOLVE_QUANTITIES]);
void bench_peer_stop(bench_peer *peer);

void bench_report_table(const bench_result *result);
/* Prints one JSON object a variant, each on a line. Returns false in a build without jansson. */
bool bench_report_json(const bench_result *result);

#endif
