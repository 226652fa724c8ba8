/* solves.c - times whole solves side by side, each from the matrix to a true residual of --rtol |b|.
 *
 * The rows run in turn, a repetition of each, so that a drift of the machine's speed affects all of them equally. A
 * repetition makes a solver, sets it up, updates it, and solves twice from x = 0: the second solve has nothing left to
 * prepare. On a GPU the matrix, b and x are in device memory; the transfers of b and x between host and GPU are timed
 * separately. */
#include "tools/src/bench/solves/solves.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ITERATIONS = 10000 };

/* Makes and sets up a solver of a row, which the caller destroys. */
static karst_status set_up(const bench_solves *solves, const bench_row *row, karst_solver **solver)
{
  karst_context *context = row->place->context;
  karst_options *options;

  *solver = NULL;
  karst_status status = bench_row_solver_options(&solves->table, row, MAX_ITERATIONS, &options);
  if (!status) status = karst_solver_create(context, options, solver);
  karst_options_destroy(options);
  if (!status) status = karst_solver_setup(*solver, row->place->A);
  return status ? status : karst_context_synchronize(context);
}

static karst_status time_solve(const bench_place *place, karst_solver *solver, double *seconds, karst_result *result)
{
  karst_status status = karst_vector_fill(place->x, 0.0);
  if (!status) status = karst_context_synchronize(place->context);
  const double start = tool_clock();
  if (!status) status = karst_solver_solve(solver, place->b, place->x, result);
  *seconds = tool_clock() - start;
  return status;
}

static karst_status time_update(const bench_place *place, karst_solver *solver, double *seconds)
{
  const double start = tool_clock();
  karst_status status = karst_solver_update(solver);
  if (!status) status = karst_context_synchronize(place->context);
  *seconds = tool_clock() - start;
  return status;
}

/* Computes |b - A x| / |b|. */
static karst_status find_residual(const bench_place *place, double *residual)
{
  karst_vector *r = NULL;
  double norm = 0;

  karst_status status = karst_vector_create(place->context, karst_vector_length(place->b), &r);
  if (!status) status = karst_matrix_residual(place->A, place->b, place->x, r, residual);
  if (!status) status = karst_vector_norm(place->b, &norm);
  if (norm > 0) *residual /= norm;
  karst_vector_destroy(r);
  return status;
}

/* Times the way of b to the GPU and of x from it, through memory of the host as malloc gives it. */
static karst_status time_transfers(const bench_place *place, double value[BENCH_SOLVE_QUANTITIES])
{
  const int64_t length = karst_vector_length(place->b);
  double *host = malloc((size_t)length * sizeof *host);

  if (!host) return karst_context_fail(place->context, KARST_ERROR_NO_MEMORY, "no memory for b on the host");
  karst_status status = karst_vector_get(place->b, length, host);
  double start = tool_clock();
  if (!status) status = karst_vector_set(place->b, length, host);
  if (!status) status = karst_context_synchronize(place->context);
  value[BENCH_SOLVE_UPLOAD] = tool_clock() - start;
  start = tool_clock();
  if (!status) status = karst_vector_get(place->x, length, host);
  value[BENCH_SOLVE_DOWNLOAD] = tool_clock() - start;
  free(host);
  return status;
}

static karst_status time_row(const bench_solves *solves, bench_solve *solve, double value[BENCH_SOLVE_QUANTITIES])
{
  const bench_place *place = solve->row->place;
  karst_solver *solver;
  karst_solver_info info = {.time_order = NAN};
  karst_result result = {.reason = KARST_SOUND}, again;

  karst_status status = karst_context_set_threads(place->context, solve->row->processor->threads);
  if (status) return status;
  const double start = tool_clock();
  status = set_up(solves, solve->row, &solver);
  value[BENCH_SOLVE_SETUP] = tool_clock() - start;
  if (!status) status = karst_solver_get_info(solver, &info);
  value[BENCH_SOLVE_ORDER] = info.time_order;
  value[BENCH_SOLVE_SYMBOLIC] = info.time_symbolic;
  value[BENCH_SOLVE_FACTOR] = info.time_factor;
  if (!status) status = time_update(place, solver, &value[BENCH_SOLVE_UPDATE]);
  if (!status) status = time_solve(place, solver, &value[BENCH_SOLVE_SOLVE], &result);
  if (!status) status = time_solve(place, solver, &value[BENCH_SOLVE_AGAIN], &again);
  if (!status) status = find_residual(place, &value[BENCH_SOLVE_RESIDUAL]);
  if (!status && place->gpu) status = time_transfers(place, value);
  value[BENCH_SOLVE_ITERATIONS] = result.iterations;
  solve->outcome = karst_reason_text(result.reason);
  karst_solver_destroy(solver);
  return status;
}

/* Runs repetition r of each row in turn. On a GPU a repetition -1 comes first, which loads kernels. */
static void run_repetition(const bench_solves *solves, bench_solve *solve, int r,
                           double sample[BENCH_SOLVE_QUANTITIES][BENCH_REPEATS])
{
  double value[BENCH_SOLVE_QUANTITIES];

  if (!solve->sound || (r < 0 && (!solve->row || !solve->row->processor->gpu))) return;
  for (int q = 0; q < BENCH_SOLVE_QUANTITIES; q++) value[q] = NAN;
  if (solve->peer) {
    solve->sound = bench_peer_solve(solve->peer, value);
  } else if (time_row(solves, solve, value)) {
    solve->sound = false;
    fprintf(stderr, "%s: note: %s is left out: %s\n", tool_name(), solve->name,
            karst_context_error(solve->row->place->context));
  }
  for (int q = 0; q < BENCH_SOLVE_QUANTITIES && r >= 0; q++) sample[q][r] = value[q];
}

/* Fails where no row is left at the end. */
static int measure_solves(bench_solves *solves)
{
  int sound = 0;
  static double sample[BENCH_SOLVES][BENCH_SOLVE_QUANTITIES][BENCH_REPEATS];
  const bench_settings *settings = solves->table.settings;

  for (int r = settings->gpu ? -1 : 0; r < settings->repeat; r++)
    for (int s = 0; s < solves->count; s++) run_repetition(solves, &solves->solve[s], r, sample[s]);
  for (int s = 0; s < solves->count; s++) {
    sound += solves->solve[s].sound;
    for (int q = 0; q < BENCH_SOLVE_QUANTITIES; q++)
      solves->solve[s].value[q] = isnan(sample[s][q][0]) ? NAN : tool_median(settings->repeat, sample[s][q]);
  }
  return sound ? TOOL_GO_ON : tool_fail(TOOL_FAILED, "nothing was measured: each row is left out; the notes say why");
}

/* Makes the rows: Karst's, then the peers, which have started. */
static void add_rows(bench_solves *solves, bench_peer *const peer[BENCH_PEERS])
{
  solves->count = 0;
  for (int r = 0; r < solves->table.rows; r++) {
    const bench_row *row = &solves->table.row[r];
    solves->solve[solves->count++] = (bench_solve){.row = row, .name = row->name, .outcome = "", .sound = true};
  }
  for (int p = 0; p < solves->table.settings->peers; p++)
    solves->solve[solves->count++] =
        (bench_solve){.peer = peer[p], .name = bench_peer_name(peer[p]), .outcome = "", .sound = true};
}

static int profile_row(const bench_solves *solves, const bench_row *row)
{
  karst_context *context = row->place->context;
  karst_solver *solver = NULL;

  karst_status status = karst_context_set_threads(context, row->processor->threads);
  if (!status) status = set_up(solves, row, &solver);
  const int exit_status = status ? tool_fail_library(context, status) : bench_solves_profile(solves, row, solver);
  karst_solver_destroy(solver);
  return exit_status;
}

static int profile_rows(const bench_solves *solves)
{
  int exit_status = TOOL_GO_ON;

  for (int s = 0; s < solves->count && exit_status == TOOL_GO_ON; s++)
    if (solves->solve[s].sound && solves->solve[s].row && solves->solve[s].row->processor->gpu)
      exit_status = profile_row(solves, solves->solve[s].row);
  return exit_status;
}

static int measure_and_report(bench_solves *solves, bench_peer *const peer[BENCH_PEERS])
{
  add_rows(solves, peer);
  int exit_status = measure_solves(solves);
  if (exit_status != TOOL_GO_ON) return exit_status;
  if (solves->table.settings->json)
    bench_solves_report_json(solves);
  else
    bench_solves_report_table(solves);
  if (solves->table.settings->profile) exit_status = profile_rows(solves);
  fflush(stdout);
  return exit_status;
}

static int run_solves(karst_context *cpu, karst_context *gpu, const bench_settings *settings)
{
  static bench_solves solves;
  bench_peer *peer[BENCH_PEERS] = {NULL};
  const bench_case what = {
      .matrix = settings->matrix, .block = settings->block, .rtol = settings->rtol, .negate = settings->negate};
  int exit_status = TOOL_GO_ON;

  bench_keep_memory();
  for (int p = 0; p < settings->peers && exit_status == TOOL_GO_ON; p++) {
    peer[p] = bench_peer_start(settings->peer_program[p], &what, settings->peer_style[p]);
    if (!peer[p]) exit_status = TOOL_FAILED;
  }
  if (exit_status == TOOL_GO_ON) exit_status = bench_table_start(gpu, settings, &solves.table);
  solves.table.what = what;
  snprintf(solves.table.matrix, sizeof solves.table.matrix, "%s", settings->matrix);
  if (exit_status == TOOL_GO_ON) exit_status = bench_table_open(cpu, gpu, &solves.table);
  if (exit_status == TOOL_GO_ON) exit_status = measure_and_report(&solves, peer);
  bench_table_close(&solves.table);
  for (int p = 0; p < BENCH_PEERS; p++) bench_peer_stop(peer[p]);
  return exit_status == TOOL_GO_ON ? TOOL_YES : exit_status;
}

static bool with_solves(const bench_settings *settings) { return settings->solves && !settings->sequence; }

static int check(karst_context *context, bench_settings *settings)
{
  if (settings->rtol == 0) settings->rtol = 1e-6;
  return bench_solver_check(context, settings);
}

const struct bench_mode bench_solves_mode = {
    .is_asked_for = with_solves, .way_each_level = true, .check = check, .run = run_solves};
