/* Real matrices are solved with methods that may fail, by following the hints of solve: two are enough. */
#include "config.h"

#include "tests/support/commands.h"

#include <stdio.h>
#include <string.h>

/* Takes the options that a line of text says to try, up to an "or". They point into the text. */
static int take_options(char *text, const char *option[], int most)
{
  int count = 0;
  char *begin = strstr(text, "try ");
  for (char *word = begin ? strtok(begin + 4, " \n") : NULL; word && count < most; word = strtok(NULL, " \n")) {
    const size_t length = strcspn(word, ",;");
    const bool last = word[length] != '\0';
    word[length] = '\0';
    if (strcmp(word, "or") == 0 ||
        (count % 2 == 0 && strncmp(word, "--", 2) != 0 && strcmp(option[count - 1], "--insert-diagonal") != 0))
      break;
    option[count++] = word;
    if (last) break;
  }
  return count;
}

/* Solves, and follows the hints. Two must be enough; the first may be that of a refusal. */
static void follow_to_the_end(const char *name, const char *path, const char *const start[])
{
  enum { MOST = 24, STEPS = 3 };
  static char text[STEPS][1 << 16];
  const char *argument[MOST + 1] = {path};
  int count = 1, hints = 0;
  for (; *start; start++) argument[count++] = *start;
  argument[count] = NULL;
  const struct cli_run *run = cli_run("solve", argument);
  while (run->status != 0 && hints < STEPS) {
    const char *hint = run->status == 1 ? strstr(run->out, "\nhint        ") : run->err;
    snprintf(text[hints], sizeof text[hints], "%s", hint ? hint : "");
    const int taken = take_options(text[hints++], argument + count, MOST - count);
    if (taken == 0) break;
    argument[count += taken] = NULL;
    run = cli_run("solve", argument);
  }
  char all[1024] = "";
  for (int i = 1; i < count; i++) snprintf(all + strlen(all), sizeof all - strlen(all), " %s", argument[i]);
  check_run(run, run->status == 0 && hints <= 2, "%s is solved after %d hints:%s", name, hints, all);
}

/* Each real matrix that can be solved. */
static void test_real(void)
{
  static const char *const files[] = {"1138_bus.tar.gz", "2dcyl1.mtx.gz",   "SPE01_bsr3.mtx.gz", "add20.mtx.gz",
                                      "ani4.mtx.gz",     "bcsstk16.mtx.gz", "bcsstk18.mtx.gz",   "e05r0500.mtx",
                                      "fasp_FE.mtx.gz",  "jpwh_991.mtx",    "nos7.mtx",          "orsirr_1.mtx",
                                      "pores_3.mtx",     "sherman1.mtx",    "sherman3.mtx.gz",   "sherman5.mtx.gz",
                                      "steam2.mtx.gz",   "vdvorst3.mtx.gz", "west0479.mtx"};
  static const char *const starts[][7] = {
      {NULL},
      {"--solver", "gmres", NULL},
      {"--solver", "gmres", "--level", "1", NULL},
      {"--solver", "cg", NULL},
      {"--solver", "orthomin", "--precond", "jacobi", "--max-iterations", "4000", NULL}};
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    const char *path = real_matrix(files[i], files[i]);
    for (size_t k = 0; path && k < sizeof starts / sizeof *starts; k++) follow_to_the_end(files[i], path, starts[k]);
  }
}

int main(void)
{
  cli_need("solve");
  test_real();
  return tap_done();
}
