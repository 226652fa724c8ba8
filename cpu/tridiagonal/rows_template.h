/* rows_template.h - the steps of block elimination from row to row of strands, for thomas.c and split.c, which have the
 * equations. Included behind lanes_template.h, with the same macros. */

/* Makes d_k^-1 in room->inverse, a_k in room->lower, and W_k. before: W_(k-1), not read for k = 0. */
KARST_INLINE void NAME(thomas_factor)(int m, const karst_tridiagonal_pass *pass,
                                      const karst_tridiagonal_strands *strands, int64_t k, const WIDE *before, WIDE *W,
                                      struct NAME(room) * room, uint64_t *failure)
{
  NAME(load_diagonal)(m, pass, strands, k, room);
  NAME(load_block)(m, pass, pass->lower, strands, k, NAME(LOWER), room->tile, room->lower);
  if (k > 0) {
    NAME(product)(m, m, NAME(SUBTRACT), room->lower, before, room->pivot_block);
    NAME(add_size)(m, room->pivot_block, room->size);
  }
  if (!NAME(invert)(m, room)) NAME(report)(pass, 0, strands, k, room->reason, failure);
  NAME(load_block)(m, pass, pass->upper, strands, k, NAME(UPPER), room->tile, room->other);
  NAME(product)(m, m, NAME(SET), room->inverse, room->other, W);
}

/* y_k = d_k^-1 (f_k - a_k y_(k-1)). y: [m], with y_(k-1) so many lanes before it. */
KARST_INLINE void NAME(thomas_forward)(int m, const karst_tridiagonal_pass *pass, const REAL *right,
                                       const karst_tridiagonal_strands *strands, int64_t k, const WIDE *inverse,
                                       const WIDE *lower, WIDE *y, int64_t step, WIDE *vector)
{
  NAME(load_row)(m, pass->vector, right, strands, k, NAME(OWN), vector);
  if (k > 0) NAME(product)(m, 1, NAME(SUBTRACT), lower, y - step, vector);
  NAME(product)(m, 1, NAME(SET), inverse, vector, y);
}

/* u_k = y_k - W_k u_(k+1), in place of y, and in the solution. behind: whether there is a row k + 1. */
KARST_INLINE void NAME(thomas_backward)(int m, const karst_tridiagonal_pass *pass, REAL *solution,
                                        const karst_tridiagonal_strands *strands, int64_t k, bool behind, const WIDE *W,
                                        WIDE *y, int64_t step)
{
  if (behind) NAME(product)(m, 1, NAME(SUBTRACT), W, y + step, y);
  NAME(store_row)(m, pass->vector, y, strands, k, solution);
}
