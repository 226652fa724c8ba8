/* bench.h - what the parts of bench share: a case to time, the quantities measured, and the text that a peer prints.
 *
 * A peer is a program that times another library on the same case. It is started as
 *     PEER MATRIX LEVEL RESTART ITERATIONS
 * prints one line with its name and version once the matrix is ready, and from then on answers each line on its
 * standard input with one line: the quantities of one repetition, in the order of enum bench_quantity. So the two
 * programs run in turn, A B A B, each in its own address space. */
#ifndef KARST_TOOLS_BENCH_H
#define KARST_TOOLS_BENCH_H

#include "common.h"

/* Applications of a kernel (A x, M^-1 r) that are timed together. */
#define BENCH_KERNEL_REPEATS 8

typedef struct bench_case {
  const char *matrix; /* a gallery problem NAME:SIZES, or a file */
  int level;          /* k of ILU(k) */
  int restart;        /* m of GMRES(m) */
  int iterations;     /* that are timed */
} bench_case;

/* Seconds, except for the two residuals. */
enum bench_quantity {
  BENCH_SETUP,          /* from a matrix to a solver that can iterate */
  BENCH_SYMBOLIC,       /* of that: the pattern of the factors */
  BENCH_FACTOR,         /* of that: their numbers */
  BENCH_ITERATION,      /* one iteration of GMRES(m), its share of the restarts included */
  BENCH_MULTIPLY,       /* y = A x */
  BENCH_APPLY,          /* z = M^-1 r */
  BENCH_FIRST_RESIDUAL, /* norm at the first timed iteration */
  BENCH_LAST_RESIDUAL,  /* norm at the last */
  BENCH_QUANTITIES
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
int bench_system_load(karst_context *context, const char *matrix, karst_matrix **A, karst_vector **rhs);
/* From now on this process keeps the memory that it frees. */
void bench_keep_memory(void);

/* ---- the parts of bench itself ---- */

#define BENCH_VARIANTS 8 /* numbers of threads that can be asked for, and one peer */

/* Bytes that must move between memory and processor; see bench_traffic.c. */
typedef struct bench_traffic {
  double matrix, factors, vector;                   /* sizes: A, the factors, one vector */
  double multiply, apply, orthogonalise, iteration; /* moved by each */
} bench_traffic;

/* A program, or Karst with a number of threads, on a case. */
typedef struct bench_variant {
  char name[64];
  int threads;
  double copy, triad;  /* bytes per second that this many threads reached; 0 for a peer */
  bench_sample median; /* of the repetitions, quantity by quantity */
} bench_variant;

typedef struct bench_result {
  bench_case what;
  int repeat;
  int block_size;
  int64_t rows;
  int64_t blocks;
  int64_t factor_entries;
  bench_traffic traffic;
  double peak_memory; /* bytes of a process that makes the system and solves it */
  int variants;
  bench_variant variant[BENCH_VARIANTS];
} bench_result;

/* One repetition: set-up, iterations, kernels. On failure the context has the sentence. */
karst_status bench_karst(karst_context *context, const bench_case *what, const karst_matrix *A, const karst_vector *b,
                         bench_sample *sample, karst_solver_info *info);
/* Peak memory of a child process that loads the system and runs one cycle of GMRES. To be called while this process
 * is small, for a child begins with its parent's pages. TOOL_GO_ON, or the exit status after a reported error. */
int bench_karst_peak_memory(const bench_case *what, double *bytes);

bench_traffic bench_traffic_of(const karst_matrix *A, int64_t factor_entries, int restart);
/* Seconds of an iteration outside A x and M^-1 r. */
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
