/* Two threads work at once. They create, use and destroy different objects of one CPU context, with failing calls and a
 * matrix that both read. They also use a context each on every device. The test is clean under the thread sanitizer in
 * a build without OpenMP, whose library the sanitizer does not understand. */
#include "lib/matrix/matrix.h"
#include "tests/support/tap.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 2, ROUNDS = 10, LENGTH = 36 /* errors quote no more than this */, CREATIONS = 200000 };

struct work {
  karst_context *context; /* shared, or the thread's own */
  const karst_matrix *A;  /* shared, or NULL */
  const char *device;     /* device of the thread's own context */
  pthread_barrier_t *barrier;
  int number;
  bool sound;
  double *x; /* [rows] the solution */
};

/* Solves with a solver of the thread's own, preconditioned by cpr, which an update changes. Adds its solution to sum. */
static karst_status add_cpr(karst_context *context, const karst_matrix *A, const karst_vector *b, karst_vector *sum)
{
  karst_options *options = NULL;
  karst_solver *solver = NULL;
  karst_vector *x = NULL;
  karst_result result;
  karst_status status = karst_options_create(context, &options);
  if (!status) status = karst_options_set(options, "precond", "cpr");
  if (!status) status = karst_options_set(options, "first.amg-rebuild", "1");
  if (!status) status = karst_solver_create(context, options, &solver);
  if (!status) status = karst_vector_create(context, karst_matrix_rows(A), &x);
  if (!status) status = karst_solver_setup(solver, A);
  if (!status) status = karst_solver_update(solver);
  if (!status) status = karst_solver_solve(solver, b, x, &result);
  if (!status) status = karst_vector_add(1, x, sum);
  karst_options_destroy(options);
  karst_solver_destroy(solver);
  karst_vector_destroy(x);
  return status;
}

/* Solves with the thread's own solvers and preconditioner. x is the result of all in the end. */
static karst_status solve(karst_context *context, const karst_matrix *A, double *host)
{
  karst_vector *b = NULL, *x = NULL;
  karst_solver *solver = NULL;
  karst_precond *precond = NULL;
  karst_result result;
  double norm;
  int64_t rows = karst_matrix_rows(A);
  karst_status status = karst_vector_create(context, rows, &b);
  if (!status) status = karst_vector_create(context, rows, &x);
  if (!status) status = karst_vector_fill_random(b, 6);
  if (!status) status = karst_precond_create(context, NULL, A, &precond);
  if (!status) status = karst_precond_apply(precond, b, x);
  if (!status) status = karst_matrix_multiply(A, x, b);
  if (!status) status = karst_vector_norm(b, &norm);
  if (!status) status = karst_vector_add(1 / norm, x, b);
  if (!status) status = karst_solver_create(context, NULL, &solver);
  if (!status) status = karst_solver_setup(solver, A);
  if (!status) status = karst_solver_solve(solver, b, x, &result);
  if (!status) status = add_cpr(context, A, b, x);
  if (!status) status = karst_vector_get(x, rows, host);
  karst_precond_destroy(precond);
  karst_solver_destroy(solver);
  karst_vector_destroy(b);
  karst_vector_destroy(x);
  return status;
}

/* Sets an option whose name is one letter repeated. The error's sentence must have that letter as often, unbroken. */
static bool fail_and_read(struct work *work)
{
  char name[LENGTH + 1], letters[2] = {(char)('X' + work->number), '\0'};
  karst_options *options;
  memset(name, letters[0], LENGTH);
  name[LENGTH] = '\0';
  if (karst_options_create(work->context, &options)) return false;
  karst_status status = karst_options_set(options, name, "1");
  karst_options_destroy(options);
  if (status != KARST_ERROR_OPTION) return false;
  const char *error = karst_context_error(work->context);
  const char *begin = error + strcspn(error, "XY");
  letters[0] = *begin; /* the last sentence may be the other thread's */
  bool whole = strspn(begin, letters) == LENGTH;
  pthread_barrier_wait(work->barrier); /* a sentence stays valid for four more failures */
  return whole;
}

static void *share_a_context(void *user)
{
  struct work *work = user;
  work->sound = true;
  pthread_barrier_wait(work->barrier);
  for (int i = 0; i < CREATIONS; i++) {
    karst_vector *vector;
    work->sound = karst_vector_create(work->context, 1, &vector) == KARST_SUCCESS && work->sound;
    karst_vector_destroy(vector);
  }
  for (int i = 0; i < ROUNDS; i++) {
    work->sound = fail_and_read(work) && work->sound;
    work->sound = solve(work->context, work->A, work->x) == KARST_SUCCESS && work->sound;
    work->sound = strlen(karst_context_device(work->context)) > 0 && work->sound;
  }
  return NULL;
}

static void *use_an_own_context(void *user)
{
  struct work *work = user;
  karst_context *context;
  karst_matrix *A = NULL;
  karst_status status = karst_context_create(NULL, &context);
  if (!status) status = karst_context_set_device(context, work->device);
  for (int i = 0; i < ROUNDS && !status; i++) {
    status = karst_gallery_create(context, "convdiff:12x10x5", 0, &A, NULL);
    if (!status) status = solve(context, A, work->x);
    karst_matrix_destroy(A);
    A = NULL;
  }
  work->sound = status == KARST_SUCCESS;
  karst_context_destroy(context);
  return NULL;
}

static void run(void *(*function)(void *), struct work *work)
{
  pthread_t thread[THREADS];
  for (int t = 0; t < THREADS; t++)
    if (pthread_create(&thread[t], NULL, function, &work[t]) != 0) tap_need(NULL, KARST_ERROR_NO_MEMORY, "a thread");
  for (int t = 0; t < THREADS; t++) pthread_join(thread[t], NULL);
}

/* Prepares each thread's work with one matrix, and the solution that one thread finds alone. */
static void prepare(karst_context *context, struct work *work, karst_matrix **A, double **expected)
{
  tap_need(context, karst_gallery_create(context, "convdiff:12x10x5", 0, A, NULL), "matrix");
  size_t rows = (size_t)karst_matrix_rows(*A);
  *expected = calloc((THREADS + 1) * rows, sizeof **expected);
  tap_need(context, *expected ? solve(context, *A, *expected) : KARST_ERROR_NO_MEMORY, "solve");
  for (int t = 0; t < THREADS; t++) work[t] = (struct work){.number = t, .x = *expected + (size_t)(t + 1) * rows};
}

static bool all_sound(const struct work *work, const double *expected, size_t rows)
{
  bool sound = true;
  for (int t = 0; t < THREADS; t++)
    sound = sound && work[t].sound && memcmp(work[t].x, expected, rows * sizeof *expected) == 0;
  return sound;
}

static void one_context(void)
{
  karst_matrix *A;
  pthread_barrier_t barrier;
  struct work work[THREADS];
  double *expected;
  karst_context *context = tap_context();
  pthread_barrier_init(&barrier, NULL, THREADS);
  prepare(context, work, &A, &expected);
  for (int t = 0; t < THREADS; t++) {
    work[t].context = context;
    work[t].A = A;
    work[t].barrier = &barrier;
  }
  run(share_a_context, work);
  tap_ok(all_sound(work, expected, (size_t)karst_matrix_rows(A)),
         "two threads with objects of one context: the same bits as one alone, and whole sentences");
  karst_matrix_destroy(A);
  karst_status status = karst_context_set_device(context, "cpu");
  tap_ok(status == KARST_SUCCESS, "and the context has no object left: %s",
         status ? karst_context_error(context) : "none");
  pthread_barrier_destroy(&barrier);
  karst_context_destroy(context);
  free(expected);
}

static void own_contexts(karst_context *context)
{
  karst_matrix *A;
  struct work work[THREADS];
  double *expected;
  prepare(context, work, &A, &expected);
  for (int t = 0; t < THREADS; t++) work[t].device = context->backend->name;
  run(use_an_own_context, work);
  tap_ok(all_sound(work, expected, (size_t)karst_matrix_rows(A)),
         "two threads with contexts of their own: the same bits as one alone");
  karst_matrix_destroy(A);
  free(expected);
}

int main(void)
{
  one_context();
  tap_each_device(own_contexts, "contexts of their own");
  return tap_done();
}
