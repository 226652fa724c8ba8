/* The kernels of multigrid for levels that ranks share, against their definitions: square, stack, fetch, renumber, rescue,
 * and those that convert and add. */
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

/* Rows in any order, some of them twice, come to the host as they are. */
static void test_fetch(struct amg_test *t, const karst_amg_matrix *matrix, const struct amg_host *all)
{
  const karst_index count = all->rows > 0 ? all->rows + 5 : 0;
  karst_index *row = tap_memory(count, sizeof *row), at = 0;
  karst_amg_matrix host = {0};
  bool right = true;
  for (karst_index i = 0; i < count; i++) row[i] = (karst_index)tap_random_index(all->rows);
  tap_need(t->context, t->kernels->fetch(t->context, &t->amg, matrix, count, row, &host), "fetch");
  for (karst_index i = 0; i < count; i++)
    for (karst_index k = all->start[row[i]]; k < all->start[row[i] + 1]; k++, at++)
      right = right && at < host.row_start[i + 1] && host.column[at] == all->column[k] &&
              ((const double *)host.value)[at] == all->value[k];
  tap_ok(right && host.rows == count && host.entries == at && host.row_start[count] == at, "rows are fetched");
  karst_release(t->context, host.row_start);
  karst_release(t->context, host.column);
  karst_release(t->context, host.value);
  free(row);
}

/* The columns from own on get other numbers. */
static void test_renumber(struct amg_test *t, karst_index own, karst_amg_matrix *matrix, const struct amg_host *all)
{
  const karst_index count = matrix->columns - own;
  karst_index *place = tap_memory(count, sizeof *place);
  bool right = true;
  for (karst_index i = 0; i < count; i++) place[i] = (i > 0 ? place[i - 1] + 1 : 0) + (karst_index)tap_random_index(3);
  tap_need(t->context, t->kernels->renumber(t->context, own, count, place, matrix), "renumber");
  struct amg_host now = amg_fetch(t, matrix);
  for (karst_index k = 0; k < all->start[all->rows]; k++)
    right = right && now.column[k] == (all->column[k] < own ? all->column[k] : own + place[all->column[k] - own]);
  tap_ok(right, "columns are renumbered");
  amg_host_free(&now);
  free(place);
}

/* Numbers are converted to the type of the levels and back, and added at places. */
static void test_vectors(karst_context *context, karst_index count, bool single)
{
  const struct karst_amg_kernels *kernels = context->backend->amg;
  const struct karst_backend *backend = context->backend;
  const karst_amg amg = {.single = single};
  const size_t bytes = (size_t)count * sizeof(double);
  double *host = tap_memory(count, sizeof *host), *back = tap_memory(count, sizeof *back), *x, *stored, *y;
  karst_index *order = tap_memory(count, sizeof *order), *index;
  bool right = true;
  for (karst_index i = 0; i < count; i++) {
    host[i] = tap_random();
    order[i] = count - 1 - i;
  }
  tap_need(context, karst_device_doubles(context, count, "x", &x), "x");
  tap_need(context, karst_device_doubles(context, count, "stored", &stored), "stored");
  tap_need(context, karst_device_doubles(context, count, "y", &y), "y");
  tap_need(context, karst_device_indices(context, count, order, "places", &index), "places");
  if (count > 0) tap_need(context, backend->upload(context, x, host, bytes), "x");
  kernels->narrow(context, &amg, count, x, stored);
  kernels->widen(context, &amg, count, stored, y);
  kernels->add(context, count, index, x, y);
  if (count > 0) tap_need(context, backend->download(context, back, y, bytes), "y");
  for (karst_index i = 0; i < count; i++)
    right = right && back[i] == (single ? (double)(float)host[i] : host[i]) + host[count - 1 - i];
  tap_ok(right, "%lld numbers, %s: they are converted and added", (long long)count, single ? "float" : "double");
  backend->release(context, x);
  backend->release(context, stored);
  backend->release(context, y);
  backend->release(context, index);
  free(host);
  free(back);
  free(order);
}

/* Of rows in a chain 0 - 1 - ... that depend strongly on their neighbours, with the last ones split by others. */
static void test_rescue(karst_context *context)
{
  /* Rows 3 to 5 are ghosts: 3 was taken for C here, and is not. Row 2 depends on it and on 1, which is F; row 0 is C. */
  enum { OWN = 3, ALL = 6 };
  const karst_index start[ALL + 1] = {0, 1, 3, 5, 7, 9, 10}, column[] = {1, 0, 2, 1, 3, 2, 4, 3, 5, 4};
  const karst_index place[ALL] = {0, -1, -1, 1, -1, 2}, ghost[ALL - OWN] = {-1, 7, -1};
  const unsigned char strong[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  karst_amg_matrix A = {.rows = ALL, .columns = ALL, .entries = 10};
  karst_amg_splitting splitting = {0};
  karst_index *theirs, found[ALL];
  double *bytes;
  tap_need(context, karst_device_indices(context, ALL + 1, start, "starts", &A.row_start), "starts");
  tap_need(context, karst_device_indices(context, 10, column, "columns", &A.column), "columns");
  tap_need(context, karst_device_indices(context, ALL, place, "places", &splitting.place), "places");
  tap_need(context, karst_device_indices(context, ALL - OWN, ghost, "ghosts", &theirs), "ghosts");
  tap_need(context, karst_device_doubles(context, 10, "strong couplings", &bytes), "strong couplings");
  tap_need(context, context->backend->upload(context, bytes, strong, sizeof strong), "strong couplings");
  splitting.strong = (unsigned char *)bytes;
  context->backend->amg->rescue(context, &A, OWN, theirs, &splitting);
  tap_need(context, context->backend->download(context, found, splitting.place, sizeof found), "places");
  tap_ok(found[0] == 0 && found[1] == -1 && found[2] == -2,
         "the row without a coarse row is rescued, and no other one");
  context->backend->release(context, A.row_start);
  context->backend->release(context, A.column);
  context->backend->release(context, splitting.place);
  context->backend->release(context, theirs);
  context->backend->release(context, bytes);
}

static void test_level(karst_context *context, karst_index rows, karst_index ghosts, double density, bool single)
{
  struct amg_test t = {
      .context = context, .kernels = context->backend->amg, .amg = {.single = single, .ghosts = ghosts}};
  struct level A = level_of(context, &t.amg, rows, ghosts, density);
  struct level below = level_of(context, &(karst_amg){.single = false}, ghosts, rows + 3, density);
  karst_amg_matrix square = {0}, stacked = {0};
  tap_need(context, t.kernels->square(context, &t.amg, &A.device, &square), "square");
  struct amg_host own = amg_fetch(&t, &square);
  tap_ok(is_square(&A.host, single, &own) && square.longest == longest_of(&own) && square.entries == own.start[rows],
         "%lld rows and %lld ghosts, %s: ghosts are added to the diagonal", (long long)rows, (long long)ghosts,
         single ? "float" : "double");
  tap_need(context, t.kernels->stack(context, &t.amg, &square, &below.host, rows + ghosts + 3, &stacked), "stack");
  struct amg_host all = amg_fetch(&t, &stacked);
  tap_ok(is_joined(&own, &below.host, single, &all) && stacked.columns == rows + ghosts + 3 &&
             stacked.entries == own.start[rows] + below.host.entries,
         "and rows are appended");
  tap_ok(stacked.longest >= longest_of(&all), "of which none is longer than the longest");
  test_fetch(&t, &stacked, &all);
  test_renumber(&t, rows, &stacked, &all);
  amg_host_free(&own);
  amg_host_free(&all);
  t.kernels->release_matrix(context, &square);
  t.kernels->release_matrix(context, &stacked);
  level_free(context, &A);
  level_free(context, &below);
}

static void run(karst_context *context)
{
  static const karst_index sizes[][2] = {{40, 17}, {1, 1},   {1, 0},    {0, 5},    {0, 0},
                                         {5, 0},   {3, 200}, {300, 40}, {257, 600}};
  if (tap_lacks_kernels(context->backend->amg, "amg", "levels that ranks share")) return;
  test_rescue(context);
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    for (int single = 0; single < 2; single++) {
      test_vectors(context, sizes[i][0], single);
      test_level(context, sizes[i][0], sizes[i][1], 0.2, single);
      test_level(context, sizes[i][0], sizes[i][1], 0, single);
    }
}

int main(void)
{
  tap_each_device(run, "levels that ranks share");
  return tap_done();
}
