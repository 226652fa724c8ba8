/* patterns.h - patterns without values for tests, and matrices on them. */
#ifndef KARST_TESTS_SUPPORT_PATTERNS_H
#define KARST_TESTS_SUPPORT_PATTERNS_H

#include "tests/support/tap.h"

#include <stdlib.h>

struct pattern {
  karst_index n;
  karst_index *start;  /* [n + 1] */
  karst_index *column; /* [start[n]], ascending in each row */
};

struct pattern pattern_empty(karst_index n, int64_t most_entries);
void pattern_free(struct pattern *pattern);
/* Couples the cells of a grid in natural order with themselves and those at their faces or, with corners, with all 26
 * around them. */
struct pattern pattern_stencil(const karst_index size[3], bool corners);
/* Makes the 7-point stencil on nx x ny x nz cells in natural order, with the diagonal. */
struct pattern pattern_grid(karst_index nx, karst_index ny, karst_index nz);
/* Makes an arrow: the diagonal, the first row and the first column. */
struct pattern pattern_arrow(karst_index n);
/* Makes a pattern whose entries, the diagonal's too, are present with probability density; some rows are empty, and
 * some are nearly full. */
struct pattern pattern_random(karst_index n, double density);
/* Returns a random permutation (Fisher and Yates), which the caller frees. */
karst_index *pattern_shuffle(karst_index n);
/* Returns the level of fill of each place, row by row, by Algorithm 3 of Yang, Liu, He, Chen on the full n-by-n pattern of
 * the block rows; a large level means no entry. The caller frees it. */
int *pattern_fill_levels(const karst_matrix *A);
/* Returns whether row i has an entry in column j. */
bool pattern_has(const struct pattern *pattern, karst_index i, karst_index j);

/* Returns the pattern with the diagonal added where it is missing. */
struct pattern pattern_with_diagonal(const struct pattern *pattern);
/* Returns random blocks for each entry, b*b values each, which the caller frees. Diagonal blocks outweigh their rows by
 * a factor of dominance. */
double *pattern_values(const struct pattern *pattern, int b, double dominance);
/* Makes the matrix of these values, and of random ones on the pattern with its diagonal. */
karst_matrix *pattern_matrix(karst_context *context, const struct pattern *pattern, int b, const double *value);
karst_matrix *pattern_random_matrix(karst_context *context, const struct pattern *pattern, int b, double dominance);
/* Makes a random matrix on an arrow, dominated by its diagonal. */
karst_matrix *pattern_arrow_matrix(karst_context *context, karst_index n, int b);

#endif
