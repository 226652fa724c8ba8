/* messages.c - gathers and exchanges by MPI; see communicator.h. */
#include "mpi/communicator.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

karst_status karst_mpi_gather(void *user, const void *own, size_t bytes, void *all)
{
  struct karst_mpi *mpi = user;
  char sentence[96];
  if (bytes > INT_MAX) {
    snprintf(sentence, sizeof sentence, "a gather of %zu bytes from each rank: MPI counts at most %d", bytes, INT_MAX);
    return karst_context_fail(mpi->context, KARST_ERROR_ARGUMENT, sentence);
  }
  return karst_mpi_check(mpi->context, "MPI_Allgather",
                         MPI_Allgather(own, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, mpi->communicator));
}

/* Makes room for the messages of an exchange. It is there already unless one takes several pieces. */
static karst_status make_room(struct karst_mpi *mpi, int count, const karst_transfer *transfers)
{
  size_t messages = 0;
  for (int i = 0; i < count; i++) {
    messages += (transfers[i].send_bytes + mpi->piece - 1) / mpi->piece;
    messages += (transfers[i].receive_bytes + mpi->piece - 1) / mpi->piece;
  }
  if (messages == 0 || messages <= (size_t)mpi->room) return KARST_SUCCESS;
  free(mpi->request);
  free(mpi->status);
  mpi->room = 0;
  mpi->request = malloc(messages * sizeof *mpi->request);
  mpi->status = malloc(messages * sizeof *mpi->status);
  if (messages > INT_MAX || !mpi->request || !mpi->status)
    return karst_context_fail(mpi->context, KARST_ERROR_NO_MEMORY, "no memory for the messages of an exchange");
  mpi->room = (int)messages;
  return KARST_SUCCESS;
}

/* After a failure: what is still under way is given up, so that the buffers are the caller's again. */
static void abandon(struct karst_mpi *mpi)
{
  for (int i = 0; i < mpi->messages; i++) {
    if (mpi->request[i] == MPI_REQUEST_NULL) continue;
    MPI_Cancel(&mpi->request[i]);
    MPI_Request_free(&mpi->request[i]);
  }
  mpi->messages = 0;
}

/* Begins to receive from a rank or, if in is NULL, to send to it. The pieces of a message follow each other. */
static karst_status begin(struct karst_mpi *mpi, int rank, size_t bytes, void *in, const void *out)
{
  karst_status status = KARST_SUCCESS;
  for (size_t done = 0; done < bytes && !status; done += mpi->piece) {
    const int piece = (int)(bytes - done < mpi->piece ? bytes - done : mpi->piece);
    MPI_Request *request = &mpi->request[mpi->messages];
    if (in)
      status = karst_mpi_check(mpi->context, "MPI_Irecv",
                               MPI_Irecv((char *)in + done, piece, MPI_BYTE, rank, 0, mpi->communicator, request));
    else
      status =
          karst_mpi_check(mpi->context, "MPI_Isend",
                          MPI_Isend((const char *)out + done, piece, MPI_BYTE, rank, 0, mpi->communicator, request));
    if (!status) mpi->messages++;
  }
  return status;
}

karst_status karst_mpi_exchange_begin(void *user, int count, const karst_transfer *transfers)
{
  struct karst_mpi *mpi = user;
  mpi->messages = 0;
  karst_status status = make_room(mpi, count, transfers);
  for (int i = 0; i < count && !status; i++)
    status = begin(mpi, transfers[i].rank, transfers[i].receive_bytes, transfers[i].receive, NULL);
  for (int i = 0; i < count && !status; i++)
    status = begin(mpi, transfers[i].rank, transfers[i].send_bytes, NULL, transfers[i].send);
  if (status) abandon(mpi);
  return status;
}

karst_status karst_mpi_exchange_end(void *user)
{
  struct karst_mpi *mpi = user;
  int code = MPI_Waitall(mpi->messages, mpi->request, mpi->status), kind = MPI_SUCCESS;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &kind);
  /* Then each message has an error of its own. */
  for (int i = 0; kind == MPI_ERR_IN_STATUS && i < mpi->messages; i++) {
    code = mpi->status[i].MPI_ERROR;
    if (code != MPI_SUCCESS && code != MPI_ERR_PENDING) break;
  }
  const karst_status status = karst_mpi_check(mpi->context, "MPI_Waitall", code);
  if (status) abandon(mpi);
  mpi->messages = 0;
  return status;
}
