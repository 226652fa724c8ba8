/* The kernels of multigrid for levels that ranks share, against their definitions: a square matrix has the entries of
 * ghosts on its diagonal, and an interpolation gets the rows of ghosts behind its own. */
#include "tests/support/amg_levels.h"

#include <math.h>
#include <string.h>

/* A matrix of rows x (rows + ghosts) at random in host memory, and in that of a device as a level has it. */
struct level {
  karst_amg_matrix host, device; /* host.value: double */
};

/* density: of entries. Some rows have no diagonal entry, and some none at all. */
static struct level level_of(karst_context *context, const karst_amg *amg, karst_index rows, karst_index ghosts,
                             double density)
{
  const int64_t most = (int64_t)rows * (rows + ghosts) + 1;
  karst_index *start = tap_memory((int64_t)rows + 1, sizeof *start), *column = tap_memory(most, sizeof *column), at = 0;
  double *value = tap_memory(most, sizeof *value), *placed;
  struct level level = {.host = {rows, rows + ghosts, 0, 0, start, column, value, false}};
  for (karst_index i = 0; i < rows; i++) {
    const bool empty = tap_random_index(15) == 0, bare = tap_random_index(10) == 0;
    for (karst_index j = 0; j < rows + ghosts && !empty; j++) {
      if (i == j ? bare : fabs(tap_random()) > density) continue;
      column[at] = j;
      value[at++] = tap_random();
    }
    start[i + 1] = at;
  }
  level.host.entries = at;
  level.device = level.host;
  void *stored = tap_memory(at + 1, sizeof *value);
  for (karst_index k = 0; k < at; k++) {
    if (amg->single) value[k] = (float)value[k];
    if (amg->single)
      ((float *)stored)[k] = (float)value[k];
    else
      ((double *)stored)[k] = value[k];
  }
  tap_need(context, karst_device_indices(context, (int64_t)rows + 1, start, "starts", &level.device.row_start),
           "starts");
  tap_need(context, karst_device_indices(context, at, column, "columns", &level.device.column), "columns");
  tap_need(context, karst_device_doubles(context, at, "values", &placed), "values");
  tap_need(context, context->backend->upload(context, placed, stored, (size_t)at * karst_amg_scalar(amg)), "values");
  level.device.value = placed;
  free(stored);
  return level;
}

static void level_free(karst_context *context, struct level *level)
{
  free(level->host.row_start);
  free(level->host.column);
  free(level->host.value);
  context->backend->release(context, level->device.row_start);
  context->backend->release(context, level->device.column);
  context->backend->release(context, level->device.value);
}

/* Whether square is A without its ghosts, whose entries are added to the diagonal one in their order. */
static bool is_square(const karst_amg_matrix *A, bool single, const struct amg_host *square)
{
  const double *value = A->value;
  karst_index at = 0;
  bool right = square->rows == A->rows && square->columns == A->rows;
  for (karst_index i = 0; i < A->rows; i++) {
    double ghosts = 0;
    for (karst_index k = A->row_start[i]; k < A->row_start[i + 1]; k++)
      if (A->column[k] >= A->rows) ghosts += value[k];
    right = right && square->start[i] == at;
    for (karst_index k = A->row_start[i]; k < A->row_start[i + 1] && A->column[k] < A->rows; k++, at++) {
      const double sum = A->column[k] == i ? value[k] + ghosts : value[k];
      right = right && square->column[at] == A->column[k] && square->value[at] == (single ? (double)(float)sum : sum);
    }
  }
  return right && square->start[A->rows] == at;
}

/* Whether all has the rows of first and then those of second. */
static bool is_joined(const struct amg_host *first, const karst_amg_matrix *second, bool single,
                      const struct amg_host *all)
{
  const karst_index own = first->start[first->rows];
  bool right = all->rows == first->rows + second->rows;
  for (karst_index i = 0; i <= first->rows; i++) right = right && all->start[i] == first->start[i];
  for (karst_index i = 0; i <= second->rows; i++)
    right = right && all->start[first->rows + i] == own + second->row_start[i];
  for (karst_index k = 0; k < own; k++)
    right = right && all->column[k] == first->column[k] && all->value[k] == first->value[k];
  for (karst_index k = 0; k < second->entries; k++) {
    const double value = ((const double *)second->value)[k];
    right = right && all->column[own + k] == second->column[k] &&
            all->value[own + k] == (single ? (double)(float)value : value);
  }
  return right;
}

/* The entries of the longest row. */
static karst_index longest_of(const struct amg_host *A)
{
  karst_index longest = 0;
  for (karst_index i = 0; i < A->rows; i++)
    if (A->start[i + 1] - A->start[i] > longest) longest = A->start[i + 1] - A->start[i];
  return longest;
}

static void test_level(karst_context *context, karst_index rows, karst_index ghosts, double density, bool single)
{
  struct amg_test t = {
      .context = context, .kernels = context->backend->amg, .amg = {.single = single, .ghosts = ghosts}};
  struct level A = level_of(context, &t.amg, rows, ghosts, density);
  struct level below = level_of(context, &(karst_amg){.single = false}, ghosts, rows + 3, density);
  karst_amg_matrix square = {0};
  tap_need(context, t.kernels->square(context, &t.amg, &A.device, &square), "square");
  struct amg_host own = amg_fetch(&t, &square);
  tap_ok(is_square(&A.host, single, &own) && square.longest == longest_of(&own) && square.entries == own.start[rows],
         "%lld rows and %lld ghosts, %s: ghosts are added to the diagonal", (long long)rows, (long long)ghosts,
         single ? "float" : "double");
  tap_need(context, t.kernels->append(context, &t.amg, &below.host, rows + ghosts + 3, &square), "append");
  struct amg_host all = amg_fetch(&t, &square);
  tap_ok(is_joined(&own, &below.host, single, &all) && square.columns == rows + ghosts + 3 &&
             square.entries == own.start[rows] + below.host.entries,
         "and rows are appended");
  tap_ok(square.longest >= longest_of(&all), "of which none is longer than the longest");
  amg_host_free(&own);
  amg_host_free(&all);
  t.kernels->release_matrix(context, &square);
  level_free(context, &A);
  level_free(context, &below);
}

static void run(karst_context *context)
{
  static const karst_index sizes[][2] = {{40, 17}, {1, 1},   {1, 0},    {0, 5},    {0, 0},
                                         {5, 0},   {3, 200}, {300, 40}, {257, 600}};
  if (tap_lacks_kernels(context->backend->amg, "amg", "levels that ranks share")) return;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    for (int single = 0; single < 2; single++) {
      test_level(context, sizes[i][0], sizes[i][1], 0.2, single);
      test_level(context, sizes[i][0], sizes[i][1], 0, single);
    }
}

int main(void)
{
  tap_each_device(run, "levels that ranks share");
  return tap_done();
}
