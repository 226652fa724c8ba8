/* solve_settings.c - the options of solve itself; the options of the library are in the library's own tables. */
#include "tools/src/peers/peers.h"
#include "tools/src/solve/solve_settings.h"
#include "tools/src/common/shared_rows.h"

#include <stddef.h>
#include <string.h>

#define PLACE(member) offsetof(struct solve_settings, member)

static const struct tool_option options[] = {
    {TOOL_RHS_ROW, TOOL_TEXT, PLACE(rhs)},
    {"block", "B", "what the file's header says, else 1", "block size", TOOL_BLOCK_DETAILS, TOOL_COUNT, PLACE(block)},
    {TOOL_GRID_ROW, TOOL_TEXT, PLACE(grid)},
    {TOOL_ACTNUM_ROW, TOOL_TEXT, PLACE(actnum)},
    {TOOL_NEGATE_ROW, TOOL_SWITCH, PLACE(negate)},
    {TOOL_STORED_TRIANGLE_ROW, TOOL_SWITCH, PLACE(stored_triangle)},
    {TOOL_DUPLICATES_ROW, TOOL_TEXT, PLACE(duplicates)},
    {TOOL_INSERT_DIAGONAL_ROW, TOOL_SWITCH, PLACE(insert_diagonal)},
    {"device", "cpu|cuda|cuda:N", "cpu", "where to compute",
     "cuda is the first GPU and cuda:N the one with number N, from 0. A device that is missing is an error.", TOOL_TEXT,
     PLACE(device)},
    {"threads", "T", "processors it may use", "threads of the CPU",
     "The number of processors follows from the affinity of the process and the quotas of its control groups; the "
     "environment variable OMP_NUM_THREADS lowers it. Fewer threads are used while other programs occupy the "
     "processors. Results have the same bits for every number, except with asynchronous sweeps.",
     TOOL_COUNT, PLACE(threads)},
    {"ranks", "", "", "spread the block rows over the processes of mpiexec",
     "As in mpiexec -n 4 karst-solve MATRIX --ranks. Each process generates its own rows of a problem; rank 0 reads a "
     "file and sends the others theirs, and does so for a problem too with --block, --grid, --negate, "
     "--insert-diagonal or a file for --rhs. A process has one thread unless --threads gives it more. With --device "
     "cuda it takes the GPU of its number on its host. Rank 0 writes all files and the report, whose factors, memory "
     "and seconds are its own; the exit status is the same on all. libkarst_mpi is needed.",
     TOOL_SWITCH, PLACE(ranks)},
    {"partition", "even|metis|FILE", "even if each process generates its rows, else metis",
     "which process has which rows",
     "With --ranks. even, also without METIS: equal numbers of consecutive rows. metis: parts with equal numbers of "
     "entries between which "
     "few and weak couplings are cut; rank 0 divides the graph of all rows. FILE has the number of a process, from 0, "
     "for each block row, one a line. A process takes its rows in the order of the matrix, and the solution is written "
     "in that order.",
     TOOL_TEXT, PLACE(partition)},
    {"repeat", "N", "", "after the first solve, N times: set new values, factor, solve; reports the median times",
     "This is what a simulator does: each time the solve starts from zero. The report has the medians of the times "
     "of factorization and solve; all other results are those of the first solve.",
     TOOL_COUNT, PLACE(repeat)},
    {"exact", "", "", "report max |x - u| against the exact solution u, which unitsquare has",
     "Other problems, files and --rhs are refused.", TOOL_SWITCH, PLACE(exact)},
    {"reference", "", "", "solve directly too, with UMFPACK, and report the difference",
     "The report has |x - x_ref| / |x_ref|, the residual of x_ref and UMFPACK's estimate of the reciprocal "
     "condition number.",
     TOOL_SWITCH, PLACE(reference)},
    {"profile", "", "", "then factor and solve once more and report the time by operation, with its GB/s",
     "The report has for each operation the calls, the milliseconds, their part of the time, GB/s, and these over "
     "the GB/s that a copy of a long vector reaches here. GB/s count what an operation must move at least, each "
     "value of matrices, vectors and factors once, so that data in a cache can make more of them than a copy has; a "
     "dash stands where this is not known. An operation that calls others, such as a preconditioner of two stages, "
     "has only the time that it spends itself. On a GPU times are those of the device, and the kernels are listed "
     "too, as CUPTI records them in another such solve. All else in the report is that of the first solve.",
     TOOL_SWITCH, PLACE(profile)},
    {"history", "FILE", "", "write the residual norm of each iteration; - is standard output",
     "Iteration and norm are separated by a tab, below a line with their names. bicgstab, cg and orthomin write the "
     "recursive residual with which they iterate, cg with --norm preconditioned its preconditioned norm. The file "
     "of the solution, the matrix or the right-hand side is refused.",
     TOOL_TEXT, PLACE(history)},
    {"monitor", "", "", "print the residual norm of each iteration on standard error",
     "It does so for the first solve, as it goes, also with --quiet.", TOOL_SWITCH, PLACE(monitor)},
    {"plot", "FILE.svg|FILE.png", "", "draw the residual norm by iteration, with gnuplot",
     "The axis is logarithmic, and a line shows the target. The norm is relative to the right-hand side, or to the "
     "start where the iteration looks at another norm: with scaling, and with --norm preconditioned. A long history "
     "is thinned. If gnuplot is missing, nothing is begun; if it fails, an earlier picture stays.",
     TOOL_TEXT, PLACE(plot)},
    {"spy", "FILE.png|FILE.svg", "", "draw the pattern as it is factored, blocks, fill and level sets, with gnuplot",
     "Stored blocks are blue and the fill of iluk, parilu and paric is orange, both paler where a cell of the "
     "raster has fewer entries; small matrices also show the zeros in the blocks. A strip at the right has the "
     "level set of each block row in forward substitution. The order is that of the factors (--ordering) or, if "
     "set-up fails, of the file. The picture is drawn before the solve.",
     TOOL_TEXT, PLACE(spy)},
    {"view", "", "", "print also what was chosen: each option that the methods read",
     "Each has its value and whether that is the default. Where triangular solves go by level sets, the line order "
     "tells what the order of the rows costs. It cannot be used with --json, whose object has the options.",
     TOOL_SWITCH, PLACE(view)},
    {"options", "FILE", "", "read options from a file, one a line; those given here come after it",
     "The file has at most 1 MiB. A line is level 2, --level 2 or level = 2; names are those of this command or of "
     "a preconditioner inside another (second.level). The value is the rest of the line; # at the beginning of a "
     "line or behind a blank begins a comment. Files are read in their order and before the options of the command "
     "line, which therefore win. A file cannot name another file. Errors begin with the file and the line.",
     TOOL_TEXT, PLACE(options_file)},
    {"solution", "FILE", "", "write the solution in Matrix Market form; - is standard output",
     "x is written as an array, without padding. Before the solve it is checked that the file can be written. An "
     "existing file is replaced when the new one is complete; symbolic links to it are kept, and so are its "
     "permissions, and its owner if the user may set it. A file with several hard links, or in a folder where no "
     "file can be created, is written in place; so are devices, pipes and descriptors, such as /dev/stdout, "
     "/dev/fd/3 or a shell's >(command), and a file behind one is appended to.",
     TOOL_TEXT, PLACE(solution)},
    {"json", "", "", "print the report as one JSON object; an error too",
     "Numbers that are not finite are null, and bytes of a name that are not UTF-8 are U+FFFD. After exit status 2 "
     "or 3 the object has error (the sentence), error_status (what the library calls it, such as \"out of memory\", "
     "or null) and status (the exit status) instead of the report, or beside it if the solve was done.",
     TOOL_SWITCH, PLACE(json)},
    {"quiet", "", "", "print errors only (and JSON where asked for)", NULL, TOOL_SWITCH, PLACE(quiet)},
    {.name = NULL}};

int solve_parse(karst_context *context, int argc, char *argv[], struct solve_settings *settings)
{
  *settings = (struct solve_settings){.device = "cpu"};
  karst_status status = tool_peers_register(context);
  if (!status) status = karst_options_create(context, &settings->options);
  if (status) return tool_fail_library(context, status);
  static const char *const groups[] = {"rhs", "The system", "device", "The run", "history", "Output", NULL};
  const struct tool_command command = {
      .about = "Solves A x = b. MATRIX is a file or a generated problem. Karst recognises a file by its content:\n"
               "Matrix Market, also from dune-istl and OPM Flow; an archive of a matrix collection; PETSc's binary\n"
               "form; .kbsr; .rb. NAME:SIZES, such as blackoil:60x220x10, generates a problem; the list is below.\n"
               "MATRIX may be a pipe (- is standard input), the right-hand side may not.",
      .operand_names = "MATRIX",
      .operand_count = 1,
      .operand = &settings->matrix,
      .options = options,
      .settings = settings,
      .groups = groups,
      .library_options = settings->options,
      .explain = tool_peers_explain,
      .gallery = true,
      .exit_statuses = "exit status: 0 converged, 1 not converged, 2 bad input or usage, 3 the device is not available",
  };
  const int parsed = tool_parse(context, &command, argc, argv);
  if (parsed != TOOL_GO_ON || !settings->solution || strcmp(settings->solution, "-") != 0) return parsed;
  if (settings->json)
    return tool_fail(TOOL_FAILED, "--solution - and --json both write to standard output; use only one");
  settings->solution = "/dev/stdout";
  return parsed;
}
