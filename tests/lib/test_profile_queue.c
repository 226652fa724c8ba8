/* A profile divides the time of a device with a queue between operations that call each other. A copy of the CPU's
 * table plays this device, and its marks are times of a clock that the test sets. */
#include "lib/backend/backend.h"
#include "tests/support/profile_rows.h"

#include <stdlib.h>
#include <string.h>

static struct karst_backend queued;
static double device_clock, wrong_marks;
static long marks, marks_made, marks_allowed;

static karst_status create_mark(karst_context *context, void **mark)
{
  *mark = NULL;
  if (marks_made == marks_allowed) return karst_fail(context, KARST_ERROR_NO_MEMORY, "no more marks");
  const karst_status status = karst_allocate_zero(context, mark, 1, sizeof(double), "a mark");
  if (!status) marks_made++, marks++;
  return status;
}

static void destroy_mark(karst_context *context, void *mark)
{
  marks--;
  karst_release(context, mark);
}

static void set_mark(karst_context *context, void *mark)
{
  (void)context;
  memcpy(mark, &device_clock, sizeof device_clock);
}

static double seconds_between(karst_context *context, void *from, void *to)
{
  double begin, end;
  (void)context;
  memcpy(&begin, from, sizeof begin);
  memcpy(&end, to, sizeof end);
  if (end < begin) wrong_marks++;
  return end - begin;
}

/* A copy takes 1 second of this device, a product with diagonal blocks 10. */
static void slow_copy(karst_context *context, int64_t n, const double *x, double *y)
{
  device_clock += 1;
  karst_backends[0]->copy(context, n, x, y);
}

static void slow_diagonal(karst_context *context, karst_index count, int b, const double *S, const double *x, double *y)
{
  device_clock += 10;
  karst_backends[0]->multiply_diagonal(context, count, b, S, x, y);
}

static void play_queue(karst_context *context)
{
  queued = *karst_backends[0];
  queued.mark_create = create_mark;
  queued.mark_destroy = destroy_mark;
  queued.mark_set = set_mark;
  queued.mark_seconds = seconds_between;
  queued.copy = slow_copy;
  queued.multiply_diagonal = slow_diagonal;
  device_clock = 1e6;
  marks = marks_made = 0;
  marks_allowed = 1000000;
  context->backend = &queued;
}

/* Applies jacobi, which takes 10 seconds, and copies a number of times. */
static karst_status apply_slowly(karst_precond *precond, const karst_vector *r, karst_vector *z)
{
  const long *copies = karst_precond_user(precond);
  karst_status status = karst_precond_apply(karst_precond_data(precond), r, z);
  device_clock += 100;
  for (long i = 0; i < *copies && !status; i++) status = i % 2 ? karst_vector_copy(r, z) : karst_vector_scale(1, z);
  device_clock += 100;
  return status;
}

static karst_status make_jacobi(karst_precond *precond)
{
  karst_options *options;
  karst_precond *jacobi = karst_precond_data(precond);
  if (jacobi) return karst_precond_update(jacobi);
  karst_status status = karst_options_create(karst_precond_context(precond), &options);
  if (!status) status = karst_options_set(options, "precond", "jacobi");
  if (!status)
    status = karst_precond_create(karst_precond_context(precond), options, karst_precond_matrix(precond), &jacobi);
  if (!status) karst_precond_set_data(precond, jacobi);
  karst_options_destroy(options);
  return status;
}

static void destroy_jacobi(karst_precond *precond) { karst_precond_destroy(karst_precond_data(precond)); }

/* Operations within one another, fewer and more than there are marks for at a time. */
static void divides_queued_time(karst_context *context)
{
  long copies = 0;
  karst_precond_method method = copying_method("slow");
  method.user = &copies;
  method.update = make_jacobi;
  method.apply = apply_slowly;
  method.destroy = destroy_jacobi;
  if (!context->backend->host_memory) return;
  play_queue(context);
  tap_need(context, karst_precond_register(context, &method), "register");
  karst_matrix *A = matrix_from(context, "poisson2d:4x4", 0);
  karst_precond *precond = precond_from(context, PAIRS("precond", "slow"), A);
  karst_vector *r = vector_of(context, 16, 0), *z = vector_of(context, 16, 0);
  tap_need(context, karst_context_profile(context, 1), "profile");
  tap_ok(marks > 2, "marks are made at the beginning");
  for (copies = 3; copies < 5000; copies *= 7) {
    tap_need(context, karst_context_profile(context, 1), "profile");
    const long made = marks_made;
    for (int i = 0; i < 20; i++) tap_need(context, karst_precond_apply(precond, r, z), "apply");
    const karst_profile own = row_of(context, "precond apply (slow)"),
                        jacobi = row_of(context, "precond apply (jacobi)"),
                        product = row_of(context, "diagonal blocks product"), copy = row_of(context, "copy");
    tap_ok(own.calls == 20 && own.seconds == 20 * 200 && jacobi.calls == 20 && jacobi.seconds == 0 &&
               product.seconds == 20 * 10 && copy.calls == 20 * (copies / 2) && copy.seconds == (double)copy.calls,
           "%ld operations within each: %g s itself, %g s in copies", copies, own.seconds, copy.seconds);
    tap_ok(marks_made == made && wrong_marks == 0, "no mark is made during the profile or read too early");
  }
  tap_need(context, karst_context_profile(context, 0), "no profile");
  tap_ok(marks == 0 && context->backend == &queued && calls_of(context, "copy") > 0,
         "all marks are released at the end, and the rows stay");
  marks_allowed = marks_made + 7;
  tap_ok(karst_context_profile(context, 1) == KARST_ERROR_NO_MEMORY && marks == 0 && context->backend == &queued &&
             !context->profiling && strcmp(karst_context_error(context), "no more marks") == 0,
         "a profile without marks is refused");
  marks_allowed = 1000000;
  tap_need(context, karst_context_profile(context, 1), "profile");
  karst_vector_destroy(z);
  karst_vector_destroy(r);
  karst_precond_destroy(precond);
  karst_matrix_destroy(A);
}

/* A context that is destroyed during a profile releases its marks. */
static void gives_marks_back(void)
{
  karst_context *context = tap_context();
  play_queue(context);
  tap_need(context, karst_context_profile(context, 1), "profile");
  karst_context_destroy(context);
  tap_ok(marks == 0 && marks_made > 0, "a context releases its marks");
}

int main(void)
{
  tap_each_device(divides_queued_time, "a queue");
  gives_marks_back();
  return tap_done();
}
