/* archive.c - one member of a tar archive, read through libarchive. The SuiteSparse Matrix Collection serves matrices
 * this way: NAME.tar.gz has the matrix as NAME/NAME.mtx and its right-hand side as NAME/NAME_b.mtx. The layer below
 * hands libarchive the decompressed bytes. */
#include "config.h"

#include "format/format.h"

#ifdef HAVE_LIBARCHIVE

#include <archive.h>
#include <archive_entry.h>
#include <stdio.h>
#include <string.h>

enum { CHUNK_SIZE = 1 << 16 };

struct karst_archive {
  struct archive *reader;
  karst_status failure; /* error of the layer below while libarchive read from it */
  char *first;          /* [first_count] bytes read before the file was recognised as an archive */
  size_t first_count;   /* 0 once libarchive asks for more; until then it may look at first */
  char chunk[CHUNK_SIZE];
};

/* Called by libarchive for the next bytes of the archive. */
static la_ssize_t read_tar_bytes(struct archive *reader, void *user, const void **bytes)
{
  karst_input *input = user;
  struct karst_archive *archive = input->archive;
  size_t got = archive->first_count;
  (void)reader;
  *bytes = archive->first;
  archive->first_count = 0;
  if (got > 0) return (la_ssize_t)got;
  archive->failure = karst_unpack_read(input, archive->chunk, CHUNK_SIZE, &got);
  *bytes = archive->chunk;
  return archive->failure ? -1 : (la_ssize_t)got;
}

/* Returns the error of the layer below if there is one, else reports libarchive's. */
static karst_status fail_archive(karst_input *input)
{
  struct karst_archive *archive = input->archive;
  if (archive->failure) return archive->failure;
  const char *cause = archive_error_string(archive->reader);
  return karst_fail(input->context, KARST_ERROR_FORMAT, "%s: the archive is damaged (%s)", input->name,
                    cause ? cause : "unknown libarchive error");
}

/* Returns whether path is [...]NAME/NAME followed by ending, for some NAME. */
static bool is_member(const char *path, const char *ending)
{
  const char *base = strrchr(path, '/');
  if (!base) return false;
  const char *folder = base;
  while (folder > path && folder[-1] != '/') folder--;
  size_t length = (size_t)(base - folder);
  return length > 0 && strncmp(base + 1, folder, length) == 0 && strcmp(base + 1 + length, ending) == 0;
}

/* Moves to the next member. If the name of a member or its owner cannot be written in the locale, libarchive warns and
 * returns the bytes of the archive. */
static int next_member(struct archive *reader, struct archive_entry **entry, const char **path)
{
  const int outcome = archive_read_next_header(reader, entry);
  if (outcome != ARCHIVE_OK && outcome != ARCHIVE_WARN) return outcome;
  *path = archive_entry_pathname(*entry);
  if (!*path) *path = archive_entry_pathname_utf8(*entry);
  return ARCHIVE_OK;
}

karst_status karst_archive_open(karst_input *input, const char *member, bool *found)
{
  struct archive_entry *entry;
  const char *path;
  int outcome;
  karst_status status = karst_allocate_zero(input->context, &input->archive, 1, sizeof *input->archive, "an archive");
  if (status) return status;
  struct karst_archive *archive = input->archive;
  status = karst_allocate(input->context, &archive->first, (int64_t)input->end, 1, "an archive");
  if (status) return status;
  memcpy(archive->first, input->buffer, input->end);
  archive->first_count = input->end;
  input->begin = input->end = 0;
  archive->reader = archive_read_new();
  if (!archive->reader)
    return karst_fail(input->context, KARST_ERROR_NO_MEMORY, "out of memory: the archive %s", input->name);
  if (archive_read_support_format_tar(archive->reader) != ARCHIVE_OK ||
      archive_read_open(archive->reader, input, NULL, read_tar_bytes, NULL) != ARCHIVE_OK)
    return fail_archive(input);
  while ((outcome = next_member(archive->reader, &entry, &path)) == ARCHIVE_OK) {
    *found = path && archive_entry_filetype(entry) == AE_IFREG && is_member(path, member);
    if (!*found) continue;
    size_t length = strlen(input->name);
    snprintf(input->name + length, sizeof input->name - length, " (%s)", strrchr(path, '/') + 1);
    input->member = length;
    return KARST_SUCCESS;
  }
  *found = false;
  return outcome == ARCHIVE_EOF ? KARST_SUCCESS : fail_archive(input);
}

karst_status karst_archive_read(karst_input *input, void *to, size_t capacity, size_t *got)
{
  *got = 0;
  while (*got < capacity) {
    la_ssize_t count = archive_read_data(input->archive->reader, (char *)to + *got, capacity - *got);
    if (count < 0) return fail_archive(input);
    if (count == 0) break;
    *got += (size_t)count;
  }
  return KARST_SUCCESS;
}

void karst_archive_close(karst_input *input)
{
  if (!input->archive) return;
  if (input->archive->reader) archive_read_free(input->archive->reader);
  karst_release(input->context, input->archive->first);
  karst_release(input->context, input->archive);
  input->archive = NULL;
}

#else

static karst_status refuse_archive(karst_input *input)
{
  return karst_fail(input->context, KARST_ERROR_NOT_BUILT, "%s is an archive, and Karst was built without libarchive",
                    input->name);
}

karst_status karst_archive_open(karst_input *input, const char *member, bool *found)
{
  (void)member;
  *found = false;
  return refuse_archive(input);
}

karst_status karst_archive_read(karst_input *input, void *to, size_t capacity, size_t *got)
{
  (void)to, (void)capacity;
  *got = 0;
  return refuse_archive(input);
}

void karst_archive_close(karst_input *input) { (void)input; }

#endif
