/* cost.c - predicts the cost of an order from the pattern alone: how many steps of the triangular solves depend on each
 * other, and how many bytes they move.
 *
 * A row of L waits for rows above it. Rows of a tile communicate inside a multiprocessor, and all others through the
 * memory of the device, which takes longer. The prediction is the longest chain of such waits plus the bytes over the
 * bandwidth of such sweeps. That bandwidth was measured with waits, so it includes the data that stream meanwhile. */
#include "config.h"

#include "lib/backend/machine.h"
#include "symbolic/symbolic.h"

static const char what[] = "the cost of an order";

int64_t karst_order_bytes(karst_index block_rows, int block_size, int64_t blocks)
{
  const int64_t n = block_rows, b = block_size;
  const int64_t scalars =
      (blocks + n) * b * b + 4 * n * b; /* both triangles and D^-1; a vector, read and written twice */
  return scalars * (int64_t)sizeof(double) + (blocks + 2 * (n + 1)) * (int64_t)sizeof(karst_index);
}

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
  float *time;        /* [rows] when a row is done, in seconds */
};

/* Goes through the rows in order. Without tiles each row is a tile. outer, inner: seconds from a row of another tile,
 * or of the same tile, to a row that waits for it. */
static void follow(karst_index n, const struct triangle *L, float outer, float inner, struct chains *c,
                   karst_order_cost *cost)
{
  for (karst_index l = 0; l <= n; l++) c->size[l] = 0;
  for (karst_index i = 0; i < n; i++) {
    const karst_index t = c->tile ? c->tile[i] : i;
    c->level[i] = 0;
    c->time[i] = 0;
    for (karst_index k = L->start[i]; k < L->start[i + 1] && L->column[k] < i; k++) {
      const karst_index j = L->column[k], s = c->tile ? c->tile[j] : j;
      const float done = c->time[j] + (s == t ? inner : outer);
      if (c->level[j] >= c->level[i]) c->level[i] = c->level[j] + 1;
      if (done > c->time[i]) c->time[i] = done;
      if (c->tile && s != t && c->depth[s] >= c->depth[t]) c->depth[t] = c->depth[s] + 1;
    }
    if (c->level[i] >= cost->levels) cost->levels = c->level[i] + 1;
    if (++c->size[c->level[i]] > cost->widest_level) cost->widest_level = c->size[c->level[i]];
    if (c->tile && c->depth[t] >= cost->tile_levels) cost->tile_levels = c->depth[t] + 1;
    if ((double)c->time[i] > cost->seconds_steps) cost->seconds_steps = (double)c->time[i];
  }
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
      (status = karst_allocate(context, &c.time, n, sizeof *c.time, what)))
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
  const bool by_tiles = c.tile && !system->level_sets &&
                        (system->by_tiles || karst_tiles_suit_sweeps(machine, n, tiling->tiles, L.entries));
  const double outer = by_tiles ? machine->outer_step : machine->level_step;
  const double inner = by_tiles ? machine->inner_step : machine->level_step;
  follow(n, &L, (float)outer, (float)inner, &c, cost);
  cost->bytes = karst_order_bytes(n, system->block_size, L.entries);
  cost->seconds_bytes = (double)cost->bytes / (by_tiles ? machine->tile_bandwidth
                                                        : karst_machine_sweep_bandwidth(machine, system->block_size));
  cost->seconds_steps *= 2; /* U has chains like those of L */

finish:
  karst_ilu_pattern_destroy(context, &L.pattern);
  karst_release(context, c.level);
  karst_release(context, c.tile);
  karst_release(context, c.depth);
  karst_release(context, c.size);
  karst_release(context, c.time);
  return status;
}
