/* A matrix that refers to the caller's arrays never writes to them, and follows values written in place after the
 * caller reports them. Solvers and preconditioners made from other values are refused until an update succeeds. */
#include "tests/support/failing_allocator.h"
#include "lib/method/precond.h"
#include "solver/solver.h"
#include "tests/support/problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 12, BLOCKS = 3 * ROWS - 2 };

static karst_index start[ROWS + 1], column[BLOCKS];

/* Writes the tridiagonal matrix with this diagonal and -1 beside it into value. */
static void tridiagonal(double diagonal, double *value)
{
  karst_index end = 0;
  for (karst_index i = 0; i < ROWS; i++) {
    for (karst_index j = i > 0 ? i - 1 : 0; j < ROWS && j <= i + 1; j++) {
      column[end] = j;
      value[end++] = i == j ? diagonal : -1;
    }
    start[i + 1] = end;
  }
}

static karst_matrix *make_matrix(karst_context *context, const double *value, karst_ownership ownership)
{
  karst_matrix *A;
  tap_need(context, karst_matrix_create(context, ROWS, 1, start, column, value, ownership, &A), "matrix");
  return A;
}

/* Returns row 1 of the matrix times ones: its diagonal less 2. */
static double row_sum(karst_context *context, const karst_matrix *A)
{
  double host[ROWS];
  karst_vector *x = vector_of(context, ROWS, 1), *y = vector_of(context, ROWS, 0);
  tap_need(context, karst_matrix_multiply(A, x, y), "multiply");
  tap_need(context, karst_vector_get(y, ROWS, host), "get");
  karst_vector_destroy(x);
  karst_vector_destroy(y);
  return host[1];
}

/* Values are written in place without a report. A solver that works on a reordered or scaled copy of them notices. */
static void a_forgotten_change_is_noticed(karst_context *context)
{
  static const char *const copies[][2] = {{"rcm", "none"}, {"natural", "diagonal"}, {"rcm", "block"}};
  if (strncmp(karst_context_device(context), "cpu", 3) != 0) {
    tap_skip("the matrix has a copy of its own there", "values written in place on the host");
    return;
  }
  for (int c = 0; c < 3; c++) {
    double value[BLOCKS];
    karst_vector *inside;
    tridiagonal(3, value);
    karst_matrix *A = make_matrix(context, value, KARST_REFERENCE);
    tap_settings options = settings_for(NULL, NULL);
    options.ordering = copies[c][0];
    options.scale = copies[c][1];
    karst_vector *b = vector_of(context, ROWS, 0), *x = vector_of(context, ROWS, 0);
    tap_need(context, karst_vector_wrap(context, ROWS, value + 2, &inside), "vector");
    tap_need(context, karst_vector_fill(b, 1), "b");
    karst_solver *solver = solver_set_up(context, &options, A);
    karst_result result = solved(solver, b, x);
    tap_ok(karst_solver_solve(solver, b, inside, &result) == KARST_ERROR_ARGUMENT,
           "a solution inside the values that the matrix refers to is refused");
    tridiagonal(64, value);
    karst_status status = karst_solver_solve(solver, b, x, &result);
    tap_ok(status == KARST_ERROR_ARGUMENT && strstr(karst_context_error(context), "karst_matrix_values_changed"),
           "%s, %s: a solve with earlier values is an error: %s", copies[c][0], copies[c][1],
           karst_context_error(context));
    tap_need(context, karst_matrix_values_changed(A), "values changed");
    tap_need(context, karst_solver_update(solver), "update");
    result = solved(solver, b, x);
    tap_ok(result.reason > 0 && tap_residual(A, b, x) <= options.rtol * sqrt(ROWS),
           "the solver works after the change is reported");
    karst_solver_destroy(solver);
    karst_vector_destroy(b);
    karst_vector_destroy(x);
    karst_vector_destroy(inside);
    karst_matrix_destroy(A);
  }
}

static void the_callers_array_is_not_written_to(karst_context *context)
{
  double value[BLOCKS], other[BLOCKS], before[BLOCKS];
  tridiagonal(3, value);
  tridiagonal(4, other);
  memcpy(before, value, sizeof value);
  karst_matrix *A = make_matrix(context, value, KARST_REFERENCE), *converted;
  tap_ok(row_sum(context, A) == 1, "the values referred to are used");
  tap_need(context, karst_matrix_update_values(A, other), "update");
  tap_ok(memcmp(value, before, sizeof value) == 0, "an update leaves the caller's array as it was");
  tap_ok(row_sum(context, A) == 2, "and the matrix has the new values");
  memset(value, 0, sizeof value);
  tap_ok(row_sum(context, A) == 2, "the matrix has the new values in an array of its own");
  tap_need(context, karst_matrix_convert(A, 3, &converted), "convert");
  tap_ok(row_sum(context, converted) == 2, "conversions read the new values");
  karst_matrix_destroy(converted);
  tridiagonal(5, other);
  tap_need(context, karst_matrix_update_values(A, other), "second update");
  tap_ok(row_sum(context, A) == 3 && value[0] == 0, "a second update writes to that array, too");
  tridiagonal(6, value);
  tap_ok(karst_matrix_values_changed(A) == KARST_SUCCESS && row_sum(context, A) == 3,
         "and the matrix ignores the array that it referred to");
  karst_matrix_destroy(A);
}

static void values_written_in_place(karst_context *context)
{
  double value[BLOCKS];
  tridiagonal(3, value);
  karst_matrix *A = make_matrix(context, value, KARST_REFERENCE), *copy = make_matrix(context, value, KARST_COPY);
  tridiagonal(6, value);
  tap_need(context, karst_matrix_values_changed(A), "values changed");
  tap_ok(row_sum(context, A) == 4, "values written in place are used after they are reported");
  tridiagonal(7, value);
  tap_need(context, karst_matrix_update_values(A, value), "update from the array itself");
  tap_ok(row_sum(context, A) == 5, "an update from that array has the same effect");
  tridiagonal(8, value);
  tap_need(context, karst_matrix_values_changed(A), "values changed");
  tap_ok(row_sum(context, A) == 6, "and the matrix still refers to it");
  tap_ok(karst_matrix_values_changed(copy) == KARST_SUCCESS && row_sum(context, copy) == 1,
         "a copy refers to no array, and stays as it was made");
  tap_ok(karst_matrix_values_changed(NULL) == KARST_ERROR_ARGUMENT, "NULL has no values");
  karst_matrix_destroy(A);
  karst_matrix_destroy(copy);
}

/* Objects made from earlier values of the matrix are refused. reported: after karst_matrix_values_changed. */
static void stale_values_are_refused(karst_context *context, bool reported)
{
  static const char sentence[] = "the matrix has new values since the ";
  double value[BLOCKS], norm;
  karst_solver *solver;
  karst_precond *precond;
  karst_result result;
  tridiagonal(3, value);
  karst_matrix *A = make_matrix(context, value, reported ? KARST_REFERENCE : KARST_COPY);
  karst_vector *b = vector_of(context, ROWS, 1), *x = vector_of(context, ROWS, 0), *r = vector_of(context, ROWS, 0);
  tap_need(context, karst_solver_create(context, NULL, &solver), "solver");
  tap_need(context, karst_solver_setup(solver, A), "setup");
  tap_need(context, karst_precond_create(context, NULL, A, &precond), "preconditioner");
  tridiagonal(64, value);
  tap_need(context, reported ? karst_matrix_values_changed(A) : karst_matrix_update_values(A, value), "new values");
  karst_status status = karst_solver_solve(solver, b, x, &result);
  tap_ok(status == KARST_ERROR_ARGUMENT && strncmp(karst_context_error(context), sentence, sizeof sentence - 1) == 0,
         "solve: %s", karst_context_error(context));
  status = karst_precond_apply(precond, b, x);
  tap_ok(status == KARST_ERROR_ARGUMENT && strncmp(karst_context_error(context), sentence, sizeof sentence - 1) == 0,
         "apply: %s", karst_context_error(context));
  tap_need(context, karst_solver_update(solver), "update");
  tap_need(context, karst_precond_update(precond), "update");
  tap_need(context, karst_precond_apply(precond, b, x), "apply");
  tap_need(context, karst_matrix_residual(A, b, x, r, &norm), "residual");
  tap_ok(norm < 1e-13, "a tridiagonal matrix has exact factors, here those of the new values (%.1e)", norm);
  tap_need(context, karst_vector_fill(x, 0), "start");
  result = solved(solver, b, x);
  tap_need(context, karst_matrix_residual(A, b, x, r, &norm), "residual");
  tap_ok(result.reason > 0 && norm < 1e-7, "and the solver solves with them (%.1e)", norm);
  karst_precond_destroy(precond);
  karst_solver_destroy(solver);
  karst_vector_destroy(b);
  karst_vector_destroy(x);
  karst_vector_destroy(r);
  karst_matrix_destroy(A);
}

/* Fails like an update on a GPU may fail. */
static karst_status fail_to_update(karst_precond *p)
{
  return karst_fail(p->context, KARST_ERROR_DEVICE, "this update fails");
}

/* Updates with a method whose numeric half fails. */
static karst_status update_in_vain(karst_precond *precond, karst_solver *solver)
{
  const struct karst_precond_ops *sound = precond->ops;
  struct karst_precond_ops failing = *sound;
  failing.update = fail_to_update;
  precond->ops = &failing;
  const karst_status status = solver ? karst_solver_update(solver) : karst_precond_update(precond);
  precond->ops = sound;
  return status;
}

/* After a failed update the factors belong to other values or are incomplete. */
static void a_failed_update_is_remembered(karst_context *context)
{
  double value[BLOCKS];
  karst_solver *solver;
  karst_precond *precond;
  karst_result result;
  tridiagonal(3, value);
  karst_matrix *A = make_matrix(context, value, KARST_COPY);
  karst_vector *b = vector_of(context, ROWS, 1), *x = vector_of(context, ROWS, 0);
  tap_need(context, karst_solver_create(context, NULL, &solver), "solver");
  tap_need(context, karst_solver_setup(solver, A), "setup");
  tap_need(context, karst_precond_create(context, NULL, A, &precond), "preconditioner");
  tridiagonal(4, value);
  tap_need(context, karst_matrix_update_values(A, value), "new values");
  tap_ok(update_in_vain(precond, NULL) == KARST_ERROR_DEVICE, "an update of a preconditioner that fails");
  karst_status status = karst_precond_apply(precond, b, x);
  tap_ok(status == KARST_ERROR_ARGUMENT && strstr(karst_context_error(context), "preconditioner's last update failed"),
         "apply is refused: %s", karst_context_error(context));
  tap_ok(update_in_vain(solver->precond, solver) == KARST_ERROR_DEVICE, "an update of a solver that fails");
  status = karst_solver_solve(solver, b, x, &result);
  tap_ok(status == KARST_ERROR_ARGUMENT && strstr(karst_context_error(context), "solver's last update failed"),
         "solve is refused: %s", karst_context_error(context));
  tap_need(context, karst_precond_update(precond), "update");
  tap_need(context, karst_solver_update(solver), "update");
  tap_ok(karst_precond_apply(precond, b, x) == KARST_SUCCESS &&
             karst_solver_solve(solver, b, x, &result) == KARST_SUCCESS && result.reason > 0,
         "apply and solve work after an update that succeeds");
  karst_precond_destroy(precond);
  karst_solver_destroy(solver);
  karst_vector_destroy(b);
  karst_vector_destroy(x);
  karst_matrix_destroy(A);
}

static void stale_values(karst_context *context)
{
  stale_values_are_refused(context, false);
  stale_values_are_refused(context, true);
}

static void unknown_ownership(karst_context *context)
{
  double value[BLOCKS];
  karst_matrix *A;
  tridiagonal(3, value);
  karst_status status = karst_matrix_create(context, ROWS, 1, start, column, value, (karst_ownership)7, &A);
  tap_ok(status == KARST_ERROR_ARGUMENT && !A && strstr(karst_context_error(context), "7"), "an invalid ownership: %s",
         karst_context_error(context));
  tap_need(context, karst_matrix_create(context, 0, 3, start, NULL, NULL, KARST_REFERENCE, &A), "empty matrix");
  tap_ok(karst_matrix_values_changed(A) == KARST_SUCCESS && karst_matrix_update_values(A, NULL) == KARST_SUCCESS,
         "a matrix without rows takes new values");
  karst_matrix_destroy(A);
}

/* The first update of a matrix that refers to the caller's array allocates memory. If that fails, the matrix stays as
 * it was. Later updates allocate nothing. */
static void allocations(void)
{
  struct failing_allocator memory = {0};
  double value[BLOCKS], other[BLOCKS];
  tridiagonal(3, value);
  tridiagonal(4, other);
  karst_context *context = failing_context(&memory);
  karst_matrix *A = make_matrix(context, value, KARST_REFERENCE);
  memory.fail_at = memory.calls + 1;
  tap_ok(karst_matrix_update_values(A, other) == KARST_ERROR_NO_MEMORY, "no memory for values of its own");
  memory.fail_at = 0;
  tap_ok(row_sum(context, A) == 1 && karst_matrix_values_changed(A) == KARST_SUCCESS, "the matrix stays as it was");
  long before = memory.calls;
  tap_need(context, karst_matrix_update_values(A, other), "first update");
  tap_ok(memory.calls == before + 1, "the first update allocates once");
  tap_need(context, karst_matrix_update_values(A, value), "second update");
  tap_ok(memory.calls == before + 1, "the second update allocates nothing, though it takes the array once referred to");
  karst_matrix_destroy(A);
  karst_context_destroy(context);
  tap_ok(memory.outstanding == 0, "all memory is released");
}

int main(void)
{
  tap_each_device(the_callers_array_is_not_written_to, "the caller's array");
  tap_each_device(values_written_in_place, "values written in place");
  tap_each_device(stale_values, "stale values");
  tap_each_device(a_failed_update_is_remembered, "a failed update");
  tap_each_device(a_forgotten_change_is_noticed, "forgotten changes");
  tap_each_device(unknown_ownership, "ownership");
  allocations();
  return tap_done();
}
