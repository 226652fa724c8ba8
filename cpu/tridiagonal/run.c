/* run.c - gives groups of block-tridiagonal systems to threads. */
#include "cpu/cpu.h"
#include "cpu/tridiagonal/tridiagonal_cpu.h"

void karst_tridiagonal_run(karst_context *context, karst_tridiagonal_plan *plan, karst_tridiagonal_groups *kernel,
                           const karst_tridiagonal_pass *pass, int64_t groups, uint64_t *failure)
{
  const int64_t work = karst_tridiagonal_work(pass->systems, pass->rows, pass->block_size);
  karst_piece piece = karst_begin_at_most(context, KARST_KIND_FACTOR, work, plan->threads);
  uint64_t smallest = *failure;
#pragma omp parallel num_threads(piece.threads)
  {
    const karst_part part = karst_part_begin(&piece, 0);
    karst_tridiagonal_room *room = &plan->room[karst_thread()];
    const int64_t first = karst_share(groups, karst_thread(), karst_team());
    room->failure = KARST_TRIDIAGONAL_NO_FAILURE;
    kernel(pass, first, karst_share(groups, karst_thread() + 1, karst_team()), room);
    karst_part_end(&piece, &part);
#pragma omp critical(karst_tridiagonal)
    if (room->failure < smallest) smallest = room->failure;
  }
  karst_end(context, &piece);
  *failure = smallest;
}
