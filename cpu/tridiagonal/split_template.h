/* split_template.h - elimination along the pieces of systems and the coupling of their separators; see split.c. Included
 * behind lanes_template.h, with the same macros. */

/* Lane l has piece number group LANES + l, without its separator. */
KARST_INLINE karst_tridiagonal_strands NAME(pieces_in)(const karst_tridiagonal_pass *pass, const struct pieces *pieces,
                                                       int64_t group)
{
  karst_tridiagonal_strands strands = {.common = INT64_MAX};
  for (int l = 0; l < NAME(LANES); l++) {
    const int64_t number = group * NAME(LANES) + l, piece = number < pieces->count ? number : pieces->count - 1;
    const int64_t origin = piece % pieces->of_system * pieces->length, rest = pass->rows - origin;
    const int64_t rows = rest < pieces->length ? rest : pieces->length - 1;
    karst_tridiagonal_set_strand(&strands, l, pass->rows, piece / pieces->of_system, origin, rows);
    strands.lanes += number < pieces->count;
  }
  return strands;
}

/* The numbers of the pieces of a group, as rows of their arrays. */
KARST_INLINE void NAME(piece_rows)(const struct pieces *pieces, int64_t group, int64_t *row)
{
  for (int l = 0; l < NAME(LANES); l++) {
    const int64_t piece = group * NAME(LANES) + l;
    row[l] = piece < pieces->count ? piece : -1;
  }
}

/* The separators before and behind the pieces of a group, as rows of the arrays of separators, and the one behind as a
 * row of the batch. */
KARST_INLINE void NAME(separator_rows)(const karst_tridiagonal_pass *pass, const struct pieces *pieces, int64_t group,
                                       int64_t *before, int64_t *behind, int64_t *row)
{
  for (int l = 0; l < NAME(LANES); l++) {
    const int64_t piece = group * NAME(LANES) + l;
    const int64_t system = piece / pieces->of_system, place = piece % pieces->of_system;
    const bool exists = piece < pieces->count;
    before[l] = exists && place > 0 ? system * pieces->separators + place - 1 : -1;
    behind[l] = exists && place < pieces->separators ? before[l] : -1;
    row[l] = -1;
    if (!exists || place == pieces->separators) continue;
    behind[l] = system * pieces->separators + place;
    row[l] = system * pass->rows + (place + 1) * pieces->length - 1;
  }
}

/* Sets v_k, adds row k to v_first, which is -sum z_k v_k, and sets next to z_(k+1), which behind the last row is
 * z_first. before: v_(k-1). W: W_k. */
KARST_INLINE void NAME(split_row)(int m, int64_t k, const WIDE *before, const WIDE *W, WIDE *v, WIDE *v_first,
                                  const WIDE *z, WIDE *next, struct NAME(room) * room)
{
  const int mm = m * m;
  if (k == 0) {
    NAME(product)(m, m, NAME(SET), room->inverse, room->lower, v);
    for (int i = 0; i < mm; i++) v_first[i] = v[i];
    for (int i = 0; i < mm; i++) next[i] = W[i];
    return;
  }
  NAME(product)(m, m, NAME(NEGATIVE), room->lower, before, room->other);
  NAME(product)(m, m, NAME(SET), room->inverse, room->other, v);
  NAME(product)(m, m, NAME(SUBTRACT), z, v, v_first);
  NAME(product)(m, m, NAME(NEGATIVE), z, W, next);
}

KARST_INLINE void NAME(split_factor)(int m, const karst_tridiagonal_pass *pass, int64_t first, int64_t last,
                                     struct NAME(room) * room, karst_tridiagonal_room *own)
{
  const struct pieces *pieces = pass->pieces;
  const int64_t mm = (int64_t)m * m, rows = pieces->length - 1;
  const karst_tridiagonal_steps steps = {1, (int64_t)m * m};
  int64_t row[NAME(LANES)];
  for (int64_t group = first; group < last; group++) {
    const karst_tridiagonal_strands strands = NAME(pieces_in)(pass, pieces, group);
    WIDE *factors = (WIDE *)pieces->factors + group * rows * 4 * mm, *v_first = own->rows, *z = v_first + mm;
    for (int64_t k = 0; k < rows; k++) {
      WIDE *at = factors + k * 4 * mm, *W = at + 2 * mm, *v = at + 3 * mm;
      NAME(thomas_factor)(m, pass, &strands, k, W - 4 * mm, W, room, &own->failure);
      for (int i = 0; i < mm; i++) at[i] = room->inverse[i];
      for (int i = 0; i < mm; i++) at[mm + i] = room->lower[i];
      NAME(split_row)(m, k, v - 4 * mm, W, v, v_first, z + k % 2 * mm, z + (k + 1) % 2 * mm, room);
    }
    const WIDE *end = factors + rows * 4 * mm;
    NAME(piece_rows)(pieces, group, row);
    NAME(store)(m * m, steps, end - mm, row, pieces->v_last);
    NAME(store)(m * m, steps, v_first, row, pieces->v_first);
    NAME(store)(m * m, steps, end - 2 * mm, row, pieces->z_last);
    NAME(store)(m * m, steps, z + rows % 2 * mm, row, pieces->z_first);
  }
}

/* The rows of the separators of a group: in their own arrays, in the batch for b, and for c if it is read, and of the
 * pieces before and behind. */
struct NAME(separators) {
  int64_t row[NAME(LANES)], batch[NAME(LANES)], upper[NAME(LANES)], before[NAME(LANES)], behind[NAME(LANES)];
};

KARST_INLINE struct NAME(separators)
    NAME(separators_in)(const karst_tridiagonal_pass *pass, const struct pieces *pieces, int64_t group)
{
  struct NAME(separators) rows;
  for (int l = 0; l < NAME(LANES); l++) {
    const int64_t separator = group * NAME(LANES) + l;
    const bool exists = separator < pass->systems * pieces->separators;
    const int64_t system = separator / pieces->separators, place = separator % pieces->separators;
    const int64_t at = (place + 1) * pieces->length - 1;
    rows.row[l] = exists ? separator : -1;
    rows.batch[l] = exists ? system * pass->rows + at : -1;
    rows.upper[l] = at + 1 < pass->rows ? rows.batch[l] : -1;
    rows.before[l] = exists ? system * pieces->of_system + place : -1;
    rows.behind[l] = exists ? rows.before[l] + 1 : -1;
  }
  return rows;
}

/* a' = -a v_last, b' = b - a z_last - c v_first, c' = -c z_first; v_first and z_first are those of the piece behind. */
KARST_INLINE void NAME(split_couple)(int m, const karst_tridiagonal_pass *pass, int64_t first, int64_t last,
                                     struct NAME(room) * room, karst_tridiagonal_room *own)
{
  const struct pieces *pieces = pass->pieces;
  const karst_tridiagonal_steps steps = {1, (int64_t)m * m};
  WIDE *x = own->rows;
  for (int64_t group = first; group < last; group++) {
    const struct NAME(separators) rows = NAME(separators_in)(pass, pieces, group);
    NAME(load)(m * m, pass->matrix, pass->diagonal, rows.batch, room->pivot_block);
    NAME(begin_size)(m, room->pivot_block, room->size);
    KARST_ROLLED
    for (int side = 0; side < 2; side++) {
      const int64_t *piece = side == 0 ? rows.before : rows.behind;
      const void *from = side == 0 ? pass->lower : pass->upper;
      NAME(load)(m * m, pass->matrix, from, side == 0 ? rows.batch : rows.upper, room->lower);
      NAME(store)(m * m, steps, room->lower, rows.row, side == 0 ? pieces->lower : pieces->upper);
      NAME(load)(m * m, steps, side == 0 ? pieces->z_last : pieces->v_first, piece, room->other);
      NAME(product)(m, m, NAME(SUBTRACT), room->lower, room->other, room->pivot_block);
      NAME(add_size)(m, room->pivot_block, room->size);
      NAME(load)(m * m, steps, side == 0 ? pieces->v_last : pieces->z_first, piece, room->other);
      NAME(product)(m, m, NAME(NEGATIVE), room->lower, room->other, x);
      NAME(store)(m * m, steps, x, rows.row, side == 0 ? pieces->a : pieces->c);
    }
    NAME(store)(m * m, steps, room->pivot_block, rows.row, pieces->b);
    NAME(store)(m * m, steps, room->size, rows.row, pieces->size);
  }
}

/* Sets x to the first row of y after substitution, x = y_k - W_k x from the last row on. */
KARST_INLINE void NAME(substitute)(int m, int64_t rows, const WIDE *W, const WIDE *y, WIDE *x, WIDE *other)
{
  for (int r = 0; r < m; r++) x[r] = y[(rows - 1) * m + r];
  for (int64_t k = rows - 1; k-- > 0;) {
    for (int r = 0; r < m; r++) other[r] = y[k * m + r];
    NAME(product)(m, 1, NAME(SUBTRACT), W + k * 4 * m * m, x, other);
    for (int r = 0; r < m; r++) x[r] = other[r];
  }
}

KARST_INLINE void NAME(split_forward)(int m, const karst_tridiagonal_pass *pass, int64_t first, int64_t last,
                                      struct NAME(room) * room, karst_tridiagonal_room *own)
{
  const struct pieces *pieces = pass->pieces;
  const int64_t mm = (int64_t)m * m, rows = pieces->length - 1;
  const karst_tridiagonal_steps steps = {1, m};
  int64_t row[NAME(LANES)];
  (void)own;
  for (int64_t group = first; group < last; group++) {
    const karst_tridiagonal_strands strands = NAME(pieces_in)(pass, pieces, group);
    const WIDE *factors = (const WIDE *)pieces->factors + group * rows * 4 * mm;
    WIDE *y = (WIDE *)pieces->y + group * rows * m;
    for (int64_t k = 0; k < rows; k++) NAME(thomas_forward)
    (m, pass, pass->right, &strands, k, factors + k * 4 * mm, factors + k * 4 * mm + mm, y + k * m, m, room->vector);
    NAME(piece_rows)(pieces, group, row);
    NAME(store)(m, steps, y + (rows - 1) * m, row, pieces->last);
    NAME(substitute)(m, rows, factors + 2 * mm, y, room->vector, room->row_scale);
    NAME(store)(m, steps, room->vector, row, pieces->first);
  }
}

/* f' = f - a y_last - c y_first */
KARST_INLINE void NAME(split_gather)(int m, const karst_tridiagonal_pass *pass, int64_t first, int64_t last,
                                     struct NAME(room) * room, karst_tridiagonal_room *own)
{
  const struct pieces *pieces = pass->pieces;
  const karst_tridiagonal_steps steps = {1, m}, block_steps = {1, (int64_t)m * m};
  (void)own;
  for (int64_t group = first; group < last; group++) {
    const struct NAME(separators) rows = NAME(separators_in)(pass, pieces, group);
    NAME(load)(m, pass->vector, pass->right, rows.batch, room->vector);
    KARST_ROLLED
    for (int side = 0; side < 2; side++) {
      NAME(load)(m * m, block_steps, side == 0 ? pieces->lower : pieces->upper, rows.row, room->lower);
      NAME(load)
      (m, steps, side == 0 ? pieces->last : pieces->first, side == 0 ? rows.before : rows.behind, room->row_scale);
      NAME(product)(m, 1, NAME(SUBTRACT), room->lower, room->row_scale, room->vector);
    }
    NAME(store)(m, steps, room->vector, rows.row, pieces->right);
  }
}

KARST_INLINE void NAME(split_backward)(int m, const karst_tridiagonal_pass *pass, int64_t first, int64_t last,
                                       struct NAME(room) * room, karst_tridiagonal_room *own)
{
  const struct pieces *pieces = pass->pieces;
  const int64_t mm = (int64_t)m * m, rows = pieces->length - 1;
  const karst_tridiagonal_steps steps = {1, m};
  int64_t before[NAME(LANES)], behind[NAME(LANES)], row[NAME(LANES)];
  (void)own;
  for (int64_t group = first; group < last; group++) {
    const karst_tridiagonal_strands strands = NAME(pieces_in)(pass, pieces, group);
    const WIDE *factors = (const WIDE *)pieces->factors + group * rows * 4 * mm;
    WIDE *y = (WIDE *)pieces->y + group * rows * m, *left = room->row_scale, *right = room->column_size;
    NAME(separator_rows)(pass, pieces, group, before, behind, row);
    NAME(load)(m, steps, pieces->right, before, left);
    NAME(load)(m, steps, pieces->right, behind, right);
    NAME(store)(m, pass->vector, right, row, pass->solution);
    for (int64_t k = rows; k-- > 0;) {
      const WIDE *W = factors + k * 4 * mm + 2 * mm;
      WIDE *u = y + k * m;
      NAME(product)(m, 1, NAME(SUBTRACT), W + mm, left, u);
      NAME(product)(m, 1, NAME(SUBTRACT), W, k + 1 < rows ? u + m : right, u);
      NAME(store_row)(m, pass->vector, u, &strands, k, pass->solution);
    }
  }
}

#define KERNEL(WHERE, WHAT, SIZE, M, ROOM)                                                                             \
  KARST_##WHERE static void NAME(tridiagonal_split_##WHAT##_##SIZE)(const karst_tridiagonal_pass *pass, int64_t first, \
                                                                    int64_t last, karst_tridiagonal_room *own)         \
  {                                                                                                                    \
    ROOM(M);                                                                                                           \
    NAME(split_##WHAT)(M, pass, first, last, &room, own);                                                              \
  }
#define KERNELS(WHERE, SIZE, M, ROOM)                                                                                  \
  KERNEL(WHERE, factor, SIZE, M, ROOM)                                                                                 \
  KERNEL(WHERE, forward, SIZE, M, ROOM)                                                                                \
  KERNEL(WHERE, backward, SIZE, M, ROOM)
#define INSTANCE(M) KERNELS(INSTANCE, M, M, ROOM_ON_STACK)
KARST_BLOCK_SIZES(INSTANCE)
KERNELS(KERNEL, any, pass->block_size, ROOM_OF_THREAD)
KERNEL(KERNEL, couple, any, pass->block_size, ROOM_OF_THREAD)
KERNEL(KERNEL, gather, any, pass->block_size, ROOM_OF_THREAD)
#undef INSTANCE
#undef KERNELS
#undef KERNEL

#define ENTRIES(SIZE)                                                                                                  \
  {                                                                                                                    \
    NAME(tridiagonal_split_factor_##SIZE), NAME(tridiagonal_split_forward_##SIZE),                                     \
        NAME(tridiagonal_split_backward_##SIZE)                                                                        \
  }
#define ENTRY(M) [M] = ENTRIES(M),
static const struct kernels NAME(split_instances)[] = {ENTRIES(any), KARST_BLOCK_SIZES(ENTRY)};
#undef ENTRY
#undef ENTRIES
