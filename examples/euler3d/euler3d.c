/* euler3d.c - compressible flow without friction on structured grids of many blocks, as a client of Karst: what Stone,
 * Duque, Zhang, Car, Owens and Davis (AIAA 2011-3221) put on a GPU, in sections IV and V of their paper.
 *
 *     make && ./euler3d --case sod --axis z          with a GPU: make NVCC=nvcc
 *     ./euler3d --case bump --scheme implicit --blocks 2x1x1 --picture bump && gnuplot bump
 *
 * The flow runs on the CPU or on the GPU with the same functions for cells and faces (kernels.h). The explicit scheme
 * is Jameson's, the implicit one that of Beam and Warming, whose block-tridiagonal systems Karst solves. */
#include "euler3d.h"

#include <math.h>
#include <string.h>

/* The options, and what they set. Words of a choice end with a space. An empty value depends on the case. */
static struct settings set;
static struct setting {
  const char *name, *value, *range, *help;
  int *choice, *whole, *sizes;
  double *number;
} setting[] = {
    {"--case", "sod", "sod bump time ", "a problem, or what is measured", .choice = &set.problem},
    {"--size", "", "1 .. 99999", "cells AxBxC: along the tube and across; else along x, y, z", .sizes = set.cells},
    {"--blocks", "1x1x1", "1 .. 99999", "blocks of the same size in the same directions", .sizes = set.split},
    {"--axis", "x", "x y z ", "of the tube of sod", .choice = &set.axis},
    {"--scheme", "explicit", "explicit implicit ", "in time", .choice = &set.implicit},
    {"--device", "cpu", "cpu cuda ", "where the flow is", .choice = &set.device},
    {"--threads", "1", "1 .. 1024", "of the CPU", .whole = &set.threads},
    {"--group", "61", "2 .. 1024", "values in a group of a reduction", .whole = &set.group},
    {"--steps", "2000", "1 .. 1e9", "at most; of time: repetitions", .whole = &set.steps},
    {"--end", "0.2", "1e-9 .. 1e9", "time at the end of sod", .number = &set.end},
    {"--fall", "1e-8", "0 .. 1", "bump ends when its residual is this part of the first", .number = &set.fall},
    {"--cfl", "", "1e-9 .. 1e9", "of a time step: 1 for volume / sum of the spectral radii", .number = &set.cfl},
    {"--k2", "", "0 .. 10", "dissipation by second differences", .number = &set.k2},
    {"--k4", "", "0 .. 1", "dissipation by fourth differences", .number = &set.k4},
    {"--phi", "0", "0 .. 1", "of the implicit scheme: 0.5 for second order in time", .number = &set.phi},
    {"--smoothing", "0.25", "0 .. 10", "dissipation of the implicit scheme", .number = &set.smoothing},
    {"--precision", "double", "double float ", "of implicit sweeps", .choice = &set.single},
    {"--transfer", "none", "none whole planes streams ", "of systems from the CPU to a GPU", .choice = &set.transfer},
    {"--warp", "0", "0 .. 1.5", "by how many cells the grid lines of sod are bent", .number = &set.warp},
    {"--picture", "", "FILE", "what gnuplot is to draw", .choice = NULL}};
enum { SETTINGS = sizeof setting / sizeof *setting };

static struct setting *find(const char *name)
{
  for (int k = 0; k < SETTINGS; k++)
    if (strcmp(name, setting[k].name) == 0) return &setting[k];
  stop(name, "options are pairs, --name value; see --help");
}
static void by_default(const char *name, const char *value)
{
  if (!*find(name)->value) find(name)->value = value;
}

/* The number of the value among the words. */
static int choice(const struct setting *s)
{
  const char *word = s->range;
  for (int i = 0; *word; i++, word += strcspn(word, " ") + 1)
    if (strcspn(word, " ") == strlen(s->value) && strncmp(word, s->value, strlen(s->value)) == 0) return i;
  stop(s->name, s->range);
}

/* The first of three goes to the axis of the tube, and the others to the next axes. */
static void read_numbers(const struct setting *s)
{
  char *end, *after;
  const double least = strtod(s->range, &after), most = strtod(after + 4, NULL);
  const char *at = s->value;
  for (int k = 0, last = s->sizes ? AXES - 1 : 0; k <= last; k++, at = end + 1) {
    const double value = strtod(at, &end);
    if (end == at || *end != (k < last ? 'x' : 0) || !(value >= least && value <= most))
      stop(s->name, s->sizes ? "needs AxBxC, from 1x1x1 on" : s->range);
    if (!s->number && value != floor(value)) stop(s->name, "needs whole numbers");
    if (s->sizes) s->sizes[(set.axis + k) % AXES] = (int)value;
    if (s->whole) *s->whole = (int)value;
    if (s->number) *s->number = value;
  }
}

static void read_settings(void)
{
  for (struct setting *s = setting; s < setting + SETTINGS; s++)
    if (s->choice) *s->choice = choice(s);
  if (set.problem) set.axis = 0;
  by_default("--size", set.problem ? "96x32x4" : "100x4x4");
  by_default("--cfl", set.problem == 0 ? "1" : (set.implicit ? "10" : "2.5"));
  by_default("--k2", set.problem ? "0.5" : "1"), by_default("--k4", set.problem ? "0.03125" : "0.0625");
  for (struct setting *s = setting; s < setting + SETTINGS; s++)
    if (s->number || s->whole || s->sizes) read_numbers(s);
  set.picture = find("--picture")->value;
  for (int d = 0; d < AXES; d++)
    if (set.cells[d] % set.split[d] || (set.split[d] > 1 && set.cells[d] / set.split[d] < GHOSTS))
      stop("--blocks", "blocks need the same sizes, of at least two cells");
  if (set.transfer != NONE && (set.device || !set.implicit))
    stop("--transfer", "needs --device cpu and --scheme implicit");
}

int main(int argc, char **argv)
{
  const bool help = argc == 2 && strcmp(argv[1], "--help") == 0;
  for (const struct setting *s = setting; s < setting + SETTINGS && help; s++)
    printf("%-11s %s: %s [%s]\n", s->name, s->help, s->range, s->value);
  if (help) return 0;
  for (int i = 1; i < argc; i += 2) find(i + 1 < argc ? argv[i] : "a name without value")->value = argv[i + 1];
  read_settings();
  const struct device *const gpu = set.device || set.transfer != NONE ? cuda_device() : &cpu_device;
  if (!gpu) stop("cuda", "this program was built without NVCC, or there is no GPU");
  const struct device *const chosen = set.device ? gpu : &cpu_device;
  printf("%s, %dx%dx%d cells in %dx%dx%d blocks, %s, on %s\n", find("--case")->value, set.cells[0], set.cells[1],
         set.cells[2], set.split[0], set.split[1], set.split[2], find("--scheme")->value, chosen->name);
  if (set.problem == 2)
    run_times(&set, chosen);
  else
    run_problem(&set, set.problem ? &bump : &sod, chosen);
  if (fflush(stdout) || ferror(stdout)) stop("standard output", "cannot be written");
  return 0;
}
