/* instances.h - includes a template for double and for float. TEMPLATE is its path. Function names end in _float for
 * float. */
/* A scalar of each lane, and for each lane 0 or -1. */
#define WIDE NAME(karst_wide)
#define MASK NAME(karst_mask)

/* For each lane |x|, and the larger of two numbers, the second if the first is a NaN. Macros, because a function that
 * returns a vector differs between processors. */
#define ABSOLUTE(x) ((WIDE)((MASK)(x)&MAGNITUDE))
#define LARGER(x, y) ((WIDE)(((MASK)(x) & ((x) > (y))) | ((MASK)(y) & ~(MASK)((x) > (y)))))

/* Bytes from the rows that are loaded from structures of arrays to those that are prefetched: two cache lines. */
enum { AHEAD = 128 };

/* The room of an instance for a constant m, on its stack, and of the instance for any m. */
#define ROOM_ON_STACK(m)                                                                                               \
  WIDE memory[KARST_TRIDIAGONAL_ROOM_LANES(m)];                                                                        \
  double block[KARST_TRIDIAGONAL_ROOM_DOUBLES(m)];                                                                     \
  int pivot[KARST_TRIDIAGONAL_ROOM_INTEGERS(m, NAME(LANES))];                                                          \
  WIDE tile[3 * NAME(LANES) * (m) * (m)];                                                                              \
  struct NAME(room) room = NAME(room_in)(m, memory, block, pivot);                                                     \
  room.tile = tile
#define ROOM_OF_THREAD(m) struct NAME(room) room = NAME(room_in)(m, own->block, own->lane, own->pivot)

#define REAL double
#define SINGLE false
#define EPSILON DBL_EPSILON
#define LARGEST DBL_MAX
#define INTEGER int64_t
#define MAGNITUDE INT64_MAX
#define NAME(x) x
#include "cpu/tridiagonal/lanes_template.h"
#include "cpu/tridiagonal/rows_template.h"
#include TEMPLATE
#undef REAL
#undef SINGLE
#undef EPSILON
#undef LARGEST
#undef INTEGER
#undef MAGNITUDE
#undef NAME

#define REAL float
#define SINGLE true
#define EPSILON FLT_EPSILON
#define LARGEST FLT_MAX
#define INTEGER int32_t
#define MAGNITUDE INT32_MAX
#define NAME(x) x##_float
#include "cpu/tridiagonal/lanes_template.h"
#include "cpu/tridiagonal/rows_template.h"
#include TEMPLATE
#undef REAL
#undef SINGLE
#undef EPSILON
#undef LARGEST
#undef INTEGER
#undef MAGNITUDE
#undef NAME
#undef TEMPLATE
