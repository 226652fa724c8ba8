/* compare_canvas.c - what the pictures of compare have in common; see compare_write.h. */
#include "config.h"

#ifdef HAVE_JANSSON
#include "compare_write.h"
#include "gnuplot.h"

#include <string.h>

int compare_key_rows(size_t curves, size_t longest, int width)
{
  const int columns = (width - 80) / (55 + 7 * (int)longest); /* in pixels: a sample, and a letter of the font */
  const int count = (int)curves;
  return columns > 1 ? (count + columns - 1) / columns : count;
}

int compare_canvas(struct tool_gnuplot *plot, const char *path, const struct compare_frame *frame)
{
  const int status = tool_gnuplot_begin(plot, path, frame->width, frame->height + 18 * frame->key_rows);
  if (status != TOOL_GO_ON) return status;
  fprintf(plot->script,
          "set border 3 linecolor rgb '#555555'\nset tics nomirror\nset grid linecolor rgb '#dddddd' linewidth 1\n"
          "set key above left Left reverse maxrows %d samplen 3 spacing 1.1 font 'sans,11'\nset xlabel ",
          frame->key_rows);
  tool_gnuplot_text(plot, frame->x);
  fputs("\nset ylabel ", plot->script);
  tool_gnuplot_text(plot, frame->y);
  fputc('\n', plot->script);
  return TOOL_GO_ON;
}

void compare_put_number(struct tool_gnuplot *plot, double number)
{
  char text[COMPARE_DIGITS];
  compare_format(text, "%.6g", number);
  fprintf(plot->script, " %s", *text ? text : "NaN");
}
#endif
