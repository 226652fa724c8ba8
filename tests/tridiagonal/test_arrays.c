/* test_arrays.c - arrays may be in host or in device memory, each on its own, with the same bits; a conversion to the
 * other layout and back returns the array, and its result is the array that the other layout describes. */
#include "tests/support/tridiagonal.h"

#include "lib/backend/backend.h"

static void *upload(karst_context *context, const void *host, size_t bytes)
{
  void *device;
  tap_need(context, context->backend->allocate(context, bytes, "an array", &device), "memory");
  tap_need(context, context->backend->upload(context, device, host, bytes), "upload");
  return device;
}

/* Solves with the arrays whose bit in mask is set in device memory. */
static bool solve_placed(karst_context *context, const struct tridiagonal *t, unsigned mask, const void *expected)
{
  const size_t scalar = t->shape.single ? sizeof(float) : sizeof(double);
  const size_t blocks = (size_t)tridiagonal_blocks(t) * scalar, vectors = (size_t)tridiagonal_vectors(t) * scalar;
  struct tridiagonal_arrays host = tridiagonal_arrays(t), placed = host;
  karst_tridiagonal *batch = tridiagonal_create(context, t);
  void **const places[] = {&placed.lower, &placed.diagonal, &placed.upper, &placed.right, &placed.solution};
  const bool in_place = mask & 32U;
  for (unsigned i = 0; i < 5; i++)
    if (mask >> i & 1U) *places[i] = upload(context, *places[i], i < 3 ? blocks : vectors);
  void *const own = placed.solution;
  if (in_place) placed.solution = placed.right;
  tridiagonal_solve(context, batch, &placed);
  const bool on_device = in_place ? mask >> 3 & 1U : mask >> 4 & 1U;
  void *result = in_place ? host.right : host.solution;
  if (on_device) tap_need(context, context->backend->download(context, result, placed.solution, vectors), "download");
  const bool right = memcmp(result, expected, vectors) == 0;
  placed.solution = own;
  for (unsigned i = 0; i < 5; i++)
    if (mask >> i & 1U) context->backend->release(context, *places[i]);
  karst_tridiagonal_destroy(batch);
  tridiagonal_arrays_free(&host);
  return right;
}

static void place(karst_context *context, const karst_tridiagonal_shape *shape)
{
  struct tridiagonal t = tridiagonal_random(*shape, 1);
  struct tridiagonal_arrays arrays = tridiagonal_arrays(&t);
  karst_tridiagonal *batch = tridiagonal_create(context, &t);
  tridiagonal_solve(context, batch, &arrays);
  bool right = tridiagonal_worst(&t, arrays.solution) < 100;
  for (unsigned mask = 0; mask < 64; mask++) right = solve_placed(context, &t, mask, arrays.solution) && right;
  tap_ok(right, "%s: arrays in host and device memory", tridiagonal_text(shape));
  karst_tridiagonal_destroy(batch);
  tridiagonal_arrays_free(&arrays);
  tridiagonal_free(&t);
}

/* Kept factors, with the right-hand sides or the solutions, or both, in device memory. */
static void place_sides(karst_context *context, const karst_tridiagonal_shape *shape)
{
  enum { SIDES = 3 };
  struct tridiagonal t = tridiagonal_random(*shape, SIDES);
  const size_t scalar = shape->single ? sizeof(float) : sizeof(double);
  const size_t bytes = SIDES * (size_t)tridiagonal_vectors(&t) * scalar;
  struct tridiagonal_arrays arrays = tridiagonal_arrays(&t);
  karst_tridiagonal *batch = tridiagonal_create(context, &t);
  tridiagonal_factor(context, batch, &arrays);
  bool right = true;
  for (int place = 0; place < 4; place++) {
    void *from = place & 1 ? upload(context, arrays.right, bytes) : arrays.right;
    void *to = place & 2 ? upload(context, arrays.solution, bytes) : arrays.solution;
    tap_need(context, karst_tridiagonal_solve_factored(batch, SIDES, from, to), "solve");
    if (place & 2) tap_need(context, context->backend->download(context, arrays.solution, to, bytes), "download");
    right = right && tridiagonal_worst(&t, arrays.solution) < 100;
    memset(arrays.solution, 0, bytes);
    if (place & 1) context->backend->release(context, from);
    if (place & 2) context->backend->release(context, to);
  }
  tap_ok(right, "%s: right-hand sides in host and device memory", tridiagonal_text(shape));
  karst_tridiagonal_destroy(batch);
  tridiagonal_arrays_free(&arrays);
  tridiagonal_free(&t);
}

static void convert(karst_context *context, karst_tridiagonal_shape shape, int entries)
{
  struct tridiagonal t = tridiagonal_random(shape, 1);
  const size_t bytes = (size_t)(tridiagonal_rows(&t) * entries) * (shape.single ? sizeof(float) : sizeof(double));
  t.shape.layout = KARST_TRIDIAGONAL_AOS;
  void *host[] = {tridiagonal_pack(&t, t.lower, entries, 1), NULL};
  t.shape.layout = KARST_TRIDIAGONAL_SOA;
  host[1] = tridiagonal_pack(&t, t.lower, entries, 1);
  karst_tridiagonal *batch = tridiagonal_create(context, &t);
  void *result = tap_memory(1, bytes);
  bool right = true;
  for (int from = 0; from < 2; from++) {
    void *device = upload(context, host[from], bytes), *other = upload(context, result, bytes);
    tap_need(context, karst_tridiagonal_convert(batch, entries, (karst_tridiagonal_layout)from, device, other),
             "there");
    tap_need(context, context->backend->download(context, result, other, bytes), "download");
    right = right && memcmp(result, host[!from], bytes) == 0;
    tap_need(context, karst_tridiagonal_convert(batch, entries, (karst_tridiagonal_layout)!from, other, device),
             "back");
    tap_need(context, context->backend->download(context, result, device, bytes), "download");
    right = right && memcmp(result, host[from], bytes) == 0;
    context->backend->release(context, device);
    context->backend->release(context, other);
  }
  tap_ok(right, "%lld rows of %d scalars in %s: to the other layout and back", (long long)tridiagonal_rows(&t), entries,
         shape.single ? "float" : "double");
  free(result);
  free(host[0]);
  free(host[1]);
  karst_tridiagonal_destroy(batch);
  tridiagonal_free(&t);
}

static void test(karst_context *context)
{
  if (!tridiagonal_is_available(context, "arrays")) return;
  for (int single = 0; single < 2; single++) {
    static const int sizes[] = {1, 2, 3, 5, 8, 17};
    for (int i = 2; i < 5; i++)
      for (int layout = 0; layout < 2; layout++) {
        const karst_tridiagonal_shape shape = {
            7, 40, sizes[i], single, (karst_tridiagonal_layout)layout, KARST_TRIDIAGONAL_AUTO};
        place(context, &shape);
        place_sides(context, &shape);
      }
    for (int i = 0; i < 6; i++) {
      const karst_tridiagonal_shape converted = {.systems = 11, .rows = 101, .block_size = sizes[i], .single = single};
      convert(context, converted, sizes[i]);
      convert(context, converted, sizes[i] * sizes[i]);
    }
    /* Enough for two threads. */
    convert(context, (karst_tridiagonal_shape){.systems = 400, .rows = 513, .block_size = 2, .single = single}, 4);
  }
}

int main(void)
{
  tap_each_device(test, "arrays of tridiagonal systems");
  return tap_done();
}
