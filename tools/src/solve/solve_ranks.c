/* solve_ranks.c - see solve_ranks.h. libkarst_mpi is opened only with --ranks, so that solve needs no MPI. */
#include "tools/src/solve/solve_ranks.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if KARST_INDEX_BITS == 64
#define LIBRARY "libkarst_mpi-int64.so.0"
#else
#define LIBRARY "libkarst_mpi.so.0"
#endif

/* Where the library is installed. */
#ifndef KARST_LIBDIR
#define KARST_LIBDIR "/usr/local/lib"
#endif

int ranks_check(const struct solve_settings *settings)
{
  if (settings->partition && !settings->ranks)
    return tool_fail(TOOL_FAILED, "--partition divides a system over the processes of mpiexec: it needs --ranks");
  if (settings->spy && settings->ranks)
    return tool_fail(TOOL_FAILED, "--spy draws the whole pattern from one process: it cannot be used with --ranks");
  return TOOL_GO_ON;
}

/* Makes the context one of the ranks. The error that it reports is the same on all. */
static int join(karst_context *context, const char *device)
{
  karst_status (*world)(karst_context *, const char *) = NULL;
  /* MPI looks for its own parts among the symbols of all libraries. */
  void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_GLOBAL);
  if (!library) library = dlopen(KARST_LIBDIR "/" LIBRARY, RTLD_NOW | RTLD_GLOBAL);
  void *function = library ? dlsym(library, "karst_mpi_world") : NULL;
  if (!function)
    return tool_fail(TOOL_FAILED, "--ranks needs the library %s, which configure --with-mpi makes: %s", LIBRARY,
                     dlerror());
  memcpy(&world, &function, sizeof world);
  const karst_status status = world(context, device);
  if (!status) return TOOL_GO_ON;
  const int exit_status = tool_fail_library(context, status);
  return status == KARST_ERROR_NOT_BUILT ? TOOL_NO_DEVICE : exit_status;
}

int ranks_meet(karst_context *meeting, int argc, char *argv[])
{
  bool wanted = false;
  for (int i = 1; i < argc; i++) wanted |= strcmp(argv[i], "--ranks") == 0;
  const int exit_status = wanted ? join(meeting, "cpu") : TOOL_GO_ON;
  if (karst_context_rank(meeting) > 0 && (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr)))
    abort();
  return exit_status;
}

int ranks_join(karst_context *context, const char *device) { return join(context, device); }

int ranks_agree(karst_context *context, int status)
{
  const karst_status code = status == TOOL_NO_DEVICE ? KARST_ERROR_NO_DEVICE : KARST_ERROR_ARGUMENT;
  const karst_status own = status == TOOL_GO_ON ? KARST_SUCCESS : karst_context_fail(context, code, tool_sentence());
  const karst_status agreed = karst_context_agree(context, own);
  return status == TOOL_GO_ON && agreed ? tool_fail_library(context, agreed) : status;
}

/* Each rank has one block row of so many scalars, which moves to rank 0 or back. */
static karst_status move_row(karst_context *context, bool back, int count, const double *from, double *to)
{
  const int zero = 0, ranks = karst_context_ranks(context),
            there = karst_context_rank(context) == 0 ? ranks * count : 0;
  karst_redistribution *redistribution = NULL;
  karst_vector *own = NULL, *all = NULL;
  karst_status status = karst_vector_create(context, count, &own);
  if (!status) status = karst_vector_create(context, there, &all);
  if (!status) status = karst_vector_set(back ? all : own, back ? there : count, from);
  status = karst_context_agree(context, status);
  if (!status) status = karst_redistribution_create(context, 1, &zero, &redistribution);
  if (!status)
    status = back ? karst_redistribution_vector_back(redistribution, all, own)
                  : karst_redistribution_vector(redistribution, own, all);
  if (!status) status = karst_vector_get(back ? own : all, back ? count : there, to);
  karst_redistribution_destroy(redistribution);
  karst_vector_destroy(own);
  karst_vector_destroy(all);
  return status;
}

int ranks_collect(karst_context *context, int count, const double *own, double *all)
{
  const karst_status status = move_row(context, false, count, own, all);
  return ranks_agree(context, status ? tool_fail_library(context, status) : TOOL_GO_ON);
}

int ranks_broadcast(karst_context *context, double *number)
{
  const int ranks = karst_context_ranks(context);
  double *all = malloc((size_t)ranks * sizeof *all);
  int exit_status = ranks_agree(context, all ? TOOL_GO_ON : tool_fail_memory("the ranks' numbers"));
  for (int r = 0; r < ranks && all; r++) all[r] = *number;
  if (exit_status == TOOL_GO_ON) {
    const karst_status status = move_row(context, true, 1, all, number);
    exit_status = ranks_agree(context, status ? tool_fail_library(context, status) : TOOL_GO_ON);
  }
  free(all);
  return exit_status;
}
