/* filter.c - reads files compressed by xz, zstd or bzip2 through libarchive, which calls the bytes of a single file the
 * format "raw". */
#include "config.h"

#include "format/format.h"

#include <string.h>

/* The first bytes of a compressed file, and the program that writes it. */
static const struct kind {
  const char *program;
  size_t length;
  unsigned char magic[6];
} kinds[] = {
    {"xz", 6, {0xfd, '7', 'z', 'X', 'Z', 0x00}}, {"zstd", 4, {0x28, 0xb5, 0x2f, 0xfd}}, {"bzip2", 3, {'B', 'Z', 'h'}}};

/* The bytes of the first block of bzip2, and those of an empty file. */
static const unsigned char bzip2_block[] = {0x31, 0x41, 0x59, 0x26, 0x53, 0x59},
                           bzip2_end[] = {0x17, 0x72, 0x45, 0x38, 0x50, 0x90};

static const struct kind *find_kind(const unsigned char begin[KARST_FILTER_BEGIN])
{
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    if (memcmp(begin, kinds[i].magic, kinds[i].length) != 0) continue;
    const bool letters = strcmp(kinds[i].program, "bzip2") == 0; /* a text may begin with these letters */
    if (!letters || memcmp(begin + 4, bzip2_block, sizeof bzip2_block) == 0 ||
        memcmp(begin + 4, bzip2_end, sizeof bzip2_end) == 0)
      return &kinds[i];
  }
  return NULL;
}

bool karst_filter_begins(const unsigned char begin[KARST_FILTER_BEGIN]) { return find_kind(begin) != NULL; }

#ifdef HAVE_LIBARCHIVE

#include <archive.h>
#include <archive_entry.h>

enum { CHUNK_SIZE = 1 << 16 };

struct karst_filter {
  struct archive *reader;
  karst_status failure; /* error of the layer below while libarchive read from it */
  char chunk[CHUNK_SIZE];
};

/* Called by libarchive for the next compressed bytes. */
static la_ssize_t read_packed_bytes(struct archive *reader, void *user, const void **bytes)
{
  karst_input *input = user;
  struct karst_filter *filter = input->filter;
  size_t got = 0;
  (void)reader;
  filter->failure = karst_file_read(input, filter->chunk, CHUNK_SIZE, &got);
  *bytes = filter->chunk;
  return filter->failure ? -1 : (la_ssize_t)got;
}

/* Returns the error of the layer below if there is one, else reports libarchive's. */
static karst_status fail_filter(karst_input *input)
{
  if (input->filter->failure) return input->filter->failure;
  const char *cause = archive_error_string(input->filter->reader);
  return karst_fail(input->context, KARST_ERROR_FORMAT, "%s: the compressed data are damaged (%s)", input->name,
                    cause ? cause : "unknown libarchive error");
}

/* Adds a filter that libarchive itself has. For others it would run a program, which a library must not do. */
static bool support(struct archive *reader, const char *program)
{
  int outcome = ARCHIVE_FATAL;
  if (strcmp(program, "xz") == 0) outcome = archive_read_support_filter_xz(reader);
#if ARCHIVE_VERSION_NUMBER >= 3003003
  if (strcmp(program, "zstd") == 0) outcome = archive_read_support_filter_zstd(reader);
#endif
  if (strcmp(program, "bzip2") == 0) outcome = archive_read_support_filter_bzip2(reader);
  return outcome == ARCHIVE_OK && archive_read_support_format_raw(reader) == ARCHIVE_OK;
}

karst_status karst_filter_open(karst_input *input, const unsigned char begin[KARST_FILTER_BEGIN])
{
  const char *program = find_kind(begin)->program;
  struct archive_entry *entry;
  karst_status status = karst_allocate_zero(input->context, &input->filter, 1, sizeof *input->filter, "decompression");
  if (status) return status;
  struct archive *reader = input->filter->reader = archive_read_new();
  if (!reader) return karst_fail(input->context, KARST_ERROR_NO_MEMORY, "out of memory: decompressing %s", input->name);
  if (!support(reader, program))
    return karst_fail(input->context, KARST_ERROR_NOT_BUILT,
                      "%s is compressed by %s, which this libarchive does not support: decompress it first",
                      input->name, program);
  if (archive_read_open(reader, input, NULL, read_packed_bytes, NULL) != ARCHIVE_OK) return fail_filter(input);
  const int outcome = archive_read_next_header(reader, &entry);
  return outcome == ARCHIVE_OK || outcome == ARCHIVE_EOF ? KARST_SUCCESS : fail_filter(input);
}

karst_status karst_filter_read(karst_input *input, void *to, size_t capacity, size_t *got)
{
  *got = 0;
  while (*got < capacity) {
    const la_ssize_t count = archive_read_data(input->filter->reader, (char *)to + *got, capacity - *got);
    if (count < 0) return fail_filter(input);
    if (count == 0) break;
    *got += (size_t)count;
  }
  return KARST_SUCCESS;
}

void karst_filter_close(karst_input *input)
{
  if (input->filter && input->filter->reader) archive_read_free(input->filter->reader);
  karst_release(input->context, input->filter);
  input->filter = NULL;
}

#else

static karst_status refuse_filter(karst_input *input)
{
  return karst_fail(input->context, KARST_ERROR_NOT_BUILT,
                    "%s is compressed, and without libarchive Karst reads gzip only: decompress it first", input->name);
}

karst_status karst_filter_open(karst_input *input, const unsigned char begin[KARST_FILTER_BEGIN])
{
  (void)begin;
  return refuse_filter(input);
}

karst_status karst_filter_read(karst_input *input, void *to, size_t capacity, size_t *got)
{
  (void)to, (void)capacity;
  *got = 0;
  return refuse_filter(input);
}

void karst_filter_close(karst_input *input) { (void)input; }

#endif
