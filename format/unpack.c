/* unpack.c - reads the bytes of a file, and decompresses them if its first bytes are those of gzip, xz, zstd or bzip2.
 * The layers above see only the decompressed bytes. */
#include "config.h"

#include "format/format.h"

#include <unistd.h>

/* Deflate compresses by at most this factor (zlib's technical notes). The others have no useful bound. */
static const int64_t gzip_limit = 1032;

karst_status karst_unpack_open(karst_input *input)
{
  unsigned char begin[KARST_FILTER_BEGIN] = {0};
  const ssize_t got = pread(input->file, begin, sizeof begin, 0);
  input->text_limit = input->file_size;
  if (got == sizeof begin && karst_filter_begins(begin)) {
    input->text_limit = INT64_MAX;
    return karst_filter_open(input, begin);
  }
  if (got < 2 || begin[0] != 0x1f || begin[1] != 0x8b) return KARST_SUCCESS;
  if (__builtin_mul_overflow(input->file_size, gzip_limit, &input->text_limit)) input->text_limit = INT64_MAX;
  return karst_gunzip_open(input);
}

karst_status karst_unpack_read(karst_input *input, void *to, size_t capacity, size_t *got)
{
  if (input->gunzip) return karst_gunzip_read(input, to, capacity, got);
  if (input->filter) return karst_filter_read(input, to, capacity, got);
  return karst_file_read(input, to, capacity, got);
}

void karst_unpack_close(karst_input *input)
{
  karst_gunzip_close(input);
  karst_filter_close(input);
}
