/* cycle.cu - the steps of a cycle: what kernels need of each, and their launches.
 *
 * A restriction and the first sweep of the next level are one item; that of level 0 is done as r enters (apply.cu).
 * Items of the last levels that follow one another are one launch (tail.cu), others have one each. They are captured in
 * a graph once. Without one they are launched one by one.
 *
 * A product with rows streams the matrix. As many warps as the device runs at a time take pieces of consecutive rows in
 * turn. The entries of a piece follow one another, and are taken EACH for a lane at a time:
 *
 *     all lanes       load columns and values of the matrix, neighbours from neighbours
 *     (once a piece   wait for the kernel before, which does not change the matrix)
 *     all lanes       load as many elements of x, multiply, products into shared memory
 *     lanes of a row  add up its products in the order of its entries
 *
 * So the loads of a step do not depend on one another, however long the rows are, and no warp waits for another. On an
 * H100 thread blocks with barriers, the copy engine, and rows kept in columns of slices were all slower. */
#include "gpu/amg/steps.h"
#include "gpu/lines/lines_cuda.h"

namespace
{

enum { THREADS = 256, WARP = 32, WARPS = THREADS / WARP };

const char *const what = "a multigrid cycle";

/* How a product is shared: rows of P are short. A restriction and a sweep begin at the end, as the steps before them
 * have left the last rows of their vectors and matrices in the second-level cache. */
template <karst_amg_use USE> struct shape {
  static constexpr bool SHORT = USE == KARST_AMG_USE_PROLONG,
                        BACKWARDS = USE == KARST_AMG_USE_SWEEP || USE == KARST_AMG_USE_RESTRICT;
  static constexpr int EACH = SHORT ? 4 : 8 /* entries */, ROOM = EACH * WARP;
  static constexpr int RESIDENT = SHORT ? 6 : 4; /* thread blocks of a multiprocessor, which have enough registers */
};

/* 2^shift: the lanes of a row. */
template <karst_amg_use USE, typename T>
__global__ void __launch_bounds__(THREADS, shape<USE>::RESIDENT) do_rows(karst_amg_item<T> s, int shift)
{
  constexpr int EACH = shape<USE>::EACH, ROOM = shape<USE>::ROOM;
  __shared__ double products[WARPS][ROOM];
  const int t = (int)threadIdx.x % WARP, lane = t & ((1 << shift) - 1), rows = WARP >> shift;
  const int64_t number = blockIdx.x * (int64_t)WARPS + threadIdx.x / WARP, step = gridDim.x * (int64_t)(WARPS * rows);
  double *product = products[threadIdx.x / WARP];
  for (int64_t at = number * rows; at < s.A.rows; at += step) {
    const int64_t first = shape<USE>::BACKWARDS ? ((int64_t)s.A.rows - 1) / rows * rows - at : at;
    const int64_t i = first + (t >> shift);
    const bool mine = i < s.A.rows;
    const karst_index begin = s.A.start[first], end = s.A.start[min(first + rows, (int64_t)s.A.rows)],
                      own_end = mine ? s.A.start[i + 1] : 0;
    karst_index base = begin, own = mine ? s.A.start[i] + lane : 0;
    karst_amg_row row = {0, 0, 0, 0};
    double sum = 0;
    do {
      karst_index column[EACH];
      T value[EACH];
      double factor[EACH];
#pragma unroll
      for (int u = 0; u < EACH; u++)
        column[u] = base + u * WARP + t < end ? __ldcs(s.A.column + base + u * WARP + t) : -1;
#pragma unroll
      for (int u = 0; u < EACH; u++) value[u] = base + u * WARP + t < end ? __ldcs(s.A.value + base + u * WARP + t) : 0;
      karst_cuda_begin();
#pragma unroll
      for (int u = 0; u < EACH; u++) factor[u] = column[u] >= 0 ? s.x[column[u]] : 0;
      if (mine && lane == 0 && base == begin) row = karst_amg_load_row<USE, false>(s, i);
#pragma unroll
      for (int u = 0; u < EACH; u++) product[u * WARP + t] = value[u] * factor[u];
      __syncwarp();
      const karst_index stop = min(own_end, base + ROOM);
#pragma unroll 4
      for (; own < stop; own += 1 << shift) sum += product[own - base];
      __syncwarp();
      base += ROOM;
    } while (base < end);
    for (int distance = 1 << shift >> 1; distance > 0; distance /= 2)
      sum += __shfl_down_sync(0xffffffffu, sum, distance);
    if (mine && lane == 0) karst_amg_finish_row<USE>(s, i, row, sum);
  }
}

template <typename T> __global__ void __launch_bounds__(THREADS) do_first(karst_amg_item<T> s)
{
  karst_cuda_begin();
  const int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (i < s.A.rows) karst_amg_first_row(s, s.y, i, s.f[i]);
}

template <typename T> __global__ void __launch_bounds__(THREADS) multiply_dense(karst_amg_item<T> s)
{
  karst_cuda_begin();
  const int64_t i = (blockIdx.x * (int64_t)THREADS + threadIdx.x) / WARP;
  if (i < s.A.rows) karst_amg_do_dense_row<false>(s, i);
}

/* After M^-1 of the matrix itself, whose level 0 is divided by 2^exponent. */
template <typename T>
__global__ void __launch_bounds__(THREADS) add_lines(karst_amg_item<T> s, const karst_amg_scalars *scalars)
{
  karst_cuda_begin();
  const int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (i >= s.A.rows) return;
  const double change = ldexp(s.factor, scalars->exponent) * s.d[i];
  s.y[i] = s.keep == 0 ? change : s.keep * s.y[i] + change;
}

template <typename T> void launch_lines(const struct karst_cuda *cuda, const karst_amg *amg, const karst_amg_item<T> &s)
{
  for (int k = 0; k < amg->axes; k++) karst_lines_launch_cuda(cuda, &amg->lines[k], 0, k == 0 ? s.x : s.d, s.d);
  karst_cuda_launch(cuda, add_lines<T>, karst_cuda_grid(s.A.rows, THREADS), THREADS, s,
                    karst_amg_cuda_of(amg)->scalars);
}

template <karst_amg_use USE, typename T> void launch_rows(const struct karst_cuda *cuda, const karst_amg_item<T> &s)
{
  int shift = 0; /* so that a piece has ROOM entries at most, in the mean */
  while (1 << shift < WARP && s.entries * (WARP >> shift) > shape<USE>::ROOM * (int64_t)s.A.rows) shift++;
  const unsigned blocks = karst_cuda_grid(s.A.rows, THREADS >> shift);
  const unsigned most = (unsigned)(shape<USE>::RESIDENT * cuda->multiprocessors);
  karst_cuda_launch(cuda, do_rows<USE, T>, blocks < most ? blocks : most, THREADS, s, shift);
}

template <typename T> void launch_item(const struct karst_cuda *cuda, const karst_amg *amg, const karst_amg_item<T> &s)
{
#define LAUNCH(USE)                                                                                                    \
  case USE:                                                                                                            \
    return launch_rows<USE>(cuda, s);
  switch (s.use) {
    KARST_AMG_USES(LAUNCH)
  case KARST_AMG_USE_INVERT:
    karst_cuda_launch(cuda, multiply_dense<T>, karst_cuda_grid(s.A.rows, THREADS / WARP), THREADS, s);
    return;
  case KARST_AMG_USE_LINES:
    return launch_lines(cuda, amg, s);
  case KARST_AMG_USE_CALL:
    return amg->call(amg->user, amg->step + s.step);
  default:
    karst_cuda_launch(cuda, do_first<T>, karst_cuda_grid(s.A.rows, THREADS), THREADS, s);
  }
#undef LAUNCH
}

karst_amg_use use_of(const karst_amg_step *step)
{
  switch (step->action) {
  case KARST_AMG_SWEEP:
    return KARST_AMG_USE_SWEEP;
  case KARST_AMG_MOMENTUM:
    return step->x == 0 ? KARST_AMG_USE_FIRST : KARST_AMG_USE_MOMENTUM;
  case KARST_AMG_RESIDUAL:
    return KARST_AMG_USE_RESIDUAL;
  case KARST_AMG_RESTRICT:
    return KARST_AMG_USE_RESTRICT;
  case KARST_AMG_PROLONG:
    return KARST_AMG_USE_PROLONG;
  case KARST_AMG_INVERT:
    return KARST_AMG_USE_INVERT;
  case KARST_AMG_LINES:
    return KARST_AMG_USE_LINES;
  case KARST_AMG_EXCHANGE:
  case KARST_AMG_RETURN:
  case KARST_AMG_GATHER:
    return KARST_AMG_USE_CALL;
  default:
    return KARST_AMG_USE_FIRST;
  }
}

template <typename T> karst_amg_item<T> item_of(const karst_amg *amg, const karst_amg_step *step)
{
  const karst_amg_level *level = &amg->level[step->level];
  const karst_amg_use use = use_of(step);
  const bool restricts = use == KARST_AMG_USE_RESTRICT, prolongs = use == KARST_AMG_USE_PROLONG;
  const karst_amg_matrix *A = restricts ? &level->R : prolongs ? &level->P : &level->A;
  karst_amg_item<T> s = {use,
                         karst_amg_lanes(A->entries, 2 * (int64_t)A->rows, 4, 16),
                         (int)(step - amg->step),
                         step->level,
                         A->entries,
                         karst_amg_view_of<T>(A)};
  if (prolongs) s.A.rows = level->A.rows;
  s.f = level->vector[0];
  s.weight = static_cast<const T *>(level->weight);
  s.x = (prolongs ? level + 1 : level)->vector[step->x];
  s.inverse = static_cast<const T *>(amg->inverse);
  s.y = restricts ? level[1].vector[0] : level->vector[step->y];
  s.d = step->action == KARST_AMG_MOMENTUM || use == KARST_AMG_USE_LINES ? level->vector[3] : NULL;
  s.factor = step->factor;
  s.keep = step->keep;
  return s;
}

/* Makes the items, and returns how many. */
template <typename T> int make_items(const karst_amg *amg, karst_amg_item<T> *item)
{
  int count = 0;
  for (int k = 0; k < amg->steps; k++) {
    const karst_amg_step *step = amg->step + k;
    if (amg->level[step->level].A.rows == 0 && use_of(step) != KARST_AMG_USE_CALL) continue;
    item[count] = item_of<T>(amg, step);
    if (k + 1 < amg->steps && step[0].action == KARST_AMG_RESTRICT && step[1].level == step[0].level + 1 &&
        use_of(step + 1) == KARST_AMG_USE_FIRST) {
      const karst_amg_item<T> first = item_of<T>(amg, step + 1);
      item[count].first = first.y;
      item[count].d = first.d;
      item[count].weight = first.weight;
      item[count].factor = first.factor;
      k++;
    }
    count++;
  }
  return count;
}

/* The first of the last levels that are small enough for the cluster; no level, or the host has steps of its own:
 * KARST_AMG_LEVELS. */
int find_tail(const karst_amg *amg, int64_t rows)
{
  enum { ROW = 64 /* entries */ };
  int first = amg->levels;
  if (amg->call) return KARST_AMG_LEVELS;
  while (first > 1 && amg->level[first - 1].A.rows <= rows && amg->level[first - 1].A.entries <= ROW * rows) first--;
  return first < amg->levels ? first : KARST_AMG_LEVELS;
}

template <typename T> void launch_all(const struct karst_cuda *cuda, const karst_amg *amg)
{
  const karst_amg_cuda *plan = karst_amg_cuda_of(amg);
  const karst_amg_item<T> *item = static_cast<const karst_amg_item<T> *>(plan->item);
  for (int k = plan->entered, end = k; k < plan->items; k = end) {
    while (end < plan->items && end < k + KARST_AMG_TAIL && item[end].level >= plan->tail) end++;
    if (end > k + 1)
      karst_amg_launch_tail_cuda(cuda, amg, k, end);
    else
      launch_item(cuda, amg, item[k]);
    if (end == k) end++;
  }
}

/* Captures the items on a stream of its own. */
void capture(const struct karst_cuda *cuda, const karst_amg *amg, karst_amg_cuda *plan)
{
  struct karst_cuda other = *cuda;
  cudaGraph_t graph = NULL;
  if (cudaStreamCreateWithFlags(&other.stream, cudaStreamNonBlocking) != cudaSuccess) return;
  if (cudaStreamBeginCapture(other.stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess) {
    karst_amg_launch_steps_cuda(&other, amg);
    if (cudaStreamEndCapture(other.stream, &graph) == cudaSuccess && graph &&
        cudaGraphInstantiate(&plan->graph, graph, 0) != cudaSuccess)
      plan->graph = NULL;
  }
  if (graph) cudaGraphDestroy(graph);
  cudaStreamDestroy(other.stream);
  cudaGetLastError();
}

template <typename T> karst_status prepare(karst_context *context, karst_amg *amg, karst_amg_cuda *plan)
{
  const struct karst_cuda *cuda = karst_cuda_of(context);
  const karst_amg_tail tail = karst_amg_tail_of_cuda(cuda, amg->single);
  karst_amg_item<T> *item;
  const karst_status status = karst_allocate_zero(context, &item, amg->steps, sizeof *item, what);
  if (status) return status;
  plan->item = item;
  plan->items = make_items(amg, item);
  plan->entered = plan->items > 0 && item[0].use == KARST_AMG_USE_FIRST && item[0].level == 0 ? 1 : 0;
  plan->tail = find_tail(amg, tail.rows);
  plan->tail_blocks = tail.blocks;
  if (plan->tail < amg->levels)
    while (plan->tail_blocks > 1 && amg->level[plan->tail].A.rows <= tail.rows_least * plan->tail_blocks / 2)
      plan->tail_blocks /= 2;
  if (plan->tail < amg->levels && amg->level[plan->tail].A.rows <= tail.rows_alone) plan->tail_blocks = 1;
  return status;
}

karst_status take_shared(karst_context *context, karst_amg *amg)
{
  const int64_t bytes = karst_amg_place_shared(amg, NULL);
  const karst_status status = karst_amg_take_bytes_cuda(context, amg, bytes, what, &amg->shared);
  karst_amg_place_shared(amg, static_cast<char *>(amg->shared));
  amg->plan_memory += bytes;
  return status;
}

} // namespace

void karst_amg_launch_steps_cuda(const struct karst_cuda *cuda, const karst_amg *amg)
{
  if (amg->single)
    launch_all<float>(cuda, amg);
  else
    launch_all<double>(cuda, amg);
}

karst_status karst_amg_finish_cuda(karst_context *context, karst_amg *amg)
{
  karst_amg_cuda *plan = karst_amg_cuda_of(amg);
  amg->plan_memory = (int64_t)sizeof(karst_amg_scalars);
  karst_status status = take_shared(context, amg);
  if (!status) status = karst_amg_invert_prepare_cuda(context, amg);
  if (!status) status = amg->single ? prepare<float>(context, amg, plan) : prepare<double>(context, amg, plan);
  if (status) return status;
  if (!amg->call) capture(karst_cuda_of(context), amg, plan);
  karst_cuda_work_end(context);
  if (plan->pool) cudaMemPoolTrimTo(plan->pool, 0);
  return status;
}

void karst_amg_cycle_release_cuda(karst_context *context, karst_amg *amg)
{
  karst_amg_cuda *plan = karst_amg_cuda_of(amg);
  if (plan->graph) {
    cudaStreamSynchronize(karst_cuda_of(context)->stream); /* it may run */
    cudaGraphExecDestroy(plan->graph);
  }
  karst_release(context, plan->item);
  plan->graph = NULL;
  plan->item = NULL;
}
