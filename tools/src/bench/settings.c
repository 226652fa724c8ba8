/* settings.c - reads the command line of bench; each mode checks its own options. */
#include "tools/src/bench/bench_settings.h"
#include "config.h"
#include "tools/src/common/text.h"

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

enum { ITERATIONS = 1000000 };

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

/* Sets options of Karst from NAME=VALUE,...; the tool's own options are refused. */
static int parse_set(karst_context *context, bench_settings *settings)
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
    const int exit_status = bench_option_set(context, settings->options, name, value);
    if (exit_status != TOOL_GO_ON) return exit_status;
  }
  return TOOL_GO_ON;
}

/* Writes the head of --help, the only place that lists the options for experiments. */
static const char *about(const karst_context *context)
{
  static char text[2048];
  karst_option_info info;
  snprintf(text, sizeof text, "%s",
           "Times set-up, iterations and kernels of ILU(k) and GMRES(m). MATRIX is a file or NAME:SIZES from the\n"
           "gallery, such as poisson3d:120x120x120, or for --sequence a folder, or tridiagonal for batches of\n"
           "such systems. doc/benchmarks.md explains the tables. --set takes the options of solve except solver, "
           "max-iterations, atol, damping, parts and scale,\n"
           "and these for experiments:\n");
  for (size_t i = 0; karst_options_info(context, i, &info); i++)
    if (info.experiment)
      tool_append(text, sizeof text, "\n  %-13s %-24s %s [%s]", info.name, info.value, info.help, info.default_value);
  return text;
}

/* Reads the order and the size of its tiles, which is ignored if the order has no tiles. */
int bench_order_parse(karst_context *context, bench_settings *settings)
{
  karst_options *options;
  karst_status status = karst_options_create(context, &options);
  if (!status && settings->ordering) status = karst_options_set(options, "ordering", settings->ordering);
  if (!status) status = karst_options_set(options, "tile-size", settings->tile_text);
  if (!status && karst_options_used(options, "tile-size"))
    settings->tile_size = (int)tool_option_number(options, "tile-size");
  karst_options_destroy(options);
  if (status) return tool_fail_library(context, status);
  if (settings->ordering && strcmp(settings->ordering, "auto") == 0)
    return tool_fail(TOOL_FAILED, "--ordering auto: bench needs the name of the order itself, such as tiles");
  if (settings->ordering && strcmp(settings->ordering, "natural") == 0) settings->ordering = NULL;
  return TOOL_GO_ON;
}

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

/* Reads the list PROGRAM[:STYLE],... of --peer; hypre and petsc are the programs of this build. */
static int parse_peers(bench_settings *settings)
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

/* Finds the mode: the first one unless another is asked for. */
static int choose_mode(const struct bench_mode *const modes[], bench_settings *settings)
{
  settings->mode = modes[0];
  for (int m = 1; modes[m]; m++) {
    if (!modes[m]->is_asked_for(settings)) continue;
    if (settings->mode != modes[0])
      return tool_fail(TOOL_FAILED,
                       "use only one of --grids, --correction, --solves, --sequence, and none with tridiagonal");
    settings->mode = modes[m];
  }
  return TOOL_GO_ON;
}

/* Reads the lists and checks the numbers. */
static int check_common(const struct bench_mode *const modes[], bench_settings *settings)
{
  int exit_status = parse_device(settings);
  if (exit_status == TOOL_GO_ON)
    exit_status = parse_list("level", settings->level_text, 0, settings->level, &settings->levels);
  if (exit_status == TOOL_GO_ON) exit_status = choose_mode(modes, settings);
  if (exit_status != TOOL_GO_ON) return exit_status;
  if (settings->iterations > ITERATIONS || settings->restart > ITERATIONS || settings->correction > ITERATIONS)
    return tool_fail(TOOL_FAILED, "--iterations, --restart, --correction: at most %d", ITERATIONS);
  if (settings->negate && settings->peer)
    return tool_fail(TOOL_FAILED,
                     "--negate cannot be used with --peer: the peer reads the matrix itself and does not negate it");
  if (!settings->repeat) settings->repeat = settings->mode->repeat ? settings->mode->repeat : BENCH_FEW;
  if (settings->repeat > BENCH_REPEATS) return tool_fail(TOOL_FAILED, "--repeat: at most %d", BENCH_REPEATS);
  if (settings->quick) {
    settings->repeat = 1;
    settings->iterations = 5;
  }
  if (settings->iterations == 0) settings->iterations = settings->sequence ? 200 : 60;
  if (settings->profile && (!settings->solves || settings->sequence))
    return tool_fail(TOOL_FAILED, "--profile is for --solves");
  const bool batches = strcmp(settings->matrix, "tridiagonal") == 0;
  if ((settings->errors || settings->plot) && !settings->sequence && !(batches && !settings->errors))
    return tool_fail(TOOL_FAILED, "--errors and --plot are for --sequence, --plot also for tridiagonal");
  if ((settings->batches || settings->methods || settings->precision || settings->rows) && !batches)
    return tool_fail(TOOL_FAILED, "--batches, --rows, --methods and --precision are for the matrix tridiagonal");
  return parse_list("threads", settings->threads_text, 1, settings->threads, &settings->thread_counts);
}

/* Makes the list of preconditioners: that of --precond, or the mode's own. */
static int parse_ways(karst_context *context, bench_settings *settings)
{
  const bool optional = !settings->precond && settings->mode->ways;
  const char *list = settings->precond ? settings->precond
                     : optional        ? settings->mode->ways
                                       : tool_option_text(settings->options, "precond");
  const int exit_status = bench_ways_parse(context, list, optional, settings);
  if (exit_status != TOOL_GO_ON) return exit_status;
  return settings->ways ? TOOL_GO_ON : tool_fail(TOOL_FAILED, "this build has no preconditioner of the list %s", list);
}

int bench_settings_parse(karst_context *context, int argc, char *argv[], const struct bench_mode *const modes[],
                         bench_settings *settings)
{
  static const char *const groups[] = {"level", "How it is measured", "precond", "What is measured", NULL};
  const struct tool_command command = {
      .about = about(context),
      .operand_names = "MATRIX",
      .operand_count = 1,
      .operand = &settings->matrix,
      .options = bench_options,
      .settings = settings,
      .groups = groups,
      .gallery = true,
      .exit_statuses = "exit status: 0 measured, 2 bad input or usage, or nothing measured, 3 device not available",
  };

  *settings = (bench_settings){
      .level_text = "0,1", .threads_text = "1,2", .device = "cpu", .tile_text = "0", .restart = 20, .program = argv[0]};
  int exit_status = tool_parse(context, &command, argc, argv);
  if (exit_status == TOOL_GO_ON) exit_status = check_common(modes, settings);
  if (exit_status == TOOL_GO_ON) exit_status = settings->mode->check(context, settings);
  if (exit_status == TOOL_GO_ON) exit_status = parse_peers(settings);
  if (exit_status == TOOL_GO_ON) exit_status = parse_set(context, settings);
  if (exit_status == TOOL_GO_ON) exit_status = parse_ways(context, settings);
  if (exit_status == TOOL_GO_ON) exit_status = bench_reference_parse(context, settings);
  return exit_status;
}

void bench_settings_free(bench_settings *settings)
{
  for (int w = 0; w < settings->ways; w++) karst_options_destroy(settings->way[w].options);
  karst_options_destroy(settings->options);
  karst_options_destroy(settings->reference);
  free(settings->peer_text);
}
