/* Each malformed file is refused with the right status and one sentence that names file and place. There is no matrix
 * or vector, and nothing crashes or leaks. */
#include "config.h"

#include "tests/support/failing_allocator.h"
#include "tests/support/refusal.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define SYMMETRIC "%%MatrixMarket matrix coordinate real symmetric\n"
#define SKEW "%%MatrixMarket matrix coordinate real skew-symmetric\n"
#define ARRAY "%%MatrixMarket matrix array real general\n"
#define TAIL "\n2 2 1\n1 1 1\n"

/* The text of a file, and words that the sentence must contain. */
typedef struct malformed {
  const char *what, *text, *says;
} malformed;

static const malformed matrices[] = {
    {"an empty file", "", "empty"},
    {"blank lines alone", "\n \n\t\n", "empty"},
    {"no header", "2 2 1\n1 1 1\n", "line 1: unknown format"},
    {"one percent sign", "%MatrixMarket matrix coordinate real general" TAIL, "line 1: unknown format"},
    {"a banner run together", "%%MatrixMarketmatrix coordinate real general" TAIL, "line 1: unknown format"},
    {"a Rutherford-Boeing file", "1138 BUS   |1138_bus\n  1  2  3  4\nrsa  4 4 4 0\n", "line 1: unknown format"},
    {"a header cut short", "%%MatrixMarket matrix coordinate\n", "line 1: the header ends before one of real"},
    {"a vector object", "%%MatrixMarket vector coordinate real general" TAIL, "line 1: the header says 'vector'"},
    {"an unknown layout", "%%MatrixMarket matrix blocks real general" TAIL, "line 1: the header says 'blocks'"},
    {"a dense array", ARRAY "1 1\n1\n", "line 1: the file holds a dense array"},
    {"a pattern", "%%MatrixMarket matrix coordinate pattern general\n1 1 1\n1 1\n", "line 1: the file holds a pattern"},
    {"complex values", "%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 0\n", "line 1: the values are"},
    {"a Hermitian matrix", "%%MatrixMarket matrix coordinate complex hermitian" TAIL, "line 1: the values are complex"},
    {"real Hermitian", "%%MatrixMarket matrix coordinate real hermitian" TAIL, "line 1: the header says 'hermitian'"},
    {"an unknown field", "%%MatrixMarket matrix coordinate quaternion general" TAIL, "line 1: the header says 'quater"},
    {"no symmetry", "%%MatrixMarket matrix coordinate real" TAIL, "line 1: the header ends before one of general"},
    {"a word after the header", "%%MatrixMarket matrix coordinate real general dense" TAIL,
     "line 1: unexpected 'dense'"},
    {"no size line", GENERAL, "line 1: the file ends before its size line"},
    {"comments and no size line", GENERAL "% one\n% two\n", "line 3: the file ends before its size line"},
    {"no number of entries", GENERAL "2 2\n1 1 1\n", "line 2: the size line ends before the number of entries"},
    {"a word for a size", GENERAL "two 2 1\n", "line 2: the number of rows, 'two', is not an integer"},
    {"a fraction for a size", GENERAL "2 2.5 1\n", "line 2: the number of columns, '2.5', is not an integer"},
    {"negative rows", GENERAL "-2 -2 1\n", "line 2: the number of rows, -2, is negative"},
    {"negative entries", GENERAL "2 2 -1\n", "line 2: the number of entries, -1, is negative"},
    {"a size beyond 64 bits", GENERAL "2 2 99999999999999999999\n", "line 2: the number of entries, 9999"},
    {"a fourth size", GENERAL "2 2 1 7\n1 1 1\n", "line 2: unexpected '7' after the sizes"},
    {"more columns than rows", GENERAL "2 3 1\n1 1 1\n", "line 2: the matrix is not square: 2 rows and 3 columns"},
    {"entries for a larger file", GENERAL "9 9 81\n1 1 1\n", "line 2: 81 entries are announced"},
    {"2^62 entries", GENERAL "9 9 4611686018427387904\n1 1 1\n", "line 2: 4611686018427387904 entries"},
    {"rows for a larger file", GENERAL "2000000000 2000000000 1\n1 1 1\n",
     "line 2: 2000000000 rows are announced, too many for a matrix with so few entries (1)"},
    {"fewer entries than announced", GENERAL "2 2 3\n1 1 1\n2 2 1\n", "line 4: the file ends after 2 of 3 entries"},
    {"an entry too many", GENERAL "2 2 1\n1 1 1\n\n2 2 1\n", "line 5: the file goes on after the 1 entries announced"},
    {"row 0", GENERAL "2 2 1\n0 1 1\n", "line 3: the row index 0 is out of range (1 to 2)"},
    {"column 0", GENERAL "2 2 1\n1 0 1\n", "line 3: the column index 0 is out of range (1 to 2)"},
    {"a negative row", GENERAL "2 2 1\n-1 1 1\n", "line 3: the row index -1 is out of range"},
    {"a negative column", GENERAL "2 2 1\n1 -1 1\n", "line 3: the column index -1 is out of range"},
    {"a row past the last", GENERAL "2 2 1\n3 1 1\n", "line 3: the row index 3 is out of range (1 to 2)"},
    {"a column past the last", GENERAL "2 2 1\n1 3 1\n", "line 3: the column index 3 is out of range"},
    {"a row beyond 32 bits", GENERAL "2 2 1\n4294967297 1 1\n", "line 3: the row index 4294967297 is out of range"},
    {"a row beyond 64 bits", GENERAL "2 2 1\n18446744073709551617 1 1\n", "line 3: the row index 18446744073709551617"},
    {"a long row", GENERAL "2 2 1\n1111111111222222222233333333334444444444 1 1\n",
     "line 3: the row index 1111111111222"},
    {"a fraction for a row", GENERAL "2 2 1\n1.0 1 1\n", "line 3: the row index '1.0' is not an integer"},
    {"a word for a column", GENERAL "2 2 1\n1 one 1\n", "line 3: the column index 'one' is not an integer"},
    {"a row alone", GENERAL "2 2 1\n1\n", "line 3: the column index is missing"},
    {"no value", GENERAL "2 2 1\n1 1 \n", "line 3: the value is missing"},
    {"a word for a value", GENERAL "2 2 1\n1 1 pi\n", "line 3: the value 'pi' is not a finite number"},
    {"nan", GENERAL "2 2 2\n1 1 1\n2 2 nan\n", "line 4: the value 'nan' is not a finite number"},
    {"inf", GENERAL "2 2 1\n1 1 -inf\n", "line 3: the value '-inf' is not a finite number"},
    {"1e999", GENERAL "2 2 1\n1 1 1e999\n", "line 3: the value '1e999' is not a finite number"},
    {"an exponent of 20 digits", GENERAL "2 2 1\n1 1 1e99999999999999999999\n", "line 3: the value '1e99999"},
    {"letters behind a value", GENERAL "2 2 1\n1 1 1.5x\n", "line 3: the value '1.5x' is not"},
    {"a hexadecimal value", GENERAL "2 2 1\n1 1 0x10\n", "line 3: the value '0x10' is not"},
    {"a decimal comma", GENERAL "2 2 1\n1 1 1,5\n", "line 3: the value '1,5' is not"},
    {"an exponent without digits", GENERAL "2 2 1\n1 1 1e+\n", "line 3: the value '1e+' is not"},
    {"Fortran's exponent without digits", GENERAL "2 2 1\n1 1 1D+\n", "line 3: the value '1D+' is not"},
    {"Fortran's exponent too large", GENERAL "2 2 1\n1 1 1D+999\n", "line 3: the value '1D+999' is not a finite"},
    {"a point alone", GENERAL "2 2 1\n1 1 .\n", "line 3: the value '.' is not"},
    {"a sign alone", GENERAL "2 2 1\n1 1 -\n", "line 3: the value '-' is not"},
    {"control characters", GENERAL "2 2 1\n1 1 1\x1b[2J\n", "line 3: the value '1?[2J' is not"},
    {"an imaginary part", GENERAL "2 2 1\n1 1 1.5 0.5\n", "line 3: unexpected '0.5' after the value"},
    {"a comment among the entries", GENERAL "2 2 2\n1 1 1\n% two\n2 2 1\n", "line 4: the row index '%' is not"},
    {"an entry twice", GENERAL "2 2 3\n1 2 1\n\n2 2 1\n\n1 2 4\n", "line 7: the entry (1, 2) is repeated"},
    {"an entry three times", GENERAL "2 2 3\n2 1 1\n2 1 1\n2 1 1\n", "line 4: the entry (2, 1) is repeated"},
    {"a symmetric entry twice", SYMMETRIC "2 2 3\n2 1 1\n1 1 1\n2 1 1\n", "line 5: the entry (2, 1) is repeated"},
    {"symmetric, an upper entry", SYMMETRIC "2 2 1\n1 2 1\n",
     "line 3: the entry (1, 2) is above the diagonal of a sym"},
    {"symmetric, both triangles", SYMMETRIC "2 2 2\n2 1 1\n1 2 1\n", "line 4: the entry (1, 2) is above the diagonal"},
    {"skew, an upper entry", SKEW "2 2 1\n1 2 1\n", "line 3: the entry (1, 2) is above the diagonal of a skew-symm"},
    {"skew, a diagonal entry", SKEW "2 2 1\n2 2 0\n", "line 3: the entry (2, 2) is on the diagonal of a skew-symm"},
    {"integer with a fraction", "%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 1.5\n",
     "line 3: the val"},
    {"block size 0", GENERAL "% ISTL_STRUCT blocked 0 0" TAIL,
     "line 2: the block size '0' is out of range (1 to 1024)"},
    {"a negative block size", GENERAL "% ISTL_STRUCT blocked -3 -3" TAIL,
     "line 2: the block size '-3' is out of range"},
    {"block size 1025", GENERAL "% ISTL_STRUCT blocked 1025 1025" TAIL,
     "line 2: the block size '1025' is out of range"},
    {"half a block size", GENERAL "% ISTL_STRUCT blocked 3" TAIL, "line 2: the block size '' is out of range"},
    {"blocks that are not square", GENERAL "% ISTL_STRUCT blocked 3 2" TAIL, "line 2: blocks of 3 by 2 are not square"},
};

static const malformed vectors[] = {
    {"an empty file", "", "empty"},
    {"comments alone", "# nothing\n% here\n", "line 2: the file has no numbers"},
    {"a word", "1\ntwo\n3\n", "line 2: the value 'two' is not a finite number"},
    {"nan", "1\n\nnan\n", "line 3: the value 'nan' is not a finite number"},
    {"two numbers a line", "# x y\n1 2\n", "line 2: unexpected '2' after the value"},
    {"a sparse matrix", GENERAL "1 1 1\n1 1 1\n", "line 1: the file holds a sparse matrix"},
    {"a pattern", "%%MatrixMarket matrix array pattern general\n1 1\n1\n", "line 1: the file holds a pattern"},
    {"complex values", "%%MatrixMarket matrix array complex general\n1 1\n1 0\n", "line 1: the values are complex"},
    {"a symmetric array", "%%MatrixMarket matrix array real symmetric\n1 1\n1\n",
     "line 1: the header says 'symmetric'"},
    {"two columns", ARRAY "2 2\n1\n2\n3\n4\n", "line 2: the array has 2 columns"},
    {"a third size", ARRAY "2 1 2\n1\n2\n", "line 2: unexpected '2' after the sizes"},
    {"negative length", ARRAY "-2 1\n", "line 2: the number of rows, -2, is negative"},
    {"a length for a larger file", ARRAY "1000 1\n1\n", "line 2: 1000 entries are announced"},
    {"fewer values", ARRAY "3 1\n1\n2\n", "line 4: the file ends after 2 of 3 values"},
    {"a value too many", ARRAY "2 1\n1\n2\n3\n", "line 5: the file goes on after the 2 values announced"},
    {"an exponent twice", ARRAY "2 1\n1.5D+00\n1D2D3\n", "line 4: the value '1D2D3' is not a finite number"},
    {"an overflow", ARRAY "1 1\n-1e400\n", "line 3: the value '-1e400' is not a finite number"},
    {"integer with a fraction", "%%MatrixMarket matrix array integer general\n1 1\n0.5\n", "line 3: the value '0.5'"},
    {"Karst's binary form", "\x89KBSR\r\n\x1a", "line 1: the value '?KBSR' is not"},
};

static void test_texts(karst_context *context)
{
  tap_need(context, karst_context_set_duplicates(context, KARST_DUPLICATES_REFUSE), "duplicates");
  for (size_t i = 0; i < sizeof matrices / sizeof *matrices; i++)
    refuse_matrix(context, tap_write("bad.mtx", matrices[i].text, -1), KARST_ERROR_FORMAT, matrices[i].says,
                  matrices[i].what);
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
    refuse_vector(context, tap_write("bad_vector.mtx", vectors[i].text, -1), KARST_ERROR_FORMAT, vectors[i].says,
                  vectors[i].what);
  tap_need(context, karst_context_set_duplicates(context, KARST_DUPLICATES_SUM), "duplicates");
}

/* These files cannot be written as texts in a table. */
static void test_files(karst_context *context)
{
  static char text[400000];
  const char zero_byte[] = GENERAL "1 1 1\n1 1 1\0 2\n", elf[] = "\177ELF\2\1\1\0\0\0\0\n\0\0";
  refuse_matrix(context, tap_scratch("absent.mtx"), KARST_ERROR_FILE, "cannot be opened", "a file that does not exist");
  refuse_vector(context, tap_scratch("absent.mtx"), KARST_ERROR_FILE, "cannot be opened",
                "a vector that does not exist");
  refuse_matrix(context, "/tmp", KARST_ERROR_FILE, "is a directory", "a directory");
  refuse_vector(context, "/tmp", KARST_ERROR_FILE, "is a directory", "a directory for a vector");
  const char *pipe = tap_scratch("pipe.mtx");
  if (mkfifo(pipe, 0600) == 0) refuse_matrix(context, pipe, KARST_ERROR_FILE, "not a regular file", "a named pipe");
  refuse_matrix(context, tap_write("bad.mtx", zero_byte, sizeof zero_byte - 1), KARST_ERROR_FORMAT,
                "line 3: a zero byte", "a zero byte in an entry");
  refuse_matrix(context, tap_write("bad.mtx", elf, sizeof elf - 1), KARST_ERROR_FORMAT, "line 1: a zero byte",
                "a program");
  memset(text, ' ', sizeof text);
  memcpy(text, GENERAL, sizeof GENERAL - 1);
  refuse_matrix(context, tap_write("bad.mtx", text, sizeof text), KARST_ERROR_FORMAT, "line 2: the line is longer than",
                "a line of 400000 characters");
  char path[700];
  snprintf(path, sizeof path, "/tmp/%0690d.mtx", 0);
  refuse_matrix(context, path, KARST_ERROR_FILE, "000.mtx cannot be opened", "a name of 700 characters");
}

static void test_arguments(karst_context *context)
{
  const int sizes[] = {-1, 1025, INT_MIN, INT_MAX};
  const char *path = tap_write("good.mtx", GENERAL "1 1 1\n1 1 1\n", -1);
  karst_matrix *matrix = NULL;
  karst_vector *vector = NULL;
  for (int i = 0; i < 4; i++) {
    karst_status status = karst_matrix_read(context, path, sizes[i], &matrix);
    check_refusal(context, status, KARST_ERROR_ARGUMENT, matrix, "block size", "a block size out of range");
  }
  check_refusal(context, karst_matrix_read(context, NULL, 0, &matrix), KARST_ERROR_ARGUMENT, matrix, "NULL", "no path");
  check_refusal(context, karst_matrix_read(context, path, 0, NULL), KARST_ERROR_ARGUMENT, NULL,
                "the place for the matrix is NULL", "a NULL matrix");
  check_refusal(context, karst_vector_read(context, NULL, &vector), KARST_ERROR_ARGUMENT, vector, "NULL",
                "no path of a vector");
  check_refusal(context, karst_matrix_read_stored(context, path, 0, NULL), KARST_ERROR_ARGUMENT, NULL,
                "the place for the matrix is NULL", "a NULL matrix of a stored triangle");
  check_refusal(context, karst_vector_read_beside(context, NULL, &vector), KARST_ERROR_ARGUMENT, vector, "NULL",
                "no path of a matrix");
  check_refusal(context, karst_vector_read_beside(context, tap_scratch("absent.mtx"), &vector), KARST_ERROR_FILE,
                vector, "cannot be opened", "a vector beside a matrix that does not exist");
  tap_ok(karst_matrix_read(NULL, path, 0, &matrix) == KARST_ERROR_ARGUMENT &&
             karst_matrix_read(context, path, 0, NULL) == KARST_ERROR_ARGUMENT &&
             karst_vector_read(NULL, path, &vector) == KARST_ERROR_ARGUMENT &&
             karst_vector_read(context, path, NULL) == KARST_ERROR_ARGUMENT &&
             karst_vector_read_beside(context, path, NULL) == KARST_ERROR_ARGUMENT &&
             karst_matrix_write(NULL, path) == KARST_ERROR_ARGUMENT &&
             karst_vector_write(NULL, path) == KARST_ERROR_ARGUMENT,
         "NULL handles are refused");
}

/* A refusal releases all memory. */
static void test_leaks(void)
{
  struct failing_allocator memory = {0};
  karst_matrix *matrix;
  karst_vector *vector;
  karst_context *context = failing_context(&memory);
  tap_need(context, karst_context_set_duplicates(context, KARST_DUPLICATES_REFUSE), "duplicates");
  for (size_t i = 0; i < sizeof matrices / sizeof *matrices; i++)
    karst_matrix_read(context, tap_write("bad.mtx", matrices[i].text, -1), 0, &matrix);
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
    karst_vector_read(context, tap_write("bad_vector.mtx", vectors[i].text, -1), &vector);
  karst_context_destroy(context);
  tap_ok(memory.outstanding == 0, "refused files leak no memory");
}

int main(void)
{
  karst_context *context = tap_context();
  test_texts(context);
  test_files(context);
  test_arguments(context);
  karst_context_destroy(context);
  test_leaks();
  return tap_done();
}
