/* picture.c - draws the top layer with the program gnuplot, in the colours of viridis: they differ to the eye as the
 * numbers do, for colour-blind readers and in grey too. */
#include "twophase.h"

#include <signal.h>
#include <stdio.h>

bool picture_draw(const char *folder, double day, const struct reservoir *r, const double *x)
{
  static const char *const title[2] = {"pressure [bar]", "saturation of water"}, *const range[2] = {"*:*", "0.2:0.8"};
  const double *const d = reservoir_cell_size;
  signal(SIGPIPE, SIG_IGN);                          /* Where gnuplot is missing or gives up, pclose tells. */
  FILE *gnuplot = popen("gnuplot 2>/dev/null", "w"); // NOLINT(cert-env33-c): a fixed command
  if (!gnuplot) return false;
  fprintf(gnuplot,
          "set terminal png size 840,620\nset output '%s/day-%04.0f.png'\nset multiplot layout 1,2 title 'day %.0f'\n"
          "set palette defined (0 '#440154', 1 '#46327e', 2 '#365c8d', 3 '#277f8e', 4 '#1fa187', 5 '#4ac16d', "
          "6 '#a0da39', 7 '#fde725')\nset size ratio -1\nset autoscale xfix\nset autoscale yfix\nunset key\n"
          "set xtics 100 out\nset ytics 100 out\nset xlabel 'x [m]'\nset ylabel 'y [m]'\n",
          folder, day, day);
  for (int u = 0; u < 2; u++) {
    fprintf(gnuplot, "set title '%s'\nset cbrange [%s]\nplot '-' with image\n", title[u], range[u]);
    for (karst_index j = 0, cell = 0; j < r->size[1]; j++)
      for (karst_index i = 0; i < r->size[0]; i++, cell++)
        fprintf(gnuplot, "%g %g %g\n", d[0] * ((double)i + 0.5), d[1] * ((double)j + 0.5), x[2 * cell + u]);
    fprintf(gnuplot, "e\n");
  }
  return pclose(gnuplot) == 0;
}
