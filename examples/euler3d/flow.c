/* flow.c - the blocks of a flow, and its steps in time.
 *
 * The explicit scheme is Jameson's: five stages u_s = u_0 - a_s dt / V R(u_(s-1)) with a = 1/4, 1/6, 3/8, 1/2, 1.
 * Unlike Lax and Wendroff's in Ni's form, its steady state does not depend on dt, and it needs the same residual as the
 * implicit scheme. Conserved quantities are averages of cells; MBFLO3 of the paper keeps them at nodes. */
#include "kernels.h"

#include <time.h>

double seconds(void)
{
  struct timespec now;
  timespec_get(&now, TIME_UTC);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void shape_block(const struct flow *f, int number, struct block *b)
{
  const int *split = f->set.split, beyond[AXES] = {1, split[0], split[0] * split[1]};
  for (int d = 0; d < AXES; d++) {
    const int at = number / beyond[d] % split[d];
    b->whole[d] = f->set.cells[d], b->n[d] = b->whole[d] / split[d], b->offset[d] = at * b->n[d];
    for (int side = 0; side < 2; side++) {
      const bool outer = at == (side ? split[d] - 1 : 0);
      b->side[d][side] = outer ? (int)f->problem->side[d] : INTERFACE;
      b->neighbour[d][side] = outer ? number : number + (side ? beyond[d] : -beyond[d]);
    }
  }
  b->step[0] = 1, b->step[1] = (ALIGNED + b->n[0] + GHOSTS + ALIGNED - 1) / ALIGNED * ALIGNED;
  b->step[2] = b->step[1] * (b->n[1] + 2 * GHOSTS), b->size = b->step[2] * (b->n[2] + 2 * GHOSTS);
  b->first = ALIGNED + GHOSTS * (b->step[1] + b->step[2]);
}

/* Nodes and states come from the problem; the device computes areas and volumes. */
static void fill_block(struct flow *f, struct block *b)
{
  const size_t size = (size_t)b->size;
  const int nodes[AXES] = {b->n[0] + 1, b->n[1] + 1, b->n[2] + 1};
  double *const host = cpu_device.allocate(8 * size * sizeof *host, false), x[AXES], w[COMPONENTS];
  for (int64_t c = 0; c < (int64_t)nodes[0] * nodes[1] * nodes[2]; c++) {
    const int at[AXES] = {(int)(c % nodes[0]), (int)(c / nodes[0] % nodes[1]), (int)(c / nodes[0] / nodes[1])};
    const int whole[AXES] = {at[0] + b->offset[0], at[1] + b->offset[1], at[2] + b->offset[2]};
    f->problem->place(&f->set, whole, x, w);
    for (int d = 0; d < AXES + COMPONENTS; d++) host[place(b, at) + d * b->size] = d < AXES ? x[d] : w[d - AXES];
  }
  b->x = f->device->allocate(33 * size * sizeof(double), false); /* with all arrays that follow */
  b->area = b->x + 3 * size, b->volume = b->area + 9 * size, b->u = b->volume + size, b->start = b->u + 5 * size;
  b->residual = b->start + 5 * size, b->change = b->residual + 5 * size;
  f->device->copy(b->x, host, 3 * size * sizeof *host);
  f->device->copy(b->u, host + 3 * size, 5 * size * sizeof *host);
  cpu_device.release(host, false);
  f->task.b = *b;
  f->device->launch(KERNEL_geometry, &f->task, (const int[AXES]){0}, nodes);
}

void flow_create(struct flow *f, const struct problem *problem, const struct settings *set, const struct device *device)
{
  const int *n = set->cells;
  double x[AXES];
  *f = (struct flow){
      .set = *set, .problem = problem, .device = device, .task.set = *set, .cells = (int64_t)n[0] * n[1] * n[2]};
  f->blocks = set->split[0] * set->split[1] * set->split[2];
  f->block = cpu_device.allocate((size_t)f->blocks * sizeof *f->block, false);
  problem->place(set, n, x, f->task.free_stream);
  double *const dt = device->allocate(2 * (size_t)f->cells * sizeof *dt, false);
  for (struct block *b = f->block; b < f->block + f->blocks; b++) {
    b->dt = dt, b->scratch = dt + f->cells;
    shape_block(f, (int)(b - f->block), b), fill_block(f, b);
  }
  if (set->implicit) f->sweeps = sweeps_create(f);
}

void flow_destroy(struct flow *f)
{
  if (f->sweeps) sweeps_destroy(f->sweeps);
  f->device->release(f->block[0].dt, false);
  for (int b = 0; b < f->blocks; b++) f->device->release(f->block[b].x, false);
  cpu_device.release(f->block, false);
}

void flow_cells(struct flow *f, enum kernel kernel)
{
  for (int b = 0; b < f->blocks; b++) {
    const int axis = f->task.axis;
    int count[AXES];
    f->task.b = f->block[b];
    for (int d = 0; d < AXES; d++) count[d] = f->task.b.n[d];
    if (kernel == KERNEL_sweep) count[axis] = (count[axis] + strip(axis) - 1) / strip(axis);
    f->device->launch(kernel, &f->task, (const int[AXES]){0}, count);
  }
}

/* Ghost cells axis after axis for all blocks, so that those at edges and corners are filled, too; then the fluxes. */
static void compute_residual(struct flow *f)
{
  for (int i = 0; i < 2 * AXES * f->blocks; i++) {
    const int side = i % 2, axis = i / 2 / f->blocks;
    const struct block *b = &f->block[i / 2 % f->blocks];
    int low[AXES], count[AXES];
    for (int d = 0; d < AXES; d++) low[d] = d < axis ? -GHOSTS : 0, count[d] = b->n[d] - 2 * low[d];
    low[axis] = side ? b->n[axis] : -GHOSTS, count[axis] = GHOSTS;
    f->task.b = *b, f->task.other = f->block[b->neighbour[axis][side]], f->task.axis = axis, f->task.side = side;
    f->device->launch(KERNEL_ghosts, &f->task, low, count);
  }
  for (f->task.axis = 0; f->task.axis < AXES; f->task.axis++) flow_cells(f, KERNEL_sweep);
}

double flow_reduce(struct flow *f, enum term term, enum reduction reduction)
{
  double result;
  f->task.term = term, f->task.reduction = reduction;
  flow_cells(f, term == TIME_STEP ? KERNEL_time_steps : KERNEL_terms);
  f->task.values = term == TIME_STEP ? f->task.b.dt : f->task.b.scratch;
  for (f->task.count = f->cells; f->task.count > 1; f->task.count = f->task.parts) {
    f->task.parts = (f->task.count + f->set.group - 1) / f->set.group;
    f->device->launch(KERNEL_reduce, &f->task, (const int[AXES]){0}, (const int[AXES]){(int)f->task.parts, 1, 1});
    f->task.values = f->task.b.scratch;
  }
  f->device->copy(&result, f->task.values, sizeof result);
  return result;
}

double flow_time_steps(struct flow *f)
{
  const double least = flow_reduce(f, TIME_STEP, LEAST);
  if (least >= 0) return least;
  const int64_t cell = (int64_t)(-1 - least), row = cell / f->set.cells[0];
  char where[96];
  snprintf(where, sizeof where, "cell %d,%d,%d after step %d", (int)(cell % f->set.cells[0]),
           (int)(row % f->set.cells[1]), (int)(row / f->set.cells[1]), f->step);
  stop(where, "the state is not finite, or density or pressure is not positive; lower --cfl");
}

void flow_step(struct flow *f, double longest)
{
  static const double explicit[] = {0.25, 1.0 / 6, 0.375, 0.5, 1};
  const double least = flow_time_steps(f);
  f->task.dt = f->problem->local ? 0 : fmin(least, longest);
  for (int b = 0; b < f->blocks; b++)
    f->device->copy(f->block[b].start, f->block[b].u, 5 * (size_t)f->block[b].size * sizeof(double));
  for (int s = f->sweeps ? 4 : 0; s < 5; s++) {
    compute_residual(f);
    if (s == 4) f->outflow = flow_reduce(f, OUTFLOW, SUM);
    f->task.stage = explicit[s];
    if (!f->sweeps) flow_cells(f, KERNEL_stage);
  }
  f->task.set.phi = f->step > 0 ? f->set.phi : 0; /* The first step has no change before it. */
  for (int axis = 0; axis < AXES && f->sweeps; axis++) sweeps_along(f, axis);
  f->time += f->task.dt, f->step++;
}
