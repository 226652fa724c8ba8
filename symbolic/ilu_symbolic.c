/* ilu_symbolic.c - the pattern of the factors of block ILU(k), by levels of fill.
 *
 * Entries of A have level 0, and L_ij = min(L_ij, L_ip + L_pj + 1) over p < min(i, j); entries with L_ij <= k are kept
 * (Yang, Liu, He and Chen, Algorithm 3). By the fill-path theorem with levels (Hysom and Pothen, "A scalable parallel
 * algorithm for incomplete factor preconditioning", SIAM J. Sci. Comput. 22 (2001), and "Level-based incomplete LU
 * factorization: graph model and algorithms", LLNL UCRL-JC-150789 (2002)) L_ij is one less than the length of a
 * shortest path from i to j in the graph of A whose inner vertices are all smaller than i and j. So row i of U is what
 * a breadth-first search from i through vertices smaller than i meets beyond i in at most k + 1 steps: no row needs
 * another, threads share them, and no fill has to be kept with its level.
 *
 * L is the transpose of the U of A^T. Where A's pattern is symmetric, the usual case, that is the transpose of U.
 *
 * Rows are searched twice, to count and to store, so that the arrays have their final size from the beginning.
 * Besides the result the memory is two karst_index a row and thread, and the second one is touched only as far as a
 * search goes. Without symmetry it is also A^T, and L twice before U exists.
 *
 * Merging rows with their levels (IKJ) was tried too. For poisson3d:120x120x120 on one thread the two were about as
 * fast, within what a busy machine allows to tell; it keeps the levels, cannot know its arrays' final size beforehand,
 * and needs the rows one after the other. */
#include "config.h"

#include "symbolic.h"

#include "cpu.h"

/* Rows a thread takes at a time: enough to amortise the taking, few enough to share out rows full of fill. */
#define ROWS_AT_A_TIME 64
/* Each thread marks vertices in an array of its own; more than this many would need more memory than the result. */
#define MOST_THREADS 8

struct graph {
  karst_index n;
  const karst_index *start;  /* [n + 1] */
  const karst_index *column; /* [start[n]], ascending in each row */
};

/* Stores row i of U in found, unsorted, unless found is NULL, and returns its length.
 * seen: [n], an entry is i only for vertices that this search has met. queue: [n]. */
static inline karst_index search_row(const struct graph *A, int level, karst_index i, karst_index *seen,
                                     karst_index *queue, karst_index *found)
{
  karst_index count = 0, head = 0, tail = 1;
  queue[0] = i;
  seen[i] = i;
  for (int step = 0; step < level && head < tail; step++) {
    for (karst_index end = tail; head < end; head++) {
      karst_index v = queue[head];
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
  /* The last step leads nowhere but to entries of U: the ends of the rows. Without this a row of A that is nearly full
   * would be walked whole for each of its neighbours. */
  for (; head < tail; head++) {
    karst_index v = queue[head];
    for (karst_index k = A->start[v + 1]; k > A->start[v] && A->column[k - 1] > i; k--) {
      karst_index j = A->column[k - 1];
      if (seen[j] == i) continue;
      seen[j] = i;
      if (found) found[count] = j;
      count++;
    }
  }
  return count;
}

/* Shell's sort with Knuth's increments: insertion for the usual short rows, and no square for long ones. */
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

/* Searches all rows: their lengths into start[1 .. n] where column is NULL, else their entries into column.
 * memory: [2 n threads]. */
static void search_all(const struct graph *A, int level, int threads, karst_index *memory, karst_index *start,
                       karst_index *column)
{
  (void)threads;
#pragma omp parallel num_threads(threads)
  {
    karst_index *seen = memory + 2 * (int64_t)A->n * karst_thread(), *queue = seen + A->n;
    for (karst_index i = 0; i < A->n; i++) seen[i] = A->n;
#pragma omp for schedule(dynamic, ROWS_AT_A_TIME)
    for (karst_index i = 0; i < A->n; i++) {
      if (!column) {
        start[i + 1] = search_row(A, level, i, seen, queue, NULL);
      } else {
        search_row(A, level, i, seen, queue, column + start[i]);
        sort_row(start[i + 1] - start[i], column + start[i]);
      }
    }
  }
}

/* U of a graph. What was allocated when it fails is left to the caller. */
static karst_status upper_factor(karst_context *context, const struct graph *A, int level, karst_index **start,
                                 karst_index **column)
{
  karst_index *memory = NULL;
  karst_status status;
  int threads = context->threads < MOST_THREADS ? context->threads : MOST_THREADS;
  if (A->n / ROWS_AT_A_TIME < threads) threads = 1 + (int)(A->n / ROWS_AT_A_TIME);
  if ((status = karst_allocate(context, &memory, 2 * (int64_t)A->n * threads, sizeof *memory, "the search for fill")) ||
      (status = karst_allocate(context, start, (int64_t)A->n + 1, sizeof **start, "the pattern of the factors")))
    goto finish;
  search_all(A, level, threads, memory, *start, NULL);
  if ((status = karst_counts_to_starts(context, A->n, *start, "the factors")) ||
      (status = karst_allocate(context, column, (*start)[A->n], sizeof **column, "the pattern of the factors")))
    goto finish;
  search_all(A, level, threads, memory, *start, *column);

finish:
  karst_release(context, memory);
  return status;
}

/* L of a graph that is not symmetric: the transpose of the U of A^T. */
static karst_status lower_factor(karst_context *context, const struct graph *A, int level, karst_index **start,
                                 karst_index **column)
{
  karst_index *a_start = NULL, *a_column = NULL, *l_start = NULL, *l_column = NULL;
  karst_status status;
  if ((status = karst_pattern_transpose(context, A->n, A->start, A->column, &a_start, &a_column))) return status;
  struct graph transposed = {A->n, a_start, a_column};
  status = upper_factor(context, &transposed, level, &l_start, &l_column);
  karst_release(context, a_start);
  karst_release(context, a_column);
  if (!status) status = karst_pattern_transpose(context, A->n, l_start, l_column, start, column);
  karst_release(context, l_start);
  karst_release(context, l_column);
  return status;
}

/* Level 0: the two triangles of A. */
static karst_status split(karst_context *context, const struct graph *A, karst_ilu_pattern *pattern)
{
  const char *what = "the pattern of the factors";
  karst_index n = A->n;
  karst_status status;
  if ((status = karst_allocate(context, &pattern->lower_start, (int64_t)n + 1, sizeof(karst_index), what)) ||
      (status = karst_allocate(context, &pattern->upper_start, (int64_t)n + 1, sizeof(karst_index), what)))
    return status;
  pattern->lower_start[0] = pattern->upper_start[0] = 0;
  for (karst_index i = 0; i < n; i++) {
    karst_index lower = A->start[i], upper;
    while (lower < A->start[i + 1] && A->column[lower] < i) lower++;
    upper = lower < A->start[i + 1] && A->column[lower] == i ? lower + 1 : lower;
    pattern->lower_start[i + 1] = pattern->lower_start[i] + (lower - A->start[i]);
    pattern->upper_start[i + 1] = pattern->upper_start[i] + (A->start[i + 1] - upper);
  }
  if ((status = karst_allocate(context, &pattern->lower_column, pattern->lower_start[n], sizeof(karst_index), what)) ||
      (status = karst_allocate(context, &pattern->upper_column, pattern->upper_start[n], sizeof(karst_index), what)))
    return status;
#pragma omp parallel for num_threads(context->threads) schedule(static)
  for (karst_index i = 0; i < n; i++) {
    karst_index lower = pattern->lower_start[i + 1] - pattern->lower_start[i];
    karst_index upper = pattern->upper_start[i + 1] - pattern->upper_start[i];
    for (karst_index k = 0; k < lower; k++)
      pattern->lower_column[pattern->lower_start[i] + k] = A->column[A->start[i] + k];
    for (karst_index k = 0; k < upper; k++)
      pattern->upper_column[pattern->upper_start[i] + k] = A->column[A->start[i + 1] - upper + k];
  }
  return KARST_SUCCESS;
}

static karst_status factor(karst_context *context, const struct graph *A, int level, karst_ilu_pattern *pattern)
{
  bool symmetric;
  karst_status status = karst_pattern_is_symmetric(context, A->n, A->start, A->column, &symmetric);
  if (!status && !symmetric) status = lower_factor(context, A, level, &pattern->lower_start, &pattern->lower_column);
  if (!status) status = upper_factor(context, A, level, &pattern->upper_start, &pattern->upper_column);
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
