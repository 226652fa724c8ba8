/* rrb_sweeps.c - the two sweeps of the repeated red-black method over a grid stored in groups.
 *
 * A sweep does both levels of a grid and the exchange with the next one while a row is in the cache. Bytes of memory
 * for each place (I, J), with factors of f = 8 or 4 bytes; a write counts twice unless the line was just read:
 *
 *                            forward                                  backward
 *     grid 0, reduced        r 16, l 4 f, next 16                     r 16, l and inverse 5 f, next 8, z 32
 *     other grids            vector 32, l 12 f, b1 8, next 16         vector 24, l and inverse 15 f, next 8, vector 40
 *
 * Grid m + 1 has a quarter of the places of grid m, so that with doubles all grids together move 160 + 344 / 3 bytes
 * for each place of grid 0, and with floats 124 + 236 / 3.
 *
 * Each thread has its own rows. If it needs a row of b1 or b2 of another thread, either that row is computed first,
 * before a barrier, or the dependent work is done last, after one. */
#include "cpu/rrb/rrb_sweeps.h"

#include <string.h>

enum { TILE = 512 /* places of a row at a time: even */ };

/* Where the next grid's vector is. */
struct next {
  double *natural; /* row by row, or NULL */
  const karst_rrb_shape *shape;
  double *vector;
};

static struct next next_of(const karst_rrb_pass *pass)
{
  const karst_rrb_cpu *plan = pass->rrb->plan;
  const karst_rrb_shape *shape = &pass->rrb->shape[pass->grid + 1];
  if (pass->grid + 1 == pass->rrb->grouped && plan->naive) return (struct next){plan->naive->vector, shape, NULL};
  return (struct next){NULL, shape, plan->arrays.vector[pass->grid + 1] + shape->pitch};
}

/* Whether b2 goes to a next grid, which is when the grid's second level is done. */
static bool has_next(const karst_rrb_pass *pass) { return 2 * pass->grid + 2 <= pass->rrb->levels; }

static karst_rrb_sweep sweep_of(const karst_rrb_pass *pass)
{
  const karst_rrb *rrb = pass->rrb;
  const karst_rrb_cpu *plan = rrb->plan;
  const karst_rrb_shape *shape = &rrb->shape[pass->grid];
  karst_rrb_sweep sweep = {.shape = shape};
  for (int e = 0; e < KARST_RRB_FACTORS; e++) {
    const bool first = pass->grid == 0 && e != KARST_RRB_FACTOR_B1;
    sweep.single[e] = rrb->single && !first;
    for (int part = 0; part < KARST_RRB_PARTS; part++) {
      const int64_t at = karst_rrb_factor_array(rrb, pass->grid, e, part);
      if (first)
        sweep.l[e][part] = plan->arrays.first + at;
      else if (rrb->single)
        sweep.l[e][part] = (const float *)plan->arrays.factor[pass->grid] + at;
      else
        sweep.l[e][part] = (const double *)plan->arrays.factor[pass->grid] + at;
    }
  }
  for (int g = 0; g < (pass->red ? KARST_RRB_GROUPS : 2); g++) {
    sweep.from[g] = pass->from + g * shape->array;
    sweep.to[g] = pass->to + g * shape->array;
  }
  return sweep;
}

/* Stores row J of b2, places first to first + n - 1, as row J of the next grid. first is even. */
static void pass_down_row(const struct next *next, int64_t J, int64_t first, int64_t n, const double *row)
{
  const int64_t array = next->shape->array, at = J / 2 * next->shape->pitch + first / 2;
  if (next->natural)
    memcpy(next->natural + J * next->shape->size[0] + first, row, (size_t)n * sizeof *row);
  else if (J % 2 == 0)
    karst_rrb_split(n, row, next->vector + KARST_RRB_B2 * array + at, next->vector + KARST_RRB_R1 * array + at);
  else
    karst_rrb_split(n, row, next->vector + KARST_RRB_R2 * array + at, next->vector + KARST_RRB_B1 * array + at);
}

static void get_row(const struct next *next, int64_t J, double *row)
{
  const int64_t n = next->shape->size[0], array = next->shape->array, at = J / 2 * next->shape->pitch;
  if (next->natural)
    memcpy(row, next->natural + J * n, (size_t)n * sizeof *row);
  else if (J % 2 == 0)
    karst_rrb_join(n, next->vector + KARST_RRB_B2 * array + at, next->vector + KARST_RRB_R1 * array + at, row);
  else
    karst_rrb_join(n, next->vector + KARST_RRB_R2 * array + at, next->vector + KARST_RRB_B1 * array + at, row);
}

/* The scalars that a sweep reads. */
static int64_t work_of(const karst_rrb_pass *pass)
{
  const karst_rrb_shape *shape = &pass->rrb->shape[pass->grid];
  return (int64_t)shape->coarse[0] * shape->coarse[1] * (pass->red ? 16 : 6);
}

static void forward_b1(const karst_rrb_sweep *sweep, int64_t J)
{
  if (J < karst_rrb_nodes(sweep->shape, 1, 1))
    karst_rrb_red_to_b1(sweep, J * sweep->shape->pitch, karst_rrb_nodes(sweep->shape, 0, 1));
}

/* Row J of b2: subtracts the contributions of b1, and passes it on to the next grid if there is one. */
static void forward_b2(const karst_rrb_pass *pass, const karst_rrb_sweep *sweep, const struct next *next, int64_t J)
{
  const int64_t count = karst_rrb_nodes(sweep->shape, 0, 0), at = J * sweep->shape->pitch;
  double tile[TILE];
  if (!has_next(pass)) {
    karst_rrb_red_to_b2(sweep, at, count, sweep->to[KARST_RRB_B2] + at);
    return;
  }
  for (int64_t first = 0; first < count; first += TILE) {
    const int64_t n = count - first < TILE ? count - first : TILE;
    if (pass->red) karst_rrb_red_to_b2(sweep, at + first, n, tile);
    karst_rrb_b1_to_b2(sweep, at + first, n, pass->red ? tile : sweep->from[KARST_RRB_B2] + at + first, tile);
    pass_down_row(next, J, first, n, tile);
  }
}

void karst_rrb_forward_cpu(karst_context *context, const karst_rrb_pass *pass)
{
  const karst_rrb_sweep sweep = sweep_of(pass);
  const struct next next = next_of(pass);
  const int64_t rows = sweep.shape->coarse[1];
  karst_barrier barrier = {0};
  karst_piece piece = karst_begin(context, KARST_KIND_FORWARD, work_of(pass));
#pragma omp parallel num_threads(piece.threads)
  {
    const int64_t begin = karst_share(rows, karst_thread(), karst_team());
    const int64_t end = karst_share(rows, karst_thread() + 1, karst_team());
    if (pass->red) {
      if (begin < end) forward_b1(&sweep, end - 1);
      karst_barrier_wait(&barrier, karst_team());
    }
    for (int64_t J = begin; J < end; J++) {
      if (pass->red && J < end - 1) forward_b1(&sweep, J);
      forward_b2(pass, &sweep, &next, J);
    }
  }
  karst_end(context, &piece);
}

/* Clears what the rows of the two black groups do not write: their guards, and the last row of b1 if the number of rows
 * of nodes is odd. */
static void clear_guards(const karst_rrb_sweep *sweep)
{
  const karst_rrb_shape *shape = sweep->shape;
  const size_t bytes = (size_t)shape->pitch * sizeof(double);
  memset(sweep->to[KARST_RRB_B2] - shape->pitch, 0, bytes);
  memset(sweep->to[KARST_RRB_B1] - shape->pitch, 0, bytes);
  memset(sweep->to[KARST_RRB_B1] + shape->array - shape->pitch, 0, bytes);
  if (shape->size[1] % 2) memset(sweep->to[KARST_RRB_B1] + shape->array - 2 * shape->pitch, 0, bytes);
}

static void clear_pads(const karst_rrb_sweep *sweep, karst_rrb_group group, int64_t J)
{
  const int64_t n = karst_rrb_nodes(sweep->shape, 0, group == KARST_RRB_B1);
  memset(sweep->to[group] + J * sweep->shape->pitch + n, 0, (size_t)(sweep->shape->pitch - n) * sizeof(double));
}

static void backward_b2(const karst_rrb_pass *pass, const karst_rrb_sweep *sweep, const struct next *next, int64_t J)
{
  get_row(next, J, sweep->to[KARST_RRB_B2] + J * sweep->shape->pitch);
  if (!pass->red) clear_pads(sweep, KARST_RRB_B2, J);
}

static void backward_b1(const karst_rrb_pass *pass, const karst_rrb_sweep *sweep, int64_t J)
{
  if (J >= karst_rrb_nodes(sweep->shape, 1, 1)) return;
  karst_rrb_b1_back(sweep, J * sweep->shape->pitch, karst_rrb_nodes(sweep->shape, 0, 1));
  if (!pass->red) clear_pads(sweep, KARST_RRB_B1, J);
}

static void backward_r1(const karst_rrb_sweep *sweep, int64_t J)
{
  karst_rrb_r1_back(sweep, J * sweep->shape->pitch, karst_rrb_nodes(sweep->shape, 0, 1));
}

static void backward_r2(const karst_rrb_sweep *sweep, int64_t J)
{
  if (J < karst_rrb_nodes(sweep->shape, 1, 1))
    karst_rrb_r2_back(sweep, J * sweep->shape->pitch, karst_rrb_nodes(sweep->shape, 0, 0));
}

/* Adds the contribution of row J to a sum. */
static void add_row(const karst_rrb_sweep *sweep, const double *original, int64_t J, double *lane)
{
  const int64_t at = J * sweep->shape->pitch, n = sweep->shape->pitch;
  karst_rrb_add_dot(n, original + at, sweep->to[KARST_RRB_B2] + at, lane);
  karst_rrb_add_dot(n, original + sweep->shape->array + at, sweep->to[KARST_RRB_B1] + at, lane);
}

/* Computes row J of a thread with rows begin to end - 1, except r1 of row begin: another thread may still be computing
 * b1 below it. b2 of rows begin and end is there already. */
static void backward_row(const karst_rrb_pass *pass, const karst_rrb_sweep *sweep, const struct next *next, int64_t J,
                         int64_t begin, int64_t end)
{
  if (has_next(pass)) {
    if (J + 1 < end) backward_b2(pass, sweep, next, J + 1);
    backward_b1(pass, sweep, J);
  }
  if (!pass->red) return;
  backward_r2(sweep, J);
  if (J > begin) backward_r1(sweep, J);
}

/* Goes through the segments first to last - 1 of the rows, which are those of one thread. */
static void backward_segments(const karst_rrb_pass *pass, const karst_rrb_sweep *sweep, const struct next *next,
                              int first, int last, const double *original, double *partial)
{
  const int64_t rows = sweep->shape->coarse[1];
  const int64_t begin = karst_share(rows, first, KARST_RRB_SEGMENTS), end = karst_share(rows, last, KARST_RRB_SEGMENTS);
  for (int s = first; s < last; s++) {
    const int64_t until = karst_share(rows, s + 1, KARST_RRB_SEGMENTS);
    double lane[KARST_RRB_LANES] = {0};
    for (int64_t J = karst_share(rows, s, KARST_RRB_SEGMENTS); J < until; J++) {
      backward_row(pass, sweep, next, J, begin, end);
      if (original) add_row(sweep, original, J, lane);
    }
    partial[s] = karst_rrb_add_lanes(lane);
  }
}

double karst_rrb_backward_cpu(karst_context *context, const karst_rrb_pass *pass, const double *original)
{
  const karst_rrb_sweep sweep = sweep_of(pass);
  const struct next next = next_of(pass);
  const int64_t rows = sweep.shape->coarse[1];
  double partial[KARST_RRB_SEGMENTS], sum = 0;
  karst_barrier barrier = {0};
  if (!pass->red) clear_guards(&sweep);
  karst_piece piece = karst_begin(context, KARST_KIND_BACKWARD, work_of(pass));
#pragma omp parallel num_threads(piece.threads)
  {
    const int first = (int)karst_share(KARST_RRB_SEGMENTS, karst_thread(), karst_team());
    const int last = (int)karst_share(KARST_RRB_SEGMENTS, karst_thread() + 1, karst_team());
    const int64_t begin = karst_share(rows, first, KARST_RRB_SEGMENTS);
    const bool some = begin < karst_share(rows, last, KARST_RRB_SEGMENTS);
    if (has_next(pass)) {
      if (some) backward_b2(pass, &sweep, &next, begin);
      karst_barrier_wait(&barrier, karst_team());
    }
    backward_segments(pass, &sweep, &next, first, last, original, partial);
    if (pass->red) {
      karst_barrier_wait(&barrier, karst_team());
      if (some) backward_r1(&sweep, begin);
    }
  }
  karst_end(context, &piece);
  for (int s = 0; s < KARST_RRB_SEGMENTS; s++) sum += partial[s];
  return sum;
}
