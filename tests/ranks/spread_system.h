/* spread_system.h - a system in one process whose block rows a team's ranks share. */
#ifndef KARST_TESTS_RANKS_SPREAD_SYSTEM_H
#define KARST_TESTS_RANKS_SPREAD_SYSTEM_H

#include "tests/ranks/team.h"

/* The whole system, on the CPU. All ranks read it. */
struct spread {
  karst_context *context;
  karst_matrix *A;
  int64_t n;                        /* scalar rows */
  int b;                            /* block size */
  karst_index first[TEAM_MOST + 1]; /* the first block row of each rank, then their number */
  double *x, *rhs;                  /* [n] */
};

/* Takes over a matrix, and spreads its rows over so many ranks: evenly, or at random, so that ranks may have none. x is
 * random and rhs = A x. */
struct spread spread_of(karst_context *context, karst_matrix *A, int ranks, bool random);
void spread_destroy(struct spread *s);

/* For bodies: the rank's part of the matrix and of a vector of n scalars; and the vector of all ranks, which the caller
 * frees. A step that fails is noted and leaves NULL. */
karst_status spread_matrix(struct team_rank *rank, const struct spread *s, karst_matrix **A);
karst_vector *spread_vector(struct team_rank *rank, const struct spread *s, const double *whole);
double *spread_join(struct team_rank *rank, const struct spread *s, const karst_vector *part);

/* For bodies: options and a solver from pairs of a name and a value, up to a NULL. */
karst_options *spread_options(struct team_rank *rank, const char *const *pairs);
karst_solver *spread_solver(struct team_rank *rank, const char *const *pairs);

#endif
