/* compare.h - what the parts of compare share: a plan, its cases, how one is run, and the file of results. Functions
 * that return int report their own errors and return TOOL_GO_ON or an exit status. */
#ifndef KARST_TOOLS_SRC_COMPARE_COMPARE_H
#define KARST_TOOLS_SRC_COMPARE_COMPARE_H

#include "tools/src/common/common.h"
#include "tools/src/compare/report/compare_outcomes.h"
#include "tools/src/common/curve.h"

#include <jansson.h>
#include <stdio.h>
#include <time.h>

enum { COMPARE_CASES_MAX = 100000, COMPARE_VALUES_MAX = 10000, COMPARE_HISTORY_MAX = 200 };

/* ---- the settings of a batch: settings.c ---- */

/* How the batch is run and what is written, from the command line or else from the plan. Texts belong to argv or to the
 * plan. */
struct compare_settings {
  const char *plan, *results, *time_limit, *memory_limit, *baseline, *retry;
  const char *csv, *markdown, *json, *report;
  bool dry_run, tables_only, quiet;
  bool is_retried[OUTCOME_COUNT]; /* the outcomes whose cases are to be run again */
};

struct compare_limits {
  double seconds;
  int64_t memory; /* bytes */
};

struct compare_plan;
/* Reads the command line; the values of cases go to the plan. */
int compare_settings_parse(struct compare_settings *settings, struct compare_plan *plan, int argc, char *argv[]);
/* Reads the limits into limits, which may be NULL. plan: the file that errors name, or NULL for the command line, whose
 * limits are checked before a plan is read. */
int compare_settings_limits(const struct compare_settings *settings, const char *plan, struct compare_limits *limits);
/* Puts defaults where nothing was given, and reads the limits and the list of outcomes. */
int compare_settings_check(struct compare_settings *settings, struct compare_limits *limits);
/* The name of setting number i of those that a plan may give, or NULL; *text: its member of settings, which may be
 * NULL. */
const char *compare_plan_setting(size_t i, struct compare_settings *settings, const char ***text, bool *takes_number);

/* ---- the names of a case: own.c, values.c ---- */

enum compare_kind {
  COMPARE_TEXT,
  COMPARE_COUNT,
  COMPARE_SWITCH,
  COMPARE_FILE,
  COMPARE_INTEGER,
  COMPARE_REAL,
  COMPARE_PRECOND
};

/* A name that is not an option of the library, such as block. */
struct compare_own {
  const char *name, *value, *default_value, *help, *details; /* as those of struct tool_option */
  enum compare_kind kind;
  bool is_listed;  /* takes several values */
  bool is_operand; /* is given without an option */
};
enum { COMPARE_OWN_MAX = 16 };
const struct compare_own *compare_own(size_t i); /* NULL past the last */
const struct compare_own *compare_find_own(const char *name);

/* ---- the plan: plan.c, values.c ---- */

/* Sets of values, each an object of names with arrays of texts, in the order given. A batch is the product of a set. */
struct compare_plan {
  karst_context *context;
  karst_options *options; /* values are checked by being set in it */
  const char *file;       /* where the values come from, for sentences; NULL: the command line */
  json_t *line;           /* what the command line gives */
  json_t *shared;         /* what the file gives for all of its cases */
  json_t *cases;          /* array of sets, or NULL */
  json_t *root;           /* the file as it was read, or NULL */
};

int compare_plan_create(struct compare_plan *plan, karst_context *context);
void compare_plan_free(struct compare_plan *plan);
/* Reads a file, and the settings that are NULL. */
int compare_plan_read(struct compare_plan *plan, const char *path, struct compare_settings *settings);
/* The sets whose products are the batch: an array. Values of the command line replace the file's values of the same
 * name, except matrices, which are added. */
int compare_plan_sets(const struct compare_plan *plan, json_t **sets);

/* What a name of a set takes. */
struct compare_name {
  char name[256]; /* with '-' for '_', "first" for "first.precond" */
  enum compare_kind kind;
  bool library; /* an option of the library */
  bool listed;  /* takes several values */
};
bool compare_find_name(const struct compare_plan *plan, const char *name, struct compare_name *found);
/* Puts the values of a text, "a,b,c" or "0..3" where the name takes several, behind those that the array has. */
int compare_add_text(struct compare_plan *plan, const struct compare_name *name, const char *text, json_t *values);
/* Gives a name of the command line the values of a text. */
int compare_take(struct compare_plan *plan, const char *name, const char *text);
/* Writes a real or an integer in one way, so that 1e-8 and 1.0E-08 are one value. text may be value. */
void compare_canonical(const struct compare_name *name, const char *value, char *text, size_t size);

/* ---- cases: cases.c, files.c ---- */

struct compare_case {
  const char *matrix; /* as the file system has it; belongs to struct compare_cases */
  json_t *what;       /* the object "case" of a row */
  char *key;          /* canonical text */
  json_t *row;        /* its line of the results; NULL: not run yet */
};

struct compare_cases {
  size_t count, room;
  struct compare_case *at; /* [room] in the order of the plan */
  json_t *known;           /* numbers by key */
  json_t *names, *prints;  /* the texts of the matrices, and the fingerprints of files by name */
};

/* Makes the cases of the sets, each once. An empty array: none. */
int compare_cases_create(const struct compare_plan *plan, json_t *sets, struct compare_cases *cases);
void compare_cases_free(struct compare_cases *cases);
/* Adds a case unless there is one of its key; takes what and row in any case. */
int compare_cases_add(struct compare_cases *cases, const char *matrix, json_t *what, const char *key, json_t *row);
/* Prints a case on one line, without its end. */
void compare_print_case(FILE *file, const struct compare_case *one);
/* The text, with \xNN for bytes that are not UTF-8. NULL: no memory. */
json_t *compare_safe_text(const char *text);

/* Appends the matrices of a name: itself, or the matrix files in a folder, sorted. */
int compare_find_matrices(const char *name, json_t *names);
/* A text that changes with the contents of the files that a matrix is read from, or "". */
int compare_fingerprint(const char *matrix, char *text, size_t size);

/* ---- the baseline: baseline.c ---- */

/* The values of the baseline as the cases have them, or NULL for no baseline; the caller frees the text. Refuses values
 * that no case has. */
int compare_choose_baseline(const struct compare_plan *plan, const struct compare_cases *cases, const char *given,
                            char **baseline);

/* ---- what is written: outputs.c ---- */

/* Refuses, before hours of work, an output file that cannot be written, or that is another output, the results, the
 * plan or a file that a case reads. */
int compare_check_outputs(const struct compare_settings *settings, const struct compare_cases *cases);

/* ---- running: solve.c, run.c, row.c, memory.c ---- */

/* A convergence curve of at most COMPARE_HISTORY_MAX points, read from lines. */
struct compare_history {
  struct tool_curve curve;
  char line[96]; /* the line that is being read */
  size_t used;
};

/* How a process ended. */
struct compare_ended {
  int status; /* of wait */
  enum { COMPARE_ENDED, COMPARE_OUT_OF_TIME, COMPARE_OUT_OF_MEMORY } why;
  double wall;         /* seconds */
  int64_t peak_memory; /* bytes */
  char *out, *err;     /* standard output, and the last of standard error; zero-terminated */
  struct compare_history history;
};

/* Called several times a second while a case runs. */
typedef void compare_tick(void *user, double seconds);

/* Catches the signals that interrupt. */
void compare_catch_signals(void);
bool compare_interrupted(void);
/* Finds the command that KARST_SOLVE in the environment names, else solve beside this program; the caller frees it. */
int compare_find_solve(char **path);
/* Runs solve with the arguments, argv[0] included, up to a NULL. TOOL_NO: the user has interrupted it. The caller frees
 * the texts of ended in any case. */
int compare_run(const char *solve, char *const argv[], const struct compare_limits *limits, compare_tick *tick,
                void *user, struct compare_ended *ended);
/* Makes the row of a case from the way its run ended; started: when it began. NULL: no memory. */
json_t *compare_make_row(const struct compare_case *one, const struct compare_limits *limits,
                         const struct compare_ended *ended, time_t started);
/* Runs a case and makes its row. TOOL_NO: interrupted, no row. */
int compare_run_case(const char *solve, const struct compare_case *one, const struct compare_limits *limits,
                     compare_tick *tick, void *user, json_t **row);
/* Reads the size of a memory, as 500M or 4G. */
bool compare_read_size(const char *text, int64_t *bytes);
/* Bytes of memory that are free for processes; INT64_MAX if the system does not say. */
int64_t compare_memory_free(void);

/* ---- results: results.c ---- */

struct compare_results {
  const char *path;
  int file;    /* descriptor; -1: not open */
  long stray;  /* bytes of a last line that is cut off, which are no row */
  bool no_end; /* the last line lacks only its end */
};

/* Reads the rows into the cases. Rows of cases that are not in the plan are left out or, if all, become cases. A
 * missing file counts as empty. */
int compare_results_read(struct compare_results *results, const char *path, struct compare_cases *cases, bool all);
/* Opens the file for appending, creates it if necessary, and locks it. Must be called before the file is read. */
int compare_results_open(struct compare_results *results, const char *path);
/* Cuts off an incomplete last line. Must be called after the file was read. */
int compare_results_repair(struct compare_results *results);
/* Appends a row and waits until it is on the disk. */
int compare_results_append(struct compare_results *results, const json_t *row);
void compare_results_close(struct compare_results *results);

/* ---- progress: progress.c ---- */

struct compare_progress {
  const struct compare_cases *cases;
  bool quiet, terminal, shown;
  size_t finished;           /* cases that have a row */
  size_t now;                /* the case that runs */
  double drawn;              /* tool_clock() when the line was last drawn */
  struct compare_pace *pace; /* [cases->count] by the first case of a matrix */
  size_t *first;             /* [cases->count] the first case of the matrix of each */
};

int compare_progress_begin(struct compare_progress *progress, const struct compare_cases *cases, bool quiet);
void compare_progress_start(struct compare_progress *progress, size_t i);
compare_tick compare_progress_tick; /* user: a struct compare_progress */
void compare_progress_done(struct compare_progress *progress, size_t i);
void compare_progress_end(struct compare_progress *progress);

#endif
