/* bench.c - how long ILU(k) and GMRES(m) take on one system, against the memory's bandwidth and against a peer.
 *
 * Repetitions of Karst on each number of threads, on the GPU with and without cuSPARSE, and of the peer run in turn,
 * and each figure is the median of its repetitions, so that a machine whose speed drifts treats all alike. bench
 * reports; it judges nothing. */
#include "bench.h"
#include "cusparse.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPEATS = 100, ITERATIONS = 1000000 };

typedef struct bench_settings {
  const char *matrix;
  const char *level_text, *threads_text, *device;
  int level[BENCH_LIST], levels;
  int threads[BENCH_LIST], thread_counts;
  int block, restart, iterations, repeat;
  double rtol;
  bool cpu, gpu;
  const char *peer, *set;
  karst_options *options;
  bool quick, json;
} bench_settings;

static int parse_list(const char *what, const char *text, long long minimum, int *number, int *count)
{
  char word[16];
  long long value;

  for (*count = 0; *count < BENCH_LIST; (*count)++) {
    const size_t length = strcspn(text, ",");
    snprintf(word, sizeof word, "%.*s", (int)length, text);
    if (!tool_integer(word, minimum, 1024, &value)) break;
    number[*count] = (int)value;
    if (!text[length]) {
      (*count)++;
      return TOOL_GO_ON;
    }
    text += length + 1;
  }
  return tool_fail(TOOL_FAILED, "--%s: not a list of 1 to %d numbers from %lld on, such as 1,2", what, BENCH_LIST,
                   minimum);
}

static int parse_device(bench_settings *settings)
{
  settings->cpu = strcmp(settings->device, "cpu") == 0 || strcmp(settings->device, "cpu,cuda") == 0;
  settings->gpu = strcmp(settings->device, "cuda") == 0 || strcmp(settings->device, "cpu,cuda") == 0;
  if (settings->cpu || settings->gpu) return TOOL_GO_ON;
  return tool_fail(TOOL_FAILED, "--device takes cpu, cuda or cpu,cuda, not '%s'", settings->device);
}

/* Whether an option of Karst is bench's own business: the kernels are timed on the matrix as it is. */
static bool is_fixed(const char *name)
{
  static const char *const fixed[] = {"solver", "max-iterations", "max_iterations", "atol", "ordering", "scale", NULL};
  for (size_t i = 0; fixed[i]; i++)
    if (strcmp(fixed[i], name) == 0) return true;
  return false;
}

/* NAME=VALUE,... into the options of Karst; the tool's own options are not among them. */
static int parse_set(karst_context *context, const struct tool_option *own, bench_settings *settings)
{
  char text[1024], *rest = text;

  karst_status status = karst_options_create(context, &settings->options);
  if (status) return tool_fail_library(context, status);
  if (!settings->set) return TOOL_GO_ON;
  if (snprintf(text, sizeof text, "%s", settings->set) >= (int)sizeof text)
    return tool_fail(TOOL_FAILED, "--set: more than %d characters", (int)sizeof text - 1);
  for (char *name; (name = strsep(&rest, ","));) {
    char *value = strchr(name, '=');
    if (!value) return tool_fail(TOOL_FAILED, "--set takes NAME=VALUE,..., not '%s'", settings->set);
    *value++ = '\0';
    for (const struct tool_option *option = own; option->info.name; option++)
      if (strcmp(option->info.name, name) == 0) return tool_fail(TOOL_FAILED, "--set %s: it is --%s", name, name);
    if (is_fixed(name)) return tool_fail(TOOL_FAILED, "--set %s: what is timed leaves no choice", name);
    status = karst_options_set(settings->options, name, value);
    const char *why = status ? tool_cusparse_explain(name, value) : NULL;
    if (why) return tool_fail(TOOL_FAILED, "--set %s=%s: %s", name, value, why);
    if (status) return tool_fail_library(context, status);
  }
  return TOOL_GO_ON;
}

/* What --help says first; the options for experiments are listed nowhere else. */
static const char *about(const karst_context *context)
{
  static char text[2048];
  karst_option_info info;
  size_t used = (size_t)snprintf(
      text, sizeof text, "%s",
      "Times set-up, iterations and kernels of ILU(k) and GMRES(m). MATRIX is a file or NAME:SIZES from the\n"
      "gallery, such as poisson3d:120x120x120. doc/benchmarks.md explains the tables. --set takes the options\n"
      "of solve but for solver, max-iterations, atol, ordering and scale, and these for experiments:\n");
  for (size_t i = 0; karst_options_info(context, i, &info) && used < sizeof text; i++)
    if (info.experiment)
      used += (size_t)snprintf(text + used, sizeof text - used, "\n  %-13s %-24s %s [%s]", info.name, info.value,
                               info.help, info.default_value);
  return text;
}

static int parse(karst_context *context, int argc, char *argv[], bench_settings *settings)
{
  const struct tool_option options[] = {
      {{"level", "K,...", "0,1", "fill levels k of ILU(k), one table each"},
       TOOL_TEXT,
       {.text = &settings->level_text}},
      {{"block", "B", "", "block size, where it is not to be the problem's own"},
       TOOL_COUNT,
       {.count = &settings->block}},
      {{"device", "cpu|cuda|cpu,cuda", "cpu", "where to run; on cuda, cuSPARSE runs in turn with Karst"},
       TOOL_TEXT,
       {.text = &settings->device}},
      {{"threads", "T,...", "1,2", "numbers of threads of Karst on the CPU"},
       TOOL_TEXT,
       {.text = &settings->threads_text}},
      {{"restart", "M", "20", "m of GMRES(m)"}, TOOL_COUNT, {.count = &settings->restart}},
      {{"iterations", "N", "60", "iterations to time"}, TOOL_COUNT, {.count = &settings->iterations}},
      {{"repeat", "N", "3", "repetitions, of which the median counts"}, TOOL_COUNT, {.count = &settings->repeat}},
      {{"rtol", "R", "", "time whole solves too, by gmres and bicgstab, to this relative residual"},
       TOOL_REAL,
       {.real = &settings->rtol}},
      {{"set", "NAME=VALUE,...", "", "other options of Karst, such as precond=parilu,sweeps=3"},
       TOOL_TEXT,
       {.text = &settings->set}},
      {{"peer", "PROGRAM", "", "a program that times another library, such as tools/bench_petsc"},
       TOOL_TEXT,
       {.text = &settings->peer}},
      {{"quick", "", "", "one repetition of 5 iterations, for a first look"}, TOOL_SWITCH, {.flag = &settings->quick}},
      {{"json", "", "", "a line of JSON for each program and number of threads"},
       TOOL_SWITCH,
       {.flag = &settings->json}},
      {.info = {.name = NULL}},
  };
  const struct tool_command command = {
      .about = about(context),
      .operand_names = "MATRIX",
      .operand_count = 1,
      .operand = &settings->matrix,
      .options = options,
      .gallery = true,
      .exit_statuses = "exit status: 0 measured, 2 bad input or usage, 3 the device cannot be had",
  };

  *settings = (bench_settings){
      .level_text = "0,1", .threads_text = "1,2", .device = "cpu", .restart = 20, .iterations = 60, .repeat = 3};
  int exit_status = tool_parse(context, &command, argc, argv);
  if (exit_status != TOOL_GO_ON) return exit_status;
  exit_status = parse_device(settings);
  if (exit_status == TOOL_GO_ON) exit_status = parse_set(context, options, settings);
  if (exit_status == TOOL_GO_ON)
    exit_status = parse_list("level", settings->level_text, 0, settings->level, &settings->levels);
  if (exit_status != TOOL_GO_ON) return exit_status;
  if (settings->iterations > ITERATIONS || settings->restart > ITERATIONS)
    return tool_fail(TOOL_FAILED, "--iterations, --restart: at most %d", ITERATIONS);
  if (settings->repeat > REPEATS) return tool_fail(TOOL_FAILED, "--repeat: at most %d", REPEATS);
  if (settings->quick) {
    settings->repeat = 1;
    settings->iterations = 5;
  }
  return parse_list("threads", settings->threads_text, 1, settings->threads, &settings->thread_counts);
}

static int compare_doubles(const void *a, const void *b)
{
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static bench_sample median(int count, const bench_sample *sample)
{
  double sorted[REPEATS] = {0};
  bench_sample middle;

  for (int q = 0; q < BENCH_QUANTITIES; q++) {
    bool measured = true; /* each time, or there is no median */
    for (int i = 0; i < count; i++) {
      sorted[i] = sample[i].value[q];
      measured = measured && isfinite(sorted[i]);
    }
    qsort(sorted, (size_t)count, sizeof *sorted, compare_doubles);
    middle.value[q] = measured ? 0.5 * (sorted[(count - 1) / 2] + sorted[count / 2]) : NAN;
  }
  return middle;
}

/* The system on a device that the context is already on. */
static int open_place(karst_context *context, const bench_case *what, bool gpu, bench_place *place)
{
  *place = (bench_place){.context = context};
  int exit_status = bench_system_load(context, what, &place->A, &place->b);
  if (exit_status != TOOL_GO_ON) return exit_status;
  karst_status status = karst_vector_create(context, karst_matrix_rows(place->A), &place->x);
  if (status) return tool_fail_library(context, status);
  if (gpu) exit_status = bench_gpu_open(context, &place->gpu);
  if (gpu && exit_status == TOOL_GO_ON) place->product = bench_product_open(context, place->A, place->gpu);
  return exit_status;
}

/* Also what a failed open_place has left. */
static void close_place(bench_place *place)
{
  bench_product_close(place->product);
  bench_gpu_close(place->gpu);
  karst_vector_destroy(place->x);
  karst_vector_destroy(place->b);
  karst_matrix_destroy(place->A);
}

static bench_variant *add_variant(bench_result *result, bench_place *place, const char *precond, int threads)
{
  bench_variant *variant = &result->variant[result->variants++];
  *variant = (bench_variant){.place = place, .precond = precond, .threads = threads};
  return variant;
}

/* A variant for each number of threads, with its bandwidth. */
static int add_cpu(const bench_settings *settings, bench_place *place, bench_result *result)
{
  const int64_t length = settings->quick ? 1 << 20 : 1 << 24; /* 8 or 128 MiB an array */

  for (int t = 0; t < settings->thread_counts; t++) {
    bench_variant *variant =
        add_variant(result, place, tool_option_text(settings->options, "precond"), settings->threads[t]);
    snprintf(variant->name, sizeof variant->name, "karst, %d thread%s", variant->threads,
             variant->threads > 1 ? "s" : "");
    karst_status status = karst_context_set_threads(place->context, variant->threads);
    if (status) return tool_fail_library(place->context, status);
    if (!bench_stream(variant->threads, length, &variant->copy, &variant->triad))
      return tool_fail_memory("the arrays that measure the bandwidth");
  }
  return TOOL_GO_ON;
}

/* Karst and cuSPARSE; the pattern half runs on all processors of the host. */
static int add_gpu(bench_place *place, bench_result *result)
{
  const int threads = strstr(karst_build_features(), "OpenMP") ? tool_threads() : 1;
  const double copy = bench_gpu_copy(place->gpu);

  if (copy == 0) return tool_fail_memory("the arrays in device memory that measure the bandwidth");
  result->cache = bench_gpu_cache(place->gpu);
  bench_variant *own = add_variant(result, place, tool_option_text(result->what.options, "precond"), threads);
  snprintf(own->name, sizeof own->name, "karst, cuda");
  own->copy = copy;
  if (!place->product) return TOOL_GO_ON;
  bench_variant *peer = add_variant(result, place, "cusparse", threads);
  snprintf(peer->name, sizeof peer->name, "%s", bench_product_name(place->product));
  peer->copy = copy;
  peer->is_peer = true;
  return TOOL_GO_ON;
}

/* Repetition number r of each variant, one after the other. On a GPU there is one with number -1 before the others, in
 * which kernels are loaded and libraries opened. */
static int repeat(bench_peer *peer, bench_result *result, int r, bench_sample sample[BENCH_VARIANTS][REPEATS])
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

static int measure(bench_peer *peer, bench_result *result)
{
  static bench_sample sample[BENCH_VARIANTS][REPEATS];
  const karst_matrix *A = result->variant[0].place->A;

  for (int v = 0; v < result->variants; v++) {
    bench_variant *variant = &result->variant[v];
    karst_status status = variant->place ? bench_karst_precond(&result->what, variant) : KARST_SUCCESS;
    if (status) return tool_fail_library(variant->place->context, status);
  }
  for (int r = result->cache > 0 ? -1 : 0; r < result->repeat; r++) {
    int exit_status = repeat(peer, result, r, sample);
    if (exit_status != TOOL_GO_ON) return exit_status;
  }
  for (int v = 0; v < result->variants; v++) result->variant[v].median = median(result->repeat, sample[v]);
  result->rows = karst_matrix_rows(A);
  result->block_size = karst_matrix_block_size(A);
  result->blocks = karst_matrix_blocks(A);
  result->factor_entries = result->variant[0].info.factor_entries;
  result->traffic = bench_traffic_of(A, result->factor_entries, result->what.restart);
  return TOOL_GO_ON;
}

static int run_level(const bench_settings *settings, bench_place *cpu, bench_place *gpu, bench_result *result)
{
  bench_peer *peer = NULL;
  int exit_status = TOOL_GO_ON;

  if (settings->peer) {
    peer = bench_peer_start(settings->peer, &result->what);
    if (!peer) return TOOL_FAILED;
  }
  if (cpu) exit_status = add_cpu(settings, cpu, result);
  if (gpu && exit_status == TOOL_GO_ON) exit_status = add_gpu(gpu, result);
  if (peer) {
    bench_variant *variant = add_variant(result, NULL, NULL, 1);
    snprintf(variant->name, sizeof variant->name, "%s", bench_peer_name(peer));
    variant->is_peer = true;
  }
  if (exit_status == TOOL_GO_ON) exit_status = measure(peer, result);
  bench_peer_stop(peer);
  for (int v = 0; v < result->variants; v++) karst_precond_destroy(result->variant[v].M);
  if (exit_status != TOOL_GO_ON) return exit_status;
  if (!settings->json) {
    bench_report_table(result);
  } else if (!bench_report_json(result)) {
    return tool_fail(TOOL_FAILED, "--json: built without jansson");
  }
  fflush(stdout);
  return TOOL_GO_ON;
}

/* What is to be timed at each level; peak memory before this process has grown. */
static int make_cases(const bench_settings *settings, bench_result *result)
{
  for (int l = 0; l < settings->levels; l++) {
    result[l] = (bench_result){.what = {settings->matrix, settings->block, settings->level[l], settings->restart,
                                        settings->iterations, settings->rtol, settings->options},
                               .repeat = settings->repeat};
    int exit_status = settings->cpu ? bench_karst_peak_memory(&result[l].what, &result[l].peak_memory) : TOOL_GO_ON;
    if (exit_status != TOOL_GO_ON) return exit_status;
  }
  return TOOL_GO_ON;
}

static int run(karst_context *cpu_context, karst_context *gpu_context, const bench_settings *settings)
{
  bench_result result[BENCH_LIST];
  bench_place cpu = {.context = NULL}, gpu = {.context = NULL};

  int exit_status = make_cases(settings, result);
  if (exit_status != TOOL_GO_ON) return exit_status;
  bench_keep_memory();
  if (settings->gpu) {
    karst_status status = karst_context_set_device(gpu_context, "cuda");
    exit_status =
        status ? tool_fail_library(gpu_context, status) : open_place(gpu_context, &result[0].what, true, &gpu);
  }
  if (settings->cpu && exit_status == TOOL_GO_ON) exit_status = open_place(cpu_context, &result[0].what, false, &cpu);
  for (int l = 0; l < settings->levels && exit_status == TOOL_GO_ON; l++)
    exit_status = run_level(settings, settings->cpu ? &cpu : NULL, settings->gpu ? &gpu : NULL, &result[l]);
  close_place(&cpu);
  close_place(&gpu);
  return exit_status == TOOL_GO_ON ? TOOL_YES : exit_status;
}

int main(int argc, char *argv[])
{
  bench_settings settings;
  karst_context *context, *gpu_context = NULL;

  tool_start(argv[0]);
  /* A peer that can use threads is to use one. */
  setenv("OMP_NUM_THREADS", "1", 1);
  setenv("OPENBLAS_NUM_THREADS", "1", 1);
  if (karst_context_create(NULL, &context) || tool_cusparse_register(context)) return tool_fail_memory("the context");
  int exit_status = parse(context, argc, argv, &settings);
  if (exit_status == TOOL_GO_ON && (karst_context_create(NULL, &gpu_context) || tool_cusparse_register(gpu_context)))
    exit_status = tool_fail_memory("the GPU's context");
  if (exit_status == TOOL_GO_ON) exit_status = run(context, gpu_context, &settings);
  karst_options_destroy(settings.options);
  karst_context_destroy(gpu_context);
  karst_context_destroy(context);
  return tool_finish(exit_status);
}
