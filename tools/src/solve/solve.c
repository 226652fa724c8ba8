/* solve.c - the command solve: reads or generates A x = b, solves it, and reports what happened.
 *
 * Like a user's program, it calls only what karst.h declares. */
#include "tools/src/solve/effective.h"
#include "tools/src/common/grid_option.h"
#include "tools/src/solve/hint.h"
#include "tools/src/common/input.h"
#include "tools/src/common/load.h"
#include "tools/src/solve/solve_parts.h"
#include "tools/src/solve/solve_pictures.h"
#include "tools/src/solve/solve_ranks.h"
#include "tools/src/solve/solve_refusal.h"
#include "tools/src/solve/watch.h"

#include <stdlib.h>
#include <string.h>

/* The objects of one run; each is NULL until it is made. */
struct run {
  karst_context *context;
  karst_context *meeting; /* with --ranks, of what they must agree on before the context is one of them */
  karst_context *reader;  /* with --ranks, of what rank 0 has of the whole system */
  karst_matrix *A;
  karst_vector *own; /* the right-hand side that came with A */
  karst_vector *b, *x;
  karst_vector *exact; /* the solution that --exact compares with */
  karst_vector *whole; /* with --ranks, x of all ranks on rank 0, once something needs it */
  struct parts parts;
  char missing[REFUSAL_SIZE]; /* with --ranks, what a refusal of a missing diagonal block says on rank 0 */
  karst_solver *solver;
};

static void release(struct run *run)
{
  karst_solver_destroy(run->solver);
  karst_vector_destroy(run->exact);
  karst_vector_destroy(run->whole);
  parts_release(&run->parts);
  karst_vector_destroy(run->x);
  karst_vector_destroy(run->b);
  karst_vector_destroy(run->own);
  karst_matrix_destroy(run->A);
}

/* Makes a status that of all ranks; without --ranks it stays. */
static int agree(const struct run *run, const struct solve_settings *settings, int status)
{
  return settings->ranks ? ranks_agree(run->context, status) : status;
}

static bool is_root(const struct run *run) { return karst_context_rank(run->context) == 0; }

/* Threads that wait for a processor keep the others waiting. */
static void note_threads(const struct solve_settings *settings)
{
  char note[120];
  const int processors = karst_processors();
  if (settings->quiet || settings->threads <= processors) return;
  snprintf(note, sizeof note, "--threads %d is more than the %d processor%s available, which makes it slower",
           settings->threads, processors, processors == 1 ? "" : "s");
  tool_message(NULL, KARST_MESSAGE_NOTE, note);
}

/* With --ranks the context is one of them from then on. */
static int choose_device(struct run *run, const struct solve_settings *settings)
{
  if (settings->ranks) return ranks_join(run->context, settings->device);
  const karst_status status = karst_context_set_device(run->context, settings->device);
  if (!status) return TOOL_GO_ON;
  const int exit_status = tool_fail_library(run->context, status);
  return status == KARST_ERROR_NOT_BUILT ? TOOL_NO_DEVICE : exit_status;
}

/* Sets the number of threads, which by default is 1 for a rank and else tool_threads() if the library has threads. */
static int choose_threads(struct run *run, const struct solve_settings *settings)
{
  const int most = settings->ranks ? 1 : tool_threads();
  const karst_status status = karst_context_set_threads(run->context, settings->threads ? settings->threads : most);
  if (status) return settings->threads ? tool_fail_library(run->context, status) : TOOL_GO_ON;
  note_threads(settings);
  return TOOL_GO_ON;
}

static int read_system(struct run *run, struct watch *watch, struct solve_report *report)
{
  const struct solve_settings *settings = report->settings;
  double start = tool_clock();
  watch_phase(watch, "read");
  const char *path;
  struct tool_grid grid;
  int exit_status = tool_parse_grid(settings->grid, settings->actnum, &grid);
  if (exit_status == TOOL_GO_ON) exit_status = tool_input(settings->matrix, &path);
  if (exit_status == TOOL_GO_ON && settings->exact && !settings->ranks)
    exit_status = tool_load_exact(run->context, path, &run->exact);
  if (exit_status != TOOL_GO_ON) return exit_status;
  const struct tool_request request = {path, settings->block, settings->stored_triangle, settings->negate,
                                       settings->insert_diagonal};
  exit_status = tool_load(run->context, &request, &run->A, settings->rhs ? NULL : &run->own, &report->inserted);
  if (exit_status == TOOL_GO_ON) exit_status = tool_set_grid(run->context, &grid, settings->matrix, run->A);
  if (exit_status != TOOL_GO_ON) return exit_status;
  exit_status = solve_rhs(run->context, settings, run->A, run->own, &run->b, &report->rhs, &report->rhs_file);
  if (exit_status != TOOL_GO_ON) return exit_status;
  karst_status status = karst_vector_create(run->context, karst_matrix_rows(run->A), &run->x);
  if (!status) status = karst_matrix_get_grid(run->A, &report->grid);
  if (status) return tool_fail_library(run->context, status);
  report->time_read = tool_clock() - start;
  report->rows = karst_matrix_rows_unpadded(run->A);
  report->block = karst_matrix_block_size(run->A);
  report->entries = (int64_t)report->block * report->block * karst_matrix_blocks(run->A);
  report->file_entries = karst_matrix_entries(run->A);
  return TOOL_GO_ON;
}

/* Reads the whole system on rank 0, into its reader. */
static int read_whole(struct run *run, struct run *whole, struct watch *watch, struct solve_report *report)
{
  *whole = (struct run){.context = run->reader};
  return is_root(run) ? read_system(whole, watch, report) : TOOL_GO_ON;
}

/* Makes the reader. */
static int open_reader(struct run *run, const struct solve_settings *settings)
{
  if (karst_context_create(NULL, &run->reader)) return tool_fail_memory("the whole system");
  if (!settings->quiet) karst_context_set_message(run->reader, tool_message, NULL);
  return tool_set_duplicates(run->reader, settings->duplicates);
}

/* Makes this rank's part of the system. What the report names of the right-hand side stays. */
static int read_part(struct run *run, struct watch *watch, struct solve_report *report)
{
  struct parts_system made = {0};
  struct run whole = {0};
  const double start = tool_clock();
  watch_phase(watch, "read");
  report->ranks = karst_context_ranks(run->context);
  report->transport = karst_context_transport(run->context);
  report->rhs = report->rhs_file = "";
  double generates = parts_generates(report->settings);
  int status = ranks_agree(run->context, open_reader(run, report->settings));
  if (status == TOOL_GO_ON) status = ranks_broadcast(run->context, &generates);
  if (status == TOOL_GO_ON && generates != 0) {
    status = parts_generate(run->context, report, &run->own, &made);
  } else if (status == TOOL_GO_ON) {
    status = ranks_agree(run->context, read_whole(run, &whole, watch, report));
    if (status == TOOL_GO_ON) refusal_note_missing(run->reader, whole.A, report, run->missing);
    if (status == TOOL_GO_ON) status = parts_take(run->context, whole.A, whole.b, &made);
    run->own = whole.own;
    whole.own = NULL;
    release(&whole);
  }
  if (status == TOOL_GO_ON) status = parts_place(run->context, report, &made, &run->parts, &run->A, &run->b);
  parts_release_system(&made);
  if (status != TOOL_GO_ON) return status;
  const karst_status created = karst_vector_create(run->context, karst_vector_length(run->b), &run->x);
  report->time_read = tool_clock() - start;
  return ranks_agree(run->context, created ? tool_fail_library(run->context, created) : TOOL_GO_ON);
}

/* Makes x of all ranks known to rank 0. */
static int gather(struct run *run, const struct solve_settings *settings)
{
  if (!settings->ranks || !(settings->solution || settings->exact || settings->reference)) return TOOL_GO_ON;
  return parts_bring_home(run->context, &run->parts, run->x, &run->whole);
}

/* Sets the solver up. The options in effect are there afterwards, where that fails too. */
static int set_up(struct run *run, struct watch *watch, struct solve_report *report)
{
  const karst_options *options = report->settings->options;
  karst_status status = karst_solver_create(run->context, options, &run->solver);
  int exit_status = status ? tool_fail_library(run->context, status) : TOOL_GO_ON;
  if (!status) {
    if (watch_follows(watch)) karst_solver_monitor(run->solver, watch_iteration, watch);
    status = karst_solver_setup(run->solver, run->A);
    if (status) exit_status = refusal_report(run->context, status, run->A, run->missing, report);
  }
  const int made = tool_effective_options(run->context, options, status ? NULL : run->solver, &report->effective);
  return exit_status == TOOL_GO_ON ? made : exit_status;
}

/* Lets the result name a block row as the user knows it, and not as the ranks have divided the rows. */
static int name_row(struct run *run, struct solve_report *report)
{
  char here[64], rest[sizeof report->explanation];
  snprintf(here, sizeof here, "block row %lld", (long long)report->result.block_row);
  const int exit_status = parts_row_as_made(run->context, &run->parts, run->A, &report->result.block_row);
  char *place = strstr(report->explanation, here);
  if (exit_status != TOOL_GO_ON || !place) return exit_status;
  snprintf(rest, sizeof rest, "%s", place + strlen(here));
  snprintf(place, sizeof report->explanation - (size_t)(place - report->explanation), "block row %lld%s",
           (long long)report->result.block_row, rest);
  return exit_status;
}

static int solve_once(struct run *run, struct watch *watch, struct solve_report *report)
{
  watch_phase(watch, "solve");
  karst_status status = karst_solver_solve(run->solver, run->b, run->x, &report->result);
  if (!status) status = karst_solver_get_info(run->solver, &report->info);
  snprintf(report->explanation, sizeof report->explanation, "%s", karst_solver_explain(run->solver));
  if (status) return tool_fail_library(run->context, status);
  const int named = name_row(run, report);
  if (named != TOOL_GO_ON) return named;
  karst_options_destroy(report->effective);
  const int made = tool_effective_options(run->context, report->settings->options, run->solver, &report->effective);
  if (made != TOOL_GO_ON) return made;
  return tool_values_take(&report->values, run->solver) ? TOOL_GO_ON : tool_fail_memory("the report");
}

/* Says what to try after a solve that did not converge, or was slow. */
static void find_hint(struct run *run, struct solve_report *report)
{
  const struct hint_case solve = {.context = run->context,
                                  .given = report->settings->options,
                                  .options = report->effective,
                                  .A = run->A,
                                  .b = run->b,
                                  .result = &report->result,
                                  .singular = report->settings->reference && report->reference.singular,
                                  .regular = report->settings->reference && !report->reference.singular,
                                  .stored = report->settings->stored_triangle,
                                  .balanced = tool_value_number(&report->values, "cpr_balance_used", 0) > 0,
                                  .negated = report->settings->negate};
  const bool told = (report->settings->json || !report->settings->quiet) && !report->settings->ranks;
  if (told) hint_find(&solve, report->hint);
}

/* Computes max |x - u|, a NaN if one of the differences is. */
static int compare_exact(const struct run *run, const karst_vector *solution, struct solve_report *report)
{
  double *x, *u;
  int exit_status = tool_vector_to_host(run->context, solution, report->rows, &x);
  if (exit_status != TOOL_GO_ON) return exit_status;
  exit_status = tool_vector_to_host(run->context, run->exact, report->rows, &u);
  for (int64_t i = 0; exit_status == TOOL_GO_ON && i < report->rows; i++) {
    const double error = fabs(x[i] - u[i]);
    if (!(error <= report->max_error)) report->max_error = error;
    if (isnan(error)) break;
  }
  free(u);
  free(x);
  return exit_status;
}

/* Over ranks, rank 0 compares. */
static int measure_error(struct run *run, struct solve_report *report)
{
  if (!report->settings->ranks) return compare_exact(run, run->x, report);
  int status = TOOL_GO_ON;
  if (is_root(run)) status = tool_load_exact(run->reader, report->settings->matrix, &run->exact);
  if (is_root(run) && status == TOOL_GO_ON) status = compare_exact(run, run->whole, report);
  return ranks_agree(run->context, status);
}

/* Over ranks, rank 0 makes the whole system and solves it. */
static int solve_directly(struct run *run, struct watch *watch, struct solve_report *report)
{
  struct run whole;
  struct solve_report unused = {.settings = report->settings};
  watch_phase(watch, "reference");
  if (!report->settings->ranks) return reference_solve(run->context, run->A, run->b, run->x, &report->reference);
  int status = read_whole(run, &whole, watch, &unused);
  if (status == TOOL_GO_ON && is_root(run))
    status = reference_solve(run->reader, whole.A, whole.b, run->whole, &report->reference);
  release(&whole);
  return ranks_agree(run->context, status);
}

/* Repeats what a simulator does: new values, factorization and a solution from zero, in x; the report has the
 * solution of the first solve. factor and solve: [settings->repeat] seconds. The values are those of the first solve,
 * which value has, or NULL: the matrix has them as they are, over ranks. No repetition may end worse, except in a trial
 * of auto. It can end better, as some preconditioners start from their last factors. */
static int repeat(struct run *run, struct watch *watch, struct solve_report *report, const double *value,
                  karst_vector *x, double *factor, double *solve)
{
  karst_solver_info info = {0};
  karst_result result = {.reason = KARST_SOUND};
  const bool tries = tool_updates_choose(report->settings->options);
  for (int i = 0; i < report->settings->repeat; i++) {
    watch_phase(watch, "repeat");
    karst_status status = value ? karst_matrix_update_values(run->A, value) : karst_matrix_values_changed(run->A);
    if (!status) status = karst_solver_update(run->solver);
    if (!status) status = karst_vector_fill(x, 0);
    if (!status) status = karst_solver_solve(run->solver, run->b, x, &result);
    if (!status) status = karst_solver_get_info(run->solver, &info);
    if (status) return tool_fail_library(run->context, status);
    if (result.reason < 0 && report->result.reason > 0 && !tries)
      return tool_fail(TOOL_FAILED, "repetition %d ended differently from the first solve: %s", i + 1,
                       karst_solver_explain(run->solver));
    factor[i] = info.time_factor;
    solve[i] = info.time_solve;
  }
  karst_value *fallbacks = tool_value(&report->values, "fallbacks");
  if (fallbacks) fallbacks->number = tool_solver_number(run->solver, fallbacks->name, fallbacks->number);
  return TOOL_GO_ON;
}

static int solve_again(struct run *run, struct watch *watch, struct solve_report *report)
{
  const int times = report->settings->repeat;
  double *value = NULL, *seconds = malloc(2 * (size_t)times * sizeof *seconds);
  karst_vector *x = NULL;
  int exit_status = seconds ? TOOL_GO_ON : tool_fail_memory("the times of --repeat");
  if (exit_status == TOOL_GO_ON && !report->settings->ranks)
    exit_status = tool_matrix_to_host(run->context, run->A, &value);
  if (exit_status == TOOL_GO_ON) {
    const karst_status status = karst_vector_create(run->context, karst_vector_length(run->x), &x);
    if (status) exit_status = tool_fail_library(run->context, status);
  }
  exit_status = agree(run, report->settings, exit_status);
  if (exit_status == TOOL_GO_ON) exit_status = repeat(run, watch, report, value, x, seconds, seconds + times);
  if (exit_status == TOOL_GO_ON)
    report->repeat = (struct solve_repeat){tool_median(times, seconds), tool_median(times, seconds + times)};
  karst_vector_destroy(x);
  free(value);
  free(seconds);
  return exit_status;
}

/* Profiles the solver. An update of auto would try another choice than the one reported, so that a solver of the
 * options in effect takes its place. */
static int take_profile(struct run *run, struct watch *watch, struct solve_report *report)
{
  watch_phase(watch, "profile");
  if (tool_updates_choose(report->settings->options)) {
    karst_solver_destroy(run->solver);
    run->solver = NULL;
    karst_status status = karst_solver_create(run->context, report->effective, &run->solver);
    if (!status) status = karst_solver_setup(run->solver, run->A);
    if (status) return tool_fail_library(run->context, status);
  }
  return solve_take_profile(run->context, run->solver, run->b, &report->profile);
}

static int print_report(struct run *run, struct solve_report *report)
{
  report->device = karst_context_device(run->context);
  report->threads = karst_context_threads(run->context);
  if (report->settings->json) return solve_print_json(run->context, report);
  if (report->settings->quiet) return TOOL_GO_ON;
  solve_print_text(report);
  return report->settings->view ? solve_print_view(run->context, run->solver, report) : TOOL_GO_ON;
}

/* Keeps the first failure of what is written besides the report, which comes nevertheless. */
static void note_failure(struct solve_report *report, int status)
{
  if (report->failed == TOOL_GO_ON) report->failed = status;
}

/* Writes the files that show the solution and its way; over ranks, rank 0 does. */
static void write_files(struct run *run, const struct watch *watch, struct solve_report *report)
{
  const struct solve_settings *settings = report->settings;
  double norm = 0;
  const karst_status status = settings->plot ? karst_vector_norm(run->b, &norm) : KARST_SUCCESS;
  if (status) note_failure(report, tool_fail_library(run->context, status));
  if (!status && settings->plot && is_root(run)) note_failure(report, solve_plot(report, &watch->record, norm));
  if (settings->solution && is_root(run)) {
    const karst_vector *x = settings->ranks ? run->whole : run->x;
    note_failure(report, tool_write_vector(run->context, x, report->rows, settings->solution));
  }
  report->failed = agree(run, settings, report->failed);
}

/* Chooses the device and the threads. */
static int begin(struct run *run, const struct solve_settings *settings)
{
  const int status = choose_device(run, settings);
  return status == TOOL_GO_ON ? agree(run, settings, choose_threads(run, settings)) : status;
}

/* Solves, and does what follows from the solution before it is reported. */
static int solve_and_compare(struct run *run, struct watch *watch, struct solve_report *report)
{
  const struct solve_settings *settings = report->settings;
  int status = solve_once(run, watch, report);
  if (status == TOOL_GO_ON) status = watch_close_history(watch);
  status = agree(run, settings, status);
  if (status == TOOL_GO_ON) status = gather(run, settings);
  if (status == TOOL_GO_ON && settings->exact) status = measure_error(run, report);
  if (status == TOOL_GO_ON && settings->repeat) status = solve_again(run, watch, report);
  if (status == TOOL_GO_ON && settings->reference) status = solve_directly(run, watch, report);
  if (status == TOOL_GO_ON) find_hint(run, report);
  if (status == TOOL_GO_ON && settings->profile) status = take_profile(run, watch, report);
  return status;
}

static int solve(struct run *run, struct watch *watch, struct solve_report *report)
{
  const struct solve_settings *settings = report->settings;
  report->failed = TOOL_GO_ON;
  int status = begin(run, settings);
  if (status == TOOL_GO_ON) status = tool_set_duplicates(run->context, settings->duplicates);
  if (status == TOOL_GO_ON) status = settings->ranks ? read_part(run, watch, report) : read_system(run, watch, report);
  if (status == TOOL_GO_ON) status = agree(run, settings, set_up(run, watch, report));
  if (report->effective && settings->spy) {
    watch_phase(watch, "spy");
    note_failure(report, solve_spy(run->context, report, status == TOOL_GO_ON ? run->solver : NULL, run->A));
  }
  if (status == TOOL_GO_ON) status = solve_and_compare(run, watch, report);
  watch_erase(watch);
  if (status == TOOL_GO_ON) write_files(run, watch, report);
  if (status == TOOL_GO_ON) status = print_report(run, report);
  if (status == TOOL_GO_ON) status = report->failed;
  if (status == TOOL_GO_ON) status = report->result.reason > 0 ? TOOL_YES : TOOL_NO;
  return status;
}

/* Reads the options, and refuses what cannot be done before anything is made. Rank 0 alone looks at files. */
static int prepare(struct run *run, int argc, char *argv[], struct watch *watch, struct solve_settings *settings)
{
  const bool root = karst_context_rank(run->meeting) == 0;
  int status = solve_parse(run->context, argc, argv, settings);
  if (status == TOOL_GO_ON && settings->json) status = solve_check_json();
  if (status == TOOL_GO_ON && settings->exact && settings->rhs)
    status = tool_fail(TOOL_FAILED, "--exact needs the problem's own right-hand side, which --rhs replaces");
  if (status == TOOL_GO_ON && settings->reference) status = reference_check();
  if (status == TOOL_GO_ON && settings->ranks && karst_context_transport(run->meeting)[0] == '\0')
    status =
        tool_fail(TOOL_FAILED, "--ranks belongs on the command line, by its whole name, not in a file of --options");
  if (status == TOOL_GO_ON) status = ranks_check(settings);
  if (status == TOOL_GO_ON && root) status = solve_check_outputs(settings);
  if (status == TOOL_GO_ON) status = watch_open(watch, run->context, settings->quiet, root ? settings->history : NULL);
  return ranks_agree(run->meeting, status);
}

int main(int argc, char *argv[])
{
  struct run run = {0};
  struct watch watch = {0};
  struct solve_settings settings = {0};
  struct solve_report report = {.settings = &settings};
  tool_start(argv[0]);
  karst_status created = karst_context_create(NULL, &run.meeting);
  if (!created) created = karst_context_create(NULL, &run.context);
  if (created) return tool_fail(TOOL_FAILED, "%s", karst_status_text(created));
  int status = ranks_meet(run.meeting, argc, argv);
  if (status == TOOL_GO_ON) status = prepare(&run, argc, argv, &watch, &settings);
  watch.monitor = settings.monitor;
  watch.record.wanted = settings.plot != NULL;
  if (status == TOOL_GO_ON) status = solve(&run, &watch, &report);
  watch_erase(&watch);
  if (watch.history) watch_close_history(&watch);
  release(&run);
  tool_values_free(&report.values);
  karst_options_destroy(report.effective);
  karst_options_destroy(settings.options);
  karst_context_destroy(run.reader);
  karst_context_destroy(run.context);
  karst_context_destroy(run.meeting);
  return tool_finish(status);
}
