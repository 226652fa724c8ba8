/* A curve of residual norms keeps points at equal distances for any number of points, and the first and the last. */
#include "tests/support/tap.h"

#include "tools/src/common/curve.h"

enum { MOST = 200 };

/* Whether the curve of this number of iterations has enough points, all but the last at equal distances. */
static bool is_thinned(long iterations)
{
  static struct tool_curve curve;
  tool_curve_begin(&curve, MOST);
  for (long i = 0; i < iterations; i++) tool_curve_add(&curve, (struct tool_point){i, 1.0 / (double)(i + 1)});
  tool_curve_end(&curve);
  tool_curve_end(&curve);
  if (iterations == 0) return curve.count == 0;
  const size_t last = curve.count - 1;
  bool right = curve.count <= MOST && curve.point[0].iteration == 0 && curve.point[last].iteration == iterations - 1;
  for (size_t i = 0; i < last; i++) right = right && curve.point[i].iteration == (long)i * curve.stride;
  for (size_t i = 0; i <= last; i++)
    right = right && curve.point[i].residual == 1.0 / (double)(curve.point[i].iteration + 1);
  return right && (iterations < MOST ? (long)curve.count == iterations : curve.count >= MOST / 2);
}

int main(void)
{
  bool right = true;
  tap_ok(is_thinned(0) && is_thinned(1) && is_thinned(2), "curves of no point, one and two keep all");
  for (long iterations = 3; iterations < MOST; iterations++) right = right && is_thinned(iterations);
  tap_ok(right, "a curve of few points keeps all");
  right = true;
  for (long iterations = MOST; iterations < 5 * MOST; iterations++) right = right && is_thinned(iterations);
  tap_ok(right, "a curve of more points keeps points at equal distances");
  tap_ok(is_thinned(1000000), "a curve of a million points keeps points at equal distances");
  return tap_done();
}
