/* weigh.c - the weights of CPR on the CPU. Threads share the cells. The blocks of a column are summed in the order of
 * their rows. */
#include "cpu/cpr/cpr_cpu.h"

#include <string.h>

/* The work space of a thread. */
struct room {
  double *block;   /* [b*b] the sum of a block column */
  double *size;    /* [b*b] its size, see lib/backend/dense.h */
  double *inverse; /* [b*b] */
  double *work;    /* [2 b] for the inversion */
  int *pivot;      /* [b] the same */
};

static inline __attribute__((always_inline)) struct room room_in(int b, double *memory, int *pivot)
{
  const int64_t bb = (int64_t)b * b;
  return (struct room){memory, memory + bb, memory + 2 * bb, memory + 3 * bb, pivot};
}

/* What all threads work on. */
struct task {
  const karst_matrix *A;
  const karst_cpr *cpr;
  karst_cpr_weights weights;
  const double *given;
  const double *parts; /* of column sums, from other ranks; or NULL */
};

/* What a thread has counted. */
struct tally {
  int64_t guarded, singular, suspect;
};

/* Blocks of a column, and diagonal blocks, are far apart, and the processor does not find the next ones by itself: in
 * 264,000 cells with b = 3, column-sum weights take 39 ms of a core with this and 115 ms without. */
enum { CELLS_AHEAD = 4, BLOCKS_AHEAD = 24 };

/* Prefetches block number list[at], unless it is beyond the list. */
KARST_INLINE void prefetch(int b, const karst_matrix *A, const karst_index *list, int64_t at, int64_t count)
{
  const int64_t bytes = karst_block_offset(b, 1) * (int64_t)sizeof(double);
  if (b <= KARST_BLOCK_SIZE_LARGEST_INSTANCE && at < count)
    karst_prefetch(A->value + karst_block_offset(b, list[at]), bytes, 0);
}

/* Adds what other ranks have summed of column j. Each part comes with its own size. */
KARST_INLINE void add_parts(int64_t bb, const struct task *task, karst_index j, const struct room *room)
{
  const karst_columns *columns = task->cpr->columns;
  for (karst_index e = columns->part_start[j]; e < columns->part_start[j + 1]; e++) {
    const double *part = task->parts + 2 * bb * columns->part[e];
    for (int64_t v = 0; v < bb; v++) {
      room->block[v] += part[v];
      room->size[v] += part[bb + v] + fabs(room->block[v]);
    }
  }
}

KARST_INLINE void sum_column(int b, const struct task *task, karst_index j, const struct room *room)
{
  const int64_t bb = (int64_t)b * b;
  const karst_cpr_plan *plan = karst_cpr_plan_of(task->cpr);
  for (int64_t v = 0; v < bb; v++) room->block[v] = room->size[v] = 0;
  for (karst_index e = plan->start[j]; e < plan->start[j + 1]; e++) {
    const double *block = task->A->value + bb * plan->block[e];
    prefetch(b, task->A, plan->block, (int64_t)e + BLOCKS_AHEAD, plan->start[task->cpr->rows]);
    for (int64_t v = 0; v < bb; v++) {
      room->block[v] += block[v];
      room->size[v] += fabs(room->block[v]);
    }
  }
  if (task->parts) add_parts(bb, task, j, room);
}

KARST_INLINE void weigh_cells(int b, const struct task *task, karst_index first, karst_index last,
                              const struct room *room, struct tally *tally)
{
  const karst_cpr *cpr = task->cpr;
  const karst_index *diagonal = karst_cpr_plan_of(cpr)->diagonal;
  for (karst_index i = first; i < last; i++) {
    const double *own = task->A->value + karst_block_offset(b, diagonal[i]), *block = own, *size = own;
    prefetch(b, task->A, diagonal, (int64_t)i + CELLS_AHEAD, task->cpr->rows);
    if (task->weights == KARST_CPR_TRUE_IMPES) block = size = task->given + karst_block_offset(b, i);
    if (task->weights == KARST_CPR_COLUMN_SUM) {
      sum_column(b, task, i, room);
      block = room->block;
      size = room->size;
    }
    const int happened = karst_cpr_weigh_cell(b, cpr->pressure, block, size, own, room->inverse, room->work,
                                              room->pivot, cpr->weight + (int64_t)i * b);
    tally->guarded += (happened & KARST_CPR_CELL_GUARDED) != 0;
    tally->singular += (happened & KARST_CPR_CELL_SINGULAR) != 0;
    tally->suspect += (happened & KARST_CPR_CELL_SUSPECT) != 0;
  }
}

typedef void cells_function(const struct task *task, karst_index first, karst_index last, int thread,
                            struct tally *tally);

#define INSTANCE(B)                                                                                                    \
  KARST_KERNEL static void cpr_weigh_##B(const struct task *task, karst_index first, karst_index last, int thread,     \
                                         struct tally *tally)                                                          \
  {                                                                                                                    \
    double memory[3 * (B) * (B) + 2 * (B)];                                                                            \
    int pivot[B];                                                                                                      \
    const struct room room = room_in(B, memory, pivot);                                                                \
    (void)thread;                                                                                                      \
    weigh_cells(B, task, first, last, &room, tally);                                                                   \
  }
KARST_BLOCK_SIZES(INSTANCE)
#undef INSTANCE

static struct room room_of(const karst_cpr *cpr, int thread)
{
  const karst_cpr_plan *plan = karst_cpr_plan_of(cpr);
  const int64_t b = cpr->block_size;
  return room_in(cpr->block_size, plan->room + thread * (3 * b * b + 2 * b), plan->pivot + thread * b);
}

KARST_KERNEL static void cpr_weigh_any(const struct task *task, karst_index first, karst_index last, int thread,
                                       struct tally *tally)
{
  const struct room room = room_of(task->cpr, thread);
  weigh_cells(task->cpr->block_size, task, first, last, &room, tally);
}

/* Computes the weights of all cells. */
static void run(karst_context *context, const struct task *task, struct tally *tally)
{
#define ENTRY(B) [B] = cpr_weigh_##B,
  static cells_function *const instance[] = {cpr_weigh_any, KARST_BLOCK_SIZES(ENTRY)};
#undef ENTRY
  const karst_index rows = task->cpr->rows;
  const int b = task->cpr->block_size;
  const bool any = b > KARST_BLOCK_SIZE_LARGEST_INSTANCE;
  cells_function *cells = instance[any ? 0 : b];
  karst_piece piece = karst_begin_at_most(context, KARST_KIND_FACTOR, karst_entries(task->A),
                                          any ? karst_cpr_plan_of(task->cpr)->threads : context->threads);
#pragma omp parallel num_threads(piece.threads)
  {
    const karst_part part = karst_part_begin(&piece, rows);
    struct tally mine = {0, 0, 0};
    cells(task, part.first, part.last, karst_thread(), &mine);
    karst_part_end(&piece, &part);
#pragma omp critical(karst_cpr_weigh)
    {
      tally->guarded += mine.guarded;
      tally->singular += mine.singular;
      tally->suspect += mine.suspect;
    }
  }
  karst_end(context, &piece);
}

/* Returns the first of the rows of width numbers with one that is not finite, or -1. start: NULL, or the rows are those
 * of a matrix with width numbers a block. Only for values that are known to be bad, or few. */
static karst_index find_bad(karst_index rows, const karst_index *start, int64_t width, const double *value)
{
  for (karst_index i = 0; i < rows; i++) {
    const int64_t end = width * (start ? start[i + 1] : i + 1);
    for (int64_t v = width * (start ? start[i] : i); v < end; v++)
      if (!(fabs(value[v]) <= DBL_MAX)) return i;
  }
  return -1;
}

karst_status karst_cpr_weigh_cpu(karst_context *context, const karst_matrix *A, karst_cpr_weights weights,
                                 const double *given, const double *parts, karst_cpr *cpr, karst_cpr_outcome *outcome)
{
  const int64_t b = cpr->block_size, n = b * cpr->rows;
  const struct task task = {A, cpr, weights, given, parts};
  struct tally tally = {0};
  karst_index bad = -1;
  if (weights == KARST_CPR_ROW_SUM) {
    karst_fill_cpu(context, n, 1, cpr->weight);
  } else if (weights == KARST_CPR_GIVEN) {
    karst_copy_cpu(context, n, given, cpr->weight);
    bad = find_bad(cpr->rows, NULL, b, given);
  } else {
    run(context, &task, &tally);
    if (tally.suspect > 0) bad = find_bad(cpr->rows, A->row_start, b * b, A->value);
  }
  outcome->reason = bad < 0 ? KARST_SOUND : KARST_NOT_FINITE;
  outcome->block_row = bad;
  outcome->guarded = tally.guarded;
  outcome->singular = tally.singular;
  outcome->suspect = tally.suspect;
  return KARST_SUCCESS;
}
