/* solve.h - what the parts of solve share: its settings, its right-hand side, its report. */
#ifndef KARST_TOOLS_SOLVE_H
#define KARST_TOOLS_SOLVE_H

#include "common.h"
#include "reference.h"
#include "values.h"

#include <math.h>

struct solve_settings {
  const char *matrix;
  const char *rhs; /* FILE, ones, Aones or random[:SEED]; NULL: what came with the matrix, else ones */
  const char *device;
  const char *history, *solution; /* files to write, or NULL */
  const char *grid;               /* NXxNYxNZ or find; NULL: what came with the matrix */
  int block;                      /* 0: what the file's header says */
  int threads;                    /* 0: tool_threads() */
  int repeat;                     /* 0: solve once */
  bool reference, json, quiet;
  karst_options *options; /* of the library; the caller's to destroy */
};

/* The times of --repeat, in seconds. */
struct solve_repeat {
  double factor, solve; /* medians */
};

struct solve_report {
  const struct solve_settings *settings;
  const char *rhs;      /* what the right-hand side is */
  const char *rhs_file; /* where it was read from; "" for one that was not */
  const char *device;   /* the library's description */
  int threads;
  int64_t rows;         /* without padding */
  int64_t entries;      /* scalars stored in the blocks */
  int64_t file_entries; /* of those, what the file or the problem has; zeros fill up the blocks */
  int block;
  karst_grid grid; /* sizes of 0: none */
  double time_read;
  karst_result result;
  karst_solver_info info;
  struct tool_values
      values; /* what the methods say of the first factorization; fallbacks counts those of --repeat too */
  char explanation[512];
  int failed; /* the exit status of an error after the solve, which the report is to name; else TOOL_GO_ON */
  struct solve_repeat repeat;
  struct reference reference;
};

/* Fills settings from the command line. Returns TOOL_GO_ON or an exit status. */
int solve_parse(karst_context *context, int argc, char *argv[], struct solve_settings *settings);

/* The right-hand side that settings name; own: the one that came with the matrix, or NULL. The rows that pad the last
 * block get 0. Sets *text to what it is, and *file to where it was read from or "", own's or the settings'. */
int solve_rhs(karst_context *context, const struct solve_settings *settings, const karst_matrix *A,
              const karst_vector *own, karst_vector **rhs, const char **text, const char **file);

/* What the run did, for readers and for programs. */
void solve_print_text(const struct solve_report *report);
int solve_print_json(const struct solve_report *report);
/* TOOL_GO_ON, or an error where this build cannot print JSON. */
int solve_check_json(void);

/* Entries of the factors over those of the file; not a number where it has none. */
static inline double solve_fill_file(const struct solve_report *report)
{
  return report->file_entries > 0 ? (double)report->info.factor_entries / (double)report->file_entries : NAN;
}

#endif
