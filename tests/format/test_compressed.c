/* Compressed files and archives of other programs are read: gzip with zeros behind its last member, xz, zstd and bzip2,
 * archives with names that are not ASCII, texts with a byte order mark, and Karst's binary form in all. */
#include "config.h"

#include "tests/support/problem.h"
#include "tests/support/refusal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A diagonal matrix of 2 and 4, compressed by xz 5.4, zstd 1.5 and bzip2 1.0. */
static const unsigned char xz[] = {
    0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00, 0x00, 0x01, 0x69, 0x22, 0xde, 0x36, 0x02, 0x00, 0x21, 0x01, 0x16,
    0x00, 0x00, 0x00, 0x74, 0x2f, 0xe5, 0xa3, 0xe0, 0x00, 0x3f, 0x00, 0x3a, 0x5d, 0x00, 0x12, 0xe1, 0x30,
    0xc2, 0x74, 0x38, 0x61, 0xde, 0x3a, 0x4b, 0x4f, 0x5f, 0x43, 0xe3, 0xfb, 0x8b, 0xa8, 0x9a, 0x11, 0xc8,
    0x87, 0x49, 0xad, 0x30, 0xf2, 0x34, 0xb6, 0xb2, 0x4a, 0xbd, 0x60, 0xea, 0x3e, 0xc8, 0xf8, 0x15, 0x1e,
    0x52, 0xd0, 0xda, 0xed, 0x47, 0x38, 0xd1, 0xe7, 0x78, 0x1f, 0x51, 0x3a, 0xa2, 0xe1, 0x67, 0x50, 0x00,
    0x1c, 0x9b, 0x2e, 0x80, 0x00, 0x00, 0x00, 0xb8, 0x84, 0xdc, 0xfc, 0x00, 0x01, 0x52, 0x40, 0x6d, 0xcb,
    0xd7, 0xde, 0x90, 0x42, 0x99, 0x0d, 0x01, 0x00, 0x00, 0x00, 0x00, 0x01, 0x59, 0x5a};
static const unsigned char zstd[] = {0x28, 0xb5, 0x2f, 0xfd, 0x24, 0x40, 0x01, 0x02, 0x00, 0x25, 0x25, 0x4d, 0x61,
                                     0x74, 0x72, 0x69, 0x78, 0x4d, 0x61, 0x72, 0x6b, 0x65, 0x74, 0x20, 0x6d, 0x61,
                                     0x74, 0x72, 0x69, 0x78, 0x20, 0x63, 0x6f, 0x6f, 0x72, 0x64, 0x69, 0x6e, 0x61,
                                     0x74, 0x65, 0x20, 0x72, 0x65, 0x61, 0x6c, 0x20, 0x67, 0x65, 0x6e, 0x65, 0x72,
                                     0x61, 0x6c, 0x0a, 0x32, 0x20, 0x32, 0x20, 0x32, 0x0a, 0x31, 0x20, 0x31, 0x20,
                                     0x32, 0x0a, 0x32, 0x20, 0x32, 0x20, 0x34, 0x0a, 0xf5, 0xc9, 0xf7, 0x2e};
static const unsigned char bzip2[] = {
    0x42, 0x5a, 0x68, 0x39, 0x31, 0x41, 0x59, 0x26, 0x53, 0x59, 0x58, 0xdd, 0x9a, 0x4a, 0x00, 0x00, 0x07, 0x5d, 0x80,
    0x00, 0x10, 0x42, 0x00, 0x34, 0x00, 0x00, 0x02, 0x2e, 0xaf, 0x94, 0x40, 0x20, 0x00, 0x50, 0xa0, 0x69, 0xa1, 0x91,
    0x93, 0x10, 0x6a, 0x7a, 0x9a, 0x64, 0x9e, 0xa7, 0xa9, 0xa1, 0xa7, 0x94, 0x55, 0xec, 0xb1, 0x26, 0xd4, 0x95, 0xac,
    0xb9, 0x70, 0x08, 0x21, 0x92, 0x96, 0x26, 0x6f, 0x95, 0x73, 0xb6, 0x95, 0xf9, 0x6d, 0xb0, 0x93, 0x13, 0x57, 0x38,
    0x80, 0xd8, 0x36, 0x61, 0xf8, 0xbb, 0x92, 0x29, 0xc2, 0x84, 0x82, 0xc6, 0xec, 0xd2, 0x50};

/* Returns whether a file is read as that matrix. */
static bool is_diagonal(karst_context *context, const char *path)
{
  karst_matrix *matrix;
  if (karst_matrix_read(context, path, 0, &matrix)) {
    tap_note("%s", karst_context_error(context));
    return false;
  }
  const double *value = karst_matrix_value(matrix);
  const bool same =
      karst_matrix_rows(matrix) == 2 && karst_matrix_blocks(matrix) == 2 && value[0] == 2 && value[1] == 4;
  karst_matrix_destroy(matrix);
  return same;
}

/* A diagonal matrix of 2 and 4. */
static const char diagonal[] = GENERAL "2 2 2\n1 1 2\n2 2 4\n";

#ifdef HAVE_ZLIB
static void test_padding(karst_context *context)
{
  enum { ROOM = 1 << 18 };
  static char bytes[ROOM];
  const int counts[] = {1, 2, 512, 65536, 200000};
  write_gzip(context, tap_scratch("z.gz"), diagonal, -1);
  const long size = slurp(tap_scratch("z.gz"), bytes, ROOM);
  for (int i = 0; i < 5; i++) {
    memset(bytes + size, 0, ROOM - (size_t)size);
    tap_ok(is_diagonal(context, tap_write("padded.mtx.gz", bytes, size + counts[i])), "gzip and %d zeros", counts[i]);
    bytes[size + counts[i]] = 'x';
    refuse_matrix(context, tap_write("padded.mtx.gz", bytes, size + counts[i] + 1), KARST_ERROR_FORMAT,
                  "other bytes follow the zeros", "and bytes behind the zeros");
    bytes[size + counts[i]] = 0;
  }
  /* Two members, as cat makes them, and zeros behind both: the header in one, the entries in the other. */
  write_gzip(context, tap_scratch("a.gz"), GENERAL "2 2 2\n1 1", -1);
  write_gzip(context, tap_scratch("b.gz"), " 2\n2 2 4\n", -1);
  long both = slurp(tap_scratch("a.gz"), bytes, ROOM);
  both += slurp(tap_scratch("b.gz"), bytes + both, (size_t)(ROOM - both));
  memset(bytes + both, 0, 100);
  tap_ok(is_diagonal(context, tap_write("members.mtx.gz", bytes, both + 100)), "two members and zeros");
}

/* Writes a matrix of several blocks and a grid as .kbsr.gz and reads it, also through the compressed bytes' name. */
static void test_binary(karst_context *context)
{
  static char bytes[1 << 16];
  karst_matrix *read;
  karst_matrix *matrix = matrix_from(context, "blackoil:3x2x2", 0);
  tap_need(context, karst_matrix_write(matrix, tap_scratch("k.kbsr.gz")), "write");
  const long size = slurp(tap_scratch("k.kbsr.gz"), bytes, sizeof bytes);
  tap_ok(size > 2 && bytes[0] == 0x1f && (unsigned char)bytes[1] == 0x8b, ".kbsr.gz is compressed");
  tap_need(context, karst_matrix_read(context, tap_write("any name", bytes, size), 0, &read), "read");
  const size_t values = (size_t)karst_matrix_entries(matrix);
  karst_grid grid;
  tap_ok(karst_matrix_blocks(read) == karst_matrix_blocks(matrix) && karst_matrix_block_size(read) == 3 &&
             memcmp(karst_matrix_value(read), karst_matrix_value(matrix), values * sizeof(double)) == 0 &&
             !karst_matrix_get_grid(read, &grid) && grid.size[0] == 3 && grid.size[2] == 2,
         "and is recognised by its content and read with its grid");
  karst_matrix_destroy(read);
  refuse_matrix(context, tap_write("cut.kbsr.gz", bytes, size / 2), KARST_ERROR_FORMAT, "too early", "cut short");
  /* The same content with a byte more, or without its last byte. */
  tap_need(context, karst_matrix_write(matrix, tap_scratch("k.kbsr")), "write");
  long plain = slurp(tap_scratch("k.kbsr"), bytes, sizeof bytes - 1);
  bytes[plain] = 0;
  write_gzip(context, tap_scratch("more.kbsr.gz"), bytes, plain + 1);
  refuse_matrix(context, tap_scratch("more.kbsr.gz"), KARST_ERROR_FORMAT, "goes on after the matrix", "a byte more");
  write_gzip(context, tap_scratch("less.kbsr.gz"), bytes, plain - 1);
  refuse_matrix(context, tap_scratch("less.kbsr.gz"), KARST_ERROR_FORMAT, "ends too early", "a byte less");
  int64_t blocks = INT64_C(1) << 30;
  memcpy(bytes + 40, &blocks, sizeof blocks);
  write_gzip(context, tap_scratch("many.kbsr.gz"), bytes, plain);
  refuse_matrix(context, tap_scratch("many.kbsr.gz"), KARST_ERROR_FORMAT, "do not fill", "more than gzip can hold");
  karst_matrix_destroy(matrix);
}
#else
static void test_padding(karst_context *context)
{
  (void)context;
  tap_skip("built without zlib", "gzip and zeros");
}
static void test_binary(karst_context *context)
{
  (void)context;
  tap_skip("built without zlib", ".kbsr.gz");
}
#endif

/* A file that a program other than gzip has compressed, whole and cut short. */
static void check_filter(karst_context *context, const char *ending, const unsigned char *bytes, size_t size)
{
  char name[32];
  karst_matrix *matrix;
  snprintf(name, sizeof name, "s.mtx%s", ending);
  const char *path = tap_write(name, (const char *)bytes, (long)size);
  const karst_status status = karst_matrix_read(context, path, 0, &matrix);
  karst_matrix_destroy(matrix);
  if (status == KARST_ERROR_NOT_BUILT) {
    tap_ok(strstr(karst_context_error(context), "decompress it first") != NULL, "%s is refused: %s", ending,
           karst_context_error(context));
    return;
  }
  tap_ok(is_diagonal(context, path), "%s", ending);
  snprintf(name, sizeof name, "s_b.mtx");
  tap_write(name, "2\n8\n", -1);
  karst_vector *vector;
  tap_ok(!karst_vector_read_beside(context, tap_scratch("s.mtx.xz"), &vector) && vector &&
             karst_vector_length(vector) == 2,
         "and the right-hand side beside it");
  karst_vector_destroy(vector);
  for (size_t cut = size / 2; cut < size; cut += size / 4) {
    matrix = NULL;
    const karst_status refused =
        karst_matrix_read(context, tap_write("cut", (const char *)bytes, (long)cut), 0, &matrix);
    tap_ok(refused && !matrix, "%s cut after %zu bytes: %s", ending, cut, refused ? "refused" : "read");
  }
}

/* A text may begin with the letters of bzip2, "BZh", and is then no number. */
static void test_letters(karst_context *context)
{
  refuse_matrix(context, tap_write("letters", "BZh9 is no matrix\n", -1), KARST_ERROR_FORMAT, "unknown format",
                "a text that begins as bzip2 does");
}

/* Windows editors write a mark of three bytes before a text in UTF-8. */
static void test_mark(karst_context *context)
{
  char text[sizeof diagonal + 3] = "\xef\xbb\xbf";
  strcat(text, diagonal);
  tap_ok(is_diagonal(context, tap_write("mark.mtx", text, -1)), "a byte order mark before the header");
  refuse_matrix(context, tap_write("mark", "\xef\xbb\xbf", -1), KARST_ERROR_FORMAT, "empty", "nothing but a mark");
}

#ifdef HAVE_LIBARCHIVE
/* Appends a member of type 'x' with a record of the pax format, which holds for the member that follows. */
static long add_record(char *tar, const char *keyword, const char *value)
{
  char record[256];
  int length = (int)(strlen(keyword) + strlen(value) + 3), digits = length + 2 > 99 ? 3 : 2;
  snprintf(record, sizeof record, "%d %s=%s\n", length + digits, keyword, value);
  const long size = add_member(tar, "PaxHeaders/x", record);
  tar[156] = 'x';
  unsigned sum = 0;
  memset(tar + 148, ' ', 8);
  for (int i = 0; i < 512; i++) sum += (unsigned char)tar[i];
  sprintf(tar + 148, "%06o", sum);
  return size;
}

/* Archives in which a name is not ASCII, in UTF-8 as Python, bsdtar and macOS write them, or in another code. */
static void test_names(karst_context *context)
{
  static char tar[1 << 14];
  long size = add_record(tar, "path",
                         "m/Gr\xc3\xb6\xc3\x9f"
                         "en.txt");
  size += add_member(tar + size, "m/x", "notes");
  size += add_member(tar + size, "m/m.mtx", diagonal);
  memset(tar + size, 0, 1024);
  tap_ok(is_diagonal(context, tap_write("other.tar", tar, size + 1024)), "another member's name is not ASCII");
  size = add_record(tar, "uname", "j\xc3\xa9r\xc3\xb4me");
  size += add_member(tar + size, "m/m.mtx", diagonal);
  memset(tar + size, 0, 1024);
  tap_ok(is_diagonal(context, tap_write("owner.tar", tar, size + 1024)), "the owner's name is not ASCII");
  size = add_record(tar, "path", "m\xc3\xa9/m\xc3\xa9.mtx");
  size += add_member(tar + size, "m/x", diagonal);
  memset(tar + size, 0, 1024);
  tap_ok(is_diagonal(context, tap_write("member.tar", tar, size + 1024)), "the matrix's name is not ASCII");
  size = add_member(tar, "m\xe9/m\xe9.mtx", diagonal);
  memset(tar + size, 0, 1024);
  tap_ok(is_diagonal(context, tap_write("latin.tar", tar, size + 1024)), "nor UTF-8");
}
#else
static void test_names(karst_context *context)
{
  (void)context;
  tap_skip("built without libarchive", "names that are not ASCII");
}
#endif

int main(void)
{
  karst_context *context = tap_context();
  test_padding(context);
  test_binary(context);
  check_filter(context, ".xz", xz, sizeof xz);
  check_filter(context, ".zst", zstd, sizeof zstd);
  check_filter(context, ".bz2", bzip2, sizeof bzip2);
  test_letters(context);
  test_mark(context);
  test_names(context);
  karst_context_destroy(context);
  return tap_done();
}
