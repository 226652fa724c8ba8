/* euler3d.c - compressible flow without friction on structured grids of many blocks, as a client of Karst: what Stone,
 * Duque, Zhang, Car, Owens and Davis (AIAA 2011-3221) put on a GPU, in sections IV and V of their paper.
 *
 *     make && ./euler3d --case sod --axis z          with a GPU: make NVCC=nvcc
 *     ./euler3d --case bump --scheme implicit --blocks 2x1x1 --picture bump && gnuplot bump
 *     ./euler3d --case time --device cuda --size 128x128x128 --steps 50
 *     ./euler3d --case table2 --size 64x64x64 --steps 5 --threads 8
 * The flow runs on the CPU or on the GPU with the same functions for cells and faces (kernels.h). The explicit scheme is
 * Jameson's, the implicit one that of Beam and Warming, whose block-tridiagonal systems Karst solves. */
#include "euler3d.h"

#include <math.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#ifndef EULER3D_CUDA
const struct device *cuda_device(void) { return NULL; }
#endif

static const char help[] =
    "--case sod|bump|time|table2     what to compute, or to measure\n"
    "--scheme explicit|implicit\n"
    "--device cpu|cuda               where the flow is\n"
    "--size AxBxC, --blocks AxBxC    cells, and blocks of the same size: along sod's tube and across; else x, y, "
    "z\n"
    "--axis x|y|z                    of sod's tube\n"
    "--steps N                       at most; time and table2: repetitions\n"
    "--end T                         of sod\n"
    "--fall R                        bump ends when its residual has fallen to this part\n"
    "--cfl R                         of time steps: 1 for volume over the sum of the spectral radii\n"
    "--k2 R, --k4 R                  second- and fourth-difference dissipation\n"
    "--phi R, --smoothing R          of the implicit scheme: 0.5 for second order in time; its dissipation\n"
    "--precision double|float        of the implicit sweeps\n"
    "--transfer none|whole|planes|streams   from sweeps assembled on the CPU to a solver on the GPU\n"
    "--warp R                        bends the grid lines of sod by so many cells, at most 1.5\n"
    "--threads N, --group N          of the CPU; in a group of a reduction, at most 1024\n"
    "--picture FILE                  writes what gnuplot draws as FILE.png\n";

static struct {
  const char *name, *value;
} setting[] = {
    {"--case", "sod"},      {"--axis", "x"},         {"--scheme", "explicit"},  {"--size", ""},     {"--device", "cpu"},
    {"--transfer", "none"}, {"--blocks", "1x1x1"},   {"--precision", "double"}, {"--picture", ""},  {"--steps", "2000"},
    {"--threads", "1"},     {"--group", "256"},      {"--end", "0.2"},          {"--fall", "1e-8"}, {"--cfl", ""},
    {"--phi", "0"},         {"--smoothing", "0.25"}, {"--warp", "0"},           {"--k2", ""},       {"--k4", ""}};

/* Where the value of a setting is; gives it one if it has none yet. */
static const char **value_of(const char *name, const char *otherwise)
{
  for (size_t k = 0; k < sizeof setting / sizeof *setting; k++)
    if (strcmp(name, setting[k].name) == 0) {
      if (!*setting[k].value && otherwise) setting[k].value = otherwise;
      return &setting[k].value;
    }
  stop(name, "options are pairs, --name value; see --help");
  return NULL;
}

static double number(const char *name, double least, double most)
{
  char *end;
  const char *const value = *value_of(name, NULL);
  const double result = strtod(value, &end);
  if (end == value || *end || !(result >= least && result <= most)) stop(name, "the value is out of range; see --help");
  return result;
}
static int whole(const char *name, int most)
{
  const double result = number(name, 1, most);
  if (result != floor(result)) stop(name, "needs a whole number; see --help");
  return (int)result;
}

/* The number of the value among words, each of which ends with a space. */
static int choice(const char *name, const char *words)
{
  const char *const value = *value_of(name, NULL);
  for (int i = 0; *words; i++, words += strcspn(words, " ") + 1)
    if (strcspn(words, " ") == strlen(value) && strncmp(words, value, strlen(value)) == 0) return i;
  stop(name, "the value is unknown; see --help");
  return -1;
}

/* Reads AxBxC; A goes to the axis and the others to the next axes. */
static void sizes(const char *name, int axis, int size[AXES])
{
  int given[AXES] = {0, 0, 0}, end = -1;
  const char *const value = *value_of(name, NULL);
  sscanf(value, "%5dx%5dx%5d%n", &given[0], &given[1], &given[2], &end); // NOLINT(cert-err34-c): checked below
  if (end < 0 || value[end] || given[0] < 1 || given[1] < 1 || given[2] < 1) stop(name, "needs AxBxC, from 1x1x1 on");
  for (int d = 0; d < AXES; d++) size[(axis + d) % AXES] = given[d];
}

int main(int argc, char **argv)
{
  static const char *const typical[] = {"100x4x4", "96x32x4", "64x64x64", "32x32x32"};
  if (argc == 2 && strcmp(argv[1], "--help") == 0) return fputs(help, stdout) < 0;
  for (int i = 1; i < argc; i += 2) *value_of(i + 1 < argc ? argv[i] : "--", NULL) = argv[i + 1];
  const int which = choice("--case", "sod bump time table2 ");
  const bool on_gpu = choice("--device", "cpu cuda ");
  struct settings set = {.axis = which == 0 ? choice("--axis", "x y z ") : 0,
                         .implicit = choice("--scheme", "explicit implicit "),
                         .single = choice("--precision", "double float "),
                         .transfer = (enum transfer)choice("--transfer", "none whole planes streams "),
                         .picture = *value_of("--picture", NULL)};
  value_of("--size", typical[which]), value_of("--cfl", which == 0 ? "1" : (set.implicit ? "10" : "2.5"));
  value_of("--k2", which ? "0.5" : "1"), value_of("--k4", which ? "0.03125" : "0.0625");
  sizes("--size", set.axis, set.cells), sizes("--blocks", set.axis, set.split);
  for (int d = 0; d < AXES; d++)
    if (set.cells[d] % set.split[d] || (set.split[d] > 1 && set.cells[d] / set.split[d] < GHOSTS))
      stop("--blocks", "blocks need the same sizes, of at least two cells");
  set.k2 = number("--k2", 0, 10), set.k4 = number("--k4", 0, 1), set.smoothing = number("--smoothing", 0, 10);
  set.cfl = number("--cfl", 1e-9, 1e9), set.phi = number("--phi", 0, 1), set.warp = number("--warp", 0, 1.5);
  set.end = number("--end", 1e-9, 1e9), set.fall = number("--fall", 0, 1), set.steps = whole("--steps", 1000000000);
  set.threads = whole("--threads", 1024), set.group = whole("--group", 1024);
  const bool needs = on_gpu || set.transfer != NONE;
  const struct device *gpu = needs ? cuda_device() : NULL, *device = on_gpu ? gpu : &cpu_device;
  if (needs && !gpu) stop("cuda", "this program was built without NVCC, or there is no GPU");
  if (set.transfer != NONE && (on_gpu || !set.implicit)) stop("--transfer", "needs --device cpu and --scheme implicit");
#ifdef _OPENMP
  omp_set_num_threads(set.threads);
#endif
  printf("%s, %dx%dx%d cells in %dx%dx%d blocks, %s, on %s\n", *value_of("--case", NULL), set.cells[0], set.cells[1],
         set.cells[2], set.split[0], set.split[1], set.split[2], *value_of("--scheme", NULL), device->name);
  if (which < 2) run_problem(&set, which ? &bump : &sod, device);
  if (which == 2) run_times(&set, device);
  if (which == 3) run_table2(&set);
  if (fflush(stdout) || ferror(stdout)) stop("standard output", "cannot be written");
  return 0;
}
