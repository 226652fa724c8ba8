/* Run by test_petsc_tutorials.sh on several ranks: one of them has a singular block. On each rank the solve ends as a
 * failure of the preconditioner, and converges with the next values. A time loop then takes no memory. Prints a line for
 * each rank and solve, and one for each rank and the loop. */
#include "plugins/petsc/karst_petsc.h"

#include <malloc.h>

enum { STEPS = 1000, FIRST = 10 /* steps before memory is measured */ };
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

static PetscErrorCode solve(KSP ksp, Mat A, Vec b, Vec x, KSPConvergedReason *reason)
{
  PC pc;

  PetscFunctionBeginUser;
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetFailedReason(pc, PC_NOERROR)); /* PCBJACOBI never forgets a failure itself */
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, reason));
  PetscFunctionReturn(0);
}

/* Solves with new values again and again, and prints whether that takes memory on this rank. */
static PetscErrorCode time_loop(KSP ksp, Mat A, Vec b, Vec x)
{
  size_t before = 0;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  for (int step = 0; step < STEPS; step++) {
    PetscCall(MatShift(A, 1e-3));
    PetscCall(solve(ksp, A, b, x, &reason));
    if (step == FIRST) before = mallinfo2().uordblks;
  }
  const long grown = (long)(mallinfo2().uordblks - before);
  PetscCall(PetscSynchronizedPrintf(PETSC_COMM_WORLD, grown < 16384 ? "flat\n" : "%ld bytes more\n", grown));
  PetscCall(PetscSynchronizedFlush(PETSC_COMM_WORLD, PETSC_STDOUT));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  Mat A;
  Vec b, x;
  KSP ksp;
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
  for (PetscMPIInt bad = 0; bad <= ranks; bad++) {
    KSPConvergedReason reason;
    PetscCall(set_values(A, bad)); /* no rank is bad in the end */
    PetscCall(solve(ksp, A, b, x, &reason));
    PetscCall(PetscSynchronizedPrintf(PETSC_COMM_WORLD, "%s %s\n", bad < ranks ? "bad" : "good",
                                      KSPConvergedReasons[reason]));
    PetscCall(PetscSynchronizedFlush(PETSC_COMM_WORLD, PETSC_STDOUT));
  }
  PetscCall(time_loop(ksp, A, b, x));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFinalize());
  return 0;
}
