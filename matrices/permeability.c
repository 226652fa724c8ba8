/* permeability.c - generates a permeability field with the statistics of the second model of the Tenth SPE Comparative
 * Solution Project (Christie, Blunt, SPE Reservoir Evaluation and Engineering 4, 2001): kx = ky lies between 7e-4 and
 * 2e4 mD, its decadic logarithm has mean 1.5 and deviation 1.5, and kz / kx is between 0.1 in sand and 1e-4 in shale.
 *
 * A Gaussian field g (mean 0, variance 1) with exponential correlation along each axis comes from white noise by a
 * first-order autoregressive filter along x, y and z. From it, with s the share of sand in a cell:
 *   shoreface, the upper 2/5 of the layers: log10 kx = m + 1.3 g, m varying from layer to layer; s = 1/2 + 0.35 g
 *   fluvial, the rest: log10 kx = 3 + 0.6 g and s = 1 in channels, log10 kx = 0.5 + 1.1 g and s = 0.3 + 0.3 g between
 *   log10 (kz / kx) = 3 s - 4
 * Channels meander along y and change every few layers. Only exactly rounded operations are used, so that a field does
 * not depend on the mathematical library. */
#include "config.h"

#include "matrices/permeability.h"
#include "lib/base/random.h"

#include <math.h>

enum { LAYERS_PER_CHANNEL = 5, CELLS_PER_CHANNEL = 15 /* across */, CHANNELS_MAX = 64 };

static double clamp(double x, double low, double high) { return x < low ? low : x > high ? high : x; }

/* Returns 10^x for |x| < 30 by halving the argument: exp(y) = exp(y / 256)^256, with exp(y / 256) from its Taylor
 * series. */
static double power_of_ten(double x)
{
  double y = x * 2.302585092994045684 / 256, term = 1, sum = 1;
  for (int i = 1; i <= 10; i++) sum += term *= y / i;
  for (int i = 0; i < 8; i++) sum *= sum;
  return sum;
}

/* Filters along one axis in place: g(i) = a g(i - stride) + sqrt(1 - a^2) w(i). The variance stays 1, and neighbours
 * correlate by a. */
static void correlate(const karst_index size[3], int axis, double a, double *field)
{
  int64_t cells = (int64_t)size[0] * size[1] * size[2];
  int64_t stride = axis == 0 ? 1 : axis == 1 ? size[0] : (int64_t)size[0] * size[1];
  double innovation = sqrt(1 - a * a);
  for (int64_t first = 0; first < cells; first += stride * size[axis])
    for (int64_t i = first + stride; i < first + stride * size[axis]; i++)
      field[i] = a * field[i - stride] + innovation * field[i];
}

struct channel {
  double center, amplitude, wavelength, phase, half_width; /* in cells */
};

static int draw_channels(const karst_index size[3], uint64_t *random, struct channel *channel)
{
  double nx = (double)size[0];
  int count = size[0] < CELLS_PER_CHANNEL * CHANNELS_MAX ? 1 + (int)(size[0] / CELLS_PER_CHANNEL) : CHANNELS_MAX;
  for (int c = 0; c < count; c++) {
    channel[c].center = nx * karst_random_uniform(random);
    channel[c].amplitude = 4 + 6 * karst_random_uniform(random);
    channel[c].wavelength = 60 + 60 * karst_random_uniform(random);
    channel[c].phase = karst_random_uniform(random);
    channel[c].half_width = 2 + 2 * karst_random_uniform(random);
  }
  return count;
}

static bool in_channel(const struct channel *channel, karst_index i, karst_index j)
{
  double t = (double)j / channel->wavelength + channel->phase;
  t = 2 * (t - floor(t));
  double wave = t < 1 ? 4 * t * (1 - t) : -4 * (t - 1) * (2 - t); /* parabolic arcs replace the sine */
  double distance = (double)i + 0.5 - channel->center - channel->amplitude * wave;
  return fabs(distance) <= channel->half_width;
}

static bool in_any_channel(const struct channel *channel, int count, karst_index i, karst_index j)
{
  for (int c = 0; c < count; c++)
    if (in_channel(&channel[c], i, j)) return true;
  return false;
}

static void set_cell(double log_k, double sand, double *kx, double *kz)
{
  *kx = power_of_ten(clamp(log_k, -3.15, 4.3));
  *kz = *kx * power_of_ten(3 * clamp(sand, 0, 1) - 4);
}

void karst_permeability_generate(const karst_index size[3], uint64_t seed, double *kx, double *kz)
{
  static const double correlation[3] = {0.9, 0.95, 0.6}; /* between neighbours along x, y, z */
  struct channel channel[CHANNELS_MAX];
  int channels = 0;
  int64_t cell = 0, cells = (int64_t)size[0] * size[1] * size[2];
  uint64_t random = seed;
  karst_index shoreface = size[2] / 5 * 2 + size[2] % 5 * 2 / 5;
  for (int64_t i = 0; i < cells; i++) kx[i] = karst_random_normal(&random);
  for (int axis = 0; axis < 3; axis++) correlate(size, axis, correlation[axis], kx);
  for (karst_index k = 0; k < size[2]; k++) {
    double layer_mean = 1.7 + 0.4 * karst_random_normal(&random);
    bool fluvial = k >= shoreface;
    if (fluvial && (k - shoreface) % LAYERS_PER_CHANNEL == 0) channels = draw_channels(size, &random, channel);
    for (karst_index j = 0; j < size[1]; j++)
      for (karst_index i = 0; i < size[0]; i++, cell++) {
        double g = kx[cell];
        if (!fluvial)
          set_cell(layer_mean + 1.3 * g, 0.5 + 0.35 * g, &kx[cell], &kz[cell]);
        else if (in_any_channel(channel, channels, i, j))
          set_cell(3 + 0.6 * g, 1, &kx[cell], &kz[cell]);
        else
          set_cell(0.5 + 1.1 * g, 0.3 + 0.3 * g, &kx[cell], &kz[cell]);
      }
  }
}
