/* solve_settings.c - the options of solve itself; the options of the library are in the library's own tables. */
#include "tools/src/peers/cusparse.h"
#include "tools/src/solve/solve_settings.h"

#include <string.h>

enum { SYSTEM_OPTIONS = 9, REPORT_OPTIONS = 13 };

/* The rows of what is solved, and where. */
static void list_system(struct solve_settings *settings, struct tool_option *row)
{
  const struct tool_option options[] = {
      {{"rhs", "FILE|ones|Aones|random[:SEED]", "what came with the matrix, else ones", "right-hand side"},
       TOOL_TEXT,
       {.text = &settings->rhs}},
      {{"block", "B", "what the file's header says, else 1", "block size"}, TOOL_COUNT, {.count = &settings->block}},
      {{"grid", "NXxNYxNZ|find", "what came with the matrix", "cells along each axis, or find them; NXxNY: one layer"},
       TOOL_TEXT,
       {.text = &settings->grid}},
      {{"negate", "", "", "multiply the matrix by -1, and a right-hand side that came with it"},
       TOOL_SWITCH,
       {.flag = &settings->negate}},
      {{"stored-triangle", "", "", "take the triangle that a symmetric file stores as the whole matrix"},
       TOOL_SWITCH,
       {.flag = &settings->stored_triangle}},
      {{"duplicates", "sum|refuse", "sum", "entries of one row and column in a file"},
       TOOL_TEXT,
       {.text = &settings->duplicates}},
      {{"insert-diagonal", "", "", "insert a zero block where a block row has no diagonal block"},
       TOOL_SWITCH,
       {.flag = &settings->insert_diagonal}},
      {{"device", "cpu|cuda|cuda:N", "cpu", "where to compute"}, TOOL_TEXT, {.text = &settings->device}},
      {{"threads", "T", "processors it may use", "threads of the CPU"}, TOOL_COUNT, {.count = &settings->threads}},
  };
  _Static_assert(sizeof options / sizeof *options == SYSTEM_OPTIONS, "the rows have their room");
  memcpy(row, options, sizeof options);
}

/* The rows of what is reported of it, and how. */
static void list_reports(struct solve_settings *settings, struct tool_option *row)
{
  const struct tool_option options[] = {
      {{"repeat", "N", "", "then N times: new values, factor, solve; reports the median times"},
       TOOL_COUNT,
       {.count = &settings->repeat}},
      {{"exact", "", "", "report max |x - u| against the exact solution u, which unitsquare has"},
       TOOL_SWITCH,
       {.flag = &settings->exact}},
      {{"reference", "", "", "solve directly too, with UMFPACK, and report the difference"},
       TOOL_SWITCH,
       {.flag = &settings->reference}},
      {{"profile", "", "", "then factor and solve once more and report the time by operation, with its GB/s"},
       TOOL_SWITCH,
       {.flag = &settings->profile}},
      {{"history", "FILE", "", "write the residual norm of each iteration; - is standard output"},
       TOOL_TEXT,
       {.text = &settings->history}},
      {{"monitor", "", "", "print the residual norm of each iteration on standard error"},
       TOOL_SWITCH,
       {.flag = &settings->monitor}},
      {{"plot", "FILE.svg|FILE.png", "", "draw the residual norm by iteration, with gnuplot"},
       TOOL_TEXT,
       {.text = &settings->plot}},
      {{"spy", "FILE.png|FILE.svg", "",
        "draw the pattern as it is factored, blocks, fill and level sets, with gnuplot"},
       TOOL_TEXT,
       {.text = &settings->spy}},
      {{"view", "", "", "print also what was chosen: each option that the methods read"},
       TOOL_SWITCH,
       {.flag = &settings->view}},
      {{"options", "FILE", "", "read options from a file, one a line; those given here come after it"},
       TOOL_TEXT,
       {.text = &settings->options_file}},
      {{"solution", "FILE", "", "write the solution (Matrix Market); - is standard output"},
       TOOL_TEXT,
       {.text = &settings->solution}},
      {{"json", "", "", "print the report as one JSON object; an error too"}, TOOL_SWITCH, {.flag = &settings->json}},
      {{"quiet", "", "", "print errors only (and JSON where asked for)"}, TOOL_SWITCH, {.flag = &settings->quiet}},
  };
  _Static_assert(sizeof options / sizeof *options == REPORT_OPTIONS, "the rows have their room");
  memcpy(row, options, sizeof options);
}

int solve_parse(karst_context *context, int argc, char *argv[], struct solve_settings *settings)
{
  *settings = (struct solve_settings){.device = "cpu"};
  karst_status status = tool_cusparse_register(context);
  if (!status) status = karst_options_create(context, &settings->options);
  if (status) return tool_fail_library(context, status);
  struct tool_option options[SYSTEM_OPTIONS + REPORT_OPTIONS + 1] = {
      {.info = {.name = NULL}}}; /* the last row stays empty */
  list_system(settings, options);
  list_reports(settings, options + SYSTEM_OPTIONS);
  const struct tool_command command = {
      .about = "Solves A x = b. MATRIX is a file (Matrix Market or a collection's archive, also as dune-istl and OPM\n"
               "Flow write it; PETSc's binary form; .kbsr; .rb), whose content tells what it is, or NAME:SIZES from\n"
               "the gallery, such as blackoil:60x220x10. MATRIX may be a pipe (- is standard input), the right-hand\n"
               "side may not.",
      .operand_names = "MATRIX",
      .operand_count = 1,
      .operand = &settings->matrix,
      .options = options,
      .library_options = settings->options,
      .explain = tool_cusparse_explain,
      .gallery = true,
      .exit_statuses = "exit status: 0 converged, 1 not converged, 2 bad input or usage, 3 the device is not available",
  };
  const int parsed = tool_parse(context, &command, argc, argv);
  if (parsed != TOOL_GO_ON || !settings->solution || strcmp(settings->solution, "-") != 0) return parsed;
  if (settings->json) return tool_fail(TOOL_FAILED, "--solution - and --json are both for standard output");
  settings->solution = "/dev/stdout";
  return parsed;
}
