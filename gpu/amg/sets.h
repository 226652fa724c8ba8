/* sets.h - the columns that a group of threads collects for a row: a hash table with linear probing.
 *
 * Of two columns that want the same element the larger one takes it and the other one moves on, so that a table depends
 * on its columns alone, and not on the order in which threads insert them (Shun and Blelloch, Phase-concurrent hash
 * tables for determinism, SPAA 2014). So sums over the table have the same order in every run. */
#ifndef KARST_GPU_AMG_SETS_H
#define KARST_GPU_AMG_SETS_H

#include "gpu/amg/group.h"

enum { KARST_AMG_WIDE = KARST_INDEX_BITS / 32 };

/* For the bins that rows are sorted into by a bound on their columns: the end of the bounds, the lanes of a row, the
 * elements of a table, and the threads of a block, so that tables and work space take 24 KiB of shared memory. Few rows
 * have nearly as many columns as their bound. A table of MOST columns, which leave room for one more of each lane, is
 * given up: its row moves to the next bin, and from the last one to a table in global memory. */
template <int BIN> struct karst_amg_bin;
template <> struct karst_amg_bin<0> {
  enum { END = 64, LANES = 4, SLOTS = 32, MOST = SLOTS - LANES, THREADS = 256 / KARST_AMG_WIDE };
};
template <> struct karst_amg_bin<1> {
  enum { END = 256, LANES = 8, SLOTS = 64, MOST = SLOTS - LANES, THREADS = 256 / KARST_AMG_WIDE };
};
template <> struct karst_amg_bin<2> {
  enum { END = 1024, LANES = 16, SLOTS = 128, MOST = SLOTS - LANES, THREADS = 256 / KARST_AMG_WIDE };
};
template <> struct karst_amg_bin<3> {
  enum { END = 4096, LANES = 32, SLOTS = 512, MOST = SLOTS - LANES, THREADS = 128 / KARST_AMG_WIDE };
};
template <> struct karst_amg_bin<KARST_AMG_BINS - 1> {
  enum { LANES = 256, SLOTS = 2048 / KARST_AMG_WIDE, MOST = SLOTS - LANES, THREADS = 256 };
};

static __device__ __forceinline__ int karst_amg_bin_of(int64_t bound)
{
  return bound < karst_amg_bin<0>::END   ? 0
         : bound < karst_amg_bin<1>::END ? 1
         : bound < karst_amg_bin<2>::END ? 2
         : bound < karst_amg_bin<3>::END ? 3
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
  using group = karst_amg_group<LANES, true>;
  for (karst_index base = 0; base < set.slots; base += LANES) set.table[base + group::lane()] = -1;
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

/* An old element or count does no harm, since both only grow. The loop yields, because of the atomic operation, and the
 * threads of a warp do not wait for one another behind it: the caller's next any brings them together. */
static __device__ __forceinline__ void karst_amg_insert(const karst_amg_set &set, karst_index column)
{
  if (set.most > 0 && *set.count >= set.most) return;
  for (karst_index at = karst_amg_hash_column(set, column);; at = (at + 1) & (set.slots - 1)) {
    karst_index there = set.table[at];
    if (there < column) there = karst_amg_raise(set.table + at, column);
    if (there == column) return;
    if (there > column) continue;
    column = there; /* which moves on */
    if (column >= 0) continue;
    if (set.most > 0) karst_amg_add(set.count, 1);
    return;
  }
}

static __device__ __forceinline__ karst_index karst_amg_take_empty(karst_index *at, karst_index column)
{
#if KARST_INDEX_BITS == 64
  return (karst_index)atomicCAS(reinterpret_cast<unsigned long long *>(at), ~0ULL, (unsigned long long)column);
#else
  return atomicCAS(at, -1, column);
#endif
}

/* Inserts a column that stays where it is: in a table that depends on the order of the threads. Returns its element. */
static __device__ __forceinline__ karst_index karst_amg_place(const karst_amg_set &set, karst_index column)
{
  if (set.most > 0 && *set.count >= set.most) return 0;
  for (karst_index at = karst_amg_hash_column(set, column);; at = (at + 1) & (set.slots - 1)) {
    karst_index there = set.table[at];
    if (there < 0) there = karst_amg_take_empty(set.table + at, column);
    if (there < 0 && set.most > 0) karst_amg_add(set.count, 1);
    if (there < 0 || there == column) return at;
  }
}

/* Returns the element of a column, or -1. */
static __device__ __forceinline__ karst_index karst_amg_find(const karst_amg_set &set, karst_index column)
{
  for (karst_index at = karst_amg_hash_column(set, column);; at = (at + 1) & (set.slots - 1)) {
    const karst_index there = set.table[at];
    if (there < 0 || there == column) return there < 0 ? -1 : at;
  }
}

/* Sorts room numbers by Batcher's bitonic network. */
template <int LANES> static __device__ void karst_amg_sort(karst_index *list, karst_index room)
{
  using group = karst_amg_group<LANES, true>;
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

/* With the group of each row of a bin calls collect(row, set), which inserts columns, and then use(row, set). All lanes
 * of a warp call them together; those without a row pass -1 and have an empty set. */
template <int BIN, typename C, typename U>
static __device__ __forceinline__ void karst_amg_each_row(const karst_amg_sets &sets, C collect, U use)
{
  using bin = karst_amg_bin<BIN>;
  using group = karst_amg_group<bin::LANES, true>;
  enum {
    LAST = BIN == KARST_AMG_BINS - 1,
    MOST = bin::MOST,
    GROUPS = bin::THREADS / bin::LANES,
    APART = bin::LANES < 32 ? bin::LANES : 0, /* so that groups use different memory banks */
    STRIDE = 3 * bin::SLOTS + APART
  };
  __shared__ __align__(16) karst_index own[GROUPS * STRIDE];
  __shared__ karst_index count[GROUPS];
  const int g = (int)threadIdx.x / bin::LANES;
  karst_index *const mine = own + STRIDE * g, *const large = sets.memory + 3 * (int64_t)sets.room * blockIdx.x;
  const karst_amg_set set = {bin::SLOTS, MOST, mine, mine + 2 * bin::SLOTS, count + g};
  const karst_amg_set whole = {sets.room, 0, large, large + 2 * (int64_t)sets.room, count};
  const int64_t many = (int64_t)sets.tally->bin[BIN];
  for (int64_t n = blockIdx.x * (int64_t)GROUPS + g; group::any(n < many); n += gridDim.x * (int64_t)GROUPS) {
    karst_index row = n < many ? sets.list[BIN][n] : -1;
    karst_amg_clear<bin::LANES>(set);
    collect(row, set);
    group::sync();
    const bool overflows = *set.count >= MOST;
    group::sync();
    if (LAST && overflows) {
      karst_amg_clear<bin::LANES>(whole);
      collect(row, whole);
      group::sync();
      use(row, whole);
    } else {
      if (!LAST && overflows) {
        if (group::lane() == 0) sets.list[BIN + 1][atomicAdd(&sets.tally->bin[BIN + 1], 1ULL)] = row;
        for (int base = 0; base < bin::SLOTS; base += bin::LANES) set.table[base + group::lane()] = -1;
        row = -1;
      }
      group::sync();
      use(row, set);
    }
    group::sync();
  }
}

#endif
