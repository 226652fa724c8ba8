/* common.h - what the tools share: exit statuses, one-sentence errors, the command line, the clock. */
#ifndef KARST_TOOLS_SRC_COMMON_COMMON_H
#define KARST_TOOLS_SRC_COMMON_COMMON_H

#include "karst.h"

#include <stdbool.h>
#include <stddef.h>

enum {
  TOOL_GO_ON = -1, /* no exit status: the step succeeded and the program continues */
  TOOL_YES = 0,    /* converged; the files agree; done */
  TOOL_NO = 1,     /* not converged; the files differ */
  TOOL_FAILED = 2, /* bad input or usage, no memory, output that cannot be written */
  TOOL_NO_DEVICE = 3
};

/* Must be called first in main: errors begin with the program's name. A closed pipe, or a file that may grow no more,
 * becomes a write error, not a signal. A standard stream that is closed stays unusable. */
void tool_start(const char *path);
/* Must be called last in main. Returns status, or TOOL_FAILED with a sentence if standard output could not be written.
 * If the answer is JSON, prints an error there as an object too. */
int tool_finish(int status);
/* Makes the answer JSON, also that of an error. tool_parse calls this for the option json. */
void tool_answer_json(void);
/* Returns the sentence of the last error, or "". */
const char *tool_sentence(void);
/* The caller's own answer in JSON has the last error. */
void tool_answered(void);
/* The words of karst_status_text for the last error; NULL if the command itself reported it. */
const char *tool_error_status(void);

/* Returns the program's name without its folder and without libtool's "lt-". */
const char *tool_name(void);

/* Prints "NAME: sentence" on standard error, with names made safe for a terminal, and returns status. */
int tool_fail(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Reports the library's last error in context like tool_fail. Returns the exit status for status. */
int tool_fail_library(const karst_context *context, karst_status status);
/* The same with the name of a file or matrix before the sentence. */
int tool_fail_about(const karst_context *context, karst_status status, const char *name);
int tool_fail_memory(const char *what);
/* A text made by printf, which the caller frees; NULL after a reported error. */
char *tool_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Later errors begin with the place, such as a file and its line, until it is NULL. The caller keeps the string. */
void tool_place(const char *place);

enum { TOOL_RENAMED_MAX = 2 };
/* Errors of the library that begin with path, the path of a copy, are printed with the user's name instead. The caller
 * keeps both strings. */
void tool_rename(const char *path, const char *name);
/* Forgets that a path, the same pointer, was renamed, before its memory is given back. */
void tool_forget(const char *path);

/* Prints notes and warnings on standard error; is a karst_message_function. */
void tool_message(void *user, karst_message_kind kind, const char *text);

/* Returns the number of threads if the user gives none: the processors that the process may use, or fewer by
 * OMP_NUM_THREADS. */
int tool_threads(void);

/* Returns seconds since a fixed moment. */
double tool_clock(void);
/* The median of value[count], which is sorted; of an even number of values the mean of the middle two. */
double tool_median(int count, double *value);

/* Reads a number in minimum .. maximum that fills all of text. */
bool tool_integer(const char *text, long long minimum, long long maximum, long long *number);
/* Reads a finite decimal number >= 0 that fills all of text. */
bool tool_real(const char *text, double *number);

/* An option: what --help says about it, and the member of the command's settings that it sets. A text points into argv;
 * a count is at least 1. */
struct tool_option {
  const char *name;
  const char *value;         /* the form of its value; "" for a switch */
  const char *default_value; /* "" for none */
  const char *help;          /* one line */
  const char *details;       /* sentences that follow it and say the rest; may be NULL */
  enum { TOOL_OF_LIBRARY, TOOL_SWITCH, TOOL_TEXT, TOOL_COUNT, TOOL_REAL } kind;
  size_t place; /* offset of the member: a bool, const char *, int or double; nothing for an option of the library */
};

/* Returns the value of an option of the library as text, or as a number if it takes one. */
const char *tool_option_text(const karst_options *options, const char *name);
double tool_option_number(const karst_options *options, const char *name);

struct tool_command {
  const char *about;                 /* one line */
  const char *operand_names;         /* "MATRIX OUTPUT" */
  int operand_count;                 /* exact number of operands, or the most where operands_given is not NULL */
  const char **operand;              /* [operand_count], set by tool_parse */
  int *operands_given;               /* set to how many there are; may be NULL */
  const struct tool_option *options; /* ends with a NULL name; --help and --version are added */
  void *settings;                    /* the struct that the options set */
  const char *const *groups; /* pairs, NULL behind the last: an option that begins a group, and its title; or NULL */
  karst_options *library_options; /* NULL if the tool does not take the options of the library */
  /* Why an option of the library does not take a value, where the tool knows better than the library, which does not
   * know the value; else NULL. May be NULL itself. */
  const char *(*explain)(const char *option, const char *value);
  /* Takes a value for an option of the library in place of library_options; may be NULL. The name is the library's, or
   * stands in argv where it has a point. Returns TOOL_GO_ON or an exit status after a reported error. */
  int (*take)(void *user, const char *name, const char *value);
  void *user;
  bool gallery;              /* whether the help lists the gallery */
  const char *exit_statuses; /* ends the help */
};

/* Parses the command line. --name VALUE and --name=VALUE are equal, the last value of a name counts, and behind an
 * argument "--" all are operands. Where the
 * command has an option named options, its files are read first, in their order (see options_file.h). Returns
 * TOOL_GO_ON, or the exit status after --help, --version or a reported error. */
int tool_parse(karst_context *context, const struct tool_command *command, int argc, char *argv[]);

#endif
