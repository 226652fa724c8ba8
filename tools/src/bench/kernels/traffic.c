/* traffic.c - counts the bytes that an iteration of GMRES(m) with ILU(k) must move between memory and processor.
 *
 * Let there be n scalar rows, N = n / b block rows, Z blocks in A, F scalar entries in the factors (diagonal once) and
 * i bytes an index, and let every array be larger than the caches:
 *
 *   y = A x          8 b^2 Z + i (Z + N)             A, once
 *                    + 8 n 2                         x read, y written
 *   z = M^-1 r       8 F + i (F / b^2 - N + 2 N)     L, D^-1 and U', once; the diagonal needs no index
 *                    + 8 n 4                         forward: r read, z written; backward: z read and written
 *     fgbilu, dilu   8 b^2 (Z + N) + i (Z + N)       A's E and F once, and D^-1 of N blocks in each sweep
 *   orthogonalise    8 n (2 (j + 1) + 5)             iteration j of a cycle: h = V'w reads j + 1 vectors and w,
 *                                                    w -= V h reads them again and reads and writes w,
 *                                                    v = w / |w| reads w and writes v
 *     on average     8 n (m + 6)                     j + 1 = (m + 1) / 2
 *   restart          8 n (m + 1)                     u = V y
 *                    + M^-1 u, 8 n 3                 x += M^-1 u
 *                    + A x, 8 n, 8 n 2               r = b - A x and v = r / |r|
 *                    all of it once in m iterations
 *
 * A vector that is written counts once; a processor's read of a cache line before it writes the line is not counted. */
#include "tools/src/bench/kernels/bench_kernels.h"

#include <math.h>
#include <string.h>

bench_traffic bench_traffic_of(const karst_matrix *A, int64_t factor_entries, const bench_case *what)
{
  const double n = (double)karst_matrix_rows(A);
  const double block_rows = (double)karst_matrix_block_rows(A);
  const double blocks = (double)karst_matrix_blocks(A);
  const double entries = (double)karst_matrix_block_size(A) * karst_matrix_block_size(A);
  const double index = sizeof(karst_index);
  const double m = what->restart;
  const char *precond = tool_option_text(what->options, "precond");
  const bool diagonal_alone = strcmp(precond, "fgbilu") == 0 || strcmp(precond, "dilu") == 0;
  bench_traffic t;

  t.vector = 8 * n;
  t.matrix = 8 * entries * blocks + index * (blocks + block_rows);
  t.factors = 8 * (double)factor_entries + index * ((double)factor_entries / entries + block_rows);
  t.multiply = t.matrix + 2 * t.vector;
  t.apply = 4 * t.vector + (diagonal_alone ? (8 * entries + index) * (blocks + block_rows) : t.factors);
  t.orthogonalise = t.vector * (m + 6) + t.vector * (m + 7) / m;
  t.iteration = (1 + 1 / m) * (t.multiply + t.apply) + t.orthogonalise;
  return t;
}

double bench_orthogonalise_seconds(const bench_sample *sample, int restart)
{
  const double applied = sample->value[BENCH_MULTIPLY] + sample->value[BENCH_APPLY];
  const double rest = sample->value[BENCH_ITERATION] - (1 + 1.0 / restart) * applied;
  return rest > 0 ? rest : NAN;
}
