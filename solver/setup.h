/* setup.h - what a solver's options choose, made for a matrix: its system, its preconditioner and its Krylov method.
 * Where they choose auto, a concrete choice stands in its place, which set-up makes for the matrix, and an update anew
 * where the last solve speaks for another one.
 *
 * The callers have checked their arguments, and that no other call of the solver is under way. */
#ifndef KARST_SOLVER_SETUP_H
#define KARST_SOLVER_SETUP_H

#include "solver/analysis.h"
#include "solver/solver.h"

/* Refuses options that are valid each, but not for the methods chosen. */
karst_status karst_setup_check(const karst_solver *solver);

/* Makes everything for A, the second with what the analysis has. Where that fails, the solver is not set up; where
 * nothing could be chosen, or the analysis is for another matrix or choice, it is as it was. */
karst_status karst_setup_all(karst_solver *solver, const karst_matrix *A);
karst_status karst_setup_with(karst_solver *solver, const karst_matrix *A, const karst_analysis *analysis);

/* Of auto, in the middle of a solve: makes the choice that auto has moved to, from the rung before, for the values at
 * hand. *other: whether it is there; if not, the one before still is. */
karst_status karst_setup_change(karst_solver *solver, int before, bool *other);

/* Takes the new values of the matrix and factors them, or keeps the factors. */
karst_status karst_setup_update(karst_solver *solver);
karst_status karst_setup_keep(karst_solver *solver);

/* The caller's function takes the matrix's place in the Krylov method, or with NULL the matrix its own again. Where it
 * fails, nothing has changed. */
karst_status karst_setup_set_operator(karst_solver *solver, karst_multiply_function multiply, void *user);

/* Gives back what set-up has made: the state after create. */
void karst_setup_clear(karst_solver *solver);

#endif
