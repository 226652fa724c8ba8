/* Karst as a preconditioner of PETSc: each rank reads a system, of the gallery or a file, and takes its block rows of
 * it. PETSc runs GMRES over all ranks. Options say that Karst factors the rows of each, as in
 *     mpiexec -n 4 petsc -system blackoil:60x220x5 -pc_type bjacobi -sub_pc_type karst -sub_pc_karst_precond cpr
 * With the values of the next time step Karst factors again, without a new analysis. */
#include <karst.h>
#include <karst_petsc.h>
#include <string.h>

/* Makes this rank's block rows, from number *first on, with the values 0. Either call for the pattern is for MATBAIJ. */
static PetscErrorCode create_matrix(const karst_matrix *from, PetscInt *first, PetscInt *rows, Mat *A)
{
  const PetscInt b = karst_matrix_block_size(from);
  PetscInt own = PETSC_DECIDE, all = (PetscInt)karst_matrix_rows(from), *start;
  PetscFunctionBeginUser;
  PetscCall(PetscSplitOwnershipBlock(PETSC_COMM_WORLD, b, &own, &all));
  PetscCallMPI(MPI_Scan(&own, first, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  *rows = own / b, *first = *first / b - *rows;
  const karst_index *from_start = karst_matrix_row_start(from) + *first,
                    *column = karst_matrix_column(from) + *from_start;
  PetscCall(PetscMalloc1(*rows + 1, &start));
  for (PetscInt i = 0; i <= *rows; i++) start[i] = from_start[i] - *from_start;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, own, own, all, all));
  PetscCall(MatSetType(*A, MATBAIJ));
  PetscCall(MatSeqBAIJSetPreallocationCSR(*A, b, start, column, NULL));
  PetscCall(MatMPIBAIJSetPreallocationCSR(*A, b, start, column, NULL));
  PetscCall(MatSetOption(*A, MAT_ROW_ORIENTED, PETSC_FALSE)); /* blocks are stored by columns in both libraries */
  PetscCall(PetscFree(start));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  char name[PETSC_MAX_PATH_LEN] = "blackoil:20x20x5";
  PetscInt first, rows, iterations;
  PetscScalar *value;
  karst_context *context;
  karst_matrix *system;
  karst_vector *rhs;
  Mat A;
  Vec b, x;
  KSP ksp;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(KarstPetscRegister());
  PetscCall(PetscOptionsGetString(NULL, NULL, "-system", name, sizeof name, NULL));
  if (karst_context_create(NULL, &context) || (strchr(name, ':') ? karst_gallery_create(context, name, 0, &system, &rhs)
                                                                 : karst_matrix_read(context, name, 0, &system) ||
                                                                       karst_vector_read_beside(context, name, &rhs)))
    return fprintf(stderr, "%s\n", karst_context_error(context));
  PetscCall(create_matrix(system, &first, &rows, &A));
  const karst_index *start = karst_matrix_row_start(system), *column = karst_matrix_column(system);
  const int64_t size = karst_matrix_block_size(system), entries = size * size;
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecGetArrayWrite(b, &value));
  for (int64_t i = 0; i < rows * size; i++) value[i] = rhs ? karst_vector_const_values(rhs)[first * size + i] : 1;
  PetscCall(VecRestoreArrayWrite(b, &value));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetFromOptions(ksp));
  for (int step = 1; step <= 3; step++) {
    for (PetscInt i = first; i < first + rows; i++)
      PetscCall(MatSetValuesBlocked(A, 1, &i, start[i + 1] - start[i], column + start[i],
                                    karst_matrix_value(system) + entries * start[i], INSERT_VALUES));
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetIterationNumber(ksp, &iterations));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "step %d: iterations %d\n", step, (int)iterations));
  }
  karst_vector_destroy(rhs);
  karst_matrix_destroy(system);
  karst_context_destroy(context);
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFinalize());
  return 0;
}
