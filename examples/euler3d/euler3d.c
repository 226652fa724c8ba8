/* euler3d.c - compressible flow without friction on structured grids of many blocks, as a client of Karst: what Stone,
 * Duque, Zhang, Car, Owens and Davis (AIAA 2011-3221) put on a GPU, in sections IV and V of their paper.
 *
 *     make && ./euler3d --case sod --axis z          with a GPU: make NVCC=nvcc
 *     ./euler3d --case bump --scheme implicit --blocks 2x1x1 --picture bump && gnuplot bump
 *     ./euler3d --case time --device cuda --size 128x128x128 --steps 50
 *     ./euler3d --case table2 --size 64x64x64 --steps 5 --threads 8
 *
 * The flow runs on the CPU or on the GPU with the same functions for cells and faces (kernels.h). The explicit scheme
 * is Jameson's, the implicit one that of Beam and Warming, whose block-tridiagonal systems Karst solves.
 *
 *   --size, --blocks     cells, and blocks of the same size: along sod's tube and across; else along x, y and z
 *   --steps              at most; of time and table2: repetitions
 *   --end, --fall        time at the end of sod; bump ends when its residual has fallen to this part
 *   --cfl                length of time steps: 1 for volume over the sum of the spectral radii
 *   --k2, --k4           dissipation by second and fourth differences
 *   --phi, --smoothing   of the implicit scheme: 0.5 for second order in time; its dissipation
 *   --transfer           how sweeps, of a --precision, that the CPU assembles reach a solver on the GPU
 *   --warp               by how many cells the grid lines of sod are bent
 *   --threads, --group   of the CPU; of a group in a reduction */
#include "euler3d.h"

#include <math.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#ifndef EULER3D_CUDA
const struct device *cuda_device(void) { return NULL; }
#endif

/* clang-format off */
static struct setting {
  const char *name, *value, *range;
} setting[] = {
  {"--case", "sod", "sod bump time table2 "}, {"--size", "", "AxBxC"}, {"--axis", "x", "x y z "},
  {"--scheme", "explicit", "explicit implicit "}, {"--blocks", "1x1x1", "AxBxC"}, {"--device", "cpu", "cpu cuda "},
  {"--precision", "double", "double float "}, {"--steps", "2000", "1 .. 1e9"}, {"--end", "0.2", "1e-9 .. 1e9"},
  {"--transfer", "none", "none whole planes streams "}, {"--fall", "1e-8", "0 .. 1"}, {"--picture", "", "FILE"},
  {"--threads", "1", "1 .. 1024"}, {"--group", "256", "1 .. 1024"}, {"--phi", "0", "0 .. 1"}, {"--k2", "", "0 .. 10"},
  {"--k4", "", "0 .. 1"}, {"--cfl", "", "1e-9 .. 1e9"}, {"--warp", "0", "0 .. 1.5"},
  {"--smoothing", "0.25", "0 .. 10"}};
/* clang-format on */
enum { SETTINGS = sizeof setting / sizeof *setting };

static struct setting *find(const char *name)
{
  for (int k = 0; k < SETTINGS; k++)
    if (strcmp(name, setting[k].name) == 0) return &setting[k];
  stop(name, "options are pairs, --name value; see --help");
  return NULL;
}
static void by_default(const char *name, const char *value)
{
  if (!*find(name)->value) find(name)->value = value;
}

static double number(const char *name)
{
  char *end, *after;
  const struct setting *s = find(name);
  const double result = strtod(s->value, &end), least = strtod(s->range, &after), most = strtod(after + 4, NULL);
  if (end == s->value || *end || !(result >= least && result <= most)) stop(name, s->range);
  return result;
}
static int whole(const char *name)
{
  if (number(name) != floor(number(name))) stop(name, "needs a whole number");
  return (int)number(name);
}

/* The number of the value among the words, each of which ends with a space. */
static int choice(const char *name)
{
  const struct setting *s = find(name);
  const char *word = s->range;
  for (int i = 0; *word; i++, word += strcspn(word, " ") + 1)
    if (strcspn(word, " ") == strlen(s->value) && strncmp(word, s->value, strlen(s->value)) == 0) return i;
  stop(name, s->range);
  return -1;
}

/* Reads AxBxC; A goes to the axis and the others to the next axes. */
static void sizes(const char *name, int axis, int size[AXES])
{
  int given[AXES] = {0, 0, 0}, end = -1;
  const char *const value = find(name)->value;
  sscanf(value, "%5dx%5dx%5d%n", &given[0], &given[1], &given[2], &end); // NOLINT(cert-err34-c): checked below
  if (end < 0 || value[end] || given[0] < 1 || given[1] < 1 || given[2] < 1) stop(name, "needs AxBxC, from 1x1x1 on");
  for (int d = 0; d < AXES; d++) size[(axis + d) % AXES] = given[d];
}

int main(int argc, char **argv)
{
  static const char *const typical[] = {"100x4x4", "96x32x4", "64x64x64", "32x32x32"};
  const bool help = argc == 2 && strcmp(argv[1], "--help") == 0;
  for (int k = 0; k < SETTINGS && help; k++)
    printf("%-11s %s [%s]\n", setting[k].name, setting[k].range, setting[k].value);
  if (help) return printf("The head of euler3d.c explains them.\n") < 0;
  for (int i = 1; i < argc; i += 2) find(i + 1 < argc ? argv[i] : "a name without value")->value = argv[i + 1];
  const int which = choice("--case"), on_gpu = choice("--device");
  struct settings set = {.axis = which == 0 ? choice("--axis") : 0,
                         .implicit = choice("--scheme"),
                         .single = choice("--precision"),
                         .transfer = (enum transfer)choice("--transfer"),
                         .picture = find("--picture")->value};
  by_default("--size", typical[which]), by_default("--cfl", which == 0 ? "1" : (set.implicit ? "10" : "2.5"));
  by_default("--k2", which ? "0.5" : "1"), by_default("--k4", which ? "0.03125" : "0.0625");
  sizes("--size", set.axis, set.cells), sizes("--blocks", set.axis, set.split);
  for (int d = 0; d < AXES; d++)
    if (set.cells[d] % set.split[d] || (set.split[d] > 1 && set.cells[d] / set.split[d] < GHOSTS))
      stop("--blocks", "blocks need the same sizes, of at least two cells");
  set.k2 = number("--k2"), set.k4 = number("--k4"), set.smoothing = number("--smoothing"), set.cfl = number("--cfl");
  set.phi = number("--phi"), set.warp = number("--warp"), set.end = number("--end"), set.fall = number("--fall");
  set.threads = whole("--threads"), set.group = whole("--group"), set.steps = whole("--steps");
  const bool needs = on_gpu || set.transfer != NONE;
  const struct device *gpu = needs ? cuda_device() : NULL, *device = on_gpu ? gpu : &cpu_device;
  if (needs && !gpu) stop("cuda", "this program was built without NVCC, or there is no GPU");
  if (set.transfer != NONE && (on_gpu || !set.implicit)) stop("--transfer", "needs --device cpu and --scheme implicit");
#ifdef _OPENMP
  omp_set_num_threads(set.threads);
#endif
  printf("%s, %dx%dx%d cells in %dx%dx%d blocks, %s, on %s\n", find("--case")->value, set.cells[0], set.cells[1],
         set.cells[2], set.split[0], set.split[1], set.split[2], find("--scheme")->value, device->name);
  if (which < 2) run_problem(&set, which ? &bump : &sod, device);
  if (which == 2) run_times(&set, device);
  if (which == 3) run_table2(&set);
  if (fflush(stdout) || ferror(stdout)) stop("standard output", "cannot be written");
  return 0;
}
