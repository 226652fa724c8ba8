/* two_stage.c - applies two preconditioners in sequence, the second to the residual that the first leaves:
 *
 *     z = M1^-1 r,   z = z + M2^-1 (r - A z)
 *
 * so that I - A M^-1 = (I - A M2^-1) (I - A M1^-1). With a pressure solve as the first stage and an incomplete
 * factorization as the second it is the constrained pressure residual method of simulators (Wallis, Kendall and Little,
 * Constrained Residual Acceleration of Conjugate Residual Methods, SPE 13536, 1985). */
#include "lib/ranks/halo.h"
#include "precond/stages.h"

struct settings {
  karst_options *stage[KARST_STAGES];
};

struct two_stage {
  karst_stages stages;
  double *residual; /* [rows] r - A z, device memory */
  double *step;     /* [rows] the second stage's correction, device memory */
  double *one;      /* [1] 1, device memory */
};

static void count(karst_precond *p)
{
  const struct two_stage *own = p->data;
  karst_stages_count(p, &own->stages, (2 * karst_matrix_rows(p->A) + 1) * (int64_t)sizeof(double));
}

static karst_status setup(karst_precond *p)
{
  const struct settings *settings = p->settings;
  karst_context *context = p->context;
  const int64_t rows = karst_matrix_rows(p->A);
  struct two_stage *own;
  karst_status status = karst_allocate_zero(context, &own, 1, sizeof *own, "the two stages");
  if (status) return status;
  p->data = own;
  p->due = false;
  own->stages = (karst_stages){.count = KARST_STAGES, .name = karst_stage_names};
  for (int i = 0; i < KARST_STAGES && !status; i++)
    status = karst_stage_make(p, &own->stages, i, settings->stage[i], p->A);
  if (!status) status = karst_device_doubles(context, rows, "the residual between the stages", &own->residual);
  if (!status) status = karst_device_doubles(context, rows, "the step of the second stage", &own->step);
  if (!status) status = karst_device_doubles(context, 1, "the number 1", &own->one);
  if (!status) context->backend->fill(context, 1, 1, own->one);
  if (!status) count(p);
  return status;
}

static karst_status choose(karst_precond *p)
{
  return karst_stages_choose(p, &((const struct two_stage *)p->data)->stages);
}

/* Reports the outcome of the first stage that has failed. A stage after it was not updated and reports nothing. */
static karst_status update(karst_precond *p)
{
  const karst_status status = karst_stages_update(p, &((const struct two_stage *)p->data)->stages);
  count(p);
  return status;
}

static void solved(karst_precond *p, int iterations)
{
  karst_stages_solved(p, &((const struct two_stage *)p->data)->stages, iterations);
}

/* Computes r - A z, with the couplings between the ranks that share A. */
static karst_status find_residual(const karst_precond *p, const double *r, const double *z, double *residual)
{
  if (karst_precond_halo(p))
    return karst_ranks_postpone(p->context, karst_halo_residual(p->A, r, z, residual), karst_matrix_rows(p->A),
                                residual);
  p->context->backend->residual(p->context, p->A, r, z, residual, NULL);
  return KARST_SUCCESS;
}

static karst_status apply(const karst_precond *p, const double *r, double *z)
{
  const struct two_stage *own = p->data;
  const karst_precond *first = own->stages.stage[0], *second = own->stages.stage[1];
  const double *step = own->step;
  karst_status status = karst_stage_apply(p, first, r, z);
  if (!status) status = find_residual(p, r, z, own->residual);
  if (!status) status = karst_stage_apply(p, second, own->residual, own->step);
  if (status) return status;
  p->context->backend->combine(p->context, karst_matrix_rows(p->A), 1, 1, own->one, &step, NULL, z, NULL);
  return KARST_SUCCESS;
}

static void destroy(karst_precond *p)
{
  struct two_stage *own = p->data;
  if (!own) return;
  karst_stages_destroy(&own->stages);
  p->context->backend->release(p->context, own->residual);
  p->context->backend->release(p->context, own->step);
  p->context->backend->release(p->context, own->one);
  karst_release(p->context, own);
}

static const karst_option stage_rows[] = {
    {"first", KARST_OPTION_PRECOND, false, offsetof(struct settings, stage[0]), NULL, 0, "jacobi",
     "first stage of two-stage, or the pressure solve of cpr, with options first.level and so on",
     "Any preconditioner except auto may be used here. For cpr the default is amg. Its own options begin with first "
     "and a point, such as first.level, first.shift or, if it is two-stage itself, first.second.level. Their defaults "
     "do not depend on the options without the prefix: first.level is 0 also with level 2. Preconditioners can be "
     "nested 4 deep."},
    {"second", KARST_OPTION_PRECOND, false, offsetof(struct settings, stage[1]), NULL, 0, "iluk",
     "second stage of two-stage and cpr, with options second.level and so on",
     "It is like first, and its own options begin with second and a point."},
    {0},
};

static const karst_option *const rows[] = {stage_rows, NULL};

extern const struct karst_precond_ops karst_precond_two_stage;

const struct karst_precond_ops karst_precond_two_stage = {
    .name = "two-stage",
    .help = "two preconditioners, the second for the residual that the first has left",
    .details =
        "z = M1^-1 r, then z = z + M2^-1 (r - A z), where M1 and M2 are the options first and second. Both work on "
        "the whole matrix; cpr makes a matrix of the pressures. It is not symmetric, so cg refuses it.",
    .unsymmetric = true,
    .options = rows,
    .settings = sizeof(struct settings),
    .order = KARST_ORDER_ANY,
    .fetches = true, /* each stage does */
    .shares_matrix = true,
    .setup = setup,
    .choose = choose,
    .update = update,
    .solved = solved,
    .apply = apply,
    .destroy = destroy,
};
