/* curve.h - the residual norms of a solve by iteration, thinned to what a picture can show. */
#ifndef KARST_TOOLS_SRC_COMMON_CURVE_H
#define KARST_TOOLS_SRC_COMMON_CURVE_H

#include <stddef.h>

enum { TOOL_CURVE_ROOM = 4096 };

struct tool_point {
  long iteration;
  double residual;
};

/* Points at equal distances, from the first; tool_curve_end adds the last. */
struct tool_curve {
  size_t most; /* points in all, even, at most TOOL_CURVE_ROOM */
  size_t count;
  long taken, stride; /* points that came, and of how many one stays */
  struct tool_point point[TOOL_CURVE_ROOM], last;
};

/* Begins a curve of at most so many points: an even number up to TOOL_CURVE_ROOM. */
void tool_curve_begin(struct tool_curve *curve, size_t most);
void tool_curve_add(struct tool_curve *curve, struct tool_point point);
/* Adds the last point that came, unless it is there. Later points are not to be added. */
void tool_curve_end(struct tool_curve *curve);

#endif
