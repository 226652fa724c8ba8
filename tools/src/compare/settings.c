/* settings.c - the command line of compare: values of the cases, which go to the plan, and settings of the batch; a
 * plan may give some settings too. */
#include "tools/src/compare/compare.h"
#include "tools/src/common/text.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define PLACE(member) offsetof(struct compare_settings, member)

static const struct setting {
  struct tool_option option;
  enum { LINE, PLAN, PLAN_NUMBER } from; /* the command line alone, or a plan too, there as text or also as a number */
} table[] = {
    {{"plan", "FILE.json", "", "an object with these names and values, and more such objects in its array cases",
      "The keys are the names of the options of cases, with single values or arrays, and matrices for the list of "
      "matrices. The object may also have cases, an array of such objects, each with cases of its own. The command "
      "line adds to it.",
      TOOL_TEXT, PLACE(plan)},
     LINE},
    {{"results", "FILE", "compare.jsonl", "a line for each case that has ended; a case in it is not run again", NULL,
      TOOL_TEXT, PLACE(results)},
     PLAN},
    {{"retry", "OUTCOME,...", "", "run the cases again that have ended with one of these outcomes",
      "An example is --retry=out-of-time,crashed. The outcomes are converged, not-converged, failed, no-device, "
      "crashed, out-of-time and out-of-memory. Without it no case in the results is run again.",
      TOOL_TEXT, PLACE(retry)},
     LINE},
    {{"time-limit", "S", "600", "seconds for a case", NULL, TOOL_TEXT, PLACE(time_limit)}, PLAN_NUMBER},
    {{"memory-limit", "SIZE", "what the machine has free", "resident memory for a case, as 500M or 4G", NULL, TOOL_TEXT,
      PLACE(memory_limit)},
     PLAN_NUMBER},
    {{"csv", "FILE", "", "write a table with a line for each case; - is standard output, as for --markdown and --json",
      NULL, TOOL_TEXT, PLACE(csv)},
     PLAN},
    {{"markdown", "FILE", "- if nothing else is asked for", "write tables for readers",
      "Without --csv, --markdown and --json this table goes to standard output.", TOOL_TEXT, PLACE(markdown)},
     PLAN},
    {{"json", "FILE", "", "write the rows as one object", "Its array results has the rows.", TOOL_TEXT, PLACE(json)},
     PLAN},
    {{"report", "DIR", "", "write a page of HTML with pictures",
      "gnuplot draws the pictures. The page and the Markdown table say how near the preconditioner auto comes to the "
      "best fixed choice, where both were run on a matrix with the same solver and device.",
      TOOL_TEXT, PLACE(report)},
     PLAN},
    {{"baseline", "NAME=VALUE,...", "device=cpu if there are several devices",
      "speed-up against the case that is equal except for these", "Some case must have each value.", TOOL_TEXT,
      PLACE(baseline)},
     PLAN},
    {{"dry-run", "", "", "list the cases and which are in the results; run none", NULL, TOOL_SWITCH, PLACE(dry_run)},
     LINE},
    {{"tables-only", "", "", "run none and write the tables; without a matrix or plan those of all rows of the results",
      "If no case has a row, that is an error.", TOOL_SWITCH, PLACE(tables_only)},
     LINE},
    {{"quiet", "", "", "show no progress", NULL, TOOL_SWITCH, PLACE(quiet)}, LINE},
};

enum { SETTINGS = sizeof table / sizeof table[0] };

const char *compare_plan_setting(size_t i, struct compare_settings *settings, const char ***text, bool *takes_number)
{
  for (size_t k = 0; k < SETTINGS; k++) {
    if (table[k].from == LINE || i-- > 0) continue;
    *text = settings ? (const char **)(void *)((char *)settings + table[k].option.place) : NULL;
    *takes_number = table[k].from == PLAN_NUMBER;
    return table[k].option.name;
  }
  return NULL;
}

/* What the command line has given. */
struct line {
  struct compare_settings settings; /* the first member, so that it has the offsets of table */
  const char *value[COMPARE_OWN_MAX];
  bool flag[COMPARE_OWN_MAX]; /* of names of a case that take no value */
  struct compare_plan *plan;
  struct tool_option option[COMPARE_OWN_MAX + SETTINGS + 1];
  const char **operand; /* [argc] */
  int operands;
  char ending[2048]; /* of the help */
};

int compare_settings_limits(const struct compare_settings *settings, const char *plan, struct compare_limits *limits)
{
  struct compare_limits read = {600, 0};
  const char *time = settings->time_limit, *memory = settings->memory_limit;
  const char *file = plan ? plan : "", *sign = plan ? ": " : "--";
  if (time && (!tool_real(time, &read.seconds) || !(read.seconds > 0)))
    return tool_fail(TOOL_FAILED, "%s%stime-limit takes a number of seconds above 0, not '%s'", file, sign, time);
  if (memory && !compare_read_size(memory, &read.memory))
    return tool_fail(TOOL_FAILED, "%s%smemory-limit takes a size such as 500M or 4G, not '%s'", file, sign, memory);
  if (!memory) read.memory = compare_memory_free();
  if (limits) *limits = read;
  return TOOL_GO_ON;
}

static int take_option(void *user, const char *name, const char *value)
{
  return compare_take(((struct line *)user)->plan, name, value);
}

static void make_options(struct line *line)
{
  struct tool_option *option = line->option;
  const struct compare_own *own;
  for (size_t i = 0; (own = compare_own(i)); i++) {
    const bool is_switch = own->kind == COMPARE_SWITCH;
    const size_t place = is_switch ? offsetof(struct line, flag) + i * sizeof line->flag[0]
                                   : offsetof(struct line, value) + i * sizeof line->value[0];
    if (!own->is_operand)
      *option++ = (struct tool_option){own->name, own->value,   own->default_value,
                                       own->help, own->details, is_switch ? TOOL_SWITCH : TOOL_TEXT,
                                       place};
  }
  for (size_t i = 0; i < SETTINGS; i++) *option++ = table[i].option;
}

static int parse(struct line *line, int argc, char *argv[])
{
  static const char *const groups[] = {"block", "The cases", "rhs", "The systems, with one value for all cases",
                                       "plan",  "The run",   "csv", "Output",
                                       NULL};
  const struct tool_command command = {
      .about = "Solves with all combinations of the matrices and of the values given, and writes tables. MATRIX\n"
               "is a file, a folder of files, or NAME:SIZES from the gallery. Each option of solve below takes\n"
               "a list a,b,c of values, and where it takes integers a range 0..3 too. If an option has no effect\n"
               "on a case, the case runs once and not once a value. If auto is one of several preconditioners,\n"
               "it chooses level, ordering and the like itself. Each case runs in a process of its own: solve\n"
               "beside compare, or the command that KARST_SOLVE in the environment names.",
      .operand_names = "MATRIX...",
      .operand_count = argc,
      .operand = line->operand,
      .operands_given = &line->operands,
      .options = line->option,
      .settings = line,
      .groups = groups,
      .library_options = line->plan->options,
      .take = take_option,
      .user = line,
      .gallery = true,
      .exit_statuses = line->ending,
  };
  return tool_parse(line->plan->context, &command, argc, argv);
}

/* Gives the plan what stands behind the options of the library. */
static int take_rest(struct line *line)
{
  const struct compare_own *own;
  int status = TOOL_GO_ON;
  for (size_t i = 0; (own = compare_own(i)) && status == TOOL_GO_ON; i++) {
    const char *value = line->flag[i] ? "yes" : line->value[i];
    if (value) status = compare_take(line->plan, own->name, value);
  }
  for (int i = 0; i < line->operands && status == TOOL_GO_ON; i++)
    status = compare_take(line->plan, "matrices", line->operand[i]);
  return status;
}

int compare_settings_parse(struct compare_settings *settings, struct compare_plan *plan, int argc, char *argv[])
{
  struct line line = {.plan = plan, .operand = calloc((size_t)argc + 1, sizeof *line.operand)};
  make_options(&line);
  snprintf(line.ending, sizeof line.ending, "outcomes of cases:\n");
  compare_append_outcomes(line.ending, sizeof line.ending, true);
  tool_append(line.ending, sizeof line.ending,
              "\nexit status: 0 each case has ended and has a line in the results, 1 interrupted before that,\n2 bad "
              "input or usage");
  int status = line.operand ? parse(&line, argc, argv) : tool_fail_memory("the arguments");
  if (status == TOOL_GO_ON) status = take_rest(&line);
  if (status == TOOL_GO_ON) status = compare_settings_limits(&line.settings, NULL, NULL);
  *settings = line.settings;
  free((void *)line.operand);
  return status;
}

int compare_settings_check(struct compare_settings *settings, struct compare_limits *limits)
{
  if (!settings->results) settings->results = "compare.jsonl";
  if (!settings->csv && !settings->markdown && !settings->json) settings->markdown = "-";
  if (settings->dry_run && settings->tables_only)
    return tool_fail(TOOL_FAILED, "use only one of --dry-run, --tables-only");
  const int status = compare_settings_limits(settings, NULL, limits);
  if (status != TOOL_GO_ON) return status;
  if (compare_list_outcomes(settings->retry, settings->is_retried)) return TOOL_GO_ON;
  char outcomes[256] = "";
  compare_append_outcomes(outcomes, sizeof outcomes, false);
  return tool_fail(TOOL_FAILED, "--retry takes outcomes, not '%s': %s", settings->retry, outcomes);
}
