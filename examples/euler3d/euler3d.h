/* euler3d.h - what the parts of the program share: blocks of a structured grid, the arguments of kernels, devices,
 * flows.
 *
 * A block has n[0] n[1] n[2] hexahedral cells, and GHOSTS layers of ghost cells around them. Cell (i, j, k), the node
 * at its low corner, and the face on its low side along each axis have the same place in their arrays:
 *
 *     first + i + j step[1] + k step[2],   -GHOSTS <= i < n[0] + GHOSTS, ...
 *
 * Component c of an array follows size scalars after component c - 1. Rows of cells begin at multiples of 128 bytes. */
#ifndef EULER3D_H
#define EULER3D_H
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { AXES = 3, COMPONENTS = 5, SQUARE = 25, GHOSTS = 2, ALIGNED = 16 };
enum side {
  INTERFACE,
  WALL,
  FAR_FIELD
}; /* beyond it: another block, a slip wall or plane of symmetry, the far field */
enum reduction { LEAST, MOST, SUM };
enum term { MASS, CHANGE, RESIDUAL, VOLUME, CLOSURE }; /* what is reduced; see kernels.h */

/* The conserved quantities u are rho, rho u, rho v, rho w and rho e0, without dimensions; averages over cells. */
struct block {
  int n[AXES], offset[AXES];             /* cells; the first cell's place in the whole grid */
  int side[AXES][2], neighbour[AXES][2]; /* enum side; the number of the block beyond an interface */
  int64_t step[AXES], first, size, cells;
  double *x, *area, *volume;             /* [3] of nodes; [9] vectors, three for each axis, along the axis; [1] */
  double *u, *start, *residual, *change; /* [5] now; before the step; fluxes out of a cell; last implicit change of u */
  double *dt, *scratch;                  /* [n0 n1 n2, without ghosts] local time steps; work space of reductions */
};

/* The arguments of a kernel, which is called for one cell, face or node after another. */
struct task {
  struct block b, other; /* other: the block beyond an interface */
  double free_stream[COMPONENTS], k2, k4, cfl, smoothing, phi;
  double dt, stage;      /* the global time step, or 0 for local ones; the part of it that a stage takes */
  int axis, side, nodal; /* nodal: time steps and fluxes are those of quantities at nodes, in start */
  bool structures;       /* layout of an implicit sweep: AOS; else SOA */
  int single, previous;  /* blocks of an implicit sweep are float; the axis of the previous sweep, or -1 */
  enum term term;
  int64_t begin, rows;        /* the first row in the arrays that follow, and their rows; solution has all */
  void *matrix[4], *solution; /* lower, diagonal and upper blocks and right-hand side; of the previous sweep */
};

/* clang-format off */
#define KERNELS(X) \
  X(geometry) X(ghosts) X(time_steps) X(sweep) X(stage) X(boundary_flux) X(terms) X(sweep_blocks) X(add_change) \
  X(nodes_from_cells)
/* clang-format on */
#define KERNEL_NAME(name) KERNEL_##name,
enum kernel { KERNELS(KERNEL_NAME) KERNEL_COUNT };

/* Where arrays live and kernels run, in the order of their launches. */
struct device {
  const char *name;
  void *(*allocate)(size_t bytes); /* zeroed */
  void (*release)(void *array);
  void (*copy)(void *to, const void *from, size_t bytes); /* to or from the device, or within; waits */
  void (*wait)(void *stream);                             /* NULL: that of kernels and reductions */
  /* Runs the kernel for count[0] count[1] count[2] places from low on, neighbours along axis 0 at the same time. */
  void (*launch)(enum kernel kernel, const struct task *task, const int low[AXES], const int count[AXES]);
  /* In two stages: groups of threads reduce pieces of value, then one group their results. A group has any size. */
  double (*reduce)(enum reduction reduction, const double *value, int64_t count, int threads);
  /* Of a GPU alone: memory of the host that is copied without a detour; streams, and copies of rows of width bytes,
   * to_pitch and pitch bytes apart, which are queued there. */
  void *(*host_allocate)(size_t bytes);
  void (*host_release)(void *array);
  void *(*stream_create)(void);
  void (*stream_destroy)(void *stream);
  void (*stream_copy)(void *stream, void *to, size_t to_pitch, const void *from, size_t pitch, size_t width,
                      size_t rows);
};
extern const struct device cpu_device;
#ifdef __cplusplus
extern "C" const struct device *cuda_device(void);
#else
const struct device *cuda_device(void); /* NULL without a GPU, or if the program has been built without CUDA */
#endif

/* Ends the program with a sentence. */
static inline void stop(const char *what, const char *why)
{
  fprintf(stderr, "euler3d: %s: %s\n", what, why);
  exit(2);
}

/* How blocks of the implicit sweeps reach the solver: they are assembled where they are solved; or on the host, and
 * copied to the GPU at once, plane after plane before one solve, or with a solve for each plane, several at a time. */
enum transfer { NONE, WHOLE, PLANES, STREAMS };

struct settings {
  int cells[AXES], split[AXES], axis; /* of the whole grid, and its blocks along each axis; axis of the tube */
  bool implicit, single;              /* single: implicit sweeps are float */
  enum transfer transfer;
  double k2, k4, cfl, smoothing, phi, warp, end, fall;
  int threads, group, steps; /* of the CPU; in a group of a reduction */
  const char *picture;       /* a file for gnuplot to draw, or "" */
};

/* A problem: its nodes, the states of cells and, beyond the last cell, of the far field, and the volume of the grid. */
struct problem {
  void (*node)(const struct settings *set, const int at[AXES], double x[AXES]);
  void (*state)(const struct settings *set, const int at[AXES], double w[COMPONENTS]);
  double (*volume)(const struct settings *set);
  enum side side[AXES];
  bool local; /* each cell has a time step of its own: for steady states */
};
extern const struct problem sod, bump;

struct flow {
  struct settings set;
  const struct problem *problem;
  const struct device *device;
  int blocks, step; /* step: how many have been done */
  struct block *block;
  struct task task;
  struct sweeps *sweeps;                  /* NULL: explicit */
  double time, cells, outflow;            /* outflow: mass that leaves through the boundary in a unit of time */
  double assembly_seconds, sweep_seconds; /* of all sweeps so far */
};

/* flow.c. flow_cells runs a kernel for all cells of a block; flow_reduce reduces a term over all cells. */
void flow_create(struct flow *flow, const struct problem *problem, const struct settings *set,
                 const struct device *device);
void flow_destroy(struct flow *flow);
void flow_cells(struct flow *flow, int b, enum kernel kernel);
double flow_time_steps(struct flow *flow); /* the least; ends the program where a state is none */
void flow_step(struct flow *flow, double longest);
double flow_reduce(struct flow *flow, enum term term, enum reduction reduction);
double *flow_fetch(const struct flow *flow, int b, const double *array, int components); /* a copy for the caller */
double seconds(void);

/* implicit.c: the sweeps of equation (8); one through block b, after that of the previous axis or -1. */
struct sweeps *sweeps_create(struct flow *flow);
void sweeps_destroy(struct flow *flow);
void sweeps_step(struct flow *flow);
void sweeps_along(struct flow *flow, int b, int axis, int previous);
const char *sweeps_describe(const struct sweeps *sweeps);

/* cases.c and tables.c: what --case names */
void run_problem(const struct settings *set, const struct problem *p, const struct device *device);
void run_times(const struct settings *set, const struct device *device);
void run_table2(const struct settings *set);
#endif
