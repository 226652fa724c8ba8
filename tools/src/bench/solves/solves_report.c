/* solves_report.c - prints whole solves side by side, as a table or as lines of JSON. */
#include "tools/src/bench/solves/solves.h"
#include "tools/src/common/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Prints seconds as milliseconds. */
static void print_time(double seconds) { tool_print_number(12, 3, 1e3 * seconds); }

static double total(const bench_solve *solve)
{
  return solve->value[BENCH_SOLVE_SETUP] + solve->value[BENCH_SOLVE_SOLVE];
}

/* How many times as fast as the first row a row is, in its second solve if it has one, else in the only one. */
static double speedup(const bench_solves *solves, const bench_solve *solve)
{
  double seconds[2];
  const bench_solve *const both[2] = {&solves->solve[0], solve};

  for (int i = 0; i < 2; i++) {
    const double again = both[i]->value[BENCH_SOLVE_AGAIN];
    seconds[i] = isnan(again) ? both[i]->value[BENCH_SOLVE_SOLVE] : again;
  }
  return solves->solve[0].sound ? seconds[0] / seconds[1] : NAN;
}

static void print_row(const bench_solves *solves, const bench_solve *solve)
{
  const double *value = solve->value, ratio = speedup(solves, solve);

  printf("%-44s %6.0f", solve->name, value[BENCH_SOLVE_ITERATIONS]);
  print_time(value[BENCH_SOLVE_SETUP]);
  print_time(value[BENCH_SOLVE_UPDATE]);
  print_time(value[BENCH_SOLVE_SOLVE]);
  print_time(value[BENCH_SOLVE_AGAIN]);
  print_time(total(solve));
  print_time(value[BENCH_SOLVE_UPLOAD]);
  print_time(value[BENCH_SOLVE_DOWNLOAD]);
  tool_print_number(9, 2, ratio);
  printf("  %.1e%s%s\n", value[BENCH_SOLVE_RESIDUAL], solve->outcome[0] ? "  " : "", solve->outcome);
}

/* Prints the parts of Karst's set-ups where they differ by an order. */
static void print_phases(const bench_solves *solves)
{
  printf("%-44s %6s %11s %11s %11s %11s\n", "milliseconds of set-up", "", "order", "symbolic", "factor", "rest");
  for (int s = 0; s < solves->count; s++) {
    const bench_solve *solve = &solves->solve[s];
    const double *value = solve->value;
    if (!solve->sound || !solve->row) continue;
    printf("%-44s %6s", solve->name, "");
    print_time(value[BENCH_SOLVE_ORDER]);
    print_time(value[BENCH_SOLVE_SYMBOLIC]);
    print_time(value[BENCH_SOLVE_FACTOR]);
    print_time(value[BENCH_SOLVE_SETUP] - value[BENCH_SOLVE_ORDER] - value[BENCH_SOLVE_SYMBOLIC] -
               value[BENCH_SOLVE_FACTOR]);
    printf("\n");
  }
}

void bench_solves_report_table(const bench_solves *solves)
{
  const bench_settings *settings = solves->table.settings;

  printf("%s: %.0f rows, %.0f blocks of %d; %s to a residual of %g; median of %d\n", settings->matrix,
         solves->table.cells * solves->table.block_size, solves->table.blocks, solves->table.block_size,
         settings->solves, settings->rtol, settings->repeat);
  printf("%-44s %6s %11s %11s %11s %11s %11s %11s %11s %8s  %s\n", "milliseconds", "its", "set-up", "update", "solve",
         "again", "in all", "b to GPU", "x to host", "speed-up", "residual");
  for (int s = 0; s < solves->count; s++)
    if (solves->solve[s].sound) print_row(solves, &solves->solve[s]);
  printf("in all: set-up and the first solve; speed-up: of a further solve, over the first row\n");
  if (settings->ordering) print_phases(solves);
}

static void json_row(const bench_solves *solves, const bench_solve *solve)
{
  static const char *const name[BENCH_SOLVE_QUANTITIES] = {"setup",    "update",   "solve",  "iterations",
                                                           "residual", "again",    "upload", "download",
                                                           "order",    "symbolic", "factor"};

  printf("{\"matrix\":");
  tool_print_json(stdout, solves->table.matrix);
  printf(",\"rows\":%.0f,\"blocks\":%.0f,\"block\":%d", solves->table.cells * solves->table.block_size,
         solves->table.blocks, solves->table.block_size);
  tool_print_member("program", solve->name);
  tool_print_member("solver", solve->row ? solves->table.settings->solves : "cg");
  tool_print_member("device",
                    solve->row && solve->row->processor->gpu ? karst_context_device(solves->table.gpu.context) : "cpu");
  printf(",\"threads\":%d,\"repeat\":%d", solve->row ? solve->row->processor->threads : 1,
         solves->table.settings->repeat);
  tool_print_number_member("copy_bandwidth", solve->row ? solve->row->processor->copy : NAN);
  tool_print_number_member("rtol", solves->table.settings->rtol);
  tool_print_member("outcome", solve->outcome);
  for (int q = 0; q < BENCH_SOLVE_QUANTITIES; q++) tool_print_number_member(name[q], solve->value[q]);
  tool_print_number_member("total", total(solve));
  tool_print_number_member("speedup", speedup(solves, solve));
  printf("}\n");
}

void bench_solves_report_json(const bench_solves *solves)
{
  for (int s = 0; s < solves->count; s++)
    if (solves->solve[s].sound) json_row(solves, &solves->solve[s]);
}
