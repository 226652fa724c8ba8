/* peers.c - reads the option --peer of bench: programs that time other libraries. */
#include "tools/src/bench/bench_settings.h"
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_HYPRE
enum { HAS_HYPRE = true };
#else
enum { HAS_HYPRE = false };
#endif
#ifdef HAVE_PETSC
enum { HAS_PETSC = true };
#else
enum { HAS_PETSC = false };
#endif

/* Takes the program's path, or for a short name the program beside bench. */
static int find_program(bench_settings *settings, const char *word, const char **program)
{
  static const struct {
    const char *name, *file;
    bool built;
  } known[] = {{"hypre", "bench_hypre", HAS_HYPRE}, {"petsc", "bench_petsc", HAS_PETSC}};

  *program = word;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    if (strcmp(word, known[i].name) != 0) continue;
    if (!known[i].built)
      return tool_fail(TOOL_FAILED, "--peer %s: not in this build; configure --with-%s builds tools/%s", word, word,
                       known[i].file);
    const char *slash = strrchr(settings->program, '/');
    const int folder = slash ? (int)(slash + 1 - settings->program) : 0;
    char *path = settings->peer_path[settings->peers];
    snprintf(path, sizeof settings->peer_path[0], "%.*s%s", folder, settings->program, known[i].file);
    *program = path;
  }
  return TOOL_GO_ON;
}

int bench_peers_parse(bench_settings *settings)
{
  const int most = settings->solves ? BENCH_PEERS : 1;

  if (!settings->peer) return TOOL_GO_ON;
  settings->peer_text = strdup(settings->peer);
  if (!settings->peer_text) return tool_fail_memory("the list of peers");
  char *rest = settings->peer_text;
  for (char *word; (word = strsep(&rest, ","));) {
    if (settings->peers == most)
      return tool_fail(TOOL_FAILED, "--peer: at most %d programs %s --solves", most,
                       settings->solves ? "with" : "without");
    const char *program = settings->solves ? strsep(&word, ":") : word;
    settings->peer_style[settings->peers] = settings->solves && word ? word : "default";
    const int exit_status = find_program(settings, program, &settings->peer_program[settings->peers]);
    if (exit_status != TOOL_GO_ON) return exit_status;
    settings->peers++;
  }
  return TOOL_GO_ON;
}
