/* bench_hypre.c - hypre as a peer of bench (see bench.h): conjugate gradients with BoomerAMG, in one process on one
 * core.
 *
 * A repetition is a set-up of ParCSRPCG with one V-cycle of BoomerAMG and a solve from 0. The iteration ends by the
 * norm of its residual over that of b; the residual in the answer is computed by Karst from hypre's solution. Both
 * programs make the matrix by the same library call, so that its values are equal. */
#include "tools/src/bench/bench.h"

#include <HYPRE.h>
#include <HYPRE_krylov.h>
#include <HYPRE_parcsr_ls.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ITERATIONS = 10000 };

/* What differs from hypre's defaults, which are HMIS coarsening and extended+i interpolation of 4 entries a row. */
typedef struct amg_style {
  const char *name;
  int coarsening; /* hypre's numbers: 6 Falgout, 8 PMIS, 10 HMIS; -1: the default */
  int aggressive; /* levels of aggressive coarsening */
  int relaxation; /* 6: symmetric hybrid Gauss-Seidel; -1: the default, l1 Gauss-Seidel, forward and backward */
} amg_style;

static const amg_style styles[] = {{"default", -1, 0, -1},
                                   {"pmis", 8, 0, -1},
                                   {"falgout", 6, 0, -1},
                                   {"aggressive", -1, 1, -1},
                                   {"gauss-seidel", -1, 0, 6}};

typedef struct hypre_system {
  const bench_case *what;
  const amg_style *style;
  karst_context *context;
  karst_matrix *A;
  karst_vector *b, *x, *residual;
  double norm; /* of b */
  HYPRE_BigInt *rows;
  HYPRE_IJMatrix ij_A;
  HYPRE_IJVector ij_b, ij_x;
} hypre_system;

static const amg_style *find_style(const char *name)
{
  for (size_t i = 0; i < sizeof styles / sizeof *styles; i++)
    if (strcmp(name, styles[i].name) == 0) return &styles[i];
  return NULL;
}

/* Ends the program where a call of Karst failed. */
static void demand(const hypre_system *system, karst_status status)
{
  if (status) exit(tool_fail_library(system->context, status));
}

/* Ends the program where a call of hypre failed. */
static void demand_hypre(const char *what)
{
  char text[256];
  const HYPRE_Int error = HYPRE_GetError();

  if (!error) return;
  HYPRE_DescribeError(error, text);
  exit(tool_fail(TOOL_FAILED, "hypre: %s: %s", what, text));
}

static void *demand_memory(size_t count, size_t size)
{
  void *memory = calloc(count ? count : 1, size);

  if (!memory) exit(tool_fail_memory("the system in hypre's arrays"));
  return memory;
}

static void copy_matrix(hypre_system *system)
{
  const karst_index rows = karst_matrix_block_rows(system->A);
  const karst_index *row_start = karst_matrix_row_start(system->A), *column = karst_matrix_column(system->A);
  const int64_t entries = karst_matrix_blocks(system->A);
  HYPRE_Int *count = demand_memory((size_t)rows, sizeof *count);
  HYPRE_BigInt *columns = demand_memory((size_t)entries, sizeof *columns);

  system->rows = demand_memory((size_t)rows, sizeof *system->rows);
  for (karst_index i = 0; i < rows; i++) {
    system->rows[i] = (HYPRE_BigInt)i;
    count[i] = (HYPRE_Int)(row_start[i + 1] - row_start[i]);
  }
  for (int64_t e = 0; e < entries; e++) columns[e] = (HYPRE_BigInt)column[e];
  const HYPRE_BigInt last = (HYPRE_BigInt)rows - 1;
  HYPRE_IJMatrixCreate(MPI_COMM_SELF, 0, last, 0, last, &system->ij_A);
  HYPRE_IJMatrixSetObjectType(system->ij_A, HYPRE_PARCSR);
  HYPRE_IJMatrixSetRowSizes(system->ij_A, count);
  HYPRE_IJMatrixInitialize(system->ij_A);
  HYPRE_IJMatrixSetValues(system->ij_A, (HYPRE_Int)rows, count, system->rows, columns, karst_matrix_value(system->A));
  HYPRE_IJMatrixAssemble(system->ij_A);
  demand_hypre("the matrix");
  free(columns);
  free(count);
}

static void copy_vector(const hypre_system *system, const karst_vector *v, HYPRE_IJVector *copy)
{
  const int64_t rows = karst_vector_length(v);

  HYPRE_IJVectorCreate(MPI_COMM_SELF, 0, (HYPRE_BigInt)rows - 1, copy);
  HYPRE_IJVectorSetObjectType(*copy, HYPRE_PARCSR);
  HYPRE_IJVectorInitialize(*copy);
  HYPRE_IJVectorSetValues(*copy, (HYPRE_Int)rows, system->rows, karst_vector_const_values(v));
  HYPRE_IJVectorAssemble(*copy);
  demand_hypre("a vector");
}

/* Makes the system with Karst, which keeps it to compute the residual, and copies it to hypre. */
static void system_create(hypre_system *system)
{
  bench_peer_load(system->what, &system->context, &system->A, &system->b);
  if (karst_matrix_block_size(system->A) != 1)
    exit(tool_fail(TOOL_FAILED, "bench_hypre solves scalar systems only; the blocks have size %d",
                   karst_matrix_block_size(system->A)));
  demand(system, karst_vector_create(system->context, karst_vector_length(system->b), &system->x));
  demand(system, karst_vector_create(system->context, karst_vector_length(system->b), &system->residual));
  demand(system, karst_vector_norm(system->b, &system->norm));
  copy_matrix(system);
  copy_vector(system, system->b, &system->ij_b);
  copy_vector(system, system->x, &system->ij_x);
}

static void system_destroy(hypre_system *system)
{
  HYPRE_IJVectorDestroy(system->ij_x);
  HYPRE_IJVectorDestroy(system->ij_b);
  HYPRE_IJMatrixDestroy(system->ij_A);
  free(system->rows);
  karst_vector_destroy(system->residual);
  karst_vector_destroy(system->x);
  karst_vector_destroy(system->b);
  karst_matrix_destroy(system->A);
  karst_context_destroy(system->context);
}

static HYPRE_Solver precond_create(const amg_style *style)
{
  HYPRE_Solver precond;

  HYPRE_BoomerAMGCreate(&precond);
  HYPRE_BoomerAMGSetTol(precond, 0.0);
  HYPRE_BoomerAMGSetMaxIter(precond, 1);
  HYPRE_BoomerAMGSetPrintLevel(precond, 0);
  if (style->coarsening >= 0) HYPRE_BoomerAMGSetCoarsenType(precond, style->coarsening);
  if (style->relaxation >= 0) HYPRE_BoomerAMGSetRelaxType(precond, style->relaxation);
  HYPRE_BoomerAMGSetAggNumLevels(precond, style->aggressive);
  return precond;
}

static double true_residual(hypre_system *system)
{
  double norm;
  const int64_t rows = karst_vector_length(system->x);

  HYPRE_IJVectorGetValues(system->ij_x, (HYPRE_Int)rows, system->rows, karst_vector_values(system->x));
  demand_hypre("the solution");
  demand(system, karst_matrix_residual(system->A, system->b, system->x, system->residual, &norm));
  return system->norm > 0 ? norm / system->norm : norm;
}

static void repetition(hypre_system *system, double value[BENCH_PEER_SOLVE_QUANTITIES])
{
  HYPRE_ParCSRMatrix A;
  HYPRE_ParVector b, x;
  HYPRE_Solver solver;
  HYPRE_Int iterations = 0;

  HYPRE_IJMatrixGetObject(system->ij_A, (void **)&A);
  HYPRE_IJVectorGetObject(system->ij_b, (void **)&b);
  HYPRE_IJVectorGetObject(system->ij_x, (void **)&x);
  HYPRE_ParVectorSetConstantValues(x, 0.0);
  const double start = tool_clock();
  HYPRE_Solver precond = precond_create(system->style);
  HYPRE_ParCSRPCGCreate(MPI_COMM_SELF, &solver);
  HYPRE_PCGSetTwoNorm(solver, 1);
  HYPRE_PCGSetTol(solver, system->what->rtol);
  HYPRE_PCGSetMaxIter(solver, MAX_ITERATIONS);
  HYPRE_ParCSRPCGSetPrecond(solver, HYPRE_BoomerAMGSolve, HYPRE_BoomerAMGSetup, precond);
  HYPRE_ParCSRPCGSetup(solver, A, b, x);
  demand_hypre("set-up");
  const double middle = tool_clock();
  HYPRE_ParCSRPCGSolve(solver, A, b, x);
  const double end = tool_clock();
  HYPRE_ClearAllErrors(); /* an iteration that did not converge is one; the residual tells */
  HYPRE_PCGGetNumIterations(solver, &iterations);
  value[BENCH_SOLVE_SETUP] = middle - start;
  value[BENCH_SOLVE_UPDATE] = NAN;
  value[BENCH_SOLVE_SOLVE] = end - middle;
  value[BENCH_SOLVE_ITERATIONS] = iterations;
  value[BENCH_SOLVE_RESIDUAL] = true_residual(system);
  HYPRE_ParCSRPCGDestroy(solver);
  HYPRE_BoomerAMGDestroy(precond);
}

int main(int argc, char **argv)
{
  bench_case what = {.block = 0};
  hypre_system system = {.what = &what};
  double value[BENCH_PEER_SOLVE_QUANTITIES];

  tool_start(argv[0]);
  if (argc != 8)
    return tool_fail(TOOL_FAILED,
                     "hypre is a peer for whole solves, of bench --solves: usage: bench_hypre MATRIX BLOCK "
                     "LEVEL RESTART ITERATIONS RTOL STYLE");
  what.matrix = argv[1];
  what.block = atoi(argv[2]);
  what.rtol = strtod(argv[6], NULL);
  system.style = find_style(argv[7]);
  if (!system.style)
    return tool_fail(TOOL_FAILED, "hypre's styles are default, pmis, falgout, aggressive and gauss-seidel, not '%s'",
                     argv[7]);
  MPI_Init(&argc, &argv);
  HYPRE_Init();
  bench_keep_memory();
  system_create(&system);
  printf("BoomerAMG-CG %s, hypre %s\n", system.style->name, HYPRE_RELEASE_VERSION);
  fflush(stdout);
  while (bench_peer_requested()) {
    repetition(&system, value);
    bench_peer_answer(BENCH_PEER_SOLVE_QUANTITIES, value);
  }
  system_destroy(&system);
  HYPRE_Finalize();
  MPI_Finalize();
  return 0;
}
