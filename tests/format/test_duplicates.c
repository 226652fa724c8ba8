/* Repeated entries of a matrix file are added up in the order of the file, to the last bit, in every format that can
 * have them, and a note counts them. With the rule to refuse them, the error has the line of the second. */
#include "config.h"

#include "tests/support/cli.h"
#include "tests/support/failing_allocator.h"
#include "tests/support/refusal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SYMMETRIC "%%MatrixMarket matrix coordinate real symmetric\n"
#define SKEW "%%MatrixMarket matrix coordinate real skew-symmetric\n"

static char note[256];

static void keep(void *user, karst_message_kind kind, const char *text)
{
  (void)user;
  if (kind == KARST_MESSAGE_NOTE && strstr(text, "the row and column of an earlier one"))
    snprintf(note, sizeof note, "%s", text);
}

/* Returns the count of the last file's note; 0 if there was no note. */
static long long repeats_noted(void)
{
  const char *number = strstr(note, ": ");
  return number ? strtoll(number + 2, NULL, 10) : 0;
}

/* Reads a file of n rows and compares all its values with dense, column by column, by their bits. */
static void reads(karst_context *context, const char *path, bool stored, int block, const double *dense,
                  long long repeats, const char *what)
{
  karst_matrix *A = NULL;
  note[0] = '\0';
  const karst_status status = (stored ? karst_matrix_read_stored : karst_matrix_read)(context, path, block, &A);
  if (status) {
    tap_ok(false, "%s: %s", what, karst_context_error(context));
    return;
  }
  double *got = tap_dense(A);
  const int64_t n = karst_matrix_rows_unpadded(A), size = karst_matrix_rows(A);
  bool same = true;
  for (int64_t j = 0; j < n; j++)
    for (int64_t i = 0; i < n; i++) same = same && memcmp(&got[i + j * size], &dense[i + j * n], sizeof *got) == 0;
  tap_ok(same && repeats_noted() == repeats, "%s: %lld repeats", what, repeats_noted());
  free(got);
  karst_matrix_destroy(A);
}

/* The sum 1e16 + 1 - 1e16 is 0, and 1 in other orders. */
static void test_order(karst_context *context)
{
  const double sum[] = {0, 0, 0, 1}, stored[] = {0, 0, 0, 2}, symmetric[] = {1, -3, -3, 0}, skew[] = {0, 3, -3, 0},
               triangle[] = {1, -3, 0, 0}, list[] = {3, 0, 0, 1};
  reads(context, tap_write("d.mtx", GENERAL "2 2 4\n1 1 1e16\n1 1 1\n2 2 1\n1 1 -1e16\n", -1), false, 0, sum, 2,
        "added in the order of the file");
  reads(context, tap_write("d.mtx", GENERAL "2 2 4\n1 1 1\n2 2 2\n1 1 -1\n1 1 0\n", -1), false, 0, stored, 2,
        "a sum of zero");
  reads(context, tap_write("d.mtx", SYMMETRIC "2 2 3\n2 1 -1\n1 1 1\n2 1 -2\n", -1), false, 0, symmetric, 1,
        "a symmetric file");
  reads(context, tap_write("d.mtx", SYMMETRIC "2 2 3\n2 1 -1\n1 1 1\n2 1 -2\n", -1), true, 0, triangle, 1,
        "its stored triangle");
  reads(context, tap_write("d.mtx", SKEW "2 2 2\n2 1 1\n2 1 2\n", -1), false, 0, skew, 1, "a skew-symmetric file");
  reads(context, tap_write("d.txt", "1 1 1\n2 2 1\n1 1 2\n", -1), false, 0, list, 1, "a list of entries");
  const double negative[] = {1, -0.0, 0, 1};
  karst_matrix *A;
  tap_need(context,
           karst_matrix_read(context, tap_write("d.mtx", GENERAL "2 2 4\n1 1 1\n2 1 -0.0\n2 2 2\n2 2 -1\n", -1), 0, &A),
           "read");
  tap_ok(memcmp(&karst_matrix_value(A)[1], &negative[1], sizeof(double)) == 0 && karst_matrix_blocks(A) == 3,
         "a single entry keeps its sign of zero");
  karst_matrix_destroy(A);
}

/* Random entries, each several times and in any order, in short and long rows, against sums in the file's order. */
static void test_random(karst_context *context)
{
  enum { LARGEST = 90 };
  static double dense[LARGEST * LARGEST];
  static const char *const kinds[] = {GENERAL, SYMMETRIC, SKEW};
  static bool seen[LARGEST * LARGEST];
  for (int trial = 0; trial < 12; trial++) {
    const int kind = trial % 3, n = 2 + (int)tap_random_index(LARGEST - 2), entries = 1 + (int)tap_random_index(20 * n);
    const int block = trial % 4 == 0 ? 0 : 1 + (int)tap_random_index(4);
    long long repeats = 0;
    memset(dense, 0, sizeof dense);
    memset(seen, 0, sizeof seen);
    FILE *file = fopen(tap_scratch("random.mtx"), "w");
    fprintf(file, "%s%d %d %d\n", kinds[kind], n, n, entries);
    for (int k = 0; k < entries; k++) {
      int i = (int)tap_random_index(n), j = (int)tap_random_index(k % 2 ? n : 1 + n / 8);
      if (kind == 2 && i == j) i = (j + 1) % n;
      if (kind > 0 && i < j) {
        const int other = i;
        i = j;
        j = other;
      }
      const double value = tap_random() * pow(10, (double)tap_random_index(20));
      fprintf(file, "%d %d %.17g\n", i + 1, j + 1, value);
      repeats += seen[i + j * n];
      seen[i + j * n] = true;
      dense[i + j * n] += value;
      if (kind > 0 && i != j) dense[j + i * n] += kind == 2 ? -value : value;
    }
    fclose(file);
    reads(context, tap_scratch("random.mtx"), false, block, dense, repeats, "random entries");
  }
}

/* PETSc's rows are added in the file's order, too: 1e16 + 1 - 1e16 in a row of three entries and one more. */
static void test_petsc(karst_context *context)
{
  static const double value[] = {1e16, 5, 1, -1e16, 7};
  static const unsigned char integers[] = {0x00, 0x12, 0x7b, 0x50, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0,
                                           5,    0,    0,    0,    4, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0,
                                           0,    0,    0,    0,    0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
  const double sum[] = {5, 0, 0, 7};
  char bytes[200];
  memcpy(bytes, integers, sizeof integers);
  for (int k = 0; k < 5; k++) {
    uint64_t bits;
    memcpy(&bits, &value[k], sizeof bits);
    for (int i = 0; i < 8; i++) bytes[sizeof integers + 8 * (size_t)k + (size_t)i] = (char)(bits >> (56 - 8 * i));
  }
  reads(context, tap_write("p.bin", bytes, (long)sizeof integers + 40), false, 0, sum, 2, "a matrix of PETSc");
}

static void test_packed(karst_context *context)
{
#ifdef HAVE_ZLIB
  const double sum[] = {0, 0, 0, 1};
  write_gzip(context, tap_scratch("d.mtx.gz"), GENERAL "2 2 4\n1 1 1e16\n1 1 1\n2 2 1\n1 1 -1e16\n", -1);
  reads(context, tap_scratch("d.mtx.gz"), false, 0, sum, 2, "a compressed file");
#ifdef HAVE_LIBARCHIVE
  static char tar[4096];
  long size = add_member(tar, "d/d.mtx", GENERAL "2 2 4\n1 1 1e16\n1 1 1\n2 2 1\n1 1 -1e16\n");
  memset(tar + size, 0, 1024);
  reads(context, tap_write("d.tar", tar, size + 1024), false, 0, sum, 2, "an archive");
#endif
#else
  (void)context;
  tap_skip("built without zlib", "a compressed file");
#endif
}

static void test_refused(karst_context *context)
{
  karst_matrix *A = (karst_matrix *)context;
  refuse_matrix(context, tap_write("d.mtx", GENERAL "1 1 3\n1 1 1e308\n1 1 -1e308\n1 1 inf\n", -1), KARST_ERROR_FORMAT,
                "line 5: the value 'inf'", "a value that is not finite");
  refuse_matrix(context, tap_write("d.mtx", GENERAL "1 1 3\n1 1 1e308\n1 1 1e308\n1 1 -1e308\n", -1),
                KARST_ERROR_FORMAT, "line 4: the entries (1, 1) add up to more", "a sum that overflows");
  tap_ok(karst_context_set_duplicates(context, (karst_duplicates)7) == KARST_ERROR_ARGUMENT &&
             karst_context_set_duplicates(NULL, KARST_DUPLICATES_SUM) == KARST_ERROR_ARGUMENT,
         "another rule, and no context");
  tap_need(context, karst_context_set_duplicates(context, KARST_DUPLICATES_REFUSE), "refuse");
  refuse_matrix(context, tap_write("d.mtx", GENERAL "2 2 3\n1 2 1\n\n2 2 1\n\n1 2 4\n", -1), KARST_ERROR_FORMAT,
                "line 7: the entry (1, 2) is repeated", "a repeated entry with the rule to refuse it");
  refuse_matrix(context, tap_write("d.mtx", SYMMETRIC "2 2 3\n2 1 1\n1 1 1\n2 1 1\n", -1), KARST_ERROR_FORMAT,
                "line 5: the entry (2, 1) is repeated", "a symmetric one");
  refuse_matrix(context, tap_write("d.txt", "1 1 1\n2 1 1\n1 1 2\n", -1), KARST_ERROR_FORMAT,
                "line 3: the entry (1, 1) is repeated", "one of a list");
  const karst_status status =
      karst_matrix_read_stored(context, tap_write("d.mtx", SYMMETRIC "2 2 2\n2 1 3\n2 1 3\n", -1), 0, &A);
  check_refusal(context, status, KARST_ERROR_FORMAT, A, "line 4: the entry (2, 1) is repeated", "a stored one");
  tap_need(context, karst_context_set_duplicates(context, KARST_DUPLICATES_SUM), "sum");
}

static karst_status read_file(karst_context *context, void *path)
{
  karst_matrix *A;
  const karst_status status = karst_matrix_read(context, path, 2, &A);
  karst_matrix_destroy(A);
  return status;
}

static void test_memory(void)
{
  char path[512];
  snprintf(path, sizeof path, "%s", tap_write("m.mtx", SYMMETRIC "3 3 4\n2 1 1\n1 1 1\n2 1 1\n3 3 1\n", -1));
  fail_each_allocation(read_file, path, "a file with entries that come twice");
}

static void test_commands(void)
{
  char path[512];
  if (!cli_has("solve")) {
    tap_skip("solve is not built", "--duplicates");
    return;
  }
  snprintf(path, sizeof path, "%s", tap_write("d.mtx", GENERAL "2 2 5\n1 1 1\n2 2 2\n1 1 3\n2 2 2\n2 2 4\n", -1));
  const struct cli_run *run = CLI_RUN("solve", path);
  tap_ok(run->status == 0 && strstr(run->err, "note: ") &&
             strstr(run->err, ": 3 entries have the row and column of an earlier one"),
         "solve adds them up and reports their number");
  run = CLI_RUN("solve", path, "--quiet");
  tap_ok(run->status == 0 && !run->err[0], "and says nothing with --quiet");
  run = CLI_RUN("solve", path, "--duplicates", "refuse");
  tap_ok(run->status == 2 && cli_is_one_sentence(run, "solve") && strstr(run->err, "line 5: the entry (1, 1)"),
         "--duplicates refuse");
  run = CLI_RUN("solve", path, "--duplicates", "average");
  tap_ok(run->status == 2 && cli_is_one_sentence(run, "solve") && strstr(run->err, "sum, refuse"), "another word");
  run = CLI_RUN("convert", path, "-");
  tap_ok(run->status == 0 && strcmp(run->out, GENERAL "2 2 2\n1 1 4\n2 2 8\n") == 0, "convert writes the sums");
  run = CLI_RUN("convert", path, "-", "--duplicates=refuse");
  tap_ok(run->status == 2 && !run->out[0], "or refuses");
  run = CLI_RUN("diff", path, path, "--duplicates=refuse");
  tap_ok(run->status == 2, "and so does diff");
}

int main(void)
{
  karst_context *context = tap_context();
  karst_context_set_message(context, keep, NULL);
  test_order(context);
  test_random(context);
  test_petsc(context);
  test_packed(context);
  test_refused(context);
  karst_context_destroy(context);
  test_memory();
  test_commands();
  return tap_done();
}
