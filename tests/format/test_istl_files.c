/* Files of dune-istl: Matrix Market files with its block structure, lists of entries as writeMatrixToMatlab writes
 * them, the right-hand side beside a system that OPM Flow has dumped, and the parts of parallel runs. The triangle that
 * a symmetric file stores can be taken as the whole matrix. */
#include "config.h"

#include "tests/support/failing_allocator.h"
#include "tests/support/refusal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns whether the matrix has these rows, blocks and, row by row, entries. */
static bool is_matrix(const karst_matrix *A, int rows, int block_size, const double *entry)
{
  double *dense = tap_dense(A);
  bool same = karst_matrix_rows(A) == rows && karst_matrix_block_size(A) == block_size;
  for (int i = 0; i < rows && same; i++)
    for (int j = 0; j < rows && same; j++) same = dense[i + rows * j] == entry[rows * i + j];
  free(dense);
  return same;
}

static void reads(karst_context *context, const char *path, int rows, int block_size, const double *entry,
                  const char *what)
{
  karst_matrix *A = NULL;
  karst_status status = karst_matrix_read(context, path, 0, &A);
  if (!tap_ok(!status && is_matrix(A, rows, block_size, entry), "%s", what))
    tap_note("%s", karst_context_error(context));
  karst_matrix_destroy(A);
}

static void test_lists(karst_context *context)
{
  static const double two[] = {1, -2.5, 0, 4e-3}, one[] = {7};
  reads(context, tap_write("m", "1 1 1\n1 2 -2.5\n2 2 4e-3\n", -1), 2, 1, two, "a list of entries");
  reads(context, tap_write("m", "2 2 .004\n\n\t1\t2  -25e-1\r\n1 1 1 ", -1), 2, 1, two, "in any order and spacing");
  reads(context, tap_write("m", "1 1 7\n", -1), 1, 1, one, "a list of one entry");
  refuse_matrix(context, tap_write("m", "1 1 1\n0 1 1\n", -1), KARST_ERROR_FORMAT,
                "line 2: the row index 0 is out of range", "a list that counts from 0");
  refuse_matrix(context, tap_write("m", "1 1 1\n2 1 nan\n", -1), KARST_ERROR_FORMAT, "line 2: the value 'nan'",
                "a NaN in a list");
  refuse_matrix(context, tap_write("m", "1 1 1\n2 1\n", -1), KARST_ERROR_FORMAT, "line 2: the value is missing",
                "a list with a short line");
  refuse_matrix(context, tap_write("m", "1 1 1\n2 1 1 1\n", -1), KARST_ERROR_FORMAT,
                "line 2: unexpected '1' after the value", "a list with a long line");
  refuse_matrix(context, tap_write("m", "1 1 1\n% end\n", -1), KARST_ERROR_FORMAT, "line 2: the row index '%'",
                "a comment in a list");
  refuse_matrix(context, tap_write("m", "2 2 3\n1 1 1\n1 2 1\n2 1 1\n", -1), KARST_ERROR_FORMAT,
                "line 1: unknown format: a line of sizes", "a list that begins with sizes");
  refuse_matrix(context, tap_write("m", "1 1 1\n2000000000 1 1\n", -1), KARST_ERROR_FORMAT,
                "2000000000 rows are announced, too many", "a list of two entries far apart");
  refuse_matrix(context, tap_write("m", "1 1 1\n1 9223372036854775807 1\n", -1), KARST_ERROR_FORMAT,
                "line 2: the column index 9223372036854775807 is out of range", "an index beyond all");
  refuse_matrix(context, tap_write("m", "1\n2\n3\n", -1), KARST_ERROR_FORMAT, "unknown format", "a vector");
  refuse_vector(context, tap_write("m", "1 1 1\n", -1), KARST_ERROR_FORMAT, "unexpected '1' after the value",
                "for a vector");
}

/* A list whose arrays grow several times. */
static void test_long_list(karst_context *context)
{
  enum { ROWS = 20000 };
  karst_matrix *A = NULL;
  char *text = malloc(20 * (size_t)ROWS), *end = text;
  if (!text) return;
  for (int i = ROWS; i >= 1; i--) end += sprintf(end, "%d %d %d\n", i, i, i);
  tap_need(context, karst_matrix_read(context, tap_write("long", text, end - text), 0, &A), "a long list");
  bool same = karst_matrix_rows(A) == ROWS && karst_matrix_blocks(A) == ROWS;
  for (int i = 0; i < ROWS && same; i++)
    same = karst_matrix_column(A)[i] == i && karst_matrix_value(A)[i] == (double)i + 1;
  tap_ok(same, "a list of %d entries", ROWS);
  karst_matrix_destroy(A);
  free(text);
}

#define BLOCKS GENERAL "% ISTL_STRUCT blocked 2 2\n"
#define VECTOR "%%MatrixMarket matrix array real general\n% ISTL_STRUCT blocked 2 1\n"

/* Writes a system as OPM Flow dumps it. Returns whether the right-hand side is found. */
static bool finds(karst_context *context, const char *matrix, const char *rhs)
{
  karst_vector *b = NULL;
  if (rhs) tap_write(rhs, VECTOR "2 1\n3\n4\n", -1);
  const char *path = tap_write(matrix, BLOCKS "2 2 4\n1 1 5\n1 2 0\n2 1 1\n2 2 6\n", -1);
  tap_need(context, karst_vector_read_beside(context, path, &b), matrix);
  bool found = b && karst_vector_length(b) == 2 && karst_vector_const_values(b)[1] == 4;
  karst_vector_destroy(b);
  return found;
}

static void test_dumps(karst_context *context)
{
  static const double entry[] = {5, 0, 1, 6};
  tap_ok(finds(context, "prob_1_time_864.5__nit_0_matrix_istl.mm", "prob_1_time_864.5__nit_0_rhs_istl.mm"),
         "the right-hand side of a dump of OPM Flow");
  reads(context, tap_scratch("prob_1_time_864.5__nit_0_matrix_istl.mm"), 2, 2, entry, "and its matrix, in blocks");
  tap_ok(finds(context, "matrix_istl.txt", "rhs_istl.txt"), "one without a prefix");
  tap_ok(finds(context, "matrix_istl_matrix_istl_0.mm", "matrix_istl_rhs_istl_0.mm"), "the last such word is used");
  tap_ok(!finds(context, "a_matrix_istl.mm", NULL) && !finds(context, "a_matrix.mm", "a_rhs.mm"), "there may be none");
  tap_write("b_matrix_istl_b.mtx", "1\n2\n", -1);
  tap_ok(!finds(context, "b_matrix_istl.mm", "b_rhs_istl.mm"), "a file of the usual name has priority");
}

static int notes;

static void count_notes(void *user, karst_message_kind kind, const char *text)
{
  (void)user;
  if (kind == KARST_MESSAGE_NOTE && strstr(text, "one process of a parallel run")) notes++;
}

/* Returns the number of notes of reading the file. */
static int notes_of(karst_context *context, const char *name)
{
  karst_matrix *A = NULL;
  notes = 0;
  karst_context_set_message(context, count_notes, NULL);
  tap_need(context, karst_matrix_read(context, tap_write(name, BLOCKS "2 2 1\n1 1 5\n", -1), 0, &A), name);
  karst_context_set_message(context, NULL, NULL);
  karst_matrix_destroy(A);
  return notes;
}

static void test_parts(karst_context *context)
{
  tap_ok(notes_of(context, "p_0.mm") == 0, "the only part has no note");
  tap_ok(notes_of(context, "p_1.mm") == 1 && notes_of(context, "p_0.mm") == 1, "each of two parts has a note");
  tap_ok(notes_of(context, "p_10.mm") == 1, "so have all others");
  tap_ok(notes_of(context, "p.mm") == 0 && notes_of(context, "0.mm") == 0 && notes_of(context, "p_1.mtx") == 0,
         "files of other names have no note");
}

static void stored(karst_context *context, const char *text, int rows, const double *entry, const char *what)
{
  karst_matrix *A = NULL;
  karst_status status = karst_matrix_read_stored(context, tap_write("s.mtx", text, -1), 0, &A);
  if (!tap_ok(!status && is_matrix(A, rows, 1, entry), "%s", what)) tap_note("%s", karst_context_error(context));
  karst_matrix_destroy(A);
}

#define MARKET "%%MatrixMarket matrix coordinate real "

static void test_stored(karst_context *context)
{
  static const double lower[] = {4, 0, 0, -1, 5, 0, 0, 2, 6}, skew[] = {0, 0, 3, 0}, whole[] = {1, 2, 0, 3};
  karst_matrix *A = (karst_matrix *)context;
  stored(context, MARKET "symmetric\n3 3 5\n1 1 4\n2 1 -1\n2 2 5\n3 2 2\n3 3 6\n", 3, lower, "a symmetric triangle");
  stored(context, MARKET "skew-symmetric\n2 2 1\n2 1 3\n", 2, skew, "a skew-symmetric triangle");
  stored(context, MARKET "general\n2 2 3\n1 1 1\n1 2 2\n2 2 3\n", 2, whole, "a general file as it is");
  karst_status status =
      karst_matrix_read_stored(context, tap_write("s.mtx", MARKET "symmetric\n2 2 1\n1 2 3\n", -1), 0, &A);
  check_refusal(context, status, KARST_ERROR_FORMAT, A, "line 3: the entry (1, 2) is above the diagonal", "above it");
  status = karst_matrix_read_stored(context, NULL, 0, &A);
  check_refusal(context, status, KARST_ERROR_ARGUMENT, A, "the path of the matrix is NULL", "no path");
  status = karst_matrix_read_stored(context, "s.mtx", 1025, &A);
  check_refusal(context, status, KARST_ERROR_ARGUMENT, A, "block size 1025", "a block size too large");
  tap_ok(karst_matrix_read_stored(NULL, "s.mtx", 0, &A) == KARST_ERROR_ARGUMENT && !A &&
             karst_matrix_read_stored(context, "s.mtx", 0, NULL) == KARST_ERROR_ARGUMENT,
         "a NULL context, and a NULL matrix");
}

int main(void)
{
  struct failing_allocator memory = {0};
  karst_context *context = failing_context(&memory);
  test_lists(context);
  test_long_list(context);
  test_dumps(context);
  test_parts(context);
  test_stored(context);
  karst_context_destroy(context);
  tap_ok(memory.outstanding == 0, "all memory is released");
  return tap_done();
}
