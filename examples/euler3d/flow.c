/* flow.c - the blocks of a flow, and its steps in time.
 *
 * The explicit scheme is Jameson's: five stages u_s = u_0 - a_s dt / V R(u_(s-1)) with a = 1/4, 1/6, 3/8, 1/2, 1. Unlike
 * Lax and Wendroff's in Ni's form, its steady state does not depend on dt, and it needs the same residual as the
 * implicit scheme. Conserved quantities are averages of cells; MBFLO3 of the paper keeps them at nodes. */
#include "euler3d.h"

#include <math.h>
#include <time.h>

double flow_seconds(void)
{
  struct timespec now;
  timespec_get(&now, TIME_UTC);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Where the pieces of n cells begin that parts blocks share. */
static int begin_of(int n, int part, int parts) { return (int)((int64_t)n * part / parts); }

static void shape_block(const struct flow *f, int number, struct block *b)
{
  const int *split = f->set.split,
            at[AXES] = {number % split[0], number / split[0] % split[1], number / split[0] / split[1]};
  const int beyond[AXES] = {1, split[0], split[0] * split[1]};
  for (int d = 0; d < AXES; d++) {
    b->offset[d] = begin_of(f->set.cells[d], at[d], split[d]);
    b->n[d] = begin_of(f->set.cells[d], at[d] + 1, split[d]) - b->offset[d];
    for (int side = 0; side < 2; side++) {
      const bool outer = at[d] == (side ? split[d] - 1 : 0);
      b->side[d][side] = outer ? (int)f->problem->side[d] : INTERFACE;
      b->neighbour[d][side] = outer ? -1 : number + (side ? beyond[d] : -beyond[d]);
    }
  }
  b->step[0] = 1;
  b->step[1] = (ALIGNED + b->n[0] + GHOSTS + ALIGNED - 1) / ALIGNED * ALIGNED;
  b->step[2] = b->step[1] * (b->n[1] + 2 * GHOSTS);
  b->size = b->step[2] * (b->n[2] + 2 * GHOSTS);
  b->first = ALIGNED + GHOSTS * (b->step[1] + b->step[2]);
}

static int64_t cells_of(const struct block *b) { return (int64_t)b->n[0] * b->n[1] * b->n[2]; }

/* Nodes and states come from the problem; the device computes areas and volumes. */
static void fill_block(struct flow *f, int number)
{
  const struct device *device = f->device;
  struct block *b = &f->block[number];
  const size_t size = (size_t)b->size, cells = (size_t)cells_of(b);
  double *host = calloc(8 * size, sizeof *host), x[AXES], w[COMPONENTS];
  if (!host) stop("--size", "not enough memory");
  b->x = device->allocate((33 * size + 2 * cells) * sizeof(double)); /* with all arrays that follow */
  b->area = b->x + 3 * size, b->volume = b->area + 9 * size, b->u = b->volume + size, b->start = b->u + 5 * size;
  b->residual = b->start + 5 * size, b->change = b->residual + 5 * size, b->dt = b->change + 5 * size;
  b->scratch = b->dt + cells;
  for (int k = 0; k <= b->n[2]; k++)
    for (int j = 0; j <= b->n[1]; j++)
      for (int i = 0; i <= b->n[0]; i++) {
        const int node[AXES] = {b->offset[0] + i, b->offset[1] + j, b->offset[2] + k};
        double *at = host + b->first + i + j * b->step[1] + k * b->step[2];
        f->problem->node(&f->set, node, x);
        for (int d = 0; d < AXES; d++) at[d * b->size] = x[d];
      }
  for (int k = 0; k < b->n[2]; k++)
    for (int j = 0; j < b->n[1]; j++)
      for (int i = 0; i < b->n[0]; i++) {
        double *at = host + b->first + i + j * b->step[1] + k * b->step[2];
        for (int d = 0; d < AXES; d++) {
          x[d] = 0;
          for (int q = 0; q < 8; q++) x[d] += at[d * b->size + q % 2 + q / 2 % 2 * b->step[1] + q / 4 * b->step[2]] / 8;
        }
        f->problem->state(&f->set, x, w);
        for (int c = 0; c < COMPONENTS; c++) at[(3 + c) * b->size] = w[c];
      }
  device->copy(b->x, host, 3 * size * sizeof *host);
  device->copy(b->u, host + 3 * size, 5 * size * sizeof *host);
  free(host);
  const int low[AXES] = {0, 0, 0}, nodes[AXES] = {b->n[0] + 1, b->n[1] + 1, b->n[2] + 1};
  f->task.b = *b;
  device->launch(KERNEL_face_areas, &f->task, low, nodes);
  flow_cells(f, number, KERNEL_volumes);
}

void flow_create(struct flow *f, const struct problem *problem, const struct settings *set, const struct device *device)
{
  *f = (struct flow){.set = *set, .problem = problem, .device = device};
  f->blocks = set->split[0] * set->split[1] * set->split[2];
  f->block = calloc((size_t)f->blocks, sizeof *f->block);
  if (!f->block) stop("--blocks", "not enough memory");
  problem->state(set, NULL, f->task.free_stream);
  f->task.k2 = set->k2, f->task.k4 = set->k4, f->task.cfl = set->cfl, f->task.smoothing = set->smoothing;
  for (int b = 0; b < f->blocks; b++) {
    shape_block(f, b, &f->block[b]);
    fill_block(f, b);
  }
  if (set->implicit) f->sweeps = sweeps_create(f);
}

void flow_destroy(struct flow *f)
{
  sweeps_destroy(f->sweeps);
  for (int b = 0; b < f->blocks; b++) f->device->release(f->block[b].x);
  free(f->block);
}

void flow_cells(struct flow *f, int b, enum kernel kernel)
{
  const int low[AXES] = {0, 0, 0};
  f->task.b = f->block[b];
  f->device->launch(kernel, &f->task, low, f->block[b].n);
}

/* Axis after axis for all blocks, so that the ghost cells at edges and corners are filled, too. */
static void flow_ghosts(struct flow *f)
{
  for (int axis = 0; axis < AXES; axis++)
    for (int b = 0; b < f->blocks; b++)
      for (int side = 0; side < 2; side++) {
        const struct block *block = &f->block[b];
        int low[AXES], count[AXES];
        for (int d = 0; d < AXES; d++) {
          low[d] = d < axis ? -GHOSTS : 0;
          count[d] = d == axis ? GHOSTS : block->n[d] - 2 * low[d];
        }
        f->task.b = *block, f->task.axis = axis, f->task.side = side;
        f->task.other = block->side[axis][side] == INTERFACE ? f->block[block->neighbour[axis][side]] : *block;
        f->device->launch(KERNEL_ghosts, &f->task, low, count);
      }
}

void flow_residual(struct flow *f)
{
  flow_ghosts(f);
  for (int b = 0; b < f->blocks; b++)
    for (f->task.axis = 0; f->task.axis < AXES; f->task.axis++) flow_cells(f, b, KERNEL_sweep);
}

double flow_time_steps(struct flow *f)
{
  double least = INFINITY;
  for (int b = 0; b < f->blocks; b++) {
    const struct block *block = &f->block[b];
    flow_cells(f, b, KERNEL_time_steps);
    const double of_block = f->device->reduce(LEAST, block->dt, cells_of(block), f->set.group);
    if (of_block < 0) {
      const int64_t cell = (int64_t)(-1 - of_block);
      char where[96];
      snprintf(where, sizeof where, "cell %d,%d,%d after step %d", block->offset[0] + (int)(cell % block->n[0]),
               block->offset[1] + (int)(cell / block->n[0] % block->n[1]),
               block->offset[2] + (int)(cell / block->n[0] / block->n[1]), f->step);
      stop(where, "the state is not finite, or its density or pressure is not positive; lower --cfl");
    }
    least = fmin(least, of_block);
  }
  return least;
}

double flow_reduce(struct flow *f, enum term term, enum reduction reduction)
{
  double all = 0;
  for (int b = 0; b < f->blocks; b++) {
    f->task.term = (int)term;
    flow_cells(f, b, KERNEL_terms);
    const double part = f->device->reduce(reduction, f->block[b].scratch, cells_of(&f->block[b]), f->set.group);
    all = b == 0 ? part : (reduction == SUM ? all + part : (reduction == LEAST ? fmin(all, part) : fmax(all, part)));
  }
  return all;
}

/* Sums rho u.S, and its absolute value, over the boundary of the grid. */
static void note_boundary(struct flow *f)
{
  double *const sum[2] = {&f->outflow, &f->through};
  f->outflow = f->through = 0;
  for (int i = 0; i < 4 * AXES * f->blocks; i++) {
    const int side = i % 2, absolute = i / 2 % 2, axis = i / 4 % AXES, low[AXES] = {0, 0, 0};
    const struct block *b = &f->block[i / 4 / AXES];
    const int count[AXES] = {axis == 0 ? 1 : b->n[0], axis == 1 ? 1 : b->n[1], axis == 2 ? 1 : b->n[2]};
    if (b->side[axis][side] != FAR_FIELD) continue; /* Nothing passes a wall. */
    f->task.b = *b, f->task.axis = axis, f->task.side = side, f->task.stage = absolute;
    f->device->launch(KERNEL_boundary_flux, &f->task, low, count);
    *sum[absolute] += f->device->reduce(SUM, b->scratch, (int64_t)count[0] * count[1] * count[2], f->set.group);
  }
}

void flow_step(struct flow *f, double longest)
{
  static const double part[] = {0.25, 1.0 / 6, 0.375, 0.5, 1};
  const int stages = sizeof part / sizeof *part;
  const double least = flow_time_steps(f);
  f->task.dt = f->problem->local ? 0 : fmin(least, longest);
  for (int b = 0; b < f->blocks; b++)
    f->device->copy(f->block[b].start, f->block[b].u, 5 * (size_t)f->block[b].size * sizeof(double));
  for (int s = 0; s < stages && !f->sweeps; s++) {
    flow_residual(f);
    if (s == stages - 1) note_boundary(f);
    f->task.stage = part[s];
    for (int b = 0; b < f->blocks; b++) flow_cells(f, b, KERNEL_stage);
  }
  if (f->sweeps) {
    flow_residual(f);
    note_boundary(f);
    sweeps_step(f->sweeps, f);
  }
  f->time += f->task.dt, f->step++;
}

double *flow_fetch(const struct flow *f, int b, const double *array, int components)
{
  const size_t bytes = (size_t)components * (size_t)f->block[b].size * sizeof(double);
  double *host = malloc(bytes);
  if (!host) stop("--size", "not enough memory");
  f->device->copy(host, array, bytes);
  return host;
}
