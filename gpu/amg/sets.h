/* sets.h - the columns that a group of threads collects for a row: a hash table with linear probing.
 *
 * Of two columns that want the same element the larger one takes it and the other one moves on, so that a table depends
 * on its columns alone, and not on the order in which threads insert them (Shun and Blelloch, Phase-concurrent hash
 * tables for determinism, SPAA 2014). So sums over the table have the same order in every run. */
#ifndef KARST_GPU_AMG_SETS_H
#define KARST_GPU_AMG_SETS_H

#include "gpu/amg/group.h"

enum { KARST_AMG_WIDE = KARST_INDEX_BITS / 32, KARST_AMG_SHARE = 4 /* rows of a group at a time */ };

/* For the bins that rows are sorted into by a bound on their columns: the end of the bounds, the lanes of a row, the
 * elements of a table, and the threads of a block, so that tables and work space take 24 KiB of shared memory. Few rows
 * have nearly as many columns as their bound. A table of more than MOST columns, which leave room for one more of each
 * lane, is given up: its row moves to the last bin, and there to a table in global memory. */
template <int BIN> struct karst_amg_bin;
template <> struct karst_amg_bin<0> {
  enum { END = 32, LANES = 8, SLOTS = 32, MOST = 0, THREADS = 256 / KARST_AMG_WIDE };
};
template <> struct karst_amg_bin<1> {
  enum { END = 128, LANES = 16, SLOTS = 128, MOST = 0, THREADS = 256 / KARST_AMG_WIDE };
};
template <> struct karst_amg_bin<2> {
  enum { END = 2048, LANES = 32, SLOTS = 512, MOST = SLOTS - LANES, THREADS = 128 / KARST_AMG_WIDE };
};
template <> struct karst_amg_bin<KARST_AMG_BINS - 1> {
  enum { LANES = 256, SLOTS = 2048 / KARST_AMG_WIDE, MOST = SLOTS - LANES, THREADS = 256 };
};

static __device__ __forceinline__ int karst_amg_bin_of(int64_t bound)
{
  return bound < karst_amg_bin<0>::END   ? 0
         : bound < karst_amg_bin<1>::END ? 1
         : bound < karst_amg_bin<2>::END ? 2
                                         : KARST_AMG_BINS - 1;
}

/* The set of one group. */
struct karst_amg_set {
  karst_index slots;  /* a power of two */
  karst_index most;   /* columns after which the group stops; 0: there is room for all */
  karst_index *work;  /* [2 slots] for other use */
  karst_index *table; /* [slots] -1: empty */
  karst_index *count; /* [1] shared memory: the columns, if most > 0 */
};

template <int LANES> static __device__ __forceinline__ void karst_amg_clear(const karst_amg_set &set)
{
  using group = karst_amg_group<LANES>;
  for (karst_index k = group::lane(); k < set.slots; k += LANES) set.table[k] = -1;
  if (group::lane() == 0) *set.count = 0;
  group::sync();
}

static __device__ __forceinline__ karst_index karst_amg_add(karst_index *at, karst_index value)
{
#if KARST_INDEX_BITS == 64
  return (karst_index)atomicAdd(reinterpret_cast<unsigned long long *>(at), (unsigned long long)value);
#else
  return atomicAdd(at, value);
#endif
}

/* Sets *at to the larger value, and returns the one before. */
static __device__ __forceinline__ karst_index karst_amg_raise(karst_index *at, karst_index value)
{
#if KARST_INDEX_BITS == 64
  return (karst_index)atomicMax(reinterpret_cast<long long *>(at), (long long)value);
#else
  return atomicMax(at, value);
#endif
}

static __device__ __forceinline__ karst_index karst_amg_hash_column(const karst_amg_set &set, karst_index column)
{
  return (karst_index)((uint32_t)column * 2654435761u >> 7) & (set.slots - 1);
}

static __device__ __forceinline__ void karst_amg_insert(const karst_amg_set &set, karst_index column)
{
  if (set.most > 0 && *const_cast<volatile karst_index *>(set.count) >= set.most) return;
  for (karst_index at = karst_amg_hash_column(set, column);; at = (at + 1) & (set.slots - 1)) {
    karst_index there = *const_cast<volatile karst_index *>(set.table + at);
    if (there < column) there = karst_amg_raise(set.table + at, column);
    if (there == column) return;
    if (there > column) continue;
    column = there; /* which moves on */
    if (column >= 0) continue;
    if (set.most > 0) karst_amg_add(set.count, 1);
    return;
  }
}

/* Returns the element of a column, or -1. */
static __device__ __forceinline__ karst_index karst_amg_find(const karst_amg_set &set, karst_index column)
{
  for (karst_index at = karst_amg_hash_column(set, column);; at = (at + 1) & (set.slots - 1)) {
    const karst_index there = set.table[at];
    if (there <= column) return there == column ? at : -1;
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

/* With the group of each row of a bin calls collect(row, set), which inserts columns, and then use(row, set), or
 * postpone(row), after which bound(row) is that of the last bin. bound(row) bounds the columns. memory: [thread blocks
 * * 3 room] for the last bin. */
template <int BIN, typename B, typename P, typename C, typename U>
static __device__ __forceinline__ void karst_amg_each_row(karst_index rows, karst_index *memory, karst_index room,
                                                          B bound, P postpone, C collect, U use)
{
  using bin = karst_amg_bin<BIN>;
  using group = karst_amg_group<bin::LANES>;
  enum { LAST = BIN == KARST_AMG_BINS - 1, GROUPS = bin::THREADS / bin::LANES };
  __shared__ __align__(16) karst_index own[GROUPS * 3 * bin::SLOTS];
  __shared__ karst_index count[GROUPS], listed[KARST_AMG_SHARE * GROUPS];
  __shared__ int many;
  const int g = (int)threadIdx.x / bin::LANES;
  const int64_t share = rows / (gridDim.x * (int64_t)GROUPS);
  const int chunk = (int)min(max(share, (int64_t)1), (int64_t)KARST_AMG_SHARE) * GROUPS;
  karst_index *const mine = own + 3 * bin::SLOTS * g, *const large = memory + 3 * (int64_t)room * blockIdx.x;
  const karst_amg_set set = {bin::SLOTS, bin::MOST, mine, mine + 2 * bin::SLOTS, count + g};
  const karst_amg_set whole = {room, 0, large, large + 2 * (int64_t)room, count};
  for (int64_t base = (int64_t)blockIdx.x * chunk; base < rows; base += (int64_t)gridDim.x * chunk) {
    const int64_t i = base + threadIdx.x;
    if (threadIdx.x == 0) many = 0;
    __syncthreads();
    if (threadIdx.x < chunk && i < rows) {
      const int64_t most = bound((karst_index)i);
      if (most > 0 && karst_amg_bin_of(most) == BIN) listed[atomicAdd(&many, 1)] = (karst_index)i;
    }
    __syncthreads();
    for (int k = g; k < many; k += GROUPS) {
      const karst_index row = listed[k];
      karst_amg_clear<bin::LANES>(set);
      collect(row, set);
      group::sync();
      const bool overflows = bin::MOST > 0 && *set.count >= set.most;
      group::sync();
      if (!overflows)
        use(row, set);
      else if (!LAST) {
        if (group::lane() == 0) postpone(row);
      } else {
        karst_amg_clear<bin::LANES>(whole);
        collect(row, whole);
        group::sync();
        use(row, whole);
      }
      group::sync();
    }
    __syncthreads();
  }
}

#endif
