/* implicit.c - a step of Beam and Warming's scheme: equation (6), factored as in (7), by the three sweeps of (8). phi
 * is 0 for Euler's implicit scheme, and 1/2 for the three-point one of second order. The change beyond an interface
 * counts as 0 in the sweeps, so that each block has lines of its own.
 *
 * Each sweep is a batch of block-tridiagonal systems with m = 5, a system a line: in Karst's SOA layout on a GPU, and
 * in AOS on a CPU, which assembles it in less than half of the time. If the flow is on the host, and the solver is to
 * be the GPU, blocks are assembled in SOA and copied in one of the three ways of the paper's Table 2. */
#include "euler3d.h"

#include <karst.h>

enum { SLOTS = 4, ARRAYS = 4, RIGHT = 3 };
static const size_t entries[ARRAYS] = {SQUARE, SQUARE, SQUARE, COMPONENTS};

/* A place for systems on their way. host and device are the same arrays if nothing is copied. */
struct slot {
  karst_context *context;
  void *stream;
  karst_tridiagonal *batch[AXES]; /* of the shape that the lines of each axis have */
  char *host[ARRAYS], *device[ARRAYS];
};

struct sweeps {
  int slots, latest;
  karst_tridiagonal_layout layout;
  size_t scalar; /* bytes */
  const struct device *solver;
  char *solution[2]; /* where blocks are assembled; the latest sweep's is solution[latest] */
  struct slot slot[SLOTS];
};

static void must(const struct slot *slot, karst_status status)
{
  if (status) stop(karst_status_text(status), karst_context_error(slot->context));
}

static int planes_along(const struct block *b, int axis) { return b->n[axis == 2 ? 1 : 2]; }

/* Takes memory for a block, or with STREAMS for the largest plane of lines, SLOTS times. */
struct sweeps *sweeps_create(struct flow *f)
{
  const struct block *b = &f->block[0];
  const bool copied = f->set.transfer != NONE, streams = f->set.transfer == STREAMS;
  const int64_t rows = streams ? b->cells / (b->n[1] < b->n[2] ? b->n[1] : b->n[2]) : b->cells;
  struct sweeps *s = calloc(1, sizeof *s);
  if (!s) stop("--scheme", "not enough memory");
  s->scalar = f->set.single ? sizeof(float) : sizeof(double), s->slots = streams ? SLOTS : 1;
  s->solver = copied ? cuda_device() : f->device;
  s->layout = s->solver == &cpu_device ? KARST_TRIDIAGONAL_AOS : KARST_TRIDIAGONAL_SOA;
  f->task.structures = s->layout == KARST_TRIDIAGONAL_AOS;
  void *(*const allocate)(size_t) = copied ? s->solver->host_allocate : s->solver->allocate;
  for (int i = 0; i < 2; i++) s->solution[i] = allocate((size_t)b->cells * COMPONENTS * s->scalar);
  for (struct slot *slot = s->slot; slot < s->slot + s->slots; slot++) {
    if (karst_context_create(NULL, &slot->context)) stop("Karst", "not enough memory");
    must(slot, karst_context_set_device(slot->context, s->solver->name));
    if (s->solver == &cpu_device) must(slot, karst_context_set_threads(slot->context, f->set.threads));
    if (streams) slot->stream = s->solver->stream_create();
    if (s->solver != &cpu_device) must(slot, karst_context_set_stream(slot->context, slot->stream));
    for (int a = 0; a < ARRAYS; a++) {
      slot->device[a] = s->solver->allocate((size_t)rows * entries[a] * s->scalar);
      slot->host[a] = copied ? allocate((size_t)rows * entries[a] * s->scalar) : slot->device[a];
    }
    for (int axis = 0; axis < AXES; axis++) {
      const int64_t lines = b->cells / b->n[axis] / (streams ? planes_along(b, axis) : 1);
      const karst_tridiagonal_shape shape = {lines,         b->n[axis], COMPONENTS,
                                             f->set.single, s->layout,  KARST_TRIDIAGONAL_AUTO};
      must(slot, karst_tridiagonal_create(slot->context, &shape, &slot->batch[axis]));
    }
  }
  return s;
}

void sweeps_destroy(struct flow *f)
{
  struct sweeps *s = f->sweeps;
  if (!s) return;
  void (*const release)(void *) = f->set.transfer == NONE ? s->solver->release : s->solver->host_release;
  for (struct slot *slot = s->slot; slot < s->slot + s->slots; slot++) {
    for (int axis = 0; axis < AXES; axis++) karst_tridiagonal_destroy(slot->batch[axis]);
    karst_context_destroy(slot->context);
    for (int a = 0; a < ARRAYS; a++) s->solver->release(slot->device[a]);
    for (int a = 0; a < ARRAYS && f->set.transfer != NONE; a++) release(slot->host[a]);
    if (slot->stream) s->solver->stream_destroy(slot->stream);
  }
  for (int i = 0; i < 2; i++) release(s->solution[i]);
  free(s);
}

const char *sweeps_describe(const struct sweeps *s) { return karst_tridiagonal_describe(s->slot[0].batch[0]); }

/* Waits for the slot's work and looks at its outcome. first: the number of its first line. */
static void finish(const struct flow *f, struct slot *slot, int64_t first)
{
  int64_t system;
  karst_index row;
  char where[96];
  f->sweeps->solver->wait(slot->stream);
  if (karst_tridiagonal_outcome(slot->batch[f->task.axis], &system, &row) == KARST_SOUND) return;
  snprintf(where, sizeof where, "step %d, sweep along %c, line %.0f, cell %.0f", f->step + 1, "xyz"[f->task.axis],
           (double)first + (double)system, (double)row);
  stop(where, "the block-tridiagonal system is singular or not finite; lower --cfl");
}

/* Assembles some planes of lines into the slot's arrays, which begin with row begin of the block. */
static void assemble(struct flow *f, struct slot *slot, int plane, int planes, int64_t begin, int64_t rows)
{
  const int axis = f->task.axis, *n = f->task.b.n;
  const int low[AXES] = {0, 0, plane}, count[AXES] = {n[axis], n[axis == 0 ? 1 : 0], planes};
  const double start = seconds();
  for (int a = 0; a < ARRAYS; a++) f->task.matrix[a] = slot->host[a];
  f->task.begin = begin, f->task.rows = rows, f->task.solution = f->sweeps->solution[f->sweeps->latest];
  f->device->launch(KERNEL_sweep_blocks, &f->task, low, count);
  f->device->wait(NULL);
  f->assembly_seconds += seconds() - start;
}

/* Piece after piece is assembled and copied to the GPU; the copy overlaps with the next piece's assembly. A piece is
 * the whole block, or a plane. With STREAMS each piece is solved and copied back in a slot of its own, else all after
 * the last. */
void sweeps_along(struct flow *f, int b, int axis, int previous)
{
  struct sweeps *s = f->sweeps;
  const bool copied = f->set.transfer != NONE, streams = f->set.transfer == STREAMS;
  const int planes = planes_along(&f->block[b], axis), pieces = f->set.transfer < PLANES ? 1 : planes;
  const int64_t all = f->block[b].cells, piece = all / pieces, rows = streams ? piece : all;
  const size_t pitch = (size_t)rows * s->scalar, width = (size_t)piece * s->scalar;
  const double start = seconds();
  f->task.b = f->block[b], f->task.axis = axis, f->task.previous = previous, f->task.single = f->set.single;
  for (int p = 0; p < pieces + s->slots; p++) {
    struct slot *slot = &s->slot[p % s->slots];
    const size_t from = f->set.transfer == PLANES ? width * (size_t)p : 0;
    char **m = slot->device, *solution = s->solution[!s->latest] + (streams ? width * (size_t)p : 0);
    if (p >= s->slots && (streams || p == pieces)) finish(f, slot, piece / f->task.b.n[axis] * (p - s->slots));
    if (p >= pieces) continue;
    assemble(f, slot, p * (planes / pieces), planes / pieces, streams ? piece * p : 0, rows);
    for (int a = 0; a < ARRAYS && copied; a++)
      s->solver->stream_copy(slot->stream, m[a] + from, pitch, slot->host[a] + from, pitch, width, entries[a]);
    if (!streams && p < pieces - 1) continue;
    must(slot, karst_tridiagonal_solve(slot->batch[axis], m[0], m[1], m[2], m[RIGHT], copied ? m[RIGHT] : solution));
    if (copied)
      s->solver->stream_copy(slot->stream, solution, (size_t)all * s->scalar, m[RIGHT], pitch, pitch, COMPONENTS);
  }
  s->latest = !s->latest;
  f->sweep_seconds += seconds() - start;
}

void sweeps_step(struct flow *f)
{
  f->task.phi = f->step > 0 ? f->set.phi : 0; /* The first step has no change before it. */
  for (int b = 0; b < f->blocks; b++) {
    for (int axis = 0; axis < AXES; axis++) sweeps_along(f, b, axis, axis - 1);
    f->task.solution = f->sweeps->solution[f->sweeps->latest], f->task.previous = AXES - 1;
    flow_cells(f, b, KERNEL_add_change);
  }
}
