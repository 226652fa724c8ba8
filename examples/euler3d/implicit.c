/* implicit.c - a step of Beam and Warming's scheme: equation (6), factored as in (7), by the three sweeps of (8). phi is
 * 0 for Euler's implicit scheme, and 1/2 for the three-point one of second order. The change beyond an interface counts
 * as 0 in the sweeps, so that each block has lines of its own.
 *
 * Each sweep is a batch of block-tridiagonal systems with m = 5 in Karst's SOA layout, a system a line. Its blocks are
 * assembled where the flow is. If that is the host, and the solver is to be the GPU, they are copied there in one of the
 * three ways of the paper's Table 2. */
#include "euler3d.h"

#include <karst.h>

enum { SLOTS = 4, ARRAYS = 4, RIGHT = 3, SHAPES = 64 };
static const int entries[ARRAYS] = {SQUARE, SQUARE, SQUARE, COMPONENTS};

/* A place for systems on their way, with the batches of the shapes that occurred. host and device are the same arrays if
 * nothing is copied. */
struct slot {
  karst_context *context;
  void *stream;
  karst_tridiagonal *batch[SHAPES];
  char *host[ARRAYS], *device[ARRAYS];
};

struct sweeps {
  enum transfer transfer;
  size_t scalar; /* bytes */
  int slots, latest;
  const struct device *solver;
  char *solution[2]; /* where blocks are assembled; the latest sweep's is solution[latest] */
  struct slot slot[SLOTS];
};

static void must(const karst_context *context, karst_status status)
{
  if (status) stop(karst_status_text(status), karst_context_error(context));
}

static int64_t rows_of(const struct block *b) { return (int64_t)b->n[0] * b->n[1] * b->n[2]; }

static void open_slot(const struct sweeps *s, struct slot *slot, const struct flow *f, int64_t rows)
{
  if (karst_context_create(NULL, &slot->context)) stop("Karst", "not enough memory");
  must(slot->context, karst_context_set_device(slot->context, s->solver->name));
  if (s->solver == &cpu_device) must(slot->context, karst_context_set_threads(slot->context, f->set.threads));
  if (s->transfer == STREAMS) slot->stream = s->solver->stream_create();
  if (s->solver != &cpu_device) must(slot->context, karst_context_set_stream(slot->context, slot->stream));
  for (int a = 0; a < ARRAYS; a++) {
    const size_t bytes = (size_t)rows * (size_t)entries[a] * s->scalar;
    slot->device[a] = s->solver->allocate(bytes);
    slot->host[a] = s->transfer == NONE ? slot->device[a] : s->solver->host_allocate(bytes);
  }
}

/* Takes memory for the largest block, or with STREAMS for the largest plane of lines. */
struct sweeps *sweeps_create(struct flow *f)
{
  struct sweeps *s = calloc(1, sizeof *s);
  int64_t most = 0, plane = 0;
  if (!s) stop("--scheme", "not enough memory");
  s->transfer = f->set.transfer, s->scalar = f->set.single ? sizeof(float) : sizeof(double);
  s->slots = s->transfer == STREAMS ? SLOTS : 1;
  s->solver = s->transfer == NONE ? f->device : cuda_device();
  for (int b = 0; b < f->blocks; b++) {
    const int64_t all = rows_of(&f->block[b]);
    most = all > most ? all : most;
    for (int d = 1; d < AXES; d++) plane = all / f->block[b].n[d] > plane ? all / f->block[b].n[d] : plane;
  }
  for (int i = 0; i < 2; i++)
    s->solution[i] =
        (s->transfer == NONE ? s->solver->allocate : s->solver->host_allocate)((size_t)most * COMPONENTS * s->scalar);
  for (int i = 0; i < s->slots; i++) open_slot(s, &s->slot[i], f, s->transfer == STREAMS ? plane : most);
  return s;
}

void sweeps_destroy(struct sweeps *s)
{
  if (!s) return;
  void (*const release)(void *) = s->transfer == NONE ? s->solver->release : s->solver->host_release;
  for (struct slot *slot = s->slot; slot < s->slot + s->slots; slot++) {
    for (int i = 0; i < SHAPES; i++) karst_tridiagonal_destroy(slot->batch[i]);
    karst_context_destroy(slot->context);
    for (int a = 0; a < ARRAYS; a++) {
      if (s->transfer != NONE) release(slot->host[a]);
      s->solver->release(slot->device[a]);
    }
    if (slot->stream) s->solver->stream_destroy(slot->stream);
  }
  for (int i = 0; i < 2; i++) release(s->solution[i]);
  free(s);
}

const char *sweeps_describe(const struct sweeps *s) { return karst_tridiagonal_describe(s->slot[0].batch[0]); }

static karst_tridiagonal *batch_of(struct slot *slot, int64_t systems, karst_index rows, bool single)
{
  const karst_tridiagonal_shape shape = {
      systems, rows, COMPONENTS, single, KARST_TRIDIAGONAL_SOA, KARST_TRIDIAGONAL_AUTO};
  for (int i = 0; i < SHAPES; i++) {
    const karst_tridiagonal_shape made = karst_tridiagonal_get_shape(slot->batch[i]);
    if (!slot->batch[i]) must(slot->context, karst_tridiagonal_create(slot->context, &shape, &slot->batch[i]));
    if (made.systems == 0 || (made.systems == systems && made.rows == rows)) return slot->batch[i];
  }
  stop("--blocks", "blocks of too many different sizes");
  return NULL;
}

/* Waits for the slot's work and looks at its outcome. first: the number of its first line. */
static void finish(const struct sweeps *s, struct slot *slot, karst_tridiagonal *batch, const struct flow *f,
                   int64_t first)
{
  int64_t system;
  karst_index row;
  char where[96];
  s->solver->stream_wait(slot->stream);
  if (karst_tridiagonal_outcome(batch, &system, &row) == KARST_SOUND) return;
  snprintf(where, sizeof where, "step %d, sweep along %c, line %.0f, cell %.0f", f->step + 1, "xyz"[f->task.axis],
           (double)first + (double)system, (double)row);
  stop(where, "the block-tridiagonal system is singular or not finite; lower --cfl");
}

/* Assembles some planes of lines into the slot's arrays, which begin with row begin of the block. */
static void assemble(const struct sweeps *s, struct flow *f, struct slot *slot, int plane, int planes, int64_t begin,
                     int64_t rows)
{
  const struct block *b = &f->task.b;
  const int axis = f->task.axis, low[AXES] = {0, 0, plane}, count[AXES] = {b->n[axis], b->n[axis == 0 ? 1 : 0], planes};
  const double start = flow_seconds();
  for (int a = 0; a < ARRAYS; a++) f->task.matrix[a] = slot->host[a];
  f->task.begin = begin, f->task.rows = rows, f->task.all_rows = rows_of(b), f->task.solution = s->solution[s->latest];
  f->device->launch(KERNEL_sweep_blocks, &f->task, low, count);
  f->device->stream_wait(NULL);
  f->assembly_seconds += flow_seconds() - start;
}

/* Piece after piece is assembled and copied to the GPU; the copy overlaps with the next piece's assembly. A piece is the
 * whole block, or a plane. With STREAMS each piece is solved and copied back in a slot of its own, else all after the
 * last. */
void sweeps_along(struct sweeps *s, struct flow *f, int b, int axis, int previous)
{
  const int *n = f->block[b].n, planes = n[axis == 2 ? 1 : 2], pieces = s->transfer < PLANES ? 1 : planes;
  const int64_t all = rows_of(&f->block[b]), piece = all / pieces, batched = s->transfer == STREAMS ? piece : all;
  const size_t pitch = (size_t)batched * s->scalar;
  const double start = flow_seconds();
  char *solution = s->solution[!s->latest];
  f->task.b = f->block[b], f->task.axis = axis, f->task.previous = previous, f->task.single = f->set.single;
  for (int p = 0; p < pieces + s->slots; p++) {
    struct slot *slot = &s->slot[p % s->slots];
    karst_tridiagonal *batch = batch_of(slot, batched / n[axis], n[axis], f->set.single);
    const size_t to = s->transfer == PLANES ? (size_t)(piece * p) * s->scalar : 0;
    if (p >= s->slots && (batched == piece || p == pieces))
      finish(s, slot, batch, f, batched / n[axis] * (p - s->slots));
    if (p >= pieces) continue;
    assemble(s, f, slot, p * (planes / pieces), planes / pieces, batched == piece ? piece * p : 0, batched);
    for (int a = 0; a < ARRAYS && s->transfer != NONE; a++)
      s->solver->stream_copy(slot->stream, slot->device[a] + to, pitch, slot->host[a] + to, pitch,
                             (size_t)piece * s->scalar, (size_t)entries[a]);
    if (batched == all && p < pieces - 1) continue;
    char **m = slot->device, *solved = s->transfer == NONE ? solution : m[RIGHT];
    must(slot->context, karst_tridiagonal_solve(batch, m[0], m[1], m[2], m[RIGHT], solved));
    if (s->transfer != NONE)
      s->solver->stream_copy(slot->stream, solution + (batched == piece ? (size_t)(piece * p) * s->scalar : 0),
                             (size_t)all * s->scalar, m[RIGHT], pitch, pitch, COMPONENTS);
  }
  s->latest = !s->latest;
  f->sweep_seconds += flow_seconds() - start;
}

void sweeps_step(struct sweeps *s, struct flow *f)
{
  f->task.phi = f->step > 0 ? f->set.phi : 0; /* The first step has no change before it. */
  for (int b = 0; b < f->blocks; b++) {
    for (int axis = 0; axis < AXES; axis++) sweeps_along(s, f, b, axis, axis - 1);
    f->task.solution = s->solution[s->latest], f->task.previous = AXES - 1, f->task.all_rows = rows_of(&f->block[b]);
    flow_cells(f, b, KERNEL_add_change);
  }
}
