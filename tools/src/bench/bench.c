/* bench.c - measures kernels, cells of grids or whole solves of one system, against the memory bandwidth and against
 * peers, the solves of a sequence of systems, or batches of tridiagonal systems; the folders kernels/, cells/, solves/,
 * sequence/ and batches/ have a mode each. bench reports figures and does not judge them. */
#include "tools/src/bench/batches/batches.h"
#include "tools/src/bench/cells/cells.h"
#include "tools/src/bench/kernels/bench_kernels.h"
#include "tools/src/bench/sequence/sequence.h"
#include "tools/src/bench/solves/solves.h"
#include "tools/src/peers/peers.h"

#include <stdlib.h>

static const struct bench_mode *const modes[] = {&bench_kernels_mode,
                                                 &bench_correction_mode,
                                                 &bench_grids_mode,
                                                 &bench_solves_mode,
                                                 &bench_sequence_mode,
                                                 &bench_batches_mode,
                                                 NULL};

int main(int argc, char *argv[])
{
  bench_settings settings;
  karst_context *context, *gpu_context = NULL;

  tool_start(argv[0]);
  /* A peer that can use threads has to use one. */
  setenv("OMP_NUM_THREADS", "1", 1);
  setenv("OPENBLAS_NUM_THREADS", "1", 1);
  if (karst_context_create(NULL, &context) || tool_peers_register(context)) return tool_fail_memory("the context");
  int exit_status = bench_settings_parse(context, argc, argv, modes, &settings);
  if (exit_status == TOOL_GO_ON && (karst_context_create(NULL, &gpu_context) || tool_peers_register(gpu_context)))
    exit_status = tool_fail_memory("the GPU's context");
  if (exit_status == TOOL_GO_ON) exit_status = settings.mode->run(context, gpu_context, &settings);
  bench_settings_free(&settings);
  karst_context_destroy(gpu_context);
  karst_context_destroy(context);
  return tool_finish(exit_status);
}
