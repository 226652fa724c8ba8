/* canvas.c - what the pictures of compare have in common; see compare_write.h. */
#include "config.h"

#ifdef HAVE_JANSSON
#include "tools/src/compare/report/compare_write.h"
#include "tools/src/common/gnuplot.h"
#include "tools/src/common/text.h"

#include <string.h>

/* In pixels: what a line of the key has at its left, and a letter of its font at most and in the mean. */
enum { MARGINS = 80, SAMPLE = 55, LETTER = 7, NARROW = 6 };

/* How many letters a line of the key can have. */
static size_t room_of(int width) { return (size_t)((width - MARGINS - SAMPLE) / LETTER); }

/* Takes the beginning of a text that fits a line, up to a comma where there is one; returns what is left of it. A text
 * without blanks is cut and ends in dots. */
static const char *take_line(char line[COMPARE_LABEL + 4], const char *text, size_t room)
{
  const size_t most = tool_utf8_begin(text, room);
  size_t length = most, skip = 0;
  if (text[most]) {
    while (length > 0 && !(text[length] == ' ' && text[length - 1] == ',')) length--;
    skip = length > 0;
  }
  const bool cut = length == 0 && most > 0;
  if (cut) length = tool_utf8_begin(text, room - 3);
  snprintf(line, COMPARE_LABEL + 4, "%.*s%s", (int)length, text, cut ? "..." : "");
  if (!cut) return text + length + skip;
  const char *comma = strstr(text + length, ", ");
  return comma ? comma + 2 : text + strlen(text);
}

void compare_fit_key(struct compare_frame *frame, const struct compare_key *key)
{
  const size_t room = room_of(frame->width);
  size_t longest = 0, lines = 0;
  for (size_t c = 0; c < key->curves; c++) {
    char line[COMPARE_LABEL + 4];
    const char *text = key->label[c];
    const size_t letters = tool_utf8_count(text);
    if (letters > longest) longest = letters;
    for (; *text; lines++) text = take_line(line, text, room);
  }
  const size_t columns = (size_t)(frame->width - MARGINS) / (SAMPLE + NARROW * longest);
  frame->key_columns = columns > 1 ? (int)columns : 1;
  frame->key_rows = (int)(columns > 1 ? (key->curves + columns - 1) / columns : lines);
}

void compare_plot(struct tool_gnuplot *plot, const struct compare_key *key, int width, const char *style)
{
  for (size_t c = 0; c < key->curves; c++) {
    char line[COMPARE_LABEL + 4];
    const char *rest = take_line(line, key->label[c], room_of(width));
    fprintf(plot->script, "%s$curve%zu using 1:2 with %s linetype %zu title ", c == 0 ? "plot " : ", ", c, style,
            c + 1);
    tool_gnuplot_text(plot, line);
    while (*rest) { /* gnuplot sets lines of one title over each other */
      rest = take_line(line, rest, room_of(width));
      fputs(", NaN with lines linecolor rgb '#ffffff' title ", plot->script);
      tool_gnuplot_text(plot, line);
    }
  }
  fputc('\n', plot->script);
}

int compare_canvas(struct tool_gnuplot *plot, const char *path, const struct compare_frame *frame)
{
  const int status = tool_gnuplot_begin(plot, path, frame->width, frame->height + 18 * frame->key_rows);
  if (status != TOOL_GO_ON) return status;
  fprintf(plot->script,
          "set border 3 linecolor rgb '#555555'\nset tics nomirror\nset grid linecolor rgb '#dddddd' linewidth 1\n"
          "set key above left Left reverse maxrows %d maxcols %d samplen 3 spacing 1.1 font 'sans,11'\nset xlabel ",
          frame->key_rows, frame->key_columns);
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
