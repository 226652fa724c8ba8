/* look.c - see look.h: looks at rows that are spread over all of a matrix. */
#include "solver/auto/look.h"

#include "lib/backend/backend.h"
#include "lib/base/search.h"
#include "lib/base/spread.h"
#include "lib/grid/grid.h"

#include <math.h>

enum { DIAGONALS = 16 };
enum { MOST_VALUES = 1 << 20 }; /* values that are looked at, plus one row: a dense row has millions */

static const char what[] = "the choice of methods";

/* Counts the entries that one step of elimination adds to block row i. mark[j]: 1 + the last row found to have column
 * j. */
static int64_t count_added(const karst_matrix *A, karst_index i, karst_index *mark)
{
  int64_t added = 0;
  for (karst_index k = A->row_start[i]; k < A->row_start[i + 1]; k++) mark[A->column[k]] = i + 1;
  for (karst_index k = A->row_start[i]; k < A->row_start[i + 1] && A->column[k] < i; k++) {
    const karst_index row = A->column[k];
    for (karst_index m = A->row_start[row + 1] - 1; m >= A->row_start[row] && A->column[m] > row; m--) {
      added += mark[A->column[m]] != i + 1;
      mark[A->column[m]] = i + 1;
    }
  }
  return added;
}

static karst_status estimate_growth(const karst_matrix *A, double *growth)
{
  karst_index *mark;
  int64_t entries = 0, added = 0;
  *growth = 1;
  karst_status status = karst_allocate_zero(A->context, &mark, A->block_rows, sizeof *mark, what);
  if (status) return status;
  for (karst_index n = 0; n < karst_sample_count(A->block_rows); n++) {
    const karst_index i = karst_sample_row(A->block_rows, n);
    entries += A->row_start[i + 1] - A->row_start[i];
    added += count_added(A, i, mark);
  }
  if (entries > 0) *growth = 1 + (double)added / (double)entries;
  karst_release(A->context, mark);
  return KARST_SUCCESS;
}

static bool is_regular(const karst_matrix *A)
{
  karst_index offset[DIAGONALS];
  int64_t entries = 0, found = 0;
  int known = 0;
  for (karst_index n = 0; n < karst_sample_count(A->block_rows); n++) {
    const karst_index i = karst_sample_row(A->block_rows, n);
    for (karst_index k = A->row_start[i]; k < A->row_start[i + 1]; k++, entries++) {
      int d = 0;
      while (d < known && offset[d] != A->column[k] - i) d++;
      found += d < known;
      if (d == known && known < DIAGONALS) offset[known++] = A->column[k] - i;
    }
  }
  return (double)found > 0.9 * (double)entries;
}

/* The values of some rows: of each entry and of its mirror image across the diagonal. */
struct sample {
  int rows;           /* rows whose values are looked at */
  karst_index *place; /* [2 entries] position of each value in the matrix */
  double *value;      /* [2 entries] */
};

static int64_t count_values(const karst_matrix *A, struct sample *sample)
{
  int64_t count = 0;
  for (sample->rows = 0; sample->rows < karst_sample_count(A->block_rows) && count < MOST_VALUES; sample->rows++) {
    const karst_index i = karst_sample_row(A->block_rows, sample->rows);
    count += 2 * (int64_t)(A->row_start[i + 1] - A->row_start[i]);
  }
  return count;
}

/* Finds the positions of those values. An entry without an image, which no plane has, is its own image. */
static void find_places(const karst_matrix *A, const struct sample *sample, karst_auto_look *look)
{
  karst_index *place = sample->place;
  for (int n = 0; n < sample->rows; n++) {
    const karst_index i = karst_sample_row(A->block_rows, n);
    for (karst_index k = A->row_start[i]; k < A->row_start[i + 1]; k++, place += 2) {
      const karst_index j = A->column[k];
      karst_index image = -1;
      if (look->plane) image = karst_find_column(A->column, A->row_start[j], A->row_start[j + 1], i);
      look->plane = look->plane && image >= 0;
      place[0] = k;
      place[1] = image >= 0 ? image : k;
    }
  }
}

/* Fetches the values. A GPU collects them first, because to download a whole matrix takes long. */
static karst_status fetch(const karst_matrix *A, int64_t count, const struct sample *sample)
{
  karst_context *context = A->context;
  karst_index *place = NULL;
  double *value = NULL;
  if (karst_context_is_host(context)) {
    context->backend->gather(context, (karst_index)count, 1, sample->place, A->value, sample->value);
    return KARST_SUCCESS;
  }
  karst_status status = karst_device_indices(context, count, sample->place, what, &place);
  if (!status) status = karst_device_doubles(context, count, what, &value);
  if (!status) {
    context->backend->gather(context, (karst_index)count, 1, place, A->value, value);
    status = context->backend->download(context, sample->value, value, (size_t)count * sizeof *value);
  }
  context->backend->release(context, place);
  context->backend->release(context, value);
  return status;
}

/* Counts over the rows. */
struct tally {
  int rough, dominated;
  double least, largest; /* absolute values of diagonal entries */
};

/* Looks at block row i; value: those of its entries and their images. */
static void look_at_row(const karst_matrix *A, const double *value, karst_index i, karst_auto_look *look,
                        struct tally *tally)
{
  double diagonal = 0, sum = 0, least = INFINITY, largest = 0;
  for (karst_index k = A->row_start[i]; k < A->row_start[i + 1]; k++, value += 2) {
    look->plane = look->plane && fabs(value[1] - value[0]) <= 1e-10 * fabs(value[0]);
    if (A->column[k] == i) {
      diagonal = value[0];
    } else if (value[0] != 0) {
      look->diffusion = look->diffusion && value[0] < 0;
      sum += fabs(value[0]);
      least = fmin(least, fabs(value[0]));
      largest = fmax(largest, fabs(value[0]));
    }
  }
  look->diffusion = look->diffusion && sum <= diagonal * (1 + 1e-8);
  look->gaps = look->gaps || diagonal == 0;
  tally->dominated += sum <= 1.1 * fabs(diagonal);
  tally->rough += largest > 20 * least;
  tally->least = fmin(tally->least, fabs(diagonal));
  tally->largest = fmax(tally->largest, fabs(diagonal));
}

static void look_at_values(const karst_matrix *A, const struct sample *sample, karst_auto_look *look)
{
  const double *value = sample->value;
  struct tally tally = {0, 0, INFINITY, 0};
  look->diffusion = true;
  for (int n = 0; n < sample->rows; n++) {
    const karst_index i = karst_sample_row(A->block_rows, n);
    look_at_row(A, value, i, look, &tally);
    value += 2 * (int64_t)(A->row_start[i + 1] - A->row_start[i]);
  }
  look->uneven = tally.largest > 1000 * tally.least;
  look->rough = tally.rough > sample->rows / 2;
  look->dominated = 10 * tally.dominated >= 9 * sample->rows;
}

/* Looks for a grid. A plane counts only if its first node couples to those beside and above it; else the rows may be
 * those of a boundary, which show nothing. */
static void look_at_grid(const karst_matrix *A, karst_auto_look *look)
{
  karst_grid grid;
  karst_stencil stencil;
  if (!karst_grid_guess(A, &grid, &stencil)) return;
  const karst_index *size = grid.size;
  if (stencil == KARST_STENCIL_FACES) look->box = (size[0] > 1) + (size[1] > 1) + (size[2] > 1);
  look->plane =
      A->block_size == 1 && A->block_rows >= 4 && A->row_start[1] >= 3 && size[0] > 1 && size[1] > 1 && size[2] == 1;
}

karst_status karst_auto_look_at(const karst_matrix *A, karst_auto_look *look)
{
  struct sample sample = {.rows = 0};
  *look = (karst_auto_look){.regular = is_regular(A)};
  look_at_grid(A, look);
  karst_status status = estimate_growth(A, &look->growth);
  if (status || A->block_size != 1 || karst_matrix_blocks(A) == 0) return status;
  const int64_t count = count_values(A, &sample);
  status = karst_allocate(A->context, &sample.place, count, sizeof *sample.place, what);
  if (!status) status = karst_allocate(A->context, &sample.value, count, sizeof *sample.value, what);
  if (!status) {
    find_places(A, &sample, look);
    status = fetch(A, count, &sample);
  }
  if (!status) look_at_values(A, &sample, look);
  karst_release(A->context, sample.place);
  karst_release(A->context, sample.value);
  return status;
}
