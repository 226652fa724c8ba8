/* factor.c - the factorization of the repeated red-black method: each grid, then the remaining nodes; and its
 * outcome. */
#include "cpu/rrb/levels.h"

#include <math.h>

/* The matrix, the grid that is factored, and the combined outcome of the threads. */
struct sweep {
  const karst_matrix *A;
  const karst_rrb *rrb;
  int m;
  int steps; /* 2 where b1 is not eliminated, else 4 */
  int64_t bad[2];
  karst_index unsymmetric, not_finite;
};

static void do_step(const struct sweep *sweep, int step, int64_t J, karst_rrb_rows *rows)
{
  const int m = sweep->m;
  if (step == 0 && m == 0) karst_rrb_red_matrix(sweep->A, sweep->rrb, J, rows);
  if (step == 0 && m > 0) karst_rrb_red_straight(sweep->rrb, m, J, rows);
  if (step == 1) karst_rrb_black(sweep->rrb, m, J);
  if (step == 2) karst_rrb_factor_diagonal(sweep->rrb, m, J, rows);
  if (step == 3) karst_rrb_next_grid(sweep->rrb, m, J, rows);
}

/* The share of a thread: rows begin to end - 1, and whether it is the first or the last share. */
struct share {
  int64_t begin, end;
  bool first, last;
};

enum { STEPS = 4 };

/* Whether a step in row J needs no rows of other shares. */
static bool is_between(const struct share *share, int step, int64_t J)
{
  static const int low[STEPS] = {0, 1, 2, 3}, high[STEPS] = {0, 1, 1, 1};
  return J >= share->begin + (share->first ? 0 : low[step]) && J < share->end - (share->last ? 0 : high[step]);
}

/* Factors the rows of this thread, those at the seams with other shares last. All threads of the team call it. */
static void sweep_share(const struct sweep *sweep, const struct share *share, karst_rrb_rows *rows)
{
  if (sweep->m == 0 && share->begin > 0)
    karst_rrb_line_read(sweep->A, sweep->rrb, (karst_index)(2 * share->begin - 1), rows->line[1]);
  for (int64_t J = share->begin; J <= share->end; J++) {
    if (J < share->end) do_step(sweep, 0, J, rows);
    for (int step = 1; step < sweep->steps; step++)
      if (J > share->begin && is_between(share, step, J - 1)) do_step(sweep, step, J - 1, rows);
  }
  for (int step = 1; step < sweep->steps; step++) {
#pragma omp barrier
    for (int64_t J = share->begin; J < share->end; J++)
      if (!is_between(share, step, J)) do_step(sweep, step, J, rows);
  }
}

/* As many threads as there is memory and work for. */
static karst_piece begin(karst_context *context, const struct sweep *sweep)
{
  const karst_rrb_shape *shape = &sweep->rrb->shape[sweep->m];
  const int room = ((const karst_rrb_cpu *)sweep->rrb->plan)->threads;
  karst_piece piece = karst_begin_at_most(context, KARST_KIND_FACTOR, 10 * shape->array, room);
  if (shape->coarse[1] / KARST_RRB_LEAST_ROWS < piece.threads) piece.threads = 1;
  return piece;
}

/* The smaller of two numbers, where -1 means not set. */
static karst_index smaller(karst_index a, karst_index b) { return a < 0 || (b >= 0 && b < a) ? b : a; }

static void sweep_grid(karst_context *context, struct sweep *sweep)
{
  const karst_rrb *rrb = sweep->rrb;
  const karst_rrb_cpu *plan = rrb->plan;
  const int64_t J_end = rrb->shape[sweep->m].coarse[1], pitch = rrb->shape[0].pitch;
  karst_piece piece = begin(context, sweep);
#pragma omp parallel num_threads(piece.threads)
  {
    const karst_part part = karst_part_begin(&piece, (karst_index)J_end);
    const int thread = karst_thread(), team = karst_team();
    double *room = plan->lines + thread * karst_rrb_line_elements(rrb);
    karst_rrb_rows rows = {
        {room, room + 2 * KARST_RRB_SLOTS * pitch}, room + 4 * KARST_RRB_SLOTS * pitch, {0, 0}, -1, -1};
    const struct share share = {karst_share(J_end, thread, team), karst_share(J_end, thread + 1, team), thread == 0,
                                thread == team - 1};
    sweep_share(sweep, &share, &rows);
    karst_part_end(&piece, &part);
#pragma omp critical(karst_rrb_found)
    {
      sweep->bad[0] += rows.bad[0];
      sweep->bad[1] += rows.bad[1];
      sweep->unsymmetric = smaller(sweep->unsymmetric, rows.unsymmetric);
      sweep->not_finite = smaller(sweep->not_finite, rows.not_finite);
    }
  }
  karst_end(context, &piece);
}

/* 1 / d of an eliminated node: 0 for a pivot of 0, and NaN for one that is not finite or too large for a float. */
static double inverse_of(const karst_rrb *rrb, int m, int e, int64_t I, int64_t J)
{
  const karst_rrb_arrays *arrays = &((karst_rrb_cpu *)rrb->plan)->arrays;
  const int64_t at = karst_rrb_factor_array(rrb, m, e, KARST_RRB_INVERSE) + I + J * rrb->shape[m].pitch;
  if (m == 0 && e != KARST_RRB_FACTOR_B1) return arrays->first[at];
  return rrb->single ? (double)((const float *)arrays->factor[m])[at] : ((const double *)arrays->factor[m])[at];
}

/* Finds the first bad pivot of a level of grid m. Returns false if all are good. */
static bool find_bad(const karst_rrb *rrb, int m, int level, karst_rrb_outcome *outcome)
{
  const karst_rrb_shape *shape = &rrb->shape[m];
  const bool red = level == 2 * m + 1;
  for (karst_index j = 0; j < shape->size[1]; j++)
    for (karst_index i = 0; i < shape->size[0]; i++) {
      if (red ? i % 2 == j % 2 : i % 2 == 0 || j % 2 == 0) continue;
      const int e = !red ? KARST_RRB_FACTOR_B1 : i % 2 ? KARST_RRB_FACTOR_R1 : KARST_RRB_FACTOR_R2;
      const double inverse = inverse_of(rrb, m, e, i / 2, j / 2);
      if ((inverse > 0 && inverse < INFINITY) || !karst_rrb_has_node(rrb, m, i, j)) continue;
      const karst_reason reason = karst_rrb_pivot_reason(inverse < INFINITY ? inverse : NAN);
      *outcome = (karst_rrb_outcome){reason, level, karst_rrb_node(rrb, m, i, j), -1};
      return true;
    }
  return false;
}

/* Factors the grids in groups. Returns false if an entry or a pivot is bad. */
static bool factor_grids(karst_context *context, const karst_matrix *A, const karst_rrb *rrb,
                         karst_rrb_outcome *outcome)
{
  for (int m = 0; m < rrb->grouped; m++) {
    struct sweep sweep = {
        .A = A, .rrb = rrb, .m = m, .steps = 2 * m + 2 <= rrb->levels ? 4 : 2, .unsymmetric = -1, .not_finite = -1};
    sweep_grid(context, &sweep);
    outcome->unsymmetric = sweep.unsymmetric;
    if (sweep.unsymmetric >= 0) return false;
    if (sweep.not_finite >= 0) *outcome = karst_rrb_entry_outcome(sweep.not_finite);
    if (sweep.not_finite >= 0) return false;
    for (int level = 0; level < 2; level++)
      if (sweep.bad[level] > 0 && find_bad(rrb, m, 2 * m + 1 + level, outcome)) return false;
  }
  return true;
}

static void factor_rest(const karst_matrix *A, const karst_rrb *rrb, karst_rrb_outcome *outcome)
{
  const karst_rrb_cpu *plan = rrb->plan;
  karst_index i, j;
  if (rrb->levels > 0) {
    karst_rrb_gather_cpu(rrb);
  } else { /* a grid of one node */
    karst_rrb_line_read(A, rrb, 0, plan->lines);
    plan->band[0] = plan->lines[0];
    if (!isfinite(plan->band[0])) *outcome = karst_rrb_entry_outcome(0);
    if (!isfinite(plan->band[0])) return;
  }
  const karst_index q = karst_rrb_rest_factor_cpu(rrb->rest, rrb->rest_band, plan->band);
  if (q < 0) return;
  karst_rrb_rest_node(rrb, q, &i, &j);
  const double inverse = plan->band[(int64_t)q * (rrb->rest_band + 1) + rrb->rest_band];
  *outcome = (karst_rrb_outcome){karst_rrb_pivot_reason(inverse), rrb->levels + 1,
                                 karst_rrb_node(rrb, rrb->levels / 2, i, j), -1};
}

karst_status karst_rrb_factor_cpu(karst_context *context, const karst_matrix *A, karst_rrb *rrb,
                                  karst_rrb_outcome *outcome)
{
  const karst_rrb_cpu *plan = rrb->plan;
  *outcome = (karst_rrb_outcome){KARST_SOUND, 0, -1, -1};
  if (karst_rrb_is_naive(rrb) ? !karst_rrb_naive_kernels.load(A, rrb, outcome)
                              : !factor_grids(context, A, rrb, outcome))
    return KARST_SUCCESS;
  if (plan->naive)
    karst_rrb_naive_kernels.factor(rrb, outcome);
  else
    factor_rest(A, rrb, outcome);
  return KARST_SUCCESS;
}
