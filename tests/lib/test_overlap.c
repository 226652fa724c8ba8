/* Vectors that share memory, wholly or partly, are refused if a call writes to one and reads the other. A missing
 * object is reported in the context of an object that is given. */
#include "lib/backend/backend.h"
#include "tests/support/problem.h"

#include <string.h>

enum { ROWS = 25 };

/* Vectors in one array: at its beginning, shifted by one value, and behind the first. */
struct vectors {
  karst_vector *whole, *first, *same, *shifted, *behind;
};

static karst_vector *wrap(karst_context *context, double *values)
{
  karst_vector *vector;
  tap_need(context, karst_vector_wrap(context, ROWS, values, &vector), "wrap");
  return vector;
}

static struct vectors make_vectors(karst_context *context)
{
  struct vectors v;
  v.whole = vector_of(context, 2 * (int64_t)ROWS, 1);
  double *values = karst_vector_values(v.whole);
  v.first = wrap(context, values);
  v.same = wrap(context, values);
  v.shifted = wrap(context, values + ROWS - 1);
  v.behind = wrap(context, values + ROWS);
  return v;
}

static void destroy_vectors(struct vectors *v)
{
  karst_vector_destroy(v->first);
  karst_vector_destroy(v->same);
  karst_vector_destroy(v->shifted);
  karst_vector_destroy(v->behind);
  karst_vector_destroy(v->whole);
}

static void refused(karst_context *context, karst_status status, const char *what)
{
  tap_ok(status == KARST_ERROR_ARGUMENT && strstr(karst_context_error(context), "overlap"), "%s: %s", what,
         karst_context_error(context));
}

static void overlaps(karst_context *context)
{
  struct vectors v = make_vectors(context);
  karst_solver *solver;
  karst_precond *precond;
  karst_result result;
  karst_matrix *A = matrix_from(context, "poisson2d:5x5", 1);
  tap_need(context, karst_solver_create(context, NULL, &solver), "solver");
  tap_need(context, karst_solver_setup(solver, A), "setup");
  tap_need(context, karst_precond_create(context, NULL, A, &precond), "preconditioner");
  karst_vector *const shared[] = {v.same, v.shifted};
  for (int i = 0; i < 2; i++) {
    refused(context, karst_matrix_multiply(A, v.first, shared[i]), "multiply");
    refused(context, karst_matrix_multiply(A, shared[i], v.first), "multiply, turned round");
    refused(context, karst_matrix_residual(A, v.first, v.behind, shared[i], NULL), "residual over b");
    refused(context, karst_matrix_residual(A, v.behind, v.first, shared[i], NULL), "residual over x");
    refused(context, karst_solver_solve(solver, v.first, shared[i], &result), "solve");
    refused(context, karst_precond_apply(precond, v.first, shared[i]), "apply");
  }
  refused(context, karst_vector_add(1, v.first, v.shifted), "add");
  refused(context, karst_vector_copy(v.first, v.shifted), "copy");
  refused(context, karst_vector_copy(v.shifted, v.first), "copy, turned round");
  tap_ok(karst_vector_copy(v.first, v.same) == KARST_SUCCESS, "the same memory copied to itself");
  tap_ok(karst_vector_copy(v.first, v.behind) == KARST_SUCCESS, "neighbours copied");
  tap_ok(karst_vector_add(1, v.first, v.same) == KARST_SUCCESS, "the same memory added to itself");
  tap_ok(karst_vector_add(1, v.first, v.behind) == KARST_SUCCESS, "neighbours added");
  tap_ok(karst_matrix_multiply(A, v.first, v.behind) == KARST_SUCCESS, "neighbours multiplied");
  tap_ok(karst_precond_apply(precond, v.behind, v.first) == KARST_SUCCESS, "neighbours preconditioned");
  tap_ok(karst_solver_solve(solver, v.first, v.behind, &result) == KARST_SUCCESS, "neighbours solved");
  karst_precond_destroy(precond);
  karst_solver_destroy(solver);
  karst_matrix_destroy(A);
  destroy_vectors(&v);
}

static void said(karst_context *context, karst_status status, const char *sentence)
{
  tap_ok(status == KARST_ERROR_ARGUMENT && strcmp(karst_context_error(context), sentence) == 0, "%s: %s", sentence,
         karst_context_error(context));
  karst_context_set_device(context, "none"); /* the context gets another error in between */
}

static void missing_objects(karst_context *context)
{
  struct vectors v = make_vectors(context);
  karst_matrix *A = matrix_from(context, "poisson2d:5x5", 1);
  said(context, karst_matrix_multiply(NULL, v.first, v.behind), "the matrix is NULL");
  said(context, karst_matrix_multiply(NULL, NULL, v.behind), "the matrix is NULL");
  said(context, karst_matrix_multiply(A, NULL, v.behind), "the vector x is NULL");
  said(context, karst_matrix_residual(NULL, v.first, v.behind, v.shifted, NULL), "the matrix is NULL");
  said(context, karst_precond_apply(NULL, v.first, v.behind), "the preconditioner is NULL");
  said(context, karst_vector_dot(v.first, v.behind, NULL), "the place for the dot product is NULL");
  said(context, karst_vector_dot(NULL, v.behind, NULL), "a vector is NULL");
  said(context, karst_vector_copy(v.first, NULL), "a vector is NULL");
  said(context, karst_vector_add(1, NULL, v.first), "a vector is NULL");
  said(context, karst_matrix_convert(A, 1, NULL), "the place for the matrix is NULL");
  said(context, karst_gallery_create(context, "poisson2d:5x5", 1, NULL, NULL), "the place for the matrix is NULL");
  tap_ok(karst_matrix_multiply(NULL, NULL, NULL) == KARST_ERROR_ARGUMENT, "a call with NULL alone leaves no sentence");
  karst_matrix_destroy(A);
  destroy_vectors(&v);
}

/* A copy of the context's table whose allocate counts its calls. */
static const struct karst_backend *counted;
static int allocated;

static karst_status count_allocation(karst_context *context, size_t bytes, const char *what, void **memory)
{
  allocated++;
  return counted->allocate(context, bytes, what, memory);
}

static void small_operations_allocate_nothing(karst_context *context)
{
  struct vectors v = make_vectors(context);
  struct karst_backend counting = *context->backend;
  double dot;
  counted = context->backend;
  counting.allocate = count_allocation;
  context->backend = &counting;
  allocated = 0;
  const double norm = vector_norm(v.first);
  tap_need(context, karst_vector_add(0.5, v.first, v.behind), "add");
  tap_need(context, karst_vector_add(0.5, v.behind, v.behind), "add");
  tap_need(context, karst_vector_scale(2, v.first), "scale");
  tap_need(context, karst_vector_copy(v.first, v.behind), "copy");
  tap_need(context, karst_vector_dot(v.first, v.behind, &dot), "dot");
  context->backend = counted;
  tap_ok(allocated == 0 && norm == 5 && dot == 4 * ROWS, "norm, add, scale, copy and dot allocate no device memory");
  destroy_vectors(&v);
}

int main(void)
{
  tap_each_device(overlaps, "vectors that overlap");
  tap_each_device(missing_objects, "missing objects");
  tap_each_device(small_operations_allocate_nothing, "small operations");
  return tap_done();
}
