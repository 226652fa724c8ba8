/* Binary files of PETSc, written here byte by byte: matrices and vectors are read in both widths of integers, with
 * their block size and right-hand side. Damaged files and files of other kinds are refused with an error. */
#include "config.h"

#include "tests/support/failing_allocator.h"
#include "tests/support/refusal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MATRIX = 1211216, VECTOR = 1211214, INDEX_SET = 1211218, SIZE = 4096 };

/* A file that is being made. */
typedef struct bytes {
  int width; /* of integers */
  bool swapped;
  long count;
  char byte[SIZE];
} bytes;

/* Appends the lowest count bytes of the number, the highest first. */
static void append(bytes *to, uint64_t number, int count)
{
  for (int i = 0; i < count; i++)
    to->byte[to->count++] = (char)(number >> 8 * (to->swapped ? i : count - 1 - i) & 0xff);
}

static void put_integer(bytes *to, int64_t number) { append(to, (uint64_t)number, to->width); }

static void put_value(bytes *to, double value)
{
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  append(to, bits, sizeof bits);
}

enum { ROWS = 4, ENTRIES = 9 };
static const int lengths[ROWS] = {2, 3, 1, 3};
static const int columns[ENTRIES] = {0, 3, 0, 1, 2, 2, 3, 0, 2}; /* the last row is not sorted */
static const double values[ENTRIES] = {4, -1, 1e-3, 5, .5, 3, 7, 2, -6};
static const double right[ROWS] = {1, 2.5, -3, 1e10};

static void put_matrix(bytes *to)
{
  put_integer(to, MATRIX);
  put_integer(to, ROWS);
  put_integer(to, ROWS);
  put_integer(to, ENTRIES);
  for (int i = 0; i < ROWS; i++) put_integer(to, lengths[i]);
  for (int k = 0; k < ENTRIES; k++) put_integer(to, columns[k]);
  for (int k = 0; k < ENTRIES; k++) put_value(to, values[k]);
}

static void put_vector(bytes *to, int count)
{
  put_integer(to, VECTOR);
  put_integer(to, count);
  for (int i = 0; i < count; i++) put_value(to, right[i]);
}

/* Returns whether the matrix has the values above, whatever its block size. */
static bool is_matrix(const karst_matrix *A)
{
  double *dense = tap_dense(A);
  bool same = karst_matrix_rows_unpadded(A) == ROWS;
  const int64_t n = karst_matrix_rows(A);
  for (int i = 0, k = 0; i < ROWS; i++) {
    double row[ROWS] = {0};
    for (int end = k + lengths[i]; k < end; k++) row[columns[k]] = values[k];
    for (int j = 0; j < ROWS && same; j++) same = dense[i + n * j] == row[j];
  }
  free(dense);
  return same;
}

static bool is_vector(const karst_vector *vector)
{
  const double *value = karst_vector_const_values(vector);
  bool same = karst_vector_length(vector) == ROWS;
  for (int i = 0; i < ROWS && same; i++) same = value[i] == right[i];
  return same;
}

/* Reads the file with a block size, and checks the matrix and its blocks of the expected size. */
static bool reads(karst_context *context, const char *path, int block_size, int expected)
{
  karst_matrix *A = NULL;
  karst_status status = karst_matrix_read(context, path, block_size, &A);
  if (status) tap_note("%s", karst_context_error(context));
  bool right_one = !status && is_matrix(A) && karst_matrix_block_size(A) == expected;
  karst_matrix_destroy(A);
  return right_one;
}

static void test_read(karst_context *context, int width)
{
  bytes file = {.width = width}, both;
  karst_vector *b = NULL;
  put_matrix(&file);
  const char *path = tap_write("any.name", file.byte, file.count);
  tap_ok(reads(context, path, 0, 1), "a matrix with integers of %d bytes", width);
  tap_ok(!karst_vector_read_beside(context, path, &b) && !b, "it has no right-hand side");
  both = file;
  put_vector(&both, ROWS);
  path = tap_write("both", both.byte, both.count);
  tap_ok(reads(context, path, 2, 2), "one with a vector behind it, in blocks of 2");
  tap_ok(!karst_vector_read_beside(context, path, &b) && b && is_vector(b), "the vector is its right-hand side");
  tap_ok(b && strcmp(karst_vector_source(b), path) == 0, "which comes from the same file");
  karst_vector_destroy(b);
  put_vector(&both, 1);
  path = tap_write("three", both.byte, both.count);
  tap_ok(reads(context, path, 0, 1), "a third object is ignored");
  bytes lone = {.width = width};
  put_vector(&lone, ROWS);
  tap_ok(!karst_vector_read(context, tap_write("lone", lone.byte, lone.count), &b) && is_vector(b),
         "a vector in a file of its own");
  karst_vector_destroy(b);
  put_integer(&file, INDEX_SET);
  tap_write("x_b.mtx", "7\n8\n9\n10\n", -1);
  path = tap_write("x.petsc", file.byte, file.count);
  tap_ok(!karst_vector_read_beside(context, path, &b) && karst_vector_length(b) == 4 &&
             strstr(karst_vector_source(b), "x_b.mtx"),
         "without a vector in the file, one beside it is found");
  karst_vector_destroy(b);
}

/* Matrices without entries, and vectors without values. */
static void test_empty(karst_context *context)
{
  bytes file = {.width = 4};
  karst_matrix *A = NULL;
  karst_vector *b = NULL;
  for (int rows = 0; rows < 3; rows += 2) {
    file.count = 0;
    put_integer(&file, MATRIX);
    put_integer(&file, rows);
    put_integer(&file, rows);
    for (int i = 0; i <= rows; i++) put_integer(&file, 0);
    karst_status status = karst_matrix_read(context, tap_write("empty", file.byte, file.count), 0, &A);
    tap_ok(!status && karst_matrix_rows(A) == rows && karst_matrix_blocks(A) == 0, "%d empty rows", rows);
    karst_matrix_destroy(A);
  }
  file.count = 0;
  put_vector(&file, 0);
  tap_ok(!karst_vector_read(context, tap_write("empty", file.byte, file.count), &b) && karst_vector_length(b) == 0,
         "a vector without values");
  karst_vector_destroy(b);
}

/* The options beside the file, NAME.info, give the block size, also of NAME.gz. */
static void test_info(karst_context *context)
{
  bytes file = {.width = 4};
  put_matrix(&file);
  tap_write("i.info", "", 0);
  char name[512];
  snprintf(name, sizeof name, "%s", tap_write("i", file.byte, file.count));
  tap_ok(reads(context, name, 0, 1), "an empty file of options");
  tap_write("i.info", "-vecload_block_size 4\n-matload_block_sizes 3\n\n# two\n-matload_block_size 2\n", -1);
  tap_ok(reads(context, name, 0, 2), "options give the block size 2");
  tap_ok(reads(context, name, 3, 3), "the caller's block size has priority");
  tap_write("i.info", "-flow_matload_block_size\t2 \n", -1);
  tap_ok(reads(context, name, 0, 2), "an option with a prefix is used");
#ifdef HAVE_ZLIB
  snprintf(name, sizeof name, "%s", tap_scratch("i.gz"));
  write_gzip(context, name, file.byte, file.count);
  tap_ok(reads(context, name, 0, 2), "compressed, with the options of the name without .gz");
#endif
  static const char *const bad[] = {"0", "-3", "1025", "two", "2 3", ""};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    snprintf(name, sizeof name, "-matload_block_size %s\n", bad[i]);
    tap_write("i.info", name, -1);
    refuse_matrix(context, tap_scratch("i"), KARST_ERROR_FORMAT, "i.info, line 1: the block size '", bad[i]);
  }
}

static int notes;

static void count_notes(void *user, karst_message_kind kind, const char *text)
{
  (void)user;
  if (kind == KARST_MESSAGE_NOTE && strstr(text, "upper triangular")) notes++;
}

/* A file of a symmetric matrix holds its upper triangle of blocks, and the reader notes this. */
static void test_triangle(karst_context *context)
{
  static const int entry[] = {0, 1, 3, 0, 1, 2, 3, 2, 3}, length[] = {3, 2, 2, 2};
  bytes file = {.width = 4};
  karst_matrix *A;
  put_integer(&file, MATRIX);
  put_integer(&file, ROWS);
  put_integer(&file, ROWS);
  put_integer(&file, ENTRIES);
  for (int i = 0; i < ROWS; i++) put_integer(&file, length[i]);
  for (int k = 0; k < ENTRIES; k++) put_integer(&file, entry[k]);
  for (int k = 0; k < ENTRIES; k++) put_value(&file, 1);
  karst_context_set_message(context, count_notes, NULL);
  for (int b = 1; b < 3; b++) {
    notes = 0;
    tap_need(context, karst_matrix_read(context, tap_write("t", file.byte, file.count), b, &A), "a triangle");
    tap_ok(notes == (b == 2), "blocks of %d: %d notes", b, notes);
    karst_matrix_destroy(A);
  }
  karst_context_set_message(context, NULL, NULL);
}

/* A change of the file above: the integer at this place is replaced. */
typedef struct change {
  const char *what;
  int place;
  int64_t to;
  const char *says;
} change;

static const change changes[] = {
    {"another class", 0, INDEX_SET, "class id 1211218, but Karst expects a matrix (1211216)"},
    {"a vector", 0, VECTOR, "begins with a vector of PETSc, but Karst expects a matrix"},
    {"too few rows", 1, 3, "not square: 3 rows and 4 columns"},
    {"more columns", 2, 5, "not square: 4 rows and 5 columns"},
    {"negative rows", 1, -4, "announces -4 rows, 4 columns and 9 entries"},
    {"negative entries", 3, -9, "announces 4 rows, 4 columns and -9 entries"},
    {"a dense matrix", 3, -1, "the matrix is dense"},
    {"more entries", 3, 10, "4 rows and 10 entries are announced, but the file has only"},
    {"as many entries as 31 bits count", 3, INT32_MAX, "2147483647 entries are announced"},
    {"fewer entries", 3, 8, "row 3 has 3 entries, but all rows together have 8"},
    {"a shorter row", 4, 1, "the rows have 8 entries, but 9 are announced"},
    {"a negative row", 5, -1, "row 1 has -1 entries"},
    {"a row too long", 6, 100, "row 2 has 100 entries"},
    {"a column too large", 9, 4, "row 0 has an entry in column 4, which is out of range (0 to 3)"},
    {"a negative column", 16, -1, "row 3 has an entry in column -1"},
    {"a column twice", 16, 3, "row 3 has two entries in column 3"},
};

static void test_changed(karst_context *context, int width)
{
  bytes good = {.width = width}, bad;
  put_matrix(&good);
  tap_need(context, karst_context_set_duplicates(context, KARST_DUPLICATES_REFUSE), "duplicates");
  for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
    bad = good;
    bad.count = (long)changes[i].place * width;
    put_integer(&bad, changes[i].to);
    refuse_matrix(context, tap_write("bad", bad.byte, good.count), KARST_ERROR_FORMAT, changes[i].says,
                  changes[i].what);
  }
  tap_need(context, karst_context_set_duplicates(context, KARST_DUPLICATES_SUM), "duplicates");
  for (int place = 1; place < 4 && width == 8; place++) {
    bad = good;
    bad.count = (long)width;
    for (int i = 1; i < 4; i++) put_integer(&bad, i == place || place < 3 ? (int64_t)1 << 62 : 4);
    refuse_matrix(context, tap_write("bad", bad.byte, good.count), KARST_ERROR_FORMAT, "4611686018427387904",
                  "sizes of 2^62");
  }
}

/* The reader refuses a file cut anywhere, values of other kinds, and trailing bytes that are not a PETSc object. */
static void test_damaged(karst_context *context, int width)
{
  bytes good = {.width = width}, vector = {.width = width}, bad;
  karst_matrix *A;
  karst_vector *b;
  bool matrices = true, vectors = true;
  put_matrix(&good);
  put_vector(&vector, ROWS);
  for (long length = 0; length < good.count; length++)
    matrices = matrices && karst_matrix_read(context, tap_write("cut", good.byte, length), 0, &A) && !A &&
               karst_context_error(context)[0] &&
               (karst_vector_read_beside(context, tap_scratch("cut"), &b) || length < width) && !b;
  for (long length = 0; length < vector.count; length++)
    vectors = vectors && karst_vector_read(context, tap_write("cut", vector.byte, length), &b) == KARST_ERROR_FORMAT &&
              !b && karst_context_error(context)[0];
  tap_ok(matrices && vectors, "cut anywhere, with integers of %d bytes", width);
  bad = good;
  append(&bad, 0, 1);
  refuse_matrix(context, tap_write("bad", bad.byte, bad.count), KARST_ERROR_FORMAT, "do not end", "a byte behind it");
  bad = good;
  for (int k = 0; k < ENTRIES; k++) put_value(&bad, 0);
  refuse_matrix(context, tap_write("bad", bad.byte, bad.count), KARST_ERROR_FORMAT, "not complex", "complex values");
  refuse_matrix(context, tap_write("bad", good.byte, good.count - 4L * ENTRIES), KARST_ERROR_FORMAT, "single precision",
                "values of 4 bytes");
  const double infinite[] = {NAN, INFINITY, -INFINITY};
  for (int i = 0; i < 3; i++) {
    bad = good;
    bad.count -= 8;
    put_value(&bad, infinite[i]);
    refuse_matrix(context, tap_write("bad", bad.byte, bad.count), KARST_ERROR_FORMAT,
                  "the value in row 3, column 2 is not finite", "a value that is not finite");
    bad = vector;
    bad.count -= 8;
    put_value(&bad, infinite[i]);
    refuse_vector(context, tap_write("bad", bad.byte, bad.count), KARST_ERROR_FORMAT, "the value 3 is not finite",
                  "a vector that is not finite");
  }
  bad = (bytes){.width = width, .swapped = true};
  put_matrix(&bad);
  refuse_matrix(context, tap_write("bad", bad.byte, bad.count), KARST_ERROR_FORMAT, "little-endian", "little-endian");
  refuse_vector(context, tap_write("bad", good.byte, good.count), KARST_ERROR_FORMAT,
                "begins with a matrix of PETSc, but Karst expects a vector", "a matrix for a vector");
  bad = vector;
  bad.count = width;
  put_integer(&bad, -1);
  refuse_vector(context, tap_write("bad", bad.byte, vector.count), KARST_ERROR_FORMAT, "announces -1 values",
                "a negative length");
  bad.count = width;
  put_integer(&bad, width == 8 ? (int64_t)1 << 62 : INT32_MAX);
  refuse_vector(context, tap_write("bad", bad.byte, vector.count), KARST_ERROR_FORMAT, "values are announced",
                "a length beyond the file");
}

/* Announced values that a compressed file lacks take no memory. */
static void test_announced(karst_context *context, const struct failing_allocator *memory)
{
#ifdef HAVE_ZLIB
  static char packed[1 << 16];
  bytes file = {.width = 8};
  put_integer(&file, MATRIX);
  for (int i = 0; i < 2; i++) put_integer(&file, 1000000);
  put_integer(&file, 1000000);
  for (size_t i = (size_t)file.count; i < sizeof packed; i++) packed[i] = (char)tap_random_index(256);
  memcpy(packed, file.byte, (size_t)file.count);
  for (int i = 0; i < 8 * 4000; i++) packed[file.count + i] = i % 8 == 7; /* rows of one entry */
  write_gzip(context, tap_scratch("a.gz"), packed, sizeof packed);
  refuse_matrix(context, tap_scratch("a.gz"), KARST_ERROR_FORMAT, "entries, but all rows together have 1000000",
                "rows that the file lacks");
  tap_ok(memory->peak < 4 << 20, "at most %zu bytes were held", memory->peak);
#else
  (void)context, (void)memory;
#endif
}

/* Each allocation fails once. */
static void test_memory(karst_context *context, struct failing_allocator *memory)
{
  bytes file = {.width = 4};
  karst_matrix *A = NULL;
  karst_vector *b = NULL;
  bool right_one = true, done = false;
  put_matrix(&file);
  put_vector(&file, ROWS);
  const char *path = tap_write("m", file.byte, file.count);
  for (long i = 1; !done && right_one; i++) {
    memory->calls = 0;
    memory->fail_at = i;
    karst_status status = karst_matrix_read(context, path, 2, &A);
    if (!status) status = karst_vector_read_beside(context, path, &b);
    done = memory->calls < i;
    right_one = done ? !status && A && b : status == KARST_ERROR_NO_MEMORY && !b;
    karst_matrix_destroy(A);
    karst_vector_destroy(b);
  }
  memory->fail_at = 0;
  tap_ok(right_one, "each allocation may fail");
}

int main(void)
{
  struct failing_allocator memory = {0};
  karst_context *context = failing_context(&memory);
  for (int width = 4; width <= 8; width += 4) {
    test_read(context, width);
    test_changed(context, width);
    test_damaged(context, width);
  }
  test_empty(context);
  test_info(context);
  test_triangle(context);
  test_announced(context, &memory);
  test_memory(context, &memory);
  karst_context_destroy(context);
  tap_ok(memory.outstanding == 0, "all memory is released");
  return tap_done();
}
