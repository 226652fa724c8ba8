/* tap.h - TAP output, devices, seeds, test data and dense references for all test programs. */
#ifndef KARST_TESTS_SUPPORT_TAP_H
#define KARST_TESTS_SUPPORT_TAP_H

#include "karst.h"

#include <stdbool.h>

/* Prints one test line and returns condition. The text says what must be true. */
bool tap_ok(bool condition, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Prints a line of explanation ("# ..."). */
void tap_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Prints that a test cannot run here, and why. It is called before any part of the test has run. */
void tap_skip(const char *why, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Returns whether a device has no kernels of a method, and then prints that a test cannot run. */
bool tap_lacks_kernels(const void *kernels, const char *method, const char *what);
/* Prints the plan of a program that cannot run here, and exits. */
void tap_skip_all(const char *why);
/* Prints the plan and returns the exit status of main. */
int tap_done(void);

/* Runs test in a fresh context on each device: the CPU with one and with two threads, and the GPU where one is
 * present (SKIP otherwise). If KARST_TEST_THREADS is N in the environment, the CPU runs with N threads only. Messages
 * of the library are dropped. */
void tap_each_device(void (*test)(karst_context *context), const char *what);

/* Returns a fresh context on the CPU, which the caller destroys. */
karst_context *tap_context(void);

/* Sets the number of threads, and keeps all of them at work however busy the machine is. */
karst_status tap_set_threads(karst_context *context, int threads);

/* Aborts the program with the context's error unless status is a success; for steps that a test does not check. */
void tap_need(karst_context *context, karst_status status, const char *step);

/* Returns the seed of this run, which is KARST_SEED or comes from the clock, and prints it once. */
uint64_t tap_seed(void);
/* Returns a uniform number in [-1, 1), from the seed of this run. */
double tap_random(void);
/* Returns a uniform number in 0 .. below - 1. */
int64_t tap_random_index(int64_t below);

/* Returns zeroed memory for count elements of a size, which the caller frees. The program ends if there is none. */
void *tap_memory(int64_t count, size_t size);

/* Returns the path of a file among the real matrices (KARST_MATRICES, else ../shared/matrices beside the source tree),
 * or NULL if it is absent. The next call overwrites it. */
const char *tap_matrix_path(const char *file);
/* Returns a path in a scratch directory, which is removed when the program ends. The next call overwrites it. */
const char *tap_scratch(const char *file);
/* Writes text (length bytes; -1: up to the terminating zero) into a scratch file and returns its path. */
const char *tap_write(const char *file, const char *text, long length);

/* Makes a random matrix of n block rows and block size b with about extra off-diagonal blocks a row. It is diagonally
 * dominant by blocks, by dominance of 1 or more, unless dominance is 0. The diagonal is always stored. */
karst_matrix *tap_random_matrix(karst_context *context, karst_index n, int b, int extra, double dominance);

/* Returns the matrix as a dense n-by-n array, column by column, with n = karst_matrix_rows. The caller frees it. */
double *tap_dense(const karst_matrix *matrix);
/* Returns |b - A x| from 113-bit arithmetic, also if double precision cannot hold its square. */
double tap_residual(const karst_matrix *A, const karst_vector *b, const karst_vector *x);
/* Solves the dense n-by-n system in place by LU with partial pivoting. a is destroyed; x is the right-hand side on
 * entry and the solution on return. Returns false for a singular matrix. */
bool tap_dense_solve(int64_t n, double *a, double *x);

#endif
