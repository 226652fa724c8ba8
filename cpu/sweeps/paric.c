/* paric.c - the sweeps of paric over block rows on the CPU (Chow, Anzt, Dongarra, Algorithm 1 for A ~ L L^T,
 * by blocks):
 *
 *     L_ij = (A_ij - sum_{k<j} L_ik L_jk^T) L_jj^-T   i > j,      L_ii L_ii^T = A_ii - sum_{k<i} L_ik L_ik^T
 *
 * Blocks of a row are taken from left to right; the columns k that rows i and j share are found by numbering those of
 * row i. An asynchronous sweep stores and uses each block at once. */
#include "cpu/sweeps/sweeps_cpu.h"

KARST_INLINE void guess_diagonal(int b, const karst_parilu_pass *pass, karst_index first, karst_index last,
                                 karst_ilu_workspace *w)
{
  const karst_parilu *s = pass->s;
  const int64_t bb = (int64_t)b * b;
  (void)w;
  for (karst_index i = first; i < last; i++) {
    const int64_t at = s->diagonal[i] * bb;
    for (int64_t v = at; v < at + bb; v++) s->value[v] = s->F->value[v];
    if (!karst_block_cholesky(b, s->value + at)) karst_parilu_fill_nan(bb, s->value + at);
  }
}

KARST_INLINE void invert(int b, const karst_parilu_pass *pass, karst_index first, karst_index last,
                         karst_ilu_workspace *w)
{
  const karst_parilu *s = pass->s;
  const int64_t bb = (int64_t)b * b;
  (void)w;
  for (karst_index i = first; i < last; i++)
    if (!karst_block_invert_lower(b, s->value + s->diagonal[i] * bb, s->inverse + i * bb))
      karst_parilu_fill_nan(bb, s->inverse + i * bb);
}

KARST_INLINE void guess(int b, const karst_parilu_pass *pass, karst_index first, karst_index last,
                        karst_ilu_workspace *w)
{
  const karst_parilu *s = pass->s;
  const karst_matrix *F = s->F;
  const int64_t bb = (int64_t)b * b;
  (void)w;
  for (karst_index i = first; i < last; i++) {
    for (karst_index k = F->row_start[i]; k < s->diagonal[i]; k++) {
      if (pass->scaled)
        karst_block_multiply_transposed(b, F->value + k * bb, s->inverse + F->column[k] * bb, s->value + k * bb);
      else
        for (int64_t v = k * bb; v < (k + 1) * bb; v++) s->value[v] = F->value[v];
    }
    if (pass->scaled) continue;
    for (int c = 0; c < b; c++)
      for (int r = 0; r < b; r++) {
        const int64_t at = s->diagonal[i] * bb + c * b + r;
        s->value[at] = r >= c ? F->value[at] : 0;
      }
  }
}

/* Returns the sum of the squares of the residual of block number k, which is block (i,j) and has its sum in
 * w->block. */
KARST_INLINE double measure(int b, const karst_parilu *s, karst_index i, karst_index k, karst_ilu_workspace *w)
{
  const int64_t bb = (int64_t)b * b;
  const karst_index j = s->F->column[k];
  double *residual = w->block + bb;
  for (int64_t v = 0; v < bb; v++) residual[v] = w->block[v];
  karst_block_subtract_multiply_transposed(b, s->value + k * bb, s->value + s->diagonal[j] * bb, residual);
  return (j < i ? 2 : 1) * karst_parilu_square(b, residual, s->weight + (int64_t)i * b, s->weight + (int64_t)j * b);
}

/* Finishes block number k, which is block (i,j), from its sum in w->block, and stores it in to. A racing diagonal block
 * gets its inverse too. */
KARST_INLINE void finish_block(int b, bool racing, const karst_parilu *s, karst_index i, karst_index k, double *to,
                               karst_ilu_workspace *w)
{
  const int64_t bb = (int64_t)b * b;
  const karst_index j = s->F->column[k];
  double *sum = w->block, *made = w->block + 2 * bb;
  if (j < i) {
    const double *inverse = karst_parilu_observe(racing, bb, s->inverse + j * bb, w->block + bb);
    karst_block_multiply_transposed(b, sum, inverse, made);
    karst_parilu_publish(racing, bb, made, to + k * bb);
    return;
  }
  if (!karst_block_cholesky(b, sum)) karst_parilu_fill_nan(bb, sum);
  karst_parilu_publish(racing, bb, sum, to + k * bb);
  if (!racing) return;
  if (!karst_block_invert_lower(b, sum, made)) karst_parilu_fill_nan(bb, made);
  karst_parilu_publish(true, bb, made, s->inverse + i * bb);
}

/* Subtracts from sum the products of the blocks of row i, which are numbered from start on, with those of row j that
 * are left of column j. */
KARST_INLINE void subtract_rows(int b, bool racing, const karst_parilu *s, karst_index start, karst_index j,
                                karst_ilu_workspace *w, double *sum)
{
  const karst_matrix *F = s->F;
  const int64_t bb = (int64_t)b * b;
  for (karst_index q = F->row_start[j]; q < s->diagonal[j]; q++) {
    const karst_index position = w->position[F->column[q]];
    if (position < 0) continue;
    const double *right = karst_parilu_observe(racing, bb, s->value + q * bb, w->block + bb);
    karst_block_subtract_multiply_transposed(b, s->value + (start + position) * bb, right, sum);
  }
}

/* Does the same if row j is much longer. It is searched for the columns of the blocks start .. k - 1. */
KARST_INLINE void subtract_rows_by_search(int b, bool racing, const karst_parilu *s, karst_index start, karst_index k,
                                          karst_ilu_workspace *w, double *sum)
{
  const karst_matrix *F = s->F;
  const int64_t bb = (int64_t)b * b;
  const karst_index j = F->column[k], end = s->diagonal[j];
  karst_index q = F->row_start[j];
  for (karst_index at = start; at < k; at++) {
    q = karst_lower_bound(F->column, q, end, F->column[at]);
    if (q == end || F->column[q] != F->column[at]) continue;
    const double *right = karst_parilu_observe(racing, bb, s->value + q * bb, w->block + bb);
    karst_block_subtract_multiply_transposed(b, s->value + at * bb, right, sum);
  }
}

KARST_INLINE void sweep_row(int b, bool in_place, const karst_parilu_pass *pass, karst_index i, karst_ilu_workspace *w)
{
  const karst_parilu *s = pass->s;
  const karst_matrix *F = s->F;
  const int64_t bb = (int64_t)b * b;
  const karst_index start = F->row_start[i], diagonal = s->diagonal[i];
  double square = 0, *sum = w->block;
  for (karst_index k = start; k < diagonal; k++) w->position[F->column[k]] = k - start;
  for (karst_index k = start; k <= diagonal; k++) {
    const karst_index j = F->column[k];
    for (int64_t v = 0; v < bb; v++) sum[v] = F->value[k * bb + v];
    if (karst_ilu_searches(s->diagonal[j] - F->row_start[j], k - start))
      subtract_rows_by_search(b, in_place, s, start, k, w, sum);
    else
      subtract_rows(b, in_place, s, start, j, w, sum);
    if (pass->row_sum) square += measure(b, s, i, k, w);
    if (pass->to) finish_block(b, in_place, s, i, k, pass->to, w);
  }
  for (karst_index k = start; k < diagonal; k++) w->position[F->column[k]] = -1;
  if (pass->row_sum) pass->row_sum[i] = square;
}

/* Updates one block alone, for orders of tasks that are not row after row. */
static void update(const karst_parilu *s, karst_index i, karst_index k, karst_ilu_workspace *w)
{
  const karst_matrix *F = s->F;
  const int b = F->block_size;
  const int64_t bb = (int64_t)b * b;
  const karst_index j = F->column[k];
  double *sum = w->block, *left = w->block + bb, *right = w->block + 2 * bb;
  for (int64_t v = 0; v < bb; v++) sum[v] = F->value[k * bb + v];
  for (karst_index q = F->row_start[i], other = F->row_start[j]; F->column[q] < j && F->column[other] < j;) {
    if (F->column[q] < F->column[other]) {
      q = karst_lower_bound(F->column, q, s->diagonal[i], F->column[other]);
    } else if (F->column[q] > F->column[other]) {
      other = karst_lower_bound(F->column, other, s->diagonal[j], F->column[q]);
    } else {
      karst_parilu_observe(true, bb, s->value + q++ * bb, left);
      karst_parilu_observe(true, bb, s->value + other++ * bb, right);
      karst_block_subtract_multiply_transposed(b, left, right, sum);
    }
  }
  finish_block(b, true, s, i, k, s->value, w);
}

/* Makes a unit lower and an upper triangle of the factors: L_ij L_jj^-1 below the diagonal, L_ii L_ji^T from it on. */
KARST_INLINE void expand(int b, const karst_parilu_pass *pass, karst_index first, karst_index last,
                         karst_ilu_workspace *w)
{
  const karst_parilu *s = pass->s;
  const karst_matrix *F = s->F;
  const int64_t bb = (int64_t)b * b;
  (void)w;
  for (karst_index i = first; i < last; i++) {
    const double *diagonal = s->value + s->diagonal[i] * bb;
    for (karst_index k = F->row_start[i]; k < s->diagonal[i]; k++)
      karst_block_multiply(b, s->value + k * bb, s->inverse + F->column[k] * bb, pass->to + k * bb);
    for (karst_index k = s->diagonal[i]; k < F->row_start[i + 1]; k++)
      karst_block_multiply_transposed(b, diagonal, s->value + s->mirror[k] * bb, pass->to + k * bb);
  }
}

#define INSTANCES(B) KARST_PARILU_INSTANCES(paric, B, B) KARST_PARILU_INSTANCE(paric, expand, B, B)
KARST_BLOCK_SIZES(INSTANCES)
KARST_PARILU_INSTANCES(paric, any, pass->s->F->block_size)
KARST_PARILU_INSTANCE(paric, expand, any, pass->s->F->block_size)

#define METHOD(B) [B] = KARST_PARILU_METHOD(paric, B, paric_expand_##B),
const karst_parilu_method karst_paric_methods_cpu[] = {KARST_PARILU_METHOD(paric, any, paric_expand_any),
                                                       KARST_BLOCK_SIZES(METHOD)};
