/* Small files give the arrays and vectors in this test, numbers are read as by strtod, and a right-hand side is found
 * beside its matrix. */
#include "config.h"

#include "tests/support/problem.h"
#include "tests/support/refusal.h"

#include <dirent.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct example {
  const char *what, *text;
  int rows, block_size, blocks;
  double dense[9]; /* row by row */
} example;

#define MARKET "%%MatrixMarket matrix coordinate "

static const example examples[] = {
    {"general, in any order",
     MARKET "real general\n3 3 5\n3 1 -7\n2 2 2e0\n1 3 .5\n1 1 1\n3 3 3.\n",
     3,
     1,
     5,
     {1, 0, .5, 0, 2, 0, -7, 0, 3}},
    {"blank lines, comments, tabs, CR LF and no last line end",
     "%%matrixmarket MATRIX Coordinate Real General\r\n%\r\n\r\n%% more\r\n 3\t3 2 \r\n\r\n\t1  2 \t4.25 \r\n \r\n3 3 "
     "+1",
     3,
     1,
     2,
     {0, 4.25, 0, 0, 0, 0, 0, 0, 1}},
    {"symmetric", MARKET "real symmetric\n3 3 4\n1 1 1\n3 1 4\n2 2 2\n3 2 5\n", 3, 1, 6, {1, 0, 4, 0, 2, 5, 4, 5, 0}},
    {"skew-symmetric", MARKET "real skew-symmetric\n3 3 2\n2 1 4\n3 2 -5\n", 3, 1, 4, {0, -4, 0, 4, 0, 5, 0, -5, 0}},
    {"integer", MARKET "integer symmetric\n2 2 2\n1 1 12345678901\n2 1 -3\n", 2, 1, 3, {12345678901, -3, -3, 0}},
    {"Fortran's exponents", MARKET "real general\n2 2 2\n1 1 1.5D+03\n2 2 25d-2\n", 2, 1, 2, {1500, 0, 0, 0.25}},
    {"double", MARKET "double general\n1 1 1\n1 1 1e-3\n", 1, 1, 1, {1e-3}},
    {"empty rows", MARKET "real general\n3 3 1\n2 3 6\n", 3, 1, 1, {0, 0, 0, 0, 0, 6, 0, 0, 0}},
    {"no entries", MARKET "real general\n2 2 0\n", 2, 1, 0, {0}},
    {"an explicit zero", MARKET "real general\n2 2 2\n1 2 0\n2 1 1\n", 2, 1, 2, {0, 0, 1, 0}},
    {"blocks of 2",
     MARKET "real general\n% ISTL_STRUCT blocked 2 2\n2 2 3\n1 1 1\n1 2 2\n2 2 4\n",
     2,
     2,
     1,
     {1, 2, 0, 4}},
    {"blocks of 2 in 3 rows, padded",
     MARKET "real general\n%ISTL_STRUCT blocked 2 2\n3 3 2\n1 1 1\n1 3 2\n",
     4,
     2,
     3,
     {0}},
    {"another ISTL line", MARKET "real general\n% ISTL_STRUCT\n% ISTL_OTHER blocked 9 9\n1 1 1\n1 1 5\n", 1, 1, 1, {5}},
};

static bool equals_dense(const karst_matrix *matrix, const example *e)
{
  double *dense = tap_dense(matrix);
  bool same = true;
  for (int r = 0; r < e->rows; r++)
    for (int c = 0; c < e->rows; c++) same = same && dense[c * e->rows + r] == e->dense[r * e->rows + c];
  free(dense);
  return same;
}

static void test_examples(karst_context *context)
{
  karst_matrix *matrix;
  for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
    const example *e = &examples[i];
    tap_need(context, karst_matrix_read(context, tap_write("example.mtx", e->text, -1), 0, &matrix), e->what);
    tap_ok(karst_matrix_rows(matrix) == e->rows && karst_matrix_block_size(matrix) == e->block_size &&
               karst_matrix_blocks(matrix) == e->blocks && (e->rows == 4 || equals_dense(matrix, e)),
           "a small file: %s", e->what);
    karst_matrix_destroy(matrix);
  }
}

static void test_block_size(karst_context *context)
{
  const char *path = tap_write("blocked.mtx", MARKET "real general\n% ISTL_STRUCT blocked 2 2\n4 4 1\n4 4 5\n", -1);
  const int asked[] = {0, 1, 2, 3, 4}, got[] = {2, 1, 2, 3, 4}, unpadded = 4;
  for (int i = 0; i < 5; i++) {
    karst_matrix *matrix;
    tap_need(context, karst_matrix_read(context, path, asked[i], &matrix), "read");
    tap_ok(karst_matrix_block_size(matrix) == got[i] && karst_matrix_rows_unpadded(matrix) == unpadded &&
               karst_matrix_entries(matrix) == 1,
           "a file of blocks of 2, block size %d asked for: %d", asked[i], got[i]);
    karst_matrix_destroy(matrix);
  }
}

static bool same_bits(double a, double b)
{
  uint64_t bits_a, bits_b;
  memcpy(&bits_a, &a, sizeof a);
  memcpy(&bits_b, &b, sizeof b);
  return bits_a == bits_b;
}

/* Prints random numbers of every magnitude in several forms. The parser must agree with strtod to the bit. */
static void test_numbers(void)
{
  const char *const forms[] = {"%.17g", "%.15e", "%+.6f", "%g", "%.3E", "%.40e", "%.0f"};
  long wrong = 0, wrong_ends = 0;
  for (int i = 0; i < 70000; i++) {
    char text[400];
    double number = ldexp(tap_random(), i % 3 ? (int)tap_random_index(80) - 40 : (int)tap_random_index(2090) - 1070);
    double parsed = NAN;
    int length = snprintf(text, sizeof text, forms[i % 7], number);
    double expected = strtod(text, NULL);
    const char *end = karst_parse_real(text, &parsed);
    wrong += !same_bits(parsed, expected);
    wrong_ends += end != text + length;
  }
  tap_ok(wrong == 0 && wrong_ends == 0, "70000 random numbers are read as strtod reads them (%ld, %ld not)", wrong,
         wrong_ends);
  const char *const exact[] = {"0",
                               "-0",
                               "9007199254740993",
                               "1e22",
                               "1e23",
                               "4.9e-324",
                               "1e-400",
                               "1.7976931348623157e308",
                               "0.000000000000000000000000000000000001",
                               "123456789012345678901234567890",
                               "1e+0"};
  bool same = true;
  for (size_t i = 0; i < sizeof exact / sizeof *exact; i++) {
    double parsed, expected = strtod(exact[i], NULL);
    same = same && karst_parse_real(exact[i], &parsed) && same_bits(parsed, expected);
  }
  tap_ok(same, "numbers at the limits of double precision are read as strtod reads them");
}

/* Numbers in files may have Fortran's form; those of options may not, because programs read them with strtod. */
static void test_fortran(void)
{
  const char *const texts[][2] = {{"1.5D+03", "1.5e3"},
                                  {"1.5d3", "1.5e3"},
                                  {"-.25D-01", "-.25e-1"},
                                  {"0.12345678901234567890123D+02", "0.12345678901234567890123e2"},
                                  {"0.17976931348623157D+309", "0.17976931348623157e309"},
                                  {"0.1234567890123456-102", "0.1234567890123456e-102"},
                                  {"0.1234567890123456+103", "0.1234567890123456e103"},
                                  {"1e5", "1e5"},
                                  {"2.5E-310", "2.5e-310"}};
  const char *const wrong[] = {"1.5D", "1.5D+", "D3", "1.5D3.5", "1.5D3e2", "1.5DD3", "1.5-12", "1.5-1234", "1D400"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    double parsed = 0;
    const char *text = texts[i][0], *end = karst_parse_fortran(text, &parsed);
    tap_ok(end == text + strlen(text) && same_bits(parsed, strtod(texts[i][1], NULL)), "%s is %.17g", text, parsed);
  }
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    double parsed;
    tap_ok(!karst_parse_fortran(wrong[i], &parsed), "%s is no number", wrong[i]);
  }
  double parsed;
  tap_ok(!karst_parse_real("1D3", &parsed) && !karst_parse_real("1-103", &parsed), "options refuse Fortran's form");
}

static bool holds(const karst_vector *vector, int64_t length, const double *expected)
{
  double got[16] = {0};
  return vector && karst_vector_length(vector) == length && !karst_vector_get(vector, length, got) &&
         memcmp(got, expected, (size_t)length * sizeof *got) == 0;
}

static void test_vectors(karst_context *context)
{
  const double expected[] = {1, -2.5, 1e-3, 4};
  const char *const texts[] = {
      "1\n-2.5\n1e-3\n4\n", "0.1D+01\n-2.5d0\n1D-3\n4\n", "# x\n\n% y\n  1 \r\n-2.5\n# z\n\t1e-3\n4",
      "%%MatrixMarket matrix array real general\n% ISTL_STRUCT blocked 3 1\n4 1\n1\n\n-2.5\n1e-3\n4\n\n"};
  karst_vector *vector;
  for (int i = 0; i < 4; i++) {
    tap_need(context, karst_vector_read(context, tap_write("vector.txt", texts[i], -1), &vector), "vector");
    tap_ok(holds(vector, 4, expected), "a small vector, form %d", i);
    karst_vector_destroy(vector);
  }
  tap_need(context,
           karst_vector_read(
               context, tap_write("v.mtx", "%%MatrixMarket matrix array integer general\n2 1\n3\n-4\n", -1), &vector),
           "vector");
  tap_ok(holds(vector, 2, (const double[]){3, -4}), "a vector of integers");
  karst_vector_destroy(vector);
}

/* Finds NAME_b.mtx and NAME_b.mtx.gz beside NAME.mtx, NAME.mtx.gz and other endings. */
static void test_beside(karst_context *context)
{
  const double value = 7;
  karst_vector *vector;
  tap_write("alone.mtx", GENERAL "1 1 1\n1 1 1\n", -1);
  tap_ok(karst_vector_read_beside(context, tap_scratch("alone.mtx"), &vector) == KARST_SUCCESS && !vector,
         "a matrix without a vector beside it is valid");
  tap_write("pair.mtx", GENERAL "1 1 1\n1 1 1\n", -1);
  tap_write("pair.txt", "1\n", -1);
  tap_write("pair_b.mtx", "7\n", -1);
  tap_need(context, karst_vector_read_beside(context, tap_scratch("pair.mtx"), &vector), "beside");
  tap_ok(holds(vector, 1, &value), "NAME_b.mtx is found beside NAME.mtx");
  karst_vector_destroy(vector);
  tap_need(context, karst_vector_read_beside(context, tap_scratch("pair.txt"), &vector), "beside");
  tap_ok(holds(vector, 1, &value) && strcmp(karst_vector_source(vector), tap_scratch("pair_b.mtx")) == 0,
         "NAME_b.mtx is found beside NAME.txt, and its source is reported");
  karst_vector_destroy(vector);
  tap_write("wrong.mtx", GENERAL "1 1 1\n1 1 1\n", -1);
  tap_write("wrong_b.mtx", "seven\n", -1);
  tap_ok(karst_vector_read_beside(context, tap_scratch("wrong.mtx"), &vector) == KARST_ERROR_FORMAT && !vector &&
             strstr(karst_context_error(context), "wrong_b.mtx, line 1"),
         "a malformed vector beside a matrix is an error");
#ifdef HAVE_ZLIB
  write_gzip(context, tap_scratch("packed.mtx.gz"), GENERAL "1 1 1\n1 1 1\n", -1);
  write_gzip(context, tap_scratch("packed_b.mtx.gz"), "7\n", -1);
  tap_need(context, karst_vector_read_beside(context, tap_scratch("packed.mtx.gz"), &vector), "beside");
  tap_ok(holds(vector, 1, &value), "NAME_b.mtx.gz is found beside NAME.mtx.gz");
  karst_vector_destroy(vector);
#else
  tap_skip("built without zlib", "NAME_b.mtx.gz is found beside NAME.mtx.gz");
#endif
}

static int is_name(const struct dirent *entry) { return entry->d_name[0] != '.'; }

/* Counts the files in a folder. */
static int count_files(const char *folder)
{
  struct dirent **names;
  int count = scandir(folder, &names, is_name, NULL);
  for (int i = 0; i < count; i++) free(names[i]);
  if (count >= 0) free(names);
  return count;
}

/* Writes to a path in a child process whose files may have 100 bytes; returns whether it failed as expected. */
static bool fails_when_full(const karst_vector *vector, const char *path)
{
  int status = -1;
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){.rlim_cur = 100, .rlim_max = 100});
    _exit(karst_vector_write(vector, path) == KARST_ERROR_FILE ? 0 : 1);
  }
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

/* A write that fails leaves the folder as it was; one that succeeds keeps the permissions of the file. */
static void test_failed_write(karst_context *context)
{
  const char *const before = "what the user had\n";
  char folder[400], path[512], linked[512], text[64];
  struct stat file;
  karst_vector *vector = vector_of(context, 1000, 0);
  snprintf(folder, sizeof folder, "%s", tap_scratch("folder"));
  snprintf(path, sizeof path, "%s/x.mtx", folder);
  snprintf(linked, sizeof linked, "%s/link", folder);
  mkdir(folder, 0777);
  tap_ok(fails_when_full(vector, path) && count_files(folder) == 0, "a new file that cannot be finished is removed");
  FILE *stream = fopen(path, "w");
  if (stream) fputs(before, stream);
  if (stream) fclose(stream);
  chmod(path, 0640);
  bool failed = fails_when_full(vector, path);
  text[slurp(path, text, sizeof text - 1)] = '\0';
  tap_ok(failed && strcmp(text, before) == 0 && count_files(folder) == 1, "an existing file stays as it was");
  tap_need(context, karst_vector_fill(vector, NAN), "NaN");
  failed = karst_vector_write(vector, path) == KARST_ERROR_ARGUMENT;
  text[slurp(path, text, sizeof text - 1)] = '\0';
  tap_ok(failed && strcmp(text, before) == 0, "also if the vector is refused");
  tap_need(context, karst_vector_fill(vector, 1), "ones");
  tap_ok(!karst_vector_write(vector, path) && stat(path, &file) == 0 && file.st_size > 1000 &&
             (file.st_mode & 0777) == 0640 && count_files(folder) == 1,
         "a complete file replaces the old one and keeps its permissions");
  failed = symlink("x.mtx", linked) != 0 || karst_vector_write(vector, linked) || !fails_when_full(vector, linked);
  tap_ok(!failed && lstat(linked, &file) == 0 && S_ISLNK(file.st_mode), "a link stays a link");
  tap_ok(karst_vector_write(vector, "") == KARST_ERROR_FILE && karst_vector_write(vector, folder) == KARST_ERROR_FILE,
         "an empty path and a folder are refused");
  unlink(linked);
  unlink(path);
  rmdir(folder);
  karst_vector_destroy(vector);
}

#ifdef HAVE_LIBARCHIVE
/* Reads a matrix and a vector from an archive. */
static void check_archive(karst_context *context, const char *path, int64_t entries, const char *what)
{
  size_t length = strlen(path);
  const double expected[] = {3, 4};
  karst_matrix *matrix;
  karst_vector *vector;
  tap_need(context, karst_matrix_read(context, path, 0, &matrix), what);
  tap_need(context, karst_vector_read_beside(context, path, &vector), what);
  tap_ok(karst_matrix_blocks(matrix) == entries && holds(vector, 2, expected) &&
             strncmp(karst_vector_source(vector), path, length) == 0 &&
             strcmp(karst_vector_source(vector) + length, " (net_b.mtx)") == 0,
         "%s", what);
  karst_matrix_destroy(matrix);
  karst_vector_destroy(vector);
}

static void test_archive(karst_context *context)
{
  enum { ROWS = 20000 }; /* the member has more bytes than any buffer */
  static char tar[40 * ROWS], text[30 * ROWS];
  int length = sprintf(text, "%s%d %d %d\n", GENERAL, ROWS, ROWS, ROWS);
  for (int i = 1; i <= ROWS; i++) length += sprintf(text + length, "%d %d %d\n", i, i, i);
  long size = add_member(tar, "net/net_coord.mtx", "not for us");
  size += add_member(tar + size, "net/net_b.mtx", "3\n4\n");
  size += add_member(tar + size, "./net/net.mtx", text);
  memset(tar + size, 0, 1024);
  check_archive(context, tap_write("net.tar", tar, size + 1024), ROWS, "a tar archive");
#ifdef HAVE_ZLIB
  write_gzip(context, tap_scratch("renamed.tar.gz"), tar, size + 1024);
  check_archive(context, tap_scratch("renamed.tar.gz"), ROWS, "a compressed tar archive under another name");
#endif
}
#else
static void test_archive(karst_context *context)
{
  (void)context;
  tap_skip("built without libarchive", "a tar archive");
}
#endif

int main(void)
{
  karst_context *context = tap_context();
  test_examples(context);
  test_block_size(context);
  test_numbers();
  test_fortran();
  test_vectors(context);
  test_beside(context);
  test_failed_write(context);
  test_archive(context);
  karst_context_destroy(context);
  return tap_done();
}
