/* The levels of multigrid over ranks are those of one hierarchy: with the dense matrices of all ranks, the rows of P for
 * ghosts are those of their owners, A_{l+1} = P^T A_l P, and the last level is
 * gathered as it is; also for new values with the same P. */
#include "precond/amg/amg_ranks.h"
#include "tests/ranks/spread_system.h"
#include "tests/support/amg_levels.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct task {
  struct spread s;
  const double *other; /* other values of the matrix */
  karst_amg_settings settings;
  int least; /* levels: rows at random on ranks at random may have one alone */
};

/* A hierarchy of a rank without its preconditioner. */
struct hierarchy {
  karst_precond p;
  karst_amg amg;
  karst_amg_spread *spread;
};

static void begin(struct team_rank *rank, const karst_matrix *A, struct hierarchy *h)
{
  const struct task *task = rank->user;
  karst_context *context = rank->context;
  karst_amg_outcome outcome = {KARST_SOUND, -1, 0};
  bool stalled;
  *h = (struct hierarchy){.p = {.ops = &karst_precond_amg, .context = context, .A = A, .block_row = -1}};
  team_need(rank, karst_amg_spread_create(&h->p, &h->amg, &h->spread), "what ranks share");
  h->amg = (karst_amg){.single = task->settings.precision == 0,
                       .l1 = true,
                       .ghosts = h->spread->part[0].ghosts,
                       .call = karst_amg_spread_call,
                       .user = h->spread};
  team_need(rank, karst_amg_build(context, A, &task->settings, &h->amg, h->spread, &outcome, &stalled), "the levels");
  team_ok(rank, outcome.reason == KARST_SOUND, "the values are sound");
  team_need(rank, karst_amg_make_cycle(context, &task->settings, &h->amg), "the cycle");
  team_need(rank, context->backend->amg->finish(context, &h->amg), "the rest");
  team_need(rank, karst_amg_spread_weigh(h->spread, KARST_SUCCESS, true, &outcome), "the weights");
}

static void end(struct hierarchy *h)
{
  karst_context *context = h->p.context;
  karst_release(context, h->amg.step);
  context->backend->amg->destroy(context, &h->amg);
  karst_amg_spread_destroy(h->spread);
}

/* The number among those of all ranks of a column of a rank's matrix, own columns before those of ghosts. */
static karst_index number_of(const struct team_rank *rank, const karst_amg_part *part, karst_index own, karst_index j)
{
  return j < own ? part->first[rank->rank] + j : part->ghost[j - own];
}

/* Copies a matrix of a level to the host. */
static void fetch(struct team_rank *rank, const struct hierarchy *h, const karst_amg_matrix *matrix,
                  karst_amg_matrix *host)
{
  karst_index *row = tap_memory(matrix->rows, sizeof *row);
  for (karst_index i = 0; i < matrix->rows; i++) row[i] = i;
  team_need(rank, rank->context->backend->amg->fetch(rank->context, &h->amg, matrix, matrix->rows, row, host),
            "a matrix");
  free(row);
}

/* The own rows of a matrix of a level, of all ranks in dense form, row by row; the rank's own copy on the host goes to
 * *host. columns: the level that they belong to. */
static double *join(struct team_rank *rank, const struct hierarchy *h, const karst_amg_matrix *matrix,
                    const karst_amg_part *rows, const karst_amg_part *columns, karst_amg_matrix *host)
{
  const karst_index n = rows->first[rank->ranks], m = columns->first[rank->ranks], begins = rows->first[rank->rank];
  const karst_index own = columns->first[rank->rank + 1] - columns->first[rank->rank];
  const size_t entries = (size_t)n * (size_t)m;
  double *part = calloc(entries + 1, sizeof *part), *all = malloc((entries + 1) * (size_t)rank->ranks * sizeof *all);
  fetch(rank, h, matrix, host);
  const double *value = host->value;
  for (karst_index i = 0; i < rows->first[rank->rank + 1] - begins; i++)
    for (karst_index k = host->row_start[i]; k < host->row_start[i + 1]; k++) {
      team_ok(rank, k == host->row_start[i] || host->column[k - 1] < host->column[k], "columns ascend");
      part[(int64_t)(begins + i) * m + number_of(rank, columns, own, host->column[k])] += value[k];
    }
  team_gather(rank, part, entries * sizeof *part, all);
  for (size_t k = 0; k < entries; k++) {
    part[k] = 0;
    for (int r = 0; r < rank->ranks; r++) part[k] += all[(size_t)r * entries + k];
  }
  free(all);
  return part;
}

/* The lists of the ghosts ascend, have none of the own rows, and are what an exchange brings. */
static void check_ghosts(struct team_rank *rank, const struct hierarchy *h, int l)
{
  const karst_amg_part *part = &h->spread->part[l];
  const struct karst_backend *backend = rank->context->backend;
  const karst_index first = part->first[rank->rank], end = part->first[rank->rank + 1];
  double *host = tap_memory((int64_t)(end - first) + part->ghosts, sizeof *host), *x;
  for (karst_index g = 0; g < part->ghosts; g++) {
    team_ok(rank, g == 0 || part->ghost[g - 1] < part->ghost[g], "the numbers of ghosts ascend");
    team_ok(rank, part->ghost[g] < first || part->ghost[g] >= end, "no ghost is an own row");
  }
  for (karst_index i = first; i < end; i++) host[i - first] = (double)i;
  team_need(rank, karst_device_doubles(rank->context, end - first, "numbers", &x), "numbers");
  team_need(rank, backend->upload(rank->context, x, host, (size_t)(end - first) * sizeof *x), "numbers");
  karst_exchange_begin(part->exchange, x);
  team_need(rank, karst_exchange_end(part->exchange), "an exchange");
  team_need(rank, backend->download(rank->context, host, part->exchange->incoming, (size_t)part->ghosts * sizeof *x),
            "numbers of ghosts");
  for (karst_index g = 0; g < part->ghosts; g++)
    team_ok(rank, host[g] == (double)part->ghost[g], "an exchange brings row %lld", (long long)part->ghost[g]);
  backend->release(rank->context, x);
  free(host);
}

/* P has the rows of the ghosts as their owners have them. P: [rows columns] of all ranks. */
static void check_interpolation(struct team_rank *rank, const struct hierarchy *h, int l, const karst_amg_matrix *host,
                                const double *P)
{
  const karst_amg_part *fine = &h->spread->part[l], *coarse = &h->spread->part[l + 1];
  const karst_index m = coarse->first[rank->ranks], own = coarse->first[rank->rank + 1] - coarse->first[rank->rank];
  const karst_index rows = fine->first[rank->rank + 1] - fine->first[rank->rank];
  const double *value = host->value;
  double *row = tap_memory(m, sizeof *row);
  team_ok(rank, host->rows == rows + fine->ghosts && host->columns == own + coarse->ghosts, "P has the ghosts");
  for (karst_index i = 0; i < host->rows; i++) {
    const double *expected = P + (int64_t)number_of(rank, fine, rows, i) * m;
    memset(row, 0, (size_t)m * sizeof *row);
    for (karst_index k = host->row_start[i]; k < host->row_start[i + 1]; k++) {
      row[number_of(rank, coarse, own, host->column[k])] += value[k];
    }
    team_ok(rank, memcmp(row, expected, (size_t)m * sizeof *row) == 0, "row %lld of P is that of its rank",
            (long long)i);
  }
  free(row);
}

/* The largest |C - P^T A P| over the largest |P|^T |A| |P|. A: [n n], P: [n m], C: [m m] */
static double product_error(karst_index n, karst_index m, const double *A, const double *P, const double *C)
{
  double *AP = tap_memory((int64_t)n * m, sizeof *AP), *size = tap_memory((int64_t)n * m, sizeof *size);
  double error = 0, largest = 0;
  for (karst_index i = 0; i < n; i++)
    for (karst_index k = 0; k < n; k++)
      for (karst_index j = 0; j < m && A[(int64_t)i * n + k] != 0; j++) {
        AP[(int64_t)i * m + j] += A[(int64_t)i * n + k] * P[(int64_t)k * m + j];
        size[(int64_t)i * m + j] += fabs(A[(int64_t)i * n + k] * P[(int64_t)k * m + j]);
      }
  for (karst_index i = 0; i < m; i++)
    for (karst_index j = 0; j < m; j++) {
      double sum = 0, most = 0;
      for (karst_index k = 0; k < n; k++) {
        sum += P[(int64_t)k * m + i] * AP[(int64_t)k * m + j];
        most += fabs(P[(int64_t)k * m + i]) * size[(int64_t)k * m + j];
      }
      const double gap = fabs(sum - C[(int64_t)i * m + j]);
      if (!(gap <= error)) error = gap;
      largest = fmax(largest, most);
    }
  free(AP);
  free(size);
  return error / largest;
}

/* The gathered matrix is that of the last level. A: [n n] */
static void check_gathered(struct team_rank *rank, const struct hierarchy *h, const double *A)
{
  karst_matrix *gathered = h->spread->gathered.A;
  const karst_index n = karst_matrix_block_rows(gathered), *start = karst_matrix_row_start(gathered);
  double *value = tap_memory(karst_matrix_blocks(gathered), sizeof *value),
         *dense = tap_memory((int64_t)n * n, sizeof *dense);
  team_need(rank,
            rank->context->backend->download(rank->context, value, gathered->value,
                                             (size_t)karst_matrix_blocks(gathered) * sizeof *value),
            "the gathered values");
  team_ok(rank, n == h->spread->part[h->amg.levels - 1].first[rank->ranks], "all rows are gathered");
  for (karst_index i = 0; i < n; i++)
    for (karst_index k = start[i]; k < start[i + 1]; k++) {
      const karst_index j = karst_matrix_column(gathered)[k];
      team_ok(rank, k == start[i] || karst_matrix_column(gathered)[k - 1] < j, "gathered columns ascend");
      dense[(int64_t)i * n + j] += value[k];
    }
  team_ok(rank, memcmp(dense, A, (size_t)n * (size_t)n * sizeof *A) == 0, "the gathered matrix is the last level");
  free(value);
  free(dense);
}

/* Level 0 is the matrix divided by a power of two. values: all of the matrix. A: [n n] */
static void check_finest(struct team_rank *rank, const struct hierarchy *h, const double *values, const double *A)
{
  const struct spread *s = &((const struct task *)rank->user)->s;
  const karst_index *start = karst_matrix_row_start(s->A), *column = karst_matrix_column(s->A);
  const double scale = ldexp(1, -h->amg.exponent);
  bool same = true;
  for (karst_index i = 0; i < s->n; i++)
    for (karst_index k = start[i]; k < start[i + 1]; k++) {
      const double a = values[k] * scale;
      same = same && A[i * s->n + column[k]] == (h->amg.single ? (double)(float)a : a);
    }
  team_ok(rank, same, "level 0 has the values of the matrix");
}

static void check_levels(struct team_rank *rank, const struct hierarchy *h, const double *values)
{
  const struct task *task = rank->user;
  /* Sums of at most some hundred products. */
  const double tolerance = h->amg.single ? 1e-5 : 1e-14;
  karst_amg_matrix host;
  double *A = join(rank, h, &h->amg.level[0].A, h->spread->part, h->spread->part, &host);
  karst_amg_rows_release(rank->context, &host);
  check_finest(rank, h, values, A);
  team_ok(rank, h->amg.levels >= task->least, "%d levels are at least %d", h->amg.levels, task->least);
  for (int l = 0; l + 1 < h->amg.levels; l++) {
    const karst_amg_part *part = &h->spread->part[l];
    double *P = join(rank, h, &h->amg.level[l].P, part, part + 1, &host);
    check_ghosts(rank, h, l + 1);
    check_interpolation(rank, h, l, &host, P);
    karst_amg_rows_release(rank->context, &host);
    double *next = join(rank, h, &h->amg.level[l + 1].A, part + 1, part + 1, &host);
    karst_amg_rows_release(rank->context, &host);
    const double error = product_error(part->first[rank->ranks], part[1].first[rank->ranks], A, P, next);
    team_ok(rank, error <= tolerance, "level %d is P^T A P, not %.1e from it", l + 1, error);
    team_ok(rank, part[1].size.rows == part[1].first[rank->ranks], "its rows are those of all ranks");
    free(A);
    free(P);
    A = next;
  }
  check_gathered(rank, h, A);
  free(A);
}

static void body(struct team_rank *rank)
{
  const struct task *task = rank->user;
  const struct spread *s = &task->s;
  struct hierarchy h;
  karst_matrix *A;
  karst_amg_outcome outcome = {KARST_SOUND, -1, 0};
  if (!rank->context->backend->amg || !team_need(rank, spread_matrix(rank, s, &A), "the matrix")) return;
  begin(rank, A, &h);
  check_levels(rank, &h, karst_matrix_value(s->A));
  const double *own = task->other + karst_matrix_row_start(s->A)[s->first[rank->rank]];
  team_need(rank, karst_matrix_update_values(A, own), "other values");
  const long before = rank->memory.calls;
  team_need(rank, karst_amg_renew_spread(h.spread, &outcome), "new levels");
  team_ok(rank, rank->memory.calls == before && outcome.reason == KARST_SOUND, "without allocations, and sound");
  check_levels(rank, &h, task->other);
  end(&h);
  karst_matrix_destroy(A);
}

/* variant: float or double, pmis or aggregation. least: levels. */
static void test_system(karst_context *context, karst_matrix *A, int ranks, int variant, int least, const char *name)
{
  const bool aggregation = variant / 2;
  struct task task = {.s = spread_of(context, A, ranks, ranks == 3),
                      .settings = {.coarsening = aggregation ? KARST_AMG_AGGREGATION : KARST_AMG_PMIS,
                                   .strength = 0.25,
                                   .most_entries = 4,
                                   .coarse_rows = 4,
                                   .levels = 20,
                                   .cycle = KARST_AMG_V,
                                   .smoother = KARST_AMG_L1_JACOBI,
                                   .sweeps = 1,
                                   .omega = 1.5,
                                   .over_correction = 1,
                                   .precision = variant % 2,
                                   .gather_rows = 12},
                      .least = least};
  double *other = values_on_host(task.s.A);
  char what[200];
  for (int64_t k = 0; k < karst_matrix_blocks(task.s.A); k++) other[k] *= 1e-150 * (2 + tap_random());
  task.other = other;
  snprintf(what, sizeof what, "%s, %s, %s", name, aggregation ? "aggregation" : "pmis",
           variant % 2 ? "double" : "float");
  team_each_device(ranks, body, &task, what);
  free(other);
  spread_destroy(&task.s);
}

int main(void)
{
  karst_context *context = tap_context();
  for (int system = 0; system < AMG_SYSTEMS; system++)
    for (int variant = 0; variant < 4; variant++) {
      char name[40];
      snprintf(name, sizeof name, "system %d", system);
      test_system(context, amg_system(context, system), 2 + (system + variant) % 3, variant, system < 2 ? 2 : 1, name);
    }
  karst_context_destroy(context);
  return tap_done();
}
