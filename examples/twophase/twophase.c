/* twophase.c - a fully implicit simulator of water that drives oil out of a reservoir, as a client of Karst.
 *
 *     make && ./twophase --grid 60x220x2 --perm permx.gz --permz permz.gz --poro poro.gz --pictures .
 * Unknowns are pressure and saturation in each cell and bottom-hole pressure and rate of each well: blocks of 2 by 2.
 * A step is done by Newton's method, x = x - J^-1 R. One that cannot be done is cut and tried again. The solver is set
 * up once and updated with each J. Its solves are inexact: a residual that has fallen from |R'| to |R| asks for the
 * relative tolerance 0.9 (|R| / |R'|)^2 (Eisenstat, Walker, SIAM J. Sci. Comput. 17, 1996). */
#include "twophase.h"

#include <math.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
  GRID,
  PERM,
  PERMZ,
  PORO,
  SEED,
  DAYS,
  INJECT,
  WELLS,
  DEVICE,
  THREADS,
  RTOL,
  MOST,
  PICTURES,
  SOLUTION,
  FAIL,
  SETTINGS
};
static struct {
  const char *name, *value, *help;
} setting[SETTINGS] = {{"--grid", "40x40", "NXxNY or NXxNYxNZ: cells along each axis, from 3x1, up to a million"},
                       {"--perm", "", "file of permeabilities along x and y, mD, one a cell; else they are random"},
                       {"--permz", "", "file of permeabilities along z; else a tenth of those along x and y"},
                       {"--poro", "", "file of porosities; else 0.2"},
                       {"--seed", "1", "a number: of random permeabilities"},
                       {"--days", "1000", "a number from 1e-6 on: of days to simulate"},
                       {"--inject", "0.5", "a number from 0 on: of pore volumes of water in this time"},
                       {"--wells", "rows", "rows: of the matrix; beside: the unknowns of wells are not in the matrix"},
                       {"--device", "cpu", "cpu, cuda or cuda:N"},
                       {"--threads", "1", "a number from 1 on: of threads of the CPU"},
                       {"--rtol", "0.1", "a number from 0 on: the largest relative tolerance of a linear solve"},
                       {"--max-iterations", "1000", "a number from 0 on: of iterations of a linear solve"},
                       {"--pictures", "", "folder for a picture of the start and after each tenth of the time"},
                       {"--solution", "", "file for the unknowns, cell by cell, then well by well"},
                       {"--fail", "0", "a number N: spoils matrix N of Newton's method by a NaN, 2N by zeros"}};
static const double first_step = 0.01, most_steps = 100, growth = 1.2, cut = 0.5, least_step = 1e-6; /* of the time */
static const double most_iterations = 15, limit = 0.2; /* of Newton's method; of a saturation's change in one of them */
static const double tightest = 1e-6, well_tolerance = 1e-6;         /* of a linear solve, relative; bar, m3/day */
static const double cell_tolerance = 1e-7, total_tolerance = 1e-12; /* of balances, in pore volumes; errors add up */
static karst_context *context;
static struct reservoir r = {.size = {1, 1, 1}};
static karst_matrix *A;
static karst_solver *solver;
static karst_wells *wells;                                     /* NULL: in the matrix */
static karst_vector *b, *dx, *bw, *dw;                         /* of rows of the matrix; of wells beside it */
static double *x, *start, *residual, *change, *value;          /* x is the state, start that before the step */
static double outflow[PHASES], update_seconds, linear_seconds; /* what all wells take out [m3/day]; times so far */
static int iterations, linear;                                 /* Newton's and linear ones so far */

/* Reads "--name value ..."; any other name is an option of the library. */
static void read_arguments(char **argument, karst_options *options)
{
  for (int k = 0; *argument; argument += 2, k = 0) {
    if (strncmp(*argument, "--", 2) != 0 || !argument[1]) stop(*argument, "options are pairs: --name value");
    while (k < SETTINGS && strcmp(*argument, setting[k].name) != 0) k++;
    if (k < SETTINGS) setting[k].value = argument[1];
    if (k == SETTINGS) must(context, karst_options_set(options, *argument + 2, argument[1]));
  }
}

static double number(int k, double least)
{
  char *end;
  const double result = strtod(setting[k].value, &end);
  if (end == setting[k].value || *end || !(result >= least && result <= 1e9)) stop(setting[k].name, setting[k].help);
  return result;
}

static double seconds(void)
{
  struct timespec now;
  timespec_get(&now, TIME_UTC);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Makes the wells beside the matrix, all of two equations and as many perforations as there are layers. */
static void create_wells(void)
{
  const karst_index count = r.rows - r.cells;
  int *equations = malloc((size_t)count * sizeof *equations);
  karst_index *first = malloc((size_t)(count + 1 + r.perforations) * sizeof *first);
  if (!equations || !first) stop("--wells", "not enough memory");
  karst_index *const cell = first + count + 1;
  for (karst_index i = 0; i < count; i++) equations[i] = 2;
  for (karst_index i = 0; i <= count; i++) first[i] = i * r.size[2];
  for (karst_index p = 0; p < r.perforations; p++) cell[p] = r.connection[r.connections - r.perforations + p].i;
  must(context, karst_wells_create(context, r.cells, 2, count, equations, first, cell, &wells));
  must(context, karst_vector_create(context, karst_wells_unknowns(wells), &bw));
  must(context, karst_vector_create(context, karst_wells_unknowns(wells), &dw));
  must(context, karst_solver_set_wells(solver, wells));
  free(equations), free(first);
}

/* Makes the reservoir and what solves its equations, as the settings say. */
static void create(const karst_options *options)
{
  const char *const file[3] = {setting[PERM].value, setting[PERMZ].value, setting[PORO].value};
  int *const size = r.size, end = 0;
  sscanf(setting[GRID].value, "%4dx%4d%nx%4d%n", &size[0], &size[1], &end, &size[2], &end); // NOLINT(cert-err34-c)
  const bool good = end > 0 && !setting[GRID].value[end] && size[0] > 2 && size[1] > 0 && size[2] > 0;
  if (!good || 1.0 * size[0] * size[1] * size[2] > 1e6) stop("--grid", setting[GRID].help);
  must(context, karst_context_set_device(context, setting[DEVICE].value));
  must(context, karst_context_set_threads(context, (int)number(THREADS, 1)));
  r.beside = strcmp(setting[WELLS].value, "beside") == 0;
  if (!r.beside && strcmp(setting[WELLS].value, "rows") != 0) stop("--wells", setting[WELLS].help);
  reservoir_create(context, file, (uint64_t)number(SEED, 0), &r);
  r.most_rate = number(INJECT, 0) * r.volume / number(DAYS, 1e-6);
  const size_t length = 2 * (size_t)r.rows;
  x = calloc(4 * length + 4 * (size_t)r.blocks, sizeof(double)); /* with all arrays that follow */
  if (!x) stop("--grid", "not enough memory");
  start = x + length, residual = start + length, change = residual + length, value = change + length;
  flow_start(&r, x);
  must(context, karst_vector_create(context, 2 * (int64_t)r.matrix_rows, &b));
  must(context, karst_vector_create(context, 2 * (int64_t)r.matrix_rows, &dx));
  must(context, karst_matrix_create_pattern(context, r.matrix_rows, 2, r.row_start, r.column, KARST_REFERENCE, &A));
  must(context, karst_solver_create(context, options, &solver));
  if (r.beside) create_wells();
  must(context, karst_solver_setup(solver, A));
}

/* Whether each balance holds, and their sums: what a step leaves over would add up. */
static bool converged(double dt)
{
  double total[PHASES] = {0, 0};
  bool good = true; /* false where something is a NaN, too */
  for (karst_index k = 0; k < 2 * r.rows && good; k++) {
    const bool cell = k < 2 * r.cells;
    good = fabs(residual[k]) <= (cell ? cell_tolerance * r.pore_volume[k / 2] / dt : well_tolerance);
    if (cell) total[k % 2] += dt * residual[k];
  }
  return good && fabs(total[WATER]) <= total_tolerance * r.volume && fabs(total[OIL]) <= total_tolerance * r.volume;
}

/* Solves J change = R up to a residual of rtol |R|. */
static karst_reason solve(double rtol)
{
  const double begin = seconds();
  karst_result result;
  const double *const B = value + 4 * r.matrix_blocks, *const C = B + 4 * r.perforations,
                      *const D = C + 4 * r.perforations;
  must(context, karst_matrix_update_values(A, value));
  if (wells) must(context, karst_wells_update_values(wells, B, C, D));
  must(context, karst_solver_update(solver));
  must(context, karst_context_synchronize(context));
  update_seconds += seconds() - begin;
  must(context, karst_solver_set_tolerances(solver, rtol, 0, (int)number(MOST, 0)));
  must(context, karst_vector_fill(dx, 0));
  if (wells && karst_wells_outcome(wells, NULL) == KARST_SOUND) must(context, karst_wells_eliminate(wells, bw, b));
  must(context, karst_solver_solve(solver, b, dx, &result));
  must(context, karst_vector_get(dx, karst_vector_length(dx), change));
  if (wells && karst_wells_outcome(wells, NULL) == KARST_SOUND) {
    must(context, karst_wells_recover(wells, bw, dx, dw));
    must(context, karst_vector_get(dw, karst_vector_length(dw), change + karst_vector_length(dx)));
  }
  linear_seconds += seconds() - begin, linear += result.iterations;
  return result.reason;
}

/* Takes the state through dt days and returns NULL; or, where that cannot be done, lets it stay and returns why. */
static const char *step(double dt)
{
  const karst_index *const row = r.row_start + r.cells / 2; /* of the blocks that --fail spoils */
  const char *failure = NULL;
  double norm, norm_before = 0, loosest = number(RTOL, 0), rtol = loosest;
  memcpy(start, x, 2 * (size_t)r.rows * sizeof(double));
  for (int k = 0; !failure; k++, norm_before = norm) {
    flow_assemble(&r, start, dt, x, residual, value, outflow);
    if (converged(dt)) return NULL;
    if (++iterations == (int)number(FAIL, 0)) value[4 * row[0]] = NAN;
    for (karst_index v = 4 * row[0]; v < 4 * row[1] && iterations == 2 * (int)number(FAIL, 0); v++) value[v] = 0;
    must(context, karst_vector_set(b, karst_vector_length(b), residual));
    if (wells) must(context, karst_vector_set(bw, karst_vector_length(bw), residual + karst_vector_length(b)));
    must(context, karst_vector_norm(b, &norm));
    if (k > 0) rtol = fmin(loosest, fmax(0.9 * pow(norm / norm_before, 2), tightest));
    if (solve(rtol) < 0) failure = karst_solver_explain(solver);
    if (k == most_iterations) failure = "Newton's method has not converged";
    for (karst_index s = SATURATION; s < 2 * r.cells; s += 2) change[s] = fmax(fmin(change[s], limit), -limit);
    for (karst_index u = 0; u < 2 * r.rows; u++) x[u] -= change[u];
    for (karst_index s = SATURATION; s < 2 * r.cells; s += 2) x[s] = fmax(fmin(x[s], 1), 0);
  }
  memcpy(x, start, 2 * (size_t)r.rows * sizeof(double));
  return failure;
}

/* Draws the top layer as day-NNNN.png, in colours that are legible in grey, and to the colour-blind; false: it could
 * not. The shell reads the folder from a variable, so that its name may hold any character. */
static bool draw(double day)
{
  static const char *const title[2] = {"pressure [bar]", "saturation of water"}, *const range[2] = {"*:*", "0.2:0.8"};
  static const char command[] = "exec 2>/dev/null; type gnuplot >&2 && gnuplot | cat >\"$FILE\" && test -s \"$FILE\"";
  const double *const d = reservoir_cell_size;
  char path[4096];
  snprintf(path, sizeof path, "%s/day-%04.0f.png", setting[PICTURES].value, day);
  signal(SIGPIPE, SIG_IGN); /* Where gnuplot is missing or gives up, pclose tells. */
  FILE *gnuplot = setenv("FILE", path, 1) ? NULL : popen(command, "w"); // NOLINT(cert-env33-c): a fixed command
  if (!gnuplot) return false;
  fprintf(gnuplot, "set terminal png size 840,620\nset multiplot layout 1,2 title 'day %.0f'\nset xtics 100\n", day);
  fprintf(gnuplot, "set palette defined (0 '#440154', 1 '#3b528b', 2 '#21918c', 3 '#5ec962', 4 '#fde725')\n"
                   "set size ratio -1\nset autoscale fix\nset ytics 100\nset xlabel 'x [m]'\nset ylabel 'y [m]'\n");
  for (int u = 0; u < 2; u++) {
    fprintf(gnuplot, "unset key\nset title '%s'\nset cbrange [%s]\nplot '-' with image\n", title[u], range[u]);
    for (int k = 0, nx = r.size[0]; k < nx * r.size[1]; k++)
      fprintf(gnuplot, "%g %g %g\n", d[0] * (k % nx + 0.5), d[1] * (floor(1.0 * k / nx) + 0.5), x[2 * k + u]);
    fprintf(gnuplot, "e\n");
  }
  return pclose(gnuplot) == 0;
}

/* What the first picture lacks. */
static const char *why_no_picture(void)
{
  if (access(setting[PICTURES].value, W_OK | X_OK)) return "the folder does not exist or cannot be written";
  if (system("command -v gnuplot >/dev/null 2>&1")) // NOLINT(cert-env33-c): a fixed command
    return "gnuplot not found; install it for pictures";
  return "gnuplot cannot draw into this folder";
}

/* Takes the state through all days, in steps that are cut where they fail and grow where they do not. */
static void simulate(double days)
{
  const double begin = seconds(), longest = days / most_steps;
  double time = 0, dt = first_step * longest, error[PHASES] = {0, 0};
  double expected[PHASES] = {flow_amount(&r, WATER, x), flow_amount(&r, OIL, x)};
  int steps = 0, cuts = 0;
  printf("step  time [day]    dt [day]  Newton  linear   error of water     of oil\n");
  while (time < days) {
    const double length = fmin(dt, days - time);
    const char *const failure = step(length);
    printf("%4d  %10.4f  %10.4f  %6d  %6d   ", steps + 1, time + length, length, iterations, linear); /* in all */
    if (failure) {
      printf("cut: %s\n", failure), cuts++, dt = cut * length;
      if (dt < least_step * longest) stop("no step is short enough", failure);
      continue;
    }
    for (int a = 0; a < PHASES; a++) error[a] = flow_amount(&r, a, x) / (expected[a] -= length * outflow[a]) - 1;
    printf("%14.1e  %9.1e\n", error[WATER], error[OIL]);
    const int tenths = (int)(10 * time / days);
    time = length < dt ? days : time + length;
    steps++, dt = fmin(growth * dt, longest);
    if (*setting[PICTURES].value && (int)(10 * time / days) > tenths && !draw(time))
      fprintf(stderr, "twophase: no picture of day %.0f: gnuplot has failed, or the disk is full\n", time);
  }
  const double end = seconds(), percent = 100 * linear_seconds / (end - begin);
  must(context, karst_solver_setup(solver, A));
  must(context, karst_context_synchronize(context));
  printf("\n%d steps, %d cuts, %d Newton and %d linear iterations\n", steps, cuts, iterations, linear);
  printf("mass error   water %.1e, oil %.1e of what is there\n", error[WATER], error[OIL]);
  printf("time         %.2f s, %.0f %% of it for linear systems; an update %.3f ms, a set-up %.3f ms\n", end - begin,
         percent, 1e3 * update_seconds / iterations, 1e3 * (seconds() - end));
}

int main(int argc, char **argv)
{
  karst_options *options;
  if (argc == 2 && strcmp(argv[1], "--help") == 0) {
    for (int k = 0; k < SETTINGS; k++) printf("%-16s %s [%s]\n", setting[k].name, setting[k].help, setting[k].value);
    return printf("and the options of the library, such as --level [1]; files may be compressed (.gz)\n") < 0;
  }
  setvbuf(stdout, NULL, _IOLBF, BUFSIZ); /* so that a log shows each step as it ends */
  if (karst_context_create(NULL, &context)) stop("Karst", "not enough memory");
  must(context, karst_options_create(context, &options));
  must(context, karst_options_set(options, "level", "1"));
  read_arguments(argv + 1, options);
  create(options);
  const char *const path = setting[SOLUTION].value; /* Outputs that cannot be written are refused before the run. */
  for (int k = PERM; k <= PORO && *path; k++)
    if (strcmp(path, setting[k].value) == 0) stop(path, "the solution would replace a file that is read");
  FILE *file = *path ? fopen(path, "a") : NULL;
  if (*path && (!file || fclose(file))) stop(path, "cannot be written");
  if (*setting[PICTURES].value && !draw(0)) stop("--pictures", why_no_picture());
  printf("grid %s, seed %s, %s\n", setting[GRID].value, setting[SEED].value, karst_context_device(context));
  simulate(number(DAYS, 1e-6));
  karst_solver_destroy(solver), karst_wells_destroy(wells), karst_matrix_destroy(A), karst_vector_destroy(dx);
  karst_vector_destroy(b), karst_vector_destroy(bw), karst_vector_destroy(dw);
  must(context, karst_vector_create(context, 2 * (int64_t)r.rows, &b));
  must(context, karst_vector_set(b, 2 * (int64_t)r.rows, x));
  if (*path) must(context, karst_vector_write(b, path));
  karst_vector_destroy(b);
  karst_options_destroy(options), karst_context_destroy(context), reservoir_destroy(&r), free(x);
  if (fflush(stdout) || ferror(stdout)) stop("standard output", "cannot be written");
  return 0;
}
