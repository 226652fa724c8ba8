/* rrb applies the inverse of M = L D L^T, which rrb_dense.h computes from the method's description, on grids of all
 * shapes, for each number of levels and each storage, with holes and other numberings. M is symmetric positive
 * definite, threads do not change bits, and new values give what a fresh set-up gives. */
#include "config.h"

#include "lib/backend/backend.h"
#include "tests/support/failing_allocator.h"
#include "lib/matrix/matrix.h"
#include "tests/support/problem.h"
#include "tests/support/rrb_dense.h"
#include "tests/support/named_values.h"

/* The options of rrb. */
struct choice {
  int levels, grids;
  const char *precision;
};

static karst_precond *make(karst_context *context, const struct choice *choice, const karst_matrix *A)
{
  tap_settings settings = settings_for(NULL, "rrb");
  settings.rrb_levels = choice->levels;
  settings.rrb_grids = choice->grids;
  settings.rrb_precision = choice->precision;
  return precond_of(context, &settings, A);
}

/* ---- M against the dense model ---- */

/* Returns the largest error of a row of M z = r, relative to the terms of that row of M or of A, whichever are larger:
 * lumping may cancel most of a row of A, and the rest has the rounding errors of the whole row. NaN if z has one. */
static double row_error(int64_t n, const double *dense, const double *of_A, const double *r, const double *z)
{
  double worst = 0, largest = 0;
  for (int64_t q = 0; q < n; q++) largest = fmax(largest, fabs(z[q]));
  for (int64_t q = 0; q < n; q++) {
    double sum = -r[q], size = fabs(r[q]);
    for (int64_t p = 0; p < n; p++) {
      sum += dense[p * n + q] * z[p];
      size += fmax(fabs(dense[p * n + q]), fabs(of_A[p * n + q])) * largest;
    }
    if (isnan(sum)) return NAN;
    worst = fmax(worst, fabs(sum) / size);
  }
  return worst;
}

static double error_of(karst_context *context, const struct rrb_system *system, const struct choice *choice,
                       const double *dense, const double *of_A)
{
  karst_index row;
  karst_precond *M = make(context, choice, system->A);
  double *r = random_on_host(system->n), *z = applied(M, r), error = NAN;
  if (karst_precond_outcome(M, &row) == KARST_SOUND) error = row_error(system->n, dense, of_A, r, z);
  karst_precond_destroy(M);
  free(r);
  free(z);
  return error;
}

/* Compares all storages of one number of levels in this build. Returns the largest error over the tolerance. */
static double check_levels(karst_context *context, const struct rrb_system *system, int levels)
{
  double *dense = rrb_dense(system, levels), *of_A = tap_dense(system->A), worst = 0;
  const int grids = (levels + 1) / 2;
  for (int grouped = KARST_BASELINES ? 0 : grids; grouped <= grids + 1; grouped++) {
    const bool single = grouped > grids;
    const struct choice choice = {levels, single ? 64 : grouped, single ? "float" : "double"};
    const double error = error_of(context, system, &choice, dense, of_A) / (single ? 1e-5 : 1e-12);
    if (!(error < 1))
      tap_note("%ldx%ld, %d levels, %d grids in groups, %s: %.1e", (long)system->nx, (long)system->ny, levels,
               choice.grids, choice.precision, error);
    if (!(error <= worst)) worst = error;
  }
  free(dense);
  free(of_A);
  return worst;
}

/* Compares all numbers of levels. */
static void check_grid(karst_context *context, karst_index nx, karst_index ny, const struct rrb_kind *kind)
{
  struct rrb_system system = rrb_random_system(context, nx, ny, kind);
  const int most = rrb_most_levels(nx, ny);
  double worst = 0;
  for (int levels = most > 0; levels <= most; levels++) {
    const double error = check_levels(context, &system, levels);
    if (!(error <= worst)) worst = error;
  }
  tap_ok(worst < 1, "%ldx%ld, %d points%s%s: M is L D L^T for 1 to %d levels (%.1e of the tolerance)", (long)nx,
         (long)ny, kind->corners ? 9 : 5, kind->holes > 0 ? ", holes" : "", kind->shuffled ? ", shuffled" : "", most,
         worst);
  rrb_system_free(&system);
}

static void grids(karst_context *context)
{
  static const karst_index sizes[][2] = {{1, 1}, {1, 2},  {2, 1},  {1, 13}, {17, 1},  {2, 2},  {3, 3},
                                         {4, 4}, {5, 5},  {7, 7},  {8, 8},  {9, 9},   {2, 11}, {10, 3},
                                         {6, 9}, {13, 7}, {16, 5}, {15, 8}, {11, 17}, {12, 12}};
  if (tap_lacks_kernels(context->backend->rrb, "rrb", "grids")) return;
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
    for (int corners = 0; corners < 2; corners++) {
      const struct rrb_kind kind = {.corners = corners, .anisotropic = s % 3 == 0 ? 100 : s % 3 == 1 ? 1 : 0.01};
      check_grid(context, sizes[s][0], sizes[s][1], &kind);
    }
}

/* Grids with a map of their cells: every place has a node, or some are holes. */
static void maps(karst_context *context)
{
  static const karst_index sizes[][2] = {{5, 4}, {9, 9}, {14, 8}, {1, 12}, {17, 3}};
  if (tap_lacks_kernels(context->backend->rrb, "rrb", "maps")) return;
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
    for (int k = 0; k < 6; k++) {
      const struct rrb_kind kind = {k % 2, k != 2, k < 2 ? 0 : k < 4 ? 0.2 : 0.6, 1};
      check_grid(context, sizes[s][0], sizes[s][1], &kind);
    }
}

/* ---- properties of M ---- */

/* Factors a dense symmetric matrix in place and returns whether all pivots are positive. */
static bool is_positive(int64_t n, double *a)
{
  for (int64_t k = 0; k < n; k++) {
    if (!(a[k * n + k] > 0)) return false;
    for (int64_t q = k + 1; q < n; q++) {
      const double l = a[q * n + k] / a[k * n + k];
      for (int64_t p = k + 1; p < n; p++) a[q * n + p] -= l * a[k * n + p];
    }
  }
  return true;
}

static void check_definite(karst_context *context, const struct rrb_system *system, const struct choice *choice)
{
  const int64_t n = system->n;
  karst_precond *M = make(context, choice, system->A);
  double *inverse = tap_memory(n * n, sizeof *inverse), *unit = tap_memory(n, sizeof *unit), error = 0;
  for (int64_t q = 0; q < n; q++) {
    unit[q] = 1;
    apply_on_host(M, unit, inverse + q * n);
    unit[q] = 0;
  }
  for (int64_t q = 0; q < n; q++)
    for (int64_t p = 0; p < q; p++) {
      const double size = sqrt(inverse[q * n + q] * inverse[p * n + p]);
      error = fmax(error, fabs(inverse[q * n + p] - inverse[p * n + q]) / size);
    }
  tap_ok(error < 1e-11, "%d levels, %d grids in groups, %s: M is symmetric (%.1e)", choice->levels, choice->grids,
         choice->precision, error);
  tap_ok(is_positive(n, inverse), "and positive definite");
  karst_precond_destroy(M);
  free(inverse);
  free(unit);
}

static void definite(karst_context *context)
{
  if (tap_lacks_kernels(context->backend->rrb, "rrb", "definite")) return;
  for (int corners = 0; corners < 2; corners++) {
    const struct rrb_kind kind = {.corners = corners, .anisotropic = 1};
    struct rrb_system system = rrb_random_system(context, 11, 9, &kind);
    for (int levels = 1; levels <= 8; levels += 3) {
      check_definite(context, &system, &(struct choice){levels, 64, "double"});
      check_definite(context, &system, &(struct choice){levels, 64, "float"});
      if (KARST_BASELINES) check_definite(context, &system, &(struct choice){levels, 1, "double"});
    }
    rrb_system_free(&system);
  }
}

/* The first elimination of a stencil of 5 points drops nothing. */
static void exact(karst_context *context)
{
  static const karst_index sizes[][2] = {{1, 1}, {2, 1}, {1, 31}, {16, 16}, {23, 14}, {26, 25}};
  if (tap_lacks_kernels(context->backend->rrb, "rrb", "exact")) return;
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
    for (int grouped = !KARST_BASELINES; grouped < 2; grouped++) {
      const struct rrb_kind kind = {.holes = s == 4 ? 0.1 : 0, .shuffled = s == 4, .anisotropic = 1};
      struct rrb_system system = rrb_random_system(context, sizes[s][0], sizes[s][1], &kind);
      double *dense = tap_dense(system.A);
      const double error = error_of(context, &system, &(struct choice){1, grouped, "double"}, dense, dense);
      tap_ok(error < 1e-12, "%ldx%ld, 5 points, %s: M with 1 level is A (%.1e)", (long)sizes[s][0], (long)sizes[s][1],
             grouped ? "in groups" : "node by node", error);
      free(dense);
      rrb_system_free(&system);
    }
}

static void levels(karst_context *context)
{
  static const struct {
    karst_index size[2];
    int asked, made;
  } cases[] = {{{1, 1}, 0, 0},   {{1, 1}, 5, 0},    {{2, 1}, 9, 2},    {{13, 9}, 3, 3},
               {{13, 9}, 99, 8}, {{16, 16}, 99, 8}, {{17, 5}, 99, 10}, {{60, 70}, 0, 4},
               {{64, 64}, 0, 2}, {{65, 64}, 0, 4},  {{1, 300}, 0, 2}};
  const struct rrb_kind kind = {.anisotropic = 1};
  if (tap_lacks_kernels(context->backend->rrb, "rrb", "levels")) return;
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    struct rrb_system system = rrb_random_system(context, cases[c].size[0], cases[c].size[1], &kind);
    karst_precond *M = make(context, &(struct choice){cases[c].asked, 64, "double"}, system.A);
    const double made = tap_precond_number(M, "rrb_levels");
    tap_ok(made == cases[c].made, "%ldx%ld: rrb-levels %d makes %d levels (%g)", (long)system.nx, (long)system.ny,
           cases[c].asked, cases[c].made, made);
    karst_precond_destroy(M);
    rrb_system_free(&system);
  }
}

/* ---- threads and new values ---- */

/* Any number of threads gives the same bits, also on grids that are large enough for several. */
static void threads(karst_context *context)
{
  static const struct choice choices[] = {
      {0, 64, "double"}, {5, 64, "float"}, {16, KARST_BASELINES ? 2 : 64, "double"}};
  if (!context->backend->host_memory || tap_lacks_kernels(context->backend->rrb, "rrb", "threads")) return;
  for (int c = 0; c < 3; c++) {
    const struct rrb_kind kind = {.corners = c == 1, .holes = 0.05, .anisotropic = 1};
    struct rrb_system system = rrb_random_system(context, 251, 190, &kind);
    const size_t bytes = (size_t)system.n * sizeof(double);
    double *r = random_on_host(system.n), *z = tap_memory(system.n, sizeof *z),
           *one = tap_memory(system.n, sizeof *one);
    const int kept = karst_context_threads(context);
    bool same = true;
    for (int count = 1; count <= 5; count++) {
      if (count > 1 && tap_set_threads(context, count)) break; /* without OpenMP */
      if (count == 1) tap_need(context, tap_set_threads(context, 1), "threads");
      karst_precond *M = make(context, &choices[c], system.A);
      apply_on_host(M, r, count == 1 ? one : z);
      same = same && (count == 1 || memcmp(one, z, bytes) == 0);
      karst_precond_destroy(M);
    }
    tap_need(context, tap_set_threads(context, kept), "threads");
    tap_ok(same && isfinite(one[0]), "%d levels, %s: threads do not change bits", choices[c].levels,
           choices[c].precision);
    free(r);
    free(z);
    free(one);
    rrb_system_free(&system);
  }
}

/* The values of a matrix times numbers that keep it symmetric and dominant. */
static double *other_values(karst_context *context, const karst_matrix *A)
{
  const karst_index *start = karst_matrix_row_start(A), *column = karst_matrix_column(A);
  const karst_index n = karst_matrix_block_rows(A);
  double *host, *value = tap_memory(karst_matrix_blocks(A), sizeof *value);
  tap_need(context, karst_matrix_host_value(A, &host), "values");
  for (karst_index q = 0; q < n; q++)
    for (karst_index k = start[q]; k < start[q + 1]; k++)
      value[k] = host[k] * (column[k] == q ? 1.5 : 1.0 / (double)(1 + (q + column[k]) % 3));
  karst_matrix_host_value_done(A, host);
  return value;
}

static void check_update(karst_context *context, const struct failing_allocator *memory, const struct choice *choice,
                         bool corners)
{
  const struct rrb_kind kind = {.corners = corners, .holes = 0.1, .shuffled = true, .anisotropic = 1};
  struct rrb_system system = rrb_random_system(context, 37, 22, &kind);
  double *value = other_values(context, system.A), *r = random_on_host(system.n);
  double *z = tap_memory(system.n, sizeof *z), *fresh = tap_memory(system.n, sizeof *fresh);
  karst_precond *M = make(context, choice, system.A);
  tap_need(context, karst_matrix_update_values(system.A, value), "values");
  const long calls = (long)memory->calls;
  tap_need(context, karst_precond_update(M), "update");
  tap_ok((long)memory->calls == calls, "%d levels, %d grids in groups, %s, %d points: update allocates nothing",
         choice->levels, choice->grids, choice->precision, corners ? 9 : 5);
  apply_on_host(M, r, z);
  karst_precond_destroy(M);
  M = make(context, choice, system.A);
  apply_on_host(M, r, fresh);
  tap_ok(memcmp(z, fresh, (size_t)system.n * sizeof *z) == 0, "and leaves the bits of a fresh set-up");
  karst_precond_destroy(M);
  rrb_system_free(&system);
  free(value);
  free(r);
  free(z);
  free(fresh);
}

static void updates(const char *device)
{
  static const struct choice choices[] = {
      {0, 64, "double"}, {12, 64, "double"}, {7, 64, "float"}, {7, 0, "double"}, {8, 2, "double"}};
  struct failing_allocator memory = {0};
  karst_context *context = failing_context(&memory);
  if (karst_context_set_device(context, device))
    tap_skip("the device is not available", "updates on %s", device);
  else if (!tap_lacks_kernels(context->backend->rrb, "rrb", "updates"))
    for (size_t c = 0; c < sizeof choices / sizeof *choices - (KARST_BASELINES ? 0 : 2); c++)
      for (int corners = 0; corners < 2; corners++) check_update(context, &memory, &choices[c], corners);
  karst_context_destroy(context);
  tap_ok(memory.outstanding == 0, "on %s all memory is released", device);
}

int main(void)
{
  tap_each_device(grids, "grids");
  tap_each_device(maps, "maps of cells");
  tap_each_device(definite, "M is symmetric positive definite");
  tap_each_device(exact, "a level that is exact");
  tap_each_device(levels, "numbers of levels");
  tap_each_device(threads, "threads");
  updates("cpu");
  updates("cuda");
  return tap_done();
}
