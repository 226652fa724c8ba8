/* test_factored.c - kept factors solve any number of right-hand sides, again and again, in place of them too, also after
 * the arrays they were made from are gone, and after a solve of other systems. They are as accurate as a solve. */
#include "tests/support/tridiagonal.h"

enum { SIDES = 7 };

/* In rounding errors, as in test_tridiagonal.c. */
static double bound(int m) { return 2.0 * m + 16; }

static void spoil(const struct tridiagonal *t, struct tridiagonal_arrays *arrays)
{
  const size_t scalar = t->shape.single ? sizeof(float) : sizeof(double);
  memset(arrays->lower, 0xff, (size_t)tridiagonal_blocks(t) * scalar);
  memset(arrays->diagonal, 0xff, (size_t)tridiagonal_blocks(t) * scalar);
  memset(arrays->upper, 0xff, (size_t)tridiagonal_blocks(t) * scalar);
}

/* Solves other systems with the same object, which must not touch the factors. */
static void solve_others(karst_context *context, karst_tridiagonal *batch, const struct tridiagonal *t)
{
  struct tridiagonal other = tridiagonal_random(t->shape, 1);
  struct tridiagonal_arrays arrays = tridiagonal_arrays(&other);
  tridiagonal_solve(context, batch, &arrays);
  tridiagonal_arrays_free(&arrays);
  tridiagonal_free(&other);
}

static double factor_one(karst_context *context, karst_tridiagonal_shape shape)
{
  struct tridiagonal t = tridiagonal_random(shape, SIDES);
  struct tridiagonal_arrays arrays = tridiagonal_arrays(&t);
  karst_tridiagonal *batch = tridiagonal_create(context, &t);
  const size_t bytes = (size_t)(SIDES * tridiagonal_vectors(&t)) * (shape.single ? sizeof(float) : sizeof(double));
  void *first = tap_memory(1, bytes);
  const int64_t before = karst_tridiagonal_memory(batch);
  tridiagonal_factor(context, batch, &arrays);
  bool right = karst_tridiagonal_outcome(batch, NULL, NULL) == KARST_SOUND;
  const int64_t scalars = 3 * tridiagonal_blocks(&t);
  right = right && karst_tridiagonal_memory(batch) - before >= scalars * (int64_t)(shape.single ? 4 : 8);
  spoil(&t, &arrays);
  tap_need(context, karst_tridiagonal_solve_factored(batch, SIDES, arrays.right, arrays.solution), "solve");
  memcpy(first, arrays.solution, bytes);
  double worst = tridiagonal_worst(&t, first);
  solve_others(context, batch, &t);
  tap_need(context, karst_tridiagonal_solve_factored(batch, 1, arrays.right, arrays.solution), "solve one");
  right = right && memcmp(first, arrays.solution, bytes / SIDES) == 0;
  tap_need(context, karst_tridiagonal_solve_factored(batch, SIDES, arrays.right, arrays.right), "solve in place");
  right = right && memcmp(first, arrays.right, bytes) == 0;
  if (!right || worst > bound(shape.block_size))
    tap_note("%s: %s, backward error %.3g", tridiagonal_text(&shape), right ? "same bits" : "differs", worst);
  free(first);
  karst_tridiagonal_destroy(batch);
  tridiagonal_arrays_free(&arrays);
  tridiagonal_free(&t);
  return right ? worst : INFINITY;
}

/* A second factorization replaces the first. */
static void factor_again(karst_context *context, karst_tridiagonal_method method)
{
  const karst_tridiagonal_shape shape = {.systems = 5, .rows = 70, .block_size = 3, .method = method};
  struct tridiagonal one = tridiagonal_random(shape, 1), two = tridiagonal_random(shape, 1);
  struct tridiagonal_arrays first = tridiagonal_arrays(&one), second = tridiagonal_arrays(&two);
  karst_tridiagonal *batch = tridiagonal_create(context, &one);
  tridiagonal_factor(context, batch, &first);
  const int64_t memory = karst_tridiagonal_memory(batch);
  tridiagonal_factor(context, batch, &second);
  tap_need(context, karst_tridiagonal_solve_factored(batch, 1, second.right, second.solution), "solve");
  tap_ok(tridiagonal_worst(&two, second.solution) <= bound(3) && karst_tridiagonal_memory(batch) == memory,
         "%s: new factors replace the old ones in their memory", tridiagonal_names[method]);
  karst_tridiagonal_destroy(batch);
  tridiagonal_arrays_free(&first);
  tridiagonal_arrays_free(&second);
  tridiagonal_free(&one);
  tridiagonal_free(&two);
}

static void test(karst_context *context)
{
  static const int sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 17};
  static const karst_index lengths[] = {1, 2, 3, 8, 33, 130};
  if (!tridiagonal_is_available(context, "factors")) return;
  for (int method = KARST_TRIDIAGONAL_AUTO; method <= KARST_TRIDIAGONAL_SPLIT; method++) {
    for (int variant = 0; variant < 4; variant++) {
      double worst = 0;
      for (int i = 0; i < 9 * 6; i++) {
        const karst_tridiagonal_shape shape = {.systems = 1 + tap_random_index(5),
                                               .rows = lengths[i % 6],
                                               .block_size = sizes[i / 6],
                                               .single = variant & 1,
                                               .layout = (karst_tridiagonal_layout)(variant >> 1),
                                               .method = (karst_tridiagonal_method)method};
        if (shape.block_size > 5 && (shape.rows > 33 || (variant + i) % 3 != 0)) continue; /* to save time */
        worst = fmax(worst, factor_one(context, shape) / bound(shape.block_size));
      }
      tap_ok(worst <= 1, "%s, %s, %s: factors solve %d right-hand sides twice", tridiagonal_names[method],
             variant & 1 ? "float" : "double", variant >> 1 ? "SOA" : "AOS", SIDES);
    }
    factor_again(context, (karst_tridiagonal_method)method);
  }
}

int main(void)
{
  tap_each_device(test, "factors of tridiagonal systems");
  return tap_done();
}
