/* input.c - opens a file, recognises archives, hands out lines, and reports errors with the number of the line. */
#include "config.h"

#include "format/format.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
  BUFFER_SIZE = 1 << 18, /* bytes; a longer line is refused */
  LOOK_SIZE = 256,       /* bytes that karst_input_begins may look at */
  TAR_BLOCK = 512,       /* bytes of the header block of a tar archive */
  TAR_MAGIC = 257        /* offset of "ustar" in the header block */
};

karst_status karst_input_fail(karst_input *input, const char *format, ...)
{
  char text[200];
  va_list arguments;
  va_start(arguments, format);
  karst_vprint(text, sizeof text, format, arguments);
  va_end(arguments);
  if (input->line == 0) return karst_fail(input->context, KARST_ERROR_FORMAT, "%s: %s", input->name, text);
  return karst_fail(input->context, KARST_ERROR_FORMAT, "%s, line %lld: %s", input->name, (long long)input->line, text);
}

static karst_status read_layer(karst_input *input, void *to, size_t capacity, size_t *got)
{
  return input->archive ? karst_archive_read(input, to, capacity, got) : karst_unpack_read(input, to, capacity, got);
}

/* Moves the remaining bytes to the buffer's front and fills the rest; the last byte stays free to terminate a line. */
static karst_status fill(karst_input *input)
{
  size_t got, left = input->end - input->begin;
  if (left > 0 && input->begin > 0) memmove(input->buffer, input->buffer + input->begin, left);
  input->begin = 0;
  input->end = left;
  karst_status status = read_layer(input, input->buffer + left, BUFFER_SIZE - 1 - left, &got);
  if (status) return status;
  input->at_end = got < BUFFER_SIZE - 1 - left;
  input->end += got;
  return KARST_SUCCESS;
}

/* Opens the file. Refuses anything but a regular file. */
static karst_status open_file(karst_input *input, const char *path)
{
  struct stat info;
  /* A blocking open of a named pipe would wait here before the pipe can be refused. */
  input->file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (input->file < 0 || fstat(input->file, &info) != 0)
    return karst_fail(input->context, KARST_ERROR_FILE, "%s cannot be opened: %s", input->name, strerror(errno));
  if (S_ISDIR(info.st_mode)) return karst_fail(input->context, KARST_ERROR_FILE, "%s is a directory", input->name);
  if (!S_ISREG(info.st_mode))
    return karst_fail(input->context, KARST_ERROR_FILE, "%s is not a regular file", input->name);
  input->file_size = (int64_t)info.st_size;
  return input->file_size > 0 ? KARST_SUCCESS : karst_input_fail(input, "the file is empty");
}

static karst_status open_layers(karst_input *input, const char *path, const char *member, bool *found)
{
  karst_status status = open_file(input, path);
  if (!status) status = karst_unpack_open(input);
  if (!status) status = karst_allocate(input->context, &input->buffer, BUFFER_SIZE, 1, "reading a file");
  if (!status) status = fill(input);
  if (status || input->end < TAR_BLOCK || memcmp(input->buffer + TAR_MAGIC, "ustar", 5) != 0) return status;
  if (!member) return karst_input_fail(input, "the file is an archive, not a vector");
  status = karst_archive_open(input, member, found);
  return status || !*found ? status : fill(input);
}

karst_status karst_input_open(karst_context *context, const char *path, const char *member, karst_input **result)
{
  karst_input *input;
  bool found = true;
  size_t length = strlen(path);
  karst_status status = karst_allocate_zero(context, result, 1, sizeof **result, "reading a file");
  if (status) return status;
  input = *result;
  input->context = context;
  input->file = -1;
  if (length < KARST_NAME_SIZE / 2)
    memcpy(input->name, path, length + 1);
  else
    snprintf(input->name, sizeof input->name, "...%s", path + length - KARST_NAME_SIZE / 2);
  status = open_layers(input, path, member, &found);
  if (!status && found) {
    /* Windows editors write this byte order mark before a text in UTF-8. */
    if (karst_input_begins(input, "\xef\xbb\xbf", 3)) input->begin += 3;
    return KARST_SUCCESS;
  }
  karst_input_close(input);
  *result = NULL;
  return status;
}

void karst_input_close(karst_input *input)
{
  if (!input) return;
  karst_context *context = input->context;
  karst_archive_close(input);
  karst_unpack_close(input);
  if (input->file >= 0) close(input->file);
  karst_release(context, input->buffer);
  karst_release(context, input);
}

karst_status karst_input_look(karst_input *input)
{
  return input->end - input->begin < LOOK_SIZE && !input->at_end ? fill(input) : KARST_SUCCESS;
}

bool karst_input_is_at_end(const karst_input *input) { return input->at_end && input->begin == input->end; }

bool karst_input_begins(const karst_input *input, const void *bytes, size_t count)
{
  return input->end - input->begin >= count && memcmp(input->buffer + input->begin, bytes, count) == 0;
}

/* Sets *line to the next line, blank or not, without its line break; *end points to the terminating zero. */
static karst_status next_line(karst_input *input, char **line, char **end)
{
  char *newline = NULL;
  size_t searched = 0;
  *line = *end = NULL;
  for (;;) {
    size_t left = input->end - input->begin;
    if (left > searched) newline = memchr(input->buffer + input->begin + searched, '\n', left - searched);
    if (newline || input->at_end) break;
    if (left == BUFFER_SIZE - 1) {
      input->line++;
      return karst_input_fail(input, "the line is longer than %d characters", BUFFER_SIZE - 2);
    }
    searched = left;
    karst_status status = fill(input);
    if (status) return status;
  }
  if (input->begin == input->end) return KARST_SUCCESS;
  *line = input->buffer + input->begin;
  *end = newline ? newline : input->buffer + input->end;
  input->begin = newline ? (size_t)(newline + 1 - input->buffer) : input->end;
  input->line++;
  if (*end > *line && (*end)[-1] == '\r') (*end)--;
  **end = '\0';
  if (memchr(*line, '\0', (size_t)(*end - *line)))
    return karst_input_fail(input, "a zero byte: the file is binary, in an unknown format");
  return KARST_SUCCESS;
}

karst_status karst_input_line(karst_input *input, char **line)
{
  char *end;
  for (;;) {
    karst_status status = next_line(input, line, &end);
    if (status || !*line) return status;
    *line += karst_skip_spaces(*line) - *line;
    if (*line < end) return KARST_SUCCESS;
  }
}

karst_status karst_input_check_rows(karst_input *input, int64_t rows, int64_t entries)
{
  const int64_t empty_rows = 1 << 20, rows_per_entry = 16;
  if ((rows - empty_rows) / rows_per_entry <= entries) return KARST_SUCCESS;
  return karst_input_fail(input, "%lld rows are announced, too many for a matrix with so few entries (%lld)",
                          (long long)rows, (long long)entries);
}

karst_status karst_input_bytes(karst_input *input, void *to, size_t count)
{
  size_t buffered = input->end - input->begin, got = 0;
  if (buffered > count) buffered = count;
  if (buffered > 0) memcpy(to, input->buffer + input->begin, buffered);
  input->begin += buffered;
  karst_status status = read_layer(input, (char *)to + buffered, count - buffered, &got);
  if (!status && got < count - buffered) status = karst_input_fail(input, "the file ends too early");
  return status;
}
