/* distributed.c - makes a matrix whose block rows are spread over ranks: finds the ghosts, and takes each rank's rows
 * apart into the square matrix of its own columns and those of the ghosts. */
#include "lib/base/search.h"
#include "lib/ranks/halo.h"
#include "lib/ranks/lists.h"

#include <string.h>

/* What the caller gave, and what each rank says of it. */
struct given {
  karst_context *context;
  karst_index block_rows;
  int block_size;
  const karst_index *row_start, *column;
  const double *value;
};

struct sizes {
  int64_t block_rows, block_size, blocks, widest;
};

static karst_status check_given(const struct given *g)
{
  if (g->block_rows < 0)
    return karst_fail(g->context, KARST_ERROR_ARGUMENT, "a matrix of %lld block rows", (long long)g->block_rows);
  if (g->block_size < 1 || g->block_size > KARST_BLOCK_SIZE_MAX)
    return karst_fail(g->context, KARST_ERROR_ARGUMENT, "block size %d: 1 to %d are possible", g->block_size,
                      KARST_BLOCK_SIZE_MAX);
  if (!g->row_start || (!g->column && g->row_start[g->block_rows] > 0))
    return karst_fail(g->context, KARST_ERROR_ARGUMENT, "the matrix's pattern is NULL");
  if (!g->value && g->row_start[g->block_rows] > 0)
    return karst_fail(g->context, KARST_ERROR_ARGUMENT, "the matrix's values are NULL");
  return KARST_SUCCESS;
}

static int64_t widest_row(const struct given *g)
{
  int64_t widest = 0;
  for (karst_index i = 0; i < g->block_rows; i++)
    if (g->row_start[i + 1] - g->row_start[i] > widest) widest = g->row_start[i + 1] - g->row_start[i];
  return widest;
}

/* Finds the first block row of each rank and what all must know, and refuses blocks of different sizes. All ranks find
 * the same. */
static karst_status gather_sizes(const struct given *g, karst_halo *halo)
{
  karst_context *context = g->context;
  const int ranks = karst_context_ranks(context);
  const struct sizes own = {g->block_rows, g->block_size, g->row_start[g->block_rows], widest_row(g)};
  struct sizes *all = NULL;
  int64_t rows = 0;
  karst_status status = karst_allocate(context, &all, ranks, sizeof *all, "the ranks' sizes");
  if (!status)
    status = karst_allocate(context, &halo->first, (int64_t)ranks + 1, sizeof *halo->first, "the ranks' first rows");
  status = karst_ranks_agree(context, status);
  if (!status) status = karst_ranks_gather(context, &own, sizeof own, all);
  for (int r = 0; r < ranks && !status; r++) {
    halo->first[r] = (karst_index)rows;
    if (all[r].widest > halo->widest) halo->widest = all[r].widest;
    if (all[r].block_size != all[0].block_size)
      status = karst_fail(context, KARST_ERROR_MATRIX, "rank %d has blocks of %lld, and rank 0 of %lld", r,
                          (long long)all[r].block_size, (long long)all[0].block_size);
    else if (__builtin_add_overflow(rows, all[r].block_rows, &rows) || rows > KARST_INDEX_MAX)
      status = karst_fail(context, KARST_ERROR_INDEX_OVERFLOW,
                          "the ranks have more block rows together than the index type can count: configure with "
                          "--enable-int64");
  }
  if (!status) halo->first[ranks] = (karst_index)rows;
  karst_release(context, all);
  return status;
}

/* Checks the pattern with global columns. Sentences have the global numbers of block rows. */
static karst_status check_pattern(const struct given *g, const karst_halo *halo)
{
  const int ranks = karst_context_ranks(g->context);
  const karst_index columns = halo->first[ranks], first = halo->first[karst_context_rank(g->context)];
  const karst_index *start = g->row_start;
  char fault[KARST_FAULT_SIZE];
  if (karst_rows_are_valid(g->block_rows, columns, first, start, g->column, fault)) return KARST_SUCCESS;
  return karst_fail(g->context, KARST_ERROR_MATRIX, "%s", fault);
}

/* Whether a global column is one of the own rows. */
static bool is_own(const struct given *g, const karst_halo *halo, karst_index column)
{
  const karst_index first = halo->first[karst_context_rank(g->context)];
  return column >= first && column - first < g->block_rows;
}

/* Counts the blocks of A and G and the rows of the boundary, and finds the ghosts. */
static karst_status find_ghosts(const struct given *g, karst_halo *halo)
{
  for (karst_index i = 0; i < g->block_rows; i++) {
    const karst_index before = halo->blocks;
    for (karst_index k = g->row_start[i]; k < g->row_start[i + 1]; k++) halo->blocks += !is_own(g, halo, g->column[k]);
    halo->rows += halo->blocks > before;
  }
  halo->own_blocks = g->row_start[g->block_rows] - halo->blocks;
  karst_status status = karst_allocate(g->context, &halo->ghost, halo->blocks, sizeof *halo->ghost, "the ghosts");
  if (status) return status;
  karst_index found = 0;
  for (karst_index k = 0; k < g->row_start[g->block_rows]; k++)
    if (!is_own(g, halo, g->column[k])) halo->ghost[found++] = g->column[k];
  halo->ghosts = karst_lists_sort(found, halo->ghost);
  return KARST_SUCCESS;
}

/* The host's arrays of the two patterns. source: the number of each of their blocks in the caller's array. */
struct split {
  karst_index *row_start, *column, *own_source, *value_source;
};

static karst_status take_memory(const struct given *g, karst_halo *halo, struct split *s)
{
  karst_context *context = g->context;
  const int64_t rows = g->block_rows, own = halo->own_blocks;
  karst_boundary *boundary = &halo->host;
  karst_status status =
      karst_allocate(context, &s->row_start, rows + 1, sizeof *s->row_start, "the matrix's row starts");
  if (!status) status = karst_allocate(context, &s->column, own, sizeof *s->column, "the matrix's columns");
  if (!status) status = karst_allocate(context, &s->own_source, own, sizeof *s->own_source, "the places of blocks");
  if (!status)
    status = karst_allocate(context, &s->value_source, halo->blocks, sizeof *s->value_source, "the places of blocks");
  if (!status)
    status = karst_allocate(context, &boundary->row, halo->rows, sizeof *boundary->row, "the rows of the boundary");
  if (!status)
    status = karst_allocate(context, &boundary->row_start, (int64_t)halo->rows + 1, sizeof *boundary->row_start,
                            "the rows of the boundary");
  if (!status)
    status =
        karst_allocate(context, &boundary->column, halo->blocks, sizeof *boundary->column, "the columns of the ghosts");
  return status;
}

static void split_rows(const struct given *g, karst_halo *halo, struct split *s)
{
  const karst_index first = halo->first[karst_context_rank(g->context)];
  karst_boundary *boundary = &halo->host;
  karst_index own = 0, others = 0, row = 0;
  for (karst_index i = 0; i < g->block_rows; i++) {
    const karst_index before = others;
    s->row_start[i] = own;
    for (karst_index k = g->row_start[i]; k < g->row_start[i + 1]; k++) {
      const karst_index column = g->column[k];
      if (is_own(g, halo, column)) {
        s->own_source[own] = k;
        s->column[own++] = column - first;
      } else {
        s->value_source[others] = k;
        boundary->column[others++] = karst_find_column(halo->ghost, 0, halo->ghosts, column);
      }
    }
    if (others == before) continue;
    boundary->row[row] = i;
    boundary->row_start[row++] = before;
  }
  s->row_start[g->block_rows] = own;
  boundary->row_start[row] = others;
}

static karst_status place(karst_context *context, int64_t count, const karst_index *host, karst_index **device)
{
  void *placed = NULL;
  const karst_status status =
      context->backend->place(context, host, (size_t)count * sizeof *host, "the boundary's pattern", &placed);
  *device = placed;
  return status;
}

/* Gives the halo its arrays in device memory. */
static karst_status place_halo(const struct given *g, karst_halo *halo, const struct split *s)
{
  karst_context *context = g->context;
  const int64_t scalars = karst_block_offset(g->block_size, halo->blocks);
  karst_status status = place(context, halo->rows, halo->host.row, &halo->device.row);
  if (!status) status = place(context, (int64_t)halo->rows + 1, halo->host.row_start, &halo->device.row_start);
  if (!status) status = place(context, halo->blocks, halo->host.column, &halo->device.column);
  if (!status) status = karst_device_doubles(context, scalars, "the couplings with ghosts", &halo->value);
  if (!status)
    status = karst_device_indices(context, halo->own_blocks, s->own_source, "the places of blocks", &halo->own_source);
  if (!status)
    status = karst_device_indices(context, halo->blocks, s->value_source, "the places of blocks", &halo->value_source);
  return status;
}

/* NCCL takes a second for the connections of its first sum and its first exchange. */
static karst_status rehearse(const karst_halo *halo)
{
  karst_context *context = halo->context;
  double on_host = 0, *scalar = context->backend->scalar(context, &on_host);
  context->backend->fill(context, 1, 0, scalar);
  karst_ranks_complete(context, 1, scalar);
  return karst_ranks_agree(context, karst_exchange_rehearse(halo->exchange));
}

/* Makes the matrix with its halo, which it owns; on failure the halo stays with the caller. The ranks have agreed that
 * the pattern is valid. */
static karst_status make(const struct given *g, karst_halo *halo, karst_matrix **matrix)
{
  karst_context *context = g->context;
  struct split s = {0};
  karst_route route = {0};
  const karst_layout layout = {g->block_rows, g->block_size};
  karst_status status = find_ghosts(g, halo);
  if (!status) status = take_memory(g, halo, &s);
  if (!status) split_rows(g, halo, &s);
  if (!status) status = place_halo(g, halo, &s);
  status = karst_ranks_agree(context, status);
  if (!status) status = karst_route_find(context, halo->first, halo->ghosts, halo->ghost, &route);
  if (!status) {
    status = karst_exchange_create(context, &route, g->block_size, &halo->exchange);
    if (!status) {
      status = karst_matrix_adopt(context, g->block_rows, g->block_size, karst_layout_scalars(layout), s.row_start,
                                  s.column, NULL, matrix);
      s.row_start = s.column = NULL;
    }
    if (!status) (*matrix)->halo = halo;
    if (!status) (*matrix)->entries = karst_block_offset(g->block_size, g->row_start[g->block_rows]);
    if (!status) status = karst_halo_take_values(*matrix, g->value);
    status = karst_ranks_agree(context, status);
  }
  if (!status && context->ranks->queues) status = rehearse(halo);
  karst_release(context, s.row_start);
  karst_release(context, s.column);
  karst_release(context, s.own_source);
  karst_release(context, s.value_source);
  karst_route_release(context, &route);
  return status;
}

/* Lets all ranks know whether one lacks a diagonal block, for the residual then does not show all unknowns. */
static karst_status find_unread(karst_matrix *matrix)
{
  bool complete = karst_matrix_find_missing_diagonal(matrix) < 0;
  const karst_status status = karst_ranks_all(matrix->context, &complete);
  matrix->halo->unread = !complete;
  return status;
}

karst_status karst_matrix_create_distributed(karst_context *context, karst_index block_rows, int block_size,
                                             const karst_index *row_start, const karst_index *column,
                                             const double *value, karst_matrix **matrix)
{
  const struct given g = {context, block_rows, block_size, row_start, column, value};
  karst_halo *halo = NULL;
  if (matrix) *matrix = NULL;
  if (!context || !matrix) return karst_missing(context, "the place for the matrix");
  if (!context->ranks)
    return karst_fail(context, KARST_ERROR_ARGUMENT,
                      "a distributed matrix needs ranks: call karst_context_set_transport, or "
                      "karst_context_set_communicator of karst_mpi.h");
  karst_status status = check_given(&g);
  if (!status) status = karst_allocate_zero(context, &halo, 1, sizeof *halo, "the halo");
  if (halo) halo->context = context;
  status = karst_ranks_enter(context, status);
  if (!status) {
    halo->block_size = block_size;
    status = gather_sizes(&g, halo);
  }
  if (!status) status = karst_ranks_agree(context, check_pattern(&g, halo));
  if (!status) status = make(&g, halo, matrix);
  if (!status) status = find_unread(*matrix);
  if (!status) return KARST_SUCCESS;
  if (!*matrix) karst_halo_destroy(halo);
  karst_matrix_destroy(*matrix);
  *matrix = NULL;
  return status;
}
