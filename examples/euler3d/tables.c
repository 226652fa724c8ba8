/* tables.c - what the paper measures: reductions for groups of any size, the kernels of its section IV.B, and its
 * Table 2. A time is the least of five, each the mean of some repetitions. */
#include "euler3d.h"

#include <math.h>
#ifdef _OPENMP
#include <omp.h>
#endif

enum { TRIES = 5 };

/* Sums of whole numbers are exact, so that all groups must agree. */
void run_reductions(const struct settings *set, const struct device *device)
{
  static const int group[] = {1, 2, 7, 32, 33, 96, 100, 256, 1000, 1024};
  const int64_t count = (int64_t)set->cells[0] * set->cells[1] * set->cells[2];
  double *host = calloc((size_t)count, sizeof *host), sum = 0;
  if (!host) stop("--size", "not enough memory");
  for (int64_t i = 0; i < count; i++) sum += host[i] = (double)(i * 7919 % count) - (double)count;
  double *value = device->allocate((size_t)count * sizeof *value);
  device->copy(value, host, (size_t)count * sizeof *host);
  for (size_t g = 0; g < sizeof group / sizeof *group; g++) {
    const double least = device->reduce(LEAST, value, count, group[g]),
                 most = device->reduce(MOST, value, count, group[g]);
    const double total = device->reduce(SUM, value, count, group[g]);
    printf("group of %4d: least %.0f, most %.0f, sum %.0f, %s\n", group[g], least, most, total,
           total == sum ? "as expected" : "wrong");
  }
  device->release(value), free(host);
}

/* Something to time: a kernel for all cells of block 0; with reduction also that of the time steps. */
struct job {
  const char *name;
  enum kernel kernel;
  int axis, scalars; /* that a cell reads and writes */
};
static const struct job job[] = {{"time steps", KERNEL_time_steps, 0, 16},
                                 {"least time step", KERNEL_COUNT, 0, 1},
                                 {"fluxes along x", KERNEL_sweep, 0, 13},
                                 {"fluxes along y", KERNEL_sweep, 1, 18},
                                 {"fluxes along z", KERNEL_sweep, 2, 18},
                                 {"Runge-Kutta stage", KERNEL_stage, 0, 17},
                                 {"nodes from cells", KERNEL_nodes_from_cells, 0, 10},
                                 {"nodal time steps", KERNEL_nodal_time_steps, 0, 16},
                                 {"nodal fluxes x", KERNEL_nodal_sweep, 0, 13},
                                 {"nodal fluxes y", KERNEL_nodal_sweep, 1, 18},
                                 {"nodal fluxes z", KERNEL_nodal_sweep, 2, 18}};
enum { JOBS = sizeof job / sizeof *job };

static void time_jobs(struct flow *f, int repeats, double seconds[JOBS])
{
  const struct block *b = &f->block[0];
  const int64_t cells = (int64_t)b->n[0] * b->n[1] * b->n[2];
  for (int j = 0; j < JOBS; j++) {
    seconds[j] = INFINITY;
    for (int t = 0; t < TRIES; t++) {
      f->device->stream_wait(NULL);
      const double start = flow_seconds();
      for (int r = 0; r < repeats; r++) {
        f->task.axis = job[j].axis;
        if (job[j].kernel == KERNEL_COUNT)
          f->device->reduce(LEAST, b->dt, cells, f->set.group);
        else
          flow_cells(f, 0, job[j].kernel);
      }
      f->device->stream_wait(NULL);
      seconds[j] = fmin(seconds[j], (flow_seconds() - start) / repeats);
    }
  }
}

/* Bytes a second of a copy within the device, read and written. */
static double copy_bandwidth(const struct device *device)
{
  const size_t bytes = (size_t)1 << 28;
  void *from = device->allocate(bytes), *to = device->allocate(bytes);
  double seconds = INFINITY;
  for (int t = 0; t < TRIES; t++) {
    const double start = flow_seconds();
    device->copy(to, from, bytes);
    seconds = fmin(seconds, flow_seconds() - start);
  }
  device->release(from), device->release(to);
  return 2.0 * (double)bytes / seconds;
}

/* The kernels on the device, and on one core. */
void run_times(const struct settings *set, const struct device *device)
{
  double on_device[JOBS], on_core[JOBS];
  struct settings one = *set;
  struct flow f;
  one.implicit = false;
  flow_create(&f, &bump, &one, device);
  flow_step(&f, INFINITY);
  time_jobs(&f, set->steps, on_device);
  const double bandwidth = copy_bandwidth(device), cells = (double)set->cells[0] * set->cells[1] * set->cells[2];
  flow_destroy(&f);
#ifdef _OPENMP
  omp_set_num_threads(1);
#endif
  flow_create(&f, &bump, &one, &cpu_device);
  flow_step(&f, INFINITY);
  time_jobs(&f, 1, on_core);
  flow_destroy(&f);
  printf("%s copies %.0f GB/s; one core %.1f GB/s\n", device->name, 1e-9 * bandwidth,
         1e-9 * copy_bandwidth(&cpu_device));
  printf("kernel             bytes a cell       ms    GB/s  of a copy  one core ms  speed-up\n");
  for (int j = 0; j < JOBS; j++) {
    const double rate = 8 * job[j].scalars * cells / on_device[j];
    printf("%-18s %12d %8.4f %7.0f %8.0f %% %12.2f %9.1f\n", job[j].name, 8 * job[j].scalars, 1e3 * on_device[j],
           1e-9 * rate, 100 * rate / bandwidth, 1e3 * on_core[j], on_core[j] / on_device[j]);
  }
}

/* Milliseconds of the sweep along x of a Beam-Warming step, and those of its assembly. */
static void time_sweep(const struct settings *set, const struct device *device)
{
  struct flow f;
  double best[2] = {INFINITY, INFINITY};
  flow_create(&f, &bump, set, device);
  flow_step(&f, INFINITY);
  for (int t = 0; t < TRIES; t++) {
    f.sweep_seconds = f.assembly_seconds = 0;
    for (int r = 0; r < set->steps; r++) sweeps_along(f.sweeps, &f, 0, 0, -1);
    best[0] = fmin(best[0], f.assembly_seconds), best[1] = fmin(best[1], f.sweep_seconds);
  }
  printf("%12.2f%9.2f", 1e3 * best[0] / set->steps, 1e3 * best[1] / set->steps);
  flow_destroy(&f);
}

void run_table2(const struct settings *set)
{
  const struct device *gpu = cuda_device();
  printf("ms: assembly on the host and the whole sweep, by Thomas with %d threads, by the GPU after the paper's "
         "transfers;\n"
         "and all on the GPU\n             Thomas               (i) at once          (ii) planes          (iii) "
         "streams     "
         "   GPU\n",
         set->threads);
  for (int single = 1; single >= 0; single--) {
    struct settings one = *set;
    one.implicit = true, one.single = single, one.transfer = NONE;
    one.split[0] = one.split[1] = one.split[2] = 1;
    printf("%s", single ? "float " : "double");
    time_sweep(&one, &cpu_device);
    for (int way = WHOLE; way <= STREAMS && gpu; way++) {
      one.transfer = (enum transfer)way;
      time_sweep(&one, &cpu_device);
    }
    one.transfer = NONE;
    if (gpu) time_sweep(&one, gpu);
    printf("%s\n", gpu ? "" : "  no GPU for the others");
  }
}
