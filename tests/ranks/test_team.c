/* The transport between threads does what karst.h says of a transport, and a test with it cannot hang: messages arrive
 * at the end of an exchange and not before, and a call that waits for a rank that has ended fails. */
#include "tests/ranks/team.h"

#include <math.h>
#include <string.h>

static void gather(struct team_rank *rank)
{
  const karst_transport *transport = &rank->transport;
  const double own[2] = {rank->rank, 0.5};
  double all[2 * TEAM_MOST];
  bool right = true;
  for (int round = 0; round < 20; round++) {
    if (!team_need(rank, transport->gather(transport->user, own, sizeof own, all), "gather")) return;
    for (int r = 0; r < rank->ranks; r++) right = right && all[2 * r] == r && all[2 * r + 1] == 0.5;
  }
  team_ok(rank, right, "each rank's part arrives in its place");
  team_ok(rank, rank->gathers == 20 && rank->exchanges == 0 && rank->calls == 20, "calls are counted");
}

/* Rank r sends r + 1 numbers to each that follows it, and nothing back. */
static void exchange(struct team_rank *rank)
{
  const karst_transport *transport = &rank->transport;
  karst_transfer transfers[TEAM_MOST];
  double send[TEAM_MOST] = {0}, receive[TEAM_MOST][TEAM_MOST] = {{0}};
  bool early = false, right = true;
  int count = 0;
  for (int r = 0; r < rank->ranks; r++) {
    const size_t to = r > rank->rank ? (size_t)rank->rank + 1 : 0, from = r < rank->rank ? (size_t)r + 1 : 0;
    if (r != rank->rank)
      transfers[count++] = (karst_transfer){r, send, to * sizeof(double), receive[r], from * sizeof(double)};
  }
  for (int round = 0; round < 20; round++) {
    for (int i = 0; i <= rank->rank; i++) send[i] = 100 * round + 10 * rank->rank + i;
    team_need(rank, transport->exchange_begin(transport->user, count, transfers), "begin");
    for (int r = 0; r < rank->rank; r++) early = early || !isnan(receive[r][0]);
    team_need(rank, transport->exchange_end(transport->user), "end");
    for (int r = 0; r < rank->rank; r++)
      for (int i = 0; i <= r; i++) right = right && receive[r][i] == 100 * round + 10 * r + i;
  }
  team_ok(rank, !early, "what will be received is a NaN before the end");
  team_ok(rank, right, "all messages arrive");
}

/* Each call of the transport fails on one rank, which has done its part, so that the others succeed and go on. */
static void failing(struct team_rank *rank)
{
  const karst_transport *transport = &rank->transport;
  const int other = rank->rank ^ 1;
  const double own = rank->rank;
  double all[2], received = -1;
  const karst_transfer transfer = {other, &own, sizeof own, &received, sizeof received};
  for (int call = 1; call <= 4; call++) {
    rank->calls = 0;
    rank->fail_call = rank->rank == 0 ? call : 0;
    const karst_status status[4] = {transport->gather(transport->user, &own, sizeof own, all),
                                    transport->exchange_begin(transport->user, 1, &transfer),
                                    transport->exchange_end(transport->user),
                                    transport->gather(transport->user, &own, sizeof own, all)};
    for (int i = 0; i < 4; i++)
      team_ok(rank, status[i] == (i + 1 == rank->fail_call ? KARST_ERROR_TRANSPORT : KARST_SUCCESS), "call %d of %d", i,
              call);
    team_ok(rank, all[0] == 0 && all[1] == 1 && received == other, "the data arrive");
  }
  rank->fail_call = rank->rank == 0 ? rank->calls + 1 : 0;
  const karst_status begun = transport->exchange_begin(transport->user, 1, &transfer);
  if (!begun) team_need(rank, transport->exchange_end(transport->user), "the end of the others");
  team_need(rank, transport->exchange_begin(transport->user, 1, &transfer), "begin after one that failed");
  team_need(rank, transport->exchange_end(transport->user), "its end");
}

/* Rank 0 does not come to the call that all others make. The checks that fail here are the wanted ones. */
static void alone(struct team_rank *rank)
{
  const karst_transport *transport = &rank->transport;
  double all[TEAM_MOST], own = 1;
  const karst_transfer transfer = {0, &own, sizeof own, all, sizeof own};
  if (rank->rank == 0) return;
  karst_status status = transport->exchange_begin(transport->user, 1, &transfer);
  if (!status) status = transport->exchange_end(transport->user);
  const karst_status gathered = transport->gather(transport->user, &own, sizeof own, all);
  const int failures = rank->failures;
  rank->failures = 0;
  team_ok(rank, status == KARST_ERROR_TRANSPORT && gathered == KARST_ERROR_TRANSPORT && failures == 2,
          "calls fail that wait for a rank that has ended");
}

/* Ranks that disagree are found. */
static void different(struct team_rank *rank)
{
  team_ok(rank, team_same(rank, KARST_SUCCESS) == KARST_SUCCESS, "all succeed");
  const karst_status own = karst_context_fail(rank->context, KARST_ERROR_MATRIX, "the same");
  team_ok(rank, team_same(rank, own) == KARST_ERROR_MATRIX && rank->failures == 0, "all fail alike");
  karst_context_fail(rank->context, KARST_ERROR_MATRIX, rank->rank == 0 ? "one" : "another");
  team_same(rank, own);
  team_same(rank, rank->rank == 0 ? KARST_SUCCESS : own);
  const int failures = rank->failures;
  rank->failures = 0;
  team_ok(rank, failures == (rank->rank == 0 ? 0 : 3), "another sentence, then another status and sentence");
}

int main(void)
{
  for (int ranks = 1; ranks <= 4; ranks++) {
    team_run(ranks, "cpu", gather, NULL, "a gather");
    team_run(ranks, "cpu", exchange, NULL, "an exchange");
  }
  team_run(2, "cpu", failing, NULL, "calls that fail");
  team_run(3, "cpu", alone, NULL, "a rank that has ended");
  team_run(3, "cpu", different, NULL, "ranks that disagree");
  return tap_done();
}
