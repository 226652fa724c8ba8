/* The grid of a matrix is kept in files: .kbsr files keep its map of cells, Matrix Market files only a grid without a
 * map. A grid that cannot belong to the matrix is refused, with its line. */
#include "config.h"

#include "tests/support/failing_allocator.h"
#include "tests/support/grids.h"
#include "tests/support/refusal.h"

#include <stdlib.h>

static const karst_index map[] = {4, 0, 7, 2, 3, 11, 6, 5}; /* from 8 block rows to 3x2x2 cells */

static char message[500]; /* the last message of the context */

static void keep_message(void *user, karst_message_kind kind, const char *text)
{
  (void)user;
  if (kind == KARST_MESSAGE_NOTE) snprintf(message, sizeof message, "%s", text);
}

/* Writes a matrix and reads it again. */
static karst_matrix *pass(karst_context *context, const karst_matrix *matrix, const char *file, int block_size)
{
  karst_matrix *read;
  message[0] = '\0';
  tap_need(context, karst_matrix_write(matrix, tap_scratch(file)), file);
  tap_need(context, karst_matrix_read(context, tap_scratch(file), block_size, &read), file);
  return read;
}

static void test_trips(karst_context *context)
{
  const int sizes[] = {1, 3};
  for (int i = 0; i < 2; i++) {
    karst_matrix *A = tap_random_matrix(context, 8, sizes[i], 2, 1), *read;
    tap_need(context, karst_matrix_set_grid(A, 2, 2, 2), "grid");
    read = pass(context, A, "grid.kbsr", 0);
    tap_ok(has_grid(read, 2, 2, 2, NULL) && !message[0], "b = %d: a grid through .kbsr", sizes[i]);
    karst_matrix_destroy(read);
    read = pass(context, A, "grid.mtx", 0);
    tap_ok(has_grid(read, 2, 2, 2, NULL) && !message[0], "b = %d: a grid through .mtx", sizes[i]);
    karst_matrix_destroy(read);
    tap_need(context, karst_matrix_set_grid_cells(A, 3, 2, 2, map), "map");
    read = pass(context, A, "grid.kbsr", 0);
    tap_ok(has_grid(read, 3, 2, 2, map) && !message[0], "b = %d: a map of cells through .kbsr", sizes[i]);
    karst_matrix_destroy(read);
    read = pass(context, A, "grid.mtx", 0);
    tap_ok(has_grid(read, 0, 0, 0, NULL) && strstr(message, "only .kbsr files can hold a map"),
           "b = %d: a note says that .mtx has no map: %s", sizes[i], message);
    karst_matrix_destroy(read);
    karst_matrix_destroy(A);
  }
}

/* 7 scalar rows are in 4 cells of 2, so that the last block is padded. */
static void test_padded(karst_context *context)
{
  const char *const files[] = {"padded.mtx", "padded.kbsr"};
  karst_matrix *scalar = tap_random_matrix(context, 7, 1, 2, 1), *A, *read;
  tap_need(context, karst_matrix_convert(scalar, 2, &A), "convert");
  tap_need(context, karst_matrix_set_grid(A, 4, 1, 1), "grid");
  for (int i = 0; i < 2; i++) {
    read = pass(context, A, files[i], 0);
    tap_ok(has_grid(read, 4, 1, 1, NULL) && karst_matrix_rows_unpadded(read) == 7, "a padded matrix through %s",
           files[i]);
    karst_matrix_destroy(read);
    read = pass(context, A, files[i], 1);
    tap_ok(has_grid(read, 0, 0, 0, NULL) &&
               strstr(message, "the grid is ignored, because its cells are not blocks of size 1"),
           "a note says that a reader of scalar rows ignores the grid: %s", message);
    karst_matrix_destroy(read);
  }
  karst_matrix_destroy(scalar);
  karst_matrix_destroy(A);
}

static void test_text(karst_context *context)
{
  static const char diagonal[] = "6 6 6\n1 1 1\n2 2 1\n3 3 1\n4 4 1\n5 5 1\n6 6 1\n";
  static const struct {
    const char *comments;
    int block_size;
    karst_index size[3];
    const char *what;
  } cases[] = {
      {"%%karst grid 3 2 1\n", 0, {3, 2, 1}, "a line of a grid"},
      {"%%KARST   Grid\t3  2\t 1  \n", 0, {3, 2, 1}, "in any spelling"},
      {"% ISTL_STRUCT blocked 2 2\n%%karst grid 1 3 1\n", 0, {1, 3, 1}, "with a block size"},
      {"%%karst grid 1 3 1\n% ISTL_STRUCT blocked 2 2\n", 0, {1, 3, 1}, "before the block size"},
      {"%%karst grid 2 1 1\n", 3, {2, 1, 1}, "with the caller's block size"},
      {"%%karst grid 2 1 1\n", 0, {0, 0, 0}, "without it there is no grid"},
      {"%%karst grid 6 1 1\n", 2, {0, 0, 0}, "nor with another block size"},
      {"%karst grid 0\n% karst grid x\n%%karst\n%%karst gridlock 7\n%%karst ISTL_STRUCT blocked 2 2\n",
       0,
       {0, 0, 0},
       "other comments give no grid"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[400];
    const karst_index *size = cases[i].size;
    karst_matrix *A;
    snprintf(text, sizeof text, "%s%s%s", GENERAL, cases[i].comments, diagonal);
    tap_need(context, karst_matrix_read(context, tap_write("text.mtx", text, -1), cases[i].block_size, &A), text);
    tap_ok(has_grid(A, size[0], size[1], size[2], NULL), "%s", cases[i].what);
    karst_matrix_destroy(A);
  }
}

static void test_refused_text(karst_context *context)
{
  static const struct {
    const char *comments, *says, *what;
  } cases[] = {
      {"%%karst grid 6 1 1\n%%karst grid 3 2 1\n", "line 3: the file gives a second grid", "two grids"},
      {"%%karst grid\n", "line 2: size 1 of the grid, '', is out of range (1 to", "no sizes"},
      {"%\n%%karst grid 3 2\n", "line 3: size 3 of the grid, '', is out of range (1 to", "two sizes"},
      {"%%karst grid 3 x 1\n", "line 2: size 2 of the grid, 'x', is out of range (1 to", "a word"},
      {"%%karst grid 3x2x1\n", "line 2: size 1 of the grid, '3x2x1', is out of range (1 to", "sizes in one word"},
      {"%%karst grid 0 2 1\n", "line 2: size 1 of the grid, '0', is out of range (1 to", "a size of 0"},
      {"%%karst grid 3 -2 1\n", "line 2: size 2 of the grid, '-2', is out of range (1 to", "a negative size"},
      {"%%karst grid 3 2 1 1\n", "line 2: unexpected '1' after the grid", "four sizes"},
      {"%%karst grid 99999999999999999999 3000000000000 30000000000000\n", "line 2: ", "sizes past 64 bits"},
      {"%%karst grid 2000000000 2000000000 2000000000\n", "line 2: a grid of 2000000000x2000000000x2000000000 has more",
       "a product past 64 bits"},
      {"%%karst grid 7 1 1\n%\n", "line 2: the grid 7x1x1 has 7 cells, where the file has 6 block rows", "more cells"},
      {"%\n%%karst grid 6 1 1\n% ISTL_STRUCT blocked 3 3\n",
       "line 3: the grid 6x1x1 has 6 cells, where the file has 2 block rows", "scalar rows for cells"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[400];
    snprintf(text, sizeof text, "%s%s6 6 1\n1 1 1\n", GENERAL, cases[i].comments);
    refuse_matrix(context, tap_write("text.mtx", text, -1), KARST_ERROR_FORMAT, cases[i].says, cases[i].what);
  }
}

#define INDEX_BYTES ((size_t)KARST_INDEX_BITS / 8)
/* The offset of the map of diag(1, ..., 8), behind both headers, 9 row starts, 8 columns and 8 values. */
#define CELL(i) (80 + (KARST_INDEX_BITS == 64 ? 17 * 8 : 40 + 32) + 64 + (i)*INDEX_BYTES)

static karst_matrix *make_diagonal(karst_context *context)
{
  karst_index row_start[9], column[8];
  double value[8];
  karst_matrix *A;
  for (int i = 0; i < 9; i++) row_start[i] = i;
  for (int i = 0; i < 8; i++) column[i] = i;
  for (int i = 0; i < 8; i++) value[i] = i + 1;
  tap_need(context, karst_matrix_create(context, 8, 1, row_start, column, value, KARST_COPY, &A), "matrix");
  return A;
}

/* A matrix without a grid is written in version 1, which other readers know. */
static void test_versions(karst_context *context)
{
  char first[1024], second[1024];
  karst_matrix *A = make_diagonal(context);
  uint32_t version;
  tap_need(context, karst_matrix_write(A, tap_scratch("plain.kbsr")), "write");
  long size = slurp(tap_scratch("plain.kbsr"), first, sizeof first);
  memcpy(&version, first + 12, sizeof version);
  tap_ok(version == 1 && size == (long)CELL(0) - 32, "a .kbsr file without a grid is of version 1");
  tap_need(context, karst_matrix_set_grid(A, 2, 2, 2), "grid");
  tap_need(context, karst_matrix_write(A, tap_scratch("grid.kbsr")), "write");
  size = slurp(tap_scratch("grid.kbsr"), second, sizeof second);
  memcpy(&version, second + 12, sizeof version);
  tap_ok(version == 2 && size == (long)CELL(0) && memcmp(first + 48, second + 80, (size_t)size - 80) == 0,
         "with one of version 2, the grid after the header");
  karst_matrix_destroy(A);
}

static void test_damaged(karst_context *context)
{
  static const struct {
    const char *what;
    size_t offset, width;
    int64_t value;
    karst_status status;
    const char *says;
  } changes[] = {
      {"no grid", 48, 8, 0, KARST_ERROR_FORMAT, "a grid of 0x2x2: each size is at least 1"},
      {"a negative size", 56, 8, -2, KARST_ERROR_FORMAT, "each size is at least 1"},
      {"a size past 63 bits", 64, 8, INT64_MIN, KARST_ERROR_FORMAT, "each size is at least 1"},
      {"a size of 2^62", 48, 8, INT64_C(1) << 62,
       KARST_INDEX_BITS == 64 ? KARST_ERROR_FORMAT : KARST_ERROR_INDEX_OVERFLOW, "-bit indices can count"},
      {"a product past the indices", 64, 8, KARST_INDEX_BITS == 64 ? INT64_MAX / 2 : INT32_MAX / 2, KARST_ERROR_FORMAT,
       "more cells than"},
      {"a map of another kind", 72, 8, 2, KARST_ERROR_FORMAT, "the flag of the grid's map is 2"},
      {"no map", 72, 8, 0, KARST_ERROR_FORMAT, "the grid has 12 cells and no map, but the matrix has 8 block rows"},
      {"fewer cells", 56, 8, 1, KARST_ERROR_FORMAT, "block row 2 is cell 7 of a grid that has 6"},
      {"a negative cell", CELL(3), INDEX_BYTES, -1, KARST_ERROR_FORMAT, "block row 3 is cell -1 of a grid that has 12"},
      {"a cell past the last", CELL(7), INDEX_BYTES, 12, KARST_ERROR_FORMAT, "block row 7 is cell 12"},
      {"a cell that comes twice", CELL(4), INDEX_BYTES, 4, KARST_ERROR_FORMAT,
       "block row 4 is cell 4 of the grid, which block row 0 is already"},
      {"version 1 with a grid", 12, 4, 1, KARST_ERROR_FORMAT, "do not fill"},
      {"version 3", 12, 4, 3, KARST_ERROR_FORMAT,
       "version 3 of the format is not supported: Karst reads versions 1 and 2"},
  };
  char good[1024], bad[1024];
  karst_matrix *A = make_diagonal(context);
  tap_need(context, karst_matrix_set_grid_cells(A, 3, 2, 2, map), "map");
  tap_need(context, karst_matrix_write(A, tap_scratch("good.kbsr")), "write");
  karst_matrix_destroy(A);
  long size = slurp(tap_scratch("good.kbsr"), good, sizeof good);
  tap_ok(size == (long)CELL(8), "a .kbsr file with a map has the size that its description says");
  for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
    const int32_t narrow = (int32_t)changes[i].value;
    memcpy(bad, good, (size_t)size);
    if (changes[i].width == 4)
      memcpy(bad + changes[i].offset, &narrow, 4);
    else
      memcpy(bad + changes[i].offset, &changes[i].value, 8);
    refuse_matrix(context, tap_write("bad.kbsr", bad, size), changes[i].status, changes[i].says, changes[i].what);
  }
  for (long length = 48; length < size; length += 7)
    refuse_matrix(context, tap_write("bad.kbsr", good, length), KARST_ERROR_FORMAT,
                  length < 80 ? "too early" : "do not fill", "a .kbsr file with a map cut short");
}

/* A file of the other width of indices than this build's, also in its map. */
static void test_other_width(karst_context *context)
{
  const uint32_t bits = KARST_INDEX_BITS == 64 ? 32 : 64, head[] = {0x01020304, 2, bits, 1};
  const int64_t counts[] = {3, 3, 3}, grid[] = {2, 2, 2, 1}, wide[] = {0, 1, 2, 3, 0, 1, 2, 6, 0, 5};
  const int32_t narrow[] = {0, 1, 2, 3, 0, 1, 2, 0, 6, 0, 5, 0};
  const karst_index cell[] = {6, 0, 5};
  const double value[] = {1, 2, 3};
  const void *indices = bits == 64 ? (const void *)wide : (const void *)narrow;
  size_t pattern = bits == 64 ? 56 : 32, cells = bits == 64 ? 24 : 16;
  char bytes[512] = "\x89KBSR\r\n\x1a";
  karst_matrix *A;
  memcpy(bytes + 8, head, sizeof head);
  memcpy(bytes + 24, counts, sizeof counts);
  memcpy(bytes + 48, grid, sizeof grid);
  memcpy(bytes + 80, indices, pattern);
  memcpy(bytes + 80 + pattern, value, sizeof value);
  memcpy(bytes + 80 + pattern + sizeof value, (const char *)indices + pattern, cells);
  const char *path = tap_write("other.kbsr", bytes, (long)(80 + pattern + sizeof value + cells));
  tap_need(context, karst_matrix_read(context, path, 0, &A), "other width");
  tap_ok(has_grid(A, 2, 2, 2, cell), "a map of %u-bit indices is read", bits);
  karst_matrix_destroy(A);
}

/* Writes a matrix with a map and reads it again. user: the ending of its file. */
static karst_status write_and_read(karst_context *context, void *user)
{
  const karst_index row_start[] = {0, 1, 2, 3}, column[] = {0, 1, 2}, cell[] = {2, 0, 5};
  const double value[] = {1, 2, 3};
  const char *file = user;
  karst_matrix *A = NULL, *read = NULL;
  karst_status status = karst_matrix_create(context, 3, 1, row_start, column, value, KARST_COPY, &A);
  if (!status && strcmp(file, "memory.mtx") == 0) status = karst_matrix_set_grid(A, 1, 3, 1);
  if (!status && strcmp(file, "memory.kbsr") == 0) status = karst_matrix_set_grid_cells(A, 3, 2, 1, cell);
  if (!status) status = karst_matrix_write(A, tap_scratch(file));
  if (!status) status = karst_matrix_read(context, tap_scratch(file), 0, &read);
  karst_matrix_destroy(A);
  karst_matrix_destroy(read);
  return status;
}

static void test_device(karst_context *context)
{
  karst_context_set_message(context, keep_message, NULL);
  test_trips(context);
  test_padded(context);
}

int main(void)
{
  char market[] = "memory.mtx", binary[] = "memory.kbsr";
  karst_context *context = tap_context();
  test_text(context);
  test_refused_text(context);
  test_versions(context);
  test_damaged(context);
  test_other_width(context);
  karst_context_destroy(context);
  tap_each_device(test_device, "grids in files");
  fail_each_allocation(write_and_read, market, "a grid in Matrix Market");
  fail_each_allocation(write_and_read, binary, "a map in the binary form");
  return tap_done();
}
