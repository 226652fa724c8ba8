/* A stand-in for libnccl.so.2 on machines without GPUs, with the functions that mpi/nccl.h names: messages go from host
 * memory to host memory by MPI, when the group ends. FAKE_NCCL_FAILS=R in the environment makes ncclCommInitRank fail
 * on rank R. */
#include <limits.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

typedef struct ncclUniqueId {
  char internal[128];
} ncclUniqueId;

static MPI_Request request[64];
static int requests;

const char *ncclGetErrorString(int result);
int ncclGetUniqueId(ncclUniqueId *id);
int ncclCommInitRank(void **communicator, int ranks, ncclUniqueId id, int rank);
int ncclCommDestroy(void *communicator);
int ncclCommAbort(void *communicator);
int ncclAllGather(const void *own, void *all, size_t count, int type, void *communicator, void *stream);
int ncclSend(const void *data, size_t count, int type, int rank, void *communicator, void *stream);
int ncclRecv(void *data, size_t count, int type, int rank, void *communicator, void *stream);
int ncclGroupStart(void);
int ncclGroupEnd(void);

const char *ncclGetErrorString(int result)
{
  return result == 5 ? "invalid usage" : result == 4 ? "invalid argument" : "unhandled system error";
}

int ncclGetUniqueId(ncclUniqueId *id)
{
  memset(id, 'k', sizeof *id);
  return 0;
}

int ncclCommInitRank(void **communicator, int ranks, ncclUniqueId id, int rank)
{
  const char *fails = getenv("FAKE_NCCL_FAILS");
  MPI_Comm *made = malloc(sizeof *made);
  int size;
  if (!made || MPI_Comm_dup(MPI_COMM_WORLD, made) != MPI_SUCCESS) return 2;
  MPI_Comm_set_errhandler(*made, MPI_ERRORS_RETURN);
  MPI_Comm_size(*made, &size);
  *communicator = made;
  if (size == ranks && id.internal[127] == 'k' && !(fails && atoi(fails) == rank)) return 0;
  ncclCommAbort(made);
  return 5;
}

int ncclCommDestroy(void *communicator) { return ncclCommAbort(communicator); }

int ncclCommAbort(void *communicator)
{
  MPI_Comm_free((MPI_Comm *)communicator);
  free(communicator);
  return 0;
}

int ncclAllGather(const void *own, void *all, size_t count, int type, void *communicator, void *stream)
{
  (void)stream;
  if (type != 0 || count > INT_MAX) return 4;
  return MPI_Allgather(own, (int)count, MPI_BYTE, all, (int)count, MPI_BYTE, *(MPI_Comm *)communicator) ? 2 : 0;
}

int ncclSend(const void *data, size_t count, int type, int rank, void *communicator, void *stream)
{
  (void)stream;
  if (type != 0 || requests == 64) return 4;
  if (MPI_Isend(data, (int)count, MPI_BYTE, rank, 0, *(MPI_Comm *)communicator, &request[requests])) return 4;
  requests++;
  return 0;
}

int ncclRecv(void *data, size_t count, int type, int rank, void *communicator, void *stream)
{
  (void)stream;
  if (type != 0 || requests == 64) return 4;
  if (MPI_Irecv(data, (int)count, MPI_BYTE, rank, 0, *(MPI_Comm *)communicator, &request[requests])) return 4;
  requests++;
  return 0;
}

int ncclGroupStart(void)
{
  requests = 0;
  return 0;
}

/* The requests are those of earlier calls, which the analyzer does not see. */
int ncclGroupEnd(void)
{
  return MPI_Waitall(requests, request, MPI_STATUSES_IGNORE) ? 2 : 0; // NOLINT(clang-analyzer-optin.mpi.MPI-Checker)
}
