/* compare.c - the command compare: runs solve on matrices with all combinations of block sizes, options and devices,
 * and writes tables of what happened.
 *
 * Each case is a run of solve in a process of its own, so that one that crashes, hangs or takes all memory is a row
 * like any other. Its row is on the disk before the next case begins, so that an interrupted batch can be continued. */
#include "tools/src/compare/compare.h"
#include "tools/src/compare/report/compare_table.h"
#include "tools/src/peers/peers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Everything that a run of compare has made. */
struct batch {
  karst_context *context;
  struct compare_settings settings;
  struct compare_plan plan;
  struct compare_cases cases;
  struct compare_results results;
  struct compare_limits limits;
  char *solve, *baseline;
};

/* Removes the rows of cases that will run again. */
static void forget_rows(struct batch *batch)
{
  for (size_t i = 0; i < batch->cases.count; i++) {
    struct compare_case *one = &batch->cases.at[i];
    const char *outcome = json_string_value(json_object_get(one->row, "outcome"));
    if (!outcome || !batch->settings.is_retried[compare_find_outcome(outcome)]) continue;
    json_decref(one->row);
    one->row = NULL;
  }
}

static int run_cases(struct batch *batch)
{
  struct compare_progress progress;
  int status = compare_progress_begin(&progress, &batch->cases, batch->settings.quiet);
  for (size_t i = 0; i < batch->cases.count && status == TOOL_GO_ON; i++) {
    struct compare_case *one = &batch->cases.at[i];
    if (one->row) continue;
    status = compare_interrupted() ? TOOL_NO : TOOL_GO_ON;
    if (status == TOOL_GO_ON) compare_progress_start(&progress, i);
    if (status == TOOL_GO_ON)
      status = compare_run_case(batch->solve, one, &batch->limits, compare_progress_tick, &progress, &one->row);
    if (status == TOOL_GO_ON) status = compare_results_append(&batch->results, one->row);
    if (status == TOOL_GO_ON) compare_progress_done(&progress, i);
  }
  const size_t finished = progress.finished;
  compare_progress_end(&progress);
  if (status != TOOL_NO) return status;
  return tool_fail(TOOL_NO,
                   "interrupted after %zu of %zu cases, whose rows are in %s; the same command continues, and with "
                   "--tables-only it writes the tables of these rows",
                   finished, batch->cases.count, batch->settings.results);
}

static int list_cases(const struct batch *batch)
{
  for (size_t i = 0; i < batch->cases.count; i++) {
    const struct compare_case *one = &batch->cases.at[i];
    printf("%zu ", i + 1);
    compare_print_case(stdout, one);
    if (one->row) printf(": %s", json_string_value(json_object_get(one->row, "outcome")));
    printf("\n");
  }
  return TOOL_YES;
}

static int write_tables(const struct batch *batch)
{
  const struct compare_settings *settings = &batch->settings;
  const size_t count = batch->cases.count;
  struct compare_set set = {count, malloc((count + 1) * sizeof *set.line), batch->baseline};
  if (!set.line) return tool_fail_memory("the tables");
  for (size_t i = 0; i < count; i++) set.line[i] = batch->cases.at[i].row;
  int status = TOOL_GO_ON;
  if (settings->csv) status = compare_write_csv(&set, settings->csv);
  if (status == TOOL_GO_ON && settings->json) status = compare_write_json(&set, settings->json);
  if (status == TOOL_GO_ON && settings->markdown) status = compare_write_markdown(&set, settings->markdown);
  if (status == TOOL_GO_ON && settings->report) status = compare_write_report(&set, settings->report);
  free(set.line);
  return status == TOOL_GO_ON ? TOOL_YES : status;
}

/* Refuses tables in which every line would be empty. */
static int check_rows(const struct batch *batch)
{
  const size_t count = batch->cases.count;
  const char *results = batch->settings.results;
  char cases[64] = "this case";
  for (size_t i = 0; i < count; i++)
    if (batch->cases.at[i].row) return TOOL_GO_ON;
  if (count > 1) snprintf(cases, sizeof cases, "these %zu cases", count);
  if (access(results, F_OK) != 0)
    return tool_fail(TOOL_FAILED,
                     "%s: %s; run compare without --tables-only first, or name another file with --results", results,
                     strerror(errno));
  if (count == 0) return tool_fail(TOOL_FAILED, "%s has no rows yet; run compare without --tables-only first", results);
  return tool_fail(TOOL_FAILED,
                   "%s has no row of %s, perhaps because a matrix changed; --tables-only without a matrix or plan "
                   "takes all rows",
                   results, cases);
}

/* Makes the cases, and gives each the row that the results have for it. */
static int prepare(struct batch *batch)
{
  struct compare_settings *settings = &batch->settings;
  const bool runs = !settings->dry_run && !settings->tables_only;
  const bool all = settings->tables_only && !settings->plan && !json_object_get(batch->plan.line, "matrices");
  json_t *sets = NULL;
  int status = compare_settings_check(settings, &batch->limits);
  if (status == TOOL_GO_ON && !all) status = compare_plan_sets(&batch->plan, &sets);
  if (status == TOOL_GO_ON) status = compare_cases_create(&batch->plan, sets, &batch->cases);
  json_decref(sets);
  if (status == TOOL_GO_ON && !settings->dry_run && !all) status = compare_check_outputs(settings, &batch->cases);
  if (status == TOOL_GO_ON && runs) status = compare_find_solve(&batch->solve);
  if (status == TOOL_GO_ON && !settings->tables_only)
    status = compare_choose_baseline(&batch->plan, &batch->cases, settings->baseline, &batch->baseline);
  if (status == TOOL_GO_ON && runs) status = compare_results_open(&batch->results, settings->results);
  if (status == TOOL_GO_ON) status = compare_results_read(&batch->results, settings->results, &batch->cases, all);
  if (status == TOOL_GO_ON && runs) status = compare_results_repair(&batch->results);
  if (status == TOOL_GO_ON && settings->tables_only) status = check_rows(batch);
  if (status == TOOL_GO_ON && all) status = compare_check_outputs(settings, &batch->cases);
  if (status == TOOL_GO_ON && settings->tables_only)
    status = compare_choose_baseline(&batch->plan, &batch->cases, settings->baseline, &batch->baseline);
  if (status == TOOL_GO_ON) forget_rows(batch);
  return status;
}

static int compare(struct batch *batch, int argc, char *argv[])
{
  struct compare_settings *settings = &batch->settings;
  karst_status made = tool_peers_register(batch->context);
  if (made) return tool_fail_library(batch->context, made);
  int status = compare_plan_create(&batch->plan, batch->context);
  if (status == TOOL_GO_ON) status = compare_settings_parse(settings, &batch->plan, argc, argv);
  if (status == TOOL_GO_ON && settings->plan) status = compare_plan_read(&batch->plan, settings->plan, settings);
  if (status == TOOL_GO_ON) status = prepare(batch);
  if (status != TOOL_GO_ON) return status;
  if (settings->dry_run) return list_cases(batch);
  compare_catch_signals();
  if (!settings->tables_only) status = run_cases(batch);
  return status == TOOL_GO_ON ? write_tables(batch) : status;
}

int main(int argc, char *argv[])
{
  struct batch batch = {.results = {.file = -1}};
  tool_start(argv[0]);
  karst_status created = karst_context_create(NULL, &batch.context);
  if (created) return tool_fail(TOOL_FAILED, "%s", karst_status_text(created));
  const int status = compare(&batch, argc, argv);
  compare_results_close(&batch.results);
  compare_cases_free(&batch.cases);
  compare_plan_free(&batch.plan);
  free(batch.solve);
  free(batch.baseline);
  karst_context_destroy(batch.context);
  return tool_finish(status);
}
