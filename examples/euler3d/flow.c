/* flow.c - the blocks of a flow, and its steps in time.
 *
 * The explicit scheme is Jameson's: five stages u_s = u_0 - a_s dt / V R(u_(s-1)) with a = 1/4, 1/6, 3/8, 1/2, 1.
 * Unlike Lax and Wendroff's in Ni's form, its steady state does not depend on dt, and it needs the same residual as the
 * implicit scheme. Conserved quantities are averages of cells; MBFLO3 of the paper keeps them at nodes. */
#include "euler3d.h"

#include <math.h>
#include <time.h>

static const int origin[AXES] = {0, 0, 0};

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
    b->n[d] = f->set.cells[d] / split[d], b->offset[d] = at * b->n[d];
    for (int side = 0; side < 2; side++) {
      const bool outer = at == (side ? split[d] - 1 : 0);
      b->side[d][side] = outer ? (int)f->problem->side[d] : INTERFACE;
      b->neighbour[d][side] = outer ? number : number + (side ? beyond[d] : -beyond[d]);
    }
  }
  b->step[0] = 1, b->step[1] = (ALIGNED + b->n[0] + GHOSTS + ALIGNED - 1) / ALIGNED * ALIGNED;
  b->step[2] = b->step[1] * (b->n[1] + 2 * GHOSTS), b->size = b->step[2] * (b->n[2] + 2 * GHOSTS);
  b->first = ALIGNED + GHOSTS * (b->step[1] + b->step[2]), b->cells = (int64_t)b->n[0] * b->n[1] * b->n[2];
}

/* Nodes and states come from the problem; the device computes areas and volumes. */
static void fill_block(struct flow *f, struct block *b)
{
  const size_t size = (size_t)b->size, cells = (size_t)b->cells;
  const int nodes[AXES] = {b->n[0] + 1, b->n[1] + 1, b->n[2] + 1};
  double *const host = calloc(8 * size, sizeof *host), x[AXES], w[COMPONENTS];
  if (!host) stop("--size", "not enough memory");
  for (int64_t c = 0; c < (int64_t)nodes[0] * nodes[1] * nodes[2]; c++) {
    const int at[AXES] = {(int)(c % nodes[0]), (int)(c / nodes[0] % nodes[1]), (int)(c / nodes[0] / nodes[1])};
    const int whole[AXES] = {at[0] + b->offset[0], at[1] + b->offset[1], at[2] + b->offset[2]};
    double *const to = host + b->first + at[0] + at[1] * b->step[1] + at[2] * b->step[2];
    f->problem->node(&f->set, whole, x), f->problem->state(&f->set, whole, w);
    for (int d = 0; d < AXES + COMPONENTS; d++) to[d * b->size] = d < AXES ? x[d] : w[d - AXES];
  }
  b->x = f->device->allocate((33 * size + 2 * cells) * sizeof(double)); /* with all arrays that follow */
  b->area = b->x + 3 * size, b->volume = b->area + 9 * size, b->u = b->volume + size, b->start = b->u + 5 * size;
  b->residual = b->start + 5 * size, b->change = b->residual + 5 * size, b->dt = b->change + 5 * size;
  b->scratch = b->dt + cells;
  f->device->copy(b->x, host, 3 * size * sizeof *host);
  f->device->copy(b->u, host + 3 * size, 5 * size * sizeof *host);
  free(host);
  f->task.b = *b;
  f->device->launch(KERNEL_geometry, &f->task, origin, nodes);
}

void flow_create(struct flow *f, const struct problem *problem, const struct settings *set, const struct device *device)
{
  *f = (struct flow){.set = *set, .problem = problem, .device = device};
  f->blocks = set->split[0] * set->split[1] * set->split[2];
  f->cells = (double)set->cells[0] * set->cells[1] * set->cells[2];
  f->block = calloc((size_t)f->blocks, sizeof *f->block);
  if (!f->block) stop("--blocks", "not enough memory");
  problem->state(set, set->cells, f->task.free_stream);
  f->task.k2 = set->k2, f->task.k4 = set->k4, f->task.cfl = set->cfl, f->task.smoothing = set->smoothing;
  for (int b = 0; b < f->blocks; b++) shape_block(f, b, &f->block[b]), fill_block(f, &f->block[b]);
  if (set->implicit) f->sweeps = sweeps_create(f);
}

void flow_destroy(struct flow *f)
{
  sweeps_destroy(f);
  for (int b = 0; b < f->blocks; b++) f->device->release(f->block[b].x);
  free(f->block);
}

double *flow_fetch(const struct flow *f, int b, const double *array, int components)
{
  const size_t bytes = (size_t)components * (size_t)f->block[b].size * sizeof(double);
  double *host = malloc(bytes);
  if (!host) stop("--size", "not enough memory");
  f->device->copy(host, array, bytes);
  return host;
}

void flow_cells(struct flow *f, int b, enum kernel kernel)
{
  f->task.b = f->block[b];
  f->device->launch(kernel, &f->task, origin, f->block[b].n);
}

/* Ghost cells axis after axis for all blocks, so that those at edges and corners are filled, too; then the fluxes. */
static void compute_residual(struct flow *f)
{
  for (int i = 0; i < 2 * AXES * f->blocks; i++) {
    const int side = i % 2, axis = i / 2 / f->blocks;
    const struct block *b = &f->block[i / 2 % f->blocks];
    int low[AXES], count[AXES];
    for (int d = 0; d < AXES; d++)
      low[d] = d < axis ? -GHOSTS : 0, count[d] = d == axis ? GHOSTS : b->n[d] - 2 * low[d];
    f->task.b = *b, f->task.other = f->block[b->neighbour[axis][side]], f->task.axis = axis, f->task.side = side;
    f->device->launch(KERNEL_ghosts, &f->task, low, count);
  }
  for (int b = 0; b < f->blocks; b++)
    for (f->task.axis = 0; f->task.axis < AXES; f->task.axis++) flow_cells(f, b, KERNEL_sweep);
}

double flow_time_steps(struct flow *f)
{
  double least = INFINITY;
  for (int i = 0; i < f->blocks; i++) {
    const struct block *b = &f->block[i];
    flow_cells(f, i, KERNEL_time_steps);
    const double of_block = f->device->reduce(LEAST, b->dt, b->cells, f->set.group);
    const int64_t cell = of_block < 0 ? (int64_t)(-1 - of_block) : 0, row = cell / b->n[0];
    char where[96];
    snprintf(where, sizeof where, "cell %d,%d,%d after step %d", b->offset[0] + (int)(cell % b->n[0]),
             b->offset[1] + (int)(row % b->n[1]), b->offset[2] + (int)(row / b->n[1]), f->step);
    if (of_block < 0) stop(where, "the state is not finite, or density or pressure is not positive; lower --cfl");
    least = fmin(least, of_block);
  }
  return least;
}

double flow_reduce(struct flow *f, enum term term, enum reduction reduction)
{
  double all = reduction == SUM ? 0 : (reduction == LEAST ? INFINITY : -INFINITY);
  for (int b = 0; b < f->blocks; b++) {
    f->task.term = term;
    flow_cells(f, b, KERNEL_terms);
    const double part = f->device->reduce(reduction, f->block[b].scratch, f->block[b].cells, f->set.group);
    all = reduction == SUM ? all + part : (reduction == LEAST ? fmin(all, part) : fmax(all, part));
  }
  return all;
}

/* Sums rho u.S over the boundary of the grid; nothing passes its walls. */
static double boundary_flux(struct flow *f)
{
  double sum = 0;
  for (int i = 0; i < 2 * AXES * f->blocks; i++) {
    const struct block *b = &f->block[i / 2 / AXES];
    const int side = i % 2, axis = i / 2 % AXES;
    const int count[AXES] = {axis == 0 ? 1 : b->n[0], axis == 1 ? 1 : b->n[1], axis == 2 ? 1 : b->n[2]};
    if (b->side[axis][side] != FAR_FIELD) continue;
    f->task.b = *b, f->task.axis = axis, f->task.side = side;
    f->device->launch(KERNEL_boundary_flux, &f->task, origin, count);
    sum += f->device->reduce(SUM, b->scratch, b->cells / b->n[axis], f->set.group);
  }
  return sum;
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
    if (s == 4) f->outflow = boundary_flux(f);
    f->task.stage = explicit[s];
    for (int b = 0; b < f->blocks && !f->sweeps; b++) flow_cells(f, b, KERNEL_stage);
  }
  if (f->sweeps) sweeps_step(f);
  f->time += f->task.dt, f->step++;
}
