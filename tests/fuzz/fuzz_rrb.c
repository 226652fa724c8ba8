/* Solves small symmetric systems on two-dimensional grids with cg and the repeated red-black method, twice, and again
 * with new values, and checks the claims of the library (judge.h). With a stencil of 5 points half of the unknowns are
 * eliminated. */
#include "tests/fuzz/judge.h"

enum { OPTIONS = 6 };

/* Sets some of the options of cg and rrb. */
static void make_options(fuzz_input *input, karst_options *options)
{
  static const char *const name[OPTIONS] = {"rrb-levels", "rrb-precision", "rrb-grids", "norm", "rtol", "atol"};
  static const char *const text[OPTIONS][4] = {
      {"0", "1", "3", "4"},         {"double", "float", "double", "float"},
      {"0", "1", "2", "64"},        {"true", "preconditioned", "true", "preconditioned"},
      {"0", "1e-12", "1e-16", "1"}, {"0", "1e-300", "1e-2", "1e300"},
  };
  (void)karst_options_set(options, "solver", "cg");
  (void)karst_options_set(options, "precond", "rrb");
  (void)karst_options_set(options, "rrb-levels", "130");
  (void)karst_options_set(options, "max-iterations", "60");
  for (int count = fuzz_choice(input, OPTIONS + 1); count > 0; count--) {
    const int option = fuzz_choice(input, OPTIONS), choice = fuzz_choice(input, 4);
    const karst_status status = karst_options_set(options, name[option], text[option][choice]);
    fuzz_must(!status, "%s %s is refused", name[option], text[option][choice]);
  }
}

/* Fills A. Its lower half mirrors the upper one, unless the style breaks the symmetry. In most systems the diagonal
 * dominates its row, so that pivots are positive. */
static void make_values(fuzz_input *input, fuzz_system *s)
{
  const unsigned style = fuzz_byte(input);
  const bool wild = style & 1, any_diagonal = (style & 130) == 130, any_mirror = (style & 12) == 12, zero = style & 16;
  for (karst_index i = 0; i < s->rows; i++)
    for (karst_index k = s->start[i]; k < s->start[i + 1]; k++) {
      const karst_index j = s->column[k];
      s->value[k] = fuzz_value(input, wild);
      if (j == i && !any_diagonal) s->value[k] += 80;
      if (j >= i || any_mirror) continue;
      for (karst_index mirror = s->start[j]; mirror < s->start[j + 1]; mirror++)
        if (s->column[mirror] == i) s->value[k] = s->value[mirror];
    }
  for (int i = 0; i < s->n; i++) s->rhs[i] = zero ? 0 : fuzz_value(input, wild);
  for (int i = 0; i < s->n; i++) s->start_x[i] = style & 32 ? fuzz_value(input, style & 64) : 0;
}

/* Makes a stencil of 5 or 9 points. Gaps remove some of its couplings. */
static void make_system(fuzz_input *input, fuzz_system *s)
{
  const karst_index nx = 1 + fuzz_choice(input, MOST), ny = 1 + fuzz_choice(input, MOST / (int)nx);
  const bool corners = fuzz_choice(input, 2) == 1;
  const int gaps = fuzz_choice(input, 32);
  s->nx = nx;
  s->ny = ny;
  s->b = 1;
  s->rows = nx * ny;
  s->n = (int)s->rows;
  karst_index k = 0;
  for (karst_index i = 0; i < s->rows; i++) {
    for (karst_index j = 0; j < s->rows; j++) {
      const karst_index x = j % nx - i % nx, y = j / nx - i / nx;
      if (x * x > 1 || y * y > 1 || (x && y && !corners)) continue;
      if (i == j || gaps == 0 || (i + j) % (gaps + 1) != 0) s->column[k++] = j;
    }
    s->start[i + 1] = k;
  }
  make_values(input, s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static const fuzz_maker maker = {make_options, make_system, make_values, true};
  fuzz_judge(&maker, data, size);
  return 0;
}
