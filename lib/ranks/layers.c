/* layers.c - see layers.h. A rank asks the owners of a layer's rows for their patterns, and finds the next layer in
 * them. */
#include "lib/ranks/layers.h"

#include "lib/base/search.h"
#include "lib/ranks/lists.h"

#include <string.h>

/* Indices in a karst_row_place. */
enum { PLACE = sizeof(karst_row_place) / sizeof(karst_index) };

/* Where the items for each neighbour of an exchange begin, or those of each. */
static void list_starts(const karst_exchange *exchange, bool sent, karst_index *start)
{
  const size_t item = (size_t)exchange->size * sizeof(double);
  start[0] = 0;
  for (int n = 0; n < exchange->neighbours; n++) {
    const karst_transfer *transfer = &exchange->transfers[n];
    start[n + 1] = start[n] + (karst_index)((sent ? transfer->send_bytes : transfer->receive_bytes) / item);
  }
}

/* Each ghost's owner tells where the ghost is in its matrix. */
static karst_status number_ghosts(karst_layers *layers)
{
  const karst_halo *halo = layers->A->halo;
  const karst_exchange *exchange = halo->exchange;
  karst_context *context = halo->context;
  const int neighbours = exchange->neighbours;
  int *rank = NULL;
  karst_index *start = NULL; /* of the items to send, then of those received */
  karst_status status = karst_allocate(context, &rank, neighbours, sizeof *rank, "the neighbours");
  if (!status)
    status = karst_allocate(context, &start, 2 * ((int64_t)neighbours + 1), sizeof *start, "the neighbours' items");
  if (!status) {
    list_starts(exchange, true, start);
    list_starts(exchange, false, start + neighbours + 1);
  }
  for (int n = 0; n < neighbours && !status; n++) rank[n] = exchange->transfers[n].rank;
  const karst_lists lists = {neighbours, rank, 1, start, start + neighbours + 1};
  status = karst_lists_exchange(context, status, &lists, exchange->host_index, layers->ghost);
  for (int n = 0; n < neighbours && !status; n++)
    for (karst_index g = lists.receive_start[n]; g < lists.receive_start[n + 1]; g++)
      layers->ghost[g] += halo->first[rank[n]];
  karst_release(context, rank);
  karst_release(context, start);
  return status;
}

/* ---- the patterns of a layer ---- */

static karst_row_place place_of(const karst_layers *layers, karst_index i)
{
  const karst_index *start = layers->A->row_start, *ghost_start = layers->A->halo->host.row_start;
  const karst_index boundary = layers->boundary[i];
  karst_row_place place = {.start = start[i], .blocks = start[i + 1] - start[i]};
  if (boundary == 0) return place;
  place.ghost_start = ghost_start[boundary - 1];
  place.ghost_blocks = ghost_start[boundary] - place.ghost_start;
  return place;
}

/* Writes the columns of the row at a place, and returns where the next row's begin. */
static karst_index *write_columns(const karst_layers *layers, const karst_row_place *place, karst_index *column)
{
  const karst_index *own = layers->A->column + place->start;
  const karst_index *ghost = layers->A->halo->host.column + place->ghost_start;
  for (karst_index k = 0; k < place->blocks; k++) *column++ = layers->begin + own[k];
  for (karst_index k = 0; k < place->ghost_blocks; k++) *column++ = layers->ghost[ghost[k]];
  return column;
}

/* Sums up the blocks of rows: start[i] is where those of row i begin, for i <= rows. */
static karst_status count_columns(karst_context *context, karst_index rows, const karst_row_place *place,
                                  karst_index *start)
{
  int64_t sum = start[0] = 0;
  for (karst_index i = 0; i < rows; i++) {
    sum += (int64_t)place[i].blocks + place[i].ghost_blocks;
    if (sum > KARST_INDEX_MAX)
      return karst_fail(context, KARST_ERROR_INDEX_OVERFLOW, "the overlap has more blocks than an index counts");
    start[i + 1] = (karst_index)sum;
  }
  return KARST_SUCCESS;
}

/* What a rank tells about those of its rows that others have asked for. */
struct answer {
  karst_row_place *place; /* [items to send] */
  karst_index *start;     /* [items to send + 1] of the columns of each row */
  karst_index *column;
  karst_index *send_start, *receive_start; /* [neighbours + 1] of the columns for each neighbour, and of each */
};

static karst_status take_places(const karst_layers *layers, const karst_route *route, karst_layer *layer,
                                struct answer *answer)
{
  karst_context *context = layers->A->context;
  const karst_index sent = route->send_start[route->neighbours];
  karst_status status =
      karst_allocate(context, &answer->place, sent, sizeof *answer->place, "the places of rows for others");
  if (!status)
    status = karst_allocate(context, &layer->place, layer->rows, sizeof *layer->place, "the places of others' rows");
  for (karst_index i = 0; i < sent && !status; i++) answer->place[i] = place_of(layers, route->send[i]);
  const karst_lists lists = {route->neighbours, route->rank, PLACE, route->send_start, route->receive_start};
  return karst_lists_exchange(context, status, &lists, (const karst_index *)answer->place, (karst_index *)layer->place);
}

static karst_status allocate_columns(karst_context *context, const karst_route *route, karst_layer *layer,
                                     struct answer *answer)
{
  const int64_t ends = (int64_t)route->neighbours + 1;
  const karst_index sent = route->send_start[route->neighbours];
  const char *const what = "the columns of the overlap";
  karst_status status = karst_allocate(context, &answer->start, (int64_t)sent + 1, sizeof(karst_index), what);
  if (!status)
    status = karst_allocate(context, &layer->column_start, (int64_t)layer->rows + 1, sizeof(karst_index), what);
  if (!status) status = karst_allocate(context, &answer->send_start, ends, sizeof(karst_index), what);
  if (!status) status = karst_allocate(context, &answer->receive_start, ends, sizeof(karst_index), what);
  if (!status) status = count_columns(context, sent, answer->place, answer->start);
  if (!status) status = count_columns(context, layer->rows, layer->place, layer->column_start);
  if (!status) status = karst_allocate(context, &answer->column, answer->start[sent], sizeof(karst_index), what);
  if (!status)
    status = karst_allocate(context, &layer->column, layer->column_start[layer->rows], sizeof(karst_index), what);
  return status;
}

static karst_status take_columns(const karst_layers *layers, const karst_route *route, karst_layer *layer,
                                 struct answer *answer)
{
  karst_context *context = layers->A->context;
  karst_status status = allocate_columns(context, route, layer, answer);
  if (!status) {
    karst_index *column = answer->column;
    for (karst_index i = 0; i < route->send_start[route->neighbours]; i++)
      column = write_columns(layers, &answer->place[i], column);
    for (int n = 0; n <= route->neighbours; n++) {
      answer->send_start[n] = answer->start[route->send_start[n]];
      answer->receive_start[n] = layer->column_start[route->receive_start[n]];
    }
  }
  const karst_lists lists = {route->neighbours, route->rank, 1, answer->send_start, answer->receive_start};
  return karst_lists_exchange(context, status, &lists, answer->column, layer->column);
}

/* Asks the owners of a layer's rows for their patterns. */
static karst_status fetch_patterns(const karst_layers *layers, karst_layer *layer)
{
  karst_context *context = layers->A->context;
  struct answer answer = {0};
  karst_route route = {0};
  karst_status status = karst_route_find(context, layers->A->halo->first, layer->rows, layer->row, &route);
  if (!status) status = take_places(layers, &route, layer, &answer);
  if (!status) status = take_columns(layers, &route, layer, &answer);
  karst_release(context, answer.place);
  karst_release(context, answer.start);
  karst_release(context, answer.column);
  karst_release(context, answer.send_start);
  karst_release(context, answer.receive_start);
  karst_route_release(context, &route);
  return status;
}

/* ---- the rows of a layer ---- */

static bool is_found(const karst_layers *layers, karst_index number)
{
  if (number >= layers->begin && number < layers->end) return true;
  for (int l = 0; l < layers->count; l++)
    if (karst_find_column(layers->layer[l].row, 0, layers->layer[l].rows, number) >= 0) return true;
  return false;
}

/* Lists the rows that the last layer couples with and that are in no layer yet. */
static karst_status list_rows(const karst_layers *layers, karst_layer *next)
{
  const karst_layer *last = &layers->layer[layers->count - 1];
  const karst_index columns = last->column_start[last->rows];
  karst_status status =
      karst_allocate(layers->A->context, &next->row, columns, sizeof *next->row, "the rows of the overlap");
  if (status) return status;
  for (karst_index k = 0; k < columns; k++)
    if (!is_found(layers, last->column[k])) next->row[next->rows++] = last->column[k];
  next->rows = karst_lists_sort(next->rows, next->row);
  return KARST_SUCCESS;
}

static karst_status list_ghosts(const karst_layers *layers, karst_layer *first)
{
  const karst_index ghosts = layers->A->halo->ghosts;
  karst_status status =
      karst_allocate(layers->A->context, &first->row, ghosts, sizeof *first->row, "the rows of the overlap");
  if (status) return status;
  if (ghosts > 0) memcpy(first->row, layers->ghost, (size_t)ghosts * sizeof *first->row);
  first->rows = karst_lists_sort(ghosts, first->row);
  return KARST_SUCCESS;
}

static karst_status begin(karst_layers *layers)
{
  const karst_matrix *A = layers->A;
  const karst_halo *halo = A->halo;
  karst_context *context = A->context;
  karst_status status = karst_matrix_fetch_pattern(A);
  if (!status)
    status = karst_allocate(context, &layers->ghost, halo->ghosts, sizeof *layers->ghost, "the numbers of ghosts");
  if (!status)
    status = karst_allocate_zero(context, &layers->boundary, A->block_rows, sizeof(karst_index), "the boundary");
  for (karst_index k = 0; k < halo->rows && !status; k++) layers->boundary[halo->host.row[k]] = k + 1;
  status = karst_ranks_agree(context, status);
  return status ? status : number_ghosts(layers);
}

karst_status karst_layers_find(const karst_matrix *A, int count, karst_layers *layers)
{
  layers->A = A;
  layers->begin = karst_halo_global(A->halo, 0);
  layers->end = layers->begin + A->block_rows;
  karst_status status = begin(layers);
  while (layers->count < count && !status) {
    karst_layer *layer = &layers->layer[layers->count];
    status = layers->count == 0 ? list_ghosts(layers, layer) : list_rows(layers, layer);
    layers->count++;
    status = karst_ranks_agree(A->context, status);
    if (!status) status = fetch_patterns(layers, layer);
  }
  return status;
}

void karst_layers_release(karst_layers *layers)
{
  karst_context *context = layers->A->context;
  karst_release(context, layers->ghost);
  karst_release(context, layers->boundary);
  for (int l = 0; l < layers->count; l++) {
    karst_release(context, layers->layer[l].row);
    karst_release(context, layers->layer[l].place);
    karst_release(context, layers->layer[l].column_start);
    karst_release(context, layers->layer[l].column);
  }
}
