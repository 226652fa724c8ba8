/* compare.c - the command compare: runs solve on matrices with all combinations of block sizes, options and devices,
 * and writes tables of what happened.
 *
 * Each case is a run of solve in a process of its own, so that one that crashes, hangs or takes all memory is a row
 * like any other. Its row is on the disk before the next case begins: a batch that was interrupted goes on where it
 * was. */
#include "compare.h"
#include "compare_table.h"
#include "cusparse.h"
#include "output.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Everything that a run of compare has made. */
struct batch {
  karst_context *context;
  karst_options *options; /* for --help */
  struct compare_settings settings;
  struct compare_plan plan;
  struct compare_cases cases;
  struct compare_results results;
  struct compare_limits limits;
  char *solve, *baseline;
};

/* Values of one text that are given to the plan behind the options of the library. */
struct single {
  const char *block, *device, *threads, *rhs, *grid, *repeat;
  bool negate, insert_diagonal, stored_triangle;
};

static int take_option(void *user, const char *name, const char *value)
{
  struct batch *batch = user;
  return compare_take(&batch->plan, name, value);
}

static int take_singles(struct compare_plan *plan, const struct single *single)
{
  const struct {
    const char *name, *value;
  } given[] = {{"block", single->block},
               {"device", single->device},
               {"threads", single->threads},
               {"rhs", single->rhs},
               {"grid", single->grid},
               {"repeat", single->repeat},
               {"negate", single->negate ? "yes" : NULL},
               {"insert-diagonal", single->insert_diagonal ? "yes" : NULL},
               {"stored-triangle", single->stored_triangle ? "yes" : NULL}};
  int status = TOOL_GO_ON;
  for (size_t i = 0; i < sizeof given / sizeof given[0] && status == TOOL_GO_ON; i++)
    if (given[i].value) status = compare_take(plan, given[i].name, given[i].value);
  return status;
}

static int parse(struct batch *batch, int argc, char *argv[])
{
  struct compare_settings *settings = &batch->settings;
  struct single single = {0};
  int operands = 0;
  const char **matrices = malloc((size_t)argc * sizeof *matrices);
  if (!matrices) return tool_fail_memory("the arguments");
  const struct tool_option options[] = {
      {{"block", "B,...", "what the file's header says, else 1", "block sizes"}, TOOL_TEXT, {.text = &single.block}},
      {{"device", "cpu|cuda|cuda:N,...", "cpu", "where to compute"}, TOOL_TEXT, {.text = &single.device}},
      {{"threads", "T,...", "processors it may use", "threads of the CPU"}, TOOL_TEXT, {.text = &single.threads}},
      {{"rhs", "FILE|ones|Aones|random[:SEED]", "what came with the matrix, else ones", "right-hand side"},
       TOOL_TEXT,
       {.text = &single.rhs}},
      {{"grid", "NXxNYxNZ|find", "what came with the matrix", "cells along each axis, or find them"},
       TOOL_TEXT,
       {.text = &single.grid}},
      {{"negate", "", "", "multiply the matrices by -1"}, TOOL_SWITCH, {.flag = &single.negate}},
      {{"insert-diagonal", "", "", "add missing diagonal blocks as zeros"},
       TOOL_SWITCH,
       {.flag = &single.insert_diagonal}},
      {{"stored-triangle", "", "", "take the stored triangle of a symmetric file as the whole matrix"},
       TOOL_SWITCH,
       {.flag = &single.stored_triangle}},
      {{"repeat", "N", "", "then N times: new values, factor, solve; the median times"},
       TOOL_TEXT,
       {.text = &single.repeat}},
      {{"plan", "FILE.json", "", "an object with these names and values, and more such objects in its array cases"},
       TOOL_TEXT,
       {.text = &settings->plan}},
      {{"results", "FILE", "compare.jsonl", "a line for each case that has ended; those in it are not run again"},
       TOOL_TEXT,
       {.text = &settings->results}},
      {{"retry", "OUTCOME,...", "", "run again cases that are crashed, failed, no-device, out-of-time, out-of-memory"},
       TOOL_TEXT,
       {.text = &settings->retry}},
      {{"time-limit", "S", "600", "seconds for a case"}, TOOL_TEXT, {.text = &settings->time_limit}},
      {{"memory-limit", "SIZE", "what the machine has free", "resident memory for a case, as 500M or 4G"},
       TOOL_TEXT,
       {.text = &settings->memory_limit}},
      {{"csv", "FILE", "", "write a table with a line for each case; - is standard output, here and below"},
       TOOL_TEXT,
       {.text = &settings->csv}},
      {{"markdown", "FILE", "- if nothing else is asked for", "write tables for readers"},
       TOOL_TEXT,
       {.text = &settings->markdown}},
      {{"json", "FILE", "", "write the rows as one object"}, TOOL_TEXT, {.text = &settings->json}},
      {{"report", "DIR", "", "write a page of HTML with pictures"}, TOOL_TEXT, {.text = &settings->report}},
      {{"baseline", "NAME=VALUE,...", "device=cpu where there are more",
        "speed-up against the case that is equal but for these"},
       TOOL_TEXT,
       {.text = &settings->baseline}},
      {{"dry-run", "", "", "list the cases, and which have a row, and run none"},
       TOOL_SWITCH,
       {.flag = &settings->dry_run}},
      {{"tables-only", "", "", "run none; without a matrix or plan the tables are of all rows of the results"},
       TOOL_SWITCH,
       {.flag = &settings->tables_only}},
      {{"quiet", "", "", "show no progress"}, TOOL_SWITCH, {.flag = &settings->quiet}},
      {.info = {.name = NULL}},
  };
  const struct tool_command command = {
      .about = "Solves with all combinations of the matrices and of the values given, and writes tables. MATRIX\n"
               "is a file, a folder of files, or NAME:SIZES from the gallery. Each option of solve below takes\n"
               "a list a,b,c of values, and where it takes integers a range 0..3 too. An option that makes no\n"
               "difference to a case is not multiplied. Each case runs in a process of its own: solve beside\n"
               "compare, or what KARST_SOLVE in the environment names.",
      .operand_names = "MATRIX...",
      .operand_count = argc,
      .operand = matrices,
      .operands_given = &operands,
      .options = options,
      .library_options = batch->options,
      .take = take_option,
      .user = batch,
      .gallery = true,
      .exit_statuses =
          "exit status: 0 each case has a row, whatever it says, 1 interrupted before that, 2 bad input or\n"
          "usage",
  };
  int status = tool_parse(batch->context, &command, argc, argv);
  if (status == TOOL_GO_ON) status = take_singles(&batch->plan, &single);
  for (int i = 0; i < operands && status == TOOL_GO_ON; i++)
    status = compare_take(&batch->plan, "matrices", matrices[i]);
  if (status == TOOL_GO_ON && settings->plan) status = compare_plan_read(&batch->plan, settings->plan, settings);
  free(matrices);
  return status;
}

static int read_limits(struct batch *batch)
{
  const struct compare_settings *settings = &batch->settings;
  batch->limits = (struct compare_limits){600, 0};
  if (settings->time_limit &&
      (!tool_real(settings->time_limit, &batch->limits.seconds) || !(batch->limits.seconds > 0)))
    return tool_fail(TOOL_FAILED, "--time-limit takes a number of seconds above 0, not '%s'", settings->time_limit);
  if (settings->memory_limit && !compare_read_size(settings->memory_limit, &batch->limits.memory))
    return tool_fail(TOOL_FAILED, "--memory-limit takes a size such as 500M or 4G, not '%s'", settings->memory_limit);
  if (!settings->memory_limit) batch->limits.memory = compare_memory_free();
  return TOOL_GO_ON;
}

/* Whether a list of outcomes, with '-' or ' ' between words, has this one; *known: whether all of it are outcomes. */
static bool is_listed(const char *list, const char *outcome, bool *known)
{
  bool listed = false;
  *known = true;
  for (const char *part = list; part; part = strchr(part, ',') ? strchr(part, ',') + 1 : NULL) {
    bool found = false;
    for (size_t i = 0; compare_outcome(i); i++) {
      const char *a = part, *b = compare_outcome(i);
      while (*b && (*a == *b || (*b == ' ' && *a == '-'))) a++, b++;
      if (*b || (*a && *a != ',')) continue;
      found = true;
      listed |= outcome && strcmp(outcome, compare_outcome(i)) == 0;
    }
    *known &= found;
  }
  return listed;
}

static int check_retry(const struct batch *batch)
{
  bool known = true;
  is_listed(batch->settings.retry, NULL, &known);
  if (known) return TOOL_GO_ON;
  return tool_fail(TOOL_FAILED,
                   "--retry takes outcomes, not '%s': converged, not-converged, failed, no-device, crashed, "
                   "out-of-time, out-of-memory",
                   batch->settings.retry);
}

/* Takes away the rows of cases that are to be run again. */
static void forget_rows(struct batch *batch)
{
  bool known;
  for (size_t i = 0; i < batch->cases.count; i++) {
    struct compare_case *one = &batch->cases.at[i];
    const char *outcome = json_string_value(json_object_get(one->row, "outcome"));
    if (!outcome || !is_listed(batch->settings.retry, outcome, &known)) continue;
    json_decref(one->row);
    one->row = NULL;
  }
}

/* The names of a baseline as the cases have them. Where none is given and there are several devices it is the CPU. */
static int choose_baseline(struct batch *batch)
{
  const char *given = batch->settings.baseline;
  struct compare_name name;
  bool cpu = false, other = false;
  for (size_t i = 0; i < batch->cases.count && !given; i++) {
    const char *device = json_string_value(json_object_get(batch->cases.at[i].what, "device"));
    const bool is_cpu = device && strcmp(device, "cpu") == 0;
    cpu |= is_cpu;
    other |= !is_cpu;
  }
  if (!given && !(cpu && other)) return TOOL_GO_ON;
  batch->baseline = strdup(given ? given : "device=cpu");
  if (!batch->baseline) return tool_fail_memory("the baseline");
  for (char *part = batch->baseline; part; part = strchr(part, ',') ? strchr(part, ',') + 1 : NULL) {
    const size_t length = strcspn(part, "=,");
    char text[sizeof name.name] = "";
    if (length < sizeof text) memcpy(text, part, length);
    if (part[length] != '=' || !part[length + 1] || part[length + 1] == ',' ||
        !compare_find_name(&batch->plan, text, &name) || strcmp(name.name, "matrices") == 0)
      return tool_fail(TOOL_FAILED,
                       "--baseline takes NAME=VALUE,... with names of block, device, threads and the options of the "
                       "library, not '%s'",
                       batch->settings.baseline);
    for (size_t i = 0; i < length; i++)
      if (part[i] == '_') part[i] = '-';
  }
  return TOOL_GO_ON;
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
                   "interrupted after %zu of %zu cases; the same command goes on from there, with the rows in %s",
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

/* Makes the cases, and gives each the row that the results have for it. */
static int prepare(struct batch *batch)
{
  struct compare_settings *settings = &batch->settings;
  const bool runs = !settings->dry_run && !settings->tables_only;
  const bool all = settings->tables_only && !settings->plan && !json_object_get(batch->plan.line, "matrices");
  json_t *sets = NULL;
  if (!settings->results) settings->results = "compare.jsonl";
  if (settings->dry_run && settings->tables_only)
    return tool_fail(TOOL_FAILED, "--dry-run and --tables-only exclude each other");
  int status = read_limits(batch);
  if (status == TOOL_GO_ON) status = check_retry(batch);
  if (status == TOOL_GO_ON && !all) status = compare_plan_sets(&batch->plan, &sets);
  if (status == TOOL_GO_ON) status = compare_cases_create(&batch->plan, sets, &batch->cases);
  json_decref(sets);
  if (!settings->csv && !settings->markdown && !settings->json) settings->markdown = "-";
  if (status == TOOL_GO_ON && !settings->dry_run && !all) status = compare_check_outputs(settings, &batch->cases);
  if (status == TOOL_GO_ON && !all) status = choose_baseline(batch);
  if (status == TOOL_GO_ON && runs) status = compare_find_solve(&batch->solve);
  if (status == TOOL_GO_ON && runs) status = compare_results_open(&batch->results, settings->results);
  if (status == TOOL_GO_ON) status = compare_results_read(&batch->results, settings->results, &batch->cases, all);
  if (status == TOOL_GO_ON && runs) status = compare_results_mend(&batch->results);
  if (status == TOOL_GO_ON && all) status = compare_check_outputs(settings, &batch->cases);
  if (status == TOOL_GO_ON && all) status = choose_baseline(batch);
  if (status == TOOL_GO_ON) forget_rows(batch);
  return status;
}

static int compare(struct batch *batch, int argc, char *argv[])
{
  karst_status made = tool_cusparse_register(batch->context);
  if (!made) made = karst_options_create(batch->context, &batch->options);
  if (made) return tool_fail_library(batch->context, made);
  int status = compare_plan_create(&batch->plan, batch->context);
  if (status == TOOL_GO_ON) status = parse(batch, argc, argv);
  if (status == TOOL_GO_ON) status = prepare(batch);
  if (status != TOOL_GO_ON) return status;
  if (batch->settings.dry_run) return list_cases(batch);
  compare_catch_signals();
  if (!batch->settings.tables_only) status = run_cases(batch);
  return status == TOOL_GO_ON ? write_tables(batch) : status;
}

/* Standard streams that are closed must not become the pipes of a case. Writing to these is an error still. */
static void open_streams(void)
{
  int file;
  while ((file = open("/dev/null", O_RDONLY)) >= 0 && file <= STDERR_FILENO) {}
  if (file > STDERR_FILENO) close(file);
}

int main(int argc, char *argv[])
{
  struct batch batch = {.results = {.file = -1}};
  open_streams();
  tool_start(argv[0]);
  karst_status created = karst_context_create(NULL, &batch.context);
  if (created) return tool_fail(TOOL_FAILED, "%s", karst_status_text(created));
  const int status = compare(&batch, argc, argv);
  compare_results_close(&batch.results);
  compare_cases_free(&batch.cases);
  compare_plan_free(&batch.plan);
  free(batch.solve);
  free(batch.baseline);
  karst_options_destroy(batch.options);
  karst_context_destroy(batch.context);
  return tool_finish(status);
}
