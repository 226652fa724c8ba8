/* sweep_order.c - orders the blocks of the factors for asynchronous sweeps, for experiments (Chow, Anzt, Dongarra,
 * sections 3.2 to 3.4). The list of tasks, one for each block, is cut into chunks as large as the paper's thread
 * blocks, and the chunks can be reordered too. The random orders are the same in every run. */
#include "config.h"

#include "symbolic/symbolic.h"

#include <string.h>

enum { CHUNK = 128 };

/* Returns a uniform number in 0 .. below - 1 (Marsaglia's xorshift). */
static int64_t draw(uint64_t *state, int64_t below)
{
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return (int64_t)(*state % (uint64_t)below);
}

/* Shuffles the items (Fisher and Yates). */
static void shuffle(int64_t count, karst_index *item)
{
  uint64_t state = 20160619;
  for (int64_t i = count - 1; i > 0; i--) {
    int64_t j = draw(&state, i + 1);
    karst_index kept = item[i];
    item[i] = item[j];
    item[j] = kept;
  }
}

/* Gathers the rows into subdomains of size rows. Each subdomain grows breadth first from the first free row. done: [n]
 * zero on entry. row also serves as the queue of the rows that have been reached. */
static void gather_rows(const karst_sweep_pattern *pattern, int size, bool *done, karst_index *row)
{
  karst_index taken = 0, first = 0;
  while (taken < pattern->rows) {
    karst_index end = taken, waiting = taken + 1, last = pattern->rows - taken > size ? taken + size : pattern->rows;
    while (done[first]) first++;
    row[taken] = first;
    done[first] = true;
    for (; end < waiting && end < last; end++)
      for (karst_index k = pattern->row_start[row[end]]; k < pattern->row_start[row[end] + 1]; k++) {
        karst_index j = pattern->column[k];
        if (done[j] || waiting == last) continue;
        done[j] = true;
        row[waiting++] = j;
      }
    taken = end;
  }
}

/* Lists the blocks of the rows in the order row, or in natural order if row is NULL; returns their number. */
static int64_t list_rows(const karst_sweep_pattern *pattern, const karst_index *row, karst_index *task)
{
  int64_t tasks = 0;
  for (karst_index at = 0; at < pattern->rows; at++) {
    karst_index i = row ? row[at] : at;
    for (karst_index k = pattern->row_start[i]; k < pattern->row_start[i + 1]; k++)
      if (!pattern->lower || pattern->column[k] <= i) task[tasks++] = k;
  }
  return tasks;
}

/* Copies the chunks of from to to, in the order given by chunk. */
static void order_chunks(int64_t tasks, const karst_index *from, int64_t chunks, const karst_index *chunk,
                         karst_index *to)
{
  for (int64_t c = 0; c < chunks; c++) {
    int64_t first = (int64_t)chunk[c] * CHUNK, count = tasks - first < CHUNK ? tasks - first : CHUNK;
    memcpy(to, from + first, (size_t)count * sizeof *to);
    to += count;
  }
}

karst_status karst_sweep_order(karst_context *context, const karst_sweep_pattern *pattern, karst_task_order order,
                               int block, karst_chunk_order chunk_order, karst_index **task, int64_t *tasks)
{
  const char *what = "the order of the sweeps";
  const karst_index n = pattern->rows;
  karst_index *list = NULL, *ordered = NULL, *row = NULL, *chunk = NULL;
  bool *done = NULL;
  karst_status status;
  *task = NULL;
  *tasks = 0;
  if (order == KARST_TASKS_ROWS && chunk_order == KARST_CHUNKS_FORWARD) return KARST_SUCCESS;
  if ((status = karst_allocate(context, &list, pattern->row_start[n], sizeof *list, what)) ||
      (status = karst_allocate(context, &ordered, pattern->row_start[n], sizeof *ordered, what)) ||
      (status = karst_allocate(context, &row, n, sizeof *row, what)) ||
      (status = karst_allocate_zero(context, &done, n, sizeof *done, what)) ||
      (status = karst_allocate(context, &chunk, pattern->row_start[n] / CHUNK + 1, sizeof *chunk, what)))
    goto finish;
  bool blocks = order == KARST_TASKS_BLOCKS;
  if (blocks) gather_rows(pattern, block, done, row);
  int64_t count = list_rows(pattern, blocks ? row : NULL, list), chunks = (count + CHUNK - 1) / CHUNK;
  if (order == KARST_TASKS_RANDOM) shuffle(count, list);
  for (int64_t c = 0; c < chunks; c++)
    chunk[c] = (karst_index)(chunk_order == KARST_CHUNKS_BACKWARD ? chunks - 1 - c : c);
  if (chunk_order == KARST_CHUNKS_RANDOM) shuffle(chunks, chunk);
  order_chunks(count, list, chunks, chunk, ordered);
  *task = ordered;
  *tasks = count;
  ordered = NULL;

finish:
  karst_release(context, list);
  karst_release(context, ordered);
  karst_release(context, row);
  karst_release(context, done);
  karst_release(context, chunk);
  return status;
}
