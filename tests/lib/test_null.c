/* A call with NULL for an object, an array or a result returns KARST_ERROR_ARGUMENT. The context of its other arguments
 * has an error that names the NULL. Queries of NULL return nothing, and destroy and set functions accept it. */
#include "tests/support/problem.h"

#include <math.h>
#include <string.h>

/* The objects that the calls need. */
struct objects {
  karst_context *context;
  karst_matrix *A, *no_matrix;
  karst_vector *x, *y, *no_vector;
  karst_options *options, *no_options;
  karst_solver *solver, *no_solver;
  karst_precond *M, *no_precond;
  karst_analysis *analysis, *no_analysis;
};

static const char *const untouched = "nothing was said";

/* Returns whether a call with this status was refused with a sentence that names the NULL. */
static void check(const karst_context *context, const char *call, karst_status status)
{
  const char *sentence = karst_context_error(context);
  tap_ok(status == KARST_ERROR_ARGUMENT && (strstr(sentence, " is NULL") || strstr(sentence, " are NULL")), "%s: %s",
         call, sentence);
}

#define REFUSED(call)                                                                                                  \
  do {                                                                                                                 \
    karst_context_fail(o->context, KARST_ERROR_ARGUMENT, untouched);                                                   \
    check(o->context, #call, call);                                                                                    \
  } while (0)

/* No context can be reached. */
#define SILENT(call) tap_ok((call) == KARST_ERROR_ARGUMENT, "%s", #call)

static const karst_index start[] = {0, 2, 4}, column[] = {0, 1, 0, 1};
static const double value[] = {4, 1, 1, 4};

static void vectors(struct objects *o)
{
  double host[2] = {1, 2}, number;
  REFUSED(karst_vector_create(o->context, 2, NULL));
  REFUSED(karst_vector_wrap(o->context, 2, NULL, &o->no_vector));
  REFUSED(karst_vector_wrap(o->context, 2, host, NULL));
  REFUSED(karst_vector_set(o->x, 2, NULL));
  REFUSED(karst_vector_get(o->x, 2, NULL));
  REFUSED(karst_vector_norm(o->x, NULL));
  REFUSED(karst_vector_dot(NULL, o->y, &number));
  REFUSED(karst_vector_dot(o->x, NULL, &number));
  REFUSED(karst_vector_dot(o->x, o->y, NULL));
  REFUSED(karst_vector_copy(NULL, o->y));
  REFUSED(karst_vector_copy(o->x, NULL));
  REFUSED(karst_vector_add(1, NULL, o->y));
  REFUSED(karst_vector_add(1, o->x, NULL));
  REFUSED(karst_vector_read(o->context, NULL, &o->no_vector));
  REFUSED(karst_vector_read(o->context, "file", NULL));
  REFUSED(karst_vector_read_beside(o->context, NULL, &o->no_vector));
  REFUSED(karst_vector_read_beside(o->context, "file", NULL));
  REFUSED(karst_vector_write(o->x, NULL));
  SILENT(karst_vector_create(NULL, 2, &o->no_vector));
  SILENT(karst_vector_wrap(NULL, 2, host, &o->no_vector));
  SILENT(karst_vector_set(NULL, 2, host));
  SILENT(karst_vector_get(NULL, 2, host));
  SILENT(karst_vector_fill(NULL, 1));
  SILENT(karst_vector_fill_random(NULL, 1));
  SILENT(karst_vector_norm(NULL, &number));
  SILENT(karst_vector_dot(NULL, NULL, &number));
  SILENT(karst_vector_copy(NULL, NULL));
  SILENT(karst_vector_scale(1, NULL));
  SILENT(karst_vector_add(1, NULL, NULL));
  SILENT(karst_vector_read(NULL, "file", &o->no_vector));
  SILENT(karst_vector_read_beside(NULL, "file", &o->no_vector));
  SILENT(karst_vector_write(NULL, "file"));
  tap_ok(karst_vector_length(NULL) == 0 && !karst_vector_values(NULL) && !karst_vector_const_values(NULL) &&
             *karst_vector_source(NULL) == '\0',
         "a NULL vector has no length, values or source");
  karst_vector_destroy(NULL);
}

static void matrices(struct objects *o)
{
  karst_index inserted;
  karst_grid grid;
  karst_matrix **made = &o->no_matrix;
  REFUSED(karst_matrix_create(o->context, 2, 1, NULL, column, value, KARST_COPY, made));
  REFUSED(karst_matrix_create(o->context, 2, 1, start, NULL, value, KARST_COPY, made));
  REFUSED(karst_matrix_create(o->context, 2, 1, start, column, NULL, KARST_COPY, made));
  REFUSED(karst_matrix_create(o->context, 2, 1, start, column, value, KARST_COPY, NULL));
  REFUSED(karst_matrix_create_pattern(o->context, 2, 1, NULL, column, KARST_COPY, made));
  REFUSED(karst_matrix_create_pattern(o->context, 2, 1, start, NULL, KARST_COPY, made));
  REFUSED(karst_matrix_create_pattern(o->context, 2, 1, start, column, KARST_COPY, NULL));
  REFUSED(karst_matrix_create_filled(o->A, 1, NULL));
  REFUSED(karst_matrix_insert_diagonal(o->A, NULL, &inserted));
  REFUSED(karst_matrix_convert(o->A, 1, NULL));
  REFUSED(karst_matrix_update_values(o->A, NULL));
  REFUSED(karst_matrix_check(o->context, 2, NULL, column));
  REFUSED(karst_matrix_check(o->context, 2, start, NULL));
  REFUSED(karst_matrix_multiply(NULL, o->x, o->y));
  REFUSED(karst_matrix_multiply(o->A, NULL, o->y));
  REFUSED(karst_matrix_multiply(o->A, o->x, NULL));
  REFUSED(karst_matrix_residual(NULL, o->x, o->x, o->y, NULL));
  REFUSED(karst_matrix_residual(o->A, NULL, o->x, o->y, NULL));
  REFUSED(karst_matrix_residual(o->A, o->x, NULL, o->y, NULL));
  REFUSED(karst_matrix_residual(o->A, o->x, o->x, NULL, NULL));
  REFUSED(karst_matrix_read(o->context, NULL, 1, made));
  REFUSED(karst_matrix_read(o->context, "file", 1, NULL));
  REFUSED(karst_matrix_read_stored(o->context, NULL, 1, made));
  REFUSED(karst_matrix_read_stored(o->context, "file", 1, NULL));
  REFUSED(karst_matrix_write(o->A, NULL));
  REFUSED(karst_matrix_get_grid(o->A, NULL));
  REFUSED(karst_gallery_create(o->context, NULL, 0, made, NULL));
  REFUSED(karst_gallery_create(o->context, "poisson2d:2x2", 0, NULL, NULL));
  REFUSED(karst_gallery_exact(o->context, NULL, &o->no_vector));
  REFUSED(karst_gallery_exact(o->context, "unitsquare:2x2", NULL));
  SILENT(karst_matrix_create(NULL, 2, 1, start, column, value, KARST_COPY, made));
  SILENT(karst_matrix_create_pattern(NULL, 2, 1, start, column, KARST_COPY, made));
  SILENT(karst_matrix_create_filled(NULL, 1, made));
  SILENT(karst_matrix_insert_diagonal(NULL, made, &inserted));
  SILENT(karst_matrix_convert(NULL, 1, made));
  SILENT(karst_matrix_update_values(NULL, value));
  SILENT(karst_matrix_values_changed(NULL));
  SILENT(karst_matrix_check(NULL, 2, start, column));
  SILENT(karst_matrix_check_diagonal(NULL));
  SILENT(karst_matrix_multiply(NULL, NULL, NULL));
  SILENT(karst_matrix_residual(NULL, NULL, NULL, NULL, NULL));
  SILENT(karst_matrix_read(NULL, "file", 1, made));
  SILENT(karst_matrix_read_stored(NULL, "file", 1, made));
  SILENT(karst_matrix_write(NULL, "file"));
  SILENT(karst_matrix_set_grid(NULL, 2, 1, 1));
  SILENT(karst_matrix_set_grid_cells(NULL, 2, 1, 1, NULL));
  SILENT(karst_matrix_find_grid(NULL));
  SILENT(karst_matrix_get_grid(NULL, &grid));
  SILENT(karst_matrix_check_grid(NULL, NULL));
  SILENT(karst_gallery_create(NULL, "poisson2d:2x2", 0, made, NULL));
  SILENT(karst_gallery_exact(NULL, "unitsquare:2x2", &o->no_vector));
  tap_ok(!karst_matrix_values(NULL) && karst_matrix_block_size(NULL) == 0 && karst_matrix_block_rows(NULL) == 0 &&
             karst_matrix_blocks(NULL) == 0 && karst_matrix_entries(NULL) == 0 && karst_matrix_rows(NULL) == 0 &&
             karst_matrix_rows_unpadded(NULL) == 0 && !karst_matrix_row_start(NULL) && !karst_matrix_column(NULL) &&
             !karst_matrix_device_row_start(NULL) && !karst_matrix_device_column(NULL) && !karst_matrix_value(NULL),
         "a NULL matrix has no size, pattern or values");
  karst_matrix_forget_grid(NULL);
  karst_matrix_destroy(NULL);
}

static void options(struct objects *o)
{
  const char *text;
  karst_option_info info;
  REFUSED(karst_options_create(o->context, NULL));
  REFUSED(karst_options_copy(o->context, NULL, &o->no_options));
  REFUSED(karst_options_copy(o->context, o->options, NULL));
  REFUSED(karst_options_set(o->options, NULL, "1"));
  REFUSED(karst_options_set(o->options, "level", NULL));
  REFUSED(karst_options_set_integer(o->options, NULL, 1));
  REFUSED(karst_options_set_real(o->options, NULL, 1));
  REFUSED(karst_options_get(o->options, NULL, &text));
  REFUSED(karst_options_get(o->options, "level", NULL));
  SILENT(karst_options_create(NULL, &o->no_options));
  SILENT(karst_options_copy(NULL, o->options, &o->no_options));
  SILENT(karst_options_set(NULL, "level", "1"));
  SILENT(karst_options_set_integer(NULL, "level", 1));
  SILENT(karst_options_set_real(NULL, "rtol", 1));
  SILENT(karst_options_get(NULL, "level", &text));
  tap_ok(!karst_options_used(NULL, "level") && !karst_options_used(o->options, NULL), "no options are used");
  tap_ok(!karst_options_info(o->context, 0, NULL) && karst_options_info(NULL, 0, &info) &&
             !karst_options_method(o->context, NULL, 0, NULL, NULL),
         "rows of options for a NULL row, and of a NULL context");
  karst_options_destroy(NULL);
}

static void solvers(struct objects *o)
{
  karst_result result;
  karst_solver_info info;
  karst_order_cost cost;
  karst_index row[2];
  REFUSED(karst_solver_create(o->context, o->options, NULL));
  REFUSED(karst_solver_setup(o->solver, NULL));
  REFUSED(karst_solver_setup_with(o->solver, NULL, o->analysis));
  REFUSED(karst_solver_setup_with(o->solver, o->A, NULL));
  REFUSED(karst_solver_get_analysis(o->solver, NULL));
  REFUSED(karst_solver_solve(o->solver, NULL, o->y, &result));
  REFUSED(karst_solver_solve(o->solver, o->x, NULL, &result));
  REFUSED(karst_solver_get_info(o->solver, NULL));
  REFUSED(karst_solver_order_cost(o->solver, NULL));
  REFUSED(karst_solver_get_order(o->solver, NULL));
  SILENT(karst_solver_create(NULL, o->options, &o->no_solver));
  SILENT(karst_solver_set_tolerances(NULL, 1, 1, 1));
  SILENT(karst_solver_set_operator(NULL, NULL, NULL));
  SILENT(karst_solver_setup(NULL, o->A));
  SILENT(karst_solver_setup_with(NULL, o->A, o->analysis));
  SILENT(karst_solver_get_analysis(NULL, &o->no_analysis));
  SILENT(karst_solver_update(NULL));
  SILENT(karst_solver_keep(NULL));
  SILENT(karst_solver_solve(NULL, o->x, o->y, &result));
  SILENT(karst_solver_get_info(NULL, &info));
  SILENT(karst_solver_order_cost(NULL, &cost));
  SILENT(karst_solver_get_order(NULL, row));
  tap_ok(karst_solver_explain(NULL) && !karst_solver_report(NULL, 0, NULL) && !karst_solver_report(o->solver, 0, NULL),
         "a NULL solver reports nothing");
  karst_solver_monitor(NULL, NULL, NULL);
  karst_solver_destroy(NULL);
  karst_analysis_destroy(NULL);
}

static void preconditioners(struct objects *o)
{
  karst_solver_info info;
  REFUSED(karst_precond_create(o->context, o->options, NULL, &o->no_precond));
  REFUSED(karst_precond_create(o->context, o->options, o->A, NULL));
  REFUSED(karst_precond_get_info(o->M, NULL));
  REFUSED(karst_precond_put(o->M, NULL, "", 1));
  REFUSED(karst_precond_put_text(o->M, NULL, "text"));
  REFUSED(karst_precond_put_text(o->M, "name", NULL));
  REFUSED(karst_precond_apply(NULL, o->x, o->y));
  REFUSED(karst_precond_apply(o->M, NULL, o->y));
  REFUSED(karst_precond_apply(o->M, o->x, NULL));
  REFUSED(karst_precond_register(o->context, NULL));
  SILENT(karst_precond_create(NULL, o->options, o->A, &o->no_precond));
  SILENT(karst_precond_update(NULL));
  SILENT(karst_precond_keep(NULL));
  SILENT(karst_precond_get_info(NULL, &info));
  SILENT(karst_precond_put(NULL, "name", "", 1));
  SILENT(karst_precond_put_text(NULL, "name", "text"));
  SILENT(karst_precond_apply(NULL, NULL, NULL));
  SILENT(karst_precond_register(NULL, NULL));
  tap_ok(!karst_precond_report(NULL, 0, NULL) && !karst_precond_report(o->M, 0, NULL) &&
             karst_precond_outcome(NULL, NULL) == KARST_SOUND && !karst_precond_context(NULL) &&
             !karst_precond_matrix(NULL) && !karst_precond_settings(NULL) && !karst_precond_user(NULL) &&
             !karst_precond_data(NULL),
         "a NULL preconditioner reports nothing");
  karst_precond_set_data(NULL, NULL);
  karst_precond_set_varies(NULL, 1);
  karst_precond_set_entries(NULL, 1);
  karst_precond_set_memory(NULL, 1);
  karst_precond_set_outcome(NULL, KARST_SOUND, -1);
  karst_precond_destroy(NULL);
}

static void contexts(struct objects *o)
{
  karst_profile row;
  REFUSED(karst_context_set_device(o->context, NULL));
  SILENT(karst_context_create(NULL, NULL));
  SILENT(karst_context_set_device(NULL, "cpu"));
  SILENT(karst_context_set_stream(NULL, NULL));
  SILENT(karst_context_synchronize(NULL));
  SILENT(karst_context_profile(NULL, 1));
  SILENT(karst_context_set_threads(NULL, 1));
  SILENT(karst_context_fail(NULL, KARST_ERROR_ARGUMENT, "sentence"));
  tap_ok(!karst_context_profile_row(NULL, 0, &row) && !karst_context_profile_row(o->context, 0, NULL) &&
             karst_context_threads(NULL) == 0 && !karst_context_stream(NULL) && *karst_context_error(NULL) == '\0' &&
             karst_context_device(NULL),
         "a NULL context has no profile, threads, stream or error");
  karst_context_set_message(NULL, NULL, NULL);
  (void)karst_context_is_host(NULL);
  karst_context_destroy(NULL);
}

static void run(karst_context *context)
{
  struct objects made = {.context = context}, *o = &made;
  o->A = matrix_of(context, 2, 1, start, column, value);
  o->x = vector_of(context, 2, 1);
  o->y = vector_of(context, 2, 0);
  tap_need(context, karst_options_create(context, &o->options), "options");
  tap_need(context, karst_solver_create(context, o->options, &o->solver), "solver");
  tap_need(context, karst_solver_setup(o->solver, o->A), "set-up");
  tap_need(context, karst_solver_get_analysis(o->solver, &o->analysis), "analysis");
  tap_need(context, karst_precond_create(context, o->options, o->A, &o->M), "preconditioner");
  contexts(o);
  vectors(o);
  matrices(o);
  options(o);
  solvers(o);
  preconditioners(o);
  karst_precond_destroy(o->M);
  karst_analysis_destroy(o->analysis);
  karst_solver_destroy(o->solver);
  karst_options_destroy(o->options);
  karst_vector_destroy(o->x);
  karst_vector_destroy(o->y);
  karst_matrix_destroy(o->A);
}

int main(void)
{
  tap_each_device(run, "NULL");
  return tap_done();
}
