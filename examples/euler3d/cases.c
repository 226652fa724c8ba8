/* cases.c - the problems: Sod's shock tube, and a bump in a channel. Velocities are in units of the speed of sound of
 * the far field, except for Sod's tube. */
#include "euler3d.h"

#include <math.h>
#include <string.h>

static const double ratio = 1.4, pi = 3.14159265358979323846;

static void conserved(double rho, double u, double v, double w, double p, double out[COMPONENTS])
{
  const double m[COMPONENTS] = {rho, rho * u, rho * v, rho * w, p / (ratio - 1) + 0.5 * rho * (u * u + v * v + w * w)};
  memcpy(out, m, sizeof m);
}

/* Sod (J. Comput. Phys. 27, 1978): a tube of length 1 with the diaphragm in the middle, and cells that are cubes. All of
 * its sides are walls, and no wave reaches its ends before t = 0.25. --warp bends the grid lines inside, so that faces
 * are no longer plane. */
static void sod_node(const struct settings *set, const int at[AXES], double x[AXES])
{
  double bend = set->warp;
  for (int d = 0; d < AXES; d++) bend *= sin(pi * at[d] / set->cells[d]);
  for (int d = 0; d < AXES; d++) x[d] = (at[d] + (1 - 0.3 * d) * bend) / set->cells[set->axis];
}
static void sod_state(const struct settings *set, const double *x, double w[COMPONENTS])
{
  const bool left = x && x[set->axis] < 0.5;
  conserved(left ? 1 : 0.125, 0, 0, 0, left ? 1 : 0.1, w);
}
static double sod_volume(const struct settings *set)
{
  return pow(set->cells[set->axis], -3) * set->cells[0] * set->cells[1] * set->cells[2];
}
const struct problem sod = {"sod", sod_node, sod_state, sod_volume, {WALL, WALL, WALL}, false};

/* A channel of length 3 and height 1. From x = 1 to 2 its lower wall is an arc of a circle, a tenth of its chord high.
 * Mach 0.5 comes in. The channel has a depth of as many cells as are asked for, as wide as they are long. */
static double arc(double x)
{
  const double height = 0.1, radius = (0.25 + height * height) / (2 * height);
  return x > 1 && x < 2 ? sqrt(radius * radius - (x - 1.5) * (x - 1.5)) - radius + height : 0;
}
static void bump_node(const struct settings *set, const int at[AXES], double x[AXES])
{
  x[0] = 3.0 * at[0] / set->cells[0], x[2] = 3.0 * at[2] / set->cells[0];
  x[1] = (double)at[1] / set->cells[1];
  x[1] += arc(x[0]) * (1 - x[1]);
}
static void bump_state(const struct settings *set, const double *x, double w[COMPONENTS])
{
  (void)set, (void)x;
  conserved(1, 0.5, 0, 0, 1 / ratio, w);
}
static double bump_volume(const struct settings *set)
{
  const double h = 3.0 / set->cells[0];
  double area = 3;
  for (int i = 1; i < set->cells[0]; i++) area -= h * arc(i * h); /* the trapezoidal rule: walls are polygons */
  return area * h * set->cells[2];
}
const struct problem bump = {"bump", bump_node, bump_state, bump_volume, {FAR_FIELD, WALL, WALL}, true};

/* The exact solution of Sod's problem at the speed s = (x - 0.5) / t, by Newton's method for the pressure between the
 * waves: a rarefaction goes left, a shock right (Toro, Riemann Solvers, section 4). */
static void sod_exact(double s, double out[3])
{
  const double g = ratio, pl = 1, rl = 1, pr = 0.1, rr = 0.125, cl = sqrt(g * pl / rl), z = (g - 1) / (2 * g);
  const double A = 2 / ((g + 1) * rr), B = (g - 1) / (g + 1) * pr;
  double p = 0.3, u = 0;
  for (int i = 0; i < 20; i++) {
    const double root = sqrt(A / (p + B)), right = (p - pr) * root;
    u = 2 * cl / (g - 1) * (1 - pow(p / pl, z));
    p -= (u - right) / (-cl / (g * pl) * pow(p / pl, z - 1) - root * (1 - 0.5 * (p - pr) / (p + B)));
  }
  const double star = rl * pow(p / pl, 1 / g), head = -cl, tail = u - sqrt(g * p / star);
  const double k = (g - 1) / (g + 1), behind = rr * (p / pr + k) / (k * p / pr + 1), shock = u * behind / (behind - rr);
  const double c = 2 / (g + 1) * cl - k * s,
               in_fan[3] = {rl * pow(c / cl, 2 / (g - 1)), 2 / (g + 1) * (cl + s), pl * pow(c / cl, 1 / z)};
  const double left[3] = {rl, 0, pl}, right[3] = {rr, 0, pr}, mid[3] = {s < u ? star : behind, u, p};
  memcpy(out, s < head ? left : (s < tail ? in_fan : (s < shock ? mid : right)), sizeof left);
}

/* Density, velocity along the axis, and pressure. */
static void primitive(const double *u, int64_t size, int axis, double out[3])
{
  const double *m = u + size;
  out[0] = u[0], out[1] = m[axis * size] / u[0];
  out[2] = (ratio - 1) * (u[4 * size] - 0.5 * (m[0] * m[0] + m[size] * m[size] + m[2 * size] * m[2 * size]) / u[0]);
}

static double mach_number(const double *u, int64_t size)
{
  double now[3], square = 0;
  primitive(u, size, 0, now);
  for (int d = 1; d <= AXES; d++) square += pow(u[d * size] / u[0], 2);
  return sqrt(square * now[0] / (ratio * now[2]));
}

/* Ends the program if the file, with an ending after its name, cannot be opened; close_file if it could not be written. */
static FILE *open_file(const char *name, const char *ending)
{
  char path[4096];
  snprintf(path, sizeof path, "%s%s", name, ending);
  FILE *file = fopen(path, "w");
  if (!file) stop(path, "cannot be written");
  return file;
}
static void close_file(FILE *file, const char *name)
{
  const int failed = ferror(file);
  if (fclose(file) || failed) stop(name, "cannot be written");
}

/* Prints errors of the cells' averages; data: position, computed and exact solution along a line of cells. For the bump
 * the error is that of the entropy p / rho^gamma, which is the far field's everywhere; data: the pressure along the lower
 * wall. */
static void report_cells(const struct flow *f, FILE *data)
{
  const bool tube = f->problem == &sod;
  const int axis = f->set.axis, *n = f->set.cells;
  double error[3] = {0, 0, 0}, largest = 0, now[3], exact[3] = {0, 0, 0};
  for (int b = 0; b < f->blocks; b++) {
    const struct block *block = &f->block[b];
    double *u = flow_fetch(f, b, block->u, COMPONENTS), *x = flow_fetch(f, b, block->x, AXES);
    for (int64_t c = 0, i, j, k; c < (int64_t)block->n[0] * block->n[1] * block->n[2]; c++) {
      i = c % block->n[0], j = c / block->n[0] % block->n[1], k = c / block->n[0] / block->n[1];
      const int64_t at[AXES] = {i + block->offset[0], j + block->offset[1], k + block->offset[2]};
      const int64_t a = block->first + i + j * block->step[1] + k * block->step[2];
      const double *const low = x + a + axis * block->size;
      const double centre = 0.5 * (low[0] + low[1 + block->step[1] + block->step[2]]);
      primitive(u + a, block->size, axis, now);
      if (tube) sod_exact((centre - 0.5) / f->time, exact);
      for (int q = 0; q < 3 && tube; q++) error[q] += fabs(now[q] - exact[q]);
      if (!tube) error[0] += pow(now[2] * ratio / pow(now[0], ratio) - 1, 2);
      largest = fmax(largest, mach_number(u + a, block->size));
      if (data && (tube ? at[(axis + 1) % 3] : at[1]) + at[(axis + 2) % 3] == 0)
        fprintf(data, "%.6f %.6f %.6f %.6f %.6f %.6f %.6f\n", centre, now[0], now[1], now[2], exact[0], exact[1],
                exact[2]);
    }
    free(u), free(x);
  }
  const double cells = (double)n[0] * n[1] * n[2];
  if (tube)
    printf("L1 errors at t = %g: density %.6e, velocity %.6e, pressure %.6e\n", f->time, error[0] / cells,
           error[1] / cells, error[2] / cells);
  else
    printf("entropy error %.3e (root mean square), largest Mach number %.4f\n", sqrt(error[0] / cells), largest);
}

/* The Mach number at the nodes of the front side, for which the device interpolates the state from cells. */
static void write_nodes(struct flow *f, FILE *data)
{
  for (int b = 0; b < f->blocks; b++) {
    const struct block *block = &f->block[b];
    const int low[AXES] = {0, 0, 0}, nodes[AXES] = {block->n[0] + 1, block->n[1] + 1, 1};
    if (block->offset[2] > 0) continue;
    f->task.b = *block;
    f->device->launch(KERNEL_nodes_from_cells, &f->task, low, nodes);
    double *u = flow_fetch(f, b, block->start, COMPONENTS), *x = flow_fetch(f, b, block->x, AXES);
    for (int j = 0; j < nodes[1]; j++)
      for (int i = 0; i < nodes[0]; i++) {
        const int64_t a = block->first + i + j * block->step[1];
        fprintf(data, "%s%.6f %.6f %.6f\n", i ? "" : (j ? "\n" : "\n\n"), x[a], x[a + block->size],
                mach_number(u + a, block->size));
      }
    free(u), free(x);
  }
}

static void write_script(const char *name, const struct problem *p)
{
  static const char tube[] =
      "set terminal png size 900,400\nset output NAME.'.png'\nset multiplot layout 1,3\nset key bottom left\n"
      "do for [q=2:4] { set title word('- density velocity pressure', q)\n"
      "plot NAME.'.dat' using 1:q+3 with lines title 'exact', '' using 1:q title 'computed' }\n";
  static const char channel[] =
      "set terminal png size 900,600\nset output NAME.'.png'\nset multiplot layout 2,1\nset xrange [0:3]\n"
      "set title 'pressure along the lower wall'\nplot NAME.'.dat' index 0 using 1:4 with linespoints notitle\n"
      "set title 'Mach number'\nset view map\nset pm3d interpolate 2,2\nset yrange [0:1]\n"
      "stats NAME.'.dat' nooutput\nsplot for [b=1:STATS_blocks-1] NAME.'.dat' index b with pm3d notitle\n";
  FILE *file = open_file(name, ".gp");
  fprintf(file, "NAME = '%s'\n%s", name, p == &sod ? tube : channel);
  close_file(file, name);
}

static void check_grid(struct flow *f)
{
  double volume = 0;
  for (int b = 0; b < f->blocks; b++) {
    double *v = flow_fetch(f, b, f->block[b].volume, 1);
    for (int64_t i = 0; i < f->block[b].size; i++) volume += v[i];
    free(v);
  }
  printf("grid: area vectors of a cell sum up to %.1e of their lengths, volumes to 1 %+.1e of the exact one\n",
         flow_reduce(f, CLOSURE, MOST), volume / f->problem->volume(&f->set) - 1);
}

/* Steps to the end of time, or until the residual has fallen; a row now and then. */
static void march(struct flow *f)
{
  const double begin = flow_seconds(), cells = (double)f->set.cells[0] * f->set.cells[1] * f->set.cells[2];
  const double end = f->problem->local ? INFINITY : f->set.end;
  const int most = f->set.steps, every = most < 20 ? 1 : most / 20;
  double first = INFINITY, norm = INFINITY;
  printf("  step        time    residual  outflow/inflow-1  mass error\n");
  for (bool go_on = true; go_on;) {
    flow_step(f, end - f->time);
    norm = sqrt(flow_reduce(f, RESIDUAL, SUM) / cells);
    first = f->step == 1 ? norm : first;
    go_on = f->step < most && f->time < end * (1 - 1e-12) && (!f->problem->local || norm > f->set.fall * first);
    if (go_on && f->step % every) continue;
    const double inflow = 0.5 * (f->through - f->outflow), lost = flow_reduce(f, CHANGE, SUM) + f->outflow;
    printf("%6d  %10.6f  %10.3e  %16.2e  %10.1e\n", f->step, f->time, norm, inflow > 0 ? f->outflow / inflow : 0,
           fabs(lost) / flow_reduce(f, MASS, SUM));
  }
  flow_time_steps(f); /* looks at the last state, too */
  const double seconds = flow_seconds() - begin;
  printf("%d steps in %.2f s, %.1f ns a cell and step; the residual fell to %.1e\n", f->step, seconds,
         1e9 * seconds / cells / f->step, norm / first);
  if (f->sweeps) printf("sweeps: %s\n", sweeps_describe(f->sweeps));
}

/* Takes the same steps on another device. */
static void compare(const struct flow *f, const struct device *other)
{
  struct flow g;
  double largest = 0;
  flow_create(&g, f->problem, &f->set, other);
  while (g.step < f->step) flow_step(&g, f->problem->local ? INFINITY : f->set.end - g.time);
  for (int b = 0; b < f->blocks; b++) {
    double *u = flow_fetch(f, b, f->block[b].u, COMPONENTS), *v = flow_fetch(&g, b, g.block[b].u, COMPONENTS);
    for (int64_t i = 0; i < COMPONENTS * f->block[b].size; i++) largest = fmax(largest, fabs(u[i] - v[i]));
    free(u), free(v);
  }
  printf("largest difference from the state on %s: %.1e\n", other->name, largest);
  flow_destroy(&g);
}

void run_problem(const struct settings *set, const struct problem *p, const struct device *device,
                 const struct device *other)
{
  struct flow f;
  FILE *data = *set->picture ? open_file(set->picture, ".dat") : NULL;
  flow_create(&f, p, set, device);
  check_grid(&f);
  march(&f);
  if (other) compare(&f, other);
  report_cells(&f, data);
  if (data && p == &bump) write_nodes(&f, data);
  if (data) close_file(data, set->picture), write_script(set->picture, p);
  flow_destroy(&f);
}
