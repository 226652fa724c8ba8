/* tridiagonal_cpu.h - the kernels of batches of block-tridiagonal systems on the CPU.
 *
 * A group of systems is solved at once, one in each lane of a vector register (lanes_template.h), so that a loop has no
 * branch and no sum across lanes whatever m is. Groups are shared by the threads. A group and its bits do not depend on
 * the number of threads. Lanes that are left over in the last group repeat its last system. Arrays of a group in work
 * space or among the factors have the scalars of its lanes side by side. */
#ifndef KARST_CPU_TRIDIAGONAL_TRIDIAGONAL_CPU_H
#define KARST_CPU_TRIDIAGONAL_TRIDIAGONAL_CPU_H

#include "cpu/cpu.h"
#include "lib/backend/tridiagonal_block.h"
#include "lib/backend/tridiagonal_kernels.h"

enum {
  KARST_TRIDIAGONAL_REGISTER = 32, /* bytes of a group's scalars: a register of AVX2, or two of SSE2 */
  KARST_TRIDIAGONAL_LANES_MOST = KARST_TRIDIAGONAL_REGISTER / sizeof(float)
};

static inline int karst_tridiagonal_lanes(bool single)
{
  return KARST_TRIDIAGONAL_REGISTER / (int)(single ? sizeof(float) : sizeof(double));
}

/* The block size of the instance that serves m, or 0: the general kernels do. */
static inline int karst_tridiagonal_instance_size(int m)
{
  return m <= KARST_BLOCK_SIZE_LARGEST_INSTANCE && karst_runs_instances() ? m : 0;
}

/* Groups of systems in a batch. */
static inline int64_t karst_tridiagonal_group_count(const karst_tridiagonal_shape *shape)
{
  const int lanes = karst_tridiagonal_lanes(shape->single);
  return shape->systems / lanes + (shape->systems % lanes > 0);
}

/* Right-hand sides that are solved at once with kept factors. Their y has the memory of W and y of one. */
static inline int karst_tridiagonal_sides(int m) { return m < 3 ? m + 1 : 4; }

/* Consecutive rows of a system that a lane goes through: all of them, or a piece. */
typedef struct karst_tridiagonal_strands {
  int64_t system[KARST_TRIDIAGONAL_LANES_MOST];
  int64_t origin[KARST_TRIDIAGONAL_LANES_MOST]; /* the first of them in its system */
  int64_t first[KARST_TRIDIAGONAL_LANES_MOST];  /* the same in the batch */
  int64_t rows[KARST_TRIDIAGONAL_LANES_MOST];   /* their number; rows of the identity follow */
  bool left[KARST_TRIDIAGONAL_LANES_MOST];      /* the first is coupled to the row before it */
  bool right[KARST_TRIDIAGONAL_LANES_MOST];     /* the last is coupled to the row behind it */
  int64_t common;                               /* rows that all lanes have; before the first is set INT64_MAX */
  int lanes;                                    /* those that count; others repeat the last, and are not stored */
} karst_tridiagonal_strands;

/* Sets lane l to count rows of a system from row origin on. */
static inline void karst_tridiagonal_set_strand(karst_tridiagonal_strands *strands, int l, int64_t n, int64_t system,
                                                int64_t origin, int64_t count)
{
  strands->system[l] = system;
  strands->origin[l] = origin;
  strands->first[l] = system * n + origin;
  strands->rows[l] = count;
  strands->left[l] = count > 0 && origin > 0;
  strands->right[l] = count > 0 && origin + count < n;
  if (count < strands->common) strands->common = count;
}

/* The arguments of a kernel. Arrays are those of the batch, or of the reduced systems of split, which are like them. */
typedef struct karst_tridiagonal_pass {
  bool single;
  int block_size;                         /* m */
  int64_t systems, rows;                  /* rows: n */
  karst_tridiagonal_steps matrix, vector; /* places in arrays of m m and of m scalars a row */
  karst_tridiagonal_method method;
  const void *lower, *diagonal, *upper;
  const void *size;  /* [m m a row] of the blocks in diagonal, see tridiagonal_block.h; NULL: nothing was summed */
  const void *right; /* NULL: only factors are wanted */
  void *solution;
  int right_sides;
  void *kept;         /* the factors of all groups; NULL: they are not kept */
  const void *pieces; /* split's own: where its arrays are */
} karst_tridiagonal_pass;

/* What a thread needs for a row: arrays of lanes, doubles, and integers. */
#define KARST_TRIDIAGONAL_ROOM_LANES(m) (5 * (m) * (m) + 4 * (m))
#define KARST_TRIDIAGONAL_ROOM_DOUBLES(m) (3 * (m) * (m) + 2 * (m))
#define KARST_TRIDIAGONAL_ROOM_INTEGERS(m, lanes) ((m) * ((lanes) + 1))

/* The work space of a thread, and the smallest of its failures. Instances have the arrays of one row on their stack. */
typedef struct karst_tridiagonal_room {
  void *rows;   /* of the rows of a group; its length depends on the method */
  void *block;  /* of one row */
  double *lane; /* the same of one lane, in double */
  int *pivot;   /* the same */
  uint64_t failure;
} karst_tridiagonal_room;

/* Works on the groups first .. last - 1. */
typedef void karst_tridiagonal_groups(const karst_tridiagonal_pass *pass, int64_t first, int64_t last,
                                      karst_tridiagonal_room *room);

/* The kernels of a method for one type and m. solve also factors, and keeps the factors if pass->kept is not NULL; apply
 * solves with them. */
typedef struct karst_tridiagonal_instance {
  karst_tridiagonal_groups *solve, *apply;
} karst_tridiagonal_instance;

typedef struct karst_tridiagonal_plan karst_tridiagonal_plan;

/* What a method needs: groups is the number of pieces of work that threads share; the others count arrays of lanes. */
typedef struct karst_tridiagonal_needs {
  int64_t groups;
  int64_t rows;   /* work space of a thread */
  int64_t shared; /* work space of all threads */
  int64_t kept;   /* factors */
} karst_tridiagonal_needs;

/* A method. solve and apply set pass's work space themselves. */
typedef struct karst_tridiagonal_way {
  const char *name;
  karst_tridiagonal_needs (*needs)(const karst_tridiagonal_shape *shape);
  void (*solve)(karst_context *context, karst_tridiagonal_plan *plan, const karst_tridiagonal_pass *pass);
  void (*apply)(karst_context *context, karst_tridiagonal_plan *plan, const karst_tridiagonal_pass *pass);
} karst_tridiagonal_way;

struct karst_tridiagonal_plan {
  const karst_tridiagonal_way *way;
  karst_tridiagonal_needs needs;
  int threads;                  /* for which there are rooms */
  karst_tridiagonal_room *room; /* [threads] */
  void *rows, *block;           /* their arrays */
  double *lane;
  int *pivot;
  void *shared, *kept;
  uint64_t failure;     /* of the call that runs */
  uint64_t failures[2]; /* of the last solve, and of the kept factors */
};

/* Scalars of the arrays of systems, by which threads are counted. */
static inline int64_t karst_tridiagonal_work(int64_t systems, int64_t rows, int64_t m)
{
  return systems * rows * (3 * m * m + 2 * m);
}

/* run.c: gives the groups of a pass to threads; *failure becomes the smallest of theirs, unless it is smaller. */
void karst_tridiagonal_run(karst_context *context, karst_tridiagonal_plan *plan, karst_tridiagonal_groups *kernel,
                           const karst_tridiagonal_pass *pass, int64_t groups, uint64_t *failure);

karst_tridiagonal_instance karst_tridiagonal_thomas(bool single, int m);
extern const karst_tridiagonal_way karst_tridiagonal_way_thomas, karst_tridiagonal_way_cr, karst_tridiagonal_way_pcr,
    karst_tridiagonal_way_hybrid, karst_tridiagonal_way_split;

void karst_tridiagonal_convert_cpu(karst_context *context, const karst_tridiagonal *batch, int entries,
                                   karst_tridiagonal_layout from_layout, const void *from, void *to);

extern const struct karst_tridiagonal_kernels karst_tridiagonal_kernels_cpu;

#endif
