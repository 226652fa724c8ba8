/* large_row.h - the work of a thread block on a block row, both with lists of the products and with a search for them
 * (factor_search.cu). Blocks are processed where they are stored, element after element. */
#ifndef KARST_GPU_ILU_SEARCH_LARGE_ROW_H
#define KARST_GPU_ILU_SEARCH_LARGE_ROW_H

#include "gpu/ilu/pivot_repair.h"

#include "gpu/block_inverse.h"
#include "gpu/reduce.h"

namespace
{

struct large_call {
  karst_triangle lower, upper;
  int b;
  const double *A; /* its values */
  double shift, modified;
  double *size; /* [grid 2 b*b] of the diagonal blocks under way (lib/backend/dense.h), and their copies; contiguous */
  int *done;    /* [rows] by the slots of lower: whether the row's D^-1 and U' can be read */
  karst_ilu_statistics_cuda *statistics;
};

/* A row: its slot in lower, the numbers of its first blocks, and how many slots for blocks it has. The first of upper
 * is D^-1. */
struct large_row {
  karst_index slot;
  int64_t lower, upper, lower_length, upper_length;
};

__device__ large_row row_in(const large_call &f, karst_index slot)
{
  const karst_index slice = slot / f.lower.group, other = f.lower.other[slot], other_slice = other / f.upper.group;
  return {slot, f.lower.start[slice] * f.lower.group + slot % f.lower.group,
          f.upper.start[other_slice] * f.upper.group + other % f.upper.group,
          f.lower.start[slice + 1] - f.lower.start[slice], f.upper.start[other_slice + 1] - f.upper.start[other_slice]};
}

/* Returns the number of the first block of upper in a slot of lower. */
__device__ int64_t first_of_upper(const large_call &f, karst_index slot)
{
  const karst_index other = f.lower.other[slot];
  return f.upper.start[other / f.upper.group] * f.upper.group + other % f.upper.group;
}

/* A block in the slices: element (r, c) is at[c * stride + r]. */
struct block_view {
  double *at;
  int64_t stride;
};

__device__ block_view block_at(const karst_triangle &t, int b, int64_t block)
{
  int64_t stride = (int64_t)t.group * b, entry = block / t.group, q = block % t.group;
  return {t.value + entry * b * stride + q * b, stride};
}

/* Returns the scalars in the line of a block of threads; the number of threads is a power of two. The line is shared
 * memory for rows or columns of a block, or for the parts of a maximum or of sums. While a block is inverted, it is the
 * work space of the inversion. */
int line_length(int b, int threads) { return b < threads ? threads : b; }

/* Multiplies block by right from the right, as many rows at a time as line has room for. Returns 0 unless an element is
 * not finite. */
__device__ double multiply_from_right(int b, block_view block, block_view right, double *line)
{
  const int threads = (int)blockDim.x, at_once = b < threads ? threads / b : 1;
  double nonfinite = 0;
  for (int first = 0; first < b; first += at_once) {
    const int count = min(at_once, b - first);
    for (int v = (int)threadIdx.x; v < count * b; v += threads)
      line[v] = block.at[v / count * block.stride + first + v % count];
    __syncthreads();
    for (int v = (int)threadIdx.x; v < count * b; v += threads) {
      const int r = v % count, c = v / count;
      double sum = 0;
      for (int s = 0; s < b; s++) sum += line[s * count + r] * __ldcg(&right.at[c * right.stride + s]);
      block.at[c * block.stride + first + r] = sum;
      nonfinite += sum * 0;
    }
    __syncthreads();
  }
  return nonfinite;
}

/* Multiplies block by left from the left, as many columns at a time as line has room for. Returns 0 unless an element
 * is not finite. */
__device__ double multiply_from_left(int b, block_view left, block_view block, double *line)
{
  const int threads = (int)blockDim.x, at_once = b < threads ? threads / b : 1;
  double nonfinite = 0;
  for (int first = 0; first < b; first += at_once) {
    const int count = min(at_once, b - first);
    for (int v = (int)threadIdx.x; v < count * b; v += threads)
      line[v] = block.at[(first + v / b) * block.stride + v % b];
    __syncthreads();
    for (int v = (int)threadIdx.x; v < count * b; v += threads) {
      const int r = v % b, c = v / b;
      double sum = 0;
      for (int s = 0; s < b; s++) sum += left.at[s * left.stride + r] * line[c * b + s];
      block.at[(first + c) * block.stride + r] = sum;
      nonfinite += sum * 0;
    }
    __syncthreads();
  }
  return nonfinite;
}

/* Returns this thread's largest absolute element of count blocks of a row, from number first on. */
__device__ double largest_of_blocks(const karst_triangle &t, int b, int64_t first, int64_t count)
{
  const int64_t bb = (int64_t)b * b;
  double largest = 0;
  for (int64_t number = threadIdx.x; number < count * bb; number += blockDim.x) {
    const block_view block = block_at(t, b, first + number / bb * t.group);
    const int64_t v = number % bb;
    largest = fmax(largest, fabs(block.at[v / b * block.stride + v % b]));
  }
  return largest;
}

/* Multiplies a column of a small block by another block from the left, or a row from the right. The elements of line
 * are step apart; element e of the product takes those of other that begin at e * next and are apart. Returns 0 unless
 * an element is not finite. */
__device__ double multiply_line(int b, double *line, int64_t step, const double *other, int64_t apart, int64_t next)
{
  double old[KARST_BLOCK_SIZE_LARGEST_INSTANCE], nonfinite = 0;
  for (int s = 0; s < b; s++) old[s] = line[s * step];
  for (int e = 0; e < b; e++) {
    double sum = 0;
    for (int s = 0; s < b; s++) sum += __ldcg(&other[e * next + s * apart]) * old[s];
    line[e * step] = sum;
    nonfinite += sum * 0;
  }
  return nonfinite;
}

__device__ void mark_done(int *done, karst_index slot)
{
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) *(volatile int *)&done[slot] = 1;
}

/* Returns the sizes of the diagonal block that this block of threads has under way. */
__device__ __forceinline__ double *size_here(const large_call &f) { return f.size + 2LL * blockIdx.x * f.b * f.b; }

/* Inverts the diagonal block of a row. A singular one is replaced or reported. */
__device__ void invert_pivot(const large_call &f, const large_row &row, block_view inverse, double *line)
{
  double largest = 0;
  if (f.shift > 0)
    largest = karst_cuda_block_largest(fmax(largest_of_blocks(f.lower, f.b, row.lower, row.lower_length),
                                            largest_of_blocks(f.upper, f.b, row.upper, row.upper_length)),
                                       line);
  double *size = size_here(f), *kept = size + f.b * f.b;
  for (int v = (int)threadIdx.x; v < f.b * f.b; v += (int)blockDim.x)
    kept[v] = inverse.at[v / f.b * inverse.stride + v % f.b];
  karst_block_in_memory diagonal(f.b, inverse.at, (int)inverse.stride, kept, size, line);
  const karst_reason reason = karst_cuda_invert(diagonal);
  __syncthreads();
  if (reason == KARST_SOUND) return;
  const double replacement =
      karst_ilu_replace_pivot(reason, f.shift, largest, f.lower.row[row.slot], threadIdx.x == 0, f.statistics);
  for (int64_t v = threadIdx.x; v < (int64_t)f.b * f.b; v += blockDim.x)
    inverse.at[v / f.b * inverse.stride + v % f.b] = v / f.b == v % f.b ? replacement : 0;
  __syncthreads();
}

/* U' = D^-1 U, and L D^-1 with the pivots of other rows. Small blocks have a thread for each column or row, so that all
 * blocks of a row are made together; larger ones are made one after the other. Both return 0 unless an element is not
 * finite. */
__device__ double finish_upper(const large_call &f, const large_row &row, block_view inverse, double *line)
{
  const int64_t b = f.b;
  double bad = 0;
  if (b <= KARST_BLOCK_SIZE_LARGEST_INSTANCE) {
    for (int64_t number = threadIdx.x; number < (row.upper_length - 1) * b; number += blockDim.x) {
      const block_view block = block_at(f.upper, f.b, row.upper + (1 + number / b) * f.upper.group);
      bad += multiply_line(f.b, block.at + number % b * block.stride, 1, inverse.at, inverse.stride, 1);
    }
    return bad;
  }
  for (int64_t e = 1; e < row.upper_length; e++)
    bad += multiply_from_left(f.b, inverse, block_at(f.upper, f.b, row.upper + e * f.upper.group), line);
  return bad;
}

__device__ double finish_lower(const large_call &f, const large_row &row, double *line)
{
  const int64_t b = f.b;
  double bad = 0;
  const auto divisor = [&](int64_t block) { return block_at(f.upper, f.b, first_of_upper(f, f.lower.column[block])); };
  if (b <= KARST_BLOCK_SIZE_LARGEST_INSTANCE) {
    for (int64_t number = threadIdx.x; number < row.lower_length * b; number += blockDim.x) {
      const int64_t block = row.lower + number / b * f.lower.group;
      if (f.lower.column[block] == f.lower.slots) continue;
      const block_view to = block_at(f.lower, f.b, block), right = divisor(block);
      bad += multiply_line(f.b, to.at + number % b, to.stride, right.at, 1, right.stride);
    }
    return bad;
  }
  for (int64_t e = 0; e < row.lower_length; e++) {
    const int64_t block = row.lower + e * f.lower.group;
    if (f.lower.column[block] == f.lower.slots) continue;
    bad += multiply_from_right(f.b, block_at(f.lower, f.b, block), divisor(block), line);
  }
  return bad;
}

/* Computes D^-1, U' and L of a row whose blocks are those of A minus the products. */
__device__ void finish_row(const large_call &f, const large_row &row, double *line)
{
  const block_view inverse = block_at(f.upper, f.b, row.upper);
  invert_pivot(f, row, inverse, line);
  double bad = finish_upper(f, row, inverse, line);
  mark_done(f.done, row.slot);
  bad += finish_lower(f, row, line);
  if (__syncthreads_or(bad != 0) && threadIdx.x == 0)
    karst_ilu_report_row(f.statistics, f.lower.row[row.slot], KARST_FAULT_ROW_NOT_FINITE);
}

/* Bytes of the line of a block of threads. */
size_t shared_bytes(int b, int threads)
{
  const size_t work = (size_t)line_length(b, threads) * sizeof(double), inversion = karst_cuda_invert_shared(b);
  return work > inversion ? work : inversion;
}

/* The work space of a factorization, factor_work: size, then done. */
int64_t doubles_of_size(int b, int grid) { return 2LL * grid * b * b; }

large_call call_of(const karst_matrix *A, double shift, const karst_ilu_cuda *plan)
{
  double *size = static_cast<double *>(plan->factor_work);
  int *done = reinterpret_cast<int *>(size + doubles_of_size(plan->block_size, plan->factor_grid));
  return {plan->lower, plan->upper, plan->block_size, A->value, shift, plan->modified, size, done, plan->statistics};
}

karst_status plan_work(karst_context *context, karst_ilu *ilu)
{
  karst_ilu_cuda *plan = karst_ilu_cuda_of(ilu);
  const int64_t doubles = doubles_of_size(plan->block_size, plan->factor_grid) + ((int64_t)ilu->rows + 1) / 2;
  double *work;
  const karst_status status = karst_cuda_take(context, doubles, "block ILU", &work, &ilu->plan_memory);
  plan->factor_work = work;
  return status;
}

void destroy_work(karst_context *context, karst_ilu_cuda *plan)
{
  context->backend->release(context, plan->factor_work);
}

} // namespace

#endif
