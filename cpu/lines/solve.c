/* solve.c - z = T^-1 r with the factors of lines, in two passes over each line, and the residual between two colours:
 *
 *     y_k = P_k r_k - Q_k y_{k-1},   z_k = y_k - W_k z_{k+1}
 */
#include "cpu/lines/lines_cpu.h"

#include "lib/backend/dense.h"

/* The arguments of a solve. z may be r. */
struct pass {
  const karst_lines *lines;
  const double *P, *Q, *W, *r;
  double *z;
  double *y; /* [longest][width][b] of this thread: y, then x, of the slice's steps */
};

/* The step ahead whose elements of a vector are prefetched. Along y and z those of a line are far apart, so that the
 * processor does not find the next ones by itself. */
enum { STEPS_AHEAD = 6 };

/* Whether the block rows of the lanes follow one another, as those of lines along y and z in the order of a grid do.
 * Then no lane is gathered by itself. */
KARST_INLINE bool are_side_by_side(const karst_index *row, int lanes)
{
  karst_index differ = 0;
#pragma omp simd reduction(| : differ)
  for (int l = 0; l < lanes; l++) differ |= row[l] ^ (row[0] + l);
  return differ == 0;
}

/* The forward pass over the active lanes of a step for b = 1. before: y of the step before. */
KARST_INLINE void step_scalars(const struct pass *pass, int64_t at, int lanes, const double *restrict before,
                               double *restrict y)
{
  const karst_index *row = pass->lines->device.row + at;
  const double *P = pass->P + at, *Q = pass->Q + at, *r = pass->r;
  if (are_side_by_side(row, lanes)) {
    const double *from = r + row[0];
#pragma omp simd
    for (int l = 0; l < lanes; l++) y[l] = P[l] * from[l] - Q[l] * before[l];
  } else {
    for (int l = 0; l < lanes; l++) y[l] = P[l] * r[row[l]] - Q[l] * before[l];
  }
}

/* The backward pass. behind: the results of the step behind; x: y of this step, and then its results. */
KARST_INLINE void step_scalars_back(const struct pass *pass, int64_t at, int lanes, const double *restrict behind,
                                    double *restrict x)
{
  const karst_index *row = pass->lines->device.row + at;
  const double *W = pass->W + at;
#pragma omp simd
  for (int l = 0; l < lanes; l++) x[l] -= W[l] * behind[l];
  if (are_side_by_side(row, lanes)) {
    double *to = pass->z + row[0];
#pragma omp simd
    for (int l = 0; l < lanes; l++) to[l] = x[l];
  } else {
    for (int l = 0; l < lanes; l++) pass->z[row[l]] = x[l];
  }
}

/* The same for blocks; before, behind, y, x: [lanes][b]. */
KARST_INLINE void step_blocks(int b, const struct pass *pass, int64_t at, int lanes, const double *restrict before,
                              double *restrict y)
{
  const int64_t bb = (int64_t)b * b;
  for (int l = 0; l < lanes; l++) {
    double sum[b];
    for (int c = 0; c < b; c++) sum[c] = 0;
    karst_block_add_product(b, pass->P + (at + l) * bb, pass->r + pass->lines->device.row[at + l] * (int64_t)b, sum);
    karst_block_subtract_product(b, pass->Q + (at + l) * bb, before + l * b, sum);
    for (int c = 0; c < b; c++) y[l * b + c] = sum[c];
  }
}

KARST_INLINE void step_blocks_back(int b, const struct pass *pass, int64_t at, int lanes, const double *restrict behind,
                                   double *restrict x)
{
  const int64_t bb = (int64_t)b * b;
  for (int l = 0; l < lanes; l++) {
    double *z = pass->z + pass->lines->device.row[at + l] * (int64_t)b, sum[b];
    for (int c = 0; c < b; c++) sum[c] = x[l * b + c];
    karst_block_subtract_product(b, pass->W + (at + l) * bb, behind + l * b, sum);
    for (int c = 0; c < b; c++) z[c] = x[l * b + c] = sum[c];
  }
}

/* Prefetches the elements of the first lane's row in a slot and those that follow, as many as the lanes have. */
KARST_INLINE void prefetch(int b, const karst_lines *lines, int64_t at, const double *vector)
{
  const karst_index row = lines->device.row[at];
  if (row >= 0) karst_prefetch(vector + (int64_t)row * b, lines->width * b * (int64_t)sizeof *vector, 0);
}

/* Prefetches blocks of a step that is some steps ahead: backwards the processor does not find them by itself. */
KARST_INLINE void prefetch_blocks(int b, const karst_lines *lines, int64_t at, const double *factor, int direction)
{
  const int64_t entries = (int64_t)b * b, bytes = lines->width * entries * (int64_t)sizeof *factor;
  if (b > 1 && b <= KARST_BLOCK_SIZE_LARGEST_INSTANCE)
    karst_prefetch(factor + at * entries, bytes, direction * (bytes + KARST_PREFETCH_VALUES));
}

/* Solves the lines of a slice, whose steps are first .. last - 1. y is 0 where lines have ended, because their last
 * W, a 0, multiplies it. */
KARST_INLINE void solve_slice(int b, const struct pass *pass, karst_index first, karst_index last)
{
  const karst_lines *lines = pass->lines;
  const int width = lines->width, scalars = width * b;
  double none[KARST_LINES_WIDEST * b], *y = pass->y;
  const double *beside = none;
  for (int v = 0; v < scalars; v++) none[v] = 0;
  for (karst_index k = first; k < last; k++, beside = y, y += scalars) {
    const int64_t at = (int64_t)k * width;
    const int lanes = karst_lines_active(lines->device.row + at, width);
    for (int v = lanes * b; v < scalars; v++) y[v] = 0;
    prefetch_blocks(b, lines, at, pass->P, 1);
    prefetch_blocks(b, lines, at, pass->Q, 1);
    if (last - k > STEPS_AHEAD) prefetch(b, lines, at + (int64_t)STEPS_AHEAD * width, pass->r);
    if (b > 1)
      step_blocks(b, pass, at, lanes, beside, y);
    else if (lanes == KARST_LINES_WIDEST)
      step_scalars(pass, at, KARST_LINES_WIDEST, beside, y);
    else
      step_scalars(pass, at, lanes, beside, y);
  }
  beside = none;
  for (karst_index k = last; k-- > first;) {
    const int64_t at = (int64_t)k * width;
    const int lanes = karst_lines_active(lines->device.row + at, width);
    y -= scalars;
    prefetch_blocks(b, lines, at, pass->W, -1);
    if (k - first >= STEPS_AHEAD) prefetch(b, lines, at - (int64_t)STEPS_AHEAD * width, pass->z);
    if (b > 1)
      step_blocks_back(b, pass, at, lanes, beside, y);
    else if (lanes == KARST_LINES_WIDEST)
      step_scalars_back(pass, at, KARST_LINES_WIDEST, beside, y);
    else
      step_scalars_back(pass, at, lanes, beside, y);
    beside = y;
  }
}

/* Subtracts from r the couplings of the block rows of colour 1 with those of colour 0. */
KARST_INLINE void subtract_rows(int b, const karst_matrix *A, const unsigned char *colour, const double *r, double *z,
                                karst_index first, karst_index last)
{
  const int64_t bb = (int64_t)b * b;
  for (karst_index i = first; i < last; i++) {
    double sum[b];
    if (colour[i] == 0) continue;
    for (int c = 0; c < b; c++) sum[c] = r[(int64_t)i * b + c];
    for (karst_index k = A->row_start[i]; k < A->row_start[i + 1]; k++) {
      const karst_index j = A->column[k];
      if (colour[j] == 0) karst_block_subtract_product(b, A->value + k * bb, z + (int64_t)j * b, sum);
    }
    for (int c = 0; c < b; c++) z[(int64_t)i * b + c] = sum[c];
  }
}

typedef void solve_function(const struct pass *pass, karst_index first, karst_index last);
typedef void subtract_function(const karst_matrix *A, const unsigned char *colour, const double *r, double *z,
                               karst_index first, karst_index last);

#define INSTANCE(SUFFIX, B_OF_LINES, B_OF_MATRIX)                                                                      \
  KARST_KERNEL static void lines_solve_##SUFFIX(const struct pass *pass, karst_index first, karst_index last)          \
  {                                                                                                                    \
    solve_slice(B_OF_LINES, pass, first, last);                                                                        \
  }                                                                                                                    \
  KARST_KERNEL static void lines_subtract_##SUFFIX(const karst_matrix *A, const unsigned char *colour,                 \
                                                   const double *r, double *z, karst_index first, karst_index last)    \
  {                                                                                                                    \
    subtract_rows(B_OF_MATRIX, A, colour, r, z, first, last);                                                          \
  }
#define INSTANCE_OF(B) INSTANCE(B, B, B)
KARST_BLOCK_SIZES(INSTANCE_OF)
INSTANCE(any, pass->lines->block_size, A->block_size)
#undef INSTANCE_OF
#undef INSTANCE

static int instance_of(int b) { return b <= KARST_BLOCK_SIZE_LARGEST_INSTANCE ? b : 0; }

void karst_lines_solve_cpu(karst_context *context, const karst_lines_factors *factors, int colour, const double *r,
                           double *z)
{
#define ENTRY(B) [B] = lines_solve_##B,
  static solve_function *const instance[] = {lines_solve_any, KARST_BLOCK_SIZES(ENTRY)};
#undef ENTRY
  const karst_lines *lines = factors->lines;
  const karst_index *step = lines->device.step, first = lines->first_slice[colour],
                    last = lines->first_slice[colour + 1];
  const karst_lines_cpu *own = factors->plan;
  const int b = lines->block_size;
  const int64_t slots = (int64_t)(step[last] - step[first]) * lines->width;
  solve_function *solve = instance[instance_of(b)];
  karst_piece piece = karst_begin_at_most(context, KARST_KIND_PRODUCT, 3 * karst_block_offset(b, slots), own->threads);
#pragma omp parallel num_threads(piece.threads)
  {
    const int t = karst_thread(), team = karst_team();
    const karst_index end = karst_lines_share(lines, first, last, t + 1, team);
    struct pass pass = {.lines = lines, .P = factors->P, .Q = factors->Q, .W = factors->W, .r = r};
    pass.z = z;
    pass.y = own->y + t * karst_lines_chain(lines);
    for (karst_index s = karst_lines_share(lines, first, last, t, team); s < end; s++)
      solve(&pass, step[s], step[s + 1]);
  }
  karst_end(context, &piece);
}

void karst_lines_residual_cpu(karst_context *context, const karst_matrix *A, const karst_lines_factors *factors,
                              const double *r, double *z)
{
#define ENTRY(B) [B] = lines_subtract_##B,
  static subtract_function *const instance[] = {lines_subtract_any, KARST_BLOCK_SIZES(ENTRY)};
#undef ENTRY
  subtract_function *subtract = instance[instance_of(A->block_size)];
  karst_piece piece = karst_begin(context, KARST_KIND_PRODUCT, karst_entries(A));
#pragma omp parallel num_threads(piece.threads)
  {
    const karst_part part = karst_part_rows(&piece, A->block_rows, A->row_start);
    subtract(A, factors->lines->device.colour, r, z, part.first, part.last);
    karst_part_end(&piece, &part);
  }
  karst_end(context, &piece);
}
