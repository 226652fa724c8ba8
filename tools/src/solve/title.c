/* title.c - the title of solve's pictures. */
#include "tools/src/solve/effective.h"
#include "tools/src/solve/solve_pictures.h"
#include "tools/src/common/text.h"

#include <stdio.h>
#include <string.h>

enum { NAME_MOST = 80, LINE_MOST = 100 }; /* bytes that fit the width of a picture */

/* Writes a name, of a long one its end. */
static void write_end(struct tool_gnuplot *plot, const char *text)
{
  char line[NAME_MOST + 8];
  const size_t length = strlen(text);
  const char *end = text + (length > NAME_MOST ? tool_utf8_begin(text, length - NAME_MOST) : 0);
  snprintf(line, sizeof line, "%s%s", end > text ? "..." : "", end);
  tool_gnuplot_text(plot, line);
}

/* Writes a sentence, of a long one its beginning. */
static void write_begin(struct tool_gnuplot *plot, const char *text)
{
  char line[LINE_MOST + 8];
  const size_t length = tool_utf8_begin(text, LINE_MOST);
  snprintf(line, sizeof line, "%.*s%s", (int)length, text, text[length] ? "..." : "");
  tool_gnuplot_text(plot, line);
}

/* Writes a sentence in one line or, broken at a blank, two. */
static void write_wrapped(struct tool_gnuplot *plot, const char *text)
{
  char line[LINE_MOST + 1];
  size_t length = LINE_MOST;
  if (strlen(text) > LINE_MOST)
    while (length > 0 && text[length] != ' ') length--;
  if (strlen(text) > LINE_MOST && length > 0) {
    snprintf(line, sizeof line, "%.*s", (int)length, text);
    tool_gnuplot_text(plot, line);
    fputs(" . \"\\n\" . ", plot->script);
    text += length + 1;
  }
  write_begin(plot, text);
}

static void describe_method(const struct solve_report *report, char *line, size_t size)
{
  const karst_options *options = report->effective;
  const char *ordering = tool_option_text(options, "ordering"), *scale = tool_option_text(options, "scale");
  char text[64];
  snprintf(line, size, "%s, %s", tool_option_text(options, "solver"),
           tool_precond_text(report->settings->options, options, text, sizeof text));
  if (karst_options_used(options, "level")) tool_append(line, size, " of level %s", tool_option_text(options, "level"));
  if (strcmp(ordering, "natural") != 0) tool_append(line, size, ", %s ordering", ordering);
  if (strcmp(scale, "none") != 0) tool_append(line, size, ", %s scaling", scale);
  tool_append(line, size, ", %s", report->settings->device);
}

void solve_write_title(struct tool_gnuplot *plot, const struct solve_report *report, const char *last)
{
  const struct solve_settings *settings = report->settings;
  char method[256], size[128];
  describe_method(report, method, sizeof method);
  snprintf(size, sizeof size, ": %lld rows, block size %d", (long long)report->rows, report->block);
  fputs("set title ", plot->script);
  write_end(plot, settings->matrix);
  fputs(" . ", plot->script);
  tool_gnuplot_text(plot, size);
  fputs(" . \"\\n\" . ", plot->script);
  tool_gnuplot_text(plot, method);
  fputs(" . \"\\n\" . ", plot->script);
  write_wrapped(plot, last);
  fputs(" font ',11'\n", plot->script);
}
