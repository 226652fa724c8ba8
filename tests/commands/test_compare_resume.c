/* test_compare_resume.c - runs a plan of 200 cases over 23 matrices. One case takes too much memory; one matrix is
 * singular with a right-hand side outside its range, so that no method converges. A batch that is killed by SIGKILL
 * three times, and once loses half a line of its results, ends with the table of an undisturbed batch except for times.
 * It runs no case again that has its row. */
#include "config.h"

#include "tests/support/cli.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef HAVE_JANSSON
#include "tests/support/compare_rows.h"

enum { CASES = 200, KILLS = 3, COLUMNS_MAX = 64, NEVER_ROWS = 60 };

extern char **environ;

static const char huge_matrix[] = "poisson3d:100x100x100";
static const char *const gallery[] = {
    "poisson2d:30x20",  "poisson2d:17x17",  "poisson3d:9x8x7",      "poisson3d:12x5x5",
    "laplace27:8x8x8",  "laplace27:12x9x3", "anisotropic:9x9x6",    "anisotropic:20x10x1",
    "convdiff:6x6x5",   "convdiff:10x10x1", "discontinuous:10x9x6", "discontinuous:20x20x1",
    "blackoil:8x8x4",   "blackoil:12x9x1",  "deadoil:9x9x4",        "deadoil:5x5x15",
    "ns3d:6x6x6",       "unitsquare:24x24", "jump2d:25x25",         "jump2d:16x40",
    "bilinear2d:24x24",
};

static char plan[512], never[512], log_path[512], compare[600]; /* paths; log_path has a line for each start of solve */
static char undisturbed[512], disturbed[512];                   /* files of results */

/* The Laplacian of a ring, whose columns sum to 0 while the right-hand side of ones does not. */
static void write_never(void)
{
  char text[64 * NEVER_ROWS + 128];
  int used = sprintf(text, "%%%%MatrixMarket matrix coordinate real general\n%d %d %d\n", NEVER_ROWS, NEVER_ROWS,
                     3 * NEVER_ROWS);
  for (int i = 0; i < NEVER_ROWS; i++)
    used += sprintf(text + used, "%d %d 2\n%d %d -1\n%d %d -1\n", i + 1, i + 1, i + 1, (i + 1) % NEVER_ROWS + 1, i + 1,
                    (i + NEVER_ROWS - 1) % NEVER_ROWS + 1);
  snprintf(never, sizeof never, "%s", tap_write("never.mtx", text, used));
}

/* Nine cases of each matrix, three methods and three preconditioners, and two of the matrix that is too large. */
static void write_plan(void)
{
  json_t *matrices = json_pack("[s]", never);
  for (size_t i = 0; i < sizeof gallery / sizeof gallery[0]; i++)
    json_array_append_new(matrices, json_string(gallery[i]));
  json_t *cases = json_pack("[{s:O, s:s, s:[s,s,s]}, {s:o, s:s, s:[i,i], s:[s,s,s]}, {s:s, s:[s,s]}]", "matrices",
                            matrices, "precond", "jacobi", "solver", "gmres", "bicgstab", "orthomin", "matrices",
                            matrices, "precond", "iluk", "level", 0, 1, "solver", "gmres", "bicgstab", "orthomin",
                            "matrices", huge_matrix, "solver", "gmres", "bicgstab");
  json_t *all =
      json_pack("{s:i, s:i, s:s, s:o}", "threads", 1, "max-iterations", 400, "memory-limit", "100M", "cases", cases);
  char *text = json_dumps(all, JSON_INDENT(1));
  snprintf(plan, sizeof plan, "%s", tap_write("plan.json", text, -1));
  free(text);
  json_decref(all);
}

/* A script replaces solve: it records that it was started, and then runs solve. */
static void write_fake_solve(const char *folder)
{
  char script[2048];
  const char *known = getenv("KARST_SOLVE");
  snprintf(log_path, sizeof log_path, "%s", tap_scratch("starts"));
  snprintf(script, sizeof script, "#!/bin/sh\necho >>'%s'\nexec '%s%s' \"$@\"\n", log_path,
           known && *known ? known : folder, known && *known ? "" : "/solve");
  const char *path = tap_write("solve", script, -1);
  chmod(path, 0755);
  setenv("KARST_SOLVE", path, 1);
}

/* The number of complete lines of a file; 0 without the file. */
static long count_lines(const char *path)
{
  char piece[4096];
  long lines = 0;
  FILE *file = fopen(path, "r");
  for (size_t got; file && (got = fread(piece, 1, sizeof piece, file)) > 0;)
    for (size_t i = 0; i < got; i++) lines += piece[i] == '\n';
  if (file) fclose(file);
  return lines;
}

/* Waits until the results are unlocked. If compare is killed while it starts a case, that process may hold the file a
 * moment longer, before the system ends it. */
static void wait_for_lock(void)
{
  const int file = open(disturbed, O_RDWR);
  for (int i = 0; i < 1000 && file >= 0 && flock(file, LOCK_EX | LOCK_NB) != 0; i++) usleep(10000);
  if (file >= 0) close(file);
}

/* Runs the batch, kills it as soon as it has so many rows, and returns how many there are. */
static long run_and_kill(long rows)
{
  char *argv[] = {compare, "--plan", plan, "--results", disturbed, "--quiet", NULL};
  posix_spawn_file_actions_t actions;
  pid_t child;
  int status = 0;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  const bool started = posix_spawn(&child, compare, &actions, NULL, argv, environ) == 0;
  posix_spawn_file_actions_destroy(&actions);
  while (started && waitpid(child, &status, WNOHANG) == 0) {
    if (count_lines(disturbed) < rows) {
      usleep(1000);
      continue;
    }
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    wait_for_lock();
    break;
  }
  rows = count_lines(disturbed);
  tap_ok(started && WIFSIGNALED(status), "the batch is killed, with %ld rows", rows);
  return rows;
}

/* Cuts the last line of the results in the middle. */
static bool cut_last_line(void)
{
  struct stat whole;
  if (stat(disturbed, &whole) != 0 || whole.st_size < 200) return false;
  const long before = count_lines(disturbed);
  return truncate(disturbed, whole.st_size - 100) == 0 && count_lines(disturbed) == before - 1;
}

/* Each matrix has its row, no key two, and outcomes are those that the plan is made for. */
static void check_rows(const char *path, const char *what)
{
  json_t *rows = read_rows(path), *keys = json_object(), *row;
  size_t i;
  int converged = 0, large = 0, endless = 0;
  json_array_foreach(rows, i, row)
  {
    const char *matrix = json_string_value(json_object_get(json_object_get(row, "case"), "matrix"));
    const char *outcome = row_text(row, "outcome");
    json_object_set_new(keys, row_text(row, "key"), json_true());
    converged += strcmp(outcome, "converged") == 0;
    large += matrix && strcmp(matrix, huge_matrix) == 0 && strcmp(outcome, "out of memory") == 0;
    endless += matrix && strcmp(matrix, never) == 0 && strcmp(outcome, "not converged") == 0;
  }
  const bool fine = json_array_size(rows) == CASES && json_object_size(keys) == CASES;
  if (!tap_ok(fine && large == 2 && endless == 9 && converged > CASES / 2,
              "%s: 200 cases have one row each, 2 are out of memory, one matrix never converges", what))
    tap_note("%d rows, %d keys", (int)json_array_size(rows), (int)json_object_size(keys));
  tap_note("%d converged, %d out of memory, %d of the singular matrix not converged", converged, large, endless);
  json_decref(keys);
  json_decref(rows);
}

/* Ends each column of a line of the table by a zero, where it starts in column, and returns their number. */
static int split(char *line, char *column[COLUMNS_MAX])
{
  int count = 0;
  bool quoted = false;
  column[count++] = line;
  for (; *line && *line != '\n' && *line != '\r'; line++) {
    if (*line == '"') quoted = !quoted;
    if (*line != ',' || quoted || count == COLUMNS_MAX) continue;
    *line = '\0';
    column[count++] = line + 1;
  }
  *line = '\0';
  return count;
}

/* Whether two runs may differ in a column: times, memory that the system has counted, and the date. */
static bool may_differ(const char *name)
{
  return strncmp(name, "time_", 5) == 0 || strcmp(name, "speed_up") == 0 || strcmp(name, "wall") == 0 ||
         strcmp(name, "peak_memory") == 0 || strcmp(name, "started") == 0;
}

/* Counts lines of two tables that are equal but for columns that may differ, and shows the first that are not; -1 where
 * one table is longer. */
static long equal_lines(FILE *first, FILE *second)
{
  char *line[2] = {NULL, NULL}, *heading = NULL, *name[COLUMNS_MAX], *column[2][COLUMNS_MAX];
  size_t room[2] = {0, 0};
  long equal = 0;
  int names = 0, shown = 0;
  for (;;) {
    const ssize_t a = getline(&line[0], &room[0], first), b = getline(&line[1], &room[1], second);
    if (a <= 0 || b <= 0) {
      if (a > 0 || b > 0) equal = -1;
      break;
    }
    if (!heading && (heading = strdup(line[0]))) names = split(heading, name);
    bool same = split(line[0], column[0]) == names && split(line[1], column[1]) == names;
    for (int i = 0; i < names && same; i++) {
      same = may_differ(name[i]) || strcmp(column[0][i], column[1][i]) == 0;
      if (!same && shown++ < 3) tap_note("%s: %s of %s is %s", column[0][0], name[i], column[0][i], column[1][i]);
    }
    equal += same;
  }
  free(line[0]);
  free(line[1]);
  free(heading);
  return equal;
}

static void check_tables(const char *table, const char *other)
{
  FILE *first = fopen(table, "r"), *second = fopen(other, "r");
  const long equal = first && second ? equal_lines(first, second) : -1;
  if (!tap_ok(equal == CASES + 1, "the tables are equal but for times, memory and date"))
    tap_note("%ld of %d lines are equal", equal, CASES + 1);
  if (first) fclose(first);
  if (second) fclose(second);
}

static void test_resume(void)
{
  char table[512], other[512];
  bool cut = false;
  snprintf(table, sizeof table, "%s", tap_scratch("undisturbed.csv"));
  snprintf(other, sizeof other, "%s", tap_scratch("disturbed.csv"));
  const struct cli_run *run = CLI_RUN("compare", "--plan", plan, "--results", undisturbed, "--csv", table, "--quiet");
  if (!tap_ok(run->status == 0 && count_lines(log_path) == CASES, "an undisturbed batch starts solve 200 times"))
    tap_note("status %d, %ld starts: %s", run->status, count_lines(log_path), run->err);
  check_rows(undisturbed, "undisturbed");

  unlink(log_path);
  for (int i = 1; i <= KILLS; i++) {
    const long rows = run_and_kill(i * CASES / (KILLS + 1));
    tap_ok(rows >= i * CASES / (KILLS + 1) - 1, "it comes to %d rows", i * CASES / (KILLS + 1));
    if (i > 1) continue;
    cut = cut_last_line();
    tap_ok(cut, "its last row is cut in the middle");
  }
  run = CLI_RUN("compare", "--plan", plan, "--results", disturbed, "--csv", other, "--quiet");
  if (!tap_ok(run->status == 0, "the batch is resumed and ends")) tap_note("status %d: %s", run->status, run->err);
  check_rows(disturbed, "killed three times");
  check_tables(table, other);
  const long starts = count_lines(log_path);
  tap_ok(starts >= CASES && starts <= CASES + cut + KILLS,
         "only cases without a row are run again: that of the cut row, and one that was under way at each kill");
  tap_note("%ld starts of solve", starts);

  run = CLI_RUN("compare", "--plan", plan, "--results", disturbed, "--csv", other, "--quiet");
  tap_ok(run->status == 0 && count_lines(log_path) == starts, "a batch that has all its rows starts nothing");
  check_tables(table, other);
}

static void test_all(void)
{
  char folder[512];
  const char *tools = getenv("KARST_TOOLS"), *build = getenv("builddir");
  snprintf(folder, sizeof folder, "%s%s", tools ? tools : (build ? build : "."), tools ? "" : "/tools");
  snprintf(compare, sizeof compare, "%s/compare", folder);
  snprintf(undisturbed, sizeof undisturbed, "%s", tap_scratch("undisturbed.jsonl"));
  snprintf(disturbed, sizeof disturbed, "%s", tap_scratch("disturbed.jsonl"));
  write_never();
  write_plan();
  write_fake_solve(folder);
  test_resume();
}
#else
static void test_all(void) { tap_skip("built without jansson", "a batch that is killed and resumed"); }
#endif

int main(void)
{
  cli_need("compare");
  cli_need("solve");
  test_all();
  return tap_done();
}
