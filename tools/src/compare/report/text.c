/* text.c - files, numbers and names as text for the writers of compare; see compare_write.h. */
#include "config.h"

#ifdef HAVE_JANSSON
#include "tools/src/compare/report/compare_write.h"
#include "tools/src/common/output.h"
#include "tools/src/common/text.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <string.h>

int compare_open(const char *path, FILE **file)
{
  *file = strcmp(path, "-") == 0 ? stdout : tmpfile();
  return *file ? TOOL_GO_ON : tool_fail(TOOL_FAILED, "%s: cannot create its temporary file: %s", path, strerror(errno));
}

int compare_close(FILE *file, const char *path, int status)
{
  if (file == stdout) return status; /* tool_finish looks at it */
  if (status == TOOL_GO_ON && (fflush(file) != 0 || ferror(file)))
    status = tool_fail(TOOL_FAILED, "%s: cannot write its temporary file; is the disk full?", path);
  if (status == TOOL_GO_ON) status = tool_write_whole(file, path);
  fclose(file);
  return status;
}

void compare_print_html(FILE *file, const char *text)
{
  for (; *text; text++) {
    if (*text == '&')
      fputs("&amp;", file);
    else if (*text == '<')
      fputs("&lt;", file);
    else if (*text == '>')
      fputs("&gt;", file);
    else if (*text == '"')
      fputs("&quot;", file);
    else if (*text == '\'')
      fputs("&#39;", file);
    else
      fputc((unsigned char)*text < ' ' || *text == 0x7f ? ' ' : *text, file);
  }
}

/* Whether an underscore between these is one of a name, and not of emphasis. */
static bool is_inside(char before, char after)
{
  return isalnum((unsigned char)before) && isalnum((unsigned char)after);
}

void compare_print_markdown(FILE *file, const char *text)
{
  for (const char *c = text; *c; c++) {
    if (*c == '<')
      fputs("&lt;", file);
    else if (*c == '&')
      fputs("&amp;", file);
    else if ((unsigned char)*c < ' ' || *c == 0x7f)
      fputc(' ', file);
    else {
      const bool is_mark = strchr("\\`*{}[]>#|~$!", *c) || (*c == '_' && !(c > text && is_inside(c[-1], c[1])));
      if (is_mark) fputc('\\', file);
      fputc(*c, file);
    }
  }
}

void compare_format(char text[COMPARE_DIGITS], const char *format, double number)
{
  *text = '\0';
  if (!isfinite(number)) return;
  // NOLINTNEXTLINE(clang-diagnostic-format-nonliteral): the formats are those of the writers
  snprintf(text, COMPARE_DIGITS, format, number);
  for (char *c = text; *c; c++)
    if (!strchr("0123456789+-e", *c)) *c = '.';
}

void compare_fixed(char text[COMPARE_DIGITS], double number, int decimals)
{
  char format[8];
  snprintf(format, sizeof format, "%%.%df", decimals);
  compare_format(text, format, number);
}

void compare_time(char text[COMPARE_DIGITS], double seconds)
{
  const double number = seconds < 1 ? 1000 * seconds : seconds;
  compare_format(text, number < 10 ? "%.2f" : number < 100 ? "%.1f" : "%.0f", number);
  if (*text) strncat(text, seconds < 1 ? " ms" : " s", COMPARE_DIGITS - strlen(text) - 1);
}

const char *compare_short_name(const char *matrix)
{
  const char *slash = strrchr(matrix, '/');
  return slash && slash[1] && !strchr(matrix, ':') ? slash + 1 : matrix;
}

const char *compare_title(const struct compare_dimension *dimension)
{
  if (strcmp(dimension->name, "block") == 0) return "block size";
  if (strcmp(dimension->name, "precond") == 0) return "preconditioner";
  if (strcmp(dimension->name, "level") == 0) return "k level";
  return dimension->name;
}

/* Appends a text as far as there is room, whole characters of UTF-8 only. */
static void append(char text[COMPARE_LABEL], const char *more)
{
  const size_t have = strlen(text), length = tool_utf8_begin(more, COMPARE_LABEL - 1 - have);
  memcpy(text + have, more, length);
  text[have + length] = '\0';
}

/* A value of the dimensions that everybody knows needs no name, or a short one. */
static void append_value(char text[COMPARE_LABEL], const char *name, const char *value)
{
  static const char *const known[][3] = {{"block", "b=", ""}, {"level", "k=", ""}, {"threads", "", " threads"},
                                         {"precond", "", ""}, {"solver", "", ""},  {"ordering", "", ""},
                                         {"device", "", ""},  {NULL, NULL, NULL}};
  int i = 0;
  while (known[i][0] && strcmp(known[i][0], name) != 0) i++;
  if (*text) append(text, ", ");
  append(text, known[i][0] ? known[i][1] : name);
  if (!known[i][0]) append(text, " ");
  append(text, value);
  if (known[i][0]) append(text, strcmp(value, "1") == 0 && *known[i][2] ? " thread" : known[i][2]);
}

void compare_label(char text[COMPARE_LABEL], const struct compare_table *table, const struct compare_row *row,
                   const bool *left_out)
{
  *text = '\0';
  for (int block = 0; block < 2; block++) /* the block size and what follows come after the options' words */
    for (size_t d = 0; d < table->dimensions; d++) {
      const struct compare_dimension *dimension = &table->dimension[d];
      const bool is_late = d == 0 || strcmp(dimension->name, "level") == 0 || compare_is_place(dimension);
      if (is_late == (block == 1) && row->value[d] && !dimension->is_said && !(left_out && left_out[d]))
        append_value(text, dimension->name, row->value[d]);
    }
  const size_t precond = compare_find_dimension(table, "precond");
  const char *common = precond < table->dimensions && !(left_out && left_out[precond]) ? row->value[precond] : NULL;
  if (!*text) append(text, common ? common : "all cases");
}
#endif
