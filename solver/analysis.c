/* analysis.c - see analysis.h. */
#include "solver/analysis.h"

#include <stdlib.h>
#include <string.h>

/* Copies the pattern, because the caller's matrix may be destroyed before the analysis is used. */
static karst_status copy_pattern(const karst_matrix *A, karst_analysis *analysis)
{
  karst_context *context = A->context;
  const int64_t starts = (int64_t)A->block_rows + 1, blocks = karst_matrix_blocks(A);
  analysis->block_rows = A->block_rows;
  analysis->block_size = A->block_size;
  karst_status status =
      karst_allocate(context, &analysis->row_start, starts, sizeof *analysis->row_start, "an analysis");
  if (!status) status = karst_allocate(context, &analysis->column, blocks, sizeof *analysis->column, "an analysis");
  if (status) return status;
  memcpy(analysis->row_start, A->row_start, (size_t)starts * sizeof *analysis->row_start);
  if (blocks > 0) memcpy(analysis->column, A->column, (size_t)blocks * sizeof *analysis->column);
  return KARST_SUCCESS;
}

/* Copies the grid if the preconditioner's analysis depends on it. */
static karst_status copy_grid(const karst_matrix *A, karst_analysis *analysis)
{
  karst_index *cell;
  if (!karst_precond_at(A->context, (size_t)analysis->chosen.precond)->needs_grid) return KARST_SUCCESS;
  memcpy(analysis->grid.size, A->grid.size, sizeof analysis->grid.size);
  if (!A->grid.cell) return KARST_SUCCESS;
  karst_status status = karst_allocate(A->context, &cell, A->block_rows, sizeof *cell, "an analysis");
  if (status) return status;
  memcpy(cell, A->grid.cell, (size_t)A->block_rows * sizeof *cell);
  analysis->grid.cell = cell;
  return KARST_SUCCESS;
}

karst_status karst_analysis_create(const karst_system *system, karst_parts *parts, const karst_precond *precond,
                                   const karst_methods *chosen, const karst_options *options, karst_analysis **analysis)
{
  const char *level = karst_options_find(options, "level");
  karst_context *context = system->context;
  karst_status status = karst_allocate_zero(context, analysis, 1, sizeof **analysis, "an analysis");
  if (status) return status;
  (*analysis)->context = context;
  (*analysis)->chosen = *chosen;
  (*analysis)->level = level ? (int)strtod(level, NULL) : 0;
  (*analysis)->ordered = karst_ordered_hold(system->ordered);
  (*analysis)->parts = karst_parts_hold(parts);
  (*analysis)->precond = karst_precond_analysis_hold(precond->analysis);
  karst_count_object(context, 1);
  status = copy_pattern(system->original, *analysis);
  if (!status) status = copy_grid(system->original, *analysis);
  if (status) {
    karst_analysis_destroy(*analysis);
    *analysis = NULL;
  }
  return status;
}

void karst_analysis_destroy(karst_analysis *analysis)
{
  if (!analysis) return;
  karst_context *context = analysis->context;
  karst_ordered_release(analysis->ordered);
  karst_parts_release(analysis->parts);
  karst_precond_analysis_release(analysis->precond);
  karst_release(context, analysis->row_start);
  karst_release(context, analysis->column);
  karst_release(context, (karst_index *)analysis->grid.cell);
  karst_release(context, analysis);
  karst_count_object(context, -1);
}

/* Returns the first block row whose columns differ, or -1. */
static karst_index find_difference(const karst_analysis *analysis, const karst_matrix *A)
{
  for (karst_index i = 0; i < A->block_rows; i++) {
    const karst_index begin = A->row_start[i], end = A->row_start[i + 1];
    if (analysis->row_start[i] != begin || analysis->row_start[i + 1] != end) return i;
    for (karst_index k = begin; k < end; k++)
      if (analysis->column[k] != A->column[k]) return i;
  }
  return -1;
}

static karst_status check_pattern(const karst_analysis *analysis, const karst_matrix *A)
{
  karst_context *context = analysis->context;
  if (A->block_rows != analysis->block_rows)
    return karst_fail(context, KARST_ERROR_ARGUMENT, "the matrix has %lld block rows, that of the analysis %lld",
                      (long long)A->block_rows, (long long)analysis->block_rows);
  if (A->block_size != analysis->block_size)
    return karst_fail(context, KARST_ERROR_ARGUMENT, "the matrix has blocks of size %d, that of the analysis of %d",
                      A->block_size, analysis->block_size);
  const karst_index row = find_difference(analysis, A);
  if (row < 0) return KARST_SUCCESS;
  return karst_fail(context, KARST_ERROR_ARGUMENT,
                    "the pattern of the matrix is not that of the analysis: they differ in block row %lld",
                    (long long)row);
}

static karst_status check_grid(const karst_analysis *analysis, const karst_matrix *A)
{
  const karst_grid *mine = &analysis->grid, *theirs = &A->grid;
  bool same = memcmp(mine->size, theirs->size, sizeof mine->size) == 0 && !mine->cell == !theirs->cell;
  if (same && mine->cell) same = memcmp(mine->cell, theirs->cell, (size_t)A->block_rows * sizeof *mine->cell) == 0;
  return same ? KARST_SUCCESS
              : karst_fail(A->context, KARST_ERROR_ARGUMENT, "the grid of the matrix is not that of the analysis");
}

karst_status karst_analysis_check(const karst_analysis *analysis, const karst_matrix *A, const karst_methods *chosen,
                                  const karst_options *options)
{
  karst_context *context = A->context;
  const karst_methods *made = &analysis->chosen;
  if (analysis->context != context)
    return karst_fail(context, KARST_ERROR_ARGUMENT, "the analysis belongs to another context");
  karst_status status = check_pattern(analysis, A);
  if (status) return status;
  if (chosen->ordering != made->ordering)
    return karst_fail(context, KARST_ERROR_ARGUMENT,
                      "the solver has the ordering %s, and the analysis was made with %s",
                      karst_ordering_table[chosen->ordering]->name, karst_ordering_table[made->ordering]->name);
  if (chosen->of_ordering.tile_size != made->of_ordering.tile_size)
    return karst_fail(context, KARST_ERROR_ARGUMENT,
                      "the solver has tile-size %d, and the analysis was made with tile-size %d",
                      chosen->of_ordering.tile_size, made->of_ordering.tile_size);
  if (chosen->of_ordering.tile_shape != made->of_ordering.tile_shape)
    return karst_fail(analysis->context, KARST_ERROR_ARGUMENT, "the analysis was made with another tile-shape");
  if (chosen->precond != made->precond)
    return karst_fail(
        context, KARST_ERROR_ARGUMENT, "the solver has the preconditioner %s, and the analysis was made with %s",
        karst_precond_name(context, (size_t)chosen->precond), karst_precond_name(context, (size_t)made->precond));
  if (chosen->parts != made->parts)
    return karst_fail(context, KARST_ERROR_ARGUMENT, "the solver has parts %d, and the analysis was made with parts %d",
                      chosen->parts, made->parts);
  if (analysis->parts) status = karst_parts_check(analysis->parts, chosen->parts, A);
  if (!status && karst_precond_at(context, (size_t)chosen->precond)->needs_grid) status = check_grid(analysis, A);
  if (status || !analysis->precond) return status;
  return karst_precond_check_analysis(analysis->precond, options);
}
