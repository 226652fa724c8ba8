/* test_compare_run.c - the command compare where something fails: cases that crash, hang or take too much; a batch that
 * is killed or interrupted, and resumed; results files that are damaged, locked or full. Some tests replace solve by a
 * script. */
#include "config.h"

#include "tests/support/commands.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef HAVE_JANSSON
#include "tests/support/compare_rows.h"

static const char *results;   /* the path of the results file */
static const char *own_solve; /* KARST_SOLVE when the test begins; NULL: it is not set */

/* Begins a test without results. */
static void begin(void) { unlink(results); }

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
  const char *path = script ? scratch_script("solve", script) : own_solve;
  if (path)
    setenv("KARST_SOLVE", path, 1);
  else
    unsetenv("KARST_SOLVE");
}

/* Takes 300 MB and never ends, so that no test depends on the speed of the machine. */
#define GREEDY "exec dd if=/dev/zero of=/dev/null bs=300000000\n"

/* Outcomes of solve itself, and of one that takes more than it may. */
static void test_outcomes(void)
{
  begin();
  const struct cli_run *run = COMPARE("poisson2d:20x20", "--max-iterations=2");
  check_run(run, run->status == 0 && has_one_row("not converged", "2 iterations"),
            "a case that does not converge is a row");
  begin();
  run = COMPARE("poisson2d:20", "--quiet");
  check_run(run, run->status == 0 && has_one_row("failed", "poisson2d needs its sizes"),
            "a case that solve refuses is a row");
  begin();
#ifdef HAVE_CUDA
  run = COMPARE("poisson2d:20x20", "--device=cuda:999");
#else
  run = COMPARE("poisson2d:20x20", "--device=cuda");
#endif
  check_run(run, run->status == 0 && has_one_row("no device", ""), "a case without its device is a row");
  begin();
  replace_solve("#!/bin/sh\n" GREEDY);
  run = COMPARE("poisson2d:4x4", "--memory-limit=60M");
  check_run(run, run->status == 0 && has_one_row("out of memory", "the limit of 60 MiB"),
            "a case over the memory limit is a row");
  begin();
  run = COMPARE("poisson2d:4x4", "--time-limit=0.1", "--memory-limit=100G");
  check_run(run, run->status == 0 && has_one_row("out of time", "the limit of 0.1 s"),
            "a case over the time limit is a row");
  replace_solve(NULL);
  run = COMPARE("poisson2d:4x4", "--quiet");
  check_run(run, run->status == 0 && has_one_row("out of time", ""), "a case out of time is not run again");
  run = COMPARE("poisson2d:4x4", "--quiet", "--retry=crashed,no_device");
  check_run(run, run->status == 0 && has_one_row("out of time", ""),
            "a case out of time is not run again if --retry names other outcomes");
  run = COMPARE("poisson2d:4x4", "--quiet", "--retry=crashed,out-of-time");
  check_run(run, run->status == 0 && count_of(file_text(results), "\n") == 2, "--retry=out-of-time runs it again");
}

/* A long convergence curve is thinned: its points are equally spaced from the first iteration, up to the last one. */
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
  check_run(run, run->status == 0 && even && last == 1001, "a curve of 1002 points has at most 200 in its row");
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
    check_run(run, run->status == 0 && has_one_row(ends[i].outcome, ends[i].words), "a case that ends badly is a row");
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

/* Numbers beyond those of any solve make rows and tables like others, and nothing overflows. */
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
  check_run(run,
            run->status == 0 && run->out[0] && !run->err[0] && json_array_size(rows) == 4 &&
                json_array_size(points) == 4 && json_is_null(json_array_get(json_array_get(points, 1), 1)),
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
  check_run(run, run->status == 0 && strstr(run->err, "left: "), "a row of huge numbers is read again");
  run = COMPARE("--tables-only", "--report", tap_scratch("report"));
  check_run(run, run->status == 0 || (run->status == 2 && strstr(run->err, "gnuplot")),
            "a report is made of huge numbers");
  remove_folder(tap_scratch("report"));
  replace_solve(NULL);
}

/* If KARST_SOLVE names no command, no case has a row. */
static void test_no_solve(void)
{
  begin();
  replace_solve("#!/nowhere/shell\n");
  expect_refused(COMPARE("poisson2d:4x4"), "compare", "cannot be started",
                 "a script without its shell cannot be started");
  chmod(tap_scratch("solve"), 0644);
  expect_refused(COMPARE("poisson2d:4x4"), "compare", "Permission denied", "a file that is not executable is refused");
  unlink(tap_scratch("solve"));
  expect_refused(COMPARE("poisson2d:4x4"), "compare", "KARST_SOLVE names", "a missing command is refused");
  setenv("KARST_SOLVE", scratch_folder(), 1);
  expect_refused(COMPARE("poisson2d:4x4"), "compare", "Is a directory", "a folder as command is refused");
  tap_ok(!*file_text(results), "no case has a row without a command");
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

/* The time limit ends a case that ignores signals, and the processes that the case has started. */
static void test_time_limit(void)
{
  char value[32], mark[64];
  snprintf(value, sizeof value, "%ld", (long)getpid());
  snprintf(mark, sizeof mark, "KARST_TEST_MARK=%s", value);
  begin();
  setenv("KARST_TEST_MARK", value, 1);
  replace_solve("#!/bin/sh\ntrap '' TERM INT HUP\nsleep 1000 &\nwhile :; do wait; done\n");
  const struct cli_run *run = COMPARE("poisson2d:4x4", "--time-limit=0.3");
  check_run(run, run->status == 0 && has_one_row("out of time", "0.3 s"),
            "the time limit ends a case that ignores signals");
  int left = 1;
  for (int i = 0; i < 6000 && (left = count_marked(mark)) > 0; i++) usleep(10000);
  tap_ok(left == 0, "the time limit ends the case's own processes: %d are left", left);
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

/* A case that ignores signals and has a process of its own: both end if compare is interrupted or killed. */
static void test_interrupted(void)
{
  static const char script[] =
      "#!/bin/sh\ntrap '' TERM INT HUP\nsleep 1000 &\necho $$ $! >%s.new\nmv %s.new %s\nwait\n";
  static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGKILL};
  static const char *const arguments[] = {"poisson2d:4x4", "poisson2d:5x5", "--results", NULL, NULL};
  const char *argument[sizeof arguments / sizeof *arguments], *pids = scratch_path("pids");
  char text[2048];
  memcpy(argument, arguments, sizeof arguments);
  argument[3] = results;
  snprintf(text, sizeof text, script, pids, pids, pids);
  replace_solve(text);
  for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
    begin();
    unlink(pids);
    const pid_t child = start_command("compare", argument, tap_scratch("stderr.txt"));
    if (child < 0) continue;
    for (int k = 0; k < 6000 && access(pids, F_OK) != 0; k++) usleep(10000);
    kill(child, signals[i]);
    const int status = wait_for(child);
    const bool empty = !*file_text(results);
    const char *output = file_text(tap_scratch("stderr.txt"));
    const bool right = signals[i] == SIGKILL ? WIFSIGNALED(status)
                                             : WIFEXITED(status) && WEXITSTATUS(status) == 1 &&
                                                   strstr(output, "interrupted after 0 of 2 cases");
    tap_ok(right && empty, "signal %d: a case that was interrupted has no row: %s", signals[i], output);
    tap_ok(have_ended(pids, signals[i] == SIGKILL), "signal %d leaves no process behind", signals[i]);
  }
  replace_solve(NULL);
}

/* Results files that are damaged or locked. */
static void test_results(void)
{
  begin();
  const struct cli_run *run = COMPARE("poisson2d:4x4", "poisson2d:5x5", "--quiet");
  check_run(run, run->status == 0, "a batch of two cases");
  FILE *file = fopen(results, "a");
  fputs("{\"karst_compare\": 1, \"key\": \"po", file);
  fclose(file);
  run = COMPARE("poisson2d:4x4", "poisson2d:5x5", "poisson2d:6x6", "--quiet");
  json_t *rows = read_rows(results), *row;
  size_t i, fine = 0;
  json_array_foreach(rows, i, row) fine += json_is_object(row);
  check_run(run, run->status == 0 && fine == 3 && json_array_size(rows) == 3 && strstr(run->err, "note: the last line"),
            "only a last line that is cut off is dropped, with a note");
  json_decref(rows);
  struct stat whole;
  if (stat(results, &whole) != 0 || truncate(results, whole.st_size - 1) != 0) whole.st_size = 0;
  run = COMPARE("poisson2d:4x4", "poisson2d:5x5", "poisson2d:6x6", "poisson2d:7x7", "--quiet");
  check_run(run, run->status == 0 && !run->err[0] && count_of(file_text(results), "\n") == 4,
            "a last line without its newline is a row");

  const int lock = open(results, O_RDWR);
  flock(lock, LOCK_EX);
  expect_refused(COMPARE("poisson2d:4x4"), "compare", "another compare", "two batches do not share a file of results");
  close(lock);

  file = fopen(results, "a");
  fputs("{\"karst_compare\": 1}\n", file);
  fclose(file);
  expect_refused(COMPARE("poisson2d:4x4"), "compare", "line 5 is not a row",
                 "a line that is not a row is named by its number");
  tap_write("results.jsonl", "a,b\n1,2\n", -1);
  expect_refused(COMPARE("poisson2d:4x4"), "compare", "line 1 is not a row", "another file is not appended to");
  static const char *const others[] = {"keep me", "a,b\n1,2", "1 1 2.0", "{\"mine\": ", "{\"karst\""};
  for (i = 0; i < sizeof others / sizeof others[0]; i++) {
    tap_write("results.jsonl", others[i], -1);
    run = COMPARE("poisson2d:4x4");
    check_run(run, is_refused(run, "compare", "") && strcmp(file_text(results), others[i]) == 0,
              "another file keeps a last line without its newline");
  }
}

/* If the disk becomes full after some rows, they are kept whole, and the batch goes on once there is room. */
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
  check_run(run, is_refused(run, "compare", "") && count > 0 && count < 10 && fine == count,
            "a full disk ends the batch with a sentence and whole rows");
  json_decref(rows);
  run = COMPARE("poisson2d:4x4", "--level=0..9", "--quiet");
  check_run(run, run->status == 0 && count_of(file_text(results), "\n") == 10, "the batch goes on once there is room");
}

static void test_all(void)
{
  const char *solve = getenv("KARST_SOLVE");
  own_solve = solve ? strdup(solve) : NULL;
  results = scratch_path("results.jsonl");
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
static void test_all(void) { tap_skip("built without jansson", "batches that fail"); }
#endif

int main(void)
{
  cli_need("compare");
  cli_need("solve");
  /* A shell makes its background processes ignore some of these signals, and the commands would inherit that. */
  static const int signals[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1};
  for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) signal(signals[i], SIG_DFL);
  test_all();
  return tap_done();
}
