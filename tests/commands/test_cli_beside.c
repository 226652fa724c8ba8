/* test_cli_beside.c - the right-hand side beside a matrix file. convert leaves no right-hand side of another matrix
 * there, and removes one only with --force; solve says which file it has read. Other matrix files of the same NAME keep
 * their right-hand side. */
#include "config.h"

#include "tests/support/commands.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *in_folder(const char *name)
{
  char file[64];
  snprintf(file, sizeof file, "f/%s", name);
  return scratch_path(file);
}

static bool is_there(const char *name) { return access(in_folder(name), F_OK) == 0; }

static void clear(void)
{
  static const char *const names[] = {"o",     "o.mtx",   "o.mtx.gz",   "o.kbsr",   "o.rb",
                                      "o.txt", "o_b.mtx", "o_b.mtx.gz", "o.old.mtx"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) unlink(in_folder(names[i]));
  rmdir(in_folder("o_b.mtx"));
}

/* Whether convert refuses, does not make OUTPUT, and leaves the right-hand side in the file NAME as it was. text: its
 * content; NULL: there is none. */
static bool leaves(const struct cli_run *run, const char *output, const char *name, const char *text)
{
  return is_refused(run, "convert", "") && !is_there(output) && is_there(name) == !!text &&
         (!text || strcmp(file_text(in_folder(name)), text) == 0);
}

/* The right-hand side beside OUTPUT belongs to another matrix, and to the user. */
static void test_another(void)
{
  static const char *const names[] = {"o_b.mtx", "o_b.mtx.gz"}, *const files[] = {"f/o_b.mtx", "f/o_b.mtx.gz"};
  const char *o = in_folder("o.mtx");
  for (int i = 0; i < 4; i++) {
    const char *matrix = i / 2 ? "blackoil:2x2x2" : "poisson2d:6x4", *name = names[i % 2];
    tap_write(files[i % 2], "7\n", -1);
    const struct cli_run *run = CLI_RUN("convert", matrix, o);
    tap_ok(leaves(run, "o.mtx", name, "7\n") && strstr(run->err, name) && strstr(run->err, "--force") &&
               strstr(run->err, i / 2 ? "has another one" : "has none"),
           "%s of another matrix stays: %s", name, run->err);
    run = CLI_RUN("convert", matrix, o, "--force");
    tap_ok(run->status == 0 && is_there("o_b.mtx") == (i / 2 == 1) && !is_there("o_b.mtx.gz") &&
               !strstr(run->err, "note: removed ") == (i == 2) && CLI_RUN("solve", o)->status == 0,
           "with --force it is replaced or removed: %s", run->err);
    clear();
  }
  tap_write("f/o_b.mtx", "7\n", -1);
  const struct cli_run *run = CLI_RUN("convert", "poisson2d:6x4", o, "--force", "--quiet");
  tap_ok(run->status == 0 && !is_there("o_b.mtx") && !run->err[0], "convert --force --quiet prints nothing");
  clear();
}

static void test_convert(void)
{
  const char *o = in_folder("o.mtx"), *kbsr = in_folder("o.kbsr"), *rhs = in_folder("o_b.mtx");
  bool written = CLI_RUN("convert", "blackoil:2x2x2", o)->status == 0 && is_there("o_b.mtx");
  const struct cli_run *run = CLI_RUN("convert", "blackoil:2x2x2", o);
  tap_ok(written && run->status == 0 && !run->err[0], "the same conversion can be repeated: %s", run->err);
  run = CLI_RUN("convert", "poisson2d:6x4", kbsr);
  tap_ok(is_refused(run, "convert", "") && is_there("o_b.mtx") && !is_there("o.kbsr"),
         "a right-hand side that another matrix file of the name may need is not removed: %s", run->err);
  run = CLI_RUN("convert", "poisson2d:6x4", kbsr, "--force");
  tap_ok(run->status == 2 && is_there("o_b.mtx") && !is_there("o.kbsr"), "--force does not remove it: %s", run->err);
  char *text = strdup(file_text(rhs));
  run = CLI_RUN("convert", o, kbsr, "--negate", "--quiet");
  tap_ok(leaves(run, "o.kbsr", "o_b.mtx", text), "the matrix that is converted keeps its right-hand side: %s",
         run->err);
  run = CLI_RUN("convert", o, kbsr);
  tap_ok(run->status == 0 && !run->err[0] && CLI_RUN("diff", o, kbsr)->status == 0,
         "the same system in another format is written beside it");
  unlink(kbsr);
  run = CLI_RUN("convert", o, o, "--negate", "--quiet");
  tap_ok(run->status == 0 && CLI_RUN("solve", o, "--quiet")->status == 0, "a system is negated in place: %s", run->err);
  tap_ok(strcmp(file_text(rhs), text) != 0, "its right-hand side is negated too");
  free(text);
  clear();
  mkdir(rhs, 0755);
  run = CLI_RUN("convert", "poisson2d:6x4", o);
  tap_ok(run->status == 0 && is_there("o_b.mtx"), "a folder of that name is not taken for a right-hand side");
  clear();
}

/* Other matrices of the same NAME, in any format, keep the right-hand side beside them, or stay without one. */
static void test_siblings(void)
{
  static const char *const others[] = {"o.kbsr", "o.mtx.gz", "o.rb", "o.txt", "o"};
  const char *o = in_folder("o.mtx");
  CLI_RUN("convert", "blackoil:2x2x2", in_folder("o.kbsr"));
  char *text = strdup(file_text(in_folder("o_b.mtx")));
  const struct cli_run *run = CLI_RUN("convert", "blackoil:2x2x2,seed=9", o);
  tap_ok(leaves(run, "o.mtx", "o_b.mtx", text), "a different right-hand side does not replace it: %s", run->err);
  free(text);
  run = CLI_RUN("convert", "blackoil:2x2x2", o);
  tap_ok(run->status == 0 && is_there("o.mtx"), "an equal right-hand side is accepted: %s", run->err);
  clear();
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
    char file[32];
    snprintf(file, sizeof file, "f/%s", others[i]);
    for (int k = 0; k < 4; k++) {
      const char *beside = k % 2 ? "o_b.mtx.gz" : "o_b.mtx";
      tap_write(file, "a matrix\n", -1);
      tap_write(k % 2 ? "f/o_b.mtx.gz" : "f/o_b.mtx", "7\n", -1);
      run = CLI_RUN("convert", k / 2 ? "blackoil:3x3x1" : "poisson2d:6x4", o);
      tap_ok(leaves(run, "o.mtx", beside, "7\n") && strstr(run->err, beside) && strstr(run->err, others[i]),
             "%s of %s is not removed: %s", beside, others[i], run->err);
      clear();
    }
    tap_write(file, "a matrix\n", -1);
    run = CLI_RUN("convert", "blackoil:3x3x1", o);
    tap_ok(leaves(run, "o.mtx", "o_b.mtx", NULL), "%s does not get a right-hand side: %s", others[i], run->err);
    run = CLI_RUN("convert", "poisson2d:6x4", o);
    tap_ok(run->status == 0, "a matrix is written if nothing changes for %s: %s", others[i], run->err);
    clear();
  }
  tap_write("f/o.old.mtx", "a matrix\n", -1);
  tap_write("f/o_b.mtx", "7\n", -1);
  run = CLI_RUN("convert", "poisson2d:6x4", o, "--force");
  tap_ok(run->status == 0 && !is_there("o_b.mtx"), "a matrix with a right-hand side of its own does not matter: %s",
         run->err);
  clear();
  const char *input = scratch_file("f/o.txt", GENERAL "1 1 1\n1 1 4\n");
  tap_write("f/o_b.mtx.gz", "7\n", -1);
  run = CLI_RUN("convert", input, o);
  tap_ok(run->status == 0 && is_there("o_b.mtx") && is_there("o_b.mtx.gz") && CLI_RUN("diff", o, input)->status == 0,
         "the matrix that is converted does not matter either: %s", run->err);
  clear();
}

static void test_source(void)
{
  const char *o = in_folder("o.mtx");
  char expected[600];
  CLI_RUN("convert", "blackoil:2x2x2", o);
  snprintf(expected, sizeof expected, "came with the matrix: %s\n", in_folder("o_b.mtx"));
  const struct cli_run *run = CLI_RUN("solve", o);
  tap_ok(run->status == 0 && strstr(run->out, expected), "the report names the file beside");
#ifdef HAVE_JANSSON
  snprintf(expected, sizeof expected, "\"rhs_file\": \"%s\"", in_folder("o_b.mtx"));
  run = CLI_RUN("solve", o, "--json");
  tap_ok(run->status == 0 && strstr(run->out, expected), "the JSON names the file beside");
  run = CLI_RUN("solve", o, "--rhs", in_folder("o_b.mtx"), "--json");
  tap_ok(run->status == 0 && strstr(run->out, expected), "the JSON names the file of --rhs");
  run = CLI_RUN("solve", o, "--rhs=ones", "--json");
  tap_ok(run->status == 0 && strstr(run->out, "\"rhs_file\": null"),
         "the JSON has null for a right-hand side that was not read");
#endif
  tap_write("f/o_b.mtx", "1\n2\n", -1);
  run = CLI_RUN("solve", o);
  tap_ok(is_refused(run, "solve", in_folder("o_b.mtx")) && strstr(run->err, o) && strstr(run->err, "2 rows") &&
             strstr(run->err, "24"),
         "the error for a wrong length names the right-hand side and the matrix: %s", run->err);
  clear();
#ifdef HAVE_LIBARCHIVE
  static char tar[8192];
  long size = add_member(tar, "m/m.mtx", GENERAL "1 1 1\n1 1 4\n");
  size += add_member(tar + size, "m/m_b.mtx", "8\n");
  memset(tar + size, 0, 1024);
  tap_write("m.tar", tar, size + 1024);
  const char *path = scratch_path("m.tar");
  snprintf(expected, sizeof expected, "came with the matrix: %s (m_b.mtx)\n", path);
  run = CLI_RUN("solve", path);
  tap_ok(run->status == 0 && strstr(run->out, expected), "the report names the member of an archive");
#endif
}

int main(void)
{
  cli_need("solve");
  cli_need("diff");
  cli_need("convert");
  const char *folder = scratch_path("f");
  mkdir(folder, 0755);
  test_another();
  test_convert();
  test_siblings();
  test_source();
  rmdir(folder);
  return tap_done();
}
