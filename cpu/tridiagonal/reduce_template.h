/* reduce_template.h - cyclic reduction and parallel cyclic reduction of a group of systems; see reduce.c. Included behind
 * lanes_template.h, with the same macros. */

/* The rows of a group at some step. */
struct NAME(rows) {
  WIDE *lower, *diagonal, *upper, *size; /* [n][m*m]; diagonal becomes its inverse */
  WIDE *right;                           /* [n][m] */
};

/* Where a pass over the steps stands. Row j of those that are left is row (j + 1) stride - 1 of the systems, and is
 * coupled to the rows j - distance and j + distance of those. */
struct NAME(state) {
  int64_t stride, left, distance;
  struct NAME(rows) rows, next; /* parallel reduction writes next while it reads rows */
  WIDE *multiplier;             /* of the next row, [2][m*m] a row; NULL: they are not kept */
};

KARST_INLINE int64_t NAME(row_of)(const struct NAME(state) * state, int64_t j) { return (j + 1) * state->stride - 1; }

KARST_INLINE void NAME(copy)(int64_t count, const WIDE *from, WIDE *to)
{
  for (int64_t i = 0; i < count; i++) to[i] = from[i];
}

/* Inverts the diagonal blocks of the rows 0, by, 2 by, ... of those left, in place. */
KARST_INLINE void NAME(invert_rows)(int m, const karst_tridiagonal_pass *pass, int step,
                                    const karst_tridiagonal_strands *strands, const struct NAME(state) * state,
                                    int64_t by, struct NAME(room) * room, uint64_t *failure)
{
  const int mm = m * m;
  for (int64_t j = 0; j < state->left; j += by) {
    const int64_t k = NAME(row_of)(state, j);
    NAME(copy)(mm, state->rows.diagonal + k * mm, room->pivot_block);
    NAME(copy)(mm, state->rows.size + k * mm, room->size);
    if (!NAME(invert)(m, room)) NAME(report)(pass, step, strands, k, room->reason, failure);
    NAME(copy)(mm, room->inverse, state->rows.diagonal + k * mm);
  }
}

/* Subtracts a multiple of row number other from row j, so that the first no longer couples to the second: with the
 * multiplier alpha = a_j b_other^-1 for the row before, b_j -= alpha c_other, a_j = -alpha a_other, f_j -= alpha
 * f_other; and the mirror image for the row behind. */
KARST_INLINE void NAME(subtract_row)(int m, bool before, struct NAME(state) * state, int64_t j, int64_t other,
                                     struct NAME(room) * room)
{
  const int mm = m * m;
  const int64_t k = NAME(row_of)(state, j), o = NAME(row_of)(state, other);
  const struct NAME(rows) *rows = &state->rows, *next = &state->next;
  WIDE *alpha = room->other, *diagonal = next->diagonal + k * mm;
  const WIDE *coupling = (before ? rows->lower : rows->upper) + k * mm;
  const bool further = before ? other >= state->distance : other + state->distance < state->left;
  NAME(product)(m, m, NAME(SET), coupling, rows->diagonal + o * mm, alpha);
  NAME(product)(m, m, NAME(SUBTRACT), alpha, (before ? rows->upper : rows->lower) + o * mm, diagonal);
  NAME(add_size)(m, diagonal, next->size + k * mm);
  if (further) NAME(product)
  (m, m, NAME(NEGATIVE), alpha, (before ? rows->lower : rows->upper) + o * mm,
   (before ? next->lower : next->upper) + k * mm);
  if (next->right) NAME(product)(m, 1, NAME(SUBTRACT), alpha, rows->right + o * m, next->right + k * m);
  if (state->multiplier) NAME(copy)(mm, alpha, state->multiplier + (before ? 0 : mm));
}

/* The rows first, first + by, ... of those left lose their neighbours. */
KARST_INLINE void NAME(reduce_rows)(int m, int64_t first, int64_t by, struct NAME(state) * state,
                                    struct NAME(room) * room)
{
  for (int64_t j = first; j < state->left; j += by) {
    KARST_ROLLED
    for (int side = 0; side < 2; side++) {
      const int64_t other = side == 0 ? j - state->distance : j + state->distance;
      if (other >= 0 && other < state->left) NAME(subtract_row)(m, side == 0, state, j, other, room);
    }
    if (state->multiplier) state->multiplier += 2 * (int64_t)m * m;
  }
}

/* Places the arrays of a group: the factors in kept if they are, else all in the work space. */
KARST_INLINE struct NAME(state) NAME(state_of)(int m, const karst_tridiagonal_pass *pass, int64_t group, WIDE *room)
{
  const int64_t n = pass->rows, block = n * m * m;
  const karst_tridiagonal_needs kept = karst_tridiagonal_reduce_needs(pass->method, n, m, 1);
  struct NAME(state) state = {.stride = 1, .left = n, .distance = 1};
  struct NAME(rows) *rows = &state.rows, *next = &state.next;
  WIDE *factors = pass->kept ? (WIDE *)pass->kept + group * kept.kept : room;
  rows->lower = factors;
  rows->diagonal = factors + block;
  rows->upper = factors + 2 * block;
  if (pass->kept) state.multiplier = factors + 3 * block;
  room += pass->kept ? 0 : 3 * block;
  rows->size = room;
  rows->right = pass->right ? room + block : NULL;
  room += block + n * m;
  next->lower = room;
  next->diagonal = room + block;
  next->upper = room + 2 * block;
  next->size = room + 3 * block;
  next->right = pass->right ? room + 4 * block : NULL;
  return state;
}

KARST_INLINE void NAME(load_rows)(int m, const karst_tridiagonal_pass *pass, const karst_tridiagonal_strands *strands,
                                  const struct NAME(rows) * rows, struct NAME(room) * room)
{
  const int64_t mm = (int64_t)m * m;
  for (int64_t k = 0; k < pass->rows; k++) {
    NAME(load_diagonal)(m, pass, strands, k, room);
    NAME(copy)(mm, room->pivot_block, rows->diagonal + k * mm);
    NAME(copy)(mm, room->size, rows->size + k * mm);
    NAME(load_block)(m, pass, pass->lower, strands, k, NAME(LOWER), room->tile, rows->lower + k * mm);
    NAME(load_block)(m, pass, pass->upper, strands, k, NAME(UPPER), room->tile, rows->upper + k * mm);
    if (pass->right) NAME(load_row)(m, pass->vector, pass->right, strands, k, NAME(OWN), rows->right + k * m);
  }
}

/* Copies what a step changes of the rows that are left. */
KARST_INLINE void NAME(copy_rows)(int m, const struct NAME(state) * state, const struct NAME(rows) * from,
                                  const struct NAME(rows) * to)
{
  const int64_t mm = (int64_t)m * m;
  for (int64_t j = 0; j < state->left; j++) {
    const int64_t k = NAME(row_of)(state, j);
    NAME(copy)(mm, from->diagonal + k * mm, to->diagonal + k * mm);
    NAME(copy)(mm, from->size + k * mm, to->size + k * mm);
    if (from->right) NAME(copy)(m, from->right + k * m, to->right + k * m);
  }
}

/* All steps. At the end no row that is left is coupled to another, and its diagonal block is inverted. */
KARST_INLINE void NAME(reduce)(int m, const karst_tridiagonal_pass *pass, const karst_tridiagonal_strands *strands,
                               struct NAME(state) * state, struct NAME(room) * room, uint64_t *failure)
{
  const int64_t rest = karst_tridiagonal_reduce_rest(pass->method, pass->rows);
  const struct NAME(rows) first = state->rows, second = state->next;
  for (int step = 0;; step++) {
    const bool cyclic = state->left > rest, last = state->distance >= state->left;
    state->next = cyclic || state->rows.diagonal != first.diagonal ? first : second;
    if (!cyclic && !last) NAME(copy_rows)(m, state, &state->rows, &state->next);
    NAME(invert_rows)(m, pass, step, strands, state, cyclic ? 2 : 1, room, failure);
    if (last) break;
    NAME(reduce_rows)(m, cyclic, cyclic ? 2 : 1, state, room);
    if (cyclic) {
      state->left /= 2;
      state->stride *= 2;
    } else {
      state->rows = state->next;
      state->distance *= 2;
    }
  }
  if (state->rows.diagonal != first.diagonal) NAME(copy_rows)(m, state, &state->rows, &first);
  state->rows = first;
}

/* Solves for the rows that are left, and then for those that cyclic reduction has eliminated, last step first. */
KARST_INLINE void NAME(substitute)(int m, const struct NAME(rows) * rows, int64_t n, int64_t stride, WIDE *right,
                                   WIDE *vector)
{
  const int64_t mm = (int64_t)m * m;
  for (int64_t k = stride - 1; k < n; k += stride) {
    NAME(copy)(m, right + k * m, vector);
    NAME(product)(m, 1, NAME(SET), rows->diagonal + k * mm, vector, right + k * m);
  }
  for (stride /= 2; stride > 0; stride /= 2)
    for (int64_t k = stride - 1; k < n; k += 2 * stride) {
      NAME(copy)(m, right + k * m, vector);
      if (k >= stride) NAME(product)(m, 1, NAME(SUBTRACT), rows->lower + k * mm, right + (k - stride) * m, vector);
      if (k + stride < n) NAME(product)(m, 1, NAME(SUBTRACT), rows->upper + k * mm, right + (k + stride) * m, vector);
      NAME(product)(m, 1, NAME(SET), rows->diagonal + k * mm, vector, right + k * m);
    }
}

KARST_INLINE void NAME(store_rows)(int m, const karst_tridiagonal_pass *pass, const karst_tridiagonal_strands *strands,
                                   const WIDE *right, REAL *solution)
{
  for (int64_t k = 0; k < pass->rows; k++) NAME(store_row)(m, pass->vector, right + k * m, strands, k, solution);
}

KARST_INLINE void NAME(reduce_solve)(int m, const karst_tridiagonal_pass *pass, int64_t first, int64_t last,
                                     struct NAME(room) * room, karst_tridiagonal_room *own)
{
  for (int64_t group = first; group < last; group++) {
    const karst_tridiagonal_strands strands = NAME(systems_of)(pass, group);
    struct NAME(state) state = NAME(state_of)(m, pass, group, own->rows);
    NAME(load_rows)(m, pass, &strands, &state.rows, room);
    NAME(reduce)(m, pass, &strands, &state, room, &own->failure);
    if (!pass->right) continue;
    NAME(substitute)(m, &state.rows, pass->rows, state.stride, state.rows.right, room->vector);
    NAME(store_rows)(m, pass, &strands, state.rows.right, pass->solution);
  }
}

/* The steps of the right-hand side alone, with the kept multipliers. spare: [n][m], for parallel reduction. Returns the
 * last stride. */
KARST_INLINE int64_t NAME(reduce_right)(int m, const karst_tridiagonal_pass *pass, const WIDE *multiplier, WIDE *right,
                                        WIDE *spare)
{
  const int64_t mm = (int64_t)m * m, rest = karst_tridiagonal_reduce_rest(pass->method, pass->rows);
  int64_t left = pass->rows, s = 1;
  for (; left > rest; left /= 2, s *= 2)
    for (int64_t j = 1; j < left; j += 2, multiplier += 2 * mm) {
      const int64_t k = (j + 1) * s - 1;
      NAME(product)(m, 1, NAME(SUBTRACT), multiplier, right + (k - s) * m, right + k * m);
      if (j + 1 < left) NAME(product)(m, 1, NAME(SUBTRACT), multiplier + mm, right + (k + s) * m, right + k * m);
    }
  for (int64_t distance = 1; distance < left; distance *= 2) {
    for (int64_t j = 0; j < left; j++, multiplier += 2 * mm) {
      const int64_t k = (j + 1) * s - 1, apart = distance * s;
      WIDE *reduced = spare + k * m;
      NAME(copy)(m, right + k * m, reduced);
      if (j >= distance) NAME(product)(m, 1, NAME(SUBTRACT), multiplier, right + (k - apart) * m, reduced);
      if (j + distance < left) NAME(product)(m, 1, NAME(SUBTRACT), multiplier + mm, right + (k + apart) * m, reduced);
    }
    for (int64_t k = s - 1; k < pass->rows; k += s) NAME(copy)(m, spare + k * m, right + k * m);
  }
  return s;
}

KARST_INLINE void NAME(reduce_apply)(int m, const karst_tridiagonal_pass *pass, int64_t first, int64_t last,
                                     struct NAME(room) * room, karst_tridiagonal_room *own)
{
  const int64_t n = pass->rows, size = pass->systems * n * m;
  for (int64_t group = first; group < last; group++) {
    const karst_tridiagonal_strands strands = NAME(systems_of)(pass, group);
    const struct NAME(state) kept = NAME(state_of)(m, pass, group, own->rows);
    WIDE *right = own->rows;
    for (int side = 0; side < pass->right_sides; side++) {
      for (int64_t k = 0; k < n; k++)
        NAME(load_row)(m, pass->vector, (const REAL *)pass->right + side * size, &strands, k, NAME(OWN), right + k * m);
      const int64_t stride = NAME(reduce_right)(m, pass, kept.multiplier, right, right + n * m);
      NAME(substitute)(m, &kept.rows, n, stride, right, room->vector);
      NAME(store_rows)(m, pass, &strands, right, (REAL *)pass->solution + side * size);
    }
  }
}

#define KERNELS(WHERE, SIZE, M, ROOM)                                                                                  \
  KARST_##WHERE static void NAME(tridiagonal_reduce_solve_##SIZE)(const karst_tridiagonal_pass *pass, int64_t first,   \
                                                                  int64_t last, karst_tridiagonal_room *own)           \
  {                                                                                                                    \
    ROOM(M);                                                                                                           \
    NAME(reduce_solve)(M, pass, first, last, &room, own);                                                              \
  }                                                                                                                    \
  KARST_##WHERE static void NAME(tridiagonal_reduce_apply_##SIZE)(const karst_tridiagonal_pass *pass, int64_t first,   \
                                                                  int64_t last, karst_tridiagonal_room *own)           \
  {                                                                                                                    \
    ROOM(M);                                                                                                           \
    NAME(reduce_apply)(M, pass, first, last, &room, own);                                                              \
  }
KERNELS(INSTANCE, 1, 1, ROOM_ON_STACK)
KERNELS(INSTANCE, 4, 4, ROOM_ON_STACK)
KERNELS(KERNEL, any, pass->block_size, ROOM_OF_THREAD)
#undef KERNELS

static const karst_tridiagonal_instance NAME(reduce_instances)[KARST_BLOCK_SIZE_LARGEST_INSTANCE + 1] = {
    {NAME(tridiagonal_reduce_solve_any), NAME(tridiagonal_reduce_apply_any)},
    [1] = {NAME(tridiagonal_reduce_solve_1), NAME(tridiagonal_reduce_apply_1)},
    [4] = {NAME(tridiagonal_reduce_solve_4), NAME(tridiagonal_reduce_apply_4)}};
