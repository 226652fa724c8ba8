/* solve_settings.c - the options of solve itself; the options of the library are in the library's own tables. */
#include "cusparse.h"
#include "solve.h"

int solve_parse(karst_context *context, int argc, char *argv[], struct solve_settings *settings)
{
  *settings = (struct solve_settings){.device = "cpu"};
  karst_status status = tool_cusparse_register(context);
  if (!status) status = karst_options_create(context, &settings->options);
  if (status) return tool_fail_library(context, status);
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
      {{"device", "cpu|cuda|cuda:N", "cpu", "where to compute"}, TOOL_TEXT, {.text = &settings->device}},
      {{"threads", "T", "processors it may use", "threads of the CPU"}, TOOL_COUNT, {.count = &settings->threads}},
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
      {{"solution", "FILE", "", "write the solution (Matrix Market)"}, TOOL_TEXT, {.text = &settings->solution}},
      {{"json", "", "", "print the report as one JSON object; an error too"}, TOOL_SWITCH, {.flag = &settings->json}},
      {{"quiet", "", "", "print errors only (and JSON where asked for)"}, TOOL_SWITCH, {.flag = &settings->quiet}},
      {.info = {.name = NULL}},
  };
  const struct tool_command command = {
      .about = "Solves A x = b. MATRIX is a file (.mtx, .mtx.gz, .kbsr, .rb, or a collection archive .tar.gz)\n"
               "or NAME:SIZES from the gallery, such as blackoil:60x220x10. MATRIX may be a pipe\n"
               "(- is standard input), the right-hand side may not.",
      .operand_names = "MATRIX",
      .operand_count = 1,
      .operand = &settings->matrix,
      .options = options,
      .library_options = settings->options,
      .explain = tool_cusparse_explain,
      .gallery = true,
      .exit_statuses = "exit status: 0 converged, 1 not converged, 2 bad input or usage, 3 no such device",
  };
  return tool_parse(context, &command, argc, argv);
}
