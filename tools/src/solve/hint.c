/* hint.c - what to try after a solve that has failed or was slow; see hint.h. The rules use what is cheap to know: how
 * the solve ended, the options in effect, what hint_facts.c finds in the matrix. The first rule that applies gives the
 * hint. No hint names an option with the value that is in effect. */
#include "tools/src/solve/hint.h"
#include "tools/src/solve/hint_facts.h"
#include "tools/src/common/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Basis vectors that are no burden to the memory of a matrix this hard. */
enum { RESTART_MOST = 500 };

/* Fewer iterations do not show how later ones converge. */
enum { EARLY = 20 };

/* A solve of more iterations takes longer than one with multigrid, set-up included; cpr, which has it, usually takes
 * fewer than 40. */
enum { MANY = 100, MANY_OF_CPR = 40 };

static bool is(const karst_options *options, const char *name, const char *value)
{
  return strcmp(tool_option_text(options, name), value) == 0;
}

__attribute__((format(printf, 2, 3))) static bool write_hint(char hint[SOLVE_HINT_SIZE], const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(hint, SOLVE_HINT_SIZE, format, arguments);
  va_end(arguments);
  return true;
}

/* Adds " --NAME VALUE" to what a hint names, or nothing where the option has the value. */
static void add_option(char *text, size_t size, const karst_options *options, const char *name, const char *value)
{
  if (!is(options, name, value)) tool_append(text, size, " --%s %s", name, value);
}

/* cg wants a symmetric positive definite matrix, and a preconditioner that is one. */
static bool hint_for_cg(const struct hint_case *solve, const struct hint_facts *facts, char hint[SOLVE_HINT_SIZE])
{
  const karst_reason reason = solve->result->reason;
  const bool indefinite = reason == KARST_INDEFINITE_OPERATOR || reason == KARST_INDEFINITE_PRECOND;
  if (indefinite && facts->symmetric && facts->positive == 0 && facts->negative > 0)
    return write_hint(hint, "the matrix is negative definite (its diagonal is negative): try %s",
                      solve->negated ? "it without --negate" : "--negate, which solves -A x = -b");
  if (indefinite && facts->symmetric && !is(solve->options, "solver", "cg"))
    return write_hint(hint, "this preconditioner needs a positive definite matrix: try --precond iluk");
  if (!is(solve->options, "solver", "cg")) return false;
  if (!facts->symmetric) return write_hint(hint, "cg needs a symmetric matrix, and this one is not: try --solver auto");
  if (!indefinite) return false;
  char with[64] = "";
  add_option(with, sizeof with, solve->options, "precond", "iluk");
  return write_hint(hint, "cg needs a positive definite matrix and preconditioner: try --solver auto%s", with);
}

/* A system without a solution, or a matrix that is singular because of how it was read. */
static bool hint_for_input(const struct hint_case *solve, const struct hint_facts *facts, char hint[SOLVE_HINT_SIZE])
{
  if (facts->unsolvable >= 0)
    return write_hint(
        hint,
        "there is no solution: row %lld (counted from 0) is all zeros, but its right-hand side is %.4g: set "
        "that to 0, as --rhs Aones does, or put a number on the diagonal",
        (long long)facts->unsolvable, facts->unsolvable_b);
  if (solve->stored && facts->empty > 0 && hint_is_lower(solve->A))
    return write_hint(
        hint,
        "the matrix is singular: %lld diagonal entr%s of the stored triangle %s zero: try it without --stored-triangle",
        (long long)facts->empty, facts->empty == 1 ? "y" : "ies", facts->empty == 1 ? "is" : "are");
  return false;
}

/* Diagonal blocks that are singular because no rows are exchanged in them, or because the unknowns of a cell are not
 * those of a block. */
static bool hint_for_block(const struct hint_case *solve, char hint[SOLVE_HINT_SIZE])
{
  const int b = karst_matrix_block_size(solve->A);
  const int64_t rows = karst_matrix_rows_unpadded(solve->A);
  if (b == 1 || solve->result->reason != KARST_SINGULAR_BLOCK) return false;
  if (karst_options_used(solve->options, "pivoting") && is(solve->options, "pivoting", "no"))
    return write_hint(hint, "try --pivoting yes, which exchanges rows within blocks");
  const int other = hint_find_block(solve->context, solve->A);
  if (!other) return false;
  if (rows % b != 0)
    return write_hint(hint, "the block size %d does not divide the %lld rows, which were padded: try --block %d", b,
                      (long long)rows, other);
  return write_hint(hint, "try --block %d, which leaves no diagonal block singular", other);
}

/* A matrix that preconditioners cannot help, or that has no solution. */
static bool hint_for_matrix(const struct hint_case *solve, const struct hint_facts *facts, char hint[SOLVE_HINT_SIZE])
{
  const int64_t restart = facts->rows < RESTART_MOST ? facts->rows : RESTART_MOST;
  if (facts->sums_to_zero && facts->rows > 0)
    return write_hint(hint,
                      "the matrix is singular because each row sums to zero: fix one unknown, such as a pressure");
  const bool none = is(solve->options, "precond", "none");
  const bool wider = (double)restart > tool_option_number(solve->options, "restart");
  char with[96] = "", number[24];
  const bool gmres = is(solve->options, "solver", "gmres") || is(solve->options, "solver", "fgmres");
  if (2 * facts->empty <= facts->rows || (none && !wider && !gmres)) return false;
  if (none && !wider)
    return write_hint(
        hint,
        "%lld of %lld diagonal entries are zero, but preconditioners divide by them: order the rows so that "
        "they are not",
        (long long)facts->empty, (long long)facts->rows);
  snprintf(number, sizeof number, "%lld", (long long)restart);
  if (!is(solve->options, "solver", "fgmres")) add_option(with, sizeof with, solve->options, "solver", "gmres");
  add_option(with, sizeof with, solve->options, "precond", "none");
  if (wider) add_option(with, sizeof with, solve->options, "restart", number);
  return write_hint(
      hint,
      "%lld of %lld diagonal entries are zero, but preconditioners divide by them: order the rows so that they "
      "are not, or try%s",
      (long long)facts->empty, (long long)facts->rows, with);
}

static bool hint_for_pivot(const struct hint_case *solve, const struct hint_facts *facts, char hint[SOLVE_HINT_SIZE])
{
  const bool filled = solve->result->block_row != 0; /* no row is before the first one */
  if (facts->empty > 0 && !facts->zero_pivot_row && filled &&
      (!is(solve->options, "ordering", "natural") || !is(solve->options, "precond", "iluk"))) {
    char methods[96] = "";
    add_option(methods, sizeof methods, solve->given, "solver", "auto");
    add_option(methods, sizeof methods, solve->given, "precond", "iluk");
    add_option(methods, sizeof methods, solve->options, "ordering", "natural");
    return write_hint(hint, "elimination must fill the zeros on the diagonal from rows before them: try%s", methods);
  }
  const bool shifts = karst_options_used(solve->options, "shift");
  char with[64] = "";
  if (shifts && tool_option_number(solve->options, "shift") == 0)
    return write_hint(hint, "%stry --shift 1, which replaces singular pivot blocks and counts them",
                      facts->zero_pivot_row ? "the block row is all zeros, as for a shut well: " : "");
  add_option(with, sizeof with, solve->options, "precond", "iluk");
  if (tool_option_number(solve->options, "shift") == 0) add_option(with, sizeof with, solve->options, "shift", "1");
  if (!*with) return false;
  return write_hint(hint, "try%s, which replaces singular pivot blocks%s and counts them", with,
                    strstr(with, "--shift") ? "" : " by the shift given");
}

/* A right-hand side whose square double precision does not hold. */
static bool hint_for_range(const struct hint_case *solve, const struct hint_facts *facts, char hint[SOLVE_HINT_SIZE])
{
  if (solve->result->block_row >= 0) return write_hint(hint, "try factor-precision double");
  if (is(solve->options, "scale", "block"))
    return write_hint(hint, "try --scale diagonal, which does not take the right-hand side out of range");
  if (!(facts->largest_b > 0) || (facts->largest_b > 1e-140 && facts->largest_b < 1e140)) return false;
  return write_hint(
      hint,
      "the largest entry of the right-hand side is %.0e: divide the right-hand side by it, and multiply the "
      "solution by it",
      facts->largest_b);
}

/* Whether the target is beyond what double precision can reach, by what the result says of the norm of b. */
static bool is_below_rounding(const struct hint_case *solve)
{
  const double norm = solve->result->residual / solve->result->relative_residual;
  const double atol = tool_option_number(solve->options, "atol");
  return tool_option_number(solve->options, "rtol") < 1e-15 && !(atol >= 1e-15 * norm && atol > 0);
}

/* The driver that fits the matrix best: cg if rows say that it is positive definite and no scaling spoils that. */
static const char *find_solver(const struct hint_case *solve, const struct hint_facts *facts)
{
  return facts->symmetric && facts->dominated && !is(solve->options, "scale", "block") ? "cg" : "auto";
}

/* The preconditioner that fits best: multigrid for a matrix as that of an elliptic equation, cpr where a cell has a
 * pressure among its unknowns, else what auto chooses. iluk fills zeros on the diagonal. */
static const char *find_precond(const struct hint_case *solve, const struct hint_facts *facts)
{
  if (facts->empty > 0) return "iluk";
  if (is(solve->given, "precond", "auto")) return "auto";
  if (karst_matrix_block_size(solve->A) == 1) return facts->symmetric && facts->dominated ? "amg" : "auto";
  return hint_has_pressure(solve->context, solve->A) ? "cpr" : "auto";
}

/* What a solve that takes too long, or cannot go on, may be tried with: another driver and preconditioner. Empty where
 * the solve had both. */
static void find_methods(const struct hint_case *solve, const struct hint_facts *facts, char *with, size_t size)
{
  add_option(with, size, solve->given, "solver", find_solver(solve, facts));
  add_option(with, size, solve->given, "precond", find_precond(solve, facts));
}

/* A solve by cpr or two stages that takes too long. more: what else to try. */
static bool hint_for_stages(const struct hint_case *solve, const char *more, char hint[SOLVE_HINT_SIZE])
{
  const karst_options *options = solve->options;
  if (is(solve->given, "precond", "cpr") && !solve->balanced && hint_is_uneven(solve->context, solve->A))
    return write_hint(hint, "the equations of some cells are scaled differently from others: try --cpr-balance 20%s",
                      more);
  return write_hint(hint, "a stronger second stage: try%s --second.level %d%s",
                    is(options, "second", "iluk") ? "" : " --second iluk",
                    (int)tool_option_number(options, "second.level") + 1, more);
}

static bool hint_for_ras(const karst_options *options, const char *more, char hint[SOLVE_HINT_SIZE])
{
  return write_hint(hint, "a stronger local preconditioner: try%s --local.level %d%s",
                    is(options, "local", "iluk") ? "" : " --local iluk",
                    (int)tool_option_number(options, "local.level") + 1, more);
}

/* A solve that has converged, but has taken many iterations: multigrid, where it fits the matrix. */
static bool hint_for_many(const struct hint_case *solve, const struct hint_facts *facts, char hint[SOLVE_HINT_SIZE])
{
  char with[96] = "";
  if (is(solve->given, "precond", "cpr")) return hint_for_stages(solve, "", hint);
  const char *precond = find_precond(solve, facts);
  if (strcmp(precond, "amg") != 0 && strcmp(precond, "cpr") != 0) return false;
  find_methods(solve, facts, with, sizeof with);
  return strstr(with, "--precond") && write_hint(hint, "methods that fit the matrix: try%s", with);
}

/* A solve that takes too long: another method, then stronger factors. */
static bool hint_for_slowness(const struct hint_case *solve, const struct hint_facts *facts, char hint[SOLVE_HINT_SIZE])
{
  const karst_options *options = solve->options;
  const int level = (int)tool_option_number(options, "level");
  const bool few = tool_option_number(options, "max-iterations") < 10000; /* which is the default, and many */
  const bool falling = solve->result->reason == KARST_ITERATION_LIMIT &&
                       (solve->result->relative_residual < 0.5 || solve->result->iterations < EARLY);
  const char *more = few && falling ? ", or more --max-iterations" : "";
  char with[96] = "";
  if (tool_option_number(options, "max-iterations") < 2) return write_hint(hint, "try more --max-iterations");
  if (is_below_rounding(solve))
    return write_hint(hint, "the target is below the rounding errors of double precision: try --rtol 1e-12");
  if (is(options, "precond", "two-stage") || is(solve->given, "precond", "cpr"))
    return hint_for_stages(solve, more, hint);
  if (is(options, "precond", "ras")) return hint_for_ras(options, more, hint);
  if (is(options, "precond", "iluk") && is(options, "trisolve", "jacobi"))
    return write_hint(hint, "exact triangular solves: try --trisolve auto%s", more);
  find_methods(solve, facts, with, sizeof with);
  if (*with) return write_hint(hint, "methods that fit the matrix: try%s%s", with, more);
  if (is(solve->given, "precond", "auto") && !is(options, "precond", "iluk") && !*more)
    return !solve->regular && write_hint(hint, "auto has tried other preconditioners too: the matrix may be singular; "
                                               "--reference finds out");
  return write_hint(hint, "stronger factors: try%s --level %d%s",
                    is(options, "precond", "iluk") ? "" : " --precond iluk",
                    is(options, "precond", "iluk") ? level + 1 : level, more);
}

void hint_find(const struct hint_case *solve, char hint[SOLVE_HINT_SIZE])
{
  struct hint_facts facts;
  const karst_reason reason = solve->result->reason;
  const bool many = reason > 0 && solve->result->iterations > (is(solve->given, "precond", "cpr") ? MANY_OF_CPR : MANY);
  *hint = '\0';
  if ((reason >= 0 && !many) || reason == KARST_STOPPED ||
      !hint_facts_find(solve->context, solve->A, solve->b, solve->result->block_row, &facts))
    return;
  if (many) {
    hint_for_many(solve, &facts, hint);
    return;
  }
  if (reason == KARST_OUT_OF_RANGE) {
    hint_for_range(solve, &facts, hint);
    return;
  }
  if (hint_for_input(solve, &facts, hint)) return;
  if (solve->singular) {
    write_hint(hint, "the matrix is singular: rows depend on each other, and most right-hand sides have no solution");
    return;
  }
  if (hint_for_block(solve, hint)) return;
  if (hint_for_cg(solve, &facts, hint) || hint_for_matrix(solve, &facts, hint)) return;
  if (reason == KARST_SINGULAR_BLOCK)
    hint_for_pivot(solve, &facts, hint);
  else if (reason == KARST_ITERATION_LIMIT || reason == KARST_STAGNATED || reason == KARST_DIVERGED)
    hint_for_slowness(solve, &facts, hint);
  else if (reason == KARST_BREAKDOWN_ARNOLDI) /* of gmres and fgmres */
    write_hint(hint, solve->regular ? "the matrix is regular, but its factors are poor: try --precond jacobi"
                                    : "the matrix may be singular: --reference finds out");
  else if (reason != KARST_NOT_FINITE && !is(solve->given, "solver", "auto"))
    write_hint(hint, "try --solver auto, which continues with gmres after such a breakdown");
}

void hint_for_refusal(karst_context *context, const karst_matrix *A, bool stored, char hint[SOLVE_HINT_SIZE])
{
  const int64_t rows = karst_matrix_block_rows(A), missing = hint_count_missing(A);
  const bool most = missing > rows / 2;
  const int block = most && karst_matrix_block_size(A) == 1 ? hint_find_block(context, A) : 0;
  *hint = '\0';
  if (missing == 0) return;
  if (stored && hint_is_lower(A))
    write_hint(hint, "the stored triangle is singular without it: try --insert-diagonal without --stored-triangle");
  else if (block)
    write_hint(hint, "%lld of %lld rows lack one: try --block %d, which leaves no diagonal block singular",
               (long long)missing, (long long)rows, block);
  else if (most)
    write_hint(
        hint,
        "%lld of %lld rows lack one: order the rows differently, or try --solver gmres --precond none --restart %lld",
        (long long)missing, (long long)rows, (long long)(rows < RESTART_MOST ? rows : RESTART_MOST));
  else
    write_hint(hint, "try --insert-diagonal, which adds %lld zero block%s", (long long)missing,
               missing == 1 ? "" : "s");
}
