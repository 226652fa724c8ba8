/* file.c - reads and writes the bytes of a file as they are; the lowest layer. */
#include "config.h"

#include "format/format.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

karst_status karst_file_read(karst_input *input, void *to, size_t capacity, size_t *got)
{
  *got = 0;
  while (*got < capacity) {
    ssize_t count = read(input->file, (char *)to + *got, capacity - *got);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0)
      return karst_fail(input->context, KARST_ERROR_FILE, "%s cannot be read: %s", input->name, strerror(errno));
    if (count == 0) break;
    *got += (size_t)count;
  }
  return KARST_SUCCESS;
}

karst_status karst_file_write(karst_output *output, const void *bytes, size_t count)
{
  if (karst_place_write(output->place->file, bytes, count)) return KARST_SUCCESS;
  return karst_fail(output->context, KARST_ERROR_FILE, "%s cannot be written: %s", output->path, strerror(errno));
}
