/* symbolic.h - computations on a pattern alone. All run on the CPU, with host arrays from the context's allocator. */
#ifndef KARST_SYMBOLIC_SYMBOLIC_H
#define KARST_SYMBOLIC_SYMBOLIC_H

#include "lib/base/context.h"
#include "lib/backend/fgbilu_kernels.h"
#include "lib/backend/lines_kernels.h"
#include "lib/method/ordering.h"

/* The pattern of the factors of block ILU(k): strictly lower part L and strictly upper part U, by rows, with ascending
 * columns. The diagonal is not stored. */
typedef struct karst_ilu_pattern {
  karst_index rows;
  karst_index *lower_start;  /* [rows + 1] */
  karst_index *lower_column; /* [lower_start[rows]] */
  karst_index *upper_start;  /* [rows + 1] */
  karst_index *upper_column; /* [upper_start[rows]] */
} karst_ilu_pattern;

/* Finds the fill by levels (Yang, Liu, He, Chen, Algorithm 3): entries of A have level 0, L_ij = min(L_ij, L_ip + L_pj
 * + 1) over p < min(i, j), and entries with L_ij <= level are kept. A has n block rows and ascending columns; a missing
 * diagonal is treated as present. The work is shared by the context's threads. KARST_ERROR_INDEX_OVERFLOW if the fill
 * cannot be counted. */
karst_status karst_ilu_symbolic(karst_context *context, karst_index n, const karst_index *row_start,
                                const karst_index *column, int level, karst_ilu_pattern *pattern);
void karst_ilu_pattern_destroy(karst_context *context, karst_ilu_pattern *pattern);

/* Returns an upper bound of the block products of a factorization on the pattern: L_ip multiplies no more blocks of row
 * p of U than row p or row i has. */
double karst_ilu_pattern_products(const karst_ilu_pattern *pattern);

/* Finds a lower bound of the blocks off the diagonal in factors of level 1 or above, without a search for fill: those
 * of the one row and column whose elimination couples most. Costs a pass over the pattern. */
karst_status karst_ilu_least_blocks(karst_context *context, karst_index n, const karst_index *row_start,
                                    const karst_index *column, double *blocks);

/* Joins both triangles and the diagonal into one pattern, which contains A's. position[k] is where block k of A is in
 * it. All result arrays are allocated here. */
karst_status karst_ilu_pattern_join(karst_context *context, const karst_ilu_pattern *pattern,
                                    const karst_index *row_start, const karst_index *column, karst_index **joined_start,
                                    karst_index **joined_column, karst_index **position);

/* Counts the level sets of a triangle. A row's level is one more than the highest level among the rows that it depends
 * on. lower: these are smaller rows (forward solve), and entries from the diagonal on are not read; else they are
 * larger ones (backward solve). */
karst_status karst_levels_count(karst_context *context, karst_index rows, const karst_index *start,
                                const karst_index *column, bool lower, karst_index *count);

/* Sorts items 0 .. count - 1 by level, stably: level l has the items item[level_start[l] .. level_start[l + 1] - 1].
 * Reads level [count], the levels of the items, and fills level_start [levels + 1] and item [count]. */
void karst_levels_group(karst_index count, const karst_index *level, karst_index levels, karst_index *level_start,
                        karst_index *item);

/* A schedule of a triangular sweep for a few threads. The rows are cut into runs of consecutive rows, and the runs are
 * sorted into levels. A row depends only on runs of lower levels and on earlier rows of its own run. Runs keep the
 * matrix's storage order, so that a thread streams through memory, while levels of single rows would jump about. A
 * forward sweep takes the rows of a run in ascending order, a backward sweep in descending order. */
typedef struct karst_schedule {
  karst_index levels;
  karst_index *level_start; /* [levels + 1] first run of each level */
  karst_index *run_first;   /* [runs] first row of each run, in level order */
  karst_index *run_last;    /* [runs] one past its last row */
  int64_t *run_work;        /* [runs + 1] running total of the entries of the runs, with the diagonal */
} karst_schedule;

/* threads: the number of threads that the schedule is for. With one thread, or if the pattern's parallelism is not
 * worth its barriers, the result is a single level with a single run, the plain sweep. tiling: tiles that the rows are
 * sorted by; they become the runs if that is faster. It is used during the call alone; NULL: no tiles. */
karst_status karst_schedule_create(karst_context *context, const karst_tiling *tiling, karst_index rows,
                                   const karst_index *start, const karst_index *column, bool lower, int threads,
                                   karst_schedule *schedule);
void karst_schedule_destroy(karst_context *context, karst_schedule *schedule);

/* Finds the cells of the 7-point grid of a matrix, its own or one found from its pattern, and the positions of the
 * blocks of each cell. KARST_ERROR_MATRIX without such a grid, with the first block row that does not fit.
 * karst_structured_destroy frees the result; after a failure there is nothing to free. */
karst_status karst_structured_create(karst_context *context, const karst_matrix *A, karst_structured *cells);
void karst_structured_destroy(karst_context *context, karst_structured *cells);

/* The cells along whose axes lines are made. */
typedef struct karst_line_grid {
  karst_grid grid;  /* that of the matrix, which keeps its map, or one found from its pattern */
  karst_index *row; /* [cells] the block row of each cell, -1 if inactive; NULL: the cell's number */
} karst_line_grid;

/* Finds the grid of a matrix, its own or one from its pattern; KARST_ERROR_MATRIX without one. After a failure, too,
 * karst_line_grid_destroy releases what was taken. */
karst_status karst_line_grid_create(karst_context *context, const karst_matrix *A, karst_line_grid *grid);
void karst_line_grid_destroy(karst_context *context, karst_line_grid *grid);

/* Makes the lines of an axis in the width of the context's kernels, and places them in device memory. With 2 colours
 * lines are coloured by the parity of the sum of their positions along the other axes. Every diagonal block of A exists.
 * After a failure there is nothing to destroy; karst_lines_destroy accepts lines that are zero. */
karst_status karst_lines_create(karst_context *context, const karst_matrix *A, const karst_line_grid *grid, int axis,
                                int colours, karst_lines *lines);
void karst_lines_destroy(karst_context *context, karst_lines *lines);

/* Computes strength[axis], the sum of the strengths (lib/backend/coupling.h) of the couplings that lines along an axis
 * contain. Each counts 1 if a diagonal block of A is singular. */
karst_status karst_line_strengths(karst_context *context, const karst_matrix *A, const karst_line_grid *grid,
                                  double strength[KARST_AXES]);

/* Computes the strengths of all entries (lib/backend/coupling.h). *strength: [blocks], allocated here; NULL if A has not
 * all diagonal blocks, or a singular one. */
karst_status karst_strength_of_entries(const karst_matrix *A, float **strength);

/* Computes the pattern of P A P^T: row i of the result is row permutation[i] of A, with its columns renumbered and
 * sorted. Block k of the result is block source[k] of A. All result arrays are allocated here. */
karst_status karst_pattern_permute(karst_context *context, karst_index n, const karst_index *row_start,
                                   const karst_index *column, const karst_index *permutation,
                                   karst_index **permuted_start, karst_index **permuted_column, karst_index **source);

/* Computes inverse[permutation[i]] = i. KARST_ERROR_ARGUMENT if permutation is not a permutation. */
karst_status karst_permutation_invert(karst_context *context, karst_index n, const karst_index *permutation,
                                      karst_index *inverse);

/* Computes the pattern of A^T with the context's threads. */
karst_status karst_pattern_transpose(karst_context *context, karst_index n, const karst_index *row_start,
                                     const karst_index *column, karst_index **transposed_start,
                                     karst_index **transposed_column);

/* Returns whether each entry off the diagonal has its mirror image. Columns ascend. */
bool karst_pattern_is_symmetric(karst_context *context, karst_index n, const karst_index *row_start,
                                const karst_index *column);

/* Computes mirror[k] for entry k = (i,j) of a symmetric pattern: the number of entry (j,i). A diagonal entry is its own
 * image. Columns ascend. *mirror: [row_start[n]], allocated here. */
karst_status karst_pattern_mirror(karst_context *context, karst_index n, const karst_index *row_start,
                                  const karst_index *column, karst_index **mirror);

/* Does the same for the strict lower triangle of any pattern, which has lower_start[i] entries before row i: mirror[l]
 * for entry l = (i,j) is the number of entry (j,i) of the pattern, or -1 if that is missing. Columns ascend, and no
 * diagonal entry is missing. *mirror: [lower_start[n]], allocated here. */
karst_status karst_pattern_mirror_lower(karst_context *context, karst_index n, const karst_index *row_start,
                                        const karst_index *column, const karst_index *lower_start,
                                        karst_index **mirror);

/* Turns the counts start[1 .. n] of n rows into row starts. KARST_ERROR_INDEX_OVERFLOW if karst_index cannot count
 * them; what names the entries in the error. */
karst_status karst_counts_to_starts(karst_context *context, karst_index n, karst_index *start, const char *what);

/* Computes the pattern of A + A^T without the diagonal, for orderings. */
karst_status karst_pattern_symmetrise(karst_context *context, karst_index n, const karst_index *row_start,
                                      const karst_index *column, karst_index **symmetric_start,
                                      karst_index **symmetric_column);

/* The data from which a cost is predicted: the ordered pattern, the level of its ILU(k), and its tiles, or NULL. */
typedef struct karst_order_system {
  karst_index block_rows;
  int block_size, level;
  const karst_index *row_start, *column;
  const karst_tiling *tiling;
  bool by_tiles;   /* sweeps go by tiles whether or not these suit them */
  bool level_sets; /* or by level sets, whatever the tiles are */
} karst_order_system;

/* Predicts the cost of the triangular solves in an order; see karst_order_cost. */
karst_status karst_order_predict(karst_context *context, const karst_order_system *system, const karst_machine *machine,
                                 karst_order_cost *cost);

/* The estimated costs of the orders of a pattern, before any is made. */
typedef struct karst_order_outlook {
  double bytes;          /* that both triangular solves move */
  double levels;         /* level sets of a triangle in the order of the pattern */
  double colours, depth; /* of tiles, and the steps inside one of them */
  double natural, tiles; /* seconds of both triangular solves */
} karst_order_outlook;

/* Estimates from some rows of the pattern if they show a grid, else by a pass over all of it. The factors are those of
 * ILU(distance - 1), and tiles have the size of the settings. level_sets: sweeps do not go by tiles. Takes host memory
 * for one number per block row, and frees it. */
karst_status karst_order_estimate(const karst_ordering_pattern *pattern, const karst_machine *machine, bool level_sets,
                                  karst_order_outlook *outlook);

typedef enum karst_task_order { KARST_TASKS_ROWS, KARST_TASKS_BLOCKS, KARST_TASKS_RANDOM } karst_task_order;
typedef enum karst_chunk_order { KARST_CHUNKS_FORWARD, KARST_CHUNKS_BACKWARD, KARST_CHUNKS_RANDOM } karst_chunk_order;

/* Orders the blocks of a pattern, which has its diagonal, for asynchronous sweeps: by rows, by subdomains of block
 * rows, or at random. chunk_order orders the chunks of the list. *task: [*tasks] numbers of blocks, which the caller
 * releases; NULL if the blocks are taken row after row. */
typedef struct karst_sweep_pattern {
  karst_index rows;
  const karst_index *row_start, *column;
  bool lower; /* only the blocks up to the diagonal */
} karst_sweep_pattern;
karst_status karst_sweep_order(karst_context *context, const karst_sweep_pattern *pattern, karst_task_order order,
                               int block, karst_chunk_order chunk_order, karst_index **task, int64_t *tasks);

/* The orderings behind lib/method/ordering.h's table, each in its file. */
karst_status karst_order_rcm(const karst_ordering_pattern *pattern, karst_index *permutation, karst_tiling *tiling);
karst_status karst_order_amd(const karst_ordering_pattern *pattern, karst_index *permutation, karst_tiling *tiling);
karst_status karst_order_metis(const karst_ordering_pattern *pattern, karst_index *permutation, karst_tiling *tiling);
karst_status karst_order_colour(const karst_ordering_pattern *pattern, karst_index *permutation, karst_tiling *tiling);
karst_status karst_order_tiles(const karst_ordering_pattern *pattern, karst_index *permutation, karst_tiling *tiling);

#endif
