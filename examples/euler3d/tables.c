/* tables.c - what the paper measures: the kernels of its section IV.B, and its Table 2. A time is the least of five,
 * each the mean of some repetitions. */
#include "euler3d.h"

#include <math.h>
#ifdef _OPENMP
#include <omp.h>
#endif

enum { TRIES = 5 };

/* clang-format off */
/* Kernels for all cells of a block; KERNEL_COUNT is the reduction of the time steps. */
static const struct {
  const char *name;
  enum kernel kernel;
  int nodal, axis, scalars; /* scalars that a cell must read and write */
} job[] = {
  {"time steps", KERNEL_time_steps, 0, 0, 16}, {"least time step", KERNEL_COUNT, 0, 0, 1},
  {"fluxes along x", KERNEL_sweep, 0, 0, 13}, {"fluxes along y", KERNEL_sweep, 0, 1, 18},
  {"fluxes along z", KERNEL_sweep, 0, 2, 18}, {"Runge-Kutta stage", KERNEL_stage, 0, 0, 17},
  {"nodes from cells", KERNEL_nodes_from_cells, 0, 0, 10}, {"nodal time steps", KERNEL_time_steps, 1, 0, 16},
  {"nodal fluxes x", KERNEL_sweep, 1, 0, 13}, {"nodal fluxes y", KERNEL_sweep, 1, 1, 18},
  {"nodal fluxes z", KERNEL_sweep, 1, 2, 18}};
/* clang-format on */
enum { JOBS = sizeof job / sizeof *job };

/* Seconds of each; returns bytes a second of a copy within the device, read and written. */
static double time_jobs(const struct settings *set, const struct device *device, int repeats, double *best)
{
  const size_t bytes = (size_t)1 << 28;
  double copied = INFINITY;
  void *from = device->allocate(bytes), *to = device->allocate(bytes);
  struct flow f;
  flow_create(&f, &bump, set, device);
  flow_step(&f, INFINITY);
  for (int t = 0; t < TRIES; t++) {
    double start = seconds();
    device->copy(to, from, bytes);
    copied = fmin(copied, seconds() - start);
    for (int j = 0; j < JOBS; j++) {
      f.task.axis = job[j].axis, f.task.nodal = job[j].nodal;
      device->wait(NULL);
      start = seconds();
      for (int r = 0; r < repeats; r++)
        if (job[j].kernel == KERNEL_COUNT)
          device->reduce(LEAST, f.block[0].dt, f.block[0].cells, set->group);
        else
          flow_cells(&f, 0, job[j].kernel);
      device->wait(NULL);
      best[j] = fmin(t ? best[j] : INFINITY, (seconds() - start) / repeats);
    }
  }
  device->release(from), device->release(to);
  flow_destroy(&f);
  return 2.0 * (double)bytes / copied;
}

/* The kernels on the device, and on one core. */
void run_times(const struct settings *set, const struct device *device)
{
  double fast[JOBS] = {0}, slow[JOBS] = {0};
  struct settings one = *set;
  one.implicit = false, one.split[0] = one.split[1] = one.split[2] = 1;
  const double copy = time_jobs(&one, device, set->steps, fast),
               cells = (double)set->cells[0] * set->cells[1] * set->cells[2];
#ifdef _OPENMP
  omp_set_num_threads(1);
#endif
  const double copy_of_core = time_jobs(&one, &cpu_device, 1, slow);
  printf("a copy: %s %.0f GB/s, one core %.1f GB/s\n", device->name, 1e-9 * copy, 1e-9 * copy_of_core);
  printf("kernel             bytes a cell       ms    GB/s  of a copy  one core ms  speed-up\n");
  for (int j = 0; j < JOBS; j++) {
    const double rate = 8 * job[j].scalars * cells / fast[j];
    printf("%-18s %12d %8.4f %7.0f %8.0f %% %12.2f %9.1f\n", job[j].name, 8 * job[j].scalars, 1e3 * fast[j],
           1e-9 * rate, 100 * rate / copy, 1e3 * slow[j], slow[j] / fast[j]);
  }
}

/* Milliseconds of assembly and of the sweep with its assembly, along x, as in the paper. */
static void time_sweep(const struct settings *set, const struct device *device)
{
  struct flow f;
  double best[2] = {INFINITY, INFINITY};
  flow_create(&f, &bump, set, device);
  flow_step(&f, INFINITY);
  for (int t = 0; t < TRIES; t++) {
    f.sweep_seconds = f.assembly_seconds = 0;
    for (int r = 0; r < set->steps; r++) sweeps_along(&f, 0, 0, -1);
    best[0] = fmin(best[0], f.assembly_seconds), best[1] = fmin(best[1], f.sweep_seconds);
  }
  printf(" %9.2f %9.2f", 1e3 * best[0] / set->steps, 1e3 * best[1] / set->steps);
  flow_destroy(&f);
}

void run_table2(const struct settings *set)
{
  const struct device *gpu = cuda_device();
  struct settings one = *set;
  one.implicit = true, one.split[0] = one.split[1] = one.split[2] = 1;
  printf("ms of assembly, and of the sweep along x with its assembly: on the CPU with %d threads, after the paper's "
         "three\n"
         "kinds of transfer to a GPU, and on the GPU alone\n"
         "       CPU                 (i) at once         (ii) by planes      (iii) in streams    GPU\n",
         set->threads);
  for (int single = 1; single >= 0; single--) {
    printf("%s", single ? "float " : "double");
    for (int way = NONE; way <= (gpu ? STREAMS : NONE); way++) {
      one.single = single, one.transfer = (enum transfer)way;
      time_sweep(&one, &cpu_device);
    }
    one.transfer = NONE;
    if (gpu) time_sweep(&one, gpu);
    printf("%s\n", gpu ? "" : "   no GPU for the others");
  }
}
