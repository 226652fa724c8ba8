/* euler3d.c - compressible flow without friction on structured grids of many blocks, as a client of Karst: what Stone,
 * Duque, Zhang, Car, Owens and Davis (AIAA 2011-3221) put on a GPU, in sections IV and V of their paper.
 *
 *     make && ./euler3d --case sod --axis z          with a GPU: make NVCC=nvcc
 *     ./euler3d --case bump --scheme implicit --cfl 8 --blocks 2x1x1 --picture bump && gnuplot bump.gp
 *     ./euler3d --case time --device cuda --size 128x128x128
 *     ./euler3d --case table2
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

static struct {
  const char *name, *value, *help;
  double least, most; /* of a number; whole if least is 1 */
} setting[] = {
    {"--case", "sod", "sod bump reductions time table2", 0, 0},
    {"--axis", "x", "x y z: of sod's tube", 0, 0},
    {"--scheme", "explicit", "explicit implicit", 0, 0},
    {"--size", "", "AxBxC: cells; along sod's tube and across, else along x, y and z", 0, 0},
    {"--blocks", "1x1x1", "AxBxC: blocks along the same axes, of two cells or more", 0, 0},
    {"--device", "cpu", "cpu cuda", 0, 0},
    {"--transfer", "none", "none whole planes streams: from sweeps assembled on the CPU to the GPU", 0, 0},
    {"--precision", "double", "double float: of the implicit sweeps", 0, 0},
    {"--compare", "no", "no yes: runs on the other device, too, and compares", 0, 0},
    {"--picture", "", "a name: writes NAME.dat and NAME.gp for gnuplot", 0, 0},
    {"--steps", "2000", "a whole number from 1 on: most steps; of time and table2, repetitions", 1, 1e9},
    {"--threads", "1", "a whole number from 1 to 1024: of the CPU", 1, 1024},
    {"--group", "256", "a whole number from 1 to 1024: threads in a group of a reduction", 1, 1024},
    {"--end", "0.2", "a number from 1e-9 on: time at the end of sod", 1e-9, 1e9},
    {"--fall", "1e-8", "a number from 0 to 1: bump ends with this part of its first residual", 0, 1},
    {"--cfl", "", "a number from 1e-9 on: time steps times the sum of spectral radii over volume", 1e-9, 1e9},
    {"--phi", "0", "a number from 0 to 1: of the implicit scheme, 0.5 for second order in time", 0, 1},
    {"--k2", "", "a number from 0 to 10: second-difference dissipation", 0, 10},
    {"--k4", "", "a number from 0 to 1: fourth-difference dissipation", 0, 1},
    {"--smoothing", "0.25", "a number from 0 to 10: implicit dissipation", 0, 10},
    {"--warp", "0", "a number from 0 to 1.5: how many cells the grid lines of sod bend", 0, 1.5}};
enum { SETTINGS = sizeof setting / sizeof *setting };

static int find(const char *name)
{
  int k = 0;
  while (k < SETTINGS && strcmp(name, setting[k].name) != 0) k++;
  return k;
}
static const char *text(const char *name) { return setting[find(name)].value; }
static double number(const char *name)
{
  char *end;
  const int k = find(name);
  const double result = strtod(setting[k].value, &end), least = setting[k].least;
  if (end == setting[k].value || *end || !(result >= least && result <= setting[k].most)) stop(name, setting[k].help);
  if (least == 1 && result != floor(result)) stop(name, setting[k].help);
  return result;
}

/* The number of the value among the words that the help begins with. */
static int choice(const char *name)
{
  const int k = find(name);
  const size_t length = strlen(setting[k].value);
  int i = 0;
  for (const char *word = setting[k].help; *word; word += strspn(word, " "), i++) {
    const size_t end = strcspn(word, " :");
    if (end == length && strncmp(word, setting[k].value, end) == 0) return i;
    word += end;
    if (*word == ':') break;
  }
  stop(name, setting[k].help);
  return -1;
}

/* Reads AxBxC; A goes to the axis and the others to the next axes. */
static void sizes(const char *name, int axis, int size[AXES])
{
  int given[AXES] = {0, 0, 0}, end = -1;
  sscanf(text(name), "%5dx%5dx%5d%n", &given[0], &given[1], &given[2], &end); // NOLINT(cert-err34-c)
  if (end < 0 || text(name)[end] || given[0] < 1 || given[1] < 1 || given[2] < 1) stop(name, setting[find(name)].help);
  for (int d = 0; d < AXES; d++) size[(axis + d) % AXES] = given[d];
}

int main(int argc, char **argv)
{
  static const char *const typical[] = {"100x4x4", "96x32x4", "32x32x32", "64x64x64", "32x32x32"};
  for (int k = 0; argc == 2 && strcmp(argv[1], "--help") == 0; k++) {
    if (k == SETTINGS) return 0;
    printf("%-12s %s [%s]\n", setting[k].name, setting[k].help, setting[k].value);
  }
  for (int i = 1; i < argc; i += 2) {
    if (find(argv[i]) == SETTINGS || i + 1 == argc) stop(argv[i], "options are pairs, --name value; see --help");
    setting[find(argv[i])].value = argv[i + 1];
  }
  const int which = choice("--case");
  struct settings set = {.axis = which == 0 ? choice("--axis") : 0, .implicit = choice("--scheme")};
  if (!*text("--size")) setting[find("--size")].value = typical[which];
  if (!*text("--cfl")) setting[find("--cfl")].value = which == 0 ? "1" : (set.implicit ? "10" : "2.5");
  if (!*text("--k2")) setting[find("--k2")].value = which ? "0.5" : "1";
  if (!*text("--k4")) setting[find("--k4")].value = which ? "0.03125" : "0.0625";
  sizes("--size", set.axis, set.cells), sizes("--blocks", set.axis, set.split);
  for (int d = 0; d < AXES; d++)
    if (set.split[d] > 1 && set.cells[d] / set.split[d] < GHOSTS) stop("--blocks", setting[find("--blocks")].help);
  set.single = choice("--precision"), set.transfer = (enum transfer)choice("--transfer");
  set.k2 = number("--k2"), set.k4 = number("--k4"), set.smoothing = number("--smoothing"), set.cfl = number("--cfl");
  set.phi = number("--phi"), set.warp = number("--warp"), set.end = number("--end"), set.fall = number("--fall");
  set.threads = (int)number("--threads"), set.group = (int)number("--group"), set.steps = (int)number("--steps");
  set.picture = text("--picture");
  const bool on_gpu = choice("--device"), compare = choice("--compare"),
             needs = on_gpu || compare || set.transfer != NONE;
  const struct device *gpu = needs ? cuda_device() : NULL, *device = on_gpu ? gpu : &cpu_device;
  if (needs && !gpu) stop("cuda", "this program was built without NVCC, or there is no GPU");
  if (set.transfer != NONE && (on_gpu || !set.implicit)) stop("--transfer", "needs --device cpu and --scheme implicit");
#ifdef _OPENMP
  omp_set_num_threads(set.threads);
#endif
  printf("%s, %dx%dx%d cells in %dx%dx%d blocks, %s, on %s\n", text("--case"), set.cells[0], set.cells[1], set.cells[2],
         set.split[0], set.split[1], set.split[2], text("--scheme"), device->name);
  if (which < 2) run_problem(&set, which ? &bump : &sod, device, compare ? (on_gpu ? &cpu_device : gpu) : NULL);
  if (which == 2) run_reductions(&set, device);
  if (which == 3) run_times(&set, device);
  if (which == 4) run_table2(&set);
  if (fflush(stdout) || ferror(stdout)) stop("standard output", "cannot be written");
  return 0;
}
