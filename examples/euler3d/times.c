/* times.c - milliseconds of the kernels of the paper's section IV.B, or of an implicit sweep along x, as its Table 2
 * has them; doc/tables/flow.sh makes tables of both. A time is the least of five, each the mean of some repetitions. */
#include "kernels.h"

enum { TRIES = 5, COPIED = 15 }; /* scalars of a cell in start, residual and change */
enum { REDUCTION = KERNEL_COUNT, COPY, SWEEP };

/* clang-format off */
static const struct {
  const char *name;
  int work, nodal, axis, scalars; /* enum kernel and what follows it; scalars that a cell must read and write */
} job[] = {
  {"time steps", KERNEL_time_steps, 0, 0, 16}, {"and the least", REDUCTION, 0, 0, 17},
  {"fluxes along x", KERNEL_sweep, 0, 0, 13}, {"fluxes along y", KERNEL_sweep, 0, 1, 18},
  {"fluxes along z", KERNEL_sweep, 0, 2, 18}, {"Runge-Kutta stage", KERNEL_stage, 0, 0, 17},
  {"nodes from cells", KERNEL_nodes_from_cells, 0, 0, 10}, {"nodal time steps", KERNEL_time_steps, 1, 0, 16},
  {"nodal fluxes x", KERNEL_sweep, 1, 0, 13}, {"copy", COPY, 0, 0, 2 * COPIED}, {"sweep", SWEEP, 0, 0, 0}};
/* clang-format on */
enum { JOBS = sizeof job / sizeof *job };

static void work(struct flow *f, int j)
{
  f->task.axis = job[j].axis, f->task.nodal = job[j].nodal;
  if (job[j].work < KERNEL_COUNT) flow_cells(f, (enum kernel)job[j].work);
  if (job[j].work == REDUCTION) flow_reduce(f, TIME_STEP, LEAST);
  if (job[j].work == SWEEP) sweeps_along(f, 0);
  if (job[j].work == COPY)
    f->device->copy(f->block->start, f->block->x, COPIED * sizeof(double) * (size_t)f->block->size);
}

void run_times(const struct settings *set, const struct device *device)
{
  struct flow f;
  flow_create(&f, &bump, set, device);
  flow_step(&f, INFINITY);
  printf("%-18s %12s %10s %7s\n", "", "bytes a cell", "ms", set->implicit ? "to assemble" : "GB/s");
  for (int j = set->implicit ? JOBS - 1 : 0; j < (set->implicit ? JOBS : JOBS - 1); j++) {
    double best = INFINITY, assembly = INFINITY;
    for (int t = 0; t < TRIES; t++) {
      f.assembly_seconds = 0;
      device->wait();
      const double start = seconds();
      for (int r = 0; r < set->steps; r++) work(&f, j);
      device->wait();
      best = fmin(best, (seconds() - start) / set->steps), assembly = fmin(assembly, f.assembly_seconds / set->steps);
    }
    const double cells = (double)(job[j].work == COPY ? f.block[0].size : f.cells), bytes = 8 * job[j].scalars;
    printf("%-18s %12.0f %10.4f %7.2f\n", job[j].name, bytes, 1e3 * best,
           set->implicit ? 1e3 * assembly : 1e-9 * bytes * cells / best);
  }
  flow_destroy(&f);
}
