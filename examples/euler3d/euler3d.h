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

enum { AXES = 3, COMPONENTS = 5, SQUARE = 25, ROW = 3 * SQUARE + COMPONENTS, GHOSTS = 2, ALIGNED = 16 };
/* What is beyond a side of a block: another block, a slip wall or plane of symmetry, the far field. */
enum side { INTERFACE, WALL, FAR_FIELD };
enum reduction { LEAST, MOST, SUM };
enum term { MASS, CHANGE, RESIDUAL, MACH, OUTFLOW, TIME_STEP }; /* what is reduced; see kernels.h */

/* The conserved quantities u are rho, rho u, rho v, rho w and rho e0, without dimensions; averages over cells. */
struct block {
  int n[AXES], offset[AXES], whole[AXES]; /* cells; the first one's place in the whole grid; cells of that */
  int side[AXES][2], neighbour[AXES][2];  /* enum side; the number of the block beyond an interface */
  int64_t step[AXES], first, size;
  double *x, *area, *volume;             /* [3] of nodes; [9] vectors, three for each axis, along the axis; [1] */
  double *u, *start, *residual, *change; /* [5] now; before the step; fluxes out of a cell; implicit change of u */
  double *dt, *scratch; /* [cells of the whole grid], of all blocks: local time steps; what is reduced */
};

/* How systems of the implicit sweeps reach the solver: they are assembled where they are solved; or on the host, and
 * copied to the GPU at once, plane after plane before one solve, or with a solve for each plane, several at a time. */
enum transfer { NONE, WHOLE, PLANES, STREAMS };

/* What the options of euler3d.c say. */
struct settings {
  int cells[AXES], split[AXES], axis, problem, device, implicit, single, transfer, threads, group, steps;
  double k2, k4, cfl, smoothing, phi, warp, end, fall;
  const char *picture;
};

/* The arguments of a kernel, which is called for one cell, face or node after another. */
struct task {
  struct settings set;
  struct block b, other; /* other: the block beyond an interface */
  double free_stream[COMPONENTS];
  double dt, stage;      /* the global time step, or 0 for local ones; the part of it that a stage takes */
  int axis, side, nodal; /* nodal: time steps and fluxes are those of quantities at nodes, in start */
  enum term term;
  enum reduction reduction;
  const double *values; /* from, of a stage of a reduction that leaves parts of count values */
  int64_t count, parts;
  bool structures;          /* layout of what follows: AOS; else SOA */
  int64_t begin, rows, all; /* the first row in matrix, and its rows; those of solution */
  void *matrix, *solution;  /* lower, diagonal, upper blocks, right-hand side; the sweep's solution */
};

#define KERNELS(X)                                                                                                     \
  X(geometry)                                                                                                          \
  X(ghosts) X(nodes_from_cells) X(time_steps) X(sweep) X(stage) X(terms) X(reduce) X(sweep_blocks) X(change)
#define KERNEL_NAME(name) KERNEL_##name,
enum kernel { KERNELS(KERNEL_NAME) KERNEL_COUNT };

/* Where arrays live and kernels run, in the order of their launches. */
struct device {
  const char *name;
  /* Zeroed memory of the device; for_transfer: memory of the host, which streams copy without a detour. */
  void *(*allocate)(size_t bytes, bool for_transfer);
  void (*release)(void *array, bool for_transfer);
  void (*copy)(void *to, const void *from, size_t bytes); /* to or from the device, or within */
  void (*wait)(void);                                     /* for kernels */
  /* Runs the kernel for count[0] count[1] count[2] places from low on, neighbours along axis 0 at the same time. */
  void (*launch)(enum kernel kernel, const struct task *task, const int low[AXES], const int count[AXES]);
  /* Of a GPU alone: queues a copy of rows of width bytes, to_pitch and pitch bytes apart, on a stream. */
  void (*stream_copy)(void *stream, void *to, size_t to_pitch, const void *from, size_t pitch, size_t width,
                      size_t rows);
};
extern const struct device cpu_device;
#ifndef __cplusplus
const struct device *cuda_device(void); /* NULL without a GPU, or if the program has been built without CUDA */
#endif

/* Ends the program with a sentence. */
__attribute__((noreturn)) static inline void stop(const char *what, const char *why)
{
  fprintf(stderr, "euler3d: %s: %s\n", what, why);
  exit(2);
}

/* A problem. place gives the node at the low corner of a cell, and the state in the cell or, beyond the last one, of
 * the far field. */
struct problem {
  void (*place)(const struct settings *set, const int at[AXES], double x[AXES], double w[COMPONENTS]);
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
  struct sweeps *sweeps; /* NULL: explicit */
  int64_t cells;
  double time, outflow;    /* outflow: mass that leaves through the boundary in a unit of time */
  double assembly_seconds; /* of all implicit systems so far */
};

/* flow.c. flow_cells runs a kernel for all cells; flow_reduce reduces a term over all cells. */
void flow_create(struct flow *flow, const struct problem *problem, const struct settings *set,
                 const struct device *device);
void flow_destroy(struct flow *flow);
void flow_cells(struct flow *flow, enum kernel kernel);
double flow_time_steps(struct flow *flow); /* the least; ends the program where a state is not physical */
void flow_step(struct flow *flow, double longest);
double flow_reduce(struct flow *flow, enum term term, enum reduction reduction);
double seconds(void);

/* implicit.c: the sweeps of equation (8); one along an axis. */
struct sweeps *sweeps_create(struct flow *flow);
void sweeps_destroy(struct sweeps *sweeps);
void sweeps_along(struct flow *flow, int axis);

/* cases.c and times.c: what --case names. A problem says whether it got to its end, or to its steady state. */
bool run_problem(const struct settings *set, const struct problem *p, const struct device *device);
void run_times(const struct settings *set, const struct device *device);
#endif
