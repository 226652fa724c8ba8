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

/* The options, and what they set. An empty number depends on the case. A GPU launches at most 65535 planes. */
static struct settings set;
static struct setting {
  const char *name, *value, *range, *help;
  int *choice, *whole, *sizes;
  double *number;
} setting[] = {
    {"--case", "sod", "sod bump time", "shock tube, bump in a channel, times of kernels", .choice = &set.problem},
    {"--size", "", "1 .. 65500, whole", "cells AxBxC: x, y, z; of sod: along the tube, across", .sizes = set.cells},
    {"--blocks", "1x1x1", "1 .. 65500, whole", "blocks AxBxC of the same size, in the same order", .sizes = set.split},
    {"--axis", "x", "x y z", "along which the tube of sod lies", .choice = &set.axis},
    {"--scheme", "explicit", "explicit implicit", "of the steps in time", .choice = &set.implicit},
    {"--device", "cpu", "cpu cuda", "where the flow is", .choice = &set.device},
    {"--threads", "1", "1 .. 1024, whole", "threads of the CPU", .whole = &set.threads},
    {"--group", "61", "2 .. 1024, whole", "values that a reduction makes one of at a time", .whole = &set.group},
    {"--steps", "2000", "1 .. 1000000000, whole", "steps at most; of time: repetitions", .whole = &set.steps},
    {"--end", "0.2", "1e-9 .. 0.25", "time when sod ends, before waves reach the tube's ends", .number = &set.end},
    {"--fall", "1e-8", "0 .. 1", "bump is steady when its residual is this part of the first", .number = &set.fall},
    {"--cfl", "", "1e-9 .. 1e9", "Courant number; 1: dt is volume / sum of the spectral radii", .number = &set.cfl},
    {"--k2", "", "0 .. 10", "dissipation by second differences", .number = &set.k2},
    {"--k4", "", "0 .. 1", "dissipation by fourth differences", .number = &set.k4},
    {"--phi", "0", "0 .. 1", "of the implicit scheme: 0 is Euler's, 0.5 of second order", .number = &set.phi},
    {"--smoothing", "0.25", "0 .. 10", "dissipation of the implicit scheme", .number = &set.smoothing},
    {"--precision", "double", "double float", "numbers in implicit sweeps", .choice = &set.single},
    {"--transfer", "none", "none whole planes streams", "how the CPU's systems reach a GPU", .choice = &set.transfer},
    {"--warp", "0", "0 .. 1.5", "by how many cells the grid lines of sod are bent", .number = &set.warp},
    {"--picture", "", "FILE", "gets the commands with which gnuplot draws FILE.png", .choice = NULL}};
enum { SETTINGS = sizeof setting / sizeof *setting };

static struct setting *find(const char *name)
{
  for (int k = 0; k < SETTINGS; k++)
    if (strcmp(name, setting[k].name) == 0) return &setting[k];
  stop(name, "there is no such option; see --help");
}
static void by_default(const char *name, const char *value)
{
  if (!*find(name)->value) find(name)->value = value;
}

__attribute__((noreturn)) static void refuse(const struct setting *s)
{
  fprintf(stderr, "euler3d: %s %s: takes %s (%s)\n", s->name, s->value, s->range, s->help);
  exit(2);
}

/* The number of the value among the words. */
static int choice(const struct setting *s)
{
  const char *word = s->range;
  for (size_t i = 0, length; (length = strcspn(word, " ")); i++, word += length + (word[length] == ' '))
    if (length == strlen(s->value) && strncmp(word, s->value, length) == 0) return (int)i;
  refuse(s);
}

/* The first of three goes to the axis of the tube, and the others to the next axes. */
static void read_numbers(const struct setting *s)
{
  char *end, *after;
  const double least = strtod(s->range, &after), most = strtod(after + 4, NULL);
  const char *at = s->value;
  for (int k = 0, last = s->sizes ? AXES - 1 : 0; k <= last; k++, at = end + 1) {
    const double value = s->number ? strtod(at, &end) : (double)strtol(at, &end, 10);
    if (end == at || *end != (k < last ? 'x' : 0) || !(value >= least && value <= most)) refuse(s);
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
  if (strpbrk(set.picture, "'\n")) stop("--picture", "gnuplot needs a name without quotes and line breaks");
  if (set.cells[set.axis] < 4) stop("--size", "needs at least 4 cells along x, or along the tube of sod");
  if ((double)set.cells[0] * set.cells[1] * set.cells[2] > 0x7fffffff) stop("--size", "takes at most 2147483647 cells");
  for (int d = 0; d < AXES; d++)
    if (set.cells[d] % set.split[d] || (set.split[d] > 1 && set.cells[d] / set.split[d] < GHOSTS))
      stop("--blocks", "must divide the cells into equal blocks, of two cells or more where it divides");
  if (set.transfer != NONE && (set.device || !set.implicit))
    stop("--transfer", "needs --device cpu and --scheme implicit");
}

static void print_help(void)
{
  printf(
      "euler3d [--NAME VALUE]... computes a compressible flow. Exit status: 0, or 1 if --steps ends before the flow\n"
      "is steady or at --end, or 2 after an error. Each line: the name, what it is: its values [its default]\n\n");
  for (const struct setting *s = setting; s < setting + SETTINGS; s++)
    printf("%-11s %s: %s [%s]\n", s->name, s->help, s->range,
           *s->value ? s->value : (s->number || s->sizes ? "by case" : "none"));
}

int main(int argc, char **argv)
{
  bool reached = true;
  if (argc == 2 && strcmp(argv[1], "--help") == 0) {
    print_help();
  } else {
    for (int i = 1; i < argc; i += 2) {
      if (i + 1 == argc) stop(argv[i], "a value is missing; see --help");
      find(argv[i])->value = argv[i + 1];
    }
    read_settings();
    const struct device *const gpu = set.device || set.transfer != NONE ? cuda_device() : &cpu_device;
    if (!gpu) stop("cuda", "this program was built without NVCC, or there is no GPU");
    const struct device *const chosen = set.device ? gpu : &cpu_device;
    printf("%s, %dx%dx%d cells in %dx%dx%d blocks, %s, on %s\n", find("--case")->value, set.cells[0], set.cells[1],
           set.cells[2], set.split[0], set.split[1], set.split[2], find("--scheme")->value, chosen->name);
    if (set.problem == 2)
      run_times(&set, chosen);
    else
      reached = run_problem(&set, set.problem ? &bump : &sod, chosen);
  }
  if (fflush(stdout) || ferror(stdout)) stop("standard output", "cannot be written");
  return reached ? 0 : 1;
}
