/* peer.c - talks to a peer (see bench.h) over its standard input and output. */
#include "tools/src/bench/peer.h"

#include <fcntl.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

struct bench_peer {
  pid_t process;
  FILE *to, *from;
  const char *program; /* owned by the caller */
  char name[64];
};

/* Starts program with its standard input and output on two pipes, and keeps the other ends. */
static bool spawn(bench_peer *peer, const bench_case *what, const char *style)
{
  char block[16], level[16], restart[16], iterations[16], rtol[32];
  /* posix_spawn takes no const, but writes nothing to the strings. */
  char *const arguments[] = {(char *)peer->program, (char *)what->matrix, block, level, restart, iterations,
                             style ? rtol : NULL,   (char *)style,        NULL};
  posix_spawn_file_actions_t actions;
  int down[2], up[2];

  snprintf(block, sizeof block, "%d", what->block);
  snprintf(level, sizeof level, "%d", what->level);
  snprintf(restart, sizeof restart, "%d", what->restart);
  snprintf(iterations, sizeof iterations, "%d", what->iterations);
  snprintf(rtol, sizeof rtol, "%.17g", what->rtol);
  if (pipe(down)) return false;
  if (pipe(up)) {
    close(down[0]);
    close(down[1]);
    return false;
  }
  /* A peer that starts later must not keep open the end whose closing stops this one. */
  fcntl(down[1], F_SETFD, FD_CLOEXEC);
  fcntl(up[0], F_SETFD, FD_CLOEXEC);
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, down[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, up[1], STDOUT_FILENO);
  for (int end = 0; end < 2; end++) {
    posix_spawn_file_actions_addclose(&actions, down[end]);
    posix_spawn_file_actions_addclose(&actions, up[end]);
  }
  if (posix_spawnp(&peer->process, peer->program, &actions, NULL, arguments, environ)) peer->process = -1;
  posix_spawn_file_actions_destroy(&actions);
  close(down[0]);
  close(up[1]);
  peer->to = fdopen(down[1], "w");
  peer->from = fdopen(up[0], "r");
  return peer->process > 0 && peer->to && peer->from;
}

bench_peer *bench_peer_start(const char *program, const bench_case *what, const char *style)
{
  bench_peer *peer = calloc(1, sizeof *peer);

  if (!peer) {
    tool_fail_memory("the peer");
    return NULL;
  }
  peer->program = program;
  const bool started = spawn(peer, what, style);
  if (started && fgets(peer->name, sizeof peer->name, peer->from)) {
    peer->name[strcspn(peer->name, "\n")] = '\0';
    return peer;
  }
  tool_fail(TOOL_FAILED, started ? "the peer %s ended on %s before its first answer" : "cannot start the peer %s on %s",
            program, what->matrix);
  bench_peer_stop(peer);
  return NULL;
}

const char *bench_peer_name(const bench_peer *peer) { return peer->name; }

/* Requests a repetition: the answer has the first answered of count values, and the others are no numbers. */
static bool request(bench_peer *peer, int answered, int count, double *value)
{
  bool whole = fputc('\n', peer->to) != EOF && fflush(peer->to) == 0;

  for (int i = 0; whole && i < answered; i++) whole = fscanf(peer->from, "%lf", &value[i]) == 1;
  for (int i = answered; i < count; i++) value[i] = NAN;
  if (!whole) tool_fail(TOOL_FAILED, "the peer %s stopped answering", peer->program);
  return whole;
}

bool bench_peer_sample(bench_peer *peer, bench_sample *sample)
{
  return request(peer, BENCH_PEER_QUANTITIES, BENCH_QUANTITIES, sample->value);
}

bool bench_peer_solve(bench_peer *peer, double value[BENCH_SOLVE_QUANTITIES])
{
  return request(peer, BENCH_PEER_SOLVE_QUANTITIES, BENCH_SOLVE_QUANTITIES, value);
}

void bench_peer_stop(bench_peer *peer)
{
  if (!peer) return;
  if (peer->to) fclose(peer->to); /* ends the peer's input */
  if (peer->from) fclose(peer->from);
  if (peer->process > 0) waitpid(peer->process, NULL, 0);
  free(peer);
}
