/* rutherford_boeing.c - reads matrices in Rutherford-Boeing files and Harwell-Boeing files, their predecessor, through
 * RBio.
 *
 * I. Duff, R. Grimes, J. Lewis, The Rutherford-Boeing sparse matrix collection, 1997. A file has four header lines
 * (five in some Harwell-Boeing files), then column starts, row indices and values in compressed columns. The third
 * header line has the type in three letters: real, integer, pattern or complex; symmetric, unsymmetric, skew (z),
 * Hermitian or rectangular; assembled or elements.
 *
 * RBio separates numbers at blanks and ignores what follows a number in its field. Numbers without a blank between
 * them and other text would become wrong values, so that the words are checked first. The check also finds the line
 * number for errors, which RBio does not know. Fortran's D exponents, which it does not know either, become e in a copy
 * without a name. RBio is under the GPL, so that only the commands use it, and not the library. */
#include "config.h"

#include "tools/src/common/rutherford_boeing.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

bool is_rutherford_boeing(const char *path)
{
  static const char *const endings[] = {".rb", ".hb", ".rua", ".rsa", ".rza", ".rra", ".iua", ".isa", ".pua", ".psa"};
  const char *ending = strrchr(path, '.');
  char line[256], type[4], digit[2];
  for (size_t i = 0; ending && i < sizeof endings / sizeof endings[0]; i++)
    if (strcasecmp(ending, endings[i]) == 0) return true;
  FILE *file = fopen(path, "r");
  if (!file) return false;
  bool third = true;
  for (int number = 1; third && number <= 3; number++)
    third = fgets(line, sizeof line, file) != NULL && strchr(line, '\n') && line[0] != '%';
  fclose(file);
  return third && sscanf(line, "%3s %1[0-9]", type, digit) == 2 && strlen(type) == 3 &&
         strchr("rcpi", tolower((unsigned char)type[0])) && strchr("suhzr", tolower((unsigned char)type[1])) &&
         strchr("ae", tolower((unsigned char)type[2]));
}

#ifdef HAVE_SUITESPARSE
#include <RBio.h>

static const char *error_text(int64_t code)
{
  static const struct {
    int code;
    const char *text;
  } known[] = {
      {RBIO_CP_INVALID, "the column starts are not ascending, or do not end at the number of entries"},
      {RBIO_ROW_INVALID, "a row index is out of range"},
      {RBIO_DUPLICATE, "an entry is stored twice"},
      {RBIO_EXTRANEOUS, "a symmetric matrix has entries in its upper triangle"},
      {RBIO_TYPE_INVALID, "the type on line 3 is unknown"},
      {RBIO_DIM_INVALID, "lines 2 and 3 do not have sizes that fit the type"},
      {RBIO_JUMBLED, "the row indices of a column are not ascending"},
      {RBIO_UNSUPPORTED, "matrices stored as finite elements are not supported"},
      {RBIO_HEADER_IOERROR, "the file ends within the header"},
      {RBIO_CP_IOERROR, "the column starts are incomplete or contain something that is not an integer"},
      {RBIO_ROW_IOERROR, "the row indices are incomplete or contain something that is not an integer"},
      {RBIO_VALUE_IOERROR, "the values are incomplete or contain something that is not a number"},
      {RBIO_FILE_IOERROR, "the file cannot be opened"},
  };
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
    if (known[i].code == code) return known[i].text;
  return "RBio cannot read it";
}

/* Returns the first character of a line that is no part of a decimal number between blanks, or NULL. */
static const char *strange_character(const char *line)
{
  static const char blanks[] = " \r\n", digits[] = "0123456789";
  for (const char *p = line + strspn(line, blanks); *p; p += strspn(p, blanks)) {
    p += *p == '+' || *p == '-';
    size_t mantissa = strspn(p, digits);
    p += mantissa;
    if (*p == '.') {
      mantissa += strspn(++p, digits);
      p += strspn(p, digits);
    }
    if (mantissa == 0) return p;
    if (*p && strchr("eEdD", *p)) {
      p++;
      p += *p == '+' || *p == '-';
      if (!isdigit((unsigned char)*p)) return p;
      p += strspn(p, digits);
    }
    if (*p && !strchr(blanks, *p)) return p;
  }
  return NULL;
}

/* Whether a line, of those from 1, is of the header; a fifth one begins with the type of the right-hand side. */
static bool is_header(long long number, const char *line)
{
  return number <= 4 || (number == 5 && strchr("FfMm", line[0]));
}

/* fortran: whether numbers have Fortran's D exponents. */
static int check_numbers(const char *path, bool *fortran)
{
  char *line = NULL;
  size_t capacity = 0;
  int status = TOOL_GO_ON;
  FILE *file = fopen(path, "r");
  if (!file) return tool_fail(TOOL_FAILED, "%s: %s", path, strerror(errno));
  for (long long number = 1; status == TOOL_GO_ON && getline(&line, &capacity, file) >= 0; number++) {
    if (is_header(number, line)) continue;
    const char *strange = strange_character(line);
    *fortran = *fortran || strpbrk(line, "dD");
    if (!strange) continue;
    status = tool_fail(TOOL_FAILED, "%s, line %lld, column %td: numbers must be decimal and separated by blanks", path,
                       number, strange - line + 1);
  }
  if (status == TOOL_GO_ON && ferror(file)) status = tool_fail(TOOL_FAILED, "%s: %s", path, strerror(errno));
  free(line);
  fclose(file);
  return status;
}

/* Copies a file to one that has e in the place of d and D. */
static int copy_with_e(const char *path, FILE *copy)
{
  char *line = NULL;
  size_t capacity = 0;
  FILE *file = fopen(path, "r");
  if (!file) return tool_fail(TOOL_FAILED, "%s: %s", path, strerror(errno));
  for (long long number = 1; getline(&line, &capacity, file) >= 0; number++) {
    for (char *letter = line; !is_header(number, line) && (letter = strpbrk(letter, "dD"));) *letter = 'e';
    fputs(line, copy);
  }
  const bool read = !ferror(file);
  free(line);
  fclose(file);
  if (read && fflush(copy) == 0 && !ferror(copy)) return TOOL_GO_ON;
  return tool_fail(TOOL_FAILED, "%s cannot be copied: %s", path, strerror(errno));
}

/* Refuses sizes on line 3 that are too large for the file, because RBio allocates its arrays by them. Each start, index
 * and value takes a character and a blank in the file, and a square matrix has as many rows as columns. */
static int check_sizes(const char *path)
{
  char line[256], type[4];
  long long rows = 0, columns = 0, entries = 0;
  struct stat info;
  FILE *file = fopen(path, "r");
  if (!file || fstat(fileno(file), &info) != 0) {
    if (file) fclose(file);
    return tool_fail(TOOL_FAILED, "%s: %s", path, strerror(errno));
  }
  bool third = true;
  for (int number = 1; third && number <= 3; number++) third = fgets(line, sizeof line, file) != NULL;
  fclose(file);
  if (!third || sscanf(line, "%3s %lld %lld %lld", type, &rows, &columns, &entries) != 4) return TOOL_GO_ON;
  long long most = (long long)info.st_size / 2;
  if (rows <= most + (1 << 20) && columns <= most && entries <= most) return TOOL_GO_ON;
  return tool_fail(TOOL_FAILED, "%s, line 3: %lld rows, %lld columns and %lld entries do not fit %lld bytes", path,
                   rows, columns, entries, (long long)info.st_size);
}

/* Reports the first line with a number that overflows double precision, which RBio has read as infinity. path: the file
 * or its copy. */
static int refuse_infinity(const char *name, const char *path)
{
  char *line = NULL, *end;
  size_t capacity = 0;
  long long number = 0, found = 0;
  FILE *file = fopen(path, "r");
  while (file && !found && getline(&line, &capacity, file) >= 0) {
    if (++number <= 4) continue;
    for (const char *word = line; !found; word = end) {
      if (isinf(strtod(word, &end))) found = number;
      if (end == word) break;
    }
  }
  free(line);
  if (file) fclose(file);
  return tool_fail(TOOL_FAILED, "%s, line %lld: a value is not a finite number", name, found);
}

/* Turns compressed columns with ascending rows into compressed rows with ascending columns. */
static int transpose(karst_context *context, int64_t n, const int64_t *start, const int64_t *row, const double *value,
                     karst_matrix **matrix)
{
  karst_index rows = (karst_index)n;
  size_t entries = (size_t)start[n];
  karst_index *row_start = calloc((size_t)n + 2, sizeof *row_start);
  karst_index *column = calloc(entries + 1, sizeof *column); /* one more, because there may be no entries */
  double *transposed = calloc(entries + 1, sizeof *transposed);
  int status = TOOL_GO_ON;
  if (!row_start || !column || !transposed) {
    status = tool_fail_memory("the matrix");
    goto clean_up;
  }
  karst_index *next = row_start + 1; /* next[i] moves from the start of row i to the start of row i + 1 */
  for (int64_t k = 0; k < start[n]; k++) next[row[k] + 1]++;
  for (karst_index i = 0; i < rows; i++) next[i + 1] += next[i];
  for (karst_index j = 0; j < rows; j++)
    for (int64_t k = start[j]; k < start[j + 1]; k++) {
      karst_index to = next[row[k]]++;
      column[to] = j;
      transposed[to] = value[k];
    }
  if (karst_matrix_create(context, rows, 1, row_start, column, transposed, KARST_COPY, matrix))
    status = tool_fail_library(context, KARST_ERROR_MATRIX);
clean_up:
  free(row_start);
  free(column);
  free(transposed);
  return status;
}

/* What RBread reads from a file: sizes, kind (0 real, 1 pattern, 2 and 4 complex, 3 integer), compressed columns. */
struct content {
  int64_t rows, columns, kind;
  int64_t *start, *row;
  double *value;
};

static int take_over(karst_context *context, const char *path, const char *copy, const struct content *content,
                     karst_matrix **matrix)
{
  const int64_t limit = KARST_INDEX_BITS == 64 ? INT64_MAX : INT32_MAX;
  if (content->kind == 1) return tool_fail(TOOL_FAILED, "%s: a pattern without values cannot be solved", path);
  if (content->kind != 0 && content->kind != 3) return tool_fail(TOOL_FAILED, "%s: the values are complex", path);
  if (content->rows != content->columns)
    return tool_fail(TOOL_FAILED, "%s: the matrix is not square: %lld rows, %lld columns", path,
                     (long long)content->rows, (long long)content->columns);
  if (content->rows >= limit || content->start[content->rows] > limit)
    return tool_fail(TOOL_FAILED, "%s: more entries than 32 bits can count: configure with --enable-int64", path);
  for (int64_t k = 0; k < content->start[content->rows]; k++)
    if (!isfinite(content->value[k])) return refuse_infinity(path, copy);
  return transpose(context, content->rows, content->start, content->row, content->value, matrix);
}

/* Reads the file that path names. name: for sentences. */
static int read_numbers(karst_context *context, const char *name, const char *path, karst_matrix **matrix)
{
  char title[73], key[9], type[4];
  int64_t symmetry, size, zeros;
  struct content content = {0};
  char *writable = strdup(path); /* RBio takes no const */
  if (!writable) return tool_fail_memory("a file name");
  int64_t code = RBread(writable, true, 0, title, key, type, &content.rows, &content.columns, &content.kind, &symmetry,
                        &size, &zeros, &content.start, &content.row, &content.value, NULL, NULL, NULL);
  free(writable);
  int status = TOOL_GO_ON;
  if (code == RBIO_OUT_OF_MEMORY)
    status = tool_fail_memory(name);
  else if (code)
    status = tool_fail(TOOL_FAILED, "%s: %s", name, error_text(code));
  else
    status = take_over(context, name, path, &content, matrix);
  free(content.start);
  free(content.row);
  free(content.value);
  return status;
}

int read_rutherford_boeing(karst_context *context, const char *path, karst_matrix **matrix)
{
  char descriptor[32];
  bool fortran = false;
  *matrix = NULL;
  int status = check_sizes(path);
  if (status == TOOL_GO_ON) status = check_numbers(path, &fortran);
  if (status != TOOL_GO_ON || !fortran)
    return status == TOOL_GO_ON ? read_numbers(context, path, path, matrix) : status;
  FILE *copy = tmpfile();
  if (!copy) return tool_fail(TOOL_FAILED, "%s cannot be copied: %s", path, strerror(errno));
  snprintf(descriptor, sizeof descriptor, "/dev/fd/%d", fileno(copy));
  status = copy_with_e(path, copy);
  if (status == TOOL_GO_ON) status = read_numbers(context, path, descriptor, matrix);
  fclose(copy);
  return status;
}

#else

int read_rutherford_boeing(karst_context *context, const char *path, karst_matrix **matrix)
{
  (void)context;
  *matrix = NULL;
  return tool_fail(TOOL_FAILED,
                   "%s: Rutherford-Boeing files need SuiteSparse, but this build was configured without it", path);
}

#endif
