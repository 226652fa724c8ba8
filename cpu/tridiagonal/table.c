/* table.c - batches of block-tridiagonal systems on the CPU: the choice of a method, and its memory. */
#include "cpu/cpu.h"
#include "cpu/tridiagonal/tridiagonal_cpu.h"

#include <stdio.h>

static const karst_tridiagonal_way *const ways[] = {
    [KARST_TRIDIAGONAL_THOMAS] = &karst_tridiagonal_way_thomas,
    [KARST_TRIDIAGONAL_CR] = &karst_tridiagonal_way_cr,
    [KARST_TRIDIAGONAL_PCR] = &karst_tridiagonal_way_pcr,
    [KARST_TRIDIAGONAL_HYBRID] = &karst_tridiagonal_way_hybrid,
    [KARST_TRIDIAGONAL_SPLIT] = &karst_tridiagonal_way_split,
};

/* Split does 7/3 of the work of Thomas, whose lanes are the systems: with systems in more than half of them Thomas is
 * faster. The choice does not depend on the number of threads, so that results do not. */
static karst_tridiagonal_method choose(const karst_tridiagonal_shape *shape)
{
  enum { LONG = 256 }; /* rows that make enough pieces */
  const bool few = 2 * shape->systems <= karst_tridiagonal_lanes(shape->single);
  return few && shape->rows >= LONG ? KARST_TRIDIAGONAL_SPLIT : KARST_TRIDIAGONAL_THOMAS;
}

/* Bytes of count arrays of lanes for each of so many threads. More than memory can hold is SIZE_MAX. */
static size_t bytes_of(int64_t count, int64_t threads)
{
  size_t bytes;
  if (count < 0 || __builtin_mul_overflow((size_t)count, (size_t)(threads * KARST_TRIDIAGONAL_REGISTER), &bytes))
    return SIZE_MAX;
  return bytes;
}

static karst_status take(karst_context *context, karst_tridiagonal *batch, size_t bytes, const char *what,
                         void **memory)
{
  if (bytes == 0) return KARST_SUCCESS;
  const karst_status status = context->backend->allocate(context, bytes, what, memory);
  if (!status) batch->memory += (int64_t)bytes;
  return status;
}

/* Takes the work space of threads. */
static karst_status take_rooms(karst_context *context, karst_tridiagonal *batch, karst_tridiagonal_plan *plan)
{
  const int64_t m = batch->shape.block_size;
  const int64_t threads = plan->threads, lanes = karst_tridiagonal_lanes(batch->shape.single);
  const char *what = "the work space of tridiagonal systems";
  void *lane = NULL, *pivot = NULL;
  karst_status status = take(context, batch, bytes_of(plan->needs.rows, threads), what, &plan->rows);
  if (!status) status = take(context, batch, bytes_of(plan->needs.shared, 1), what, &plan->shared);
  if (!status) status = take(context, batch, bytes_of(KARST_TRIDIAGONAL_ROOM_LANES(m), threads), what, &plan->block);
  if (!status)
    status = take(context, batch, (size_t)(threads * KARST_TRIDIAGONAL_ROOM_DOUBLES(m)) * sizeof(double), what, &lane);
  if (!status)
    status =
        take(context, batch, (size_t)(threads * KARST_TRIDIAGONAL_ROOM_INTEGERS(m, lanes)) * sizeof(int), what, &pivot);
  plan->lane = lane;
  plan->pivot = pivot;
  for (int64_t t = 0; t < threads && !status; t++) {
    plan->room[t] = (karst_tridiagonal_room){.rows = (char *)plan->rows + bytes_of(plan->needs.rows, t)};
    plan->room[t].block = (char *)plan->block + bytes_of(KARST_TRIDIAGONAL_ROOM_LANES(m), t);
    plan->room[t].lane = plan->lane + t * KARST_TRIDIAGONAL_ROOM_DOUBLES(m);
    plan->room[t].pivot = plan->pivot + t * KARST_TRIDIAGONAL_ROOM_INTEGERS(m, lanes);
  }
  return status;
}

static karst_status plan(karst_context *context, karst_tridiagonal *batch)
{
  karst_tridiagonal_plan *plan;
  karst_tridiagonal_shape *shape = &batch->shape;
  karst_status status = karst_allocate_zero(context, &plan, 1, sizeof *plan, "a batch of tridiagonal systems");
  if (status) return status;
  batch->plan = plan;
  batch->memory = sizeof *plan;
  if (shape->method == KARST_TRIDIAGONAL_AUTO) shape->method = choose(shape);
  plan->way = ways[shape->method];
  plan->needs = plan->way->needs(shape);
  plan->failure = KARST_TRIDIAGONAL_NO_FAILURE;
  plan->failures[0] = plan->failures[1] = KARST_TRIDIAGONAL_NO_FAILURE;
  plan->threads = karst_threads_worth(context, karst_tridiagonal_work(shape->systems, shape->rows, shape->block_size));
  if (plan->threads > plan->needs.groups) plan->threads = (int)plan->needs.groups;
  status =
      karst_allocate_zero(context, &plan->room, plan->threads, sizeof *plan->room, "a batch of tridiagonal systems");
  if (!status) batch->memory += (int64_t)sizeof *plan->room * plan->threads;
  if (!status) status = take_rooms(context, batch, plan);
  snprintf(batch->description, sizeof batch->description, "%s, %d thread%s, %d %s at a time", plan->way->name,
           plan->threads, plan->threads > 1 ? "s" : "", karst_tridiagonal_lanes(shape->single),
           shape->method == KARST_TRIDIAGONAL_SPLIT ? "pieces" : "systems");
  return status;
}

static void plan_destroy(karst_context *context, karst_tridiagonal *batch)
{
  karst_tridiagonal_plan *plan = batch->plan;
  if (!plan) return;
  context->backend->release(context, plan->rows);
  context->backend->release(context, plan->shared);
  context->backend->release(context, plan->block);
  context->backend->release(context, plan->lane);
  context->backend->release(context, plan->pivot);
  context->backend->release(context, plan->kept);
  karst_release(context, plan->room);
  karst_release(context, plan);
}

static karst_tridiagonal_pass pass_of(const karst_tridiagonal *batch)
{
  const karst_tridiagonal_shape *shape = &batch->shape;
  const int m = shape->block_size;
  return (karst_tridiagonal_pass){.single = shape->single != 0,
                                  .block_size = m,
                                  .systems = shape->systems,
                                  .rows = shape->rows,
                                  .matrix = karst_tridiagonal_steps_of(shape, m * m),
                                  .vector = karst_tridiagonal_steps_of(shape, m),
                                  .method = shape->method,
                                  .right_sides = 1};
}

static karst_status solve(karst_context *context, karst_tridiagonal *batch, const void *lower, const void *diagonal,
                          const void *upper, const void *right, void *solution)
{
  karst_tridiagonal_plan *plan = batch->plan;
  karst_tridiagonal_pass pass = pass_of(batch);
  pass.lower = lower;
  pass.diagonal = diagonal;
  pass.upper = upper;
  pass.right = right;
  pass.solution = solution;
  plan->failure = KARST_TRIDIAGONAL_NO_FAILURE;
  plan->way->solve(context, plan, &pass);
  plan->failures[0] = plan->failure;
  return KARST_SUCCESS;
}

static karst_status factor(karst_context *context, karst_tridiagonal *batch, const void *lower, const void *diagonal,
                           const void *upper)
{
  karst_tridiagonal_plan *plan = batch->plan;
  karst_tridiagonal_pass pass = pass_of(batch);
  if (!plan->kept) {
    const karst_status status =
        take(context, batch, bytes_of(plan->needs.kept, 1), "the factors of tridiagonal systems", &plan->kept);
    if (status) return status;
  }
  pass.lower = lower;
  pass.diagonal = diagonal;
  pass.upper = upper;
  pass.kept = plan->kept;
  plan->failure = KARST_TRIDIAGONAL_NO_FAILURE;
  plan->way->solve(context, plan, &pass);
  plan->failures[1] = plan->failure;
  return KARST_SUCCESS;
}

static karst_status solve_factored(karst_context *context, karst_tridiagonal *batch, int right_sides, const void *right,
                                   void *solution)
{
  karst_tridiagonal_plan *plan = batch->plan;
  karst_tridiagonal_pass pass = pass_of(batch);
  pass.right = right;
  pass.solution = solution;
  pass.right_sides = right_sides;
  pass.kept = plan->kept;
  plan->way->apply(context, plan, &pass);
  return KARST_SUCCESS;
}

static karst_status outcome(karst_context *context, karst_tridiagonal *batch, karst_reason *reason, int64_t *system,
                            karst_index *row)
{
  const karst_tridiagonal_plan *plan = batch->plan;
  (void)context;
  karst_tridiagonal_failed(batch->shape.rows, plan->failures[batch->of_factors], reason, system, row);
  return KARST_SUCCESS;
}

const struct karst_tridiagonal_kernels karst_tridiagonal_kernels_cpu = {
    .plan = plan,
    .plan_destroy = plan_destroy,
    .solve = solve,
    .factor = factor,
    .solve_factored = solve_factored,
    .outcome = outcome,
    .convert = karst_tridiagonal_convert_cpu,
};
