/* team.h - a transport between threads of the test program, so that ranks are tested without MPI.
 *
 *     static void body(struct team_rank *rank)                  runs on each rank at the same time
 *     {
 *       ... rank->context has the transport; rank->user is what team_run was given ...
 *       team_ok(rank, condition, "what must be true");
 *     }
 *     team_run(3, "cpu", body, NULL, "a product");              prints one test line
 *
 * The functions of tap.h that print are not for bodies, nor is tap_random. A rank that waits for one that has ended, or
 * for one that is in another call, is not left waiting: its call fails, and the test with it. */
#ifndef KARST_TESTS_RANKS_TEAM_H
#define KARST_TESTS_RANKS_TEAM_H

#include "tests/support/failing_allocator.h"

enum { TEAM_MOST = 8 };

struct team_rank {
  struct team *team;
  int rank, ranks;
  karst_context *context;
  void *user;                /* of team_run, the same for all ranks */
  karst_transport transport; /* what the context has a copy of */

  /* Calls are counted from the start of a body, and with team_fail_allocations from the setting of the transport. */
  struct failing_allocator memory; /* of the context; a body may set fail_at */
  long calls, fail_call;           /* of the functions of the transport, from 1; the call with the number fail_call does
                                    * its work and then returns KARST_ERROR_TRANSPORT; 0: none does */
  long gathers, exchanges;         /* of these calls, as many were of gather and of exchange_begin */
  int released;                    /* how often the transport was released */

  int checks, failures;
  char failed[4][256];                       /* the first checks that failed */
  int pending;                               /* transfers that were begun and not ended */
  struct karst_transfer transfer[TEAM_MOST]; /* [pending] */
};

typedef void (*team_body)(struct team_rank *rank);

/* Runs body on 1 to TEAM_MOST ranks at once, each with a context on the device that is one of the ranks. Afterwards the
 * contexts are destroyed. Prints a test line: all checks hold on all ranks, each transport was released once, and no
 * memory is left. */
void team_run(int ranks, const char *device, team_body body, void *user, const char *what);

/* The same on the CPU and, where one is present, on the GPU. */
void team_each_device(int ranks, team_body body, void *user, const char *what);

/* For bodies: notes a condition that must be true, and returns it. */
bool team_ok(struct team_rank *rank, bool condition, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* For bodies: notes that status must be KARST_SUCCESS, and returns whether it is. step: what was done. */
bool team_need(struct team_rank *rank, karst_status status, const char *step);

/* For bodies, on all ranks at once, past the transport: all[r] = own of rank r, bytes each. */
void team_gather(struct team_rank *rank, const void *own, size_t bytes, void *all);

/* For bodies, on all ranks at once: notes that the status is the same on all ranks and, if it is an error, that so is
 * the sentence of the context. Returns the status of rank 0. */
karst_status team_same(struct team_rank *rank, karst_status status);

/* Runs of a function in which one thing fails on one rank, for each rank in turn. In run i for a rank, allocation
 * number 1 + i step fails there, counted from karst_context_set_transport on; runs go on until one makes fewer
 * allocations. run destroys what it makes. In each run the status and the sentence must be the same on all ranks:
 * KARST_ERROR_NO_MEMORY or, in the last, KARST_SUCCESS. Prints two test lines. */
void team_fail_allocations(int ranks, karst_status (*run)(struct team_rank *rank), void *user, int step,
                           const char *what);

#endif
