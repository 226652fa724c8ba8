/* Vectors of all ranks are gathered on each of them in the order of the ranks, whatever their numbers of rows; where the
 * transport fails on one rank, its vector is NaN and the others go on. */
#include "lib/ranks/whole.h"
#include "tests/ranks/spread_system.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct task {
  karst_index first[TEAM_MOST + 1];
};

/* Element i of a vector in a turn. */
static double element(karst_index i, int turn) { return 1.0 / (double)(i + 1) + turn; }

static void gather(struct team_rank *rank)
{
  const karst_index *first = ((const struct task *)rank->user)->first;
  const karst_index begin = first[rank->rank], rows = first[rank->rank + 1] - begin, all = first[rank->ranks];
  const struct karst_backend *backend = rank->context->backend;
  double *host = tap_memory((int64_t)all + 1, sizeof *host), *x, *joined;
  karst_whole *whole;
  if (!team_need(rank, karst_whole_create(rank->context, first, &whole), "a vector of all ranks")) return;
  team_ok(rank, whole->rows == rows && whole->all == all, "its rows");
  team_ok(rank, karst_whole_memory(whole) >= (int64_t)sizeof(double) * whole->most * (rank->ranks + 1), "its memory");
  team_need(rank, karst_device_doubles(rank->context, rows, "a part", &x), "a part");
  team_need(rank, karst_device_doubles(rank->context, all, "all", &joined), "all");
  for (int turn = 0; turn < 4; turn++) {
    const bool fails = turn == 2 && rank->rank == rank->ranks - 1;
    const long before = rank->memory.calls;
    for (karst_index i = 0; i < rows; i++) host[i] = element(begin + i, turn);
    team_need(rank, backend->upload(rank->context, x, host, (size_t)rows * sizeof *x), "a part");
    rank->fail_call = fails ? rank->calls + 1 : 0;
    const karst_status status = karst_whole_gather(whole, x, joined);
    team_ok(rank, status == (fails ? KARST_ERROR_TRANSPORT : KARST_SUCCESS), "turn %d: %s", turn,
            karst_status_text(status));
    team_ok(rank, rank->memory.calls == before, "a gathering allocates nothing");
    team_need(rank, backend->download(rank->context, host, joined, (size_t)all * sizeof *x), "all");
    bool right = true;
    for (karst_index i = 0; i < all; i++) right = right && (fails ? isnan(host[i]) : host[i] == element(i, turn));
    team_ok(rank, right, "turn %d: all rows are in their order, or NaN after a failure", turn);
  }
  backend->release(rank->context, x);
  backend->release(rank->context, joined);
  karst_whole_destroy(whole);
  free(host);
}

/* Making one is local, so one rank alone may fail. */
static karst_status make(struct team_rank *rank)
{
  const karst_index *first = ((const struct task *)rank->user)->first;
  karst_whole *whole;
  const karst_status status = karst_ranks_agree(rank->context, karst_whole_create(rank->context, first, &whole));
  karst_whole_destroy(whole);
  return status;
}

int main(void)
{
  static const karst_index rows[][4] = {{5, 5, 5, 5}, {0, 7, 0, 1},    {1, 1, 1, 1},  {0, 0, 0, 0},
                                        {0, 0, 0, 9}, {1000, 1, 0, 3}, {2, 0, 700, 0}};
  for (int ranks = 1; ranks <= 4; ranks++)
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
      struct task task = {{0}};
      for (int r = 0; r < ranks; r++) task.first[r + 1] = task.first[r] + rows[i][r];
      team_each_device(ranks, gather, &task, "vectors of all ranks");
      if (ranks == 3 && i == 1) team_fail_allocations(ranks, make, &task, 1, "a vector of all ranks");
    }
  return tap_done();
}
