/* bench_profile.c - lists the kernels of a solve on a GPU, as paper 004's Tables 5.1 and 5.2 do: the time of each, by
 * its name and its number of blocks, which tells one grid from the other.
 *
 * The list is that of a second solve with a solver, so that nothing is loaded in it. Recording slows the solve down, so
 * that its own time comes from the table before. */
#include "bench_solves.h"
#include "text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void print_kernel(const bench_kernel *kernel, double all, int iterations)
{
  printf("%11.3f %6.1f%% %8d %11.3f %11lld %8d  ", 1e3 * kernel->seconds, 100 * kernel->seconds / all, kernel->launches,
         1e6 * kernel->seconds / kernel->launches, kernel->blocks, kernel->threads);
  tool_print_safely(stdout, kernel->name);
  printf("%s\n", iterations > 0 && kernel->launches < iterations ? "  (not in each iteration)" : "");
}

static void print_json(const bench_solves *solves, const bench_row *row, const bench_kernel *kernel, int iterations)
{
  printf("{\"matrix\":");
  tool_print_json(stdout, solves->table.matrix);
  printf(",\"program\":");
  tool_print_json(stdout, row->name);
  printf(",\"kernel\":");
  tool_print_json(stdout, kernel->name);
  printf(",\"blocks\":%lld,\"threads\":%d,\"launches\":%d,\"seconds\":%.9g,\"iterations\":%d}\n", kernel->blocks,
         kernel->threads, kernel->launches, kernel->seconds, iterations);
}

static void print(const bench_solves *solves, const bench_row *row, int count, const bench_kernel *kernel,
                  int iterations)
{
  double all = 0;

  for (int k = 0; k < count; k++) all += kernel[k].seconds;
  if (solves->table.settings->json) {
    for (int k = 0; k < count; k++) print_json(solves, row, &kernel[k], iterations);
    return;
  }
  printf("\n%s: kernels of a solve of %d iterations, %.3f ms in all\n", row->name, iterations, 1e3 * all);
  printf("%11s %7s %8s %11s %11s %8s  %s\n", "ms", "share", "launches", "us each", "blocks", "threads", "kernel");
  for (int k = 0; k < count; k++) print_kernel(&kernel[k], all, iterations);
}

int bench_solves_profile(const bench_solves *solves, const bench_row *row)
{
  const bench_place *place = row->place;
  const bench_kernel *kernel;
  karst_solver *solver = NULL;
  karst_result result = {.iterations = 0};

  if (!bench_profile_start()) return TOOL_GO_ON;
  karst_status status = bench_solves_setup(solves, row, &solver);
  for (int i = 0; i < 2 && !status; i++) {
    status = karst_vector_fill(place->x, 0.0);
    if (!status) status = karst_context_synchronize(place->context);
    bench_profile_forget();
    if (!status) status = karst_solver_solve(solver, place->b, place->x, &result);
  }
  if (!status) status = karst_context_synchronize(place->context);
  const int count = bench_profile_stop(&kernel);
  karst_solver_destroy(solver);
  if (status) return tool_fail_library(place->context, status);
  print(solves, row, count, kernel, result.iterations);
  return TOOL_GO_ON;
}
