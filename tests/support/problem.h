/* problem.h - steps that most tests share: make a system, a solver or a preconditioner, solve, apply on the host, and
 * compare. A step that fails ends the program with the library's error. The caller frees what is returned. */
#ifndef KARST_TESTS_SUPPORT_PROBLEM_H
#define KARST_TESTS_SUPPORT_PROBLEM_H

#include "tests/support/settings.h"
#include "tests/support/tap.h"

/* A x = b */
struct problem {
  karst_context *context;
  karst_matrix *A;
  karst_vector *b, *x; /* x is 0 until a solve */
  int64_t n;           /* scalar rows */
};

/* Make the problem of a matrix, which it owns from then on, and of a matrix of the gallery. b is random by the seed, or
 * 1 in each element where the seed is 0. */
struct problem problem_of(karst_context *context, karst_matrix *A, uint64_t seed);
struct problem problem_from(karst_context *context, const char *spec, int block, uint64_t seed);
void problem_destroy(struct problem *p);

/* A solver of the problem, set up. */
karst_solver *problem_solver(const struct problem *p, const tap_settings *settings);
/* Solves from zero, or from a start with this value in each element. */
karst_result problem_solve(const struct problem *p, karst_solver *solver);
karst_result problem_solve_from(const struct problem *p, karst_solver *solver, double start);

/* Options from pairs of a name and a value, up to a NULL. */
karst_options *options_of(karst_context *context, const char *const *pairs);
#define PAIRS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* A solver that is not set up, from pairs or settings, and one that is. */
karst_solver *solver_from(karst_context *context, const char *const *pairs);
karst_solver *solver_of(karst_context *context, const tap_settings *settings);
karst_solver *solver_set_up(karst_context *context, const tap_settings *settings, const karst_matrix *A);
karst_precond *precond_of(karst_context *context, const tap_settings *settings, const karst_matrix *A);
/* A matrix of the gallery. */
karst_matrix *matrix_from(karst_context *context, const char *spec, int block);
/* The same matrix in this context, with its grid. */
karst_matrix *matrix_copied(karst_context *context, const karst_matrix *A);
/* The values of a matrix as an array. */
double *values_on_host(const karst_matrix *A);

/* Vectors of n elements: value in each, random by a seed, or those of an array. */
karst_vector *vector_of(karst_context *context, int64_t n, double value);
karst_vector *vector_random(karst_context *context, int64_t n, uint64_t seed);
karst_vector *vector_from(karst_context *context, int64_t n, const double *host);
/* The elements of a vector as an array. */
double *vector_on_host(const karst_vector *x);

/* n numbers in [-1, 1) */
double *random_on_host(int64_t n);

/* z = M^-1 r; an element that is not written is NaN. */
void apply_on_host(const karst_precond *M, const double *r, double *z);
double *applied(const karst_precond *M, const double *r);
/* The same for an r that is random by a seed, which goes to *r unless r is NULL. */
double *applied_to_random(const karst_precond *M, uint64_t seed, double **r);

/* The largest |x_i - y_i|, and that over the largest |y_i|; NaN if there is one in x or y. */
double largest_difference(int64_t n, const double *x, const double *y);
double relative_difference(int64_t n, const double *x, const double *y);

#endif
