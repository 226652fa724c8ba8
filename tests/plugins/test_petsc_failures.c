/* A set-up in PETSc that fails is a PCFailedReason with the block row, from which new values recover, and what Karst
 * cannot do is an error with a sentence that says what to do. */
#include "tests/plugins/petsc_systems.h"

#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 20, BLOCK = 2, BAD = 7 /* the block row of what is wrong */ };

/* Sets the diagonal block of row BAD to [value 0; 0 value]. PETSc sets a PC up again after a failure if the KSP gets its
 * matrix again, as in SNES. */
static void set_block(KSP ksp, Mat A, double value)
{
  const PetscScalar block[BLOCK * BLOCK] = {value, 0, 0, value};
  const PetscInt row = BAD;
  NEED(MatSetValuesBlocked(A, 1, &row, 1, &row, block, INSERT_VALUES));
  NEED(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  NEED(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  NEED(KSPSetOperators(ksp, A, A));
}

/* A matrix of diagonal blocks alone, so that the outcome of each is known. */
static Mat diagonal(void)
{
  Mat A;
  NEED(MatCreateSeqBAIJ(PETSC_COMM_SELF, BLOCK, ROWS * BLOCK, ROWS * BLOCK, 1, NULL, &A));
  for (PetscInt i = 0; i < ROWS * BLOCK; i++) NEED(MatSetValue(A, i, i, 1 + (double)i, INSERT_VALUES));
  NEED(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  NEED(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  return A;
}

static void test_outcome(double value, PCFailedReason expected, const char *text)
{
  Mat A = diagonal();
  Vec b, x;
  KSP ksp;
  PC pc;
  PCFailedReason reason;
  KSPConvergedReason converged;
  const char *sentence;
  PetscInt row;
  NEED(MatCreateVecs(A, &x, &b));
  NEED(VecSet(b, 1));
  NEED(KSPCreate(PETSC_COMM_SELF, &ksp));
  NEED(KSPGetPC(ksp, &pc));
  NEED(PCSetType(pc, PCKARST));
  NEED(KSPSetOperators(ksp, A, A));
  NEED(KSPSolve(ksp, b, x));
  NEED(PCKarstGetFailure(pc, &sentence, &row));
  tap_ok(!*sentence && row == -1, "no failure has no sentence and no row");
  set_block(ksp, A, value);
  NEED(KSPSolve(ksp, b, x));
  NEED(KSPGetConvergedReason(ksp, &converged));
  NEED(PCGetFailedReason(pc, &reason));
  NEED(PCKarstGetFailure(pc, &sentence, &row));
  tap_ok(converged == KSP_DIVERGED_PC_FAILED && reason == expected, "%s ends the solve as a failure of the PC", text);
  tap_ok(row == BAD && strstr(sentence, text) && strstr(sentence, "block row 7"), "%s", sentence);
  set_block(ksp, A, 2);
  NEED(KSPSolve(ksp, b, x));
  NEED(KSPGetConvergedReason(ksp, &converged));
  NEED(PCGetFailedReason(pc, &reason));
  tap_ok(converged > 0 && reason == PC_NOERROR, "good values after %s serve", text);
  set_block(ksp, A, value);
  NEED(KSPSetErrorIfNotConverged(ksp, PETSC_TRUE));
  REFUSES(KSPSolve(ksp, b, x), "block row 7");
  NEED(KSPDestroy(&ksp));
  NEED(VecDestroy(&b));
  NEED(VecDestroy(&x));
  NEED(MatDestroy(&A));
}

/* Each option that cannot be. */
static void test_refused_options(void)
{
  Mat A = diagonal();
  PC pc = petsc_pc(A, PAIRS("precond", "iluk"), 0);
  REFUSES(PCKarstSetOption(pc, "levle", "1"), "level");
  REFUSES(PCKarstSetOption(pc, "level", "-1"), "level");
  REFUSES(PCKarstSetOption(pc, "precond", "ilu"), "iluk");
  REFUSES(PCKarstSetOption(pc, "threads", "0"), "threads takes a number from 1 on");
  REFUSES(PCKarstSetOption(pc, "block_size", "two"), "block_size takes a number from 0 on");
  NEED(PCKarstSetOption(pc, "device", "abacus"));
  REFUSES(PCSetUp(pc), "abacus");
  NEED(PCKarstSetOption(pc, "device", "cuda:999"));
  REFUSES(PCSetUp(pc), karst_device_count("cuda") ? "cuda:999" : "");
  NEED(PCKarstSetOption(pc, "device", "cpu"));
  NEED(PCKarstSetOption(pc, "block_size", "4"));
  REFUSES(PCSetUp(pc), "-pc_karst_block_size 4 is for -mat_type aij");
  NEED(PCKarstSetOption(pc, "block_size", "0"));
  NEED(PCKarstSetOption(pc, "precond", "rrb"));
  REFUSES(PCSetUp(pc), "rrb");
  NEED(PCKarstSetOption(pc, "precond", "jacobi"));
  tap_ok(PCSetUp(pc) == 0, "after all these refusals a set-up succeeds");
  NEED(PCDestroy(&pc));
  NEED(MatDestroy(&A));
}

static void refuses_matrix(Mat A, const char *text)
{
  PC pc = petsc_pc(A, PAIRS("precond", "iluk"), 0);
  REFUSES(PCSetUp(pc), text);
  NEED(PCDestroy(&pc));
  NEED(MatDestroy(&A));
}

static void test_refused_matrices(void)
{
  Mat A;
  NEED(MatCreateSeqDense(PETSC_COMM_SELF, 4, 4, NULL, &A));
  NEED(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  NEED(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  refuses_matrix(A, "and not seqdense: use -mat_type aij, baij or sbaij");
  NEED(MatCreateSeqAIJ(PETSC_COMM_SELF, 4, 5, 1, NULL, &A));
  NEED(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  NEED(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  refuses_matrix(A, "4 rows and 5 columns");
  NEED(MatCreateSeqAIJ(PETSC_COMM_SELF, 4, 4, 1, NULL, &A));
  NEED(MatSetValue(A, 0, 0, 1, INSERT_VALUES));
  NEED(MatSetValue(A, 1, 1, 1, INSERT_VALUES));
  NEED(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  NEED(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PC pc = petsc_pc(A, PAIRS("block_size", "3"), 0);
  REFUSES(PCSetUp(pc), "4 rows are no multiple of the block size 3");
  NEED(PCDestroy(&pc));
  refuses_matrix(A, "block row 2");
}

static void test_refused_transpose(void)
{
  Mat A = diagonal();
  PC pc = petsc_pc(A, PAIRS("precond", "iluk"), 0);
  Vec r, z;
  NEED(MatCreateVecs(A, &z, &r));
  NEED(VecSet(r, 1));
  REFUSES(PCApplyTranspose(pc, r, z), "Karst applies no transpose");
  NEED(PCSetType(pc, PCNONE));
  tap_ok(PCKarstSetOption(pc, "level", "1") == 0, "an option of another type is left out");
  REFUSES(PCKarstGetFailure(pc, NULL, NULL), "PCKarstGetFailure");
  NEED(PCDestroy(&pc));
  NEED(VecDestroy(&r));
  NEED(VecDestroy(&z));
  NEED(MatDestroy(&A));
}

int main(int argc, char **argv)
{
  NEED(PetscInitialize(&argc, &argv, NULL, NULL));
  NEED(KarstPetscRegister());
  test_outcome(0, PC_FACTOR_NUMERIC_ZEROPIVOT, "singular block");
  test_outcome((double)NAN, PC_FACTOR_OTHER, "NaN or infinity");
  test_refused_options();
  test_refused_matrices();
  test_refused_transpose();
  NEED(PetscFinalize());
  return tap_done();
}
