/* shared.c - see auto.h: lets the ranks of a distributed matrix choose alike. The ladder is that of the rank with the
 * most block rows, and what a choice has cost is the time of the slowest rank. All else that auto looks at is the same on
 * all ranks, so each finds the same moves for itself. */
#include "lib/ranks/halo.h"
#include "solver/auto/auto.h"

#include <math.h>
#include <string.h>

/* A rung by its numbers in the tables, which have other addresses on other ranks. */
struct rung {
  int precond, ordering, level;
};

struct ladder {
  int64_t block_rows;
  struct rung rung[KARST_AUTO_RUNGS];
  int count, start;
  bool climbs, host;
  double growth;
  char reason[KARST_REPORT_TEXT];
};

_Static_assert(sizeof(struct ladder) <= sizeof(karst_ranks_word), "a ladder is a message");

static struct ladder pack(const karst_matrix *A, const karst_auto *choice)
{
  const karst_auto_ladder *from = &choice->ladder;
  struct ladder to;
  memset(&to, 0, sizeof to); /* a message has no undefined bytes */
  to.block_rows = A->block_rows;
  to.count = from->count;
  to.start = from->start;
  to.climbs = from->climbs;
  to.host = choice->host;
  to.growth = from->growth;
  memcpy(to.reason, choice->reason, sizeof to.reason);
  for (int i = 0; i < from->count; i++) {
    struct rung *rung = &to.rung[i];
    rung->level = from->rung[i].level;
    while (karst_precond_at(A->context, (size_t)rung->precond) != from->rung[i].precond) rung->precond++;
    while (strcmp(karst_ordering_table[rung->ordering]->name, from->rung[i].ordering) != 0) rung->ordering++;
  }
  return to;
}

static void unpack(karst_context *context, const struct ladder *from, karst_auto *choice)
{
  karst_auto_ladder *to = &choice->ladder;
  to->count = from->count;
  to->start = from->start;
  to->climbs = from->climbs;
  to->growth = from->growth;
  choice->host = from->host;
  choice->at = choice->best = to->start;
  memcpy(choice->reason, from->reason, sizeof choice->reason);
  for (int i = 0; i < from->count; i++)
    to->rung[i] = (karst_auto_rung){karst_precond_at(context, (size_t)from->rung[i].precond),
                                    karst_ordering_table[from->rung[i].ordering]->name, from->rung[i].level};
}

karst_status karst_auto_share_ladder(const karst_matrix *A, karst_status status, karst_auto *choice)
{
  karst_context *context = A->context;
  if (!A->halo) return status;
  status = karst_ranks_agree(context, status);
  if (status) return status;
  const struct ladder own = pack(A, choice);
  struct ladder *const all = (void *)context->ranks->words;
  int largest = 0;
  status = karst_ranks_gather(context, &own, sizeof own, all);
  if (status) return status;
  for (int r = 1; r < karst_context_ranks(context); r++)
    if (all[r].block_rows > all[largest].block_rows) largest = r;
  unpack(context, &all[largest], choice);
  return KARST_SUCCESS;
}

karst_status karst_auto_share_sample(karst_context *context, karst_auto_sample *sample)
{
  enum { SETUP, UPDATE, STEP, SOLVE, TIMES };
  if (!context->ranks) return KARST_SUCCESS;
  double slowest[TIMES] = {sample->setup, sample->update, sample->step, sample->solve};
  double(*const all)[TIMES] = (void *)context->ranks->words;
  const karst_status status = karst_ranks_gather(context, slowest, sizeof slowest, all);
  for (int r = 0; r < karst_context_ranks(context) && !status; r++)
    for (int i = 0; i < TIMES; i++) slowest[i] = fmax(slowest[i], all[r][i]); /* a NaN is one on all ranks */
  sample->setup = slowest[SETUP];
  sample->update = slowest[UPDATE];
  sample->step = slowest[STEP];
  sample->solve = slowest[SOLVE];
  return status;
}
