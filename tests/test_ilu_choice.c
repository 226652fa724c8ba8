/* Which kernels block ILU takes on a GPU: the rules are functions of numbers, so they are tested without one. */
#include "gpu/ilu/choice.h"

#include "tap.h"

enum { CASES = 20000, PROCESSORS = 132, LONG = 1000000 };

/* Returns the kernel by an independent form of the rule, for a measured row. */
static enum karst_ilu_factor_kind expected(const karst_ilu_shape *s)
{
  const int64_t elements = s->longest * s->block_size * s->block_size;
  if (s->block_size > 8) return KARST_ILU_FACTOR_LARGE;
  if (s->block_size > 6) return KARST_ILU_FACTOR_TILE;
  return s->neighbours > 10 * s->rows && elements <= 1536 ? KARST_ILU_FACTOR_ROW : KARST_ILU_FACTOR_SLICE;
}

static void test_factor(void)
{
  bool right = true, measured = true, pairs = true;
  for (int c = 0; c < CASES; c++) {
    karst_ilu_shape s = {
        1 + (int)tap_random_index(12), 1 + tap_random_index(LONG), 0, 1 + tap_random_index(300), 0, PROCESSORS, false};
    s.neighbours = s.rows * (9 + tap_random_index(3)) + tap_random_index(3) - 1;
    const bool measures = karst_ilu_factor_rules[karst_ilu_choose_factor(&s)].elements > 0;
    measured = measured && measures == (s.block_size <= 6 && s.neighbours > 10 * s.rows);
    s.longest = 1 + tap_random_index(2 * 1536 / (s.block_size * s.block_size) + 1);
    const enum karst_ilu_factor_kind kind = karst_ilu_choose_factor(&s);
    if (kind != expected(&s))
      tap_note("b = %d, %lld rows, %lld neighbours, longest %lld: %s", s.block_size, (long long)s.rows,
               (long long)s.neighbours, (long long)s.longest, karst_ilu_factor_rules[kind].name);
    right = right && kind == expected(&s);
    const bool two = s.block_size == 1 && s.longest <= 768 && s.rows > 7 * PROCESSORS * s.levels;
    pairs = pairs && karst_ilu_choose_rows_of_warp(&s) == (two ? 2 : 1);
  }
  tap_ok(right, "the kernel that factors follows from block size, average and longest row");
  tap_ok(measured, "the longest row is measured where the choice depends on it, and nowhere else");
  tap_ok(pairs, "a warp makes two scalar rows where levels are wide and two rows fit");
}

static void test_limits(void)
{
  const struct {
    karst_ilu_shape shape;
    enum karst_ilu_factor_kind kind;
    const char *what;
  } of[] = {
      {{1, 1000, 6000, 28, 7, PROCESSORS, false}, KARST_ILU_FACTOR_SLICE, "a 7-point stencil: rows by slices"},
      {{1, 1000, 26000, 100, 27, PROCESSORS, false}, KARST_ILU_FACTOR_ROW, "a 27-point stencil: a warp a row"},
      {{1, 1000, 10000, 100, 27, PROCESSORS, false}, KARST_ILU_FACTOR_SLICE, "10 neighbours on average are not many"},
      {{1, 1000, 10001, 100, 1536, PROCESSORS, false}, KARST_ILU_FACTOR_ROW, "one more are, and 1536 elements fit"},
      {{1, 1000, 10001, 100, 1537, PROCESSORS, false}, KARST_ILU_FACTOR_SLICE, "1537 elements do not fit"},
      {{6, 1000, 26000, 100, 42, PROCESSORS, false}, KARST_ILU_FACTOR_ROW, "blocks of 6: 42 of them fit"},
      {{6, 1000, 26000, 100, 43, PROCESSORS, false}, KARST_ILU_FACTOR_SLICE, "blocks of 6: 43 of them do not"},
      {{7, 1000, 26000, 100, 27, PROCESSORS, false},
       KARST_ILU_FACTOR_TILE,
       "blocks of 7: the matrix units, however many"},
      {{8, 1, 0, 1, 1, PROCESSORS, false}, KARST_ILU_FACTOR_TILE, "blocks of 8: a single row too"},
      {{9, 1000, 6000, 28, 7, PROCESSORS, false}, KARST_ILU_FACTOR_LARGE, "blocks of 9: a block of threads a row"},
      {{1024, 1, 0, 1, 1, PROCESSORS, false}, KARST_ILU_FACTOR_LARGE, "the largest blocks"},
      {{1, 1, 0, 1, 1, PROCESSORS, false}, KARST_ILU_FACTOR_SLICE, "one scalar"},
      {{1, 1000, 26000, 100, 27, PROCESSORS, true}, KARST_ILU_FACTOR_MODIFIED, "modified: the one kernel that is"},
      {{8, 1000, 6000, 28, 7, PROCESSORS, true}, KARST_ILU_FACTOR_MODIFIED, "modified with blocks of 8"},
  };
  for (size_t i = 0; i < sizeof of / sizeof *of; i++)
    tap_ok(karst_ilu_choose_factor(&of[i].shape) == of[i].kind, "%s", of[i].what);
}

static void test_sweep(void)
{
  tap_ok(karst_ilu_choose_sweep(KARST_TRISOLVE_AUTO, 8) == KARST_ILU_SWEEP_LEVEL, "auto, 8 levels: a launch for each");
  tap_ok(karst_ilu_choose_sweep(KARST_TRISOLVE_AUTO, 9) == KARST_ILU_SWEEP_DATAFLOW,
         "auto, 9 levels: one launch for all");
  tap_ok(karst_ilu_choose_sweep(KARST_TRISOLVE_LEVEL, LONG) == KARST_ILU_SWEEP_LEVEL, "level, however many there are");
  tap_ok(karst_ilu_choose_sweep(KARST_TRISOLVE_DATAFLOW, 2) == KARST_ILU_SWEEP_DATAFLOW,
         "dataflow, however few there are");
  tap_ok(karst_ilu_choose_sweep(KARST_TRISOLVE_JACOBI, 2) == KARST_ILU_SWEEP_JACOBI &&
             karst_ilu_choose_sweep(KARST_TRISOLVE_JACOBI, LONG) == KARST_ILU_SWEEP_JACOBI,
         "jacobi, whatever the levels");
}

/* Each lane has at most as many neighbours on average as it waits for at once, unless the warp has no more lanes or the
 * largest number of parts is used. Half as many parts would not do. */
static void test_parts(void)
{
  bool right = true;
  for (int c = 0; c < CASES; c++) {
    const int b = 1 + (int)tap_random_index(12), at_once = b <= 2 ? 4 : 3;
    const int64_t slots = 1 + tap_random_index(LONG), neighbours = tap_random_index(60) * slots + tap_random_index(3);
    const int parts = karst_ilu_choose_parts(b, slots, neighbours);
    const bool enough = parts * at_once * slots >= neighbours, widest = parts == 8 || 2 * parts * b > 32;
    right = right && (parts == 1 || parts == 2 || parts == 4 || parts == 8) && (b <= 8 || parts == 1) &&
            (b > 8 || ((enough || widest) && parts * b <= 32)) &&
            (parts == 1 || parts / 2 * at_once * slots < neighbours);
  }
  tap_ok(right, "as few lanes share a row as can wait for all its neighbours at once");
}

int main(void)
{
  test_factor();
  test_limits();
  test_sweep();
  test_parts();
  return tap_done();
}
