/* communicator.c - a transport (karst.h) made from an MPI communicator; see karst_mpi.h. */
#include "mpi/communicator.h"

#include <stdio.h>
#include <stdlib.h>

static void release(void *user)
{
  struct karst_mpi *mpi = user;
  int finalized = 0;
  karst_nccl_stop(&mpi->nccl, mpi->context);
  MPI_Finalized(&finalized);
  if (!finalized) MPI_Comm_free(&mpi->communicator);
  free(mpi->request);
  free(mpi->status);
  free(mpi);
}

static karst_status check_communicator(karst_context *context, MPI_Comm communicator)
{
  const char *wrong = NULL;
  int initialized = 0, finalized = 0, between_groups = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  if (!initialized)
    wrong = "MPI is not initialised: call MPI_Init before karst_context_set_communicator";
  else if (finalized)
    wrong = "MPI was finalized before karst_context_set_communicator";
  else if (communicator == MPI_COMM_NULL)
    wrong = "the communicator is MPI_COMM_NULL";
  else if (MPI_Comm_test_inter(communicator, &between_groups) == MPI_SUCCESS && between_groups)
    wrong = "the communicator is an intercommunicator, whose ranks are in two groups: give it an intracommunicator";
  return wrong ? karst_context_fail(context, KARST_ERROR_ARGUMENT, wrong) : KARST_SUCCESS;
}

/* Duplicates the communicator. A rank without memory is known to all before they go on. */
static karst_status make(karst_context *context, MPI_Comm communicator, struct karst_mpi **made)
{
  struct karst_mpi here = {.context = context, .piece = KARST_MPI_PIECE};
  char sentence[64];
  karst_status status = karst_mpi_check(context, "MPI_Comm_dup", MPI_Comm_dup(communicator, &here.communicator));
  if (status) return status;
  MPI_Comm_set_errhandler(here.communicator, MPI_ERRORS_RETURN);
  MPI_Comm_rank(here.communicator, &here.rank);
  MPI_Comm_size(here.communicator, &here.ranks);
  here.room = 2 * here.ranks; /* a message to and from each rank */
  here.request = malloc((size_t)here.room * sizeof *here.request);
  here.status = malloc((size_t)here.room * sizeof *here.status);
  struct karst_mpi *mpi = malloc(sizeof *mpi);
  const int without = karst_mpi_first_without(&here, mpi && here.request && here.status);
  if (without >= 0 || !mpi) {
    free(here.request);
    free(here.status);
    free(mpi);
    MPI_Comm_free(&here.communicator);
    snprintf(sentence, sizeof sentence, "rank %d has no memory for its communicator", without);
    return karst_context_fail(context, KARST_ERROR_NO_MEMORY, sentence);
  }
  *mpi = here;
  snprintf(mpi->name, sizeof mpi->name, "MPI");
  *made = mpi;
  return KARST_SUCCESS;
}

karst_status karst_context_set_communicator(karst_context *context, MPI_Comm communicator)
{
  struct karst_mpi *mpi = NULL;
  if (!context) return KARST_ERROR_ARGUMENT;
  karst_status status = check_communicator(context, communicator);
  if (!status) status = make(context, communicator, &mpi);
  if (status) return status;
  const bool queue = karst_mpi_first_without(mpi, !karst_context_is_host(context)) < 0;
  const karst_transport transport = {.rank = mpi->rank,
                                     .ranks = mpi->ranks,
                                     .name = mpi->name,
                                     .user = mpi,
                                     .gather = karst_mpi_gather,
                                     .exchange_begin = karst_mpi_exchange_begin,
                                     .exchange_end = karst_mpi_exchange_end,
                                     .queue_prepare = queue ? karst_mpi_queue_prepare : NULL,
                                     .queue_gather = queue ? karst_mpi_queue_gather : NULL,
                                     .queue_exchange = queue ? karst_mpi_queue_exchange : NULL,
                                     .release = release};
  return karst_context_set_transport(context, &transport);
}
