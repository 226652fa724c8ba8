/* The tables that compare writes: rows and speed-ups from lines of a results file, and CSV, JSON and Markdown of them.
 * With the arguments "report" and a folder the program writes a report there instead, for test_compare_report.sh. */
#include "config.h"

#include "tests/support/commands.h"

#include <stdlib.h>
#include <unistd.h>

#ifdef HAVE_JANSSON
#include "tests/support/json_values.h"
#include "tools/src/compare/report/compare_table.h"

enum { LINES_MAX = 64, TEXT_MAX = 1 << 16 };

/* The lines of a test. */
static json_t *lines[LINES_MAX];
static size_t count;

static void forget(void)
{
  for (size_t i = 0; i < count; i++) json_decref(lines[i]);
  count = 0;
}

/* Adds a line of a JSON text, whose quotes are written as '. */
static json_t *add(const char *text)
{
  static char copy[TEXT_MAX];
  json_error_t error;
  snprintf(copy, sizeof copy, "%s", text);
  for (char *c = copy; (c = strchr(c, '\''));) *c = '"';
  if (!(lines[count] = json_loads(copy, 0, &error))) {
    tap_note("%s", error.text);
    exit(1);
  }
  return lines[count++];
}

/* Sets an option of a line's case, and a value of its object of solve. */
static void set_option(json_t *line, const char *name, const char *value)
{
  json_object_set_new(json_object_get(json_object_get(line, "case"), "options"), name, json_string(value));
}

static void set_solve(json_t *line, const char *key, json_t *value)
{
  json_object_set_new(json_object_get(line, "solve"), key, value);
}

static void set_repeat(json_t *line, double factor, double solve)
{
  set_solve(line, "repeat", json_pack("{s:f, s:f}", "factor", factor, "solve", solve));
}

/* Adds a case; level NULL: none. Set-up takes 3/4 of the seconds, and solve 1/4. */
static json_t *add_case(const char *matrix, int block, const char *device, const char *precond, const char *level,
                        double seconds)
{
  json_t *line = json_pack(
      "{s:i, s:{s:s, s:i, s:s, s:i, s:{s:s}}, s:s, s:s, s:i, s:n, s:f, s:i, s:s, s:s, s:s, s:[], s:{s:i, s:i,"
      " s:f, s:f, s:f, s:i, s:i, s:i, s:i, s:i, s:s, s:s, s:{s:f, s:f, s:f, s:f, s:f}, s:n}}",
      "karst_compare", 1, "case", "matrix", matrix, "block", block, "device", device, "threads", 2, "options",
      "precond", precond, "outcome", "converged", "sentence", "converged", "exit_status", 0, "signal", "wall",
      2 * seconds, "peak_memory", 1000000, "host", "somewhere", "version", "1.0", "started", "2026-02-03T04:05:06Z",
      "history", "solve", "block", block, "iterations", 10 * block + (level ? (int)strtol(level, NULL, 10) : 0),
      "relative_residual", 5e-9, "fill", 1.5, "fill_file", 2.25, "levels_lower", 7, "levels_upper", 8, "factor_entries",
      900, "rows", 100, "file_entries", 400, "reason", "converged: relative residual", "device_name", device, "times",
      "order", 0.0, "symbolic", seconds / 4, "factor", seconds / 2, "transfer", 0.5, "solve", seconds / 4, "repeat");
  if (!line || count == LINES_MAX) exit(1);
  if (level) set_option(line, "level", level);
  for (int i = 0; i < 5; i++)
    json_array_append_new(json_object_get(line, "history"), json_pack("[i, f]", 4 * i, 10.0 / (1 << 5 * i)));
  lines[count++] = line;
  return line;
}

/* Makes a case one that ended so, without an object of solve. */
static void fail_case(json_t *line, const char *outcome, const char *sentence)
{
  json_object_set_new(line, "outcome", json_string(outcome));
  json_object_set_new(line, "sentence", json_string(sentence));
  json_object_set_new(line, "solve", json_null());
}

typedef int writer(const struct compare_set *set, const char *path);

/* The text that the writer makes of the lines; the next call overwrites it. "" if it failed. */
static const char *written(writer *write, const char *baseline)
{
  const struct compare_set set = {count, lines, baseline};
  const char *path = scratch_path("table");
  return write(&set, path) == TOOL_GO_ON ? file_text(path) : "";
}

/* The same in Markdown, with one space for several and two dashes for more. */
static const char *markdown(const char *baseline)
{
  static char text[TEXT_MAX];
  char *end = text;
  for (const char *c = written(compare_write_markdown, baseline); *c; c++) {
    const bool is_more = (*c == ' ' && c[1] == ' ') || (*c == '-' && c[1] == '-' && end > text && end[-1] == '-');
    if (!is_more) *end++ = *c;
  }
  *end = '\0';
  return text;
}

/* Whether all lines of the first table have one length. */
static bool is_aligned(const char *text)
{
  const char *line = strstr(text, "\n|");
  const size_t length = line ? strcspn(line + 1, "\n") : 0;
  for (; line && line[1] == '|'; line = strchr(line + 1, '\n'))
    if (strcspn(line + 1, "\n") != length) return false;
  return length > 0;
}

/* Checks, and prints the text if it is wrong. */
static void expect(bool right, const char *text, const char *what)
{
  if (!tap_ok(right, "%s", what)) fprintf(stderr, "%s\n", text);
}

static void test_paper(void)
{
  static const char golden[] =
      "8 cases of 1 matrix: 7 converged, 1 out of memory.\n"
      "Karst 1.0 on somewhere, 2026-02-03.\n"
      "All with preconditioner iluk, threads 2.\n"
      "A speed-up is the time with device=cpu over the time of the case.\n"
      "A time is that of set-up and solve, without reading; fill is the entries of the factors over those stored in the"
      " file;\nlevel sets are those of the lower and of the upper factor; the residual is the true relative one. The "
      "fastest time of each matrix is bold.\n"
      "\n## poisson\n\n"
      "| block size | k level | cuda time (s) | cpu time (s) | iterations | cuda speed-up | cuda set-up (s) | cuda "
      "solve "
      "(s) | cpu set-up (s) | cpu solve (s) | fill | level sets | residual |\n"
      "|:--|:--|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n"
      "| 1 | 0 | **0.250** | 1.000 | 10 | 4.00 | 0.188 | 0.062 | 0.750 | 0.250 | 2.25 | 7/8 | 5.0e-09 |\n"
      "| 1 | 1 | 0.500 | 1.000 | 11 | 2.00 | 0.375 | 0.125 | 0.750 | 0.250 | 2.25 | 7/8 | 5.0e-09 |\n"
      "| 2 | 0 | 1.000 | 1.000 | 20 / 21 | 1.00 | 0.750 | 0.250 | 0.750 | 0.250 | 2.25 | 7/8 | 5.0e-09 |\n"
      "| 2 | 1 | out of memory[^1] | 1.000 | 21 | - | - | - | 0.750 | 0.250 | 2.25 | 7/8 | 5.0e-09 |\n"
      "\n[^1]: more than 4 GB \\| it said\n";
  for (int place = 0; place < 2; place++) /* the plan has another order */
    for (int block = 2; block >= 1; block--)
      for (int level = 0; level < 2; level++) {
        const double seconds = place ? 1 : 0.25 * block * block / (block == 2 ? 1 : 1.0 / (1 + level));
        add_case("poisson", block, place ? "cpu" : "cuda", "iluk", level ? "1" : "0", seconds);
      }
  fail_case(lines[1], "out of memory", "more than 4 GB | it said");
  set_solve(lines[4], "iterations", json_integer(21));
  const char *text = markdown("device=cpu");
  tap_ok(is_aligned(written(compare_write_markdown, NULL)), "columns of Markdown are aligned");
  expect(strcmp(text, golden) == 0, text, "Markdown has the paper's layout in any order of the plan");
  forget();
}

static void test_speed_ups(void)
{
  add_case("m", 1, "cpu", "jacobi", NULL, 8);
  add_case("m", 1, "cpu", "iluk", "0", 4);
  add_case("m", 1, "cpu", "iluk", "1", 16);
  add_case("m", 3, "cpu", "iluk", "1", 1);
  const char *text = written(compare_write_json, "precond=jacobi");
  json_t *object = json_loads(text, 0, NULL), *results = json_object_get(object, "results");
  static const double right[] = {1, 2, 0.5};
  bool all = json_array_size(results) == 4;
  for (size_t i = 0; i < 3; i++) all = all && number_at(json_array_get(results, i), "speed_up") == right[i];
  expect(all, text, "an option that the baseline does not use makes no difference");
  expect(is_null(json_array_get(results, 3), "speed_up"), text, "without a case of the baseline there is no speed-up");
  json_decref(object);
  object = json_loads(written(compare_write_json, "device=cpu,precond=iluk"), 0, NULL);
  results = json_object_get(object, "results");
  tap_ok(number_at(json_array_get(results, 0), "speed_up") == 0.5, "a baseline may name several options");
  json_decref(object);
  json_object_set_new(lines[0], "outcome", json_string("not converged"));
  text = markdown("precond=jacobi");
  expect(strstr(text, "| 1 | iluk | 0 | 4.00 | 10 | - |") && strstr(text, "not converged[^1] | 10 |"), text,
         "a baseline that did not converge gives no speed-up");
  forget();
}

static void test_repeats(void)
{
  set_repeat(add_case("m", 1, "cpu", "iluk", "0", 4), 0.25, 0.5);
  set_solve(add_case("m", 1, "cpu", "iluk", "1", 1), "repeat", json_pack("{s:n, s:s}", "factor", "solve", "x"));
  set_repeat(add_case("m", 1, "cpu", "auto", NULL, 4), 0.25, 0.5);
  json_t *object = json_loads(written(compare_write_json, NULL), 0, NULL), *result[3];
  for (size_t i = 0; i < 3; i++) result[i] = json_array_get(json_object_get(object, "results"), i);
  tap_ok(number_at(result[0], "time_total") == 1.75, "medians replace the first factorization and solve");
  tap_ok(number_at(result[1], "time_total") == 1, "medians that are not numbers are ignored");
  tap_ok(number_at(result[2], "time_total") == 4 && strstr(written(compare_write_csv, NULL), ",1,2,1,4,4,0.75,"),
         "for auto set-up and solve are the first, and update and solve are the medians");
  tap_ok(json_array_size(json_object_get(result[0], "history")) == 5 && is_null(result[0], "speed_up"),
         "without a baseline there are no speed-ups, and a short history is kept");
  json_decref(object);
  forget();
}

static void test_csv(void)
{
  static const char head[] =
      "matrix,block,precond,level,device,threads,outcome,sentence,iterations,relative_residual,"
      "time_setup,time_order,time_symbolic,time_factor,time_solve,time_total,time_first,time_update,"
      "time_transfer,speed_up,fill,fill_file,levels_lower,levels_upper,factor_entries,rows,file_entries,"
      "memory,peak_memory,wall,reason,version,host,device_name,started\r\n";
  static const char first[] =
      "\"a,\"\"b\"\"\nc\",1,iluk,0,cpu,2,converged,converged,10,5e-09,3,0,1,2,1,4,4,,0.5,,1.5,2.25,"
      "7,8,900,100,400,,1000000,8,converged: relative residual,1.0,somewhere,cpu,"
      "2026-02-03T04:05:06Z\r\n";
  add_case("a,\"b\"\nc", 1, "cpu", "iluk", "0", 4);
  lines[count++] = NULL;
  add("{'karst_compare': 1, 'case': {'matrix': 'n', 'block': null, 'device': 'cpu', 'options': {'precond': 'none'}},"
      " 'outcome': 'crashed', 'sentence': 'killed by SIGSEGV', 'signal': 'SIGSEGV', 'wall': null, 'solve': null}");
  const char *text = written(compare_write_csv, NULL);
  expect(strncmp(text, head, strlen(head)) == 0, text, "CSV begins with a header");
  const char *row = text + strlen(head);
  expect(strncmp(row, first, strlen(first)) == 0, text, "fields with commas, quotes and newlines are quoted");
  row += strlen(first);
  expect(strncmp(row, ",,,,,,not run,,", 15) == 0, text, "a case that has not run has a row");
  expect(strstr(row, "n,,none,,cpu,,crashed,killed by SIGSEGV,,,"), text, "unknown values are empty fields");
  forget();
}

static void test_odd_lines(void)
{
  add("{'karst_compare': 1, 'case': {'matrix': 'm', 'block': null, 'options': {}}, 'outcome': 'converged',"
      " 'solve': {'block': 4, 'iterations': null, 'relative_residual': 'x', 'times': null}}");
  add("{'karst_compare': 1, 'case': {'matrix': 'm', 'block': null, 'options': {'shift': 0.5}}, 'outcome': 'strange',"
      " 'solve': []}");
  add("{'karst_compare': 1}");
  const char *text = markdown(NULL);
  expect(strstr(text, "1 converged, 2 failed") != NULL, text, "an unknown outcome is a failure");
  expect(strstr(text, "With block size 4.") != NULL, text, "the block size of a file comes from the case that read it");
  expect(strstr(text, "| 0.5 | failed |") && strstr(text, "| - |"), text, "lines without numbers have rows");
  forget();
}

static void test_auto(void)
{
  static const char head[] = "\n## auto against the best fixed choice\n\n"
                             "Within 1.3 times the best fixed choice: 1 of 3. Counted are lines where auto or a fixed "
                             "choice has converged.\n\n| matrix | solver | auto's choice | time | best fixed choice | "
                             "its time | auto / best |\n";
  add_case("alone", 1, "cpu", "iluk", "0", 1);
  set_option(lines[0], "solver", "cg");
  expect(!strstr(markdown(NULL), "auto"), "", "tables without auto do not mention it");
  add_case("alone", 1, "cpu", "auto", NULL, 9);
  set_option(lines[1], "solver", "gmres");
  expect(!strstr(markdown(NULL), "auto against"), "", "auto is not compared without other cases of its solver");
  for (int i = 0; i < 9; i++) {
    static const char *const matrices[] = {"m", "n", "p"};
    static const double seconds[] = {2, 4, 1.6, 4, 4, 2, 3, 4, 3};
    static const char *const levels[] = {NULL, "0", "1"};
    json_t *line = add_case(matrices[i / 3], 1, "cpu", i % 3 ? "iluk" : "auto", levels[i % 3], seconds[i]);
    set_option(line, "solver", i < 6 ? "gmres" : "cg");
    if (i % 3 == 0) set_solve(line, "auto_choice", json_string("--precond rrb --ordering natural"));
  }
  fail_case(lines[8], "crashed", "killed by SIGSEGV");
  const char *text = markdown(NULL);
  expect(strstr(text, head) != NULL, text, "auto is compared with the others of its matrix and solver");
  expect(strstr(text, "| m | gmres | rrb, ordering natural | 2.00 s | iluk, k=1 | 1.60 s | 1.25 |\n| n | gmres | rrb, "
                      "ordering natural | 4.00 s | iluk, k=1 | 2.00 s | 2.00 |\n| p | cg | auto | crashed[^1] | iluk, "
                      "k=1 | 3.00 s | - |\n"),
         text, "a line has auto's choice, and the ratio of the times if there are two");
  for (size_t i = 2; i < 8; i++) set_repeat(lines[i], 0.25 * (double)i, 0.5);
  text = markdown(NULL);
  expect(strstr(text, "update and solve: 2 of 2. Counted"), text, "updates are counted if cases were repeated");
  expect(strstr(text, "| update + solve | best fixed | auto / best |\n") &&
             strstr(text, "| 1.00 s | 1.25 s | 0.80 |\n"),
         text, "updates have columns of their own");
  forget();
}

static void test_special_characters(void)
{
  add_case("<b>|*x*\n# [a](b) snake_case _e_", 1, "cpu", "`|`", "0", 4);
  add_case("m", 1, "c<u>da", "iluk\\", "0", 4);
  const char *text = markdown(NULL);
  expect(strstr(text, "\n## &lt;b\\>\\|\\*x\\* \\# \\[a\\](b) snake_case \\_e\\_\n"), text,
         "special characters of names are escaped in Markdown");
  expect(strstr(text, "preconditioner \\`\\|\\`") && strstr(text, "iluk\\\\"), text,
         "special characters of values are escaped in Markdown");
  forget();
}

static void test_columns(void)
{
  static const char *const solvers[] = {"gmres", "cg"}, *const orderings[] = {"natural", "rcm"};
  for (int i = 0; i < 8; i++) {
    json_t *line = add_case(i < 4 ? "m" : "n", i < 4 ? 1 : 2, "cpu", "iluk", "0", 4 + i);
    set_option(line, "solver", solvers[i % 2]);
    set_option(line, "ordering", i < 4 ? orderings[i / 2 % 2] : "rcm");
    set_option(line, "restart", i < 6 ? "30" : "9");
  }
  const char *text = markdown(NULL);
  expect(strstr(text, "\nAll with preconditioner iluk, k level 0, device cpu, threads 2.\n"), text,
         "a value that all cases have is stated once");
  expect(strstr(text, "\nWith block size 1, restart 30.\n\n| solver | ordering | time"), text,
         "a value that all cases of a matrix have is stated above its table, and the rest are columns");
  expect(strstr(text, "\nWith block size 2, ordering rcm.\n\n| solver | restart | time"), text,
         "each table has its own columns");
  expect(strstr(text, "| gmres | 9 | 10.00 |") < strstr(text, "| gmres | 30 | **8.00** |"), text,
         "rows are sorted by numbers as numbers");
  forget();
}

static void test_few(void)
{
  writer *const all[] = {compare_write_csv, compare_write_json, compare_write_markdown};
  bool right = true;
  for (int i = 0; i < 3; i++) right = right && *written(all[i], "device=cpu");
  tap_ok(right, "a plan without cases has tables");
  lines[count++] = NULL;
  for (int i = 0; i < 3; i++) right = right && *written(all[i], "device=cpu");
  tap_ok(right && strstr(markdown(NULL), "1 case of 0 matrices: 1 not run."),
         "a plan without a finished case has tables");
  add_case("m", 1, "cpu", "none", NULL, 4);
  const char *text = markdown(NULL);
  expect(strstr(text, "All with block size 1, preconditioner none, device cpu, threads 2.") &&
             strstr(text, "\n| time (s) | iterations |"),
         text, "a single case is a table of one row");
  forget();
}

/* Checks that the writer fails with a sentence. */
static void refuse(writer *write, const char *path, const char *baseline, const char *says, const char *what)
{
  const struct compare_set set = {count, lines, baseline};
  const int status = write(&set, path);
  if (!tap_ok(status == TOOL_FAILED && strstr(tool_sentence(), says), "%s", what))
    tap_note("%d: %s should say %s", status, tool_sentence(), says);
}

static void test_errors(void)
{
  writer *const all[] = {compare_write_csv, compare_write_json, compare_write_markdown};
  const char *folder = scratch_path("absent/table");
  add_case("m", 1, "cpu", "iluk", "0", 4);
  for (int i = 0; i < 3; i++) {
    refuse(all[i], folder, NULL, "No such file", "a file that cannot be made is an error");
    if (access("/dev/full", W_OK) == 0)
      refuse(all[i], "/dev/full", NULL, "/dev/full: No space", "a full disk is an error");
    else
      tap_skip("there is no /dev/full", "a full disk is an error");
  }
  refuse(all[0], tap_scratch("table"), "device", "is not NAME=VALUE", "a baseline without a value is an error");
  refuse(all[0], tap_scratch("table"), "speed=9", "no case has the option 'speed'",
         "a baseline that no case has is an error");
  lines[count++] = NULL;
  tap_ok(*written(compare_write_csv, "speed=9") != '\0', "a baseline that no case has is accepted before all have run");
  forget();
  refuse(compare_write_report, tap_write("file", "x", 1), NULL, "", "a report needs a folder");
  setenv("PATH", "/nowhere", 1);
  tap_ok(compare_report_check(tap_scratch("report")) == TOOL_FAILED && strstr(tool_sentence(), "gnuplot"),
         "a report needs gnuplot, which is checked before any work is done");
}

static void test_same(void)
{
  for (int i = 0; i < 6; i++) add_case(i % 2 ? "m" : "n", 1 + i % 3, "cpu", "iluk", i % 2 ? "0" : "1", 1 + i);
  writer *const all[] = {compare_write_csv, compare_write_json, compare_write_markdown};
  bool same = true;
  for (int i = 0; i < 3; i++) {
    char *text = strdup(written(all[i], "level=0"));
    if (!text) exit(1);
    same = same && *text && strcmp(text, written(all[i], "level=0")) == 0;
    free(text);
  }
  tap_ok(same, "the same lines give the same bytes");
  forget();
}

/* Writes the report that test_compare_report.sh looks at. The numbers are made up. */
static int write_report(const char *folder)
{
  for (int i = 0; i < 48; i++) {
    static const char *const levels[] = {"0", "1", "2"};
    const int level = i % 3, block = i / 3 % 2 ? 3 : 1, place = i / 6 % 2, hostile = i / 12 % 2, precond = i / 24;
    json_t *line = add_case(hostile ? "dir/<script>alert(1)</script>\"&'%d.mtx" : "blackoil:60x220x2", block,
                            place ? "cuda" : "cpu", precond ? "parilu" : "iluk", levels[level],
                            (1 + 0.5 * level) * (precond ? 1.7 : 1) * (place ? 0.2 : 1) * (hostile ? 3 : 0.01) / block);
    set_solve(line, "fill_file", json_real((1 + level) * 1.1 * block));
    set_solve(line, "iterations", json_integer(90 / (1 + level) / block));
    if (precond) set_option(line, "orthogonalise", "twice");
    if (precond) set_option(line, "trisolve_sweeps", "12345");
    if (i == 5)
      set_option(line, "level", "7\nEOD\nsystem \"touch harm\"\n"); /* would end gnuplot's data with a command */
    if (i == 20) fail_case(line, "crashed", "killed by SIGSEGV after <b>2 s</b>");
    if (i == 31) fail_case(line, "out of time", "stopped after the limit of 600 s");
  }
  const struct compare_set set = {count, lines, "device=cpu"};
  const int status = compare_write_report(&set, folder);
  forget();
  return status == TOOL_GO_ON ? EXIT_SUCCESS : status;
}

int main(int argc, char *argv[])
{
  tool_start(argv[0]);
  if (argc == 3 && strcmp(argv[1], "report") == 0) return write_report(argv[2]);
  test_paper();
  test_speed_ups();
  test_repeats();
  test_csv();
  test_odd_lines();
  test_auto();
  test_special_characters();
  test_columns();
  test_few();
  test_same();
  test_errors();
  return tap_done();
}
#else
int main(void) { tap_skip_all("this build has no jansson"); }
#endif
