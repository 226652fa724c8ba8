/* solve_report.h - the results of a run of solve, and the functions that report them. */
#ifndef KARST_TOOLS_SRC_SOLVE_SOLVE_REPORT_H
#define KARST_TOOLS_SRC_SOLVE_SOLVE_REPORT_H

#include "tools/src/solve/hint.h"
#include "tools/src/solve/reference.h"
#include "tools/src/solve/solve_profile.h"
#include "tools/src/solve/solve_settings.h"
#include "tools/src/common/reported_values.h"

#include <math.h>

/* The times of --repeat, in seconds. */
struct solve_repeat {
  double factor, solve; /* medians */
};

struct solve_report {
  const struct solve_settings *settings;
  karst_options *effective; /* the options in effect; main destroys them */
  const char *rhs;          /* which right-hand side it is */
  const char *rhs_file;     /* the file it was read from, or "" */
  const char *device;       /* the library's description */
  int threads;
  int ranks;             /* 0: without --ranks */
  const char *transport; /* how they reach each other */
  const char *partition; /* even, metis or the file */
  double largest_part;   /* block rows of the largest part over the mean */
  int64_t ghosts;        /* of all ranks */
  int64_t rows;          /* without padding */
  int64_t entries;       /* scalars stored in the blocks */
  int64_t file_entries;  /* scalars in the file or the problem; entries adds the zeros that fill up the blocks */
  karst_index inserted;  /* diagonal blocks of zeros that --insert-diagonal has added */
  int block;
  karst_grid grid; /* sizes of 0: no grid */
  double time_read;
  karst_result result;
  karst_solver_info info;
  struct tool_values
      values; /* what the methods say of the first factorization; fallbacks counts those of --repeat too */
  char explanation[512];
  char hint[SOLVE_HINT_SIZE]; /* what to try after a solve that did not converge, or "" */
  int failed;                 /* exit status of an error after the solve, for the report; else TOOL_GO_ON */
  struct solve_repeat repeat;
  struct reference reference;
  struct solve_profile profile; /* of --profile */
  double max_error;             /* max |x_i - u_i| of --exact */
};

/* Print what the run did, for readers or for programs. */
void solve_print_text(const struct solve_report *report);
int solve_print_json(const karst_context *context, const struct solve_report *report);
/* Prints everything that was chosen, for readers. */
int solve_print_view(karst_context *context, const karst_solver *solver, const struct solve_report *report);
/* Returns TOOL_GO_ON, or reports an error if this build cannot print JSON. */
int solve_check_json(void);

/* Returns the entries of the factors over those of the file, or NaN if the file has none. */
static inline double solve_fill_file(const struct solve_report *report)
{
  return report->file_entries > 0 ? (double)report->info.factor_entries / (double)report->file_entries : NAN;
}

#endif
