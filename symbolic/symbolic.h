/* symbolic.h - what follows from a pattern alone. On the CPU, host arrays, memory through the context. */
#ifndef KARST_SYMBOLIC_H
#define KARST_SYMBOLIC_H

#include "context.h"
#include "ordering.h"

/* The pattern of the factors of block ILU(k): strictly lower part L and strictly upper part U, row by row, columns
 * ascending. The diagonal is implied. */
typedef struct karst_ilu_pattern {
  karst_index rows;
  karst_index *lower_start;  /* [rows + 1] */
  karst_index *lower_column; /* [lower_start[rows]] */
  karst_index *upper_start;  /* [rows + 1] */
  karst_index *upper_column; /* [upper_start[rows]] */
} karst_ilu_pattern;

/* Fill by levels (Yang, Liu, He, Chen, Algorithm 3): entries of A have level 0, L_ij = min(L_ij, L_ip + L_pj + 1)
 * over p < min(i, j), kept where L_ij <= level. n block rows, columns ascending; a missing diagonal counts as there.
 * Threads of the context are used. KARST_ERROR_INDEX_OVERFLOW when the fill cannot be counted. */
karst_status karst_ilu_symbolic(karst_context *context, karst_index n, const karst_index *row_start,
                                const karst_index *column, int level, karst_ilu_pattern *pattern);
void karst_ilu_pattern_destroy(karst_context *context, karst_ilu_pattern *pattern);

/* The products of blocks that a factorization on the pattern takes, at most: each L_ip meets no more of row p of U
 * than row p or row i has. */
double karst_ilu_pattern_products(const karst_ilu_pattern *pattern);

/* Both triangles and the diagonal as one pattern that holds A's, and where each block of A stands in it. All result
 * arrays are allocated here. */
karst_status karst_ilu_pattern_join(karst_context *context, const karst_ilu_pattern *pattern,
                                    const karst_index *row_start, const karst_index *column, karst_index **joined_start,
                                    karst_index **joined_column, karst_index **position);

/* Level sets of a triangle: level l holds rows row[level_start[l] .. level_start[l+1]), ascending; a row's level is one
 * more than the highest level among the rows it depends on. */
typedef struct karst_levels {
  karst_index count;
  karst_index *level_start; /* [count + 1] */
  karst_index *row;         /* [rows] */
} karst_levels;

/* lower: dependencies are smaller than the row (forward solve); else larger (backward solve). */
karst_status karst_levels_create(karst_context *context, karst_index rows, const karst_index *start,
                                 const karst_index *column, bool lower, karst_levels *levels);
void karst_levels_destroy(karst_context *context, karst_levels *levels);

/* Sorts items 0 .. count - 1 by level, stably: levels of the items in, level_start [levels + 1] and item [count]
 * out. */
void karst_levels_group(karst_index count, const karst_index *level, karst_index levels, karst_index *level_start,
                        karst_index *item);

/* A schedule of a triangular sweep for a few threads. Rows are cut into runs of consecutive rows, and the runs sorted
 * into levels: a run depends only on runs of lower levels (and within itself on its own earlier rows). Runs keep the
 * matrix's storage order, so that a thread streams through memory, where levels of single rows would jump about.
 * The forward sweep takes a run's rows ascending, the backward sweep descending. */
typedef struct karst_schedule {
  karst_index levels;
  karst_index *level_start; /* [levels + 1] into run */
  karst_index *run_first;   /* [runs] first row of each run, in level order */
  karst_index *run_last;    /* [runs] one past its last row */
  int64_t *run_work;        /* [runs + 1] running total, in level order, of the runs' entries with the diagonal */
} karst_schedule;

/* threads: how many the schedule is for. With one thread, or where the pattern offers no parallelism worth its
 * barriers, the result is a single level with a single run: the plain sweep. */
karst_status karst_schedule_create(karst_context *context, karst_index rows, const karst_index *start,
                                   const karst_index *column, bool lower, int threads, karst_schedule *schedule);
void karst_schedule_destroy(karst_context *context, karst_schedule *schedule);

/* The pattern of P A P^T: row i of the result is row permutation[i] of A, its columns renumbered and sorted.
 * source[k]: which block of A became block k of the result. All result arrays are allocated here. */
karst_status karst_pattern_permute(karst_context *context, karst_index n, const karst_index *row_start,
                                   const karst_index *column, const karst_index *permutation,
                                   karst_index **permuted_start, karst_index **permuted_column, karst_index **source);

/* inverse[permutation[i]] = i. KARST_ERROR_ARGUMENT where permutation is not one. */
karst_status karst_permutation_invert(karst_context *context, karst_index n, const karst_index *permutation,
                                      karst_index *inverse);

/* The pattern of A^T. Threads of the context are used. */
karst_status karst_pattern_transpose(karst_context *context, karst_index n, const karst_index *row_start,
                                     const karst_index *column, karst_index **transposed_start,
                                     karst_index **transposed_column);

/* Whether each entry off the diagonal has its mirror image. */
karst_status karst_pattern_is_symmetric(karst_context *context, karst_index n, const karst_index *row_start,
                                        const karst_index *column, bool *symmetric);

/* mirror[k]: for entry k, which is (i,j), where entry (j,i) of a symmetric pattern stands; a diagonal entry is its own
 * image. Columns ascend. *mirror: [row_start[n]], allocated here. */
karst_status karst_pattern_mirror(karst_context *context, karst_index n, const karst_index *row_start,
                                  const karst_index *column, karst_index **mirror);

/* Counts start[1 .. n] of n rows become row starts. KARST_ERROR_INDEX_OVERFLOW where karst_index cannot count them;
 * what: for the error. */
karst_status karst_counts_to_starts(karst_context *context, karst_index n, karst_index *start, const char *what);

/* The pattern of A + A^T without the diagonal, for orderings. */
karst_status karst_pattern_symmetrise(karst_context *context, karst_index n, const karst_index *row_start,
                                      const karst_index *column, karst_index **symmetric_start,
                                      karst_index **symmetric_column);

typedef enum karst_task_order { KARST_TASKS_ROWS, KARST_TASKS_BLOCKS, KARST_TASKS_RANDOM } karst_task_order;
typedef enum karst_chunk_order { KARST_CHUNKS_FORWARD, KARST_CHUNKS_BACKWARD, KARST_CHUNKS_RANDOM } karst_chunk_order;

/* The order in which asynchronous sweeps update the blocks of a pattern with its diagonal: by rows, by blocks of so
 * many rows, or at random; and that of the chunks. *task: [*tasks] numbers of blocks, for the caller to release; NULL where
 * they are simply taken row after row. */
typedef struct karst_sweep_pattern {
  karst_index rows;
  const karst_index *row_start, *column;
  bool lower; /* only the blocks up to the diagonal */
} karst_sweep_pattern;
karst_status karst_sweep_order(karst_context *context, const karst_sweep_pattern *pattern, karst_task_order order,
                               int block, karst_chunk_order chunk_order, karst_index **task, int64_t *tasks);

/* The orderings behind lib/ordering.h's table, each in its file. */
karst_status karst_order_rcm(const karst_ordering_pattern *pattern, karst_index *permutation);
karst_status karst_order_amd(const karst_ordering_pattern *pattern, karst_index *permutation);
karst_status karst_order_metis(const karst_ordering_pattern *pattern, karst_index *permutation);

#endif
