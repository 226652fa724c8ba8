/* cost.c - predicts the cost of an order from the pattern alone: how many steps of the triangular solves depend on each
 * other, and how many bytes they move.
 *
 * A row of L waits for rows above it, by level sets through the memory of the device. In tiles, whose rows communicate
 * inside a multiprocessor, a tile waits for tiles. The prediction is the longest chain of such waits plus the bytes
 * over the bandwidth of such sweeps (lib/backend/sweep_time.h). */
#include "config.h"

#include "lib/backend/sweep_time.h"
#include "lib/backend/tile_join.h"
#include "symbolic/symbolic.h"

static const char what[] = "the cost of an order";

/* The strict lower triangle of the factors: of ILU(0) that of A itself. */
struct triangle {
  const karst_index *start, *column; /* ascending columns; those behind the diagonal are not part of it */
  int64_t entries;                   /* of both triangles */
  karst_ilu_pattern pattern;
};

static karst_status make_triangle(karst_context *context, karst_index n, const karst_index *row_start,
                                  const karst_index *column, int level, struct triangle *L)
{
  *L = (struct triangle){.start = row_start, .column = column};
  if (level == 0) {
    for (karst_index i = 0; i < n; i++)
      for (karst_index k = row_start[i]; k < row_start[i + 1]; k++) L->entries += column[k] != i;
    return KARST_SUCCESS;
  }
  karst_status status = karst_ilu_symbolic(context, n, row_start, column, level, &L->pattern);
  if (status) return status;
  L->start = L->pattern.lower_start;
  L->column = L->pattern.lower_column;
  L->entries = (int64_t)L->pattern.lower_start[n] + L->pattern.upper_start[n];
  return KARST_SUCCESS;
}

/* Data of each row, or of each tile. */
struct chains {
  karst_index *level; /* [rows] */
  karst_index *tile;  /* [rows] the tile of each row */
  karst_index *depth; /* [tiles] the level of each tile in the graph of tiles */
  karst_index *size;  /* [rows + 1] rows of each level */
  karst_index *start; /* the first row of each tile of the kernels */
  int *longest;       /* [rows] blocks of the longest row of each slice, or of each level of a tile */
  double *time;       /* [rows] when a row is done, in seconds */
};

/* The tiles of L. */
struct tile_sums {
  int64_t blocks, largest; /* with the padding of the steps, of all tiles and of the largest */
  double seconds, chain;   /* of all tiles, and when the last is done */
};

/* Goes through the rows in order, and counts levels. */
static void count_levels(karst_index n, const struct triangle *L, struct chains *c, karst_order_cost *cost)
{
  for (karst_index l = 0; l <= n; l++) c->size[l] = 0;
  for (karst_index i = 0; i < n; i++) {
    c->level[i] = 0;
    for (karst_index k = L->start[i]; k < L->start[i + 1] && L->column[k] < i; k++) {
      const karst_index j = L->column[k];
      if (c->level[j] >= c->level[i]) c->level[i] = c->level[j] + 1;
      if (c->tile && c->tile[j] != c->tile[i] && c->depth[c->tile[j]] >= c->depth[c->tile[i]])
        c->depth[c->tile[i]] = c->depth[c->tile[j]] + 1;
    }
    if (c->level[i] >= cost->levels) cost->levels = c->level[i] + 1;
    if (++c->size[c->level[i]] > cost->widest_level) cost->widest_level = c->size[c->level[i]];
    if (c->tile && c->depth[c->tile[i]] >= cost->tile_levels) cost->tile_levels = c->depth[c->tile[i]] + 1;
  }
}

/* Returns the rounds of a warp on average (lib/backend/sweep_time.h), which takes group rows in the order of the
 * levels. Leaves size changed. */
static double count_rounds(karst_index n, const struct triangle *L, int b, struct chains *c)
{
  const int group = b < 32 ? 32 / b : 1, parts = karst_ilu_choose_parts(b, n, L->entries / 2);
  const karst_index slices = (n + group - 1) / group;
  double sum = 0;
  for (karst_index i = 0; i < n; i++) c->longest[i] = 0;
  for (karst_index l = 0, first = 0; first < n; l++) {
    const karst_index rows = c->size[l];
    c->size[l] = first;
    first += rows;
  }
  for (karst_index i = 0; i < n; i++) {
    int *longest = &c->longest[c->size[c->level[i]]++ / group], length = 0;
    for (karst_index k = L->start[i]; k < L->start[i + 1] && L->column[k] < i; k++) length++;
    if (length > *longest) *longest = length;
  }
  for (karst_index s = 0; s < slices; s++) sum += karst_sweep_rounds(b, parts, c->longest[s]);
  return slices > 0 ? sum / (double)slices : 0;
}

/* Finds the steps of the tile of rows first .. end - 1, and when it may begin: level by level inside the tile, as many
 * rows at a time as a warp has lanes for. size is 0 and becomes 0 again. */
static void follow_tile(karst_index first, karst_index end, const struct triangle *L, int b, bool share,
                        const karst_machine *machine, struct chains *c, struct tile_sums *sums)
{
  const int width = b < KARST_TILE_LANES ? KARST_TILE_LANES / b : 1;
  int64_t steps = 0, rounds = 0, blocks = 0;
  double begin = 0;
  for (karst_index i = first; i < end; i++) {
    karst_index level = 0, k = L->start[i];
    for (; k < L->start[i + 1] && L->column[k] < i; k++) {
      const karst_index j = L->column[k];
      if (j < first && c->time[j] > begin) begin = c->time[j];
      if (j >= first && c->level[j] >= level) level = c->level[j] + 1;
    }
    const int length = (int)(k - L->start[i]);
    c->level[i] = level;
    if (c->size[level]++ == 0 || length > c->longest[level]) c->longest[level] = length;
  }
  for (karst_index l = 0; l < end - first && c->size[l] > 0; l++) {
    const karst_index full = c->size[l] / width;
    const int rest = (int)(c->size[l] % width);
    steps += full + (rest > 0);
    rounds += full * karst_tile_rounds(b, width, c->longest[l], share);
    if (rest > 0) rounds += karst_tile_rounds(b, rest, c->longest[l], share);
    blocks += (int64_t)c->size[l] * c->longest[l];
    c->size[l] = 0;
  }
  const double seconds = karst_tile_seconds(machine, b, share, steps, rounds);
  for (karst_index i = first; i < end; i++) c->time[i] = begin + seconds;
  sums->blocks += blocks;
  sums->seconds += seconds;
  if (blocks > sums->largest) sums->largest = blocks;
  if (begin + seconds > sums->chain) sums->chain = begin + seconds;
}

/* Predicts the chains of the sweeps by tiles, of which U has one like that of L. */
static karst_status follow_tiles(karst_context *context, const karst_order_system *system, const struct triangle *L,
                                 const karst_machine *machine, struct chains *c, karst_sweep_work *work)
{
  const karst_index n = system->block_rows;
  const int b = system->block_size;
  const karst_tile_limits limits = karst_tile_limits_for(system->tiling, b, L->entries / 2);
  const bool share = karst_tile_rows_are_long(n, L->entries);
  struct tile_sums sums = {0};
  karst_status status;
  if ((status = karst_allocate(context, &c->time, n, sizeof *c->time, what)) ||
      (status = karst_allocate(context, &c->start, karst_tile_most(system->tiling, &limits), sizeof *c->start, what)))
    return status;
  const karst_index tiles = karst_tile_join(system->tiling, &limits, c->start);
  for (karst_index l = 0; l <= n; l++) c->size[l] = 0;
  for (karst_index t = 0; t < tiles; t++) follow_tile(c->start[t], c->start[t + 1], L, b, share, machine, c, &sums);
  work->tile_blocks = 2 * sums.blocks;
  work->chain = 2 * sums.chain;
  work->occupied = 2 * sums.seconds * (double)sums.largest * b * b * (double)sizeof(double);
  return KARST_SUCCESS;
}

/* Predicts the seconds, by tiles if these are asked for or faster. */
static karst_status predict_seconds(karst_context *context, const karst_order_system *system, const struct triangle *L,
                                    const karst_machine *machine, struct chains *c, karst_order_cost *cost)
{
  const double rounds = count_rounds(system->block_rows, L, system->block_size, c);
  karst_sweep_work work = {
      system->block_rows, system->block_size, L->entries, 2 * rounds * (double)cost->levels, 0, 0, 0, false};
  cost->bytes = karst_sweep_bytes(work.block_rows, work.block_size, work.blocks);
  cost->seconds_steps = machine->level_step * work.steps;
  cost->seconds_bytes = karst_sweep_seconds_by_levels(machine, &work) - cost->seconds_steps;
  if (!c->tile || system->level_sets || machine->host) return KARST_SUCCESS;
  const karst_status status = follow_tiles(context, system, L, machine, c, &work);
  if (status) return status;
  const double seconds = karst_sweep_seconds_by_tiles(machine, &work);
  if (!system->by_tiles && seconds > cost->seconds_bytes + cost->seconds_steps) return KARST_SUCCESS;
  cost->seconds_steps = work.chain;
  cost->seconds_bytes = seconds - work.chain;
  return KARST_SUCCESS;
}

karst_status karst_order_predict(karst_context *context, const karst_order_system *system, const karst_machine *machine,
                                 karst_order_cost *cost)
{
  const karst_index n = system->block_rows;
  const karst_tiling *tiling = system->tiling;
  struct triangle L = {0};
  struct chains c = {0};
  karst_status status;
  *cost = (karst_order_cost){0};
  if ((status = make_triangle(context, n, system->row_start, system->column, system->level, &L)) ||
      (status = karst_allocate(context, &c.level, n, sizeof *c.level, what)) ||
      (status = karst_allocate(context, &c.size, (int64_t)n + 1, sizeof *c.size, what)) ||
      (status = karst_allocate(context, &c.longest, n, sizeof *c.longest, what)))
    goto finish;
  if (tiling && tiling->tiles > 0) {
    if ((status = karst_allocate(context, &c.tile, n, sizeof *c.tile, what)) ||
        (status = karst_allocate_zero(context, &c.depth, tiling->tiles, sizeof *c.depth, what)))
      goto finish;
    for (karst_index t = 0; t < tiling->tiles; t++)
      for (karst_index i = tiling->start[t]; i < tiling->start[t + 1]; i++) c.tile[i] = t;
    cost->tiles = tiling->tiles;
    cost->colours = tiling->colours;
  }
  count_levels(n, &L, &c, cost);
  status = predict_seconds(context, system, &L, machine, &c, cost);

finish:
  karst_ilu_pattern_destroy(context, &L.pattern);
  karst_release(context, c.level);
  karst_release(context, c.tile);
  karst_release(context, c.depth);
  karst_release(context, c.size);
  karst_release(context, c.start);
  karst_release(context, c.longest);
  karst_release(context, c.time);
  return status;
}
