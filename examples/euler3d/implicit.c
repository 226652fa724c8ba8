/* implicit.c - a step of Beam and Warming's scheme: equation (6), factored as in (7), by the three sweeps of (8). phi
 * is 0 for Euler's implicit scheme, and 1/2 for the three-point one of second order.
 *
 * Each sweep is a batch of block-tridiagonal systems with m = 5, a system a line of the whole grid, through all of its
 * blocks: in Karst's layout SOA on a GPU, and in AOS on a CPU, which takes less than half as long to assemble them so.
 * If the flow is on the host, and --transfer has a GPU solve, systems are assembled in SOA and copied in one of the
 * three ways of the paper's Table 2. */
#include "kernels.h"

#include <karst.h>

enum { SLOTS = 4 };

/* A place for systems on their way, ROW scalars a row. host and device are the same array if nothing is copied. */
struct slot {
  karst_context *context;         /* with a stream of its own on a GPU */
  karst_tridiagonal *batch[AXES]; /* of the shape that the lines of each axis have */
  char *host, *device;
};

struct sweeps {
  int slots;
  bool copied, streams;
  size_t scalar; /* bytes */
  const struct device *solver;
  char *solution; /* of a sweep, where systems are assembled */
  struct slot slot[SLOTS];
};

static void must(const struct slot *slot, karst_status status)
{
  if (status) stop(karst_status_text(status), karst_context_error(slot->context));
}

static void create_slot(const struct flow *f, const struct sweeps *s, struct slot *slot)
{
  const int *n = f->set.cells, planes = s->streams ? (n[1] < n[2] ? n[1] : n[2]) : 1;
  const size_t bytes = (size_t)(f->cells / planes) * ROW * s->scalar;
  const karst_tridiagonal_layout layout = f->task.structures ? KARST_TRIDIAGONAL_AOS : KARST_TRIDIAGONAL_SOA;
  if (karst_context_create(NULL, &slot->context)) stop("Karst", "not enough memory");
  must(slot, karst_context_set_threads(slot->context, f->set.threads));
  must(slot, karst_context_set_device(slot->context, s->solver->name));
  slot->device = s->solver->allocate(bytes, false);
  slot->host = s->copied ? s->solver->allocate(bytes, true) : slot->device;
  for (int axis = 0; axis < AXES; axis++) {
    const int64_t lines = f->cells / n[axis] / (s->streams ? n[third(axis)] : 1);
    const karst_tridiagonal_shape shape = {lines, n[axis], COMPONENTS, f->set.single, layout, KARST_TRIDIAGONAL_AUTO};
    must(slot, karst_tridiagonal_create(slot->context, &shape, &slot->batch[axis]));
  }
}

/* Takes memory for all lines, or with STREAMS for the largest plane of lines, SLOTS times. */
struct sweeps *sweeps_create(struct flow *f)
{
  struct sweeps *s = cpu_device.allocate(sizeof *s, false);
  s->copied = f->set.transfer != NONE, s->streams = f->set.transfer == STREAMS, s->slots = s->streams ? SLOTS : 1;
  s->scalar = f->set.single ? sizeof(float) : sizeof(double), s->solver = s->copied ? cuda_device() : f->device;
  f->task.structures = s->solver == &cpu_device;
  s->solution = s->solver->allocate((size_t)f->cells * COMPONENTS * s->scalar, s->copied);
  for (int i = 0; i < s->slots; i++) create_slot(f, s, &s->slot[i]);
  printf("sweeps: %s\n", karst_tridiagonal_describe(s->slot[0].batch[0]));
  return s;
}

void sweeps_destroy(struct sweeps *s)
{
  for (struct slot *slot = s->slot; slot < s->slot + s->slots; slot++) {
    for (int axis = 0; axis < AXES; axis++) karst_tridiagonal_destroy(slot->batch[axis]);
    karst_context_destroy(slot->context);
    s->solver->release(slot->device, false);
    if (s->copied) s->solver->release(slot->host, true);
  }
  s->solver->release(s->solution, s->copied);
  cpu_device.release(s, false);
}

/* Waits for the slot's work and looks at its outcome. first: the number of its first line. */
static void finish(const struct flow *f, struct slot *slot, int64_t first)
{
  int64_t system;
  karst_index row;
  char where[96];
  must(slot, karst_context_synchronize(slot->context));
  if (karst_tridiagonal_outcome(slot->batch[f->task.axis], &system, &row) == KARST_SOUND) return;
  snprintf(where, sizeof where, "step %d, sweep along %c, line %.0f, cell %.0f", f->step + 1, "xyz"[f->task.axis],
           (double)first + (double)system, (double)row);
  stop(where, "the block-tridiagonal system is singular or not finite; lower --cfl");
}

/* Assembles the planes from first to end - 1 in the array, which has rows from row begin on. */
static void assemble(struct flow *f, int first, int end, char *array, int64_t begin, int64_t rows)
{
  const int axis = f->task.axis;
  const double start = seconds();
  f->task.matrix = array, f->task.begin = begin, f->task.rows = rows;
  for (const struct block *b = f->block; b < f->block + f->blocks; b++) {
    const int offset = b->offset[third(axis)], n = b->n[third(axis)];
    const int low[AXES] = {0, 0, first > offset ? first - offset : 0}, high = end < offset + n ? end - offset : n;
    const int count[AXES] = {b->n[axis], b->n[second(axis)], high - low[2]};
    f->task.b = *b;
    if (count[2] > 0) f->device->launch(KERNEL_sweep_blocks, &f->task, low, count);
  }
  f->device->wait();
  f->assembly_seconds += seconds() - start;
}

/* Piece after piece is assembled and copied to the GPU; the copy overlaps with the next piece's assembly. A piece is
 * the whole grid, or a plane. With STREAMS each piece is solved and copied back in a slot of its own, else all after
 * the last. */
void sweeps_along(struct flow *f, int axis)
{
  struct sweeps *s = f->sweeps;
  const int planes = f->set.cells[third(axis)], pieces = f->set.transfer < PLANES ? 1 : planes, thick = planes / pieces;
  const int64_t piece = f->cells / pieces, rows = s->streams ? piece : f->cells;
  const size_t pitch = (size_t)rows * s->scalar, width = (size_t)piece * s->scalar, all = (size_t)f->cells * s->scalar;
  f->task.axis = axis, f->task.solution = s->solution, f->task.all = f->cells;
  for (int p = 0; p < pieces + s->slots; p++) {
    struct slot *slot = &s->slot[p % s->slots];
    void *const stream = karst_context_stream(slot->context);
    const size_t from = f->set.transfer == PLANES ? width * (size_t)p : 0;
    char *const m = slot->device, *const diagonal = m + SQUARE * pitch, *const upper = diagonal + SQUARE * pitch;
    char *const right = upper + SQUARE * pitch, *to = s->solution + (s->streams ? width * (size_t)p : 0);
    if (p >= s->slots && (s->streams || p == pieces)) finish(f, slot, piece / f->set.cells[axis] * (p - s->slots));
    if (p >= pieces) continue;
    assemble(f, thick * p, thick * (p + 1), slot->host, s->streams ? piece * p : 0, rows);
    if (s->copied) s->solver->stream_copy(stream, m + from, pitch, slot->host + from, pitch, width, ROW);
    if (!s->streams && p < pieces - 1) continue;
    must(slot, karst_tridiagonal_solve(slot->batch[axis], m, diagonal, upper, right, s->copied ? right : to));
    if (s->copied) s->solver->stream_copy(stream, to, all, right, pitch, pitch, COMPONENTS);
  }
  flow_cells(f, KERNEL_change);
}
