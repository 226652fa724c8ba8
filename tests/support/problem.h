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
void problem_end(struct problem *p, karst_solver *solver); /* destroys the solver too */

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
karst_precond *precond_from(karst_context *context, const char *const *pairs, const karst_matrix *A);
karst_precond *precond_of(karst_context *context, const tap_settings *settings, const karst_matrix *A);
/* Solves A x = b from x. */
karst_result solved(karst_solver *solver, const karst_vector *b, karst_vector *x);
karst_solver_info info_of(const karst_solver *solver);

/* A preconditioner to be registered that copies r to z and keeps nothing, for tests that replace some of its functions.
 * precond_succeed is its set-up and its update. */
karst_precond_method copying_method(const char *name);
karst_status precond_succeed(karst_precond *p);
/* An operator of a solver: y = A x with the matrix A that user is. */
karst_status multiply_by_matrix(void *user, const karst_vector *x, karst_vector *y);

/* A matrix of the gallery. */
karst_matrix *matrix_from(karst_context *context, const char *spec, int block);
/* A matrix with copies of these arrays. */
karst_matrix *matrix_of(karst_context *context, karst_index rows, int b, const karst_index *start,
                        const karst_index *column, const double *value);
/* A matrix in blocks of b from a dense n-by-n array, row by row. It stores the blocks with an entry of the diagonal or
 * one that is not 0. */
karst_matrix *matrix_from_rows(karst_context *context, karst_index n, int b, const double *rows);
/* The same matrix in this context, with its grid. */
karst_matrix *matrix_copied(karst_context *context, const karst_matrix *A);
/* The values of a matrix as an array. */
double *values_on_host(const karst_matrix *A);
/* Replaces the diagonal block of a block row, and the other blocks of the row by zeros. block: [b*b] */
void replace_row(karst_matrix *A, karst_index row, const double *block);
/* Sets element v of the block in a row and a column. */
void set_entry(karst_matrix *A, karst_index row, karst_index column, int64_t v, double entry);
/* Returns whether two matrices have the same bits in dense form. */
bool same_dense(const karst_matrix *A, const karst_matrix *B);

/* Vectors of n elements: value in each, random by a seed, or those of an array. */
karst_vector *vector_of(karst_context *context, int64_t n, double value);
karst_vector *vector_random(karst_context *context, int64_t n, uint64_t seed);
karst_vector *vector_from(karst_context *context, int64_t n, const double *host);
/* The elements of a vector as an array, and its norm. */
double *vector_on_host(const karst_vector *x);
double vector_norm(const karst_vector *x);

/* n numbers in [-1, 1) */
double *random_on_host(int64_t n);

/* z = M^-1 r; an element that is not written is NaN. */
void apply_on_host(const karst_precond *M, const double *r, double *z);
double *applied(const karst_precond *M, const double *r);
/* The same for an r that is random by a seed, which goes to *r unless r is NULL. */
double *applied_to_random(const karst_precond *M, uint64_t seed, double **r);

/* The error of M^-1 r for a random r, relative to the solution with M in dense form, which is lost. dense: [n n] */
double applied_error(const karst_precond *M, double *dense);

/* The largest |x_i - y_i|, and that over the largest |y_i|, which is NaN if y is 0; NaN if there is one in x or y. */
double largest_difference(int64_t n, const double *x, const double *y);
double relative_difference(int64_t n, const double *x, const double *y);

#endif
