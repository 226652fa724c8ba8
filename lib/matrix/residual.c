/* residual.c - computes the norm of b - A x and a bound of its error; see residual.h. */
#include "lib/matrix/residual.h"

#include "lib/vector/norm.h"
#include "lib/matrix/matrix_sums.h"

#include <float.h>
#include <math.h>

double karst_residual_unit(const karst_matrix *A, const karst_wells_view *wells)
{
  const double widest = A->halo ? (double)A->halo->widest : (double)karst_matrix_widest_row(A);
  const double terms = widest * A->block_size + 2;
  return (terms + (wells ? (double)karst_wells_terms(wells->wells) : 0)) * (DBL_EPSILON / 2);
}

/* Adds the part of wells to a residual, and to its size unless that is NULL, and sums their squares again. */
static void add_wells(const karst_wells_view *wells, const double *x, double *r, double *size, double *norm2)
{
  karst_context *context = wells->wells->context;
  const int64_t rows = (int64_t)wells->wells->block_rows * wells->wells->block_size;
  const double *const from[] = {r, size};
  karst_wells_multiply(wells, -1, -1, x, r);
  if (size) karst_wells_add_size(wells, x, size);
  for (int i = 0; i < (size ? 2 : 1); i++) karst_sums_dots(context, rows, 1, &from[i], from[i], norm2 + i);
}

/* r = b - A x and *norm = |r|. size, unless NULL: the norm of |b| + |A| |x|. */
static karst_status compute(const karst_matrix *A, const karst_wells_view *wells, const double *b, const double *x,
                            const karst_residual_space *space, double *norm, double *size)
{
  karst_context *context = A->context;
  double norm2[2] = {0};
  karst_status status = size ? karst_sums_residual_bounded(context, A, b, x, space->r, space->size, space->norm2)
                             : karst_sums_residual(context, A, b, x, space->r, wells ? NULL : space->norm2);
  if (status) return status;
  if (wells) add_wells(wells, x, space->r, size ? space->size : NULL, space->norm2);
  status = karst_ranks_download(context, size ? 2 : 1, space->norm2, norm2);
  if (size) *size = sqrt(norm2[1]);
  return status ? status : karst_norm_of_square(context, karst_matrix_rows(A), space->r, norm2[0], norm);
}

static karst_status compute_precisely(const karst_matrix *A, const karst_wells_view *wells, const double *b,
                                      const double *x, const karst_residual_space *space, double *norm)
{
  karst_context *context = A->context;
  const double *const r = space->r;
  double norm2;
  karst_status status = karst_sums_residual_precise(context, A, b, x, space->r, wells ? NULL : space->norm2);
  if (status) return status;
  if (wells) karst_wells_residual_precise(wells, A, b, x, space->r);
  if (wells) karst_sums_dots(context, karst_matrix_rows(A), 1, &r, r, space->norm2);
  status = karst_ranks_download(context, 1, space->norm2, &norm2);
  return status ? status : karst_norm_of_square(context, karst_matrix_rows(A), space->r, norm2, norm);
}

karst_status karst_residual_norm(const karst_matrix *A, const karst_wells_view *wells, double unit, const double *b,
                                 const double *x, double target, bool bounded, const karst_residual_space *space,
                                 bool *precise, double *norm, double *error)
{
  if (!*precise) {
    double size = INFINITY;
    karst_status status = compute(A, wells, b, x, space, norm, bounded ? &size : NULL);
    if (!status && !bounded && *norm <= target) status = compute(A, wells, b, x, space, norm, &size);
    *error = unit * size;
    if (status || !(*norm <= target) || *norm + *error <= target) return status;
  }
  *precise = true;
  *error = 0;
  return compute_precisely(A, wells, b, x, space, norm);
}

karst_status karst_residual_is_rounding(const karst_matrix *A, const karst_wells_view *wells, double unit,
                                        const double *b, const double *x, const karst_residual_space *space, bool *yes)
{
  double norm, size;
  *yes = false;
  karst_status status = compute(A, wells, b, x, space, &norm, &size);
  if (status || !(norm <= 2 * unit * size)) return status;
  status = compute_precisely(A, wells, b, x, space, &norm);
  return status ? status : karst_survey_bound(A->context, karst_matrix_rows(A), space->r, space->size, unit, yes);
}

/* The first block row of A's own columns with a value that is not finite, or -1. */
static karst_status find_in_matrix(const karst_matrix *A, karst_index *block_row)
{
  karst_survey survey;
  karst_index row = 0;
  *block_row = -1;
  karst_status status = karst_survey_array(A->context, karst_entries(A), A->value, &survey);
  if (!status && !survey.finite) status = karst_matrix_fetch_pattern(A);
  if (status || survey.finite) return status;
  while (karst_block_offset(A->block_size, A->row_start[row + 1]) <= survey.where) row++;
  *block_row = row;
  return KARST_SUCCESS;
}

/* The same in the ghosts' columns, if that is before *block_row, which may be -1. */
static karst_status find_in_halo(const karst_halo *halo, karst_index *block_row)
{
  karst_survey survey;
  karst_index row = 0;
  const karst_status status =
      karst_survey_array(halo->context, karst_block_offset(halo->block_size, halo->blocks), halo->value, &survey);
  if (status || survey.finite) return status;
  while (karst_block_offset(halo->block_size, halo->host.row_start[row + 1]) <= survey.where) row++;
  if (*block_row < 0 || halo->host.row[row] < *block_row) *block_row = halo->host.row[row];
  return KARST_SUCCESS;
}

karst_status karst_matrix_find_not_finite(const karst_matrix *A, karst_index *block_row)
{
  karst_status status = find_in_matrix(A, block_row);
  if (!A->halo) return status;
  if (!status) status = find_in_halo(A->halo, block_row);
  return karst_halo_first(A->halo, karst_ranks_agree(A->context, status), block_row);
}
