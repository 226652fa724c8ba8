/* peer.h - bench's end of the protocol of a peer; see bench.h. */
#ifndef KARST_TOOLS_SRC_BENCH_PEER_H
#define KARST_TOOLS_SRC_BENCH_PEER_H

#include "tools/src/bench/bench.h"

typedef struct bench_peer bench_peer;
/* Starts program on a case and waits until it has the matrix; style is NULL, or what follows RTOL. On failure it prints
 * a sentence on standard error and returns NULL. */
bench_peer *bench_peer_start(const char *program, const bench_case *what, const char *style);
const char *bench_peer_name(const bench_peer *peer);
bool bench_peer_sample(bench_peer *peer, bench_sample *sample);
bool bench_peer_solve(bench_peer *peer, double value[BENCH_SOLVE_QUANTITIES]);
void bench_peer_stop(bench_peer *peer);

#endif
