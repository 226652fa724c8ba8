/* Every operation of the CUDA backend gives the result of the CPU's, for each block size and for irregular patterns.
 * Running out of memory, on the host or on the GPU, gives a status and leaks nothing. Matrices take values from device
 * memory. */
#include "tests/support/failing_allocator.h"
#include "lib/matrix/matrix.h"
#include "tests/support/problem.h"

#include <math.h>
#include <string.h>

static karst_context *cpu, *gpu;

/* The same matrix on the CPU and the GPU, and its arrays. */
struct pair {
  karst_index rows, *start, *column;
  int b;
  int64_t scalars, entries;
  double *value;
  karst_matrix *cpu, *gpu;
};

/* The rows of a pattern: the diagonal and about extra random blocks. With gaps, every fourth row is empty. With
 * dense_row, row 2 has a block in each column. */
struct shape {
  karst_index rows;
  int b, extra;
  bool gaps, dense_row;
};

static void fill_pattern(struct pair *p, const struct shape *shape)
{
  bool *used = tap_memory(shape->rows, sizeof *used);
  for (karst_index i = 0, end = 0; i < shape->rows; i++) {
    bool dense = shape->dense_row && i == 2;
    used[i] = true;
    for (int e = 0; e < shape->extra; e++) used[tap_random_index(shape->rows)] = true;
    for (karst_index j = 0; j < shape->rows; j++) {
      if (dense || (used[j] && !(shape->gaps && i % 4 == 1))) p->column[end++] = j;
      used[j] = false;
    }
    p->start[i + 1] = end;
  }
  free(used);
}

static struct pair make_pair(const struct shape *shape)
{
  struct pair p = {.rows = shape->rows, .b = shape->b, .scalars = (int64_t)shape->rows * shape->b};
  int64_t most = (int64_t)shape->rows * (shape->extra + 2);
  p.start = tap_memory((int64_t)shape->rows + 1, sizeof *p.start);
  p.column = tap_memory(most, sizeof *p.column);
  fill_pattern(&p, shape);
  p.entries = (int64_t)p.b * p.b * p.start[p.rows];
  p.value = random_on_host(p.entries);
  tap_need(cpu, karst_matrix_create(cpu, p.rows, p.b, p.start, p.column, p.value, KARST_COPY, &p.cpu), "matrix");
  tap_need(gpu, karst_matrix_create(gpu, p.rows, p.b, p.start, p.column, p.value, KARST_COPY, &p.gpu), "matrix");
  return p;
}

static void free_pair(struct pair *p)
{
  karst_matrix_destroy(p->cpu);
  karst_matrix_destroy(p->gpu);
  free(p->start);
  free(p->column);
  free(p->value);
}

/* Allocates count scalars of device memory and copies host to them, or fills it with NaN if host is NULL. */
static double *on_gpu(int64_t count, const double *host)
{
  double *memory, *nans = NULL;
  if (!host) {
    host = nans = tap_memory(count, sizeof *nans);
    for (int64_t i = 0; i < count; i++) nans[i] = NAN;
  }
  tap_need(gpu, karst_device_doubles(gpu, count, "a vector", &memory), "device memory");
  tap_need(gpu, gpu->backend->upload(gpu, memory, host, (size_t)count * sizeof *host), "upload");
  free(nans);
  return memory;
}

/* Returns the largest difference of device memory from expected, relative to the largest entry; NaN if an entry is. */
static double difference(int64_t count, const double *expected, const double *device)
{
  double *found = tap_memory(count, sizeof *found);
  tap_need(gpu, gpu->backend->download(gpu, found, device, (size_t)count * sizeof *found), "download");
  const double difference = relative_difference(count, found, expected);
  free(found);
  return difference;
}

/* The tolerance is for sums of a few hundred products, or of a few thousand in a dense row. */
static const double tolerance = 1e-13;

static void compare_products(const struct shape *shape)
{
  struct pair p = make_pair(shape);
  double *x = random_on_host(p.scalars), *b = random_on_host(p.scalars), *y = random_on_host(p.scalars), norm2[2];
  double *gpu_x = on_gpu(p.scalars, x), *gpu_b = on_gpu(p.scalars, b), *gpu_y = on_gpu(p.scalars, NULL);
  double *gpu_norm2 = on_gpu(1, NULL);
  cpu->backend->multiply(cpu, p.cpu, x, y);
  gpu->backend->multiply(gpu, p.gpu, gpu_x, gpu_y);
  double product = difference(p.scalars, y, gpu_y);
  cpu->backend->residual(cpu, p.cpu, b, x, y, norm2);
  gpu->backend->residual(gpu, p.gpu, gpu_b, gpu_x, gpu_y, gpu_norm2);
  double residual = fmax(difference(p.scalars, y, gpu_y), difference(1, norm2, gpu_norm2));
  tap_ok(product < tolerance && residual < tolerance, "%lld rows, b = %d%s%s: product and residual (%.1e, %.1e)",
         (long long)p.rows, p.b, shape->gaps ? ", empty rows" : "", shape->dense_row ? ", a full row" : "", product,
         residual);
  free(x);
  free(b);
  free(y);
  gpu->backend->release(gpu, gpu_x);
  gpu->backend->release(gpu, gpu_b);
  gpu->backend->release(gpu, gpu_y);
  gpu->backend->release(gpu, gpu_norm2);
  free_pair(&p);
}

/* A caller's vector may begin at any address: x gives the same bits one scalar further on. */
static void compare_alignments(int b)
{
  struct pair p = make_pair(&(struct shape){.rows = 100, .b = b, .extra = 6});
  double *x = random_on_host(p.scalars + 1), *y = random_on_host(p.scalars);
  double *gpu_x = on_gpu(p.scalars, x + 1), *moved = on_gpu(p.scalars + 1, x), *gpu_y = on_gpu(p.scalars, NULL);
  gpu->backend->multiply(gpu, p.gpu, gpu_x, gpu_y);
  tap_need(gpu, gpu->backend->download(gpu, y, gpu_y, (size_t)p.scalars * sizeof *y), "download");
  gpu->backend->multiply(gpu, p.gpu, moved + 1, gpu_y);
  tap_ok(difference(p.scalars, y, gpu_y) == 0, "b = %d: the same product wherever x begins", b);
  free(x);
  free(y);
  gpu->backend->release(gpu, gpu_x);
  gpu->backend->release(gpu, moved);
  gpu->backend->release(gpu, gpu_y);
  free_pair(&p);
}

/* Makes the diagonal blocks dominant, so that inverses agree to rounding. */
static void strengthen(struct pair *p)
{
  for (karst_index i = 0; i < p->rows; i++)
    for (karst_index k = p->start[i]; k < p->start[i + 1]; k++)
      for (int r = 0; r < p->b && p->column[k] == i; r++)
        p->value[karst_block_offset(p->b, k) + r * p->b + (r + 1) % p->b] += 2 * p->b;
  tap_need(cpu, karst_matrix_update_values(p->cpu, p->value), "values");
  tap_need(gpu, karst_matrix_update_values(p->gpu, p->value), "values");
}

static void compare_diagonal(int b)
{
  struct pair p = make_pair(&(struct shape){.rows = b > 16 ? 12 : 300, .b = b, .extra = 3});
  int64_t bb = (int64_t)b * b * p.rows;
  karst_index *diagonal, *gpu_diagonal, row = -1, gpu_row = -1;
  karst_reason reason = KARST_SOUND, gpu_reason = KARST_SOUND;
  double *x = random_on_host(p.scalars), *y = random_on_host(p.scalars), *inverse = random_on_host(bb);
  double *gpu_x = on_gpu(p.scalars, x), *gpu_y = on_gpu(p.scalars, NULL), *gpu_inverse = on_gpu(bb, NULL);
  strengthen(&p);
  tap_need(cpu, karst_matrix_locate_diagonal(p.cpu, &diagonal), "diagonal");
  tap_need(gpu, karst_matrix_locate_diagonal(p.gpu, &gpu_diagonal), "diagonal");
  cpu->backend->invert_diagonal(cpu, p.cpu, diagonal, inverse, &reason, &row);
  tap_need(gpu, gpu->backend->invert_diagonal(gpu, p.gpu, gpu_diagonal, gpu_inverse, &gpu_reason, &gpu_row), "invert");
  double inverted = difference(bb, inverse, gpu_inverse);
  cpu->backend->multiply_diagonal(cpu, p.rows, b, inverse, x, y);
  gpu->backend->multiply_diagonal(gpu, p.rows, b, gpu_inverse, gpu_x, gpu_y);
  double product = difference(p.scalars, y, gpu_y);
  tap_ok(inverted < 1e-12 && product < 1e-12 && gpu_reason == KARST_SOUND && gpu_row == -1,
         "b = %d: inverse diagonal blocks and their product (%.1e, %.1e)", b, inverted, product);
  cpu->backend->diagonal_scale(cpu, p.cpu, diagonal, y);
  gpu->backend->diagonal_scale(gpu, p.gpu, gpu_diagonal, gpu_y);
  double scale = difference(p.scalars, y, gpu_y);
  cpu->backend->scale_symmetric(cpu, p.cpu, y);
  gpu->backend->scale_symmetric(gpu, p.gpu, gpu_y);
  double symmetric = difference(p.entries, p.cpu->value, p.gpu->value);
  cpu->backend->scale_rows(cpu, p.cpu, inverse);
  gpu->backend->scale_rows(gpu, p.gpu, gpu_inverse);
  double rows = difference(p.entries, p.cpu->value, p.gpu->value);
  tap_ok(scale < tolerance && symmetric < tolerance && rows < 1e-12, "b = %d: scalings (%.1e, %.1e, %.1e)", b, scale,
         symmetric, rows);
  free(x);
  free(y);
  free(inverse);
  cpu->backend->release(cpu, diagonal);
  gpu->backend->release(gpu, gpu_diagonal);
  gpu->backend->release(gpu, gpu_x);
  gpu->backend->release(gpu, gpu_y);
  gpu->backend->release(gpu, gpu_inverse);
  free_pair(&p);
}

/* Makes blocks in rows 3, 9 and 10 singular or NaN. The first is named, with the same reason as on the CPU. */
static void compare_bad_blocks(int b, double first, double second)
{
  const karst_index bad[] = {3, 9, 10};
  const double spoiled[] = {first, second, NAN};
  struct pair p = make_pair(&(struct shape){.rows = 12, .b = b, .extra = 2});
  karst_index *diagonal, *gpu_diagonal, row = -1, gpu_row = -1;
  karst_reason reason = KARST_SOUND, gpu_reason = KARST_SOUND;
  double *inverse = random_on_host(12 * (int64_t)b * b), *gpu_inverse = on_gpu(12 * (int64_t)b * b, NULL);
  tap_need(cpu, karst_matrix_locate_diagonal(p.cpu, &diagonal), "diagonal");
  tap_need(gpu, karst_matrix_locate_diagonal(p.gpu, &gpu_diagonal), "diagonal");
  strengthen(&p);
  for (int i = 0; i < 3; i++) /* makes the last row of the block a multiple of its first, or NaN */
    for (int c = 0; c < b; c++) {
      double *column = p.value + karst_block_offset(b, diagonal[bad[i]]) + c * b;
      column[b - 1] = b > 1 ? spoiled[i] * column[0] : 0 * spoiled[i];
    }
  tap_need(cpu, karst_matrix_update_values(p.cpu, p.value), "values");
  tap_need(gpu, karst_matrix_update_values(p.gpu, p.value), "values");
  cpu->backend->invert_diagonal(cpu, p.cpu, diagonal, inverse, &reason, &row);
  tap_need(gpu, gpu->backend->invert_diagonal(gpu, p.gpu, gpu_diagonal, gpu_inverse, &gpu_reason, &gpu_row), "invert");
  tap_ok(row == 3 && gpu_row == row && gpu_reason == reason, "b = %d: block row %lld, %s, as on the CPU", b,
         (long long)gpu_row, karst_reason_text(gpu_reason));
  free(inverse);
  cpu->backend->release(cpu, diagonal);
  gpu->backend->release(gpu, gpu_diagonal);
  gpu->backend->release(gpu, gpu_inverse);
  free_pair(&p);
}

static void compare_permutations(karst_index count, int b)
{
  int64_t n = (int64_t)count * b;
  karst_index *index = tap_memory(count, sizeof *index), *gpu_index;
  double *x = random_on_host(n), *y = random_on_host(n), *gpu_x = on_gpu(n, x), *gpu_y = on_gpu(n, NULL);
  for (karst_index i = 0; i < count; i++) index[i] = i;
  for (karst_index i = count - 1; i > 0; i--) {
    karst_index j = (karst_index)tap_random_index(i + 1), other = index[j];
    index[j] = index[i];
    index[i] = other;
  }
  tap_need(gpu, karst_device_indices(gpu, count, index, "a permutation", &gpu_index), "permutation");
  cpu->backend->gather(cpu, count, b, index, x, y);
  gpu->backend->gather(gpu, count, b, gpu_index, gpu_x, gpu_y);
  double gathered = difference(n, y, gpu_y);
  gpu->backend->fill(gpu, n, NAN, gpu_x);
  gpu->backend->scatter(gpu, count, b, gpu_index, gpu_y, gpu_x);
  tap_ok(gathered == 0 && difference(n, x, gpu_x) == 0, "%lld blocks of %d permuted and back", (long long)count, b);
  free(index);
  free(x);
  free(y);
  gpu->backend->release(gpu, gpu_index);
  gpu->backend->release(gpu, gpu_x);
  gpu->backend->release(gpu, gpu_y);
}

/* A matrix takes values that are in device memory already. */
static void values_from_device(void)
{
  struct pair p = make_pair(&(struct shape){.rows = 50, .b = 3, .extra = 3});
  double *device = on_gpu(p.entries, p.value), *other = random_on_host(p.entries);
  double *gpu_other = on_gpu(p.entries, other);
  karst_matrix *made;
  tap_need(gpu, karst_matrix_create(gpu, p.rows, 3, p.start, p.column, device, KARST_COPY, &made), "matrix");
  tap_ok(difference(p.entries, p.value, made->value) == 0, "a matrix is made from values in device memory");
  tap_need(gpu, karst_matrix_update_values(made, gpu_other), "update");
  tap_ok(difference(p.entries, other, made->value) == 0, "a matrix is updated from device memory");
  karst_matrix_destroy(made);
  tap_need(gpu, karst_matrix_create(gpu, p.rows, 3, p.start, p.column, device, KARST_REFERENCE, &made), "matrix");
  gpu->backend->copy(gpu, p.entries, gpu_other, device);
  tap_need(gpu, karst_context_synchronize(gpu), "synchronize");
  tap_need(gpu, karst_matrix_values_changed(made), "values changed");
  tap_ok(difference(p.entries, other, made->value) == 0, "a matrix follows values written in place in device memory");
  karst_matrix_destroy(made);
  gpu->backend->release(gpu, device);
  gpu->backend->release(gpu, gpu_other);
  free(other);
  free_pair(&p);
}

static karst_status solve(karst_context *context, void *user)
{
  tap_settings options = settings_for(NULL, "jacobi");
  karst_matrix *A = NULL;
  karst_vector *b = NULL, *x = NULL;
  karst_solver *solver = NULL;
  karst_result result;
  options.ordering = "rcm";
  options.scale = "block";
  karst_status status = user ? karst_context_set_device(context, user) : KARST_SUCCESS;
  if (!status) status = karst_gallery_create(context, "blackoil:12x12x6", 0, &A, NULL);
  if (!status) status = karst_vector_create(context, karst_matrix_rows(A), &b);
  if (!status) status = karst_vector_create(context, karst_matrix_rows(A), &x);
  if (!status) status = karst_vector_fill(b, 1);
  if (!status) status = tap_solver_setup(context, &options, A, &solver);
  if (!status) status = karst_solver_solve(solver, b, x, &result);
  karst_solver_destroy(solver);
  karst_vector_destroy(b);
  karst_vector_destroy(x);
  karst_matrix_destroy(A);
  return status;
}

/* Allocates device memory in smaller and smaller pieces until none is left; a solve then runs out of it. */
static void device_memory_runs_out(void)
{
  enum { PIECES = 256 };
  karst_vector *absurd;
  void *piece[PIECES];
  int pieces = 0;
  karst_status status = karst_vector_create(gpu, INT64_C(1) << 44, &absurd);
  tap_ok(status == KARST_ERROR_NO_MEMORY && !absurd &&
             strstr(karst_context_error(gpu), "out of device memory: a vector needs 140737488355328 bytes"),
         "more memory than any GPU has is refused: %s", karst_context_error(gpu));
  for (size_t bytes = (size_t)1 << 40; bytes >= 1 << 10; bytes /= 2)
    while (pieces < PIECES && gpu->backend->allocate(gpu, bytes, "a test", &piece[pieces]) == KARST_SUCCESS) pieces++;
  status = solve(gpu, NULL);
  tap_ok(status == KARST_ERROR_NO_MEMORY, "a solve without device memory fails: %s, %s", karst_status_text(status),
         karst_context_error(gpu));
  while (pieces > 0) gpu->backend->release(gpu, piece[--pieces]);
  tap_ok(solve(gpu, NULL) == KARST_SUCCESS, "the solve succeeds once there is memory again");
}

static void devices(void)
{
  karst_context *context;
  tap_need(NULL, karst_context_create(NULL, &context), "context");
  karst_status status = karst_context_set_device(context, "cuda:99");
  tap_ok(status == KARST_ERROR_NO_DEVICE &&
             strncmp(karst_context_error(context), "cuda:99 was asked for, but the last GPU here is cuda:", 53) == 0,
         "a missing GPU is an error: %s", karst_context_error(context));
  tap_ok(strncmp(karst_context_device(context), "cpu", 3) == 0, "the context stays on the CPU");
  tap_ok(karst_context_set_device(context, "cuda:0") == KARST_SUCCESS &&
             strncmp(karst_context_device(context), "cuda:0, ", 8) == 0,
         "the first GPU is opened: %s", karst_context_device(context));
  karst_context_destroy(context);
}

int main(void)
{
  const int sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17, 32, 67};
  tap_need(NULL, karst_context_create(NULL, &cpu), "context");
  tap_need(NULL, karst_context_create(NULL, &gpu), "context");
  if (karst_context_set_device(gpu, "cuda") != KARST_SUCCESS) tap_skip_all(karst_context_error(gpu));
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    const int b = sizes[i];
    compare_products(&(struct shape){.rows = 1, .b = b});
    compare_products(&(struct shape){.rows = 150, .b = b, .extra = 6, .gaps = true});
    compare_products(&(struct shape){.rows = b == 1 ? 5000 : 300, .b = b, .extra = 9, .gaps = true, .dense_row = true});
    compare_alignments(b);
    compare_diagonal(b);
    compare_bad_blocks(b, 0.5, NAN);
    compare_bad_blocks(b, NAN, 0.5);
    compare_permutations(1000, b);
  }
  compare_diagonal(130);
  compare_bad_blocks(130, 0.5, NAN);
  values_from_device();
  devices();
  device_memory_runs_out();
  fail_each_allocation(solve, "cuda", "a solve on the GPU");
  karst_context_destroy(gpu);
  karst_context_destroy(cpu);
  return tap_done();
}
