/* judge.h - for the harnesses that solve: a small system, and a check in 113 bits of the library's claims about its
 * solution:
 *
 *   - converged means |b - A x| <= max(rtol |b|, atol), as far as twice the working precision tells, unless the reason
 *     is KARST_CONVERGED_PRECONDITIONED, or KARST_CONVERGED_ROUNDING: then |b - A x| is within rounding errors;
 *   - result.residual is |b - A x| within the rounding errors of computing it in the working precision;
 *   - x is finite if the start is, unless the reason is KARST_NOT_FINITE;
 *   - x is the start if there was no iteration, unless b = 0, or a part of the unknowns was eliminated and the rest of
 *     the start needed no iteration;
 *   - the same solve ends with the same bits. */
#ifndef KARST_TESTS_FUZZ_JUDGE_H
#define KARST_TESTS_FUZZ_JUDGE_H

#include "tests/fuzz/fuzz.h"

enum { MOST_ROWS = 12, MOST_SIZE = 4, MOST = MOST_ROWS * MOST_SIZE };

typedef struct fuzz_system {
  karst_index rows, start[MOST + 1], column[MOST * MOST_ROWS];
  int b, n;           /* n = b * rows */
  karst_index nx, ny; /* the grid; 0: none */
  double value[MOST * MOST], rhs[MOST], start_x[MOST];
} fuzz_system;

/* How a harness reads its input. */
typedef struct fuzz_maker {
  void (*options)(fuzz_input *input, karst_options *options);
  void (*system)(fuzz_input *input, fuzz_system *s);
  void (*values)(fuzz_input *input, fuzz_system *s); /* new values of the same pattern */
  bool reduces;                                      /* whether a part of the unknowns may be eliminated */
} fuzz_maker;

/* Solves a system twice, again with new values if the input has bytes left, and checks each result. */
void fuzz_judge(const fuzz_maker *maker, const uint8_t *data, size_t size);

#endif
