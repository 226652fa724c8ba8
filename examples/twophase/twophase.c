/* twophase.c - a fully implicit simulator of water that drives oil out of a reservoir, as a client of Karst.
 *
 *     make && ./twophase --grid 60x220x2 --perm permx.txt --permz permz.txt --poro poro.txt --pictures .
 *
 * Unknowns are pressure and saturation in each cell and bottom-hole pressure and rate of each well: blocks of 2 by 2.
 * The solver is set up once and updated with each Jacobian. A step that cannot be done is cut and tried again. */
#include "twophase.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GRID, PERM, PERMZ, PORO, SEED, SIGMA, DAYS, INJECT, DEVICE, THREADS, PICTURES, SOLUTION, NOT_FINITE, SINGULAR };
static struct {
  const char *name, *value, *help;
} setting[] = {{"grid", "40x40", "NXxNY or NXxNYxNZ: cells along each axis"},
               {"perm", "", "file of permeabilities along x and y, mD, a number for each cell; else they are random"},
               {"permz", "", "file of permeabilities along z; else a tenth of those along x and y"},
               {"poro", "", "file of porosities; else 0.2"},
               {"seed", "1", "of random permeabilities"},
               {"sigma", "1", "standard deviation of the logarithm of random permeabilities"},
               {"days", "1000", "to simulate"},
               {"inject", "0.5", "pore volumes of water in this time"},
               {"device", "cpu", "cpu, cuda or cuda:N"},
               {"threads", "1", "of the CPU"},
               {"pictures", "", "folder for a picture after each tenth of the time"},
               {"solution", "", "begins the names of files that pressures and saturations are written to"},
               {"fail-nan", "0", "makes a NaN in the matrix of this Newton iteration, to show what follows"},
               {"fail-singular", "0", "makes a singular block in it"}};
enum { SETTINGS = sizeof setting / sizeof *setting };
static const double first_step = 0.01, most_steps = 100, growth = 1.2, cut = 0.5, least_step = 1e-6; /* of the time */

/* Returns a setting as a number from least to most. */
static double number(int k, double least, double most, karst_context *context, karst_status *status)
{
  char *end, sentence[200];
  const double value = strtod(setting[k].value, &end);
  if (*setting[k].value && *end == '\0' && value >= least && value <= most) return value;
  snprintf(sentence, sizeof sentence, "--%s takes a number from %g to %g", setting[k].name, least, most);
  if (!*status) *status = karst_context_fail(context, KARST_ERROR_OPTION, sentence);
  return least;
}

/* Reads "--name value ..."; a name that is none of the settings is an option of the library. */
static karst_status read_arguments(int count, char **argument, karst_context *context, karst_options *options)
{
  for (int i = 1; i < count; i += 2) {
    int k = 0;
    if (strncmp(argument[i], "--", 2) != 0 || i + 1 == count)
      return karst_context_fail(context, KARST_ERROR_OPTION, "options are pairs, --name value; see --help");
    while (k < SETTINGS && strcmp(argument[i] + 2, setting[k].name) != 0) k++;
    if (k < SETTINGS)
      setting[k].value = argument[i + 1];
    else if (karst_options_set(options, argument[i] + 2, argument[i + 1]))
      return KARST_ERROR_OPTION;
  }
  return KARST_SUCCESS;
}

/* Makes the reservoir and what solves its equations, as the settings say. */
static karst_status begin(struct reservoir *r, struct newton *n, const karst_options *options, double days)
{
  const char *const file[3] = {setting[PERM].value, setting[PERMZ].value, setting[PORO].value}, *text;
  int size[3] = {1, 1, 1}, end = 0;
  double volume = 0;
  karst_status status = karst_context_set_device(n->context, setting[DEVICE].value);
  const double threads = number(THREADS, 1, 1024, n->context, &status),
               seed = number(SEED, 0, 1e9, n->context, &status);
  const double sigma = number(SIGMA, 0, 10, n->context, &status), inject = number(INJECT, 0, 100, n->context, &status);
  n->fail_nan = (int)number(NOT_FINITE, 0, 1e9, n->context, &status);
  n->fail_singular = (int)number(SINGULAR, 0, 1e9, n->context, &status);
  if (!status) status = karst_context_set_threads(n->context, (int)threads);
  if (!status) status = karst_options_get(options, "rtol", &text);
  if (!status) n->loosest = strtod(text, NULL), status = karst_options_get(options, "max-iterations", &text);
  if (!status) n->most_linear = (int)strtol(text, NULL, 10);
  sscanf(setting[GRID].value, "%5dx%5d%nx%5d%n", &size[0], &size[1], &end, &size[2], &end);
  if (!status && (setting[GRID].value[end] || size[0] < 3 || size[1] < 1 || size[2] < 1 ||
                  1.0 * size[0] * size[1] * size[2] > 1e7))
    return karst_context_fail(n->context, KARST_ERROR_OPTION,
                              "--grid takes NXxNY or NXxNYxNZ, from 3x1x1 to 10 million cells");
  for (int k = 0; k < 3; k++) r->size[k] = size[k];
  if (!status) status = reservoir_create(n->context, file, (uint64_t)seed, sigma, r);
  for (karst_index i = 0; i < r->cells && !status; i++) volume += r->pore_volume[i];
  r->well[0].rate = inject * volume / days;
  return status ? status : newton_create(options, n);
}

/* Prints what one unknown of the cells is like, and writes it to NAME-WHAT.mtx where there is a name. */
static karst_status finish(struct newton *n, int unknown, const char *what, const char *name)
{
  const karst_index cells = n->reservoir->cells;
  double least = INFINITY, most = -INFINITY, norm = 0;
  char path[300];
  karst_vector *vector = NULL;
  for (karst_index i = 0; i < cells; i++) {
    const double value = n->change[i] = n->x[2 * i + unknown];
    least = fmin(least, value), most = fmax(most, value);
  }
  karst_status status = karst_vector_create(n->context, cells, &vector);
  if (!status) status = karst_vector_set(vector, cells, n->change);
  if (!status) status = karst_vector_norm(vector, &norm);
  snprintf(path, sizeof path, "%.250s-%s.mtx", name, what);
  if (!status && *name) status = karst_vector_write(vector, path);
  karst_vector_destroy(vector);
  printf("%-12s norm %.8e, from %.8g to %.8g\n", what, norm, least, most);
  return status;
}

/* Takes the state through all days, in steps that are cut where they fail and grow where they do not. */
static karst_status simulate(struct newton *n, double days)
{
  const double start = newton_clock(), longest = days / most_steps;
  double time = 0, dt = first_step * longest, error[PHASES] = {0, 0}, expected[PHASES], present[PHASES],
         outflow[PHASES];
  int steps = 0, cuts = 0, tenths = 0;
  const char *failure;
  karst_status status = KARST_SUCCESS;
  flow_amount(n->reservoir, n->x, n->amount, expected);
  printf("step  time [day]    dt [day]  Newton  linear   error of water     of oil\n");
  while (time < days && !status) {
    const int iterations = n->iterations, linear = n->linear;
    const double length = fmin(dt, days - time);
    status = newton_step(n, length, outflow, &failure);
    if (!status && !failure) time = length < dt ? days : time + length;
    flow_amount(n->reservoir, n->x, n->amount, present);
    for (int a = 0; a < PHASES; a++) {
      if (!failure) expected[a] -= length * outflow[a];
      error[a] = present[a] / expected[a] - 1;
    }
    printf("%4d  %10.4f  %10.4f  %6d  %6d   ", steps + !failure, time, length, n->iterations - iterations,
           n->linear - linear);
    if (failure)
      printf("cut: %s\n", failure), cuts++;
    else
      printf("%14.1e  %9.1e\n", error[WATER], error[OIL]), steps++;
    dt = failure ? cut * length : fmin(growth * dt, longest);
    if (!status && dt < least_step * longest)
      status = karst_context_fail(n->context, KARST_ERROR_ARGUMENT, "the time step has become too small");
    if (*setting[PICTURES].value && (int)(10 * time / days) > tenths) {
      tenths = (int)(10 * time / days);
      if (!picture_draw(setting[PICTURES].value, time, n->reservoir, n->x))
        fprintf(stderr, "no picture: gnuplot cannot draw it\n");
    }
  }
  const double end = newton_clock(), percent = 100 * n->linear_seconds / (end - start);
  if (!status) status = karst_solver_setup(n->solver, n->A);
  if (!status) status = karst_context_synchronize(n->context);
  printf("\n%d steps, %d cuts, %d Newton and %d linear iterations\n", steps, cuts, n->iterations, n->linear);
  printf("mass error   water %.1e, oil %.1e of what is there\n", error[WATER], error[OIL]);
  printf("time         %.2f s, %.0f %% of it for linear systems; an update %.2f ms, a set-up %.2f ms\n", end - start,
         percent, 1e3 * n->update_seconds / n->iterations, 1e3 * (newton_clock() - end));
  if (!status) status = finish(n, PRESSURE, "pressure", setting[SOLUTION].value);
  return status ? status : finish(n, SATURATION, "saturation", setting[SOLUTION].value);
}

int main(int argc, char **argv)
{
  karst_context *context = NULL;
  karst_options *options = NULL;
  struct reservoir r = {.cells = 0};
  struct newton n = {.reservoir = &r};
  if (argc == 2 && strcmp(argv[1], "--help") == 0) {
    for (int k = 0; k < SETTINGS; k++) printf("--%-14s %s [%s]\n", setting[k].name, setting[k].help, setting[k].value);
    return printf("and every option of Karst, as in tools/solve --help; rtol is the largest that a solve has\n") < 0;
  }
  karst_status status = karst_context_create(NULL, &context);
  if (!status) status = karst_options_create(context, &options);
  if (!status) status = karst_options_set(options, "level", "1");
  if (!status) status = karst_options_set(options, "rtol", "0.1");
  if (!status) status = karst_options_set(options, "max-iterations", "1000");
  if (!status) status = read_arguments(argc, argv, context, options);
  const double days = number(DAYS, 1e-6, 1e9, context, &status);
  n.context = context;
  if (!status) status = begin(&r, &n, options, days);
  if (!status) status = simulate(&n, days);
  if (status) fprintf(stderr, "twophase: %s\n", context ? karst_context_error(context) : karst_status_text(status));
  newton_destroy(&n);
  reservoir_destroy(&r);
  karst_options_destroy(options);
  karst_context_destroy(context);
  return status ? 2 : 0;
}
