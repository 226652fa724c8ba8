/* redistribution.c - moves the block rows of a distributed matrix, and of vectors, to other ranks.
 *
 * A rank's rows are in the order of the numbers that they had before, so that what comes from a rank is one piece of
 * each array and is received in its place. In round k of as many rounds as there are ranks, rank r sends to rank r + k
 * and receives from rank r - k, modulo the ranks: one such message is packed at a time. */
#include "lib/base/search.h"
#include "lib/ranks/rank_rows.h"
#include "lib/vector/vector.h"

#include <stdlib.h>
#include <string.h>

static const char what[] = "moving block rows";

struct karst_redistribution {
  karst_context *context;
  karst_index rows, moved;    /* own block rows before and after */
  karst_index *order;         /* [rows] sorted by where they go */
  karst_index *number;        /* [rows] what each becomes among those of all ranks */
  karst_index *send_start;    /* [ranks + 1] where the rows for each rank begin in order */
  karst_index *receive_start; /* [ranks + 1] where those of each rank begin in the new order */
};

/* ---- the plan ---- */

static int64_t sum_of(const int64_t *count, int many, int stride)
{
  int64_t sum = 0;
  for (int i = 0; i < many; i++) sum += count[(int64_t)i * stride];
  return sum;
}

/* Fills the plan; all[s * ranks + r] rows go from rank s to rank r. */
static karst_status plan(karst_redistribution *r, const int *rank, const int64_t *all)
{
  karst_context *context = r->context;
  const int ranks = karst_context_ranks(context), own = karst_context_rank(context);
  int64_t next[ranks], moved = 0; /* next: the new number of this rank's next row for each rank */
  karst_index place[ranks];
  for (int to = 0; to < ranks; to++) {
    next[to] = to > 0 ? next[to - 1] - sum_of(all + to - 1, own, ranks) + sum_of(all + to - 1, ranks, ranks) : 0;
    next[to] += sum_of(all + to, own, ranks);
    r->send_start[to + 1] = r->send_start[to] + (karst_index)all[(int64_t)own * ranks + to];
    place[to] = r->send_start[to];
  }
  for (int from = 0; from < ranks; from++) {
    moved += all[(int64_t)from * ranks + own];
    if (moved > KARST_INDEX_MAX) break;
    r->receive_start[from + 1] = (karst_index)moved;
  }
  if (sum_of(all, ranks * ranks, 1) > KARST_INDEX_MAX)
    return karst_fail(context, KARST_ERROR_INDEX_OVERFLOW,
                      "the ranks have more block rows together than the index type can count: configure with "
                      "--enable-int64");
  r->moved = (karst_index)moved;
  for (karst_index i = 0; i < r->rows; i++) {
    r->order[place[rank[i]]++] = i;
    r->number[i] = (karst_index)next[rank[i]]++;
  }
  return KARST_SUCCESS;
}

static karst_status count_rows(const karst_redistribution *r, const int *rank, int64_t *count)
{
  const int ranks = karst_context_ranks(r->context);
  for (karst_index i = 0; i < r->rows; i++) {
    if (rank[i] < 0 || rank[i] >= ranks)
      return karst_fail(r->context, KARST_ERROR_ARGUMENT, "block row %lld goes to rank %d of %d", (long long)i, rank[i],
                        ranks);
    count[rank[i]]++;
  }
  return KARST_SUCCESS;
}

static karst_status take_memory(karst_redistribution *r, int64_t **all)
{
  const int64_t ranks = karst_context_ranks(r->context);
  karst_status status = karst_allocate(r->context, &r->order, r->rows, sizeof *r->order, what);
  if (!status) status = karst_allocate(r->context, &r->number, r->rows, sizeof *r->number, what);
  if (!status) status = karst_allocate_zero(r->context, &r->send_start, ranks + 1, sizeof *r->send_start, what);
  if (!status) status = karst_allocate_zero(r->context, &r->receive_start, ranks + 1, sizeof *r->receive_start, what);
  if (!status) status = karst_allocate_zero(r->context, all, (ranks + 1) * ranks, sizeof **all, what);
  return status;
}

karst_status karst_redistribution_create(karst_context *context, karst_index block_rows, const int *rank,
                                         karst_redistribution **redistribution)
{
  karst_redistribution *made = NULL;
  int64_t *all = NULL; /* [ranks * ranks], and what this rank has counted */
  if (redistribution) *redistribution = NULL;
  if (!context || !redistribution) return karst_missing(context, "the place for the redistribution");
  if (!context->ranks)
    return karst_fail(context, KARST_ERROR_ARGUMENT, "block rows move between ranks, and the context is not one");
  const int64_t ranks = karst_context_ranks(context);
  karst_status status = KARST_SUCCESS;
  if (block_rows < 0 || (!rank && block_rows > 0))
    status = karst_fail(context, KARST_ERROR_ARGUMENT, "the ranks of %lld block rows", (long long)block_rows);
  if (!status) status = karst_allocate_zero(context, &made, 1, sizeof *made, what);
  if (made) *made = (karst_redistribution){.context = context, .rows = block_rows};
  if (!status) status = take_memory(made, &all);
  if (!status) status = count_rows(made, rank, all + ranks * ranks);
  status = karst_ranks_enter(context, status);
  if (!status) status = karst_ranks_gather(context, all + ranks * ranks, (size_t)ranks * sizeof *all, all);
  if (!status) status = plan(made, rank, all);
  karst_release(context, all);
  if (status)
    karst_redistribution_destroy(made);
  else
    *redistribution = made;
  return status;
}

void karst_redistribution_destroy(karst_redistribution *r)
{
  if (!r) return;
  karst_release(r->context, r->order);
  karst_release(r->context, r->number);
  karst_release(r->context, r->send_start);
  karst_release(r->context, r->receive_start);
  karst_release(r->context, r);
}

karst_index karst_redistribution_block_rows(const karst_redistribution *r) { return r ? r->moved : 0; }

/* ---- rounds ---- */

/* The two ranks that this one has to do with in a round. */
struct pair {
  int to, from;
};

static struct pair pair_of(const karst_context *context, int round)
{
  const int ranks = karst_context_ranks(context), own = karst_context_rank(context);
  return (struct pair){(own + round) % ranks, (own + ranks - round) % ranks};
}

/* Sends and receives in a round. In round 0 this rank sends to itself. */
static karst_status swap(karst_context *context, struct pair pair, const void *send, size_t send_bytes, void *receive,
                         size_t receive_bytes)
{
  const karst_transport *transport = &context->ranks->transport;
  const unsigned failures = karst_failures(context);
  const karst_transfer out = {.rank = pair.to, .send = send, .send_bytes = send_bytes};
  const karst_transfer in = {.rank = pair.from, .receive = receive, .receive_bytes = receive_bytes};
  karst_transfer transfers[2] = {pair.to < pair.from ? out : in, pair.to < pair.from ? in : out};
  if (pair.to == karst_context_rank(context)) {
    if (send_bytes > 0 && send != receive) memcpy(receive, send, send_bytes);
    return KARST_SUCCESS;
  }
  if (pair.to == pair.from) transfers[0] = (karst_transfer){pair.to, send, send_bytes, receive, receive_bytes};
  karst_status status = transport->exchange_begin(transport->user, pair.to == pair.from ? 1 : 2, transfers);
  if (!status) status = transport->exchange_end(transport->user);
  return karst_check_returned(context, status, failures, "an exchange", " of the transport");
}

static size_t count_of(const karst_index *start, int rank) { return (size_t)(start[rank + 1] - start[rank]); }

static int64_t most_of(const karst_index *start, int ranks)
{
  int64_t most = 0;
  for (int r = 0; r < ranks; r++)
    if (start[r + 1] - start[r] > most) most = start[r + 1] - start[r];
  return most;
}

/* Moves an item of size bytes for each block row, in host memory, there or back. The ranks agree before and after;
 * status: of what this rank has done before. */
static karst_status move_items(const karst_redistribution *r, karst_status status, bool back, size_t size,
                               const void *from, void *to)
{
  karst_context *context = r->context;
  const int ranks = karst_context_ranks(context);
  const char *in = from;
  char *pack = NULL, *out = to;
  if (!status) status = karst_allocate(context, &pack, most_of(r->send_start, ranks), size, what);
  status = karst_ranks_agree(context, status);
  if (status) {
    karst_release(context, pack);
    return status;
  }
  for (int round = 0; round < ranks; round++) {
    const struct pair pair = pair_of(context, round);
    const karst_index *sends = back ? r->receive_start : r->send_start;
    const karst_index *receives = back ? r->send_start : r->receive_start;
    for (karst_index k = sends[pair.to]; !back && k < sends[pair.to + 1]; k++)
      memcpy(pack + (size_t)(k - sends[pair.to]) * size, in + (size_t)r->order[k] * size, size);
    const karst_status swapped =
        swap(context, pair, back ? in + (size_t)sends[pair.to] * size : pack, count_of(sends, pair.to) * size,
             back ? pack : out + (size_t)receives[pair.from] * size, count_of(receives, pair.from) * size);
    for (karst_index k = receives[pair.from]; back && k < receives[pair.from + 1]; k++)
      memcpy(out + (size_t)r->order[k] * size, pack + (size_t)(k - receives[pair.from]) * size, size);
    if (!status) status = swapped;
  }
  karst_release(context, pack);
  return karst_ranks_agree(context, status);
}

/* ---- vectors ---- */

/* Moves the scalars of each block row. */
static karst_status move_vector(const karst_redistribution *r, bool back, const karst_vector *from, karst_vector *to)
{
  karst_context *context = r->context;
  const karst_index before = back ? r->moved : r->rows, after = back ? r->rows : r->moved;
  int64_t size = before > 0 ? from->length / before : after > 0 ? to->length / after : 0;
  double *in = NULL, *out = NULL;
  karst_status status = karst_ranks_largest(context, &size);
  if (!status && (from->length != size * before || to->length != size * after))
    status = karst_fail(
        context, KARST_ERROR_ARGUMENT, "vectors of %lld and %lld scalars for %lld and %lld block rows of %lld scalars",
        (long long)from->length, (long long)to->length, (long long)before, (long long)after, (long long)size);
  if (!status) status = karst_allocate(context, &in, from->length, sizeof *in, what);
  if (!status) status = karst_allocate(context, &out, to->length, sizeof *out, what);
  if (!status) status = karst_vector_get(from, from->length, in);
  status = move_items(r, status, back, (size_t)size * sizeof *in, in, out);
  if (!status) status = karst_ranks_agree(context, karst_vector_set(to, to->length, out));
  karst_release(context, in);
  karst_release(context, out);
  return status;
}

static karst_status enter_vectors(const karst_redistribution *r, bool back, const karst_vector *from, karst_vector *to)
{
  if (!r) return KARST_ERROR_ARGUMENT;
  const karst_status status = from && to ? KARST_SUCCESS : karst_missing(r->context, "a vector");
  const karst_status entered = karst_ranks_enter(r->context, status);
  return entered ? entered : move_vector(r, back, from, to);
}

karst_status karst_redistribution_vector(const karst_redistribution *r, const karst_vector *from, karst_vector *to)
{
  return enter_vectors(r, false, from, to);
}

karst_status karst_redistribution_vector_back(const karst_redistribution *r, const karst_vector *from, karst_vector *to)
{
  return enter_vectors(r, true, from, to);
}

/* ---- a matrix ---- */

/* A block on its way, with its new column. */
struct block {
  karst_index column;
  const double *value;
};

struct move {
  const karst_redistribution *r;
  karst_rows rows;
  karst_index *ghost_number; /* [ghosts] what each becomes */
  karst_index *column;       /* [widest] */
  const double **value;      /* [widest] */
  struct block *block;       /* [widest] */
  karst_index *length;       /* [rows] blocks of the own rows */
  karst_index *send_column;  /* the blocks for one rank */
  double *send_value;
  karst_index *row_start, *new_column; /* [moved + 1], [blocks] the new rows */
  double *new_value;                   /* [b b blocks] */
};

/* Releases all but the new rows. */
static void release_old(struct move *m)
{
  karst_context *context = m->r->context;
  karst_rows_done(&m->rows);
  karst_release(context, m->ghost_number);
  karst_release(context, m->column);
  karst_release(context, m->value);
  karst_release(context, m->block);
  karst_release(context, m->length);
  karst_release(context, m->send_column);
  karst_release(context, m->send_value);
}

static void release_new(const struct move *m)
{
  karst_context *context = m->r->context;
  karst_release(context, m->row_start);
  karst_release(context, m->new_column);
  karst_release(context, m->new_value);
}

/* Lets the ranks that have a row as a ghost know its new number, the first scalar of its part of a vector. */
static karst_status number_ghosts(struct move *m)
{
  const karst_matrix *A = m->rows.A;
  karst_context *context = A->context;
  const int b = A->block_size;
  karst_exchange *exchange = A->halo->exchange;
  const int64_t scalars = (int64_t)b * A->block_rows, received = (int64_t)b * A->halo->ghosts;
  double *host = NULL, *device = NULL;
  karst_status status = karst_allocate(context, &m->ghost_number, A->halo->ghosts, sizeof *m->ghost_number, what);
  if (!status)
    status = karst_allocate_zero(context, &host, scalars > received ? scalars : received, sizeof *host, what);
  if (!status) status = karst_device_doubles(context, scalars, what, &device);
  for (karst_index i = 0; i < A->block_rows && !status; i++) host[(int64_t)b * i] = (double)m->r->number[i];
  if (!status) status = context->backend->upload(context, device, host, (size_t)scalars * sizeof *host);
  status = karst_ranks_agree(context, status);
  if (!status) {
    karst_exchange_begin(exchange, device);
    status = karst_exchange_end(exchange);
    if (!status)
      status = context->backend->download(context, host, exchange->incoming, (size_t)received * sizeof *host);
    for (karst_index g = 0; g < A->halo->ghosts && !status; g++) m->ghost_number[g] = (karst_index)host[(int64_t)b * g];
    status = karst_ranks_agree(context, status);
  }
  context->backend->release(context, device);
  karst_release(context, host);
  return status;
}

static int compare(const void *a, const void *b)
{
  const struct block *one = a, *other = b;
  return (one->column > other->column) - (one->column < other->column);
}

/* Writes the blocks of a row in the order of their new columns. Returns how many. */
static karst_index write_row(const struct move *m, karst_index i, karst_index *column, double *value)
{
  const karst_matrix *A = m->rows.A;
  const karst_halo *halo = A->halo;
  const karst_index first = karst_halo_global(halo, 0), count = karst_rows_list(&m->rows, i, m->column, m->value);
  const int64_t bb = karst_block_offset(A->block_size, 1);
  for (karst_index k = 0; k < count; k++) {
    const karst_index j = m->column[k];
    const bool own = j >= first && j < first + A->block_rows;
    m->block[k].column =
        own ? m->r->number[j - first] : m->ghost_number[karst_find_column(halo->ghost, 0, halo->ghosts, j)];
    m->block[k].value = m->value[k];
  }
  if (count > 0) qsort(m->block, (size_t)count, sizeof *m->block, compare);
  for (karst_index k = 0; k < count; k++) {
    column[k] = m->block[k].column;
    memcpy(value + bb * k, m->block[k].value, (size_t)bb * sizeof *value);
  }
  return count;
}

/* Counts the blocks that go to a rank. */
static int64_t blocks_for(const struct move *m, int rank)
{
  int64_t blocks = 0;
  for (karst_index k = m->r->send_start[rank]; k < m->r->send_start[rank + 1]; k++) blocks += m->length[m->r->order[k]];
  return blocks;
}

/* Takes the memory for rows and messages, and learns how long the new rows are. */
static karst_status prepare(struct move *m)
{
  const karst_redistribution *r = m->r;
  const karst_matrix *A = m->rows.A;
  karst_context *context = r->context;
  const int own = karst_context_rank(context), ranks = karst_context_ranks(context);
  int64_t most = 0, blocks = 0;
  karst_status status = karst_allocate(context, &m->column, m->rows.widest, sizeof *m->column, what);
  if (!status) status = karst_allocate(context, &m->value, m->rows.widest, sizeof *m->value, what);
  if (!status) status = karst_allocate(context, &m->block, m->rows.widest, sizeof *m->block, what);
  if (!status) status = karst_allocate(context, &m->length, r->rows, sizeof *m->length, what);
  if (!status)
    status =
        karst_allocate(context, &m->row_start, (int64_t)r->moved + 1, sizeof *m->row_start, "the matrix's row starts");
  for (karst_index i = 0; i < r->rows && !status; i++) m->length[i] = karst_rows_length(&m->rows, i);
  status = move_items(r, status, false, sizeof *m->length, m->length, m->row_start ? m->row_start + 1 : NULL);
  if (status) return status;
  for (int rank = 0; rank < ranks; rank++)
    if (rank != own && blocks_for(m, rank) > most) most = blocks_for(m, rank);
  m->row_start[0] = 0;
  for (karst_index i = 0; i < r->moved && blocks <= KARST_INDEX_MAX; i++) {
    blocks += m->row_start[i + 1];
    m->row_start[i + 1] = (karst_index)blocks;
  }
  if (blocks > KARST_INDEX_MAX)
    status = karst_fail(context, KARST_ERROR_INDEX_OVERFLOW,
                        "a rank would have more blocks than the index type can count: configure with --enable-int64");
  const size_t bytes = (size_t)karst_block_offset(A->block_size, 1) * sizeof(double);
  if (!status) status = karst_allocate(context, &m->send_column, most, sizeof *m->send_column, what);
  if (!status) status = karst_allocate(context, &m->send_value, most, bytes, what);
  if (!status) status = karst_allocate(context, &m->new_column, blocks, sizeof *m->new_column, "the matrix's columns");
  if (!status) status = karst_allocate(context, &m->new_value, blocks, bytes, "the matrix's values");
  return karst_ranks_agree(context, status);
}

/* Moves columns and values. */
static karst_status move_blocks(struct move *m)
{
  const karst_redistribution *r = m->r;
  karst_context *context = r->context;
  const int own = karst_context_rank(context), ranks = karst_context_ranks(context);
  const int64_t bb = karst_block_offset(m->rows.A->block_size, 1);
  karst_status status = KARST_SUCCESS;
  for (int round = 0; round < ranks; round++) {
    const struct pair pair = pair_of(context, round);
    const karst_index begin = m->row_start[r->receive_start[pair.from]];
    const size_t received = (size_t)(m->row_start[r->receive_start[pair.from + 1]] - begin);
    karst_index *const column = m->new_column + begin, *const out = pair.to == own ? column : m->send_column;
    double *const value = m->new_value + bb * begin, *const out_value = pair.to == own ? value : m->send_value;
    int64_t sent = 0;
    for (karst_index k = r->send_start[pair.to]; k < r->send_start[pair.to + 1]; k++)
      sent += write_row(m, r->order[k], out + sent, out_value + bb * sent);
    const size_t item = (size_t)bb * sizeof *value;
    const karst_status swapped[] = {
        swap(context, pair, out, (size_t)sent * sizeof *out, column, received * sizeof *column),
        swap(context, pair, out_value, (size_t)sent * item, value, received * item)};
    for (int i = 0; i < 2 && !status; i++) status = swapped[i];
  }
  return karst_ranks_agree(context, status);
}

static karst_status check_matrix(const karst_redistribution *r, const karst_matrix *A)
{
  if (!A) return karst_missing(r->context, "the matrix");
  if (A->context == r->context && A->halo && A->block_rows == r->rows) return KARST_SUCCESS;
  return karst_fail(r->context, KARST_ERROR_ARGUMENT,
                    "the redistribution is of a distributed matrix with %lld block rows on this rank",
                    (long long)r->rows);
}

karst_status karst_redistribution_matrix(const karst_redistribution *r, const karst_matrix *A, karst_matrix **moved)
{
  struct move m = {.r = r};
  if (moved) *moved = NULL;
  if (!r) return KARST_ERROR_ARGUMENT;
  karst_context *context = r->context;
  karst_status status = moved ? check_matrix(r, A) : karst_missing(context, "the place for the matrix");
  if (!status) status = karst_rows_view(A, &m.rows);
  status = karst_ranks_enter(context, status);
  if (!status) status = number_ghosts(&m);
  if (!status) status = prepare(&m);
  if (!status) status = move_blocks(&m);
  release_old(&m);
  if (!status)
    status = karst_matrix_create_distributed(context, r->moved, A->block_size, m.row_start, m.new_column, m.new_value,
                                             moved);
  release_new(&m);
  return status;
}
