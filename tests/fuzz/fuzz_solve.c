/* Solves small systems with any options and values twice, and again with new values, and checks the claims of the
 * library (judge.h). */
#include "tests/fuzz/judge.h"

/* Fills A. In about half of the systems the diagonal dominates its row, so that many solves go on for a while. */
static void make_values(fuzz_input *input, fuzz_system *s)
{
  unsigned style = fuzz_byte(input);
  bool wild = style & 1, dominant = style & 2, symmetric = style & 4;
  const int b = s->b;
  for (karst_index i = 0; i < s->rows; i++)
    for (karst_index k = s->start[i]; k < s->start[i + 1]; k++)
      for (int v = 0; v < b * b; v++) {
        double *entry = &s->value[(ptrdiff_t)k * b * b + v];
        *entry = symmetric ? -1 : fuzz_value(input, wild);
        if (s->column[k] == i && v % (b + 1) == 0 && dominant) *entry += 4 * s->n;
      }
  bool zero = style & 8;
  for (int i = 0; i < s->n; i++) s->rhs[i] = zero ? 0 : fuzz_value(input, wild);
  for (int i = 0; i < s->n; i++) s->start_x[i] = style & 16 ? fuzz_value(input, style & 32) : 0;
}

static void make_system(fuzz_input *input, fuzz_system *s)
{
  s->rows = 1 + fuzz_choice(input, MOST_ROWS);
  s->b = 1 + fuzz_choice(input, MOST_SIZE);
  s->n = (int)s->rows * s->b;
  s->start[0] = 0;
  for (karst_index i = 0; i < s->rows; i++) {
    unsigned pattern = fuzz_byte(input) | fuzz_byte(input) << 8;
    if (!(pattern & 0x8000)) pattern |= 1u << i;
    s->start[i + 1] = s->start[i];
    for (karst_index j = 0; j < s->rows; j++)
      if (pattern >> j & 1) s->column[s->start[i + 1]++] = j;
  }
  make_values(input, s);
}

/* Finds option number i, counted from 0. The list belongs to the harness, so that inputs mean the same options when the
 * library gets more. The options for experiments follow the others. */
static bool find_option(int i, karst_option_info *info)
{
  static const char *const names[] = {
      "solver",          "restart",  "rtol",   "atol",       "max-iterations", "side",         "orthogonalise",
      "precond",         "level",    "sweeps", "sweep-mode", "sweep-scale",    "ilu-residual", "trisolve",
      "trisolve-sweeps", "ordering", "scale",  "shift",      "sweep-order",    "sweep-block",  "sweep-chunks",
  };
  for (size_t n = 0; karst_options_info(NULL, n, info); n++)
    if (strcmp(info->name, names[i]) == 0) return true;
  return false;
}

/* Sets some of the options, each to a name from its own list or to a number that is worth testing. */
static void make_options(fuzz_input *input, karst_options *options)
{
  static const char *const integers[] = {"0", "1", "2", "3", "5", "20", "60"};
  static const char *const reals[] = {"0", "1e-2", "1e-6", "1e-12", "1e-15", "1e-16", "1e-30", "1", "1e-300", "1e300"};
  (void)karst_options_set(options, "max-iterations", "60");
  for (int count = fuzz_choice(input, 9); count > 0; count--) {
    karst_option_info info;
    int number = fuzz_choice(input, 21), choice = (int)fuzz_byte(input);
    fuzz_must(find_option(number, &info), "option %d is unknown", number);
    const char *text = info.value;
    if (strcmp(text, "N") == 0)
      text = integers[choice % (int)(sizeof integers / sizeof integers[0])];
    else if (strcmp(text, "R") == 0)
      text = reals[choice % (int)(sizeof reals / sizeof reals[0])];
    else {
      int names = 1;
      for (char *bar = info.value; (bar = strchr(bar, '|')); names++) *bar++ = 0;
      for (choice %= names; choice > 0; choice--) text += strlen(text) + 1;
    }
    (void)karst_options_set(options, info.name, text); /* some options refuse 0 */
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static const fuzz_maker maker = {make_options, make_system, make_values, false};
  fuzz_judge(&maker, data, size);
  return 0;
}
