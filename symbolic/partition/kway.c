/* kway.c - divides a graph with weights by METIS (Karypis and Kumar, Journal of Parallel and Distributed Computing 48
 * (1998), multilevel k-way partitioning). A vertex weighs as much as its row has blocks, so that the parts have equal
 * work.
 *
 * METIS_PartGraphKway installs handlers for SIGTERM and SIGABRT in the whole process while it runs, as all of METIS's
 * drivers do; only the separators that the ordering uses come without. So SIGTERM waits in this thread meanwhile, and
 * afterwards both handlers are as they were, with their flags. A SIGTERM that another thread takes in this time ends in
 * METIS. If malloc fails inside, METIS raises SIGABRT, whose handler makes it return. */
#include "config.h"

#include "symbolic/partition/partition.h"

#ifdef HAVE_METIS

#include "lib/base/search.h"
#include "symbolic/ordering/metis_turn.h"
#include "symbolic/symbolic.h"

#include <pthread.h>
#include <signal.h>

static const char what[] = "the graph for METIS";

karst_status karst_kway_check(karst_context *context)
{
  (void)context;
  return KARST_SUCCESS;
}

/* METIS's graph. */
struct graph {
  idx_t vertices;
  idx_t *start, *neighbour;      /* [vertices + 1], [start[vertices]] */
  idx_t *weight, *vertex_weight; /* [start[vertices]], [vertices] */
  idx_t *part;                   /* [vertices] */
};

static int level_of(const karst_strengths *rows, karst_index i, karst_index j)
{
  const karst_index entry = karst_find_column(rows->column, rows->start[i], rows->start[i + 1], j);
  return entry < 0 ? 0 : rows->level[entry];
}

/* Fills the graph from its symmetric pattern. Weights are halved until METIS can add them all up. */
static void fill(const karst_strengths *rows, const karst_index *start, const karst_index *neighbour,
                 struct graph *graph)
{
  int shift = 0;
  while ((int64_t)start[rows->rows] > (int64_t)(IDX_MAX / (2 * KARST_LEVEL_MOST >> shift))) shift++;
  for (karst_index i = 0; i <= rows->rows; i++) graph->start[i] = (idx_t)start[i];
  for (karst_index i = 0; i < rows->rows; i++) {
    const karst_index length = rows->start[i + 1] - rows->start[i];
    graph->vertex_weight[i] = (idx_t)(length > 0 ? length : 1);
    for (karst_index e = start[i]; e < start[i + 1]; e++) {
      const int weight = (level_of(rows, i, neighbour[e]) + level_of(rows, neighbour[e], i)) >> shift;
      graph->neighbour[e] = (idx_t)neighbour[e];
      graph->weight[e] = weight > 0 ? weight : 1;
    }
  }
}

/* Calls METIS with the signals as the head of this file says. */
static int divide(struct graph *graph, idx_t parts)
{
  idx_t options[METIS_NOPTIONS], constraints = 1, cut;
  struct sigaction terminate, abandon;
  sigset_t term, mask;
  METIS_SetDefaultOptions(options);
  options[METIS_OPTION_NUMBERING] = 0;
  options[METIS_OPTION_SEED] = 1;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  char *of_program = karst_metis_begin();
  pthread_sigmask(SIG_BLOCK, &term, &mask);
  sigaction(SIGTERM, NULL, &terminate);
  sigaction(SIGABRT, NULL, &abandon);
  const int outcome =
      METIS_PartGraphKway(&graph->vertices, &constraints, graph->start, graph->neighbour, graph->vertex_weight, NULL,
                          graph->weight, &parts, NULL, NULL, options, &cut, graph->part);
  sigaction(SIGTERM, &terminate, NULL);
  sigaction(SIGABRT, &abandon, NULL);
  pthread_sigmask(SIG_SETMASK, &mask, NULL);
  karst_metis_end(of_program);
  return outcome;
}

karst_status karst_kway(karst_context *context, const karst_strengths *rows, int parts, int *part)
{
  const karst_index n = rows->rows;
  karst_index *start = NULL, *neighbour = NULL;
  struct graph graph = {0};
  karst_status status = karst_pattern_symmetrise(context, n, rows->start, rows->column, &start, &neighbour);
  if (status) return status;
  const karst_index edges = start[n];
  if ((status = karst_metis_check_size(context, n, edges)) ||
      (status = karst_allocate(context, &graph.start, (int64_t)n + 1, sizeof *graph.start, what)) ||
      (status = karst_allocate(context, &graph.neighbour, edges, sizeof *graph.neighbour, what)) ||
      (status = karst_allocate(context, &graph.weight, edges, sizeof *graph.weight, what)) ||
      (status = karst_allocate(context, &graph.vertex_weight, n, sizeof *graph.vertex_weight, what)) ||
      (status = karst_allocate(context, &graph.part, n, sizeof *graph.part, what)))
    goto finish;
  graph.vertices = (idx_t)n;
  fill(rows, start, neighbour, &graph);
  karst_release(context, start);
  karst_release(context, neighbour);
  start = neighbour = NULL;
  if ((status = karst_metis_check_room(context, n, edges))) goto finish;
  status = karst_metis_check(context, divide(&graph, (idx_t)parts), n);
  for (karst_index i = 0; i < n && !status; i++) part[i] = (int)graph.part[i];

finish:
  karst_release(context, start);
  karst_release(context, neighbour);
  karst_release(context, graph.start);
  karst_release(context, graph.neighbour);
  karst_release(context, graph.weight);
  karst_release(context, graph.vertex_weight);
  karst_release(context, graph.part);
  return status;
}

#else

karst_status karst_kway_check(karst_context *context)
{
  return karst_fail(context, KARST_ERROR_NOT_BUILT, "a partition needs METIS, and Karst was built without it");
}

karst_status karst_kway(karst_context *context, const karst_strengths *rows, int parts, int *part)
{
  (void)rows, (void)parts, (void)part;
  return karst_kway_check(context);
}

#endif
