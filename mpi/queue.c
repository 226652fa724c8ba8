/* queue.c - messages between the memories of GPUs, in the order of a stream; see communicator.h.
 *
 * NCCL queues them on the stream, and the host does not wait. MPI that was built for CUDA knows no stream: the host
 * waits for it first, and then the messages need no host memory. */
#include "mpi/communicator.h"

#include <stdio.h>

/* Whether MPI reads and writes device memory: asked at run time, as far as its headers know of the question. */
#if defined(OPEN_MPI)
#include <mpi-ext.h>
#endif

static bool reads_device_memory(void)
{
#if defined(MPIX_CUDA_AWARE_SUPPORT)
  return MPIX_Query_cuda_support() == 1;
#elif defined(MPIX_GPU_SUPPORT_CUDA)
  int yes = 0;
  return MPIX_GPU_query_support(MPIX_GPU_SUPPORT_CUDA, &yes) == MPI_SUCCESS && yes;
#else
  return false;
#endif
}

int karst_mpi_queue_prepare(void *user)
{
  struct karst_mpi *mpi = user;
  char why[160];
  if (karst_nccl_start(&mpi->nccl, mpi, why, sizeof why)) {
    snprintf(mpi->name, sizeof mpi->name, "MPI, and NCCL between GPUs");
    return 1;
  }
  if (karst_mpi_first_without(mpi, reads_device_memory()) < 0) {
    snprintf(mpi->name, sizeof mpi->name, "MPI, also between GPUs, without NCCL: %s", why);
    return 1;
  }
  snprintf(mpi->name, sizeof mpi->name, "MPI, between GPUs through host memory, without NCCL: %s", why);
  return 0;
}

karst_status karst_mpi_queue_gather(void *user, const void *own, size_t bytes, void *all, void *stream)
{
  struct karst_mpi *mpi = user;
  if (mpi->nccl.communicator) return karst_nccl_gather(&mpi->nccl, mpi->context, own, bytes, all, stream);
  const karst_status status = karst_context_synchronize(mpi->context);
  const karst_status gathered = karst_mpi_gather(mpi, own, bytes, all);
  return status ? status : gathered;
}

karst_status karst_mpi_queue_exchange(void *user, int count, const karst_transfer *transfers, void *stream)
{
  struct karst_mpi *mpi = user;
  if (mpi->nccl.communicator) return karst_nccl_exchange(&mpi->nccl, mpi->context, count, transfers, stream);
  const karst_status status = karst_context_synchronize(mpi->context);
  karst_status exchanged = karst_mpi_exchange_begin(mpi, count, transfers);
  if (!exchanged) exchanged = karst_mpi_exchange_end(mpi);
  return status ? status : exchanged;
}
