/* boxes.c - cuts a grid into boxes of cells, sorts the boxes into levels, and goes through them with several threads.
 *
 * Boxes of one cell are the coarse-grained wavefront of Luo, Edwards, Luo and Mueller (A fine-grained block ILU scheme
 * on regular structures for GPGPUs, Algorithms 2 and 3). Boxes of a line of cells are better on a few cores: a thread
 * streams through the matrix, and there are far fewer levels to wait for. */
#include "cpu/fgbilu/fgbilu_cpu.h"

#include "symbolic/symbolic.h"

/* The bounds of the number of cells in a box of lines, as for the runs of symbolic/ilu/schedule.c: shorter boxes do not
 * pay for their place in the schedule, longer ones delay the boxes that depend on them. */
enum { SHORTEST_BOX = 32, LONGEST_BOX = 128 };
/* The cost of a barrier, about half a microsecond, in scalars that a thread works through in that time. */
enum { BARRIER_SCALARS = 500 };

static karst_index divide_up(karst_index count, karst_index by) { return count / by + (count % by > 0); }

/* The cells of one line form a chain, so that no two of them can run at the same time. A box therefore has whole lines,
 * unless these are too long. */
static void choose_edges(const karst_index size[3], karst_index edge[2])
{
  edge[0] = divide_up(size[0], divide_up(size[0], LONGEST_BOX));
  edge[1] = edge[0] < SHORTEST_BOX ? divide_up(SHORTEST_BOX, edge[0]) : 1;
  if (edge[1] > size[1]) edge[1] = size[1];
}

static karst_status sort_boxes(karst_context *context, karst_index boxes, karst_boxes *made)
{
  karst_index *level;
  karst_status status = karst_allocate(context, &level, boxes, sizeof *level, "the boxes of a grid");
  if (status) return status;
  for (karst_index i = 0; i < boxes; i++) {
    const karst_cell box = karst_grid_cell(made->count, i);
    level[i] = box.position[0] + box.position[1] + box.position[2];
  }
  karst_levels_group(boxes, level, made->levels, made->level_start, made->box);
  karst_release(context, level);
  return KARST_SUCCESS;
}

/* Makes the boxes of at most edge[0] by edge[1] cells along x and y. */
static karst_status cut_grid(karst_context *context, const karst_index size[3], const karst_index edge[2],
                             karst_boxes *boxes)
{
  const char *what = "the boxes of a grid";
  for (int axis = 0; axis < 3; axis++) boxes->count[axis] = axis < 2 ? divide_up(size[axis], edge[axis]) : size[axis];
  boxes->edge[0] = edge[0];
  boxes->edge[1] = edge[1];
  boxes->levels = boxes->count[0] - 1 + (boxes->count[1] - 1) + boxes->count[2];
  const karst_index count = karst_grid_cells(boxes->count);
  karst_status status =
      karst_allocate(context, &boxes->level_start, (int64_t)boxes->levels + 1, sizeof *boxes->level_start, what);
  if (!status) status = karst_allocate(context, &boxes->box, count, sizeof *boxes->box, what);
  return status ? status : sort_boxes(context, count, boxes);
}

void karst_boxes_destroy(karst_context *context, karst_boxes *boxes)
{
  karst_release(context, boxes->level_start);
  karst_release(context, boxes->box);
  *boxes = (karst_boxes){.levels = 0};
}

/* Returns whether the threads should go faster through the boxes than one through the cells. work: scalars in each
 * cell. The gain must be a fifth at least, because what another thread has just written costs more to read. */
static bool boxes_pay(const karst_boxes *boxes, int64_t work, int threads)
{
  const double box = (double)boxes->edge[0] * (double)boxes->edge[1] * (double)work;
  const double all = (double)karst_grid_cells(boxes->count) * box;
  double parallel = BARRIER_SCALARS * (double)boxes->levels;
  for (karst_index level = 0; level < boxes->levels; level++)
    parallel += (double)divide_up(boxes->level_start[level + 1] - boxes->level_start[level], threads) * box;
  return parallel <= 0.8 * all;
}

karst_status karst_boxes_make(karst_context *context, karst_fgbilu_style style, karst_fgbilu_analysis *analysis)
{
  karst_fgbilu_schedule *schedule = analysis->plan;
  const karst_index *size = analysis->cells.size;
  const int64_t bb = (int64_t)analysis->block_size * analysis->block_size;
  karst_index edge[2] = {1, 1};
  if (style != KARST_FGBILU_WAVEFRONT) choose_edges(size, edge);
  karst_status status = cut_grid(context, size, edge, &schedule->boxes);
  if (status) return status;
  if (style != KARST_FGBILU_WAVEFRONT && !boxes_pay(&schedule->boxes, 4 * bb, schedule->threads)) {
    karst_boxes_destroy(context, &schedule->boxes);
    schedule->threads = 1;
    return KARST_SUCCESS;
  }
  const int64_t count = (int64_t)karst_grid_cells(schedule->boxes.count) + schedule->boxes.levels + 1;
  analysis->plan_memory += count * (int64_t)sizeof(karst_index);
  return KARST_SUCCESS;
}

/* Takes the lines of a box. */
static void take_box(const karst_boxes *boxes, karst_index number, karst_fgbilu_line *line,
                     const karst_fgbilu_pass *pass, bool backward)
{
  const karst_index *size = pass->cells->size;
  if (boxes->edge[0] * boxes->edge[1] == 1) { /* the box is the cell of its number */
    line(pass, number, number + 1);
    return;
  }
  const karst_cell box = karst_grid_cell(boxes->count, number);
  const karst_index x = box.position[0] * boxes->edge[0], y = box.position[1] * boxes->edge[1];
  const karst_index width = size[0] - x < boxes->edge[0] ? size[0] - x : boxes->edge[0];
  const karst_index lines = size[1] - y < boxes->edge[1] ? size[1] - y : boxes->edge[1];
  for (karst_index i = 0; i < lines; i++) {
    const karst_index first = x + size[0] * (y + (backward ? lines - 1 - i : i) + size[1] * box.position[2]);
    line(pass, first, first + width);
  }
}

/* Takes this thread's share of each level, and waits for the others after each. */
static void take_levels(const karst_boxes *boxes, karst_fgbilu_line *line, const karst_fgbilu_pass *pass, bool backward,
                        karst_barrier *barrier)
{
  for (karst_index i = 0; i < boxes->levels; i++) {
    const karst_index level = backward ? boxes->levels - 1 - i : i, first = boxes->level_start[level];
    const int64_t count = boxes->level_start[level + 1] - first;
    const karst_index end = first + (karst_index)karst_share(count, karst_thread() + 1, karst_team());
    if (i > 0) karst_barrier_wait(barrier, karst_team());
    for (karst_index k = first + (karst_index)karst_share(count, karst_thread(), karst_team()); k < end; k++)
      take_box(boxes, boxes->box[k], line, pass, backward);
  }
}

karst_fgbilu_pass karst_fgbilu_begin(const karst_matrix *A, const karst_fgbilu *fgbilu)
{
  const karst_structured *cells = &fgbilu->analysis->cells;
  const karst_fgbilu_space *space = fgbilu->plan;
  const karst_index layer = cells->size[0] * cells->size[1];
  return (karst_fgbilu_pass){.A = A,
                             .cells = cells,
                             .block_size = A->block_size,
                             .stride = {-layer, -cells->size[0], -1, 1, cells->size[0], layer},
                             .pivoting = fgbilu->pivoting,
                             .value = A->value,
                             .factor = fgbilu->factor,
                             .value_float = fgbilu->value_float,
                             .factor_float = fgbilu->factor_float,
                             .exchange = space->exchange};
}

void karst_fgbilu_traverse(karst_context *context, karst_kind kind, const karst_fgbilu *fgbilu, karst_fgbilu_line *line,
                           const karst_fgbilu_pass *pass, bool backward)
{
  enum { BLOCKS = 4 }; /* blocks of a cell in a sweep: the diagonal one and three couplings */
  const karst_fgbilu_schedule *schedule = fgbilu->analysis->plan;
  const karst_fgbilu_space *space = fgbilu->plan;
  const karst_boxes *boxes = &schedule->boxes;
  karst_piece piece = karst_begin(context, kind, karst_block_offset(pass->block_size, BLOCKS * pass->cells->rows));
  karst_barrier barrier = {0};
  if (piece.threads > schedule->threads) piece.threads = schedule->threads;
  if (boxes->levels == 0 || (piece.threads == 1 && boxes->edge[0] * boxes->edge[1] > 1)) {
    karst_fgbilu_pass alone = *pass;
    alone.workspace = &space->workspace[0];
    line(&alone, 0, karst_grid_cells(pass->cells->size));
  } else {
#pragma omp parallel num_threads(piece.threads)
    {
      karst_fgbilu_pass mine = *pass;
      mine.workspace = &space->workspace[karst_thread()];
      take_levels(boxes, line, &mine, backward, &barrier);
    }
  }
  karst_end(context, &piece);
}
