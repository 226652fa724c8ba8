/* Karst's ILU(k) in PETSc is PETSc's own, to rounding errors, for each format of sequential matrices and each block
 * size; new values are taken, kept or refused as PETSc's users ask. Both compute the same factors in another order, so
 * that 1e-12 of the norm is some hundred roundings. */
#include "tests/plugins/petsc_systems.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

static const double rounding = 1e-12;

static void check(Mat A, Mat reference, const char *const *pairs, int level, const char *what)
{
  PC karst = petsc_pc(A, pairs, 0), own = petsc_pc(reference, NULL, level);
  const double difference = petsc_compare(karst, own);
  tap_ok(difference < rounding, "%s, level %d: as ilu of PETSc (%.1e)", what, level, difference);
  NEED(PCDestroy(&karst));
  NEED(PCDestroy(&own));
}

static void test_formats(int b)
{
  static const char *const level_text[] = {"0", "1", "2"};
  char what[64];
  Mat baij = petsc_random(60, b), aij = petsc_converted(baij, MATSEQAIJ);
  for (int level = 0; level < 3; level++) {
    snprintf(what, sizeof what, "blocks of %d", b);
    check(baij, baij, PAIRS("level", level_text[level]), level, what);
    snprintf(what, sizeof what, "blocks of %d by rows", b);
    check(aij, baij, PAIRS("level", level_text[level]), level, what);
    snprintf(what, sizeof what, "blocks of %d as scalars", b);
    check(aij, aij, PAIRS("level", level_text[level], "block_size", "1"), level, what);
  }
  NEED(MatDestroy(&aij));
  NEED(MatDestroy(&baij));
}

/* Blocks that are not full, and another block size than the matrix has: as a matrix of blocks filled up with zeros. */
static void test_gathered(void)
{
  Mat aij = petsc_converted(petsc_random(30, 1), MATSEQAIJ), baij;
  NEED(MatDuplicate(aij, MAT_COPY_VALUES, &baij));
  NEED(MatSetBlockSize(baij, 3));
  NEED(MatConvert(baij, MATSEQBAIJ, MAT_INPLACE_MATRIX, &baij));
  check(aij, baij, PAIRS("block_size", "3"), 0, "scalars gathered in blocks of 3");
  NEED(MatDestroy(&aij));
  NEED(MatDestroy(&baij));
}

static void test_symmetric(int b)
{
  char what[64];
  Mat A = petsc_random(60, b), T, S;
  NEED(MatTranspose(A, MAT_INITIAL_MATRIX, &T));
  NEED(MatAXPY(A, 1, T, DIFFERENT_NONZERO_PATTERN));
  NEED(MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE));
  S = petsc_converted(A, MATSEQSBAIJ);
  snprintf(what, sizeof what, "one triangle, blocks of %d", b);
  check(S, A, PAIRS("level", "1"), 1, what);
  PC karst = petsc_pc(S, PAIRS("precond", "iluk"), 0), fresh;
  NEED(PCSetUp(karst));
  NEED(MatScale(S, 3));
  NEED(MatShift(S, 1));
  fresh = petsc_pc(S, PAIRS("precond", "iluk"), 0);
  tap_ok(petsc_compare(karst, fresh) == 0, "new values of one triangle reach both");
  NEED(PCDestroy(&karst));
  NEED(PCDestroy(&fresh));
  NEED(MatDestroy(&A));
  NEED(MatDestroy(&T));
  NEED(MatDestroy(&S));
}

/* New values on one pattern, values that are kept, and a new pattern. */
static void test_updates(MatType type, int b)
{
  Mat A = petsc_random(50, b), B;
  NEED(MatConvert(A, type, MAT_INPLACE_MATRIX, &A));
  PC pc = petsc_pc(A, PAIRS("level", "1"), 0), old = petsc_pc(A, PAIRS("level", "1"), 0), fresh;
  NEED(PCSetUp(old));
  NEED(PCSetReusePreconditioner(old, PETSC_TRUE));
  tap_ok(petsc_compare(pc, old) == 0, "%s: two set-ups have the same bits", type);
  NEED(MatDuplicate(A, MAT_COPY_VALUES, &B));
  NEED(MatScale(A, 2));
  NEED(MatShift(A, 1));
  fresh = petsc_pc(A, PAIRS("level", "1"), 0);
  tap_ok(petsc_compare(pc, fresh) == 0, "%s: new values are taken", type);
  NEED(PCSetOperators(fresh, B, B));
  tap_ok(petsc_compare(old, fresh) == 0, "%s: PCSetReusePreconditioner keeps the old factors", type);
  NEED(PCSetReusePreconditioner(old, PETSC_FALSE));
  tap_ok(petsc_compare(pc, old) == 0, "%s: and takes the new values when it ends", type);
  NEED(MatDestroy(&B));
  B = petsc_random(50, b);
  NEED(MatConvert(B, type, MAT_INPLACE_MATRIX, &B));
  NEED(PCSetOperators(pc, B, B));
  NEED(PCSetOperators(fresh, B, B));
  NEED(PCReset(fresh));
  NEED(PCSetOperators(fresh, B, B));
  tap_ok(petsc_compare(pc, fresh) == 0, "%s: another pattern is analysed", type);
  NEED(PCDestroy(&pc));
  NEED(PCDestroy(&old));
  NEED(PCDestroy(&fresh));
  NEED(MatDestroy(&A));
  NEED(MatDestroy(&B));
}

/* Options that are set after a set-up count at the next one. */
static void test_options(void)
{
  Mat A = petsc_random(50, 2);
  PC pc = petsc_pc(A, PAIRS("precond", "jacobi"), 0), own;
  NEED(PCCreate(PETSC_COMM_SELF, &own));
  NEED(PCSetType(own, PCPBJACOBI));
  NEED(PCSetOperators(own, A, A));
  tap_ok(petsc_compare(pc, own) < rounding, "jacobi is pbjacobi of PETSc");
  NEED(PCKarstSetOption(pc, "precond", "two-stage"));
  NEED(PCKarstSetOption(pc, "second.level", "2"));
  NEED(PCKarstSetOption(pc, "threads", "2"));
  PC stages = petsc_pc(A, PAIRS("precond", "two-stage", "second.level", "2"), 0);
  tap_ok(petsc_compare(pc, stages) == 0, "another preconditioner and 2 threads at the next set-up");
  NEED(PCDestroy(&stages));
  NEED(PCDestroy(&own));
  NEED(PCDestroy(&pc));
  NEED(MatDestroy(&A));
}

/* A time loop takes no memory after its first steps. */
static void test_memory(MatType type)
{
  enum { STEPS = 1000, FIRST = 10 };
  size_t before = 0;
  Mat A = petsc_random(20, 3);
  Vec b, x;
  KSP ksp;
  PC pc;
  NEED(MatConvert(A, type, MAT_INPLACE_MATRIX, &A));
  NEED(MatCreateVecs(A, &x, &b));
  NEED(VecSet(b, 1));
  NEED(KSPCreate(PETSC_COMM_SELF, &ksp));
  NEED(KSPGetPC(ksp, &pc));
  NEED(PCSetType(pc, PCKARST));
  NEED(KSPSetOperators(ksp, A, A));
  for (int step = 0; step < STEPS; step++) {
    NEED(MatShift(A, 1e-3));
    NEED(KSPSolve(ksp, b, x));
    if (step == FIRST) before = mallinfo2().uordblks;
  }
  const long grown = (long)(mallinfo2().uordblks - before);
  tap_ok(grown < 4096, "%s: %d updates and solves take %ld bytes", type, STEPS, grown);
  NEED(KSPDestroy(&ksp));
  NEED(VecDestroy(&b));
  NEED(VecDestroy(&x));
  NEED(MatDestroy(&A));
}

/* A process may have no rows. */
static void test_empty(void)
{
  Mat A;
  Vec x, y;
  NEED(MatCreateSeqAIJ(PETSC_COMM_SELF, 0, 0, 0, NULL, &A));
  NEED(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  NEED(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  NEED(MatCreateVecs(A, &x, &y));
  PC pc = petsc_pc(A, PAIRS("precond", "iluk"), 0);
  tap_ok(PCApply(pc, x, y) == 0, "a matrix without rows is taken");
  NEED(PCDestroy(&pc));
  NEED(VecDestroy(&x));
  NEED(VecDestroy(&y));
  NEED(MatDestroy(&A));
}

int main(int argc, char **argv)
{
  static const int sizes[] = {1, 2, 3, 4, 5, 7};
  NEED(PetscInitialize(&argc, &argv, NULL, NULL));
  NEED(KarstPetscRegister());
  tap_seed();
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) test_formats(sizes[i]);
  test_gathered();
  test_symmetric(1);
  test_symmetric(3);
  test_updates(MATSEQAIJ, 1);
  test_updates(MATSEQAIJ, 3);
  test_updates(MATSEQBAIJ, 3);
  test_options();
  test_memory(MATSEQAIJ);
  test_memory(MATSEQBAIJ);
  test_empty();
  NEED(PetscFinalize());
  return tap_done();
}
