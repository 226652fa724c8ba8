/* ksp.c - the solver: ordering, scaling, preconditioner and Krylov method of Karst. The tolerances are those of the KSP,
 * and the true residual is tested. The PC of the KSP has no part in it. */
#include "plugins/petsc/plugin.h"

#include <limits.h>

typedef struct ksp_karst {
  karst_petsc_settings settings;
  karst_petsc_system system;
  karst_solver *solver;
  PetscErrorCode monitor_error; /* of a monitor or a test of the caller's, which ends the solve */
  PetscBool failed;             /* the last factorization, which can then not be kept */
} ksp_karst;

static PetscErrorCode create_solver(ksp_karst *karst, Mat A)
{
  karst_options *options = NULL;

  PetscFunctionBegin;
  karst_solver_destroy(karst->solver);
  karst->solver = NULL;
  PetscCall(karst_petsc_system_create(&karst->system, &karst->settings, A));
  karst_context *context = karst->system.context;
  KARST_CALL(context, karst_options_copy(context, karst->settings.options, &options));
  karst_status status = karst_solver_create(context, options, &karst->solver);
  karst_options_destroy(options);
  if (!status) status = karst_solver_setup(karst->solver, karst->system.matrix);
  if (status) { /* the next call tries again */
    karst_solver_destroy(karst->solver);
    karst->solver = NULL;
  }
  KARST_CALL(context, status);
  PetscFunctionReturn(0);
}

/* Refuses what Karst would not do, rather than leave it out. */
static PetscErrorCode check(KSP ksp, Mat A, Mat P)
{
  MatNullSpace null_space;

  PetscFunctionBegin;
  PetscCheck(A == P, PetscObjectComm((PetscObject)ksp), PETSC_ERR_SUP,
             "-ksp_type karst solves with one matrix, and the KSP has another for the preconditioner: use -ksp_type "
             "gmres -pc_type karst");
  PetscCall(MatGetNullSpace(A, &null_space));
  PetscCheck(!null_space, PetscObjectComm((PetscObject)ksp), PETSC_ERR_SUP,
             "-ksp_type karst removes no null space: use -ksp_type gmres -pc_type karst");
  PetscCheck(!ksp->transpose_solve, PetscObjectComm((PetscObject)ksp), PETSC_ERR_SUP,
             "-ksp_type karst solves no transposed system: use -ksp_type gmres -pc_type jacobi");
  PetscFunctionReturn(0);
}

/* Takes what is new in the matrix. With KSPSetReusePreconditioner the factors of the values before are kept. */
static PetscErrorCode refresh(KSP ksp)
{
  ksp_karst *karst = ksp->data;
  Mat A, P;
  karst_petsc_change change;

  PetscFunctionBegin;
  PetscCall(PCGetOperators(ksp->pc, &A, &P));
  PetscCall(check(ksp, A, P));
  PetscCall(karst_petsc_system_compare(&karst->system, &karst->settings, A, &change));
  if (change == KARST_PETSC_PATTERN || !karst->solver)
    PetscCall(create_solver(karst, A));
  else if (change == KARST_PETSC_VALUES) {
    PetscCall(karst_petsc_system_update(&karst->system, A));
    if (ksp->pc->reusepreconditioner && !karst->failed)
      KARST_CALL(karst->system.context, karst_solver_keep(karst->solver));
    else
      KARST_CALL(karst->system.context, karst_solver_update(karst->solver));
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode set_up(KSP ksp)
{
  PetscFunctionBegin;
  PetscCall(PCSetType(ksp->pc, PCNONE));
  PetscCall(refresh(ksp));
  PetscFunctionReturn(0);
}

static PetscErrorCode watch(KSP ksp, PetscInt iteration, PetscReal residual)
{
  PetscFunctionBegin;
  ksp->its = iteration;
  ksp->rnorm = residual;
  PetscCall(KSPLogResidualHistory(ksp, residual));
  PetscCall(KSPMonitor(ksp, iteration, residual));
  if (ksp->converged != KSPConvergedDefault)
    PetscCall((*ksp->converged)(ksp, iteration, residual, &ksp->reason, ksp->cnvP));
  PetscFunctionReturn(0);
}

/* Passes each residual norm to the monitors, and to a test of the caller's own: PETSc's default is Karst's own test. */
static karst_decision monitor(void *user, int iteration, double residual)
{
  KSP ksp = user;
  ksp_karst *karst = ksp->data;
  karst->monitor_error = watch(ksp, iteration, residual);
  if (karst->monitor_error || ksp->reason < 0) return KARST_STOP;
  return ksp->reason > 0 ? KARST_ACCEPT : KARST_GO_ON;
}

/* Whether the reason is that of a factorization. */
static PetscBool failed_factors(karst_reason reason)
{
  return reason == KARST_SINGULAR_BLOCK || reason == KARST_NOT_FINITE || reason == KARST_OUT_OF_RANGE ||
         reason == KARST_INDEFINITE_PRECOND;
}

static PetscErrorCode solve(KSP ksp)
{
  ksp_karst *karst = ksp->data;
  karst_petsc_vector b, x;
  karst_result result;

  PetscFunctionBegin;
  PetscCall(refresh(ksp));
  karst_context *context = karst->system.context;
  const int limit = ksp->max_it < INT_MAX ? (int)ksp->max_it : INT_MAX;
  KARST_CALL(context, karst_solver_set_tolerances(karst->solver, ksp->rtol, ksp->abstol, limit));
  karst_solver_monitor(karst->solver, monitor, ksp);
  karst->monitor_error = 0;
  ksp->reason = KSP_CONVERGED_ITERATING;
  PetscCall(karst_petsc_vector_begin(&karst->system, ksp->vec_rhs, KARST_PETSC_READ, &b));
  PetscCall(karst_petsc_vector_begin(&karst->system, ksp->vec_sol, KARST_PETSC_READ_WRITE, &x));
  const karst_status status = karst_solver_solve(karst->solver, b.vector, x.vector, &result);
  PetscCall(karst_petsc_vector_end(&karst->system, ksp->vec_rhs, &b));
  PetscCall(karst_petsc_vector_end(&karst->system, ksp->vec_sol, &x));
  PetscCall(karst->monitor_error);
  KARST_CALL(context, status);
  ksp->its = result.iterations;
  ksp->rnorm = result.residual;
  karst->failed = failed_factors(result.reason);
  if (result.reason != KARST_CONVERGED_MONITOR && result.reason != KARST_STOPPED)
    ksp->reason = karst_petsc_converged_reason(result.reason);
  PetscCall(PetscInfo(ksp, "Karst: %s\n", karst_solver_explain(karst->solver)));
  PetscFunctionReturn(0);
}

static PetscErrorCode set_from_options(KSP ksp, karst_petsc_items items)
{
  ksp_karst *karst = ksp->data;

  PetscFunctionBegin;
  PetscCall(karst_petsc_settings_read(&karst->settings, items));
  PetscFunctionReturn(0);
}

static PetscErrorCode view(KSP ksp, PetscViewer viewer)
{
  ksp_karst *karst = ksp->data;
  PetscBool text;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &text));
  if (!text) PetscFunctionReturn(0);
  PetscCall(karst_petsc_settings_view(&karst->settings, viewer));
  PetscCall(karst_petsc_system_view(&karst->system, viewer));
  if (karst->solver)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  last solve: %s\n", karst_solver_explain(karst->solver)));
  PetscFunctionReturn(0);
}

static PetscErrorCode reset(KSP ksp)
{
  ksp_karst *karst = ksp->data;

  PetscFunctionBegin;
  karst_solver_destroy(karst->solver);
  karst->solver = NULL;
  PetscCall(karst_petsc_system_destroy(&karst->system));
  PetscFunctionReturn(0);
}

static PetscErrorCode set_option(KSP ksp, const char name[], const char value[])
{
  ksp_karst *karst = ksp->data;

  PetscFunctionBegin;
  PetscCall(karst_petsc_settings_set(&karst->settings, name, value));
  PetscFunctionReturn(0);
}

static PetscErrorCode destroy(KSP ksp)
{
  ksp_karst *karst = ksp->data;

  PetscFunctionBegin;
  PetscCall(reset(ksp));
  karst_petsc_settings_destroy(&karst->settings);
  PetscCall(PetscFree(ksp->data));
  PetscCall(PetscObjectComposeFunction((PetscObject)ksp, "KSPKarstSetOption_C", NULL));
  PetscFunctionReturn(0);
}

PetscErrorCode karst_petsc_create_ksp(KSP ksp)
{
  ksp_karst *karst;

  PetscFunctionBegin;
  PetscCall(PetscNew(&karst));
  ksp->data = karst;
  PetscCall(karst_petsc_settings_create("ksp", &karst->settings));
  PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_UNPRECONDITIONED, PC_RIGHT, 3));
  PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_UNPRECONDITIONED, PC_LEFT, 2));
  ksp->setupnewmatrix = PETSC_TRUE;
  ksp->ops->setup = set_up;
  ksp->ops->solve = solve;
  ksp->ops->setfromoptions = set_from_options;
  ksp->ops->buildsolution = KSPBuildSolutionDefault;
  ksp->ops->buildresidual = KSPBuildResidualDefault;
  ksp->ops->view = view;
  ksp->ops->reset = reset;
  ksp->ops->destroy = destroy;
  PetscCall(PetscObjectComposeFunction((PetscObject)ksp, "KSPKarstSetOption_C", set_option));
  PetscFunctionReturn(0);
}

PetscErrorCode KSPKarstSetOption(KSP ksp, const char name[], const char value[])
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscTryMethod(ksp, "KSPKarstSetOption_C", (KSP, const char[], const char[]), (ksp, name, value));
  PetscFunctionReturn(0);
}
