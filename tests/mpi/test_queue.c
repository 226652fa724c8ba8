/* How ranks on GPUs reach each other. test_queue, without an argument, runs with the stand-in for NCCL in host memory
 * (fake_nccl.c); otherwise the argument is the reason why NCCL is not used. All ranks decide alike. */
#include "lib/ranks/ranks.h"
#include "tests/mpi/all.h"

/* Each rank sends its number to the next and receives that of the one before. */
static bool exchange(struct karst_mpi *mpi)
{
  const int next = (mpi->rank + 1) % mpi->ranks, before = (mpi->rank + mpi->ranks - 1) % mpi->ranks;
  const double own = mpi->rank;
  double received = -1;
  karst_transfer transfers[2] = {{.rank = before, .receive = &received, .receive_bytes = sizeof received},
                                 {.rank = next, .send = &own, .send_bytes = sizeof own}};
  if (next == before) {
    transfers[0].send = &own;
    transfers[0].send_bytes = sizeof own;
  }
  const int count = mpi->ranks == 1 ? 0 : mpi->ranks == 2 ? 1 : 2;
  return !karst_mpi_queue_exchange(mpi, count, transfers, NULL) && (count == 0 || received == before);
}

static bool gather(struct karst_mpi *mpi)
{
  const double own = mpi->rank;
  double all[8];
  bool right = !karst_mpi_queue_gather(mpi, &own, sizeof own, all, NULL);
  for (int r = 0; r < mpi->ranks; r++) right = right && all[r] == r;
  return right;
}

int main(int argc, char **argv)
{
  const char *why = argc > 1 ? argv[1] : NULL;
  MPI_Init(&argc, &argv);
  karst_context *context = all_context(MPI_COMM_WORLD);
  struct karst_mpi *mpi = context->ranks->transport.user;
  const int ready = karst_mpi_queue_prepare(mpi);
  if (all_rank() == 0) tap_note("%s", karst_context_transport(context));
  if (!why) {
    all_ok(ready == 1 && strcmp(karst_context_transport(context), "MPI, and NCCL between GPUs") == 0, "NCCL is used");
    all_ok(gather(mpi), "NCCL gathers");
    all_ok(exchange(mpi), "NCCL exchanges");
    const karst_transfer nowhere = {.rank = mpi->ranks, .send = &ready, .send_bytes = 1};
    all_ok(karst_mpi_queue_exchange(mpi, 1, &nowhere, NULL) == KARST_ERROR_TRANSPORT &&
               strcmp(karst_context_error(context), "ncclSend failed: invalid argument") == 0,
           "an error of NCCL is a status with its sentence");
  } else {
    const char *end = strstr(karst_context_transport(context), "without NCCL: ");
    all_ok(ready == 0 && end && strcmp(end + strlen("without NCCL: "), why) == 0, "NCCL is used on no rank: %s", why);
    all_ok(!mpi->nccl.communicator, "no communicator of NCCL is left");
    all_ok(gather(mpi) && exchange(mpi), "MPI that reads device memory gathers and exchanges");
  }
  karst_context_destroy(context);
  return all_done();
}
