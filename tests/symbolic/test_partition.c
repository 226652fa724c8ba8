/* A partition gives each block row a part, in every run the same, with equal numbers of blocks; it cuts few couplings,
 * and weak rather than strong ones. Any matrix can be divided, whatever its pattern and its values. */
#include "tests/support/failing_allocator.h"
#include "tests/support/problem.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static bool is_built(void) { return strstr(karst_build_features(), "METIS"); }

static int *parts_of(karst_context *context, const karst_matrix *A, int parts)
{
  int *part = tap_memory(karst_matrix_block_rows(A) + 1, sizeof *part);
  tap_need(context, karst_matrix_partition(A, parts, part), "a partition");
  return part;
}

/* Whether all parts are in range, and the blocks of the largest one over the mean. */
static double imbalance(const karst_matrix *A, int parts, const int *part, bool *valid)
{
  const karst_index *start = karst_matrix_row_start(A);
  int64_t *blocks = tap_memory(parts, sizeof *blocks), most = 0;
  *valid = true;
  for (karst_index i = 0; i < karst_matrix_block_rows(A); i++) {
    *valid = *valid && part[i] >= 0 && part[i] < parts;
    if (*valid) blocks[part[i]] += start[i + 1] - start[i];
  }
  for (int p = 0; p < parts; p++) most = blocks[p] > most ? blocks[p] : most;
  free(blocks);
  return (double)most * parts / (double)karst_matrix_blocks(A);
}

/* The entries between two parts whose rows are so far apart. */
static int64_t cut(const karst_matrix *A, const int *part, karst_index distance)
{
  const karst_index *start = karst_matrix_row_start(A), *column = karst_matrix_column(A);
  int64_t count = 0;
  for (karst_index i = 0; i < karst_matrix_block_rows(A); i++)
    for (karst_index k = start[i]; k < start[i + 1]; k++)
      count += part[i] != part[column[k]] && (distance == 0 || llabs((long long)column[k] - i) == distance);
  return count;
}

static void test_grids(karst_context *context)
{
  static const char *const problems[] = {"poisson3d:12x11x10", "blackoil:14x9x8", "laplace27:8x8x8"};
  for (int p = 0; p < 3; p++)
    for (int parts = 1; parts <= 7; parts += 2) {
      karst_matrix *A = matrix_from(context, problems[p], 0);
      int *one = parts_of(context, A, parts), *other = parts_of(context, A, parts);
      bool valid;
      const double most = imbalance(A, parts, one, &valid);
      /* METIS allows 1.03; a row of these is up to 1/40 of a part. */
      tap_ok(valid && most < 1.06, "%s: each row is in one of %d parts, the largest %.3f of the mean", problems[p],
             parts, most);
      tap_ok(memcmp(one, other, (size_t)karst_matrix_block_rows(A) * sizeof *one) == 0,
             "%s: %d parts are the same again", problems[p], parts);
      free(one);
      free(other);
      karst_matrix_destroy(A);
    }
}

/* Couplings along y are a thousandth of those along x, and cuts along x alone would be as short. */
static void test_strength(karst_context *context)
{
  enum { N = 32 };
  karst_matrix *A = matrix_from(context, "anisotropic:32x32x1,epsx=1,epsy=0.001,epsz=0.001", 0);
  int *part = parts_of(context, A, 4);
  const int64_t strong = cut(A, part, 1), weak = cut(A, part, N);
  tap_ok(8 * strong < weak && weak <= 2 * 4 * N, "%lld strong couplings are cut, and %lld weak ones", (long long)strong,
         (long long)weak);
  free(part);
  karst_matrix_destroy(A);
}

/* Divides a matrix of count rows that has what the arrays say. */
static void divide(karst_context *context, karst_index rows, const karst_index *start, const karst_index *column,
                   const double *value, int parts, const char *what)
{
  karst_matrix *A;
  tap_need(context, karst_matrix_create(context, rows, 1, start, column, value, KARST_COPY, &A), what);
  int *one = parts_of(context, A, parts), *other = parts_of(context, A, parts);
  bool valid;
  const double most = imbalance(A, parts, one, &valid);
  tap_ok(valid && memcmp(one, other, (size_t)rows * sizeof *one) == 0, "%s: %lld rows are in %d parts, %.2f", what,
         (long long)rows, parts, most);
  free(one);
  free(other);
  karst_matrix_destroy(A);
}

enum { ROWS = 300 };

/* A row with every column, an upper triangle that lacks its mirror image, rows that couple with nothing and have no
 * diagonal entry. */
static void test_patterns(karst_context *context)
{
  karst_index start[ROWS + 1] = {0}, *column = tap_memory(2 * ROWS + ROWS, sizeof *column), count = 0;
  double *value = tap_memory(3 * ROWS, sizeof *value);
  for (karst_index k = 0; k < 3 * ROWS; k++) value[k] = 2 + tap_random();
  divide(context, 0, start, column, value, 4, "an empty matrix");
  divide(context, ROWS, start, column, value, 4, "no entry at all");
  for (karst_index i = 0; i < ROWS; i++) column[i] = start[i] = i;
  start[ROWS] = ROWS;
  divide(context, ROWS, start, column, value, 4, "no coupling");
  divide(context, 3, start, column, value, 8, "more parts than rows");
  divide(context, 3, start, column, value, 3, "as many");
  divide(context, ROWS, start, column, value, 1, "one part");
  for (karst_index i = 0; i < ROWS; i++) {
    start[i] = count;
    for (karst_index j = 0; j < ROWS; j++)
      if (i == 7 || (j == i + 1 && i % 5 != 4)) column[count++] = j;
  }
  start[ROWS] = count;
  divide(context, ROWS, start, column, value, 4, "a dense row, one triangle and no diagonal");
  for (karst_index k = 0; k < count; k += 3) value[k] = k % 2 ? NAN : INFINITY;
  divide(context, ROWS, start, column, value, 4, "numbers that are not finite");
  free(column);
  free(value);
}

/* A coupling whose strength is not known is not cut if one beside it is known to be weak. */
static void test_unknown(karst_context *context)
{
  enum { N = 200 };
  karst_index start[N + 1], column[3 * N], count = 0;
  double value[3 * N];
  for (karst_index i = 0; i < N; i++) {
    start[i] = count;
    for (karst_index j = i > 0 ? i - 1 : 0; j <= i + 1 && j < N; j++) {
      column[count] = j;
      value[count++] = i == j ? 1 : i + j == N - 1 ? NAN : 1e-3;
    }
  }
  start[N] = count;
  karst_matrix *A;
  tap_need(context, karst_matrix_create(context, N, 1, start, column, value, KARST_COPY, &A), "a chain");
  int *part = parts_of(context, A, 2);
  tap_ok(part[N / 2 - 1] == part[N / 2] && cut(A, part, 0) == 2, "a NaN in the middle of a chain is not cut");
  free(part);
  karst_matrix_destroy(A);
}

static void test_errors(karst_context *context)
{
  int part[8] = {0};
  karst_matrix *A = matrix_from(context, "poisson2d:4x2", 0);
  tap_ok(karst_matrix_partition(A, 0, part) == KARST_ERROR_ARGUMENT &&
             strstr(karst_context_error(context), "a partition into 0 parts"),
         "no part is refused: %s", karst_context_error(context));
  tap_ok(karst_matrix_partition(A, 2, NULL) == KARST_ERROR_ARGUMENT, "so is NULL: %s", karst_context_error(context));
  tap_ok(karst_matrix_partition(NULL, 2, part) == KARST_ERROR_ARGUMENT, "and no matrix");
  tap_ok(karst_matrix_partition(A, 1, part) == KARST_SUCCESS, "one part needs no METIS");
  const karst_status status = karst_matrix_partition(A, 2, part);
  if (is_built())
    tap_ok(status == KARST_SUCCESS, "two do");
  else
    tap_ok(status == KARST_ERROR_NOT_BUILT && strstr(karst_context_error(context), "needs METIS"),
           "two need METIS, which a sentence says: %s", karst_context_error(context));
  karst_matrix_destroy(A);
}

static void on_terminate(int signal) { (void)signal; }

/* The program's handlers, its mask of signals and its random numbers are as before. */
static void test_process(karst_context *context)
{
  const struct sigaction action = {.sa_handler = on_terminate, .sa_flags = SA_NODEFER};
  struct sigaction before, after, abandon;
  sigset_t mask;
  karst_matrix *A = matrix_from(context, "poisson2d:30x30", 0);
  sigaction(SIGTERM, &action, &before);
  /* NOLINTBEGIN(cert-*): this tests rand() */
  srand(7);
  const int first = rand(), second = rand();
  srand(7);
  bool same = rand() == first;
  free(parts_of(context, A, 4));
  tap_ok(same && rand() == second, "the program's random numbers go on");
  /* NOLINTEND(cert-*) */
  sigaction(SIGTERM, &before, &after);
  sigaction(SIGABRT, NULL, &abandon);
  pthread_sigmask(SIG_SETMASK, NULL, &mask);
  tap_ok(after.sa_handler == on_terminate && (after.sa_flags & SA_NODEFER) && abandon.sa_handler == SIG_DFL &&
             !sigismember(&mask, SIGTERM),
         "its handlers and its mask stay");
  karst_matrix_destroy(A);
}

static karst_status run(karst_context *context, void *user)
{
  int part[120];
  karst_matrix *A;
  (void)user;
  karst_status status = karst_gallery_create(context, "convdiff:5x6x4", 2, &A, NULL);
  if (!status) status = karst_matrix_partition(A, 3, part);
  karst_matrix_destroy(A);
  return status;
}

int main(void)
{
  karst_context *context = tap_context();
  tap_each_device(test_errors, "errors");
  if (is_built()) {
    tap_each_device(test_grids, "grids");
    tap_each_device(test_strength, "strong couplings");
    tap_each_device(test_unknown, "couplings of unknown strength");
    tap_each_device(test_patterns, "patterns");
    test_process(context);
    fail_each_allocation(run, NULL, "a partition");
  }
  karst_context_destroy(context);
  return tap_done();
}
