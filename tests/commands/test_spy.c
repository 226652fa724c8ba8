/* What solve --spy hands to gnuplot, kept by a script that replaces gnuplot. The pattern is that of the factors, in
 * their order, and symmetric if the matrix is. Each of its pixels is one of the picture. */
#include "config.h"

#include "tests/support/cli.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { BYTES = 1 << 22 };

static char script[BYTES];
static long length;

/* Puts a fake gnuplot first in PATH: it copies its script to a file and draws nothing. */
static void replace_gnuplot(char *kept, size_t size)
{
  char folder[400], path[6000], text[800];
  snprintf(kept, size, "%s", tap_scratch("script"));
  snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(kept, '/') - kept), kept);
  snprintf(text, sizeof text, "#!/bin/sh\ncat >'%s'\necho '<svg>                                </svg>'\n", kept);
  chmod(tap_write("gnuplot", text, -1), 0700);
  snprintf(path, sizeof path, "%s:%s", folder, getenv("PATH"));
  setenv("PATH", path, 1);
}

static void read_script(const char *kept)
{
  FILE *file = fopen(kept, "rb");
  length = file ? (long)fread(script, 1, BYTES - 1, file) : 0;
  script[length] = '\0';
  if (file) fclose(file);
  remove(kept);
}

/* The number that follows a text in the script, of which the binary data come last; NaN without the text. */
static double number_after(const char *text)
{
  const char *found = strstr(script, text);
  return found ? strtod(found + strlen(text), NULL) : NAN;
}

/* Pixels along a side of the raster, and the first of their three bytes each. */
static long side_of(void) { return (long)number_after("binary array=("); }

static const unsigned char *pixels_of(void)
{
  const char *strip = strstr(script, "binary array=(2,");
  const long levels = strip ? strtol(strip + 16, NULL, 10) : 0, side = side_of();
  return (const unsigned char *)script + length - levels * 2 * (long)sizeof(float) - 3 * side * side;
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

/* How many pixels of the picture one of the raster is along both axes. */
static void find_scale(double scale[2])
{
  const char *terminal = strstr(script, "size ");
  double wide = NAN, high = NAN;
  if (terminal) sscanf(terminal, "size %lf,%lf", &wide, &high);
  const double side = (double)side_of(), dx = number_after(" dx="), dy = number_after(" dy=");
  const double across = number_after("set xrange [-0.5:") + 0.5, down = number_after("set yrange [") + 0.5;
  scale[0] = (number_after("set rmargin at screen ") - number_after("set lmargin at screen ")) * wide * dx / across;
  scale[1] = (number_after("set tmargin at screen ") - number_after("set bmargin at screen ")) * high * dy / down;
  if (!(side * dx <= across && fabs(side * dy - down) < 1e-6)) scale[0] = NAN; /* the raster fills the plot */
}

static void check(const char *kept, const char *matrix, const char *ordering, const char *says)
{
  double scale[2];
  const struct cli_run *run =
      CLI_RUN("solve", matrix, "--ordering", ordering, "--level", "1", "--spy", tap_scratch("spy.svg"));
  read_script(kept);
  find_scale(scale);
  tap_ok(run->status == 0 && is_symmetric(), "%s, %s: a symmetric pattern is drawn so", matrix, ordering);
  tap_ok(fabs(scale[0] - 1) < 1e-4 && fabs(scale[1] - 1) < 1e-4, "a pixel of the raster is %g by %g of the picture",
         scale[0], scale[1]);
  const char *told = strstr(run->out, "level sets: "), *drawn = strstr(script, " level sets of the lower");
  while (drawn && drawn > script && drawn[-1] != ' ') drawn--;
  tap_ok(told && drawn && atoi(told + 12) == atoi(drawn), "%d level sets are drawn, and the solver has %d",
         drawn ? atoi(drawn) : -1, told ? atoi(told + 12) : -1);
  tap_ok(strstr(script, says) != NULL, "it says \"%s\"", says);
}

int main(void)
{
  char kept[400];
  cli_need("solve");
  replace_gnuplot(kept, sizeof kept);
  check(kept, "poisson2d:12x9", "natural", "in the file''s order");
  check(kept, "poisson2d:30x31", "colour", "in colour''s order");
  check(kept, "poisson2d:53x40", "natural", "in the file''s order");
  check(kept, "poisson2d:53x40", "rcm", "in rcm''s order");
  check(kept, "poisson3d:13x14x11", "colour", "in colour''s order");
  check(kept, "convdiff:7x6x5", "rcm", "in rcm''s order");
  return tap_done();
}
