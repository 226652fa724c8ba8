/* test_errors.c - wrong arguments are refused with a sentence, NULL objects are harmless, a shortage of memory gives its
 * status and releases everything, and solves allocate nothing. */
#include "lib/backend/backend.h"
#include "tests/support/failing_allocator.h"
#include "tests/support/tridiagonal.h"

static void refuse(karst_context *context, karst_tridiagonal_shape shape, karst_status expected, const char *says)
{
  karst_tridiagonal *batch = (karst_tridiagonal *)context; /* any pointer but NULL */
  const karst_status status = karst_tridiagonal_create(context, &shape, &batch);
  if (!tap_ok(status == expected && !batch && strstr(karst_context_error(context), says), "refused: %s", says))
    tap_note("%s: \"%s\"", karst_status_text(status), karst_context_error(context));
}

/* Whether a call was refused for an argument that is NULL, with a sentence that names it; forgets the sentence. */
static bool is_missing(karst_context *context, karst_status status, const char *name)
{
  char says[64];
  snprintf(says, sizeof says, "%s is NULL", name);
  const bool right = status == KARST_ERROR_ARGUMENT && strcmp(karst_context_error(context), says) == 0;
  if (!right) tap_note("%s: %s", name, karst_context_error(context));
  karst_context_fail(context, KARST_ERROR_ARGUMENT, "forgotten");
  return right;
}

static void refuse_shapes(karst_context *context)
{
  const karst_tridiagonal_shape sound = {.systems = 2, .rows = 3, .block_size = 2};
  karst_tridiagonal_shape shape = sound;
  karst_tridiagonal *batch = NULL;
  shape.systems = 0;
  refuse(context, shape, KARST_ERROR_ARGUMENT, "at least 1");
  shape = sound;
  shape.rows = -1;
  refuse(context, shape, KARST_ERROR_ARGUMENT, "at least 1");
  shape = sound;
  shape.block_size = 0;
  refuse(context, shape, KARST_ERROR_ARGUMENT, "at least 1");
  shape = sound;
  shape.layout = (karst_tridiagonal_layout)2;
  refuse(context, shape, KARST_ERROR_ARGUMENT, "no layout");
  shape = sound;
  shape.method = (karst_tridiagonal_method)6;
  refuse(context, shape, KARST_ERROR_ARGUMENT, "no method");
  shape = sound;
  shape.systems = INT64_MAX / 64;
  refuse(context, shape, KARST_ERROR_ARGUMENT, "2^53");
  shape = sound;
  shape.block_size = 46341;
  refuse(context, shape, KARST_ERROR_ARGUMENT, "at most 46340");
  tap_ok(karst_tridiagonal_create(NULL, &sound, &batch) == KARST_ERROR_ARGUMENT &&
             is_missing(context, karst_tridiagonal_create(context, NULL, &batch), "the shape of the batch") &&
             is_missing(context, karst_tridiagonal_create(context, &sound, NULL), "the place for the batch"),
         "refused: NULL for a context, a shape or the object");
}

static void refuse_calls(karst_context *context)
{
  const karst_tridiagonal_shape shape = {.systems = 1, .rows = 2, .block_size = 1};
  double a[] = {0, 1}, b[] = {4, 4}, c[] = {1, 0}, f[] = {5, 5}, u[2] = {0}, v[2];
  karst_tridiagonal *batch = NULL;
  tap_need(context, karst_tridiagonal_create(context, &shape, &batch), "batch");
  int64_t system = 5;
  karst_index row = 5;
  tap_ok(karst_tridiagonal_outcome(batch, &system, &row) == KARST_SOUND && system == -1 && row == -1,
         "a new batch has no failure");
  tap_ok(karst_tridiagonal_solve_factored(batch, 1, f, u) == KARST_ERROR_ARGUMENT &&
             strstr(karst_context_error(context), "karst_tridiagonal_factor"),
         "refused: a solve without factors");
  static const char *const name[] = {"lower", "diagonal", "upper", "right"};
  const double *const in[] = {a, b, c, f};
  bool refused = is_missing(context, karst_tridiagonal_solve(batch, a, b, c, f, NULL), "solution") &&
                 karst_tridiagonal_solve(NULL, a, b, c, f, u) == KARST_ERROR_ARGUMENT &&
                 karst_tridiagonal_factor(NULL, a, b, c) == KARST_ERROR_ARGUMENT;
  for (int i = 0; i < 4; i++) {
    const double *given[] = {in[0], in[1], in[2], in[3]};
    given[i] = NULL;
    refused = is_missing(context, karst_tridiagonal_solve(batch, given[0], given[1], given[2], given[3], u), name[i]) &&
              refused;
    if (i < 3)
      refused = is_missing(context, karst_tridiagonal_factor(batch, given[0], given[1], given[2]), name[i]) && refused;
  }
  tap_ok(refused, "refused: NULL for an array");
  tap_need(context, karst_tridiagonal_factor(batch, a, b, c), "factor");
  tap_ok(karst_tridiagonal_solve_factored(batch, 0, f, u) == KARST_ERROR_ARGUMENT &&
             is_missing(context, karst_tridiagonal_solve_factored(batch, 1, NULL, u), "right") &&
             is_missing(context, karst_tridiagonal_solve_factored(batch, 1, f, NULL), "solution") &&
             karst_tridiagonal_solve_factored(NULL, 1, f, u) == KARST_ERROR_ARGUMENT,
         "refused: no right-hand side");
  tap_need(context, karst_tridiagonal_solve_factored(batch, 1, f, v), "solve");
  tap_ok(fabs(v[0] - 1) < 1e-15 && fabs(v[1] - 1) < 1e-15, "the factors survive");
  tap_ok(karst_tridiagonal_convert(batch, 0, KARST_TRIDIAGONAL_AOS, f, v) == KARST_ERROR_ARGUMENT &&
             karst_tridiagonal_convert(batch, 1, (karst_tridiagonal_layout)7, f, v) == KARST_ERROR_ARGUMENT &&
             is_missing(context, karst_tridiagonal_convert(batch, 1, KARST_TRIDIAGONAL_AOS, NULL, v), "from") &&
             is_missing(context, karst_tridiagonal_convert(batch, 1, KARST_TRIDIAGONAL_AOS, f, NULL), "to") &&
             karst_tridiagonal_convert(NULL, 1, KARST_TRIDIAGONAL_AOS, f, v) == KARST_ERROR_ARGUMENT,
         "refused: conversions without arrays, scalars or a layout");
  karst_tridiagonal_destroy(batch);
}

static void accept_null(void)
{
  int64_t system = 5;
  karst_index row = 5;
  karst_tridiagonal_destroy(NULL);
  tap_ok(karst_tridiagonal_outcome(NULL, &system, &row) == KARST_SOUND && system == -1 && row == -1 &&
             karst_tridiagonal_memory(NULL) == 0 && karst_tridiagonal_get_shape(NULL).systems == 0 &&
             strcmp(karst_tridiagonal_describe(NULL), "") == 0,
         "NULL is accepted where it can be");
}

/* The size of arrays whose number of right-hand sides is too large. Nothing is read. */
static void refuse_sides(karst_context *context)
{
  const karst_tridiagonal_shape shape = {.systems = 1, .rows = 1, .block_size = 1};
  double one = 1, u;
  karst_tridiagonal *batch = NULL;
  tap_need(context, karst_tridiagonal_create(context, &shape, &batch), "batch");
  tap_need(context, karst_tridiagonal_factor(batch, &one, &one, &one), "factor");
  tap_ok(karst_tridiagonal_solve_factored(batch, -3, &one, &u) == KARST_ERROR_ARGUMENT &&
             strstr(karst_context_error(context), "-3"),
         "refused: a negative number of right-hand sides");
  karst_tridiagonal_destroy(batch);
}

static karst_status run(karst_context *context, void *user)
{
  const karst_tridiagonal_shape *shape = user;
  struct tridiagonal t = tridiagonal_random(*shape, 1);
  struct tridiagonal_arrays arrays = tridiagonal_arrays(&t);
  karst_tridiagonal *batch = NULL;
  karst_status status = tap_set_threads(context, strstr(karst_build_features(), "OpenMP") ? 2 : 1);
  if (!status) status = karst_tridiagonal_create(context, shape, &batch);
  if (!status)
    status = karst_tridiagonal_solve(batch, arrays.lower, arrays.diagonal, arrays.upper, arrays.right, arrays.solution);
  if (!status) status = karst_tridiagonal_factor(batch, arrays.lower, arrays.diagonal, arrays.upper);
  if (!status) status = karst_tridiagonal_solve_factored(batch, 1, arrays.right, arrays.solution);
  if (status && batch) { /* no memory for the factors: a solve still works, and none is claimed with factors */
    if (karst_tridiagonal_solve_factored(batch, 1, arrays.right, arrays.solution) != KARST_ERROR_ARGUMENT ||
        karst_tridiagonal_solve(batch, arrays.lower, arrays.diagonal, arrays.upper, arrays.right, arrays.solution) !=
            KARST_SUCCESS ||
        tridiagonal_worst(&t, arrays.solution) > 100)
      status = KARST_ERROR_ARGUMENT;
  }
  karst_tridiagonal_destroy(batch);
  tridiagonal_arrays_free(&arrays);
  tridiagonal_free(&t);
  return status;
}

static void allocate_nothing(karst_tridiagonal_shape shape)
{
  struct failing_allocator memory = {0};
  karst_context *context = failing_context(&memory);
  struct tridiagonal t = tridiagonal_random(shape, 1);
  struct tridiagonal_arrays arrays = tridiagonal_arrays(&t);
  karst_tridiagonal *batch = tridiagonal_create(context, &t);
  const long made = memory.calls;
  tridiagonal_solve(context, batch, &arrays);
  const bool solved = memory.calls == made;
  tridiagonal_factor(context, batch, &arrays);
  const long factored = memory.calls;
  const size_t held = memory.bytes;
  tridiagonal_factor(context, batch, &arrays);
  tridiagonal_solve(context, batch, &arrays);
  tap_need(context, karst_tridiagonal_solve_factored(batch, 1, arrays.right, arrays.solution), "solve");
  tap_ok(solved && memory.calls == factored, "%s: solves allocate nothing, and factors once", tridiagonal_text(&shape));
  const double reported = (double)karst_tridiagonal_memory(batch);
  karst_tridiagonal_destroy(batch);
  const double freed = (double)(held - memory.bytes);
  /* Arrays have up to 128 bytes for their alignment. */
  tap_ok(reported <= freed && reported >= freed - 2048, "it reports its memory: %.0f of %.0f bytes", reported, freed);
  tridiagonal_arrays_free(&arrays);
  tridiagonal_free(&t);
  karst_context_destroy(context);
  tap_ok(memory.outstanding == 0, "all memory is released");
}

static void memory_fails(void)
{
  for (int method = KARST_TRIDIAGONAL_THOMAS; method <= KARST_TRIDIAGONAL_SPLIT; method++)
    for (int m = 2; m < 12; m += 8) {
      karst_tridiagonal_shape shape = {.systems = 40, .rows = 40, .block_size = m};
      shape.method = (karst_tridiagonal_method)method;
      char what[200];
      snprintf(what, sizeof what, "%s", tridiagonal_text(&shape));
      fail_each_allocation(run, &shape, what);
      allocate_nothing(shape);
    }
}

/* A batch whose arrays can be counted, but fit into no memory. */
static void refuse_memory(karst_context *context)
{
  const karst_tridiagonal_shape shape = {1, INT32_MAX, 500, 0, KARST_TRIDIAGONAL_AOS, KARST_TRIDIAGONAL_THOMAS};
  karst_tridiagonal *batch = NULL;
  const karst_status status = karst_tridiagonal_create(context, &shape, &batch);
  tap_ok((status == KARST_ERROR_NO_MEMORY || status == KARST_ERROR_OPTION) && !batch, "refused: %s",
         karst_context_error(context));
  double *memory;
  tap_ok(karst_device_doubles(context, INT64_MAX / 4, "an array", &memory) == KARST_ERROR_NO_MEMORY && !memory &&
             strstr(karst_context_error(context), "an array needs more bytes than can be counted"),
         "refused: %s", karst_context_error(context));
}

/* An allocation that is refused is named with its bytes, as one number. */
static void bytes_are_named(void)
{
  karst_context *context = tap_context();
  const karst_tridiagonal_shape shape = {1, INT32_MAX, 500, 0, KARST_TRIDIAGONAL_AOS, KARST_TRIDIAGONAL_CR};
  karst_tridiagonal *batch = NULL;
  tap_ok(karst_tridiagonal_create(context, &shape, &batch) == KARST_ERROR_NO_MEMORY && !batch &&
             (strstr(karst_context_error(context), " bytes") || strstr(karst_context_error(context), "be counted")) &&
             !strstr(karst_context_error(context), "times"),
         "on the CPU: %s", karst_context_error(context));
  karst_context_destroy(context);
}

static void test(karst_context *context)
{
  if (!tridiagonal_is_available(context, "errors")) return;
  refuse_shapes(context);
  refuse_calls(context);
  refuse_sides(context);
  refuse_memory(context);
}

int main(void)
{
  accept_null();
  tap_each_device(test, "errors of tridiagonal systems");
  memory_fails();
  bytes_are_named();
  return tap_done();
}
