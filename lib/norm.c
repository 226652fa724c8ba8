/* norm.c - computes norms whose squares overflow or underflow, by scaling (Blue, ACM Trans. Math. Softw. 4 (1978),
 * 15-23); see norm.h. */
#include "norm.h"

#include <math.h>

/* Adds an element to the norm of the elements so far, which is largest * sqrt(*square). */
static void take(double element, karst_survey *survey, double *square)
{
  double size = fabs(element), part;
  if (size == 0) return;
  if (size > survey->largest) {
    part = survey->largest / size;
    *square = 1 + *square * part * part;
    survey->largest = size;
  } else {
    part = size / survey->largest;
    *square += part * part;
  }
}

/* Adds count elements on the host, which begin with x[first], to the survey, up to the first that is not finite. */
static void survey_piece(const double *piece, int64_t first, int64_t count, karst_survey *survey, double *square)
{
  for (int64_t i = 0; i < count && survey->finite; i++) {
    survey->finite = isfinite(piece[i]);
    if (survey->finite)
      take(piece[i], survey, square);
    else
      survey->where = first + i;
  }
}

/* Reads device memory in pieces. Each piece waits for the device, so that pieces are large if there is memory for it. A
 * refusal is no error, so that karst_allocate is not used. */
static karst_status survey_device(karst_context *context, int64_t n, const double *x, karst_survey *survey,
                                  double *square)
{
  enum { LARGE = 1 << 17, SMALL = 512 };
  const karst_allocator *allocator = &context->allocator;
  double few[SMALL], *many = NULL, *piece = few;
  int64_t most = SMALL;
  karst_status status = KARST_SUCCESS;
  if (n > SMALL) many = allocator->allocate(allocator->user, (size_t)(n < LARGE ? n : LARGE) * sizeof *many);
  if (many) {
    piece = many;
    most = LARGE;
  }
  for (int64_t first = 0; first < n && survey->finite && !status; first += most) {
    const int64_t count = n - first < most ? n - first : most;
    status = context->backend->download(context, piece, x + first, (size_t)count * sizeof *piece);
    if (!status) survey_piece(piece, first, count, survey, square);
  }
  karst_release(context, many);
  return status;
}

karst_status karst_survey_elements(karst_context *context, int64_t n, const double *x, karst_survey *survey)
{
  double square = 0;
  karst_status status = KARST_SUCCESS;
  *survey = (karst_survey){.finite = true, .where = -1};
  if (context->backend->host_memory)
    survey_piece(x, 0, n, survey, &square);
  else
    status = survey_device(context, n, x, survey, &square);
  survey->norm = sqrt(square);
  return status;
}

karst_status karst_norm_of_square(karst_context *context, int64_t n, const double *x, double square, double *norm)
{
  karst_survey survey;
  *norm = sqrt(square);
  if ((*norm >= karst_norm_smallest && *norm <= karst_norm_largest) || n == 0) return KARST_SUCCESS;
  karst_status status = karst_survey_elements(context, n, x, &survey);
  if (!status) *norm = survey.finite ? survey.largest * survey.norm : NAN;
  return status;
}
