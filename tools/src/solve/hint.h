/* hint.h - what to try after a solve that has failed or was slow, from how it ended, the options and the matrix. */
#ifndef KARST_TOOLS_SRC_SOLVE_HINT_H
#define KARST_TOOLS_SRC_SOLVE_HINT_H

#include "tools/src/common/common.h"

enum { SOLVE_HINT_SIZE = 512 };

/* What a hint is drawn from. */
struct hint_case {
  karst_context *context;
  const karst_options *given, *options; /* by the user, and in effect */
  const karst_matrix *A;
  const karst_vector *b;
  const karst_result *result;
  bool singular; /* a direct solver has found A singular */
  bool regular;  /* or has solved with it */
  bool stored;   /* A is the triangle that a file stores, because of --stored-triangle */
  bool balanced; /* cpr has balanced the rows of its pressure matrix */
  bool negated;  /* A is -1 times what the user has, because of --negate */
};

/* Writes one line on what to try, or "" where nothing is known that may help. The command's options are named, with
 * values that differ from those of the case. It looks at the values of the matrix. */
void hint_find(const struct hint_case *solve, char hint[SOLVE_HINT_SIZE]);

/* What to try if a preconditioner refuses A because diagonal blocks are missing; "" if none is. stored: as above. */
void hint_for_refusal(karst_context *context, const karst_matrix *A, bool stored, char hint[SOLVE_HINT_SIZE]);

#endif
