/* all.h - results of a test program that runs as several ranks of MPI: rank 0 prints what holds on all of them. */
#ifndef KARST_TESTS_MPI_ALL_H
#define KARST_TESTS_MPI_ALL_H

#include "mpi/communicator.h"
#include "tests/support/tap.h"

#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The place and the number of a rank among all. */
static inline int all_rank(void)
{
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

static inline int all_ranks(void)
{
  int ranks;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  return ranks;
}

/* Prints a test line on rank 0: whether the condition holds on all ranks. Collective. */
static inline bool all_ok(bool condition, const char *format, ...) __attribute__((format(printf, 2, 3)));
static inline bool all_ok(bool condition, const char *format, ...)
{
  const int own = condition ? all_ranks() : all_rank();
  int first;
  char text[256];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  MPI_Allreduce(&own, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (all_rank() != 0) return first == all_ranks();
  if (first < all_ranks()) tap_note("not on rank %d", first);
  return tap_ok(first == all_ranks(), "%s", text);
}

/* A fresh context that is one of the ranks of a communicator. */
static inline karst_context *all_context(MPI_Comm communicator)
{
  karst_context *context = tap_context();
  tap_need(context, karst_context_set_communicator(context, communicator), "the communicator");
  return context;
}

/* Ends MPI and prints the plan on rank 0. Returns the exit status of main. */
static inline int all_done(void)
{
  const int rank = all_rank();
  MPI_Finalize();
  return rank == 0 ? tap_done() : 0;
}

#endif
