/* section.c - the part of the report about a matrix: what it is, its best choice, pictures, and its table. */
#include "config.h"

#ifdef HAVE_JANSSON
#include "tools/src/compare/report/compare_write.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

char *compare_picture_path(const char *folder, const char *name)
{
  const size_t length = strlen(folder) + strlen(name) + sizeof "/.svg";
  char *path = malloc(length);
  if (path)
    snprintf(path, length, "%s/%s.svg", folder, name);
  else
    tool_fail_memory("a picture");
  return path;
}

void compare_print_figure(FILE *file, const char *name, const char *alt, const char *caption)
{
  fprintf(file, "<figure><img src=\"%s.svg\" alt=\"", name);
  compare_print_html(file, alt);
  fputs("\">\n<figcaption>", file);
  compare_print_html(file, caption);
  fputs("</figcaption></figure>\n", file);
}

/* The pictures of a matrix, and what is said where one has no data. */
static const struct figure {
  const char *name, *caption, *without;
  int (*draw)(const struct compare_table *table, size_t matrix, const char *path, bool *drawn);
} figures[] = {
    {"convergence", "Residuals over that of the start, for the fastest cases that converged.",
     "There is no picture of the residuals, for no case that converged has a history of several iterations.",
     compare_draw_convergence},
    {"times",
     "Time of set-up and solve, for the fastest combinations. One that has no level, or no block size, is a line "
     "across.",
     "There is no picture of times, for the cases that converged differ in neither level nor block size.",
     compare_draw_times},
    {"fill",
     "What entries of the factors buy: iterations by fill, along each curve with growing level or block size. One that "
     "has neither is a point.",
     "There is no picture of fill, for the cases that converged differ in neither level nor block size.",
     compare_draw_fill}};

static int print_figures(FILE *file, const struct compare_table *table, size_t matrix, const char *folder)
{
  bool drawn[3] = {false};
  int status = TOOL_GO_ON;
  fputs("<div class=\"figures\">\n", file);
  for (int i = 0; i < 3 && status == TOOL_GO_ON; i++) {
    char name[64], alt[COMPARE_LABEL + 512], label[COMPARE_LABEL] = "";
    snprintf(name, sizeof name, "%s-%zu", figures[i].name, matrix + 1);
    char *path = compare_picture_path(folder, name);
    status = path ? figures[i].draw(table, matrix, path, &drawn[i]) : TOOL_FAILED;
    free(path);
    if (status != TOOL_GO_ON || !drawn[i]) continue;
    const struct compare_row *best = compare_choose(table, matrix).best;
    snprintf(alt, sizeof alt, "%s", figures[i].caption);
    if (best) { /* cases that converged may be without times, in a file from elsewhere */
      compare_label(label, table, best, NULL);
      snprintf(alt, sizeof alt, "%s The fastest case is %s, with %.0f iterations; the table below has the numbers.",
               figures[i].caption, label, best->number[COMPARE_ITERATIONS]);
    }
    compare_print_figure(file, name, alt, figures[i].caption);
  }
  fputs("</div>\n", file);
  const bool some = compare_choose(table, matrix).best != NULL;
  if (!some) fputs("<p class=\"hint\">There are no pictures, for no case has converged.</p>\n", file);
  for (int i = 0; i < 3 && status == TOOL_GO_ON; i++)
    if (some && !drawn[i]) fprintf(file, "<p class=\"hint\">%s</p>\n", figures[i].without);
  return status;
}

/* The first number of this kind that a case of the matrix has; NaN where none has. */
static double first_number(const struct compare_table *table, size_t matrix, enum compare_number number)
{
  for (size_t i = 0; i < table->rows; i++) {
    const struct compare_row *row = &table->row[i];
    if (row->line && row->matrix == matrix && isfinite(row->number[number])) return row->number[number];
  }
  return NAN;
}

static void print_facts(FILE *file, const struct compare_table *table, size_t matrix)
{
  const struct compare_choice choice = compare_choose(table, matrix);
  const double rows = first_number(table, matrix, COMPARE_ROWS);
  const double entries = first_number(table, matrix, COMPARE_FILE_ENTRIES);
  char label[COMPARE_LABEL], time[COMPARE_DIGITS];
  fputs("<p class=\"facts\">", file);
  if (strcmp(compare_short_name(table->matrix[matrix]), table->matrix[matrix]) != 0) {
    compare_print_html(file, table->matrix[matrix]);
    fputs("<br>", file);
  }
  if (isfinite(rows)) fprintf(file, "%.0f rows, ", rows);
  if (isfinite(entries)) fprintf(file, "%.0f entries in the file; ", entries);
  fprintf(file, "%zu of %zu cases converged.</p>\n", choice.converged, choice.cases);
  if (!choice.best) return;
  compare_label(label, table, choice.best, NULL);
  compare_time(time, choice.best->number[COMPARE_TOTAL]);
  fputs("<p>Best choice: <strong>", file);
  compare_print_html(file, label);
  fprintf(file, "</strong>, %s, %.0f iterations.</p>\n", time, choice.best->number[COMPARE_ITERATIONS]);
}

/* What all cases of the table, but not those of the whole report, have in common. */
static void print_said(FILE *file, const struct compare_table *table, const struct compare_layout *layout)
{
  bool some = false;
  for (size_t d = 0; d < table->dimensions; d++) {
    if (table->dimension[d].is_said || !layout->is_said[d] || !layout->said[d]) continue;
    fputs(some ? ", " : "All with ", file);
    compare_print_html(file, compare_title(&table->dimension[d]));
    fputc(' ', file);
    compare_print_html(file, layout->said[d]);
    some = true;
  }
  if (some) fputs(". ", file);
}

static void print_cell(FILE *file, const struct compare_cell *cell, bool is_text, bool is_row_head)
{
  fputs(is_row_head ? "<th scope=\"row\"" : "<td", file);
  if (is_text || cell->is_best) fprintf(file, " class=\"%s\"", is_text ? "t" : "best");
  fputc('>', file);
  if (cell->failed) fprintf(file, "<a href=\"#case-%zu\">", cell->failed->place + 1);
  if (cell->is_best) fputs("\xe2\x98\x85 ", file); /* a star */
  compare_print_html(file, cell->text ? cell->text : *cell->number ? cell->number : "\xe2\x80\x93");
  if (cell->failed) fputs("</a>", file);
  fputs(is_row_head ? "</th>" : "</td>", file);
}

static void print_head(FILE *file, const struct compare_layout *layout)
{
  fputs("<thead><tr>", file);
  for (size_t c = 0; c < layout->columns; c++) {
    if (!layout->column[c].is_shown) continue;
    fprintf(file, "<th scope=\"col\"%s>", layout->column[c].is_text ? " class=\"t\"" : "");
    compare_print_html(file, layout->column[c].title);
    fputs("</th>", file);
  }
  fputs("</tr></thead>\n<tbody>\n", file);
}

void compare_print_lines(FILE *file, const struct compare_layout *layout)
{
  print_head(file, layout);
  for (size_t line = 0; line < layout->lines; line++) {
    bool is_first = true;
    fputs(layout->is_section[line] ? "</tbody>\n<tbody>\n<tr>" : "<tr>", file);
    for (size_t c = 0; c < layout->columns; c++) {
      if (!layout->column[c].is_shown) continue;
      print_cell(file, &layout->cell[line * layout->columns + c], layout->column[c].is_text,
                 is_first && layout->column[c].is_text);
      is_first = false;
    }
    fputs("</tr>\n", file);
  }
  fputs("</tbody></table>\n", file);
}

static void print_table(FILE *file, const struct compare_table *table, size_t matrix,
                        const struct compare_layout *layout)
{
  fputs("<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"", file);
  compare_print_html(file, table->matrix[matrix]);
  fputs("\">\n<table><caption>", file);
  print_said(file, table, layout);
  fputs(compare_choose(table, matrix).best ? "The star marks the fastest time.</caption>\n" : "</caption>\n", file);
  compare_print_lines(file, layout);
  fputs("</div>\n", file);
}

int compare_write_section(FILE *file, const struct compare_table *table, size_t matrix, const char *folder)
{
  struct compare_layout layout;
  const struct compare_choice choice = compare_choose(table, matrix);
  const bool in_ms = choice.slowest && choice.slowest->number[COMPARE_TOTAL] < 1;
  fprintf(file, "<section id=\"matrix-%zu\">\n<h2>", matrix + 1);
  compare_print_html(file, compare_short_name(table->matrix[matrix]));
  fputs("</h2>\n", file);
  print_facts(file, table, matrix);
  int status = print_figures(file, table, matrix, folder);
  if (status == TOOL_GO_ON) {
    status = compare_layout_make(&layout, table, matrix, in_ms ? 1e-3 : 1);
    if (status == TOOL_GO_ON) print_table(file, table, matrix, &layout);
    compare_layout_free(&layout);
  }
  fputs("</section>\n", file);
  return status;
}
#endif
