/* poisson3d over the ranks of MPI has the solution of one process, in as many iterations; a hundred updates and solves
 * take no more memory; and what goes wrong on one rank has the same status and sentence on all. */
#include "tests/mpi/all.h"
#include "tests/support/failing_allocator.h"
#include "tests/support/problem.h"

#include <math.h>

/* The system in one process, which every rank makes, and the block rows first .. end - 1 of this rank. */
struct parts {
  struct problem whole;
  karst_index first, end;
  double *x; /* [n] the solution in one process */
  int iterations;
};

static const char *const options[] = {"solver", "cg", "precond", "jacobi", "rtol", "1e-10", NULL};

static struct parts make_parts(void)
{
  struct parts parts = {.whole = problem_from(tap_context(), "poisson3d:12x11x10", 0, 3)};
  const karst_index rows = karst_matrix_block_rows(parts.whole.A);
  karst_solver *solver = solver_from(parts.whole.context, options);
  parts.first = rows * all_rank() / all_ranks();
  parts.end = rows * (all_rank() + 1) / all_ranks();
  tap_need(parts.whole.context, karst_solver_setup(solver, parts.whole.A), "set-up");
  parts.iterations = problem_solve(&parts.whole, solver).iterations;
  parts.x = tap_memory(parts.whole.n, sizeof *parts.x);
  tap_need(parts.whole.context, karst_vector_get(parts.whole.x, parts.whole.n, parts.x), "x");
  karst_solver_destroy(solver);
  return parts;
}

static karst_status spread(karst_context *context, const struct parts *parts, karst_matrix **A)
{
  const karst_matrix *whole = parts->whole.A;
  const karst_index *start = karst_matrix_row_start(whole) + parts->first, rows = parts->end - parts->first;
  karst_index *own = tap_memory((int64_t)rows + 1, sizeof *own);
  for (karst_index i = 0; i <= rows; i++) own[i] = start[i] - start[0];
  const karst_status status = karst_matrix_create_distributed(
      context, rows, 1, own, karst_matrix_column(whole) + start[0], karst_matrix_value(whole) + start[0], A);
  free(own);
  return status;
}

static karst_vector *part_of(karst_context *context, const struct parts *parts, const double *whole)
{
  karst_vector *vector;
  tap_need(context, karst_vector_create(context, parts->end - parts->first, &vector), "a vector");
  tap_need(context, karst_vector_set(vector, parts->end - parts->first, whole + parts->first), "its values");
  return vector;
}

/* The difference from the solution in one process. */
static double error_of(const struct parts *parts, const karst_vector *x)
{
  const double *own = karst_vector_const_values(x);
  double error = 0, largest;
  for (karst_index i = parts->first; i < parts->end; i++)
    error = fmax(error, fabs(own[i - parts->first] - parts->x[i]));
  MPI_Allreduce(&error, &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return largest;
}

static void solves(const struct parts *parts)
{
  struct failing_allocator memory = {0};
  karst_context *context = failing_context(&memory);
  karst_matrix *A;
  karst_result result;
  tap_need(context, karst_context_set_communicator(context, MPI_COMM_WORLD), "the communicator");
  tap_need(context, spread(context, parts, &A), "a distributed matrix");
  karst_vector *b = part_of(context, parts, karst_vector_const_values(parts->whole.b)),
               *x = part_of(context, parts, parts->x);
  karst_solver *solver = solver_from(context, options);
  tap_need(context, karst_solver_setup(solver, A), "set-up");
  karst_vector_fill(x, 0);
  result = solved(solver, b, x);
  all_ok(result.reason > 0 && abs(result.iterations - parts->iterations) <= 1, "%d iterations, and %d in one process",
         result.iterations, parts->iterations);
  all_ok(error_of(parts, x) < 1e-7, "the solution is that of one process");

  const long outstanding = memory.outstanding;
  const size_t bytes = memory.bytes;
  bool right = true;
  for (int step = 0; step < 100 && right; step++) {
    const karst_index *start = karst_matrix_row_start(parts->whole.A);
    tap_need(context, karst_matrix_update_values(A, karst_matrix_value(parts->whole.A) + start[parts->first]),
             "update");
    tap_need(context, karst_solver_update(solver), "update");
    karst_vector_fill(x, 0);
    right = solved(solver, b, x).iterations == result.iterations;
  }
  all_ok(right && memory.outstanding == outstanding && memory.bytes == bytes,
         "100 updates and solves take no more memory");
  karst_solver_destroy(solver);
  karst_matrix_destroy(A);
  karst_vector_destroy(b);
  karst_vector_destroy(x);
  karst_context_destroy(context);
  all_ok(memory.outstanding == 0, "all memory is released");
}

/* Whether the sentence is the same on all ranks, and has this part. */
static bool same_sentence(const karst_context *context, const char *part)
{
  char first[512];
  snprintf(first, sizeof first, "%s", karst_context_error(context));
  MPI_Bcast(first, sizeof first, MPI_CHAR, 0, MPI_COMM_WORLD);
  return strcmp(first, karst_context_error(context)) == 0 && strstr(first, part);
}

/* The last rank has no memory at each of its allocations in turn, while the matrix is made. */
static void failures(const struct parts *parts)
{
  bool right = true, met = true;
  for (long n = 1; met && right; n++) {
    struct failing_allocator memory = {0};
    karst_context *context = failing_context(&memory);
    karst_matrix *A = NULL;
    tap_need(context, karst_context_set_communicator(context, MPI_COMM_WORLD), "the communicator");
    if (all_rank() == all_ranks() - 1) memory.fail_at = memory.calls + n;
    const karst_status status = spread(context, parts, &A);
    met = status != KARST_SUCCESS;
    right = !met || (status == KARST_ERROR_NO_MEMORY && same_sentence(context, "memory"));
    karst_matrix_destroy(A);
    karst_context_destroy(context);
    right = right && memory.outstanding == 0;
    MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_C_BOOL, MPI_LAND, MPI_COMM_WORLD);
  }
  all_ok(right, "no memory on one rank is the same status and sentence on all");
}

int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  struct parts parts = make_parts();
  solves(&parts);
  failures(&parts);
  free(parts.x);
  karst_context *context = parts.whole.context;
  problem_destroy(&parts.whole);
  karst_context_destroy(context);
  return all_done();
}
