/* Reading a file of scalars that form blocks gives a note with the block size, if the file does not state it. Other
 * files get no note: a dense or random matrix, one with a grid or a header, and one that is read in blocks already. */
#include "config.h"

#include "tests/support/problem.h"
#include "tests/support/refusal.h"

#include <stdlib.h>

static char note[256];

static void keep(void *user, karst_message_kind kind, const char *text)
{
  (void)user;
  if (kind == KARST_MESSAGE_NOTE && strstr(text, "looks like")) snprintf(note, sizeof note, "%s", text);
}

/* Reads a file with a block size (0: the file's own) and returns the size that the note states, 0 without a note. */
static int noted_size(karst_context *context, const char *path, int block)
{
  karst_matrix *A;
  note[0] = '\0';
  tap_need(context, karst_matrix_read(context, path, block, &A), path);
  karst_matrix_destroy(A);
  const char *size = strstr(note, "blocks of ");
  return size ? (int)strtol(size + strlen("blocks of "), NULL, 10) : 0;
}

/* Writes the entries of a matrix as scalars, in any blocks, without a header that names them. */
static const char *write_scalars(const karst_matrix *A, const char *file)
{
  const int b = karst_matrix_block_size(A);
  const karst_index *start = karst_matrix_row_start(A), *column = karst_matrix_column(A);
  const long long n = (long long)karst_matrix_rows(A), count = (long long)b * b * karst_matrix_blocks(A);
  FILE *stream = fopen(tap_scratch(file), "w");
  fprintf(stream, "%s%lld %lld %lld\n", GENERAL, n, n, count);
  for (karst_index i = 0; i < karst_matrix_block_rows(A); i++)
    for (int r = 0; r < b; r++)
      for (karst_index k = start[i]; k < start[i + 1]; k++)
        for (int c = 0; c < b; c++)
          fprintf(stream, "%lld %lld 1\n", (long long)b * i + r + 1, (long long)b * column[k] + c + 1);
  fclose(stream);
  return tap_scratch(file);
}

static void test_blocks(karst_context *context)
{
  for (int b = 1; b <= 10; b++) {
    /* The chain below keeps two block rows from having one pattern, which would make larger blocks. */
    const karst_index n = 30;
    karst_index start[31] = {0}, column[90];
    for (karst_index i = 0; i < n; i++) {
      karst_index end = start[i];
      for (karst_index j = i > 0 ? i - 1 : 0; j <= i + 1 && j < n; j++) column[end++] = j;
      start[i + 1] = end;
    }
    double *value = tap_memory((int64_t)start[n] * b * b, sizeof *value);
    karst_matrix *A;
    tap_need(context, karst_matrix_create(context, n, b, start, column, value, KARST_COPY, &A), "a chain");
    const char *path = write_scalars(A, "scalars.mtx");
    const int expected = b >= 2 && b <= 8 ? b : 0, found = noted_size(context, path, 0);
    tap_ok(found == expected && (expected == 0 || strstr(note, "--block ")), "blocks of %d: the note says %d", b,
           found);
    tap_ok(noted_size(context, path, b) == 0 && noted_size(context, path, 1) == 0, "no note if a block size is given");
    tap_need(context, karst_matrix_write(A, tap_scratch("header.mtx")), "write");
    if (b > 1) tap_ok(noted_size(context, tap_scratch("header.mtx"), 0) == 0, "no note if the header has the size");
    karst_matrix_destroy(A);
    free(value);
  }
}

/* Random blocks: the note has their size. */
static void test_random(karst_context *context)
{
  for (int trial = 0; trial < 10; trial++) {
    const int b = 1 + (int)tap_random_index(8);
    const karst_index n = 20 + (karst_index)tap_random_index(30);
    karst_matrix *A = tap_random_matrix(context, n, b, 4, 1);
    const int found = noted_size(context, write_scalars(A, "random.mtx"), 0);
    tap_ok(found == (b > 1 ? b : 0), "%d random block rows of %d: %d", (int)n, b, found);
    karst_matrix_destroy(A);
  }
}

static void test_others(karst_context *context)
{
  static const char *const problems[] = {"poisson2d:8x8", "poisson2d:2x20", "poisson2d:24x1", "poisson3d:4x4x4",
                                         "poisson3d:2x2x8"};
  for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
    karst_matrix *A = matrix_from(context, problems[i], 0);
    tap_ok(noted_size(context, write_scalars(A, "grid.mtx"), 0) == 0, "no note for %s", problems[i]);
    karst_matrix_destroy(A);
  }
  for (int n = 1; n <= 24; n++) {
    char text[12000];
    int used = sprintf(text, "%s%d %d %d\n", GENERAL, n, n, n * n);
    for (int k = 0; k < n * n; k++) used += sprintf(text + used, "%d %d 1\n", k / n + 1, k % n + 1);
    if (noted_size(context, tap_write("dense.mtx", text, used), 0) == 0) continue;
    tap_ok(false, "no note for a dense matrix of %d rows: %s", n, note);
  }
  tap_ok(noted_size(context, tap_write("dense.mtx", GENERAL "24 24 0\n", -1), 0) == 0, "no note for an empty matrix");
}

int main(void)
{
  karst_context *context;
  tap_need(NULL, karst_context_create(NULL, &context), "context");
  karst_context_set_message(context, keep, NULL);
  test_blocks(context);
  test_random(context);
  test_others(context);
  karst_context_destroy(context);
  return tap_done();
}
