/* bench_petsc.c - PETSc as a peer of bench (see bench.h): ILU(k) and GMRES(m) on one core.
 *
 * It uses MATSEQAIJ for scalar matrices and MATSEQBAIJ for blocks, PCILU with levels in the natural ordering, and
 * KSPGMRES with classical Gram-Schmidt without refinement, preconditioned from the right. All other options are PETSc's
 * defaults. Both programs make the matrix by the same library call, so that its values are equal. */
#include "tools/src/bench/bench.h"

#include <petscksp.h>

#include <stdio.h>
#include <stdlib.h>

typedef struct petsc_system {
  const bench_case *what;
  Mat A;
  Vec b, x;
} petsc_system;

/* Copies indices to PETSc's index type, whose width can differ from Karst's. */
static PetscErrorCode copy_indices(int64_t count, const karst_index *from, PetscInt **to)
{
  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(count, to));
  for (int64_t i = 0; i < count; i++) (*to)[i] = (PetscInt)from[i];
  PetscFunctionReturn(0);
}

/* Copies a Karst matrix. Its blocks are stored column by column, which is PETSc's MAT_ROW_ORIENTED false. */
static PetscErrorCode copy_matrix(const karst_matrix *A, Mat *copy)
{
  const int b = karst_matrix_block_size(A);
  const PetscInt rows = (PetscInt)karst_matrix_rows(A);
  PetscInt *row_start, *column;

  PetscFunctionBeginUser;
  PetscCall(copy_indices((int64_t)karst_matrix_block_rows(A) + 1, karst_matrix_row_start(A), &row_start));
  PetscCall(copy_indices(karst_matrix_blocks(A), karst_matrix_column(A), &column));
  PetscCall(MatCreate(PETSC_COMM_SELF, copy));
  PetscCall(MatSetSizes(*copy, rows, rows, rows, rows));
  if (b == 1) {
    PetscCall(MatSetType(*copy, MATSEQAIJ));
    PetscCall(MatSeqAIJSetPreallocationCSR(*copy, row_start, column, karst_matrix_value(A)));
  } else {
    PetscCall(MatSetType(*copy, MATSEQBAIJ));
    PetscCall(MatSetBlockSize(*copy, b));
    PetscCall(MatSetOption(*copy, MAT_ROW_ORIENTED, PETSC_FALSE));
    PetscCall(MatSeqBAIJSetPreallocationCSR(*copy, b, row_start, column, karst_matrix_value(A)));
  }
  PetscCall(PetscFree(row_start));
  PetscCall(PetscFree(column));
  PetscFunctionReturn(0);
}

static PetscErrorCode copy_vector(karst_vector *v, Vec *copy)
{
  const PetscInt rows = (PetscInt)karst_vector_length(v);
  PetscScalar *values;

  PetscFunctionBeginUser;
  PetscCall(VecCreateSeq(PETSC_COMM_SELF, rows, copy));
  PetscCall(VecGetArrayWrite(*copy, &values));
  PetscCall(PetscArraycpy(values, karst_vector_values(v), rows));
  PetscCall(VecRestoreArrayWrite(*copy, &values));
  PetscFunctionReturn(0);
}

/* Makes the system with Karst and copies it to PETSc. Karst's copy is released before anything is timed. */
static PetscErrorCode system_create(const bench_case *what, petsc_system *system)
{
  karst_context *context;
  karst_matrix *A;
  karst_vector *b;

  PetscFunctionBeginUser;
  system->what = what;
  bench_peer_load(what, &context, &A, &b);
  PetscCall(copy_matrix(A, &system->A));
  PetscCall(copy_vector(b, &system->b));
  PetscCall(VecDuplicate(system->b, &system->x));
  karst_vector_destroy(b);
  karst_matrix_destroy(A);
  karst_context_destroy(context);
  PetscFunctionReturn(0);
}

static PetscErrorCode solver_create(const petsc_system *system, KSP *solver)
{
  const bench_stopwatch watch = bench_stopwatch_new(system->what);
  PC precond;

  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PETSC_COMM_SELF, solver));
  PetscCall(KSPSetType(*solver, KSPGMRES));
  PetscCall(KSPGMRESSetRestart(*solver, system->what->restart));
  PetscCall(KSPGMRESSetOrthogonalization(*solver, KSPGMRESClassicalGramSchmidtOrthogonalization));
  PetscCall(KSPGMRESSetPreAllocateVectors(*solver)); /* so that all allocation is part of set-up, as in Karst */
  PetscCall(KSPSetPCSide(*solver, PC_RIGHT));
  PetscCall(KSPSetTolerances(*solver, 0.0, 0.0, PETSC_DEFAULT, watch.last));
  PetscCall(KSPGetPC(*solver, &precond));
  PetscCall(PCSetType(precond, PCILU));
  PetscCall(PCFactorSetLevels(precond, system->what->level));
  PetscCall(PCFactorSetMatOrderingType(precond, MATORDERINGNATURAL));
  PetscCall(KSPSetOperators(*solver, system->A, system->A));
  PetscFunctionReturn(0);
}

static PetscErrorCode monitor(KSP solver, PetscInt iteration, PetscReal residual, void *watch)
{
  PetscFunctionBeginUser;
  (void)solver;
  bench_stopwatch_step(watch, (int)iteration, residual);
  PetscFunctionReturn(0);
}

/* Reads the seconds spent so far in an event of PETSc's log. */
static PetscErrorCode logged_seconds(const char *name, double *seconds)
{
  PetscLogEvent event;
  PetscEventPerfInfo info;

  PetscFunctionBeginUser;
  PetscCall(PetscLogEventGetId(name, &event));
  PetscCall(PetscLogEventGetPerfInfo(0, event, &info));
  *seconds = info.time;
  PetscFunctionReturn(0);
}

static PetscErrorCode time_setup(KSP solver, bench_sample *sample)
{
  double symbolic_before, symbolic_after, factor_before, factor_after;

  PetscFunctionBeginUser;
  PetscCall(logged_seconds("MatILUFactorSym", &symbolic_before));
  PetscCall(logged_seconds("MatLUFactorNum", &factor_before));
  const double start = tool_clock();
  PetscCall(KSPSetUp(solver));
  sample->value[BENCH_SETUP] = tool_clock() - start;
  PetscCall(logged_seconds("MatILUFactorSym", &symbolic_after));
  PetscCall(logged_seconds("MatLUFactorNum", &factor_after));
  sample->value[BENCH_SYMBOLIC] = symbolic_after - symbolic_before;
  sample->value[BENCH_FACTOR] = factor_after - factor_before;
  PetscFunctionReturn(0);
}

/* Assembling the matrix again marks it as changed, so that PETSc factors it again. */
static PetscErrorCode time_update(const petsc_system *system, KSP solver, bench_sample *sample)
{
  PetscFunctionBeginUser;
  PetscCall(MatAssemblyBegin(system->A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(system->A, MAT_FINAL_ASSEMBLY));
  PetscCall(KSPSetOperators(solver, system->A, system->A));
  const double start = tool_clock();
  PetscCall(KSPSetUp(solver));
  sample->value[BENCH_UPDATE] = tool_clock() - start;
  PetscFunctionReturn(0);
}

static PetscErrorCode time_kernels(const petsc_system *system, KSP solver, bench_sample *sample)
{
  PC precond;

  PetscFunctionBeginUser;
  PetscCall(KSPGetPC(solver, &precond));
  double start = tool_clock();
  for (int i = 0; i < BENCH_KERNEL_REPEATS; i++) PetscCall(MatMult(system->A, system->b, system->x));
  sample->value[BENCH_MULTIPLY] = (tool_clock() - start) / BENCH_KERNEL_REPEATS;
  start = tool_clock();
  for (int i = 0; i < BENCH_KERNEL_REPEATS; i++) PetscCall(PCApply(precond, system->b, system->x));
  sample->value[BENCH_APPLY] = (tool_clock() - start) / BENCH_KERNEL_REPEATS;
  PetscFunctionReturn(0);
}

static PetscErrorCode repetition(const petsc_system *system, bench_sample *sample)
{
  bench_stopwatch watch = bench_stopwatch_new(system->what);
  KSP solver;

  PetscFunctionBeginUser;
  PetscCall(solver_create(system, &solver));
  PetscCall(KSPMonitorSet(solver, monitor, &watch, NULL));
  PetscCall(time_setup(solver, sample));
  PetscCall(time_update(system, solver, sample));
  PetscCall(KSPSolve(solver, system->b, system->x));
  bench_stopwatch_take(&watch, system->what, sample);
  PetscCall(time_kernels(system, solver, sample));
  PetscCall(KSPDestroy(&solver));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  tool_start(argv[0]);
  if (argc != 6) return tool_fail(TOOL_FAILED, "usage: bench_petsc MATRIX BLOCK LEVEL RESTART ITERATIONS");
  const bench_case what = {.matrix = argv[1],
                           .block = atoi(argv[2]),
                           .level = atoi(argv[3]),
                           .restart = atoi(argv[4]),
                           .iterations = atoi(argv[5])};
  petsc_system system;
  bench_sample sample;

  PetscCall(PetscInitializeNoArguments());
  PetscCall(PetscLogDefaultBegin());
  bench_keep_memory();
  PetscCall(system_create(&what, &system));
  printf("PETSc %d.%d.%d\n", PETSC_VERSION_MAJOR, PETSC_VERSION_MINOR, PETSC_VERSION_SUBMINOR);
  fflush(stdout);
  while (bench_peer_requested()) {
    PetscCall(repetition(&system, &sample));
    bench_peer_answer(BENCH_PEER_QUANTITIES, sample.value);
  }
  PetscCall(MatDestroy(&system.A));
  PetscCall(VecDestroy(&system.b));
  PetscCall(VecDestroy(&system.x));
  PetscCall(PetscFinalize());
  return 0;
}
