/* norm.c - computes norms whose squares overflow or underflow, by scaling (Blue, ACM Trans. Math. Softw. 4 (1978),
 * 15-23); see norm.h. */
#include "lib/vector/norm.h"

#include "lib/ranks/ranks.h"

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

/* Inspects count elements in host memory, x[0] and y[0] being elements number first, and returns whether to go on. */
typedef bool inspect_function(void *user, int64_t first, int64_t count, const double *x, const double *y);

/* Passes n elements of device memory to inspect, piece by piece. y may be NULL. Each piece waits for the device, so
 * that pieces are large if there is memory for it. Lack of memory is not an error here, so that karst_allocate is not
 * used. */
static karst_status visit_on_device(karst_context *context, int64_t n, const double *x, const double *y,
                                    inspect_function *inspect, void *user)
{
  enum { LARGE = 1 << 17, SMALL = 512 };
  const karst_allocator *allocator = &context->allocator;
  const int vectors = y ? 2 : 1;
  double few[SMALL], *many = NULL, *piece = few;
  int64_t most = SMALL / vectors;
  karst_status status = KARST_SUCCESS;
  if (vectors * n > SMALL)
    many = allocator->allocate(allocator->user, (size_t)(vectors * n < LARGE ? vectors * n : LARGE) * sizeof *many);
  if (many) {
    piece = many;
    most = LARGE / vectors;
  }
  bool goes_on = true;
  for (int64_t first = 0; first < n && goes_on && !status; first += most) {
    const int64_t count = n - first < most ? n - first : most;
    double *other = piece + count;
    status = context->backend->download(context, piece, x + first, (size_t)count * sizeof *piece);
    if (!status && y) status = context->backend->download(context, other, y + first, (size_t)count * sizeof *other);
    if (!status) goes_on = inspect(user, first, count, piece, y ? other : NULL);
  }
  karst_release(context, many);
  return status;
}

static karst_status visit(karst_context *context, int64_t n, const double *x, const double *y,
                          inspect_function *inspect, void *user)
{
  if (!context->backend->host_memory) return visit_on_device(context, n, x, y, inspect, user);
  inspect(user, 0, n, x, y);
  return KARST_SUCCESS;
}

/* A survey and the square of its norm so far. */
struct surveyor {
  karst_survey *survey;
  double square;
};

/* Adds elements to the survey, up to the first that is not finite. */
static bool survey_piece(void *user, int64_t first, int64_t count, const double *x, const double *y)
{
  struct surveyor *surveyor = user;
  karst_survey *survey = surveyor->survey;
  (void)y;
  for (int64_t i = 0; i < count && survey->finite; i++) {
    survey->finite = isfinite(x[i]);
    if (survey->finite)
      take(x[i], survey, &surveyor->square);
    else
      survey->where = first + i;
  }
  return survey->finite;
}

karst_status karst_survey_array(karst_context *context, int64_t n, const double *x, karst_survey *survey)
{
  *survey = (karst_survey){.finite = true, .where = -1};
  struct surveyor surveyor = {survey, 0};
  const karst_status status = visit(context, n, x, NULL, survey_piece, &surveyor);
  survey->norm = sqrt(surveyor.square);
  return status;
}

/* A rank's part of a survey. */
struct survey_part {
  int64_t n;
  karst_survey survey;
};

/* Makes the survey of all ranks from those of each, in the order of the ranks. */
static karst_status join_surveys(karst_context *context, int64_t n, karst_survey *survey)
{
  const struct survey_part own = {n, *survey};
  struct survey_part *all = NULL;
  double square = 0;
  int64_t before = 0;
  karst_status status = karst_allocate(context, &all, karst_context_ranks(context), sizeof *all, "the ranks' surveys");
  status = karst_ranks_agree(context, status);
  if (!status) status = karst_ranks_gather(context, &own, sizeof own, all);
  *survey = (karst_survey){.finite = true, .where = -1};
  for (int r = 0; r < karst_context_ranks(context) && !status; r++) {
    const karst_survey *part = &all[r].survey;
    if (!part->finite && survey->finite) survey->where = before + part->where;
    survey->finite = survey->finite && part->finite;
    if (part->largest > survey->largest) {
      const double less = survey->largest / part->largest;
      square = square * less * less + part->norm * part->norm;
      survey->largest = part->largest;
    } else if (survey->largest > 0) {
      const double less = part->largest / survey->largest;
      square += part->norm * part->norm * less * less;
    }
    before += all[r].n;
  }
  survey->norm = sqrt(square);
  karst_release(context, all);
  return status;
}

karst_status karst_survey_elements(karst_context *context, int64_t n, const double *x, karst_survey *survey)
{
  const karst_status status = karst_ranks_agree(context, karst_survey_array(context, n, x, survey));
  return status || !context->ranks ? status : join_surveys(context, n, survey);
}

struct bound {
  double factor;
  bool within;
};

static bool check_piece(void *user, int64_t first, int64_t count, const double *x, const double *size)
{
  struct bound *bound = user;
  (void)first;
  for (int64_t i = 0; i < count && bound->within; i++)
    bound->within = isfinite(x[i]) && fabs(x[i]) <= bound->factor * size[i];
  return bound->within;
}

karst_status karst_survey_bound(karst_context *context, int64_t n, const double *x, const double *size, double factor,
                                bool *within)
{
  struct bound bound = {factor, true};
  karst_status status = karst_ranks_agree(context, visit(context, n, x, size, check_piece, &bound));
  if (!status && context->ranks) status = karst_ranks_all(context, &bound.within);
  *within = !status && bound.within;
  return status;
}

karst_status karst_norm_of_square(karst_context *context, int64_t n, const double *x, double square, double *norm)
{
  karst_survey survey;
  *norm = sqrt(square);
  if (*norm >= karst_norm_smallest && *norm <= karst_norm_largest) return KARST_SUCCESS;
  if (n == 0 && !context->ranks) return KARST_SUCCESS;
  karst_status status = karst_survey_elements(context, n, x, &survey);
  if (!status) *norm = survey.finite ? survey.largest * survey.norm : NAN;
  return status;
}
