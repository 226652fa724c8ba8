/* report.c - what amg reports: the outcome of values, and the sizes of the levels over all ranks that share them. */
#include "precond/amg/amg_ranks.h"

#include <stdio.h>

enum { MOST = 2 * KARST_AMG_LEVELS };

static karst_amg_size size_of(const karst_amg_matrix *A)
{
  return (karst_amg_size){.rows = A->rows, .entries = A->entries, .longest = A->longest};
}

/* What a rank tells the others. */
struct sizes {
  karst_amg_size level[KARST_AMG_LEVELS];
};

karst_status karst_amg_spread_measure(karst_amg_spread *spread)
{
  karst_context *context = spread->p->context;
  struct sizes own = {0}, *all = (void *)context->ranks->words;
  _Static_assert(sizeof own <= sizeof *context->ranks->words, "sizes are a message");
  for (int l = 0; l < spread->amg->levels; l++) own.level[l] = size_of(&spread->amg->level[l].A);
  const karst_status status = karst_ranks_gather(context, &own, sizeof own, all);
  for (int l = 0; l < spread->amg->levels && !status; l++) {
    karst_amg_size *size = &spread->part[l].size;
    *size = (karst_amg_size){0};
    for (int r = 0; r < karst_context_ranks(context); r++) {
      size->rows += all[r].level[l].rows;
      size->entries += all[r].level[l].entries;
      if (all[r].level[l].longest > size->longest) size->longest = all[r].level[l].longest;
    }
  }
  return karst_ranks_agree(context, status);
}

/* Lists the sizes of all levels, and returns how many. The gathered level is the first of its own hierarchy. */
static int list_sizes(const karst_amg *amg, const karst_amg_spread *spread, karst_amg_size *size)
{
  int levels = 0;
  for (int l = 0; l < amg->levels - (amg->gathers ? 1 : 0); l++)
    size[levels++] = spread ? spread->part[l].size : size_of(&amg->level[l].A);
  for (int l = 0; amg->gathers && l < spread->gathered.amg.levels; l++)
    size[levels++] = size_of(&spread->gathered.amg.level[l].A);
  return levels;
}

static karst_status put_level(karst_precond *p, int l, const karst_amg_size *size)
{
  char name[KARST_REPORT_NAME], text[KARST_REPORT_TEXT];
  snprintf(name, sizeof name, "amg_level_%d", l);
  snprintf(text, sizeof text, "%lld rows, %lld entries, longest row %lld", (long long)size->rows,
           (long long)size->entries, (long long)size->longest);
  return karst_precond_put_text(p, name, text);
}

karst_status karst_amg_report_sizes(karst_precond *p, const karst_amg *amg, const karst_amg_spread *spread)
{
  karst_amg_size size[MOST];
  const int levels = list_sizes(amg, spread, size);
  int64_t rows = 0, entries = 0;
  for (int l = 0; l < levels; l++) {
    rows += size[l].rows;
    entries += size[l].entries;
  }
  const double complexity = (double)entries / (size[0].entries > 0 ? (double)size[0].entries : 1);
  const double grid_complexity = (double)rows / (size[0].rows > 0 ? (double)size[0].rows : 1);
  karst_status status = karst_precond_put(p, "amg_levels", "levels", levels);
  if (!status) status = karst_precond_put(p, "operator_complexity", "", complexity);
  return status ? status : karst_precond_put(p, "grid_complexity", "", grid_complexity);
}

karst_status karst_amg_report_levels(karst_precond *p, const karst_amg *amg, const karst_amg_spread *spread)
{
  karst_amg_size size[MOST];
  const int levels = list_sizes(amg, spread, size);
  karst_status status = KARST_SUCCESS;
  if (amg->gathers) status = karst_precond_put(p, "amg_gathered", "is the level", amg->levels - 1);
  for (int l = 0; l < levels && !status; l++) status = put_level(p, l, &size[l]);
  return status;
}

void karst_amg_take_outcome(karst_precond *p, const karst_amg *amg, const karst_amg_outcome *outcome)
{
  if (p->agreed) return;
  p->reason = outcome->reason;
  p->block_row = outcome->block_row;
  if (outcome->reason == KARST_SINGULAR_BLOCK)
    snprintf(p->explanation, sizeof p->explanation, "all entries of the row are zero%s",
             amg->single ? ", or too small for amg-precision float beside the largest of the matrix" : "");
}
