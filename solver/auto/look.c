/* look.c - see look.h: looks at rows that are spread over all of a matrix. */
#include "solver/auto/look.h"

#include "lib/backend/backend.h"
#include "lib/backend/cpr_weights.h"
#include "lib/base/search.h"
#include "lib/base/spread.h"
#include "lib/grid/grid.h"

#include <math.h>

enum { MOST_VALUES = 3 << 19 }; /* values that are looked at, plus one row: a dense row has millions */
enum { AXES = 3 };              /* of a grid */
enum { UNKNOWNS = 16 };         /* of a block, whose couplings are looked at */

/* The least mean coupling of an elliptic equation of one unknown, and of pressures in blocks, which short time steps
 * weaken; and the most that another unknown may have of it. In sequences of simulators pressures have 0.15 to 0.95, and
 * others at most 0.07 of that. */
static const double least_alone = 0.3, least_in_blocks = 0.05, most_beside = 0.25;

/* How many times as strong as along the other axes the couplings of a row along the axis of a directed matrix are. On a
 * GPU lines take less time than fgbilu from about 5 times on. */
static const double directed = 8;

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

/* The blocks of some rows: of each entry, of its mirror image across the diagonal, and of the diagonal of its column. */
enum { OWN, MIRROR, OTHER, PLACES };

struct sample {
  int rows;           /* rows whose values are looked at */
  karst_grid grid;    /* that of the box; size[0] is 0 without one */
  karst_index *place; /* [PLACES entries] number of each block in the matrix */
  double *value;      /* [PLACES entries * b*b] */
};

static int64_t count_places(const karst_matrix *A, struct sample *sample)
{
  const int64_t most = MOST_VALUES / ((int64_t)A->block_size * A->block_size);
  int64_t count = 0;
  for (sample->rows = 0; sample->rows < karst_sample_count(A->block_rows) && count <= most; sample->rows++) {
    const karst_index i = karst_sample_row(A->block_rows, sample->rows);
    count += PLACES * (int64_t)(A->row_start[i + 1] - A->row_start[i]);
  }
  return count;
}

/* Finds the numbers of those blocks. An entry without an image, which no plane has, is its own image, and so is one
 * without a diagonal. */
static void find_places(const karst_matrix *A, const struct sample *sample, karst_auto_look *look)
{
  karst_index *place = sample->place;
  for (int n = 0; n < sample->rows; n++) {
    const karst_index i = karst_sample_row(A->block_rows, n);
    for (karst_index k = A->row_start[i]; k < A->row_start[i + 1]; k++, place += PLACES) {
      const karst_index j = A->column[k];
      const karst_index image = karst_find_column(A->column, A->row_start[j], A->row_start[j + 1], i);
      const karst_index other = karst_find_column(A->column, A->row_start[j], A->row_start[j + 1], j);
      look->plane = look->plane && image >= 0;
      place[OWN] = k;
      place[MIRROR] = image >= 0 ? image : k;
      place[OTHER] = other >= 0 ? other : k;
    }
  }
}

/* Fetches the values. A GPU collects them first, because to download a whole matrix takes long. */
static karst_status fetch(const karst_matrix *A, int64_t count, const struct sample *sample)
{
  karst_context *context = A->context;
  const int size = A->block_size * A->block_size;
  karst_index *place = NULL;
  double *value = NULL;
  if (karst_context_is_host(context)) {
    context->backend->gather(context, (karst_index)count, size, sample->place, A->value, sample->value);
    return KARST_SUCCESS;
  }
  karst_status status = karst_device_indices(context, count, sample->place, what, &place);
  if (!status) status = karst_device_doubles(context, count * size, what, &value);
  if (!status) {
    context->backend->gather(context, (karst_index)count, size, place, A->value, value);
    status = context->backend->download(context, sample->value, value, (size_t)(count * size) * sizeof *value);
  }
  context->backend->release(context, place);
  context->backend->release(context, value);
  return status;
}

/* Counts over the rows. */
struct tally {
  int rough, dominated, along[AXES];
  double least, largest; /* absolute values of diagonal entries */
};

/* Counts row i for the axis that it couples along far more strongly than along the others, if there is one. */
static void look_along(const karst_matrix *A, const karst_grid *grid, const double *value, karst_index i,
                       int along[AXES])
{
  double strongest[AXES] = {0};
  const karst_index here = grid->cell ? grid->cell[i] : i;
  for (karst_index k = A->row_start[i]; k < A->row_start[i + 1]; k++, value += PLACES) {
    const karst_index there = grid->cell ? grid->cell[A->column[k]] : A->column[k];
    const karst_index distance = there > here ? there - here : here - there;
    if (distance == 0) continue;
    const int axis = distance == 1 ? 0 : distance == grid->size[0] ? 1 : 2;
    strongest[axis] = fmax(strongest[axis], fabs(value[OWN]));
  }
  for (int axis = 0; axis < AXES; axis++) {
    const double others = fmax(strongest[(axis + 1) % AXES], strongest[(axis + 2) % AXES]);
    along[axis] += strongest[axis] > 0 && strongest[axis] >= directed * others;
  }
}

/* Looks at block row i; value: those of its entries and their images. */
static void look_at_row(const karst_matrix *A, const double *value, karst_index i, karst_auto_look *look,
                        struct tally *tally)
{
  double diagonal = 0, sum = 0, least = INFINITY, largest = 0;
  for (karst_index k = A->row_start[i]; k < A->row_start[i + 1]; k++, value += PLACES) {
    look->plane = look->plane && fabs(value[MIRROR] - value[OWN]) <= 1e-10 * fabs(value[OWN]);
    if (A->column[k] == i) {
      diagonal = value[OWN];
    } else if (value[OWN] != 0) {
      look->diffusion = look->diffusion && value[OWN] < 0;
      sum += fabs(value[OWN]);
      least = fmin(least, fabs(value[OWN]));
      largest = fmax(largest, fabs(value[OWN]));
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
  struct tally tally = {.least = INFINITY};
  look->diffusion = true;
  for (int n = 0; n < sample->rows; n++) {
    const karst_index i = karst_sample_row(A->block_rows, n);
    look_at_row(A, value, i, look, &tally);
    if (look->box == AXES) look_along(A, &sample->grid, value, i, tally.along);
    value += PLACES * (int64_t)(A->row_start[i + 1] - A->row_start[i]);
  }
  look->uneven = tally.largest > 1000 * tally.least;
  look->rough = tally.rough > sample->rows / 2;
  look->dominated = 10 * tally.dominated >= 9 * sample->rows;
  for (int axis = 0; axis < AXES && look->box == AXES; axis++)
    look->directed = look->directed || 10 * tally.along[axis] >= 9 * sample->rows;
}

/* Work space for the inverses of two diagonal blocks. */
struct inverses {
  double *here, *there, *work; /* [b*b], [b*b], [2 b] */
  int *pivot;                  /* [b] */
};

/* Row q of inverse times column q of block: in an equation that quasi-IMPES weights make, the entry of unknown q over
 * that of the diagonal. */
static double weigh(int b, int q, const double *inverse, const double *block)
{
  double sum = 0;
  for (int r = 0; r < b; r++) sum += inverse[r * b + q] * block[q * b + r];
  return sum;
}

/* Adds sum_j sqrt(a_ij a_ji / (a_ii a_jj)) of block row i for each unknown, a_ij = w_i^T A_ij e_q. It is near 1 for an
 * elliptic equation and near 0 for transport, whose couplings go one way, and does not depend on scales. */
static void couple(const karst_matrix *A, const karst_index *place, const double *value, karst_index i,
                   const struct inverses *inverses, double coupling[UNKNOWNS])
{
  const int b = A->block_size, unknowns = b < UNKNOWNS ? b : UNKNOWNS;
  const int64_t size = (int64_t)b * b;
  const karst_index entries = A->row_start[i + 1] - A->row_start[i];
  double *work = inverses->work;
  const double *diagonal = NULL;
  for (karst_index k = 0; k < entries; k++)
    if (A->column[A->row_start[i] + k] == i) diagonal = value + PLACES * size * k;
  if (!diagonal || karst_block_inverse(b, diagonal, diagonal, inverses->here, work, inverses->pivot) != KARST_SOUND)
    return;
  for (karst_index k = 0; k < entries; k++) {
    const double *own = value + PLACES * size * k, *mirror = own + MIRROR * size, *other = own + OTHER * size;
    const bool alone = place[PLACES * k + MIRROR] == place[PLACES * k + OWN];
    if (own == diagonal || alone) continue;
    if (karst_block_inverse(b, other, other, inverses->there, work, inverses->pivot) != KARST_SOUND) continue;
    for (int q = 0; q < unknowns; q++)
      coupling[q] += karst_cpr_coupling(1, weigh(b, q, inverses->here, own), weigh(b, q, inverses->there, mirror), 1);
  }
}

/* Finds the unknown of an elliptic equation. */
static karst_status look_at_couplings(const karst_matrix *A, const struct sample *sample, karst_auto_look *look)
{
  const int b = A->block_size, unknowns = b < UNKNOWNS ? b : UNKNOWNS;
  const int64_t size = (int64_t)b * b;
  const karst_index *place = sample->place;
  const double *value = sample->value;
  double coupling[UNKNOWNS] = {0}, next = 0;
  struct inverses inverses = {.pivot = NULL};
  int best = 0;
  karst_status status = karst_allocate(A->context, &inverses.here, 2 * size + 2 * b, sizeof *inverses.here, what);
  if (!status) status = karst_allocate(A->context, &inverses.pivot, b, sizeof *inverses.pivot, what);
  inverses.there = inverses.here + size;
  inverses.work = inverses.there + size;
  for (int n = 0; n < sample->rows && !status; n++) {
    const karst_index i = karst_sample_row(A->block_rows, n);
    const karst_index places = PLACES * (A->row_start[i + 1] - A->row_start[i]);
    couple(A, place, value, i, &inverses, coupling);
    place += places;
    value += places * size;
  }
  for (int q = 1; q < unknowns; q++)
    if (coupling[q] > coupling[best]) best = q;
  for (int q = 0; q < unknowns; q++)
    if (q != best) next = fmax(next, coupling[q]);
  if (coupling[best] >= (b == 1 ? least_alone : least_in_blocks) * sample->rows && next <= most_beside * coupling[best])
    look->elliptic = best;
  karst_release(A->context, inverses.pivot);
  karst_release(A->context, inverses.here);
  return status;
}

/* Looks for a grid. A plane counts only if its first node couples to those beside and above it; else the rows may be
 * those of a boundary, which show nothing. */
static void look_at_grid(const karst_matrix *A, karst_auto_look *look, karst_grid *grid)
{
  karst_stencil stencil;
  if (!karst_grid_guess(A, grid, &stencil)) return;
  const karst_index *size = grid->size;
  if (stencil == KARST_STENCIL_FACES) look->box = (size[0] > 1) + (size[1] > 1) + (size[2] > 1);
  look->plane =
      A->block_size == 1 && A->block_rows >= 4 && A->row_start[1] >= 3 && size[0] > 1 && size[1] > 1 && size[2] == 1;
}

karst_status karst_auto_look_at(const karst_matrix *A, karst_auto_look *look)
{
  struct sample sample = {.rows = 0};
  *look = (karst_auto_look){.elliptic = -1};
  look_at_grid(A, look, &sample.grid);
  karst_status status = estimate_growth(A, &look->growth);
  if (status || karst_matrix_blocks(A) == 0) return status;
  const int64_t count = count_places(A, &sample), values = count * A->block_size * A->block_size;
  status = karst_allocate(A->context, &sample.place, count, sizeof *sample.place, what);
  if (!status) status = karst_allocate(A->context, &sample.value, values, sizeof *sample.value, what);
  if (!status) {
    find_places(A, &sample, look);
    status = fetch(A, count, &sample);
  }
  if (!status && A->block_size == 1) look_at_values(A, &sample, look);
  if (!status) status = look_at_couplings(A, &sample, look);
  karst_release(A->context, sample.place);
  karst_release(A->context, sample.value);
  return status;
}
