/* Problems that ranks generate, and matrices and vectors whose block rows move between ranks, are those of one process;
 * a partition of a distributed matrix is that of the whole one. An error on one rank is one of all. */
#include "tests/ranks/spread_system.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct task {
  struct spread s;
  const char *problem;
  double *own_rhs; /* [s.n] of the problem itself, or NULL */
  int *part;       /* [block rows] where each goes */
  int *metis;      /* [block rows] the partition of the whole, or NULL */
  int failing;     /* a rank that makes the mistake of the test */
};

static bool has_metis(void) { return strstr(karst_build_features(), "METIS"); }

static double difference(const double *a, const double *b, int64_t n)
{
  double largest = 0;
  for (int64_t i = 0; i < n; i++) largest = fmax(largest, fabs(a[i] - b[i]));
  return largest;
}

static double largest(const double *a, int64_t n)
{
  double most = 0;
  for (int64_t i = 0; i < n; i++) most = fmax(most, fabs(a[i]));
  return most;
}

/* A product of sums that are added in another order than in one process. */
static void check_product(struct team_rank *rank, const struct spread *s, const karst_vector *y, const char *what)
{
  double *product = spread_join(rank, s, y);
  const double error = difference(product, s->rhs, s->n);
  team_ok(rank, error <= 1e-13 * (1 + largest(s->rhs, s->n)), "%s is that of one process but for %g", what, error);
  free(product);
}

static void generate(struct team_rank *rank)
{
  const struct task *task = rank->user;
  const struct spread *s = &task->s;
  karst_matrix *A;
  karst_vector *rhs, *x = spread_vector(rank, s, s->x), *y = spread_vector(rank, s, NULL);
  if (team_need(rank, karst_gallery_create_distributed(rank->context, task->problem, 0, &A, &rhs), task->problem)) {
    int64_t entries = karst_matrix_entries(A), all[TEAM_MOST], sum = 0;
    team_gather(rank, &entries, sizeof entries, all);
    for (int r = 0; r < rank->ranks; r++) sum += all[r];
    team_ok(rank, sum == karst_matrix_entries(s->A), "%lld entries are generated", (long long)sum);
    team_ok(rank, karst_matrix_block_rows(A) == s->first[rank->rank + 1] - s->first[rank->rank], "of equal parts");
    team_need(rank, karst_matrix_multiply(A, x, y), "A x");
    check_product(rank, s, y, "A x");
    double *joined = rhs ? spread_join(rank, s, rhs) : NULL;
    team_ok(rank, !rhs == !task->own_rhs && (!rhs || difference(joined, task->own_rhs, s->n) == 0),
            "the right-hand side has the bits of one process");
    free(joined);
    karst_vector_destroy(rhs);
    karst_matrix_destroy(A);
  }
  karst_vector_destroy(x);
  karst_vector_destroy(y);
}

/* The rows that come to a rank are those that should, in the order of their old numbers. */
static void check_order(struct team_rank *rank, const struct task *task, const karst_redistribution *r)
{
  const struct spread *s = &task->s;
  const karst_index moved = karst_redistribution_block_rows(r);
  double *number = tap_memory(s->n, sizeof *number), *got = tap_memory((int64_t)moved * s->b + 1, sizeof *got);
  for (int64_t i = 0; i < s->n; i++) number[i] = (double)i;
  karst_vector *from = spread_vector(rank, s, number), *to;
  team_need(rank, karst_vector_create(rank->context, (int64_t)moved * s->b, &to), "a vector");
  team_need(rank, karst_redistribution_vector(r, from, to), "numbers that move");
  team_need(rank, karst_vector_get(to, (int64_t)moved * s->b, got), "numbers");
  int64_t found = 0, wrong = 0;
  for (karst_index i = 0; i < s->first[rank->ranks]; i++)
    for (int c = 0; task->part[i] == rank->rank && c < s->b; c++, found++)
      wrong += found >= (int64_t)moved * s->b || got[found] != (double)i * s->b + c;
  team_ok(rank, found == (int64_t)moved * s->b && wrong == 0, "%lld scalars come in their order", (long long)found);
  team_need(rank, karst_vector_fill(from, -1), "numbers");
  team_need(rank, karst_redistribution_vector_back(r, to, from), "numbers that move back");
  double *back = spread_join(rank, s, from);
  team_ok(rank, difference(back, number, s->n) == 0, "and go back to their places");
  karst_vector_destroy(from);
  karst_vector_destroy(to);
  free(number);
  free(got);
  free(back);
}

static void move(struct team_rank *rank)
{
  const struct task *task = rank->user;
  const struct spread *s = &task->s;
  const karst_index rows = s->first[rank->rank + 1] - s->first[rank->rank];
  karst_matrix *A = NULL, *moved = NULL;
  karst_redistribution *r = NULL;
  karst_vector *x = spread_vector(rank, s, s->x), *y = spread_vector(rank, s, NULL), *there = NULL, *product = NULL;
  if (team_need(rank, spread_matrix(rank, s, &A), "a distributed matrix") &&
      team_need(rank, karst_redistribution_create(rank->context, rows, task->part + s->first[rank->rank], &r),
                "ways") &&
      team_need(rank, karst_redistribution_matrix(r, A, &moved), "a matrix that moves")) {
    const int64_t n = karst_matrix_rows(moved);
    karst_matrix_destroy(A);
    A = NULL;
    team_ok(rank, karst_matrix_block_rows(moved) == karst_redistribution_block_rows(r), "its rows are counted");
    check_order(rank, task, r);
    karst_vector_create(rank->context, n, &there);
    karst_vector_create(rank->context, n, &product);
    team_need(rank, karst_redistribution_vector(r, x, there), "x");
    team_need(rank, karst_matrix_multiply(moved, there, product), "A x");
    team_need(rank, karst_redistribution_vector_back(r, product, y), "A x");
    check_product(rank, s, y, "A x of the moved matrix");
  }
  karst_vector_destroy(there);
  karst_vector_destroy(product);
  karst_vector_destroy(x);
  karst_vector_destroy(y);
  karst_redistribution_destroy(r);
  karst_matrix_destroy(moved);
  karst_matrix_destroy(A);
}

static void divide(struct team_rank *rank)
{
  const struct task *task = rank->user;
  const struct spread *s = &task->s;
  const karst_index first = s->first[rank->rank], rows = s->first[rank->rank + 1] - first;
  int *part = tap_memory(rows + 1, sizeof *part);
  karst_matrix *A;
  if (team_need(rank, spread_matrix(rank, s, &A), "a distributed matrix")) {
    team_need(rank, karst_matrix_partition(A, rank->ranks, part), "a partition");
    team_ok(rank, memcmp(part, task->metis + first, (size_t)rows * sizeof *part) == 0, "it is that of one process");
    karst_matrix_destroy(A);
  }
  free(part);
}

/* Each mistake is made on one rank. */
static void fail(struct team_rank *rank)
{
  const struct task *task = rank->user;
  const struct spread *s = &task->s;
  karst_context *context = rank->context;
  const karst_index rows = s->first[rank->rank + 1] - s->first[rank->rank];
  const bool here = rank->rank == task->failing;
  int *part = tap_memory(rows + 1, sizeof *part);
  karst_matrix *A = NULL, *moved;
  karst_redistribution *r = NULL;
  karst_vector *x = spread_vector(rank, s, s->x), *shorter = NULL, *rhs;
  team_need(rank, spread_matrix(rank, s, &A), "a distributed matrix");
  for (karst_index i = 0; i < rows; i++) part[i] = 0;
  if (here) part[0] = -1;
  team_ok(rank, team_same(rank, karst_redistribution_create(context, rows, part, &r)) == KARST_ERROR_ARGUMENT && !r,
          "a rank that does not exist");
  if (here) part[0] = 0;
  team_need(rank, karst_redistribution_create(context, rows, part, &r), "ways");
  team_need(rank, karst_vector_create(context, rank->rank == 0 ? s->n - (task->failing == 0) : here, &shorter),
            "a vector");
  team_ok(rank, team_same(rank, karst_redistribution_vector(r, x, shorter)) == KARST_ERROR_ARGUMENT, "a short vector");
  team_ok(rank, team_same(rank, karst_redistribution_vector(r, here ? NULL : x, shorter)) == KARST_ERROR_ARGUMENT,
          "none");
  team_ok(rank,
          team_same(rank, karst_redistribution_matrix(r, here ? NULL : A, &moved)) == KARST_ERROR_ARGUMENT && !moved,
          "no matrix");
  if (has_metis())
    team_ok(rank, team_same(rank, karst_matrix_partition(A, here ? 3 : 2, part)) == KARST_ERROR_ARGUMENT,
            "other parts");
  team_ok(rank,
          team_same(rank, karst_gallery_create_distributed(context, here ? "nowhere:3" : "poisson2d:4x5", 0, &moved,
                                                           &rhs)) == KARST_ERROR_OPTION,
          "another problem");
  team_ok(rank,
          team_same(rank, karst_gallery_create_distributed(context, "poisson2d:4x5", 2, &moved, &rhs)) ==
              KARST_ERROR_ARGUMENT,
          "blocks that the problem does not have");
  team_ok(rank, karst_context_agree(context, KARST_SUCCESS) == KARST_SUCCESS, "an agreement");
  karst_status status = here ? karst_context_fail(context, KARST_ERROR_FILE, "a sentence of this rank") : KARST_SUCCESS;
  status = team_same(rank, karst_context_agree(context, status));
  team_ok(rank, status == KARST_ERROR_FILE && strstr(karst_context_error(context), ": a sentence of this rank"),
          "a failure of one rank is that of all: %s", karst_context_error(context));
  karst_redistribution_destroy(r);
  karst_vector_destroy(x);
  karst_vector_destroy(shorter);
  karst_matrix_destroy(A);
  free(part);
}

/* All of it, for allocations that fail. */
static karst_status run(struct team_rank *rank)
{
  karst_matrix *A = NULL, *moved = NULL;
  karst_vector *rhs = NULL, *there = NULL;
  karst_redistribution *r = NULL;
  int part[120];
  karst_status status = karst_gallery_create_distributed(rank->context, "blackoil:4x5x6", 0, &A, &rhs);
  if (!status) status = karst_matrix_partition(A, has_metis() ? rank->ranks : 1, part);
  if (!status) status = karst_redistribution_create(rank->context, karst_matrix_block_rows(A), part, &r);
  if (!status) status = karst_redistribution_matrix(r, A, &moved);
  if (!status) {
    const int64_t rows = karst_redistribution_block_rows(r);
    status = karst_context_agree(rank->context, karst_vector_create(rank->context, 3 * rows, &there));
  }
  if (!status) status = karst_redistribution_vector(r, rhs, there);
  if (!status) status = karst_redistribution_vector_back(r, there, rhs);
  karst_redistribution_destroy(r);
  karst_vector_destroy(rhs);
  karst_vector_destroy(there);
  karst_matrix_destroy(A);
  karst_matrix_destroy(moved);
  return status;
}

static void test_problem(const char *problem, int ranks)
{
  karst_context *context = tap_context();
  karst_matrix *A;
  karst_vector *rhs;
  tap_need(context, karst_gallery_create(context, problem, 0, &A, &rhs), problem);
  struct task task = {.s = spread_of(context, A, ranks, false), .problem = problem};
  if (rhs) {
    task.own_rhs = tap_memory(task.s.n, sizeof *task.own_rhs);
    tap_need(context, karst_vector_get(rhs, task.s.n, task.own_rhs), problem);
  }
  team_each_device(ranks, generate, &task, problem);
  karst_vector_destroy(rhs);
  free(task.own_rhs);
  spread_destroy(&task.s);
  karst_context_destroy(context);
}

static void test_moves(int ranks)
{
  karst_context *context = tap_context();
  const int b = 1 + (int)tap_random_index(4);
  struct task task = {.s = spread_of(context, tap_random_matrix(context, 60, b, 4, 2), ranks, ranks % 2 == 0)};
  const karst_index rows = task.s.first[ranks];
  task.part = tap_memory(rows, sizeof *task.part);
  for (karst_index i = 0; i < rows; i++) task.part[i] = (int)tap_random_index(ranks);
  team_each_device(ranks, move, &task, "rows that move anywhere");
  for (karst_index i = 0; i < rows; i++) task.part[i] = ranks - 1;
  team_each_device(ranks, move, &task, "all rows on one rank");
  if (has_metis()) {
    task.metis = tap_memory(rows, sizeof *task.metis);
    tap_need(context, karst_matrix_partition(task.s.A, ranks, task.metis), "a partition");
    team_each_device(ranks, divide, &task, "a partition");
    free(task.metis);
  }
  free(task.part);
  spread_destroy(&task.s);
  karst_context_destroy(context);
}

int main(void)
{
  static const char *const problems[] = {
      "poisson2d:7x5",  "poisson3d:4x3x5", "laplace27:4x4x3",       "anisotropic:4x5x3", "discontinuous:9x9x3",
      "convdiff:4x3x5", "blackoil:6x5x4",  "deadoil:5x6x3",         "ns3d:4x3x3",        "unitsquare:7x9",
      "unitsquare:1x5", "unitsquare:5x1",  "jump2d:9x8,contrast=3", "bilinear2d:6x7",    "poisson2d:1x2"};
  for (size_t p = 0; p < sizeof problems / sizeof *problems; p++) test_problem(problems[p], 1 + (int)(p % 4));
  for (int ranks = 1; ranks <= 6; ranks++) test_moves(ranks);
  for (int failing = 0; failing < 3; failing++) {
    karst_context *context = tap_context();
    struct task task = {.s = spread_of(context, tap_random_matrix(context, 30, 2, 4, 2), 3, false), .failing = failing};
    team_each_device(3, fail, &task, "mistakes of one rank");
    spread_destroy(&task.s);
    karst_context_destroy(context);
  }
  team_fail_allocations(2, run, NULL, 1, "generating, dividing and moving");
  karst_context *context = tap_context();
  karst_redistribution *r;
  tap_ok(karst_redistribution_create(context, 0, NULL, &r) == KARST_ERROR_ARGUMENT && !r, "%s",
         karst_context_error(context));
  tap_ok(karst_context_agree(context, KARST_SUCCESS) == KARST_SUCCESS &&
             karst_context_agree(context, karst_context_fail(context, KARST_ERROR_FILE, "x")) == KARST_ERROR_FILE,
         "a context that is no rank agrees with itself");
  karst_context_destroy(context);
  return tap_done();
}
