/* tap.h - what every test program shares: TAP output, devices to run on, seeds, test data, a dense reference. */
#ifndef KARST_TESTS_TAP_H
#define KARST_TESTS_TAP_H

#include "karst.h"

#include <stdbool.h>

/* One test line; returns condition. The text says what must be true. */
bool tap_ok(bool condition, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A line of explanation ("# ..."). */
void tap_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A test that cannot run here, and why; called before anything of it has run. */
void tap_skip(const char *why, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The whole program cannot run here: prints the plan and exits. */
void tap_skip_all(const char *why);
/* Prints the plan; the value for main to return. */
int tap_done(void);

/* Runs test in a fresh context on each device: the CPU with one and with two threads, and the GPU where one is
 * present (SKIP otherwise). Messages of the library are dropped. */
void tap_each_device(void (*test)(karst_context *context), const char *what);

/* karst_context_set_threads, and that many are at work however busy the machine is. */
karst_status tap_set_threads(karst_context *context, int threads);

/* Aborts the program with the context's error unless status is success: for steps a test takes for granted. */
void tap_need(karst_context *context, karst_status status, const char *step);

/* The seed of this run: from KARST_SEED, else from the clock; printed once. */
uint64_t tap_seed(void);
/* Uniform in [-1, 1), from the seed of this run. */
double tap_random(void);
/* Uniform in 0 .. below - 1. */
int64_t tap_random_index(int64_t below);

/* The path of a file among the real matrices (KARST_MATRICES, else ../shared/matrices beside the source tree), or NULL
 * where it is absent. Static storage, overwritten by the next call. */
const char *tap_matrix_path(const char *file);
/* A path in a scratch directory of this run that is removed at the end. Static storage. */
const char *tap_scratch(const char *file);
/* Writes text (length bytes; -1: up to the terminating zero) into a scratch file and returns its path. */
const char *tap_write(const char *file, const char *text, long length);

/* A random n-block-row matrix of block size b with about extra off-diagonal blocks a row, diagonally dominant by blocks
 * (dominance 1 and more) unless dominance is 0; diagonal always stored. */
karst_matrix *tap_random_matrix(karst_context *context, karst_index n, int b, int extra, double dominance);

/* The matrix as a dense n-by-n array, column by column, n = karst_matrix_rows. The caller frees it. */
double *tap_dense(const karst_matrix *matrix);
/* |b - A x| as exact as 113-bit arithmetic has it; where its square cannot be held in double precision too. */
double tap_residual(const karst_matrix *A, const karst_vector *b, const karst_vector *x);
/* Solves the dense n-by-n system in place by LU with partial pivoting (a is destroyed, x: right-hand side in,
 * solution out). Returns false for a singular matrix. */
bool tap_dense_solve(int64_t n, double *a, double *x);

#endif
