/* overlap_create.c - makes the matrix of an overlap from the layers around the own rows, and the exchanges of its
 * values and vectors; see overlap.h. */
#include "lib/base/search.h"
#include "lib/ranks/lists.h"
#include "lib/ranks/overlap.h"

#include <stdlib.h>
#include <string.h>

/* Sources of blocks: A and G, of this rank and of others. */
enum { OF_A, OF_G };

/* A block of a row of the matrix. */
struct block {
  karst_index column; /* of the matrix */
  karst_index number; /* in its source */
  int source;
};

/* The blocks of one source that this rank wants of the others. */
struct wishes {
  karst_index *number; /* in the owners' A or G, the first owner's first */
  karst_index *start;  /* [neighbours + 1] where those of each owner begin */
};

struct making {
  karst_overlap *overlap;
  karst_layers layers;
  const karst_layer **of; /* [below + above] the layer of each row of another rank, */
  karst_index *at;        /* and its number there */
  struct block *row;      /* [blocks of the longest row] */
  karst_route route;      /* of the rows of other ranks */
  struct wishes wishes[2];
};

static karst_index foreign_rows(const karst_overlap *overlap) { return overlap->below + overlap->above; }

/* ---- the rows ---- */

/* The layer whose next row has the least number, among the layers with a next one. */
static int least_layer(const karst_layers *layers, const karst_index *next)
{
  const karst_layer *layer = layers->layer;
  int least = 0;
  for (int l = 1; l < layers->count; l++)
    if (next[l] < layer[l].rows &&
        (next[least] == layer[least].rows || layer[l].row[next[l]] < layer[least].row[next[least]]))
      least = l;
  return least;
}

/* Merges the layers' rows, which ascend. */
static void merge_layers(struct making *making)
{
  karst_overlap *overlap = making->overlap;
  const karst_layers *layers = &making->layers;
  karst_index next[KARST_LAYERS_MOST] = {0};
  const karst_index rows = foreign_rows(overlap);
  for (karst_index k = 0; k < rows; k++) {
    const int least = least_layer(layers, next);
    making->of[k] = &layers->layer[least];
    making->at[k] = next[least]++;
    overlap->row[k] = making->of[k]->row[making->at[k]];
  }
  overlap->below = karst_lower_bound(overlap->row, 0, rows, layers->begin);
  overlap->above = rows - overlap->below;
}

static karst_status take_rows(struct making *making)
{
  karst_overlap *overlap = making->overlap;
  karst_context *context = overlap->A->context;
  int64_t rows = 0;
  for (int l = 0; l < making->layers.count; l++) rows += making->layers.layer[l].rows;
  if (rows + overlap->A->block_rows > KARST_INDEX_MAX)
    return karst_fail(context, KARST_ERROR_INDEX_OVERFLOW, "the overlap has more block rows than an index counts");
  karst_status status = karst_allocate(context, &overlap->row, rows, sizeof *overlap->row, "the rows of the overlap");
  if (!status)
    status = karst_allocate(context, &making->of, rows, sizeof *making->of, "the layers of the overlap's rows");
  if (!status)
    status = karst_allocate(context, &making->at, rows, sizeof *making->at, "the layers of the overlap's rows");
  if (status) return status;
  overlap->above = (karst_index)rows;
  merge_layers(making);
  return KARST_SUCCESS;
}

/* The number in the matrix of the row with a global number, or -1. */
static karst_index local_row(const struct making *making, karst_index number)
{
  const karst_overlap *overlap = making->overlap;
  const karst_layers *layers = &making->layers;
  if (number >= layers->begin && number < layers->end) return overlap->below + number - layers->begin;
  const karst_index k = karst_find_column(overlap->row, 0, foreign_rows(overlap), number);
  return k < overlap->below ? k : k + overlap->A->block_rows;
}

/* ---- the pattern ---- */

static int compare(const void *a, const void *b)
{
  const struct block *one = a, *other = b;
  return (one->column > other->column) - (one->column < other->column);
}

/* Writes the blocks of an own row, in the order of their columns. Returns how many. */
static karst_index list_own(const struct making *making, karst_index i, struct block *row)
{
  const karst_matrix *A = making->overlap->A;
  const karst_boundary *G = &A->halo->host;
  const karst_index boundary = making->layers.boundary[i];
  karst_index count = 0;
  for (karst_index k = A->row_start[i]; k < A->row_start[i + 1]; k++)
    row[count++] = (struct block){making->overlap->below + A->column[k], k, OF_A};
  if (boundary == 0) return count;
  for (karst_index k = G->row_start[boundary - 1]; k < G->row_start[boundary]; k++)
    row[count++] = (struct block){local_row(making, making->layers.ghost[G->column[k]]), k, OF_G};
  if (count > 0) qsort(row, (size_t)count, sizeof *row, compare);
  return count;
}

/* The same for row number k of other ranks. Blocks in columns of no row of the matrix are left out. */
static karst_index list_foreign(const struct making *making, karst_index k, struct block *row)
{
  const karst_layer *layer = making->of[k];
  const karst_index at = making->at[k], *column = layer->column + layer->column_start[at];
  const karst_row_place place = layer->place[at];
  karst_index count = 0;
  for (karst_index i = 0; i < place.blocks + place.ghost_blocks; i++) {
    const karst_index local = local_row(making, column[i]);
    if (local < 0) continue;
    row[count++] = i < place.blocks ? (struct block){local, place.start + i, OF_A}
                                    : (struct block){local, place.ghost_start + i - place.blocks, OF_G};
  }
  if (count > 0) qsort(row, (size_t)count, sizeof *row, compare);
  return count;
}

/* Which row of other ranks row i of the matrix is, or -1: an own one. */
static karst_index foreign_row(const karst_overlap *overlap, karst_index i)
{
  if (i < overlap->below) return i;
  const karst_index own = overlap->A->block_rows;
  return i < overlap->below + own ? -1 : i - own;
}

static karst_index list_row(const struct making *making, karst_index i, struct block *row)
{
  const karst_index k = foreign_row(making->overlap, i);
  return k >= 0 ? list_foreign(making, k, row) : list_own(making, i - making->overlap->below, row);
}

/* Memory for the longest row, and for the blocks of each source. */
static karst_status take_blocks(struct making *making)
{
  karst_overlap *overlap = making->overlap;
  const karst_matrix *A = overlap->A;
  karst_context *context = A->context;
  const char *const what = "the blocks of the overlap";
  int64_t longest = 0, columns = 0;
  for (karst_index i = 0; i < A->block_rows; i++) {
    const karst_index boundary = making->layers.boundary[i], *start = A->halo->host.row_start;
    int64_t blocks = (int64_t)A->row_start[i + 1] - A->row_start[i];
    if (boundary > 0) blocks += start[boundary] - start[boundary - 1];
    if (blocks > longest) longest = blocks;
  }
  for (karst_index k = 0; k < foreign_rows(overlap); k++) {
    const karst_row_place *place = &making->of[k]->place[making->at[k]];
    const int64_t blocks = (int64_t)place->blocks + place->ghost_blocks;
    if (blocks > longest) longest = blocks;
    columns += blocks;
  }
  overlap->own[OF_A].count = (karst_index)A->blocks;
  overlap->own[OF_G].count = A->halo->blocks;
  karst_status status = karst_allocate(context, &making->row, longest, sizeof *making->row, what);
  for (int s = 0; s < 2 && !status; s++) {
    status = karst_allocate(context, &overlap->own[s].host, overlap->own[s].count, sizeof(karst_index), what);
    if (!status) status = karst_allocate(context, &overlap->received[s].host, columns, sizeof(karst_index), what);
    if (!status) status = karst_allocate(context, &making->wishes[s].number, columns, sizeof(karst_index), what);
    if (!status)
      status = karst_allocate_zero(context, &making->wishes[s].start, (int64_t)making->route.neighbours + 1,
                                   sizeof(karst_index), what);
  }
  return status;
}

/* Counts the blocks of each row: row_start[i] is where those of row i begin. */
static karst_status count_blocks(struct making *making, karst_index rows, karst_index *row_start)
{
  int64_t blocks = row_start[0] = 0;
  for (karst_index i = 0; i < rows; i++) {
    blocks += list_row(making, i, making->row);
    if (blocks > KARST_INDEX_MAX)
      return karst_fail(making->overlap->A->context, KARST_ERROR_INDEX_OVERFLOW,
                        "the matrix with the overlap has more blocks than an index counts");
    row_start[i + 1] = (karst_index)blocks;
  }
  return KARST_SUCCESS;
}

/* Block number to of the matrix comes from another rank. */
static void wish(struct making *making, const struct block *block, karst_index to)
{
  karst_overlap_blocks *received = &making->overlap->received[block->source];
  making->wishes[block->source].number[received->count] = block->number;
  received->host[received->count++] = to;
}

/* Writes the columns, and where in the matrix the blocks of each source go. */
static void fill_pattern(struct making *making, karst_index rows, const karst_index *row_start, karst_index *column)
{
  karst_overlap *overlap = making->overlap;
  const karst_route *route = &making->route;
  int owner = 0;
  for (karst_index i = 0; i < rows; i++) {
    const karst_index foreign = foreign_row(overlap, i), count = list_row(making, i, making->row);
    for (karst_index k = 0; k < count; k++) {
      const struct block *block = &making->row[k];
      column[row_start[i] + k] = block->column;
      if (foreign < 0)
        overlap->own[block->source].host[block->number] = row_start[i] + k;
      else
        wish(making, block, row_start[i] + k);
    }
    if (foreign < 0) continue;
    while (foreign >= route->receive_start[owner + 1]) owner++;
    for (int s = 0; s < 2; s++) making->wishes[s].start[owner + 1] = overlap->received[s].count;
  }
  for (int n = 0; n < route->neighbours; n++) /* those of whom this rank wants nothing */
    for (int s = 0; s < 2; s++) {
      karst_index *start = making->wishes[s].start + n;
      if (start[1] < start[0]) start[1] = start[0];
    }
}

static karst_status make_matrix(struct making *making)
{
  karst_overlap *overlap = making->overlap;
  karst_context *context = overlap->A->context;
  const karst_index rows = foreign_rows(overlap) + overlap->A->block_rows;
  const int b = overlap->A->block_size;
  karst_index *row_start = NULL, *column = NULL;
  karst_status status = take_blocks(making);
  if (!status)
    status = karst_allocate(context, &row_start, (int64_t)rows + 1, sizeof *row_start, "the rows of the overlap");
  if (!status) status = count_blocks(making, rows, row_start);
  if (!status) status = karst_allocate(context, &column, row_start[rows], sizeof *column, "the columns of the overlap");
  if (!status) {
    fill_pattern(making, rows, row_start, column);
    return karst_matrix_adopt(context, rows, b, (int64_t)rows * b, row_start, column, NULL, &overlap->matrix);
  }
  karst_release(context, row_start);
  karst_release(context, column);
  return status;
}

/* ---- the exchanges ---- */

/* Tells the neighbours how many blocks of source s this rank wants of each. send_start becomes where those begin that
 * they want. */
static karst_status exchange_counts(const struct making *making, int s, karst_index *send_start)
{
  const karst_route *route = &making->route;
  const karst_index *start = making->wishes[s].start;
  karst_context *context = making->overlap->A->context;
  karst_index *each = NULL, *count = NULL;
  int64_t sum = send_start[0] = 0;
  karst_status status =
      karst_allocate(context, &each, (int64_t)route->neighbours + 1, sizeof *each, "the blocks of neighbours");
  if (!status) status = karst_allocate(context, &count, route->neighbours, sizeof *count, "the blocks of neighbours");
  for (int n = 0; n <= route->neighbours && !status; n++) each[n] = n;
  for (int n = 0; n < route->neighbours && !status; n++) count[n] = start[n + 1] - start[n];
  const karst_lists lists = {route->neighbours, route->rank, 1, each, each};
  status = karst_lists_exchange(context, status, &lists, count, send_start + 1);
  for (int n = 0; n < route->neighbours && !status; n++) {
    sum += send_start[n + 1];
    if (sum > KARST_INDEX_MAX)
      status = karst_fail(context, KARST_ERROR_INDEX_OVERFLOW,
                          "the overlaps of others have more blocks of this rank "
                          "than an index counts");
    send_start[n + 1] = (karst_index)sum;
  }
  karst_release(context, each);
  karst_release(context, count);
  return karst_ranks_agree(context, status);
}

static karst_status make_block_exchange(const struct making *making, int s)
{
  karst_overlap *overlap = making->overlap;
  karst_context *context = overlap->A->context;
  const int neighbours = making->route.neighbours, b = overlap->A->block_size;
  karst_index *send_start = NULL, *send = NULL;
  karst_status status = karst_ranks_agree(context, karst_allocate(context, &send_start, (int64_t)neighbours + 1,
                                                                  sizeof *send_start, "the blocks of neighbours"));
  if (!status) status = exchange_counts(making, s, send_start);
  if (!status) {
    const karst_lists lists = {neighbours, making->route.rank, 1, making->wishes[s].start, send_start};
    status = karst_allocate(context, &send, send_start[neighbours], sizeof *send, "the blocks of neighbours");
    status = karst_lists_exchange(context, status, &lists, making->wishes[s].number, send);
  }
  const karst_route route = {neighbours, making->route.rank, send_start, send, making->wishes[s].start};
  if (!status) status = karst_ranks_agree(context, karst_exchange_create(context, &route, b * b, &overlap->blocks[s]));
  karst_release(context, send_start);
  karst_release(context, send);
  return status;
}

/* Brings the lists of blocks into device memory. */
static karst_status place_blocks(karst_overlap *overlap)
{
  karst_context *context = overlap->A->context;
  karst_overlap_blocks *const all[] = {&overlap->own[OF_A], &overlap->own[OF_G], &overlap->received[OF_A],
                                       &overlap->received[OF_G]};
  karst_status status = KARST_SUCCESS;
  for (int i = 0; i < 4 && !status; i++) {
    status = karst_device_indices(context, all[i]->count, all[i]->host, "the blocks of the overlap", &all[i]->device);
    karst_release(context, all[i]->host);
    all[i]->host = NULL;
  }
  return status;
}

static karst_status make_all(struct making *making, int layers)
{
  karst_overlap *overlap = making->overlap;
  const karst_matrix *A = overlap->A;
  karst_context *context = A->context;
  karst_status status = karst_layers_find(A, layers, &making->layers);
  if (!status) status = karst_ranks_agree(context, take_rows(making));
  if (!status) status = karst_route_find(context, A->halo->first, foreign_rows(overlap), overlap->row, &making->route);
  if (!status) {
    status = make_matrix(making);
    if (!status) status = karst_overlap_make_tiles(overlap);
    if (!status) status = place_blocks(overlap);
    if (!status) status = karst_exchange_create(context, &making->route, A->block_size, &overlap->rows);
    status = karst_ranks_agree(context, status);
  }
  for (int s = 0; s < 2 && !status; s++) status = make_block_exchange(making, s);
  return status;
}

karst_status karst_overlap_create(const karst_matrix *A, int layers, karst_overlap **overlap)
{
  karst_context *context = A->context;
  struct making making = {0};
  karst_status status = karst_allocate_zero(context, &making.overlap, 1, sizeof *making.overlap, "an overlap");
  *overlap = making.overlap;
  if (!status) making.overlap->A = A;
  status = karst_ranks_agree(context, status);
  if (!status) {
    status = make_all(&making, layers);
    karst_layers_release(&making.layers);
  }
  karst_release(context, making.of);
  karst_release(context, making.at);
  karst_release(context, making.row);
  karst_route_release(context, &making.route);
  for (int s = 0; s < 2; s++) {
    karst_release(context, making.wishes[s].number);
    karst_release(context, making.wishes[s].start);
  }
  if (!status) return KARST_SUCCESS;
  karst_overlap_destroy(*overlap);
  *overlap = NULL;
  return status;
}
