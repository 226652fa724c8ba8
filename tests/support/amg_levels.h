/* amg_levels.h - hierarchies of multigrid by the kernels of a context's backend, and their matrices on the host. */
#ifndef KARST_TESTS_SUPPORT_AMG_LEVELS_H
#define KARST_TESTS_SUPPORT_AMG_LEVELS_H

#include "lib/backend/amg_kernels.h"
#include "tests/support/problem.h"

#include <stdlib.h>

/* A hierarchy under test. */
struct amg_test {
  karst_context *context;
  const struct karst_amg_kernels *kernels;
  karst_amg_rule rule;
  bool pairs; /* aggregates of two rows, not PMIS */
  karst_amg amg;
  karst_amg_outcome outcome;
};

/* Starts a hierarchy with the values of A on its finest level. */
static inline karst_status amg_start(const karst_matrix *A, double strength, int most, bool single, struct amg_test *t)
{
  *t = (struct amg_test){.context = A->context,
                         .kernels = A->context->backend->amg,
                         .rule = {.strength = strength, .most_entries = most},
                         .amg = {.single = single, .l1 = true}};
  karst_status status = t->kernels->begin(t->context, A, &t->amg);
  if (!status) status = t->kernels->load(t->context, A, &t->amg, &t->outcome);
  t->amg.levels = 1;
  return status;
}

static inline karst_amg_level *amg_last(struct amg_test *t) { return &t->amg.level[t->amg.levels - 1]; }

/* Makes P of the last level, without columns if no row is coarse. */
static inline karst_status amg_interpolate(struct amg_test *t)
{
  const struct karst_amg_kernels *kernels = t->kernels;
  karst_amg_level *level = amg_last(t);
  karst_amg_splitting splitting = {0};
  karst_status status =
      (t->pairs ? kernels->match : kernels->split)(t->context, &t->amg, &level->A, &t->rule, &splitting);
  if (!status && splitting.coarse > 0)
    status = t->pairs ? kernels->aggregate(t->context, &t->amg, level->A.rows, &splitting, &level->P)
                      : kernels->interpolate(t->context, &t->amg, &level->A, &t->rule, &splitting, &level->P);
  kernels->release_splitting(t->context, &splitting);
  return status;
}

/* Makes the next level from the last one's P. */
static inline karst_status amg_add_level(struct amg_test *t)
{
  const struct karst_amg_kernels *kernels = t->kernels;
  karst_amg_level *level = amg_last(t);
  karst_status status = kernels->transpose(t->context, &t->amg, &level->P, &level->R);
  if (!status) status = kernels->plan_product(t->context, &t->amg, &level->A, &level->P, &level->AP);
  if (!status) kernels->multiply(t->context, &t->amg, &level->A, &level->P, &level->AP);
  if (!status) status = kernels->plan_product(t->context, &t->amg, &level->R, &level->AP.C, &level->RAP);
  if (status) return status;
  kernels->multiply(t->context, &t->amg, &level->R, &level->AP.C, &level->RAP);
  kernels->release_entries(t->context, &level->AP.C);
  level[1].A = level->RAP.C;
  level[1].A.borrows = true;
  t->amg.levels++;
  return KARST_SUCCESS;
}

/* Makes levels down to at most rows rows. */
static inline karst_status amg_coarsen(struct amg_test *t, karst_index rows)
{
  karst_status status = KARST_SUCCESS;
  while (!status && t->amg.levels < KARST_AMG_LEVELS && amg_last(t)->A.rows > rows) {
    status = amg_interpolate(t);
    if (status || amg_last(t)->P.columns == 0) break;
    status = amg_add_level(t);
  }
  return status;
}

/* Takes the rest of the memory for these steps, whose result is vector result of level 0, and weighs the levels. */
static inline karst_status amg_prepare(struct amg_test *t, int steps, const karst_amg_step *step, int result)
{
  t->amg.steps = steps;
  t->amg.step = (karst_amg_step *)step; /* the kernels only read it */
  t->amg.result = result;
  const karst_status status = t->kernels->finish(t->context, &t->amg);
  return status ? status : t->kernels->weigh(t->context, &t->amg, &t->outcome);
}

/* z = M^-1 r on the host */
static inline void amg_apply(struct amg_test *t, karst_index n, const double *host, double *z)
{
  const struct karst_backend *backend = t->context->backend;
  double *r, *result;
  tap_need(t->context, karst_device_doubles(t->context, n, "r", &r), "r");
  tap_need(t->context, karst_device_doubles(t->context, n, "z", &result), "z");
  tap_need(t->context, backend->upload(t->context, r, host, (size_t)n * sizeof *r), "r");
  t->kernels->apply(t->context, &t->amg, r, result);
  tap_need(t->context, backend->download(t->context, z, result, (size_t)n * sizeof *z), "z");
  backend->release(t->context, r);
  backend->release(t->context, result);
}

static inline void amg_end(struct amg_test *t) { t->kernels->destroy(t->context, &t->amg); }

/* Copies the arrays of a matrix of a level, values as double. */
static inline void amg_download(karst_context *context, const karst_amg *amg, const karst_amg_matrix *A,
                                karst_index *start, karst_index *column, double *value)
{
  const struct karst_backend *backend = context->backend;
  const size_t scalar = karst_amg_scalar(amg);
  void *stored = tap_memory(A->entries + 1, sizeof(double));
  tap_need(context, backend->download(context, start, A->row_start, ((size_t)A->rows + 1) * sizeof *start), "rows");
  tap_need(context, backend->download(context, column, A->column, (size_t)A->entries * sizeof *column), "columns");
  tap_need(context, backend->download(context, stored, A->value, (size_t)A->entries * scalar), "values");
  for (int64_t k = 0; k < A->entries; k++)
    value[k] = amg->single ? (double)((const float *)stored)[k] : ((const double *)stored)[k];
  free(stored);
}

/* A matrix of a level on the host. */
struct amg_host {
  karst_index rows, columns;
  karst_index *start, *column;
  double *value;
};

static inline struct amg_host amg_fetch(struct amg_test *t, const karst_amg_matrix *A)
{
  struct amg_host host = {A->rows, A->columns, tap_memory((int64_t)A->rows + 1, sizeof *host.start),
                          tap_memory(A->entries + 1, sizeof *host.column),
                          tap_memory(A->entries + 1, sizeof *host.value)};
  amg_download(t->context, &t->amg, A, host.start, host.column, host.value);
  return host;
}

static inline void amg_host_free(struct amg_host *host)
{
  free(host->start);
  free(host->column);
  free(host->value);
}

/* A matrix of a level as a dense array [rows*columns], row by row. */
static inline double *amg_dense(struct amg_test *t, const karst_amg_matrix *A)
{
  struct amg_host host = amg_fetch(t, A);
  double *dense = tap_memory((int64_t)A->rows * A->columns + 1, sizeof *dense);
  for (karst_index i = 0; i < host.rows; i++)
    for (karst_index k = host.start[i]; k < host.start[i + 1]; k++)
      dense[(int64_t)i * host.columns + host.column[k]] += host.value[k];
  amg_host_free(&host);
  return dense;
}

/* Copies the places of a splitting. */
static inline karst_index *amg_places(struct amg_test *t, karst_index rows, const karst_amg_splitting *splitting)
{
  karst_index *place = tap_memory(rows, sizeof *place);
  tap_need(t->context, t->context->backend->download(t->context, place, splitting->place, (size_t)rows * sizeof *place),
           "places");
  return place;
}

/* Whether a_ij of a dense matrix is strong, from the definition. */
static inline bool amg_is_strong(karst_index n, const double *dense, double strength, karst_index i, karst_index j)
{
  const double *row = dense + (int64_t)i * n, sign = row[i] < 0 ? -1 : 1;
  double largest = 0;
  for (karst_index k = 0; k < n; k++)
    if (k != i && -sign * row[k] > largest) largest = -sign * row[k];
  return i != j && largest > 0 && -sign * row[j] > 0 && -sign * row[j] >= strength * largest;
}

/* Systems for the set-up: with couplings of both signs, symmetric or not, of one and of several sizes, and a few rows
 * without strong couplings or with a negative diagonal. The caller destroys the matrix. */
enum { AMG_SYSTEMS = 4 };
static inline karst_matrix *amg_system(karst_context *context, int number)
{
  if (number == 0) return matrix_from(context, "poisson2d:11x9", 0);
  if (number == 1) return matrix_from(context, "anisotropic:6x5x4,epsz=1e-3", 0);
  karst_matrix *A = tap_random_matrix(context, 90, 1, 6, number == 2 ? 1 : 0.7);
  const double unit = 1, minus = -9;
  replace_row(A, 7, &unit);
  replace_row(A, 50, &unit);
  set_entry(A, 20, 20, 0, minus);
  return A;
}

#endif
