/* gathered.c - the last level of a hierarchy over ranks, which each rank has as a whole, with a hierarchy of its own that
 * is the same on all; see amg_ranks.h. */
#include "lib/base/search.h"
#include "precond/amg/amg_ranks.h"

#include <string.h>

/* What a rank sends of the pattern of its rows: their lengths, then their columns among those of all. */
struct pattern {
  karst_amg_matrix host;           /* the level's matrix of this rank */
  karst_index most_rows;           /* of a rank */
  int64_t most;                    /* indices of a rank */
  karst_index *own, *all;          /* [most], [most ranks] */
  int64_t entries;                 /* of all ranks */
  karst_index *row_start, *column; /* of the whole matrix */
};

void karst_amg_gathered_clear(karst_context *context, karst_amg_gathered *gathered)
{
  karst_release(context, gathered->amg.step);
  gathered->amg.step = NULL;
  if (context->backend->amg) context->backend->amg->destroy(context, &gathered->amg);
  karst_matrix_destroy(gathered->A);
  karst_whole_destroy(gathered->whole);
  context->backend->release(context, gathered->f);
  context->backend->release(context, gathered->x);
  context->backend->release(context, gathered->ghost);
  karst_release(context, gathered->order);
  karst_release(context, gathered->count);
  karst_release(context, gathered->staged);
  karst_release(context, gathered->own);
  karst_release(context, gathered->parts);
  karst_release(context, gathered->values);
  *gathered = (karst_amg_gathered){0};
}

int64_t karst_amg_gathered_memory(const karst_amg_gathered *gathered)
{
  if (!gathered->A) return 0;
  const int64_t scalar = sizeof(double), rows = gathered->A->block_rows, blocks = gathered->A->blocks;
  const int64_t ranks = gathered->whole->ranks;
  return karst_whole_memory(gathered->whole) + 2 * rows * scalar +
         blocks * (2 * scalar + (int64_t)sizeof(karst_index)) + gathered->most * (1 + ranks) * scalar +
         gathered->entries * (int64_t)sizeof(karst_index);
}

/* ---- the pattern ---- */

/* Finds the sizes of all ranks. */
static karst_status gather_sizes(karst_amg_spread *spread, const karst_index *first, struct pattern *p)
{
  karst_context *context = spread->p->context;
  karst_amg_gathered *gathered = &spread->gathered;
  const int ranks = karst_context_ranks(context);
  gathered->entries = (karst_index)p->host.entries;
  karst_status status = karst_ranks_agree(
      context, karst_ranks_gather(context, &gathered->entries, sizeof gathered->entries, gathered->count));
  for (int r = 0; r < ranks && !status; r++) {
    if (first[r + 1] - first[r] > p->most_rows) p->most_rows = first[r + 1] - first[r];
    if (gathered->count[r] > gathered->most) gathered->most = gathered->count[r];
    p->entries += gathered->count[r];
  }
  if (!status && p->entries > KARST_INDEX_MAX)
    status = karst_fail(context, KARST_ERROR_INDEX_OVERFLOW,
                        "the last multigrid level has more entries than an index counts");
  p->most = (int64_t)p->most_rows + gathered->most;
  return status;
}

static karst_status take_memory(karst_amg_spread *spread, const karst_amg_part *part, struct pattern *p)
{
  static const char what[] = "the last multigrid level of all ranks";
  karst_context *context = spread->p->context;
  karst_amg_gathered *gathered = &spread->gathered;
  const int64_t ranks = karst_context_ranks(context), rows = part->first[ranks], scalar = sizeof(double);
  karst_status status;
  if ((status = karst_allocate_zero(context, &p->own, p->most, sizeof *p->own, what)) ||
      (status = karst_allocate(context, &p->all, p->most * ranks, sizeof *p->all, what)) ||
      (status = karst_allocate(context, &p->row_start, rows + 1, sizeof *p->row_start, what)) ||
      (status = karst_allocate(context, &p->column, p->entries, sizeof *p->column, what)) ||
      (status = karst_allocate(context, &gathered->order, gathered->entries, sizeof *gathered->order, what)) ||
      (status = karst_allocate(context, &gathered->staged, gathered->entries, (size_t)scalar, what)) ||
      (status = karst_allocate_zero(context, &gathered->own, gathered->most, (size_t)scalar, what)) ||
      (status = karst_allocate(context, &gathered->parts, gathered->most * ranks, (size_t)scalar, what)) ||
      (status = karst_allocate(context, &gathered->values, p->entries, (size_t)scalar, what)) ||
      (status = karst_device_doubles(context, rows, what, &gathered->f)))
    return status;
  status = karst_device_doubles(context, rows, what, &gathered->x);
  if (!status) status = karst_device_indices(context, part->ghosts, part->ghost, what, &gathered->ghost);
  return status ? status : karst_whole_create(context, part->first, &gathered->whole);
}

/* Writes the own rows with columns among those of all, ascending: ghosts of lower ranks, own columns, ghosts of higher
 * ranks. order: [entries] where each entry is in the level's matrix. */
static void write_rows(const karst_amg_part *part, karst_index begin, struct pattern *p, karst_index *order)
{
  const karst_amg_matrix *A = &p->host;
  const karst_index below = karst_lower_bound(part->ghost, 0, part->ghosts, begin);
  karst_index *column = p->own + p->most_rows, at = 0;
  for (karst_index i = 0; i < A->rows; i++) {
    const karst_index start = A->row_start[i], end = A->row_start[i + 1];
    const karst_index ghosts = karst_lower_bound(A->column, start, end, A->rows);
    const karst_index above = karst_lower_bound(A->column, ghosts, end, A->rows + below);
    p->own[i] = end - start;
    for (karst_index k = ghosts; k < above; k++) order[at++] = k;
    for (karst_index k = start; k < ghosts; k++) order[at++] = k;
    for (karst_index k = above; k < end; k++) order[at++] = k;
  }
  for (karst_index k = 0; k < at; k++) {
    const karst_index own = A->column[order[k]];
    column[k] = own < A->rows ? begin + own : part->ghost[own - A->rows];
  }
}

/* Joins the rows of all ranks. */
static void join_rows(int ranks, const karst_index *first, const karst_index *count, struct pattern *p)
{
  karst_index at = 0;
  p->row_start[0] = 0;
  for (int r = 0; r < ranks; r++) {
    const karst_index *part = p->all + r * p->most;
    for (karst_index i = first[r]; i < first[r + 1]; i++) p->row_start[i + 1] = p->row_start[i] + part[i - first[r]];
    memcpy(p->column + at, part + p->most_rows, (size_t)count[r] * sizeof *p->column);
    at += count[r];
  }
}

static karst_status gather_pattern(karst_amg_spread *spread, karst_status status, struct pattern *p)
{
  karst_context *context = spread->p->context;
  karst_amg_gathered *gathered = &spread->gathered;
  const int ranks = karst_context_ranks(context);
  const karst_amg_part *part = &spread->part[spread->amg->levels - 1];
  const karst_amg_matrix *A = &spread->amg->level[spread->amg->levels - 1].A;
  if (!status) status = karst_amg_fetch_first(context, spread->amg, A, A->rows, &p->host);
  if (!status) status = karst_allocate(context, &gathered->count, ranks, sizeof *gathered->count, "the ranks' entries");
  status = karst_ranks_agree(context, status);
  if (!status) status = gather_sizes(spread, part->first, p);
  if (!status) status = karst_ranks_agree(context, take_memory(spread, part, p));
  if (status) return status;
  write_rows(part, part->first[karst_context_rank(context)], p, gathered->order);
  status = karst_ranks_agree(context, karst_ranks_gather(context, p->own, (size_t)p->most * sizeof *p->own, p->all));
  if (status) return status;
  join_rows(ranks, part->first, gathered->count, p);
  status = karst_matrix_adopt(context, part->first[ranks], 1, part->first[ranks], p->row_start, p->column, NULL,
                              &gathered->A);
  p->row_start = p->column = NULL;
  return karst_ranks_agree(context, status);
}

/* ---- values ---- */

/* A row of zeros gets a 1 on its diagonal, for a multigrid level refuses it as singular. */
static void fill_zero_rows(const karst_matrix *A, double *value)
{
  for (karst_index i = 0; i < A->block_rows; i++) {
    bool zero = true;
    for (karst_index k = A->row_start[i]; k < A->row_start[i + 1]; k++) zero = zero && value[k] == 0;
    const karst_index diagonal = karst_find_column(A->column, A->row_start[i], A->row_start[i + 1], i);
    if (zero && diagonal >= 0) value[diagonal] = 1;
  }
}

/* Gathers the values of the last level. */
static karst_status gather_values(karst_amg_spread *spread, karst_status status)
{
  karst_context *context = spread->p->context;
  const karst_amg_gathered *gathered = &spread->gathered;
  const karst_amg_matrix *A = &spread->amg->level[spread->amg->levels - 1].A;
  const int ranks = karst_context_ranks(context);
  const float *single = gathered->staged;
  const double *precise = gathered->staged;
  const size_t bytes = (size_t)gathered->entries * karst_amg_scalar(spread->amg);
  karst_index at = 0;
  if (!status) status = context->backend->download(context, gathered->staged, A->value, bytes);
  for (karst_index k = 0; k < gathered->entries && !status; k++)
    gathered->own[k] = spread->amg->single ? (double)single[gathered->order[k]] : precise[gathered->order[k]];
  status = karst_ranks_agree(context, status);
  if (!status)
    status = karst_ranks_gather(context, gathered->own, (size_t)gathered->most * sizeof(double), gathered->parts);
  for (int r = 0; r < ranks && !status; r++) {
    memcpy(gathered->values + at, gathered->parts + r * (int64_t)gathered->most,
           (size_t)gathered->count[r] * sizeof(double));
    at += gathered->count[r];
  }
  if (!status) {
    fill_zero_rows(gathered->A, gathered->values);
    status = context->backend->upload(context, gathered->A->value, gathered->values, (size_t)at * sizeof(double));
  }
  return karst_ranks_agree(context, status);
}

/* Makes the hierarchy. */
static karst_status build(karst_amg_spread *spread, const karst_amg_settings *settings, karst_amg_outcome *outcome)
{
  karst_context *context = spread->p->context;
  karst_amg_gathered *gathered = &spread->gathered;
  karst_amg *amg = &gathered->amg;
  gathered->settings = *settings;
  gathered->settings.levels -= spread->amg->levels - 1;
  *amg = (karst_amg){.single = spread->amg->single, .l1 = spread->amg->l1};
  karst_status status =
      karst_amg_build(context, gathered->A, &gathered->settings, amg, NULL, outcome, &gathered->stalled);
  outcome->block_row = -1;
  if (status || outcome->reason != KARST_SOUND) return status;
  status = karst_amg_make_cycle(context, &gathered->settings, amg);
  return status ? status : context->backend->amg->finish(context, amg);
}

karst_status karst_amg_gather(karst_amg_spread *spread, karst_status status, const karst_amg_settings *settings,
                              karst_amg_outcome *outcome)
{
  karst_context *context = spread->p->context;
  struct pattern pattern = {0};
  status = gather_pattern(spread, status, &pattern);
  if (!status) status = gather_values(spread, status);
  if (!status) status = karst_ranks_agree(context, build(spread, settings, outcome));
  karst_amg_rows_release(context, &pattern.host);
  karst_release(context, pattern.own);
  karst_release(context, pattern.all);
  karst_release(context, pattern.row_start);
  karst_release(context, pattern.column);
  return status;
}

karst_status karst_amg_spread_weigh(karst_amg_spread *spread, karst_status status, bool fresh,
                                    karst_amg_outcome *outcome)
{
  karst_context *context = spread->p->context;
  const struct karst_amg_kernels *kernels = context->backend->amg;
  karst_amg_gathered *gathered = &spread->gathered;
  karst_amg_outcome own;
  *outcome = (karst_amg_outcome){KARST_SOUND, -1, 0};
  if (!spread->amg->gathers) return status ? status : kernels->weigh(context, spread->amg, outcome);
  if (!fresh) status = gather_values(spread, status);
  if (!status)
    status = fresh ? kernels->weigh(context, &gathered->amg, outcome)
                   : karst_amg_renew(context, gathered->A, &gathered->amg, outcome);
  outcome->block_row = -1;
  if (status || outcome->reason != KARST_SOUND) return status;
  status = kernels->weigh(context, spread->amg, &own);
  outcome->reason = own.reason;
  return status;
}
