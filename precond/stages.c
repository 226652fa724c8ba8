/* stages.c - see stages.h. */
#include "precond/stages.h"

#include "lib/ranks/ranks.h"

#include <stdio.h>
#include <string.h>

const char *const karst_stage_names[KARST_STAGES] = {"first", "second"};

karst_status karst_stage_make(karst_precond *p, karst_stages *stages, int i, const karst_options *options,
                              const karst_matrix *A)
{
  const struct karst_precond_ops *ops;
  karst_precond *stage;
  karst_status status = karst_precond_chosen(p->context, options, &ops);
  if (status) return status;
  karst_notify(p->context, KARST_MESSAGE_PHASE, "symbolic (%s stage: %s)", stages->name[i], ops->name);
  status =
      karst_precond_prepare_with(ops, options, A, A == p->A ? p->wells : NULL, NULL, p->alone || stages->alone, &stage);
  if (status) return status;
  stages->stage[i] = stage;
  p->varies = p->varies || stage->varies;
  p->calls_registered = p->calls_registered || stage->calls_registered;
  p->due = p->due || stage->due;
  return KARST_SUCCESS;
}

static void take_outcome(karst_precond *p, const karst_precond *stage)
{
  p->reason = stage->reason;
  p->block_row = stage->block_row;
  p->agreed = stage->agreed;
  memcpy(p->explanation, stage->explanation, sizeof p->explanation);
}

/* A stage has no factors after its choose until its update. */
static void choose_again(karst_precond *stage)
{
  if (stage->generation < 0 && stage->ops->choose) stage->due = true;
}

karst_status karst_stages_choose(karst_precond *p, const karst_stages *stages)
{
  karst_status status = KARST_SUCCESS;
  for (int i = 0; i < stages->count && !status && p->reason == KARST_SOUND; i++) {
    choose_again(stages->stage[i]);
    status = karst_precond_choose(stages->stage[i]);
    if (karst_precond_halo(stages->stage[i])) status = karst_precond_agree(stages->stage[i], status);
    take_outcome(p, stages->stage[i]);
  }
  return status;
}

static karst_status report_stage(karst_precond *p, const char *of, const karst_precond *stage)
{
  char name[2 * KARST_REPORT_NAME];
  karst_value value;
  karst_status status = KARST_SUCCESS;
  for (size_t n = 0; !status && karst_report_get(&stage->report, n, &value) && p->report.count < KARST_REPORT_VALUES;
       n++) {
    const int length = snprintf(name, sizeof name, "%s_%s", of, value.name);
    value.name = name;
    if (length < KARST_REPORT_NAME) status = karst_report_put(p->context, &p->report, &value);
  }
  return status;
}

karst_status karst_stages_update(karst_precond *p, const karst_stages *stages)
{
  karst_status status = KARST_SUCCESS;
  for (int i = 0; i < stages->count && !status && p->reason == KARST_SOUND; i++) {
    status = karst_precond_update(stages->stage[i]);
    take_outcome(p, stages->stage[i]);
    if (!status) status = report_stage(p, stages->name[i], stages->stage[i]);
  }
  for (int i = 0; i < stages->count; i++) choose_again(stages->stage[i]);
  return status;
}

karst_status karst_stage_apply(const karst_precond *p, const karst_precond *stage, const double *r, double *z)
{
  const karst_status status = karst_precond_run_apply(stage, r, z);
  return p->A->halo ? karst_ranks_postpone(p->context, status, karst_matrix_rows(stage->A), z) : status;
}

void karst_stages_count(karst_precond *p, const karst_stages *stages, int64_t own)
{
  p->factor_entries = 0;
  p->memory = own;
  p->stage = stages->stage;
  p->stages = stages->count;
  for (int i = 0; i < stages->count; i++) {
    p->factor_entries += stages->stage[i]->factor_entries;
    p->memory += stages->stage[i]->memory;
  }
}

void karst_stages_solved(karst_precond *p, const karst_stages *stages, int iterations)
{
  for (int i = 0; i < stages->count; i++) {
    karst_precond_solved(stages->stage[i], iterations);
    p->due = p->due || stages->stage[i]->due;
  }
}

void karst_stages_destroy(const karst_stages *stages)
{
  for (int i = 0; i < stages->count; i++) karst_precond_destroy(stages->stage[i]);
}
