/* kernels.c - measures ILU(k) and GMRES(m) on one system, against the memory bandwidth and against a peer.
 *
 * The variants (Karst on each number of threads, on the GPU with and without cuSPARSE, and the peer) run in turn, so
 * that a drift of the machine's speed affects all of them equally. Each figure is the median of its repetitions. */
#include "tools/src/bench/kernels/bench_kernels.h"
#include "tools/src/bench/peer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bench_sample median(int count, const bench_sample *sample)
{
  double sorted[BENCH_REPEATS] = {0};
  bench_sample middle;

  for (int q = 0; q < BENCH_QUANTITIES; q++) {
    bool measured = true; /* false if a repetition is missing, and so is the median */
    for (int i = 0; i < count; i++) {
      sorted[i] = sample[i].value[q];
      measured = measured && isfinite(sorted[i]);
    }
    middle.value[q] = measured ? tool_median(count, sorted) : NAN;
  }
  return middle;
}

static bench_variant *add_variant(bench_result *result, bench_place *place, const char *precond, int threads)
{
  bench_variant *variant = &result->variant[result->variants++];
  *variant = (bench_variant){.place = place, .precond = precond, .threads = threads};
  return variant;
}

/* Adds a variant like the last one, in the order of the case, if there is one. where: threads or device. */
static void add_reordered(bench_result *result, const char *where)
{
  const bench_variant *natural = &result->variant[result->variants - 1];

  if (!result->what.ordering) return;
  bench_variant *variant = add_variant(result, natural->place, natural->precond, natural->threads);
  variant->reordered = true;
  variant->copy = natural->copy;
  variant->triad = natural->triad;
  snprintf(variant->name, sizeof variant->name, "karst %s, %s", result->what.ordering, where);
}

/* Adds a variant for each number of threads and measures its bandwidth. */
static int add_cpu(const bench_settings *settings, bench_place *place, bench_result *result)
{
  const int64_t length = settings->quick ? 1 << 20 : 1 << 24; /* 8 or 128 MiB an array */
  char where[32];

  for (int t = 0; t < settings->thread_counts; t++) {
    bench_variant *variant =
        add_variant(result, place, tool_option_text(result->what.options, "precond"), settings->threads[t]);
    snprintf(where, sizeof where, "%d thread%s", variant->threads, variant->threads > 1 ? "s" : "");
    snprintf(variant->name, sizeof variant->name, "karst, %s", where);
    karst_status status = karst_context_set_threads(place->context, variant->threads);
    if (status) return tool_fail_library(place->context, status);
    if (!bench_stream(variant->threads, length, &variant->copy, &variant->triad))
      return tool_fail_memory("the arrays that measure the bandwidth");
    add_reordered(result, where);
  }
  return TOOL_GO_ON;
}

/* Adds Karst and cuSPARSE. The pattern half runs on all processors of the host. */
static int add_gpu(bench_place *place, bench_result *result)
{
  const int threads = strstr(karst_build_features(), "OpenMP") ? tool_threads() : 1;
  const double copy = bench_gpu_copy(place->gpu);

  if (copy == 0) return tool_fail_memory("the arrays in device memory that measure the bandwidth");
  result->cache = bench_gpu_cache(place->gpu);
  bench_variant *own = add_variant(result, place, tool_option_text(result->what.options, "precond"), threads);
  snprintf(own->name, sizeof own->name, "karst, cuda");
  own->copy = copy;
  add_reordered(result, "cuda");
  if (!place->product) return TOOL_GO_ON;
  bench_variant *peer = add_variant(result, place, "cusparse", threads);
  snprintf(peer->name, sizeof peer->name, "%s", bench_product_name(place->product));
  peer->copy = copy;
  peer->is_peer = true;
  return TOOL_GO_ON;
}

/* Runs repetition r of each variant in turn. On a GPU a repetition -1 comes first, which loads kernels and opens
 * libraries. */
static int run_repetition(bench_peer *peer, bench_result *result, int r,
                          bench_sample sample[BENCH_VARIANTS][BENCH_REPEATS])
{
  for (int v = 0; v < result->variants; v++) {
    bench_variant *variant = &result->variant[v];
    bench_sample *taken = &sample[v][r < 0 ? 0 : r];
    if (r < 0 && (!variant->place || !variant->place->gpu)) continue;
    if (!variant->place && !bench_peer_sample(peer, taken)) return TOOL_FAILED;
    if (!variant->place) continue;
    karst_status status = bench_karst(&result->what, variant, taken);
    if (status) return tool_fail_library(variant->place->context, status);
  }
  return TOOL_GO_ON;
}

static int measure_variants(bench_peer *peer, bench_result *result)
{
  static bench_sample sample[BENCH_VARIANTS][BENCH_REPEATS];
  const karst_matrix *A = result->variant[0].place->A;

  for (int v = 0; v < result->variants; v++) {
    bench_variant *variant = &result->variant[v];
    karst_status status = variant->place ? bench_karst_precond(&result->what, variant) : KARST_SUCCESS;
    if (status) return tool_fail_library(variant->place->context, status);
  }
  for (int r = result->cache > 0 ? -1 : 0; r < result->repeat; r++) {
    int exit_status = run_repetition(peer, result, r, sample);
    if (exit_status != TOOL_GO_ON) return exit_status;
  }
  for (int v = 0; v < result->variants; v++) result->variant[v].median = median(result->repeat, sample[v]);
  result->rows = karst_matrix_rows(A);
  result->block_size = karst_matrix_block_size(A);
  result->blocks = karst_matrix_blocks(A);
  result->factor_entries = result->variant[0].info.factor_entries;
  result->traffic = bench_traffic_of(A, result->factor_entries, &result->what);
  for (int v = 0; v < result->variants; v++) {
    bench_variant *variant = &result->variant[v];
    variant->traffic =
        variant->reordered ? bench_traffic_of(A, variant->info.factor_entries, &result->what) : result->traffic;
  }
  return TOOL_GO_ON;
}

static int run_case(const bench_settings *settings, bench_place *cpu, bench_place *gpu, bench_result *result)
{
  bench_peer *peer = NULL;
  int exit_status = TOOL_GO_ON;

  if (settings->peers) {
    peer = bench_peer_start(settings->peer_program[0], &result->what, NULL);
    if (!peer) return TOOL_FAILED;
  }
  if (cpu) exit_status = add_cpu(settings, cpu, result);
  if (gpu && exit_status == TOOL_GO_ON) exit_status = add_gpu(gpu, result);
  if (peer) {
    bench_variant *variant = add_variant(result, NULL, NULL, 1);
    snprintf(variant->name, sizeof variant->name, "%s", bench_peer_name(peer));
    variant->is_peer = true;
  }
  if (exit_status == TOOL_GO_ON) exit_status = measure_variants(peer, result);
  bench_peer_stop(peer);
  if (exit_status == TOOL_GO_ON && !settings->json) bench_report_table(result);
  if (exit_status == TOOL_GO_ON && settings->json && !bench_report_json(result))
    exit_status = tool_fail(TOOL_FAILED, "--json needs jansson, but this build was configured without it");
  for (int v = 0; v < result->variants; v++) bench_karst_precond_close(&result->variant[v]);
  fflush(stdout);
  return exit_status;
}

/* Makes the cases to time: each preconditioner, at each level where it has levels. Measures the peak memory before this
 * process has grown. */
static int make_cases(const bench_settings *settings, bench_result *result, int *cases)
{
  *cases = 0;
  for (int w = 0; w < settings->ways; w++) {
    const bench_way *way = &settings->way[w];
    const int levels = bench_has_level(way->options) ? settings->levels : 1;
    for (int l = 0; l < levels; l++) {
      bench_result *next = &result[(*cases)++];
      *next = (bench_result){.what = {settings->matrix, settings->block, settings->level[l], settings->restart,
                                      settings->iterations, settings->rtol, way->name, way->options, settings->negate,
                                      settings->ordering, settings->tile_size},
                             .repeat = settings->repeat};
      int exit_status = settings->cpu ? bench_karst_peak_memory(&next->what, &next->peak_memory) : TOOL_GO_ON;
      if (exit_status != TOOL_GO_ON) return exit_status;
    }
  }
  return TOOL_GO_ON;
}

/* Loads the system onto the GPU, with cuSPARSE's product. */
static int open_gpu(karst_context *context, const bench_case *what, bench_place *place)
{
  const karst_status status = karst_context_set_device(context, "cuda");
  if (status) return tool_fail_library(context, status);
  const int exit_status = bench_place_open(context, what, true, place);
  if (exit_status == TOOL_GO_ON) place->product = bench_product_open(context, place->A, place->gpu);
  return exit_status;
}

/* Makes the contexts of the places that are open ready for systems in another order. */
static int prepare_orders(const bench_place *cpu, const bench_place *gpu)
{
  const bench_place *const place[BENCH_PLACES] = {cpu, gpu};

  for (int p = 0; p < BENCH_PLACES; p++) {
    karst_context *context = place[p]->context;
    const karst_status status = context ? bench_order_register(context) : KARST_SUCCESS;
    if (status) return tool_fail_library(context, status);
  }
  return TOOL_GO_ON;
}

static int run_cases(karst_context *cpu_context, karst_context *gpu_context, const bench_settings *settings)
{
  static bench_result result[BENCH_WAYS * BENCH_LIST];
  bench_place cpu = {.context = NULL}, gpu = {.context = NULL};
  int cases;

  int exit_status = make_cases(settings, result, &cases);
  if (exit_status != TOOL_GO_ON) return exit_status;
  bench_keep_memory();
  if (settings->gpu) exit_status = open_gpu(gpu_context, &result[0].what, &gpu);
  if (settings->cpu && exit_status == TOOL_GO_ON)
    exit_status = bench_place_open(cpu_context, &result[0].what, false, &cpu);
  if (settings->ordering && exit_status == TOOL_GO_ON) exit_status = prepare_orders(&cpu, &gpu);
  for (int c = 0; c < cases && exit_status == TOOL_GO_ON; c++)
    exit_status = run_case(settings, settings->cpu ? &cpu : NULL, settings->gpu ? &gpu : NULL, &result[c]);
  bench_place_close(&cpu);
  bench_place_close(&gpu);
  return exit_status == TOOL_GO_ON ? TOOL_YES : exit_status;
}

const struct bench_mode bench_kernels_mode = {.check = bench_order_parse, .run = run_cases};
