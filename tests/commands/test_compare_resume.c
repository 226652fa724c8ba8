/* test_compare_resume.c - runs a plan of 200 cases over 23 matrices. One case takes too much memory; one matrix is
 * singular with a right-hand side outside its range, so that no method converges. A batch that is killed by SIGKILL
 * three times, and once loses half a line of its results, ends with the table of an undisturbed batch except for times.
 * It runs no case again that has its row. */
#include "config.h"

#include "tests/support/commands.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef HAVE_JANSSON
#include "tests/support/compare_rows.h"

enum { CASES = 200, KILLS = 3, COLUMNS_MAX = 64, NEVER_ROWS = 60 };

static const char huge_matrix[] = "poisson3d:100x100x100";
static const char *const gallery[] = {
    "poisson2d:30x20",  "poisson2d:17x17",  "poisson3d:9x8x7",      "poisson3d:12x5x5",
    "laplace27:8x8x8",  "laplace27:12x9x3", "anisotropic:9x9x6",    "anisotropic:20x10x1",
    "convdiff:6x6x5",   "convdiff:10x10x1", "discontinuous:10x9x6", "discontinuous:20x20x1",
    "blackoil:8x8x4",   "blackoil:12x9x1",  "deadoil:9x9x4",        "deadoil:5x5x15",
    "ns3d:6x6x6",       "unitsquare:24x24", "jump2d:25x25",         "jump2d:16x40",
    "bilinear2d:24x24",
};

static const char *plan, *never, *starts;   /* paths of files; starts has a line for each start of solve */
static const char *undisturbed, *disturbed; /* paths of files of results */

/* The Laplacian of a ring, whose columns sum to 0 while the right-hand side of ones does not. */
static void write_never(void)
{
  char text[64 * NEVER_ROWS + 128];
  int used = sprintf(text, "%%%%MatrixMarket matrix coordinate real general\n%d %d %d\n", NEVER_ROWS, NEVER_ROWS,
                     3 * NEVER_ROWS);
  for (int i = 0; i < NEVER_ROWS; i++)
    used += sprintf(text + used, "%d %d 2\n%d %d -1\n%d %d -1\n", i + 1, i + 1, i + 1, (i + 1) % NEVER_ROWS + 1, i + 1,
                    (i + NEVER_ROWS - 1) % NEVER_ROWS + 1);
  never = scratch_file("never.mtx", text);
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
  plan = scratch_file("plan.json", text);
  free(text);
  json_decref(all);
}

/* A script replaces solve: it records that it was started, and then runs solve. */
static void write_fake_solve(void)
{
  char script[2048];
  const char *known = getenv("KARST_SOLVE");
  starts = scratch_path("starts");
  snprintf(script, sizeof script, "#!/bin/sh\necho >>'%s'\nexec '%s' \"$@\"\n", starts,
           known && *known ? known : cli_path("solve"));
  setenv("KARST_SOLVE", scratch_script("solve", script), 1);
}

/* The number of complete lines of a file; 0 without the file. */
static long count_lines(const char *path) { return count_of(file_text(path), "\n"); }

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
  const char *const argument[] = {"--plan", plan, "--results", disturbed, "--quiet", NULL};
  const pid_t child = start_command("compare", argument, "/dev/null");
  int status = 0;
  while (child > 0 && waitpid(child, &status, WNOHANG) == 0) {
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
  tap_ok(child > 0 && WIFSIGNALED(status), "the batch is killed, with %ld rows", rows);
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

/* Each case has one row, no two rows have one key, and the outcomes are those that the plan is made for. */
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

/* Ends each column of a line with a zero, puts where it starts into column, and returns the number of columns. */
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

/* Counts the lines of two tables that agree in all columns that may not differ, and notes the first differences; -1 if
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
  const char *table = scratch_path("undisturbed.csv"), *other = scratch_path("disturbed.csv");
  bool cut = false;
  const struct cli_run *run = CLI_RUN("compare", "--plan", plan, "--results", undisturbed, "--csv", table, "--quiet");
  check_run(run, run->status == 0 && count_lines(starts) == CASES, "an undisturbed batch starts solve 200 times: %ld",
            count_lines(starts));
  check_rows(undisturbed, "undisturbed");

  unlink(starts);
  for (int i = 1; i <= KILLS; i++) {
    const long rows = run_and_kill(i * CASES / (KILLS + 1));
    tap_ok(rows >= i * CASES / (KILLS + 1) - 1, "the batch comes to %d rows", i * CASES / (KILLS + 1));
    if (i > 1) continue;
    cut = cut_last_line();
    tap_ok(cut, "its last row is cut in the middle");
  }
  run = CLI_RUN("compare", "--plan", plan, "--results", disturbed, "--csv", other, "--quiet");
  check_run(run, run->status == 0, "the batch is resumed and ends");
  check_rows(disturbed, "killed three times");
  check_tables(table, other);
  const long count = count_lines(starts);
  tap_ok(count >= CASES && count <= CASES + cut + KILLS,
         "only cases without a row are run again, that of the cut row and one at each kill: %ld starts", count);

  run = CLI_RUN("compare", "--plan", plan, "--results", disturbed, "--csv", other, "--quiet");
  tap_ok(run->status == 0 && count_lines(starts) == count, "a batch that has all its rows starts nothing");
  check_tables(table, other);
}

static void test_all(void)
{
  undisturbed = scratch_path("undisturbed.jsonl");
  disturbed = scratch_path("disturbed.jsonl");
  write_never();
  write_plan();
  write_fake_solve();
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
