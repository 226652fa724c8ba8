/* hypre.c - BoomerAMG of hypre (Henson and Yang, Appl. Numer. Math. 41, 2002), the peer of amg, as a registered
 * preconditioner: z is one V(1,1) cycle from zero for A z = r, in this process alone. amg with amg-omega 1 does
 * the same up to ties: extended+i interpolation, a row's largest entries kept, l1-Jacobi.
 *
 * The options have amg's names, so that cpr's own strength for its pressures serves both. hypre has no numeric update:
 * each update copies the values and sets up again, the choice of coarse rows included. A has one unknown a cell and is
 * in host memory; hypre holds copies of A, r and z. */
#include "tools/src/peers/hypre.h"

#include <HYPRE.h>
#include <HYPRE_parcsr_ls.h>

#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

enum smoother { AUTO, L1_JACOBI, L1_GAUSS_SEIDEL };

struct settings {
  int coarsening, smoother, most_entries;
  double strength;
};

struct state {
  HYPRE_Int rows;
  HYPRE_Int *count;           /* [rows] entries of each row */
  HYPRE_BigInt *row, *column; /* [rows] 0, 1, 2 ...; [entries] */
  HYPRE_IJMatrix matrix;
  HYPRE_IJVector residual, solution;
  HYPRE_Solver amg; /* NULL before the first update */
};

static void end_mpi(void) { MPI_Finalize(); }

/* hypre calls MPI, though alone. Where the program has begun it, the program ends it. */
static void begin_mpi(void)
{
  int begun;
  MPI_Initialized(&begun);
  if (!begun && MPI_Init(NULL, NULL) == MPI_SUCCESS) atexit(end_mpi);
  HYPRE_Init();
}

/* The status and a sentence where a call of hypre has failed. */
static karst_status check_hypre(karst_context *context, const char *what)
{
  char text[256], sentence[320];
  const HYPRE_Int error = HYPRE_GetError();
  if (!error) return KARST_SUCCESS;
  HYPRE_DescribeError(error, text);
  HYPRE_ClearAllErrors();
  snprintf(sentence, sizeof sentence, "hypre: %s: %s", what, text);
  return karst_context_fail(context, error & HYPRE_ERROR_MEMORY ? KARST_ERROR_NO_MEMORY : KARST_ERROR_MATRIX, sentence);
}

static karst_status check_matrix(karst_context *context, const karst_matrix *A)
{
  char sentence[160];
  const long long most = sizeof(HYPRE_Int) == sizeof(int) ? INT_MAX : LLONG_MAX;
  const int b = karst_matrix_block_size(A);
  if (!karst_context_is_host(context))
    return karst_context_fail(context, KARST_ERROR_NOT_BUILT,
                              "the preconditioner hypre is not available on cuda: it runs on cpu");
  snprintf(sentence, sizeof sentence,
           "hypre is for one unknown a cell, but the block size is %d: cpr uses it for the %s", b,
           "pressures, --precond cpr --first hypre");
  if (b != 1) return karst_context_fail(context, KARST_ERROR_MATRIX, sentence);
  snprintf(sentence, sizeof sentence, "hypre counts entries up to %lld, and this matrix has %lld", most,
           (long long)karst_matrix_blocks(A));
  return karst_matrix_blocks(A) <= most ? KARST_SUCCESS : karst_context_fail(context, KARST_ERROR_MATRIX, sentence);
}

static karst_status make_vector(karst_context *context, const struct state *state, HYPRE_IJVector *vector)
{
  HYPRE_IJVectorCreate(MPI_COMM_SELF, 0, state->rows - 1, vector);
  HYPRE_IJVectorSetObjectType(*vector, HYPRE_PARCSR);
  HYPRE_IJVectorInitialize(*vector);
  HYPRE_IJVectorAssemble(*vector);
  return check_hypre(context, "a vector");
}

static karst_status setup(karst_precond *precond)
{
  karst_context *context = karst_precond_context(precond);
  const karst_matrix *A = karst_precond_matrix(precond);
  const karst_index *start = karst_matrix_row_start(A), *column = karst_matrix_column(A);
  const size_t rows = (size_t)karst_matrix_block_rows(A), entries = (size_t)karst_matrix_blocks(A);
  karst_status status = check_matrix(context, A);
  if (status || rows == 0) return status;
  struct state *state = calloc(1, sizeof *state);
  karst_precond_set_data(precond, state);
  if (state) {
    state->count = malloc(rows * sizeof *state->count);
    state->row = malloc(rows * sizeof *state->row);
    state->column = malloc((entries + 1) * sizeof *state->column);
  }
  if (!state || !state->count || !state->row || !state->column)
    return karst_context_fail(context, KARST_ERROR_NO_MEMORY, "out of memory: the pattern for hypre");
  state->rows = (HYPRE_Int)rows;
  for (size_t i = 0; i < rows; i++) {
    state->row[i] = (HYPRE_BigInt)i;
    state->count[i] = (HYPRE_Int)(start[i + 1] - start[i]);
  }
  for (size_t k = 0; k < entries; k++) state->column[k] = (HYPRE_BigInt)column[k];
  begin_mpi();
  const HYPRE_BigInt last = state->rows - 1;
  HYPRE_IJMatrixCreate(MPI_COMM_SELF, 0, last, 0, last, &state->matrix);
  HYPRE_IJMatrixSetObjectType(state->matrix, HYPRE_PARCSR);
  HYPRE_IJMatrixSetRowSizes(state->matrix, state->count);
  status = check_hypre(context, "the matrix");
  if (!status) status = make_vector(context, state, &state->residual);
  return status ? status : make_vector(context, state, &state->solution);
}

/* hypre takes any numbers. A row that is zero, or has a number that is not finite, is an outcome. */
static bool is_sound(karst_precond *precond, const struct state *state, const double *value)
{
  int64_t k = 0;
  for (HYPRE_Int i = 0; i < state->rows; i++) {
    double sum = 0;
    for (const int64_t end = k + state->count[i]; k < end; k++) sum += fabs(value[k]);
    if (sum > 0 && isfinite(sum)) continue;
    karst_precond_set_outcome(precond, sum == 0 ? KARST_SINGULAR_BLOCK : KARST_NOT_FINITE, (karst_index)i);
    return false;
  }
  return true;
}

/* hypre's numbers: 8 is PMIS and 10 HMIS, 6 is extended+i; 18 is l1-Jacobi, 13 and 14 are l1-Gauss-Seidel forward, for
 * the sweep down, and backward, for the sweep up. All else stays hypre's default. */
static void make_amg(struct state *state, const struct settings *settings)
{
  if (state->amg) HYPRE_BoomerAMGDestroy(state->amg);
  HYPRE_BoomerAMGCreate(&state->amg);
  HYPRE_BoomerAMGSetTol(state->amg, 0.0);
  HYPRE_BoomerAMGSetMaxIter(state->amg, 1);
  HYPRE_BoomerAMGSetPrintLevel(state->amg, 0);
  HYPRE_BoomerAMGSetCoarsenType(state->amg, settings->coarsening == 0 ? 8 : 10);
  HYPRE_BoomerAMGSetInterpType(state->amg, 6);
  HYPRE_BoomerAMGSetPMaxElmts(state->amg, settings->most_entries);
  HYPRE_BoomerAMGSetStrongThreshold(state->amg, settings->strength > 0 ? settings->strength : 0.25);
  HYPRE_BoomerAMGSetNumSweeps(state->amg, 1);
  if (settings->smoother != L1_GAUSS_SEIDEL) {
    HYPRE_BoomerAMGSetRelaxType(state->amg, 18);
    return;
  }
  HYPRE_BoomerAMGSetCycleRelaxType(state->amg, 13, 1);
  HYPRE_BoomerAMGSetCycleRelaxType(state->amg, 14, 2);
}

static void get_objects(const struct state *state, HYPRE_ParCSRMatrix *A, HYPRE_ParVector *r, HYPRE_ParVector *z)
{
  HYPRE_IJMatrixGetObject(state->matrix, (void **)A);
  HYPRE_IJVectorGetObject(state->residual, (void **)r);
  HYPRE_IJVectorGetObject(state->solution, (void **)z);
}

static karst_status update(karst_precond *precond)
{
  struct state *state = karst_precond_data(precond);
  const double *value = karst_matrix_value(karst_precond_matrix(precond));
  HYPRE_ParCSRMatrix A;
  HYPRE_ParVector r, z;
  if (!state || !is_sound(precond, state, value)) return KARST_SUCCESS;
  HYPRE_IJMatrixInitialize(state->matrix);
  HYPRE_IJMatrixSetValues(state->matrix, state->rows, state->count, state->row, state->column, value);
  HYPRE_IJMatrixAssemble(state->matrix);
  const karst_status status = check_hypre(karst_precond_context(precond), "the matrix");
  if (status) return status;
  make_amg(state, karst_precond_settings(precond));
  get_objects(state, &A, &r, &z);
  HYPRE_BoomerAMGSetup(state->amg, A, r, z);
  return check_hypre(karst_precond_context(precond), "set-up of BoomerAMG");
}

static karst_status apply(karst_precond *precond, const karst_vector *r, karst_vector *z)
{
  const struct state *state = karst_precond_data(precond);
  HYPRE_ParCSRMatrix A;
  HYPRE_ParVector residual, solution;
  if (!state) return KARST_SUCCESS;
  get_objects(state, &A, &residual, &solution);
  HYPRE_IJVectorSetValues(state->residual, state->rows, state->row, karst_vector_const_values(r));
  HYPRE_ParVectorSetConstantValues(solution, 0.0);
  HYPRE_BoomerAMGSolve(state->amg, A, residual, solution);
  HYPRE_IJVectorGetValues(state->solution, state->rows, state->row, karst_vector_values(z));
  return check_hypre(karst_precond_context(precond), "a cycle of BoomerAMG");
}

/* Also what a failed setup has left. */
static void destroy(karst_precond *precond)
{
  struct state *state = karst_precond_data(precond);
  if (!state) return;
  if (state->amg) HYPRE_BoomerAMGDestroy(state->amg);
  if (state->solution) HYPRE_IJVectorDestroy(state->solution);
  if (state->residual) HYPRE_IJVectorDestroy(state->residual);
  if (state->matrix) HYPRE_IJMatrixDestroy(state->matrix);
  free(state->column);
  free(state->row);
  free(state->count);
  free(state);
}

static const char *coarsening_name(size_t i)
{
  static const char *const names[] = {"pmis", "hmis", NULL};
  return names[i];
}

static const char *smoother_name(size_t i)
{
  static const char *const names[] = {
      [AUTO] = "auto", [L1_JACOBI] = "l1-jacobi", [L1_GAUSS_SEIDEL] = "l1-gauss-seidel", NULL};
  return names[i];
}

static const karst_option rows[] = {
    {"amg-coarsening", KARST_OPTION_NAME, 0, offsetof(struct settings, coarsening), coarsening_name, 0, "pmis",
     "how hypre makes the rows of a coarser level", NULL},
    {"amg-strength", KARST_OPTION_REAL, 0, offsetof(struct settings, strength), NULL, 0, "0",
     "couplings of at least this part of the largest one of their row are strong; 0: 0.25, and 0.5 within cpr", NULL},
    {"amg-max-entries", KARST_OPTION_INTEGER, 0, offsetof(struct settings, most_entries), NULL, 1, "4",
     "largest entries that hypre keeps of each row of the interpolation", NULL},
    {"amg-smoother", KARST_OPTION_NAME, 0, offsetof(struct settings, smoother), smoother_name, 0, "auto",
     "smoother of hypre; auto: l1-jacobi", NULL},
    {0},
};

static const karst_precond_method method = {
    "hypre",
    "a V-cycle of hypre's BoomerAMG with amg's options, for comparison on the CPU",
    1,
    rows,
    sizeof(struct settings),
    NULL,
    setup,
    update,
    apply,
    destroy,
    "It needs one unknown a cell, as amg does, and sets up again in each update.",
};

karst_status tool_hypre_register(karst_context *context) { return karst_precond_register(context, &method); }

const char *tool_hypre_missing(void) { return NULL; }
