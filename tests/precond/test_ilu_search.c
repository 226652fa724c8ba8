/* iluk with so many products a row that a GPU keeps no lists of them, but searches for them in each factorization. Its
 * M^-1 r agrees with that of the CPU's factors, with the same bits in every run. New values, failed and shifted pivots
 * and dropped products are covered too. The memory is a multiple of that of the factors. */
#include "lib/matrix/matrix.h"
#include "tests/support/patterns.h"
#include "lib/method/precond.h"
#include "tests/support/named_values.h"
#include "tests/support/problem.h"

#include <math.h>
#include <string.h>

static karst_context *cpu;
enum { SEED = 7 }; /* of r */

/* Rows first to last - 1 and the same columns are filled but for a part, all others have a band and some entries. */
struct shape {
  const char *what;
  karst_index n, first, last;
  double filled, scattered;
};

static const struct shape full = {"a nearly full matrix", 230, 0, 230, 0.9, 0};

static struct pattern make_pattern(const struct shape *shape)
{
  struct pattern made = pattern_empty(shape->n, (int64_t)shape->n * shape->n);
  karst_index k = 0;
  for (karst_index i = 0; i < shape->n; i++) {
    for (karst_index j = 0; j < shape->n; j++) {
      const bool both = i >= shape->first && i < shape->last && j >= shape->first && j < shape->last;
      if (abs((int)(i - j)) <= 1 || 0.5 * (tap_random() + 1) < (both ? shape->filled : shape->scattered))
        made.column[k++] = j;
    }
    made.start[i + 1] = k;
  }
  return made;
}

/* Returns whether the factors are those of a complete elimination. */
static bool is_complete(const struct shape *shape)
{
  return shape->filled == 1 && shape->last - shape->first == shape->n;
}

static karst_precond *factor(karst_context *context, const karst_matrix *A, int level, double modified, double shift)
{
  tap_settings settings = settings_for(NULL, "iluk");
  settings.level = level;
  settings.modified = modified;
  settings.shift = shift;
  return precond_of(context, &settings, A);
}

/* Returns |r - A z| / |r| for the r of applied_to_random. */
static double residual(karst_context *context, const karst_matrix *A, const double *z)
{
  karst_vector *r = vector_random(context, karst_matrix_rows(A), SEED),
               *x = vector_from(context, karst_matrix_rows(A), z);
  const double result = tap_residual(A, r, x);
  karst_vector_destroy(r);
  karst_vector_destroy(x);
  return result;
}

/* A matrix on the device and its copy on the CPU, with factors of the same options. */
struct pair {
  karst_matrix *A, *copy;
  karst_precond *P, *reference;
};

static struct pair make_pair(karst_context *context, const struct pattern *pattern, int b, const double *value,
                             int level, double modified, double shift)
{
  struct pair made = {pattern_matrix(context, pattern, b, value), pattern_matrix(cpu, pattern, b, value), NULL, NULL};
  made.P = factor(context, made.A, level, modified, shift);
  made.reference = factor(cpu, made.copy, level, modified, shift);
  return made;
}

static void free_pair(struct pair *made)
{
  karst_precond_destroy(made->P);
  karst_precond_destroy(made->reference);
  karst_matrix_destroy(made->A);
  karst_matrix_destroy(made->copy);
}

/* Lists of more than 64 products for each block, of two indices each, would take more. */
static bool is_bounded(const karst_precond *P, const karst_matrix *A)
{
  enum { PADDED = 2, INDICES = 2 * 64 + 16 };
  const int b = A->block_size;
  const int64_t entries = P->factor_entries, slices = (int64_t)A->block_rows * b * 64;
  return P->memory <= PADDED * (entries + slices) * (int64_t)sizeof(double) +
                          (entries / b / b + A->block_rows) * INDICES * (int64_t)sizeof(karst_index);
}

static void compare(karst_context *context, const struct shape *shape, int b, int level, double modified)
{
  struct pattern pattern = make_pattern(shape);
  const int64_t n = (int64_t)shape->n * b;
  double *value = pattern_values(&pattern, b, 1.5);
  struct pair made = make_pair(context, &pattern, b, value, level, modified, 0);
  double *z = applied_to_random(made.P, SEED, NULL), *expected = applied_to_random(made.reference, SEED, NULL);
  tap_ok(relative_difference(n, z, expected) < 1e-12 && is_bounded(made.P, made.A),
         "%s, b = %d, level %d, R = %g: as on the CPU (%.1e), in bounded memory", shape->what, b, level, modified,
         relative_difference(n, z, expected));
  if (is_complete(shape)) {
    const double left = residual(context, made.A, z);
    tap_ok(left < 1e-12, "A M^-1 r = r (%.1e)", left);
  }
  free(value);
  value = pattern_values(&pattern, b, 1.5);
  tap_need(context, karst_matrix_update_values(made.A, value), "values");
  tap_need(cpu, karst_matrix_update_values(made.copy, value), "values");
  tap_need(context, karst_precond_update(made.P), "update");
  tap_need(cpu, karst_precond_update(made.reference), "update");
  double *new_z = applied_to_random(made.P, SEED, NULL), *new_expected = applied_to_random(made.reference, SEED, NULL);
  karst_precond *again = factor(context, made.A, level, modified, 0);
  double *same = applied_to_random(again, SEED, NULL);
  tap_ok(relative_difference(n, new_z, new_expected) < 1e-12 && memcmp(new_z, same, (size_t)n * sizeof *same) == 0,
         "also with new values, and with the bits of a new set-up (%.1e)", relative_difference(n, new_z, new_expected));
  karst_precond_destroy(again);
  free_pair(&made);
  pattern_free(&pattern);
  free(value);
  free(z);
  free(expected);
  free(new_z);
  free(new_expected);
  free(same);
}

static void compare_all(karst_context *context)
{
  const struct shape middle = {"a full part in the middle", 360, 60, 300, 0.95, 0.02};
  const struct shape end = {"long last rows", 330, 60, 330, 1, 0.01}, all = {"a full matrix", 200, 0, 200, 1, 0};
  const struct shape filled = {"fill", 300, 0, 40, 1, 0.03};
  compare(context, &full, 1, 0, 0);
  compare(context, &full, 3, 0, 0);
  compare(context, &middle, 1, 0, 0);
  compare(context, &middle, 2, 0, 0.5);
  compare(context, &end, 1, 0, 0);
  compare(context, &end, 2, 0, 1);
  compare(context, &filled, 1, 2, 0);
  compare(context, &filled, 1, 1, 0.5);
  compare(context, &all, 1, 0, 0);
  if (context->backend->host_memory) return; /* larger blocks only take longer */
  compare(context, &all, 6, 0, 0);
  compare(context, &all, 9, 0, 0);
}

/* Of several rows of zeros the first is reported, or all are shifted. A NaN and an overflow are reported. */
static void outcomes(karst_context *context)
{
  static const struct {
    const char *what;
    double entries; /* of a row in the middle */
    double shift;
  } cases[] = {{"zeros", 0, 0}, {"zeros with a shift", 0, 1e-3}, {"NaN", NAN, 0}, {"infinite", INFINITY, 0}};
  struct pattern pattern = make_pattern(&full);
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    const karst_index bad = 1 + (karst_index)tap_random_index(full.n - 2);
    karst_index row = -1, expected = -1;
    double *value = pattern_values(&pattern, 2, 1.5);
    for (karst_index k = 4 * pattern.start[bad]; k < 4 * pattern.start[bad + 1]; k++) value[k] = cases[c].entries;
    struct pair made = make_pair(context, &pattern, 2, value, 0, 0, cases[c].shift);
    const karst_reason reason = karst_precond_outcome(made.P, &row);
    tap_ok(reason == karst_precond_outcome(made.reference, &expected) && row == expected &&
               tap_precond_number(made.P, "shifted") == tap_precond_number(made.reference, "shifted"),
           "%s in block row %ld: reason %d, block row %ld", cases[c].what, (long)bad, (int)reason, (long)row);
    free_pair(&made);
    free(value);
  }
  pattern_free(&pattern);
}

int main(void)
{
  cpu = tap_context();
  tap_each_device(compare_all, "long rows");
  tap_each_device(outcomes, "outcomes");
  karst_context_destroy(cpu);
  return tap_done();
}
