/* plan.cu - the plan of a batch: memory, and the order of the launches of solve, factor and solve_factored; the table
 * of the kernels. */
#include "gpu/tridiagonal/choose.h"
#include "gpu/tridiagonal/workers.h"

namespace
{

/* Hands out parts of an array whose length it counts first, with memory NULL. */
template <typename T> struct carver {
  T *memory;
  int64_t used;

  T *take(int64_t count)
  {
    T *part = memory ? memory + used : nullptr;
    used += (count + 1) / 2 * 2; /* parts begin at multiples of 8 bytes */
    return part;
  }
};

/* Rows of separators and kept numbers lie so that neighbouring lanes find neighbouring numbers. */
template <typename T> karst_tri_rows<T> take_rows(carver<T> &from, int m, int64_t rows, int entries)
{
  T *at = from.take(rows * entries);
  return m <= KARST_TRI_LANES ? karst_tri_rows<T>{at, rows, 1} : karst_tri_rows<T>{at, 1, entries};
}
template <typename T> karst_tri_kept<T> take_kept(carver<T> &from, int m, int64_t pieces, int64_t rows)
{
  const int64_t square = (int64_t)m * m;
  T *at = from.take(pieces * rows * square);
  return m <= KARST_TRI_LANES ? karst_tri_kept<T>{at, pieces, pieces * square, 1}
                              : karst_tri_kept<T>{at, 1, square, rows * square};
}

template <typename T> void take_solve(karst_tri_plan<T> &plan, carver<T> &from)
{
  const int m = plan.m, square = m * m;
  for (int i = 0; i < 4 && plan.converts; i++)
    plan.arranged[i] = from.take(plan.systems * plan.level[0].rows * (i < 3 ? square : m));
  for (int l = 0; l < plan.levels; l++) {
    karst_tri_level<T> &of = plan.level[l];
    const int64_t pieces = plan.systems * of.cut.pieces;
    if (of.variant->keeps) of.W = take_kept(from, m, pieces, of.cut.length - (of.cut.separated ? 1 : 0));
    of.outer = from.take(of.ends.blocks * of.ends.outer);
    if (!of.cut.separated) continue;
    of.reduced.lower = take_rows(from, m, pieces, square);
    of.reduced.diagonal = take_rows(from, m, pieces, square);
    of.reduced.upper = take_rows(from, m, pieces, square);
    of.reduced.size = take_rows(from, m, pieces, square);
    of.reduced.H = take_rows(from, m, pieces, square);
    of.reduced.Q = take_rows(from, m, pieces, square);
    of.reduced.G = take_rows(from, m, pieces, m);
    of.reduced.right = take_rows(from, m, pieces, m);
    of.unknowns = take_rows(from, m, pieces, m);
  }
}

template <typename T> void take_factors(karst_tri_plan<T> &plan, carver<T> &from)
{
  const int m = plan.m;
  for (int l = 0; l < plan.levels; l++) {
    karst_tri_level<T> &of = plan.level[l];
    const int64_t pieces = plan.systems * of.cut.pieces;
    const bool last = l == plan.levels - 1;
    const int64_t rows = of.cut.length - (last ? 0 : 1);
    of.factors.L = take_kept(from, m, pieces, rows);
    of.factors.D = take_kept(from, m, pieces, rows);
    of.factors.W = take_kept(from, m, pieces, rows);
    if (last) continue;
    of.y = from.take(plan.systems * of.rows * m);
    of.lower = take_rows(from, m, pieces, m * m);
    of.upper = take_rows(from, m, pieces, m * m);
  }
}

/* Lanes that solve systems in one pass move (3 m^2 + 2 m) scalars a row, less than two passes over factors do, which
 * would be (3 m^2 + 4 m). So they keep a, b and c. */
template <typename T> bool keeps_copies(const karst_tri_plan<T> &plan)
{
  const karst_tri_level<T> &last = plan.level[plan.levels - 1];
  return plan.m <= KARST_TRI_LANES && last.spread.lanes > 0;
}

template <typename T> void take_copies(karst_tri_plan<T> &plan, carver<T> &from)
{
  const int64_t rows = plan.systems * plan.level[0].rows;
  for (T *&copy : plan.kept) copy = from.take(rows * plan.m * plan.m);
  plan.trial = from.take(rows * plan.m);
}

/* Thread blocks of a launch at most, and their memory, if blocks are too large for shared memory. */
template <typename T> void set_blocks(const karst_cuda *cuda, karst_tri_plan<T> &plan, carver<T> &from)
{
  enum { EACH = 8 };
  plan.blocks = INT32_MAX;
  if (plan.m <= KARST_TRI_TEAMS) return;
  plan.blocks = (int64_t)EACH * cuda->multiprocessors;
  plan.scratch = from.take(plan.blocks * karst_group_worker<T>::scratch(plan.m));
  if (plan.layout.per > 0) plan.records = from.take(plan.blocks * plan.layout.scalars);
}

template <typename T>
karst_status take_memory(karst_context *context, karst_tridiagonal *batch, const carver<T> &counted, T **memory)
{
  return karst_cuda_take(context, counted.used, "tridiagonal systems", memory, &batch->memory);
}

template <typename T> karst_status plan_of(karst_context *context, karst_tridiagonal *batch)
{
  const karst_cuda *cuda = karst_cuda_of(context);
  karst_tri_plan<T> *plan;
  int shared = 0, shared_of_all = 0, reserved = 0;
  cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, cuda->device);
  cudaDeviceGetAttribute(&shared_of_all, cudaDevAttrMaxSharedMemoryPerMultiprocessor, cuda->device);
  cudaDeviceGetAttribute(&reserved, cudaDevAttrReservedSharedMemoryPerBlock, cuda->device);
  const karst_tri_request request = {batch->shape.systems,    batch->shape.rows,
                                     batch->shape.block_size, batch->shape.method,
                                     batch->shape.layout,     shared,
                                     shared_of_all,           reserved,
                                     cuda->multiprocessors,   karst_tri_workers(cuda, batch->shape.block_size)};
  karst_status status = karst_allocate_zero(context, &plan, 1, sizeof *plan, "a plan of tridiagonal systems");
  batch->plan = plan;
  if (status) return status;
  batch->memory += (int64_t)sizeof *plan;
  plan->systems = request.systems;
  plan->m = request.m;
  batch->shape.method = karst_tri_choose(request, *plan);
  karst_tri_describe(*plan, batch->shape.method, batch->description, sizeof batch->description);
  carver<T> counted = {nullptr, 0};
  take_solve(*plan, counted);
  set_blocks(cuda, *plan, counted);
  status = take_memory(context, batch, counted, &plan->memory[0]);
  if (!status) status = karst_cuda_take(context, 2, "outcomes", &plan->failure, &batch->memory);
  if (status) return status;
  carver<T> carved = {plan->memory[0], 0};
  take_solve(*plan, carved);
  set_blocks(cuda, *plan, carved);
  cudaMemsetAsync(plan->failure, 0xff, 2 * sizeof *plan->failure, cuda->stream);
  return KARST_SUCCESS;
}

template <typename T> void destroy(karst_context *context, karst_tridiagonal *batch)
{
  karst_tri_plan<T> *plan = static_cast<karst_tri_plan<T> *>(batch->plan);
  if (!plan) return;
  karst_cuda_release(context, plan->memory[0], plan->memory[1], plan->failure);
  karst_release(context, plan);
  batch->plan = nullptr;
}

template <typename T> karst_tri_rows<T> rows_of(const karst_tridiagonal *batch, const void *array, int entries)
{
  const karst_tridiagonal_steps steps = karst_tridiagonal_steps_of(&batch->shape, entries);
  return {static_cast<T *>(const_cast<void *>(array)), steps.element, steps.row};
}

/* The systems of the batch. */
template <typename T>
karst_tri_systems<T> systems_of(const karst_tridiagonal *batch, const karst_tri_plan<T> &plan, const void *lower,
                                const void *diagonal, const void *upper)
{
  const int m = plan.m;
  karst_tri_systems<T> s = {};
  s.systems = plan.systems;
  s.rows = s.batch_rows = batch->shape.rows;
  s.m = m;
  s.lower = karst_tri_const(rows_of<T>(batch, lower, m * m));
  s.diagonal = karst_tri_const(rows_of<T>(batch, diagonal, m * m));
  s.upper = karst_tri_const(rows_of<T>(batch, upper, m * m));
  s.spread = 1;
  s.failure = plan.failure;
  return s;
}

/* The systems of the separators of level l of s. */
template <typename T> karst_tri_systems<T> below(const karst_tri_plan<T> &plan, int l, const karst_tri_systems<T> &s)
{
  const karst_tri_level<T> &of = plan.level[l];
  karst_tri_systems<T> next = s;
  next.rows = of.cut.pieces;
  next.lower = karst_tri_const(of.reduced.lower);
  next.diagonal = karst_tri_const(of.reduced.diagonal);
  next.upper = karst_tri_const(of.reduced.upper);
  next.right = karst_tri_const(of.reduced.right);
  next.size = karst_tri_const(of.reduced.size);
  next.solution = of.unknowns;
  next.spread = s.spread * of.cut.length;
  next.step = s.step + 1;
  return next;
}

template <typename T>
void solve_level(const karst_cuda *cuda, const karst_tri_plan<T> &plan, int l, const karst_tri_systems<T> &s)
{
  if (l < plan.levels - 1) {
    karst_tri_launch_reduce(cuda, plan, l, s);
    solve_level(cuda, plan, l + 1, below(plan, l, s));
    karst_tri_launch_separators(cuda, plan, l, plan.m, karst_tri_const(plan.level[l].unknowns), s.solution, true);
  }
  plan.level[l].variant->launch(cuda, plan, l, s);
}

template <typename T>
void factor_level(const karst_cuda *cuda, const karst_tri_plan<T> &plan, int l, const karst_tri_systems<T> &s)
{
  if (l < plan.levels - 1) {
    const karst_tri_level<T> &of = plan.level[l];
    karst_tri_launch_reduce(cuda, plan, l, s);
    karst_tri_launch_separators(cuda, plan, l, plan.m * plan.m, s.lower, of.lower, false);
    karst_tri_launch_separators(cuda, plan, l, plan.m * plan.m, s.upper, of.upper, false);
    factor_level(cuda, plan, l + 1, below(plan, l, s));
  }
  karst_tri_launch_factor(cuda, plan, l, s);
}

template <typename T>
void apply_level(const karst_cuda *cuda, const karst_tri_plan<T> &plan, int l, karst_tri_rows<const T> right,
                 karst_tri_rows<T> solution)
{
  const karst_tri_level<T> &of = plan.level[l];
  if (l < plan.levels - 1) {
    karst_tri_launch_substitute(cuda, plan, l, false, right, karst_tri_rows<T>{of.y, 1, plan.m});
    karst_tri_launch_condense(cuda, plan, l, right);
    apply_level(cuda, plan, l + 1, karst_tri_const(of.reduced.right), of.unknowns);
    karst_tri_launch_separators(cuda, plan, l, plan.m, karst_tri_const(of.unknowns), solution, true);
  }
  karst_tri_launch_substitute(cuda, plan, l, l < plan.levels - 1, right, solution);
}

template <typename T> karst_tri_plan<T> &plan_in(karst_tridiagonal *batch)
{
  return *static_cast<karst_tri_plan<T> *>(batch->plan);
}

/* Points the systems at the place for the outcome of this call, and clears it. */
template <typename T> void begin(const karst_cuda *cuda, const karst_tridiagonal *batch, karst_tri_systems<T> &s)
{
  s.failure += batch->of_factors;
  cudaMemsetAsync(s.failure, 0xff, sizeof *s.failure, cuda->stream);
}

/* Points the systems at copies whose blocks are stored one after the other, if the plan is for such. */
template <typename T> void arrange(const karst_cuda *cuda, const karst_tri_plan<T> &plan, karst_tri_systems<T> &s)
{
  karst_tri_rows<const T> *const arrays[] = {&s.lower, &s.diagonal, &s.upper, &s.right};
  for (int i = 0; i < 4 && plan.converts; i++) {
    const int entries = i < 3 ? s.m * s.m : s.m;
    if (!arrays[i]->at) continue;
    karst_tri_launch_convert(cuda, s.systems * s.rows, entries, false, arrays[i]->at, plan.arranged[i]);
    *arrays[i] = {plan.arranged[i], 1, entries};
  }
}

template <typename T>
karst_status solve(karst_context *context, karst_tridiagonal *batch, const void *lower, const void *diagonal,
                   const void *upper, const void *right, void *solution)
{
  const karst_cuda *cuda = karst_cuda_of(context);
  const karst_tri_plan<T> &plan = plan_in<T>(batch);
  karst_tri_systems<T> s = systems_of<T>(batch, plan, lower, diagonal, upper);
  s.right = karst_tri_const(rows_of<T>(batch, right, plan.m));
  s.solution = rows_of<T>(batch, solution, plan.m);
  begin(cuda, batch, s);
  arrange(cuda, plan, s);
  if (plan.converts) s.solution = {plan.arranged[3], 1, plan.m};
  solve_level(cuda, plan, 0, s);
  if (plan.converts)
    karst_tri_launch_convert(cuda, s.systems * s.rows, plan.m, true, karst_tri_const(s.solution).at,
                             static_cast<T *>(solution));
  return karst_cuda_status(context, cudaPeekAtLastError(), "solving tridiagonal systems");
}

/* Solves once, to find blocks that are singular. */
template <typename T>
karst_status keep_copies(karst_context *context, karst_tridiagonal *batch, const karst_tri_plan<T> &plan,
                         const void *lower, const void *diagonal, const void *upper)
{
  const cudaStream_t stream = karst_cuda_of(context)->stream;
  const size_t vector = (size_t)(plan.systems * batch->shape.rows * plan.m) * sizeof(T);
  const void *const given[3] = {lower, diagonal, upper};
  for (int i = 0; i < 3; i++)
    cudaMemcpyAsync(plan.kept[i], given[i], vector * (size_t)plan.m, cudaMemcpyDeviceToDevice, stream);
  cudaMemsetAsync(plan.trial, 0, vector, stream);
  return solve<T>(context, batch, lower, diagonal, upper, plan.trial, plan.trial);
}

template <typename T>
karst_status factor(karst_context *context, karst_tridiagonal *batch, const void *lower, const void *diagonal,
                    const void *upper)
{
  karst_tri_plan<T> &plan = plan_in<T>(batch);
  if (!plan.has_factors) {
    carver<T> counted = {nullptr, 0};
    keeps_copies(plan) ? take_copies(plan, counted) : take_factors(plan, counted);
    const karst_status status = take_memory(context, batch, counted, &plan.memory[1]);
    if (status) return status;
    carver<T> carved = {plan.memory[1], 0};
    keeps_copies(plan) ? take_copies(plan, carved) : take_factors(plan, carved);
    plan.has_factors = true;
  }
  if (keeps_copies(plan)) return keep_copies(context, batch, plan, lower, diagonal, upper);
  karst_tri_systems<T> s = systems_of<T>(batch, plan, lower, diagonal, upper);
  arrange(karst_cuda_of(context), plan, s);
  s.right = s.diagonal; /* read, and not used */
  begin(karst_cuda_of(context), batch, s);
  factor_level(karst_cuda_of(context), plan, 0, s);
  return karst_cuda_status(context, cudaPeekAtLastError(), "factoring tridiagonal systems");
}

template <typename T>
karst_status solve_factored(karst_context *context, karst_tridiagonal *batch, int right_sides, const void *right,
                            void *solution)
{
  const karst_tri_plan<T> &plan = plan_in<T>(batch);
  const int64_t length = batch->shape.systems * batch->shape.rows * plan.m;
  karst_tri_systems<T> s = systems_of<T>(batch, plan, plan.kept[0], plan.kept[1], plan.kept[2]);
  s.failure = plan.failure + 1; /* where factor has reported them: the same systems fail again */
  for (int i = 0; i < right_sides && keeps_copies(plan); i++) {
    s.right = karst_tri_const(rows_of<T>(batch, static_cast<const T *>(right) + i * length, plan.m));
    s.solution = rows_of<T>(batch, static_cast<T *>(solution) + i * length, plan.m);
    solve_level(karst_cuda_of(context), plan, 0, s);
  }
  for (int i = 0; i < right_sides && !keeps_copies(plan); i++)
    apply_level(karst_cuda_of(context), plan, 0,
                karst_tri_const(rows_of<T>(batch, static_cast<const T *>(right) + i * length, plan.m)),
                rows_of<T>(batch, static_cast<T *>(solution) + i * length, plan.m));
  return karst_cuda_status(context, cudaPeekAtLastError(), "solving tridiagonal systems");
}

/* The functions of the table choose the precision. */
karst_status plan_any(karst_context *context, karst_tridiagonal *batch)
{
  return batch->shape.single ? plan_of<float>(context, batch) : plan_of<double>(context, batch);
}

void destroy_any(karst_context *context, karst_tridiagonal *batch)
{
  batch->shape.single ? destroy<float>(context, batch) : destroy<double>(context, batch);
}

karst_status solve_any(karst_context *context, karst_tridiagonal *batch, const void *lower, const void *diagonal,
                       const void *upper, const void *right, void *solution)
{
  return batch->shape.single ? solve<float>(context, batch, lower, diagonal, upper, right, solution)
                             : solve<double>(context, batch, lower, diagonal, upper, right, solution);
}

karst_status factor_any(karst_context *context, karst_tridiagonal *batch, const void *lower, const void *diagonal,
                        const void *upper)
{
  return batch->shape.single ? factor<float>(context, batch, lower, diagonal, upper)
                             : factor<double>(context, batch, lower, diagonal, upper);
}

karst_status solve_factored_any(karst_context *context, karst_tridiagonal *batch, int right_sides, const void *right,
                                void *solution)
{
  return batch->shape.single ? solve_factored<float>(context, batch, right_sides, right, solution)
                             : solve_factored<double>(context, batch, right_sides, right, solution);
}

karst_status outcome(karst_context *context, karst_tridiagonal *batch, karst_reason *reason, int64_t *system,
                     karst_index *row)
{
  unsigned long long failure = KARST_TRIDIAGONAL_NO_FAILURE;
  const unsigned long long *from = batch->shape.single ? plan_in<float>(batch).failure : plan_in<double>(batch).failure;
  const karst_status status = karst_download_cuda(context, &failure, from + batch->of_factors, sizeof failure);
  if (!status) karst_tridiagonal_failed(batch->shape.rows, failure, reason, system, row);
  return status;
}

void convert(karst_context *context, const karst_tridiagonal *batch, int entries, karst_tridiagonal_layout from_layout,
             const void *from, void *to)
{
  const int64_t rows = batch->shape.systems * batch->shape.rows;
  const bool to_entries = from_layout == KARST_TRIDIAGONAL_AOS;
  const karst_cuda *cuda = karst_cuda_of(context);
  if (batch->shape.single)
    karst_tri_launch_convert(cuda, rows, entries, to_entries, static_cast<const float *>(from),
                             static_cast<float *>(to));
  else
    karst_tri_launch_convert(cuda, rows, entries, to_entries, static_cast<const double *>(from),
                             static_cast<double *>(to));
}

} // namespace

extern "C" {
extern const struct karst_tridiagonal_kernels karst_tridiagonal_kernels_cuda;
const struct karst_tridiagonal_kernels karst_tridiagonal_kernels_cuda = {
    karst_cuda_entry<plan_any>::call,   karst_cuda_entry<destroy_any>::call,        karst_cuda_entry<solve_any>::call,
    karst_cuda_entry<factor_any>::call, karst_cuda_entry<solve_factored_any>::call, karst_cuda_entry<outcome>::call,
    karst_cuda_entry<convert>::call};
}
