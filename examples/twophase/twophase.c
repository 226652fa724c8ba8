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
  const char *name, *value;
  double least, most; /* of numbers, else 0 */
  const char *help;
} setting[] = {{"grid", "40x40", 0, 0, "NXxNY or NXxNYxNZ: cells along each axis"},
               {"perm", "", 0, 0, "file of permeabilities along x and y, mD, one for each cell; else they are random"},
               {"permz", "", 0, 0, "file of permeabilities along z; else a tenth of those along x and y"},
               {"poro", "", 0, 0, "file of porosities; else 0.2"},
               {"seed", "1", 0, 1e9, "of random permeabilities"},
               {"sigma", "1", 0, 10, "standard deviation of the logarithm of random permeabilities"},
               {"days", "1000", 1e-6, 1e6, "to simulate"},
               {"inject", "0.5", 0, 100, "pore volumes of water in this time"},
               {"device", "cpu", 0, 0, "cpu, cuda or cuda:N"},
               {"threads", "1", 1, 1024, "of the CPU"},
               {"pictures", "", 0, 0, "folder for a picture after each tenth of the time"},
               {"solution", "", 0, 0, "writes pressures and saturations to files whose names begin so"},
               {"fail-nan", "0", 0, 1e9, "makes a NaN in the matrix of this Newton iteration, to show what follows"},
               {"fail-singular", "0", 0, 1e9, "makes a singular block in it"}};
enum { SETTINGS = sizeof setting / sizeof *setting };
static const double first_step = 0.01, most_steps = 100, growth = 1.2, cut = 0.5, least_step = 1e-6; /* of the time */

static double number(int k) { return strtod(setting[k].value, NULL); }

/* Reads "--name value ..."; a name that is none of the settings is an option of the library. */
static karst_status read_arguments(int count, char **argument, karst_context *context, karst_options *options)
{
  char *end, sentence[200];
  for (int i = 1, k = 0; i < count; i += 2, k = 0) {
    if (strncmp(argument[i], "--", 2) != 0 || i + 1 == count)
      return karst_context_fail(context, KARST_ERROR_OPTION, "options are pairs, --name value; see --help");
    while (k < SETTINGS && strcmp(argument[i] + 2, setting[k].name) != 0) k++;
    if (k < SETTINGS)
      setting[k].value = argument[i + 1];
    else if (karst_options_set(options, argument[i] + 2, argument[i + 1]))
      return KARST_ERROR_OPTION;
  }
  for (int k = 0; k < SETTINGS; k++) {
    const double value = strtod(setting[k].value, &end), least = setting[k].least, most = setting[k].most;
    if (most == 0 || (*setting[k].value && !*end && value >= least && value <= most)) continue;
    snprintf(sentence, sizeof sentence, "--%s takes a number from %g to %g", setting[k].name, least, most);
    return karst_context_fail(context, KARST_ERROR_OPTION, sentence);
  }
  return KARST_SUCCESS;
}

/* Makes the reservoir and what solves its equations, as the settings say. */
static karst_status create(struct reservoir *r, struct newton *n, const karst_options *options)
{
  const char *const file[3] = {setting[PERM].value, setting[PERMZ].value, setting[PORO].value}, *rtol, *most;
  int size[3] = {1, 1, 1}, end = 0;
  double volume = 0;
  sscanf(setting[GRID].value, "%4dx%4d%nx%4d%n", &size[0], &size[1], &end, &size[2], &end); // NOLINT(cert-err34-c)
  const double cells = 1.0 * size[0] * size[1] * size[2];
  if (end == 0 || setting[GRID].value[end] || size[0] < 3 || size[1] < 1 || size[2] < 1 || cells > 1e6)
    return karst_context_fail(n->context, KARST_ERROR_OPTION, "--grid takes NXxNY or NXxNYxNZ, 3x1 to 1e6 cells");
  for (int k = 0; k < 3; k++) r->size[k] = size[k];
  karst_status status = karst_context_set_device(n->context, setting[DEVICE].value);
  if (!status) status = karst_context_set_threads(n->context, (int)number(THREADS));
  if (!status) status = karst_options_get(options, "rtol", &rtol);
  if (!status) status = karst_options_get(options, "max-iterations", &most);
  if (!status) status = reservoir_create(n->context, file, (uint64_t)number(SEED), number(SIGMA), r);
  if (status) return status;
  n->loosest = strtod(rtol, NULL), n->most_linear = (int)strtol(most, NULL, 10);
  for (karst_index i = 0; i < r->cells; i++) volume += r->pore_volume[i];
  r->well[0].rate = number(INJECT) * volume / number(DAYS);
  return newton_create(options, n);
}

/* Prints what an unknown of the cells is like, and writes it to NAME-WHAT.txt where there is a name. */
static karst_status finish(const struct newton *n, int unknown, const char *what)
{
  char path[300];
  snprintf(path, sizeof path, "%.250s-%s.txt", setting[SOLUTION].value, what);
  FILE *file = *setting[SOLUTION].value ? fopen(path, "w") : NULL;
  double least = INFINITY, most = -INFINITY, squares = 0;
  for (const double *x = n->x + unknown; x < n->x + 2 * n->reservoir->cells; x += 2) {
    least = fmin(least, *x), most = fmax(most, *x), squares += *x * *x;
    if (file) fprintf(file, "%.17g\n", *x);
  }
  printf("%-12s norm %.8e, from %.8g to %.8g\n", what, sqrt(squares), least, most);
  if ((file && !fclose(file)) || !*setting[SOLUTION].value) return KARST_SUCCESS;
  return karst_context_fail(n->context, KARST_ERROR_FILE, "the files of --solution cannot be written");
}

/* Takes the state through all days, in steps that are cut where they fail and grow where they do not. */
static karst_status simulate(struct newton *n, double days)
{
  const double start = newton_clock(), longest = days / most_steps;
  double time = 0, dt = first_step * longest, error[PHASES] = {0, 0}, expected[PHASES], present[PHASES],
         outflow[PHASES];
  int steps = 0, cuts = 0, tenths = 0;
  karst_status status = KARST_SUCCESS;
  flow_amount(n->reservoir, n->x, n->amount, expected);
  printf("step  time [day]    dt [day]  Newton  linear   error of water     of oil\n");
  while (time < days && !status) {
    const int iterations = n->iterations, linear = n->linear;
    const double length = fmin(dt, days - time);
    const char *failure;
    if ((status = newton_step(n, length, outflow, &failure))) break;
    printf("%4d  %10.4f  %10.4f  %6d  %6d   ", steps + 1, time + length, length, n->iterations - iterations,
           n->linear - linear);
    if (failure) {
      printf("cut: %s\n", failure);
      cuts++, dt = cut * length;
      if (dt < least_step * longest)
        status = karst_context_fail(n->context, KARST_ERROR_ARGUMENT, "no step is short enough");
      continue;
    }
    flow_amount(n->reservoir, n->x, n->amount, present);
    for (int a = 0; a < PHASES; a++) {
      expected[a] -= length * outflow[a];
      error[a] = present[a] / expected[a] - 1;
    }
    printf("%14.1e  %9.1e\n", error[WATER], error[OIL]);
    time = length < dt ? days : time + length;
    steps++, dt = fmin(growth * dt, longest);
    if (!*setting[PICTURES].value || (int)(10 * time / days) == tenths) continue;
    tenths = (int)(10 * time / days);
    if (!picture_draw(setting[PICTURES].value, time, n->reservoir, n->x))
      fprintf(stderr, "twophase: no picture: gnuplot is missing or cannot write there\n");
  }
  const double end = newton_clock(), percent = 100 * n->linear_seconds / (end - start);
  if (!status) status = karst_solver_setup(n->solver, n->A);
  if (!status) status = karst_context_synchronize(n->context);
  printf("\n%d steps, %d cuts, %d Newton and %d linear iterations\n", steps, cuts, n->iterations, n->linear);
  printf("mass error   water %.1e, oil %.1e of what is there\n", error[WATER], error[OIL]);
  printf("time         %.2f s, %.0f %% of it for linear systems; an update %.2f ms, a set-up %.2f ms\n", end - start,
         percent, 1e3 * n->update_seconds / n->iterations, 1e3 * (newton_clock() - end));
  return status;
}

int main(int argc, char **argv)
{
  karst_options *options = NULL;
  struct reservoir r = {.cells = 0};
  struct newton n = {.reservoir = &r};
  if (argc == 2 && strcmp(argv[1], "--help") == 0) {
    for (int k = 0; k < SETTINGS; k++) printf("--%-14s %s [%s]\n", setting[k].name, setting[k].help, setting[k].value);
    return printf("and the options of the library; rtol is the largest of a linear solve [0.1]\n") < 0;
  }
  setvbuf(stdout, NULL, _IOLBF, BUFSIZ); /* so that a log shows each step as it ends */
  karst_status status = karst_context_create(NULL, &n.context);
  if (!status) status = karst_options_create(n.context, &options);
  if (!status) status = karst_options_set(options, "level", "1");
  if (!status) status = karst_options_set(options, "rtol", "0.1");
  if (!status) status = karst_options_set(options, "max-iterations", "1000");
  if (!status) status = read_arguments(argc, argv, n.context, options);
  n.fail_nan = (int)number(NOT_FINITE), n.fail_singular = (int)number(SINGULAR);
  if (!status) status = create(&r, &n, options);
  if (!status) status = simulate(&n, number(DAYS));
  if (!status) status = finish(&n, PRESSURE, "pressure");
  if (!status) status = finish(&n, SATURATION, "saturation");
  if (status) fprintf(stderr, "twophase: %s\n", n.context ? karst_context_error(n.context) : karst_status_text(status));
  newton_destroy(&n);
  reservoir_destroy(&r);
  karst_options_destroy(options);
  karst_context_destroy(n.context);
  return status ? 2 : 0;
}
