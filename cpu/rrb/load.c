/* load.c - reads rows of nodes of a matrix, and checks that couplings equal their mirror images.
 *
 * A line has the nodes 0, 2, ... of a row apart from the nodes 1, 3, ..., so that all loops over them have unit stride.
 * The pattern has been inspected: a row of the matrix with as many entries as the stencil has points has them in the
 * stencil's order, and its columns need not be read. */
#include "cpu/rrb/rrb_cpu.h"

#include "lib/base/search.h"

#include <float.h>
#include <math.h>

static const double rounding = 1e-10; /* as in lib/matrix/matrix_symmetry.c */

/* The slots of a stencil of 5 and of 9 points in the order of their columns. */
static const int order5[5] = {KARST_RRB_SOUTH, KARST_RRB_WEST, KARST_RRB_CENTRE, KARST_RRB_EAST, KARST_RRB_NORTH};
static const int order9[9] = {KARST_RRB_SOUTH_WEST, KARST_RRB_SOUTH,  KARST_RRB_SOUTH_EAST,
                              KARST_RRB_WEST,       KARST_RRB_CENTRE, KARST_RRB_EAST,
                              KARST_RRB_NORTH_WEST, KARST_RRB_NORTH,  KARST_RRB_NORTH_EAST};

/* Reads a row of the matrix, that of node (i, j), entry by entry. at: the place of the node's centre in its line. */
static void read_any(const karst_matrix *A, const karst_rrb *rrb, karst_index row, karst_index i, karst_index j,
                     double *at, int64_t step)
{
  const int *order = rrb->nine_point ? order9 : order5;
  const int points = rrb->nine_point ? 9 : 5;
  for (int p = 0; p < points; p++) at[order[p] * step] = 0;
  if (row < 0) return;
  const karst_index nx = rrb->size[0], first = j * nx;
  for (karst_index k = A->row_start[row]; k < A->row_start[row + 1]; k++) {
    const karst_index other = rrb->cell ? rrb->cell[A->column[k]] : A->column[k];
    const int dj = other < first ? -1 : other - first >= nx ? 1 : 0;
    const int di = (int)(other - (first + dj * nx) - i);
    at[order9[3 * (dj + 1) + di + 1] * step] = A->value[k];
  }
}

/* Reads row j, with a constant number of points. */
KARST_INLINE void read_line(const karst_matrix *A, const karst_rrb *rrb, karst_index j, double *line, const int *order,
                            int points)
{
  const karst_rrb_cpu *plan = rrb->plan;
  const karst_index *start = A->row_start;
  const double *value = A->value;
  const int64_t pitch = rrb->shape[0].pitch, step = 2 * pitch;
  const karst_index nx = rrb->size[0];
  for (karst_index i = 0; i < nx; i++) {
    const karst_index node = j * nx + i, row = plan->row ? plan->row[node] : node;
    double *at = line + (i % 2) * pitch + i / 2;
    if (plan->row || start[row + 1] - start[row] != points) {
      read_any(A, rrb, row, i, j, at, step);
      continue;
    }
    const double *from = value + start[row];
    for (int p = 0; p < points; p++) at[order[p] * step] = from[p];
  }
}

void karst_rrb_line_read(const karst_matrix *A, const karst_rrb *rrb, karst_index j, double *line)
{
  if (rrb->nine_point)
    read_line(A, rrb, j, line, order9, 9);
  else
    read_line(A, rrb, j, line, order5, 5);
}

/* Counts the pairs of unequal numbers; a NaN is unequal to any. */
KARST_KERNEL static int64_t karst_rrb_count_unequal(int64_t n, const double *a, const double *b)
{
  int64_t unequal = 0;
  for (int64_t i = 0; i < n; i++) unequal += a[i] != b[i];
  return unequal;
}

/* A coupling of the nodes of a row, and its mirror image in the same row or in the row below. */
struct pair {
  int slot, image;
  int apart; /* along the row, -1 to 1 */
  bool below;
};

static const struct pair pairs[] = {
    {KARST_RRB_WEST, KARST_RRB_EAST, -1, false},
    {KARST_RRB_SOUTH, KARST_RRB_NORTH, 0, true},
    {KARST_RRB_SOUTH_WEST, KARST_RRB_NORTH_EAST, -1, true},
    {KARST_RRB_SOUTH_EAST, KARST_RRB_NORTH_WEST, 1, true},
};

static bool is_equal(const karst_rrb *rrb, const struct pair *pair, double *line, double *other)
{
  const int64_t n = rrb->shape[0].coarse[0];
  const int cross = pair->apart != 0;
  const double *even = karst_rrb_line_part(rrb, line, pair->slot, 0);
  const double *odd = karst_rrb_line_part(rrb, line, pair->slot, 1);
  const double *even_image = karst_rrb_line_part(rrb, other, pair->image, cross);
  const double *odd_image = karst_rrb_line_part(rrb, other, pair->image, 1 - cross);
  /* The node west of 2I is 2(I - 1) + 1, so that place 0 has no image; the node east of 2I + 1 is 2(I + 1). */
  return karst_rrb_count_unequal(n, even + (pair->apart < 0), even_image) == 0 &&
         karst_rrb_count_unequal(n, odd, odd_image + (pair->apart > 0)) == 0;
}

static double at(const karst_rrb *rrb, double *line, int slot, karst_index i)
{
  return karst_rrb_line_part(rrb, line, slot, (int)(i % 2))[i / 2];
}

static karst_index row_of(const karst_rrb *rrb, karst_index i, karst_index j)
{
  const karst_rrb_cpu *plan = rrb->plan;
  const karst_index node = j * rrb->size[0] + i;
  return plan->row ? plan->row[node] : node;
}

/* The first of two block rows that has an entry in the column of the other one. */
static karst_index first_with_entry(const karst_matrix *A, karst_index a, karst_index b)
{
  const karst_index low = a < b ? a : b, high = a < b ? b : a;
  return karst_find_column(A->column, A->row_start[low], A->row_start[low + 1], high) >= 0 ? low : high;
}

static karst_index find_unequal(const karst_matrix *A, const karst_rrb *rrb, const struct pair *pair, karst_index j,
                                double *line, double *other, karst_index found)
{
  const karst_index nx = rrb->size[0];
  for (karst_index i = 0; i < nx; i++) {
    const karst_index beside = i + pair->apart;
    if (beside < 0 || beside >= nx) continue;
    const double a = at(rrb, line, pair->slot, i), b = at(rrb, other, pair->image, beside);
    const double size =
        sqrt(fabs(at(rrb, line, KARST_RRB_CENTRE, i))) * sqrt(fabs(at(rrb, other, KARST_RRB_CENTRE, beside)));
    if (!(fabs(a - b) > rounding * fmax(size, fmax(fabs(a), fabs(b))))) continue;
    const karst_index row = first_with_entry(A, row_of(rrb, i, j), row_of(rrb, beside, j - pair->below));
    if (found < 0 || row < found) found = row;
  }
  return found;
}

karst_index karst_rrb_line_check(const karst_matrix *A, const karst_rrb *rrb, karst_index j, double *line,
                                 double *below, karst_index found)
{
  const int count = rrb->nine_point ? 4 : 2;
  for (int p = 0; p < count; p++) {
    double *other = pairs[p].below ? below : line;
    if (other && !is_equal(rrb, &pairs[p], line, other)) found = find_unequal(A, rrb, &pairs[p], j, line, other, found);
  }
  return found;
}

KARST_KERNEL static int64_t karst_rrb_count_not_finite(int64_t n, const double *a)
{
  int64_t count = 0;
  for (int64_t i = 0; i < n; i++) count += !(fabs(a[i]) <= DBL_MAX);
  return count;
}

/* Whether all entries of row j are finite. The parts of one line follow one another. */
static bool is_finite(const karst_rrb *rrb, double *line)
{
  const int64_t part = 2 * rrb->shape[0].pitch;
  if (rrb->nine_point) return karst_rrb_count_not_finite(KARST_RRB_SLOTS * part, line) == 0;
  return karst_rrb_count_not_finite((KARST_RRB_NORTH + 1) * part, line) == 0 &&
         karst_rrb_count_not_finite(2 * part, karst_rrb_line_part(rrb, line, KARST_RRB_WEST, 0)) == 0;
}

karst_index karst_rrb_line_not_finite(const karst_rrb *rrb, karst_index j, double *line)
{
  if (is_finite(rrb, line)) return -1;
  const int *order = rrb->nine_point ? order9 : order5;
  const int points = rrb->nine_point ? 9 : 5;
  for (karst_index i = 0; i < rrb->size[0]; i++)
    for (int p = 0; p < points; p++)
      if (!isfinite(at(rrb, line, order[p], i))) return j * rrb->size[0] + i;
  return -1;
}
