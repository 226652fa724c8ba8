/* Memory is allocated for the contents of a file, not for the sizes in its header. A small file with a large header is
 * refused, or read if it is valid, within a few MiB. The library's allocations are counted. */
#include "config.h"

#include "tests/support/failing_allocator.h"
#include "tests/support/refusal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARRAY "%%MatrixMarket matrix array real general\n"

static const size_t limit = (size_t)48 << 20; /* bytes at once, including 4 MiB of 2^20 row starts and work arrays */

static void *allocate(void *user, size_t bytes)
{
  struct failing_allocator *memory = user;
  return memory->bytes + bytes > limit ? NULL : failing_allocator_allocate(user, bytes);
}

/* Appends more than a MiB of comments that gzip cannot shrink, from which the file's content could be a thousand times
 * as large. */
static const char *with_comments(const char *banner, const char *rest)
{
  enum { LINES = 20000, LENGTH = 80 };
  static char text[LINES * (LENGTH + 2) + 400];
  char *end = text + sprintf(text, "%s", banner);
  for (int i = 0; i < LINES; i++) {
    *end++ = '%';
    for (int c = 0; c < LENGTH; c++) *end++ = (char)('!' + tap_random_index(94));
    *end++ = '\n';
  }
  strcpy(end, rest);
  return text;
}

/* Refuses a matrix or a vector, plain and, if this build can read them, compressed and in a compressed archive. */
static void refuse(karst_context *context, const char *text, const char *says, const char *what,
                   void (*refuse_file)(karst_context *, const char *, karst_status, const char *, const char *))
{
  refuse_file(context, tap_write("plain.mtx", text, -1), KARST_ERROR_FORMAT, says, what);
#ifdef HAVE_ZLIB
  write_gzip(context, tap_scratch("packed.mtx.gz"), text, -1);
  refuse_file(context, tap_scratch("packed.mtx.gz"), KARST_ERROR_FORMAT, says, what);
#ifdef HAVE_LIBARCHIVE
  if (refuse_file != refuse_matrix) return;
  char *tar = calloc(strlen(text) + 4096, 1);
  if (!tar) return;
  write_gzip(context, tap_scratch("packed.tar.gz"), tar, add_member(tar, "m/m.mtx", text) + 1024);
  refuse_file(context, tap_scratch("packed.tar.gz"), KARST_ERROR_FORMAT, says, what);
  free(tar);
#endif
#endif
}

static void test_refused(karst_context *context)
{
  refuse(context, with_comments(GENERAL, "1000000000 1000000000 1\n1 1 1\n"), "1000000000 rows are announced",
         "a thousand million empty rows", refuse_matrix);
  refuse(context, with_comments(GENERAL, "9 9 100000000\n1 1 1\n"), "100000000 entries",
         "a hundred million entries that the file lacks", refuse_matrix);
  refuse(context, with_comments(ARRAY, "500000000 1\n1\n"), "500000000", "values that the file lacks", refuse_vector);
}

/* Reads 900 entries, each in a block of its own. */
static void test_blocks(karst_context *context)
{
  char text[60000] = GENERAL "% ISTL_STRUCT blocked 1024 1024\n921600 921600 900\n";
  karst_matrix *matrix;
  size_t used = strlen(text);
  for (int i = 0; i < 900; i++)
    used += (size_t)snprintf(text + used, sizeof text - used, "%d %d 1\n", 1024 * i + 1, 1024 * i + 1);
  refuse_matrix(context, tap_write("blocks.mtx", text, -1), KARST_ERROR_FORMAT, "block size 1024 that its header names",
                "blocks of 1024 with an entry each");
  karst_status status = karst_matrix_read(context, tap_scratch("blocks.mtx"), 1024, &matrix);
  tap_ok(status == KARST_ERROR_NO_MEMORY && !matrix, "the caller's block size is tried");
  status = karst_matrix_read(context, tap_scratch("blocks.mtx"), 1, &matrix);
  tap_ok(!status && karst_matrix_blocks(matrix) == 900 && karst_matrix_rows(matrix) == 921600,
         "without blocks the same file is read");
  karst_matrix_destroy(matrix);
}

/* Reads a file whose arrays grow in several steps. */
static void test_read(karst_context *context)
{
  enum { ROWS = 300000 };
  karst_matrix *matrix;
  karst_vector *vector;
  char *text = malloc(40 * (size_t)ROWS), *end = text;
  if (!text) return;
  end += sprintf(end, "%%%%MatrixMarket matrix coordinate real symmetric\n%d %d %d\n", ROWS, ROWS, 2 * ROWS - 1);
  for (int i = 1; i <= ROWS; i++) end += sprintf(end, "%d %d %d\n", i, i, i % 7 + 1);
  for (int i = 2; i <= ROWS; i++) end += sprintf(end, "%d %d -1\n", i, i - 1);
  tap_need(context, karst_matrix_read(context, tap_write("large.mtx", text, end - text), 0, &matrix), "a large file");
  const karst_index *start = karst_matrix_row_start(matrix), *column = karst_matrix_column(matrix);
  const double *value = karst_matrix_value(matrix);
  bool same = karst_matrix_blocks(matrix) == 3 * (int64_t)ROWS - 2;
  for (int i = 0; i < ROWS && same; i++) {
    karst_index k = start[i] + (i > 0);
    same = column[k] == i && value[k] == (i + 1) % 7 + 1 && start[i + 1] - k == 1 + (i < ROWS - 1) &&
           (i == 0 || (column[k - 1] == i - 1 && value[k - 1] == -1));
  }
  tap_ok(same, "a matrix whose arrays grow as it is read");
  karst_matrix_destroy(matrix);
  end = text + sprintf(text, "%s%d 1\n", ARRAY, ROWS);
  for (int i = 0; i < ROWS; i++) end += sprintf(end, "%d\n", i);
  tap_need(context, karst_vector_read(context, tap_write("large_vector.mtx", text, end - text), &vector), "a vector");
  const double *values = karst_vector_values(vector);
  same = karst_vector_length(vector) == ROWS;
  for (int i = 0; i < ROWS && same; i++) same = values[i] == i;
  tap_ok(same, "and a vector");
  karst_vector_destroy(vector);
  free(text);
}

int main(void)
{
  struct failing_allocator memory = {0};
  karst_allocator allocator = failing_allocator(&memory);
  karst_context *context;
  allocator.allocate = allocate;
  tap_need(NULL, karst_context_create(&allocator, &context), "context");
  test_refused(context);
  test_blocks(context);
  test_read(context);
  tap_note("%zu bytes were held at most", memory.peak);
  karst_context_destroy(context);
  tap_ok(memory.outstanding == 0, "all memory is released");
  return tap_done();
}
