/* solve_parts.h - with --ranks: which rank has which block rows of a system, and how vectors come back to rank 0. */
#ifndef KARST_TOOLS_SRC_SOLVE_SOLVE_PARTS_H
#define KARST_TOOLS_SRC_SOLVE_SOLVE_PARTS_H

#include "tools/src/solve/solve_report.h"

/* A system as it was made: each rank has rows of its own, or rank 0 has all. */
struct parts_system {
  karst_matrix *A; /* distributed */
  karst_vector *b;
  bool on_root;
};

/* How the block rows have moved. It belongs to a context and is destroyed before that. */
struct parts {
  karst_index first, rows; /* of this rank, as the system was made */
  int block_size;
  karst_redistribution *placed; /* from the system as it was made to the parts; NULL: they stayed */
  karst_redistribution *home;   /* from the system as it was made to rank 0; NULL: not found yet, or they were there */
  bool on_root;                 /* they were there */
};

/* All functions that return an int report their own errors, and return TOOL_GO_ON or an exit status, the same on all
 * ranks. */

/* Whether each rank can generate its own rows of the system that the settings name. */
bool parts_generates(const struct solve_settings *settings);
/* Generates each rank's rows, and fills the report with what describes the whole system. own: the right-hand side of
 * the problem, which stays the caller's. */
int parts_generate(karst_context *context, struct solve_report *report, karst_vector **own, struct parts_system *made);
/* Makes a distributed system of one that rank 0 has in its own context; A and b are NULL on the others. */
int parts_take(karst_context *context, const karst_matrix *A, const karst_vector *b, struct parts_system *made);
/* Moves the rows to their parts. The system as it was made is destroyed. */
int parts_place(karst_context *context, struct solve_report *report, struct parts_system *made, struct parts *parts,
                karst_matrix **A, karst_vector **b);
/* Makes the whole of a vector on rank 0, in the order in which the system was made; on the others an empty one. */
int parts_bring_home(karst_context *context, struct parts *parts, const karst_vector *x, karst_vector **whole);
/* Turns the number of a block row of A, the same on all ranks, into that which it had as the system was made. */
int parts_row_as_made(karst_context *context, const struct parts *parts, const karst_matrix *A, karst_index *row);
void parts_release(struct parts *parts);
void parts_release_system(struct parts_system *made);

#endif
