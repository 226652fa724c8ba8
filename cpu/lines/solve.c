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
};

/* The forward pass over the active lanes of a step for b = 1; y: [lanes]. */
KARST_INLINE void step_scalars(const struct pass *pass, int64_t at, int lanes, double *y)
{
  const karst_index *row = pass->lines->device.row + at;
  const double *P = pass->P + at, *Q = pass->Q + at, *r = pass->r;
#pragma omp simd
  for (int l = 0; l < lanes; l++) y[l] = P[l] * r[row[l]] - Q[l] * y[l];
  for (int l = 0; l < lanes; l++) pass->z[row[l]] = y[l];
}

/* The backward pass; x: [lanes], the results of the step behind. */
KARST_INLINE void step_scalars_back(const struct pass *pass, int64_t at, int lanes, double *x)
{
  const karst_index *row = pass->lines->device.row + at;
  const double *W = pass->W + at, *z = pass->z;
#pragma omp simd
  for (int l = 0; l < lanes; l++) x[l] = z[row[l]] - W[l] * x[l];
  for (int l = 0; l < lanes; l++) pass->z[row[l]] = x[l];
}

/* The same for blocks; y, x: [lanes][b]. */
KARST_INLINE void step_blocks(int b, const struct pass *pass, int64_t at, int lanes, double *y)
{
  const int64_t bb = (int64_t)b * b;
  for (int l = 0; l < lanes; l++) {
    const int64_t i = pass->lines->device.row[at + l] * (int64_t)b;
    double sum[b];
    for (int c = 0; c < b; c++) sum[c] = 0;
    karst_block_add_product(b, pass->P + (at + l) * bb, pass->r + i, sum);
    karst_block_subtract_product(b, pass->Q + (at + l) * bb, y + l * b, sum);
    for (int c = 0; c < b; c++) pass->z[i + c] = y[l * b + c] = sum[c];
  }
}

KARST_INLINE void step_blocks_back(int b, const struct pass *pass, int64_t at, int lanes, double *x)
{
  const int64_t bb = (int64_t)b * b;
  for (int l = 0; l < lanes; l++) {
    double *z = pass->z + pass->lines->device.row[at + l] * (int64_t)b, sum[b];
    for (int c = 0; c < b; c++) sum[c] = z[c];
    karst_block_subtract_product(b, pass->W + (at + l) * bb, x + l * b, sum);
    for (int c = 0; c < b; c++) z[c] = x[l * b + c] = sum[c];
  }
}

KARST_INLINE void solve_slice(int b, const struct pass *pass, karst_index first, karst_index last)
{
  const int width = pass->lines->width;
  const karst_index *row = pass->lines->device.row;
  double y[KARST_LINES_WIDEST * b];
  for (int v = 0; v < width * b; v++) y[v] = 0;
  for (karst_index k = first; k < last; k++) {
    const int64_t at = (int64_t)k * width;
    const int lanes = karst_lines_active(row + at, width);
    if (b > 1)
      step_blocks(b, pass, at, lanes, y);
    else if (lanes == KARST_LINES_WIDEST)
      step_scalars(pass, at, KARST_LINES_WIDEST, y);
    else
      step_scalars(pass, at, lanes, y);
  }
  for (int v = 0; v < width * b; v++) y[v] = 0;
  for (karst_index k = last; k-- > first;) {
    const int64_t at = (int64_t)k * width;
    const int lanes = karst_lines_active(row + at, width);
    if (b > 1)
      step_blocks_back(b, pass, at, lanes, y);
    else if (lanes == KARST_LINES_WIDEST)
      step_scalars_back(pass, at, KARST_LINES_WIDEST, y);
    else
      step_scalars_back(pass, at, lanes, y);
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
  struct pass pass = {.lines = lines, .P = factors->P, .Q = factors->Q, .W = factors->W, .r = r};
  const int b = lines->block_size;
  const int64_t slots = (int64_t)(step[last] - step[first]) * lines->width;
  solve_function *solve = instance[instance_of(b)];
  pass.z = z;
  karst_piece piece = karst_begin(context, KARST_KIND_PRODUCT, 3 * karst_block_offset(b, slots));
#pragma omp parallel num_threads(piece.threads)
  {
    const int t = karst_thread(), team = karst_team();
    const karst_index end = karst_lines_share(lines, first, last, t + 1, team);
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
