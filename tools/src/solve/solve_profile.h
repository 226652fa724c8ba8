/* solve_profile.h - the time by operation, for --profile: how it is measured and reported. */
#ifndef KARST_TOOLS_SRC_SOLVE_SOLVE_PROFILE_H
#define KARST_TOOLS_SRC_SOLVE_SOLVE_PROFILE_H

#include "tools/src/common/common.h"

enum { SOLVE_OPERATIONS = 128 };

struct solve_operation {
  char name[80];
  long long calls;
  double seconds, bytes; /* see karst_profile */
};

struct solve_profile {
  double copy; /* bytes read and written a second by a copy of a long vector; 0: there was no memory for one */
  double time_update, time_solve; /* seconds of what was profiled */
  int iterations;
  int count;
  struct solve_operation operation[SOLVE_OPERATIONS]; /* the longest first */
  int kernels;                                        /* 0 on the CPU, and where they cannot be recorded */
  struct solve_operation kernel[SOLVE_OPERATIONS];    /* of a GPU, without bytes */
};

/* Updates the solver once more and solves A x = b from zero with an x of its own, on a GPU again for its kernels, and
 * fills the profile. The solver keeps no monitor. Returns TOOL_GO_ON or an exit status. */
int solve_take_profile(karst_context *context, karst_solver *solver, const karst_vector *b,
                       struct solve_profile *profile);
/* Prints the profile as a table. undisturbed: seconds of an update and a solve without a profile. */
void solve_print_profile(const struct solve_profile *profile, double undisturbed);

/* Bytes a second of an operation, and that over a copy's; a NaN where one of them is not known. */
double solve_bandwidth(const struct solve_operation *operation);
double solve_copy_share(const struct solve_profile *profile, const struct solve_operation *operation);

#endif
