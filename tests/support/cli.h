/* cli.h - runs the commands of tools/ as a user does, for tests. The commands are in KARST_TOOLS, or else in tools/ of
 * the build. */
#ifndef KARST_TESTS_SUPPORT_CLI_H
#define KARST_TESTS_SUPPORT_CLI_H

#include "tests/support/tap.h"

enum { CLI_SIGNAL = 128 }; /* added to the number of a signal that ended the command */

struct cli_run {
  int status;      /* exit status */
  char out[65536]; /* standard output and standard error, cut to fit and zero-terminated */
  char err[65536];
};

/* The path of a command. The next call overwrites it. */
const char *cli_path(const char *tool);
/* Returns whether the command is built. */
bool cli_has(const char *tool);
/* Ends the program with SKIP if the command is not built. */
void cli_need(const char *tool);

/* Runs tool with argument[0], argument[1], ... up to a NULL. The result is overwritten by the next run. */
const struct cli_run *cli_run(const char *tool, const char *const argument[]);
/* Runs tool with these arguments. */
#define CLI_RUN(tool, ...) cli_run(tool, (const char *const[]){__VA_ARGS__, NULL})
/* Runs tool with standard output going to an open file descriptor; run.out is empty. */
const struct cli_run *cli_run_into(int descriptor, const char *tool, const char *const argument[]);

/* Returns whether the run wrote nothing to standard output, and one line "TOOL: ..." to standard error. */
bool cli_is_one_sentence(const struct cli_run *run, const char *tool);

#endif
