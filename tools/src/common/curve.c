/* curve.c - see curve.h. */
#include "tools/src/common/curve.h"

void tool_curve_begin(struct tool_curve *curve, size_t most)
{
  *curve = (struct tool_curve){.most = most, .stride = 1};
}

void tool_curve_add(struct tool_curve *curve, struct tool_point point)
{
  const long number = curve->taken++;
  curve->last = point;
  if (number % curve->stride != 0) return;
  if (curve->count == curve->most - 1) { /* every second stays, and the last place is for the last point */
    for (size_t i = 0; 2 * i < curve->count; i++) curve->point[i] = curve->point[2 * i];
    curve->count = (curve->count + 1) / 2;
    curve->stride *= 2;
    if (number % curve->stride != 0) return;
  }
  curve->point[curve->count++] = point;
}

void tool_curve_end(struct tool_curve *curve)
{
  if (curve->taken == 0 || curve->point[curve->count - 1].iteration == curve->last.iteration) return;
  curve->point[curve->count++] = curve->last;
}
