/* The preconditioner ras is z = R_0^T M_l^-1 R_l r on each rank, M_l its local preconditioner for the block rows of the
 * rank and of the layers around them. The matrices of the ranks are cut out of the whole one here, from the definition,
 * and the local preconditioner is made for them without ranks. */
#include "tests/ranks/spread_system.h"
#include "tests/support/problem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct task {
  struct spread spread;
  double *value[2]; /* [blocks b b] the values of the whole matrix, and other ones */
  int overlap;
  const char *const *local; /* options of the local preconditioner, without their prefix */
  bool exact;               /* which is then a complete factorization */
};

/* What a rank solves with. */
struct cut {
  karst_index rows, own; /* of the matrix, and the number there of the first own row */
  karst_index *row;      /* [rows] of the whole matrix */
  karst_index *start, *column, *source;
};

/* Marks the rows of a rank and of the layers around them: the rows that marked ones couple with, layer by layer. */
static bool *mark_rows(const struct spread *s, int rank, int layers)
{
  const karst_index n = karst_matrix_block_rows(s->A), *start = karst_matrix_row_start(s->A);
  const karst_index *column = karst_matrix_column(s->A);
  bool *in = calloc((size_t)n + 1, sizeof *in), *next = calloc((size_t)n + 1, sizeof *next);
  for (karst_index i = s->first[rank]; i < s->first[rank + 1]; i++) in[i] = true;
  for (int l = 0; l < layers; l++) {
    memcpy(next, in, (size_t)n * sizeof *in);
    for (karst_index i = 0; i < n; i++)
      for (karst_index k = start[i]; k < start[i + 1] && in[i]; k++) next[column[k]] = true;
    memcpy(in, next, (size_t)n * sizeof *in);
  }
  free(next);
  return in;
}

static struct cut cut_out(const struct spread *s, int rank, int layers)
{
  const karst_index n = karst_matrix_block_rows(s->A), *start = karst_matrix_row_start(s->A);
  const karst_index *column = karst_matrix_column(s->A);
  const size_t blocks = (size_t)karst_matrix_blocks(s->A) + 1, all = (size_t)n + 1;
  bool *in = mark_rows(s, rank, layers);
  karst_index *number = malloc(all * sizeof *number);
  struct cut cut = {.row = malloc(all * sizeof *number),
                    .start = calloc(all, sizeof *number),
                    .column = malloc(blocks * sizeof *number),
                    .source = malloc(blocks * sizeof *number)};
  for (karst_index i = 0; i < n; i++) {
    if (i == s->first[rank]) cut.own = cut.rows;
    number[i] = cut.rows;
    if (in[i]) cut.row[cut.rows++] = i;
  }
  for (karst_index r = 0; r < cut.rows; r++) {
    karst_index end = cut.start[r];
    for (karst_index k = start[cut.row[r]]; k < start[cut.row[r] + 1]; k++) {
      if (!in[column[k]]) continue;
      cut.column[end] = number[column[k]];
      cut.source[end++] = k;
    }
    cut.start[r + 1] = end;
  }
  free(in);
  free(number);
  return cut;
}

static void cut_free(struct cut *cut)
{
  free(cut->row);
  free(cut->start);
  free(cut->column);
  free(cut->source);
}

/* Solves with the matrix in dense form. */
static void solve_dense(const struct cut *cut, int b, const double *value, double *x)
{
  const int64_t n = (int64_t)cut->rows * b;
  double *dense = calloc((size_t)(n * n) + 1, sizeof *dense);
  for (karst_index i = 0; i < cut->rows; i++)
    for (karst_index k = cut->start[i]; k < cut->start[i + 1]; k++)
      for (int v = 0; v < b * b; v++)
        dense[((int64_t)cut->column[k] * b + v / b) * n + (int64_t)i * b + v % b] = value[(int64_t)k * b * b + v];
  if (!tap_dense_solve(n, dense, x)) x[0] = NAN;
  free(dense);
}

/* Solves by the local preconditioner in a context of its own. */
static void solve_locally(struct team_rank *rank, const struct task *task, const struct cut *cut, const double *value,
                          double *x)
{
  const int64_t n = (int64_t)cut->rows * task->spread.b;
  karst_context *context;
  karst_options *options = NULL;
  karst_matrix *A = NULL;
  karst_precond *M = NULL;
  karst_vector *r = NULL, *z = NULL;
  if (!team_need(rank, karst_context_create(NULL, &context), "a context")) return;
  team_need(rank, karst_options_create(context, &options), "options");
  for (const char *const *pair = task->local; *pair; pair += 2)
    team_need(rank, karst_options_set(options, pair[0], pair[1]), "an option");
  team_need(rank,
            karst_matrix_create(context, cut->rows, task->spread.b, cut->start, cut->column, value, KARST_COPY, &A),
            "the cut matrix");
  team_need(rank, karst_vector_create(context, n, &r), "r");
  team_need(rank, karst_vector_create(context, n, &z), "z");
  team_need(rank, karst_vector_set(r, n, x), "r");
  if (team_need(rank, karst_precond_create(context, options, A, &M), "the local preconditioner"))
    team_need(rank, karst_precond_apply(M, r, z), "its apply");
  team_need(rank, karst_vector_get(z, n, x), "z");
  karst_precond_destroy(M);
  karst_vector_destroy(r);
  karst_vector_destroy(z);
  karst_matrix_destroy(A);
  karst_options_destroy(options);
  karst_context_destroy(context);
}

/* The largest difference between the own rows of z and the definition, relative to the largest element. */
static double find_error(struct team_rank *rank, const struct task *task, int values, const karst_vector *z)
{
  const struct spread *s = &task->spread;
  const int b = s->b, bb = b * b;
  struct cut cut = cut_out(s, rank->rank, task->overlap);
  const karst_index own = s->first[rank->rank + 1] - s->first[rank->rank];
  double *value = malloc(((size_t)cut.start[cut.rows] * (size_t)bb + 1) * sizeof *value), gap = 0, most = 1;
  double *x = malloc(((size_t)cut.rows * (size_t)b + 1) * sizeof *x);
  double *got = malloc(((size_t)own * (size_t)b + 1) * sizeof *got);
  for (karst_index k = 0; k < cut.start[cut.rows]; k++)
    memcpy(value + (int64_t)k * bb, task->value[values] + (int64_t)cut.source[k] * bb, (size_t)bb * sizeof *value);
  for (karst_index i = 0; i < cut.rows; i++)
    memcpy(x + (int64_t)i * b, s->rhs + (int64_t)cut.row[i] * b, (size_t)b * sizeof *x);
  if (task->exact && cut.rows > 0)
    solve_dense(&cut, b, value, x);
  else
    solve_locally(rank, task, &cut, value, x);
  team_need(rank, karst_vector_get(z, (int64_t)own * b, got), "z");
  for (int64_t i = 0; i < (int64_t)own * b; i++) {
    const double expected = x[(int64_t)cut.own * b + i], difference = fabs(got[i] - expected);
    if (!(difference <= gap)) gap = difference;
    if (fabs(expected) > most) most = fabs(expected);
  }
  free(value);
  free(x);
  free(got);
  cut_free(&cut);
  return gap / most;
}

/* The options of ras in a context. */
static karst_options *ras_options(struct team_rank *rank, int overlap, const char *const *local)
{
  const char layers[] = {(char)('0' + overlap), '\0'};
  char name[64];
  karst_options *options = NULL;
  team_need(rank, karst_options_create(rank->context, &options), "options");
  team_need(rank, karst_options_set(options, "precond", "ras"), "ras");
  team_need(rank, karst_options_set(options, "overlap", layers), "overlap");
  for (; *local; local += 2) {
    snprintf(name, sizeof name, "local.%s", local[0]);
    team_need(rank, karst_options_set(options, name, local[1]), "an option");
  }
  return options;
}

/* The arithmetic of a rank is that without ranks, but a complete factorization is compared with another one, and a GPU
 * with a CPU. */
static void apply_is_definition(struct team_rank *rank)
{
  const struct task *task = rank->user;
  const struct spread *s = &task->spread;
  const double tolerance = task->exact || strncmp(karst_context_device(rank->context), "cuda", 4) == 0 ? 1e-9 : 0;
  const karst_index *start = karst_matrix_row_start(s->A);
  const double *other = task->value[1] + (int64_t)start[s->first[rank->rank]] * s->b * s->b;
  karst_options *options = ras_options(rank, task->overlap, task->local);
  karst_matrix *A = NULL;
  karst_precond *M = NULL;
  if (team_need(rank, spread_matrix(rank, s, &A), "the matrix") &&
      team_need(rank, karst_precond_create(rank->context, options, A, &M), "ras")) {
    karst_vector *r = spread_vector(rank, s, s->rhs), *z = spread_vector(rank, s, NULL);
    for (int values = 0; values < 2; values++) {
      if (values > 0) {
        team_need(rank, karst_matrix_update_values(A, other), "new values");
        const long before = rank->memory.calls;
        team_need(rank, karst_precond_update(M), "update");
        team_ok(rank, rank->memory.calls == before, "an update allocates nothing");
      }
      const long before = rank->memory.calls;
      team_need(rank, karst_precond_apply(M, r, z), "apply");
      team_ok(rank, rank->memory.calls == before, "an apply allocates nothing");
      const double error = find_error(rank, task, values, z);
      team_ok(rank, error <= tolerance, "z is that of the definition, not %.1e from it, with values %d", error, values);
    }
    karst_vector_destroy(r);
    karst_vector_destroy(z);
  }
  karst_precond_destroy(M);
  karst_options_destroy(options);
  karst_matrix_destroy(A);
}

static struct task task_of(karst_context *context, karst_matrix *A, int ranks, bool random)
{
  struct task task = {.spread = spread_of(context, A, ranks, random)};
  const int64_t entries = karst_matrix_blocks(A) * task.spread.b * task.spread.b;
  for (int i = 0; i < 2; i++) {
    task.value[i] = values_on_host(A);
    for (int64_t k = 0; k < entries && i == 1; k++) task.value[i][k] *= 1 + 0.1 * sin((double)k);
  }
  return task;
}

static void task_free(struct task *task)
{
  for (int i = 0; i < 2; i++) free(task->value[i]);
  spread_destroy(&task->spread);
}

static const char *const ilu0[] = {"precond", "iluk", NULL}, *const ilu1[] = {"level", "1", NULL},
                         *const jacobi[] = {"precond", "jacobi", NULL}, *const full[] = {"level", "1000", NULL},
                         *const both[] = {"precond", "two-stage", "second", "dilu", NULL},
                         *const multigrid[] = {"precond", "amg", "amg-coarse-rows", "8", NULL};

/* Inside ras multigrid is that of the rank's own matrix. With other values it keeps its levels, so they are half. */
static void test_multigrid(karst_context *context, int overlap)
{
  struct task task = task_of(context, matrix_from(context, "poisson3d:6x5x4", 1), 3, false);
  for (int64_t k = 0; k < karst_matrix_blocks(task.spread.A); k++) task.value[1][k] = task.value[0][k] / 2;
  task.overlap = overlap;
  task.local = multigrid;
  team_each_device(3, apply_is_definition, &task, overlap ? "multigrid with layers" : "multigrid without layers");
  task_free(&task);
}

static void test_apply(karst_context *context, karst_matrix *A, int ranks, bool random, const char *what)
{
  static const char *const *const locals[] = {ilu0, ilu1, full, both, jacobi};
  static int turn;
  struct task task = task_of(context, A, ranks, random);
  for (int overlap = 0; overlap <= 3; overlap++) {
    char name[128];
    task.overlap = overlap;
    task.local = locals[turn++ % 5];
    task.exact = task.local == full;
    snprintf(name, sizeof name, "%s, %d layers, local %s", what, overlap, task.local[1]);
    team_each_device(ranks, apply_is_definition, &task, name);
  }
  task_free(&task);
}

int main(void)
{
  karst_context *context = tap_context();
  for (int ranks = 1; ranks <= TEAM_MOST; ranks++) {
    const int b = 1 + ranks % 4;
    test_apply(context, tap_random_matrix(context, 60, b, 2, 2), ranks, ranks % 2 == 0, "a random pattern");
    test_apply(context, matrix_from(context, "poisson3d:6x5x4", 1), ranks, ranks % 2 == 1, "poisson3d");
    test_apply(context, matrix_from(context, "blackoil:4x4x4", 0), ranks, ranks % 3 == 0, "blackoil");
  }
  test_apply(context, tap_random_matrix(context, 3, 2, 1, 2), 5, true, "more ranks than rows");
  test_apply(
      context,
      matrix_of(context, 4, 1, (karst_index[]){0, 1, 2, 3, 4}, (karst_index[]){0, 1, 2, 3}, (double[]){2, 3, 4, 5}), 3,
      false, "ranks without neighbours");
  for (int overlap = 0; overlap < 2; overlap++) test_multigrid(context, overlap);
  karst_context_destroy(context);
  return tap_done();
}
