/* bench.h - what the parts of bench share: a case to time, the quantities measured, and the text that a peer prints.
 *
 * A peer is a program that times another library on the same case. It is started as
 *     PEER MATRIX BLOCK LEVEL RESTART ITERATIONS
 * prints one line with its name and version once the matrix is ready, and from then on answers each line on its
 * standard input with one line: the first BENCH_PEER_QUANTITIES of one repetition, in the order of enum bench_quantity;
 * "nan" for one that it does not have. So the two programs run in turn, A B A B, each in its own address space. */
#ifndef KARST_TOOLS_BENCH_H
#define KARST_TOOLS_BENCH_H

#include "bench_cuda.h"
#include "common.h"

/* Applications of a kernel (A x, M^-1 r) that are timed together. */
#define BENCH_KERNEL_REPEATS 8

typedef struct bench_case {
  const char *matrix;           /* a gallery problem NAME:SIZES, or a file */
  int block;                    /* its block size; 0: its own */
  int level;                    /* k of ILU(k) */
  int restart;                  /* m of GMRES(m) */
  int iterations;               /* that are timed */
  double rtol;                  /* of whole solves; 0: none are timed */
  const karst_options *options; /* of Karst, besides what the fields above say */
} bench_case;

/* Solvers of the whole solves, by name. */
enum { BENCH_SOLVERS = 2 };
extern const char *const bench_solver[BENCH_SOLVERS];

/* Seconds, except for the two residuals and the number of iterations. */
enum bench_quantity {
  BENCH_SETUP,          /* from a matrix to a solver that can iterate */
  BENCH_SYMBOLIC,       /* of that: the pattern of the factors */
  BENCH_FACTOR,         /* of that: their numbers */
  BENCH_UPDATE,         /* new values in the same pattern: until the solver can iterate again */
  BENCH_ITERATION,      /* one iteration of GMRES(m), its share of the restarts included */
  BENCH_MULTIPLY,       /* y = A x */
  BENCH_APPLY,          /* z = M^-1 r */
  BENCH_FIRST_RESIDUAL, /* norm at the first timed iteration */
  BENCH_LAST_RESIDUAL,  /* norm at the last */
  BENCH_PEER_QUANTITIES,
  /* of a whole solve with each of the solvers; not a number where it does not converge */
  BENCH_WHOLE_SETUP = BENCH_PEER_QUANTITIES,
  BENCH_WHOLE_SOLVE = BENCH_WHOLE_SETUP + BENCH_SOLVERS,
  BENCH_WHOLE_ITERATIONS = BENCH_WHOLE_SOLVE + BENCH_SOLVERS,
  BENCH_QUANTITIES = BENCH_WHOLE_ITERATIONS + BENCH_SOLVERS
};

typedef struct bench_sample {
  double value[BENCH_QUANTITIES];
} bench_sample;

/* Times the iterations between two calls of a Krylov monitor. The first one timed follows iteration m + 1: by then
 * every basis vector has been written once, and no page is touched for the first time. Both calls fall inside a cycle,
 * so that the same restarts lie between them whether a library reports before or after it restarts. */
typedef struct bench_stopwatch {
  int first, last; /* iterations whose monitor calls start and stop it */
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

/* The matrix and the right-hand side that comes with it where it has one of its length, else ones. TOOL_GO_ON, or the
 * exit status after an error that has been reported. */
int bench_system_load(karst_context *context, const bench_case *what, karst_matrix **A, karst_vector **rhs);
/* From now on this process keeps the memory that it frees. */
void bench_keep_memory(void);

/* ---- the parts of bench itself ---- */

enum {
  BENCH_LIST = 7,                 /* levels and numbers of threads that can be asked for */
  BENCH_PLACES = 2,               /* devices */
  BENCH_VARIANTS = BENCH_LIST + 3 /* Karst on so many threads, Karst and cuSPARSE on a GPU, a peer */
};

/* A device with the system in its memory. */
typedef struct bench_place {
  karst_context *context;
  karst_matrix *A;
  karst_vector *b, *x;
  bench_gpu *gpu;         /* NULL on the CPU */
  bench_product *product; /* NULL there, too, and where cuSPARSE cannot be had */
} bench_place;

/* Bytes that must move between memory and processor; see bench_traffic.c. */
typedef struct bench_traffic {
  double matrix, factors, vector;                   /* sizes: A, the factors, one vector */
  double multiply, apply, orthogonalise, iteration; /* moved by each */
} bench_traffic;

/* What a preconditioner by sweeps reports of the last set-up. */
struct bench_sweeps {
  bool any;             /* false: it has none */
  double before, after; /* the nonlinear residual norms */
  int64_t fallbacks;    /* exact factorizations instead */
};

/* A program, or Karst with a number of threads or on a GPU, on a case. */
typedef struct bench_variant {
  char name[64];
  bench_place *place;  /* NULL: another process */
  const char *precond; /* of Karst, or cusparse: then A x is cuSPARSE's, too */
  bool is_peer;        /* it is another library that is timed */
  karst_precond *M;    /* for timing M^-1 r; NULL without a place */
  int threads;
  double copy, triad;     /* bytes per second that the place reaches; 0: not measured */
  bench_sample median;    /* of the repetitions, quantity by quantity */
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
  double peak_memory; /* bytes of a process that makes the system and solves it on the CPU; 0: not measured */
  double cache;       /* bytes of the GPU's second-level cache; 0 without one */
  int variants;
  bench_variant variant[BENCH_VARIANTS];
} bench_result;

/* The preconditioner of a variant, factored. */
karst_status bench_karst_precond(const bench_case *what, bench_variant *variant);
/* One repetition: set-up, update, iterations, kernels, whole solves. On failure the context has the sentence. */
karst_status bench_karst(const bench_case *what, bench_variant *variant, bench_sample *sample);
/* Peak memory of a child process that loads the system and runs one cycle of GMRES. To be called while this process
 * is small, for a child begins with its parent's pages. TOOL_GO_ON, or the exit status after a reported error. */
int bench_karst_peak_memory(const bench_case *what, double *bytes);

bench_traffic bench_traffic_of(const karst_matrix *A, int64_t factor_entries, int restart);
/* Seconds of an iteration outside A x and M^-1 r: the difference of times taken apart from one another. Not a number
 * where one of them is missing, or where they are too short and uneven to leave anything. */
double bench_orthogonalise_seconds(const bench_sample *sample, int restart);

/* Bandwidths in bytes per second, the best of a few passes over arrays of length doubles. False: no memory. */
bool bench_stream(int threads, int64_t length, double *copy, double *triad);

typedef struct bench_peer bench_peer;
/* Starts program on a case and waits until it has the matrix. NULL, and a sentence on standard error, if it fails. */
bench_peer *bench_peer_start(const char *program, const bench_case *what);
const char *bench_peer_name(const bench_peer *peer);
bool bench_peer_sample(bench_peer *peer, bench_sample *sample);
void bench_peer_stop(bench_peer *peer);

void bench_report_table(const bench_result *result);
/* One JSON object a variant, one a line. False: built without jansson. */
bool bench_report_json(const bench_result *result);

#endif
