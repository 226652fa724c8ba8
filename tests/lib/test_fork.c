/* A forked process can compute, for any number of threads of its parent. It has one thread, because OpenMP's are gone,
 * reports this once, and gets the same bits. An alarm ends a child that hangs. */
#include "tests/support/problem.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LIMIT = 30 }; /* seconds of a child whose work takes milliseconds */

/* A system, its solver, and the solution that one thread has found. Work of this size gets two threads. */
struct system {
  karst_context *context;
  struct problem problem;
  karst_solver *solver;
  int notes; /* how often the context has said that it has one thread */
};

static double *expected; /* the solution */

static void count_notes(void *user, karst_message_kind kind, const char *text)
{
  struct system *system = user;
  system->notes += kind == KARST_MESSAGE_NOTE && strstr(text, "fork") != NULL;
}

/* Makes everything up to the solver, which is not set up. Threads that the tests ask for are kept however busy the
 * machine is. */
static struct system *begin(int threads, const char *precond)
{
  struct system *s = calloc(1, sizeof *s);
  tap_need(NULL, s ? KARST_SUCCESS : KARST_ERROR_NO_MEMORY, "system");
  s->context = tap_context();
  karst_context_set_message(s->context, count_notes, s);
  tap_need(s->context, tap_set_threads(s->context, threads), "threads");
  s->problem = problem_from(s->context, "poisson2d:160x160", 0, 0);
  s->solver = solver_from(s->context, PAIRS("precond", precond, "max-iterations", "5"));
  return s;
}

static void end(struct system *s)
{
  karst_solver_destroy(s->solver);
  problem_destroy(&s->problem);
  karst_context_destroy(s->context);
  free(s);
}

/* Solves from 0, and returns whether x has the bits that are expected. The first call sets the expected bits. */
static bool solve(struct system *s)
{
  tap_need(s->context, karst_solver_update(s->solver), "update");
  problem_solve(&s->problem, s->solver);
  double *x = vector_on_host(s->problem.x);
  const bool same = expected && memcmp(x, expected, (size_t)s->problem.n * sizeof *x) == 0;
  if (expected)
    free(x);
  else
    expected = x;
  return same;
}

static bool setup_and_solve(struct system *s)
{
  tap_need(s->context, karst_solver_setup(s->solver, s->problem.A), "setup");
  return solve(s);
}

/* The work of children. Each function returns whether the results are right. */
static bool makes_its_own(struct system *parents)
{
  struct system *s = begin(2, "iluk");
  (void)parents;
  const bool right = setup_and_solve(s) && s->notes == 1 && karst_context_threads(s->context) == 2;
  end(s);
  return right;
}

static bool uses_the_parents(struct system *parents)
{
  const bool once = solve(parents), twice = solve(parents);
  return once && twice && parents->notes == 1;
}

static bool sets_the_parents_up(struct system *parents) { return setup_and_solve(parents) && parents->notes == 1; }

static bool has_one_thread(struct system *parents)
{
  struct system *s = begin(1, "iluk");
  (void)parents;
  const bool right = setup_and_solve(s) && s->notes == 0;
  end(s);
  return right;
}

/* Does the work in a child of this process, and returns whether it succeeded. */
static bool in_child(bool (*work)(struct system *parents), struct system *parents)
{
  int status = 0;
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    alarm(LIMIT);
    _exit(work(parents) ? 0 : 1);
  }
  if (child < 0 || waitpid(child, &status, 0) != child) return false;
  if (WIFSIGNALED(status)) tap_note("the child ended by signal %d", WTERMSIG(status));
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool has_children(struct system *parents)
{
  return uses_the_parents(parents) && in_child(makes_its_own, parents) && in_child(uses_the_parents, parents) &&
         uses_the_parents(parents);
}

static bool starts_threads_first(struct system *parents)
{
  struct system *s = begin(2, "iluk");
  (void)parents;
  const bool right = setup_and_solve(s) && s->notes == 0 && in_child(makes_its_own, s) && in_child(uses_the_parents, s);
  end(s);
  return right;
}

int main(void)
{
  struct system *one = begin(1, "iluk"), *unused, *used, *other;
  if (!strstr(karst_build_features(), "OpenMP")) {
    tap_skip("built without OpenMP", "threads before a fork");
    return tap_done();
  }
  setup_and_solve(one);
  unused = begin(1, "iluk");
  tap_need(unused->context, tap_set_threads(unused->context, 2), "threads");
  tap_ok(in_child(starts_threads_first, NULL), "a child of a process with one thread may start threads");
  tap_ok(in_child(sets_the_parents_up, unused), "a context made before the fork has one thread in the child");

  used = begin(2, "iluk");
  tap_ok(setup_and_solve(used) && used->notes == 0, "two threads give the bits of one, and no note");
  tap_ok(in_child(has_one_thread, NULL), "a child solves with one thread");
  tap_ok(in_child(makes_its_own, NULL),
         "a child solves in its own context of two threads, which reports once that it has one");
  tap_ok(in_child(uses_the_parents, used), "a child solves with its parent's solver");
  tap_ok(in_child(sets_the_parents_up, used), "a child sets its parent's solver up anew");
  tap_ok(in_child(has_children, used), "so do children of children, and then the child again");
  tap_ok(solve(used) && used->notes == 0, "the parent keeps its threads");
  tap_ok(in_child(uses_the_parents, used), "and forks further children");
  end(unused);
  end(used);
  end(one);
  free(expected);

  for (int i = 0; i < 3; i++) {
    static const char *const others[] = {"dilu", "amg", "cpr"};
    other = begin(2, others[i]);
    expected = NULL;
    setup_and_solve(other);
    tap_ok(in_child(uses_the_parents, other), "%s: a child solves with its parent's solver", others[i]);
    tap_ok(in_child(sets_the_parents_up, other), "%s: a child sets its parent's solver up anew", others[i]);
    end(other);
    free(expected);
  }
  return tap_done();
}
