/* communicator.h - what a context keeps of its MPI communicator, and its messages. */
#ifndef KARST_MPI_COMMUNICATOR_H
#define KARST_MPI_COMMUNICATOR_H

#include "mpi/karst_mpi.h"
#include "mpi/nccl.h"

#include <stdbool.h>

/* MPI counts bytes with an int, so that longer messages go in pieces. */
enum { KARST_MPI_PIECE = 1 << 30 };

struct karst_mpi {
  karst_context *context;
  MPI_Comm communicator; /* the duplicate */
  int rank, ranks;
  size_t piece; /* bytes of a message at most; the same on all ranks */

  /* The messages of the exchange under way. */
  int messages, room;
  MPI_Request *request; /* [room] */
  MPI_Status *status;   /* [room] */

  struct karst_nccl nccl; /* open where messages go by NCCL */
  char name[256];         /* for karst_context_transport */
};

/* Returns the status of a call of MPI, with MPI's sentence if it failed. call: its name. */
karst_status karst_mpi_check(karst_context *context, const char *call, int code);

/* The first rank on which yes is false, or -1; the same on all ranks. The own rank if MPI fails. Collective. */
int karst_mpi_first_without(struct karst_mpi *mpi, bool yes);

/* messages.c: the functions of the transport for host memory, or for device memory that MPI can read. */
karst_status karst_mpi_gather(void *user, const void *own, size_t bytes, void *all);
karst_status karst_mpi_exchange_begin(void *user, int count, const karst_transfer *transfers);
karst_status karst_mpi_exchange_end(void *user);

/* queue.c: those for device memory. */
int karst_mpi_queue_prepare(void *user);
karst_status karst_mpi_queue_gather(void *user, const void *own, size_t bytes, void *all, void *stream);
karst_status karst_mpi_queue_exchange(void *user, int count, const karst_transfer *transfers, void *stream);

#endif
