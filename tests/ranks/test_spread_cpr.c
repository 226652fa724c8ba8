/* CPR over ranks is CPR of one process, up to rounding, if its stages do not depend on how the rows are spread: its
 * pressure matrix entry by entry, M^-1 r, and what it reports. */
#include "tests/ranks/spread_system.h"
#include "tests/support/named_values.h"
#include "tests/support/problem.h"

#include "lib/base/search.h"
#include "lib/method/precond.h"
#include "lib/ranks/halo.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { VALUES = 2 /* of the same pattern, one after the other */, TOLD = 5 };

/* Values that the report of one process and that of the ranks have in common. */
static const char *const told[TOLD] = {"cpr_pressure", "cpr_guarded", "cpr_singular", "cpr_empty", "cpr_balance_used"};

struct task {
  struct spread s;
  const char *const *options;
  double *value[VALUES];    /* [blocks b b] of the whole matrix */
  double *storage;          /* [rows b b], or NULL */
  double *weights;          /* [rows b], or NULL */
  double *r;                /* [n] */
  double *z[VALUES];        /* [n] M^-1 r of one process */
  double *pressure[VALUES]; /* [blocks] its A_p */
  double report[VALUES][TOLD];
  double tolerance;
};

static karst_matrix *pressure_matrix(const karst_precond *M) { return (karst_matrix *)M->stage[0]->A; }

static void download(const karst_context *context, int64_t count, const double *from, double *to)
{
  ((karst_context *)context)->backend->download((karst_context *)context, to, from, (size_t)count * sizeof *to);
}

static void list_report(const karst_precond *M, double *values)
{
  for (int i = 0; i < TOLD; i++) values[i] = tap_precond_number(M, told[i]);
}

/* What one process makes of the task. */
static void solve_alone(struct task *task)
{
  struct spread *s = &task->s;
  karst_context *context = s->context;
  const int64_t blocks = karst_matrix_blocks(s->A);
  karst_options *options = options_of(context, task->options);
  karst_precond *M = NULL;
  karst_vector *r, *z;
  tap_need(context, karst_matrix_set_storage(s->A, task->storage), "storage blocks");
  tap_need(context, karst_matrix_set_weights(s->A, task->weights), "weights");
  tap_need(context, karst_vector_create(context, s->n, &r), "r");
  tap_need(context, karst_vector_create(context, s->n, &z), "z");
  tap_need(context, karst_vector_set(r, s->n, task->r), "r");
  for (int v = 0; v < VALUES; v++) {
    tap_need(context, karst_matrix_update_values(s->A, task->value[v]), "values");
    tap_need(context, v ? karst_precond_update(M) : karst_precond_create(context, options, s->A, &M), "cpr");
    tap_need(context, karst_precond_apply(M, r, z), "apply");
    task->z[v] = tap_memory(s->n, sizeof(double));
    task->pressure[v] = tap_memory(blocks, sizeof(double));
    tap_need(context, karst_vector_get(z, s->n, task->z[v]), "z");
    download(context, blocks, pressure_matrix(M)->value, task->pressure[v]);
    list_report(M, task->report[v]);
  }
  karst_vector_destroy(r);
  karst_vector_destroy(z);
  karst_precond_destroy(M);
  karst_options_destroy(options);
}

/* The largest difference between the rank's rows of A_p and those of one process, relative to the largest entry of the
 * row. */
static double find_pressure_error(const struct task *task, int rank, int values, const karst_matrix *pressure)
{
  const struct spread *s = &task->s;
  const karst_index *start = karst_matrix_row_start(s->A), *column = karst_matrix_column(s->A), first = s->first[rank];
  const karst_halo *halo = pressure->halo;
  double *own = calloc((size_t)pressure->blocks + 1, sizeof *own), *ghost = calloc((size_t)halo->blocks + 1, 8),
         gap = 0;
  karst_index k = 0;
  download(pressure->context, pressure->blocks, pressure->value, own);
  download(pressure->context, halo->blocks, halo->value, ghost);
  for (karst_index i = 0; i < pressure->block_rows; i++) {
    double most = 0, far = 0;
    const bool coupled = k < halo->rows && halo->host.row[k] == i;
    for (karst_index e = start[first + i]; e < start[first + i + 1]; e++) {
      const karst_index j = column[e] - first;
      const double expected = task->pressure[values][e];
      const bool here = j >= 0 && j < pressure->block_rows;
      const karst_index at =
          here ? karst_find_column(pressure->column, pressure->row_start[i], pressure->row_start[i + 1], j)
               : karst_find_column(halo->host.column, halo->host.row_start[k], halo->host.row_start[k + 1],
                                   karst_find_column(halo->ghost, 0, halo->ghosts, column[e]));
      most = fmax(most, fabs(expected));
      far = fmax(far, fabs((here ? own : ghost)[at] - expected));
    }
    gap = fmax(gap, far / most);
    k += coupled;
  }
  free(own);
  free(ghost);
  return gap;
}

/* The largest difference between the rank's part of z and that of one process, relative to the largest element. */
static double find_error(const struct task *task, int rank, int values, const karst_vector *z)
{
  const struct spread *s = &task->s;
  const int64_t first = (int64_t)s->first[rank] * s->b, end = (int64_t)s->first[rank + 1] * s->b;
  double *own = calloc((size_t)(end - first) + 1, sizeof *own), most = 0, gap = 0;
  karst_vector_get(z, end - first, own);
  for (int64_t i = 0; i < s->n; i++) most = fmax(most, fabs(task->z[values][i]));
  for (int64_t i = first; i < end; i++) gap = fmax(gap, fabs(own[i - first] - task->z[values][i]));
  free(own);
  return gap / most;
}

static void compare(struct team_rank *rank, const struct task *task, int values, const karst_precond *M,
                    const karst_vector *z)
{
  const double pressure = find_pressure_error(task, rank->rank, values, pressure_matrix(M));
  const double error = find_error(task, rank->rank, values, z);
  double report[TOLD];
  list_report(M, report);
  team_ok(rank, pressure < task->tolerance, "A_p is that of one process (%.1e) with values %d", pressure, values);
  team_ok(rank, error < task->tolerance, "so is M^-1 r (%.1e) with values %d", error, values);
  for (int i = 0; i < TOLD; i++)
    team_ok(rank, report[i] == task->report[values][i], "%s is %g, and %g in one process", told[i], report[i],
            task->report[values][i]);
}

static void apply_is_that_of_one(struct team_rank *rank)
{
  const struct task *task = rank->user;
  const struct spread *s = &task->s;
  const int b = s->b;
  const karst_index first = s->first[rank->rank], block = karst_matrix_row_start(s->A)[first];
  karst_options *options = spread_options(rank, task->options);
  karst_vector *r = spread_vector(rank, s, task->r), *z = spread_vector(rank, s, NULL);
  karst_matrix *A = NULL;
  karst_precond *M = NULL;
  if (team_need(rank, spread_matrix(rank, s, &A), "the matrix")) {
    const double *storage = task->storage ? task->storage + (int64_t)first * b * b : NULL;
    const double *weights = task->weights ? task->weights + (int64_t)first * b : NULL;
    team_need(rank, karst_matrix_set_storage(A, storage), "storage blocks");
    team_need(rank, karst_matrix_set_weights(A, weights), "weights");
  }
  for (int v = 0; v < VALUES && A; v++) {
    team_need(rank, karst_matrix_update_values(A, task->value[v] + (int64_t)block * b * b), "values");
    const long calls = rank->memory.calls;
    if (!team_need(rank, v ? karst_precond_update(M) : karst_precond_create(rank->context, options, A, &M), "cpr"))
      break;
    team_ok(rank, v == 0 || rank->memory.calls == calls, "an update allocates nothing");
    const long before = rank->memory.calls, exchanges = rank->exchanges, gathers = rank->gathers;
    team_need(rank, karst_precond_apply(M, r, z), "apply");
    team_ok(rank, rank->memory.calls == before, "an apply allocates nothing");
    team_ok(rank, rank->exchanges == exchanges + 1 && rank->gathers == gathers + 2, "it has one exchange");
    compare(rank, task, v, M, z);
  }
  karst_precond_destroy(M);
  karst_options_destroy(options);
  karst_vector_destroy(r);
  karst_vector_destroy(z);
  karst_matrix_destroy(A);
}

/* ---- systems ---- */

static double *random_numbers(int64_t count)
{
  double *numbers = tap_memory(count, sizeof *numbers);
  for (int64_t i = 0; i < count; i++) numbers[i] = tap_random();
  return numbers;
}

static struct task task_of(karst_context *context, karst_matrix *A, int ranks, bool random)
{
  /* With 40 seeds other orders of sums made differences of 1e-13 at most. */
  struct task task = {.s = spread_of(context, A, ranks, random), .tolerance = 1e-10};
  const int64_t entries = karst_matrix_blocks(A) * task.s.b * task.s.b;
  for (int v = 0; v < VALUES; v++) {
    task.value[v] = values_on_host(A);
    for (int64_t k = 0; k < entries && v > 0; k++) task.value[v][k] *= 1 + 0.1 * sin((double)k);
  }
  task.r = random_numbers(task.s.n);
  return task;
}

static void task_run(struct task *task, int ranks, const char *what)
{
  solve_alone(task);
  team_each_device(ranks, apply_is_that_of_one, task, what);
  for (int v = 0; v < VALUES; v++) {
    free(task->z[v]);
    free(task->pressure[v]);
  }
}

static void task_free(struct task *task)
{
  for (int v = 0; v < VALUES; v++) free(task->value[v]);
  free(task->storage);
  free(task->weights);
  free(task->r);
  spread_destroy(&task->s);
}

/* Multiplies the equations of cells by numbers from 0.01 to 100, which spoils sums over columns, and all by a factor; a
 * large one leaves the range of float. */
static void spoil(struct task *task, double all)
{
  const karst_index *start = karst_matrix_row_start(task->s.A);
  const int64_t bb = (int64_t)task->s.b * task->s.b;
  for (karst_index i = 0; i < karst_matrix_block_rows(task->s.A); i++) {
    const double factor = all * pow(10, 2 * tap_random());
    for (int v = 0; v < VALUES; v++)
      for (int64_t k = bb * start[i]; k < bb * start[i + 1]; k++) task->value[v][k] *= factor;
  }
}

/* Returns whether auto has balanced quasi-IMPES weights instead of column sums. */
static int test_weights(karst_context *context, int ranks, int b, karst_index rows)
{
  static const char *const first[] = {"jacobi", "none"};
  static const char *const cases[][2] = {{"column-sum", "0"}, {"column-sum", "3"}, {"quasi-impes", "20"},
                                         {"row-sum", "1"},    {"true-impes", "0"}, {"given", "2"},
                                         {"auto", "0"}};
  static int turn;
  int replaced = 0;
  for (int i = 0; i < 7; i++) {
    const char *const options[] = {"precond",     "cpr",           "cpr-pressure", "0",
                                   "first",       first[turn % 2], "second",       first[turn / 2 % 2],
                                   "cpr-weights", cases[i][0],     "cpr-balance",  cases[i][1],
                                   NULL};
    struct task task = task_of(context, tap_random_matrix(context, rows, b, 3, i == 0 ? 1 : 2), ranks, turn++ % 2 == 1);
    char what[128];
    if (i == 4) {
      task.storage = random_numbers((int64_t)rows * b * b);
      for (int64_t k = 0; k < (int64_t)rows * b; k++) task.storage[k * b + k % b] += k / b % 7 == 3 ? -2 * b : 2 * b;
    }
    if (i == 5) task.weights = random_numbers((int64_t)rows * b);
    if (i == 2 || i == 6) spoil(&task, i == 2 ? 1e60 : 1);
    task.options = options;
    snprintf(what, sizeof what, "b = %d, %s weights, %s sweeps, %s and %s", b, cases[i][0], cases[i][1], options[5],
             options[7]);
    task_run(&task, ranks, what);
    replaced += i == 6 && task.report[0][4] == 20;
    task_free(&task);
  }
  return replaced;
}

int main(void)
{
  karst_context *context = tap_context();
  int replaced = test_weights(context, 3, 9, 40);
  for (int ranks = 1; ranks <= 4; ranks++) replaced += test_weights(context, ranks, ranks, 70);
  test_weights(context, 4, 2, 3); /* more ranks than rows */
  tap_ok(replaced > 0, "auto has replaced column sums in %d of 5 systems", replaced);
  karst_context_destroy(context);
  return tap_done();
}
