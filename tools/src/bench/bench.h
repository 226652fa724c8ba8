/* bench.h - what bench and its peers share: the case to time, the quantities measured, and the protocol of a peer.
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

#include "tools/src/common/common.h"

#include <math.h>

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

/* What --solves measures: seconds, except the iterations and the residual. */
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

/* Takes the times of the iterations, which are not numbers where the solve ended before them. */
static inline void bench_stopwatch_take(const bench_stopwatch *watch, const bench_case *what, bench_sample *sample)
{
  sample->value[BENCH_ITERATION] = watch->stopped ? watch->seconds / what->iterations : NAN;
  sample->value[BENCH_FIRST_RESIDUAL] = watch->stopped ? watch->first_residual : NAN;
  sample->value[BENCH_LAST_RESIDUAL] = watch->stopped ? watch->last_residual : NAN;
}

/* Loads the matrix, and its right-hand side if it has one of the right length, else a vector of ones. Returns
 * TOOL_GO_ON, or the exit status of an error that has been reported. */
int bench_system_load(karst_context *context, const bench_case *what, karst_matrix **A, karst_vector **rhs);
/* The same for a peer, with a context of its own: it ends the program after an error. */
void bench_peer_load(const bench_case *what, karst_context **context, karst_matrix **A, karst_vector **rhs);
/* Waits for the next request to a peer; false at the end of standard input. */
bool bench_peer_requested(void);
/* Answers it by the first count quantities. */
void bench_peer_answer(int count, const double *value);
/* Makes this process keep the memory that it frees. */
void bench_keep_memory(void);

#endif
