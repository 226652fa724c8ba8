/* cycle.cu - the steps of a cycle, and the preconditioner: r enters, the steps run, z leaves.
 *
 * A group of lanes takes a row of a matrix; rows of P have few entries and get a thread each. A first sweep and the
 * residual after it are one kernel, which computes the sweep again for each entry. The steps are captured in a graph
 * once. r and z differ from call to call, so their kernels are launched on their own. A stream that is being captured
 * gets the steps one by one. */
#include "gpu/amg/group.h"

namespace
{

enum { THREADS = 256, DENSE_ROWS = 32 /* of a thread block of the dense product */ };

const char *const what = "a multigrid cycle";

/* What a row's product with x is used for; FIRST_RESIDUAL: x = factor D^-1 f on the way. */
enum use { SWEEP, MOMENTUM, RESIDUAL, RESTRICT, PROLONG, FIRST_RESIDUAL };

/* Arrays of a step, device memory. */
template <typename T> struct vectors {
  const T *f, *weight, *x;
  T *y, *d; /* d: of momentum; x of a first sweep and residual */
  T factor, keep;
};

template <use USE, int LANES, typename T>
__global__ void __launch_bounds__(THREADS) multiply_rows(karst_amg_view<T> A, vectors<T> v)
{
  using group = karst_amg_group<LANES>;
  karst_cuda_begin();
  const int64_t i = (blockIdx.x * (int64_t)THREADS + threadIdx.x) / LANES;
  if (i >= A.rows) return;
  T sum = 0;
  for (karst_index e = A.start[i] + group::lane(); e < A.start[i + 1]; e += LANES) {
    const karst_index j = A.column[e];
    sum += A.value[e] * (USE == FIRST_RESIDUAL ? v.factor * (v.weight[j] * v.f[j]) : v.x[j]);
  }
  sum = group::sum(sum);
  if (group::lane() > 0) return;
  if (USE == RESTRICT) v.y[i] = sum;
  if (USE == PROLONG) v.y[i] += v.factor * sum;
  if (USE == RESIDUAL || USE == FIRST_RESIDUAL) v.y[i] = v.f[i] - sum;
  if (USE == FIRST_RESIDUAL) v.d[i] = v.factor * (v.weight[i] * v.f[i]);
  if (USE == SWEEP || USE == MOMENTUM) {
    T change = v.factor * (v.weight[i] * (v.f[i] - sum));
    if (USE == MOMENTUM && v.keep != 0) change += v.keep * v.d[i];
    if (USE == MOMENTUM) v.d[i] = change;
    v.y[i] = v.x[i] + change;
  }
}

/* y = factor D^-1 f, and d the same unless it is NULL. */
template <typename T> __global__ void __launch_bounds__(THREADS) begin_sweeps(karst_index rows, vectors<T> v)
{
  karst_cuda_begin();
  const int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (i >= rows) return;
  const T y = v.factor * (v.weight[i] * v.f[i]);
  v.y[i] = y;
  if (v.d) v.d[i] = y;
}

/* y = W f, W column by column: a warp takes DENSE_ROWS rows and every eighth column. */
template <typename T> __global__ void __launch_bounds__(THREADS) multiply_dense(int rows, const T *W, const T *f, T *y)
{
  enum { PARTS = THREADS / DENSE_ROWS };
  __shared__ T part[PARTS][DENSE_ROWS];
  karst_cuda_begin();
  const int lane = (int)threadIdx.x % DENSE_ROWS, p = (int)threadIdx.x / DENSE_ROWS;
  const int i = (int)blockIdx.x * DENSE_ROWS + lane;
  T sum = 0;
  if (i < rows)
    for (int j = p; j < rows; j += PARTS) sum += W[(int64_t)j * rows + i] * f[j];
  part[p][lane] = sum;
  __syncthreads();
  if (p > 0 || i >= rows) return;
  for (int q = 1; q < PARTS; q++) sum += part[q][lane];
  y[i] = sum;
}

__device__ __forceinline__ double power_of_two(int exponent)
{
  enum { BIAS = 1023, SHIFT = 52 };
  return __longlong_as_double((long long)(exponent + BIAS) << SHIFT);
}

/* The bits of the largest |r_i|, which order as the numbers do; a NaN exceeds all numbers. */
__global__ void __launch_bounds__(THREADS) measure(int64_t rows, const double *r, karst_amg_scalars *s)
{
  karst_cuda_begin();
  unsigned long long largest = 0;
  for (int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x; i < rows; i += gridDim.x * (int64_t)THREADS)
    largest = max(largest, (unsigned long long)__double_as_longlong(fabs(r[i])));
  largest = karst_amg_group<THREADS>::largest(largest);
  if (threadIdx.x == 0) atomicMax(&s->largest, largest);
}

/* f = r / 2^exponent, where the largest |r_i| has that exponent. */
template <typename T>
__global__ void __launch_bounds__(THREADS) enter(int64_t rows, const double *r, karst_amg_scalars *s, T *f)
{
  karst_cuda_begin();
  const int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  const double largest = __longlong_as_double((long long)s->largest);
  const bool sound = largest > 0 && largest <= DBL_MAX;
  const int exponent = sound ? max(ilogb(largest) + 1, -1000) : 0;
  if (i < rows) f[i] = sound ? (T)(r[i] * power_of_two(-exponent)) : (T)0;
  if (i > 0) return;
  s->entered = exponent;
  s->size = sound ? 1 : largest;
}

/* z = x 2^(exponent of r - exponent of A), in two factors, as their quotient may exceed what a double holds. */
template <typename T>
__global__ void __launch_bounds__(THREADS) leave(int64_t rows, const T *x, karst_amg_scalars *s, double *z)
{
  karst_cuda_begin();
  const int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  const int exponent = s->entered - s->exponent, first = min(max(exponent, -1000), 1000);
  if (i < rows)
    z[i] = s->size == 1   ? (double)x[i] * power_of_two(first) * power_of_two(exponent - first)
           : s->size == 0 ? 0
                          : nan("");
  if (i == 0) s->largest = 0;
}

/* Calls f with the lanes for a matrix as a constant: of P one. */
template <use USE, typename F> void with_lanes(const karst_amg_matrix *A, F f)
{
  if (USE == PROLONG && A->entries <= 6 * (int64_t)A->rows)
    f(std::integral_constant<int, 1>());
  else
    karst_amg_with_lanes(karst_amg_lanes(A->entries, A->rows, 4, 32), f);
}

template <use USE, typename T>
void launch_rows(const struct karst_cuda *cuda, const karst_amg_matrix *A, const vectors<T> &v)
{
  if (A->rows == 0) return;
  with_lanes<USE>(A, [&](auto lanes) {
    karst_cuda_launch(cuda, multiply_rows<USE, lanes.value, T>,
                      karst_cuda_grid((int64_t)A->rows * lanes.value, THREADS), THREADS, karst_amg_view_of<T>(A), v);
  });
}

template <typename T> T *vector_of(const karst_amg_level *level, int number)
{
  return static_cast<T *>(level->vector[number]);
}

template <typename T> void launch_step(const struct karst_cuda *cuda, const karst_amg *amg, const karst_amg_step *step)
{
  const karst_amg_level *level = &amg->level[step->level];
  const karst_index rows = level->A.rows;
  vectors<T> v = {vector_of<T>(level, 0),
                  static_cast<const T *>(level->weight),
                  vector_of<T>(level, step->x),
                  vector_of<T>(level, step->y),
                  vector_of<T>(level, 3),
                  (T)step->factor,
                  (T)step->keep};
  switch (step->action) {
  case KARST_AMG_FIRST:
    v.d = NULL;
    karst_cuda_launch(cuda, begin_sweeps<T>, karst_cuda_grid(rows, THREADS), THREADS, rows, v);
    break;
  case KARST_AMG_SWEEP:
    launch_rows<SWEEP>(cuda, &level->A, v);
    break;
  case KARST_AMG_MOMENTUM:
    if (step->x == 0)
      karst_cuda_launch(cuda, begin_sweeps<T>, karst_cuda_grid(rows, THREADS), THREADS, rows, v);
    else
      launch_rows<MOMENTUM>(cuda, &level->A, v);
    break;
  case KARST_AMG_RESIDUAL:
    launch_rows<RESIDUAL>(cuda, &level->A, v);
    break;
  case KARST_AMG_RESTRICT:
    v.y = vector_of<T>(level + 1, 0);
    launch_rows<RESTRICT>(cuda, &level->R, v);
    break;
  case KARST_AMG_PROLONG:
    v.x = vector_of<T>(level + 1, step->x);
    launch_rows<PROLONG>(cuda, &level->P, v);
    break;
  case KARST_AMG_INVERT:
    karst_cuda_launch(cuda, multiply_dense<T>, karst_cuda_grid(rows, DENSE_ROWS), THREADS, (int)rows,
                      static_cast<const T *>(amg->inverse), v.f, v.y);
    break;
  }
}

/* Whether a step is a first sweep, and the next one its residual. */
bool is_pair(const karst_amg *amg, int s)
{
  const karst_amg_step *step = amg->step + s;
  return s + 1 < amg->steps && step[0].action == KARST_AMG_FIRST && step[1].action == KARST_AMG_RESIDUAL &&
         step[1].level == step[0].level && step[1].x == step[0].y;
}

template <typename T> void launch_pair(const struct karst_cuda *cuda, const karst_amg *amg, const karst_amg_step *step)
{
  const karst_amg_level *level = &amg->level[step->level];
  const vectors<T> v = {vector_of<T>(level, 0),
                        static_cast<const T *>(level->weight),
                        NULL,
                        vector_of<T>(level, step[1].y),
                        vector_of<T>(level, step->y),
                        (T)step->factor,
                        0};
  launch_rows<FIRST_RESIDUAL>(cuda, &level->A, v);
}

template <typename T> void launch_steps(const struct karst_cuda *cuda, const karst_amg *amg)
{
  for (int s = 0; s < amg->steps; s++) {
    if (amg->level[amg->step[s].level].A.rows == 0) continue;
    if (is_pair(amg, s))
      launch_pair<T>(cuda, amg, amg->step + s++);
    else
      launch_step<T>(cuda, amg, amg->step + s);
  }
}

/* Captures the steps on a stream of its own. Without a graph they are launched one by one. */
template <typename T> void capture(const struct karst_cuda *cuda, const karst_amg *amg, karst_amg_cuda *plan)
{
  struct karst_cuda other = *cuda;
  cudaGraph_t graph = NULL;
  if (cudaStreamCreateWithFlags(&other.stream, cudaStreamNonBlocking) != cudaSuccess) return;
  if (cudaStreamBeginCapture(other.stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess) {
    launch_steps<T>(&other, amg);
    if (cudaStreamEndCapture(other.stream, &graph) == cudaSuccess && graph &&
        cudaGraphInstantiate(&plan->graph, graph, 0) != cudaSuccess)
      plan->graph = NULL;
  }
  if (graph) cudaGraphDestroy(graph);
  cudaStreamDestroy(other.stream);
  cudaGetLastError();
}

bool is_captured(cudaStream_t stream)
{
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  return cudaStreamIsCapturing(stream, &status) != cudaSuccess || status != cudaStreamCaptureStatusNone;
}

template <typename T> void apply(const struct karst_cuda *cuda, const karst_amg *amg, const double *r, double *z)
{
  const karst_amg_cuda *plan = karst_amg_cuda_of(amg);
  const int64_t rows = amg->level[0].A.rows;
  const unsigned grid = karst_cuda_grid(rows, THREADS), few = grid < KARST_CUDA_SUMS ? grid : KARST_CUDA_SUMS;
  karst_cuda_launch(cuda, measure, few, THREADS, rows, r, plan->scalars);
  karst_cuda_launch(cuda, enter<T>, grid, THREADS, rows, r, plan->scalars, vector_of<T>(&amg->level[0], 0));
  if (plan->graph && !is_captured(cuda->stream))
    cudaGraphLaunch(plan->graph, cuda->stream);
  else
    launch_steps<T>(cuda, amg);
  karst_cuda_launch(cuda, leave<T>, grid, THREADS, rows, vector_of<T>(&amg->level[0], amg->result), plan->scalars, z);
}

karst_status take_vectors(karst_context *context, karst_amg *amg)
{
  const int64_t scalar = amg->single ? sizeof(float) : sizeof(double);
  bool momentum = false;
  karst_status status = KARST_SUCCESS;
  for (int s = 0; s < amg->steps; s++) momentum = momentum || amg->step[s].action == KARST_AMG_MOMENTUM;
  for (int l = 0; l < amg->levels && !status; l++) {
    karst_amg_level *level = &amg->level[l];
    const int64_t bytes = ((int64_t)level->A.rows + 1) * scalar,
                  count = momentum ? KARST_AMG_VECTORS : KARST_AMG_VECTORS - 1;
    status = karst_amg_take_bytes_cuda(context, amg, bytes, what, &level->weight);
    for (int v = 0; v < count && !status; v++)
      status = karst_amg_take_bytes_cuda(context, amg, bytes, what, &level->vector[v]);
    amg->plan_memory += (count + 1) * bytes;
  }
  return status;
}

} // namespace

karst_status karst_amg_finish_cuda(karst_context *context, karst_amg *amg)
{
  const struct karst_cuda *cuda = karst_cuda_of(context);
  karst_amg_cuda *plan = karst_amg_cuda_of(amg);
  amg->plan_memory = (int64_t)sizeof(karst_amg_scalars);
  karst_status status = take_vectors(context, amg);
  if (!status) status = karst_amg_invert_prepare_cuda(context, amg);
  if (status) return status;
  if (amg->single)
    capture<float>(cuda, amg, plan);
  else
    capture<double>(cuda, amg, plan);
  karst_cuda_work_end(context);
  return status;
}

void karst_amg_cycle_release_cuda(karst_context *context, karst_amg *amg)
{
  karst_amg_cuda *plan = karst_amg_cuda_of(amg);
  if (!plan->graph) return;
  cudaStreamSynchronize(karst_cuda_of(context)->stream); /* it may run */
  cudaGraphExecDestroy(plan->graph);
  plan->graph = NULL;
}

void karst_amg_apply_cuda(karst_context *context, const karst_amg *amg, const double *r, double *z)
{
  if (amg->level[0].A.rows == 0) return;
  if (amg->single)
    apply<float>(karst_cuda_of(context), amg, r, z);
  else
    apply<double>(karst_cuda_of(context), amg, r, z);
}
