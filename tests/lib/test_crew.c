/* A crew uses fewer threads if several cost more than one, and more again if they are faster, always from 1 to threads.
 * The test reads no clock, and gives each piece its time. */
#include "lib/base/crew.h"

#include "lib/base/context.h"
#include "lib/matrix/matrix.h"
#include "symbolic/symbolic.h"
#include "tests/support/problem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct machine {
  karst_crew crew;
  int threads;
  double now;   /* seconds */
  double spent; /* seconds in pieces of work */
  int least, most, pieces, alone;
};

static const int64_t work = 10000000; /* scalars */
static const double one_takes = 1e-3; /* seconds of a piece on one thread */

/* Does a piece of work that takes factor times as long with several threads as with one. For the kinds that are not
 * tried with one thread, the crew knows the threads' own work, which takes all together as long as one thread. */
static int do_piece(struct machine *m, karst_kind kind, double factor)
{
  const double own = kind >= KARST_KIND_FACTOR ? one_takes : 0;
  const double start = m->now;
  const int used = karst_crew_choose(&m->crew, m->threads, kind, work, start);
  m->now += one_takes * (used > 1 ? factor : 1);
  karst_crew_note(&m->crew, m->threads, kind, work, &(karst_crew_cost){used, start, m->now, own});
  m->now += 1e-5;
  m->spent += m->now - start;
  if (used < m->least) m->least = used;
  if (used > m->most) m->most = used;
  m->pieces++;
  m->alone += used == 1;
  return used;
}

static void do_pieces(struct machine *m, int pieces, karst_kind kind, double factor)
{
  m->least = m->threads + 1;
  m->most = m->pieces = m->alone = 0;
  m->spent = 0;
  for (int i = 0; i < pieces; i++) do_piece(m, kind, factor);
}

static void test_quiet(karst_kind kind)
{
  struct machine m = {.threads = 2, .now = 100};
  do_pieces(&m, 1000, kind, 0.5);
  tap_ok(m.most == 2 && m.alone <= 5, "kind %d, faster threads do all but %d of %d pieces", kind, m.alone, m.pieces);
  tap_ok(m.spent < 1000 * (0.51 * one_takes + 1e-5), "and trying one thread costs less than 2 %%");
}

/* On a busy machine, a piece takes 20 times as long with several threads. */
static void test_busy(karst_kind kind)
{
  struct machine m = {.threads = 2, .now = 100};
  do_pieces(&m, 1000, kind, 20);
  tap_ok(m.spent < 1.15 * 1000 * (one_takes + 1e-5) && m.alone < m.pieces,
         "kind %d, slower threads cost %.3f of one thread's time, with attempts", kind,
         m.spent / (1000 * (one_takes + 1e-5)));
  do_pieces(&m, 2000, kind, 0.5);
  tap_ok(m.alone < 1100, "kind %d, when they are faster again, they are used after %d pieces of one thread", kind,
         m.alone);
  do_pieces(&m, 1000, kind, 0.5);
  tap_ok(m.alone <= 2, "kind %d, and stay: %d of %d pieces of one thread", kind, m.alone, m.pieces);
}

/* What the crew learns from one kind of work holds for all kinds. */
static void test_kinds(void)
{
  struct machine m = {.threads = 2, .now = 100};
  do_pieces(&m, 3, KARST_KIND_PRODUCT, 20);
  tap_ok(do_piece(&m, KARST_KIND_FACTOR, 20) == 1 && do_piece(&m, KARST_KIND_DOTS, 20) == 1,
         "after products that lost time, other work has one thread too");
  m.now += 10;
  tap_ok(do_piece(&m, KARST_KIND_FORWARD, 0.5) == 1 && do_piece(&m, KARST_KIND_PRODUCT, 0.5) == 2,
         "after a pause, simple work has two threads again, and sweeps have one");
  do_pieces(&m, 40, KARST_KIND_PRODUCT, 0.5);
  do_piece(&m, KARST_KIND_FORWARD, 0.5);
  tap_ok(do_piece(&m, KARST_KIND_FORWARD, 0.5) == 2, "after fast simple work sweeps have two, too");
}

/* A first measurement of one thread that was disturbed is corrected later. */
static void test_disturbed(void)
{
  struct machine m = {.threads = 2, .now = 100};
  const int used = karst_crew_choose(&m.crew, 2, KARST_KIND_PRODUCT, work, 0);
  karst_crew_note(&m.crew, 2, KARST_KIND_PRODUCT, work, &(karst_crew_cost){used, 0, 100 * one_takes, 0});
  do_pieces(&m, 200, KARST_KIND_PRODUCT, 3);
  tap_ok(used == 1 && m.alone > 150,
         "a first measurement that was disturbed is corrected: %d of %d pieces have one thread", m.alone, m.pieces);
}

/* The number of threads is halved as often as needed. */
static void test_many(int threads)
{
  struct machine m = {.threads = threads, .now = 100};
  int high, low;
  do_pieces(&m, 300, KARST_KIND_COMBINE, 5);
  low = m.least;
  high = m.most;
  do_pieces(&m, 3000, KARST_KIND_COMBINE, 0.2);
  tap_ok(low == 1 && high <= threads && m.most == threads && m.least >= 1,
         "%d threads: %d to %d if they are slower than one, and all if they are faster", threads, low, high);
}

static void test_random(void)
{
  int outside = 0;
  for (int threads = 1; threads <= 40; threads += 3) {
    struct machine m = {.threads = threads, .now = 100};
    for (int i = 0; i < 2000; i++) {
      const double factor = tap_random_index(4) == 0 ? 30 * (1 + tap_random()) : 0.5;
      const int used = do_piece(&m, (karst_kind)tap_random_index(KARST_KINDS), factor);
      outside += used < 1 || used > threads;
      if (tap_random_index(50) == 0) m.now += 1 + tap_random();
    }
  }
  tap_ok(outside == 0, "for any times of pieces the number of threads is from 1 to the option's");
}

static void test_steady(void)
{
  struct machine m = {.threads = 3, .now = 100, .crew.steady = true};
  for (int kind = KARST_KIND_FILL; kind < KARST_KINDS; kind++) {
    do_pieces(&m, 20, (karst_kind)kind, 20);
    if (m.least < 3) break;
  }
  tap_ok(m.least == 3, "a steady crew keeps all threads");
}

static void test_small(void)
{
  karst_crew crew = {0};
  tap_ok(karst_crew_choose(&crew, 2, KARST_KIND_COPY, 1000, 0) == 1 &&
             karst_crew_worth(&crew, 2, KARST_KIND_COPY, 0) == 1 &&
             karst_crew_worth(&crew, 16, KARST_KIND_COPY, 20000) == 1 &&
             karst_crew_worth(&crew, 16, KARST_KIND_COPY, 100000) == 16 &&
             karst_crew_worth(&crew, 1, KARST_KIND_COPY, work) == 1,
         "little work has one thread, and other work all threads");
  tap_ok(karst_crew_choose(&crew, 2, KARST_KIND_ONCE, 100000, 0) == 1 &&
             karst_crew_choose(&crew, 2, KARST_KIND_ONCE, 200000, 0) == 2,
         "work that is done once needs to be larger for several threads");
}

/* All threads in every other iteration, and one in between. */
static karst_decision alternate(void *user, int iteration, double residual)
{
  karst_context *context = user;
  (void)residual;
  context->crew.steady = iteration % 2 == 0;
  context->crew.halvings = 10;
  context->crew.resume = 1e300;
  return KARST_GO_ON;
}

/* Solves with this number of threads and returns the solution, which the caller frees. */
static double *solve(int threads, bool changing)
{
  karst_solver *solver;
  karst_context *context = tap_context();
  tap_need(context, tap_set_threads(context, threads), "threads");
  struct problem p = problem_from(context, "blackoil:16x16x8", 0, 0);
  tap_need(context, karst_solver_create(context, NULL, &solver), "solver");
  if (changing) karst_solver_monitor(solver, alternate, context);
  tap_need(context, karst_solver_setup(solver, p.A), "setup");
  const karst_result result = problem_solve(&p, solver);
  double *solution = vector_on_host(p.x);
  tap_ok(result.reason > 0 && result.iterations > 10, "a solve with %d threads%s", threads,
         changing ? ", then one, then all" : "");
  karst_solver_destroy(solver);
  problem_destroy(&p);
  karst_context_destroy(context);
  return solution;
}

static void test_bits(void)
{
  enum { N = 3 * 16 * 16 * 8 };
  if (!strstr(karst_build_features(), "OpenMP")) {
    tap_skip("built without OpenMP", "threads that change within a solve");
    return;
  }
  double *steady = solve(1, false), *changing = solve(2, true);
  tap_ok(memcmp(steady, changing, N * sizeof *steady) == 0, "a number of threads that changes gives the same bits");
  free(steady);
  free(changing);
}

/* Returns how many threads this process has: those of OpenMP stay once they have been started. 0 if it is not known. */
static int count_threads(void)
{
  int threads = 0;
  char line[256];
  FILE *status = fopen("/proc/self/status", "r");
  if (!status) return 0;
  while (fgets(line, sizeof line, status))
    if (sscanf(line, "Threads: %d", &threads) == 1) break;
  fclose(status);
  return threads;
}

/* Makes a problem of the gallery and analyses it for ILU of level 1, with three threads. Returns how many the process
 * has then. */
static int analyse(const char *problem, karst_crew crew)
{
  karst_ilu_pattern pattern;
  karst_context *context = tap_context();
  tap_need(context, karst_context_set_threads(context, 3), "threads");
  context->crew = crew;
  karst_matrix *A = matrix_from(context, problem, 0);
  tap_need(context, karst_ilu_symbolic(context, A->block_rows, A->row_start, A->column, 1, &pattern), "symbolic");
  karst_ilu_pattern_destroy(context, &pattern);
  karst_matrix_destroy(A);
  karst_context_destroy(context);
  return count_threads();
}

/* No thread has been started before. */
static void test_analysis(void)
{
  static const char small[] = "blackoil:20x20x5", large[] = "blackoil:30x30x30";
  const karst_crew waiting = {.halvings = 10, .resume = 1e300}, quiet = {.steady = true};
  if (!strstr(karst_build_features(), "OpenMP") || count_threads() != 1) {
    tap_skip("built without OpenMP, or threads cannot be counted", "threads of the analysis");
    return;
  }
  tap_ok(analyse(small, (karst_crew){0}) == 1, "the analysis of a small system has one thread");
  tap_ok(analyse(large, waiting) == 1, "so has that of a large one while other programs keep threads waiting");
  tap_ok(analyse(large, quiet) == 3, "else it has all");
}

int main(void)
{
  test_analysis();
  test_bits();
  for (karst_kind kind = KARST_KIND_FILL; kind < KARST_KINDS; kind++) {
    test_quiet(kind);
    test_busy(kind);
  }
  test_kinds();
  test_disturbed();
  test_many(3);
  test_many(16);
  test_many(1024);
  test_random();
  test_steady();
  test_small();
  return tap_done();
}
