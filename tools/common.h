/* common.h - what the tools share: exit statuses, one-sentence errors, the command line, the clock. */
#ifndef KARST_TOOLS_COMMON_H
#define KARST_TOOLS_COMMON_H

#include "karst.h"

#include <stdbool.h>

enum {
  TOOL_GO_ON = -1, /* no exit status: the step succeeded, the program continues */
  TOOL_YES = 0,    /* converged; the files agree; done */
  TOOL_NO = 1,     /* not converged; the files differ */
  TOOL_FAILED = 2, /* bad input or usage, no memory, output that cannot be written */
  TOOL_NO_DEVICE = 3
};

/* First thing in main: errors begin with the program's name. A closed pipe becomes a write error, not a signal. */
void tool_start(const char *path);
/* Last thing in main: status, or TOOL_FAILED with a sentence where standard output could not be written. Where the
 * answer is to be JSON, an error is printed there as an object too. */
int tool_finish(int status);
/* From now on the answer is to be JSON; tool_parse knows by the option json. */
void tool_answer_json(void);
/* The sentence of the last error, which the caller makes part of the answer itself; "" without one. */
const char *tool_sentence(void);

/* The program's name without its folder and without libtool's "lt-". */
const char *tool_name(void);

/* Prints "NAME: sentence" on standard error, names in it made safe for a terminal, and returns status. */
int tool_fail(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same with the sentence of the library's last error in context; the exit status follows from status. */
int tool_fail_library(const karst_context *context, karst_status status);
/* The same, beginning with the name of what it is about. */
int tool_fail_about(const karst_context *context, karst_status status, const char *name);
int tool_fail_memory(const char *what);

enum { TOOL_RENAMED_MAX = 2 };
/* Errors of the library that begin with path, a copy's, are printed with name, the user's, instead. Both stay the
 * caller's. */
void tool_rename(const char *path, const char *name);

/* A karst_message_function: notes and warnings on standard error. */
void tool_message(void *user, karst_message_kind kind, const char *text);

/* Threads where the user names no number: the processors that the process may use, or fewer by OMP_NUM_THREADS. */
int tool_threads(void);

/* Seconds from a fixed moment. */
double tool_clock(void);

/* A number that fills all of text and lies in minimum .. maximum. */
bool tool_integer(const char *text, long long minimum, long long maximum, long long *number);
/* A finite decimal number >= 0 that fills all of text. */
bool tool_real(const char *text, double *number);

/* What --help says of an option. */
struct tool_info {
  const char *name;
  char value[128];           /* what it takes; "" for a switch */
  const char *default_value; /* "" where there is none to name */
  const char *help;          /* one line */
};

/* An option of a tool and the variable that it sets. A text points into argv; a count is 1 or more. */
struct tool_option {
  struct tool_info info;
  enum { TOOL_SWITCH, TOOL_TEXT, TOOL_COUNT, TOOL_REAL } kind;
  union {
    bool *flag;
    const char **text;
    int *count;
    double *real;
  } to;
};

/* The value of an option of the library; a number where it takes one. */
const char *tool_option_text(const karst_options *options, const char *name);
double tool_option_number(const karst_options *options, const char *name);

struct tool_command {
  const char *about;                 /* one line */
  const char *operand_names;         /* "MATRIX OUTPUT" */
  int operand_count;                 /* how many the tool takes, no more and no fewer */
  const char **operand;              /* [operand_count], set by tool_parse */
  const struct tool_option *options; /* ends with a name of NULL; --help and --version are added */
  karst_options *library_options;    /* NULL: the tool does not take the options of the library */
  /* Why an option of the library does not take a value, where the tool knows better than the library, which does not
   * know the value; else NULL. May be NULL itself. */
  const char *(*explain)(const char *option, const char *value);
  bool gallery;              /* the help lists the gallery */
  const char *exit_statuses; /* ends the help */
};

/* Takes the command line apart: --name VALUE and --name=VALUE alike, the last one of a name counts. Returns
 * TOOL_GO_ON, or the exit status: after --help or --version, or after an error that has been reported. */
int tool_parse(karst_context *context, const struct tool_command *command, int argc, char *argv[]);

#endif
