/* lanes_template.h - operations on the blocks of several systems at once, one system a lane of a vector register. It is
 * included with REAL the type of the scalars, SINGLE whether it is float, EPSILON and LARGEST its constants, INTEGER an
 * integer of its size, MAGNITUDE the largest of these, and NAME(x) the name of a function for it.
 *
 * An array of lanes has element i of the block of system l at [i][l], blocks column by column. Functions are inline
 * functions of m, which the instances for small m unroll. */

enum { NAME(LANES) = KARST_TRIDIAGONAL_REGISTER / (int)sizeof(REAL) };
typedef REAL WIDE __attribute__((vector_size(KARST_TRIDIAGONAL_REGISTER)));
typedef INTEGER MASK __attribute__((vector_size(KARST_TRIDIAGONAL_REGISTER)));

KARST_INLINE bool NAME(any)(const MASK *mask)
{
  INTEGER all = 0;
  KARST_UNROLL
  for (int l = 0; l < NAME(LANES); l++) all |= (*mask)[l];
  return all != 0;
}

/* What a thread needs to invert blocks and to hold a row, for m = 1 and more. */
struct NAME(room) {
  WIDE *pivot_block, *size, *inverse, *lower, *other; /* [m*m] */
  WIDE *vector, *row_scale, *column_size, *factor;    /* [m] */
  double *block;                                      /* [3*m*m + 2*m] of one lane */
  int *pivot;                                         /* [m] of each lane, and [m] of one lane */
  karst_reason reason[NAME(LANES)];                   /* of the last inversion */
  WIDE *tile; /* [3][LANES][m*m] rows of a, b and c ahead; NULL: none, for an m without an instance */
};

KARST_INLINE struct NAME(room) NAME(room_in)(int m, WIDE *memory, double *block, int *pivot)
{
  const int64_t mm = (int64_t)m * m;
  WIDE *vectors = memory + 5 * mm;
  return (struct NAME(room)){.pivot_block = memory,
                             .size = memory + mm,
                             .inverse = memory + 2 * mm,
                             .lower = memory + 3 * mm,
                             .other = memory + 4 * mm,
                             .vector = vectors,
                             .row_scale = vectors + m,
                             .column_size = vectors + 2 * m,
                             .factor = vectors + 3 * m,
                             .block = block,
                             .pivot = pivot};
}

/* Loads a row of an array with entries scalars a row. row: the row of each lane in the array, or -1 for zeros. */
static __attribute__((noinline)) void NAME(load)(int entries, karst_tridiagonal_steps steps, const REAL *from,
                                                 const int64_t *row, WIDE *to)
{
  const WIDE zero = {0};
  for (int e = 0; e < entries; e++) to[e] = zero;
  for (int l = 0; l < NAME(LANES); l++)
    for (int e = 0; e < entries && row[l] >= 0; e++) to[e][l] = from[row[l] * steps.row + e * steps.element];
}

/* Stores a row for the lanes whose row is not -1. */
static __attribute__((noinline)) void NAME(store)(int entries, karst_tridiagonal_steps steps, const WIDE *from,
                                                  const int64_t *row, REAL *to)
{
  for (int l = 0; l < NAME(LANES); l++)
    for (int e = 0; e < entries && row[l] >= 0; e++) to[row[l] * steps.row + e * steps.element] = from[e][l];
}

/* The arrays of a row by what they are coupled to: b, u and f; a; c. */
enum NAME(part) { NAME(OWN), NAME(LOWER), NAME(UPPER) };

/* The rows number k of strands in an array, or -1 where it is not read. */
static inline void NAME(rows_at)(const karst_tridiagonal_strands *strands, int64_t k, enum NAME(part) part,
                                 int64_t *row)
{
  for (int l = 0; l < NAME(LANES); l++) {
    const bool before = k > 0 || strands->left[l] || part != NAME(LOWER);
    const bool behind = k + 1 < strands->rows[l] || strands->right[l] || part != NAME(UPPER);
    row[l] = k < strands->rows[l] && before && behind ? strands->first[l] + k : -1;
  }
}

/* The same at the ends of strands, out of the way of the rows between. */
static __attribute__((noinline)) void NAME(load_end)(int entries, karst_tridiagonal_steps steps, const REAL *from,
                                                     const karst_tridiagonal_strands *strands, int64_t k,
                                                     enum NAME(part) part, WIDE *to)
{
  int64_t row[NAME(LANES)];
  NAME(rows_at)(strands, k, part, row);
  NAME(load)(entries, steps, from, row, to);
}

static __attribute__((noinline)) void NAME(store_end)(int entries, karst_tridiagonal_steps steps, const WIDE *from,
                                                      const karst_tridiagonal_strands *strands, int64_t k, REAL *to)
{
  int64_t row[NAME(LANES)];
  NAME(rows_at)(strands, k, NAME(OWN), row);
  for (int l = strands->lanes; l < NAME(LANES); l++) row[l] = -1;
  NAME(store)(entries, steps, from, row, to);
}

/* Loads row k of strands, from an array with entries scalars a row. Rows that are missing are 0. */
KARST_INLINE void NAME(load_row)(int entries, karst_tridiagonal_steps steps, const REAL *from,
                                 const karst_tridiagonal_strands *strands, int64_t k, enum NAME(part) part, WIDE *to)
{
  const REAL *at[NAME(LANES)];
  if (k == 0 || k + 1 >= strands->common) {
    NAME(load_end)(entries, steps, from, strands, k, part, to);
    return;
  }
  KARST_UNROLL
  for (int l = 0; l < NAME(LANES); l++) at[l] = from + (strands->first[l] + k) * steps.row;
  for (int e = 0; e < entries; e++) {
    WIDE value = {0};
    KARST_UNROLL
    for (int l = 0; l < NAME(LANES); l++) value[l] = *at[l];
    KARST_UNROLL
    for (int l = 0; l < NAME(LANES); l++) at[l] += steps.element;
    to[e] = value;
  }
}

/* Stores row k of strands. */
KARST_INLINE void NAME(store_row)(int entries, karst_tridiagonal_steps steps, const WIDE *from,
                                  const karst_tridiagonal_strands *strands, int64_t k, REAL *to)
{
  if (k >= strands->common || strands->lanes < NAME(LANES)) {
    NAME(store_end)(entries, steps, from, strands, k, to);
    return;
  }
  for (int e = 0; e < entries; e++) {
    KARST_UNROLL
    for (int l = 0; l < NAME(LANES); l++) to[(strands->first[l] + k) * steps.row + e * steps.element] = from[e][l];
  }
}

/* Loads row k of a, b or c. The scalars of a row are far apart in structures of arrays: more streams than a processor
 * prefetches by itself, on more pages than it has translations of addresses for. So as many rows as there are lanes are
 * loaded at once, which are side by side, and later ones are prefetched. The caller goes from row to row. */
KARST_INLINE void NAME(load_block)(int m, const karst_tridiagonal_pass *pass, const REAL *from,
                                   const karst_tridiagonal_strands *strands, int64_t k, enum NAME(part) part,
                                   WIDE *ahead, WIDE *to)
{
  const int64_t place = (k - 1) % NAME(LANES), step = pass->matrix.element;
  const int mm = m * m;
  if (!ahead || m == 1 || step == 1 || k == 0 || k - place + NAME(LANES) >= strands->common) {
    NAME(load_row)(mm, pass->matrix, from, strands, k, part, to);
    return;
  }
  WIDE *tile = ahead + (int)part * NAME(LANES) * mm;
  for (int e = 0; e < mm && place == 0; e++) {
    KARST_UNROLL
    for (int l = 0; l < NAME(LANES); l++) karst_prefetch(from + (e * step + strands->first[l] + k), 1, AHEAD);
    KARST_ROLLED
    for (int row = 0; row < NAME(LANES); row++) {
      WIDE value = {0};
      KARST_UNROLL
      for (int l = 0; l < NAME(LANES); l++) value[l] = from[e * step + strands->first[l] + k + row];
      tile[row * mm + e] = value;
    }
  }
  for (int e = 0; e < mm; e++) to[e] = tile[place * mm + e];
}

/* z = x y, z -= x y or z = -x y for m-by-m blocks x and y, z of so many columns. z overlaps neither. */
enum { NAME(SET), NAME(SUBTRACT), NAME(NEGATIVE) };
KARST_INLINE void NAME(product)(int m, int columns, int kind, const WIDE *x, const WIDE *y, WIDE *z)
{
  for (int j = 0; j < columns; j++, y += m, z += m) {
    WIDE sums[KARST_BLOCK_SIZE_LARGEST_INSTANCE]; /* registers, if m is a constant */
    WIDE *sum = m <= KARST_BLOCK_SIZE_LARGEST_INSTANCE ? sums : z;
    KARST_UNROLL
    for (int r = 0; r < m; r++) sum[r] = kind == NAME(SUBTRACT) ? z[r] : (WIDE){0};
    for (int k = 0; k < m; k++) {
      const WIDE factor = kind == NAME(SET) ? y[k] : -y[k];
      KARST_UNROLL
      for (int r = 0; r < m; r++) sum[r] += x[k * m + r] * factor;
    }
    if (m > KARST_BLOCK_SIZE_LARGEST_INSTANCE) continue;
    KARST_UNROLL
    for (int r = 0; r < m; r++) z[r] = sum[r];
  }
}

KARST_INLINE void NAME(begin_size)(int m, const WIDE *a, WIDE *size)
{
  for (int i = 0; i < m * m; i++) size[i] = ABSOLUTE(a[i]);
}

KARST_INLINE void NAME(add_size)(int m, const WIDE *a, WIDE *size)
{
  for (int i = 0; i < m * m; i++) size[i] += ABSOLUTE(a[i]);
}

/* The scales of the first attempt of dense.h. What is wrong with a size makes a scale infinite or a NaN, so that no
 * pivot stands. */
KARST_INLINE void NAME(equilibrate)(int m, const WIDE *size, WIDE *row_scale, WIDE *column_size)
{
  for (int r = 0; r < m; r++) row_scale[r] = (WIDE){0};
  for (int c = 0; c < m; c++)
    for (int r = 0; r < m; r++) row_scale[r] = LARGER(row_scale[r], size[c * m + r]);
  for (int r = 0; r < m; r++) row_scale[r] = 1 / row_scale[r];
  for (int c = 0; c < m; c++) {
    column_size[c] = (WIDE){0};
    for (int r = 0; r < m; r++) {
      const WIDE entry = size[c * m + r] * row_scale[r];
      column_size[c] = LARGER(column_size[c], entry);
    }
  }
}

/* Exchanges row c of lane l with the row below that has the largest scaled entry in column c. */
KARST_RARE void NAME(exchange)(int m, int c, int l, WIDE *a, WIDE *row_scale, int *pivot)
{
  int best = c;
  for (int r = c + 1; r < m; r++)
    if (fabs((double)(a[c * m + r][l] * row_scale[r][l])) > fabs((double)(a[c * m + best][l] * row_scale[best][l])))
      best = r;
  const REAL scale = row_scale[c][l];
  row_scale[c][l] = row_scale[best][l];
  row_scale[best][l] = scale;
  for (int j = 0; j < m; j++) {
    const REAL entry = a[j * m + c][l];
    a[j * m + c][l] = a[j * m + best][l];
    a[j * m + best][l] = entry;
  }
  pivot[l * m + c] = best;
}

/* Undoes the row exchanges of a as column exchanges of its inverse, in reverse order. */
KARST_RARE void NAME(undo_exchanges)(int m, WIDE *inverse, const int *pivot)
{
  for (int l = 0; l < NAME(LANES); l++)
    for (int c = m - 1; c >= 0; c--) {
      const int best = pivot[l * m + c];
      for (int r = 0; r < m && best != c; r++) {
        const REAL entry = inverse[c * m + r][l];
        inverse[c * m + r][l] = inverse[best * m + r][l];
        inverse[best * m + r][l] = entry;
      }
    }
}

/* A step of Gauss-Jordan elimination in place. spare: [m], for an m without an instance. */
KARST_INLINE void NAME(eliminate)(int m, int c, WIDE *a, WIDE *spare)
{
  WIDE factors[KARST_BLOCK_SIZE_LARGEST_INSTANCE];
  WIDE *factor = m <= KARST_BLOCK_SIZE_LARGEST_INSTANCE ? factors : spare;
  const WIDE inverse = 1 / a[c * m + c];
  KARST_UNROLL
  for (int r = 0; r < m; r++) {
    factor[r] = a[c * m + r];
    a[c * m + r] = (WIDE){0};
  }
  a[c * m + c] += 1;
  for (int j = 0; j < m; j++) {
    const WIDE entry = a[j * m + c] * inverse;
    KARST_UNROLL
    for (int r = 0; r < m; r++) a[j * m + r] -= factor[r] * entry;
    a[j * m + c] = entry;
  }
}

/* Inverts the block of lane l alone, if the first attempt failed. */
KARST_RARE karst_reason NAME(invert_lane)(int m, int l, const WIDE *a, const WIDE *size, WIDE *inverse, double *block,
                                          int *pivot)
{
  const int64_t mm = (int64_t)m * m;
  for (int64_t i = 0; i < mm; i++) {
    block[i] = (double)a[i][l];
    block[mm + i] = (double)size[i][l];
    block[2 * mm + i] = 0;
  }
  const karst_reason reason =
      karst_tridiagonal_invert(m, SINGLE, block, block + mm, block + 2 * mm, block + 3 * mm, pivot);
  for (int64_t i = 0; i < mm; i++) inverse[i][l] = reason == KARST_SOUND ? (REAL)block[2 * mm + i] : 0;
  return reason;
}

/* Inverts room->pivot_block with room->size into room->inverse. Returns true if the blocks of all lanes are sound; else
 * room->reason has the reason of each lane, and the inverse of a block that is not sound is 0. */
KARST_INLINE bool NAME(invert)(int m, struct NAME(room) * room)
{
  const REAL rounding = (REAL)(KARST_PIVOT_ROUNDINGS * m) * EPSILON;
  WIDE *inverse = room->inverse, *row_scale = room->row_scale, *column_size = room->column_size;
  MASK stands, finite = {0};
  if (m == 1) {
    stands = ABSOLUTE(room->pivot_block[0]) > rounding * room->size[0];
    inverse[0] = 1 / room->pivot_block[0];
    finite = (ABSOLUTE(inverse[0]) <= LARGEST) & (room->size[0] <= LARGEST);
  } else {
    bool exchanged = false;
    NAME(equilibrate)(m, room->size, row_scale, column_size);
    for (int i = 0; i < m * m; i++) inverse[i] = room->pivot_block[i];
    stands = ~finite;
    for (int c = 0; c < m; c++) {
      const WIDE candidate = ABSOLUTE(inverse[c * m + c] * row_scale[c]);
      WIDE best = candidate;
      for (int r = c + 1; r < m; r++) {
        const WIDE entry = ABSOLUTE(inverse[c * m + r] * row_scale[r]);
        best = LARGER(entry, best);
      }
      stands &= best > rounding * column_size[c];
      const MASK wanted = best > candidate;
      if (NAME(any)(&wanted)) {
        if (!exchanged)
          for (int i = 0; i < m * NAME(LANES); i++) room->pivot[i] = i % m;
        exchanged = true;
        for (int l = 0; l < NAME(LANES); l++)
          if (wanted[l]) NAME(exchange)(m, c, l, inverse, row_scale, room->pivot);
      }
      NAME(eliminate)(m, c, inverse, room->factor);
    }
    if (exchanged) NAME(undo_exchanges)(m, inverse, room->pivot);
    WIDE zero = {0};
    for (int i = 0; i < m * m; i++) zero += inverse[i] * 0 + room->size[i] * 0;
    finite = zero == 0;
  }
  const MASK failed = ~(stands & finite);
  if (!NAME(any)(&failed)) return true;
  bool sound = true;
  for (int l = 0; l < NAME(LANES); l++) {
    room->reason[l] = KARST_SOUND;
    if (failed[l])
      room->reason[l] = NAME(invert_lane)(m, l, room->pivot_block, room->size, inverse, room->block,
                                          room->pivot + NAME(LANES) * (int64_t)m);
    sound = sound && room->reason[l] == KARST_SOUND;
  }
  return sound;
}

/* Lane l has system number group LANES + l. */
KARST_INLINE karst_tridiagonal_strands NAME(systems_of)(const karst_tridiagonal_pass *pass, int64_t group)
{
  karst_tridiagonal_strands strands = {.common = INT64_MAX};
  for (int l = 0; l < NAME(LANES); l++) {
    const int64_t system = group * NAME(LANES) + l, last = pass->systems - 1;
    karst_tridiagonal_set_strand(&strands, l, pass->rows, system < last ? system : last, 0, pass->rows);
    strands.lanes += system <= last;
  }
  return strands;
}

/* Loads the diagonal blocks of row k and their sizes into the room; rows that are missing are rows of the identity. */
KARST_INLINE void NAME(load_diagonal)(int m, const karst_tridiagonal_pass *pass,
                                      const karst_tridiagonal_strands *strands, int64_t k, struct NAME(room) * room)
{
  NAME(load_block)(m, pass, pass->diagonal, strands, k, NAME(OWN), room->tile, room->pivot_block);
  for (int l = 0; l < NAME(LANES) && k >= strands->common; l++)
    for (int c = 0; c < m && k >= strands->rows[l]; c++) room->pivot_block[c * m + c][l] = 1;
  NAME(begin_size)(m, room->pivot_block, room->size);
  if (!pass->size) return;
  NAME(load_row)(m * m, pass->matrix, pass->size, strands, k, NAME(OWN), room->other);
  for (int i = 0; i < m * m; i++) room->size[i] = LARGER(room->size[i], room->other[i]);
}

/* Reports the blocks of row k that are not sound. */
KARST_RARE void NAME(report)(const karst_tridiagonal_pass *pass, int step, const karst_tridiagonal_strands *strands,
                             int64_t k, const karst_reason *reason, uint64_t *failure)
{
  for (int l = 0; l < NAME(LANES); l++) {
    if (reason[l] == KARST_SOUND) continue;
    const uint64_t failed =
        karst_tridiagonal_failure(pass->rows, strands->system[l], step, strands->origin[l] + k, reason[l]);
    if (failed < *failure) *failure = failed;
  }
}
