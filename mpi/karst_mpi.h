/* karst_mpi.h - the ranks of an MPI communicator as the ranks of a context (karst.h, "many processes").
 *
 *     MPI_Init(&argc, &argv);
 *     karst_context_create(NULL, &context);
 *     karst_context_set_device(context, "cpu");
 *     karst_context_set_communicator(context, MPI_COMM_WORLD);
 *     karst_matrix_create_distributed(context, own_rows, b, row_start, column, value, &A);
 *     ... as in one process, with the own part of each vector ...
 *     karst_context_destroy(context);
 *     MPI_Finalize();
 *
 * The library is libkarst_mpi; its functions are compiled for one MPI. */
#ifndef KARST_MPI_H
#define KARST_MPI_H

#include <karst.h>
#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Makes the context one of the ranks of an intracommunicator. Collective. Call it after karst_context_set_device and
 * before anything is made with the context.
 *
 * Messages travel in a duplicate of the communicator, in which MPI returns its errors: each becomes
 * KARST_ERROR_TRANSPORT with MPI's own sentence. The duplicate is made under the caller's error handler, which is usually
 * that of MPI and ends the program. karst_context_destroy frees it, which is collective too, unless MPI_Finalize was
 * called before.
 *
 * The calls of MPI come from the thread that calls Karst, one at a time for each context: with MPI_THREAD_SINGLE or
 * MPI_THREAD_FUNNELED the thread that initialised MPI makes all calls.
 *
 * If all ranks are on GPUs, the messages of a solve go from device memory to device memory in the order of the stream,
 * by NCCL, where each rank can open libnccl.so.2 and has a GPU of its own; else by MPI, where it was built for CUDA;
 * else through host memory. karst_context_transport says which.
 *
 * KARST_ERROR_ARGUMENT if MPI is not initialised or is finalized, for MPI_COMM_NULL and an intercommunicator, and where
 * karst_context_set_transport says so. */
KARST_EXPORT karst_status karst_context_set_communicator(karst_context *context, MPI_Comm communicator);

/* For programs that are processes of mpiexec and do not call MPI themselves: sets the device, and makes the context one
 * of the ranks of MPI_COMM_WORLD. device: as for karst_context_set_device, but "cuda" is the GPU that has the number of
 * the rank among those of its host. MPI is initialised if it is not, and then finalized when the process exits. A
 * failure on one rank is the same status and sentence on all. */
KARST_EXPORT karst_status karst_mpi_world(karst_context *context, const char *device);

#ifdef __cplusplus
}
#endif
#endif
