/* bench.c - how long ILU(k) and GMRES(m) take on one system, against the memory's bandwidth and against a peer.
 *
 * Repetitions of Karst on each number of threads and of the peer run in turn, and each figure is the median of its
 * repetitions, so that a machine whose speed drifts treats all alike. bench reports; it judges nothing. */
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIST = BENCH_VARIANTS - 1, REPEATS = 100 };

typedef struct bench_settings {
  const char *matrix;
  const char *level_text, *threads_text;
  int level[LIST], levels;
  int threads[LIST], thread_counts;
  int restart, iterations, repeat;
  const char *peer;
  bool quick, json;
} bench_settings;

static int parse_list(const char *what, const char *text, long long minimum, int *number, int *count)
{
  char word[16];
  long long value;

  for (*count = 0; *count < LIST; (*count)++) {
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
  return tool_fail(TOOL_FAILED, "--%s: not a list of 1 to %d numbers from %lld on, such as 1,2", what, LIST, minimum);
}

static int parse(karst_context *context, int argc, char *argv[], bench_settings *settings)
{
  const struct tool_option options[] = {
      {{"level", "K,...", "0,1", "fill levels k of ILU(k), one table each"},
       TOOL_TEXT,
       {.text = &settings->level_text}},
      {{"threads", "T,...", "1,2", "numbers of threads of Karst"}, TOOL_TEXT, {.text = &settings->threads_text}},
      {{"restart", "M", "20", "m of GMRES(m)"}, TOOL_COUNT, {.count = &settings->restart}},
      {{"iterations", "N", "60", "iterations to time"}, TOOL_COUNT, {.count = &settings->iterations}},
      {{"repeat", "N", "3", "repetitions, of which the median counts"}, TOOL_COUNT, {.count = &settings->repeat}},
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
      .about =
          "Times set-up, iterations and kernels of ILU(k) and GMRES(m) on the CPU. MATRIX is a file or NAME:SIZES\n"
          "from the gallery, such as poisson3d:120x120x120. doc/benchmarks.md explains the tables.",
      .operand_names = "MATRIX",
      .operand_count = 1,
      .operand = &settings->matrix,
      .options = options,
      .gallery = true,
      .exit_statuses = "exit status: 0 measured, 2 bad input or usage",
  };

  *settings = (bench_settings){
      .level_text = "0,1", .threads_text = "1,2", .restart = 20, .iterations = 60, .repeat = 3, .peer = NULL};
  int exit_status = tool_parse(context, &command, argc, argv);
  if (exit_status != TOOL_GO_ON) return exit_status;
  exit_status = parse_list("level", settings->level_text, 0, settings->level, &settings->levels);
  if (exit_status != TOOL_GO_ON) return exit_status;
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
    for (int i = 0; i < count; i++) sorted[i] = sample[i].value[q];
    qsort(sorted, (size_t)count, sizeof *sorted, compare_doubles);
    middle.value[q] = 0.5 * (sorted[(count - 1) / 2] + sorted[count / 2]);
  }
  return middle;
}

/* Names the variants: one for each number of threads, with its bandwidth, and the peer. */
static int prepare(karst_context *context, const bench_settings *settings, const bench_peer *peer, bench_result *result)
{
  const int64_t length = settings->quick ? 1 << 20 : 1 << 24; /* 8 or 128 MiB an array */

  result->variants = 0;
  for (int t = 0; t < settings->thread_counts; t++) {
    bench_variant *variant = &result->variant[result->variants++];
    variant->threads = settings->threads[t];
    snprintf(variant->name, sizeof variant->name, "karst, %d thread%s", variant->threads,
             variant->threads > 1 ? "s" : "");
    karst_status status = karst_context_set_threads(context, variant->threads);
    if (status) return tool_fail_library(context, status);
    if (!bench_stream(variant->threads, length, &variant->copy, &variant->triad))
      return tool_fail_memory("the arrays that measure the bandwidth");
  }
  if (peer) {
    bench_variant *variant = &result->variant[result->variants++];
    *variant = (bench_variant){.threads = 1};
    snprintf(variant->name, sizeof variant->name, "%s", bench_peer_name(peer));
  }
  return TOOL_GO_ON;
}

static int measure(karst_context *context, const karst_matrix *A, const karst_vector *b, bench_peer *peer,
                   bench_result *result)
{
  bench_sample sample[BENCH_VARIANTS][REPEATS];
  karst_solver_info info = {0};

  for (int r = 0; r < result->repeat; r++) {
    for (int v = 0; v < result->variants; v++) {
      if (peer && v == result->variants - 1) {
        if (!bench_peer_sample(peer, &sample[v][r])) return TOOL_FAILED;
        continue;
      }
      karst_status status = karst_context_set_threads(context, result->variant[v].threads);
      if (!status) status = bench_karst(context, &result->what, A, b, &sample[v][r], &info);
      if (status) return tool_fail_library(context, status);
    }
  }
  for (int v = 0; v < result->variants; v++) result->variant[v].median = median(result->repeat, sample[v]);
  result->rows = karst_matrix_rows(A);
  result->block_size = karst_matrix_block_size(A);
  result->blocks = karst_matrix_blocks(A);
  result->factor_entries = info.factor_entries;
  result->traffic = bench_traffic_of(A, info.factor_entries, result->what.restart);
  return TOOL_GO_ON;
}

static int run_level(karst_context *context, const bench_settings *settings, const karst_matrix *A,
                     const karst_vector *b, bench_result *result)
{
  bench_peer *peer = NULL;

  if (settings->peer) {
    peer = bench_peer_start(settings->peer, &result->what);
    if (!peer) return TOOL_FAILED;
  }
  int exit_status = prepare(context, settings, peer, result);
  if (exit_status == TOOL_GO_ON) exit_status = measure(context, A, b, peer, result);
  bench_peer_stop(peer);
  if (exit_status != TOOL_GO_ON) return exit_status;
  if (!settings->json) {
    bench_report_table(result);
  } else if (!bench_report_json(result)) {
    return tool_fail(TOOL_FAILED, "--json: built without jansson");
  }
  fflush(stdout);
  return TOOL_GO_ON;
}

static int run(karst_context *context, const bench_settings *settings)
{
  bench_result result[LIST];
  karst_matrix *A;
  karst_vector *b;
  int exit_status = TOOL_GO_ON;

  for (int l = 0; l < settings->levels; l++) { /* before this process has grown */
    const bench_case what = {settings->matrix, settings->level[l], settings->restart, settings->iterations};
    result[l] = (bench_result){.what = what, .repeat = settings->repeat};
    exit_status = bench_karst_peak_memory(&what, &result[l].peak_memory);
    if (exit_status != TOOL_GO_ON) return exit_status;
  }
  bench_keep_memory();
  exit_status = bench_system_load(context, settings->matrix, &A, &b);
  if (exit_status != TOOL_GO_ON) return exit_status;
  for (int l = 0; l < settings->levels && exit_status == TOOL_GO_ON; l++)
    exit_status = run_level(context, settings, A, b, &result[l]);
  karst_vector_destroy(b);
  karst_matrix_destroy(A);
  return exit_status == TOOL_GO_ON ? TOOL_YES : exit_status;
}

int main(int argc, char *argv[])
{
  bench_settings settings;
  karst_context *context;

  tool_start(argv[0]);
  /* A peer that can use threads is to use one. */
  setenv("OMP_NUM_THREADS", "1", 1);
  setenv("OPENBLAS_NUM_THREADS", "1", 1);
  if (karst_context_create(NULL, &context)) return tool_fail_memory("the context");
  int exit_status = parse(context, argc, argv, &settings);
  if (exit_status == TOOL_GO_ON) exit_status = run(context, &settings);
  karst_context_destroy(context);
  return tool_finish(exit_status);
}
