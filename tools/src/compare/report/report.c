/* report.c - the results as a page of HTML with pictures, in a folder: fills the places of template.c. The page needs
 * no network and no script, and the same lines give the same bytes. */
#include "config.h"

#ifdef HAVE_JANSSON
#include "tools/src/compare/report/compare_write.h"
#include "tools/src/common/output.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { VALUES = 40 };

/* A page that is being written, and what the places of the template stand for at present. */
struct page {
  FILE *file;
  const char *folder;
  const struct compare_table *table;
  size_t matrix;
  struct compare_choice choice; /* of the matrix */
  size_t values;
  struct {
    const char *name;
    char *text; /* NULL: no memory */
    size_t length;
  } value[VALUES];
  int status;
};

/* Opens the text that @name@ will stand for, in place of the one before. NULL: no memory, which was reported. */
static FILE *open_value(struct page *page, const char *name)
{
  size_t v = 0;
  while (v < page->values && strcmp(page->value[v].name, name) != 0) v++;
  if (v == page->values) page->value[page->values++].name = name;
  free(page->value[v].text);
  page->value[v].text = NULL;
  FILE *stream = open_memstream(&page->value[v].text, &page->value[v].length);
  if (!stream) page->status = tool_fail_memory("the report");
  return stream;
}

__attribute__((format(printf, 3, 4))) static void set(struct page *page, const char *name, const char *format, ...)
{
  va_list arguments;
  FILE *stream = open_value(page, name);
  if (!stream) return;
  va_start(arguments, format);
  vfprintf(stream, format, arguments);
  va_end(arguments);
  fclose(stream);
}

static void set_number(struct page *page, const char *name, const char *format, double number)
{
  char text[COMPARE_DIGITS];
  compare_format(text, format, number);
  set(page, name, "%s", text);
}

/* All different texts of the rows, in their order. */
static void set_texts(struct page *page, const char *name, const char *(*text)(const struct compare_row *row))
{
  const struct compare_table *table = page->table;
  const char *before = "";
  FILE *stream = open_value(page, name);
  for (size_t i = 0; i < table->rows && stream; i++) {
    const char *own = table->row[i].line ? text(&table->row[i]) : "";
    size_t j = 0;
    while (j < i && !(table->row[j].line && strcmp(text(&table->row[j]), own) == 0)) j++;
    if (!*own || j < i) continue;
    fprintf(stream, "%s%s", before, own);
    before = "; ";
  }
  if (stream) fclose(stream);
}

/* What has one value: for all cases, or, with a layout, for all of a matrix and not for all cases. */
static void set_shared(struct page *page, const char *name, const struct compare_layout *layout)
{
  const char *before = layout ? "; all with " : "";
  FILE *stream = open_value(page, name);
  if (stream && layout) fputs("The star marks the fastest time", stream);
  for (size_t d = 0; d < page->table->dimensions && stream; d++) {
    const struct compare_dimension *dimension = &page->table->dimension[d];
    const char *value = layout ? layout->said[d] : dimension->is_said ? dimension->value[0] : NULL;
    if (!value || (layout && (dimension->is_said || !layout->is_said[d]))) continue;
    fprintf(stream, "%s%s %s", before, compare_title(dimension), value);
    before = ", ";
  }
  if (stream) fclose(stream);
}

/* A case and its time. */
static void set_case(struct page *page, const char *name, const char *time_name, const struct compare_row *row)
{
  char label[COMPARE_LABEL] = "none", time[COMPARE_DIGITS] = "";
  if (row) {
    compare_label(label, page->table, row, NULL);
    compare_time(time, row->number[COMPARE_TOTAL]);
  }
  set(page, name, "%s", label);
  set(page, time_name, "%s", time);
}

static const char *device_of(const struct compare_row *row) { return row->device_name; }

/* Sets what the whole page has. */
static void set_page(struct page *page)
{
  const struct compare_table *table = page->table;
  const char *first, *last;
  compare_dates(table, &first, &last);
  set(page, "cases", "%zu case%s of %zu matri%s", table->rows, table->rows == 1 ? "" : "s", table->matrices,
      table->matrices == 1 ? "x" : "ces");
  FILE *outcomes = open_value(page, "outcomes");
  for (int i = 0, some = 0; i < OUTCOME_COUNT && outcomes; i++)
    if (table->outcomes[i] > 0)
      fprintf(outcomes, "%s%zu %s", some++ ? ", " : "", table->outcomes[i],
              compare_outcome_word((enum compare_outcome)i));
  if (outcomes) fclose(outcomes);
  set_texts(page, "versions", compare_version_of);
  set_texts(page, "hosts", compare_host_of);
  set_texts(page, "devices", device_of);
  set(page, "dates", "%s%s%s", first, strcmp(first, last) ? " to " : "", strcmp(first, last) ? last : "");
  set_shared(page, "common", NULL);
  set(page, "baseline", "%s", table->baseline ? table->baseline : "");
}

/* The first number of this kind that a case of the matrix has. */
static void set_fact(struct page *page, const char *name, enum compare_number number)
{
  double value = NAN;
  for (size_t i = 0; i < page->table->rows && !isfinite(value); i++) {
    const struct compare_row *row = &page->table->row[i];
    if (row->line && row->matrix == page->matrix) value = row->number[number];
  }
  set_number(page, name, "%.0f", value);
}

static void set_matrix(struct page *page, size_t m)
{
  page->matrix = m;
  page->choice = compare_choose(page->table, m);
  const struct compare_row *best = page->choice.best, *second = page->choice.second;
  set(page, "number", "%zu", m + 1);
  set(page, "path", "%s", page->table->matrix[m]);
  set(page, "name", "%s", compare_short_name(page->table->matrix[m]));
  set(page, "converged", "%zu of %zu", page->choice.converged, page->choice.cases);
  set_fact(page, "rows", COMPARE_ROWS);
  set_fact(page, "entries", COMPARE_FILE_ENTRIES);
  set_case(page, "best", "best-time", best);
  set_case(page, "second", "second-time", second);
  set_number(page, "best-iterations", "%.0f", best ? best->number[COMPARE_ITERATIONS] : NAN);
  set_number(page, "second-ratio", "%.2f", second ? second->number[COMPARE_TOTAL] / best->number[COMPARE_TOTAL] : NAN);
}

static void print_text(const struct page *page, const char *text)
{
  compare_print_html(page->file, *text ? text : "\xe2\x80\x93"); /* a dash */
}

/* Prints a part of the template. */
static void print(const struct page *page, const char *part)
{
  while (*part) {
    const size_t length = *part == '@' ? strspn(part + 1, "abcdefghijklmnopqrstuvwxyz-") : 0;
    size_t v = 0;
    while (v < page->values && !(strncmp(page->value[v].name, part + 1, length) == 0 && !page->value[v].name[length]))
      v++;
    if (length > 0 && part[length + 1] == '@' && v < page->values) {
      print_text(page, page->value[v].text ? page->value[v].text : "");
      part += length + 2;
    } else
      fputc(*part++, page->file);
  }
}

static void print_cell(const struct page *page, const struct compare_cell *cell, bool is_text, bool is_head)
{
  fprintf(page->file, "<t%c%s%s>", is_head ? 'h' : 'd', is_head ? " scope='row'" : "",
          is_text         ? " class='t'"
          : cell->is_best ? " class='best'"
                          : "");
  if (cell->failed) fprintf(page->file, "<a href='#case-%zu'>", cell->failed->place + 1);
  if (cell->is_best) fputs("\xe2\x98\x85 ", page->file); /* a star */
  print_text(page, cell->text ? cell->text : cell->number);
  fprintf(page->file, "%s</t%c>", cell->failed ? "</a>" : "", is_head ? 'h' : 'd');
}

/* Prints a table, which begins with this part of the template. */
static void print_table(const struct page *page, const char *part, const struct compare_layout *layout)
{
  print(page, part);
  fputs("<thead><tr>", page->file);
  for (size_t c = 0; c < layout->columns; c++) {
    if (!layout->column[c].is_shown) continue;
    fprintf(page->file, "<th%s>", layout->column[c].is_text ? " class='t'" : "");
    print_text(page, layout->column[c].title);
    fputs("</th>", page->file);
  }
  fputs("</tr></thead>\n<tbody>\n", page->file);
  for (size_t line = 0; line < layout->lines; line++) {
    bool is_first = true;
    fputs(layout->is_section[line] ? "</tbody>\n<tbody>\n<tr>" : "<tr>", page->file);
    for (size_t c = 0; c < layout->columns; c++) {
      const struct compare_column *column = &layout->column[c];
      if (!column->is_shown) continue;
      print_cell(page, &layout->cell[line * layout->columns + c], column->is_text, is_first && column->is_text);
      is_first = false;
    }
    fputs("</tr>\n", page->file);
  }
  print(page, compare_page.table_end);
}

/* Draws a picture, of the matrix if its kind is, and prints it with the names of its curves. */
static void print_picture(struct page *page, enum compare_picture picture)
{
  struct compare_legend legend;
  char *path = malloc(strlen(page->folder) + 64), name[48];
  snprintf(name, sizeof name, picture < COMPARE_OF_MATRIX ? "%s.svg" : "%s-%zu.svg", compare_pictures[picture].name,
           page->matrix + 1);
  set(page, "picture", "%s", name);
  set(page, "caption", "%s", compare_pictures[picture].caption);
  if (!path) page->status = tool_fail_memory("a picture");
  if (page->status == TOOL_GO_ON) {
    sprintf(path, "%s/%s", page->folder, name);
    page->status = compare_draw(picture, page->table, page->matrix, path, &legend);
  }
  free(path);
  if (page->status != TOOL_GO_ON) return;
  print(page, legend.drawn ? compare_page.figure : compare_page.missing);
  for (size_t c = 0; c < legend.curves; c++) {
    set(page, "curve", "%s", legend.label[c]);
    print(page, compare_page.curve);
  }
  if (legend.drawn) print(page, compare_page.figure_end);
}

static void print_auto_section(struct page *page)
{
  struct compare_auto found;
  page->status = compare_auto_make(&found, page->table);
  FILE *stream = page->status == TOOL_GO_ON ? open_value(page, "auto") : NULL;
  if (stream) {
    compare_auto_sentence(stream, &found);
    fclose(stream);
    if (found.layout.lines > 0) print_table(page, compare_page.automatic, &found.layout);
  }
  compare_layout_free(&found.layout);
}

static void print_matrix_section(struct page *page, size_t m)
{
  struct compare_layout layout;
  set_matrix(page, m);
  print(page, compare_page.matrix);
  for (int p = COMPARE_OF_MATRIX; p < COMPARE_PICTURES; p++) print_picture(page, (enum compare_picture)p);
  if (page->status != TOOL_GO_ON) return;
  const struct compare_row *slowest = page->choice.slowest;
  page->status = compare_layout_make(&layout, page->table, m, slowest && slowest->number[COMPARE_TOTAL] < 1 ? 1e-3 : 1);
  if (page->status == TOOL_GO_ON) {
    set_shared(page, "said", &layout);
    print_table(page, compare_page.table, &layout);
  }
  compare_layout_free(&layout);
}

static void print_failures(struct page *page)
{
  const struct compare_table *table = page->table;
  print(page, compare_page.failures);
  for (const struct compare_row *row = table->row; row < table->row + table->rows; row++) {
    if (!row->line || row->outcome == OUTCOME_CONVERGED) continue;
    set(page, "case", "%zu", row->place + 1);
    set(page, "case-matrix", "%s", row->matrix < table->matrices ? compare_short_name(table->matrix[row->matrix]) : "");
    set_case(page, "case-label", "case-time", row);
    set(page, "case-outcome", "%s", compare_outcome_word(row->outcome));
    set(page, "case-sentence", "%s", row->sentence);
    print(page, compare_page.failure);
  }
  print(page, compare_page.table_end);
}

static void print_page(struct page *page)
{
  set_page(page);
  print(page, compare_page.head);
  for (size_t m = 0; m < page->table->matrices; m++) {
    set_matrix(page, m);
    print(page, compare_page.choice);
  }
  print(page, compare_page.table_end);
  print_picture(page, COMPARE_BEST);
  if (page->status == TOOL_GO_ON) print_auto_section(page);
  print(page, compare_page.profile);
  print_picture(page, COMPARE_PROFILE);
  for (size_t m = 0; m < page->table->matrices && page->status == TOOL_GO_ON; m++) print_matrix_section(page, m);
  print_failures(page);
  print(page, compare_page.end);
}

/* Writes the page into a nameless file, which takes its place when all pictures are there. */
static int write_page(const struct compare_table *table, const char *folder, const char *path)
{
  struct page page = {.file = tmpfile(), .table = table, .folder = folder, .status = TOOL_GO_ON};
  if (!page.file) return tool_fail(TOOL_FAILED, "cannot create a temporary file for the report: %s", strerror(errno));
  print_page(&page);
  if (page.status == TOOL_GO_ON && (fflush(page.file) != 0 || ferror(page.file)))
    tool_fail(page.status = TOOL_FAILED, "%s: cannot write the temporary file for the page; is the disk full?", path);
  if (page.status == TOOL_GO_ON) page.status = tool_write_whole(page.file, path);
  for (size_t v = 0; v < page.values; v++) free(page.value[v].text);
  fclose(page.file);
  return page.status;
}

int compare_write_report(const struct compare_set *set, const char *folder)
{
  struct compare_table table;
  int status = compare_report_check(folder);
  if (status != TOOL_GO_ON) return status;
  char *path = compare_page_path(folder);
  status = compare_table_make(&table, set);
  if (status == TOOL_GO_ON && !path) status = tool_fail_memory("the report");
  if (status == TOOL_GO_ON && !compare_is_folder(folder) && mkdir(folder, 0777) != 0)
    status = tool_fail(TOOL_FAILED, "%s: %s", folder, strerror(errno));
  if (status == TOOL_GO_ON) status = write_page(&table, folder, path);
  free(path);
  compare_table_free(&table);
  return status;
}
#endif
