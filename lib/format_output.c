/* format_output.c - a file to write: buffered, compressed where its name says so.
 *
 * A new file, or one that takes the place of a regular file, is written under a temporary name beside it and renamed
 * once it is whole, so that a failure leaves the folder as it was. Devices, pipes and links are written to directly. */
#include "config.h"

#include "format.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER_SIZE = 1 << 16, LONGEST_LINE = 200 };

bool karst_path_ends(const char *path, const char *ending)
{
  size_t length = strlen(path), tail = strlen(ending);
  return length >= tail && strcmp(path + length - tail, ending) == 0;
}

karst_status karst_file_write(karst_output *output, const void *bytes, size_t count)
{
  for (size_t done = 0; done < count;) {
    ssize_t written = write(output->file, (const char *)bytes + done, count - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0)
      return karst_fail(output->context, KARST_ERROR_FILE, "%s cannot be written: %s", output->path, strerror(errno));
    done += (size_t)written;
  }
  return KARST_SUCCESS;
}

static karst_status write_layer(karst_output *output, const void *bytes, size_t count, bool last)
{
  return output->gzip ? karst_gzip_write(output, bytes, count, last) : karst_file_write(output, bytes, count);
}

static karst_status flush(karst_output *output, bool last)
{
  size_t used = output->used;
  output->used = 0;
  return write_layer(output, output->buffer, used, last);
}

static karst_status fail_create(const karst_output *output)
{
  return karst_fail(output->context, KARST_ERROR_FILE, "%s cannot be created: %s", output->path, strerror(errno));
}

/* Opens a new file beside the path, with the permissions of old, the file that it will replace, unless NULL. */
static karst_status open_temporary(karst_output *output, const struct stat *old)
{
  const int most = 100; /* names to try: other threads may write to the same path, and killed programs leave files */
  size_t size = strlen(output->path) + 64;
  karst_status status = karst_allocate(output->context, &output->temporary, (int64_t)size, 1, "a path");
  if (status) return status;
  for (int i = 0; i < most; i++) {
    snprintf(output->temporary, size, "%s.%lld-%d", output->path, (long long)getpid(), i);
    output->file = open(output->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (output->file >= 0 || errno != EEXIST) break;
  }
  if (output->file < 0 || (old && fchmod(output->file, old->st_mode & 0777) != 0)) return fail_create(output);
  return KARST_SUCCESS;
}

static karst_status open_file(karst_output *output)
{
  struct stat old;
  bool exists = lstat(output->path, &old) == 0;
  if (exists && S_ISREG(old.st_mode))
    return access(output->path, W_OK) == 0 ? open_temporary(output, &old) : fail_create(output);
  if (!exists && errno == ENOENT && *output->path) return open_temporary(output, NULL);
  output->file = open(output->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  return output->file < 0 ? fail_create(output) : KARST_SUCCESS;
}

karst_status karst_output_open(karst_context *context, const char *path, karst_output **result)
{
  karst_status status = karst_allocate_zero(context, result, 1, sizeof **result, "writing a file");
  if (status) return status;
  karst_output *output = *result;
  output->context = context;
  output->path = path;
  output->file = -1;
  output->plain_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  output->program_locale = output->plain_locale ? uselocale(output->plain_locale) : (locale_t)0;
  if (!output->plain_locale) status = karst_fail(context, KARST_ERROR_NO_MEMORY, "out of memory: a locale");
  if (!status) status = karst_allocate(context, &output->buffer, BUFFER_SIZE, 1, "writing a file");
  if (!status && karst_path_ends(path, ".gz")) status = karst_gzip_open(output);
  if (!status) status = open_file(output);
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
  int length = vsnprintf(output->buffer + output->used, LONGEST_LINE + 1, format, arguments);
  va_end(arguments);
  output->used += (size_t)length;
  return KARST_SUCCESS;
}

karst_status karst_output_close(karst_output *output, karst_status status)
{
  if (!output) return status;
  karst_context *context = output->context;
  if (!status) status = flush(output, true);
  karst_gzip_close(output);
  if (output->file >= 0 && close(output->file) != 0 && !status)
    status = karst_fail(context, KARST_ERROR_FILE, "%s cannot be written: %s", output->path, strerror(errno));
  if (output->temporary && !status && rename(output->temporary, output->path) != 0) status = fail_create(output);
  if (output->temporary && status && output->file >= 0) unlink(output->temporary);
  if (output->plain_locale) {
    uselocale(output->program_locale);
    freelocale(output->plain_locale);
  }
  karst_release(context, output->temporary);
  karst_release(context, output->buffer);
  karst_release(context, output);
  return status;
}
