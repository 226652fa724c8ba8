/* hint.c - what to try after a solve that has failed; see hint.h. Each rule looks at what is cheap to know: how the
 * solve ended, the options, the signs and zeros of the diagonal, the symmetry of the values, the sums of the rows. The
 * first rule that has something to say says it; none speaks of an option that already has the value it would name. */
#include "hint.h"
#include "load.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the values of the matrix tell. */
struct facts {
  int64_t rows;                      /* without padding */
  int64_t positive, negative, empty; /* diagonal entries above, below and equal to zero, or not stored */
  bool symmetric;
  bool sums_to_zero;   /* each row does, but for rounding: constants are in the null space */
  bool zero_pivot_row; /* the block row that was found singular is all zeros */
  double largest_b;    /* the largest magnitude in b */
};

static bool is(const karst_options *options, const char *name, const char *value)
{
  return strcmp(tool_option_text(options, name), value) == 0;
}

static bool say(char *hint, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

static bool say(char *hint, size_t size, const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(hint, size, format, arguments);
  va_end(arguments);
  return true;
}

/* The number of block (i,j), or -1: the columns of a block row ascend. */
static int64_t find_block(const karst_matrix *A, karst_index i, karst_index j)
{
  const karst_index *column = karst_matrix_column(A);
  karst_index first = karst_matrix_row_start(A)[i], end = karst_matrix_row_start(A)[i + 1];
  const karst_index stop = end;
  while (first < end) {
    const karst_index middle = first + (end - first) / 2;
    if (column[middle] < j)
      first = middle + 1;
    else
      end = middle;
  }
  return first < stop && column[first] == j ? first : -1;
}

/* Whether each block is the transpose of its mirror image, but for rounding. One without an image has to be zero. */
static bool is_symmetric(const karst_matrix *A, const double *value)
{
  const double rounding = 1e-12; /* far above rounding errors of assembly, far below an asymmetry that cg would mind */
  const int b = karst_matrix_block_size(A);
  const int64_t bb = (int64_t)b * b;
  const karst_index *start = karst_matrix_row_start(A), *column = karst_matrix_column(A);
  for (karst_index i = 0; i < karst_matrix_block_rows(A); i++)
    for (karst_index k = start[i]; k < start[i + 1]; k++) {
      const int64_t image = find_block(A, column[k], i);
      for (int c = 0; c < b; c++)
        for (int r = 0; r < b; r++) {
          const double x = value[bb * k + c * b + r], y = image < 0 ? 0 : value[bb * image + r * b + c];
          if (fabs(x - y) > rounding * (fabs(x) + fabs(y))) return false;
        }
    }
  return true;
}

/* Adds up the entries and the magnitudes of scalar row r of block row i. */
static void sum_row(const karst_matrix *A, const double *value, karst_index i, int r, double *sum, double *magnitude)
{
  const int b = karst_matrix_block_size(A);
  *sum = *magnitude = 0;
  for (karst_index k = karst_matrix_row_start(A)[i]; k < karst_matrix_row_start(A)[i + 1]; k++)
    for (int c = 0; c < b; c++) {
      const double entry = value[(int64_t)b * b * k + c * b + r];
      *sum += entry;
      *magnitude += fabs(entry);
    }
}

static void look_at_row(const struct hint_case *solve, const double *value, karst_index i, int r, struct facts *facts)
{
  const int b = karst_matrix_block_size(solve->A);
  const int64_t k = find_block(solve->A, i, i);
  const double diagonal = k < 0 ? 0 : value[(int64_t)b * b * k + r * b + r];
  double sum, magnitude;
  sum_row(solve->A, value, i, r, &sum, &magnitude);
  facts->positive += diagonal > 0;
  facts->negative += diagonal < 0;
  facts->empty += diagonal == 0;
  if (!(fabs(sum) <= 1e-12 * magnitude)) facts->sums_to_zero = false;
  if (i == solve->result->block_row && magnitude > 0) facts->zero_pivot_row = false;
}

static bool find_facts(const struct hint_case *solve, struct facts *facts)
{
  const int b = karst_matrix_block_size(solve->A);
  double *value, *rhs = NULL;
  *facts = (struct facts){.rows = karst_matrix_rows_unpadded(solve->A), .sums_to_zero = true, .zero_pivot_row = true};
  if (tool_matrix_to_host(solve->context, solve->A, &value) != TOOL_GO_ON) return false;
  for (int64_t row = 0; row < facts->rows; row++)
    look_at_row(solve, value, (karst_index)(row / b), (int)(row % b), facts);
  facts->symmetric = is_symmetric(solve->A, value);
  free(value);
  if (tool_vector_to_host(solve->context, solve->b, facts->rows, &rhs) != TOOL_GO_ON) return false;
  for (int64_t row = 0; row < facts->rows; row++) facts->largest_b = fmax(facts->largest_b, fabs(rhs[row]));
  free(rhs);
  return true;
}

/* cg wants a symmetric positive definite matrix, and a preconditioner that is one. */
static bool hint_for_cg(const struct hint_case *solve, const struct facts *facts, char *hint, size_t size)
{
  const karst_reason reason = solve->result->reason;
  const bool indefinite = reason == KARST_INDEFINITE_OPERATOR || reason == KARST_INDEFINITE_PRECOND;
  if (indefinite && facts->symmetric && facts->positive == 0 && facts->negative > 0)
    return say(hint, size, "negative definite, as its diagonal is negative: try %s",
               solve->negated ? "it without --negate" : "--negate, which solves -A x = -b");
  if (indefinite && facts->symmetric && !is(solve->options, "solver", "cg"))
    return say(hint, size, "this preconditioner needs a positive definite matrix: try --precond iluk");
  if (!is(solve->options, "solver", "cg")) return false;
  if (!facts->symmetric)
    return say(hint, size, "cg needs a symmetric matrix, and this one is not: try --solver gmres or bicgstab");
  if (indefinite)
    return say(hint, size, "cg needs a positive definite matrix and preconditioner: try --solver gmres --restart 100%s",
               is(solve->options, "precond", "iluk") ? "" : " --precond iluk");
  return false;
}

/* A matrix that preconditioners cannot help, or that has no solution. */
static bool hint_for_matrix(const struct hint_case *solve, const struct facts *facts, char *hint, size_t size)
{
  const int64_t most = 500; /* basis vectors that are no burden to the memory of a matrix this hard */
  const int64_t restart = facts->rows < most ? facts->rows : most;
  if (facts->sums_to_zero && facts->rows > 0)
    return say(hint, size, "singular, as each row sums to zero: fix one unknown, such as a pressure");
  const bool none = is(solve->options, "precond", "none");
  const bool wider = (double)restart > tool_option_number(solve->options, "restart");
  char with[64] = "";
  if (2 * facts->empty <= facts->rows || (none && !wider)) return false;
  if (wider) snprintf(with, sizeof with, " --restart %lld", (long long)restart);
  return say(hint, size,
             "%lld of %lld diagonal entries are zero, on which preconditioners divide: order the rows so that they are "
             "not, or try --solver gmres --precond none%s",
             (long long)facts->empty, (long long)facts->rows, with);
}

static bool hint_for_pivot(const struct hint_case *solve, const struct facts *facts, char *hint, size_t size)
{
  static const char *const shifting[] = {"iluk", "dilu", "parilu", "paric"};
  if (is(solve->options, "precond", "fgbilu") && is(solve->options, "pivoting", "no"))
    return say(hint, size, "try --pivoting yes, which exchanges rows within blocks");
  for (size_t i = 0; i < sizeof shifting / sizeof *shifting; i++)
    if (is(solve->options, "precond", shifting[i]) && tool_option_number(solve->options, "shift") == 0)
      return say(hint, size, "%stry --shift 1, which replaces singular pivot blocks and counts them",
                 facts->zero_pivot_row ? "the block row is all zeros, as of a shut well: " : "");
  return say(hint, size, "try --precond iluk --shift 1, which replaces singular pivot blocks and counts them");
}

/* A right-hand side whose square double precision does not hold. */
static bool hint_for_range(const struct hint_case *solve, const struct facts *facts, char *hint, size_t size)
{
  if (is(solve->options, "scale", "block"))
    return say(hint, size, "try --scale diagonal, which keeps the right-hand side in the range of its numbers");
  if (!(facts->largest_b > 0) || (facts->largest_b > 1e-140 && facts->largest_b < 1e140)) return false;
  return say(hint, size, "the right-hand side is as large as %.0e: divide it by that, and multiply the solution",
             facts->largest_b);
}

/* A solve that takes too long: a stronger preconditioner, a method that loses less. */
static bool hint_for_slowness(const struct hint_case *solve, char *hint, size_t size)
{
  const karst_options *options = solve->options;
  const int level = (int)tool_option_number(options, "level"), restart = (int)tool_option_number(options, "restart");
  const bool restarts =
      is(options, "solver", "gmres") || is(options, "solver", "fgmres") || is(options, "solver", "orthomin");
  const bool few = tool_option_number(options, "max-iterations") < 10000; /* which is the default, and many */
  const bool falling = solve->result->reason == KARST_ITERATION_LIMIT && solve->result->relative_residual < 0.5;
  const char *more = few && falling ? ", or more --max-iterations" : "";
  char wider[64] = "";
  if (restarts) snprintf(wider, sizeof wider, " or --restart %d", restart < 100 ? 100 : 3 * restart);
  if (tool_option_number(options, "rtol") < 1e-15 && tool_option_number(options, "atol") == 0)
    return say(hint, size, "the target is below the rounding errors of double precision: try --rtol 1e-12");
  if (is(options, "solver", "richardson")) return say(hint, size, "try --solver gmres, which is faster%s", more);
  if (is(options, "precond", "none") || is(options, "precond", "jacobi"))
    return say(hint, size, "a stronger preconditioner: try --precond iluk%s", more);
  if (is(options, "precond", "two-stage"))
    return say(hint, size, "a stronger second stage: try --second iluk --second.level %d%s",
               (int)tool_option_number(options, "second.level") + 1, more);
  if (is(options, "precond", "iluk") && is(options, "trisolve", "jacobi"))
    return say(hint, size, "exact triangular solves: try --trisolve auto%s", more);
  if (is(options, "precond", "iluk"))
    return say(hint, size, "stronger factors: try --level %d%s%s", level + 1, wider, more);
  return say(hint, size, "exact factors: try --precond iluk --level %d%s", level + 1, more);
}

void hint_find(const struct hint_case *solve, char *hint, size_t size)
{
  struct facts facts;
  const karst_reason reason = solve->result->reason;
  *hint = '\0';
  if (reason >= 0 || reason == KARST_STOPPED || !find_facts(solve, &facts)) return;
  if (reason == KARST_OUT_OF_RANGE) {
    hint_for_range(solve, &facts, hint, size);
    return;
  }
  if (hint_for_cg(solve, &facts, hint, size) || hint_for_matrix(solve, &facts, hint, size)) return;
  if (reason == KARST_SINGULAR_BLOCK)
    hint_for_pivot(solve, &facts, hint, size);
  else if (reason == KARST_ITERATION_LIMIT || reason == KARST_STAGNATED || reason == KARST_DIVERGED)
    hint_for_slowness(solve, hint, size);
  else if (reason != KARST_NOT_FINITE && !is(solve->options, "solver", "gmres"))
    say(hint, size, "try --solver gmres, which has no such breakdown");
  else if (reason == KARST_BREAKDOWN_ARNOLDI)
    say(hint, size, "the matrix may be singular: --reference tells");
}

void hint_for_refusal(const karst_matrix *A, char *hint, size_t size)
{
  const karst_index rows = karst_matrix_block_rows(A);
  karst_index missing = 0;
  *hint = '\0';
  for (karst_index i = 0; i < rows; i++) missing += find_block(A, i, i) < 0;
  if (missing == 0) return;
  if (missing > rows / 2)
    say(hint, size, "%lld of %lld lack one: order the rows otherwise, or try --precond none with a large --restart",
        (long long)missing, (long long)rows);
  else
    say(hint, size, "try --insert-diagonal, which adds %lld zero block%s", (long long)missing, missing == 1 ? "" : "s");
}
