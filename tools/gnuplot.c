/* gnuplot.c - pictures drawn by the program gnuplot; see gnuplot.h. */
#include "gnuplot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The palette of Okabe and Ito, Color Universal Design (2008). */
static const char *const colours[] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                      "#E69F00", "#56B4E9", "#000000", "#999933"};

int tool_gnuplot_check(void)
{
  if (system("command -v gnuplot >/dev/null 2>&1") == 0) return TOOL_GO_ON; // NOLINT(cert-env33-c): a fixed command
  return tool_fail(TOOL_FAILED, "pictures take the program gnuplot, which is not there");
}

static bool ends_in(const char *path, const char *ending)
{
  size_t length = strlen(path), tail = strlen(ending);
  return length > tail && strcmp(path + length - tail, ending) == 0;
}

void tool_gnuplot_text(struct tool_gnuplot *plot, const char *text)
{
  fputc('"', plot->script);
  for (const char *c = text; *c; c++) {
    if ((unsigned char)*c < ' ' || *c == '`') continue;
    if (*c == '"' || *c == '\\') fputc('\\', plot->script);
    fputc(*c, plot->script);
  }
  fputc('"', plot->script);
}

int tool_gnuplot_begin(struct tool_gnuplot *plot, const char *path, int width, int height)
{
  const bool svg = ends_in(path, ".svg");
  *plot = (struct tool_gnuplot){.path = path};
  if (!svg && !ends_in(path, ".png")) return tool_fail(TOOL_FAILED, "%s: a picture's name ends in .svg or .png", path);
  FILE *probe = fopen(path, "wb");
  if (!probe) return tool_fail(TOOL_FAILED, "%s: %s", path, strerror(errno));
  fclose(probe);
  int status = tool_gnuplot_check();
  if (status != TOOL_GO_ON) return status;
  plot->script = popen("gnuplot", "w"); // NOLINT(cert-env33-c): a fixed command
  if (!plot->script) return tool_fail(TOOL_FAILED, "gnuplot cannot be started: %s", strerror(errno));
  fprintf(plot->script,
          svg ? "set terminal svg size %d,%d dynamic noenhanced font 'sans,13' background '#ffffff'\n"
              : "set terminal png size %d,%d noenhanced\n",
          width, height);
  fputs("set output ", plot->script);
  tool_gnuplot_text(plot, path);
  fputc('\n', plot->script);
  for (int i = 0; i < 8; i++)
    fprintf(plot->script, "set linetype %d linecolor rgb '%s' linewidth 2 dashtype %d pointtype %d\n", i + 1,
            colours[i], i % 4 + 1, i + 4);
  return TOOL_GO_ON;
}

int tool_gnuplot_end(struct tool_gnuplot *plot)
{
  FILE *script = plot->script;
  plot->script = NULL;
  if (!script) return TOOL_GO_ON;
  const bool lost = ferror(script) != 0;
  if (pclose(script) == 0 && !lost) return TOOL_GO_ON;
  return tool_fail(TOOL_FAILED, "%s: gnuplot could not draw the picture", plot->path);
}
