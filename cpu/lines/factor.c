/* factor.c - the factors of lines by the Thomas algorithm, position after position of each line:
 *
 *     d = D_k - L_k W_{k-1},   P_k = d^-1 or d^-1 D_k,   Q_k = d^-1 L_k,   W_k = d^-1 U_k
 */
#include "cpu/lines/lines_cpu.h"

#include "cpu/pivot.h"
#include "lib/backend/dense.h"

/* What a thread factors with. */
struct pass {
  const karst_matrix *A;
  const karst_lines *lines;
  const karst_lines_factors *factors;
  double *space;
  int *pivot;
  karst_thread_outcome outcome;
};

/* Whether count numbers are finite. */
KARST_INLINE bool is_finite(int64_t count, const double *value)
{
  double not_finite = 0; /* stays 0 unless a number is NaN or infinite */
  for (int64_t v = 0; v < count; v++) not_finite += value[v] * 0;
  return not_finite == 0;
}

/* Makes to = P x, or 0 if x is NULL: there is no such block. */
KARST_INLINE void divide_block(int b, const double *P, const double *x, double *to)
{
  if (x)
    karst_block_multiply(b, P, x, to);
  else
    for (int v = 0; v < b * b; v++) to[v] = 0;
}

/* Factors the position in a slot, after the one before it, whose W is width slots back. */
KARST_INLINE karst_reason factor_slot(int b, const struct pass *pass, int64_t at)
{
  const karst_lines *lines = pass->lines;
  const karst_lines_factors *factors = pass->factors;
  const int64_t bb = (int64_t)b * b;
  const karst_index lower = lines->device.lower[at], upper = lines->device.upper[at];
  const double *D = pass->A->value + lines->device.diagonal[at] * bb;
  const double *L = lower < 0 ? NULL : pass->A->value + lower * bb, *U = upper < 0 ? NULL : pass->A->value + upper * bb;
  double *d = pass->space, *size = d + bb, *P = factors->P + at * bb, *Q = factors->Q + at * bb,
         *W = factors->W + at * bb;
  for (int64_t v = 0; v < bb; v++) d[v] = D[v];
  for (int64_t v = 0; v < bb; v++) size[v] = fabs(D[v]);
  if (L) {
    karst_block_subtract_multiply(b, L, W - lines->width * bb, d);
    karst_block_add_size(b, d, size);
  }
  const karst_reason reason = karst_block_inverse(b, d, size, P, size + bb, pass->pivot);
  if (!is_finite(bb, D) || (L && !is_finite(bb, L)) || (U && !is_finite(bb, U))) return KARST_NOT_FINITE;
  if (reason != KARST_SOUND) return reason;
  divide_block(b, P, L, Q);
  divide_block(b, P, U, W);
  if (factors->times_diagonal) {
    karst_block_multiply(b, P, D, d);
    for (int64_t v = 0; v < bb; v++) P[v] = d[v];
  }
  return is_finite(bb, P) && is_finite(bb, Q) && is_finite(bb, W) ? KARST_SOUND : karst_block_overflow(b);
}

KARST_INLINE void factor_slices(int b, struct pass *pass, karst_index first, karst_index last)
{
  const karst_lines *lines = pass->lines;
  for (karst_index s = first; s < last; s++) {
    bool bad[KARST_LINES_WIDEST] = {false}; /* the lines that have ended at a bad position */
    for (karst_index k = lines->device.step[s]; k < lines->device.step[s + 1]; k++) {
      const int64_t at = (int64_t)k * lines->width;
      const int lanes = karst_lines_active(lines->device.row + at, lines->width);
      for (int l = 0; l < lanes; l++) {
        const karst_reason reason = bad[l] ? KARST_SOUND : factor_slot(b, pass, at + l);
        if (reason == KARST_SOUND) continue;
        bad[l] = true;
        karst_thread_report(&pass->outcome, reason, lines->device.row[at + l]);
      }
    }
  }
}

#define INSTANCE(SUFFIX, B)                                                                                            \
  KARST_KERNEL static void lines_factor_##SUFFIX(struct pass *pass, karst_index first, karst_index last)               \
  {                                                                                                                    \
    factor_slices(B, pass, first, last);                                                                               \
  }
#define INSTANCE_OF(B) INSTANCE(B, B)
KARST_BLOCK_SIZES(INSTANCE_OF)
INSTANCE(any, pass->lines->block_size)
#undef INSTANCE_OF
#undef INSTANCE

karst_status karst_lines_factor_cpu(karst_context *context, const karst_matrix *A, karst_lines_factors *factors,
                                    karst_factor_outcome *outcome)
{
#define ENTRY(B) [B] = lines_factor_##B,
  static void (*const instance[])(struct pass *, karst_index, karst_index) = {lines_factor_any,
                                                                              KARST_BLOCK_SIZES(ENTRY)};
#undef ENTRY
  const karst_lines *lines = factors->lines;
  const karst_lines_cpu *own = factors->plan;
  const int b = lines->block_size, number = b <= KARST_BLOCK_SIZE_LARGEST_INSTANCE ? b : 0;
  karst_thread_outcome all = {.reason = KARST_SOUND, .block_row = lines->rows};
  karst_piece piece =
      karst_begin_at_most(context, KARST_KIND_FACTOR, 3 * karst_block_offset(b, lines->slots), own->threads);
#pragma omp parallel num_threads(piece.threads)
  {
    const int t = karst_thread(), team = karst_team();
    struct pass pass = {.A = A, .lines = lines, .factors = factors, .outcome = all};
    pass.space = own->space + 2 * t * ((int64_t)b * b + b);
    pass.pivot = own->pivot + (int64_t)t * b;
    instance[number](&pass, karst_lines_share(lines, 0, lines->slices, t, team),
                     karst_lines_share(lines, 0, lines->slices, t + 1, team));
#pragma omp critical(karst_lines_factor)
    karst_thread_report(&all, pass.outcome.reason, pass.outcome.block_row);
  }
  karst_end(context, &piece);
  karst_thread_conclude(lines->rows, &all, outcome);
  return KARST_SUCCESS;
}
