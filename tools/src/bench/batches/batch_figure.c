/* batch_figure.c - what a figure says: whether there is one, and the bytes that its solve moves. */
#include "tools/src/bench/batches/batches.h"

#include <math.h>

bool batch_is_measured(const batch_figure *figure) { return !isnan(figure->seconds[BATCH_SOLVE]); }

double batch_bytes(const batch_item *item, bool single, enum batch_time time)
{
  const double m = item->block, rows = (double)item->systems * (double)item->rows;
  const double scalars = time == BATCH_FACTORED ? 3 * m * m + 4 * m : 3 * m * m + 2 * m;
  return rows * scalars * (double)(single ? sizeof(float) : sizeof(double));
}
