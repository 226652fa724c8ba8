/* petsc_systems.h - systems in PETSc for the tests of plugins/petsc: random block matrices in each of its formats,
 * preconditioners applied to random vectors, and sentences of errors. */
#ifndef KARST_TESTS_PLUGINS_PETSC_SYSTEMS_H
#define KARST_TESTS_PLUGINS_PETSC_SYSTEMS_H

#include "plugins/petsc/karst_petsc.h"
#include "tests/support/tap.h"

#include <math.h>
#include <string.h>

/* Ends the program unless the call succeeds; for steps that a test does not check. */
#define NEED(call)                                                                                                     \
  do {                                                                                                                 \
    if ((call) != 0) {                                                                                                 \
      printf("Bail out! %s\n", #call);                                                                                 \
      exit(99);                                                                                                        \
    }                                                                                                                  \
  } while (0)

/* The first sentence of the last error of PETSC_ERROR(call), which prints nothing. */
static char petsc_sentence[512];

static inline PetscErrorCode petsc_keep_sentence(MPI_Comm comm, int line, const char *function, const char *file,
                                                 PetscErrorCode error, PetscErrorType type, const char *text,
                                                 void *user)
{
  (void)comm, (void)line, (void)function, (void)file, (void)user;
  if (type == PETSC_ERROR_INITIAL) snprintf(petsc_sentence, sizeof petsc_sentence, "%s", text);
  return error;
}

static PetscErrorCode petsc_code __attribute__((unused));
#define PETSC_ERROR(call)                                                                                              \
  (petsc_sentence[0] = '\0', PetscPushErrorHandler(petsc_keep_sentence, NULL), petsc_code = (call),                    \
   PetscPopErrorHandler(), petsc_code)

/* Whether a call fails with a sentence that has the text, and shows the sentence. */
#define REFUSES(call, text)                                                                                            \
  tap_ok(PETSC_ERROR(call) != 0 && strstr(petsc_sentence, text), "refused: %s", petsc_sentence)

/* The matrix of Karst as MATSEQBAIJ. */
static inline Mat petsc_baij(const karst_matrix *A)
{
  const PetscInt rows = (PetscInt)karst_matrix_rows(A);
  const int b = karst_matrix_block_size(A);
  Mat copy;
  NEED(MatCreate(PETSC_COMM_SELF, &copy));
  NEED(MatSetSizes(copy, rows, rows, rows, rows));
  NEED(MatSetType(copy, MATSEQBAIJ));
  NEED(MatSetBlockSize(copy, b));
  NEED(MatSetOption(copy, MAT_ROW_ORIENTED, PETSC_FALSE));
  NEED(MatSeqBAIJSetPreallocationCSR(copy, b, (const PetscInt *)karst_matrix_row_start(A),
                                     (const PetscInt *)karst_matrix_column(A), karst_matrix_value(A)));
  return copy;
}

/* A random matrix of Karst as MATSEQBAIJ, dominant by blocks so that no method needs pivoting. */
static inline Mat petsc_random(karst_index block_rows, int b)
{
  karst_context *context = tap_context();
  karst_matrix *A = tap_random_matrix(context, block_rows, b, 4, 1.5);
  Mat copy = petsc_baij(A);
  karst_matrix_destroy(A);
  karst_context_destroy(context);
  return copy;
}

static inline Mat petsc_converted(Mat A, MatType type)
{
  Mat B;
  NEED(MatConvert(A, type, MAT_INITIAL_MATRIX, &B));
  return B;
}

/* A PC for the matrix with options "name", "value", ..., NULL of Karst, or of PETSc's ilu of a level if they are NULL. */
static inline PC petsc_pc(Mat A, const char *const *pairs, PetscInt level)
{
  PC pc;
  NEED(PCCreate(PETSC_COMM_SELF, &pc));
  NEED(PCSetOperators(pc, A, A));
  NEED(PCSetType(pc, pairs ? PCKARST : PCILU));
  if (!pairs) NEED(PCFactorSetLevels(pc, level));
  for (; pairs && *pairs; pairs += 2) NEED(PCKarstSetOption(pc, pairs[0], pairs[1]));
  return pc;
}
#define PAIRS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* z = M^-1 r for a random r of this seed. */
static inline Vec petsc_applied(PC pc, unsigned long seed)
{
  Mat A;
  Vec r, z;
  PetscRandom random;
  NEED(PCGetOperators(pc, &A, NULL));
  NEED(MatCreateVecs(A, &z, &r));
  NEED(PetscRandomCreate(PETSC_COMM_SELF, &random));
  NEED(PetscRandomSetSeed(random, seed));
  NEED(PetscRandomSeed(random));
  NEED(VecSetRandom(r, random));
  NEED(PetscRandomDestroy(&random));
  NEED(PCApply(pc, r, z));
  NEED(VecDestroy(&r));
  return z;
}

/* |z - y| / |y|; both are destroyed. */
static inline double petsc_difference(Vec z, Vec y)
{
  PetscReal norm, difference;
  NEED(VecNorm(y, NORM_2, &norm));
  NEED(VecAXPY(z, -1, y));
  NEED(VecNorm(z, NORM_2, &difference));
  NEED(VecDestroy(&z));
  NEED(VecDestroy(&y));
  return difference / norm;
}

/* The difference of what two preconditioners make of the same random vector. */
static inline double petsc_compare(PC one, PC other)
{
  const unsigned long seed = (unsigned long)tap_random_index(1 << 30);
  return petsc_difference(petsc_applied(one, seed), petsc_applied(other, seed));
}

#endif
