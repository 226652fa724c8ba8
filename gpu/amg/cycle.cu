/* cycle.cu - the steps of a cycle: what kernels need of each, and their launches.
 *
 * A first sweep and the residual after it are one item. Items of the last levels that follow one another are one launch
 * (tail.cu), others have one each. They are captured in a graph once. Without one they are launched one by one. */
#include "gpu/amg/steps.h"

namespace
{

enum { THREADS = 256, DENSE_ROWS = 32 /* of a thread block of the dense product */ };

const char *const what = "a multigrid cycle";

template <karst_amg_use USE, int LANES, typename T>
__global__ void __launch_bounds__(THREADS) do_rows(karst_amg_item<T> s)
{
  karst_cuda_begin();
  const int64_t i = (blockIdx.x * (int64_t)THREADS + threadIdx.x) / LANES;
  if (i < s.A.rows) karst_amg_do_row<USE, LANES, false>(s, i);
}

template <typename T> __global__ void __launch_bounds__(THREADS) do_first(karst_amg_item<T> s)
{
  karst_cuda_begin();
  const int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (i < s.A.rows) karst_amg_first_row<false>(s, i);
}

/* y = W f: a warp takes DENSE_ROWS rows and every eighth column. */
template <typename T> __global__ void __launch_bounds__(THREADS) multiply_dense(karst_amg_item<T> s)
{
  enum { PARTS = THREADS / DENSE_ROWS };
  __shared__ T part[PARTS][DENSE_ROWS];
  karst_cuda_begin();
  const int lane = (int)threadIdx.x % DENSE_ROWS, p = (int)threadIdx.x / DENSE_ROWS, rows = (int)s.A.rows;
  const int i = (int)blockIdx.x * DENSE_ROWS + lane;
  T sum = 0;
  if (i < rows)
    for (int j = p; j < rows; j += PARTS) sum += s.inverse[(int64_t)j * rows + i] * s.f[j];
  part[p][lane] = sum;
  __syncthreads();
  if (p > 0 || i >= rows) return;
  for (int q = 1; q < PARTS; q++) sum += part[q][lane];
  s.y[i] = sum;
}

/* Calls f with the lanes of a step as a constant. Only rows of P have a thread each. */
template <karst_amg_use USE, typename F> void with_lanes(int lanes, F f)
{
  if (USE == KARST_AMG_USE_PROLONG && lanes == 1)
    f(std::integral_constant < int, USE == KARST_AMG_USE_PROLONG ? 1 : 4 > ());
  else
    karst_amg_with_lanes(lanes, f);
}

template <karst_amg_use USE, typename T> void launch_rows(const struct karst_cuda *cuda, const karst_amg_item<T> &s)
{
  with_lanes<USE>(s.lanes, [&](auto lanes) {
    karst_cuda_launch(cuda, do_rows<USE, lanes.value, T>, karst_cuda_grid((int64_t)s.A.rows * lanes.value, THREADS),
                      THREADS, s);
  });
}

template <typename T> void launch_item(const struct karst_cuda *cuda, const karst_amg_item<T> &s)
{
#define LAUNCH(USE)                                                                                                    \
  case USE:                                                                                                            \
    return launch_rows<USE>(cuda, s);
  switch (s.use) {
    KARST_AMG_USES(LAUNCH)
  case KARST_AMG_USE_INVERT:
    karst_cuda_launch(cuda, multiply_dense<T>, karst_cuda_grid(s.A.rows, DENSE_ROWS), THREADS, s);
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
  karst_amg_item<T> s = {use, karst_amg_lanes(A->entries, A->rows, prolongs ? 2 : 4, 32), step->level, A->entries,
                         karst_amg_view_of<T>(A)};
  if (s.lanes == 2) s.lanes = 1;
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
    if (k + 1 < amg->steps && step[0].action == KARST_AMG_FIRST && step[1].action == KARST_AMG_RESIDUAL &&
        step[1].level == step[0].level && step[1].x == step[0].y) {
      item[count].use = KARST_AMG_USE_FIRST_RESIDUAL;
      item[count].d = item[count].y;
      item[count].y = vector_of<T>(&amg->level[step->level], step[1].y);
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
  for (int k = 0, end = 0; k < plan->items; k = end) {
    while (end < plan->items && item[end].level >= plan->tail) end++;
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
  karst_amg_item<T> *item, *device_item;
  karst_status status = karst_allocate_zero(context, &item, amg->steps, sizeof *item, what);
  if (status) return status;
  plan->item = item;
  plan->items = make_items(amg, item);
  plan->tail_blocks = tail.blocks;
  plan->tail = find_tail(amg, tail.rows);
  status = karst_amg_take_cuda(context, amg, plan->items, what, &device_item);
  plan->device_item = device_item;
  amg->plan_memory += plan->items * (int64_t)sizeof *item;
  if (!status) status = context->backend->upload(context, device_item, item, (size_t)plan->items * sizeof *item);
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
  karst_cuda_work_release(context, plan->device_item);
  karst_release(context, plan->item);
  plan->graph = NULL;
  plan->device_item = plan->item = NULL;
}
