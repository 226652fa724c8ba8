/* profile.c - lists the kernels of a solve on a GPU, as paper 004's Tables 5.1 and 5.2 do: the time of each, by
 * its name and its number of blocks, which distinguishes the grids.
 *
 * The list is of a second solve, in which nothing is loaded any more. Recording slows the solve down; its undisturbed
 * time is in the table above. */
#include "tools/src/bench/solves/solves.h"
#include "tools/src/common/kernels.h"
#include "tools/src/common/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What a kernel of rrb must move, each value once: elements for each place of a group of nodes; those of factors can be
 * float. A kernel is recognised by its file and function, whose lengths and names are in its mangled name. */
typedef struct traffic {
  const char *file, *function, *name;
  double doubles, factors;
  int first; /* the grid of the launches with most blocks */
} traffic;

static const traffic known[] = {
    {"7_fine_cu", "7forwardI", "level 2 forward", 3, 4, 0},               /* r of b2, b1; b2 written */
    {"7_fine_cu", "8backwardI", "level 2 backward", 5, 5, 0},             /* b2; r of both; z of both written */
    {"11_multiply_cu", "8multiplyE", "product with S", 14, 0, 0},         /* 5 parts, x and y of both groups */
    {"8_pairs_cu", "7forwardI", "levels of a grid, forward", 6, 12, 1},   /* 4 groups; b1 and b2 written */
    {"8_pairs_cu", "8backwardI", "levels of a grid, backward", 8, 15, 1}, /* b2, b1, r1, r2; all four written */
};

static const traffic *find_traffic(const tool_kernel *kernel)
{
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (strstr(kernel->name, known[i].file) && strstr(kernel->name, known[i].function)) return &known[i];
  return NULL;
}

/* The grid of a launch: launches of the same kernel with more blocks are on finer grids. */
static int grid_of(int count, const tool_kernel *kernel, const tool_kernel *one)
{
  int grid = find_traffic(one)->first;

  for (int k = 0; k < count; k++)
    if (strcmp(kernel[k].name, one->name) == 0 && kernel[k].blocks > one->blocks) grid++;
  return grid;
}

/* The bytes that must move in a launch on grid m of the system's. */
static double bytes_of(const bench_solves *solves, const tool_kernel *kernel, int m)
{
  const traffic *moved = find_traffic(kernel);
  double places = 1;

  for (int axis = 0; axis < 3; axis++)
    if (solves->table.size[axis] > 1) places *= ceil(ldexp((double)solves->table.size[axis], -m - 1));
  return places * (8 * moved->doubles + (strstr(kernel->name, "wardIf") ? 4 : 8) * moved->factors);
}

static void print_kernel(const bench_solves *solves, const bench_row *row, int count, const tool_kernel *kernel,
                         const tool_kernel *one, double all)
{
  const traffic *moved = find_traffic(one);

  printf("%10.3f %6.1f%% %8d %10.3f %10lld", 1e3 * one->seconds, 100 * one->seconds / all, one->launches,
         1e6 * one->seconds / one->launches, one->blocks);
  if (moved) {
    const int grid = grid_of(count, kernel, one);
    const double rate = bytes_of(solves, one, grid) * one->launches / one->seconds;
    printf(" %9.0f %6.2f  %s, grid %d\n", 1e-9 * rate, rate / row->processor->copy, moved->name, grid);
    return;
  }
  printf(" %9s %6s  ", "-", "-");
  tool_print_safely(stdout, one->name);
  printf("\n");
}

static void print_json(const bench_solves *solves, const bench_row *row, int count, const tool_kernel *kernel,
                       const tool_kernel *one, int iterations)
{
  const bool moved = find_traffic(one) != NULL;
  const int grid = moved ? grid_of(count, kernel, one) : -1;

  printf("{\"matrix\":");
  tool_print_json(stdout, solves->table.matrix);
  tool_print_member("program", row->name);
  tool_print_member("kernel", one->name);
  printf(",\"grid\":%d,\"bytes\":%.0f,\"blocks\":%lld,\"threads\":%d,\"launches\":%d,\"seconds\":%.9g,"
         "\"iterations\":%d}\n",
         grid, moved ? bytes_of(solves, one, grid) : 0, one->blocks, one->threads, one->launches, one->seconds,
         iterations);
}

static void print(const bench_solves *solves, const bench_row *row, int count, const tool_kernel *kernel,
                  int iterations)
{
  const bool json = solves->table.settings->json;
  double all = 0;

  for (int k = 0; k < count; k++) all += kernel[k].seconds;
  if (!json) {
    printf("\n%s: kernels of a solve of %d iterations, %.3f ms in all; copy %.0f GB/s\n", row->name, iterations,
           1e3 * all, 1e-9 * row->processor->copy);
    printf("%10s %7s %8s %10s %10s %9s %6s  %s\n", "ms", "share", "launches", "us each", "blocks", "GB/s", "copy",
           "kernel");
  }
  for (int k = 0; k < count; k++) {
    if (json)
      print_json(solves, row, count, kernel, &kernel[k], iterations);
    else
      print_kernel(solves, row, count, kernel, &kernel[k], all);
  }
}

int bench_solves_profile(const bench_solves *solves, const bench_row *row, karst_solver *solver)
{
  const bench_place *place = row->place;
  const tool_kernel *kernel;
  karst_result result = {.iterations = 0};
  karst_status status = KARST_SUCCESS;

  if (!tool_kernels_start()) return TOOL_GO_ON;
  for (int i = 0; i < 2 && !status; i++) {
    status = karst_vector_fill(place->x, 0.0);
    if (!status) status = karst_context_synchronize(place->context);
    tool_kernels_forget();
    if (!status) status = karst_solver_solve(solver, place->b, place->x, &result);
  }
  if (!status) status = karst_context_synchronize(place->context);
  const int count = tool_kernels_stop(&kernel);
  if (status) return tool_fail_library(place->context, status);
  print(solves, row, count, kernel, result.iterations);
  return TOOL_GO_ON;
}
