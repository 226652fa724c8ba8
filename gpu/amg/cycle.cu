/* cycle.cu - the steps of a cycle: what kernels need of each, and their launches.
 *
 * A restriction and the first sweep of the next level are one item; that of level 0 is done as r enters (apply.cu).
 * Items of the last levels that follow one another are one launch (tail.cu), others have one each. They are captured in
 * a graph once. Without one they are launched one by one.
 *
 * A product with rows streams the matrix. As many thread blocks as the device runs at a time share pieces of the rows.
 * The entries of a piece follow one another, and are taken ROOM at a time:
 *
 *     all threads   load EACH columns and values of the matrix, neighbours from neighbours
 *     (once: wait for the kernel before, as the matrix is none of its results)
 *     all threads   load as many elements of x, multiply, products into shared memory
 *     all threads   begin to load the next columns and values
 *     barrier
 *     lanes         add up a row's products in the order of its entries
 *     barrier
 *
 * So loads do not depend on one another, however long the rows are, and are under way all the time. */
#include "gpu/amg/steps.h"

namespace
{

enum {
  THREADS = 256,
  EACH = 8 /* entries */,
  ROOM = EACH * THREADS,
  RESIDENT = 4 /* thread blocks of a multiprocessor */,
  WARP = 32
};

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

  __device__ __forceinline__ void multiply(const double *x, double *product)
  {
    double factor[EACH];
#pragma unroll
    for (int u = 0; u < EACH; u++) factor[u] = column[u] >= 0 ? x[column[u]] : 0;
#pragma unroll
    for (int u = 0; u < EACH; u++) product[u * THREADS + threadIdx.x] = value[u] * factor[u];
  }
};

/* Consecutive rows of a thread block, THREADS / lanes or, at the end, fewer, and the one of this thread. */
struct piece {
  int64_t row;                /* of this thread's lanes */
  int64_t begin;              /* the first entry of all rows */
  karst_index count;          /* of them */
  karst_index own, own_count; /* the row's entries from begin on: the first of this lane, and the end */
};

template <typename T> __device__ __forceinline__ piece find_piece(const karst_amg_view<T> &A, int64_t number, int shift)
{
  const int rows = THREADS >> shift, lane = (int)threadIdx.x & ((1 << shift) - 1);
  const int64_t first = number * rows;
  piece p = {first + (threadIdx.x >> shift), 0, 0, 0, 0};
  if (first >= A.rows) return p;
  const karst_index begin = A.start[first];
  p.begin = begin;
  p.count = A.start[min(first + rows, (int64_t)A.rows)] - begin;
  if (p.row >= A.rows) return p;
  p.own = A.start[p.row] - begin + lane;
  p.own_count = A.start[p.row + 1] - begin;
  return p;
}

/* 2^shift: the lanes of a row. */
template <karst_amg_use USE, typename T>
__global__ void __launch_bounds__(THREADS, RESIDENT) do_rows(karst_amg_item<T> s, int shift)
{
  __shared__ double product[ROOM];
  const bool leads = (threadIdx.x & ((1 << shift) - 1)) == 0;
  stream<T> entries;
  piece now = find_piece(s.A, blockIdx.x, shift);
  entries.load(s.A.column + now.begin, s.A.value + now.begin, now.count);
  karst_cuda_begin();
  for (int64_t number = blockIdx.x; number * (THREADS >> shift) < s.A.rows; number += gridDim.x) {
    const piece next = find_piece(s.A, number + gridDim.x, shift);
    karst_amg_row row = {0, 0, 0, 0};
    if (leads && now.row < s.A.rows) row = karst_amg_load_row<USE, false>(s, now.row);
    double sum = 0;
    karst_index done = 0;
    do {
      entries.multiply(s.x, product);
      const karst_index base = done;
      done += ROOM;
      const bool more = done < now.count;
      const int64_t from = more ? now.begin + done : next.begin;
      entries.load(s.A.column + from, s.A.value + from, more ? now.count - done : next.count);
      __syncthreads();
      const karst_index stop = min(now.own_count, done);
#pragma unroll 4
      for (; now.own < stop; now.own += 1 << shift) sum += product[now.own - base];
      __syncthreads();
    } while (done < now.count);
    for (int distance = 1 << shift >> 1; distance > 0; distance /= 2)
      sum += __shfl_down_sync(0xffffffffu, sum, distance);
    if (leads && now.row < s.A.rows) karst_amg_finish_row<USE>(s, now.row, row, sum);
    now = next;
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

/* The logarithm of the lanes of a row, so that a piece fills most of the shared memory. */
int choose_shift(int64_t entries, int64_t rows)
{
  enum { PART = ROOM / 16 };
  int shift = 0;
  while (1 << shift < WARP && entries * (THREADS >> shift) > 15 * PART * rows) shift++;
  return shift;
}

template <karst_amg_use USE, typename T> void launch_rows(const struct karst_cuda *cuda, const karst_amg_item<T> &s)
{
  const int shift = choose_shift(s.entries, s.A.rows);
  const unsigned pieces = karst_cuda_grid(s.A.rows, THREADS >> shift);
  const unsigned most = (unsigned)(RESIDENT * cuda->multiprocessors);
  karst_cuda_launch(cuda, do_rows<USE, T>, pieces < most ? pieces : most, THREADS, s, shift);
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
  s.f = level->vector[0];
  s.weight = static_cast<const T *>(level->weight);
  s.x = (prolongs ? level + 1 : level)->vector[step->x];
  s.inverse = static_cast<const T *>(amg->inverse);
  s.y = restricts ? level[1].vector[0] : level->vector[step->y];
  s.d = step->action == KARST_AMG_MOMENTUM ? level->vector[3] : NULL;
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
  if (plan->tail < amg->levels && amg->level[plan->tail].A.rows <= tail.rows_alone) plan->tail_blocks = 1;
  return status;
}

karst_status take_shared(karst_context *context, karst_amg *amg)
{
  const int64_t bytes = karst_amg_place_shared(amg, NULL);
  for (int l = 0; l < amg->levels; l++) {
    karst_cuda_work_release(context, amg->level[l].AP.C.value);
    amg->level[l].AP.C.value = NULL;
  }
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
