/* parilu.c - the sweeps of parilu over block rows on the CPU (Chow, Anzt, Dongarra, Algorithm 1, by blocks):
 *
 *     L_ij = (A_ij - sum_{k<j} L_ik U_kj) U_jj^-1   i > j,      U_ij = A_ij - sum_{k<i} L_ik U_kj   i <= j
 *
 * A row is taken as a whole: the row of A is copied, and for each k < i of the row, ascending, L_ik times the part of
 * row k right of its diagonal is subtracted where the patterns meet. That yields all sums of the row, for U_kj has k <
 * j.
 *
 * A synchronous sweep takes L_ik from the last sweep. An asynchronous one finishes L_ik first and uses it at once: one
 * thread would thus find the exact factors in one sweep, and several do so as far as the rows above are done. */
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
  }
}

/* Computes inverse = block^-1, or NaN if it is singular. The block is judged by its own entries, although it was
 * summed: the final blocks are judged again when they are loaded. */
KARST_INLINE void invert_block(int b, const double *block, double *inverse, karst_ilu_workspace *w)
{
  const int64_t bb = (int64_t)b * b;
  if (karst_block_inverse(b, block, block, inverse, w->block + 2 * bb, w->pivot) != KARST_SOUND)
    karst_parilu_fill_nan(bb, inverse);
}

KARST_INLINE void invert(int b, const karst_parilu_pass *pass, karst_index first, karst_index last,
                         karst_ilu_workspace *w)
{
  const karst_parilu *s = pass->s;
  const int64_t bb = (int64_t)b * b;
  for (karst_index i = first; i < last; i++) invert_block(b, s->value + s->diagonal[i] * bb, s->inverse + i * bb, w);
}

KARST_INLINE void guess(int b, const karst_parilu_pass *pass, karst_index first, karst_index last,
                        karst_ilu_workspace *w)
{
  const karst_parilu *s = pass->s;
  const karst_matrix *F = s->F;
  const int64_t bb = (int64_t)b * b;
  (void)w;
  for (karst_index i = first; i < last; i++)
    for (karst_index k = F->row_start[i]; k < F->row_start[i + 1]; k++) {
      const double *from = F->value + k * bb;
      if (pass->scaled && F->column[k] < i)
        karst_block_multiply(b, from, s->inverse + F->column[k] * bb, s->value + k * bb);
      else
        for (int64_t v = 0; v < bb; v++) s->value[k * bb + v] = from[v];
    }
}

/* Does the work of subtract_row if row p is much longer: it is searched for the columns of row i that follow p. k is
 * the number of the block of L_ip. */
KARST_INLINE void subtract_row_by_search(int b, bool racing, const karst_parilu *s, const double *left, karst_index i,
                                         karst_index k, karst_ilu_workspace *w)
{
  const karst_matrix *F = s->F;
  const int64_t bb = (int64_t)b * b;
  const karst_index p = F->column[k], end = F->row_start[p + 1];
  karst_index q = s->diagonal[p] + 1;
  for (karst_index at = k + 1; at < F->row_start[i + 1]; at++) {
    q = karst_lower_bound(F->column, q, end, F->column[at]);
    if (q == end || F->column[q] != F->column[at]) continue;
    const double *right = karst_parilu_observe(racing, bb, s->value + q * bb, w->block + bb);
    karst_block_subtract_multiply(b, left, right, w->row + (at - F->row_start[i]) * bb);
  }
}

/* Subtracts L_ip times row p of U, right of its diagonal, from the current row i. k is the number of the block of
 * L_ip. */
KARST_INLINE void subtract_row(int b, bool racing, const karst_parilu *s, const double *left, karst_index i,
                               karst_index k, karst_ilu_workspace *w)
{
  const karst_matrix *F = s->F;
  const int64_t bb = (int64_t)b * b;
  const karst_index p = F->column[k], end = F->row_start[p + 1];
  if (karst_ilu_searches(end - s->diagonal[p], F->row_start[i + 1] - F->row_start[i])) {
    subtract_row_by_search(b, racing, s, left, i, k, w);
    return;
  }
  for (karst_index q = s->diagonal[p] + 1; q < end; q++) {
    const karst_index position = w->position[F->column[q]];
    if (position < 0) continue;
    const double *right = karst_parilu_observe(racing, bb, s->value + q * bb, w->block + bb);
    karst_block_subtract_multiply(b, left, right, w->row + position * bb);
  }
}

/* Returns the sum of the squares of the residual of row i. Its sums are in w->row, and the factors that they were
 * made of in s->value. */
KARST_INLINE double measure(int b, const karst_parilu *s, karst_index i, const karst_ilu_workspace *w)
{
  const karst_matrix *F = s->F;
  const int64_t bb = (int64_t)b * b, n = (int64_t)F->block_rows * b;
  const double *row_weight = s->weight + (int64_t)i * b;
  double sum = 0;
  for (karst_index k = F->row_start[i]; k < F->row_start[i + 1]; k++) {
    const karst_index j = F->column[k];
    const double *total = w->row + (k - F->row_start[i]) * bb, *factor = s->value + k * bb;
    double *residual = w->block;
    for (int64_t v = 0; v < bb; v++) residual[v] = j < i ? total[v] : total[v] - factor[v];
    if (j < i) karst_block_subtract_multiply(b, factor, s->value + s->diagonal[j] * bb, residual);
    sum += karst_parilu_square(b, residual, row_weight, s->weight + n + (int64_t)j * b);
  }
  return sum;
}

/* Finishes the strictly lower block number k of the row that starts with block start. It leaves the block in
 * w->block and stores it in to. */
KARST_INLINE void finish_lower(int b, bool racing, const karst_parilu *s, karst_index start, karst_index k, double *to,
                               karst_ilu_workspace *w)
{
  const int64_t bb = (int64_t)b * b;
  const double *inverse = karst_parilu_observe(racing, bb, s->inverse + s->F->column[k] * bb, w->block + bb);
  karst_block_multiply(b, w->row + (k - start) * bb, inverse, w->block);
  karst_parilu_publish(racing, bb, w->block, to + k * bb);
}

KARST_INLINE void sweep_row(int b, bool in_place, const karst_parilu_pass *pass, karst_index i, karst_ilu_workspace *w)
{
  const karst_parilu *s = pass->s;
  const karst_matrix *F = s->F;
  const int64_t bb = (int64_t)b * b;
  const karst_index start = F->row_start[i], diagonal = s->diagonal[i], end = F->row_start[i + 1];
  for (karst_index k = start; k < end; k++) w->position[F->column[k]] = k - start;
  for (int64_t v = 0; v < (end - start) * bb; v++) w->row[v] = F->value[start * bb + v];
  for (karst_index k = start; k < diagonal; k++) {
    if (in_place) finish_lower(b, true, s, start, k, pass->to, w);
    subtract_row(b, in_place, s, in_place ? w->block : s->value + k * bb, i, k, w);
  }
  for (karst_index k = start; k < end; k++) w->position[F->column[k]] = -1;
  if (pass->row_sum) pass->row_sum[i] = measure(b, s, i, w);
  if (!pass->to) return;
  for (karst_index k = start; k < diagonal && !in_place; k++) finish_lower(b, false, s, start, k, pass->to, w);
  karst_parilu_publish(in_place, (end - diagonal) * bb, w->row + (diagonal - start) * bb, pass->to + diagonal * bb);
  if (in_place) {
    invert_block(b, w->row + (diagonal - start) * bb, w->block, w);
    karst_parilu_publish(true, bb, w->block, s->inverse + i * bb);
  }
}

/* Updates one block alone, for orders of tasks that are not row after row. */
static void update(const karst_parilu *s, karst_index i, karst_index k, karst_ilu_workspace *w)
{
  const karst_matrix *F = s->F;
  const int b = F->block_size;
  const int64_t bb = (int64_t)b * b;
  const karst_index j = F->column[k];
  double *left = w->block, *right = w->block + bb, *sum = w->row;
  for (int64_t v = 0; v < bb; v++) sum[v] = F->value[k * bb + v];
  for (karst_index q = F->row_start[i]; F->column[q] < i && F->column[q] < j; q++) {
    const karst_index p = F->column[q],
                      found = karst_find_column(F->column, s->diagonal[p] + 1, F->row_start[p + 1], j);
    if (found < 0) continue;
    karst_parilu_observe(true, bb, s->value + q * bb, left);
    karst_parilu_observe(true, bb, s->value + found * bb, right);
    karst_block_subtract_multiply(b, left, right, sum);
  }
  if (j < i) {
    finish_lower(b, true, s, k, k, s->value, w);
    return;
  }
  karst_parilu_publish(true, bb, sum, s->value + k * bb);
  if (j > i) return;
  invert_block(b, sum, left, w);
  karst_parilu_publish(true, bb, left, s->inverse + i * bb);
}

#define INSTANCES(B) KARST_PARILU_INSTANCES(parilu, B, B)
KARST_BLOCK_SIZES(INSTANCES)
KARST_PARILU_INSTANCES(parilu, any, pass->s->F->block_size)

#define METHOD(B) [B] = KARST_PARILU_METHOD(parilu, B, NULL),
const karst_parilu_method karst_parilu_methods_cpu[] = {KARST_PARILU_METHOD(parilu, any, NULL),
                                                        KARST_BLOCK_SIZES(METHOD)};
