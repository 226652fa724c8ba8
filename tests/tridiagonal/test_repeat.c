/* test_repeat.c - a method gives the same bits in every run, for any number of threads, in place of the right-hand side,
 * and for a system wherever it is in a batch. */
#include "tests/support/tridiagonal.h"

static size_t bytes_of(const struct tridiagonal *t)
{
  return (size_t)tridiagonal_vectors(t) * (t->shape.single ? sizeof(float) : sizeof(double));
}

/* Returns the solution by an object of its own, which the caller frees. */
static void *solution_of(karst_context *context, const struct tridiagonal *t, bool in_place)
{
  struct tridiagonal_arrays arrays = tridiagonal_arrays(t);
  karst_tridiagonal *batch = tridiagonal_create(context, t);
  void *solution = tap_memory(1, bytes_of(t));
  void *const own = arrays.solution;
  if (in_place) arrays.solution = arrays.right;
  tridiagonal_solve(context, batch, &arrays);
  memcpy(solution, arrays.solution, bytes_of(t));
  arrays.solution = own;
  karst_tridiagonal_destroy(batch);
  tridiagonal_arrays_free(&arrays);
  return solution;
}

static bool repeats(karst_context *context, const struct tridiagonal *t, const void *first, bool in_place)
{
  void *again = solution_of(context, t, in_place);
  const bool equal = memcmp(first, again, bytes_of(t)) == 0;
  free(again);
  return equal;
}

/* Copies system 0 to all systems. */
static void repeat_system(struct tridiagonal *t)
{
  const int64_t vectors = t->shape.rows * t->shape.block_size, blocks = vectors * t->shape.block_size;
  for (int64_t s = 1; s < t->shape.systems; s++) {
    memcpy(t->lower + s * blocks, t->lower, (size_t)blocks * sizeof(double));
    memcpy(t->diagonal + s * blocks, t->diagonal, (size_t)blocks * sizeof(double));
    memcpy(t->upper + s * blocks, t->upper, (size_t)blocks * sizeof(double));
    memcpy(t->right + s * vectors, t->right, (size_t)vectors * sizeof(double));
  }
}

static bool places_agree(karst_context *context, struct tridiagonal *t)
{
  const int m = t->shape.block_size;
  const int64_t n = t->shape.rows;
  bool equal = true;
  repeat_system(t);
  void *solution = solution_of(context, t, false);
  for (int64_t row = n; row < tridiagonal_rows(t); row++)
    for (int e = 0; e < m; e++)
      equal = equal && tridiagonal_get(t, solution, m, row, e) == tridiagonal_get(t, solution, m, row % n, e);
  free(solution);
  return equal;
}

static void repeat(karst_context *context, karst_tridiagonal_shape shape)
{
  struct tridiagonal t = tridiagonal_random(shape, 1);
  void *first = solution_of(context, &t, false);
  bool equal = repeats(context, &t, first, false) && repeats(context, &t, first, true);
  if (karst_context_is_host(context) && strstr(karst_build_features(), "OpenMP")) {
    const int threads = karst_context_threads(context);
    for (int other = 1; other <= 2; other++) {
      tap_need(context, tap_set_threads(context, other), "threads");
      equal = repeats(context, &t, first, false) && equal;
    }
    tap_need(context, tap_set_threads(context, threads), "threads");
  }
  free(first);
  const bool agree = places_agree(context, &t);
  tap_ok(equal && agree, "%s: the same bits", tridiagonal_text(&shape));
  tridiagonal_free(&t);
}

static void test(karst_context *context)
{
  static const karst_tridiagonal_shape shapes[] = {{301, 33, 1, 0, KARST_TRIDIAGONAL_AOS, KARST_TRIDIAGONAL_AUTO},
                                                   {37, 65, 4, 1, KARST_TRIDIAGONAL_SOA, KARST_TRIDIAGONAL_AUTO},
                                                   {2, 3001, 2, 0, KARST_TRIDIAGONAL_AOS, KARST_TRIDIAGONAL_AUTO},
                                                   {9, 25, 17, 1, KARST_TRIDIAGONAL_AOS, KARST_TRIDIAGONAL_AUTO}};
  if (!tridiagonal_is_available(context, "repeats")) return;
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
    for (int method = KARST_TRIDIAGONAL_AUTO; method <= KARST_TRIDIAGONAL_SPLIT; method++) {
      karst_tridiagonal_shape shape = shapes[i];
      shape.method = (karst_tridiagonal_method)method;
      repeat(context, shape);
    }
}

int main(void)
{
  tap_each_device(test, "the bits of tridiagonal systems");
  return tap_done();
}
