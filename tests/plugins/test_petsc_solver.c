/* The solver karst of PETSc solves to the tolerance of the KSP, tells its monitors and its test each residual, takes and
 * keeps new values, and names how it ended. */
#include "tests/plugins/petsc_systems.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct system {
  Mat A;
  Vec b, x;
  KSP ksp;
} system_in_petsc;

static system_in_petsc system_of(Mat A)
{
  system_in_petsc s = {.A = A};
  NEED(MatCreateVecs(A, &s.x, &s.b));
  NEED(VecSet(s.b, 1));
  NEED(KSPCreate(PETSC_COMM_SELF, &s.ksp));
  NEED(KSPSetType(s.ksp, KSPKARST));
  NEED(KSPSetOperators(s.ksp, A, A));
  NEED(KSPSetTolerances(s.ksp, 1e-10, PETSC_DEFAULT, PETSC_DEFAULT, 500));
  return s;
}

static void end(system_in_petsc *s)
{
  NEED(KSPDestroy(&s->ksp));
  NEED(VecDestroy(&s->b));
  NEED(VecDestroy(&s->x));
  NEED(MatDestroy(&s->A));
}

static KSPConvergedReason solve(const system_in_petsc *s)
{
  KSPConvergedReason reason;
  NEED(KSPSolve(s->ksp, s->b, s->x));
  NEED(KSPGetConvergedReason(s->ksp, &reason));
  return reason;
}

/* |b - A x| / |b| by PETSc. */
static double residual(const system_in_petsc *s)
{
  PetscReal norm, size;
  Vec r;
  NEED(VecDuplicate(s->b, &r));
  NEED(MatMult(s->A, s->x, r));
  NEED(VecAXPY(r, -1, s->b));
  NEED(VecNorm(r, NORM_2, &norm));
  NEED(VecNorm(s->b, NORM_2, &size));
  NEED(VecDestroy(&r));
  return norm / size;
}

static PetscInt iterations(const system_in_petsc *s)
{
  PetscInt n;
  NEED(KSPGetIterationNumber(s->ksp, &n));
  return n;
}

/* The gallery's problem in blocks as MATSEQBAIJ. */
static Mat gallery(const char *spec)
{
  karst_context *context = tap_context();
  karst_matrix *A;
  tap_need(context, karst_gallery_create(context, spec, 0, &A, NULL), spec);
  Mat copy = petsc_baij(A);
  karst_matrix_destroy(A);
  karst_context_destroy(context);
  return copy;
}

static void test_methods(MatType type)
{
  static const char *const method[][4] = {{"iluk", "natural", "none", "auto"},
                                          {"iluk", "rcm", "block", "gmres"},
                                          {"cpr", "natural", "none", "fgmres"},
                                          {"auto", "natural", "none", "bicgstab"}};
  for (size_t i = 0; i < sizeof method / sizeof *method; i++) {
    system_in_petsc s = system_of(gallery("blackoil:10x10x3"));
    NEED(MatConvert(s.A, type, MAT_INPLACE_MATRIX, &s.A));
    NEED(KSPKarstSetOption(s.ksp, "precond", method[i][0]));
    NEED(KSPKarstSetOption(s.ksp, "ordering", method[i][1]));
    NEED(KSPKarstSetOption(s.ksp, "scale", method[i][2]));
    NEED(KSPKarstSetOption(s.ksp, "solver", method[i][3]));
    const KSPConvergedReason reason = solve(&s);
    tap_ok(reason == KSP_CONVERGED_RTOL && residual(&s) <= 1.01e-10, "%s: %s, %s, %s, %s converges (%.1e)", type,
           method[i][0], method[i][1], method[i][2], method[i][3], residual(&s));
    end(&s);
  }
}

typedef struct watched {
  PetscInt calls, last;
  PetscReal residual;
  KSPConvergedReason decision; /* from the third iteration on */
  PetscErrorCode error;
} watched;

static PetscErrorCode watch(KSP ksp, PetscInt iteration, PetscReal norm, void *user)
{
  watched *w = user;
  (void)ksp;
  w->calls++;
  w->last = iteration;
  w->residual = norm;
  return w->error;
}

static PetscErrorCode decide(KSP ksp, PetscInt iteration, PetscReal norm, KSPConvergedReason *reason, void *user)
{
  const watched *w = user;
  (void)ksp, (void)norm;
  *reason = iteration >= 3 ? w->decision : KSP_CONVERGED_ITERATING;
  return 0;
}

static void test_monitors(void)
{
  system_in_petsc s = system_of(gallery("blackoil:10x10x3"));
  watched w = {0};
  NEED(KSPMonitorSet(s.ksp, watch, &w, NULL));
  solve(&s);
  tap_ok(w.calls == iterations(&s) + 1 && w.last == iterations(&s), "a monitor sees each of %d iterations",
         (int)iterations(&s));
  NEED(KSPSetConvergenceTest(s.ksp, decide, &w, NULL));
  w.decision = KSP_CONVERGED_HAPPY_BREAKDOWN;
  tap_ok(solve(&s) == KSP_CONVERGED_HAPPY_BREAKDOWN && iterations(&s) == 3, "the caller's test accepts");
  w.decision = KSP_DIVERGED_DTOL;
  tap_ok(solve(&s) == KSP_DIVERGED_DTOL && iterations(&s) == 3, "the caller's test stops");
  w.error = PETSC_ERR_USER;
  tap_ok(PETSC_ERROR(KSPSolve(s.ksp, s.b, s.x)) == PETSC_ERR_USER, "an error of a monitor ends the solve");
  w.error = 0;
  NEED(KSPSetConvergenceTest(s.ksp, KSPConvergedDefault, NULL, NULL));
  end(&s);
}

static void test_reasons(void)
{
  system_in_petsc s = system_of(gallery("blackoil:10x10x3"));
  NEED(KSPSetTolerances(s.ksp, 1e-10, PETSC_DEFAULT, PETSC_DEFAULT, 2));
  tap_ok(solve(&s) == KSP_DIVERGED_ITS && iterations(&s) == 2, "the limit of iterations is that of the KSP");
  NEED(KSPSetTolerances(s.ksp, 1e-10, 1e3, PETSC_DEFAULT, 500));
  tap_ok(solve(&s) == KSP_CONVERGED_ATOL, "and so is the absolute tolerance");
  NEED(KSPSetTolerances(s.ksp, 1e-10, PETSC_DEFAULT, PETSC_DEFAULT, 500));
  solve(&s);
  NEED(KSPSetInitialGuessNonzero(s.ksp, PETSC_TRUE));
  tap_ok(solve(&s) > 0 && iterations(&s) == 0, "a solution as the start takes no iteration");
  NEED(KSPSetInitialGuessNonzero(s.ksp, PETSC_FALSE));
  NEED(VecSet(s.b, 0));
  tap_ok(solve(&s) > 0 && residual(&s) != 1, "b = 0 converges");
  NEED(VecSet(s.b, 1));
  NEED(MatScale(s.A, 0));
  tap_ok(solve(&s) == KSP_DIVERGED_PC_FAILED, "singular blocks are a failure of the preconditioner");
  NEED(MatShift(s.A, 2));
  NEED(KSPSetReusePreconditioner(s.ksp, PETSC_TRUE));
  tap_ok(solve(&s) > 0, "good values are factored after it, even if factors are to be kept");
  NEED(MatShift(s.A, (PetscScalar)NAN));
  NEED(KSPSetReusePreconditioner(s.ksp, PETSC_FALSE));
  tap_ok(solve(&s) == KSP_DIVERGED_NANORINF, "a NaN is one");
  end(&s);
}

static void test_new_values(void)
{
  system_in_petsc s = system_of(gallery("blackoil:10x10x3"));
  solve(&s);
  const PetscInt before = iterations(&s);
  NEED(MatShift(s.A, 1e-3));
  tap_ok(solve(&s) > 0 && residual(&s) <= 1.01e-10, "new values are solved");
  NEED(KSPSetReusePreconditioner(s.ksp, PETSC_TRUE));
  NEED(MatShift(s.A, 5));
  tap_ok(solve(&s) > 0 && residual(&s) <= 1.01e-10, "new values are solved with kept factors");
  const PetscInt kept = iterations(&s);
  NEED(KSPSetReusePreconditioner(s.ksp, PETSC_FALSE));
  NEED(MatShift(s.A, 1e-12));
  solve(&s);
  tap_ok(iterations(&s) < kept, "%d iterations at first, %d with kept factors, %d with new ones", (int)before,
         (int)kept, (int)iterations(&s));
  end(&s);
}

static void test_refusals(void)
{
  system_in_petsc s = system_of(gallery("blackoil:10x10x3"));
  Mat other;
  MatNullSpace constant;
  NEED(MatDuplicate(s.A, MAT_COPY_VALUES, &other));
  NEED(KSPSetOperators(s.ksp, s.A, other));
  REFUSES(KSPSolve(s.ksp, s.b, s.x), "solves with one matrix");
  NEED(KSPSetOperators(s.ksp, other, other));
  NEED(MatNullSpaceCreate(PETSC_COMM_SELF, PETSC_TRUE, 0, NULL, &constant));
  NEED(MatSetNullSpace(other, constant));
  REFUSES(KSPSolve(s.ksp, s.b, s.x), "removes no null space");
  NEED(MatSetNullSpace(other, NULL));
  REFUSES(KSPSolveTranspose(s.ksp, s.b, s.x), "no transposed system");
  NEED(KSPKarstSetOption(s.ksp, "precond", "rrb"));
  REFUSES(KSPSolve(s.ksp, s.b, s.x), "rrb is for one unknown");
  REFUSES(KSPSolve(s.ksp, s.b, s.x), "rrb is for one unknown");
  REFUSES(KSPKarstSetOption(s.ksp, "solver", "bcgs"), "bicgstab");
  NEED(KSPKarstSetOption(s.ksp, "precond", "iluk"));
  tap_ok(solve(&s) > 0, "after all these refusals a solve converges");
  NEED(MatNullSpaceDestroy(&constant));
  NEED(MatDestroy(&other));
  end(&s);
}

int main(int argc, char **argv)
{
  NEED(PetscInitialize(&argc, &argv, NULL, NULL));
  NEED(KarstPetscRegister());
  test_methods(MATSEQBAIJ);
  test_methods(MATSEQAIJ);
  test_monitors();
  test_reasons();
  test_new_values();
  test_refusals();
  NEED(PetscFinalize());
  return tap_done();
}
