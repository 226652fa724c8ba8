/* two_stage.c - applies two preconditioners in sequence, the second to the residual that the first leaves:
 *
 *     z = M1^-1 r,   z = z + M2^-1 (r - A z)
 *
 * so that I - A M^-1 = (I - A M2^-1) (I - A M1^-1). With a pressure solve as the first stage and an incomplete
 * factorization as the second it is the constrained pressure residual method of simulators (Wallis, Kendall and Little,
 * Constrained Residual Acceleration of Conjugate Residual Methods, SPE 13536, 1985). */
#include "lib/method/precond.h"

#include <stdio.h>
#include <string.h>

enum { STAGES = 2 };

struct settings {
  karst_options *stage[STAGES];
};

struct two_stage {
  karst_precond *stage[STAGES];
  double *residual; /* [rows] r - A z, device memory */
  double *step;     /* [rows] the second stage's correction, device memory */
  double *one;      /* [1] 1, device memory */
};

static const char *const names[STAGES] = {"first", "second"};

static karst_status make_stage(const karst_precond *p, int i, karst_precond **stage)
{
  const struct settings *settings = p->settings;
  const struct karst_precond_ops *ops;
  karst_status status = karst_precond_chosen(p->context, settings->stage[i], &ops);
  if (status) return status;
  karst_notify(p->context, KARST_MESSAGE_PHASE, "symbolic (%s stage: %s)", names[i], ops->name);
  return karst_precond_prepare(ops, settings->stage[i], p->A, stage);
}

/* Adds up entries and memory of the stages; a registered one may allocate its memory in its first update. */
static void count_stages(karst_precond *p)
{
  const struct two_stage *own = p->data;
  p->factor_entries = 0;
  p->memory = (2 * karst_matrix_rows(p->A) + 1) * (int64_t)sizeof(double);
  for (int i = 0; i < STAGES; i++) {
    p->factor_entries += own->stage[i]->factor_entries;
    p->memory += own->stage[i]->memory;
  }
}

static karst_status setup(karst_precond *p)
{
  karst_context *context = p->context;
  const int64_t rows = karst_matrix_rows(p->A);
  struct two_stage *own;
  karst_status status = karst_allocate_zero(context, &own, 1, sizeof *own, "the two stages");
  if (status) return status;
  p->data = own;
  for (int i = 0; i < STAGES && !status; i++) {
    status = make_stage(p, i, &own->stage[i]);
    if (!status) p->varies = p->varies || own->stage[i]->varies;
    if (!status) p->calls_registered = p->calls_registered || own->stage[i]->calls_registered;
  }
  if (!status) status = karst_device_doubles(context, rows, "the residual between the stages", &own->residual);
  if (!status) status = karst_device_doubles(context, rows, "the step of the second stage", &own->step);
  if (!status) status = karst_device_doubles(context, 1, "the number 1", &own->one);
  if (!status) context->backend->fill(context, 1, 1, own->one);
  if (!status) count_stages(p);
  return status;
}

/* Reports the values of a stage as first_NAME or second_NAME, as far as the report has room. Names of nested stages
 * that are too long are left out. */
static karst_status report_stage(karst_precond *p, int i)
{
  const karst_report *of_stage = &((const struct two_stage *)p->data)->stage[i]->report;
  char name[2 * KARST_REPORT_NAME];
  karst_value value;
  karst_status status = KARST_SUCCESS;
  for (size_t n = 0; !status && karst_report_get(of_stage, n, &value) && p->report.count < KARST_REPORT_VALUES; n++) {
    const int length = snprintf(name, sizeof name, "%s_%s", names[i], value.name);
    value.name = name;
    if (length < KARST_REPORT_NAME) status = karst_report_put(p->context, &p->report, &value);
  }
  return status;
}

/* Reports the outcome of the first stage that has failed. A stage after it was not updated and reports nothing. */
static karst_status update(karst_precond *p)
{
  struct two_stage *own = p->data;
  karst_status status = KARST_SUCCESS;
  for (int i = 0; i < STAGES && !status && p->reason == KARST_SOUND; i++) {
    karst_precond *stage = own->stage[i];
    status = karst_precond_update(stage);
    p->reason = stage->reason;
    p->block_row = stage->block_row;
    memcpy(p->explanation, stage->explanation, sizeof p->explanation);
    if (!status) status = report_stage(p, i);
  }
  count_stages(p);
  return status;
}

static karst_status apply(const karst_precond *p, const double *r, double *z)
{
  const struct two_stage *own = p->data;
  const karst_precond *first = own->stage[0], *second = own->stage[1];
  const struct karst_backend *backend = p->context->backend;
  const double *step = own->step;
  karst_status status = karst_precond_run_apply(first, r, z);
  if (status) return status;
  backend->residual(p->context, p->A, r, z, own->residual, NULL);
  status = karst_precond_run_apply(second, own->residual, own->step);
  if (status) return status;
  backend->combine(p->context, karst_matrix_rows(p->A), 1, 1, own->one, &step, NULL, z, NULL);
  return KARST_SUCCESS;
}

static void destroy(karst_precond *p)
{
  struct two_stage *own = p->data;
  if (!own) return;
  for (int i = 0; i < STAGES; i++) karst_precond_destroy(own->stage[i]);
  p->context->backend->release(p->context, own->residual);
  p->context->backend->release(p->context, own->step);
  p->context->backend->release(p->context, own->one);
  karst_release(p->context, own);
}

static const karst_option stage_rows[] = {
    {"first", KARST_OPTION_PRECOND, false, offsetof(struct settings, stage[0]), NULL, 0, "jacobi",
     "first stage of two-stage, with options first.level and so on",
     "Any preconditioner except auto may be used here. Its own options begin with first and a point, such as "
     "first.level, first.shift or, if it is two-stage itself, first.second.level. Their defaults do not depend on "
     "the options without the prefix: first.level is 0 also with level 2. Preconditioners can be nested 4 deep."},
    {"second", KARST_OPTION_PRECOND, false, offsetof(struct settings, stage[1]), NULL, 0, "iluk",
     "second stage of two-stage, with options second.level and so on",
     "It is like first, and its own options begin with second and a point."},
    {0},
};

static const karst_option *const rows[] = {stage_rows, NULL};

extern const struct karst_precond_ops karst_precond_two_stage;

const struct karst_precond_ops karst_precond_two_stage = {
    .name = "two-stage",
    .help = "two preconditioners, the second for the residual that the first has left",
    .details = "z = M1^-1 r, then z = z + M2^-1 (r - A z), where M1 and M2 are the options first and second. With a "
               "program's own pressure solve as the first stage it is CPR. It is not symmetric, so cg cannot use it.",
    .options = rows,
    .settings = sizeof(struct settings),
    .order = KARST_ORDER_ANY,
    .fetches = true, /* each stage does */
    .shares_matrix = true,
    .setup = setup,
    .update = update,
    .apply = apply,
    .destroy = destroy,
};
