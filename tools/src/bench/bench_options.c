/* bench_options.c - the options of bench itself. */
#include "tools/src/bench/bench_settings.h"

#include <stddef.h>

#define PLACE(member) offsetof(bench_settings, member)

const struct tool_option bench_options[] = {
    {"level", "K,...", "0,1", "fill levels k of ILU(k), one table each", NULL, TOOL_TEXT, PLACE(level_text)},
    {"block", "B", "the problem's own", "block size", NULL, TOOL_COUNT, PLACE(block)},
    {"device", "cpu|cuda|cpu,cuda", "cpu", "where to run; on cuda, cuSPARSE runs in turn with Karst", NULL, TOOL_TEXT,
     PLACE(device)},
    {"threads", "T,...", "1,2", "numbers of threads of Karst on the CPU", NULL, TOOL_TEXT, PLACE(threads_text)},
    {"restart", "M", "20", "restart length m of GMRES(m)", NULL, TOOL_COUNT, PLACE(restart)},
    {"iterations", "N", "60", "iterations to time",
     "With --sequence they are the most that a solve may take, 200 by default, as in OPM Flow.", TOOL_COUNT,
     PLACE(iterations)},
    {"repeat", "N", "3", "repetitions, and take the median",
     "The default is 100 for tridiagonal, whose repetitions end after half a second.", TOOL_COUNT, PLACE(repeat)},
    {"rtol", "R", "", "time whole solves too, by gmres and bicgstab, to this relative residual",
     "With --solves it is the residual to reach, 1e-6 by default; with --sequence, 1e-2.", TOOL_REAL, PLACE(rtol)},
    {"precond", "WAY,...", "iluk", "what to time, one table each: NAME[:STYLE][:OPTION=VALUE]...",
     "An example is iluk,dilu,iluk:modified=1.", TOOL_TEXT, PLACE(precond)},
    {"grids", "SIZE[/B],...", "", "time each preconditioner per cell on these grids instead; SIZE: NXxNYxNZ or N",
     "MATRIX is then a problem of the gallery without its sizes; N is a cube of N cells along each axis, and B the "
     "block size. At most one of --grids, --correction, --solves and --sequence is done; --solves with --sequence "
     "names its solver.",
     TOOL_TEXT, PLACE(grid_text)},
    {"correction", "STEPS", "", "print |b - A x|^2 of x <- x + M^-1 (b - A x) instead",
     "It is printed for each of STEPS steps.", TOOL_COUNT, PLACE(correction)},
    {"set", "NAME=VALUE,...", "", "other options of Karst, such as precond=parilu,sweeps=3",
     "All options of solve may be set except solver, max-iterations, atol, damping, parts and scale, and also the "
     "options for experiments, which --help lists.",
     TOOL_TEXT, PLACE(set)},
    {"ordering", "NAME", "", "time Karst in this order of the block rows too, beside the natural one",
     "The report has set-up, iterations and both kernels, and the levels, tiles and colours of the order; with "
     "--solves a row for each order, and the parts of set-up.",
     TOOL_TEXT, PLACE(ordering)},
    {"tile-size", "N", "0", "most block rows of a tile of that order; 0: chosen by the device and the matrix",
     "An order without such tiles does not read it. Their shape is set by --set tile-shape=grown.", TOOL_TEXT,
     PLACE(tile_text)},
    {"solves", "SOLVER", "", "time whole solves by SOLVER side by side instead, a row for each of --precond", NULL,
     TOOL_TEXT, PLACE(solves)},
    {"sequence", "", "", "solve the systems in the folder MATRIX one after another instead, as a simulator does",
     "The matrices are prob_R_time_S__nit_N_matrix_istl..., as OPM Flow names them, or the same with .kbsr, in "
     "order of report step R, time S and Newton iteration N as numbers; right-hand sides are beside them. The first "
     "is set up, as is one with another pattern; the others are updated. Each is solved from x = 0, by bicgstab "
     "unless --solves names another solver, and each of --precond has a row.",
     TOOL_SWITCH, PLACE(sequence)},
    {"errors", "WAY", "", "with --sequence: the errors of the unknowns of a cell against solves to 1e-10 by WAY",
     "WAY is as in --precond, such as iluk, with level 2 where it has levels. Each reference is set up anew, on the "
     "CPU.",
     TOOL_TEXT, PLACE(errors)},
    {"plot", "FILE", "", "with --sequence or tridiagonal: draw a picture; FILE.svg or FILE.png",
     "With --sequence it has the iterations of each system, with tridiagonal the times over n, of float if that is "
     "among the precisions.",
     TOOL_TEXT, PLACE(plot)},
    {"batches", "SIZE,...", "those of the paper",
     "with the MATRIX tridiagonal: batches of these sizes; SIZE: [SYSTEMSx]ROWS[/M]",
     "A system has ROWS block rows with blocks of M by M, 1 by default and 1024 at most. Without SYSTEMS there are "
     "512 systems, or as many as make the rows of --rows. The list has 48 sizes at most. Those of "
     "Figures 1 and 2 of the paper are 16,32,64,128,256,512,1024,16/4,32/4,64/4,128/4; with --rows the default is "
     "128, 1024 and 8192 for M = 1, 128 and 1024 for 2 and 3, 64 and 512 for 4 and 5, and 32 and 256 for 6 to 8.",
     TOOL_TEXT, PLACE(batches)},
    {"rows", "N", "", "with tridiagonal: batches of N block rows in all, against the copy bandwidth", NULL, TOOL_COUNT,
     PLACE(rows)},
    {"methods", "METHOD,...", "all",
     "with tridiagonal: METHOD[:LAYOUT] of auto, thomas, cr, pcr, hybrid, split; aos, soa",
     "Without LAYOUT both are timed. The list has 12 methods at most. With --rows the default is auto:soa.", TOOL_TEXT,
     PLACE(methods)},
    {"precision", "float,double", "float,double", "with tridiagonal: the types of the numbers", NULL, TOOL_TEXT,
     PLACE(precision)},
    {"profile", "", "", "with --solves, on a GPU: the time of each kernel in a solve, by CUPTI", NULL, TOOL_SWITCH,
     PLACE(profile)},
    {"peer", "PROGRAM", "", "a program that times another library: petsc, hypre[:STYLE] (--solves), or a path", NULL,
     TOOL_TEXT, PLACE(peer)},
    {"negate", "", "", "multiply the matrix by -1, and a right-hand side that came with it",
     "It cannot be used with --peer.", TOOL_SWITCH, PLACE(negate)},
    {"quick", "", "", "one repetition of 5 iterations, for a first look", NULL, TOOL_SWITCH, PLACE(quick)},
    {"json", "", "", "a line of JSON for each program and number of threads", NULL, TOOL_SWITCH, PLACE(json)},
    {.name = NULL}};
