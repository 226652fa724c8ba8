/* cycle.cu - the steps of a cycle: what kernels need of each, and their launches.
 *
 * A restriction and the first sweep of the next level are one item; that of level 0 is done as r enters (apply.cu).
 * Items of the last levels that follow one another are one launch (tail.cu), others have one each. They are captured in
 * a graph once. Without one they are launched one by one.
 *
 * A product with rows streams the matrix. A thread block has consecutive rows, whose entries follow one another, and
 * takes ROOM of them at a time:
 *
 *     all threads   EACH columns and values of the matrix each, neighbours from neighbours
 *     (wait for the kernel before: the matrix is none of its results)
 *     all threads   as many elements of x, products into shared memory
 *     barrier
 *     lanes         the sum of a row's products in the order of its entries
 *
 * So the loads do not depend on one another, however long the rows are. */
#include "gpu/amg/steps.h"

namespace
{

enum { THREADS = 256, EACH = 8 /* entries */, ROOM = EACH * THREADS, WARP = 32 };

const char *const what = "a multigrid cycle";

template <typename T> struct stream {
  karst_index column[EACH];
  T value[EACH];

  /* Loads up to ROOM entries of count from a place on. */
  __device__ __forceinline__ void load(const karst_index *columns, const T *values, karst_index count)
  {
    const int t = (int)threadIdx.x;
#pragma unroll
    for (int u = 0; u < EACH; u++) column[u] = t + u * THREADS < count ? __ldcg(columns + t + u * THREADS) : -1;
#pragma unroll
    for (int u = 0; u < EACH; u++) value[u] = t + u * THREADS < count ? __ldcg(values + t + u * THREADS) : 0;
  }

  __device__ __forceinline__ void multiply(const T *x, T *product)
  {
    T factor[EACH];
#pragma unroll
    for (int u = 0; u < EACH; u++) factor[u] = column[u] >= 0 ? x[column[u]] : 0;
#pragma unroll
    for (int u = 0; u < EACH; u++) product[u * THREADS + threadIdx.x] = value[u] * factor[u];
  }
};

/* lanes: of a row, a power of two. */
template <karst_amg_use USE, typename T>
__global__ void __launch_bounds__(THREADS, sizeof(T) == sizeof(float) ? 6 : 4) do_rows(karst_amg_item<T> s, int lanes)
{
  __shared__ T product[ROOM];
  const int shift = __ffs(lanes) - 1, rows = THREADS >> shift, lane = (int)threadIdx.x & (lanes - 1);
  const int64_t first = blockIdx.x * (int64_t)rows, i = first + (threadIdx.x >> shift);
  const bool mine = i < s.A.rows, leads = mine && lane == 0;
  const karst_index begin = s.A.start[first], count = s.A.start[min(first + rows, (int64_t)s.A.rows)] - begin;
  const karst_index end = mine ? s.A.start[i + 1] - begin : 0;
  karst_index e = mine ? s.A.start[i] - begin + lane : 0;
  const karst_index *column = s.A.column + begin;
  const T *value = s.A.value + begin;
  stream<T> now;
  now.load(column, value, count);
  karst_cuda_begin();
  karst_amg_row<T> row = {0, 0, 0, 0};
  if (leads) row = karst_amg_load_row<USE, false>(s, i);
  T sum = 0;
  for (karst_index base = 0; base < count; base += ROOM) {
    if (base > 0) now.load(column + base, value + base, count - base);
    now.multiply(s.x, product);
    __syncthreads();
    const karst_index stop = min(end, base + ROOM);
#pragma unroll 4
    for (; e < stop; e += lanes) sum += product[e - base];
    __syncthreads();
  }
  for (int distance = lanes / 2; distance > 0; distance /= 2) sum += __shfl_down_sync(0xffffffffu, sum, distance);
  if (leads) karst_amg_finish_row<USE>(s, i, row, sum);
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

/* The lanes of a row, so that a thread block fills most of its shared memory. */
int stream_lanes(int64_t entries, int64_t rows)
{
  enum { PART = ROOM / 16 };
  int lanes = 1;
  while (lanes < WARP && entries * (THREADS / lanes) > 15 * PART * rows) lanes *= 2;
  return lanes;
}

template <karst_amg_use USE, typename T> void launch_rows(const struct karst_cuda *cuda, const karst_amg_item<T> &s)
{
  const int lanes = stream_lanes(s.entries, s.A.rows);
  karst_cuda_launch(cuda, do_rows<USE, T>, karst_cuda_grid(s.A.rows, THREADS / lanes), THREADS, s, lanes);
}

template <typename T> void launch_item(const struct karst_cuda *cuda, const karst_amg_item<T> &s)
{
#define LAUNCH(USE)                                                                                                    \
  case USE:                                                                                                            \
    return launch_rows<USE>(cuda, s);
  switch (s.use) {
    KARST_AMG_USES(LAUNCH)
  case KARST_AMG_USE_INVERT:
    karst_cuda_launch(cuda, multiply_dense<T>, karst_cuda_grid(s.A.rows, THREADS / WARP), THREADS, s);
    return;
  default:
    karst_cuda_launch(cuda, do_first<T>, karst_cuda_grid(s.A.rows, THREADS), THREADS, s);
  }
#undef LAUNCH
}

template <typename T> T *vector_of(const karst_amg_level *level, int number)
{
  return static_cast<T *>(level->vector[number]);
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
  karst_amg_item<T> s = {use, karst_amg_lanes(A->entries, 2 * (int64_t)A->rows, 4, 16), step->level, A->entries,
                         karst_amg_view_of<T>(A)};
  s.f = vector_of<T>(level, 0);
  s.weight = static_cast<const T *>(level->weight);
  s.x = vector_of<T>(prolongs ? level + 1 : level, step->x);
  s.inverse = static_cast<const T *>(amg->inverse);
  s.y = restricts ? vector_of<T>(level + 1, 0) : vector_of<T>(level, step->y);
  s.d = step->action == KARST_AMG_MOMENTUM ? vector_of<T>(level, 3) : NULL;
  s.factor = (T)step->factor;
  s.keep = (T)step->keep;
  return s;
}

/* Makes the items, and returns how many. */
template <typename T> int make_items(const karst_amg *amg, karst_amg_item<T> *item)
{
  int count = 0;
  for (int k = 0; k < amg->steps; k++) {
    const karst_amg_step *step = amg->step + k;
    if (amg->level[step->level].A.rows == 0) continue;
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

/* The first of the last levels that are small enough for the cluster; no level: KARST_AMG_LEVELS. */
int find_tail(const karst_amg *amg, int64_t rows)
{
  enum { ROW = 64 /* entries */ };
  int first = amg->levels;
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
      launch_item(cuda, item[k]);
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
  return status;
}

karst_status take_vectors(karst_context *context, karst_amg *amg)
{
  const int64_t scalar = amg->single ? sizeof(float) : sizeof(double);
  bool momentum = false;
  karst_status status = KARST_SUCCESS;
  for (int s = 0; s < amg->steps; s++) momentum = momentum || amg->step[s].action == KARST_AMG_MOMENTUM;
  for (int l = 0; l < amg->levels && !status; l++) {
    karst_amg_level *level = &amg->level[l];
    const int64_t bytes = ((int64_t)level->A.rows + 1) * scalar;
    const int count = momentum ? KARST_AMG_VECTORS : KARST_AMG_VECTORS - 1;
    status = karst_amg_take_bytes_cuda(context, amg, bytes, what, &level->weight);
    for (int v = 0; v < count && !status; v++)
      status = karst_amg_take_bytes_cuda(context, amg, bytes, what, &level->vector[v]);
    amg->plan_memory += (count + 1) * bytes;
  }
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
  karst_status status = take_vectors(context, amg);
  if (!status) status = karst_amg_invert_prepare_cuda(context, amg);
  if (!status) status = amg->single ? prepare<float>(context, amg, plan) : prepare<double>(context, amg, plan);
  if (status) return status;
  capture(karst_cuda_of(context), amg, plan);
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
