/* The kernels of examples/euler3d: cells of any shape are closed and have their volume, the Jacobian is the derivative
 * of the flux, the far field leaves a uniform flow as it is, and reductions are right for any groups. */
#include "examples/euler3d/kernels.h"
#include "tests/support/tap.h"

#include <string.h>

/* The volume of the image of the unit cube under the trilinear map to the corners. The determinant of its derivative
 * is of degree 2 in each coordinate, so that Gauss's rule with two points along each is exact. */
static double trilinear_volume(const double corner[8][3])
{
  double volume = 0;
  for (int q = 0; q < 8; q++) {
    double J[3][3] = {{0}}, at[3];
    for (int d = 0; d < 3; d++) at[d] = 0.5 + ((q >> d & 1) ? 0.5 : -0.5) / sqrt(3.0);
    for (int i = 0; i < 8; i++)
      for (int d = 0; d < 3; d++) {
        double slope = i >> d & 1 ? 1 : -1;
        for (int o = 0; o < 3; o++) slope *= o == d ? 1 : (i >> o & 1 ? at[o] : 1 - at[o]);
        for (int c = 0; c < 3; c++) J[d][c] += slope * corner[i][c];
      }
    const double cross[3] = {J[1][1] * J[2][2] - J[1][2] * J[2][1], J[1][2] * J[2][0] - J[1][0] * J[2][2],
                             J[1][0] * J[2][1] - J[1][1] * J[2][0]};
    volume += dot(J[0], cross) / 8;
  }
  return volume;
}

static void test_geometry(void)
{
  enum { N = 3, WIDE = N + 1, NODES = WIDE * WIDE * WIDE };
  double *const memory = tap_memory(13 * NODES, sizeof *memory), closed = 0, volume = 0;
  struct task t = {.b = {.n = {N, N, N}, .step = {1, WIDE, WIDE * WIDE}, .size = NODES, .x = memory}};
  t.b.area = t.b.x + 3 * NODES, t.b.volume = t.b.area + 9 * NODES;
  for (int a = 0; a < NODES; a++)
    for (int d = 0; d < AXES; d++) t.b.x[a + d * NODES] = 10 + (double)(a / t.b.step[d] % WIDE) + 0.25 * tap_random();
  for (int a = 0; a < NODES; a++) kernel_geometry(&t, &t.b, (int[]){a % WIDE, a / WIDE % WIDE, a / WIDE / WIDE}, a);
  for (int c = 0; c < N * N * N; c++) {
    const int64_t a = place(&t.b, (int[]){c % N, c / N % N, c / N / N});
    double corner[8][3], sum[AXES] = {0, 0, 0}, s[AXES];
    for (int i = 0; i < 8; i++)
      for (int d = 0; d < 3; d++)
        corner[i][d] = t.b.x[a + (i & 1) + (i >> 1 & 1) * WIDE + (i >> 2) * WIDE * WIDE + d * NODES];
    for (int face = 0; face < 2 * AXES; face++) {
      load_area(&t.b, face / 2, a + face % 2 * t.b.step[face / 2], s);
      for (int d = 0; d < AXES; d++) sum[d] += face % 2 ? s[d] : -s[d];
    }
    closed = fmax(closed, sqrt(dot(sum, sum)));
    volume = fmax(volume, fabs(t.b.volume[a] - trilinear_volume((const double(*)[3])corner)));
  }
  tap_ok(closed < 1e-13, "area vectors of a cell sum up to 0 (%.1e)", closed);
  tap_ok(volume < 1e-13, "a cell has the volume of its trilinear body (off by %.1e)", volume);
  free(memory);
}

static void random_state(double *w, double *s)
{
  w[0] = 1 + 0.5 * tap_random();
  for (int d = 0; d < AXES; d++) w[1 + d] = tap_random(), s[d] = tap_random();
  w[4] = 1 + 0.2 * tap_random() + dot(w + 1, w + 1) / w[0]; /* so that pressure is positive */
}

/* At a wall the flux is p (0, S, 0). Central differences are wrong by h^2 f'''/6, at most 1e-8 for these densities, and
 * by rounding over h, 1e-10. */
static void test_jacobian(bool wall)
{
  const double h = 1e-5;
  double worst = 0, w[COMPONENTS], s[AXES], A[SQUARE], f[2][COMPONENTS];
  for (int i = 0; i < 50; i++) {
    random_state(w, s);
    const struct gas g = gas_of(w, 1 / w[0]);
    jacobian(&g, s, wall, A);
    for (int c = 0; c < COMPONENTS; c++) {
      for (int k = 0; k < 2; k++) {
        double moved[COMPONENTS];
        memcpy(moved, w, sizeof moved);
        moved[c] += k ? h : -h;
        const struct gas at = gas_of(moved, 1 / moved[0]);
        flux(moved, &at, s, f[k]);
        for (int r = 0; r < COMPONENTS && wall; r++) f[k][r] = r % 4 ? at.p * s[r - 1] : 0;
      }
      for (int r = 0; r < COMPONENTS; r++)
        worst = fmax(worst, fabs(A[COMPONENTS * c + r] - (f[1][r] - f[0][r]) / (2 * h)));
    }
  }
  tap_ok(worst < 1e-7, "the Jacobian%s is the derivative of the flux (off by %.1e)", wall ? " at a wall" : "", worst);
}

static void flow_along(const double *normal, double q, double *w)
{
  w[0] = 1 + 0.5 * tap_random();
  for (int d = 0; d < AXES; d++) w[1 + d] = w[0] * q * normal[d];
  w[4] = (1 + 0.5 * tap_random()) / (HEAT_RATIO - 1) + 0.5 * w[0] * q * q;
}

static double difference(const double *v, const double *w)
{
  double worst = 0;
  for (int c = 0; c < COMPONENTS; c++) worst = fmax(worst, fabs(v[c] - w[c]));
  return worst;
}

/* Out of the domain faster than sound the cell's state goes on; inwards the outer one comes. */
static void test_far_field(void)
{
  double worst[3] = {0, 0, 0}, outside[COMPONENTS], cell[COMPONENTS], w[COMPONENTS], normal[AXES];
  for (int i = 0; i < 50; i++) {
    random_state(outside, normal);
    const double length = sqrt(dot(normal, normal));
    for (int d = 0; d < AXES; d++) normal[d] /= length;
    memcpy(w, outside, sizeof w);
    far_field(outside, normal, w);
    worst[0] = fmax(worst[0], difference(w, outside));
    for (int out = 0; out < 2; out++) {
      flow_along(normal, out ? 9 : -9, cell), flow_along(normal, out ? 9 : -9, outside);
      memcpy(w, cell, sizeof w);
      far_field(outside, normal, w);
      worst[1 + out] = fmax(worst[1 + out], difference(w, out ? cell : outside));
    }
  }
  tap_ok(worst[0] < 1e-12, "a uniform flow passes the far field (off by %.1e)", worst[0]);
  tap_ok(worst[1] < 1e-11, "flow faster than sound comes in from outside (off by %.1e)", worst[1]);
  tap_ok(worst[2] < 1e-11, "flow faster than sound leaves as it is (off by %.1e)", worst[2]);
}

/* Values are whole numbers, so that sums are exact. */
static void test_reduction(void)
{
  int wrong = 0;
  for (int i = 0; i < 60; i++) {
    const int64_t count = 1 + tap_random_index(400), group = 2 + tap_random_index(20);
    const enum reduction reduction = (enum reduction)(i % 3);
    double *const value = tap_memory(count, sizeof *value), expected = 0;
    struct task t = {.reduction = reduction, .values = value, .count = count, .b = {.scratch = value}};
    for (int64_t k = 0; k < count; k++) {
      value[k] = (double)tap_random_index(1000) - 500;
      expected = k == 0               ? value[k]
                 : reduction == SUM   ? expected + value[k]
                 : reduction == LEAST ? fmin(expected, value[k])
                                      : fmax(expected, value[k]);
    }
    for (; t.count > 1; t.count = t.parts) {
      t.parts = (t.count + group - 1) / group;
      for (int p = 0; p < t.parts; p++) kernel_reduce(&t, &t.b, (int[]){p, 0, 0}, 0);
    }
    wrong += value[0] != expected;
    free(value);
  }
  tap_ok(wrong == 0, "a reduction finds the least, the largest and the sum for any groups (%d are wrong)", wrong);
}

int main(void)
{
  test_geometry();
  test_jacobian(false);
  test_jacobian(true);
  test_far_field();
  test_reduction();
  return tap_done();
}
