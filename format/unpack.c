/* unpack.c - reads the bytes of a file, and decompresses them if the file begins as gzip does. The layers above need
 * not know. */
#include "config.h"

#include "format.h"

#include <unistd.h>

/* Deflate compresses by at most this factor (zlib's technical notes). */
static const int64_t gzip_limit = 1032;

karst_status karst_unpack_open(karst_input *input)
{
  unsigned char magic[2];
  input->text_limit = input->file_size;
  if (pread(input->file, magic, sizeof magic, 0) != sizeof magic || magic[0] != 0x1f || magic[1] != 0x8b)
    return KARST_SUCCESS;
  if (__builtin_mul_overflow(input->file_size, gzip_limit, &input->text_limit)) input->text_limit = INT64_MAX;
  return karst_gunzip_open(input);
}

karst_status karst_unpack_read(karst_input *input, void *to, size_t capacity, size_t *got)
{
  return input->gunzip ? karst_gunzip_read(input, to, capacity, got) : karst_file_read(input, to, capacity, got);
}

void karst_unpack_close(karst_input *input) { karst_gunzip_close(input); }
