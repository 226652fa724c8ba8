/* room.c - memory for the writers of compare, released all at once; see compare_write.h. */
#include "tools/src/compare/report/compare_write.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

/* All that compare_room has given away. */
static struct room {
  struct room *next;
  max_align_t content[];
} * rooms;

void *compare_room(size_t count, size_t size)
{
  struct room *room = calloc(1, sizeof *room + count * size);
  if (!room) exit(tool_fail_memory("the tables"));
  room->next = rooms;
  rooms = room;
  return room->content;
}

void compare_free(void)
{
  for (struct room *next; rooms; rooms = next) {
    next = rooms->next;
    free(rooms);
  }
}

const char *compare_text(const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(NULL, 0, format, arguments);
  va_end(arguments);
  char *text = compare_room((size_t)length + 1, 1);
  va_start(arguments, format);
  vsnprintf(text, (size_t)length + 1, format, arguments);
  va_end(arguments);
  return text;
}
