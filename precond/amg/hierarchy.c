/* hierarchy.c - makes the levels of multigrid, A_{l+1} = P^T A_l P, and computes them again for new values.
 *
 * pmis: each level's coarse rows are an independent set of its strong couplings, interpolated by extended+i.
 * aggregation: pairs of pairs of rows, with an interpolation of ones. Once made, P, R and all patterns stay, so new
 * values take two products of sparse matrices a level on known patterns. */
#include "precond/amg/amg_ranks.h"

/* A level with more of the rows of the one before is not worth its cost. */
static const double stall = 0.9;

static const struct karst_amg_kernels *kernels_of(const karst_context *context) { return context->backend->amg; }

static karst_amg_rule rule_of(const karst_amg_settings *settings)
{
  return (karst_amg_rule){.strength = settings->strength, .most_entries = settings->most_entries};
}

/* A hierarchy under construction. */
struct building {
  karst_context *context;
  const karst_amg_settings *settings;
  karst_amg *amg;
  karst_amg_spread *spread; /* NULL: one rank has the matrix */
};

/* Whether so many coarse rows make the next level. status: of what was done to find them. */
static karst_status accept(const struct building *b, karst_status status, karst_index coarse, bool *accepted)
{
  const int l = b->amg->levels - 1;
  if (b->spread) return karst_amg_spread_accept(b->spread, status, l, coarse, stall, accepted);
  *accepted = coarse > 0 && coarse <= stall * (double)b->amg->level[l].A.rows;
  return status;
}

static karst_status interpolate(const struct building *b, const karst_amg_level *level, karst_amg_matrix *P)
{
  const struct karst_amg_kernels *kernels = kernels_of(b->context);
  const karst_amg_rule rule = rule_of(b->settings);
  karst_amg_splitting splitting = {0};
  bool accepted = false;
  karst_status status = kernels->split(b->context, b->amg, &level->A, &rule, &splitting);
  status = accept(b, status, splitting.coarse, &accepted);
  if (!status && accepted) status = kernels->interpolate(b->context, b->amg, &level->A, &rule, &splitting, P);
  kernels->release_splitting(b->context, &splitting);
  return status;
}

/* The same with rows of other ranks around the own ones, to which P is cut down. */
static karst_status interpolate_own(const struct building *b, const karst_amg_level *level, karst_amg_matrix *P)
{
  karst_context *context = b->context;
  const struct karst_amg_kernels *kernels = kernels_of(context);
  const int l = b->amg->levels - 1;
  karst_amg_rule rule = rule_of(b->settings);
  karst_amg_splitting splitting = {0};
  karst_amg_matrix all = {0};
  karst_index *number = NULL, entries = 0;
  bool accepted = false;
  karst_status status = karst_amg_spread_surround(b->spread, l, &all);
  if (!status) status = karst_amg_spread_number(b->spread, l, &number);
  rule.number = number;
  if (!status) status = kernels->split(context, b->amg, &all, &rule, &splitting);
  status = karst_amg_spread_share(b->spread, status, l, stall, &all, &splitting, &accepted);
  if (!status && accepted) {
    status = kernels->interpolate(context, b->amg, &all, &rule, &splitting, P);
    if (!status) status = context->backend->download(context, &entries, P->row_start + level->A.rows, sizeof entries);
    P->rows = level->A.rows;
    P->entries = entries;
  }
  kernels->release_splitting(context, &splitting);
  kernels->release_matrix(context, &all);
  context->backend->release(context, number);
  return status;
}

/* Computes next = P^T A P for the interpolation of the pairs alone. */
static karst_status multiply_pairs(karst_context *context, karst_amg *amg, const karst_amg_matrix *A,
                                   const karst_amg_matrix *P, karst_amg_product *next)
{
  const struct karst_amg_kernels *kernels = kernels_of(context);
  karst_amg_matrix R = {0};
  karst_amg_product AP = {0};
  karst_status status = kernels->transpose(context, amg, P, &R);
  if (!status) status = kernels->plan_product(context, amg, A, P, &AP);
  if (!status) kernels->multiply(context, amg, A, P, &AP);
  if (!status) status = kernels->plan_product(context, amg, &R, &AP.C, next);
  if (!status) kernels->multiply(context, amg, &R, &AP.C, next);
  kernels->release_product(context, &AP);
  kernels->release_matrix(context, &R);
  return status;
}

/* Matches pairs in pairs again. */
static karst_status match_pairs(const struct building *b, const karst_amg_matrix *A, karst_amg_splitting *pairs)
{
  const struct karst_amg_kernels *kernels = kernels_of(b->context);
  const karst_amg_rule rule = rule_of(b->settings);
  karst_amg_splitting pairs_of_pairs = {0};
  karst_amg_matrix P = {0};
  karst_amg_product next = {0};
  karst_status status = kernels->aggregate(b->context, b->amg, A->rows, pairs, &P);
  if (!status) status = multiply_pairs(b->context, b->amg, A, &P, &next);
  if (!status) status = kernels->match(b->context, b->amg, &next.C, &rule, &pairs_of_pairs);
  if (!status) kernels->compose(b->context, A->rows, pairs, &pairs_of_pairs);
  kernels->release_product(b->context, &next);
  kernels->release_matrix(b->context, &P);
  kernels->release_splitting(b->context, &pairs_of_pairs);
  return status;
}

static karst_status aggregate(const struct building *b, const karst_amg_matrix *A, karst_amg_matrix *P)
{
  const struct karst_amg_kernels *kernels = kernels_of(b->context);
  const karst_amg_rule rule = rule_of(b->settings);
  karst_amg_splitting pairs = {0};
  bool accepted = false;
  karst_status status = kernels->match(b->context, b->amg, A, &rule, &pairs);
  if (!status && pairs.coarse > 0) status = match_pairs(b, A, &pairs);
  status = accept(b, status, pairs.coarse, &accepted);
  if (!status && accepted) status = kernels->aggregate(b->context, b->amg, A->rows, &pairs, P);
  kernels->release_splitting(b->context, &pairs);
  return status;
}

/* The aggregates of a rank have rows of its own alone. */
static karst_status aggregate_own(const struct building *b, const karst_amg_level *level, karst_amg_matrix *P)
{
  const struct karst_amg_kernels *kernels = kernels_of(b->context);
  karst_amg_matrix square = {0};
  karst_status status = karst_ranks_agree(b->context, kernels->square(b->context, b->amg, &level->A, &square));
  if (!status) status = aggregate(b, &square, P);
  kernels->release_matrix(b->context, &square);
  return status;
}

/* Makes P of the last level; it has no rows if there is to be no other level. */
static karst_status make_interpolation(const struct building *b, karst_amg_level *level)
{
  if (b->settings->coarsening == KARST_AMG_PMIS)
    return (b->spread ? interpolate_own : interpolate)(b, level, &level->P);
  return b->spread ? aggregate_own(b, level, &level->P) : aggregate(b, &level->A, &level->P);
}

/* Makes the next level from a level with its P. */
static karst_status add_level(const struct building *b)
{
  karst_context *context = b->context;
  const struct karst_amg_kernels *kernels = kernels_of(context);
  karst_amg *amg = b->amg;
  karst_amg_level *level = &amg->level[amg->levels - 1];
  karst_status status = kernels->transpose(context, amg, &level->P, &level->R);
  if (!status) status = kernels->plan_product(context, amg, &level->A, &level->P, &level->AP);
  if (!status) kernels->multiply(context, amg, &level->A, &level->P, &level->AP);
  if (!status) status = kernels->plan_product(context, amg, &level->R, &level->AP.C, &level->RAP);
  if (status) return status;
  kernels->multiply(context, amg, &level->R, &level->AP.C, &level->RAP);
  kernels->release_entries(context, &level->AP.C);
  level[1].A = level->RAP.C;
  level[1].A.borrows = true;
  amg->levels++;
  return KARST_SUCCESS;
}

/* Whether the last level has few rows: over all ranks, where ranks share the matrix. */
static bool is_small(const struct building *b)
{
  const int last = b->amg->levels - 1;
  if (!b->spread) return b->amg->level[last].A.rows <= b->settings->coarse_rows;
  return b->spread->part[last].first[karst_context_ranks(b->context)] <= b->settings->gather_rows;
}

/* Whether each rank may have all of the last level, which has many rows where coarsening has stalled. */
static bool may_gather(const struct building *b)
{
  enum { MOST = 65536 };
  const karst_index rows = b->spread->part[b->amg->levels - 1].first[karst_context_ranks(b->context)];
  return rows <= b->settings->gather_rows || rows <= MOST;
}

static karst_status begin(const struct building *b, const karst_matrix *A, karst_amg_outcome *outcome)
{
  const struct karst_amg_kernels *kernels = kernels_of(b->context);
  const karst_status status = kernels->begin(b->context, b->spread ? b->spread->finest : A, b->amg);
  if (b->spread) return karst_amg_spread_load(b->spread, status, outcome);
  return status ? status : kernels->load(b->context, A, b->amg, outcome);
}

karst_status karst_amg_build(karst_context *context, const karst_matrix *A, const karst_amg_settings *settings,
                             karst_amg *amg, karst_amg_spread *spread, karst_amg_outcome *outcome, bool *stalled)
{
  const struct building b = {context, settings, amg, spread};
  karst_status status = begin(&b, A, outcome);
  *stalled = false;
  if (status || outcome->reason != KARST_SOUND) return status;
  amg->levels = 1;
  while (!status && !*stalled && amg->levels < settings->levels && !is_small(&b)) {
    karst_amg_level *level = &amg->level[amg->levels - 1];
    status = make_interpolation(&b, level);
    *stalled = !level->P.row_start;
    if (!status && !*stalled) status = spread ? karst_amg_spread_add_level(spread, amg->levels - 1) : add_level(&b);
  }
  if (!spread) return status;
  amg->gathers = may_gather(&b);
  status = amg->gathers ? karst_amg_gather(spread, status, settings, outcome) : karst_ranks_agree(context, status);
  return status ? status : karst_amg_spread_measure(spread);
}

karst_status karst_amg_renew(karst_context *context, const karst_matrix *A, karst_amg *amg, karst_amg_outcome *outcome)
{
  const struct karst_amg_kernels *kernels = kernels_of(context);
  const karst_status status = kernels->load(context, A, amg, outcome);
  if (status || outcome->reason != KARST_SOUND) return status;
  for (int l = 0; l + 1 < amg->levels; l++) {
    const karst_amg_level *level = &amg->level[l];
    kernels->multiply(context, amg, &level->A, &level->P, &level->AP);
    kernels->multiply(context, amg, &level->R, &level->AP.C, &level->RAP);
  }
  return kernels->weigh(context, amg, outcome);
}

karst_status karst_amg_renew_spread(karst_amg_spread *spread, karst_amg_outcome *outcome)
{
  karst_context *context = spread->p->context;
  const struct karst_amg_kernels *kernels = kernels_of(context);
  const karst_amg *amg = spread->amg;
  karst_status status = karst_amg_spread_load(spread, KARST_SUCCESS, outcome);
  if (status || outcome->reason != KARST_SOUND) return status;
  for (int l = 0; l + 1 < amg->levels; l++) {
    const karst_amg_level *level = &amg->level[l];
    kernels->multiply(context, amg, &level->A, &level->P, &level->AP);
    const karst_status shared = karst_amg_spread_multiply(spread, l);
    if (!status) status = shared;
    kernels->multiply(context, amg, &level->S, &level->AP.C, &level->RAP);
  }
  return karst_amg_spread_weigh(spread, status, false, outcome);
}

/* The bytes of a matrix's arrays, with values of so many bytes. */
static int64_t bytes_of(const karst_amg_matrix *matrix, int64_t scalar)
{
  const int64_t index = sizeof(karst_index);
  return matrix->entries * (scalar + index) + (matrix->rows + 1) * index;
}

/* Those of a product without its columns and values. */
static int64_t bytes_of_plan(const karst_amg_product *product)
{
  const int64_t row = sizeof *product->first + sizeof *product->C.row_start;
  return product->products * product->slot_size + (product->C.rows + 1) * row;
}

karst_amg_sums karst_amg_add_up(const karst_amg *amg)
{
  const int64_t scalar = (int64_t)karst_amg_scalar(amg);
  karst_amg_sums sums = {.memory = amg->plan_memory};
  for (int a = 0; a < amg->axes; a++) sums.memory += amg->lines[a].memory + amg->lines[a].lines->memory;
  for (int l = 0; l < amg->levels; l++) {
    const karst_amg_level *level = &amg->level[l];
    sums.rows += level->A.rows;
    sums.entries += level->A.entries;
    if (l == 0) sums.memory += level->A.entries * scalar; /* the pattern is the caller's */
    if (l + 1 == amg->levels) break;
    sums.memory += bytes_of(&level->P, scalar) + bytes_of(&level->R, scalar) + bytes_of(&level->S, scalar) +
                   bytes_of_plan(&level->part) + level->part.C.entries * (scalar + (int64_t)sizeof(karst_index)) +
                   bytes_of_plan(&level->AP) + bytes_of_plan(&level->RAP) +
                   level->RAP.C.entries * (scalar + (int64_t)sizeof(karst_index));
  }
  for (int i = 0; i < amg->steps; i++) {
    const karst_amg_step *step = &amg->step[i];
    const karst_amg_level *level = &amg->level[step->level];
    const double vectors = 3 * (double)level->A.rows * (double)sizeof(double);
    const double all = (double)bytes_of(&level->A, scalar) + vectors;
    if (step->action >= KARST_AMG_EXCHANGE && step->action <= KARST_AMG_GATHER) continue;
    const bool transfers = step->action == KARST_AMG_RESTRICT || step->action == KARST_AMG_PROLONG;
    double factors = 0;
    for (int a = 0; a < amg->axes && step->action == KARST_AMG_LINES; a++)
      factors += 3 * (double)level->A.rows * (double)sizeof(double) + 2 * vectors / 3;
    const double inverse = (double)level->A.rows * (double)level->A.rows * (double)scalar;
    sums.traffic += step->action == KARST_AMG_FIRST    ? vectors
                    : step->action == KARST_AMG_INVERT ? inverse
                    : step->action == KARST_AMG_LINES  ? factors + vectors
                    : transfers                        ? (double)bytes_of(&level->P, scalar) + vectors
                                                       : all;
  }
  return sums;
}
