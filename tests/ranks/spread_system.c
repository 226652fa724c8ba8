/* spread_system.c - see spread_system.h. */
#include "tests/ranks/spread_system.h"

#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
  const karst_index x = *(const karst_index *)a, y = *(const karst_index *)b;
  return (x > y) - (x < y);
}

struct spread spread_of(karst_context *context, karst_matrix *A, int ranks, bool random)
{
  struct spread s = {.context = context, .A = A, .n = karst_matrix_rows(A), .b = karst_matrix_block_size(A)};
  karst_vector *x, *y;
  const karst_index rows = karst_matrix_block_rows(A);
  for (int r = 0; r <= ranks; r++) s.first[r] = (karst_index)((int64_t)rows * r / ranks);
  for (int r = 1; r < ranks && random; r++) s.first[r] = (karst_index)tap_random_index(rows + 1);
  qsort(s.first, (size_t)ranks + 1, sizeof *s.first, compare);
  s.x = tap_memory(s.n, sizeof *s.x);
  s.rhs = tap_memory(s.n, sizeof *s.rhs);
  for (int64_t i = 0; i < s.n; i++) s.x[i] = tap_random();
  tap_need(s.context, karst_vector_create(s.context, s.n, &x), "x");
  tap_need(s.context, karst_vector_create(s.context, s.n, &y), "y");
  tap_need(s.context, karst_vector_set(x, s.n, s.x), "x");
  tap_need(s.context, karst_matrix_multiply(A, x, y), "A x");
  tap_need(s.context, karst_vector_get(y, s.n, s.rhs), "A x");
  karst_vector_destroy(x);
  karst_vector_destroy(y);
  return s;
}

void spread_destroy(struct spread *s)
{
  karst_matrix_destroy(s->A);
  free(s->x);
  free(s->rhs);
}

karst_status spread_matrix(struct team_rank *rank, const struct spread *s, karst_matrix **A)
{
  const karst_index *start = karst_matrix_row_start(s->A), first = s->first[rank->rank];
  const karst_index rows = s->first[rank->rank + 1] - first;
  karst_index *own = malloc(((size_t)rows + 1) * sizeof *own);
  for (karst_index i = 0; i <= rows; i++) own[i] = start[first + i] - start[first];
  const karst_status status =
      karst_matrix_create_distributed(rank->context, rows, s->b, own, karst_matrix_column(s->A) + start[first],
                                      karst_matrix_value(s->A) + (int64_t)start[first] * s->b * s->b, A);
  free(own);
  return status;
}

karst_vector *spread_vector(struct team_rank *rank, const struct spread *s, const double *whole)
{
  const int64_t first = (int64_t)s->first[rank->rank] * s->b, n = (int64_t)s->first[rank->rank + 1] * s->b - first;
  karst_vector *part;
  if (!team_need(rank, karst_vector_create(rank->context, n, &part), "a vector")) return NULL;
  if (whole) team_need(rank, karst_vector_set(part, n, whole + first), "a vector's elements");
  return part;
}

double *spread_join(struct team_rank *rank, const struct spread *s, const karst_vector *part)
{
  const int64_t first = (int64_t)s->first[rank->rank] * s->b, n = (int64_t)s->first[rank->rank + 1] * s->b - first;
  const size_t bytes = (size_t)s->n * sizeof(double);
  double *own = calloc((size_t)s->n + 1, sizeof *own), *all = malloc((bytes + sizeof *all) * (size_t)rank->ranks);
  double *whole = malloc(bytes + sizeof *whole);
  if (n > 0) team_need(rank, karst_vector_get(part, n, own + first), "a part");
  team_gather(rank, own, bytes, all);
  for (int r = 0; r < rank->ranks; r++)
    for (int64_t i = (int64_t)s->first[r] * s->b; i < (int64_t)s->first[r + 1] * s->b; i++)
      whole[i] = all[r * s->n + i];
  free(own);
  free(all);
  return whole;
}

karst_options *spread_options(struct team_rank *rank, const char *const *pairs)
{
  karst_options *options = NULL;
  if (!team_need(rank, karst_options_create(rank->context, &options), "options")) return NULL;
  for (; *pairs; pairs += 2) team_need(rank, karst_options_set(options, pairs[0], pairs[1]), pairs[0]);
  return options;
}

karst_solver *spread_solver(struct team_rank *rank, const char *const *pairs)
{
  karst_options *options = spread_options(rank, pairs);
  karst_solver *solver = NULL;
  team_need(rank, karst_solver_create(rank->context, options, &solver), "a solver");
  karst_options_destroy(options);
  return solver;
}
