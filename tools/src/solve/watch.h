/* watch.h - shows notes of the library and a progress line on a terminal, and writes the history file. */
#ifndef KARST_TOOLS_SRC_SOLVE_WATCH_H
#define KARST_TOOLS_SRC_SOLVE_WATCH_H

#include "tools/src/common/common.h"
#include "tools/src/common/curve.h"

#include <stdio.h>

/* The residual norms of a solve, if they are wanted. */
struct watch_record {
  bool wanted;
  struct tool_curve curve;
};

struct watch {
  bool quiet;    /* suppresses notes and the progress line */
  bool terminal; /* standard error is a terminal, which gets a progress line */
  bool shown;    /* the line is on the screen */
  double drawn;  /* tool_clock() when it was last drawn */
  char phase[32];
  bool monitor; /* each iteration of the first solve is a line on standard error, also with quiet */
  struct watch_record record;
  FILE *history;            /* NULL until its first line */
  const char *history_path; /* NULL: no history, or it is closed */
  bool history_failed;      /* it could not be opened, which has been reported */
};

/* Receives the messages of context. history: a file to write, or NULL. It is checked here and opened at the first
 * iteration, so that a run that fails before leaves an older file. Returns TOOL_GO_ON or an exit status. */
int watch_open(struct watch *watch, karst_context *context, bool quiet, const char *history);
/* Closes the history file and ends the record; later iterations are neither recorded nor printed. Returns TOOL_GO_ON,
 * or reports that the file is incomplete. */
int watch_close_history(struct watch *watch);
/* Shows the name of the phase that begins. */
void watch_phase(struct watch *watch, const char *phase);
/* Erases the progress line. */
void watch_erase(struct watch *watch);
/* Whether anything is to be done in each iteration. A monitor of one rank costs all ranks a message an iteration. */
bool watch_follows(const struct watch *watch);
/* A karst_monitor_function; user is a struct watch. */
karst_decision watch_iteration(void *user, int iteration, double residual);

#endif
