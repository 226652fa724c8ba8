/* setup.h - makes what a solver's options choose for a matrix: the system, the preconditioner and the Krylov method. If
 * they choose auto, set-up chooses for the matrix, and an update chooses again if the last solve suggests it.
 *
 * The callers have checked their arguments, and that no other call of the solver is under way. */
#ifndef KARST_SOLVER_SETUP_H
#define KARST_SOLVER_SETUP_H

#include "solver/analysis.h"
#include "solver/solver.h"

/* Refuses options that are valid alone, but not for the methods chosen. */
karst_status karst_setup_check(const karst_solver *solver);

/* Refuses what a distributed matrix does not allow, and a matrix of one rank in a solver of several. */
karst_status karst_setup_check_ranks(const karst_solver *solver, const karst_matrix *A);

/* Makes everything for A, the second function from an analysis. If that fails, the solver is not set up. If nothing can
 * be chosen, or the analysis is for another matrix or choice, the solver is unchanged. */
karst_status karst_setup_all(karst_solver *solver, const karst_matrix *A);
karst_status karst_setup_with(karst_solver *solver, const karst_matrix *A, const karst_analysis *analysis);

/* In the middle of a solve with auto: makes the rung that auto has moved to from rung before, for the present values.
 * *other: whether that succeeded; if not, the rung before is still in use. */
karst_status karst_setup_change(karst_solver *solver, int before, bool *other);

/* Takes the new values of the matrix and factors them, or keeps the factors. */
karst_status karst_setup_update(karst_solver *solver);
karst_status karst_setup_keep(karst_solver *solver);

/* Lets the caller's function multiply instead of the matrix in the Krylov method; NULL: the matrix multiplies again. A
 * failure changes nothing. */
karst_status karst_setup_set_operator(karst_solver *solver, karst_multiply_function multiply, void *user);

/* Releases what set-up has made: the state after create. */
void karst_setup_clear(karst_solver *solver);

/* The parts of a set-up for the options in use: makes everything, in a solver that has nothing; takes the values and
 * factors them; clears the members that set-up sets, without releasing what they point to. If making fails, the solver
 * is not set up. */
karst_status karst_setup_make(karst_solver *solver, const karst_matrix *A, const karst_analysis *analysis);
karst_status karst_setup_factor(karst_solver *solver);
void karst_setup_forget(karst_solver *solver);

#endif
