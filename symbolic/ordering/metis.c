/* metis.c - orders by nested dissection (George, SIAM J. Numer. Anal. 10 (1973)) of the graph of A + A^T, with
 * separators from METIS (Karypis and Kumar, SIAM J. Sci. Comput. 20 (1998)). The vertices of a separator come last, and
 * the two parts that it leaves are ordered in the same way; small parts are ordered by minimum degree.
 *
 * METIS_NodeND would do all of this, but it installs handlers for SIGTERM and SIGABRT in the whole process while it
 * runs. A signal that another thread receives meanwhile jumps to an invalid place in that thread, and two threads
 * restore each other's handlers at the end. METIS_ComputeVertexSeparator installs no handler. But there METIS ends the
 * process if malloc fails, so Karst first allocates and frees as much memory as METIS takes (as CHOLMOD does). */
#include "config.h"

#include "symbolic/symbolic.h"

#ifdef HAVE_METIS

#include "symbolic/ordering/metis_turn.h"

/* Parts of at most LEAF vertices are ordered by minimum degree; WORDS words have a bit for each. */
enum { LEAF = 120, WORDS = 2 };

static const char what[] = "the graph for METIS";

/* The graph without its loops, and the sets of vertices that wait to be ordered. METIS is built with indices of 32 or
 * 64 bits, whatever Karst has. */
struct dissection {
  karst_index n;
  karst_index *start, *neighbour; /* [n + 1], [start[n]] */
  karst_index *order;             /* [n] the result; a set is a part of it */
  karst_index *number;            /* [n] each vertex's number in the current set, or -1 */
  karst_index *waiting;           /* [n] the first vertex of each set, whose end is the next one's first */
  idx_t *part_start, *part;       /* [n + 1], [n] the graph of the current set, and METIS's answer */
  idx_t *part_neighbour;          /* [start[n]] */
};

/* Stores the graph of the count vertices of set in part_start and part_neighbour. Returns twice the number of its
 * edges. */
static idx_t extract(const struct dissection *d, const karst_index *set, karst_index count)
{
  idx_t edges = 0;
  for (karst_index i = 0; i < count; i++) d->number[set[i]] = i;
  for (karst_index i = 0; i < count; i++) {
    d->part_start[i] = edges;
    for (karst_index k = d->start[set[i]]; k < d->start[set[i] + 1]; k++)
      if (d->number[d->neighbour[k]] >= 0) d->part_neighbour[edges++] = (idx_t)d->number[d->neighbour[k]];
  }
  d->part_start[count] = edges;
  for (karst_index i = 0; i < count; i++) d->number[set[i]] = -1;
  return edges;
}

/* Stores METIS's answer for the current graph in part: 0 and 1 for the two parts, 2 for the separator. */
static karst_status separate(karst_context *context, const struct dissection *d, karst_index count)
{
  idx_t options[METIS_NOPTIONS], vertices = (idx_t)count, size;
  METIS_SetDefaultOptions(options);
  options[METIS_OPTION_NUMBERING] = 0;
  options[METIS_OPTION_SEED] = 1;
  char *of_program = karst_metis_begin();
  const int outcome =
      METIS_ComputeVertexSeparator(&vertices, d->part_start, d->part_neighbour, NULL, options, &size, d->part);
  karst_metis_end(of_program);
  return karst_metis_check(context, outcome, count);
}

/* Orders a small set, whose graph is the current one, by minimum degree: the vertex with the fewest neighbours comes
 * next, and these become each other's neighbours. */
static void order_by_degree(const struct dissection *d, karst_index *set, karst_index count)
{
  uint64_t neighbours[LEAF][WORDS] = {{0}};
  karst_index copy[LEAF];
  bool done[LEAF] = {false};
  for (karst_index i = 0; i < count; i++) {
    copy[i] = set[i];
    for (idx_t k = d->part_start[i]; k < d->part_start[i + 1]; k++)
      neighbours[i][d->part_neighbour[k] / 64] |= (uint64_t)1 << d->part_neighbour[k] % 64;
  }
  for (karst_index place = 0; place < count; place++) {
    int best = 0, fewest = LEAF + 1;
    for (int i = 0; i < count; i++) {
      const int degree = __builtin_popcountll(neighbours[i][0]) + __builtin_popcountll(neighbours[i][1]);
      if (done[i] || degree >= fewest) continue;
      best = i;
      fewest = degree;
    }
    set[place] = copy[best];
    done[best] = true;
    for (int i = 0; i < count; i++) {
      if (!(neighbours[best][i / 64] >> i % 64 & 1)) continue;
      for (int w = 0; w < WORDS; w++) neighbours[i][w] |= neighbours[best][w];
      neighbours[i][i / 64] &= ~((uint64_t)1 << i % 64);
      neighbours[i][best / 64] &= ~((uint64_t)1 << best % 64);
    }
  }
}

/* Sorts set by METIS's answer, and leaves the vertices of each part in their order. first[p] is where part p begins and
 * first[3] the end; copy, [count], is work space. */
static void divide(const struct dissection *d, karst_index *set, karst_index count, karst_index *copy,
                   karst_index first[4])
{
  karst_index next[3];
  for (int p = 0; p < 4; p++) first[p] = 0;
  for (karst_index i = 0; i < count; i++) first[d->part[i] + 1]++;
  for (int p = 0; p < 3; p++) {
    next[p] = first[p];
    first[p + 1] += first[p];
  }
  for (karst_index i = 0; i < count; i++) copy[i] = set[i];
  for (karst_index i = 0; i < count; i++) set[next[d->part[i]]++] = copy[i];
}

/* Divides all sets. They wait in the order of their vertices, and the last one is taken first. A set without edges
 * keeps its order, and so does one that METIS cannot divide, such as all vertices of a full matrix. */
static karst_status dissect(karst_context *context, const struct dissection *d)
{
  karst_index sets = 1, end = d->n, first[4];
  d->waiting[0] = 0;
  for (; sets > 0; sets--) {
    karst_index *set = d->order + d->waiting[sets - 1], count = end - d->waiting[sets - 1];
    const idx_t edges = extract(d, set, count);
    if (count <= LEAF) order_by_degree(d, set, count);
    if (count <= LEAF || edges == 0) {
      end -= count;
      continue;
    }
    karst_status status = separate(context, d, count);
    if (status) return status;
    /* number is not in use between two sets, where each element is -1 */
    divide(d, set, count, d->number, first);
    for (karst_index i = 0; i < count; i++) d->number[i] = -1;
    end -= count - first[2];
    const karst_index larger = first[1] > first[2] - first[1] ? first[1] : first[2] - first[1];
    if (larger > count / 10 * 9) {
      end -= first[2];
      continue;
    }
    /* This set's place is taken by its first part, and the second one waits behind. */
    d->waiting[sets] = d->waiting[sets - 1] + first[1];
    sets += 2;
  }
  return KARST_SUCCESS;
}

karst_status karst_order_metis(const karst_ordering_pattern *pattern, karst_index *permutation, karst_tiling *tiling)
{
  (void)tiling;
  karst_context *context = pattern->context;
  const karst_index n = pattern->block_rows;
  struct dissection d = {.n = n, .order = permutation};
  karst_status status =
      karst_pattern_symmetrise(context, n, pattern->row_start, pattern->column, &d.start, &d.neighbour);
  if (status) return status;
  const karst_index edges = d.start[n];
  if ((status = karst_metis_check_size(context, n, edges))) goto finish;
  if ((status = karst_allocate(context, &d.number, n, sizeof *d.number, what)) ||
      (status = karst_allocate(context, &d.waiting, (int64_t)n + 1, sizeof *d.waiting, what)) ||
      (status = karst_allocate(context, &d.part_start, (int64_t)n + 1, sizeof *d.part_start, what)) ||
      (status = karst_allocate(context, &d.part, n, sizeof *d.part, what)) ||
      (status = karst_allocate(context, &d.part_neighbour, edges, sizeof *d.part_neighbour, what)))
    goto finish;
  if ((status = karst_metis_check_room(context, n, edges))) goto finish;
  for (karst_index i = 0; i < n; i++) {
    permutation[i] = i;
    d.number[i] = -1;
  }
  status = dissect(context, &d);

finish:
  karst_release(context, d.start);
  karst_release(context, d.neighbour);
  karst_release(context, d.number);
  karst_release(context, d.waiting);
  karst_release(context, d.part_start);
  karst_release(context, d.part);
  karst_release(context, d.part_neighbour);
  return status;
}

#else

karst_status karst_order_metis(const karst_ordering_pattern *pattern, karst_index *permutation, karst_tiling *tiling)
{
  (void)tiling;
  (void)permutation;
  return karst_fail(pattern->context, KARST_ERROR_NOT_BUILT,
                    "ordering metis needs METIS, and Karst was built without it");
}

#endif
