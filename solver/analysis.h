/* analysis.h - declares what solvers of one pattern share: the ordering with the permuted pattern, and the
 * preconditioner's analysis, with all that is needed to check that a matrix and a solver's options fit. */
#ifndef KARST_SOLVER_ANALYSIS_H
#define KARST_SOLVER_ANALYSIS_H

#include "solver/parts.h"

struct karst_analysis {
  karst_context *context;
  karst_index block_rows;
  int block_size;
  karst_index *row_start, *column; /* the pattern before the ordering: a copy, host */
  karst_grid grid;                 /* the matrix's grid with a copy of its map, if the preconditioner needs it */
  karst_methods chosen;
  int level;                       /* the value of the option level */
  karst_ordered *ordered;          /* held; NULL: the solver's system had no copy */
  karst_parts *parts;              /* held; NULL: the grid was not cut */
  karst_precond_analysis *precond; /* held; NULL: the preconditioner has none */
};

/* Makes an analysis of what a solver has made from these options and the methods that they choose. */
karst_status karst_analysis_create(const karst_system *system, karst_parts *parts, const karst_precond *precond,
                                   const karst_methods *chosen, const karst_options *options,
                                   karst_analysis **analysis);

/* Fails with KARST_ERROR_ARGUMENT if the matrix, the methods or the options are not those of the analysis. It compares
 * grids if the preconditioner needs one, and the parts that they are cut into. An ordering may have looked at the grid
 * and the values of the analysed matrix; its order is valid for any other matrix of that pattern. */
karst_status karst_analysis_check(const karst_analysis *analysis, const karst_matrix *A, const karst_methods *chosen,
                                  const karst_options *options);

#endif
