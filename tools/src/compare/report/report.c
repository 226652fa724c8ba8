/* report.c - the results as a page of HTML with pictures, in a folder: one page that needs no network and no
 * script. The same lines give the same bytes. */
#include "config.h"

#ifdef HAVE_JANSSON
#include "tools/src/compare/report/compare_write.h"
#include "tools/src/common/output.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *host_of(const struct compare_row *row) { return row->host; }
static const char *version_of(const struct compare_row *row) { return row->version; }
static const char *device_of(const struct compare_row *row) { return row->device_name; }

/* All different texts of the rows, in their order. */
static void print_texts(FILE *file, const struct compare_table *table, const char *title,
                        const char *(*text)(const struct compare_row *row))
{
  bool some = false;
  for (size_t i = 0; i < table->rows; i++) {
    const char *own = table->row[i].line ? text(&table->row[i]) : "";
    size_t j = 0;
    while (j < i && !(table->row[j].line && strcmp(text(&table->row[j]), own) == 0)) j++;
    if (!*own || j < i) continue;
    if (some)
      fputs("; ", file);
    else
      fprintf(file, "<dt>%s</dt><dd>", title);
    compare_print_html(file, own);
    some = true;
  }
  if (some) fputs("</dd>\n", file);
}

static void print_dates(FILE *file, const struct compare_table *table)
{
  const char *first, *last;
  compare_dates(table, &first, &last);
  if (!*first) return;
  fputs("<dt>Run</dt><dd>", file);
  compare_print_html(file, first);
  if (strcmp(first, last) != 0) {
    fputs(" to ", file);
    compare_print_html(file, last);
  }
  fputs("</dd>\n", file);
}

static void print_common(FILE *file, const struct compare_table *table)
{
  bool some = false;
  for (size_t d = 0; d < table->dimensions; d++) {
    if (!table->dimension[d].is_said) continue;
    fputs(some ? ", " : "<dt>All cases</dt><dd>", file);
    compare_print_html(file, compare_title(&table->dimension[d]));
    fputc(' ', file);
    compare_print_html(file, table->dimension[d].value[0]);
    some = true;
  }
  if (some) fputs("</dd>\n", file);
}

static void print_origin(FILE *file, const struct compare_table *table)
{
  fputs("<dl>\n", file);
  print_texts(file, table, "Karst", version_of);
  print_texts(file, table, "Host", host_of);
  print_texts(file, table, "Devices", device_of);
  print_dates(file, table);
  print_common(file, table);
  if (table->baseline) {
    fputs("<dt>Speed-ups</dt><dd>against the same case with ", file);
    compare_print_html(file, table->baseline);
    fputs("</dd>\n", file);
  }
  fputs("</dl>\n", file);
}

/* How many cases ended how: a bar, and the same in words. */
static void print_outcomes(FILE *file, const struct compare_table *table)
{
  fputs("<div class=\"bar\" aria-hidden=\"true\">", file);
  for (int i = 0; i < OUTCOME_COUNT; i++)
    if (table->outcomes[i] > 0) fprintf(file, "<span class=\"o%d\" style=\"flex:%zu\"></span>", i, table->outcomes[i]);
  fputs("</div>\n<ul class=\"legend\">\n", file);
  for (int i = 0; i < OUTCOME_COUNT; i++)
    if (table->outcomes[i] > 0)
      fprintf(file, "<li><i class=\"o%d\"></i><b>%zu</b> %s</li>\n", i, table->outcomes[i],
              compare_outcome_word((enum compare_outcome)i));
  fputs("</ul>\n", file);
}

static bool is_failure(const struct compare_row *row) { return row->line && row->outcome != OUTCOME_CONVERGED; }

static size_t count_failures(const struct compare_table *table)
{
  return table->rows - table->outcomes[OUTCOME_CONVERGED] - table->outcomes[OUTCOME_NOT_RUN];
}

static void print_contents(FILE *file, const struct compare_table *table, bool with_auto)
{
  const size_t failures = count_failures(table);
  fputs("<nav aria-label=\"Contents\">\n<h3>Contents <small>and how many cases of each matrix "
        "converged</small></h3>\n<ul>\n",
        file);
  if (table->matrices > 0) fputs("<li><a href=\"#best\">Best choices</a></li>\n", file);
  if (with_auto) fputs("<li><a href=\"#auto\">auto against the best fixed choice</a></li>\n", file);
  if (table->matrices > 1) fputs("<li><a href=\"#profile\">Performance profile</a></li>\n", file);
  for (size_t m = 0; m < table->matrices; m++) {
    const struct compare_choice choice = compare_choose(table, m);
    fprintf(file, "<li><a href=\"#matrix-%zu\">", m + 1);
    compare_print_html(file, compare_short_name(table->matrix[m]));
    fprintf(file, "</a> <small>%zu of %zu</small></li>\n", choice.converged, choice.cases);
  }
  if (failures > 0)
    fprintf(file, "<li><a href=\"#failures\">Cases that did not converge</a> <small>%zu</small></li>\n", failures);
  fputs("<li><a href=\"#reading\">How to read this page</a></li>\n</ul>\n</nav>\n", file);
}

static void print_head(FILE *file, const struct compare_table *table, bool with_auto)
{
  const size_t cases = table->rows, matrices = table->matrices;
  fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n",
        file);
  fputs(compare_own_title, file);
  fprintf(file, "%zu cases of %zu matri%s</title>\n<style>\n%s</style>\n</head>\n<body>\n<header>\n", cases, matrices,
          matrices == 1 ? "x" : "ces", compare_style);
  fprintf(file, "<h1>Comparison of linear solvers</h1>\n<p class=\"lead\">%zu case%s of %zu matri%s, by Karst</p>\n",
          cases, cases == 1 ? "" : "s", matrices, matrices == 1 ? "x" : "ces");
  print_outcomes(file, table);
  print_origin(file, table);
  print_contents(file, table, with_auto);
  fputs("</header>\n<main>\n", file);
}

static void print_choice(FILE *file, const struct compare_table *table, size_t m)
{
  const struct compare_choice choice = compare_choose(table, m);
  const struct compare_row *const rows[] = {choice.best, choice.second};
  char text[COMPARE_LABEL];
  fprintf(file, "<tr><th scope=\"row\" class=\"t\"><a href=\"#matrix-%zu\">", m + 1);
  compare_print_html(file, compare_short_name(table->matrix[m]));
  fprintf(file, "</a></th><td>%zu of %zu</td>", choice.converged, choice.cases);
  for (int i = 0; i < 2; i++) {
    char time[COMPARE_DIGITS] = "\xe2\x80\x93", digits[COMPARE_DIGITS] = "\xe2\x80\x93"; /* a dash */
    snprintf(text, sizeof text, "%s", "none");
    if (rows[i]) {
      compare_label(text, table, rows[i], NULL);
      compare_time(time, rows[i]->number[COMPARE_TOTAL]);
      if (i == 0)
        compare_format(digits, "%.0f", rows[i]->number[COMPARE_ITERATIONS]);
      else
        compare_format(digits, "%.2f", rows[1]->number[COMPARE_TOTAL] / rows[0]->number[COMPARE_TOTAL]);
    }
    fputs("<td class=\"t\">", file);
    compare_print_html(file, text);
    fprintf(file, "</td><td>%s</td><td>%s</td>", time, digits);
  }
  fputs("</tr>\n", file);
}

static int print_best(FILE *file, const struct compare_table *table, const char *folder)
{
  bool drawn = false;
  char *path = compare_picture_path(folder, "best");
  const int status = path ? compare_draw_best(table, path, &drawn) : TOOL_FAILED;
  free(path);
  fputs("<section id=\"best\">\n<h2>Best choices</h2>\n"
        "<p>The case of each matrix that converged in the least time of set-up and solve together, and the one after "
        "it.</p>\n",
        file);
  fputs("<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Best choices\">\n<table "
        "class=\"names\">\n<thead><tr>"
        "<th scope=\"col\" class=\"t\">matrix</th><th scope=\"col\">converged</th><th scope=\"col\" class=\"t\">best "
        "choice</th><th scope=\"col\">time</th><th scope=\"col\">iterations</th><th scope=\"col\" class=\"t\">runner-up"
        "</th><th scope=\"col\">time</th><th scope=\"col\">times the best</th></tr></thead>\n<tbody>\n",
        file);
  for (size_t m = 0; m < table->matrices; m++) print_choice(file, table, m);
  fputs("</tbody></table>\n</div>\n", file);
  if (drawn) {
    fputs("<div class=\"alone\" tabindex=\"0\">\n", file);
    compare_print_figure(
        file, "best",
        "For each matrix a bar from the fastest to the slowest case that converged, on a logarithmic "
        "axis of time; the table above has the best choices and the runner-ups.",
        "What choosing well is worth: each bar spans the times of all cases that converged, and the "
        "best choice is named at the right. Of a name with dots the table above has the whole. The axis is "
        "logarithmic.");
    fputs("</div>\n", file);
  } else
    fputs("<p class=\"hint\">There is no picture, for no matrix has two cases that converged.</p>\n", file);
  fputs("</section>\n", file);
  return status;
}

static void print_auto(FILE *file, const struct compare_auto *found)
{
  fputs("<section id=\"auto\">\n<h2>auto against the best fixed choice</h2>\n<p>The preconditioner that auto has "
        "chosen, and the fastest of the others on the same matrix, solver and device. A time is that of the first "
        "set-up and solve. ",
        file);
  compare_auto_sentence(file, found);
  fputs("</p>\n<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"auto against the best fixed choice\">\n"
        "<table class=\"names\">\n",
        file);
  compare_print_lines(file, &found->layout);
  fputs("</div>\n</section>\n", file);
}

static int print_profile(FILE *file, const struct compare_table *table, const char *folder)
{
  bool drawn = false;
  char *path = compare_picture_path(folder, "profile");
  const int status = path ? compare_draw_profile(table, path, &drawn) : TOOL_FAILED;
  free(path);
  fputs("<section id=\"profile\">\n<h2>Performance profile</h2>\n", file);
  if (drawn) {
    fputs("<div class=\"alone\" tabindex=\"0\">\n", file);
    compare_print_figure(file, "profile",
                         "Performance profile: the part of the matrices that each method solves within a factor of the "
                         "fastest time, for the best methods of this set.",
                         "The part of the matrices that a method solves within so many times the fastest method's "
                         "time. High at the left: often the fastest. High at the right: seldom fails. A matrix that "
                         "a method was not tried on counts as one that it did not solve; one that no method "
                         "solved is left out.");
    fputs("</div>\n", file);
  } else
    fputs("<p class=\"hint\">There is no picture, for it takes two matrices that were solved and two methods.</p>\n",
          file);
  fputs("</section>\n", file);
  return status;
}

static void print_failures(FILE *file, const struct compare_table *table)
{
  if (count_failures(table) == 0) return;
  fputs("<section id=\"failures\">\n<h2>Cases that did not converge</h2>\n"
        "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Cases that did not converge\">\n<table "
        "class=\"names\">\n"
        "<thead><tr><th scope=\"col\" class=\"t\">matrix</th><th scope=\"col\" class=\"t\">case</th>"
        "<th scope=\"col\" class=\"t\">outcome</th><th scope=\"col\" class=\"s\">what happened</th></tr></thead>\n"
        "<tbody>\n",
        file);
  for (size_t i = 0; i < table->rows; i++) {
    const struct compare_row *row = &table->row[i];
    char label[COMPARE_LABEL];
    if (!is_failure(row)) continue;
    compare_label(label, table, row, NULL);
    fprintf(file, "<tr id=\"case-%zu\"><th scope=\"row\" class=\"t\">", row->place + 1);
    compare_print_html(file, compare_short_name(table->matrix[row->matrix]));
    fputs("</th><td class=\"t\">", file);
    compare_print_html(file, label);
    fprintf(file, "</td><td class=\"t\">%s</td><td class=\"s\">", compare_outcome_word(row->outcome));
    compare_print_html(file, row->sentence);
    fputs("</td></tr>\n", file);
  }
  fputs("</tbody></table>\n</div>\n</section>\n", file);
}

static void print_reading(FILE *file)
{
  fputs(
      "<section id=\"reading\">\n<h2>How to read this page</h2>\n<dl>\n"
      "<dt>time</dt><dd>Wall time of set-up and solve. Reading the matrix and moving it to a device are not in it. "
      "Where a case was repeated, factorization and solve are medians, but with auto, whose updates may choose "
      "anew: its are the first.</dd>\n"
      "<dt>short times</dt><dd>Set-up is measured once, and the first use of threads, files and memory is in it: below "
      "some 20 ms cases that do the same may differ by several times. Repeat them, with one thread each.</dd>\n"
      "<dt>set-up</dt><dd>Ordering, symbolic analysis and factorization.</dd>\n"
      "<dt>update + solve</dt><dd>Factorization and solve with new values, the analysis being kept: medians of "
      "<code>--repeat</code>.</dd>\n"
      "<dt>speed-up</dt><dd>The time of the same case with the values of the baseline, over the time of this case. "
      "It is only given where both have converged.</dd>\n"
      "<dt>fill</dt><dd>The entries of the factors over those stored in the file, zeros that fill up blocks "
      "included.</dd>\n"
      "<dt>level sets</dt><dd>Of the lower and the upper factor: how many steps each sweep takes however many rows "
      "it does at once.</dd>\n"
      "<dt>residual</dt><dd>The true residual |b - A x| over |b|, computed from the solution; of several devices "
      "the largest.</dd>\n"
      "<dt>b, k</dt><dd>The block size, and the level of fill.</dd>\n"
      "</dl>\n</section>\n",
      file);
}

static int print_page(FILE *file, const struct compare_table *table, const char *folder)
{
  struct compare_auto found;
  int status = compare_auto_make(&found, table);
  print_head(file, table, found.layout.lines > 0);
  if (table->matrices > 0 && status == TOOL_GO_ON) status = print_best(file, table, folder);
  if (found.layout.lines > 0) print_auto(file, &found);
  compare_layout_free(&found.layout);
  if (table->matrices > 1 && status == TOOL_GO_ON) status = print_profile(file, table, folder);
  for (size_t m = 0; m < table->matrices && status == TOOL_GO_ON; m++)
    status = compare_write_section(file, table, m, folder);
  print_failures(file, table);
  print_reading(file);
  fputs("</main>\n</body>\n</html>\n", file);
  return status;
}

/* Writes the page into a nameless file, which takes its place when all pictures are there. */
static int write_page(const struct compare_table *table, const char *folder, const char *path)
{
  FILE *file = tmpfile();
  if (!file) return tool_fail(TOOL_FAILED, "a temporary file for the report cannot be made: %s", strerror(errno));
  int status = print_page(file, table, folder);
  if (status == TOOL_GO_ON && (fflush(file) != 0 || ferror(file)))
    status = tool_fail(TOOL_FAILED, "%s: the temporary file for the page cannot be written; is the disk full?", path);
  if (status == TOOL_GO_ON) status = tool_write_whole(file, path);
  fclose(file);
  return status;
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
