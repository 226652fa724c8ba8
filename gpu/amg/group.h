/* group.h - threads that work on one row together, and the set of columns that they collect.
 *
 * A group is LANES threads of a warp, or a whole thread block if LANES is larger. Its sums have an order that depends
 * only on LANES. A set of columns is first a hash table, in shared memory, or in global memory for long rows, and then
 * an ascending list. */
#ifndef KARST_GPU_AMG_GROUP_H
#define KARST_GPU_AMG_GROUP_H

#include "gpu/amg/amg_cuda.h"

template <int LANES> struct karst_amg_group {
  enum { WARP = 32 };

  static __device__ __forceinline__ int lane() { return LANES <= WARP ? (int)threadIdx.x % LANES : (int)threadIdx.x; }

  /* The threads of the warp that belong to the group. */
  static __device__ __forceinline__ unsigned mask()
  {
    if (LANES >= WARP) return 0xffffffffu;
    return ((1u << (LANES % WARP)) - 1) << ((int)threadIdx.x % WARP / LANES * LANES);
  }

  static __device__ __forceinline__ void sync()
  {
    if (LANES <= WARP)
      __syncwarp(mask());
    else
      __syncthreads();
  }

  /* The sum over the group, in all of its threads. */
  template <typename T> static __device__ __forceinline__ T sum(T value)
  {
    for (int distance = (LANES < WARP ? LANES : WARP) / 2; distance > 0; distance /= 2)
      value += __shfl_xor_sync(mask(), value, distance);
    if (LANES <= WARP) return value;
    __shared__ T part[WARP];
    __syncthreads();
    if (threadIdx.x % WARP == 0) part[threadIdx.x / WARP] = value;
    __syncthreads();
    value = 0;
    for (int w = 0; w < LANES / WARP; w++) value += part[w];
    return value;
  }

  template <typename T> static __device__ __forceinline__ T largest(T value)
  {
    for (int distance = (LANES < WARP ? LANES : WARP) / 2; distance > 0; distance /= 2) {
      const T other = __shfl_xor_sync(mask(), value, distance);
      value = other > value ? other : value;
    }
    if (LANES <= WARP) return value;
    __shared__ T part[WARP];
    __syncthreads();
    if (threadIdx.x % WARP == 0) part[threadIdx.x / WARP] = value;
    __syncthreads();
    value = part[0];
    for (int w = 1; w < LANES / WARP; w++) value = part[w] > value ? part[w] : value;
    return value;
  }

  /* sum, and to it one by one the values of the first many lanes, in all threads. */
  static __device__ __forceinline__ double add_in_order(double sum, double value, int many)
  {
    if (LANES <= WARP) {
      for (int from = 0; from < many; from++) sum += __shfl_sync(mask(), value, from, LANES);
      return sum;
    }
    __shared__ double all[LANES];
    __syncthreads();
    all[threadIdx.x] = value;
    __syncthreads();
    for (int from = 0; from < many; from++) sum += all[from];
    return sum;
  }

  /* The sum over the lanes before this one, and in *all that over the group; LANES <= 32. */
  static __device__ __forceinline__ karst_index sum_before(karst_index value, karst_index *all)
  {
    karst_index sum = value;
    for (int distance = 1; distance < LANES; distance *= 2) {
      const karst_index other = __shfl_up_sync(mask(), sum, distance, LANES);
      if (lane() >= distance) sum += other;
    }
    *all = __shfl_sync(mask(), sum, LANES - 1, LANES);
    return sum - value;
  }
};

/* For the bins that rows are sorted into by a bound on their columns: the lanes of a row, the columns that the memory
 * of a set has room for, and the threads of a block, so that their sets fit into 25 KiB of shared memory. The last bin
 * has its memory in global work space. */
enum { KARST_AMG_WIDE = KARST_INDEX_BITS / 32, KARST_AMG_SHARE = 4 /* rows of a group at a time */ };

template <int BIN> struct karst_amg_bin;
template <> struct karst_amg_bin<0> {
  enum { LANES = 16, ROOM = 64, THREADS = 256 };
};
template <> struct karst_amg_bin<1> {
  enum { LANES = 32, ROOM = 256, THREADS = 256 / KARST_AMG_WIDE };
};
template <> struct karst_amg_bin<2> {
  enum { LANES = 32, ROOM = 1024, THREADS = 64 / KARST_AMG_WIDE };
};
template <> struct karst_amg_bin<3> {
  enum { LANES = 512, ROOM = 0, THREADS = 512 };
};

static __device__ __forceinline__ int karst_amg_bin_of(int64_t bound)
{
  return bound <= karst_amg_bin<0>::ROOM   ? 0
         : bound <= karst_amg_bin<1>::ROOM ? 1
         : bound <= karst_amg_bin<2>::ROOM ? 2
                                           : 3;
}

static __device__ __forceinline__ karst_index karst_amg_swap(karst_index *at, karst_index expected, karst_index value)
{
#if KARST_INDEX_BITS == 64
  return (karst_index)atomicCAS(reinterpret_cast<unsigned long long *>(at), (unsigned long long)expected,
                                (unsigned long long)value);
#else
  return atomicCAS(at, expected, value);
#endif
}

static __device__ __forceinline__ karst_index karst_amg_add(karst_index *at, karst_index value)
{
#if KARST_INDEX_BITS == 64
  return (karst_index)atomicAdd(reinterpret_cast<unsigned long long *>(at), (unsigned long long)value);
#else
  return atomicAdd(at, value);
#endif
}

/* The set of one group. After collect the table is free for other use: it has the size of room doubles or more. */
struct karst_amg_set {
  karst_index room;   /* a power of two */
  karst_index *table; /* [2 room] -1: empty */
  karst_index *list;  /* [room] */
  karst_index *count; /* [1] shared memory */
};

template <int LANES> static __device__ __forceinline__ void karst_amg_clear(const karst_amg_set &set)
{
  using group = karst_amg_group<LANES>;
  for (karst_index k = group::lane(); k < 2 * set.room; k += LANES) set.table[k] = -1;
  if (group::lane() == 0) *set.count = 0;
  group::sync();
}

/* Returns whether the column is new. */
static __device__ __forceinline__ bool karst_amg_insert(const karst_amg_set &set, karst_index column)
{
  const karst_index last = 2 * set.room - 1;
  karst_index at = (karst_index)((uint64_t)column * 2654435761u >> 7) & last;
  for (;;) {
    karst_index there = *const_cast<volatile karst_index *>(set.table + at);
    if (there == column) return false;
    if (there == -1) there = karst_amg_swap(set.table + at, -1, column);
    if (there == -1) return true;
    if (there == column) return false;
    at = (at + 1) & last;
  }
}

/* Sorts room numbers by Batcher's bitonic network. */
template <int LANES> static __device__ void karst_amg_sort(karst_index *list, karst_index room)
{
  using group = karst_amg_group<LANES>;
  for (karst_index run = 2; run <= room; run *= 2)
    for (karst_index distance = run / 2; distance > 0; distance /= 2) {
      for (karst_index k = group::lane(); k < room / 2; k += LANES) {
        const karst_index a = 2 * k - (k & (distance - 1)), b = a + distance;
        const karst_index first = list[a], second = list[b];
        if ((first > second) == ((a & run) == 0)) {
          list[a] = second;
          list[b] = first;
        }
      }
      group::sync();
    }
}

/* Makes the ascending list of the columns, and returns their number. */
template <int LANES> static __device__ karst_index karst_amg_collect(const karst_amg_set &set)
{
  using group = karst_amg_group<LANES>;
  const karst_index beyond = (karst_index)KARST_INDEX_MAX;
  group::sync();
  for (karst_index k = group::lane(); k < 2 * set.room; k += LANES) {
    const karst_index column = set.table[k];
    if (column >= 0) set.list[karst_amg_add(set.count, 1)] = column;
  }
  group::sync();
  const karst_index count = *set.count;
  karst_index padded = 1;
  while (padded < count) padded *= 2;
  for (karst_index k = count + group::lane(); k < padded; k += LANES) set.list[k] = beyond;
  group::sync();
  karst_amg_sort<LANES>(set.list, padded);
  return count;
}

/* Returns the place of a column in an ascending list, or -1. */
static __device__ __forceinline__ karst_index karst_amg_find(const karst_index *list, karst_index count,
                                                             karst_index column)
{
  karst_index begin = 0, end = count;
  while (begin < end) {
    const karst_index middle = begin + (end - begin) / 2;
    if (list[middle] < column)
      begin = middle + 1;
    else
      end = middle;
  }
  return begin < count && list[begin] == column ? begin : -1;
}

/* Calls work(row, set) with the group for each row of a bin; bound(row) bounds its columns. memory: of the last bin,
 * [thread blocks * 3 room]. */
template <int BIN, typename B, typename W>
static __device__ __forceinline__ void karst_amg_each_row(karst_index rows, karst_index *memory, karst_index room,
                                                          B bound, W work)
{
  enum { LANES = karst_amg_bin<BIN>::LANES, ROOM = karst_amg_bin<BIN>::ROOM, THREADS = karst_amg_bin<BIN>::THREADS };
  enum { GROUPS = THREADS / LANES, CHUNK = KARST_AMG_SHARE * GROUPS };
  __shared__ __align__(16) karst_index own[GROUPS * 3 * ROOM + 1];
  __shared__ karst_index count[GROUPS], listed[CHUNK], many;
  const int g = (int)threadIdx.x / LANES;
  karst_amg_set set = {ROOM, own + 3 * g * ROOM, own + (3 * g + 2) * ROOM, count + g};
  if (BIN == KARST_AMG_BINS - 1) {
    karst_index *mine = memory + 3 * (int64_t)room * blockIdx.x;
    set = {room, mine, mine + 2 * (int64_t)room, count};
  }
  for (int64_t base = (int64_t)blockIdx.x * CHUNK; base < rows; base += (int64_t)gridDim.x * CHUNK) {
    const int64_t mine = base + threadIdx.x;
    if (threadIdx.x == 0) many = 0;
    __syncthreads();
    if (threadIdx.x < CHUNK && mine < rows) {
      const int64_t most = bound((karst_index)mine);
      if (most > 0 && karst_amg_bin_of(most) == BIN) listed[karst_amg_add(&many, 1)] = (karst_index)mine;
    }
    __syncthreads();
    for (karst_index k = g; k < many; k += GROUPS) work(listed[k], set);
    __syncthreads();
  }
}

#endif
