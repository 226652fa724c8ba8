/* Multigrid over ranks with new values has the bits of a fresh one with these values: where each update makes the levels
 * anew, and where the levels stay and the values differ by powers of two, in all rows or in those of each rank. */
#include "tests/ranks/spread_system.h"
#include "tests/support/named_values.h"
#include "tests/support/problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VALUES = 6 };

struct task {
  struct spread s;
  const char *const *options;
  double *value[VALUES]; /* [entries of the matrix]; NULL: not to be tried */
  bool rebuilds;         /* in each update */
};

/* z = M^-1 rhs of all ranks, which the caller frees. */
static double *apply(struct team_rank *rank, const karst_precond *M)
{
  const struct spread *s = &((const struct task *)rank->user)->s;
  karst_vector *r = spread_vector(rank, s, s->rhs), *z = spread_vector(rank, s, NULL);
  team_need(rank, karst_precond_apply(M, r, z), "apply");
  double *joined = spread_join(rank, s, z);
  karst_vector_destroy(r);
  karst_vector_destroy(z);
  return joined;
}

/* The same of a preconditioner that is made for these values of the rank's rows. */
static double *apply_fresh(struct team_rank *rank, const karst_options *options, const double *value)
{
  const struct spread *s = &((const struct task *)rank->user)->s;
  karst_matrix *A = NULL;
  karst_precond *M = NULL;
  team_need(rank, spread_matrix(rank, s, &A), "a matrix");
  team_need(rank, karst_matrix_update_values(A, value), "its values");
  team_need(rank, karst_precond_create(rank->context, options, A, &M), "a fresh amg");
  double *z = apply(rank, M);
  karst_precond_destroy(M);
  karst_matrix_destroy(A);
  return z;
}

static void updates(struct team_rank *rank)
{
  const struct task *task = rank->user;
  const struct spread *s = &task->s;
  const int64_t offset = karst_matrix_row_start(s->A)[s->first[rank->rank]];
  karst_options *options = spread_options(rank, task->options);
  karst_matrix *A = NULL;
  karst_precond *M = NULL;
  double made = 0;
  team_need(rank, spread_matrix(rank, s, &A), "the matrix");
  team_need(rank, karst_precond_create(rank->context, options, A, &M), "amg");
  for (int v = 0; v < VALUES; v++) {
    if (!task->value[v]) continue;
    const double *value = task->value[v] + offset;
    team_need(rank, karst_matrix_update_values(A, value), "new values");
    const long before = rank->memory.calls;
    team_need(rank, karst_precond_update(M), "an update");
    team_ok(rank, task->rebuilds || rank->memory.calls == before, "an update with its levels allocates nothing");
    double *z = apply(rank, M), *fresh = apply_fresh(rank, options, value);
    bool finite = true;
    for (int64_t i = 0; i < s->n; i++) finite = finite && isfinite(z[i]);
    team_ok(rank, finite, "values %d have a finite M^-1", v);
    team_ok(rank, memcmp(z, fresh, (size_t)s->n * sizeof *z) == 0, "values %d: M^-1 is not %.1e from a fresh one", v,
            relative_difference(s->n, z, fresh));
    made++;
    team_ok(rank, tap_precond_number(M, "amg_rebuilds") == (task->rebuilds ? made : 0),
            "its levels are made anew or not");
    free(z);
    free(fresh);
  }
  karst_precond_destroy(M);
  karst_options_destroy(options);
  karst_matrix_destroy(A);
}

/* The values of a matrix times powers of two: exponent[0] in all rows, and exponent[1] r in those of rank r. */
static double *scaled(const struct spread *s, int all, int each)
{
  const karst_index *start = karst_matrix_row_start(s->A);
  double *value = values_on_host(s->A);
  for (int r = 0; r < TEAM_MOST && s->first[r] < s->n; r++)
    for (karst_index k = start[s->first[r]]; k < start[s->first[r + 1]]; k++)
      value[k] = ldexp(value[k], all + each * r);
  return value;
}

/* many: levels over ranks and a last one that is inverted; else all are gathered. With aggregation the levels over ranks
 * have rows of one rank alone; else later levels depend on the units of several ranks. */
static void test_updates(karst_context *context, const char *spec, int ranks, bool aggregation, bool rebuilds,
                         bool many)
{
  const char *const options[] = {"precond",
                                 "amg",
                                 "amg-gather-rows",
                                 many ? "40" : "16384",
                                 "amg-coarse-rows",
                                 many ? "128" : "10",
                                 "amg-coarsening",
                                 aggregation ? "aggregation" : "pmis",
                                 "amg-rebuild",
                                 rebuilds ? "1" : "0",
                                 NULL};
  struct task task = {
      .s = spread_of(context, matrix_from(context, spec, 1), ranks, false), .options = options, .rebuilds = rebuilds};
  const bool own = aggregation && many;
  char what[200];
  task.value[0] = scaled(&task.s, -500, 0);
  task.value[1] = scaled(&task.s, 500, 0);
  if (rebuilds || own) task.value[2] = scaled(&task.s, 3, -20);
  if (rebuilds || own) task.value[3] = scaled(&task.s, -300, 9);
  if (rebuilds) task.value[4] = scaled(&task.s, 0, 0);
  for (int64_t k = 0; k < karst_matrix_blocks(task.s.A) && rebuilds; k++) task.value[4][k] *= 1 + 0.1 * tap_random();
  task.value[5] = scaled(&task.s, 0, 0);
  snprintf(what, sizeof what, "%s, %s, %s levels, %s", spec, aggregation ? "aggregation" : "pmis",
           rebuilds ? "new" : "old", many ? "several over ranks" : "all gathered");
  team_each_device(ranks, updates, &task, what);
  for (int v = 0; v < VALUES; v++) free(task.value[v]);
  spread_destroy(&task.s);
}

int main(void)
{
  karst_context *context = tap_context();
  for (int variant = 0; variant < 8; variant++) {
    const bool aggregation = variant & 1, rebuilds = variant & 2, many = variant & 4;
    test_updates(context, variant % 3 ? "poisson3d:9x8x7" : "convdiff:8x7x6", 2 + variant % 3, aggregation, rebuilds,
                 many);
  }
  karst_context_destroy(context);
  return tap_done();
}
