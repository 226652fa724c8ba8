/* test_long.c - one system of 10^5 rows, 10^6 systems of few rows, and systems about as long as a multiprocessor of a GPU
 * can hold, by the methods meant for them, with the backward error of short ones. */
#include "tests/support/tridiagonal.h"

static double bound(int m) { return 2.0 * m + 16; }

static void solve(karst_context *context, karst_tridiagonal_shape shape)
{
  struct tridiagonal t = tridiagonal_random(shape, 1);
  struct tridiagonal_arrays arrays = tridiagonal_arrays(&t);
  karst_tridiagonal *batch = tridiagonal_create(context, &t);
  tridiagonal_solve(context, batch, &arrays);
  const double worst = tridiagonal_worst(&t, arrays.solution);
  tap_ok(karst_tridiagonal_outcome(batch, NULL, NULL) == KARST_SOUND && worst <= bound(shape.block_size),
         "%s: \"%s\", backward error %.3g", tridiagonal_text(&shape), karst_tridiagonal_describe(batch), worst);
  const karst_tridiagonal_shape used = karst_tridiagonal_get_shape(batch);
  tap_ok(used.method != KARST_TRIDIAGONAL_AUTO && used.systems == shape.systems && used.rows == shape.rows &&
             strstr(karst_tridiagonal_describe(batch), tridiagonal_names[used.method]),
         "the description names the method in use");
  karst_tridiagonal_destroy(batch);
  tridiagonal_arrays_free(&arrays);
  tridiagonal_free(&t);
}

static void test(karst_context *context)
{
  enum { LONG = 100000, MANY = 1000000 };
  static const karst_tridiagonal_method methods[] = {KARST_TRIDIAGONAL_AUTO, KARST_TRIDIAGONAL_THOMAS,
                                                     KARST_TRIDIAGONAL_CR, KARST_TRIDIAGONAL_SPLIT};
  if (!tridiagonal_is_available(context, "long systems")) return;
  for (int i = 0; i < 4; i++)
    solve(context, (karst_tridiagonal_shape){1, LONG, 1, i & 1, KARST_TRIDIAGONAL_SOA, methods[i]});
  solve(context, (karst_tridiagonal_shape){1, LONG, 1, 0, KARST_TRIDIAGONAL_AOS, KARST_TRIDIAGONAL_PCR});
  solve(context, (karst_tridiagonal_shape){1, LONG, 5, 0, KARST_TRIDIAGONAL_AOS, KARST_TRIDIAGONAL_AUTO});
  solve(context, (karst_tridiagonal_shape){1, LONG, 5, 1, KARST_TRIDIAGONAL_SOA, KARST_TRIDIAGONAL_THOMAS});
  for (int single = 0; single < 2; single++)
    solve(context,
          (karst_tridiagonal_shape){MANY, 2 + single, 1, single, KARST_TRIDIAGONAL_AOS, KARST_TRIDIAGONAL_AUTO});
  /* More systems than multiprocessors, several to a thread block, and a little too long for one. */
  solve(context, (karst_tridiagonal_shape){200, 5000, 1, 0, KARST_TRIDIAGONAL_AOS, KARST_TRIDIAGONAL_AUTO});
  solve(context, (karst_tridiagonal_shape){200, 1700, 2, 0, KARST_TRIDIAGONAL_SOA, KARST_TRIDIAGONAL_AUTO});
  solve(context, (karst_tridiagonal_shape){200, 800, 3, 0, KARST_TRIDIAGONAL_AOS, KARST_TRIDIAGONAL_AUTO});
  solve(context, (karst_tridiagonal_shape){7, 330, 3, 0, KARST_TRIDIAGONAL_SOA, KARST_TRIDIAGONAL_AUTO});
  solve(context, (karst_tridiagonal_shape){3, 2100, 3, 1, KARST_TRIDIAGONAL_AOS, KARST_TRIDIAGONAL_AUTO});
  /* The rows of one are kept partly in its shared memory, those of several hardly. */
  solve(context, (karst_tridiagonal_shape){3, 1001, 4, 0, KARST_TRIDIAGONAL_AOS, KARST_TRIDIAGONAL_THOMAS});
  solve(context, (karst_tridiagonal_shape){2, 500, 8, 0, KARST_TRIDIAGONAL_SOA, KARST_TRIDIAGONAL_THOMAS});
  solve(context, (karst_tridiagonal_shape){2000, 90, 5, 0, KARST_TRIDIAGONAL_AOS, KARST_TRIDIAGONAL_AUTO});
  solve(context, (karst_tridiagonal_shape){2000, 63, 7, 1, KARST_TRIDIAGONAL_AOS, KARST_TRIDIAGONAL_AUTO});
  /* More than are on their way at a time. */
  solve(context, (karst_tridiagonal_shape){6000, 40, 4, 0, KARST_TRIDIAGONAL_AOS, KARST_TRIDIAGONAL_AUTO});
  solve(context, (karst_tridiagonal_shape){3000, 40, 8, 1, KARST_TRIDIAGONAL_SOA, KARST_TRIDIAGONAL_AUTO});
}

int main(void)
{
  tap_each_device(test, "long systems and many");
  return tap_done();
}
