/* partition.c - divides the block rows of a matrix into parts that few and weak couplings cross.
 *
 * Block row i depends on block row j with the strength
 *
 *     s_ij = max_c |(A_ii^-1 A_ij)_cc|
 *
 * over the b unknowns c, the same in any units of equations and unknowns (lib/backend/coupling.h). Its level is
 * 1 + [15 s_ij], at most 16; a coupling whose strength is unknown, because A_ii is missing or singular or a number is
 * not finite, has the highest level. An edge has the sum of the levels of both couplings.
 *
 * The levels of a rank's rows need no other rank. Of a distributed matrix they are sent to rank 0, which divides the
 * whole graph and sends the parts back. */
#include "config.h"

#include "lib/backend/coupling.h"
#include "lib/ranks/rank_rows.h"
#include "symbolic/partition/partition.h"

#include <stdlib.h>
#include <string.h>

/* Work space for one block row. */
struct space {
  const double **block; /* [widest] */
  double *inverse;      /* [b b] */
  double *work;         /* [2 b] */
  int *pivot;           /* [b] */
};

static void release(karst_context *context, struct space *space)
{
  karst_release(context, space->block);
  karst_release(context, space->inverse);
  karst_release(context, space->work);
  karst_release(context, space->pivot);
}

static karst_status take_space(karst_context *context, int b, karst_index widest, struct space *space)
{
  const char *const what = "the strengths of a block row";
  karst_status status = karst_allocate(context, &space->block, widest, sizeof *space->block, what);
  if (!status) status = karst_allocate(context, &space->inverse, (int64_t)b * b, sizeof(double), what);
  if (!status) status = karst_allocate(context, &space->work, 2 * (int64_t)b, sizeof(double), what);
  if (!status) status = karst_allocate(context, &space->pivot, b, sizeof *space->pivot, what);
  return status;
}

static uint8_t level_of(int b, const double *inverse, const double *block)
{
  double most = 0;
  for (int c = 0; c < b; c++) {
    const double x = fabs(karst_coupling_one_way(b, inverse, block, c));
    if (!(x <= most)) most = x; /* a NaN stays */
  }
  return (uint8_t)(most < 1 ? 1 + (int)((KARST_LEVEL_MOST - 1) * most) : KARST_LEVEL_MOST);
}

/* Lists the levels of a block row: count blocks in ascending columns, in which that of the row itself is number own. */
static void judge(int b, karst_index own, karst_index count, const karst_index *column, const struct space *space,
                  uint8_t *level)
{
  const double *diagonal = NULL;
  for (karst_index k = 0; k < count; k++)
    if (column[k] == own) diagonal = space->block[k];
  const bool sound =
      diagonal && karst_block_inverse(b, diagonal, diagonal, space->inverse, space->work, space->pivot) == KARST_SOUND;
  for (karst_index k = 0; k < count; k++)
    level[k] = sound ? level_of(b, space->inverse, space->block[k]) : KARST_LEVEL_MOST;
}

/* Finds the columns and levels of this rank's rows. */
static karst_status find_strengths(const karst_matrix *A, karst_strengths *own)
{
  karst_context *context = A->context;
  const int b = A->block_size;
  const karst_index first = karst_matrix_first_block_row(A);
  const int64_t blocks = A->blocks + (A->halo ? A->halo->blocks : 0);
  struct space space = {0};
  karst_rows rows = {0};
  own->rows = A->block_rows;
  karst_status status = karst_rows_view(A, &rows);
  if (!status) status = take_space(context, b, rows.widest, &space);
  if (!status)
    status = karst_allocate(context, &own->start, (int64_t)own->rows + 1, sizeof *own->start, "the rows of the graph");
  if (!status) status = karst_allocate(context, &own->column, blocks, sizeof *own->column, "the edges of the graph");
  if (!status) status = karst_allocate(context, &own->level, blocks, sizeof *own->level, "the edges of the graph");
  if (!status) own->start[0] = 0;
  for (karst_index i = 0; i < own->rows && !status; i++) {
    karst_index *column = own->column + own->start[i];
    const karst_index count = karst_rows_list(&rows, i, column, space.block);
    judge(b, first + i, count, column, &space, own->level + own->start[i]);
    own->start[i + 1] = own->start[i] + count;
  }
  karst_rows_done(&rows);
  release(context, &space);
  return status;
}

static void forget(karst_context *context, karst_strengths *strengths)
{
  karst_release(context, strengths->start);
  karst_release(context, strengths->column);
  karst_release(context, strengths->level);
  *strengths = (karst_strengths){0};
}

/* Divides a graph that is whole. */
static karst_status divide(karst_context *context, const karst_strengths *graph, int parts, int *part)
{
  if (parts > 1 && graph->rows > parts) return karst_kway(context, graph, parts, part);
  for (karst_index i = 0; i < graph->rows; i++) part[i] = parts > 1 ? (int)i : 0;
  return KARST_SUCCESS;
}

/* What each rank tells the others. */
struct size {
  int64_t rows, blocks, parts;
};

/* The whole graph on rank 0, nothing on the others; and the sizes of all ranks' parts. */
struct gathered {
  struct size *size; /* [ranks] */
  karst_strengths graph;
  int *part; /* [rows of all] */
};

static karst_status gather_sizes(const karst_matrix *A, const karst_strengths *own, int parts, struct gathered *all)
{
  karst_context *context = A->context;
  const struct size mine = {own->rows, own->start[own->rows], parts};
  const int ranks = karst_context_ranks(context);
  int64_t rows = 0, blocks = 0;
  karst_status status = karst_allocate(context, &all->size, ranks, sizeof *all->size, "the sizes of the ranks' graphs");
  status = karst_ranks_agree(context, status);
  if (!status) status = karst_ranks_gather(context, &mine, sizeof mine, all->size);
  for (int r = 0; r < ranks && !status; r++) {
    rows += all->size[r].rows;
    blocks += all->size[r].blocks;
    if (all->size[r].parts != all->size[0].parts)
      status = karst_fail(context, KARST_ERROR_ARGUMENT, "rank %d wants %lld parts, and rank 0 %lld", r,
                          (long long)all->size[r].parts, (long long)all->size[0].parts);
  }
  if (!status && blocks > KARST_INDEX_MAX)
    status = karst_fail(context, KARST_ERROR_INDEX_OVERFLOW,
                        "the ranks have more blocks together than the index type can count: configure with "
                        "--enable-int64");
  if (status || karst_context_rank(context) > 0) return karst_ranks_agree(context, status);
  karst_strengths *graph = &all->graph;
  graph->rows = (karst_index)rows;
  status = karst_allocate(context, &graph->start, rows + 1, sizeof *graph->start, "the rows of the graph");
  if (!status)
    status = karst_allocate(context, &graph->column, blocks, sizeof *graph->column, "the edges of the graph");
  if (!status) status = karst_allocate(context, &graph->level, blocks, sizeof *graph->level, "the edges of the graph");
  if (!status) status = karst_allocate(context, &all->part, rows, sizeof *all->part, "the parts");
  return karst_ranks_agree(context, status);
}

/* Sends the arrays of all ranks to rank 0, or parts of its array back to them. own: this rank's array, and all: that of
 * rank 0, in which bytes[r] belong to rank r. */
static karst_status send(karst_context *context, bool back, const size_t *bytes, void *own, void *all)
{
  const int ranks = karst_context_ranks(context), rank = karst_context_rank(context);
  const karst_transport *transport = &context->ranks->transport;
  const unsigned failures = karst_failures(context);
  karst_transfer transfers[ranks];
  char *place = all;
  int count = 0;
  for (int r = 0; r < ranks; r++) {
    if (rank == 0 && r == 0 && bytes[0] > 0) memcpy(back ? own : place, back ? place : own, bytes[0]);
    if (r > 0 && (rank == 0 || rank == r)) {
      const bool sends = (rank == 0) == back;
      void *array = rank == 0 ? (void *)place : own;
      transfers[count++] = (karst_transfer){.rank = rank == 0 ? r : 0,
                                            .send = sends ? array : NULL,
                                            .send_bytes = sends ? bytes[r] : 0,
                                            .receive = sends ? NULL : array,
                                            .receive_bytes = sends ? 0 : bytes[r]};
    }
    if (rank == 0) place += bytes[r];
  }
  karst_status status = transport->exchange_begin(transport->user, count, transfers);
  if (!status) status = transport->exchange_end(transport->user);
  return karst_check_returned(context, status, failures, "an exchange", " of the transport");
}

/* Turns the numbers of the last block of each rank's rows, which begin from 0 again, into those of the whole graph. */
static void join_starts(const struct size *size, int ranks, karst_strengths *graph)
{
  karst_index row = 0, before = 0;
  graph->start[0] = 0;
  for (int r = 0; r < ranks; r++) {
    for (int64_t i = 0; i < size[r].rows; i++) graph->start[++row] += before;
    before = (karst_index)(before + size[r].blocks);
  }
}

static karst_status divide_over_ranks(const karst_matrix *A, karst_strengths *own, int parts, int *part)
{
  karst_context *context = A->context;
  const int ranks = karst_context_ranks(context);
  struct gathered all = {0};
  size_t rows[ranks], columns[ranks], levels[ranks], answers[ranks];
  karst_status status = gather_sizes(A, own, parts, &all);
  if (!status) {
    for (int r = 0; r < ranks; r++) {
      rows[r] = (size_t)all.size[r].rows * sizeof(karst_index);
      columns[r] = (size_t)all.size[r].blocks * sizeof(karst_index);
      levels[r] = (size_t)all.size[r].blocks;
      answers[r] = (size_t)all.size[r].rows * sizeof *part;
    }
    const karst_status sent[] = {
        send(context, false, rows, own->start + 1, all.graph.start ? all.graph.start + 1 : NULL),
        send(context, false, columns, own->column, all.graph.column),
        send(context, false, levels, own->level, all.graph.level)};
    for (int i = 0; i < 3 && !status; i++) status = sent[i];
    forget(context, own);
    if (!status && karst_context_rank(context) == 0) {
      join_starts(all.size, ranks, &all.graph);
      status = divide(context, &all.graph, parts, all.part);
    }
    status = karst_ranks_agree(context, status);
    if (!status) status = karst_ranks_agree(context, send(context, true, answers, part, all.part));
  }
  forget(context, &all.graph);
  karst_release(context, all.size);
  karst_release(context, all.part);
  return status;
}

karst_status karst_matrix_partition(const karst_matrix *A, int parts, int *part)
{
  karst_strengths own = {0};
  if (!A) return KARST_ERROR_ARGUMENT;
  karst_context *context = A->context;
  karst_status status = KARST_SUCCESS;
  if (!part) status = karst_missing(context, "the place for the parts");
  if (!status && parts < 1) status = karst_fail(context, KARST_ERROR_ARGUMENT, "a partition into %d parts", parts);
  if (!status && parts > 1) status = karst_kway_check(context);
  if (!status) status = find_strengths(A, &own);
  if (A->halo) {
    status = karst_ranks_enter(context, status);
    if (!status) status = divide_over_ranks(A, &own, parts, part);
  } else if (!status) {
    status = divide(context, &own, parts, part);
  }
  forget(context, &own);
  return status;
}
