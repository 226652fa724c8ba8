/* markdown.c - a table for each matrix in the layout of Chen et al., with footnotes for the cases that failed. Values
 * that all cases of a table share stand above it. */
#include "tools/src/compare/report/compare_write.h"
#include "tools/src/common/text.h"

#include <stdlib.h>
#include <string.h>

/* The sentences below the tables: those of rows that failed, each said once. */
struct notes {
  size_t count;
  const struct compare_row **row; /* [count] room for all rows */
};

/* The number of the note that says what the row does; a new one is added. */
static size_t note_of(struct notes *notes, const struct compare_row *row)
{
  size_t n = 0;
  while (n < notes->count && strcmp(notes->row[n]->sentence, row->sentence) != 0) n++;
  if (n == notes->count) notes->row[notes->count++] = row;
  return n + 1;
}

/* Prints a text between two that are Markdown. */
static void print_between(FILE *file, const char *before, const char *text, const char *behind)
{
  fputs(before, file);
  compare_print_markdown(file, text);
  fputs(behind, file);
}

/* "Karst 0.2.0 on HOST, 2026-11-23", as far as the lines agree. */
static void print_origin(FILE *file, const struct compare_table *table)
{
  size_t versions, hosts;
  const char *version = compare_all_words(table, COMPARE_VERSION, &versions), *first, *last;
  const char *host = compare_all_words(table, COMPARE_HOST, &hosts);
  compare_dates(table, &first, &last);
  print_between(file, "Karst ", versions == 1 ? version : "of several versions", " on ");
  print_between(file, "", hosts == 1 ? host : "several hosts", ", ");
  print_between(file, "", compare_text("%.10s", first), "");
  if (strncmp(first, last, 10) != 0) print_between(file, " to ", compare_text("%.10s", last), "");
  fputs(".\n", file);
}

/* The text of a cell as it is written; line 0 is the head. The caller frees it; NULL: no memory. */
static char *cell_text(const struct compare_layout *layout, size_t line, size_t column, struct notes *notes)
{
  const struct compare_cell *cell = line > 0 ? &layout->cell[(line - 1) * layout->columns + column] : NULL;
  char *text = NULL;
  size_t size;
  FILE *stream = open_memstream(&text, &size);
  if (!stream) return NULL;
  if (!cell)
    compare_print_markdown(stream, layout->column[column].title);
  else {
    const char *mark = cell->is_best ? "**" : "";
    print_between(stream, mark, cell->text ? cell->text : "-", mark);
    if (cell->failed && *cell->failed->sentence) fprintf(stream, "[^%zu]", note_of(notes, cell->failed));
  }
  if (fclose(stream) == 0) return text;
  free(text);
  return NULL;
}

static void print_padded(FILE *file, const char *text, int width, bool is_text)
{
  const int pad = width - (int)tool_utf8_count(text);
  if (is_text)
    fprintf(file, " %s%*s |", text, pad, "");
  else
    fprintf(file, " %*s%s |", pad, "", text);
}

/* Writes the rule below the head, which says how the columns are aligned. */
static void print_rule(FILE *file, const struct compare_layout *layout, const int *width)
{
  fputc('|', file);
  for (size_t c = 0; c < layout->columns; c++) {
    if (!layout->column[c].is_shown) continue;
    fputc(layout->column[c].is_text ? ':' : '-', file);
    for (int i = width[c]; i > 0; i--) fputc('-', file);
    fputs(layout->column[c].is_text ? "-|" : ":|", file);
  }
  fputc('\n', file);
}

/* Writes the cells so that columns stand below each other in a terminal too. */
static int print_lines(FILE *file, const struct compare_layout *layout, struct notes *notes)
{
  const size_t columns = layout->columns, count = (layout->lines + 1) * columns;
  char **text = compare_room(count, sizeof *text);
  int *width = compare_room(columns, sizeof *width);
  bool made = true;
  for (size_t i = 0; i < count && made; i++) {
    if (!layout->column[i % columns].is_shown) continue;
    text[i] = cell_text(layout, i / columns, i % columns, notes);
    made = text[i] != NULL;
    const int own = made && tool_utf8_count(text[i]) > 3 ? (int)tool_utf8_count(text[i]) : 3;
    if (own > width[i % columns]) width[i % columns] = own;
  }
  for (size_t line = 0; line <= layout->lines && made; line++) {
    fputc('|', file);
    for (size_t c = 0; c < columns; c++)
      if (layout->column[c].is_shown) print_padded(file, text[line * columns + c], width[c], layout->column[c].is_text);
    fputc('\n', file);
    if (line == 0) print_rule(file, layout, width);
  }
  for (size_t i = 0; i < count; i++) free(text[i]);
  return made ? TOOL_GO_ON : tool_fail_memory("a table");
}

static int print_matrix(FILE *file, const struct compare_table *table, size_t matrix, struct notes *notes)
{
  const struct compare_layout layout = compare_layout_make(table, matrix, 1);
  const char *said = compare_said(table, &layout);
  print_between(file, "\n## ", table->matrix[matrix], "\n\n");
  if (*said) print_between(file, "With ", said, ".\n\n");
  return print_lines(file, &layout, notes);
}

static int print_auto(FILE *file, const struct compare_table *table, struct notes *notes)
{
  const char *sentence;
  const struct compare_layout layout = compare_auto_make(table, &sentence);
  if (layout.lines == 0) return TOOL_GO_ON;
  fprintf(file, "\n## auto against the best fixed choice\n\n%s\n\n", sentence);
  return print_lines(file, &layout, notes);
}

static int print_markdown(FILE *file, const struct compare_table *table)
{
  struct notes notes = {.row = compare_room(table->rows, sizeof *notes.row)};
  const char *outcomes = compare_outcomes(table), *said = compare_said(table, NULL);
  fprintf(file, "%s%s%s.\n", compare_count(table), *outcomes ? ": " : "", outcomes);
  if (table->rows > table->outcomes[OUTCOME_NOT_RUN]) print_origin(file, table);
  if (*said) print_between(file, "All with ", said, ".\n");
  if (table->baseline)
    print_between(file, "A speed-up is the time with ", table->baseline, " over the time of the case.\n");
  fputs("A time is that of set-up and solve, without reading; fill is the entries of the factors over those stored in "
        "the file;\nlevel sets are those of the lower and of the upper factor; the residual is the true relative "
        "one. The fastest time of each matrix is bold.\n",
        file);
  int status = print_auto(file, table, &notes);
  for (size_t m = 0; m < table->matrices && status == TOOL_GO_ON; m++) status = print_matrix(file, table, m, &notes);
  for (size_t n = 0; n < notes.count && status == TOOL_GO_ON; n++) {
    fprintf(file, "%s[^%zu]: ", n == 0 ? "\n" : "", n + 1);
    print_between(file, "", notes.row[n]->sentence, "\n");
  }
  return status;
}

int compare_write_markdown(const struct compare_set *set, const char *path)
{
  return compare_write_table(set, path, print_markdown);
}
