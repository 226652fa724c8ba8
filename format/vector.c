/* vector.c - reads and writes vectors: a Matrix Market array of one column, a binary vector of PETSc, or plain numbers,
 * one a line. In plain files, lines that begin with % or # are comments. */
#include "config.h"

#include "format/format.h"
#include "support/path.h"
#include "lib/vector/vector.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The numbers read so far. */
typedef struct numbers {
  karst_context *context;
  int64_t announced; /* the number of values announced; -1: not announced */
  int64_t count, capacity;
  double *values;
} numbers;

/* Makes room for at least one more number. */
static karst_status grow_numbers(numbers *n)
{
  const int64_t first = 1024;
  if (n->count < n->capacity) return KARST_SUCCESS;
  int64_t capacity = n->announced >= 0 ? karst_room_announced(n->capacity, n->announced)
                     : n->capacity > 0 ? 2 * n->capacity
                                       : first;
  karst_status status = karst_room_enlarge(n->context, &n->values, n->count, capacity, sizeof *n->values, "a vector");
  if (!status) n->capacity = capacity;
  return status;
}

static karst_status read_number(karst_input *input, const char *line, bool integer, numbers *n)
{
  char word[KARST_WORD_SIZE];
  karst_status status = grow_numbers(n);
  if (status) return status;
  const char *end = karst_parse_fortran(line, &n->values[n->count]);
  if (!end || (integer && n->values[n->count] != trunc(n->values[n->count])))
    return karst_input_fail(input, "the value '%s' is not a finite number%s", karst_quote_word(line, word),
                            integer ? " without a fraction" : "");
  end = karst_skip_spaces(end);
  if (*end != '\0') return karst_input_fail(input, "unexpected '%s' after the value", karst_quote_word(end, word));
  n->count++;
  return KARST_SUCCESS;
}

static karst_status read_array(karst_input *input, const char *first_line, numbers *n)
{
  karst_market_header header;
  char *line;
  karst_status status = karst_market_read_header(input, first_line, false, &header);
  if (status) return status;
  n->announced = header.rows;
  while (n->count < header.rows) {
    status = karst_input_line(input, &line);
    if (!status && !line)
      status = karst_input_fail(input, "the file ends after %lld of %lld values", (long long)n->count,
                                (long long)header.rows);
    if (!status) status = read_number(input, line, header.integer, n);
    if (status) return status;
  }
  status = karst_input_line(input, &line);
  if (!status && line)
    status = karst_input_fail(input, "the file goes on after the %lld values announced", (long long)header.rows);
  return status;
}

static karst_status read_plain(karst_input *input, char *line, numbers *n)
{
  karst_status status = KARST_SUCCESS;
  while (!status && line) {
    if (*line != '%' && *line != '#') status = read_number(input, line, false, n);
    if (!status) status = karst_input_line(input, &line);
  }
  if (!status && n->count == 0) status = karst_input_fail(input, "the file has no numbers");
  return status;
}

/* Records where a vector comes from, for messages. */
static karst_status name_source(karst_input *input, const char *path, karst_vector *vector)
{
  const char *member = input->member ? input->name + input->member : "";
  size_t size = strlen(path) + strlen(member) + 1;
  karst_status status = karst_allocate(input->context, &vector->source, (int64_t)size, 1, "a path");
  if (!status) snprintf(vector->source, size, "%s%s", path, member);
  return status;
}

/* Reads a vector in one of the two text forms. */
static karst_status read_text(karst_input *input, numbers *n)
{
  char *line;
  karst_status status = karst_input_line(input, &line);
  if (status) return status;
  return line && karst_market_begins(line) ? read_array(input, line, n) : read_plain(input, line, n);
}

static karst_status read_vector(karst_input *input, const char *path, karst_vector **vector)
{
  numbers n = {.context = input->context, .announced = -1};
  karst_status status =
      karst_petsc_begins(input) ? karst_petsc_read_vector(input, &n.count, &n.values) : read_text(input, &n);
  if (!status) status = karst_vector_create(input->context, n.count, vector);
  if (!status) status = karst_vector_set(*vector, n.count, n.values);
  if (!status) status = name_source(input, path, *vector);
  if (status) {
    karst_vector_destroy(*vector);
    *vector = NULL;
  }
  karst_release(input->context, n.values);
  return status;
}

karst_status karst_vector_read(karst_context *context, const char *path, karst_vector **vector)
{
  karst_input *input;
  if (vector) *vector = NULL;
  if (!context || !vector) return karst_missing(context, "the place for the vector");
  if (!path) return karst_fail(context, KARST_ERROR_ARGUMENT, "the path of the vector is NULL");
  karst_status status = karst_input_open(context, path, NULL, &input);
  if (status) return status;
  status = read_vector(input, path, vector);
  karst_input_close(input);
  return status;
}

/* Reads the vector in NAME_b.mtx, or with ending ".gz" in NAME_b.mtx.gz, in the folder of the matrix file NAME.mtx,
 * NAME.mtx.gz or the like. */
static karst_status read_beside(karst_context *context, const char *matrix_path, const char *ending,
                                karst_vector **vector)
{
  char *path;
  const size_t length = karst_stem_length(matrix_path), size = length + sizeof "_b.mtx.gz";
  karst_status status = karst_allocate(context, &path, (int64_t)size, 1, "a path");
  if (status) return status;
  snprintf(path, size, "%.*s_b.mtx%s", (int)length, matrix_path, ending);
  if (access(path, F_OK) == 0) status = karst_vector_read(context, path, vector);
  karst_release(context, path);
  return status;
}

/* Reads the right-hand side that belongs to a matrix file of OPM Flow by its name, if it exists. */
static karst_status read_istl(karst_context *context, const char *matrix_path, karst_vector **vector)
{
  char *path;
  karst_status status = karst_istl_rhs_path(context, matrix_path, &path);
  if (!status && path && access(path, F_OK) == 0) status = karst_vector_read(context, path, vector);
  karst_release(context, path);
  return status;
}

/* Reads the vector in the matrix's own file: in an archive, or after a matrix of PETSc. *vector is NULL if the file has
 * no vector. *archive: whether it is an archive; files beside an archive are not read. */
static karst_status read_inside(karst_context *context, const char *matrix_path, bool *archive, karst_vector **vector)
{
  karst_input *input;
  bool found;
  *archive = true;
  karst_status status = karst_input_open(context, matrix_path, "_b.mtx", &input);
  if (status || !input) return status;
  *archive = found = input->archive != NULL;
  if (!*archive && karst_petsc_begins(input)) status = karst_petsc_skip_matrix(input, &found);
  if (!status && found) status = read_vector(input, matrix_path, vector);
  karst_input_close(input);
  return status;
}

karst_status karst_vector_read_beside(karst_context *context, const char *matrix_path, karst_vector **vector)
{
  bool archive;
  if (vector) *vector = NULL;
  if (!context || !vector) return karst_missing(context, "the place for the vector");
  if (!matrix_path) return karst_fail(context, KARST_ERROR_ARGUMENT, "the path of the matrix is NULL");
  karst_status status = read_inside(context, matrix_path, &archive, vector);
  if (status || archive || *vector) return status;
  status = read_beside(context, matrix_path, "", vector);
  if (!status && !*vector) status = read_beside(context, matrix_path, ".gz", vector);
  if (!status && !*vector) status = read_istl(context, matrix_path, vector);
  return status;
}

static karst_status write_values(karst_output *output, int64_t length, const double *values)
{
  karst_status status =
      karst_output_print(output, "%%%%MatrixMarket matrix array real general\n%lld 1\n", (long long)length);
  for (int64_t i = 0; i < length && !status; i++) status = karst_output_print(output, "%.17g\n", values[i]);
  return status;
}

/* Refuses values that are not finite, because Karst could not read the file again. */
static karst_status check_finite(const karst_vector *vector, const double *values, const char *path)
{
  for (int64_t i = 0; i < vector->length; i++)
    if (!isfinite(values[i]))
      return karst_fail(vector->context, KARST_ERROR_ARGUMENT,
                        "%s is not written: the vector's entry %lld is not finite", path, (long long)i);
  return KARST_SUCCESS;
}

karst_status karst_vector_write(const karst_vector *vector, const char *path)
{
  karst_output *output = NULL;
  double *values;
  if (!vector) return KARST_ERROR_ARGUMENT;
  karst_context *context = vector->context;
  if (!path) return karst_fail(context, KARST_ERROR_ARGUMENT, "the path of the vector is NULL");
  karst_status status = karst_allocate(context, &values, vector->length, sizeof *values, "writing a vector");
  if (status) return status;
  status = karst_vector_get(vector, vector->length, values);
  if (!status) status = check_finite(vector, values, path);
  if (!status) status = karst_output_open(context, path, &output);
  if (!status) status = write_values(output, vector->length, values);
  status = karst_output_close(output, status);
  karst_release(context, values);
  return status;
}
