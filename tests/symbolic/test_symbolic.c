/* The pattern of ILU(k) follows the level rule, for every level and number of threads. Level sets are as deep as the
 * longest chain of dependencies. Patterns are transposed, symmetrised, mirrored and permuted like matrices. */
#include "symbolic/symbolic.h"

#include "tests/support/failing_allocator.h"
#include "tests/support/patterns.h"

#include <string.h>

#define ABSENT 10000 /* the level of an entry that is not in the pattern */

/* Computes Algorithm 3 of Yang, Liu, He and Chen literally, on a full array of levels. The caller frees it. */
static int *levels_of_fill(const struct pattern *A, int level)
{
  int *L = tap_memory((int64_t)A->n * A->n, sizeof *L);
  karst_index n = A->n;
  for (karst_index i = 0; i < n; i++)
    for (karst_index j = 0; j < n; j++) L[i * n + j] = i == j || pattern_has(A, i, j) ? 0 : ABSENT;
  for (karst_index i = 1; i < n; i++) {
    for (karst_index p = 0; p < i; p++) {
      if (L[i * n + p] > level) continue;
      for (karst_index j = p + 1; j < n; j++)
        if (L[i * n + p] + L[p * n + j] + 1 < L[i * n + j]) L[i * n + j] = L[i * n + p] + L[p * n + j] + 1;
    }
    for (karst_index j = 0; j < n; j++)
      if (L[i * n + j] > level) L[i * n + j] = ABSENT;
  }
  return L;
}

/* Returns whether the pattern holds exactly the entries present in L, each in its triangle and in ascending order. */
static bool matches(const karst_ilu_pattern *pattern, karst_index n, const int *L)
{
  karst_index lower = 0, upper = 0;
  for (karst_index i = 0; i < n; i++) {
    for (karst_index j = 0; j < n; j++) {
      if (L[i * n + j] == ABSENT || i == j) continue;
      if (j < i && (lower >= pattern->lower_start[i + 1] || pattern->lower_column[lower++] != j)) return false;
      if (j > i && (upper >= pattern->upper_start[i + 1] || pattern->upper_column[upper++] != j)) return false;
    }
    if (lower != pattern->lower_start[i + 1] || upper != pattern->upper_start[i + 1]) return false;
  }
  return pattern->rows == n && pattern->lower_start[0] == 0 && pattern->upper_start[0] == 0;
}

static void test_fill_rule(karst_context *context)
{
  static const double densities[] = {0, 0.02, 0.05, 0.1, 0.3};
  const int cases = 60;
  int wrong = 0;
  for (int c = 0; c < cases; c++) {
    karst_index n = c < 3 ? c : (karst_index)(1 + tap_random_index(60));
    struct pattern A = pattern_random(n, densities[c % 5]);
    if (c % 3 == 0) { /* a symmetric pattern takes another path through the code */
      karst_index *start, *column;
      tap_need(context, karst_pattern_symmetrise(context, n, A.start, A.column, &start, &column), "symmetrise");
      memcpy(A.start, start, ((size_t)n + 1) * sizeof *start);
      memcpy(A.column, column, (size_t)start[n] * sizeof *column);
      karst_release(context, start);
      karst_release(context, column);
    }
    for (int level = 0; level <= 6; level++) {
      int k = level < 6 ? level : (int)n;
      int *L = levels_of_fill(&A, k);
      karst_ilu_pattern pattern;
      tap_need(context, karst_ilu_symbolic(context, n, A.start, A.column, k, &pattern), "symbolic");
      if (!matches(&pattern, n, L)) {
        tap_note("n = %ld, k = %d, density %g differs", (long)n, k, densities[c % 5]);
        wrong++;
      }
      karst_ilu_pattern_destroy(context, &pattern);
      free(L);
    }
    pattern_free(&A);
  }
  tap_ok(wrong == 0, "%d random patterns, k = 0 .. 5 and n: the fill is the level rule's", cases);
}

/* The joined rows are those of L, the diagonal and U, and position has the place of each entry of A. */
static void test_join(karst_context *context)
{
  const karst_index n = 40;
  struct pattern A = pattern_random(n, 0.1);
  for (int level = 0; level < 3; level++) {
    karst_ilu_pattern pattern;
    karst_index *start, *column, *position;
    bool rows = true, places = true;
    tap_need(context, karst_ilu_symbolic(context, n, A.start, A.column, level, &pattern), "symbolic");
    karst_status status = karst_ilu_pattern_join(context, &pattern, A.start, A.column, &start, &column, &position);
    tap_need(context, status, "join");
    for (karst_index i = 0; i < n; i++) {
      const karst_index lower = pattern.lower_start[i + 1] - pattern.lower_start[i];
      const karst_index upper = pattern.upper_start[i + 1] - pattern.upper_start[i], *row = column + start[i];
      rows = rows && start[i + 1] - start[i] == lower + 1 + upper && row[lower] == i;
      for (karst_index k = 0; rows && k < lower; k++) rows = row[k] == pattern.lower_column[pattern.lower_start[i] + k];
      for (karst_index k = 0; rows && k < upper; k++)
        rows = row[lower + 1 + k] == pattern.upper_column[pattern.upper_start[i] + k];
      for (karst_index k = A.start[i]; k < A.start[i + 1]; k++)
        places = places && position[k] >= start[i] && position[k] < start[i + 1] && column[position[k]] == A.column[k];
    }
    tap_ok(rows && places, "k = %d: L, the diagonal and U as one pattern", level);
    karst_release(context, start);
    karst_release(context, column);
    karst_release(context, position);
    karst_ilu_pattern_destroy(context, &pattern);
  }
  pattern_free(&A);
}

/* Makes a pattern with a diagonal and a hub n/2: its row also has all columns before it, and the rows after it also
 * have its column. Row from also has column to. Its transpose is the mirror image. */
static struct pattern hub_pattern(karst_index n, karst_index from, karst_index to)
{
  struct pattern A = pattern_empty(n, 3 * (int64_t)n + 1);
  karst_index hub = n / 2, k = 0;
  for (karst_index i = 0; i < n; i++) {
    if (i == hub)
      for (karst_index j = 0; j < hub; j++) A.column[k++] = j;
    if (i > hub) A.column[k++] = hub;
    A.column[k++] = i;
    if (i == from) A.column[k++] = to;
    A.start[i + 1] = k;
  }
  return A;
}

static struct pattern transposed(karst_context *context, const struct pattern *A)
{
  struct pattern T = pattern_empty(A->n, A->start[A->n]);
  karst_index *start, *column;
  tap_need(context, karst_pattern_transpose(context, A->n, A->start, A->column, &start, &column), "transpose");
  memcpy(T.start, start, ((size_t)A->n + 1) * sizeof *start);
  memcpy(T.column, column, (size_t)start[A->n] * sizeof *column);
  karst_release(context, start);
  karst_release(context, column);
  return T;
}

/* All paths lead through a long row and end behind it. If each path were searched, the large patterns would take
 * hours. */
static void test_hub(karst_context *context)
{
  const karst_index small = 400, large = 1000000;
  for (int side = 0; side < 2; side++) {
    struct pattern A = hub_pattern(small, 5, small - 1), B = hub_pattern(large, 5, large - 1);
    if (side == 1) {
      struct pattern T = transposed(context, &A), U = transposed(context, &B);
      pattern_free(&A);
      pattern_free(&B);
      A = T;
      B = U;
    }
    karst_ilu_pattern pattern;
    for (int level = 1; level <= 4; level++) {
      int *L = levels_of_fill(&A, level);
      tap_need(context, karst_ilu_symbolic(context, small, A.start, A.column, level, &pattern), "symbolic");
      tap_ok(matches(&pattern, small, L), "a hub of %ld rows%s, k = %d: the fill is the level rule's", (long)small,
             side ? ", transposed" : "", level);
      karst_ilu_pattern_destroy(context, &pattern);
      free(L);
    }
    /* The hub's row reaches the last column at level 1, and the rows below it at level 2. */
    tap_need(context, karst_ilu_symbolic(context, large, B.start, B.column, 2, &pattern), "symbolic");
    karst_index sparse = side ? pattern.lower_start[large] : pattern.upper_start[large];
    karst_index filled = side ? pattern.upper_start[large] : pattern.lower_start[large];
    tap_ok(filled == large - 1 && sparse == 2 + large - 2 - large / 2,
           "a hub of %ld rows%s, k = 2: %ld and %ld entries", (long)large, side ? ", transposed" : "", (long)filled,
           (long)sparse);
    karst_ilu_pattern_destroy(context, &pattern);
    pattern_free(&A);
    pattern_free(&B);
  }
}

/* These are the counts of an independent implementation for poisson3d:40x40x40. */
static void test_grid_counts(karst_context *context)
{
  static const int64_t expected[] = {438400, 803440, 1396396, 2563822};
  struct pattern A = pattern_grid(40, 40, 40);
  for (int k = 0; k < 4; k++) {
    karst_ilu_pattern pattern;
    tap_need(context, karst_ilu_symbolic(context, A.n, A.start, A.column, k, &pattern), "symbolic");
    int64_t entries = (int64_t)pattern.lower_start[A.n] + pattern.upper_start[A.n] + A.n;
    tap_ok(entries == expected[k], "40x40x40 cells, k = %d: the factors have %lld entries (%lld)", k,
           (long long)expected[k], (long long)entries);
    karst_ilu_pattern_destroy(context, &pattern);
  }
  pattern_free(&A);
}

static bool same(int64_t count, const karst_index *a, const karst_index *b)
{
  return memcmp(a, b, (size_t)count * sizeof *a) == 0;
}

/* There are many more rows than threads, so that threads share them. */
static void test_threads(karst_context *context)
{
  struct pattern A = pattern_grid(13, 17, 19), B = pattern_random(400, 0.01), *both[] = {&A, &B};
  karst_ilu_pattern one, many;
  for (int c = 0; c < 2; c++) {
    struct pattern *P = both[c];
    bool equal = true;
    tap_need(context, karst_ilu_symbolic(context, P->n, P->start, P->column, 3, &one), "symbolic");
    for (int threads = 2; threads <= 5; threads++) {
      if (tap_set_threads(context, threads)) continue; /* the build has no OpenMP */
      tap_need(context, karst_ilu_symbolic(context, P->n, P->start, P->column, 3, &many), "symbolic");
      equal = equal && same(P->n + 1, one.lower_start, many.lower_start) &&
              same(P->n + 1, one.upper_start, many.upper_start) &&
              same(one.lower_start[P->n], one.lower_column, many.lower_column) &&
              same(one.upper_start[P->n], one.upper_column, many.upper_column);
      karst_ilu_pattern_destroy(context, &many);
    }
    tap_need(context, tap_set_threads(context, 1), "one thread");
    tap_ok(equal, "%s: the fill is the same for 1 to 5 threads", c == 0 ? "grid" : "random pattern");
    karst_ilu_pattern_destroy(context, &one);
    pattern_free(P);
  }
}

/* A full pattern of n rows takes sum_{i>p} (n - p) products, that is sum_p (n - 1 - p) (n - p). An empty pattern, whose
 * diagonal is treated as present, takes none. */
static void test_products(karst_context *context)
{
  for (karst_index n = 1; n <= 9; n += 4) {
    struct pattern full = pattern_empty(n, (int64_t)n * n), empty = pattern_empty(n, 0);
    karst_ilu_pattern all, none;
    double expected = 0;
    for (karst_index i = 0; i < n; i++) {
      for (karst_index j = 0; j < n; j++) full.column[i * n + j] = j;
      full.start[i + 1] = (i + 1) * n;
      expected += (double)(n - 1 - i) * (double)(n - i);
    }
    tap_need(context, karst_ilu_symbolic(context, n, full.start, full.column, 0, &all), "symbolic");
    tap_need(context, karst_ilu_symbolic(context, n, empty.start, empty.column, 0, &none), "symbolic");
    tap_ok(karst_ilu_pattern_products(&all) == expected && karst_ilu_pattern_products(&none) == 0,
           "%ld full rows take %g products, and empty ones none", (long)n, expected);
    karst_ilu_pattern_destroy(context, &all);
    karst_ilu_pattern_destroy(context, &none);
    pattern_free(&full);
    pattern_free(&empty);
  }
}

/* Returns whether the bound of the blocks of level 1 holds, and is the number of blocks that one row makes. */
static bool is_bounded(karst_context *context, const struct pattern *A)
{
  karst_ilu_pattern pattern;
  double least, most = 0;
  tap_need(context, karst_ilu_least_blocks(context, A->n, A->start, A->column, &least), "bound");
  tap_need(context, karst_ilu_symbolic(context, A->n, A->start, A->column, 1, &pattern), "symbolic");
  const double blocks = (double)pattern.lower_start[A->n] + (double)pattern.upper_start[A->n];
  karst_ilu_pattern_destroy(context, &pattern);
  for (karst_index p = 0; p < A->n; p++) {
    double below = 0, behind = 0;
    for (karst_index i = p + 1; i < A->n; i++) {
      below += pattern_has(A, i, p);
      behind += pattern_has(A, p, i);
    }
    const double made = below * behind - (below < behind ? below : behind);
    if (made > most) most = made;
  }
  return least == most && least <= blocks;
}

/* Of an arrow with its head first the bound is all fill but for the head's own row and column. */
static void test_least(karst_context *context)
{
  enum { ROWS = 300 };
  struct pattern arrow = pattern_arrow(ROWS);
  double least;
  int wrong = 0;
  for (int c = 0; c < 40; c++) {
    struct pattern A = pattern_random((karst_index)tap_random_index(60), c % 2 ? 0.05 : 0.3);
    wrong += !is_bounded(context, &A);
    pattern_free(&A);
  }
  tap_ok(wrong == 0, "random patterns: factors have at least as many blocks as one row makes");
  tap_need(context, karst_ilu_least_blocks(context, ROWS, arrow.start, arrow.column, &least), "bound");
  tap_ok(least == (double)(ROWS - 1) * (ROWS - 2), "an arrow of %d rows makes %g blocks", ROWS, least);
  pattern_free(&arrow);
}

/* On symmetric patterns, symbolic factorization takes two indices a row besides its result. */
static void test_memory(void)
{
  struct failing_allocator memory = {0};
  struct pattern A = pattern_grid(30, 30, 30);
  karst_context *context = failing_context(&memory);
  size_t before = memory.bytes;
  karst_ilu_pattern pattern;
  memory.peak = before;
  tap_need(context, karst_ilu_symbolic(context, A.n, A.start, A.column, 2, &pattern), "symbolic");
  size_t result = memory.bytes - before, peak = memory.peak - before;
  tap_ok(peak <= result + result / 20, "30x30x30 cells, k = 2: the peak is %zu bytes for a result of %zu", peak,
         result);
  karst_ilu_pattern_destroy(context, &pattern);
  karst_context_destroy(context);
  pattern_free(&A);
}

static void test_bad_level(karst_context *context)
{
  struct pattern A = pattern_grid(2, 1, 1);
  karst_ilu_pattern pattern;
  karst_status status = karst_ilu_symbolic(context, A.n, A.start, A.column, -1, &pattern);
  tap_ok(status == KARST_ERROR_ARGUMENT && !pattern.lower_start && strstr(karst_context_error(context), "-1"),
         "level -1 is refused: %s", karst_context_error(context));
  pattern_free(&A);
}

static void test_overflow(karst_context *context)
{
#if KARST_INDEX_BITS == 32
  karst_index counts[] = {0, 2000000000, 147483647, 1};
  tap_ok(karst_counts_to_starts(context, 2, counts, "the factors") == KARST_SUCCESS && counts[2] == INT32_MAX,
         "2^31 - 1 entries can be counted");
  karst_index too_many[] = {0, 2000000000, 147483647, 1};
  karst_status status = karst_counts_to_starts(context, 3, too_many, "the factors");
  tap_ok(status == KARST_ERROR_INDEX_OVERFLOW, "one more cannot: %s", karst_context_error(context));
#else
  (void)context;
  tap_skip("this build has 64-bit indices", "too many entries are refused");
#endif
}

/* Computes the longest chain of dependencies, which defines a row's level, by recursion. */
static karst_index depth_of(const karst_index *start, const karst_index *column, karst_index row)
{
  karst_index depth = 0;
  for (karst_index k = start[row]; k < start[row + 1]; k++) {
    karst_index below = depth_of(start, column, column[k]) + 1;
    if (below > depth) depth = below;
  }
  return depth;
}

/* Whether as many levels are counted as the deepest row needs, and the rows are grouped by depth, ascending in each. */
static bool levels_match(karst_context *context, karst_index n, const karst_index *start, const karst_index *column,
                         bool lower)
{
  karst_index count, levels = 0, *depth = tap_memory(n, sizeof *depth), *row = tap_memory(n, sizeof *row);
  for (karst_index i = 0; i < n; i++) {
    depth[i] = depth_of(start, column, i);
    if (depth[i] >= levels) levels = depth[i] + 1;
  }
  karst_index *level_start = tap_memory(levels + 1, sizeof *level_start);
  tap_need(context, karst_levels_count(context, n, start, column, lower, &count), "count the levels");
  karst_levels_group(n, depth, levels, level_start, row);
  bool right = count == levels && level_start[0] == 0 && level_start[levels] == n;
  for (karst_index l = 0; l < levels; l++)
    for (karst_index k = level_start[l]; k < level_start[l + 1]; k++)
      right = right && depth[row[k]] == l && (k == level_start[l] || row[k] > row[k - 1]);
  free(depth);
  free(row);
  free(level_start);
  return right;
}

static void test_levels(karst_context *context)
{
  bool right = true;
  for (int c = 0; c < 40; c++) {
    karst_index n = (karst_index)(c < 2 ? c : tap_random_index(25));
    struct pattern A = pattern_random(n, 0.1);
    karst_ilu_pattern pattern;
    tap_need(context, karst_ilu_symbolic(context, n, A.start, A.column, 0, &pattern), "symbolic");
    right = right && levels_match(context, n, pattern.lower_start, pattern.lower_column, true) &&
            levels_match(context, n, pattern.upper_start, pattern.upper_column, false);
    karst_ilu_pattern_destroy(context, &pattern);
    pattern_free(&A);
  }
  tap_ok(right, "level sets of random triangles: each row is as deep as its longest chain of dependencies");
}

static void test_grid_levels(karst_context *context)
{
  static const karst_index size[][3] = {{7, 5, 3}, {1, 1, 1}, {9, 1, 1}, {1, 6, 4}};
  for (int c = 0; c < 4; c++) {
    karst_index nx = size[c][0], ny = size[c][1], nz = size[c][2];
    struct pattern A = pattern_grid(nx, ny, nz);
    karst_ilu_pattern pattern;
    karst_index lower, upper;
    tap_need(context, karst_ilu_symbolic(context, A.n, A.start, A.column, 0, &pattern), "symbolic");
    tap_need(context, karst_levels_count(context, A.n, pattern.lower_start, pattern.lower_column, true, &lower), "L");
    tap_need(context, karst_levels_count(context, A.n, pattern.upper_start, pattern.upper_column, false, &upper), "U");
    tap_ok(lower == nx + ny + nz - 2 && upper == lower,
           "%ldx%ldx%ld cells have nx + ny + nz - 2 levels in both triangles", (long)nx, (long)ny, (long)nz);
    karst_ilu_pattern_destroy(context, &pattern);
    pattern_free(&A);
  }
}

static void test_transpose(karst_context *context)
{
  bool right = true;
  for (int c = 0; c < 30; c++) {
    karst_index n = (karst_index)(c < 2 ? c : tap_random_index(40));
    struct pattern A = pattern_random(n, 0.15), T = {.n = n}, S = {.n = n};
    tap_need(context, karst_pattern_transpose(context, n, A.start, A.column, &T.start, &T.column), "transpose");
    tap_need(context, karst_pattern_symmetrise(context, n, A.start, A.column, &S.start, &S.column), "symmetrise");
    const bool symmetric = karst_pattern_is_symmetric(context, n, A.start, A.column);
    const bool symmetrised = karst_pattern_is_symmetric(context, n, S.start, S.column);
    bool images = true;
    for (karst_index i = 0; i < n; i++) {
      for (karst_index j = 0; j < n; j++) {
        bool here = pattern_has(&A, i, j), there = pattern_has(&A, j, i);
        right = right && pattern_has(&T, j, i) == here && pattern_has(&S, i, j) == (i != j && (here || there));
        images = images && here == there;
      }
    }
    right = right && T.start[n] == A.start[n] && symmetric == images && symmetrised &&
            karst_matrix_check(context, n, T.start, T.column) == KARST_SUCCESS &&
            karst_matrix_check(context, n, S.start, S.column) == KARST_SUCCESS;
    karst_release(context, T.start);
    karst_release(context, T.column);
    karst_release(context, S.start);
    karst_release(context, S.column);
    pattern_free(&A);
  }
  tap_ok(right, "random patterns are transposed, symmetrised and tested for symmetry, rows ascending");
}

/* Returns whether the image of each entry (i,j) is the entry (j,i). */
static bool mirrors(karst_context *context, const struct pattern *A)
{
  karst_index *mirror;
  bool right = true;
  tap_need(context, karst_pattern_mirror(context, A->n, A->start, A->column, &mirror), "mirror");
  for (karst_index i = 0; i < A->n; i++)
    for (karst_index k = A->start[i]; k < A->start[i + 1]; k++) {
      const karst_index j = A->column[k];
      right = right && mirror[k] >= A->start[j] && mirror[k] < A->start[j + 1] && A->column[mirror[k]] == i;
    }
  karst_release(context, mirror);
  return right;
}

static void test_mirror(karst_context *context)
{
  bool right = true;
  for (int c = 0; c < 30; c++) {
    karst_index n = (karst_index)(c < 2 ? c : tap_random_index(40));
    struct pattern A = pattern_random(n, 0.15), S = {.n = n};
    tap_need(context, karst_pattern_symmetrise(context, n, A.start, A.column, &S.start, &S.column), "symmetrise");
    right = right && mirrors(context, &S);
    karst_release(context, S.start);
    karst_release(context, S.column);
    pattern_free(&A);
  }
  struct pattern grid = pattern_grid(4, 3, 2);
  tap_ok(right, "random patterns made symmetric: each entry's mirror image is found");
  tap_ok(mirrors(context, &grid), "a grid: each entry's mirror image is found, the diagonal's in itself");
  pattern_free(&grid);
}

static void test_permute(karst_context *context)
{
  bool right = true;
  for (int c = 0; c < 30; c++) {
    karst_index n = (karst_index)(c < 2 ? c : tap_random_index(c < 25 ? 40 : 150)), *source;
    struct pattern A = pattern_random(n, c < 25 ? 0.15 : 0.6), P = {.n = n}; /* with rows of few and of many entries */
    karst_index *permutation = pattern_shuffle(n), *inverse = tap_memory(n, sizeof *inverse);
    tap_need(context, karst_permutation_invert(context, n, permutation, inverse), "invert");
    tap_need(context, karst_pattern_permute(context, n, A.start, A.column, permutation, &P.start, &P.column, &source),
             "permute");
    right = right && P.start[n] == A.start[n] && karst_matrix_check(context, n, P.start, P.column) == KARST_SUCCESS;
    for (karst_index i = 0; i < n; i++) {
      right = right && inverse[permutation[i]] == i;
      for (karst_index k = P.start[i]; k < P.start[i + 1]; k++) {
        karst_index old = permutation[i];
        right = right && source[k] >= A.start[old] && source[k] < A.start[old + 1] &&
                A.column[source[k]] == permutation[P.column[k]];
      }
    }
    karst_release(context, P.start);
    karst_release(context, P.column);
    karst_release(context, source);
    free(permutation);
    free(inverse);
    pattern_free(&A);
  }
  tap_ok(right, "random patterns are permuted as P A P^T, rows ascending, each entry from its source");
}

static void test_bad_permutation(karst_context *context)
{
  karst_index wrong[][3] = {{0, 2, 2}, {0, 3, 1}, {-1, 0, 1}}, *twice = wrong[0], inverse[3];
  for (int i = 0; i < 3; i++) {
    karst_status status = karst_permutation_invert(context, 3, wrong[i], inverse);
    tap_ok(status == KARST_ERROR_ARGUMENT, "refused: %s", karst_context_error(context));
  }
  struct pattern A = pattern_grid(3, 1, 1);
  karst_index *start, *column, *source;
  tap_ok(karst_pattern_permute(context, 3, A.start, A.column, twice, &start, &column, &source) ==
                 KARST_ERROR_ARGUMENT &&
             !start && !column && !source,
         "an invalid permutation is refused");
  pattern_free(&A);
}

/* user: a pattern. */
static karst_status run_symbolic(karst_context *context, void *user)
{
  const struct pattern *A = user;
  for (int k = 0; k < 3; k++) {
    karst_ilu_pattern pattern;
    karst_index *start = NULL, *column = NULL, *position = NULL, levels;
    karst_status status = karst_ilu_symbolic(context, A->n, A->start, A->column, k, &pattern);
    if (!status) status = karst_levels_count(context, A->n, pattern.lower_start, pattern.lower_column, true, &levels);
    if (!status) status = karst_ilu_pattern_join(context, &pattern, A->start, A->column, &start, &column, &position);
    karst_release(context, start);
    karst_release(context, column);
    karst_release(context, position);
    karst_ilu_pattern_destroy(context, &pattern);
    if (status) return status;
  }
  return KARST_SUCCESS;
}

static karst_status run_permute(karst_context *context, void *user)
{
  const struct pattern *A = user;
  karst_index *start, *column, *source = NULL, *permutation = pattern_shuffle(A->n);
  karst_status status =
      karst_pattern_permute(context, A->n, A->start, A->column, permutation, &start, &column, &source);
  karst_release(context, start);
  karst_release(context, column);
  karst_release(context, source);
  if (!status) {
    karst_index *mirror = NULL;
    status = karst_pattern_symmetrise(context, A->n, A->start, A->column, &start, &column);
    if (!status) status = karst_pattern_mirror(context, A->n, start, column, &mirror);
    karst_release(context, start);
    karst_release(context, column);
    karst_release(context, mirror);
  }
  free(permutation);
  return status;
}

int main(void)
{
  karst_context *context = tap_context();
  test_fill_rule(context);
  test_join(context);
  test_hub(context);
  test_grid_counts(context);
  test_threads(context);
  test_products(context);
  test_least(context);
  test_memory();
  test_bad_level(context);
  test_overflow(context);
  test_levels(context);
  test_grid_levels(context);
  test_transpose(context);
  test_mirror(context);
  test_permute(context);
  test_bad_permutation(context);
  karst_context_destroy(context);

  struct pattern grid = pattern_grid(4, 3, 2), random = pattern_random(30, 0.1), hub = hub_pattern(400, 5, 399);
  fail_each_allocation(run_symbolic, &grid, "fill and levels of a grid");
  fail_each_allocation(run_symbolic, &random, "fill and levels of a pattern without symmetry");
  fail_each_allocation(run_symbolic, &hub, "fill and levels of a pattern with a hub");
  fail_each_allocation(run_permute, &random, "permutation and mirror image");
  pattern_free(&grid);
  pattern_free(&random);
  pattern_free(&hub);
  return tap_done();
}
