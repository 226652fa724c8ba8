/* A matrix or vector written in any format is read again the same to the last bit, with block size and padding. A file
 * that cannot be written is an error, and a failed allocation leaks nothing. */
#include "config.h"

#include "tests/support/failing_allocator.h"
#include "tests/support/problem.h"
#include "tests/support/refusal.h"

#include <float.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static bool same_bits(const double *a, const double *b, int64_t count)
{
  return count == 0 || memcmp(a, b, (size_t)count * sizeof *a) == 0;
}

/* Returns whether two matrices agree in every number of pattern, sizes and values. */
static bool same_matrix(const karst_matrix *A, const karst_matrix *B)
{
  double *a, *b;
  int64_t blocks = karst_matrix_blocks(A);
  if (A->block_rows != B->block_rows || A->block_size != B->block_size || A->rows_unpadded != B->rows_unpadded ||
      blocks != karst_matrix_blocks(B))
    return false;
  tap_need(A->context, karst_matrix_host_value(A, &a), "values");
  tap_need(B->context, karst_matrix_host_value(B, &b), "values");
  bool same = memcmp(A->row_start, B->row_start, ((size_t)A->block_rows + 1) * sizeof(karst_index)) == 0 &&
              memcmp(A->column, B->column, (size_t)blocks * sizeof(karst_index)) == 0 &&
              same_bits(a, b, karst_block_offset(A->block_size, blocks));
  karst_matrix_host_value_done(A, a);
  karst_matrix_host_value_done(B, b);
  return same;
}

/* Writes a matrix and reads it again; block size and padding must be kept. */
static void round_trip(karst_context *context, const karst_matrix *matrix, const char *file, const char *what)
{
  karst_matrix *read;
  karst_status status = karst_matrix_write(matrix, tap_scratch(file));
  int b = karst_matrix_block_size(matrix);
  if (status == KARST_ERROR_NOT_BUILT) {
    tap_skip(karst_context_error(context), "%s, b = %d, through %s", what, b, file);
    return;
  }
  tap_need(context, status, file);
  tap_need(context, karst_matrix_read(context, tap_scratch(file), 0, &read), file);
  tap_ok(same_matrix(matrix, read), "%s, b = %d, through %s", what, b, file);
  karst_matrix_destroy(read);
}

static void round_trips(karst_context *context, const karst_matrix *matrix, const char *what)
{
  round_trip(context, matrix, "trip.mtx", what);
  round_trip(context, matrix, "trip.mtx.gz", what);
  round_trip(context, matrix, "trip.kbsr", what);
  round_trip(context, matrix, "trip.kbsr.gz", what);
}

static void test_round_trips(karst_context *context)
{
  const int sizes[] = {1, 2, 3, 4, 7};
  karst_matrix *scalar = tap_random_matrix(context, 25, 1, 4, 0), *matrix;
  for (int i = 0; i < 5; i++) {
    matrix = tap_random_matrix(context, 20 + (karst_index)tap_random_index(20), sizes[i], 4, 1);
    round_trips(context, matrix, "a random matrix");
    karst_matrix_destroy(matrix);
    tap_need(context, karst_matrix_convert(scalar, sizes[i], &matrix), "convert");
    round_trips(context, matrix, "25 rows");
    karst_matrix_destroy(matrix);
  }
  karst_matrix_destroy(scalar);
}

/* These matrices have values that a shorter decimal would not restore, empty rows, or no rows. */
static void test_special_trips(karst_context *context)
{
  const karst_index row_start[] = {0, 4, 4, 8, 8}, column[] = {0, 1, 2, 3, 0, 1, 2, 3}, none[] = {0, 0, 0, 0, 0};
  const double value[] = {1.0 / 3, -0.0, 4.9406564584124654e-324, DBL_MAX, -DBL_MIN, 0.1, 1e-300, 9007199254740993.0};
  karst_matrix *matrix = matrix_of(context, 4, 1, row_start, column, value);
  round_trips(context, matrix, "extreme values and empty rows");
  karst_matrix_destroy(matrix);
  tap_need(context, karst_matrix_create(context, 4, 3, none, NULL, NULL, KARST_COPY, &matrix), "matrix");
  round_trips(context, matrix, "no entries");
  karst_matrix_destroy(matrix);
  tap_need(context, karst_matrix_create(context, 0, 2, none, NULL, NULL, KARST_COPY, &matrix), "matrix");
  round_trips(context, matrix, "no rows");
  karst_matrix_destroy(matrix);
}

/* The entries of a file may come in any order, also in rows that are long enough for the heap sort. */
static void test_shuffled(karst_context *context)
{
  enum { ROWS = 300 };
  karst_matrix *matrix = tap_random_matrix(context, ROWS, 1, 150, 0), *read;
  int64_t entries = karst_matrix_blocks(matrix);
  const karst_index *row_start = karst_matrix_row_start(matrix), *column = karst_matrix_column(matrix);
  const double *value = karst_matrix_value(matrix);
  int64_t *order = malloc((size_t)entries * sizeof *order), *row = malloc((size_t)entries * sizeof *row);
  FILE *stream = fopen(tap_scratch("shuffled.mtx"), "w");
  if (!order || !row || !stream) exit(99);
  for (karst_index i = 0; i < ROWS; i++)
    for (karst_index k = row_start[i]; k < row_start[i + 1]; k++) row[k] = i;
  for (int64_t k = 0; k < entries; k++) { /* Fisher and Yates */
    int64_t other = tap_random_index(k + 1);
    order[k] = order[other];
    order[other] = k;
  }
  fprintf(stream, "%s%d %d %lld\n", GENERAL, ROWS, ROWS, (long long)entries);
  for (int64_t k = 0; k < entries; k++)
    fprintf(stream, "%lld %lld %.17g\n", (long long)row[order[k]] + 1, (long long)column[order[k]] + 1,
            value[order[k]]);
  fclose(stream);
  free(order);
  free(row);
  tap_need(context, karst_matrix_read(context, tap_scratch("shuffled.mtx"), 1, &read), "shuffled");
  tap_ok(same_matrix(matrix, read), "%lld entries in random order give the sorted matrix", (long long)entries);
  karst_matrix_destroy(matrix);
  karst_matrix_destroy(read);
}

static void test_other_width(karst_context *context)
{
  const uint32_t bits = KARST_INDEX_BITS == 64 ? 32 : 64, head[] = {0x01020304, 1, bits, 2};
  const int64_t counts[] = {2, 4, 3}, wide[] = {0, 1, 3, 1, 0, 1};
  const int32_t narrow[] = {0, 1, 3, 0, 1, 0, 1, 0}; /* each array is padded to 8 bytes */
  const double value[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  const double dense[16] = {0, 0, 5, 6, 0, 0, 7, 8, 1, 2, 9, 10, 3, 4, 11, 12};
  char bytes[512] = "\x89KBSR\r\n\x1a";
  size_t indices = bits == 64 ? sizeof wide : sizeof narrow;
  memcpy(bytes + 8, head, sizeof head);
  memcpy(bytes + 24, counts, sizeof counts);
  memcpy(bytes + 48, bits == 64 ? (const void *)wide : (const void *)narrow, indices);
  memcpy(bytes + 48 + indices, value, sizeof value);
  const char *path = tap_write("other.kbsr", bytes, (long)(48 + indices + sizeof value));
  karst_matrix *matrix;
  tap_need(context, karst_matrix_read(context, path, 0, &matrix), "other width");
  double *read = tap_dense(matrix);
  tap_ok(same_bits(read, dense, 16), "a .kbsr file with %u-bit indices is read", bits);
  free(read);
  karst_matrix_destroy(matrix);
  bytes[48 + 3 * bits / 8 + (bits == 32 ? 4 : 0) + 3] = 1; /* the first column becomes 2^24 + 1 */
  refuse_matrix(context, tap_write("other.kbsr", bytes, (long)(48 + indices + sizeof value)), KARST_ERROR_FORMAT,
                "block row 0 has an entry in column", "a column out of range among them");
}

static void test_vector_trips(karst_context *context)
{
  const char *const files[] = {"trip_b.mtx", "trip_b.mtx.gz"};
  const int64_t lengths[] = {0, 1, 5000};
  karst_vector *vector, *read;
  for (int i = 0; i < 6; i++) {
    const char *file = files[i % 2];
    double norm = 1, length;
    vector = vector_random(context, lengths[i / 2], tap_seed());
    karst_status status = karst_vector_write(vector, tap_scratch(file));
    if (status == KARST_ERROR_NOT_BUILT) {
      tap_skip(karst_context_error(context), "a vector through %s", file);
    } else {
      tap_need(context, status, file);
      tap_need(context, karst_vector_read(context, tap_scratch(file), &read), file);
      length = vector_norm(vector);
      tap_need(context, karst_vector_add(-1, vector, read), "difference");
      norm = vector_norm(read);
      tap_ok(norm == 0 && karst_vector_length(read) == lengths[i / 2] && (length > 0) == (lengths[i / 2] > 0),
             "a vector of %lld through %s", (long long)lengths[i / 2], file);
      karst_vector_destroy(read);
    }
    karst_vector_destroy(vector);
  }
}

static void refuse_write(karst_context *context, const karst_matrix *matrix, const char *path, karst_status expected,
                         const char *says)
{
  karst_status status = karst_matrix_write(matrix, path);
  tap_ok(status == expected && strstr(karst_context_error(context), says), "not written: %s", says);
}

/* A limit of 20 bytes a file acts like a full disk: there is an error and no incomplete file. */
static void refuse_full(karst_context *context, const karst_matrix *matrix)
{
  const char *const files[] = {"full.mtx", "full.kbsr", "full.mtx.gz"};
  struct rlimit before;
  signal(SIGXFSZ, SIG_IGN);
  getrlimit(RLIMIT_FSIZE, &before);
  for (int i = 0; i < 3; i++) {
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){20, before.rlim_max});
    karst_status status = karst_matrix_write(matrix, tap_scratch(files[i]));
    setrlimit(RLIMIT_FSIZE, &before);
    if (status == KARST_ERROR_NOT_BUILT)
      tap_skip(karst_context_error(context), "not written: %s on a full disk", files[i]);
    else
      tap_ok(status == KARST_ERROR_FILE && strstr(karst_context_error(context), "cannot be written") &&
                 access(tap_scratch(files[i]), F_OK) != 0,
             "not written: %s on a full disk", files[i]);
  }
  signal(SIGXFSZ, SIG_DFL);
}

static void test_unwritable(karst_context *context)
{
  karst_matrix *matrix = tap_random_matrix(context, 3, 2, 1, 1);
  karst_vector *vector = vector_of(context, 3, 0);
  refuse_write(context, matrix, "matrix.csv", KARST_ERROR_ARGUMENT, "does not end in .mtx, .mtx.gz, .kbsr or .kbsr.gz");
  refuse_write(context, matrix, NULL, KARST_ERROR_ARGUMENT, "NULL");
  refuse_write(context, matrix, tap_scratch("absent/matrix.mtx"), KARST_ERROR_FILE, "cannot be created");
  tap_ok(karst_vector_write(vector, tap_scratch("absent/v.mtx")) == KARST_ERROR_FILE,
         "a vector into a missing directory");
  tap_ok(karst_vector_write(vector, NULL) == KARST_ERROR_ARGUMENT, "a vector without a path");
  refuse_full(context, matrix);
  tap_need(context, karst_vector_fill(vector, NAN), "fill");
  tap_ok(karst_vector_write(vector, tap_scratch("nan.mtx")) == KARST_ERROR_ARGUMENT &&
             strstr(karst_context_error(context), "entry 0 is not finite") && access(tap_scratch("nan.mtx"), F_OK) != 0,
         "a vector with NaN is not written");
  double *value = calloc((size_t)karst_matrix_blocks(matrix) * 4, sizeof *value);
  if (!value) exit(99);
  value[karst_matrix_row_start(matrix)[1] * 4] = INFINITY;
  tap_need(context, karst_matrix_update_values(matrix, value), "update");
  refuse_write(context, matrix, tap_scratch("inf.mtx"), KARST_ERROR_MATRIX, "a value in block row 1 is not finite");
  free(value);
  karst_vector_destroy(vector);
  karst_matrix_destroy(matrix);
}

/* Writes and reads a matrix and a vector. user: the ending of the matrix file. */
static karst_status write_and_read(karst_context *context, void *user)
{
  const karst_index row_start[] = {0, 2, 3, 5}, column[] = {0, 2, 1, 0, 2};
  const double value[] = {1, 2, 3, 4, 5};
  char file[64];
  karst_matrix *matrix = NULL, *read = NULL;
  karst_vector *vector = NULL, *second = NULL;
  karst_status status = karst_matrix_create(context, 3, 1, row_start, column, value, KARST_COPY, &matrix);
  snprintf(file, sizeof file, "memory%s", (const char *)user);
  if (!status) status = karst_matrix_write(matrix, tap_scratch(file));
  if (!status) status = karst_matrix_read(context, tap_scratch(file), 2, &read);
  if (!status) status = karst_vector_create(context, 3, &vector);
  if (!status) status = karst_vector_write(vector, tap_scratch("memory_b.mtx"));
  if (!status) status = karst_vector_read_beside(context, tap_scratch(file), &second);
  karst_vector_destroy(vector);
  karst_vector_destroy(second);
  karst_matrix_destroy(matrix);
  karst_matrix_destroy(read);
  return status;
}

static karst_status read_archive(karst_context *context, void *user)
{
  karst_matrix *matrix;
  karst_status status = karst_matrix_read(context, user, 0, &matrix);
  karst_matrix_destroy(matrix);
  return status;
}

static void test_memory(void)
{
  char market[] = ".mtx", packed[] = ".mtx.gz", binary[] = ".kbsr", packed_binary[] = ".kbsr.gz";
  fail_each_allocation(write_and_read, market, "Matrix Market");
  fail_each_allocation(write_and_read, binary, "the binary form");
#ifdef HAVE_ZLIB
  fail_each_allocation(write_and_read, packed, "Matrix Market in gzip");
  fail_each_allocation(write_and_read, packed_binary, "the binary form in gzip");
#else
  (void)packed, (void)packed_binary;
#endif
#if defined HAVE_LIBARCHIVE && defined HAVE_ZLIB
  char tar[2048], path[512];
  long size = add_member(tar, "m/m.mtx", GENERAL "1 1 1\n1 1 1\n");
  snprintf(path, sizeof path, "%s", tap_scratch("memory.tar.gz"));
  karst_context *context = tap_context();
  write_gzip(context, path, tar, size);
  karst_context_destroy(context);
  fail_each_allocation(read_archive, path, "an archive");
#else
  (void)read_archive;
#endif
}

static void test_device(karst_context *context)
{
  karst_matrix *matrix = tap_random_matrix(context, 30, 3, 4, 1);
  round_trips(context, matrix, "a random matrix");
  karst_matrix_destroy(matrix);
  test_vector_trips(context);
  test_unwritable(context);
}

int main(void)
{
  karst_context *context = tap_context();
  test_round_trips(context);
  test_special_trips(context);
  test_shuffled(context);
  test_other_width(context);
  karst_context_destroy(context);
  tap_each_device(test_device, "files");
  test_memory();
  return tap_done();
}
