/* ilu_symbolic.c - finds the pattern of the factors of block ILU(k), by levels of fill.
 *
 * Entries of A have level 0, and L_ij = min(L_ij, L_ip + L_pj + 1) over p < min(i, j); entries with L_ij <= k are kept
 * (Yang, Liu, He and Chen, Algorithm 3). By the fill-path theorem with levels (Hysom and Pothen, "A scalable parallel
 * algorithm for incomplete factor preconditioning", SIAM J. Sci. Comput. 22 (2001), and "Level-based incomplete LU
 * factorization: graph model and algorithms", LLNL UCRL-JC-150789 (2002)) L_ij is one less than the length of a
 * shortest path from i to j in the graph of A whose inner vertices are all smaller than i and j. So a breadth-first
 * search from i through vertices smaller than i finds row i of U: the vertices beyond i that it meets in at most k + 1
 * steps. No row needs another, so that threads can share the rows, and the levels of the fill are not stored.
 *
 * L is the transpose of the U of A^T. If A's pattern is symmetric, the usual case, L is the transpose of U.
 *
 * Each row is searched twice, to count and to store, so that the arrays are allocated with their final size. The search
 * takes two arrays of n indices for each thread; it touches the second only as far as a search goes. Without symmetry
 * it also takes A^T, and L twice before U exists.
 *
 * A search may walk many entries that lead to no fill: all rows that pass through a vertex with a long row to its left
 * walk that row. If the walk grows out of proportion to the fill, the search is given up and the rows are merged in
 * order. Row i then takes, for each of its entries L_ip, the entries U_pj of level L_pj with L_ip + L_pj + 1 <= k, as
 * in the definition. For poisson3d:120x120x120 on one thread searching and merging take about equal time. But merging
 * stores the levels of U, cannot know the final size of its arrays, and needs the rows in order. */
#include "config.h"

#include "symbolic/symbolic.h"
#include "lib/base/threads.h"

#include <stdatomic.h>
#include <string.h>

/* The number of rows a thread takes at a time: enough to amortise the taking, few enough to share out rows full of
 * fill. */
#define ROWS_AT_A_TIME 64
/* Each thread marks vertices in an array of its own; more than this many would need more memory than the result. */
#define MOST_THREADS 8
/* A search may walk this many average rows of A for each entry of A and of the fill. On a grid it walks less than
 * two. */
#define MOST_ROWS_AN_ENTRY 8

struct graph {
  karst_index n;
  const karst_index *start;  /* [n + 1] */
  const karst_index *column; /* [start[n]], ascending in each row */
};

/* Stores row i of U in found, unsorted, unless found is NULL, and returns its length. Adds the number of entries of A
 * that it has read to *walked. seen: [n] is i for the vertices that this search has met. queue: [n] work space. */
static inline karst_index search_row(const struct graph *A, int level, karst_index i, karst_index *seen,
                                     karst_index *queue, karst_index *found, int64_t *walked)
{
  karst_index count = 0, head = 0, tail = 1;
  queue[0] = i;
  seen[i] = i;
  for (int step = 0; step < level && head < tail; step++) {
    for (karst_index end = tail; head < end; head++) {
      karst_index v = queue[head];
      *walked += A->start[v + 1] - A->start[v];
      for (karst_index k = A->start[v]; k < A->start[v + 1]; k++) {
        karst_index j = A->column[k];
        if (seen[j] == i) continue;
        seen[j] = i;
        if (j < i) {
          queue[tail++] = j;
        } else {
          if (found) found[count] = j;
          count++;
        }
      }
    }
  }
  /* The last step leads only to entries of U, which are at the ends of the rows. Walking whole rows here would walk a
   * nearly full row of A once for each of its neighbours. */
  for (; head < tail; head++) {
    karst_index v = queue[head], k = A->start[v + 1];
    for (; k > A->start[v] && A->column[k - 1] > i; k--) {
      karst_index j = A->column[k - 1];
      if (seen[j] == i) continue;
      seen[j] = i;
      if (found) found[count] = j;
      count++;
    }
    *walked += A->start[v + 1] - k + 1;
  }
  return count;
}

/* Shell's sort with Knuth's increments: it inserts in the usual short rows, and long rows do not take quadratic
 * time. */
static void sort_row(karst_index count, karst_index *row)
{
  karst_index gap = 1;
  while (gap < count / 9) gap = 3 * gap + 1;
  for (; gap > 0; gap /= 3) {
    for (karst_index i = gap; i < count; i++) {
      karst_index moving = row[i], to = i;
      for (; to >= gap && row[to - gap] > moving; to -= gap) row[to] = row[to - gap];
      row[to] = moving;
    }
  }
}

/* Estimates the entries that are read: those of A, and some more for each of them in each further level. */
static int64_t estimate_work(const struct graph *A, int level)
{
  enum { MORE = 4, DEEPEST = 8 };
  return A->start[A->n] * (int64_t)(1 + MORE * (level < DEEPEST ? level : DEEPEST));
}

/* Searches all rows. Stores their lengths in start[1 .. n] if column is NULL, else their entries in column. Returns
 * false, with the rest undone, if counting has walked too many entries. memory: [2 n threads] work space. */
static bool search_all(karst_context *context, const struct graph *A, int level, int threads, karst_index *memory,
                       karst_index *start, karst_index *column)
{
  atomic_bool given_up = false;
  double walk_an_entry = MOST_ROWS_AN_ENTRY * (1 + (double)A->start[A->n] / (double)A->n);
  karst_piece piece = karst_begin_at_most(context, KARST_KIND_ONCE, estimate_work(A, level), threads);
#pragma omp parallel num_threads(piece.threads)
  {
    const karst_part part = karst_part_begin(&piece, A->n);
    karst_index *seen = memory + 2 * (int64_t)A->n * karst_thread(), *queue = seen + A->n;
    int64_t walked = 0, found = 0; /* of this thread */
    double given = (double)A->start[A->n] / karst_team();
    for (karst_index i = 0; i < A->n; i++) seen[i] = A->n;
#pragma omp for schedule(dynamic, ROWS_AT_A_TIME) nowait
    for (karst_index i = 0; i < A->n; i++) {
      if (column) {
        search_row(A, level, i, seen, queue, column + start[i], &walked);
        sort_row(start[i + 1] - start[i], column + start[i]);
      } else if (!atomic_load_explicit(&given_up, memory_order_relaxed)) {
        found += start[i + 1] = search_row(A, level, i, seen, queue, NULL, &walked);
        if ((double)walked > walk_an_entry * (given + (double)found)) given_up = true;
      }
    }
    karst_part_end(&piece, &part);
  }
  karst_end(context, &piece);
  return !given_up;
}

/* Finds U of a graph, or sets *cheap to false if the search walks too many entries. If it fails or gives up, the caller
 * releases the arrays. */
static karst_status upper_factor(karst_context *context, const struct graph *A, int level, karst_index **start,
                                 karst_index **column, bool *cheap)
{
  karst_index *memory = NULL;
  karst_status status;
  int threads = karst_threads_for(context, estimate_work(A, level));
  if (threads > MOST_THREADS) threads = MOST_THREADS;
  if (A->n / ROWS_AT_A_TIME < threads) threads = 1 + (int)(A->n / ROWS_AT_A_TIME);
  if ((status = karst_allocate(context, &memory, 2 * (int64_t)A->n * threads, sizeof *memory, "the search for fill")) ||
      (status = karst_allocate(context, start, (int64_t)A->n + 1, sizeof **start, "the pattern of the factors")))
    goto finish;
  *cheap = search_all(context, A, level, threads, memory, *start, NULL);
  if (!*cheap || (status = karst_counts_to_starts(context, A->n, *start, "the factors")) ||
      (status = karst_allocate(context, column, (*start)[A->n], sizeof **column, "the pattern of the factors")))
    goto finish;
  search_all(context, A, level, threads, memory, *start, *column);

finish:
  karst_release(context, memory);
  return status;
}

/* Finds L of a graph that is not symmetric: the transpose of the U of A^T. */
static karst_status lower_factor(karst_context *context, const struct graph *A, int level, karst_index **start,
                                 karst_index **column, bool *cheap)
{
  karst_index *a_start = NULL, *a_column = NULL, *l_start = NULL, *l_column = NULL;
  karst_status status;
  if ((status = karst_pattern_transpose(context, A->n, A->start, A->column, &a_start, &a_column))) return status;
  struct graph transposed = {A->n, a_start, a_column};
  status = upper_factor(context, &transposed, level, &l_start, &l_column, cheap);
  karst_release(context, a_start);
  karst_release(context, a_column);
  if (!status && *cheap) status = karst_pattern_transpose(context, A->n, l_start, l_column, start, column);
  karst_release(context, l_start);
  karst_release(context, l_column);
  return status;
}

/* A growing list of indices. */
struct list {
  karst_index *item;
  int64_t count, room;
};

static karst_status append(karst_context *context, struct list *list, karst_index count, const karst_index *item)
{
  if (count > list->room - list->count) {
    int64_t room = list->count + list->room / 2 + count;
    karst_index *larger;
    karst_status status = karst_allocate(context, &larger, room, sizeof *larger, "the pattern of the factors");
    if (status) return status;
    if (list->count > 0) memcpy(larger, list->item, (size_t)list->count * sizeof *larger);
    karst_release(context, list->item);
    list->item = larger;
    list->room = room;
  }
  if (count > 0) memcpy(list->item + list->count, item, (size_t)count * sizeof *item);
  list->count += count;
  return KARST_SUCCESS;
}

/* Builds both factors row by row. Each row of U is in order of ascending level until all rows are done. */
struct merge {
  struct list lower, upper, upper_level;
  karst_index *lower_start, *upper_start; /* [n + 1] */
  /* The arrays below are for the row being built, [n] each. */
  karst_index *seen; /* seen[j] is the row's number if the row has column j */
  karst_index *left, *right, *right_level;
  karst_index left_count, right_count;
  karst_index *active, *active_level, *next; /* for each L_ip: p, its level, and the first entry of U_p not yet taken */
  karst_index active_count;
};

/* Adds column j to row i unless it has that column already, whose level is then not higher. */
static void meet(struct merge *merge, karst_index i, karst_index j, karst_index level)
{
  if (merge->seen[j] == i) return;
  merge->seen[j] = i;
  if (j > i) {
    merge->right_level[merge->right_count] = level;
    merge->right[merge->right_count++] = j;
    return;
  }
  merge->left[merge->left_count++] = j;
  merge->active[merge->active_count] = j;
  merge->active_level[merge->active_count] = level;
  merge->next[merge->active_count++] = merge->upper_start[j];
}

/* Finds row i, with its entries in order of ascending level. */
static void merge_pivot_rows(struct merge *merge, const struct graph *A, int level, karst_index i)
{
  merge->left_count = merge->right_count = merge->active_count = 0;
  merge->seen[i] = i;
  for (karst_index k = A->start[i]; k < A->start[i + 1]; k++) meet(merge, i, A->column[k], 0);
  for (karst_index l = 1; l <= level && merge->active_count > 0; l++) {
    for (karst_index a = 0; a < merge->active_count;) {
      karst_index end = merge->upper_start[merge->active[a] + 1], below = l - 1 - merge->active_level[a];
      while (merge->next[a] < end && merge->upper_level.item[merge->next[a]] == below)
        meet(merge, i, merge->upper.item[merge->next[a]++], l);
      if (merge->next[a] < end) {
        a++;
        continue;
      }
      karst_index last = --merge->active_count;
      merge->active[a] = merge->active[last];
      merge->active_level[a] = merge->active_level[last];
      merge->next[a] = merge->next[last];
    }
  }
}

static karst_status merge_rows(karst_context *context, struct merge *merge, const struct graph *A, int level)
{
  merge->lower_start[0] = merge->upper_start[0] = 0;
  for (karst_index i = 0; i < A->n; i++) merge->seen[i] = A->n;
  for (karst_index i = 0; i < A->n; i++) {
    karst_status status;
    merge_pivot_rows(merge, A, level, i);
    sort_row(merge->left_count, merge->left);
    if (__builtin_add_overflow(merge->lower_start[i], merge->left_count, &merge->lower_start[i + 1]) ||
        __builtin_add_overflow(merge->upper_start[i], merge->right_count, &merge->upper_start[i + 1]))
      return karst_fail(context, KARST_ERROR_INDEX_OVERFLOW,
                        "the factors have too many entries from block row %lld on: configure with --enable-int64",
                        (long long)i);
    if ((status = append(context, &merge->lower, merge->left_count, merge->left)) ||
        (status = append(context, &merge->upper, merge->right_count, merge->right)) ||
        (status = append(context, &merge->upper_level, merge->right_count, merge->right_level)))
      return status;
  }
  for (karst_index i = 0; i < A->n; i++)
    sort_row(merge->upper_start[i + 1] - merge->upper_start[i], merge->upper.item + merge->upper_start[i]);
  return KARST_SUCCESS;
}

/* Finds both factors by merging. */
static karst_status merge(karst_context *context, const struct graph *A, int level, karst_ilu_pattern *pattern)
{
  struct merge merge = {0};
  karst_index n = A->n, *memory = NULL;
  karst_index **const array[] = {&merge.seen,   &merge.left,         &merge.right, &merge.right_level,
                                 &merge.active, &merge.active_level, &merge.next};
  enum { ARRAYS = sizeof array / sizeof array[0] };
  const char *what = "the pattern of the factors";
  karst_status status;
  if ((status = karst_allocate(context, &memory, ARRAYS * (int64_t)n, sizeof *memory, "the merging of rows")) ||
      (status = karst_allocate(context, &merge.lower_start, (int64_t)n + 1, sizeof(karst_index), what)) ||
      (status = karst_allocate(context, &merge.upper_start, (int64_t)n + 1, sizeof(karst_index), what)))
    goto finish;
  for (int i = 0; i < ARRAYS; i++) *array[i] = memory + i * (int64_t)n;
  status = merge_rows(context, &merge, A, level);

finish:
  karst_release(context, memory);
  karst_release(context, merge.upper_level.item);
  *pattern = (karst_ilu_pattern){n, merge.lower_start, merge.lower.item, merge.upper_start, merge.upper.item};
  return status;
}

/* Splits A into its two triangles, which are the factors of level 0. */
static karst_status split(karst_context *context, const struct graph *A, karst_ilu_pattern *pattern)
{
  const char *what = "the pattern of the factors";
  karst_index n = A->n;
  karst_status status;
  if ((status = karst_allocate(context, &pattern->lower_start, (int64_t)n + 1, sizeof(karst_index), what)) ||
      (status = karst_allocate(context, &pattern->upper_start, (int64_t)n + 1, sizeof(karst_index), what)))
    return status;
  karst_piece counting = karst_begin(context, KARST_KIND_ONCE, A->start[n]);
#pragma omp parallel num_threads(counting.threads)
  {
    const karst_part part = karst_part_begin(&counting, n);
    for (karst_index i = part.first; i < part.last; i++) {
      karst_index lower = A->start[i], upper;
      while (lower < A->start[i + 1] && A->column[lower] < i) lower++;
      upper = lower < A->start[i + 1] && A->column[lower] == i ? lower + 1 : lower;
      pattern->lower_start[i + 1] = lower - A->start[i];
      pattern->upper_start[i + 1] = A->start[i + 1] - upper;
    }
    karst_part_end(&counting, &part);
  }
  karst_end(context, &counting);
  if ((status = karst_counts_to_starts(context, n, pattern->lower_start, "the factors")) ||
      (status = karst_counts_to_starts(context, n, pattern->upper_start, "the factors")) ||
      (status = karst_allocate(context, &pattern->lower_column, pattern->lower_start[n], sizeof(karst_index), what)) ||
      (status = karst_allocate(context, &pattern->upper_column, pattern->upper_start[n], sizeof(karst_index), what)))
    return status;
  karst_piece filling = karst_begin(context, KARST_KIND_ONCE, A->start[n]);
#pragma omp parallel num_threads(filling.threads)
  {
    const karst_part part = karst_part_begin(&filling, n);
    for (karst_index i = part.first; i < part.last; i++) {
      karst_index lower = pattern->lower_start[i + 1] - pattern->lower_start[i];
      karst_index upper = pattern->upper_start[i + 1] - pattern->upper_start[i];
      for (karst_index k = 0; k < lower; k++)
        pattern->lower_column[pattern->lower_start[i] + k] = A->column[A->start[i] + k];
      for (karst_index k = 0; k < upper; k++)
        pattern->upper_column[pattern->upper_start[i] + k] = A->column[A->start[i + 1] - upper + k];
    }
    karst_part_end(&filling, &part);
  }
  karst_end(context, &filling);
  return KARST_SUCCESS;
}

static karst_status factor(karst_context *context, const struct graph *A, int level, karst_ilu_pattern *pattern)
{
  const bool symmetric = karst_pattern_is_symmetric(context, A->n, A->start, A->column);
  bool cheap = true;
  karst_status status = KARST_SUCCESS;
  if (!symmetric) status = lower_factor(context, A, level, &pattern->lower_start, &pattern->lower_column, &cheap);
  if (!status && cheap) status = upper_factor(context, A, level, &pattern->upper_start, &pattern->upper_column, &cheap);
  if (!status && !cheap) {
    karst_ilu_pattern_destroy(context, pattern);
    return merge(context, A, level, pattern);
  }
  if (!status && symmetric)
    status = karst_pattern_transpose(context, A->n, pattern->upper_start, pattern->upper_column, &pattern->lower_start,
                                     &pattern->lower_column);
  return status;
}

karst_status karst_ilu_symbolic(karst_context *context, karst_index n, const karst_index *row_start,
                                const karst_index *column, int level, karst_ilu_pattern *pattern)
{
  struct graph A = {n, row_start, column};
  *pattern = (karst_ilu_pattern){.rows = n};
  if (level < 0) return karst_fail(context, KARST_ERROR_ARGUMENT, "level %d of ILU(k) is negative", level);
  karst_status status = level == 0 ? split(context, &A, pattern) : factor(context, &A, level, pattern);
  if (status) karst_ilu_pattern_destroy(context, pattern);
  return status;
}

void karst_ilu_pattern_destroy(karst_context *context, karst_ilu_pattern *pattern)
{
  karst_release(context, pattern->lower_start);
  karst_release(context, pattern->lower_column);
  karst_release(context, pattern->upper_start);
  karst_release(context, pattern->upper_column);
  *pattern = (karst_ilu_pattern){0};
}
