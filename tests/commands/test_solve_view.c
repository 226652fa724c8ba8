/* The options --view and --monitor of solve: the options in effect, and the residual of each iteration. */
#include "config.h"

#include "tests/support/commands.h"

/* Whether the view in the text has a line of this name with this value. */
static bool has_line(const char *text, const char *name, const char *value)
{
  char line[256];
  const char *view = strstr(text, "\nview:");
  for (const char *at = view; at && (at = strchr(at, '\n')); at++) {
    snprintf(line, sizeof line, "%.*s", (int)strcspn(at + 1, "\n"), at + 1);
    const char *begin = line + strspn(line, " ");
    const size_t length = strcspn(begin, " ");
    if (strlen(name) != length || strncmp(begin, name, length) != 0) continue;
    begin += length;
    return strcmp(begin + strspn(begin, " "), value) == 0;
  }
  return false;
}

static void test_view(void)
{
  const struct cli_run *run = CLI_RUN("solve", "poisson2d:9x9", "--view", "--level", "2", "--rtol", "1e-6");
  const char *text = run->out;
  tap_ok(run->status == 0 && strstr(text, "\nview: matrix poisson2d:9x9, rhs ones, device cpu"),
         "--view follows the report, with the matrix and the device");
  tap_ok(has_line(text, "solver", "bicgstab (chosen by auto)") && has_line(text, "ordering", "natural (default)") &&
             has_line(text, "scale", "none (default)"),
         "--view marks options that auto chose or that are at their defaults");
  tap_ok(has_line(text, "level", "2") && has_line(text, "rtol", "1e-6"), "--view has the options that were given");
  tap_ok(!strstr(strstr(text, "\nview:"), " sweep-mode") && !strstr(strstr(text, "\nview:"), "damping") &&
             !strstr(strstr(text, "\nview:"), "rrb-levels"),
         "--view has no option that the methods do not read");
  tap_ok(has_line(text, "levels_lower", "33 level sets"), "--view has the values that the methods report");
  tap_ok(strstr(text, "  order                        33 levels of at most 3 block rows; triangular solves move "),
         "--view has what the order costs");
  run = CLI_RUN("solve", "poisson2d:9x9", "--view", "--precond=iluk", "--line-direction=y", "--line-order=zebra");
  tap_ok(run->status == 0 && !strstr(strstr(run->out, "\nview:"), " line-"), "--view has no option of lines with iluk");
  run = CLI_RUN("solve", "poisson2d:9x9", "--view", "--precond=lines", "--line-direction=y", "--shift=1");
  tap_ok(has_line(run->out, "line-direction", "y") && !strstr(strstr(run->out, "\nview:"), " shift "),
         "--view has the direction of lines, and no shift");
  run = CLI_RUN("solve", "poisson2d:9x9", "--view", "--ordering", "tiles", "--tile-size", "9");
  tap_ok(has_line(run->out, "tile-size", "9") &&
             strstr(run->out, " block rows; 9 tiles in 2 colours, 2 levels of tiles;"),
         "--view has the tiles of the order");
  static const char *const without[] = {"--precond=jacobi", "--precond=fgbilu", "--trisolve=jacobi"};
  for (size_t i = 0; i < sizeof without / sizeof *without; i++) {
    run = CLI_RUN("solve", "poisson2d:9x9", "--view", without[i]);
    tap_ok(run->status == 0 && strstr(run->out, "\nview:") && !strstr(run->out, "\n  order  "),
           "--view has no order if no triangular solve goes by level sets: %s", without[i]);
  }
  run = CLI_RUN("solve", "poisson2d:9x9", "--view", "--precond=two-stage", "--second=dilu");
  tap_ok(run->status == 0 && strstr(run->out, "\n  order                        17 levels of "),
         "--view has the order of a stage's triangular solves");
  run = CLI_RUN("solve", "poisson2d:1x1", "--view", "--ordering=colour");
  tap_ok(
      strstr(run->out, " order                        1 level of at most 1 block row; 1 tile in 1 colour, 1 level of "),
      "--view uses the singular for one level");
  run = CLI_RUN("solve", "poisson2d:9x9", "--view", "--rtol", "1e-08");
  tap_ok(has_line(run->out, "rtol", "1e-08 (default)"), "a default in another form is marked as the default");
  run = CLI_RUN("solve", "poisson2d:9x9", "--view", "--solver", "cg", "--precond", "two-stage", "--solver", "gmres",
                "--second.level", "3", "--first", "dilu");
  tap_ok(has_line(run->out, "first", "dilu") && has_line(run->out, "second", "iluk (default)") &&
             has_line(run->out, "second.level", "3") && !has_line(run->out, "level", "0 (default)"),
         "--view has the options of stages");
  run = CLI_RUN("solve", "poisson2d:9x9", "--view", "--quiet");
  tap_ok(run->status == 0 && !*run->out, "--quiet prints no view");
  run = CLI_RUN("solve", "poisson2d:9x9");
  tap_ok(run->status == 0 && !strstr(run->out, "view"), "a run without --view prints no view");
#ifdef HAVE_JANSSON
  run = CLI_RUN("solve", "poisson2d:9x9", "--view", "--json");
  tap_ok(run->status == 2 && strstr(run->err, "--view cannot be used with --json"), "--view with --json is refused: %s",
         run->err);
#else
  tap_skip("built without jansson", "--view with --json is refused");
#endif
}

/* Options of one name have other defaults in other methods: first is jacobi for two-stage and amg for cpr. */
static void test_stages(void)
{
  const struct cli_run *run = CLI_RUN("solve", "blackoil:9x8x7", "--view", "--precond", "cpr");
  tap_ok(run->status == 0 && has_line(run->out, "first", "amg (default)") &&
             has_line(run->out, "first.amg-cycle", "auto (default)") && has_line(run->out, "second", "iluk (default)"),
         "--view marks the default stages of cpr");
  tap_ok(has_line(run->out, "first_amg_level_0", "504 rows, 3146 entries, longest row 7") &&
             strstr(run->out, "\n  first_amg_level_1            "),
         "--view has the rows, the entries and the longest row of each level");
  run = CLI_RUN("solve", "blackoil:9x8x7", "--view", "--precond=cpr", "--first=two-stage", "--second=two-stage",
                "--second.first=amg", "--second.first=dilu");
  tap_ok(run->status == 0 && has_line(run->out, "first", "two-stage") &&
             has_line(run->out, "first.first", "jacobi (default)") && has_line(run->out, "second.first", "dilu"),
         "--view marks the default stages of a stage");
}

/* With auto, solve prints the options in effect and marks those that auto chose. */
static void test_auto(void)
{
  const struct cli_run *run = CLI_RUN("solve", "poisson3d:8x8x8", "--precond", "auto", "--view", "--auto-learn", "no");
  tap_ok(run->status == 0 && strstr(run->out, "\nprecond     auto: iluk, level 1, ordering natural, scale none\n"),
         "the report has auto's choice");
  tap_ok(has_line(run->out, "precond", "iluk (chosen by auto)") && has_line(run->out, "level", "1 (chosen by auto)") &&
             has_line(run->out, "ordering", "natural (default)") && has_line(run->out, "auto-learn", "no"),
         "the view has auto's choice, and the options that auto was given");
  run = CLI_RUN("solve", "poisson2d:20x20", "--precond", "auto", "--view");
  tap_ok(run->status == 0 && strstr(run->out, "\nprecond     auto: rrb, ordering natural, scale none\n") &&
             has_line(run->out, "rrb-levels", "0 (default)") && !strstr(strstr(run->out, "\nview:"), " level "),
         "the report of a choice without a level has no level");
  run = CLI_RUN("solve", "poisson2d:20x20", "--precond", "auto", "--level", "3", "--ordering", "natural", "--view");
  tap_ok(run->status == 0 && has_line(run->out, "level", "3") && has_line(run->out, "ordering", "natural (default)"),
         "an option that was given is not marked as chosen");
  run = CLI_RUN("solve", "poisson2d:9x9", "--solver", "bicgstab", "--precond", "dilu");
  tap_ok(run->status == 0 && strstr(run->out, "\nsolver      bicgstab, rtol ") &&
             strstr(run->out, "\nprecond     dilu, ordering natural"),
         "the report has no option that the methods do not read");
  run = CLI_RUN("solve", "poisson2d:9x9", "--solver", "orthomin", "--precond", "two-stage", "--second.level", "2");
  tap_ok(run->status == 0 && strstr(run->out, "\nsolver      orthomin(30), rtol ") &&
             strstr(run->out, "\nprecond     two-stage: jacobi, then iluk of level 2, ordering"),
         "the report has the levels of stages");
}

static void test_nonsense(void)
{
  static const struct {
    const char *option, *more, *says;
  } cases[] = {{"--view=all", NULL, "--view takes no value"},
               {"--view", "all", "unexpected argument 'all'"},
               {"--monitor=10", NULL, "--monitor takes no value"},
               {"--monitor", "10", "unexpected argument '10'"},
               {"--moniter", NULL, "unknown option --moniter; did you mean --monitor?"},
               {"--spy", NULL, "--spy needs a value: FILE.png|FILE.svg"},
               {"--spy", "picture", "picture: the name of a picture must end in .svg or .png"},
               {"--spy=", NULL, "--spy needs a value that is not empty"},
               {"--plot", NULL, "--plot needs a value: FILE.svg|FILE.png"},
               {"--plot", "-", "-: the name of a picture must end in .svg or .png"},
               {"--device", "cuda:4711", "device \"cuda:4711\" is unknown: cpu, cuda or cuda:N, N from 0 to 999"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const struct cli_run *run = CLI_RUN("solve", "poisson2d:5x4", cases[i].option, cases[i].more);
    tap_ok(is_refused(run, "solve", cases[i].says), "%s %s: %s", cases[i].option, cases[i].more ? cases[i].more : "",
           run->err);
  }
}

static void test_monitor(void)
{
  const struct cli_run *run = CLI_RUN("solve", "poisson2d:9x9", "--monitor", "--repeat", "2");
  const int count = (int)number_after(run->out, "\niterations  ");
  tap_ok(run->status == 0 && count > 3 && count_of(run->err, "residual norm") == count + 1 &&
             strncmp(run->err, "     0  residual norm 9.0000", 28) == 0,
         "--monitor prints a line for the start and each iteration of the first solve, on standard error");
  tap_ok(!strstr(run->out, "residual norm "), "--monitor prints nothing on standard output");
  run = CLI_RUN("solve", "poisson2d:9x9", "--monitor", "--quiet");
  tap_ok(run->status == 0 && !*run->out && count_of(run->err, "residual norm") == count + 1,
         "--monitor prints with --quiet");
#ifdef HAVE_JANSSON
  run = CLI_RUN("solve", "poisson2d:9x9", "--monitor", "--json");
  tap_ok(run->status == 0 && run->out[0] == '{' && count_of(run->err, "residual norm") == count + 1,
         "--monitor prints with --json");
#endif
  const char *history = scratch_path("history");
  run = CLI_RUN("solve", "poisson2d:9x9", "--monitor", "--history", history);
  tap_ok(run->status == 0 && count_of(file_text(history), "\n") == count + 2, "--monitor leaves --history as it is");
}

int main(void)
{
  cli_need("solve");
  test_view();
  test_stages();
  test_auto();
  test_nonsense();
  test_monitor();
  return tap_done();
}
