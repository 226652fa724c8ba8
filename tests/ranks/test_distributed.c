/* A matrix spread over ranks has the products, residuals and norms of the same matrix in one process, for any number of
 * ranks, block rows without ghosts and ranks without block rows, also after an update. */
#include "tests/ranks/spread_system.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double largest_difference(const double *a, const double *b, int64_t n)
{
  double largest = 0;
  for (int64_t i = 0; i < n; i++) largest = fmax(largest, fabs(a[i] - b[i]));
  return largest;
}

static double norm_of(const double *a, int64_t n)
{
  double square = 0;
  for (int64_t i = 0; i < n; i++) square += a[i] * a[i];
  return sqrt(square);
}

/* The product, a residual that is rounding, norms and dot products. */
static void check_products(struct team_rank *rank, const struct spread *s, const karst_matrix *A, double factor)
{
  karst_vector *x = spread_vector(rank, s, s->x), *y = spread_vector(rank, s, NULL),
               *b = spread_vector(rank, s, s->rhs);
  const double size = norm_of(s->rhs, s->n), tolerance = 1e-13 * (1 + size);
  double norm = -1, dot = -1;
  team_need(rank, karst_matrix_multiply(A, x, y), "A x");
  karst_vector_scale(1 / factor, y);
  double *product = spread_join(rank, s, y);
  team_ok(rank, largest_difference(product, s->rhs, s->n) <= tolerance, "A x is that of one process");
  team_need(rank, karst_vector_norm(y, &norm), "a norm");
  team_ok(rank, fabs(norm - size) <= 1e-12 * (1 + size), "the norm is that of one process: %g, %g", norm, size);
  team_need(rank, karst_vector_dot(y, y, &dot), "a dot product");
  team_ok(rank, fabs(dot - size * size) <= 1e-12 * (1 + size * size), "so is the dot product");
  karst_vector_scale(factor, b);
  team_need(rank, karst_matrix_residual(A, b, x, y, &norm), "b - A x");
  team_ok(rank, norm <= 1e-13 * factor * (1 + size), "the residual is rounding: %g of %g", norm, size);
  free(product);
  karst_vector_destroy(x);
  karst_vector_destroy(y);
  karst_vector_destroy(b);
}

/* The same matrix times 3, with the caller's values in the order of its rows. */
static void update(struct team_rank *rank, const struct spread *s, karst_matrix *A)
{
  const karst_index *start = karst_matrix_row_start(s->A);
  const int64_t bb = (int64_t)s->b * s->b, first = start[s->first[rank->rank]] * bb;
  const int64_t count = start[s->first[rank->rank + 1]] * bb - first;
  double *value = malloc((size_t)(count + 1) * sizeof *value);
  for (int64_t i = 0; i < count; i++) value[i] = 3 * karst_matrix_value(s->A)[first + i];
  team_need(rank, karst_matrix_update_values(A, value), "an update");
  free(value);
}

static void body(struct team_rank *rank)
{
  const struct spread *s = rank->user;
  karst_matrix *A;
  if (!team_need(rank, spread_matrix(rank, s, &A), "a distributed matrix")) return;
  team_ok(rank, karst_matrix_first_block_row(A) == s->first[rank->rank], "the first block row");
  team_ok(rank, karst_matrix_all_block_rows(A) == s->first[rank->ranks], "the number of all block rows");
  team_ok(rank, karst_matrix_block_rows(A) == s->first[rank->rank + 1] - s->first[rank->rank], "the own block rows");
  check_products(rank, s, A, 1);
  update(rank, s, A);
  check_products(rank, s, A, 3);
  karst_matrix_destroy(A);
}

int main(void)
{
  for (int ranks = 1; ranks <= TEAM_MOST; ranks++) {
    karst_context *context = tap_context();
    const int b = 1 + (int)tap_random_index(4);
    struct spread s = spread_of(context, tap_random_matrix(context, 60, b, 4, 2), ranks, ranks % 2 == 0);
    team_each_device(ranks, body, &s, "products and residuals");
    spread_destroy(&s);
    karst_context_destroy(context);
  }
  karst_context *context = tap_context();
  struct spread s = spread_of(context, tap_random_matrix(context, 3, 2, 0, 1), 5, true);
  team_each_device(5, body, &s, "more ranks than block rows, and no couplings");
  spread_destroy(&s);
  karst_context_destroy(context);
  return tap_done();
}
