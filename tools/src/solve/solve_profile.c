/* solve_profile.c - --profile: a factorization and a solve with each operation timed, beside the speed of a copy.
 *
 * This is one more solve, whose result is not reported, and the solver is not used after it. The copy is the library's
 * own of long vectors, with the threads and the device of the solve. */
#include "tools/src/solve/solve_profile.h"

#include "tools/src/common/kernels.h"
#include "tools/src/common/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PASSES = 7 };

/* Longer times come first. */
static int by_seconds(const void *a, const void *b)
{
  const struct solve_operation *x = a, *y = b;
  return (x->seconds < y->seconds) - (x->seconds > y->seconds);
}

/* The median of a few passes of as many copies that waiting for a GPU's queue takes little of their time. */
static karst_status time_copies(karst_context *context, const karst_vector *from, karst_vector *to, double *seconds)
{
  const int copies = karst_context_is_host(context) ? 1 : 8;
  double time[PASSES];
  karst_status status = karst_vector_copy(from, to);
  if (!status) status = karst_context_synchronize(context);
  for (int pass = 0; pass < PASSES && !status; pass++) {
    const double start = tool_clock();
    for (int i = 0; i < copies && !status; i++) status = karst_vector_copy(from, to);
    if (!status) status = karst_context_synchronize(context);
    time[pass] = (tool_clock() - start) / copies;
  }
  if (status) return status;
  *seconds = tool_median(PASSES, time);
  return KARST_SUCCESS;
}

/* Bytes per second, of vectors that no cache holds; 0 without memory for them. */
static int measure_copy(karst_context *context, double *bandwidth)
{
  const int64_t length = (int64_t)(karst_context_is_host(context) ? 128 : 256) << 17; /* MiB of doubles */
  karst_vector *from = NULL, *to = NULL;
  double seconds = 0;
  karst_status status = karst_vector_create(context, length, &from);
  if (!status) status = karst_vector_create(context, length, &to);
  if (!status) status = time_copies(context, from, to, &seconds);
  karst_vector_destroy(from);
  karst_vector_destroy(to);
  *bandwidth = seconds > 0 ? 2 * (double)length * sizeof(double) / seconds : 0;
  return status && status != KARST_ERROR_NO_MEMORY ? tool_fail_library(context, status) : TOOL_GO_ON;
}

static karst_status solve_profiled(karst_context *context, karst_solver *solver, const karst_vector *b, karst_vector *x,
                                   struct solve_profile *profile)
{
  karst_result result = {.iterations = 0};
  karst_status status = karst_context_profile(context, 1);
  if (status) return status;
  const double start = tool_clock();
  status = karst_solver_update(solver);
  if (!status) status = karst_context_synchronize(context);
  const double updated = tool_clock();
  if (!status) status = karst_solver_solve(solver, b, x, &result);
  profile->time_solve = tool_clock() - updated;
  profile->time_update = updated - start;
  profile->iterations = result.iterations;
  const karst_status stopped = karst_context_profile(context, 0);
  return status ? status : stopped;
}

static void take_rows(const karst_context *context, struct solve_profile *profile)
{
  karst_profile row;
  profile->count = 0;
  while (profile->count < SOLVE_OPERATIONS && karst_context_profile_row(context, (size_t)profile->count, &row)) {
    struct solve_operation *operation = &profile->operation[profile->count++];
    snprintf(operation->name, sizeof operation->name, "%s", row.name);
    operation->calls = row.calls;
    operation->seconds = row.seconds;
    operation->bytes = row.bytes;
  }
  qsort(profile->operation, (size_t)profile->count, sizeof *profile->operation, by_seconds);
}

/* Adds to the row of a kernel's name, whatever the sizes of its launches. */
static void add_kernel(struct solve_profile *profile, const tool_kernel *kernel)
{
  struct solve_operation *row = profile->kernel;
  char name[sizeof row->name];
  int i = 0;
  tool_kernel_name(kernel, name, sizeof name);
  while (i < profile->kernels && strcmp(row[i].name, name) != 0) i++;
  if (i == SOLVE_OPERATIONS) return;
  if (i == profile->kernels) {
    row[profile->kernels++] = (struct solve_operation){.calls = 0};
    memcpy(row[i].name, name, sizeof name);
  }
  row[i].calls += kernel->launches;
  row[i].seconds += kernel->seconds;
}

/* Recording slows kernels down, so that it has an update and a solve of its own. */
static karst_status take_kernels(karst_context *context, karst_solver *solver, const karst_vector *b, karst_vector *x,
                                 struct solve_profile *profile)
{
  const tool_kernel *kernel;
  karst_result result;
  profile->kernels = 0;
  if (karst_context_is_host(context) || !tool_kernels_start()) return KARST_SUCCESS;
  karst_status status = karst_vector_fill(x, 0);
  if (!status) status = karst_context_synchronize(context);
  tool_kernels_forget();
  if (!status) status = karst_solver_update(solver);
  if (!status) status = karst_solver_solve(solver, b, x, &result);
  if (!status) status = karst_context_synchronize(context);
  const int count = tool_kernels_stop(&kernel);
  for (int k = 0; k < count; k++) add_kernel(profile, &kernel[k]);
  qsort(profile->kernel, (size_t)profile->kernels, sizeof *profile->kernel, by_seconds);
  return status;
}

int solve_take_profile(karst_context *context, karst_solver *solver, const karst_vector *b,
                       struct solve_profile *profile)
{
  karst_vector *x;
  const int measured = measure_copy(context, &profile->copy);
  if (measured != TOOL_GO_ON) return measured;
  karst_solver_monitor(solver, NULL, NULL);
  karst_status status = karst_vector_create(context, karst_vector_length(b), &x);
  if (!status) status = solve_profiled(context, solver, b, x, profile);
  if (!status) take_rows(context, profile);
  if (!status) status = take_kernels(context, solver, b, x, profile);
  karst_vector_destroy(x);
  return status ? tool_fail_library(context, status) : TOOL_GO_ON;
}

double solve_bandwidth(const struct solve_operation *operation)
{
  return operation->bytes > 0 && operation->seconds > 0 ? operation->bytes / operation->seconds : NAN;
}

double solve_copy_share(const struct solve_profile *profile, const struct solve_operation *operation)
{
  return profile->copy > 0 ? solve_bandwidth(operation) / profile->copy : NAN;
}

static void print_kernels(const struct solve_profile *profile)
{
  double all = 0;
  for (int i = 0; i < profile->kernels; i++) all += profile->kernel[i].seconds;
  if (!(all > 0)) return;
  printf("%9s %10s %6s  kernel of the GPU, of the same update and solve once more\n", "launches", "ms", "time");
  for (int i = 0; i < profile->kernels; i++) {
    const struct solve_operation *kernel = &profile->kernel[i];
    printf("%9lld %10.3f %5.1f%%  ", kernel->calls, 1e3 * kernel->seconds, 100 * kernel->seconds / all);
    tool_print_safely(stdout, kernel->name);
    printf("\n");
  }
}

/* A few scalars take as long as the call does, and have no bandwidth to speak of. */
static bool is_long(const struct solve_operation *operation)
{
  return operation->bytes >= 4096 * (double)operation->calls;
}

void solve_print_profile(const struct solve_profile *profile, double undisturbed)
{
  const double all = profile->time_update + profile->time_solve, whole = all > 0 ? all : 1;
  double rest = all;
  printf("profile     once more, each operation timed: update %.3g s, solve %.3g s, %d iteration%s; %.3g s without\n",
         profile->time_update, profile->time_solve, profile->iterations, profile->iterations == 1 ? "" : "s",
         undisturbed);
  if (profile->copy > 0)
    printf("            a copy of a long vector reads and writes %.1f GB/s\n", 1e-9 * profile->copy);
  else
    printf("            not enough memory to measure the speed of a copy\n");
  printf("%9s %10s %6s %8s %7s  %s\n", "calls", "ms", "time", "GB/s", "of copy", "operation");
  for (int i = 0; i < profile->count; i++) {
    const struct solve_operation *operation = &profile->operation[i];
    printf("%9lld %10.3f %5.1f%%", operation->calls, 1e3 * operation->seconds, 100 * operation->seconds / whole);
    tool_print_number(9, 1, is_long(operation) ? 1e-9 * solve_bandwidth(operation) : NAN);
    tool_print_number(8, 2, is_long(operation) ? solve_copy_share(profile, operation) : NAN);
    printf("  ");
    tool_print_safely(stdout, operation->name);
    printf("\n");
    rest -= operation->seconds;
  }
  printf("%9s %10.3f %5.1f%% %8s %7s  between the operations\n", "", 1e3 * fmax(rest, 0), 100 * fmax(rest, 0) / whole,
         "", "");
  printf("            GB/s count what must move at least, each value once: in a cache, more than a copy's\n");
  print_kernels(profile);
}
