/* Pressures in a reservoir of 40 x 40 x 40 cells, whose layers are spread over the ranks of MPI: each rank makes its own
 * rows and has its own part of the solution.
 *
 *     mpicc mpi.c $(pkg-config --cflags --libs karst-mpi) -o mpi && mpiexec -n 4 ./mpi solver cg precond amg */
#include <karst_mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 40, LAYER = N * N };

/* The rows of the layers first .. end - 1: a cell and its neighbours in all of the reservoir, in ascending order. Flow is
 * ten times easier along x. */
static void make_rows(int first, int end, karst_index *row_start, karst_index *column, double *value)
{
  karst_index k = 0;
  row_start[0] = 0;
  for (karst_index i = first * LAYER; i < end * LAYER; i++) {
    const karst_index at[] = {i / LAYER, i / N % N, i % N}, step[] = {LAYER, N, 1};
    const double conductance[] = {1, 1, 10};
    double sum = 1e-3;
    for (int d = 0; d < 3; d++)
      if (at[d] > 0) column[k] = i - step[d], value[k++] = -conductance[d], sum += conductance[d];
    const karst_index diagonal = k++;
    for (int d = 2; d >= 0; d--)
      if (at[d] < N - 1) column[k] = i + step[d], value[k++] = -conductance[d], sum += conductance[d];
    column[diagonal] = i;
    value[diagonal] = sum;
    row_start[i + 1 - first * LAYER] = k;
  }
}

static karst_status solve(karst_context *context, int rank, int ranks, int argc, char **argv)
{
  const int first = N * rank / ranks, end = N * (rank + 1) / ranks, rows = (end - first) * LAYER;
  karst_index *row_start = calloc((size_t)rows + 1, sizeof *row_start),
              *column = calloc((size_t)rows, 7 * sizeof *column);
  double *value = calloc((size_t)rows, 7 * sizeof *value);
  karst_matrix *A = NULL;
  karst_options *options = NULL;
  karst_solver *solver = NULL;
  karst_vector *b = NULL, *x = NULL;
  karst_result result = {.reason = KARST_SOUND};
  make_rows(first, end, row_start, column, value);

  karst_status status = karst_matrix_create_distributed(context, rows, 1, row_start, column, value, &A);
  if (!status) status = karst_options_create(context, &options);
  for (int i = 1; i + 1 < argc && !status; i += 2) status = karst_options_set(options, argv[i], argv[i + 1]);
  if (!status) status = karst_solver_create(context, options, &solver);
  if (!status) status = karst_vector_create(context, rows, &b);
  if (!status) status = karst_vector_fill(b, 1);
  if (!status) status = karst_vector_create(context, rows, &x);
  if (!status) status = karst_solver_setup(solver, A);
  if (!status) status = karst_solver_solve(solver, b, x, &result);
  if (!status && rank == 0)
    printf("ranks: %d, by %s: %s\n", ranks, karst_context_transport(context), karst_solver_explain(solver));
  karst_vector_destroy(x);
  karst_vector_destroy(b);
  karst_solver_destroy(solver);
  karst_options_destroy(options);
  karst_matrix_destroy(A);
  free(row_start);
  free(column);
  free(value);
  return status;
}

int main(int argc, char **argv)
{
  karst_context *context = NULL;
  MPI_Init(&argc, &argv);
  karst_status status = karst_context_create(NULL, &context);
  if (!status) status = karst_context_set_communicator(context, MPI_COMM_WORLD);
  if (!status) status = solve(context, karst_context_rank(context), karst_context_ranks(context), argc, argv);
  /* The sentence is the same on all ranks. */
  if (status && karst_context_rank(context) == 0) fprintf(stderr, "%s\n", karst_context_error(context));
  karst_context_destroy(context);
  MPI_Finalize();
  return status != KARST_SUCCESS;
}
