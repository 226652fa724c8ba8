/* markdown.c - a table for each matrix as Chen et al. lay theirs out, with footnotes for the cases that failed;
 * what has one value for all cases of a table is said above it. */
#include "config.h"

#ifdef HAVE_JANSSON
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

static void print_outcomes(FILE *file, const struct compare_table *table)
{
  fprintf(file, "%zu case%s of %zu matri%s", table->rows, table->rows == 1 ? "" : "s", table->matrices,
          table->matrices == 1 ? "x" : "ces");
  for (int i = 0, some = 0; i < OUTCOME_COUNT; i++) {
    if (table->outcomes[i] == 0) continue;
    fprintf(file, "%s%zu %s", some++ ? ", " : ": ", table->outcomes[i], compare_outcome_word((enum compare_outcome)i));
  }
  fputs(".\n", file);
}

/* "Karst 0.2.0 on HOST, 2026-11-23", as far as the lines agree. */
static void print_origin(FILE *file, const struct compare_table *table)
{
  const char *version = compare_common(table, compare_version_of), *host = compare_common(table, compare_host_of),
             *first, *last;
  compare_dates(table, &first, &last);
  fputs("Karst ", file);
  compare_print_markdown(file, *version ? version : "of several versions");
  fputs(" on ", file);
  compare_print_markdown(file, *host ? host : "several hosts");
  fprintf(file, ", %.10s", first);
  if (strncmp(first, last, 10) != 0) fprintf(file, " to %.10s", last);
  fputs(".\n", file);
}

/* What has one value: for all cases, or, where said is not NULL, for those of a table alone. */
static void print_said(FILE *file, const struct compare_table *table, const struct compare_layout *layout)
{
  bool some = false;
  for (size_t d = 0; d < table->dimensions; d++) {
    const struct compare_dimension *dimension = &table->dimension[d];
    const char *value = layout ? layout->said[d] : dimension->is_said ? dimension->value[0] : NULL;
    if (!value || (layout && (dimension->is_said || !layout->is_said[d]))) continue;
    fputs(some ? ", " : layout ? "With " : "All with ", file);
    compare_print_markdown(file, compare_title(dimension));
    fputc(' ', file);
    compare_print_markdown(file, value);
    some = true;
  }
  if (some) fputs(".\n", file);
  if (some && layout) fputc('\n', file);
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
    if (cell->is_best) fputs("**", stream);
    compare_print_markdown(stream, cell->text ? cell->text : *cell->number ? cell->number : "-");
    if (cell->is_best) fputs("**", stream);
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

/* How wide a column is; text: [lines + 1 of the head][columns]. */
static int column_width(const struct compare_layout *layout, char *const *text, size_t column)
{
  int width = 3;
  for (size_t line = 0; line <= layout->lines; line++) {
    const int own = (int)tool_utf8_count(text[line * layout->columns + column]);
    if (own > width) width = own;
  }
  return width;
}

/* Writes the rule below the head, which says how the columns are aligned. */
static void print_rule(FILE *file, const struct compare_layout *layout, char *const *text)
{
  fputc('|', file);
  for (size_t c = 0; c < layout->columns; c++) {
    if (!layout->column[c].is_shown) continue;
    fputc(layout->column[c].is_text ? ':' : '-', file);
    for (int i = column_width(layout, text, c); i > 0; i--) fputc('-', file);
    fputs(layout->column[c].is_text ? "-|" : ":|", file);
  }
  fputc('\n', file);
}

/* Writes the cells so that columns stand below each other in a terminal too. */
static void print_cells(FILE *file, const struct compare_layout *layout, char *const *text)
{
  for (size_t line = 0; line <= layout->lines; line++) {
    fputc('|', file);
    for (size_t c = 0; c < layout->columns; c++)
      if (layout->column[c].is_shown)
        print_padded(file, text[line * layout->columns + c], column_width(layout, text, c), layout->column[c].is_text);
    fputc('\n', file);
    if (line == 0) print_rule(file, layout, text);
  }
}

static int print_lines(FILE *file, const struct compare_layout *layout, struct notes *notes)
{
  const size_t count = (layout->lines + 1) * layout->columns;
  char **text = calloc(count, sizeof *text);
  bool made = text != NULL;
  for (size_t i = 0; i < count && made; i++) {
    text[i] = layout->column[i % layout->columns].is_shown
                  ? cell_text(layout, i / layout->columns, i % layout->columns, notes)
                  : strdup("");
    made = text[i] != NULL;
  }
  if (made) print_cells(file, layout, text);
  for (size_t i = 0; i < count && text; i++) free(text[i]);
  free((void *)text);
  return made ? TOOL_GO_ON : tool_fail_memory("a table");
}

static int print_matrix(FILE *file, const struct compare_table *table, size_t matrix, struct notes *notes)
{
  struct compare_layout layout;
  int status = compare_layout_make(&layout, table, matrix, 1);
  if (status == TOOL_GO_ON) {
    fputs("\n## ", file);
    compare_print_markdown(file, table->matrix[matrix]);
    fputs("\n\n", file);
    print_said(file, table, &layout);
    status = print_lines(file, &layout, notes);
  }
  compare_layout_free(&layout);
  return status;
}

static int print_auto(FILE *file, const struct compare_table *table, struct notes *notes)
{
  struct compare_auto found;
  int status = compare_auto_make(&found, table);
  if (status == TOOL_GO_ON && found.layout.lines > 0) {
    fputs("\n## auto against the best fixed choice\n\n", file);
    compare_auto_sentence(file, &found);
    fputs("\n\n", file);
    status = print_lines(file, &found.layout, notes);
  }
  compare_layout_free(&found.layout);
  return status;
}

static int print_all(FILE *file, const struct compare_table *table, struct notes *notes)
{
  int status = TOOL_GO_ON;
  print_outcomes(file, table);
  if (table->rows > table->outcomes[OUTCOME_NOT_RUN]) print_origin(file, table);
  print_said(file, table, NULL);
  if (table->baseline) {
    fputs("A speed-up is the time with ", file);
    compare_print_markdown(file, table->baseline);
    fputs(" over the time of the case.\n", file);
  }
  fputs("A time is that of set-up and solve, without reading; fill is the entries of the factors over those stored in "
        "the file;\nlevel sets are those of the lower and of the upper factor; the residual is the true relative "
        "one. The fastest time of each matrix is bold.\n",
        file);
  if (status == TOOL_GO_ON) status = print_auto(file, table, notes);
  for (size_t m = 0; m < table->matrices && status == TOOL_GO_ON; m++) status = print_matrix(file, table, m, notes);
  for (size_t n = 0; n < notes->count && status == TOOL_GO_ON; n++) {
    fprintf(file, "%s[^%zu]: ", n == 0 ? "\n" : "", n + 1);
    compare_print_markdown(file, notes->row[n]->sentence);
    fputc('\n', file);
  }
  return status;
}

static int print_markdown(FILE *file, const struct compare_table *table)
{
  struct notes notes = {.row = calloc(table->rows + 1, sizeof *notes.row)};
  const int status = notes.row ? print_all(file, table, &notes) : tool_fail_memory("the footnotes");
  free((void *)notes.row);
  return status;
}

int compare_write_markdown(const struct compare_set *set, const char *path)
{
  return compare_write_table(set, path, print_markdown);
}
#endif
