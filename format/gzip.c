/* gzip.c - reads and writes gzip files (RFC 1952) through zlib, which takes its memory from the context. */
#include "config.h"

#include "format/format.h"

#ifdef HAVE_ZLIB

#include <string.h>
#include <zlib.h>

enum {
  PACKED_SIZE = 1 << 16, /* compressed bytes read or written at a time */
  GZIP_WINDOW = 15 + 16  /* tells zlib to use the largest window and the gzip header */
};

struct karst_gunzip {
  z_stream stream;
  bool in_member;     /* inside a member, where the file must not end; a file may have several members */
  bool behind_member; /* after a member, where zeros may fill up the block of a tape */
  unsigned char packed[PACKED_SIZE];
};

struct karst_gzip {
  z_stream stream;
  unsigned char packed[PACKED_SIZE];
};

static voidpf allocate(voidpf context, uInt count, uInt size)
{
  void *memory;
  return karst_allocate(context, &memory, count, size, "zlib") ? NULL : memory;
}

static void release(voidpf context, voidpf memory) { karst_release(context, memory); }

karst_status karst_gunzip_open(karst_input *input)
{
  karst_status status = karst_allocate_zero(input->context, &input->gunzip, 1, sizeof *input->gunzip, "decompression");
  if (status) return status;
  z_stream *stream = &input->gunzip->stream;
  stream->zalloc = allocate;
  stream->zfree = release;
  stream->opaque = input->context;
  return inflateInit2(stream, GZIP_WINDOW) == Z_OK
             ? KARST_SUCCESS
             : karst_fail(input->context, KARST_ERROR_NO_MEMORY, "out of memory: decompressing %s", input->name);
}

/* Reads more compressed bytes when all have been used. */
static karst_status refill(karst_input *input)
{
  struct karst_gunzip *gunzip = input->gunzip;
  size_t got = 0;
  if (gunzip->stream.avail_in > 0) return KARST_SUCCESS;
  karst_status status = karst_file_read(input, gunzip->packed, PACKED_SIZE, &got);
  gunzip->stream.next_in = gunzip->packed;
  gunzip->stream.avail_in = (uInt)got;
  return status;
}

/* Skips zeros after the last member, up to the end of the file (gzip's manual, "Using gzip on tapes"). */
static karst_status skip_padding(karst_input *input)
{
  z_stream *stream = &input->gunzip->stream;
  bool padded = false;
  for (;;) {
    const karst_status status = refill(input);
    if (status || stream->avail_in == 0) return status;
    for (; stream->avail_in > 0 && *stream->next_in == 0; stream->avail_in--, stream->next_in++) padded = true;
    if (stream->avail_in > 0) break;
  }
  if (!padded) return KARST_SUCCESS;
  return karst_fail(input->context, KARST_ERROR_FORMAT,
                    "%s: the compressed data are damaged (other bytes follow the zeros after their end)", input->name);
}

karst_status karst_gunzip_read(karst_input *input, void *to, size_t capacity, size_t *got)
{
  struct karst_gunzip *gunzip = input->gunzip;
  z_stream *stream = &gunzip->stream;
  *got = 0;
  while (*got < capacity) {
    size_t room = capacity - *got < PACKED_SIZE ? capacity - *got : PACKED_SIZE;
    karst_status status = refill(input);
    if (!status && gunzip->behind_member) status = skip_padding(input);
    if (status) return status;
    if (stream->avail_in == 0 && gunzip->in_member)
      return karst_fail(input->context, KARST_ERROR_FORMAT, "%s: the compressed data end too early", input->name);
    if (stream->avail_in == 0) break;
    if (!gunzip->in_member) inflateReset(stream);
    stream->next_out = (unsigned char *)to + *got;
    stream->avail_out = (uInt)room;
    int outcome = inflate(stream, Z_NO_FLUSH);
    if (outcome == Z_MEM_ERROR)
      return karst_fail(input->context, KARST_ERROR_NO_MEMORY, "out of memory: decompressing %s", input->name);
    if (outcome != Z_OK && outcome != Z_STREAM_END)
      return karst_fail(input->context, KARST_ERROR_FORMAT, "%s: the compressed data are damaged (%s)", input->name,
                        stream->msg ? stream->msg : "unknown zlib error");
    gunzip->in_member = outcome == Z_OK;
    gunzip->behind_member = outcome == Z_STREAM_END;
    *got += room - stream->avail_out;
  }
  return KARST_SUCCESS;
}

void karst_gunzip_close(karst_input *input)
{
  if (input->gunzip) inflateEnd(&input->gunzip->stream);
  karst_release(input->context, input->gunzip);
  input->gunzip = NULL;
}

karst_status karst_gzip_open(karst_output *output)
{
  karst_status status = karst_allocate_zero(output->context, &output->gzip, 1, sizeof *output->gzip, "compression");
  if (status) return status;
  z_stream *stream = &output->gzip->stream;
  stream->zalloc = allocate;
  stream->zfree = release;
  stream->opaque = output->context;
  return deflateInit2(stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) == Z_OK
             ? KARST_SUCCESS
             : karst_fail(output->context, KARST_ERROR_NO_MEMORY, "out of memory: compressing %s", output->path);
}

karst_status karst_gzip_write(karst_output *output, const void *bytes, size_t count, bool last)
{
  z_stream *stream = &output->gzip->stream;
  stream->next_in = (unsigned char *)bytes; /* zlib only reads it, but its type is not const */
  stream->avail_in = (uInt)count;
  do {
    stream->next_out = output->gzip->packed;
    stream->avail_out = PACKED_SIZE;
    deflate(stream, last ? Z_FINISH : Z_NO_FLUSH); /* cannot fail: input and room are valid */
    karst_status status = karst_file_write(output, output->gzip->packed, PACKED_SIZE - stream->avail_out);
    if (status) return status;
  } while (stream->avail_out == 0);
  return KARST_SUCCESS;
}

void karst_gzip_close(karst_output *output)
{
  if (output->gzip) deflateEnd(&output->gzip->stream);
  karst_release(output->context, output->gzip);
  output->gzip = NULL;
}

#else

static karst_status refuse_gzip(karst_context *context, const char *name)
{
  return karst_fail(context, KARST_ERROR_NOT_BUILT, "%s is compressed, and this Karst was built without zlib", name);
}

karst_status karst_gunzip_open(karst_input *input) { return refuse_gzip(input->context, input->name); }

karst_status karst_gunzip_read(karst_input *input, void *to, size_t capacity, size_t *got)
{
  (void)to, (void)capacity;
  *got = 0;
  return refuse_gzip(input->context, input->name);
}

void karst_gunzip_close(karst_input *input) { (void)input; }

karst_status karst_gzip_open(karst_output *output) { return refuse_gzip(output->context, output->path); }

karst_status karst_gzip_write(karst_output *output, const void *bytes, size_t count, bool last)
{
  (void)bytes, (void)count, (void)last;
  return refuse_gzip(output->context, output->path);
}

void karst_gzip_close(karst_output *output) { (void)output; }

#endif
