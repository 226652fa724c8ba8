/* report.c - the results as a page of HTML with pictures, in a folder: one column that a telephone shows too, tables
 * with thin rules as in print, and no fact that only a colour shows. The page needs no network and no script, and the
 * same lines give the same bytes. Attributes have single quotes, which compare_html escapes in values. */
#include "tools/src/common/output.h"
#include "tools/src/common/text.h"
#include "tools/src/compare/report/compare_write.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A page that is being written. */
struct page {
  const struct compare_table *table;
  const char *folder;
  FILE *file, *names; /* the page, and the names of its pictures, each between blanks */
};

// clang-format off
static const char style[] =
  "<style>\n:root{color-scheme:light}*{box-sizing:border-box}a{color:#005a8d}\n"
  "body{margin:0 auto;max-width:76rem;padding:1.5rem;color:#1b1f24;font:16px/1.5 system-ui,sans-serif}\n"
  "h2{line-height:1.25;margin-top:3rem;padding-top:1rem;border-top:1px solid #d0d7de}p,figcaption{max-width:46rem}\n"
  "h2,p,dd,li{overflow-wrap:anywhere}.soft,figcaption,dt,caption{color:#57606a}figcaption{font-size:.88rem}\n"
  "dl{display:grid;grid-template-columns:max-content 1fr;gap:.15rem 1.2rem}dd{margin:0}\n"
  ".figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,21rem),1fr));gap:1.5rem}\n"
  "ol{margin:.3rem 0;padding-left:1.8rem}figure{margin:1rem 0}.wide{overflow-x:auto}\n"
  "img{display:block;width:100%;max-width:46rem;height:auto}caption{text-align:left}\n"
  "table{border-collapse:collapse;font-size:.87rem;font-variant-numeric:tabular-nums;border:solid;border-width:2px 0}\n"
  "th,td{padding:.28rem .6rem;text-align:right;vertical-align:baseline;white-space:nowrap}\n"
  "th[scope=row]{font-weight:400}thead th{vertical-align:bottom;border-bottom:1px solid;white-space:normal}\n"
  "tbody+tbody tr:first-child>*{border-top:1px solid #d0d7de}\n"
  ".t{text-align:left}.names .t{white-space:normal;overflow-wrap:anywhere;min-width:8.5rem}\n"
  "td.best{background:#e4eff7;font-weight:700}tr:target>*{background:#fff4d6}\n"
  "@media(max-width:40rem){body{padding:1rem}dl{grid-template-columns:1fr}}\n"
  "@media print{@page{size:landscape}body{max-width:none;padding:0;font-size:10pt}.wide{overflow:visible}\n"
  "table{font-size:7.6pt}.figures{grid-template-columns:1fr 1fr 1fr}figure,tr{break-inside:avoid}}\n</style>\n";

static const char reading[] =
  "</section>\n<section id='reading'>\n<h2>How to read this page</h2>\n<dl>\n"
  "<dt>time</dt><dd>Wall time of set-up and solve, without reading the matrix and moving it to a device. Where a "
  "case was repeated, factorization and solve are medians. With auto they are the first ones, because its updates "
  "may choose another method.</dd>\n"
  "<dt>short times</dt><dd>Set-up is measured once and includes the first use of threads, files and memory. Below "
  "about 20 ms, cases that do the same may differ by several times. Repeat them, with one thread each.</dd>\n"
  "<dt>set-up</dt><dd>Ordering, symbolic analysis and factorization.</dd>\n"
  "<dt>update + solve</dt><dd>Factorization and solve with new values on the same analysis: medians of "
  "--repeat.</dd>\n"
  "<dt>speed-up</dt><dd>The time of the same case with the values of the baseline, over the time of this case; "
  "given where both have converged.</dd>\n"
  "<dt>fill</dt><dd>The entries of the factors over those stored in the file, including zeros that fill up "
  "blocks.</dd>\n"
  "<dt>level sets</dt><dd>Of the lower and the upper factor: the steps of a sweep that wait for each other.</dd>\n"
  "<dt>residual</dt><dd>The true residual |b - A x| over |b|, computed from the solution; the largest of several "
  "devices.</dd>\n"
  "<dt>b, k</dt><dd>The block size, and the level of fill.</dd>\n"
  "</dl>\n</section>\n</body>\n</html>\n";
// clang-format on

static const char table_end[] = "</tbody></table>\n</div>\n";

static const char *name_case(const struct page *page, const struct compare_row *row)
{
  return compare_html(row ? compare_label(page->table, row, NULL) : "none");
}

static const char *show_number(const struct compare_row *row, enum compare_number number, const char *format)
{
  if (number == COMPARE_TOTAL) return compare_html(row ? compare_time(row->number[number]) : NULL);
  return compare_html(row ? compare_format(format, row->number[number]) : NULL);
}

static const char *all_words(const struct page *page, enum compare_word word)
{
  size_t count;
  return compare_html(compare_all_words(page->table, word, &count));
}

static void print_head(const struct page *page)
{
  const struct compare_table *table = page->table;
  const char *first, *last, *cases = compare_count(table);
  compare_dates(table, &first, &last);
  const bool one = strcmp(first, last) == 0;
  fprintf(page->file,
          "<!DOCTYPE html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'>\n<meta name='viewport' "
          "content='width=device-width,initial-scale=1'>\n" COMPARE_OWN_TITLE "%s</title>\n%s</head>\n<body>\n"
          "<h1>Comparison of linear solvers</h1>\n<p>%s, by Karst: %s</p>\n<dl>\n<dt>Karst</dt><dd>%s</dd>\n"
          "<dt>Host</dt><dd>%s</dd>\n<dt>Devices</dt><dd>%s</dd>\n<dt>Run</dt><dd>%s</dd>\n<dt>All cases</dt><dd>%s"
          "</dd>\n<dt>Baseline of speed-ups</dt><dd>%s</dd>\n</dl>\n<p><a href='#failures'>Cases that did not converge"
          "</a><br><a href='#reading'>How to read this page</a></p>\n",
          cases, style, cases, compare_outcomes(table), all_words(page, COMPARE_VERSION), all_words(page, COMPARE_HOST),
          all_words(page, COMPARE_DEVICE_NAME), compare_html(one ? first : compare_text("%s to %s", first, last)),
          compare_html(compare_said(table, NULL)), compare_html(table->baseline));
}

static void print_choices(const struct page *page)
{
  fputs("<section>\n<h2>Best choices</h2>\n<p>The case of each matrix that converged in the least time of set-up and "
        "solve together, and the one after it.</p>\n<div class='wide' tabindex='0'>\n<table class='names'>\n<thead><tr>"
        "<th class='t'>matrix</th><th>converged</th><th class='t'>best choice</th><th>time</th><th>iterations</th>"
        "<th class='t'>runner-up</th><th>time</th><th>times the best</th></tr></thead>\n<tbody>\n",
        page->file);
  for (size_t m = 0; m < page->table->matrices; m++) {
    const struct compare_choice *choice = &page->table->choice[m];
    const struct compare_row *best = choice->best, *second = choice->second;
    fprintf(page->file,
            "<tr><th scope='row' class='t'><a href='#matrix-%zu'>%s</a></th><td>%zu of %zu</td><td class='t'>%s</td>"
            "<td>%s</td><td>%s</td><td class='t'>%s</td><td>%s</td><td>%s</td></tr>\n",
            m + 1, compare_html(compare_short_name(page->table->matrix[m])), choice->converged, choice->cases,
            name_case(page, best), show_number(best, COMPARE_TOTAL, ""), show_number(best, COMPARE_ITERATIONS, "%.0f"),
            name_case(page, second), show_number(second, COMPARE_TOTAL, ""),
            compare_html(second ? compare_format("%.2f", second->number[COMPARE_TOTAL] / best->number[COMPARE_TOTAL])
                                : NULL));
  }
  fputs(table_end, page->file);
}

static void print_cell(const struct page *page, const struct compare_cell *cell, bool is_text, bool is_head)
{
  fprintf(page->file, "<t%c%s%s>", is_head ? 'h' : 'd', is_head ? " scope='row'" : "",
          is_text         ? " class='t'"
          : cell->is_best ? " class='best'"
                          : "");
  if (cell->failed) fprintf(page->file, "<a href='#case-%zu'>", cell->failed->place + 1);
  fprintf(page->file, "%s%s%s</t%c>", cell->is_best ? "\xe2\x98\x85 " : "" /* a star */, compare_html(cell->text),
          cell->failed ? "</a>" : "", is_head ? 'h' : 'd');
}

/* Prints the lines of a table. by_block_size: with a rule where the first value, the block size, changes. */
static void print_table(const struct page *page, const struct compare_layout *layout, bool by_block_size)
{
  fputs("<thead><tr>", page->file);
  for (size_t c = 0; c < layout->columns; c++)
    if (layout->column[c].is_shown)
      fprintf(page->file, "<th%s>%s</th>", layout->column[c].is_text ? " class='t'" : "",
              compare_html(layout->column[c].title));
  fputs("</tr></thead>\n<tbody>\n", page->file);
  for (size_t line = 0; line < layout->lines; line++) {
    const struct compare_cell *cell = &layout->cell[line * layout->columns];
    const bool begins =
        by_block_size && line > 0 && !compare_same_value(cell->text, cell[-(ptrdiff_t)layout->columns].text);
    bool is_first = true;
    fputs(begins ? "</tbody>\n<tbody>\n<tr>" : "<tr>", page->file);
    for (size_t c = 0; c < layout->columns; c++) {
      const struct compare_column *column = &layout->column[c];
      if (column->is_shown) print_cell(page, &cell[c], column->is_text, is_first && column->is_text);
      is_first = is_first && !column->is_shown;
    }
    fputs("</tr>\n", page->file);
  }
  fputs(table_end, page->file);
}

/* Draws a picture, of matrix m or of all matrices as its kind says, and prints it with the names of its curves. */
static int print_picture(const struct page *page, enum compare_picture picture, size_t m)
{
  const struct compare_picture_kind *kind = &compare_pictures[picture];
  const char *number = picture < COMPARE_OF_MATRIX ? "" : compare_text("-%zu", m + 1);
  const char *name = compare_text("%s%s.svg", kind->name, number), *caption = compare_html(kind->caption);
  struct compare_legend legend;
  const int status = compare_draw(picture, page->table, m, compare_text("%s/%s", page->folder, name), &legend);
  if (status != TOOL_GO_ON) return status;
  if (!legend.drawn) {
    fprintf(page->file,
            "<p class='soft'>No picture %s: too few cases converged, or they are equal in what it shows.</p>\n", name);
    return TOOL_GO_ON;
  }
  fprintf(page->names, " %s ", name);
  fprintf(page->file, "<figure><img src='%s' alt='%s'>\n<figcaption>%s<ol>", name, caption, caption);
  for (size_t c = 0; c < legend.curves; c++) fprintf(page->file, "<li>%s</li>", compare_html(legend.label[c]));
  fputs("</ol></figcaption></figure>\n", page->file);
  return TOOL_GO_ON;
}

static void print_auto_section(const struct page *page)
{
  const char *sentence;
  const struct compare_layout layout = compare_auto_make(page->table, &sentence);
  if (layout.lines == 0) return;
  fprintf(page->file,
          "</section>\n<section>\n<h2>auto against the best fixed choice</h2>\n<p>The preconditioner that auto has "
          "chosen, and the fastest of the others on the same matrix, solver and device. A time is that of the first "
          "set-up and solve. %s</p>\n<div class='wide' tabindex='0'>\n<table class='names'>\n",
          sentence);
  print_table(page, &layout, false);
}

/* The first number of this kind that a case of the matrix has. */
static const char *find_fact(const struct page *page, size_t m, enum compare_number number)
{
  const struct compare_row *row = page->table->row, *end = row + page->table->rows;
  while (row < end && !(row->line && row->matrix == m && isfinite(row->number[number]))) row++;
  return show_number(row < end ? row : NULL, number, "%.0f");
}

static int print_matrix_section(const struct page *page, size_t m)
{
  const struct compare_table *table = page->table;
  const struct compare_choice *choice = &table->choice[m];
  int status = TOOL_GO_ON;
  fprintf(page->file,
          "</section>\n<section id='matrix-%zu'>\n<h2>%s</h2>\n<p class='soft'>%s<br>%s rows, %s entries in the file; "
          "%zu of %zu cases converged.</p>\n<p>Best choice: <strong>%s</strong>, %s, %s iterations.</p>\n"
          "<div class='figures'>\n",
          m + 1, compare_html(compare_short_name(table->matrix[m])), compare_html(table->matrix[m]),
          find_fact(page, m, COMPARE_ROWS), find_fact(page, m, COMPARE_FILE_ENTRIES), choice->converged, choice->cases,
          name_case(page, choice->best), show_number(choice->best, COMPARE_TOTAL, ""),
          show_number(choice->best, COMPARE_ITERATIONS, "%.0f"));
  for (int p = COMPARE_OF_MATRIX; p < COMPARE_PICTURES && status == TOOL_GO_ON; p++)
    status = print_picture(page, (enum compare_picture)p, m);
  if (status != TOOL_GO_ON) return status;
  const bool is_fast = choice->slowest && choice->slowest->number[COMPARE_TOTAL] < 1;
  const struct compare_layout layout = compare_layout_make(table, m, is_fast ? 1e-3 : 1);
  const char *said = compare_said(table, &layout);
  fprintf(page->file,
          "</div>\n<div class='wide' tabindex='0'>\n<table><caption>The star marks the fastest time%s%s.</caption>\n",
          *said ? "; all with " : "", *said ? compare_html(said) : "");
  print_table(page, &layout, true);
  return TOOL_GO_ON;
}

static void print_failures(const struct page *page)
{
  const struct compare_table *table = page->table;
  fputs("</section>\n<section id='failures'>\n<h2>Cases that did not converge</h2>\n<div class='wide' tabindex='0'>\n"
        "<table class='names'>\n<thead><tr><th class='t'>matrix</th><th class='t'>case</th><th class='t'>outcome</th>"
        "<th class='t'>what happened</th></tr></thead>\n<tbody>\n",
        page->file);
  for (const struct compare_row *row = table->row; row < table->row + table->rows; row++)
    if (row->line && row->outcome != OUTCOME_CONVERGED)
      fprintf(page->file,
              "<tr id='case-%zu'><th scope='row' class='t'>%s</th><td class='t'>%s</td><td class='t'>%s</td>"
              "<td class='t'>%s</td></tr>\n",
              row->place + 1, compare_html(compare_short_name(table->matrix[row->matrix])), name_case(page, row),
              compare_outcome_word(row->outcome), compare_html(row->sentence));
  fputs(table_end, page->file);
}

static int print_page(const struct page *page)
{
  print_head(page);
  print_choices(page);
  int status = print_picture(page, COMPARE_BEST, 0);
  if (status == TOOL_GO_ON) print_auto_section(page);
  fputs("</section>\n<section>\n<h2>Performance profile</h2>\n", page->file);
  if (status == TOOL_GO_ON) status = print_picture(page, COMPARE_PROFILE, 0);
  for (size_t m = 0; m < page->table->matrices && status == TOOL_GO_ON; m++) status = print_matrix_section(page, m);
  print_failures(page);
  fputs(reading, page->file);
  return status;
}

/* Writes the page into a file without a name, and copies it to index.html once all pictures are there. */
static int write_page(const struct compare_table *table, const char *folder)
{
  char *older = compare_read_page(folder), *names = NULL;
  size_t size;
  const char *path = compare_text("%s/index.html", folder);
  const struct page page = {table, folder, tmpfile(), open_memstream(&names, &size)};
  int status = older && page.names ? TOOL_GO_ON : tool_fail_memory("the report");
  if (!page.file) status = tool_fail(TOOL_FAILED, "cannot create a temporary file for the report: %s", strerror(errno));
  if (status == TOOL_GO_ON) status = print_page(&page);
  if (status == TOOL_GO_ON && (fflush(page.file) != 0 || ferror(page.file)))
    status = tool_fail(TOOL_FAILED, "%s: cannot write the temporary file for the page; is the disk full?", path);
  if (status == TOOL_GO_ON) status = tool_write_whole(page.file, path);
  if (page.names && fclose(page.names) == 0 && status == TOOL_GO_ON) compare_remove_others(folder, older, names);
  if (page.file) fclose(page.file);
  free(names);
  free(older);
  return status;
}

int compare_write_report(const struct compare_set *set, const char *folder)
{
  struct compare_table table;
  int status = compare_report_check(folder);
  if (status == TOOL_GO_ON) status = compare_table_make(&table, set);
  if (status == TOOL_GO_ON && !compare_is_folder(folder) && mkdir(folder, 0777) != 0)
    status = tool_fail(TOOL_FAILED, "%s: %s", folder, strerror(errno));
  if (status == TOOL_GO_ON) status = write_page(&table, folder);
  compare_free();
  return status;
}
