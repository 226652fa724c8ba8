/* The pattern of an ordered matrix is P A P^T on each device, with the values of A: the backend's permutation equals
 * one by hand, for rows of no, few and many blocks, and a full row. */
#include "config.h"

#include "solver/solver.h"

#include "cpu/cpu.h"
#include "tests/support/failing_allocator.h"
#include "tests/support/memory_apart.h"
#include "tests/support/patterns.h"
#include "tests/support/problem.h"

#include <string.h>

/* A host array of count indices that the device has; the caller frees it. */
static karst_index *downloaded(karst_context *context, const karst_index *memory, int64_t count)
{
  karst_index *host = tap_memory(count, sizeof *host);
  tap_need(context, context->backend->download(context, host, memory, (size_t)count * sizeof *host), "download");
  return host;
}

static bool same(karst_context *context, int64_t count, const karst_index *memory, const karst_index *expected)
{
  karst_index *found = downloaded(context, memory, count);
  const bool equal = memcmp(found, expected, (size_t)count * sizeof *found) == 0;
  free(found);
  return equal;
}

/* P A P^T, column by column, so that columns ascend without sorting. source: the entry of A of each entry. */
static struct pattern permuted(const struct pattern *A, const karst_index *permutation, karst_index *source)
{
  const karst_index n = A->n;
  struct pattern P = pattern_empty(n, A->start[n]);
  karst_index *inverse = tap_memory(n, sizeof *inverse), *place = tap_memory(n, sizeof *place);
  karst_index *column = tap_memory(n, sizeof *column), *next = tap_memory(A->start[n], sizeof *next);
  for (karst_index i = 0; i < n; i++) {
    inverse[permutation[i]] = i;
    P.start[i + 1] = P.start[i] + (A->start[permutation[i] + 1] - A->start[permutation[i]]);
    place[i] = P.start[i];
    column[i] = -1;
  }
  karst_index *row = tap_memory(A->start[n], sizeof *row);
  for (karst_index i = 0; i < n; i++)
    for (karst_index k = A->start[i]; k < A->start[i + 1]; k++) { /* entry k goes into the list of its column */
      row[k] = inverse[i];
      next[k] = column[inverse[A->column[k]]];
      column[inverse[A->column[k]]] = k;
    }
  for (karst_index j = 0; j < n; j++)
    for (karst_index k = column[j]; k >= 0; k = next[k]) {
      P.column[place[row[k]]] = j;
      source[place[row[k]]++] = k;
    }
  free(inverse);
  free(place);
  free(column);
  free(next);
  free(row);
  return P;
}

/* Compares the device's permutation of a pattern, and of a matrix on it. */
static bool is_permuted(karst_context *context, const struct pattern *A, int b, const karst_index *permutation)
{
  const struct karst_backend *backend = context->backend;
  const int64_t blocks = A->start[A->n];
  karst_index *source = tap_memory(blocks, sizeof *source);
  struct pattern P = permuted(A, permutation, source);
  karst_permuted made = {0};
  karst_matrix *matrix, *pattern;
  void *placed;
  tap_need(context, karst_matrix_create_pattern(context, A->n, b, A->start, A->column, KARST_COPY, &matrix), "matrix");
  tap_need(context, backend->place(context, permutation, (size_t)A->n * sizeof *permutation, "order", &placed),
           "place");
  tap_need(context, backend->permute(context, matrix, placed, &made), "permute");
  bool right = same(context, A->n + 1, made.device_row_start, P.start) &&
               same(context, blocks, made.device_column, P.column) && same(context, blocks, made.device_source, source);
  tap_need(context, karst_matrix_adopt_permuted(matrix, &made, &pattern), "adopt");
  right = right && memcmp(karst_matrix_row_start(pattern), P.start, ((size_t)A->n + 1) * sizeof *P.start) == 0 &&
          (blocks == 0 || memcmp(karst_matrix_column(pattern), P.column, (size_t)blocks * sizeof *P.column) == 0) &&
          karst_matrix_blocks(pattern) == blocks && karst_matrix_block_size(pattern) == b;
  karst_release_placed(context, made.source, made.device_source);
  if (placed != permutation) backend->release(context, placed);
  karst_matrix_destroy(pattern);
  karst_matrix_destroy(matrix);
  pattern_free(&P);
  free(source);
  return right;
}

static bool is_permuted_at_random(karst_context *context, const struct pattern *A, int b)
{
  karst_index *permutation = pattern_shuffle(A->n);
  const bool right = is_permuted(context, A, b, permutation);
  free(permutation);
  return right;
}

static void test_random(karst_context *context)
{
  int wrong = 0;
  for (int c = 0; c < 60; c++) {
    const karst_index n = (karst_index)(c < 3 ? c : 1 + tap_random_index(c < 40 ? 40 : 400));
    struct pattern A = pattern_random(n, c % 4 == 0 ? 0 : c % 4 == 1 ? 0.02 : 0.15);
    wrong += !is_permuted_at_random(context, &A, 1 + c % 4);
    pattern_free(&A);
  }
  tap_ok(wrong == 0, "random patterns, with empty and with nearly full rows, in random orders");
}

/* Rows of every length around the limit for long rows, and a matrix of no blocks. */
static void test_lengths(karst_context *context)
{
  enum { ROWS = 300 };
  struct pattern A = pattern_empty(ROWS, (int64_t)ROWS * ROWS), none = pattern_empty(ROWS, 0);
  karst_index end = 0;
  for (karst_index i = 0; i < ROWS; i++) {
    for (karst_index e = 0; e < i; e++) A.column[end++] = e * ROWS / (i + 1);
    A.start[i + 1] = end;
  }
  tap_ok(is_permuted_at_random(context, &A, 1), "rows of 0 to %d blocks", ROWS - 1);
  tap_ok(is_permuted_at_random(context, &none, 2), "a matrix without blocks");
  pattern_free(&A);
  pattern_free(&none);
}

/* A grid with a full row and column, as of a well through all of its cells. */
static void test_dense(karst_context *context)
{
  struct pattern grid = pattern_grid(50, 40, 30);
  const karst_index n = grid.n + 1;
  struct pattern A = pattern_empty(n, (int64_t)grid.start[grid.n] + 2 * (int64_t)n);
  karst_index end = 0;
  for (karst_index i = 0; i < grid.n; i++) {
    for (karst_index k = grid.start[i]; k < grid.start[i + 1]; k++) A.column[end++] = grid.column[k];
    A.column[end++] = grid.n;
    A.start[i + 1] = end;
  }
  for (karst_index j = 0; j < n; j++) A.column[end++] = j;
  A.start[n] = end;
  tap_ok(is_permuted_at_random(context, &A, 1), "a grid of %lld cells and a dense row", (long long)grid.n);
  pattern_free(&A);
  pattern_free(&grid);
}

static void test_refused(karst_context *context)
{
  karst_index wrong[][3] = {{0, 2, 2}, {0, 3, 1}, {-1, 0, 1}};
  struct pattern A = pattern_grid(3, 1, 1);
  karst_matrix *matrix;
  tap_need(context, karst_matrix_create_pattern(context, A.n, 1, A.start, A.column, KARST_COPY, &matrix), "matrix");
  for (int i = 0; i < 3; i++) {
    karst_permuted made = {0};
    void *placed;
    tap_need(context, context->backend->place(context, wrong[i], sizeof wrong[i], "order", &placed), "place");
    const karst_status status = context->backend->permute(context, matrix, placed, &made);
    tap_ok(status == KARST_ERROR_ARGUMENT, "refused: %s", karst_context_error(context));
    karst_release_placed(context, made.row_start, made.device_row_start);
    karst_release_placed(context, made.column, made.device_column);
    karst_release_placed(context, made.source, made.device_source);
    if (placed != wrong[i]) context->backend->release(context, placed);
  }
  karst_matrix_destroy(matrix);
  pattern_free(&A);
}

/* The values of an ordered matrix are those of its rows and columns before. */
static void test_values(karst_context *context)
{
  size_t o = 0;
  while (strcmp(karst_ordering_name(o), "tiles") != 0) o++;
  const karst_ordering_choice choice = {.ops = karst_ordering_table[o]};
  for (int b = 1; b <= 3; b++) {
    karst_matrix *A = tap_random_matrix(context, 200, b, 5, 1);
    karst_system system;
    tap_need(context, karst_system_setup(&choice, KARST_SCALE_NONE, A, NULL, NULL, &system), "setup");
    tap_need(context, karst_system_update(&system), "update");
    const int64_t n = karst_matrix_rows(A);
    double *before = tap_dense(A), *after = tap_dense(system.matrix);
    const karst_index *order = system.ordered->permutation;
    bool right = true;
    for (int64_t i = 0; i < n; i++)
      for (int64_t j = 0; j < n; j++)
        right = right && after[i + n * j] == before[b * order[i / b] + i % b + n * (b * order[j / b] + j % b)];
    tap_ok(right, "b = %d: an ordered matrix has the values of its rows and columns before", b);
    free(before);
    free(after);
    karst_system_destroy(&system);
    karst_matrix_destroy(A);
  }
}

/* The operations of a device whose memory alone has a permuted pattern. */
static karst_status move_apart(karst_context *context, int64_t count, karst_index *host, karst_index **memory)
{
  void *placed = NULL;
  const karst_status status = place_apart(context, host, (size_t)count * sizeof *host, "a permuted pattern", &placed);
  *memory = placed;
  karst_release(context, host);
  return status;
}

static karst_status permute_apart(karst_context *context, const karst_matrix *A, const karst_index *permutation,
                                  karst_permuted *made)
{
  karst_permuted host = {0};
  tap_need(context, karst_permute_cpu(context, A, permutation, &host), "permute");
  tap_need(context, move_apart(context, A->block_rows + 1, host.row_start, &made->device_row_start), "row starts");
  tap_need(context, move_apart(context, A->blocks, host.column, &made->device_column), "columns");
  tap_need(context, move_apart(context, A->blocks, host.source, &made->device_source), "sources");
  return KARST_SUCCESS;
}

/* Returns whether set-up with a preconditioner leaves the pattern of an ordered matrix in device memory. A query copies
 * it to the host. */
static bool stays_apart(karst_context *context, const karst_matrix *A, const char *const *options)
{
  karst_solver *solver = solver_from(context, options);
  tap_need(context, karst_solver_setup(solver, A), "setup");
  const karst_matrix *ordered = solver->system.matrix;
  const bool apart = !ordered->row_start && !ordered->column;
  const karst_index *start = karst_matrix_row_start(ordered), *column = karst_matrix_column(ordered);
  if (!start || !column || !same(context, ordered->block_rows + 1, ordered->device_row_start, start) ||
      !same(context, ordered->blocks, ordered->device_column, column))
    tap_ok(false, "the ordered pattern on the host is that of the device");
  karst_solver_destroy(solver);
  return apart;
}

/* A preconditioner that does not read the pattern leaves it on the device; jacobi reads it. */
static void test_apart(karst_context *context)
{
  static const char *const none[] = {"ordering", "rcm", "precond", "none", NULL};
  static const char *const jacobi[] = {"ordering", "rcm", "precond", "jacobi", NULL};
  static const char *const neither[] = {"ordering", "rcm",    "precond", "two-stage", "first",
                                        "none",     "second", "none",    NULL};
  static const char *const second[] = {"ordering", "rcm",    "precond", "two-stage", "first",
                                       "none",     "second", "jacobi",  NULL};
  const struct karst_backend *backend = context->backend;
  struct karst_backend apart = backend_apart();
  apart.permute = permute_apart;
  if (backend->host_memory) context->backend = &apart;
  karst_matrix *A = tap_random_matrix(context, 100, 2, 3, 1);
  tap_ok(stays_apart(context, A, none) && !stays_apart(context, A, jacobi),
         "without a preconditioner the ordered pattern stays in device memory, and jacobi copies it to the host");
  tap_ok(stays_apart(context, A, neither) && !stays_apart(context, A, second),
         "a stage that reads it copies it to the host");
  karst_matrix_destroy(A);
  context->backend = backend;
}

static void test_device(karst_context *context)
{
  test_random(context);
  test_lengths(context);
  test_dense(context);
  test_refused(context);
  test_values(context);
  test_apart(context);
}

/* user: a matrix of another context. Its pattern is ordered, and has no owner in the end. */
static karst_status run_order(karst_context *context, void *user)
{
  const struct pattern *A = user;
  size_t o = 0;
  while (strcmp(karst_ordering_name(o), "rcm") != 0) o++;
  const karst_ordering_choice choice = {.ops = karst_ordering_table[o]};
  karst_matrix *matrix;
  karst_ordered *ordered = NULL;
  karst_status status = karst_matrix_create_pattern(context, A->n, 1, A->start, A->column, KARST_COPY, &matrix);
  if (status) return status;
  status = karst_ordered_create(&choice, matrix, &ordered);
  karst_ordered_release(ordered);
  karst_matrix_destroy(matrix);
  return status;
}

int main(void)
{
  struct pattern grid = pattern_grid(5, 4, 3);
  tap_each_device(test_device, "permuted patterns");
  fail_each_allocation(run_order, &grid, "an ordered pattern");
  pattern_free(&grid);
  return tap_done();
}
