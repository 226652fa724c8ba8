/* hierarchy.c - makes the levels of multigrid, A_{l+1} = P^T A_l P, and computes them again for new values.
 *
 * pmis: each level's coarse rows are an independent set of its strong couplings, interpolated by extended+i.
 * aggregation: pairs of pairs of rows, with an interpolation of ones. Once made, P, R and all patterns stay, so new
 * values take two products of sparse matrices a level on known patterns. */
#include "precond/amg/amg.h"

/* A level with more of the rows of the one before is not worth its cost. */
static const double stall = 0.9;

static const struct karst_amg_kernels *kernels_of(const karst_context *context) { return context->backend->amg; }

static karst_amg_rule rule_of(const karst_amg_settings *settings)
{
  return (karst_amg_rule){.strength = settings->strength, .most_entries = settings->most_entries};
}

static karst_status interpolate(karst_context *context, karst_amg *amg, const karst_amg_settings *settings,
                                karst_amg_level *level)
{
  const struct karst_amg_kernels *kernels = kernels_of(context);
  const karst_amg_rule rule = rule_of(settings);
  karst_amg_splitting splitting = {0};
  karst_status status = kernels->split(context, amg, &level->A, &rule, &splitting);
  if (!status && splitting.coarse > 0 && splitting.coarse <= stall * (double)level->A.rows)
    status = kernels->interpolate(context, amg, &level->A, &rule, &splitting, &level->P);
  kernels->release_splitting(context, &splitting);
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

/* Matches rows in pairs, then these in pairs again. */
static karst_status aggregate(karst_context *context, karst_amg *amg, const karst_amg_settings *settings,
                              karst_amg_level *level)
{
  const struct karst_amg_kernels *kernels = kernels_of(context);
  const karst_amg_rule rule = rule_of(settings);
  const karst_index rows = level->A.rows;
  karst_amg_splitting pairs = {0}, pairs_of_pairs = {0};
  karst_amg_matrix P = {0};
  karst_amg_product next = {0};
  karst_status status = kernels->match(context, amg, &level->A, &rule, &pairs);
  if (!status && pairs.coarse > 0) {
    status = kernels->aggregate(context, amg, rows, &pairs, &P);
    if (!status) status = multiply_pairs(context, amg, &level->A, &P, &next);
    if (!status) status = kernels->match(context, amg, &next.C, &rule, &pairs_of_pairs);
    if (!status) kernels->compose(context, rows, &pairs, &pairs_of_pairs);
    if (!status && pairs.coarse > 0 && pairs.coarse <= stall * (double)rows)
      status = kernels->aggregate(context, amg, rows, &pairs, &level->P);
  }
  kernels->release_product(context, &next);
  kernels->release_matrix(context, &P);
  kernels->release_splitting(context, &pairs);
  kernels->release_splitting(context, &pairs_of_pairs);
  return status;
}

/* Makes the next level from a level with its P. */
static karst_status add_level(karst_context *context, karst_amg *amg)
{
  const struct karst_amg_kernels *kernels = kernels_of(context);
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

karst_status karst_amg_build(karst_context *context, const karst_matrix *A, const karst_amg_settings *settings,
                             karst_amg *amg, karst_amg_outcome *outcome, bool *stalled)
{
  karst_status status = kernels_of(context)->begin(context, A, amg);
  *stalled = false;
  if (!status) status = kernels_of(context)->load(context, A, amg, outcome);
  if (status || outcome->reason != KARST_SOUND) return status;
  amg->levels = 1;
  while (!status && !*stalled && amg->levels < settings->levels) {
    karst_amg_level *level = &amg->level[amg->levels - 1];
    if (level->A.rows <= settings->coarse_rows) break;
    status = (settings->coarsening == KARST_AMG_PMIS ? interpolate : aggregate)(context, amg, settings, level);
    *stalled = level->P.columns == 0;
    if (!status && !*stalled) status = add_level(context, amg);
  }
  return status;
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
    sums.memory += bytes_of(&level->P, scalar) + bytes_of(&level->R, scalar) + bytes_of_plan(&level->AP) +
                   bytes_of_plan(&level->RAP) + level->RAP.C.entries * (scalar + (int64_t)sizeof(karst_index));
  }
  for (int i = 0; i < amg->steps; i++) {
    const karst_amg_step *step = &amg->step[i];
    const karst_amg_level *level = &amg->level[step->level];
    const double vectors = 3 * (double)level->A.rows * (double)sizeof(double);
    const double all = (double)bytes_of(&level->A, scalar) + vectors;
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
