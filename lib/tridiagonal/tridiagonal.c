/* tridiagonal.c - batches of block-tridiagonal systems (karst.h): checks the arguments, brings arrays of host memory to
 * the device and back, and calls the kernels of the backend. */
#include "lib/backend/backend.h"
#include "lib/backend/tridiagonal_kernels.h"

static const struct karst_tridiagonal_kernels *kernels_of(const karst_tridiagonal *batch)
{
  return batch->context->backend->tridiagonal;
}

static size_t scalar_of(const karst_tridiagonal *batch) { return batch->shape.single ? sizeof(float) : sizeof(double); }

enum { LARGEST_BLOCK = 46340 }; /* the entries of a block are counted by an int */

/* Scalars of an array with entries of them a row, or -1 if they have more than 2^53 bytes: factors and work space take
 * up to 500 times as many, which fit into 63 bits. */
static int64_t count_of(const karst_tridiagonal_shape *shape, int64_t entries)
{
  const int64_t most = (INT64_C(1) << 53) / (int64_t)sizeof(double);
  if (shape->systems > most / shape->rows) return -1;
  const int64_t rows = shape->systems * shape->rows;
  return rows > most / entries ? -1 : rows * entries;
}

static karst_status check_shape(karst_context *context, const karst_tridiagonal_shape *shape)
{
  if (shape->systems < 1 || shape->rows < 1 || shape->block_size < 1)
    return karst_fail(context, KARST_ERROR_ARGUMENT, "systems, rows and block_size of a batch must be at least 1");
  if (shape->layout != KARST_TRIDIAGONAL_AOS && shape->layout != KARST_TRIDIAGONAL_SOA)
    return karst_fail(context, KARST_ERROR_ARGUMENT, "%d is no layout of a batch", (int)shape->layout);
  if ((int)shape->method < KARST_TRIDIAGONAL_AUTO || shape->method > KARST_TRIDIAGONAL_SPLIT)
    return karst_fail(context, KARST_ERROR_ARGUMENT, "%d is no method for a batch", (int)shape->method);
  if (shape->block_size > LARGEST_BLOCK)
    return karst_fail(context, KARST_ERROR_ARGUMENT, "block_size of a batch is %d, and at most %d", shape->block_size,
                      LARGEST_BLOCK);
  if (count_of(shape, (int64_t)shape->block_size * shape->block_size) < 0)
    return karst_fail(context, KARST_ERROR_ARGUMENT, "the arrays of the batch would have more than 2^53 bytes");
  return KARST_SUCCESS;
}

karst_status karst_tridiagonal_create(karst_context *context, const karst_tridiagonal_shape *shape,
                                      karst_tridiagonal **batch)
{
  karst_tridiagonal *made;
  if (batch) *batch = NULL;
  if (!context || !shape || !batch)
    return karst_missing(context, shape ? "the place for the batch" : "the shape of the batch");
  if (!context->backend->tridiagonal)
    return karst_fail(context, KARST_ERROR_NOT_BUILT, "batches of tridiagonal systems are not available on %s",
                      context->backend->name);
  karst_status status = check_shape(context, shape);
  if (!status) status = karst_allocate_zero(context, &made, 1, sizeof *made, "a batch of tridiagonal systems");
  if (status) return status;
  made->context = context;
  made->shape = *shape;
  status = kernels_of(made)->plan(context, made);
  if (status)
    karst_tridiagonal_destroy(made);
  else
    *batch = made;
  return status;
}

void karst_tridiagonal_destroy(karst_tridiagonal *batch)
{
  if (!batch) return;
  kernels_of(batch)->plan_destroy(batch->context, batch);
  karst_release(batch->context, batch);
}

const char *karst_tridiagonal_describe(const karst_tridiagonal *batch) { return batch ? batch->description : ""; }

karst_tridiagonal_shape karst_tridiagonal_get_shape(const karst_tridiagonal *batch)
{
  return batch ? batch->shape : (karst_tridiagonal_shape){0};
}

int64_t karst_tridiagonal_memory(const karst_tridiagonal *batch)
{
  return batch ? (int64_t)sizeof *batch + batch->memory : 0;
}

/* The arrays of a call, and their places in device memory. */
enum { LOWER, DIAGONAL, UPPER, RIGHT, SOLUTION, ARRAYS };
struct arrays {
  const void *given[ARRAYS]; /* NULL: the call has none */
  size_t bytes[ARRAYS];
  void *placed[ARRAYS]; /* the given array, or a copy in device memory */
};

/* Checks that the arrays first to last are given. */
static karst_status check_given(karst_context *context, const struct arrays *arrays, int first, int last)
{
  static const char *const name[ARRAYS] = {"lower", "diagonal", "upper", "right", "solution"};
  for (int i = first; i <= last; i++)
    if (!arrays->given[i]) return karst_missing(context, name[i]);
  return KARST_SUCCESS;
}

static bool is_copy(const struct arrays *arrays, int i) { return arrays->placed[i] != arrays->given[i]; }

/* Places the arrays. The solution is not read; if it is the right-hand side, they share their place. */
static karst_status place(karst_context *context, struct arrays *arrays)
{
  const struct karst_backend *backend = context->backend;
  karst_status status = KARST_SUCCESS;
  for (int i = 0; i < ARRAYS && !status; i++) {
    const void *given = arrays->given[i];
    arrays->placed[i] = (void *)given;
    if (!given || !backend->owns || backend->owns(context, given)) continue;
    arrays->placed[i] = NULL;
    if (i == SOLUTION && given == arrays->given[RIGHT])
      arrays->placed[i] = arrays->placed[RIGHT];
    else if (i == SOLUTION)
      status = backend->allocate(context, arrays->bytes[i], "a solution of tridiagonal systems", &arrays->placed[i]);
    else
      status = backend->place(context, given, arrays->bytes[i], "an array of tridiagonal systems", &arrays->placed[i]);
  }
  return status;
}

/* Brings the solution back, after a call that succeeded, and releases the copies. */
static karst_status finish(karst_context *context, struct arrays *arrays, karst_status status)
{
  const struct karst_backend *backend = context->backend;
  if (!status && arrays->given[SOLUTION] && is_copy(arrays, SOLUTION))
    status =
        backend->download(context, (void *)arrays->given[SOLUTION], arrays->placed[SOLUTION], arrays->bytes[SOLUTION]);
  for (int i = 0; i < ARRAYS; i++)
    if (arrays->placed[i] && is_copy(arrays, i) && !(i == SOLUTION && arrays->placed[i] == arrays->placed[RIGHT]))
      backend->release(context, arrays->placed[i]);
  return status;
}

static struct arrays matrix_arrays(const karst_tridiagonal *batch, const void *lower, const void *diagonal,
                                   const void *upper)
{
  const int64_t square = (int64_t)batch->shape.block_size * batch->shape.block_size;
  const size_t bytes = (size_t)count_of(&batch->shape, square) * scalar_of(batch);
  return (struct arrays){.given = {lower, diagonal, upper}, .bytes = {bytes, bytes, bytes}};
}

static void add_sides(struct arrays *arrays, size_t bytes, const void *right, void *solution)
{
  arrays->given[RIGHT] = right;
  arrays->given[SOLUTION] = solution;
  arrays->bytes[RIGHT] = arrays->bytes[SOLUTION] = bytes;
}

karst_status karst_tridiagonal_solve(karst_tridiagonal *batch, const void *lower, const void *diagonal,
                                     const void *upper, const void *right, void *solution)
{
  if (!batch) return KARST_ERROR_ARGUMENT;
  karst_context *context = batch->context;
  struct arrays arrays = matrix_arrays(batch, lower, diagonal, upper);
  add_sides(&arrays, (size_t)count_of(&batch->shape, batch->shape.block_size) * scalar_of(batch), right, solution);
  karst_status status = check_given(context, &arrays, LOWER, SOLUTION);
  if (!status) status = place(context, &arrays);
  if (!status) batch->of_factors = false;
  if (!status)
    status = kernels_of(batch)->solve(context, batch, arrays.placed[LOWER], arrays.placed[DIAGONAL],
                                      arrays.placed[UPPER], arrays.placed[RIGHT], arrays.placed[SOLUTION]);
  return finish(context, &arrays, status);
}

karst_status karst_tridiagonal_factor(karst_tridiagonal *batch, const void *lower, const void *diagonal,
                                      const void *upper)
{
  if (!batch) return KARST_ERROR_ARGUMENT;
  karst_context *context = batch->context;
  struct arrays arrays = matrix_arrays(batch, lower, diagonal, upper);
  karst_status status = check_given(context, &arrays, LOWER, UPPER);
  if (status) return status;
  batch->factored = false;
  batch->of_factors = true;
  status = place(context, &arrays);
  if (!status)
    status =
        kernels_of(batch)->factor(context, batch, arrays.placed[LOWER], arrays.placed[DIAGONAL], arrays.placed[UPPER]);
  status = finish(context, &arrays, status);
  batch->factored = !status;
  return status;
}

karst_status karst_tridiagonal_solve_factored(karst_tridiagonal *batch, int right_sides, const void *right,
                                              void *solution)
{
  if (!batch) return KARST_ERROR_ARGUMENT;
  karst_context *context = batch->context;
  if (!batch->factored)
    return karst_fail(context, KARST_ERROR_ARGUMENT, "the batch has no factors: call karst_tridiagonal_factor first");
  if (right_sides < 1)
    return karst_fail(context, KARST_ERROR_ARGUMENT, "%d right-hand sides: at least 1 is needed", right_sides);
  const int64_t count = count_of(&batch->shape, (int64_t)batch->shape.block_size * right_sides);
  if (count < 0)
    return karst_fail(context, KARST_ERROR_ARGUMENT, "%d right-hand sides would have more than 2^63 bytes",
                      right_sides);
  struct arrays arrays = {0};
  add_sides(&arrays, (size_t)count * scalar_of(batch), right, solution);
  karst_status status = check_given(context, &arrays, RIGHT, SOLUTION);
  if (!status) status = place(context, &arrays);
  if (!status) batch->of_factors = true;
  if (!status)
    status =
        kernels_of(batch)->solve_factored(context, batch, right_sides, arrays.placed[RIGHT], arrays.placed[SOLUTION]);
  return finish(context, &arrays, status);
}

karst_reason karst_tridiagonal_outcome(karst_tridiagonal *batch, int64_t *system, karst_index *row)
{
  karst_reason reason = KARST_SOUND;
  int64_t in_system = -1;
  karst_index in_row = -1;
  if (batch && kernels_of(batch)->outcome(batch->context, batch, &reason, &in_system, &in_row))
    reason = KARST_NOT_FINITE;
  if (system) *system = in_system;
  if (row) *row = in_row;
  return reason;
}

karst_status karst_tridiagonal_convert(karst_tridiagonal *batch, int entries, karst_tridiagonal_layout from_layout,
                                       const void *from, void *to)
{
  if (!batch) return KARST_ERROR_ARGUMENT;
  if (!from || !to) return karst_missing(batch->context, from ? "to" : "from");
  if (entries < 1 || (from_layout != KARST_TRIDIAGONAL_AOS && from_layout != KARST_TRIDIAGONAL_SOA) ||
      count_of(&batch->shape, entries) < 0)
    return karst_fail(batch->context, KARST_ERROR_ARGUMENT, "a conversion of %d scalars a row from layout %d", entries,
                      (int)from_layout);
  kernels_of(batch)->convert(batch->context, batch, entries, from_layout, from, to);
  return KARST_SUCCESS;
}
