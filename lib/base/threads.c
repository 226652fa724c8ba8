/* threads.c - see threads.h. */
#include "lib/base/threads.h"

#include "lib/base/context.h"

#include <unistd.h>

/* The process in which the library first shared out work, 0 before that. OpenMP keeps the threads that it has started
 * for the next team, and a child of that process would wait for threads that it does not have. */
static int process_with_threads;

/* Returns whether this process is a child of one whose OpenMP threads it lacks: of the one that made the context, or of
 * one in which the library has started threads. The context reports this once. */
static bool is_forked(karst_context *context)
{
  const int process = (int)getpid();
  int first = 0;
  if (context->process == process &&
      (__atomic_compare_exchange_n(&process_with_threads, &first, process, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
       first == process))
    return false;
  if (!__atomic_exchange_n(&context->reported_fork, true, __ATOMIC_RELAXED))
    karst_notify(context, KARST_MESSAGE_NOTE,
                 "this process was forked from one with OpenMP threads, which a fork does not copy: one thread is used "
                 "instead of %d; start the process anew (exec, or \"spawn\" in Python) for more",
                 context->threads);
  return true;
}

void karst_piece_start(karst_context *context, karst_piece *piece)
{
  piece->start = karst_clock();
  piece->threads = karst_crew_choose(&context->crew, context->threads, piece->kind, piece->work, piece->start);
  if (piece->threads == 1 || !is_forked(context)) return;
  piece->threads = 1;
  piece->start = 0;
}

void karst_piece_finish(karst_context *context, const karst_piece *piece)
{
  const karst_crew_cost cost = {piece->threads, piece->start, karst_clock(), piece->own};
  karst_crew_note(&context->crew, context->threads, piece->kind, piece->work, &cost);
}

int karst_threads_for(karst_context *context, int64_t work)
{
  const int present = karst_crew_present(&context->crew, context->threads);
  const int threads = karst_crew_worth(&context->crew, present, KARST_KIND_ONCE, work);
  return threads > 1 && is_forked(context) ? 1 : threads;
}
