/* agree.c - errors of MPI as statuses, and questions that all ranks answer; see communicator.h. */
#include "mpi/communicator.h"

#include <limits.h>
#include <stdio.h>

karst_status karst_mpi_check(karst_context *context, const char *call, int code)
{
  char reason[MPI_MAX_ERROR_STRING] = "an error without a name", sentence[MPI_MAX_ERROR_STRING + 64];
  int length = 0;
  if (code == MPI_SUCCESS) return KARST_SUCCESS;
  MPI_Error_string(code, reason, &length);
  snprintf(sentence, sizeof sentence, "%s failed: %s", call, reason);
  return karst_context_fail(context, KARST_ERROR_TRANSPORT, sentence);
}

int karst_mpi_first_without(struct karst_mpi *mpi, bool yes)
{
  const int own = yes ? INT_MAX : mpi->rank;
  int first = INT_MAX;
  if (MPI_Allreduce(&own, &first, 1, MPI_INT, MPI_MIN, mpi->communicator) != MPI_SUCCESS) return mpi->rank;
  return first == INT_MAX ? -1 : first;
}
