/* text.c - numbers and names as text for the writers of compare; see compare_write.h. */
#include "tools/src/common/text.h"
#include "tools/src/compare/report/compare_write.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

enum { LABEL_ROOM = 160 };

const char *compare_html(const char *text)
{
  static const char special[] = "&<>\"'", *const names[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
  if (!text || !*text) return "\xe2\x80\x93"; /* a dash */
  char *html = compare_room(strlen(text) + 1, 6), *end = html;
  for (; *text; text++) {
    const char *found = strchr(special, *text);
    if (found)
      end = stpcpy(end, names[found - special]);
    else
      *end++ = (char)((unsigned char)*text < ' ' || *text == 0x7f ? ' ' : *text);
  }
  return html;
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

const char *compare_format(const char *format, double number)
{
  // NOLINTNEXTLINE(clang-diagnostic-format-nonliteral): the formats are those of the writers
  return isfinite(number) ? compare_text(format, number) : NULL;
}

const char *compare_time(double seconds)
{
  if (!isfinite(seconds)) return NULL;
  const double number = seconds < 1 ? 1000 * seconds : seconds;
  return compare_text("%.*f %s", number < 10 ? 2 : number < 100 ? 1 : 0, number, seconds < 1 ? "ms" : "s");
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
static void append(char text[LABEL_ROOM], const char *more)
{
  const size_t have = strlen(text), length = tool_utf8_begin(more, LABEL_ROOM - 1 - have);
  memcpy(text + have, more, length);
  text[have + length] = '\0';
}

/* A value of the dimensions that everybody knows needs no name, or a short one. */
static void append_value(char text[LABEL_ROOM], const char *name, const char *value)
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

const char *compare_label(const struct compare_table *table, const struct compare_row *row, const bool *left_out)
{
  char *text = compare_room(LABEL_ROOM, 1);
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
  return text;
}

const char *compare_count(const struct compare_table *table)
{
  return compare_text("%zu case%s of %zu matri%s", table->rows, tool_plural((int64_t)table->rows), table->matrices,
                      table->matrices == 1 ? "x" : "ces");
}

const char *compare_outcomes(const struct compare_table *table)
{
  const char *all = "";
  for (int i = 0; i < OUTCOME_COUNT; i++)
    if (table->outcomes[i] > 0)
      all = compare_text("%s%s%zu %s", all, *all ? ", " : "", table->outcomes[i],
                         compare_outcome_word((enum compare_outcome)i));
  return all;
}

const char *compare_all_words(const struct compare_table *table, enum compare_word word, size_t *count)
{
  const char *all = "";
  *count = 0;
  for (size_t i = 0; i < table->rows; i++) {
    const char *own = table->row[i].word[word];
    size_t j = 0;
    while (j < i && strcmp(table->row[j].word[word], own) != 0) j++;
    if (!*own || j < i) continue;
    all = compare_text("%s%s%s", all, (*count)++ ? "; " : "", own);
  }
  return all;
}

void compare_dates(const struct compare_table *table, const char **first, const char **last)
{
  *first = *last = "";
  for (size_t i = 0; i < table->rows; i++) {
    const char *started = table->row[i].word[COMPARE_STARTED];
    if (!*started) continue;
    if (!**first || strcmp(started, *first) < 0) *first = started;
    if (strcmp(started, *last) > 0) *last = started;
  }
}
