/* solve_settings.h - the settings of a run of solve. */
#ifndef KARST_TOOLS_SRC_SOLVE_SOLVE_SETTINGS_H
#define KARST_TOOLS_SRC_SOLVE_SOLVE_SETTINGS_H

#include "tools/src/common/common.h"

struct solve_settings {
  const char *matrix;
  const char *rhs; /* FILE, ones, Aones or random[:SEED]; NULL: the one that came with the matrix, else ones */
  const char *device;
  const char *history, *solution; /* files to write, or NULL */
  const char *plot, *spy;         /* pictures to draw, or NULL */
  const char *options_file;       /* the last one, or NULL */
  const char *duplicates;         /* sum or refuse; NULL: the library's default */
  const char *grid;               /* NXxNYxNZ or find; NULL: the one that came with the matrix */
  const char *actnum;             /* the file of its active cells; NULL: all are */
  const char *partition;          /* even, metis or FILE; NULL: the default of --ranks */
  int block;                      /* 0: the block size in the file's header */
  int threads;                    /* 0: tool_threads() */
  int repeat;                     /* 0: solve once */
  bool negate, stored_triangle, insert_diagonal, exact, reference, profile, json, quiet, monitor, view, ranks;
  karst_options *options; /* of the library; the caller destroys them */
};

/* Fills settings from the command line. Returns TOOL_GO_ON or an exit status. */
int solve_parse(karst_context *context, int argc, char *argv[], struct solve_settings *settings);

/* Refuses an output file that is another one or an input file, or cannot be written. Returns TOOL_GO_ON or an exit
 * status. */
int solve_check_outputs(const struct solve_settings *settings);

/* Whether a right-hand side, of --rhs or NULL, takes no file of its own. */
bool solve_rhs_needs_no_file(const char *text);
/* Makes the right-hand side that settings name, of a distributed matrix this rank's part. own: the one that came
 * with the matrix, or NULL. The rows that pad the last block get 0. Sets *text to a description of it, and *file to the
 * file it was read from or "". Both belong to own or settings. */
int solve_rhs(karst_context *context, const struct solve_settings *settings, const karst_matrix *A,
              const karst_vector *own, karst_vector **rhs, const char **text, const char **file);

#endif
