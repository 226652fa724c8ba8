/* cases.c - the problems: Sod's shock tube, and a bump in a channel. Velocities are in units of the speed of sound of
 * the far field, except for Sod's tube. */
#include "kernels.h"

static const double ratio = HEAT_RATIO, pi = 3.14159265358979323846;

static void conserved(double rho, double u, double p, double w[COMPONENTS])
{
  w[0] = rho, w[1] = rho * u, w[2] = w[3] = 0, w[4] = p / (ratio - 1) + 0.5 * rho * u * u;
}

/* Sod (J. Comput. Phys. 27, 1978): a tube of length 1 with the diaphragm in the middle, and cells that are cubes. All
 * of its sides are walls, and no wave reaches its ends before t = 0.25. --warp bends the grid lines inside, so that
 * faces are no longer plane. */
static void sod_place(const struct settings *set, const int at[AXES], double x[AXES], double w[COMPONENTS])
{
  const bool left = at[set->axis] < set->cells[set->axis] / 2;
  double bend = set->warp;
  for (int d = 0; d < AXES; d++) bend *= sin(pi * at[d] / set->cells[d]);
  for (int d = 0; d < AXES; d++) x[d] = (at[d] + (1 - 0.3 * d) * bend) / set->cells[set->axis];
  conserved(left ? 1 : 0.125, 0, left ? 1 : 0.1, w);
}
const struct problem sod = {sod_place, {WALL, WALL, WALL}, false};

/* A channel of length 3 and height 1. From x = 1 to 2 its lower wall is an arc of a circle, a tenth of its chord high.
 * Mach 0.5 comes in. The channel has a depth of as many cells as are asked for, as wide as they are long. */
static double arc(double x)
{
  const double height = 0.1, radius = (0.25 + height * height) / (2 * height);
  return x > 1 && x < 2 ? sqrt(radius * radius - (x - 1.5) * (x - 1.5)) - radius + height : 0;
}
static void bump_place(const struct settings *set, const int at[AXES], double x[AXES], double w[COMPONENTS])
{
  x[0] = 3.0 * at[0] / set->cells[0], x[2] = 3.0 * at[2] / set->cells[0];
  x[1] = (double)at[1] / set->cells[1];
  x[1] += arc(x[0]) * (1 - x[1]);
  conserved(1, 0.5, 1 / ratio, w);
}
const struct problem bump = {bump_place, {FAR_FIELD, WALL, WALL}, true};

/* The exact solution at the speed s = (x - 0.5) / t: a rarefaction goes left, then come a contact and a shock (Toro,
 * Riemann Solvers, section 4, test 1: the state between the waves). */
static void sod_exact(double s, double out[3])
{
  const double p = 0.303130178050647, u = 0.927452620048950, left = 0.426319428178492, right = 0.265573711705307;
  const double c = sqrt(ratio), fan = (2 * c - (ratio - 1) * s) / (ratio + 1); /* the speeds of sound */
  const double thin = pow(fan / c, 2 / (ratio - 1)), fast = 2 / (ratio + 1) * (c + s);
  const double density[] = {1, thin, left, right, 0.125}, velocity[] = {0, fast, u, u, 0};
  const double pressure[] = {1, pow(thin, ratio), p, p, 0.1};
  const int i = (s > -c) + (s > u - sqrt(ratio * p / left)) + (s > u) + (s > u * right / (right - 0.125));
  out[0] = density[i], out[1] = velocity[i], out[2] = pressure[i];
}

/* Adds a cell to the L1 errors, or for the bump to that of the entropy p / rho^gamma, which is the far field's
 * everywhere. Data: a line with its place, density, velocity and pressure, the exact ones, Mach number, and row. */
static void add_cell(const struct flow *f, const struct block *b, const int *at, const double *host, double sum[3],
                     FILE *data)
{
  const bool tube = f->problem == &sod;
  const int axis = f->set.axis, other = (axis + 1) % AXES, third = (axis + 2) % AXES,
            row = at[other] + b->offset[other];
  double centre[AXES], w[COMPONENTS], exact[3] = {0, 0, 0};
  average(b, host, AXES, place(b, at), 1, b->step[1], b->step[2], centre);
  load(b, host + (b->u - b->x), COMPONENTS, place(b, at), w);
  const struct gas g = gas_of(w, 1 / w[0]);
  const double now[3] = {w[0], g.u[axis], g.p}, entropy = HEAT_RATIO * g.p / pow(w[0], HEAT_RATIO) - 1;
  const double mach = sqrt(dot(g.u, g.u) / g.c2);
  if (tube) sod_exact((centre[axis] - 0.5) / f->time, exact);
  for (int q = 0; q < 3; q++) sum[q] += tube ? fabs(now[q] - exact[q]) : entropy * entropy;
  if (!data || at[third] + b->offset[third] > 0 || (tube && row > 0)) return;
  fprintf(data, "%s%.6f %.6f %.6f %.6f %.6f %.6f %.6f %.6f %.6f %d\n", at[axis] ? "" : (at[other] ? "\n" : "\n\n"),
          centre[axis], centre[other], now[0], now[1], now[2], exact[0], exact[1], exact[2], mach, row);
}

static void report(struct flow *f, FILE *data)
{
  double sum[3] = {0, 0, 0}, cells = (double)f->cells;
  for (const struct block *b = f->block; b < f->block + f->blocks; b++) {
    const size_t bytes = (size_t)(b->start - b->x) * sizeof(double);
    double *const host = cpu_device.allocate(bytes, false); /* from x to u */
    f->device->copy(host, b->x, bytes);
    for (int k = 0; k < b->n[2]; k++)
      for (int j = 0; j < b->n[1]; j++)
        for (int i = 0; i < b->n[0]; i++) add_cell(f, b, (int[]){i, j, k}, host, sum, data);
    cpu_device.release(host, false);
  }
  if (f->problem == &sod)
    printf("L1 errors at t = %g: density %.6e, velocity %.6e, pressure %.6e\n", f->time, sum[0] / cells, sum[1] / cells,
           sum[2] / cells);
  else
    printf("entropy error %.3e (root mean square), largest Mach number %.4f\n", sqrt(sum[0] / cells),
           sqrt(flow_reduce(f, MACH, MOST)));
}

/* What gnuplot is to draw from $DATA. */
static const char tube_picture[] = "set multiplot layout 1,3\nset key bottom left\nset xtics 0.25\n"
                                   "do for [q=3:5] { set title word('- - density velocity pressure', q)\n"
                                   "plot $DATA using 1:q+3 with lines title 'exact', '' using 1:q title 'computed' }\n";
static const char channel_picture[] =
    "set multiplot layout 2,1\nset xrange [0:3]\nset title 'pressure along the lower wall'\n"
    "plot $DATA using 1:($10 == 0 ? $5 : 1/0) notitle\nset title 'Mach number'\nset view map\n"
    "set yrange [0:1]\nsplot $DATA using 1:2:9 with pm3d notitle\n";

/* Steps to the end of time, or until the residual has fallen; a row now and then. Returns whether it got there. */
static bool march(struct flow *f)
{
  const double begin = seconds(), end = f->problem->local ? INFINITY : f->set.end;
  const int most = f->set.steps, every = most < 20 ? 1 : most / 20;
  double first = INFINITY, norm = INFINITY;
  bool reached = false;
  printf("  step        time    residual     outflow  mass error\n");
  while (!reached && f->step < most) {
    flow_step(f, end - f->time);
    norm = sqrt(flow_reduce(f, RESIDUAL, SUM) / (double)f->cells);
    first = f->step == 1 ? norm : first;
    reached = f->problem->local ? norm <= f->set.fall * first : f->time >= end * (1 - 1e-12);
    if (!reached && f->step < most && f->step % every) continue;
    printf("%6d  %10.6f  %10.3e  %10.2e  %10.1e\n", f->step, f->time, norm, f->outflow,
           fabs(flow_reduce(f, CHANGE, SUM) + f->outflow) / flow_reduce(f, MASS, SUM));
  }
  flow_time_steps(f); /* looks at the last state, too */
  printf("%d steps in %.2f s, %.1f ns a cell and step; the residual fell to %.1e\n", f->step, seconds() - begin,
         1e9 * (seconds() - begin) / (double)f->cells / f->step, norm / first);
  return reached;
}

bool run_problem(const struct settings *set, const struct problem *p, const struct device *device)
{
  struct flow f;
  FILE *const picture = *set->picture ? fopen(set->picture, "w") : NULL;
  if (*set->picture && !picture) stop(set->picture, "cannot be written");
  if (picture) fprintf(picture, "set terminal png size 900,600\nset output '%s.png'\n$DATA << EOD\n", set->picture);
  flow_create(&f, p, set, device);
  const bool reached = march(&f);
  report(&f, picture);
  if (!reached)
    printf("%s after the %d steps that --steps allows\n",
           p->local ? "the flow is not steady" : "the time is not that of --end", f.step);
  flow_destroy(&f);
  const bool failed = picture && fprintf(picture, "\nEOD\n%s", p == &sod ? tube_picture : channel_picture) < 0;
  if (picture && (fclose(picture) || failed)) stop(set->picture, "cannot be written");
  return reached;
}
