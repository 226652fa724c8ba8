/* pc.c - the preconditioner: z = M^-1 r with a preconditioner of Karst in natural order, unscaled. */
#include "plugins/petsc/plugin.h"

#include <math.h>
#include <stdio.h>

typedef struct pc_karst {
  karst_petsc_settings settings;
  karst_petsc_system system;
  karst_precond *precond;
  karst_index block_row; /* of a failure, or -1 */
  char failure[160];     /* of the last set-up; "" if it did not fail */
} pc_karst;

/* Makes the outcome of the factorization known. It is no error, unless the KSP wants one. */
static PetscErrorCode report_outcome(PC pc, pc_karst *karst)
{
  PetscFunctionBegin;
  const karst_reason reason = karst_precond_outcome(karst->precond, &karst->block_row);
  pc->failedreason = karst_petsc_failed_reason(reason);
  karst->failure[0] = '\0';
  if (reason == KARST_SOUND) PetscFunctionReturn(0);
  if (karst->block_row >= 0)
    snprintf(karst->failure, sizeof karst->failure, "%s, block row %" PetscInt_FMT, karst_reason_text(reason),
             (PetscInt)karst->block_row);
  else
    snprintf(karst->failure, sizeof karst->failure, "%s", karst_reason_text(reason));
  PetscCall(PetscInfo(pc, "Karst: the set-up has failed: %s\n", karst->failure));
  PetscCheck(!pc->erroriffailure, PETSC_COMM_SELF, PETSC_ERR_MAT_LU_ZRPVT, "Karst: %s", karst->failure);
  PetscFunctionReturn(0);
}

static PetscErrorCode create_precond(pc_karst *karst, Mat A)
{
  karst_options *options = NULL;

  PetscFunctionBegin;
  karst_precond_destroy(karst->precond);
  karst->precond = NULL;
  PetscCall(karst_petsc_system_create(&karst->system, &karst->settings, A));
  karst_context *context = karst->system.context;
  KARST_CALL(context, karst_options_copy(context, karst->settings.options, &options));
  const karst_status status = karst_precond_create(context, options, karst->system.matrix, &karst->precond);
  karst_options_destroy(options);
  KARST_CALL(context, status);
  PetscFunctionReturn(0);
}

/* The same nonzero pattern takes an update, which neither analyses nor allocates. */
static PetscErrorCode set_up(PC pc)
{
  pc_karst *karst = pc->data;
  karst_petsc_change change;

  PetscFunctionBegin;
  PetscCall(karst_petsc_system_compare(&karst->system, &karst->settings, pc->pmat, &change));
  if (change == KARST_PETSC_SAME && karst->precond) PetscFunctionReturn(0);
  if (change == KARST_PETSC_PATTERN || !karst->precond) {
    PetscCall(create_precond(karst, pc->pmat));
  } else {
    PetscCall(karst_petsc_system_update(&karst->system, pc->pmat));
    KARST_CALL(karst->system.context, karst_precond_update(karst->precond));
  }
  PetscCall(report_outcome(pc, karst));
  PetscFunctionReturn(0);
}

/* After a failure the result is infinite, as from PETSc's own factors, which ends the iteration. */
static PetscErrorCode apply(PC pc, Vec r, Vec z)
{
  pc_karst *karst = pc->data;
  karst_petsc_vector from, to;

  PetscFunctionBegin;
  if (karst->failure[0]) {
    PetscCall(VecSet(z, INFINITY));
    PetscFunctionReturn(0);
  }
  PetscCall(karst_petsc_vector_begin(&karst->system, r, KARST_PETSC_READ, &from));
  PetscCall(karst_petsc_vector_begin(&karst->system, z, KARST_PETSC_WRITE, &to));
  KARST_CALL(karst->system.context, karst_precond_apply(karst->precond, from.vector, to.vector));
  PetscCall(karst_petsc_vector_end(&karst->system, r, &from));
  PetscCall(karst_petsc_vector_end(&karst->system, z, &to));
  PetscFunctionReturn(0);
}

static PetscErrorCode apply_transpose(PC pc, Vec r, Vec z)
{
  PetscFunctionBegin;
  (void)r, (void)z;
  SETERRQ(PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP,
          "Karst applies no transpose of a preconditioner: use a method that needs none, such as -ksp_type gmres or "
          "bcgs");
}

/* With other options the next use of the PC sets it up again, even if the matrix is the same. */
static PetscErrorCode set_from_options(PC pc, karst_petsc_items items)
{
  pc_karst *karst = pc->data;

  PetscFunctionBegin;
  PetscCall(karst_petsc_settings_read(&karst->settings, items));
  if (karst->settings.changed) pc->setupcalled = 0;
  PetscFunctionReturn(0);
}

static PetscErrorCode view(PC pc, PetscViewer viewer)
{
  pc_karst *karst = pc->data;
  karst_solver_info info;
  karst_value value;
  PetscBool text;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &text));
  if (!text) PetscFunctionReturn(0);
  PetscCall(karst_petsc_settings_view(&karst->settings, viewer));
  PetscCall(karst_petsc_system_view(&karst->system, viewer));
  if (!karst->precond) PetscFunctionReturn(0);
  KARST_CALL(karst->system.context, karst_precond_get_info(karst->precond, &info));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  fill: %.3g, bytes: %lld\n", info.fill, (long long)info.memory));
  for (size_t i = 0; karst_precond_report(karst->precond, i, &value); i++) {
    char number[32];
    snprintf(number, sizeof number, "%.6g", value.number);
    PetscCall(
        PetscViewerASCIIPrintf(viewer, "  %s: %s %s\n", value.name, value.text ? value.text : number, value.unit));
  }
  if (karst->failure[0]) PetscCall(PetscViewerASCIIPrintf(viewer, "  the set-up has failed: %s\n", karst->failure));
  PetscFunctionReturn(0);
}

static PetscErrorCode reset(PC pc)
{
  pc_karst *karst = pc->data;

  PetscFunctionBegin;
  karst_precond_destroy(karst->precond);
  karst->precond = NULL;
  karst->failure[0] = '\0';
  PetscCall(karst_petsc_system_destroy(&karst->system));
  PetscFunctionReturn(0);
}

static PetscErrorCode set_option(PC pc, const char name[], const char value[])
{
  pc_karst *karst = pc->data;

  PetscFunctionBegin;
  PetscCall(karst_petsc_settings_set(&karst->settings, name, value));
  if (karst->settings.changed) pc->setupcalled = 0;
  PetscFunctionReturn(0);
}

static PetscErrorCode get_failure(PC pc, const char *sentence[], PetscInt *block_row)
{
  const pc_karst *karst = pc->data;

  PetscFunctionBegin;
  if (sentence) *sentence = karst->failure;
  if (block_row) *block_row = karst->failure[0] ? (PetscInt)karst->block_row : -1;
  PetscFunctionReturn(0);
}

static PetscErrorCode destroy(PC pc)
{
  pc_karst *karst = pc->data;

  PetscFunctionBegin;
  PetscCall(reset(pc));
  karst_petsc_settings_destroy(&karst->settings);
  PetscCall(PetscFree(pc->data));
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCKarstSetOption_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCKarstGetFailure_C", NULL));
  PetscFunctionReturn(0);
}

PetscErrorCode karst_petsc_create_pc(PC pc)
{
  pc_karst *karst;

  PetscFunctionBegin;
  PetscCall(PetscNew(&karst));
  pc->data = karst;
  PetscCall(karst_petsc_settings_create("pc", &karst->settings));
  pc->ops->setup = set_up;
  pc->ops->apply = apply;
  pc->ops->applytranspose = apply_transpose;
  pc->ops->setfromoptions = set_from_options;
  pc->ops->view = view;
  pc->ops->reset = reset;
  pc->ops->destroy = destroy;
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCKarstSetOption_C", set_option));
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCKarstGetFailure_C", get_failure));
  PetscFunctionReturn(0);
}

PetscErrorCode PCKarstSetOption(PC pc, const char name[], const char value[])
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscTryMethod(pc, "PCKarstSetOption_C", (PC, const char[], const char[]), (pc, name, value));
  PetscFunctionReturn(0);
}

PetscErrorCode PCKarstGetFailure(PC pc, const char *sentence[], PetscInt *block_row)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscUseMethod(pc, "PCKarstGetFailure_C", (PC, const char *[], PetscInt *), (pc, sentence, block_row));
  PetscFunctionReturn(0);
}
