/* thomas_template.h - block elimination along the rows of strands, one a lane; see thomas.c. Included behind
 * lanes_template.h, with the same macros. */

KARST_INLINE void NAME(thomas_solve)(int m, const karst_tridiagonal_pass *pass, int64_t first, int64_t last,
                                     struct NAME(room) * room, karst_tridiagonal_room *own)
{
  const int64_t n = pass->rows, mm = (int64_t)m * m, stride = pass->kept ? 3 * mm : mm, before = stride - mm;
  WIDE *rows = own->rows;
  for (int64_t group = first; group < last; group++) {
    const karst_tridiagonal_strands strands = NAME(systems_of)(pass, group);
    WIDE *factors = pass->kept ? (WIDE *)pass->kept + group * n * stride : rows, *y = rows + n * mm;
    for (int64_t k = 0; k < n; k++) {
      WIDE *W = factors + k * stride + before;
      NAME(thomas_factor)(m, pass, &strands, k, W - stride, W, room, &own->failure);
      if (pass->kept) {
        for (int i = 0; i < mm; i++) W[i - 2 * mm] = room->inverse[i];
        for (int i = 0; i < mm; i++) W[i - mm] = room->lower[i];
      }
      if (pass->right)
        NAME(thomas_forward)(m, pass, pass->right, &strands, k, room->inverse, room->lower, y + k * m, m, room->vector);
    }
    for (int64_t k = n; k-- > 0 && pass->right;) NAME(thomas_backward)
    (m, pass, pass->solution, &strands, k, k + 1 < n, factors + k * stride + before, y + k * m, m);
  }
}

/* Several right-hand sides are solved at once, so that the factors are read once for them. */
KARST_INLINE void NAME(thomas_apply)(int m, const karst_tridiagonal_pass *pass, int64_t first, int64_t last,
                                     struct NAME(room) * room, karst_tridiagonal_room *own)
{
  const int64_t n = pass->rows, mm = (int64_t)m * m, stride = 3 * mm, size = pass->systems * n * m;
  const int most = karst_tridiagonal_sides(m);
  for (int64_t group = first; group < last; group++) {
    const karst_tridiagonal_strands strands = NAME(systems_of)(pass, group);
    const WIDE *factors = (const WIDE *)pass->kept + group * n * stride;
    for (int side = 0; side < pass->right_sides; side += most) {
      const int sides = pass->right_sides - side < most ? pass->right_sides - side : most, step = sides * m;
      const REAL *right = (const REAL *)pass->right + side * size;
      REAL *solution = (REAL *)pass->solution + side * size;
      WIDE *y = own->rows;
      for (int64_t k = 0; k < n; k++)
        for (int s = 0; s < sides; s++) NAME(thomas_forward)
      (m, pass, right + s * size, &strands, k, factors + k * stride, factors + k * stride + mm, y + k * step + s * m,
       step, room->vector);
      for (int64_t k = n; k-- > 0;)
        for (int s = 0; s < sides; s++) NAME(thomas_backward)
      (m, pass, solution + s * size, &strands, k, k + 1 < n, factors + k * stride + 2 * mm, y + k * step + s * m, step);
    }
  }
}

#define KERNELS(WHERE, SIZE, M, ROOM)                                                                                  \
  KARST_##WHERE static void NAME(tridiagonal_thomas_solve_##SIZE)(const karst_tridiagonal_pass *pass, int64_t first,   \
                                                                  int64_t last, karst_tridiagonal_room *own)           \
  {                                                                                                                    \
    ROOM(M);                                                                                                           \
    NAME(thomas_solve)(M, pass, first, last, &room, own);                                                              \
  }                                                                                                                    \
  KARST_##WHERE static void NAME(tridiagonal_thomas_apply_##SIZE)(const karst_tridiagonal_pass *pass, int64_t first,   \
                                                                  int64_t last, karst_tridiagonal_room *own)           \
  {                                                                                                                    \
    ROOM(M);                                                                                                           \
    NAME(thomas_apply)(M, pass, first, last, &room, own);                                                              \
  }
#define INSTANCE(M) KERNELS(INSTANCE, M, M, ROOM_ON_STACK)
KARST_BLOCK_SIZES(INSTANCE)
KERNELS(KERNEL, any, pass->block_size, ROOM_OF_THREAD)
#undef INSTANCE
#undef KERNELS

#define ENTRY(M) [M] = {NAME(tridiagonal_thomas_solve_##M), NAME(tridiagonal_thomas_apply_##M)},
static const karst_tridiagonal_instance NAME(thomas_instances)[] = {
    {NAME(tridiagonal_thomas_solve_any), NAME(tridiagonal_thomas_apply_any)}, KARST_BLOCK_SIZES(ENTRY)};
#undef ENTRY
