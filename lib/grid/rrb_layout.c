/* rrb_layout.c - the grids of the repeated red-black method, the order of the nodes left after its last level, and the
 * memory of all its arrays. See rrb_kernels.h. */
#include "lib/backend/rrb_kernels.h"

enum { PITCH = 16 };

int karst_rrb_levels_max(const karst_index size[2])
{
  int levels = 0;
  for (karst_index longest = size[0] > size[1] ? size[0] : size[1]; longest > 1; longest = longest / 2 + longest % 2)
    levels += 2;
  return levels;
}

static karst_rrb_shape make_shape(karst_index nx, karst_index ny)
{
  karst_rrb_shape shape = {.size = {nx, ny}, .coarse = {nx / 2 + nx % 2, ny / 2 + ny % 2}};
  shape.pitch = ((int64_t)shape.coarse[0] + PITCH) / PITCH * PITCH;
  shape.array = shape.pitch * ((int64_t)shape.coarse[1] + 1);
  return shape;
}

/* Counts the elements of one array on each grid, down to the last. */
static int64_t count_elements(karst_index nx, karst_index ny)
{
  int64_t elements = 0;
  while (nx > 1 || ny > 1) {
    const karst_rrb_shape shape = make_shape(nx, ny);
    elements += shape.array;
    nx = shape.coarse[0];
    ny = shape.coarse[1];
  }
  return elements;
}

bool karst_rrb_turns(const karst_index size[2])
{
  return size[0] < size[1] && count_elements(size[1], size[0]) <= count_elements(size[0], size[1]) / 4 * 3;
}

/* The axis along which the nodes that are left are numbered first: the shorter one. */
static int rest_axis(const karst_index size[2]) { return size[0] <= size[1] ? 0 : 1; }

/* Sets the nodes that are left and their band. In lines of n nodes neighbours are up to n + 1 numbers apart; every two
 * lines have n black nodes, so that black nodes two lines apart are n numbers apart. */
static void lay_out_rest(karst_rrb *rrb)
{
  const karst_index *size = rrb->shape[rrb->levels / 2].size;
  const bool black = rrb->levels % 2 != 0;
  const karst_index nodes = size[0] * size[1], line = size[rest_axis(size)];
  rrb->rest = black ? nodes / 2 + nodes % 2 : nodes;
  rrb->rest_band = black ? line : line + 1;
  if (rrb->rest_band > rrb->rest - 1) rrb->rest_band = rrb->rest - 1;
}

void karst_rrb_lay_out(karst_rrb *rrb)
{
  karst_index nx = rrb->size[0], ny = rrb->size[1];
  rrb->grids = (rrb->levels + 1) / 2;
  for (int m = 0; m <= rrb->grids; m++) {
    rrb->shape[m] = make_shape(nx, ny);
    nx = rrb->shape[m].coarse[0];
    ny = rrb->shape[m].coarse[1];
  }
  lay_out_rest(rrb);
  rrb->reduced = 0;
  if (rrb->nine_point || rrb->levels == 0) return;
  rrb->reduced = rrb->grouped > 0 ? karst_rrb_elements(&rrb->shape[0], 2) : (int64_t)rrb->size[0] * rrb->size[1];
}

void karst_rrb_rest_node(const karst_rrb *rrb, karst_index q, karst_index *i, karst_index *j)
{
  const karst_index *size = rrb->shape[rrb->levels / 2].size;
  const int axis = rest_axis(size);
  const karst_index length = size[axis];
  karst_index line, place;
  if (rrb->levels % 2 == 0) {
    line = q / length;
    place = q % length;
  } else { /* lines 0, 2, ... have their nodes 0, 2, ..., and lines 1, 3, ... their nodes 1, 3, ... */
    const karst_index even = length / 2 + length % 2, left = q % length;
    line = 2 * (q / length) + (left >= even);
    place = left < even ? 2 * left : 2 * (left - even) + 1;
  }
  *i = axis == 0 ? place : line;
  *j = axis == 0 ? line : place;
}

/* The allocation, NULL while its size is counted, and how much of it was given out. */
struct arena {
  double *memory;
  int64_t used;
};

/* Takes the elements of an array, which begins at a multiple of 256 bytes. */
static void *take(struct arena *arena, int64_t elements, bool single)
{
  const int64_t doubles = single ? (elements + 1) / 2 : elements;
  void *memory = arena->memory ? arena->memory + arena->used : NULL;
  arena->used += (doubles + 31) / 32 * 32;
  return memory;
}

static void give_out(const karst_rrb *rrb, struct arena *arena, karst_rrb_arrays *arrays)
{
  const int black = 2 * KARST_RRB_PARTS, all = KARST_RRB_GROUPS * KARST_RRB_PARTS;
  for (int m = 0; m <= rrb->grids; m++) {
    const karst_rrb_shape *shape = &rrb->shape[m];
    arrays->vector[m] = take(arena, karst_rrb_elements(shape, KARST_RRB_GROUPS), false);
    if (m > 0 || rrb->levels == 0) arrays->straight[m] = take(arena, karst_rrb_elements(shape, all), false);
    if (m == rrb->grids) break;
    arrays->skew[m] = take(arena, karst_rrb_elements(shape, black), false);
    const int factored = m == 0 ? KARST_RRB_PARTS : KARST_RRB_FACTORS * KARST_RRB_PARTS;
    arrays->factor[m] = take(arena, karst_rrb_elements(shape, factored), rrb->single);
  }
  if (rrb->grids > 0) arrays->first = take(arena, karst_rrb_elements(&rrb->shape[0], black), false);
  arrays->schur = arrays->skew[0];
}

karst_status karst_rrb_arrays_create(karst_context *context, const karst_rrb *rrb, karst_rrb_arrays *arrays)
{
  struct arena arena = {NULL, 0};
  *arrays = (karst_rrb_arrays){.first = NULL};
  give_out(rrb, &arena, arrays);
  karst_status status = karst_device_doubles(context, arena.used, "rrb", &arrays->memory);
  if (status) return status;
  arrays->bytes = arena.used * (int64_t)sizeof(double);
  context->backend->fill(context, arena.used, 0, arrays->memory);
  arena = (struct arena){arrays->memory, 0};
  give_out(rrb, &arena, arrays);
  return KARST_SUCCESS;
}

void karst_rrb_arrays_destroy(karst_context *context, karst_rrb_arrays *arrays)
{
  context->backend->release(context, arrays->memory);
  *arrays = (karst_rrb_arrays){.first = NULL};
}
