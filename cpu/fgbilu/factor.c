/* factor.c - the diagonal blocks of M = (D + E) D^-1 (D + F), where E and F are the blocks of A below and above its
 * diagonal (Luo, Edwards, Luo, Mueller, Algorithm 2, with the factors of its equation (1) taken from the neighbours
 * that they belong to):
 *
 *     D_i = A_ii - sum_{j < i} E_ij D_j^-1 F_ji
 *
 * over the neighbours j of cell i behind its three lower faces. */
#include "cpu/fgbilu/fgbilu_cpu.h"

#include "cpu/fgbilu/diagonal.h"
#include "cpu/round.h"

static void report_cell(karst_fgbilu_workspace *w, karst_reason reason, karst_index cell)
{
  if (cell >= w->cell) return;
  w->reason = reason;
  w->cell = cell;
}

/* Makes product = D_j^-1 F_ji. */
KARST_INLINE void divide_product(int b, bool triangles, const karst_fgbilu_pass *pass, karst_index j, const double *F,
                                 double *product)
{
  const int64_t bb = (int64_t)b * b;
  const double *diagonal = pass->factor + j * bb;
  if (!triangles) {
    karst_block_multiply(b, diagonal, F, product);
    return;
  }
  for (int64_t v = 0; v < bb; v++) product[v] = F[v];
  for (int c = 0; c < b; c++) karst_block_solve(b, diagonal, pass->exchange + (int64_t)j * b, product + (int64_t)c * b);
}

/* Inverts or factors the block of row i, in place. Its size is in the workspace. */
KARST_INLINE karst_reason attempt_block(int b, bool triangles, const karst_fgbilu_pass *pass, karst_index i,
                                        int attempt)
{
  const karst_fgbilu_workspace *w = pass->workspace;
  const int64_t bb = (int64_t)b * b;
  double *block = pass->factor + i * bb, *size = w->block + bb, *row_scale = size + bb, *column_size = row_scale + b;
  const karst_reason reason = karst_block_measure(b, attempt, size, row_scale, column_size);
  if (reason != KARST_SOUND) return reason;
  if (triangles)
    return karst_block_factor(b, pass->pivoting, block, row_scale, column_size, pass->exchange + (int64_t)i * b);
  return pass->pivoting ? karst_block_invert_scaled(b, block, row_scale, column_size, w->pivot)
                        : karst_block_invert_unpivoted(b, block, row_scale, column_size);
}

/* Inverts or factors the block of row i, in the attempts of karst_block_inverse. A bad block becomes zero. */
KARST_INLINE karst_reason eliminate(int b, bool triangles, const karst_fgbilu_pass *pass, karst_index i)
{
  const int64_t bb = (int64_t)b * b;
  double *block = pass->factor + i * bb, *copy = pass->workspace->block;
  int *exchange = triangles ? pass->exchange + (int64_t)i * b : pass->workspace->pivot;
  for (int64_t v = 0; v < bb; v++) copy[v] = block[v];
  karst_reason reason = KARST_SINGULAR_BLOCK;
  KARST_ROLLED
  for (int attempt = 0; attempt < KARST_BLOCK_ATTEMPTS && reason == KARST_SINGULAR_BLOCK; attempt++) {
    for (int64_t v = 0; v < bb && attempt > 0; v++) block[v] = copy[v];
    reason = attempt_block(b, triangles, pass, i, attempt);
  }
  if (reason == KARST_SOUND) return reason;
  for (int64_t v = 0; v < bb; v++) block[v] = 0;
  for (int c = 0; c < b; c++) exchange[c] = c;
  return reason;
}

/* Rounds D^-1 and the blocks of A of a row for sweeps in float, all but the diagonal one. Returns false if float cannot
 * hold them. */
KARST_INLINE bool round_row(int b, const karst_fgbilu_pass *pass, karst_index row, const double *diagonal)
{
  const int64_t bb = (int64_t)b * b;
  const int64_t start = pass->A->row_start[row] * bb, end = pass->A->row_start[row + 1] * bb,
                at = diagonal - pass->value;
  const bool E = karst_round_values(at - start, pass->value + start, pass->value_float + start);
  const bool F = karst_round_values(end - at - bb, diagonal + bb, pass->value_float + at + bb);
  return karst_round_inverse(b, pass->factor + row * bb, pass->factor_float + row * bb) && E && F;
}

KARST_INLINE void factor_line(int b, bool triangles, const karst_fgbilu_pass *pass, karst_index first, karst_index last)
{
  const karst_structured *cells = pass->cells;
  const karst_matrix *A = pass->A;
  const int64_t bb = (int64_t)b * b;
  double *product = pass->workspace->block, *size = product + bb;
  for (karst_index i = first; i < last; i++) {
    const karst_index row = cells->row ? cells->row[i] : i;
    if (row < 0) continue;
    const uint64_t place = cells->place[i];
    const double *value = A->value + A->row_start[row] * bb, *end = A->value + A->row_start[row + 1] * bb;
    double *D = pass->factor + row * bb;
    const double *diagonal = value + karst_place(place, KARST_PLACE_DIAGONAL) * bb;
    for (int64_t v = 0; v < bb; v++) D[v] = diagonal[v];
    for (int64_t v = 0; v < bb; v++) size[v] = fabs(diagonal[v]);
    for (int face = 0; face < KARST_FACES_BELOW; face++) {
      if (karst_place(place, face) == KARST_PLACE_NONE) continue;
      const karst_index below = i + pass->stride[face], j = cells->row ? cells->row[below] : below;
      const int back = karst_place(cells->place[below], KARST_FACES - 1 - face);
      if (back == KARST_PLACE_NONE) continue;
      divide_product(b, triangles, pass, j, A->value + (A->row_start[j] + back) * bb, product);
      karst_block_subtract_multiply(b, value + karst_place(place, face) * bb, product, D);
      karst_block_add_size(b, D, size);
    }
    karst_reason reason = eliminate(b, triangles, pass, row);
    double not_finite = 0; /* stays 0 unless an entry of the row is NaN or infinite, even one that D does not use */
    for (const double *entry = value; entry < end; entry++) not_finite += *entry * 0;
    if (not_finite != 0) reason = KARST_NOT_FINITE;
    if (pass->value_float && !round_row(b, pass, row, diagonal) && reason == KARST_SOUND) reason = KARST_OUT_OF_RANGE;
    if (reason != KARST_SOUND) report_cell(pass->workspace, reason, i);
  }
}

/* Two instances for each block size: one keeps inverses, the other LU factors. */
#define INSTANCE(NAME, B, TRIANGLES)                                                                                   \
  KARST_KERNEL static void NAME(const karst_fgbilu_pass *pass, karst_index first, karst_index last)                    \
  {                                                                                                                    \
    factor_line(B, TRIANGLES, pass, first, last);                                                                      \
  }
#define INSTANCES(B) INSTANCE(fgbilu_invert_##B, B, false) INSTANCE(fgbilu_factor_##B, B, true)
KARST_BLOCK_SIZES(INSTANCES)
INSTANCE(fgbilu_invert_any, pass->block_size, false)
INSTANCE(fgbilu_factor_any, pass->block_size, true)
#undef INSTANCES
#undef INSTANCE

static karst_fgbilu_line *instance(int b, bool triangles)
{
#define ENTRY(B) [B] = {fgbilu_invert_##B, fgbilu_factor_##B},
  static karst_fgbilu_line *const table[][2] = {{fgbilu_invert_any, fgbilu_factor_any}, KARST_BLOCK_SIZES(ENTRY)};
#undef ENTRY
  return table[b <= KARST_BLOCK_SIZE_LARGEST_INSTANCE ? b : 0][triangles];
}

karst_status karst_fgbilu_factor_cpu(karst_context *context, const karst_matrix *A, karst_fgbilu *fgbilu,
                                     karst_factor_outcome *outcome)
{
  const karst_structured *cells = &fgbilu->analysis->cells;
  const karst_fgbilu_schedule *schedule = fgbilu->analysis->plan;
  const karst_fgbilu_space *space = fgbilu->plan;
  const karst_fgbilu_pass pass = karst_fgbilu_begin(A, fgbilu);
  karst_fgbilu_workspace all = {.reason = KARST_SOUND, .cell = karst_grid_cells(cells->size)};
  for (int t = 0; t < space->threads; t++) {
    space->workspace[t].reason = all.reason;
    space->workspace[t].cell = all.cell;
  }
  karst_fgbilu_traverse(context, KARST_KIND_FACTOR, fgbilu, instance(A->block_size, schedule->triangles), &pass, false);
  for (int t = 0; t < space->threads; t++) report_cell(&all, space->workspace[t].reason, space->workspace[t].cell);
  const bool sound = all.reason == KARST_SOUND;
  *outcome = (karst_factor_outcome){all.reason, sound ? -1 : cells->row ? cells->row[all.cell] : all.cell, 0};
  return KARST_SUCCESS;
}
