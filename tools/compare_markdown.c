/* compare_markdown.c - a table for each matrix as Chen et al. lay theirs out, with footnotes for the cases that failed;
 * what has one value for all cases of a table is said above it. */
#include "config.h"

#ifdef HAVE_JANSSON
#include "compare_write.h"

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

static const char *host_of(const struct compare_row *row) { return row->host; }
static const char *version_of(const struct compare_row *row) { return row->version; }

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
  const char *version = compare_common(table, version_of), *host = compare_common(table, host_of), *first, *last;
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

static void print_cell(FILE *file, const struct compare_cell *cell, struct notes *notes)
{
  const char *text = cell->text ? cell->text : *cell->number ? cell->number : "-";
  fputs(cell->is_best ? " **" : " ", file);
  compare_print_markdown(file, text);
  if (cell->is_best) fputs("**", file);
  if (cell->failed && *cell->failed->sentence) fprintf(file, "[^%zu]", note_of(notes, cell->failed));
  fputs(" |", file);
}

static void print_lines(FILE *file, const struct compare_layout *layout, struct notes *notes)
{
  fputc('|', file);
  for (size_t c = 0; c < layout->columns; c++) {
    if (!layout->column[c].is_shown) continue;
    fputc(' ', file);
    compare_print_markdown(file, layout->column[c].title);
    fputs(" |", file);
  }
  fputs("\n|", file);
  for (size_t c = 0; c < layout->columns; c++)
    if (layout->column[c].is_shown) fputs(layout->column[c].is_text ? ":--|" : "--:|", file);
  fputc('\n', file);
  for (size_t line = 0; line < layout->lines; line++) {
    fputc('|', file);
    for (size_t c = 0; c < layout->columns; c++)
      if (layout->column[c].is_shown) print_cell(file, &layout->cell[line * layout->columns + c], notes);
    fputc('\n', file);
  }
}

static int print_matrix(FILE *file, const struct compare_table *table, size_t matrix, struct notes *notes)
{
  struct compare_layout layout;
  const int status = compare_layout_make(&layout, table, matrix, 1);
  if (status == TOOL_GO_ON) {
    fputs("\n## ", file);
    compare_print_markdown(file, table->matrix[matrix]);
    fputs("\n\n", file);
    print_said(file, table, &layout);
    print_lines(file, &layout, notes);
  }
  compare_layout_free(&layout);
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
  for (size_t m = 0; m < table->matrices && status == TOOL_GO_ON; m++) status = print_matrix(file, table, m, notes);
  for (size_t n = 0; n < notes->count && status == TOOL_GO_ON; n++) {
    fprintf(file, "%s[^%zu]: ", n == 0 ? "\n" : "", n + 1);
    compare_print_markdown(file, notes->row[n]->sentence);
    fputc('\n', file);
  }
  return status;
}

int compare_write_markdown(const struct compare_set *set, const char *path)
{
  struct compare_table table;
  struct notes notes = {0};
  FILE *file;
  int status = compare_table_make(&table, set);
  notes.row = calloc(set->count + 1, sizeof *notes.row);
  if (status == TOOL_GO_ON && !notes.row) status = tool_fail_memory("the footnotes");
  if (status == TOOL_GO_ON) status = compare_open(path, &file);
  if (status == TOOL_GO_ON) status = compare_close(file, path, print_all(file, &table, &notes));
  free((void *)notes.row);
  compare_table_free(&table);
  return status;
}
#endif
