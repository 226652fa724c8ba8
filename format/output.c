/* output.c - writes a file through a buffer, and compresses it if its name ends in .gz. support/place.c chooses where
 * the file is written and names it. */
#include "config.h"

#include "format/format.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

enum { BUFFER_SIZE = 1 << 16, LONGEST_LINE = 200 };

bool karst_path_ends(const char *path, const char *ending)
{
  size_t length = strlen(path), tail = strlen(ending);
  return length >= tail && strcmp(path + length - tail, ending) == 0;
}

static karst_status flush(karst_output *output, bool last)
{
  size_t used = output->used;
  output->used = 0;
  return output->gzip ? karst_gzip_write(output, output->buffer, used, last)
                      : karst_file_write(output, output->buffer, used);
}

static karst_status open_place(karst_output *output)
{
  karst_status status = karst_allocate(output->context, &output->place, 1, sizeof *output->place, "a path");
  if (status || karst_place_open(output->place, output->path)) return status;
  return karst_fail(output->context, KARST_ERROR_FILE, "%s cannot be created: %s", output->path, strerror(errno));
}

/* Gives the file its name, or removes it if status is an error. */
static karst_status close_place(karst_output *output, karst_status status)
{
  const char *fault = output->place ? karst_place_close(output->place, !status) : NULL;
  if (status || !fault) return status;
  return karst_fail(output->context, KARST_ERROR_FILE, "%s %s: %s", output->path, fault, strerror(errno));
}

karst_status karst_output_open(karst_context *context, const char *path, karst_output **result)
{
  karst_status status = karst_allocate_zero(context, result, 1, sizeof **result, "writing a file");
  if (status) return status;
  karst_output *output = *result;
  output->context = context;
  output->path = path;
  status = karst_allocate(context, &output->buffer, BUFFER_SIZE, 1, "writing a file");
  if (!status && karst_path_ends(path, ".gz")) status = karst_gzip_open(output);
  if (!status) status = open_place(output);
  if (status) {
    karst_output_close(output, status);
    *result = NULL;
  }
  return status;
}

karst_status karst_output_bytes(karst_output *output, const void *bytes, size_t count)
{
  const char *from = bytes;
  while (count > 0) {
    size_t room = BUFFER_SIZE - output->used, part = count < room ? count : room;
    memcpy(output->buffer + output->used, from, part);
    output->used += part;
    from += part;
    count -= part;
    karst_status status = output->used == BUFFER_SIZE ? flush(output, false) : KARST_SUCCESS;
    if (status) return status;
  }
  return KARST_SUCCESS;
}

karst_status karst_output_print(karst_output *output, const char *format, ...)
{
  va_list arguments;
  if (BUFFER_SIZE - output->used <= LONGEST_LINE) {
    karst_status status = flush(output, false);
    if (status) return status;
  }
  va_start(arguments, format);
  const int length = karst_vprint(output->buffer + output->used, LONGEST_LINE + 1, format, arguments);
  va_end(arguments);
  if (length < 0) return karst_fail(output->context, KARST_ERROR_NO_MEMORY, "out of memory: a locale");
  output->used += (size_t)length;
  return KARST_SUCCESS;
}

karst_status karst_output_close(karst_output *output, karst_status status)
{
  if (!output) return status;
  karst_context *context = output->context;
  if (!status) status = flush(output, true);
  karst_gzip_close(output);
  status = close_place(output, status);
  karst_release(context, output->place);
  karst_release(context, output->buffer);
  karst_release(context, output);
  return status;
}
