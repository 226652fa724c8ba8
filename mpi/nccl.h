/* nccl.h - NVIDIA's NCCL, opened at run time.
 *
 * The prototypes are those of nccl.h of NCCL 2.7 and later, the first version with ncclSend; they, the values of the
 * enumerations and the size of ncclUniqueId are the same in all versions of libnccl.so.2 since. */
#ifndef KARST_MPI_NCCL_H
#define KARST_MPI_NCCL_H

#include <karst.h>
#include <stdbool.h>

struct karst_mpi;
typedef struct karst_nccl_id { /* ncclUniqueId */
  char internal[128];
} karst_nccl_id;

/* Communicators (ncclComm_t) and streams (cudaStream_t) are pointers; results (ncclResult_t) and types of data
 * (ncclDataType_t) are ints. */
struct karst_nccl {
  void *communicator; /* NULL unless NCCL is used */
  const char *(*error_string)(int result);
  int (*get_unique_id)(karst_nccl_id *id);
  int (*init_rank)(void **communicator, int ranks, karst_nccl_id id, int rank);
  int (*destroy)(void *communicator);
  int (*abort)(void *communicator);
  int (*all_gather)(const void *own, void *all, size_t count, int type, void *communicator, void *stream);
  int (*send)(const void *data, size_t count, int type, int rank, void *communicator, void *stream);
  int (*receive)(void *data, size_t count, int type, int rank, void *communicator, void *stream);
  int (*group_start)(void);
  int (*group_end)(void);
};

/* Makes a communicator of the current devices of all ranks. Returns whether all ranks have it; else none has, and why
 * says what the first rank without it lacks. Collective. */
bool karst_nccl_start(struct karst_nccl *nccl, struct karst_mpi *mpi, char *why, size_t size);
/* Waits for the messages that are queued and destroys the communicator. Collective if it was started. */
void karst_nccl_stop(struct karst_nccl *nccl, karst_context *context);

/* As queue_gather and queue_exchange of a transport. */
karst_status karst_nccl_gather(const struct karst_nccl *nccl, karst_context *context, const void *own, size_t bytes,
                               void *all, void *stream);
karst_status karst_nccl_exchange(const struct karst_nccl *nccl, karst_context *context, int count,
                                 const karst_transfer *transfers, void *stream);

#endif
