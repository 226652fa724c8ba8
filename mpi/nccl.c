/* nccl.c - messages by NCCL; see nccl.h. */
#include "mpi/nccl.h"

#include "mpi/communicator.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum { SUCCESS = 0 /* ncclSuccess */, BYTES = 0 /* ncclChar */ };

/* Opens the library, which stays open: its threads may outlive a communicator. Returns NULL, or what it lacks. */
static const char *open_library(struct karst_nccl *nccl)
{
  const struct {
    const char *name;
    void *function; /* the address of the pointer to it */
  } needed[] = {{"ncclGetErrorString", &nccl->error_string},
                {"ncclGetUniqueId", &nccl->get_unique_id},
                {"ncclCommInitRank", &nccl->init_rank},
                {"ncclCommDestroy", &nccl->destroy},
                {"ncclCommAbort", &nccl->abort},
                {"ncclAllGather", &nccl->all_gather},
                {"ncclSend", &nccl->send},
                {"ncclRecv", &nccl->receive},
                {"ncclGroupStart", &nccl->group_start},
                {"ncclGroupEnd", &nccl->group_end}};
  void *library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (!library) return "libnccl.so.2 cannot be opened";
  for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
    void *found = dlsym(library, needed[i].name);
    if (!found) return "libnccl.so.2 is older than 2.7";
    memcpy(needed[i].function, &found, sizeof found);
  }
  return NULL;
}

/* What the first rank without NCCL says is what all say. Returns whether all have it. */
static bool all_have(struct karst_mpi *mpi, const char *lacks, char *why, size_t size)
{
  const int without = karst_mpi_first_without(mpi, !lacks);
  char text[128] = "";
  if (without < 0) return true;
  if (lacks) snprintf(text, sizeof text, "%s", lacks);
  MPI_Bcast(text, sizeof text, MPI_CHAR, without, mpi->communicator);
  snprintf(why, size, "on rank %d %s", without, text);
  return false;
}

/* Makes the communicator from the identity that rank 0 gives it. Returns NULL, or the reason of a failure. */
static const char *connect(struct karst_nccl *nccl, struct karst_mpi *mpi)
{
  struct {
    karst_nccl_id id;
    int result;
  } first = {.result = SUCCESS};
  if (mpi->rank == 0) first.result = nccl->get_unique_id(&first.id);
  if (MPI_Bcast(&first, sizeof first, MPI_BYTE, 0, mpi->communicator) != MPI_SUCCESS) return "MPI_Bcast failed";
  int result = first.result;
  if (result == SUCCESS) result = nccl->init_rank(&nccl->communicator, mpi->ranks, first.id, mpi->rank);
  if (result == SUCCESS) return NULL;
  nccl->communicator = NULL;
  return nccl->error_string(result);
}

bool karst_nccl_start(struct karst_nccl *nccl, struct karst_mpi *mpi, char *why, size_t size)
{
  const char *lacks = open_library(nccl);
  bool all = all_have(mpi, lacks, why, size);
  if (all) all = all_have(mpi, connect(nccl, mpi), why, size);
  if (all) return true;
  if (nccl->communicator) nccl->abort(nccl->communicator);
  nccl->communicator = NULL;
  return false;
}

void karst_nccl_stop(struct karst_nccl *nccl, karst_context *context)
{
  if (!nccl->communicator) return;
  karst_context_synchronize(context);
  nccl->destroy(nccl->communicator);
  nccl->communicator = NULL;
}

static karst_status check(const struct karst_nccl *nccl, karst_context *context, const char *call, int result)
{
  char sentence[256];
  if (result == SUCCESS) return KARST_SUCCESS;
  snprintf(sentence, sizeof sentence, "%s failed: %s", call, nccl->error_string(result));
  return karst_context_fail(context, KARST_ERROR_TRANSPORT, sentence);
}

karst_status karst_nccl_gather(const struct karst_nccl *nccl, karst_context *context, const void *own, size_t bytes,
                               void *all, void *stream)
{
  return check(nccl, context, "ncclAllGather", nccl->all_gather(own, all, bytes, BYTES, nccl->communicator, stream));
}

karst_status karst_nccl_exchange(const struct karst_nccl *nccl, karst_context *context, int count,
                                 const karst_transfer *transfers, void *stream)
{
  karst_status status = check(nccl, context, "ncclGroupStart", nccl->group_start());
  if (status) return status;
  for (int i = 0; i < count && !status; i++) {
    const karst_transfer *t = &transfers[i];
    if (t->receive_bytes > 0)
      status = check(nccl, context, "ncclRecv",
                     nccl->receive(t->receive, t->receive_bytes, BYTES, t->rank, nccl->communicator, stream));
    if (t->send_bytes > 0 && !status)
      status = check(nccl, context, "ncclSend",
                     nccl->send(t->send, t->send_bytes, BYTES, t->rank, nccl->communicator, stream));
  }
  const karst_status ended = check(nccl, context, "ncclGroupEnd", nccl->group_end());
  return status ? status : ended;
}
