/* Sweeps and factorizations by tiles on a CPU with threads. In a schedule that is made from tiles each row is in one
 * run, whose dependencies are in lower levels; its runs are tiles. M^-1 r of iluk and dilu has the bits of one thread,
 * which takes the rows in order, for any number of threads. */
#include "tests/support/failing_allocator.h"
#include "lib/method/precond.h"
#include "tests/support/schedules.h"
#include "tests/support/tile_systems.h"
#include "tests/support/tilings.h"

static const int tile_sizes[] = {1, 7, 64, 100000};
enum { TILE_SIZES = sizeof tile_sizes / sizeof *tile_sizes };

/* A pattern in an order by tiles, and the factors of ILU(level) on it. */
struct sorted {
  struct tiled tiled;
  karst_ilu_pattern factors;
};

/* tile_size: 0 for an order by colours. */
static struct sorted sort_rows(karst_context *context, const struct pattern *A, int tile_size, int level)
{
  karst_ordering_pattern pattern = tiled_pattern(context, A);
  karst_index *start, *column, *source;
  struct sorted sorted;
  pattern.distance = level + 1;
  pattern.settings.tile_size = tile_size;
  sorted.tiled = tiled_make(tile_size ? "tiles" : "colour", &pattern);
  tap_need(
      context,
      karst_pattern_permute(context, A->n, A->start, A->column, sorted.tiled.permutation, &start, &column, &source),
      "permute");
  tap_need(context, karst_ilu_symbolic(context, A->n, start, column, level, &sorted.factors), "symbolic");
  karst_release(context, start);
  karst_release(context, column);
  karst_release(context, source);
  return sorted;
}

static void free_sorted(karst_context *context, struct sorted *sorted)
{
  tiled_free(context, &sorted->tiled);
  karst_ilu_pattern_destroy(context, &sorted->factors);
}

static karst_status make_schedule(karst_context *context, const struct sorted *sorted, bool lower, int threads,
                                  karst_schedule *schedule)
{
  const karst_ilu_pattern *f = &sorted->factors;
  return karst_schedule_create(context, &sorted->tiled.tiling, f->rows, lower ? f->lower_start : f->upper_start,
                               lower ? f->lower_column : f->upper_column, lower, threads, schedule);
}

static bool is_valid(const struct sorted *sorted, bool lower, const karst_schedule *schedule)
{
  const karst_ilu_pattern *f = &sorted->factors;
  return schedule_is_valid(schedule, f->rows, lower ? f->lower_start : f->upper_start,
                           lower ? f->lower_column : f->upper_column, lower);
}

/* Adds up the schedules of both sweeps for up to six threads: wrong ones, and those of several runs. */
static void count_schedules(karst_context *context, const struct pattern *A, int tile_size, int level, int *wrong,
                            int *parallel)
{
  struct sorted sorted = sort_rows(context, A, tile_size, level);
  for (int c = 0; c < 12; c++) {
    karst_schedule schedule;
    tap_need(context, make_schedule(context, &sorted, c % 2 == 0, 1 + c / 2, &schedule), "schedule");
    *wrong += !is_valid(&sorted, c % 2 == 0, &schedule) || (c < 2 && schedule.level_start[schedule.levels] != 1);
    *parallel += schedule.level_start[schedule.levels] > 1;
    karst_schedule_destroy(context, &schedule);
  }
  free_sorted(context, &sorted);
}

static void schedules(karst_context *context)
{
  int wrong = 0, parallel = 0;
  for (int c = 0; c < 60; c++) {
    struct pattern A = pattern_random(1 + (karst_index)tap_random_index(300), c % 3 == 0 ? 0.001 : 0.02);
    count_schedules(context, &A, c % 5 ? tile_sizes[c % TILE_SIZES] : 0, c % 3, &wrong, &parallel);
    pattern_free(&A);
  }
  tap_ok(wrong == 0, "random patterns: each row in one run, after its dependencies; one thread has one run");
  wrong = parallel = 0;
  for (int c = 0; c < 30; c++) {
    karst_index *cell, size[3];
    for (int axis = 0; axis < 3; axis++) size[axis] = 8 + (karst_index)tap_random_index(12);
    struct pattern A = tile_grid(size, c % 2 == 1, c % 4 < 2 ? 0 : 0.1, &cell);
    count_schedules(context, &A, c % 5 ? tile_sizes[c % TILE_SIZES] : 0, c % 3, &wrong, &parallel);
    free(cell);
    pattern_free(&A);
  }
  tap_ok(wrong == 0, "grids: each row in one run, after its dependencies");
  tap_ok(parallel > 0, "threads share %d of these sweeps", parallel);
}

/* A level for each colour, whose runs are sets of whole tiles, enough for all threads. */
static void check_tiles(karst_context *context, karst_index n, int tile_size, int level, int threads)
{
  struct pattern A = pattern_grid(n, n, n);
  struct sorted sorted = sort_rows(context, &A, tile_size, level);
  const karst_tiling *tiling = &sorted.tiled.tiling;
  for (int lower = 0; lower < 2; lower++) {
    karst_schedule schedule;
    bool whole = true;
    tap_need(context, make_schedule(context, &sorted, lower, threads, &schedule), "schedule");
    const karst_index runs = schedule.level_start[schedule.levels];
    for (karst_index r = 0; r < runs; r++) {
      karst_index t = 0;
      while (tiling->start[t] < schedule.run_first[r]) t++;
      whole = whole && tiling->start[t] == schedule.run_first[r];
      while (tiling->start[t] < schedule.run_last[r]) t++;
      whole = whole && tiling->start[t] == schedule.run_last[r];
    }
    tap_ok(is_valid(&sorted, lower, &schedule) && whole && schedule.levels <= tiling->colours &&
               runs >= 8 * threads * schedule.levels && runs <= tiling->tiles,
           "%ld cells cubed, level %d, %d threads: %ld tiles of %d in %ld colours are %ld runs in %ld levels", (long)n,
           level, threads, (long)tiling->tiles, tile_size, (long)tiling->colours, (long)runs, (long)schedule.levels);
    karst_schedule_destroy(context, &schedule);
  }
  free_sorted(context, &sorted);
  pattern_free(&A);
}

static tap_settings settings_of(int kind, int tile_size)
{
  tap_settings settings = settings_for(NULL, kind == 3 ? "dilu" : "iluk");
  settings.level = kind == 3 ? 0 : kind;
  settings.ordering = tile_size ? "tiles" : "colour";
  settings.tile_size = tile_size;
  return settings;
}

/* Returns whether M^-1 r has the expected bits, also after an update with the same values. */
static bool has_bits(karst_context *context, const tap_settings *settings, const karst_matrix *A, const double *r,
                     const double *expected)
{
  const size_t bytes = (size_t)karst_matrix_rows(A) * sizeof *r;
  struct tile_system s = tile_system_make(context, settings, A);
  bool same = true;
  for (int again = 0; again < 3; again++) {
    if (again == 2) tile_system_update(&s);
    double *z = tile_apply(&s, r);
    same = same && memcmp(z, expected, bytes) == 0;
    free(z);
  }
  tile_system_free(&s);
  return same;
}

static void check_bits(karst_context *one, const struct pattern *pattern, int b, int kind, const char *what)
{
  karst_matrix *A = pattern_random_matrix(one, pattern, b, 1.5);
  double *r = random_on_host(karst_matrix_rows(A));
  bool same = true;
  for (int t = 0; t <= TILE_SIZES; t++) {
    const tap_settings settings = settings_of(kind, t < TILE_SIZES ? tile_sizes[t] : 0);
    struct tile_system s = tile_system_make(one, &settings, A);
    double *expected = tile_apply(&s, r);
    tile_system_free(&s);
    const int threads = 2 + (t + kind + b) % 2; /* each tile size has either number with half of the methods */
    karst_context *context = tap_context();
    tap_need(context, tap_set_threads(context, threads), "threads");
    karst_matrix *copy = matrix_copied(context, A);
    const bool right = has_bits(context, &settings, copy, r, expected);
    if (!right) tap_note("%s, %d threads, %s of %d: other bits", what, threads, settings.ordering, settings.tile_size);
    same = same && right;
    karst_matrix_destroy(copy);
    karst_context_destroy(context);
    free(expected);
  }
  tap_ok(same, "%s, b = %d, %s, level %d: the bits of one thread with two and three", what, b,
         kind == 3 ? "dilu" : "iluk", kind == 3 ? 0 : kind);
  free(r);
  karst_matrix_destroy(A);
}

static void bits(karst_context *context)
{
  static const int block_sizes[] = {1, 2, 3, 4, 11};
  for (size_t s = 0; s < sizeof block_sizes / sizeof *block_sizes; s++)
    for (int kind = 0; kind < 4; kind++) {
      const int b = block_sizes[s];
      const karst_index n = b > 4 ? 8 : 15;
      struct pattern grid = pattern_grid(n, n + 1, n - 2), random = pattern_random(b > 4 ? 40 : 150, 0.01);
      check_bits(context, &grid, b, kind, "grid");
      check_bits(context, &random, b, kind, "random");
      pattern_free(&grid);
      pattern_free(&random);
    }
}

static karst_status run_schedules(karst_context *context, void *user)
{
  const struct sorted *sorted = user;
  karst_schedule schedule = {0};
  karst_status status = KARST_SUCCESS;
  for (int threads = 1; threads <= 2 && !status; threads++) {
    status = make_schedule(context, sorted, true, threads, &schedule);
    karst_schedule_destroy(context, &schedule);
  }
  return status;
}

int main(void)
{
  karst_context *context = tap_context();
  schedules(context);
  check_tiles(context, 30, 1, 0, 3); /* rows are joined */
  check_tiles(context, 30, 64, 0, 2);
  check_tiles(context, 40, 64, 0, 4);
  check_tiles(context, 40, 64, 1, 2);
  if (strstr(karst_build_features(), "OpenMP"))
    bits(context);
  else
    tap_skip("built without OpenMP", "threads have the bits of one");
  struct pattern large = pattern_grid(24, 20, 20), small = pattern_grid(3, 3, 3);
  struct sorted parallel = sort_rows(context, &large, 64, 0), serial = sort_rows(context, &small, 7, 0);
  fail_each_allocation(run_schedules, &parallel, "schedule of tiles");
  fail_each_allocation(run_schedules, &serial, "schedule of a few tiles");
  free_sorted(context, &parallel);
  free_sorted(context, &serial);
  pattern_free(&large);
  pattern_free(&small);
  karst_context_destroy(context);
  return tap_done();
}
