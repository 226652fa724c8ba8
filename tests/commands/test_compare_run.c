/* test_compare_run.c - the command compare where something fails: cases that crash, hang or take too much; a batch that
 * is killed or interrupted, and resumed; results files that are damaged, locked or full. Some tests replace solve by a
 * script. */
#include "config.h"

#include "tests/support/cli.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef HAVE_JANSSON
#include "tests/support/compare_rows.h"

extern char **environ;

static char results[512];
static char own_tools[512]; /* the folder of the commands */
static char own_solve[512]; /* what KARST_SOLVE names; "": nothing */

/* Begins a test without results. */
static void begin(void) { unlink(results); }

static void check(const struct cli_run *run, bool fine, const char *what)
{
  if (!tap_ok(fine, "%s", what)) printf("# status %d\n# %s\n%s", run->status, run->err, run->out);
}

#define COMPARE(...) CLI_RUN("compare", "--results", results, __VA_ARGS__)

/* Whether the file has one row, of this outcome, whose sentence has these words. */
static bool has_one_row(const char *outcome, const char *words)
{
  json_t *rows = read_rows(results), *row = json_array_get(rows, 0);
  const bool fine = json_array_size(rows) == 1 && strcmp(row_text(row, "outcome"), outcome) == 0 &&
                    strstr(row_text(row, "sentence"), words);
  if (!fine)
    tap_note("%d rows: %s: %s", (int)json_array_size(rows), row_text(row, "outcome"), row_text(row, "sentence"));
  json_decref(rows);
  return fine;
}

/* Replaces solve by a script; NULL restores solve. */
static void replace_solve(const char *script)
{
  if (script) {
    const char *path = tap_write("solve", script, -1);
    chmod(path, 0755);
    setenv("KARST_SOLVE", path, 1);
  } else if (own_solve[0]) {
    setenv("KARST_SOLVE", own_solve, 1);
  } else {
    unsetenv("KARST_SOLVE");
  }
}

/* Ends never, and takes 300 MB: no test depends on how fast a machine is. */
#define GREEDY "exec dd if=/dev/zero of=/dev/null bs=300000000\n"

/* Outcomes of solve itself, and of one that takes more than it may. */
static void test_outcomes(void)
{
  begin();
  const struct cli_run *run = COMPARE("poisson2d:20x20", "--max-iterations=2");
  check(run, run->status == 0 && has_one_row("not converged", "2 iterations"),
        "a case that does not converge is a row");
  begin();
  run = COMPARE("poisson2d:20", "--quiet");
  check(run, run->status == 0 && has_one_row("failed", "poisson2d needs its sizes"), "so is one that solve refuses");
  begin();
#ifdef HAVE_CUDA
  run = COMPARE("poisson2d:20x20", "--device=cuda:999");
#else
  run = COMPARE("poisson2d:20x20", "--device=cuda");
#endif
  check(run, run->status == 0 && has_one_row("no device", ""), "so is one without its device");
  begin();
  replace_solve("#!/bin/sh\n" GREEDY);
  run = COMPARE("poisson2d:4x4", "--memory-limit=60M");
  check(run, run->status == 0 && has_one_row("out of memory", "the limit of 60 MiB"),
        "so is one over the memory limit");
  begin();
  run = COMPARE("poisson2d:4x4", "--time-limit=0.1", "--memory-limit=100G");
  check(run, run->status == 0 && has_one_row("out of time", "the limit of 0.1 s"), "so is one over the time limit");
  replace_solve(NULL);
  run = COMPARE("poisson2d:4x4", "--quiet");
  check(run, run->status == 0 && has_one_row("out of time", ""), "which is not run again");
  run = COMPARE("poisson2d:4x4", "--quiet", "--retry=crashed,no_device");
  check(run, run->status == 0 && has_one_row("out of time", ""), "nor where --retry names others");
  run = COMPARE("poisson2d:4x4", "--quiet", "--retry=crashed,out-of-time");
  json_t *rows = read_rows(results);
  check(run, run->status == 0 && json_array_size(rows) == 2, "unless --retry says so");
  json_decref(rows);
}

/* A long convergence curve is thinned: its points are from the first iteration to the last, evenly but for the end. */
static void test_history(void)
{
  begin();
  const struct cli_run *run =
      COMPARE("poisson2d:30x30", "--solver=richardson", "--precond=jacobi", "--max-iterations=1001", "--quiet");
  json_t *rows = read_rows(results), *points = json_object_get(json_array_get(rows, 0), "history"), *point;
  const size_t count = json_array_size(points);
  size_t i;
  json_int_t stride = 0, last = -1;
  bool even = count > 99 && count <= 200;
  json_array_foreach(points, i, point)
  {
    const json_int_t iteration = json_integer_value(json_array_get(point, 0));
    if (i == 1) stride = iteration;
    even &= i + 1 == count ? iteration > last : iteration == (json_int_t)i * stride;
    last = iteration;
  }
  check(run, run->status == 0 && even && last == 1001, "a curve of 1002 points has at most 200 in its row");
  json_decref(rows);
}

static void test_bad_ends(void)
{
  static const struct {
    const char *script, *outcome, *words;
  } ends[] = {
      {"#!/bin/sh\nkill -SEGV $$\n", "crashed", "SIGSEGV"},
      {"#!/bin/sh\nkill -KILL $$\n", "crashed", "memory"},
      {"#!/bin/sh\necho solve: oh >&2\nexit 77\n", "crashed", "status 77 and without a report: solve: oh"},
      {"#!/bin/sh\nexit 0\n", "failed", "without a report"},
      {"#!/bin/sh\necho '{\"converged\": tru'\nexit 1\n", "failed", "without a report"},
      {"#!/bin/sh\necho '{\"error\": \"no room\", \"error_status\": \"out of memory\", \"status\": 2}'\nexit 2\n",
       "out of memory", "no room"},
      {"#!/bin/sh\necho '{\"error\": \"a file named out of memory\", \"status\": 2}'\nexit 2\n", "failed", "named"},
      /* More than pipes hold, on both streams, one after the other. */
      {"#!/bin/sh\nhead -c 300000 /dev/zero | tr '\\0' x >&2\nhead -c 300000 /dev/zero | tr '\\0' x\n", "failed",
       "without a report"},
      {"#!/bin/sh\nexec >&- 2>&- 3>&-\nsleep 0.1\nexit 3\n", "no device", ""},
  };
  for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
    begin();
    replace_solve(ends[i].script);
    const struct cli_run *run = COMPARE("poisson2d:4x4", "--quiet");
    check(run, run->status == 0 && has_one_row(ends[i].outcome, ends[i].words), "a bad end is a row");
    tap_note("%s: %s", ends[i].outcome, ends[i].words);
  }
}

/* Removes a folder that holds files alone. */
static void remove_folder(const char *name)
{
  DIR *folder = opendir(name);
  for (struct dirent *entry; folder && (entry = readdir(folder));)
    if (entry->d_name[0] != '.') unlinkat(dirfd(folder), entry->d_name, 0);
  if (folder) closedir(folder);
  rmdir(name);
}

/* Numbers that no solve has: they are rows and tables like any other, and nothing overflows. */
static void test_huge(void)
{
  static const char script[] =
      "#!/bin/sh\nprintf 'x\\ty\\n0\\t1\\n1\\t1e999\\n99999999999999999999999\\t1e-5\\n-5\\tnan\\n\\t\\n' >&3\n"
      "echo '{\"iterations\": 1e300, \"converged\": true, \"rows\": 1e300, \"block\": 1e300, \"fill\": 1e308,'\n"
      "echo '\"times\": {\"order\": 1e308, \"symbolic\": 1e308, \"factor\": -1e300, \"solve\": 1e308}}'\n";
  begin();
  replace_solve(script);
  const struct cli_run *run = COMPARE("poisson2d:4x4", "--level=0..3", "--quiet");
  json_t *rows = read_rows(results), *row = json_array_get(rows, 0), *points = json_object_get(row, "history");
  check(run,
        run->status == 0 && run->out[0] && !run->err[0] && json_array_size(rows) == 4 && json_array_size(points) == 4 &&
            json_is_null(json_array_get(json_array_get(points, 1), 1)),
        "huge numbers of a case are a row");
  FILE *file = fopen(results, "w");
  for (size_t i = 0; i < 3; i++) {
    row = json_array_get(rows, i);
    json_object_set_new(row, "wall", json_real(1e300));
    json_object_set_new(row, "peak_memory", json_real(-1e300));
    json_dumpf(row, file, JSON_COMPACT);
    fputc('\n', file);
  }
  fclose(file);
  json_decref(rows);
  run = COMPARE("poisson2d:4x4", "--level=0..4", "--csv=-");
  check(run, run->status == 0 && strstr(run->err, "left: "), "and such a row is read again");
  run = COMPARE("--tables-only", "--report", tap_scratch("report"));
  check(run, run->status == 0 || (run->status == 2 && strstr(run->err, "gnuplot")), "a page is made of it");
  remove_folder(tap_scratch("report"));
  replace_solve(NULL);
}

/* What KARST_SOLVE names is no command: no case has a row of it. */
static void test_no_solve(void)
{
  const struct cli_run *run;
  char folder[512];
  begin();
  replace_solve("#!/nowhere/shell\n");
  run = COMPARE("poisson2d:4x4");
  check(run, run->status == 2 && cli_is_one_sentence(run, "compare") && strstr(run->err, "cannot be started"),
        "a script without its shell cannot be started");
  chmod(tap_scratch("solve"), 0644);
  run = COMPARE("poisson2d:4x4");
  check(run, run->status == 2 && cli_is_one_sentence(run, "compare") && strstr(run->err, "Permission denied"),
        "a file that is no command is refused");
  unlink(tap_scratch("solve"));
  run = COMPARE("poisson2d:4x4");
  check(run, run->status == 2 && cli_is_one_sentence(run, "compare") && strstr(run->err, "KARST_SOLVE names"),
        "so is one that is not there");
  snprintf(folder, sizeof folder, "%s", results);
  *strrchr(folder, '/') = '\0';
  setenv("KARST_SOLVE", folder, 1);
  run = COMPARE("poisson2d:4x4");
  check(run, run->status == 2 && cli_is_one_sentence(run, "compare") && strstr(run->err, "Is a directory"),
        "so is a folder");
  json_t *rows = read_rows(results);
  tap_ok(json_array_size(rows) == 0, "and none of them is a row");
  json_decref(rows);
  replace_solve(NULL);
}

/* Whether a process still runs; a zombie does not. */
static bool runs(long pid)
{
  char path[64], line[512] = "", *state;
  snprintf(path, sizeof path, "/proc/%ld/stat", pid);
  FILE *file = fopen(path, "r");
  if (!file) return false;
  if (!fgets(line, sizeof line, file)) line[0] = '\0';
  fclose(file);
  state = strrchr(line, ')');
  return state && state[1] && state[2] != 'Z' && state[2] != 'X';
}

/* Waits up to a minute until a case and its own process, whose numbers are in a file, have ended. If compare itself was
 * killed, the system ends the case but not that process: the test kills it. */
static bool have_ended(const char *path, bool killed)
{
  long first = 0, second = 0;
  FILE *file = fopen(path, "r");
  const bool known = file && fscanf(file, "%ld %ld", &first, &second) == 2;
  if (file) fclose(file);
  if (killed && known) kill((pid_t)second, SIGKILL);
  for (int i = 0; i < 6000 && known && (runs(first) || runs(second)); i++) usleep(10000);
  return known && !runs(first) && !runs(second);
}

/* How many processes run that have begun with MARK=VALUE in their environment. */
static int count_marked(const char *mark)
{
  static char text[1 << 16];
  int count = 0;
  DIR *folder = opendir("/proc");
  for (struct dirent *entry; folder && (entry = readdir(folder));) {
    char path[300];
    snprintf(path, sizeof path, "/proc/%s/environ", entry->d_name);
    FILE *file = entry->d_name[0] >= '0' && entry->d_name[0] <= '9' ? fopen(path, "r") : NULL;
    const size_t length = file ? fread(text, 1, sizeof text, file) : 0;
    if (file) fclose(file);
    for (size_t i = 0; i < length; i += strnlen(text + i, length - i) + 1)
      count += strncmp(text + i, mark, length - i) == 0;
  }
  if (folder) closedir(folder);
  return count;
}

/* The limit of time ends a case that does not listen to signals, and whatever that has begun by then. */
static void test_time_limit(void)
{
  char value[32], mark[64];
  snprintf(value, sizeof value, "%ld", (long)getpid());
  snprintf(mark, sizeof mark, "KARST_TEST_MARK=%s", value);
  begin();
  setenv("KARST_TEST_MARK", value, 1);
  replace_solve("#!/bin/sh\ntrap '' TERM INT HUP\nsleep 1000 &\nwhile :; do wait; done\n");
  const struct cli_run *run = COMPARE("poisson2d:4x4", "--time-limit=0.3");
  check(run, run->status == 0 && has_one_row("out of time", "0.3 s"), "the limit of time ends a case without manners");
  int left = 1;
  for (int i = 0; i < 6000 && (left = count_marked(mark)) > 0; i++) usleep(10000);
  tap_ok(left == 0, "and what it has begun: %d are left", left);
  replace_solve(NULL);
  unsetenv("KARST_TEST_MARK");
}

/* Returns the status of a child that was sent a signal; kills it if it has not ended after a minute. */
static int wait_for(pid_t child)
{
  int status = 0;
  for (int i = 0; i < 6000; i++) {
    if (waitpid(child, &status, WNOHANG) == child) return status;
    usleep(10000);
  }
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  return status;
}

/* A case that does not listen to signals, with a process of its own: both are ended by an interruption, and where
 * compare itself is killed. */
static void test_interrupted(void)
{
  static const char script[] =
      "#!/bin/sh\ntrap '' TERM INT HUP\nsleep 1000 &\necho $$ $! >%s.new\nmv %s.new %s\nwait\n";
  static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGKILL};
  char text[2048], pids[512], path[600];
  snprintf(pids, sizeof pids, "%s", tap_scratch("pids"));
  snprintf(text, sizeof text, script, pids, pids, pids);
  replace_solve(text);
  for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
    char *argv[] = {path, "poisson2d:4x4", "poisson2d:5x5", "--results", results, NULL};
    char said[512] = "";
    pid_t child;
    posix_spawn_file_actions_t actions;
    begin();
    unlink(pids);
    snprintf(path, sizeof path, "%s/compare", own_tools);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, tap_scratch("said"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (posix_spawn(&child, path, &actions, NULL, argv, environ) != 0) continue;
    posix_spawn_file_actions_destroy(&actions);
    for (int k = 0; k < 6000 && access(pids, F_OK) != 0; k++) usleep(10000);
    kill(child, signals[i]);
    const int status = wait_for(child);
    FILE *file = fopen(tap_scratch("said"), "r");
    if (file && !fgets(said, sizeof said, file)) said[0] = '\0';
    if (file) fclose(file);
    json_t *rows = read_rows(results);
    const bool told = signals[i] == SIGKILL ? WIFSIGNALED(status)
                                            : WIFEXITED(status) && WEXITSTATUS(status) == 1 &&
                                                  strstr(said, "interrupted after 0 of 2 cases");
    tap_ok(told && json_array_size(rows) == 0, "signal %d: a case that was interrupted has no row: %s", signals[i],
           said);
    tap_ok(have_ended(pids, signals[i] == SIGKILL), "signal %d leaves nothing behind", signals[i]);
    json_decref(rows);
  }
  replace_solve(NULL);
}

/* Results that are damaged, locked, or on a disk that is full. */
static void test_results(void)
{
  begin();
  const struct cli_run *run = COMPARE("poisson2d:4x4", "poisson2d:5x5", "--quiet");
  check(run, run->status == 0, "a batch of two cases");
  FILE *file = fopen(results, "a");
  fputs("{\"karst_compare\": 1, \"key\": \"po", file);
  fclose(file);
  run = COMPARE("poisson2d:4x4", "poisson2d:5x5", "poisson2d:6x6", "--quiet");
  json_t *rows = read_rows(results), *row;
  size_t i, fine = 0;
  json_array_foreach(rows, i, row) fine += json_is_object(row);
  check(run, run->status == 0 && fine == 3 && json_array_size(rows) == 3 && strstr(run->err, "note: the last line"),
        "a last line that is cut off is dropped with a note, and no other");
  json_decref(rows);
  struct stat whole;
  if (stat(results, &whole) != 0 || truncate(results, whole.st_size - 1) != 0) whole.st_size = 0;
  run = COMPARE("poisson2d:4x4", "poisson2d:5x5", "poisson2d:6x6", "poisson2d:7x7", "--quiet");
  rows = read_rows(results);
  check(run, run->status == 0 && !run->err[0] && json_array_size(rows) == 4,
        "a last line is a row without its end too");
  json_decref(rows);

  const int lock = open(results, O_RDWR);
  flock(lock, LOCK_EX);
  run = COMPARE("poisson2d:4x4");
  check(run, run->status == 2 && cli_is_one_sentence(run, "compare") && strstr(run->err, "another compare"),
        "two batches do not share a file of results");
  close(lock);

  file = fopen(results, "a");
  fputs("{\"karst_compare\": 1}\n", file);
  fclose(file);
  run = COMPARE("poisson2d:4x4");
  check(run, run->status == 2 && cli_is_one_sentence(run, "compare") && strstr(run->err, "line 5 is not a row"),
        "a line that is no row is named by its number");
  tap_write("results.jsonl", "a,b\n1,2\n", -1);
  run = COMPARE("poisson2d:4x4");
  check(run, run->status == 2 && strstr(run->err, "line 1 is not a row"),
        "a file of something else is not appended to");
  static const char *const others[] = {"keep me", "a,b\n1,2", "1 1 2.0", "{\"mine\": ", "{\"karst\""};
  for (i = 0; i < sizeof others / sizeof others[0]; i++) {
    char text[64] = "";
    tap_write("results.jsonl", others[i], -1);
    run = COMPARE("poisson2d:4x4");
    file = fopen(results, "r");
    if (file) text[fread(text, 1, sizeof text - 1, file)] = '\0';
    if (file) fclose(file);
    check(run, run->status == 2 && cli_is_one_sentence(run, "compare") && strcmp(text, others[i]) == 0,
          "nor does it lose a last line without its end");
  }
}

/* The disk is full after some rows: they are kept whole, and the batch goes on when there is room. */
static void test_full(void)
{
  struct rlimit known, small;
  begin();
  if (getrlimit(RLIMIT_FSIZE, &known) != 0) return;
  small = known;
  small.rlim_cur = 8000;
  setrlimit(RLIMIT_FSIZE, &small);
  const struct cli_run *run = COMPARE("poisson2d:4x4", "--level=0..9", "--quiet");
  setrlimit(RLIMIT_FSIZE, &known);
  json_t *rows = read_rows(results), *row;
  size_t i, count = json_array_size(rows), fine = 0;
  json_array_foreach(rows, i, row) fine += json_is_object(row);
  check(run, run->status == 2 && cli_is_one_sentence(run, "compare") && count > 0 && count < 10 && fine == count,
        "a full disk ends the batch with a sentence and whole rows");
  json_decref(rows);
  run = COMPARE("poisson2d:4x4", "--level=0..9", "--quiet");
  rows = read_rows(results);
  check(run, run->status == 0 && json_array_size(rows) == 10, "and it goes on from there");
  json_decref(rows);
}

static void test_all(void)
{
  const char *folder = getenv("KARST_TOOLS"), *build = getenv("builddir");
  if (folder)
    snprintf(own_tools, sizeof own_tools, "%s", folder);
  else
    snprintf(own_tools, sizeof own_tools, "%s/tools", build ? build : ".");
  if (getenv("KARST_SOLVE")) snprintf(own_solve, sizeof own_solve, "%s", getenv("KARST_SOLVE"));
  snprintf(results, sizeof results, "%s", tap_scratch("results.jsonl"));
  test_outcomes();
  test_history();
  test_bad_ends();
  test_no_solve();
  test_huge();
  test_time_limit();
  test_interrupted();
  test_results();
  test_full();
}
#else
static void test_all(void) { tap_skip("built without jansson", "batches that go wrong"); }
#endif

int main(void)
{
  cli_need("compare");
  cli_need("solve");
  /* What a script runs in the background ignores some of these, and so would the commands that it starts. */
  static const int signals[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1};
  for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) signal(signals[i], SIG_DFL);
  test_all();
  return tap_done();
}
