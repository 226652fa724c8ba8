/* The kernels of multigrid for levels that ranks share, against their definitions: square matrices with the entries of
 * ghosts on the diagonal, rows that are fetched and stacked, columns and vectors of ghosts, and coarse rows that other
 * ranks do not take. */
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
  for (karst_index i = 0; i < rows; i++)
    if (start[i + 1] - start[i] > level.host.longest) level.host.longest = start[i + 1] - start[i];
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

/* Whether all has the rows of top and then those of below. */
static bool is_stack(const struct amg_host *top, const karst_amg_matrix *below, bool single, const struct amg_host *all)
{
  const karst_index own = top->start[top->rows];
  bool right = all->rows == top->rows + below->rows;
  for (karst_index i = 0; i <= top->rows; i++) right = right && all->start[i] == top->start[i];
  for (karst_index i = 0; i <= below->rows; i++)
    right = right && all->start[top->rows + i] == own + below->row_start[i];
  for (karst_index k = 0; k < own; k++)
    right = right && all->column[k] == top->column[k] && all->value[k] == top->value[k];
  for (karst_index k = 0; k < below->entries; k++) {
    const double value = ((const double *)below->value)[k];
    right = right && all->column[own + k] == below->column[k] &&
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

static void test_square(struct amg_test *t, const struct level *A)
{
  karst_amg_matrix square = {0};
  tap_need(t->context, t->kernels->square(t->context, &t->amg, &A->device, &square), "square");
  struct amg_host host = amg_fetch(t, &square);
  tap_ok(is_square(&A->host, t->amg.single, &host) && square.longest == longest_of(&host) &&
             square.entries == host.start[host.rows],
         "the entries of ghosts are added to the diagonal of a square matrix");
  amg_host_free(&host);
  t->kernels->release_matrix(t->context, &square);
}

/* Some rows come twice, in any order. */
static void test_fetch(struct amg_test *t, const struct level *A)
{
  const karst_amg_matrix *host = &A->host;
  const karst_index count = host->rows > 0 ? host->rows + 3 : 0;
  karst_index *row = tap_memory((int64_t)count + 1, sizeof *row);
  karst_amg_matrix rows = {0};
  for (karst_index i = 0; i < count; i++) row[i] = (karst_index)tap_random_index(host->rows);
  tap_need(t->context, t->kernels->fetch(t->context, &t->amg, &A->device, count, row, &rows), "fetch");
  bool right = rows.rows == count && rows.columns == host->columns && rows.row_start[count] == rows.entries;
  for (karst_index i = 0; i < count && right; i++) {
    const karst_index start = host->row_start[row[i]], length = host->row_start[row[i] + 1] - start;
    const double *fetched = (const double *)rows.value + rows.row_start[i],
                 *stored = (const double *)host->value + start;
    right = rows.row_start[i + 1] - rows.row_start[i] == length;
    for (karst_index k = 0; k < length && right; k++)
      right = rows.column[rows.row_start[i] + k] == host->column[start + k] && fetched[k] == stored[k];
  }
  tap_ok(right, "%lld rows are fetched", (long long)count);
  karst_release(t->context, rows.row_start);
  karst_release(t->context, rows.column);
  karst_release(t->context, rows.value);
  free(row);
}

/* The columns behind the own ones get numbers that ascend. */
static void test_stack(struct amg_test *t, const struct level *A, karst_index ghosts, double density)
{
  const karst_index rows = A->host.rows, columns = rows + 3 * ghosts + 5;
  struct level below = level_of(t->context, &(karst_amg){.single = false}, ghosts, rows, density);
  karst_index *place = tap_memory((int64_t)ghosts + 1, sizeof *place);
  karst_amg_matrix all = {0};
  bool right = true;
  tap_need(t->context, t->kernels->stack(t->context, &t->amg, &A->device, &below.host, columns, &all), "stack");
  struct amg_host top = amg_fetch(t, &A->device), host = amg_fetch(t, &all);
  tap_ok(is_stack(&top, &below.host, t->amg.single, &host) && all.columns == columns &&
             all.entries == host.start[host.rows] && all.longest >= longest_of(&host),
         "rows are stacked");
  for (karst_index g = 0; g < ghosts; g++) place[g] = 3 * g + (karst_index)tap_random_index(3);
  tap_need(t->context, t->kernels->renumber(t->context, rows, ghosts, place, &all), "renumber");
  struct amg_host after = amg_fetch(t, &all);
  for (karst_index k = 0; k < host.start[host.rows]; k++) {
    const karst_index column = host.column[k];
    right = right && after.column[k] == (column < rows ? column : rows + place[column - rows]);
  }
  tap_ok(right, "columns of ghosts get other numbers");
  amg_host_free(&top);
  amg_host_free(&host);
  amg_host_free(&after);
  t->kernels->release_matrix(t->context, &all);
  level_free(t->context, &below);
  free(place);
}

static void test_values(struct amg_test *t, karst_index count)
{
  const struct karst_backend *backend = t->context->backend;
  double *host = random_on_host((int64_t)count + 1), *got = tap_memory((int64_t)count + 1, sizeof *got), *x, *y,
         *stored;
  karst_index *index = tap_memory((int64_t)count + 1, sizeof *index), *placed;
  bool converted = true, added = true;
  for (karst_index k = 0; k < count; k++) index[k] = 2 * (count - k - 1);
  tap_need(t->context, karst_device_indices(t->context, count, index, "indices", &placed), "indices");
  tap_need(t->context, karst_device_doubles(t->context, count, "x", &x), "x");
  tap_need(t->context, karst_device_doubles(t->context, count, "stored", &stored), "stored");
  tap_need(t->context, karst_device_doubles(t->context, 2 * (int64_t)count, "y", &y), "y");
  tap_need(t->context, backend->upload(t->context, x, host, (size_t)count * sizeof *x), "x");
  backend->fill(t->context, 2 * (int64_t)count, 0.5, y);
  t->kernels->add(t->context, count, placed, x, y);
  t->kernels->narrow(t->context, &t->amg, count, x, stored);
  t->kernels->widen(t->context, &t->amg, count, stored, x);
  tap_need(t->context, backend->download(t->context, got, x, (size_t)count * sizeof *x), "x");
  for (karst_index k = 0; k < count; k++) {
    double sum[2];
    tap_need(t->context, backend->download(t->context, sum, y + index[k], sizeof sum), "y");
    converted = converted && got[k] == (t->amg.single ? (double)(float)host[k] : host[k]);
    added = added && sum[0] == 0.5 + host[k] && sum[1] == 0.5;
  }
  tap_ok(converted, "values are stored and read");
  tap_ok(added, "and added where they belong");
  backend->release(t->context, placed);
  backend->release(t->context, x);
  backend->release(t->context, y);
  backend->release(t->context, stored);
  free(host);
  free(got);
  free(index);
}

/* Row i of three depends on the own row 2 and on the ghosts in columns 3 and 4, as masks say. */
static void test_rescue(struct amg_test *t)
{
  const struct karst_backend *backend = t->context->backend;
  bool right = true;
  for (int mask = 0; mask < 128; mask++) {
    karst_index start[] = {0, 4, 4, 4, 4, 4}, column[] = {0, 2, 3, 4}, place[] = {-1, -1, -1, -1, -1}, ghost[2],
                *theirs;
    unsigned char strong[] = {0, 0, 0, 0};
    double value[] = {4, -1, -1, -1};
    for (int k = 0; k < 3; k++) strong[k + 1] = mask >> k & 1;
    for (int g = 0; g < 2; g++) place[3 + g] = mask >> (3 + g) & 1 ? 2 + g : -1; /* what this rank takes for C */
    for (int g = 0; g < 2; g++) ghost[g] = mask >> (5 + g) & 1 ? 7 + g : -1;     /* and what the others do */
    const bool on_coarse = (strong[2] && ghost[0] >= 0) || (strong[3] && ghost[1] >= 0);
    const bool on_wrong = (strong[2] && place[3] >= 0) || (strong[3] && place[4] >= 0);
    karst_amg_splitting splitting = {.coarse = 2};
    karst_amg_matrix A = {.rows = 5, .columns = 5, .entries = 4, .longest = 4};
    double *stored;
    karst_index *marks;
    tap_need(t->context, karst_device_indices(t->context, 6, start, "A", &A.row_start), "A");
    tap_need(t->context, karst_device_indices(t->context, 4, column, "A", &A.column), "A");
    tap_need(t->context, karst_device_doubles(t->context, 4, "A", &stored), "A");
    tap_need(t->context, backend->upload(t->context, stored, value, sizeof value), "A");
    tap_need(t->context, karst_device_indices(t->context, 5, place, "places", &splitting.place), "places");
    tap_need(t->context, karst_device_indices(t->context, 2, ghost, "ghosts", &theirs), "ghosts");
    tap_need(t->context, karst_device_indices(t->context, 1, &place[0], "strong", &marks), "strong");
    tap_need(t->context, backend->upload(t->context, marks, strong, sizeof strong), "strong");
    A.value = stored;
    splitting.strong = (unsigned char *)marks;
    t->kernels->rescue(t->context, &A, 3, theirs, &splitting);
    karst_index after[5];
    tap_need(t->context, backend->download(t->context, after, splitting.place, sizeof after), "places");
    right = right && after[0] == (on_wrong && !on_coarse ? -2 : -1);
    for (int i = 1; i < 5; i++) right = right && after[i] == place[i];
    backend->release(t->context, A.row_start);
    backend->release(t->context, A.column);
    backend->release(t->context, stored);
    backend->release(t->context, splitting.place);
    backend->release(t->context, theirs);
    backend->release(t->context, marks);
  }
  tap_ok(right, "rows are coarse that depend only on rows which other ranks do not take");
}

static void test_level(karst_context *context, karst_index rows, karst_index ghosts, double density, bool single)
{
  struct amg_test t = {
      .context = context, .kernels = context->backend->amg, .amg = {.single = single, .ghosts = ghosts}};
  struct level A = level_of(context, &t.amg, rows, ghosts, density);
  tap_note("%lld rows and %lld ghosts, %s", (long long)rows, (long long)ghosts, single ? "float" : "double");
  test_square(&t, &A);
  test_fetch(&t, &A);
  test_stack(&t, &A, ghosts, density);
  test_values(&t, ghosts);
  level_free(context, &A);
}

static void run(karst_context *context)
{
  static const karst_index sizes[][2] = {{40, 17}, {1, 1},   {1, 0},    {0, 5},    {0, 0},
                                         {5, 0},   {3, 200}, {300, 40}, {257, 600}};
  if (tap_lacks_kernels(context->backend->amg, "amg", "levels that ranks share")) return;
  struct amg_test t = {.context = context, .kernels = context->backend->amg};
  test_rescue(&t);
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
