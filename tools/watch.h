/* watch.h - what is seen and kept while the library works: notes, a progress line on a terminal, the history file. */
#ifndef KARST_TOOLS_WATCH_H
#define KARST_TOOLS_WATCH_H

#include "common.h"

#include <stdio.h>

struct watch {
  bool quiet;    /* no notes and no progress line */
  bool terminal; /* standard error is one: there is a progress line */
  bool shown;    /* the line is on the screen */
  double drawn;  /* tool_clock() when it was last drawn */
  char phase[32];
  FILE *history; /* or NULL */
  const char *history_path;
};

/* Receives the messages of context. history: a file to write, or NULL. Returns TOOL_GO_ON or an exit status. */
int watch_open(struct watch *watch, karst_context *context, bool quiet, const char *history);
/* Ends the history; further iterations are not recorded. TOOL_GO_ON, or an error where the file is incomplete. */
int watch_close_history(struct watch *watch);
/* Names the phase that begins. */
void watch_phase(struct watch *watch, const char *phase);
/* Takes the progress line off the screen. */
void watch_erase(struct watch *watch);
/* A karst_monitor_function; user is a struct watch. */
karst_decision watch_iteration(void *user, int iteration, double residual);

#endif
