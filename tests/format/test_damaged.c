/* Damaged files are refused with an error, or read if they are still valid; nothing crashes. The damage is one changed
 * field in Karst's binary form, compressed files and archives cut short or altered, or bytes changed at random. */
#include "config.h"

#include "tests/support/refusal.h"

#include <stdio.h>
#include <string.h>

/* Replaces one field at the start of a .kbsr file. */
typedef struct binary_change {
  const char *what;
  size_t offset, width;
  int64_t value;
  karst_status status;
  const char *says;
} binary_change;

/* The file holds diag(2, 4, 8) in scalar blocks, with indices of the build's width; row_start begins at byte 48. */
#define INDEX_BYTES ((size_t)KARST_INDEX_BITS / 8)
#define ROW_START(i) (48 + (i)*INDEX_BYTES)
#define COLUMN(i) (48 + 4 * INDEX_BYTES + (i)*INDEX_BYTES)
#define VALUE(i) (48 + (KARST_INDEX_BITS == 64 ? 56 : 32) + (i)*8)

static const binary_change binary_changes[] = {
    {"the other byte order", 8, 4, 0x04030201, KARST_ERROR_FORMAT, "other byte order"},
    {"a broken byte order mark", 8, 4, 7, KARST_ERROR_FORMAT, "byte order mark is 0x7"},
    {"another version", 12, 4, 3, KARST_ERROR_FORMAT, "version 3"},
    {"indices of 16 bits", 16, 4, 16, KARST_ERROR_FORMAT, "indices of 16 bits"},
    {"block size 0", 20, 4, 0, KARST_ERROR_FORMAT, "block size 0 is out of range (1 to 1024)"},
    {"block size 1025", 20, 4, 1025, KARST_ERROR_FORMAT, "block size 1025"},
    {"block size 2^32 - 1", 20, 4, -1, KARST_ERROR_FORMAT, "block size 4294967295"},
    {"negative block rows", 24, 8, -3, KARST_ERROR_FORMAT, "-3 block rows"},
    {"2^63 - 1 block rows", 24, 8, INT64_MAX, KARST_ERROR_INDEX_OVERFLOW, "more than"},
    {"more block rows", 24, 8, 4, KARST_ERROR_FORMAT, "3 rows do not fill 4 block rows of 1"},
    {"fewer rows", 32, 8, 2, KARST_ERROR_FORMAT, "2 rows do not fill 3 block rows of 1"},
    {"negative rows", 32, 8, INT64_MIN, KARST_ERROR_FORMAT, "do not fill 3 block rows"},
    {"negative blocks", 40, 8, -1, KARST_ERROR_FORMAT, "-1 blocks"},
    {"fewer blocks", 40, 8, 2, KARST_ERROR_FORMAT, "2 blocks of size 1 do not fill"},
    {"more blocks", 40, 8, 1000000, KARST_ERROR_FORMAT, "1000000 blocks of size 1 do not fill"},
    {"a first row start of 1", ROW_START(0), INDEX_BYTES, 1, KARST_ERROR_FORMAT, "begin with 1"},
    {"a row start past the end", ROW_START(1), INDEX_BYTES, 1000000, KARST_ERROR_FORMAT, "block row 1 ends at 2"},
    {"a negative row start", ROW_START(2), INDEX_BYTES, -5, KARST_ERROR_FORMAT, "block row 1 ends at -5"},
    {"a last row start past the end", ROW_START(3), INDEX_BYTES, 9, KARST_ERROR_FORMAT, "last row start is 9"},
    {"a negative column", COLUMN(1), INDEX_BYTES, -1, KARST_ERROR_FORMAT, "block row 1 has an entry in column -1"},
    {"a column past the last", COLUMN(2), INDEX_BYTES, 3, KARST_ERROR_FORMAT, "block row 2 has an entry in column 3"},
    {"an infinite value", VALUE(1), 8, 0x7ff0000000000000, KARST_ERROR_FORMAT, "a value of block 1 is not finite"},
};

static void test_binary(karst_context *context)
{
  const karst_index row_start[] = {0, 1, 2, 3}, column[] = {0, 1, 2};
  const double value[] = {2, 4, 8};
  char good[512], bad[513];
  karst_matrix *matrix;
  tap_need(context, karst_matrix_create(context, 3, 1, row_start, column, value, KARST_COPY, &matrix), "matrix");
  tap_need(context, karst_matrix_write(matrix, tap_scratch("good.kbsr")), "write");
  karst_matrix_destroy(matrix);
  long size = slurp(tap_scratch("good.kbsr"), good, sizeof good);
  tap_ok(size == (long)VALUE(3), "a .kbsr file has the size that its description says");
  for (size_t i = 0; i < sizeof binary_changes / sizeof *binary_changes; i++) {
    const binary_change *change = &binary_changes[i];
    int32_t narrow = (int32_t)change->value;
    memcpy(bad, good, (size_t)size);
    if (change->width == 4)
      memcpy(bad + change->offset, &narrow, 4);
    else
      memcpy(bad + change->offset, &change->value, 8);
    refuse_matrix(context, tap_write("bad.kbsr", bad, size), change->status, change->says, change->what);
  }
  for (long length = 8; length < size; length += 5)
    refuse_matrix(context, tap_write("bad.kbsr", good, length), KARST_ERROR_FORMAT, length < 48 ? "too early" : "fill",
                  "a .kbsr file cut short");
  memcpy(bad, good, (size_t)size);
  bad[size] = 0;
  refuse_matrix(context, tap_write("bad.kbsr", bad, size + 1), KARST_ERROR_FORMAT, "do not fill",
                "a .kbsr file with a byte more");
}

static void test_compressed(karst_context *context)
{
  enum { ENTRIES = 3000 };
  static char text[100 * ENTRIES], packed[100 * ENTRIES];
  int length = sprintf(text, "%s%d %d %d\n", GENERAL, ENTRIES, ENTRIES, ENTRIES);
  for (int i = 1; i <= ENTRIES; i++) length += sprintf(text + length, "%d %d %.17g\n", i, i, tap_random());
  karst_output *output;
  if (karst_output_open(context, tap_scratch("probe.gz"), &output) == KARST_ERROR_NOT_BUILT) {
    refuse_matrix(context, tap_write("bad.mtx.gz", "\x1f\x8b\x08", 3), KARST_ERROR_NOT_BUILT, "without zlib",
                  "gzip without zlib");
    return;
  }
  tap_need(context, karst_output_close(output, KARST_SUCCESS), "probe");
  const char *path = tap_scratch("bad.mtx.gz");
  write_gzip(context, path, text, length);
  long size = slurp(path, packed, sizeof packed);
  refuse_matrix(context, tap_write("bad.mtx.gz", packed, size / 2), KARST_ERROR_FORMAT, "compressed data end too early",
                "gzip cut in the middle");
  refuse_matrix(context, tap_write("bad.mtx.gz", packed, size - 1), KARST_ERROR_FORMAT, "compressed data end too early",
                "gzip without its last byte");
  refuse_matrix(context, tap_write("bad.mtx.gz", packed, 2), KARST_ERROR_FORMAT, "compressed data end too early",
                "two bytes of gzip");
  packed[size] = 'x';
  refuse_matrix(context, tap_write("bad.mtx.gz", packed, size + 1), KARST_ERROR_FORMAT, "compressed data",
                "gzip with bytes behind it");
  packed[size - 6] ^= 1; /* a byte of the check sum */
  refuse_matrix(context, tap_write("bad.mtx.gz", packed, size), KARST_ERROR_FORMAT, "compressed data are damaged",
                "gzip with a wrong check sum");
  write_gzip(context, path, "", 0);
  refuse_matrix(context, path, KARST_ERROR_FORMAT, "empty", "gzip of nothing");
  write_gzip(context, path, GENERAL "1 1 1\n1 2 1\n", (long)strlen(GENERAL) + 12);
  refuse_matrix(context, path, KARST_ERROR_FORMAT, "line 3: the column index 2", "a wrong entry in gzip");
  char entries[200];
  int count = sprintf(entries, "%s9 9 4611686018427387904\n1 1 1\n", GENERAL);
  write_gzip(context, path, entries, count);
  refuse_matrix(context, path, KARST_ERROR_FORMAT, "line 2: 46116860", "more entries than gzip can hold");
  count = sprintf(entries, "\x89KBSR\r\n\x1a%040d", 0);
  write_gzip(context, path, entries, count);
  refuse_matrix(context, path, KARST_ERROR_FORMAT, "byte order mark", "a damaged binary form in gzip");
}

static void test_archives(karst_context *context)
{
  static char tar[8192];
  karst_vector *vector;
  long size = add_member(tar, "other/README", "no matrix");
  size += add_member(tar + size, "other/matrix.mtx", GENERAL "1 1 1\n1 1 1\n");
  memset(tar + size, 0, 1024);
  const char *path = tap_write("bad.tar", tar, size + 1024);
#ifndef HAVE_LIBARCHIVE
  refuse_matrix(context, path, KARST_ERROR_NOT_BUILT, "without libarchive", "an archive without libarchive");
  (void)vector;
#else
  refuse_matrix(context, path, KARST_ERROR_FORMAT, "no member NAME/NAME.mtx", "an archive without a matrix");
  refuse_vector(context, path, KARST_ERROR_FORMAT, "is an archive", "an archive for a vector");
  tap_ok(karst_vector_read_beside(context, path, &vector) == KARST_SUCCESS && !vector,
         "an archive without a right-hand side gives none");
  size = add_member(tar, "m/m.mtx", GENERAL "1 1 1\n1 1 one\n");
  refuse_matrix(context, tap_write("bad.tar", tar, size), KARST_ERROR_FORMAT, "(m.mtx), line 3: the value 'one'",
                "a wrong entry in an archive");
  refuse_matrix(context, tap_write("bad.tar", tar, 520), KARST_ERROR_FORMAT, "archive is damaged",
                "an archive cut in its member");
  tar[110] ^= 1;
  refuse_matrix(context, tap_write("bad.tar", tar, size), KARST_ERROR_FORMAT, "archive is damaged",
                "an archive with a wrong check sum");
#endif
}

/* Bytes changed at random must give a matrix or a refusal, never a crash. */
static void test_random_changes(karst_context *context)
{
  const char *const endings[] = {"changed.mtx", "changed.mtx.gz", "changed.kbsr"};
  char good[8192], bad[8192];
  karst_matrix *matrix = tap_random_matrix(context, 12, 2, 3, 1), *read;
  for (int e = 0; e < 3; e++) {
    bool sound = true;
    if (karst_matrix_write(matrix, tap_scratch(endings[e])) == KARST_ERROR_NOT_BUILT) continue;
    long size = slurp(tap_scratch(endings[e]), good, sizeof good);
    for (int run = 0; run < 500; run++) {
      memcpy(bad, good, (size_t)size);
      for (int64_t changes = 1 + tap_random_index(3); changes > 0; changes--)
        bad[tap_random_index(run % 2 ? size : 80)] = (char)tap_random_index(256);
      const char *path = tap_write(endings[e], bad, run % 5 ? size : tap_random_index(size));
      karst_status status = karst_matrix_read(context, path, 0, &read);
      sound = sound && (status == KARST_SUCCESS) == (read != NULL);
      karst_matrix_destroy(read);
    }
    tap_ok(sound, "500 random changes to %s give a matrix or a refusal", endings[e]);
  }
  karst_matrix_destroy(matrix);
}

int main(void)
{
  karst_context *context = tap_context();
  test_binary(context);
  test_compressed(context);
  test_archives(context);
  test_random_changes(context);
  karst_context_destroy(context);
  return tap_done();
}
