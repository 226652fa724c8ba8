/* split.c - Wang's splitting of long block-tridiagonal systems on the CPU. Each system is cut into pieces of the same
 * length, and the row behind each piece is a separator. With u_l and u_r at the separators before and behind a piece,
 * elimination along its rows gives
 *
 *     u_k = y_k - v_k u_l - W_k u_(k+1),   v_0 = d_0^-1 a_0,   v_k = -d_k^-1 a_k v_(k-1)
 *
 * d, W and y as in thomas.c. So the last row of a piece is given in terms of u_l and u_r. For the first row these
 * equations are put into each other, from the first on: with z_0 = -1 and z_(k+1) = -z_k W_k, u_0 depends on u_l by the
 * sum of z_k v_k and on u_r by -z behind the last row. Put into the equations of the separators, both rows make these a
 * block-tridiagonal system for the separators alone, which Thomas's algorithm solves. Wang: A parallel method for
 * tridiagonal equations, ACM Trans. Math. Softw. 7 (1981).
 *
 * A lane has a piece, whichever system it belongs to. The number of pieces follows from n alone, so that the bits do not
 * depend on the number of threads. Kept factors are d^-1, a, W and v of each row in a piece, a and c of the separators,
 * and the factors of their systems. */
#include "cpu/cpu.h"
#include "cpu/tridiagonal/tridiagonal_cpu.h"

/* Sizes, and the arrays of the pieces and of the separators. Those of lanes have the type in use. Others have a row of
 * m m or m scalars for each piece or separator, in the order of the systems. */
struct pieces {
  int64_t length;         /* rows of a piece and its separator; a power of 2 */
  int64_t of_system;      /* pieces of a system; the last has no separator, and may have no rows */
  int64_t count, groups;  /* pieces of all systems, and groups of lanes that they fill */
  int64_t separators;     /* of a system */
  void *factors;          /* [groups][length - 1][4][m*m] lanes: d^-1, a, W, v */
  void *lower, *upper;    /* a and c of the separators */
  void *reduced;          /* the factors of their systems */
  void *y;                /* [groups][length - 1][m] lanes */
  void *first, *last;     /* y of the first and the last row of each piece after substitution in it */
  void *v_first, *v_last; /* the same for v, the dependence on u_l */
  void *z_first, *z_last; /* and for the dependence on u_r */
  void *a, *b, *c, *size; /* the systems of the separators */
  void *right;            /* their right-hand side, and their solution */
};

/* The kernels of one type and m that go through all rows: factors of the pieces, and elimination and substitution of a
 * right-hand side. The two that only go through the separators, couple and gather, have no instances. */
struct kernels {
  karst_tridiagonal_groups *factor, *forward, *backward;
};

#define TEMPLATE "cpu/tridiagonal/split_template.h"
#include "cpu/tridiagonal/instances.h"

static struct pieces cut(int64_t systems, int64_t n, int lanes)
{
  enum { SHORTEST = 8, LONGEST = 128 };
  struct pieces pieces = {.length = SHORTEST};
  while (pieces.length < LONGEST && pieces.length * pieces.length < n) pieces.length *= 2;
  pieces.separators = n / pieces.length;
  pieces.of_system = pieces.separators + 1;
  pieces.count = systems * pieces.of_system;
  pieces.groups = (pieces.count + lanes - 1) / lanes;
  return pieces;
}

/* Memory that is given out from its start. base is NULL while the lengths are counted. */
struct store {
  char *base;
  int64_t lanes; /* given out */
};

/* Takes count scalars, in whole lanes. */
static void *take(struct store *store, int64_t count, int lanes)
{
  char *taken = store->base ? store->base + store->lanes * KARST_TRIDIAGONAL_REGISTER : NULL;
  store->lanes += (count + lanes - 1) / lanes;
  return taken;
}

/* Places the arrays, in the memory of the factors and in shared work space. */
static void place(const karst_tridiagonal_pass *pass, struct pieces *pieces, struct store *kept, struct store *shared)
{
  const int lanes = karst_tridiagonal_lanes(pass->single);
  const int64_t m = pass->block_size, mm = m * m, rows = pieces->groups * (pieces->length - 1) * lanes;
  const int64_t separators = pass->systems * pieces->separators;
  const int64_t reduced = (pass->systems + lanes - 1) / lanes * lanes * pieces->separators;
  pieces->factors = take(kept, rows * 4 * mm, lanes);
  pieces->lower = take(kept, separators * mm, lanes);
  pieces->upper = take(kept, separators * mm, lanes);
  pieces->reduced = take(kept, reduced * 3 * mm, lanes);
  pieces->y = take(shared, rows * m, lanes);
  void **const of_vectors[] = {&pieces->first, &pieces->last};
  void **const of_blocks[] = {&pieces->v_first, &pieces->v_last, &pieces->z_first, &pieces->z_last};
  void **const of_separators[] = {&pieces->a, &pieces->b, &pieces->c, &pieces->size};
  for (int i = 0; i < 2; i++) *of_vectors[i] = take(shared, pieces->count * m, lanes);
  for (int i = 0; i < 4; i++) *of_blocks[i] = take(shared, pieces->count * mm, lanes);
  for (int i = 0; i < 4; i++) *of_separators[i] = take(shared, separators * mm, lanes);
  pieces->right = take(shared, separators * m, lanes);
}

static karst_tridiagonal_needs needs(const karst_tridiagonal_shape *shape)
{
  const int64_t m = shape->block_size;
  struct pieces pieces = cut(shape->systems, shape->rows, karst_tridiagonal_lanes(shape->single));
  const karst_tridiagonal_pass pass = {
      .single = shape->single != 0, .block_size = shape->block_size, .systems = shape->systems, .rows = shape->rows};
  struct store kept = {0}, shared = {0};
  place(&pass, &pieces, &kept, &shared);
  return (karst_tridiagonal_needs){.groups = pieces.groups,
                                   .rows = (pieces.separators + 3) * (m * m + m),
                                   .shared = kept.lanes + shared.lanes,
                                   .kept = kept.lanes};
}

static struct pieces pieces_of(const karst_tridiagonal_pass *pass, void *kept, void *shared)
{
  struct pieces pieces = cut(pass->systems, pass->rows, karst_tridiagonal_lanes(pass->single));
  struct store factors = {.base = kept}, work = {.base = shared};
  place(pass, &pieces, &factors, &work);
  return pieces;
}

/* The pass over the systems of the separators. */
static karst_tridiagonal_pass reduced_pass(const karst_tridiagonal_pass *pass, const struct pieces *pieces)
{
  const int m = pass->block_size;
  return (karst_tridiagonal_pass){.single = pass->single,
                                  .block_size = m,
                                  .systems = pass->systems,
                                  .rows = pieces->separators,
                                  .matrix = {1, (int64_t)m * m},
                                  .vector = {1, m},
                                  .lower = pieces->a,
                                  .diagonal = pieces->b,
                                  .upper = pieces->c,
                                  .size = pieces->size,
                                  .right_sides = 1,
                                  .kept = pieces->reduced};
}

static const struct kernels *kernels_of(const karst_tridiagonal_pass *pass)
{
  const int size = karst_tridiagonal_instance_size(pass->block_size);
  return pass->single ? &split_instances_float[size] : &split_instances[size];
}

/* Reports a failure in the systems of the separators, which is in the second step of the method. */
static void report_separators(const karst_tridiagonal_pass *pass, const struct pieces *pieces, uint64_t reduced,
                              uint64_t *failure)
{
  karst_reason reason = KARST_SOUND;
  int64_t system = 0;
  karst_index row = 0;
  karst_tridiagonal_failed(pieces->separators, reduced, &reason, &system, &row);
  if (reason == KARST_SOUND) return;
  const uint64_t failed = karst_tridiagonal_failure(pass->rows, system, 1, (row + 1) * pieces->length - 1, reason);
  if (failed < *failure) *failure = failed;
}

/* Factors groups of pieces. Where there is a right-hand side it is eliminated along a group while the cache has its
 * factors. */
static void eliminate_pieces(const karst_tridiagonal_pass *pass, int64_t first, int64_t last,
                             karst_tridiagonal_room *room)
{
  const struct kernels *kernels = kernels_of(pass);
  for (int64_t group = first; group < last; group++) {
    kernels->factor(pass, group, group + 1, room);
    if (pass->right) kernels->forward(pass, group, group + 1, room);
  }
}

static void factor(karst_context *context, karst_tridiagonal_plan *plan, const karst_tridiagonal_pass *pass,
                   const struct pieces *pieces)
{
  const int64_t separators = pass->systems * pieces->separators;
  const int lanes = karst_tridiagonal_lanes(pass->single);
  uint64_t reduced = KARST_TRIDIAGONAL_NO_FAILURE;
  karst_tridiagonal_pass own = *pass;
  own.pieces = pieces;
  karst_tridiagonal_run(context, plan, eliminate_pieces, &own, pieces->groups, &plan->failure);
  if (separators == 0) return;
  karst_tridiagonal_run(context, plan, pass->single ? tridiagonal_split_couple_any_float : tridiagonal_split_couple_any,
                        &own, (separators + lanes - 1) / lanes, &plan->failure);
  own = reduced_pass(pass, pieces);
  karst_tridiagonal_run(context, plan, karst_tridiagonal_thomas(pass->single, pass->block_size).solve, &own,
                        (pass->systems + lanes - 1) / lanes, &reduced);
  report_separators(pass, pieces, reduced, &plan->failure);
}

/* Solves for the separators and substitutes, once a right-hand side is eliminated along the pieces. */
static void substitute_side(karst_context *context, karst_tridiagonal_plan *plan, const karst_tridiagonal_pass *pass,
                            const struct pieces *pieces)
{
  const int64_t separators = pass->systems * pieces->separators;
  const int lanes = karst_tridiagonal_lanes(pass->single);
  karst_tridiagonal_pass own = *pass, reduced = reduced_pass(pass, pieces);
  own.pieces = pieces;
  reduced.right = reduced.solution = pieces->right;
  if (separators > 0) {
    karst_tridiagonal_run(context, plan,
                          pass->single ? tridiagonal_split_gather_any_float : tridiagonal_split_gather_any, &own,
                          (separators + lanes - 1) / lanes, &plan->failure);
    karst_tridiagonal_run(context, plan, karst_tridiagonal_thomas(pass->single, pass->block_size).apply, &reduced,
                          (pass->systems + lanes - 1) / lanes, &plan->failure);
  }
  karst_tridiagonal_run(context, plan, kernels_of(pass)->backward, &own, pieces->groups, &plan->failure);
}

/* Without an array for the factors they are in the work space. */
static void solve(karst_context *context, karst_tridiagonal_plan *plan, const karst_tridiagonal_pass *pass)
{
  char *work = (char *)plan->shared + plan->needs.kept * KARST_TRIDIAGONAL_REGISTER;
  const struct pieces pieces = pieces_of(pass, pass->kept ? pass->kept : plan->shared, work);
  factor(context, plan, pass, &pieces);
  if (pass->right) substitute_side(context, plan, pass, &pieces);
}

static void apply(karst_context *context, karst_tridiagonal_plan *plan, const karst_tridiagonal_pass *pass)
{
  char *work = (char *)plan->shared + plan->needs.kept * KARST_TRIDIAGONAL_REGISTER;
  const struct pieces pieces = pieces_of(pass, pass->kept, work);
  const int64_t bytes =
      pass->systems * pass->rows * pass->block_size * (int64_t)(pass->single ? sizeof(float) : sizeof(double));
  karst_tridiagonal_pass own = *pass;
  own.pieces = &pieces;
  for (int side = 0; side < pass->right_sides; side++) {
    own.right = (const char *)pass->right + side * bytes;
    own.solution = (char *)pass->solution + side * bytes;
    karst_tridiagonal_run(context, plan, kernels_of(pass)->forward, &own, pieces.groups, &plan->failure);
    substitute_side(context, plan, &own, &pieces);
  }
}

const karst_tridiagonal_way karst_tridiagonal_way_split = {"split", needs, solve, apply};
