/* Run by test_petsc_tutorials.sh on several ranks: one of them has a singular block. On each rank the solve ends as a
 * failure of the preconditioner, and converges with the next values. Prints a line for each rank and solve. */
#include "plugins/petsc/karst_petsc.h"

enum { BLOCK = 2, ROWS = 5 /* of blocks on each rank */ };

/* Sets row i of each rank's diagonal blocks to 1 + i, and that of the bad rank's first block to 0. */
static PetscErrorCode set_values(Mat A, PetscMPIInt bad)
{
  PetscMPIInt rank;
  PetscInt first, last;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  for (PetscInt i = first; i < last; i++)
    PetscCall(MatSetValue(A, i, i, rank == bad && i < first + BLOCK ? 0 : 1 + (double)i, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  Mat A;
  Vec b, x;
  KSP ksp;
  PC pc;
  PetscMPIInt ranks;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(KarstPetscRegister());
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
  PetscCall(MatCreateBAIJ(PETSC_COMM_WORLD, BLOCK, ROWS * BLOCK, ROWS * BLOCK, PETSC_DECIDE, PETSC_DECIDE, 1, NULL, 0,
                          NULL, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  for (PetscMPIInt bad = 0; bad <= ranks; bad++) {
    KSPConvergedReason reason;
    PetscCall(set_values(A, bad)); /* no rank is bad in the end */
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(PCSetFailedReason(pc, PC_NOERROR)); /* PCBJACOBI never forgets a failure itself */
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(PetscSynchronizedPrintf(PETSC_COMM_WORLD, "%s %s\n", bad < ranks ? "bad" : "good",
                                      KSPConvergedReasons[reason]));
    PetscCall(PetscSynchronizedFlush(PETSC_COMM_WORLD, PETSC_STDOUT));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFinalize());
  return 0;
}
