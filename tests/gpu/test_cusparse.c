/* cuSPARSE's incomplete LU on the pattern of ILU(k) is the same preconditioner as Karst's own: M^-1 r agrees to
 * rounding, for new values too. A singular block and a NaN are named, and the preconditioner recovers from both. If
 * cuSPARSE is not available, a sentence says why. */
#include "tests/support/problem.h"
#include "tools/src/peers/peers.h"
#include "tests/support/failing_allocator.h"
#include "lib/matrix/matrix.h"

#include <math.h>
#include <string.h>

static karst_status create(karst_context *context, const char *name, int level, const karst_matrix *A,
                           karst_precond **precond)
{
  tap_settings options = settings_for(NULL, name);
  options.level = level;
  return tap_precond_create(context, &options, A, precond);
}

/* Returns the largest difference of the two z = M^-1 r over the largest entry of the second. */
static double difference(const karst_precond *P, const karst_precond *Q, int64_t n)
{
  double *z = applied_to_random(P, tap_seed(), NULL), *expected = applied_to_random(Q, tap_seed(), NULL);
  const double error = relative_difference(n, z, expected);
  free(z);
  free(expected);
  return error;
}

/* Multiplies the values of A by factors near 1; the diagonal's share of a row stays large. */
static void change_values(karst_context *context, karst_matrix *A)
{
  double *value = values_on_host(A);
  for (int64_t e = 0; e < karst_entries(A); e++) value[e] *= 1 + 0.1 * tap_random();
  tap_need(context, karst_matrix_update_values(A, value), "update");
  free(value);
}

/* Blocks that are diagonally dominant need no pivots, so that the two eliminations differ by rounding only. */
static void agrees(karst_context *context, karst_index n, int b, int level)
{
  karst_matrix *A = tap_random_matrix(context, n, b, 3, 1);
  karst_precond *own, *peer;
  tap_need(context, create(context, "iluk", level, A, &own), "iluk");
  tap_need(context, create(context, "cusparse", level, A, &peer), "cusparse");
  double error = difference(peer, own, karst_matrix_rows(A));
  tap_ok(error < 1e-12, "%lld block rows, b = %d, level %d: M^-1 r is that of iluk (%.1e)", (long long)n, b, level,
         error);
  karst_solver_info own_info, peer_info;
  tap_need(context, karst_precond_get_info(own, &own_info), "info");
  tap_need(context, karst_precond_get_info(peer, &peer_info), "info");
  tap_ok(peer_info.factor_entries == own_info.factor_entries && peer_info.memory > 0,
         "the factors have as many entries as those of iluk");
  change_values(context, A);
  tap_need(context, karst_precond_update(own), "iluk, update");
  tap_need(context, karst_precond_update(peer), "cusparse, update");
  error = difference(peer, own, karst_matrix_rows(A));
  tap_ok(error < 1e-12, "after an update M^-1 r is that of iluk (%.1e)", error);
  karst_precond_destroy(peer);
  karst_precond_destroy(own);
  karst_matrix_destroy(A);
}

static void names_bad_blocks(karst_context *context, int b)
{
  const double sound[9] = {4, 1, 1, 1, 4, 1, 1, 1, 4}, nan[9] = {NAN, 0, 0, 0, 1, 0, 0, 0, 1};
  const double singular[9] = {1, 2, 3, 2, 4, 6, 1, 1, 1}, zero[1] = {0};
  karst_matrix *A = tap_random_matrix(context, 25, b, 2, 1);
  karst_precond *P;
  karst_index row;
  replace_row(A, 7, b == 1 ? zero : singular);
  tap_need(context, create(context, "cusparse", 0, A, &P), "cusparse");
  tap_ok(karst_precond_outcome(P, &row) == KARST_SINGULAR_BLOCK && row == 7,
         "b = %d: a singular block is named (row %lld)", b, (long long)row);
  replace_row(A, 7, sound);
  tap_need(context, karst_precond_update(P), "update");
  tap_ok(karst_precond_outcome(P, &row) == KARST_SOUND && row == -1, "b = %d: a good block makes it sound", b);
  replace_row(A, 11, nan);
  tap_need(context, karst_precond_update(P), "update");
  tap_ok(karst_precond_outcome(P, &row) == KARST_NOT_FINITE && row == 11, "b = %d: a NaN is named (row %lld)", b,
         (long long)row);
  replace_row(A, 11, sound);
  tap_need(context, karst_precond_update(P), "update");
  tap_ok(karst_precond_outcome(P, &row) == KARST_SOUND && row == -1, "b = %d: a good block makes it sound again", b);
  karst_precond_destroy(P);
  karst_matrix_destroy(A);
}

/* Sets up and solves, for scalars and for blocks, in a context of its own. */
static karst_status solve(karst_context *context, void *user)
{
  const char *const problem[] = {"poisson2d:6x6", "convdiff:3x3x2"};
  tap_settings options = settings_for(NULL, "cusparse");
  options.level = 1;
  karst_status status = karst_context_set_device(context, user);
  if (!status) status = tool_peers_register(context);
  for (int i = 0; i < 2 && !status; i++) {
    karst_matrix *A = NULL;
    karst_vector *b = NULL, *x = NULL;
    karst_solver *solver = NULL;
    karst_result result;
    status = karst_gallery_create(context, problem[i], 0, &A, NULL);
    if (!status) status = karst_vector_create(context, karst_matrix_rows(A), &b);
    if (!status) status = karst_vector_create(context, karst_matrix_rows(A), &x);
    if (!status) status = karst_vector_fill(b, 1);
    if (!status) status = tap_solver_setup(context, &options, A, &solver);
    if (!status) status = karst_solver_solve(solver, b, x, &result);
    if (!status && result.reason < 0) status = KARST_ERROR_DEVICE;
    karst_solver_destroy(solver);
    karst_vector_destroy(b);
    karst_vector_destroy(x);
    karst_matrix_destroy(A);
  }
  return status;
}

/* Whether cusparse is in the list of preconditioners. */
static bool is_listed(const karst_context *context)
{
  const char *name;
  for (size_t i = 0; (name = karst_options_method(context, "precond", i, NULL, NULL)); i++)
    if (strcmp(name, "cusparse") == 0) return true;
  return false;
}

/* A build without cusparse does not know the name, and the commands say why. */
static void explains(karst_context *context)
{
  const char *why = tool_peers_explain("precond", "cusparse");
  karst_options *options;
  tap_ok(is_listed(context) == !why, "cusparse is %s", why ? "in no list" : "listed");
  tap_ok(!tool_peers_explain("precond", "iluk") && !tool_peers_explain("solver", "cusparse"),
         "no other name is explained");
  if (!why) return;
  tap_need(context, karst_options_create(context, &options), "options");
  tap_ok(karst_options_set(options, "precond", "cusparse") == KARST_ERROR_OPTION, "the library does not know cusparse");
  tap_ok(strstr(why, "--with-cusparse") || strstr(why, "--enable-int64"), "the commands say why: %s", why);
  karst_options_destroy(options);
}

/* Returns whether cuSPARSE works here. If it is missing, the status and the sentence have to say so. */
static bool is_available(karst_context *context)
{
  explains(context);
  if (!is_listed(context)) return false;
  karst_matrix *A = tap_random_matrix(context, 3, 1, 1, 1);
  karst_precond *P;
  karst_status status = create(context, "cusparse", 0, A, &P);
  karst_precond_destroy(P);
  karst_matrix_destroy(A);
  if (!status) return true;
  tap_ok(status == KARST_ERROR_NOT_BUILT && !P && strlen(karst_context_error(context)) > 0,
         "cusparse is not available: %s", karst_context_error(context));
  return false;
}

static void cusparse(karst_context *context)
{
  const int sizes[] = {1, 2, 3, 5, 8};
  tap_need(context, tool_peers_register(context), "cusparse");
  if (!is_available(context)) {
    if (strncmp(karst_context_device(context), "cpu", 3) == 0)
      tap_ok(karst_context_stream(context) == NULL, "the CPU has no stream");
    return;
  }
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    for (int level = 0; level < 3; level++) agrees(context, 60, sizes[i], level);
  agrees(context, 1, 1, 0);
  agrees(context, 1, 3, 1);
  names_bad_blocks(context, 1);
  names_bad_blocks(context, 3);
  tap_ok(karst_context_stream(context) != NULL, "cusparse works on the context's stream");
  fail_each_allocation(solve, "cuda", "a solve with cuSPARSE");
}

int main(void)
{
  tap_each_device(cusparse, "cuSPARSE's incomplete LU");
  return tap_done();
}
