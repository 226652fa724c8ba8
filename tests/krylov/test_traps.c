/* A valid solve raises no division by zero, no invalid operation and no overflow, whatever its start and its length,
 * because simulators run with these trapped. The test reads the flags, which every platform has; feenableexcept in a
 * debugger shows where one is set. */
#include "tests/support/problem.h"

#include <fenv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RAISED = FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW, SIDE = 5, CELLS = SIDE * SIDE, LARGEST_BLOCK = 4 };

enum kind { IDENTITY, DIAGONAL, TRIDIAGONAL, GRID, KINDS };
static const char *const kind_name[KINDS] = {"identity", "twice the identity", "tridiagonal", "grid"};

enum start { ZERO, ANSWER, ONES, NO_RHS, STARTS };
static const char *const start_name[STARTS] = {"zero", "the answer", "ones", "ones, b = 0"};

static const char *const solvers[] = {"solver=gmres",
                                      "solver=gmres side=left",
                                      "solver=gmres orthogonalise=twice",
                                      "solver=fgmres",
                                      "solver=bicgstab",
                                      "solver=cg",
                                      "solver=cg norm=preconditioned",
                                      "solver=orthomin",
                                      "solver=richardson"};
static const char *const preconds[] = {"precond=none",
                                       "precond=jacobi",
                                       "precond=iluk",
                                       "precond=iluk level=2",
                                       "precond=dilu",
                                       "precond=parilu",
                                       "precond=paric",
                                       "precond=fgbilu",
                                       "precond=rrb",
                                       "precond=two-stage",
                                       "precond=auto",
                                       "precond=iluk modified=1",
                                       "precond=iluk trisolve=jacobi",
                                       "precond=parilu ilu-residual=yes",
                                       "precond=jacobi parts=2"};
static const char *const systems[] = {"", "scale=diagonal", "scale=block ordering=rcm", "ordering=auto",
                                      "ordering=tiles"};

#define COUNT(list) (sizeof(list) / sizeof(list)[0])

/* Options from words "name=value"; false where the library refuses one. */
static bool set_words(karst_options *options, const char *words)
{
  char copy[256], *at, *word;
  snprintf(copy, sizeof copy, "%s", words);
  for (at = copy; (word = strtok_r(at, " ", &at)) != NULL;) {
    char *value = strchr(word, '=');
    *value++ = '\0';
    if (karst_options_set(options, word, value)) return false;
  }
  return true;
}

/* Block row i couples to i - 1 and i + 1 where the kind has it, and to those of the next lines of the grid. Each block
 * is one number on its diagonal, and a smaller one beside it. */
static bool couples(enum kind kind, int i, int j)
{
  if (i == j) return true;
  if (kind == TRIDIAGONAL) return abs(i - j) == 1;
  return kind == GRID && (abs(i - j) == SIDE || (abs(i - j) == 1 && i / SIDE == j / SIDE));
}

static karst_matrix *make_matrix(karst_context *context, enum kind kind, int b)
{
  static double rows[CELLS * LARGEST_BLOCK * CELLS * LARGEST_BLOCK];
  const int n = CELLS * b;
  memset(rows, 0, sizeof rows);
  for (int p = 0; p < n; p++)
    for (int q = 0; q < n; q++) {
      const int i = p / b, j = q / b;
      if (p % b == q % b && couples(kind, i, j))
        rows[p * n + q] = i != j ? -1 : kind == IDENTITY ? 1 : kind == DIAGONAL ? 2 : 4.25;
      if (kind == GRID && i == j && abs(p - q) == 1) rows[p * n + q] = 0.5;
    }
  karst_matrix *A = matrix_from_rows(context, n, b, rows);
  if (kind == GRID) tap_need(context, karst_matrix_set_grid(A, SIDE, SIDE, 1), "grid");
  return A;
}

struct trial {
  karst_context *context;
  karst_matrix *A;
  karst_vector *answer, *b, *x;
  int solves, refused, faults;
};

static struct trial make_trial(karst_context *context, enum kind kind, int b)
{
  struct trial trial = {.context = context, .A = make_matrix(context, kind, b)};
  double answer[CELLS * LARGEST_BLOCK];
  for (int i = 0; i < CELLS * b; i++) answer[i] = 1 + i % 3;
  trial.answer = vector_from(context, CELLS * b, answer);
  trial.b = vector_of(context, CELLS * b, 0);
  trial.x = vector_of(context, CELLS * b, 0);
  return trial;
}

static void destroy_trial(struct trial *trial)
{
  karst_vector_destroy(trial->answer);
  karst_vector_destroy(trial->b);
  karst_vector_destroy(trial->x);
  karst_matrix_destroy(trial->A);
}

static void begin(const struct trial *trial, enum start start)
{
  tap_need(trial->context, karst_matrix_multiply(trial->A, trial->answer, trial->b), "b");
  if (start == NO_RHS) tap_need(trial->context, karst_vector_fill(trial->b, 0), "b");
  tap_need(trial->context, karst_vector_fill(trial->x, start == ZERO ? 0 : 1), "x");
  if (start == ANSWER) tap_need(trial->context, karst_vector_copy(trial->answer, trial->x), "x");
}

/* Set-up and two solves, the second with new factors and from the first one's answer. False where the library refuses
 * the combination. */
static bool run(const struct trial *trial, const karst_options *options)
{
  karst_solver *solver;
  bool taken = karst_solver_create(trial->context, options, &solver) == KARST_SUCCESS;
  if (!taken) return false;
  taken = karst_solver_setup(solver, trial->A) == KARST_SUCCESS;
  for (int i = 0; taken && i < 2; i++) {
    if (i > 0) tap_need(trial->context, karst_solver_update(solver), "update");
    solved(solver, trial->b, trial->x);
  }
  karst_solver_destroy(solver);
  return taken;
}

static void count_flags(struct trial *trial, const karst_options *options, const char *words, const char *where)
{
  feclearexcept(RAISED);
  const bool taken = run(trial, options);
  const int raised = fetestexcept(RAISED);
  trial->solves += taken;
  trial->refused += !taken;
  if (!taken || !raised) return;
  if (trial->faults++ < 5)
    tap_note("%s: %s:%s%s%s", where, words, raised & FE_DIVBYZERO ? " division by zero" : "",
             raised & FE_INVALID ? " invalid" : "", raised & FE_OVERFLOW ? " overflow" : "");
}

static void try_all(struct trial *trial, const char *name)
{
  for (size_t s = 0; s < COUNT(solvers); s++)
    for (size_t p = 0; p < COUNT(preconds); p++)
      for (size_t q = 0; q < COUNT(systems); q++) {
        char words[256], where[64];
        karst_options *options;
        snprintf(words, sizeof words, "%s %s %s", solvers[s], preconds[p], systems[q]);
        tap_need(trial->context, karst_options_create(trial->context, &options), "options");
        if (set_words(options, words))
          for (int start = 0; start < STARTS; start++) {
            begin(trial, (enum start)start);
            snprintf(where, sizeof where, "%s, from %s", name, start_name[start]);
            count_flags(trial, options, words, where);
          }
        karst_options_destroy(options);
      }
}

static void test_flags(karst_context *context)
{
  for (int kind = 0; kind < KINDS; kind++)
    for (int b = 1; b <= LARGEST_BLOCK; b++) {
      struct trial trial = make_trial(context, (enum kind)kind, b);
      try_all(&trial, kind_name[kind]);
      tap_ok(trial.faults == 0 && trial.solves > trial.refused, "%s, b = %d: %d of %d cases raise a flag (%d refused)",
             kind_name[kind], b, trial.faults, trial.solves, trial.refused);
      destroy_trial(&trial);
    }
}

int main(void)
{
#ifdef __clang__
  tap_skip_all("clang may divide before it looks at the condition that forbids it");
#endif
  karst_context *context = tap_context();
  test_flags(context);
  karst_context_destroy(context);
  return tap_done();
}
