/* The script that solve --spy gives to gnuplot, kept by a fake gnuplot. The pattern is that of the factors, in their
 * order, and symmetric if the matrix is. Each pixel of the pattern is one pixel of the picture. */
#include "config.h"

#include "tests/support/commands.h"

#include <math.h>
#include <stdlib.h>

static const char *script; /* its binary data come last */

/* Puts a fake gnuplot first in PATH: it copies its script to a file and draws nothing. */
static void replace_gnuplot(const char *kept)
{
  char path[6000], text[800];
  snprintf(text, sizeof text, "#!/bin/sh\ncat >'%s'\necho '<svg>                                </svg>'\n", kept);
  scratch_script("gnuplot", text);
  snprintf(path, sizeof path, "%s:%s", scratch_folder(), getenv("PATH"));
  setenv("PATH", path, 1);
}

static double number_of(const char *words) { return number_after(script, words); }

/* Pixels along a side of the raster, and the first of their three bytes each. */
static long side_of(void) { return (long)number_of("binary array=("); }

static const unsigned char *pixels_of(void)
{
  const double strip = number_of("binary array=(2,");
  const long levels = isnan(strip) ? 0 : (long)strip, side = side_of();
  return (const unsigned char *)script + file_length() - levels * 2 * (long)sizeof(float) - 3 * side * side;
}

static bool is_symmetric(void)
{
  const unsigned char *pixel = pixels_of();
  const long side = side_of();
  for (long y = 0; y < side; y++)
    for (long x = 0; x < y; x++)
      if (memcmp(pixel + 3 * (y * side + x), pixel + 3 * (x * side + y), 3) != 0) return false;
  return side > 0;
}

/* The pixels of the picture along a side of a pixel of the raster, in both directions. */
static void find_scale(double scale[2])
{
  const char *terminal = strstr(script, "size ");
  double wide = NAN, high = NAN;
  if (terminal) sscanf(terminal, "size %lf,%lf", &wide, &high);
  const double side = (double)side_of(), dx = number_of(" dx="), dy = number_of(" dy=");
  const double across = number_of("set xrange [-0.5:") + 0.5, down = number_of("set yrange [") + 0.5;
  scale[0] = (number_of("set rmargin at screen ") - number_of("set lmargin at screen ")) * wide * dx / across;
  scale[1] = (number_of("set tmargin at screen ") - number_of("set bmargin at screen ")) * high * dy / down;
  if (!(side * dx <= across && fabs(side * dy - down) < 1e-6)) scale[0] = NAN; /* the raster fills the plot */
}

static void check(const char *kept, const char *matrix, const char *ordering, const char *says)
{
  double scale[2];
  const struct cli_run *run =
      CLI_RUN("solve", matrix, "--ordering", ordering, "--level", "1", "--spy", tap_scratch("spy.svg"));
  script = file_text(kept);
  remove(kept);
  find_scale(scale);
  tap_ok(run->status == 0 && is_symmetric(), "%s, %s: a symmetric pattern is drawn as symmetric", matrix, ordering);
  tap_ok(fabs(scale[0] - 1) < 1e-4 && fabs(scale[1] - 1) < 1e-4, "a pixel of the raster is %g by %g of the picture",
         scale[0], scale[1]);
  const long drawn = number_before(script, " level sets of the lower");
  const double solved = number_after(run->out, "level sets: ");
  tap_ok(solved == (double)drawn, "%ld level sets are drawn, and the solver has %g", drawn, solved);
  tap_ok(strstr(script, says) != NULL, "the picture says \"%s\"", says);
}

int main(void)
{
  const char *kept = scratch_path("script");
  cli_need("solve");
  replace_gnuplot(kept);
  check(kept, "poisson2d:12x9", "natural", "in the file''s order");
  check(kept, "poisson2d:30x31", "colour", "in colour''s order");
  check(kept, "poisson2d:53x40", "natural", "in the file''s order");
  check(kept, "poisson2d:53x40", "rcm", "in rcm''s order");
  check(kept, "poisson3d:13x14x11", "colour", "in colour''s order");
  check(kept, "convdiff:7x6x5", "rcm", "in rcm''s order");
  return tap_done();
}
