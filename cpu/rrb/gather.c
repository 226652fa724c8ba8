/* gather.c - the stencil of the nodes that remain after the last level, as a band. */
#include "cpu/rrb/rrb_cpu.h"

#include <string.h>

/* A coupling of a stencil, by its part. */
struct coupling {
  int part, di, dj;
};

static const struct coupling straight[] = {
    {KARST_RRB_EAST, 1, 0}, {KARST_RRB_NORTH, 0, 1}, {KARST_RRB_NORTH_EAST, 1, 1}, {KARST_RRB_NORTH_WEST, -1, 1}};
static const struct coupling skew[] = {{KARST_RRB_SKEW_NORTH_EAST, 1, 1},
                                       {KARST_RRB_SKEW_NORTH_WEST, -1, 1},
                                       {KARST_RRB_SKEW_EAST, 2, 0},
                                       {KARST_RRB_SKEW_NORTH, 0, 2}};

void karst_rrb_gather_cpu(const karst_rrb *rrb)
{
  const karst_rrb_cpu *plan = rrb->plan;
  const int m = rrb->levels / 2;
  const bool black = rrb->levels % 2 != 0;
  const karst_rrb_shape *shape = &rrb->shape[m];
  const double *stencil = black ? plan->arrays.skew[m] : plan->arrays.straight[m];
  const struct coupling *couplings = black ? skew : straight;
  const int64_t width = rrb->rest_band, stride = width + 1;
  memset(plan->band, 0, (size_t)(rrb->rest * stride) * sizeof *plan->band);
  for (karst_index q = 0; q < rrb->rest; q++) {
    karst_index i, j;
    karst_rrb_rest_node(rrb, q, &i, &j);
    const double *centre = stencil + karst_rrb_element(shape, KARST_RRB_PARTS, i, j);
    plan->band[q * stride + width] = karst_rrb_has_node(rrb, m, i, j) ? *centre : 1;
    for (int c = 0; c < 4; c++) {
      const karst_index beside = i + couplings[c].di, above = j + couplings[c].dj;
      if (beside < 0 || beside >= shape->size[0] || above >= shape->size[1]) continue;
      const karst_index other = karst_rrb_rest_number(shape->size, rrb->levels, beside, above);
      const int64_t low = q < other ? q : other, high = q < other ? other : q;
      plan->band[high * stride + width - (high - low)] = centre[couplings[c].part * shape->array];
    }
  }
}
