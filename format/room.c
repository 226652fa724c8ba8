/* room.c - arrays that grow while a file is read. A few bytes can announce more elements than any memory holds, and
 * compressed bytes expand a thousandfold. So the announced size is allocated in steps, as elements are read. */
#include "config.h"

#include "format/format.h"

#include <string.h>

int64_t karst_room_announced(int64_t capacity, int64_t announced)
{
  const int64_t first = 1 << 16, factor = 8;
  int64_t room = announced, smaller;
  while (room > first && (smaller = (room - 1) / factor + 1) > capacity) room = smaller;
  return room;
}

karst_status karst_room_enlarge(karst_context *context, void *array, int64_t count, int64_t capacity, size_t size,
                                const char *what)
{
  void *old, *larger;
  memcpy(&old, array, sizeof old);
  karst_status status = karst_allocate(context, &larger, capacity, size, what);
  if (status) return status;
  if (count > 0) memcpy(larger, old, (size_t)count * size);
  karst_release(context, old);
  memcpy(array, &larger, sizeof larger);
  return KARST_SUCCESS;
}

karst_status karst_room_grow(karst_context *context, void *array, int64_t *room, int64_t done, int64_t part,
                             int64_t announced, size_t size, const char *what)
{
  karst_status status = KARST_SUCCESS;
  while (!status && *room < done + part) {
    const int64_t capacity = karst_room_announced(*room, announced);
    status = karst_room_enlarge(context, array, done, capacity, size, what);
    if (!status) *room = capacity;
  }
  return status;
}
