/* solve.h - what the parts of solve share: settings, right-hand side and report. */
#ifndef KARST_TOOLS_SOLVE_H
#define KARST_TOOLS_SOLVE_H

#include "common.h"
#include "reference.h"
#include "solve_profile.h"
#include "values.h"

#include <math.h>

enum { SOLVE_HINT_SIZE = 512 };

struct solve_settings {
  const char *matrix;
  const char *rhs; /* FILE, ones, Aones or random[:SEED]; NULL: the one that came with the matrix, else ones */
  const char *device;
  const char *history, *solution; /* files to write, or NULL */
  const char *plot, *spy;         /* pictures to draw, or NULL */
  const char *options_file;       /* the last one, or NULL */
  const char *grid;               /* NXxNYxNZ or find; NULL: the one that came with the matrix */
  int block;                      /* 0: the block size in the file's header */
  int threads;                    /* 0: tool_threads() */
  int repeat;                     /* 0: solve once */
  bool negate, stored_triangle, insert_diagonal, exact, reference, profile, json, quiet, monitor, view;
  karst_options *options; /* of the library; the caller destroys them */
};

/* The times of --repeat, in seconds. */
struct solve_repeat {
  double factor, solve; /* medians */
};

struct solve_report {
  const struct solve_settings *settings;
  const char *rhs;      /* which right-hand side it is */
  const char *rhs_file; /* the file it was read from, or "" */
  const char *device;   /* the library's description */
  int threads;
  int64_t rows;         /* without padding */
  int64_t entries;      /* scalars stored in the blocks */
  int64_t file_entries; /* scalars in the file or the problem; entries adds the zeros that fill up the blocks */
  karst_index inserted; /* diagonal blocks of zeros that --insert-diagonal has added */
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

/* Fills settings from the command line. Returns TOOL_GO_ON or an exit status. */
int solve_parse(karst_context *context, int argc, char *argv[], struct solve_settings *settings);

/* Refuses an output file that is another one or an input file, or cannot be written. Returns TOOL_GO_ON or an exit
 * status. */
int solve_check_outputs(const struct solve_settings *settings);

/* Makes the right-hand side that settings name. own: the one that came with the matrix, or NULL. The rows that pad the
 * last block get 0. Sets *text to a description of it, and *file to the file it was read from or "". Both belong to own
 * or settings. */
int solve_rhs(karst_context *context, const struct solve_settings *settings, const karst_matrix *A,
              const karst_vector *own, karst_vector **rhs, const char **text, const char **file);

/* Print what the run did, for readers or for programs. */
void solve_print_text(const struct solve_report *report);
int solve_print_json(const struct solve_report *report);
/* Prints everything that was chosen, for readers. */
int solve_print_view(karst_context *context, const struct solve_report *report);
/* Returns TOOL_GO_ON, or reports an error if this build cannot print JSON. */
int solve_check_json(void);

/* Returns the entries of the factors over those of the file, or NaN if the file has none. */
static inline double solve_fill_file(const struct solve_report *report)
{
  return report->file_entries > 0 ? (double)report->info.factor_entries / (double)report->file_entries : NAN;
}

#endif
