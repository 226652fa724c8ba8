/* world.c - all processes that mpiexec has started as the ranks of a context; see karst_mpi.h. */
#include "mpi/communicator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void finalize(void)
{
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (!finalized) MPI_Finalize();
}

/* Sets the device. "cuda" has the number of the rank among those of its host. */
static karst_status set_device(karst_context *context, const char *device)
{
  MPI_Comm host;
  char text[32];
  int local = 0;
  if (strcmp(device, "cuda") != 0) return karst_context_set_device(context, device);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  MPI_Comm_rank(host, &local);
  MPI_Comm_free(&host);
  snprintf(text, sizeof text, "cuda:%d", local);
  return karst_context_set_device(context, text);
}

/* Gives all ranks the failure of the first one that failed. */
static karst_status agree(karst_context *context, karst_status status)
{
  struct karst_mpi world = {.context = context, .communicator = MPI_COMM_WORLD};
  struct {
    karst_status status;
    char sentence[512];
  } failure = {.status = status};
  MPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
  const int failed = karst_mpi_first_without(&world, status == KARST_SUCCESS);
  if (failed < 0) return KARST_SUCCESS;
  snprintf(failure.sentence, sizeof failure.sentence, "rank %d: %.480s", world.rank, karst_context_error(context));
  MPI_Bcast(&failure, sizeof failure, MPI_BYTE, failed, MPI_COMM_WORLD);
  return karst_context_fail(context, failure.status, failure.sentence);
}

karst_status karst_mpi_world(karst_context *context, const char *device)
{
  int initialized = 0;
  if (!context || !device) return KARST_ERROR_ARGUMENT;
  MPI_Initialized(&initialized);
  if (!initialized) {
    const karst_status status = karst_mpi_check(context, "MPI_Init", MPI_Init(NULL, NULL));
    if (status) return status;
    atexit(finalize);
  }
  const karst_status status = agree(context, set_device(context, device));
  return status ? status : karst_context_set_communicator(context, MPI_COMM_WORLD);
}
