/* petsc.c - reads the binary matrices and vectors that PETSc's MatView and VecView write.
 *
 * A file is a sequence of objects, all numbers in it big-endian, without gaps:
 *     matrix: class id 1211216, rows, columns, nonzeros, [rows] lengths of the rows, [nonzeros] columns from 0,
 *             [nonzeros] values
 *     vector: class id 1211214, length, [length] values
 * Integers, the class id too, take 4 bytes, or 8 if PETSc was configured with 64-bit indices; the first bytes show
 * which. No byte shows whether values are real and double. Karst assumes it, and checks that the file ends after them
 * or that another object follows.
 *
 * PETSc writes matrices of every type like this, by scalar rows: of MATSBAIJ only the upper triangle of blocks, and of
 * MATDENSE all entries, unless the viewer's format is native. */
#include "config.h"

#include "format/format.h"

#include <math.h>
#include <string.h>

enum {
  MATRIX_ID = 1211216,
  VECTOR_ID = 1211214,
  DENSE = -1, /* in place of the number of nonzeros */
  CHUNK = 512 /* numbers that are read at a time */
};

/* The class ids are 0x00127Bxx. */
static const unsigned char narrow_id[] = {0x00, 0x12, 0x7b}, wide_id[] = {0, 0, 0, 0, 0x00, 0x12, 0x7b};
static const unsigned char swapped_matrix[] = {0x50, 0x7b, 0x12, 0x00}, swapped_vector[] = {0x4e, 0x7b, 0x12, 0x00};

/* The numbers before the arrays of a matrix. */
typedef struct header {
  size_t width; /* bytes of an integer: 4 or 8 */
  int64_t rows, nonzeros;
} header;

static bool is_swapped(const karst_input *input)
{
  return karst_input_begins(input, swapped_matrix, sizeof swapped_matrix) ||
         karst_input_begins(input, swapped_vector, sizeof swapped_vector);
}

bool karst_petsc_begins(const karst_input *input)
{
  return karst_input_begins(input, narrow_id, sizeof narrow_id) || karst_input_begins(input, wide_id, sizeof wide_id) ||
         is_swapped(input);
}

/* Returns the big-endian number of width bytes, with the sign that it has at that width. */
static int64_t decode(const unsigned char *bytes, size_t width)
{
  uint64_t number = 0;
  for (size_t i = 0; i < width; i++) number = number << 8 | bytes[i];
  return width == 4 ? (int32_t)(uint32_t)number : (int64_t)number;
}

/* Reads count integers, at most CHUNK. */
static karst_status read_integers(karst_input *input, size_t width, int64_t count, int64_t *to)
{
  unsigned char bytes[CHUNK * 8];
  karst_status status = karst_input_bytes(input, bytes, (size_t)count * width);
  for (int64_t i = 0; i < count && !status; i++) to[i] = decode(bytes + (size_t)i * width, width);
  return status;
}

/* Reads count values, at most CHUNK. */
static karst_status read_values(karst_input *input, int64_t count, double *to)
{
  unsigned char bytes[CHUNK * 8];
  karst_status status = karst_input_bytes(input, bytes, (size_t)count * sizeof *to);
  for (int64_t i = 0; i < count && !status; i++) {
    const int64_t bits = decode(bytes + (size_t)i * sizeof bits, sizeof bits);
    memcpy(&to[i], &bits, sizeof bits);
  }
  return status;
}

/* Returns how many of count numbers to read after the first done. */
static int64_t part_of(int64_t count, int64_t done) { return count - done < CHUNK ? count - done : CHUNK; }

/* Reads the class id, which shows the width of integers. Refuses any but the wanted one. */
static karst_status read_class(karst_input *input, int64_t wanted, size_t *width)
{
  const char *what = wanted == MATRIX_ID ? "matrix" : "vector";
  int64_t id;
  if (is_swapped(input))
    return karst_input_fail(input,
                            "the %s is little-endian, in the byte order of a PC, but PETSc's binary files "
                            "are big-endian",
                            what);
  *width = karst_input_begins(input, narrow_id, sizeof narrow_id) ? 4 : 8;
  karst_status status = read_integers(input, *width, 1, &id);
  if (status || id == wanted) return status;
  if (id == VECTOR_ID || id == MATRIX_ID)
    return karst_input_fail(input, "the file begins with a %s of PETSc, but Karst expects a %s",
                            id == VECTOR_ID ? "vector" : "matrix", what);
  return karst_input_fail(input, "an object of PETSc with the class id %lld, but Karst expects a %s (%lld)",
                          (long long)id, what, (long long)wanted);
}

/* Refuses counts for which the file has too few bytes, before memory is allocated for them. */
static karst_status check_header(karst_input *input, const header *h, int64_t columns)
{
  const int64_t width = (int64_t)h->width, entry = width + (int64_t)sizeof(double), begin = 4 * width;
  const int64_t limit = input->text_limit - begin;
  if (h->nonzeros == DENSE)
    return karst_input_fail(input, "the matrix is dense (PETSc's MATDENSE), but Karst reads sparse ones");
  if (h->rows < 0 || columns < 0 || h->nonzeros < 0)
    return karst_input_fail(input, "the matrix announces %lld rows, %lld columns and %lld entries", (long long)h->rows,
                            (long long)columns, (long long)h->nonzeros);
  if (h->rows != columns)
    return karst_input_fail(input, "the matrix is not square: %lld rows and %lld columns", (long long)h->rows,
                            (long long)columns);
  if (karst_input_is_plain(input) && h->rows <= input->file_size && h->nonzeros <= input->file_size &&
      h->nonzeros > 0 && begin + width * (h->rows + h->nonzeros) + 4 * h->nonzeros == input->file_size)
    return karst_input_fail(input, "the values take 4 bytes each: PETSc wrote them in single precision, and Karst "
                                   "reads double");
  if (h->rows > limit / width || h->nonzeros > (limit - width * h->rows) / entry)
    return karst_input_fail(input, "%lld rows and %lld entries are announced, but the file has only %lld bytes",
                            (long long)h->rows, (long long)h->nonzeros, (long long)input->file_size);
  if (h->rows >= KARST_INDEX_MAX || h->nonzeros > KARST_INDEX_MAX)
    return karst_fail(input->context, KARST_ERROR_INDEX_OVERFLOW,
                      "%s: %lld rows and %lld entries are more than %d-bit indices can count", input->name,
                      (long long)h->rows, (long long)h->nonzeros, KARST_INDEX_BITS);
  return karst_input_check_rows(input, h->rows, h->nonzeros);
}

static karst_status read_header(karst_input *input, header *h)
{
  int64_t sizes[3];
  karst_status status = read_class(input, MATRIX_ID, &h->width);
  if (!status) status = read_integers(input, h->width, 3, sizes);
  if (status) return status;
  h->rows = sizes[0];
  h->nonzeros = sizes[2];
  return check_header(input, h, sizes[1]);
}

/* The arrays of the matrix, which grow as they are read. */
typedef struct arrays {
  int64_t row_room, column_room, value_room;
  karst_index *row_start, *column;
  double *value;
} arrays;

static void release_arrays(karst_context *context, arrays *a)
{
  karst_release(context, a->row_start);
  karst_release(context, a->column);
  karst_release(context, a->value);
}

static karst_status read_row_starts(karst_input *input, const header *h, arrays *a)
{
  int64_t length[CHUNK], sum = 0;
  karst_status status = karst_room_grow(input->context, &a->row_start, &a->row_room, 0, 1, h->rows + 1,
                                        sizeof *a->row_start, "the matrix's row starts");
  if (!status) a->row_start[0] = 0;
  for (int64_t done = 0, part; done < h->rows && !status; done += part) {
    part = part_of(h->rows, done);
    status = karst_room_grow(input->context, &a->row_start, &a->row_room, done + 1, part, h->rows + 1,
                             sizeof *a->row_start, "the matrix's row starts");
    if (!status) status = read_integers(input, h->width, part, length);
    for (int64_t i = 0; i < part && !status; i++) {
      const int64_t row = done + i;
      if (length[i] < 0 || length[i] > h->nonzeros - sum)
        return karst_input_fail(input, "row %lld has %lld entries, but all rows together have %lld", (long long)row,
                                (long long)length[i], (long long)h->nonzeros);
      sum += length[i];
      a->row_start[row + 1] = (karst_index)sum;
    }
  }
  if (!status && sum != h->nonzeros)
    status = karst_input_fail(input, "the rows have %lld entries, but %lld are announced", (long long)sum,
                              (long long)h->nonzeros);
  return status;
}

static karst_status read_columns(karst_input *input, const header *h, arrays *a)
{
  int64_t column[CHUNK];
  karst_status status = KARST_SUCCESS;
  for (int64_t done = 0, part; done < h->nonzeros && !status; done += part) {
    part = part_of(h->nonzeros, done);
    status = karst_room_grow(input->context, &a->column, &a->column_room, done, part, h->nonzeros, sizeof *a->column,
                             "the matrix's columns");
    if (!status) status = read_integers(input, h->width, part, column);
    for (int64_t i = 0; i < part && !status; i++) {
      if (column[i] < 0 || column[i] >= h->rows)
        return karst_input_fail(input, "row %lld has an entry in column %lld, which is out of range (0 to %lld)",
                                karst_csr_row_of(a->row_start, done + i), (long long)column[i],
                                (long long)(h->rows - 1));
      a->column[done + i] = (karst_index)column[i];
    }
  }
  return status;
}

static karst_status read_entries(karst_input *input, const header *h, arrays *a)
{
  karst_status status = KARST_SUCCESS;
  for (int64_t done = 0, part; done < h->nonzeros && !status; done += part) {
    part = part_of(h->nonzeros, done);
    status = karst_room_grow(input->context, &a->value, &a->value_room, done, part, h->nonzeros, sizeof *a->value,
                             "the matrix's values");
    if (!status) status = read_values(input, part, a->value + done);
  }
  return status;
}

/* Refuses a file that goes on with anything but an object. After complex values it does: only half of them are read. */
static karst_status check_end(karst_input *input)
{
  karst_status status = karst_input_look(input);
  if (status || karst_input_is_at_end(input) || karst_petsc_begins(input)) return status;
  return karst_input_fail(input, "the values do not end where the file or the next object of PETSc begins: "
                                 "Karst reads real values of double precision, not complex ones");
}

static karst_status check_values(karst_input *input, const header *h, const arrays *a)
{
  for (int64_t k = 0; k < a->row_start[h->rows]; k++)
    if (!isfinite(a->value[k]))
      return karst_input_fail(input, "the value in row %lld, column %lld is not finite",
                              karst_csr_row_of(a->row_start, k), (long long)a->column[k]);
  return KARST_SUCCESS;
}

/* Checks the values, adds up repeated entries unless the context refuses them, and sorts each row by columns. */
static karst_status finish_entries(karst_input *input, const header *h, arrays *a)
{
  karst_context *context = input->context;
  karst_index repeated;
  karst_status status = check_values(input, h, a);
  if (!status && context->duplicates == KARST_DUPLICATES_SUM)
    status = karst_csr_add_up(context, (karst_index)h->rows, a->row_start, a->column, a->value);
  const int64_t repeats = h->nonzeros - a->row_start[h->rows];
  if (!status && repeats > 0) status = check_values(input, h, a);
  if (status) return status;
  karst_csr_note_repeats(context, input->name, repeats);
  karst_csr_sort_rows((karst_index)h->rows, a->row_start, a->column, a->value, &repeated);
  if (repeated < 0) return KARST_SUCCESS;
  return karst_input_fail(input, "row %lld has two entries in column %lld", karst_csr_row_of(a->row_start, repeated),
                          (long long)a->column[repeated]);
}

karst_status karst_petsc_read_matrix(karst_input *input, karst_matrix **matrix)
{
  karst_context *context = input->context;
  arrays a = {0};
  header h;
  karst_status status = read_header(input, &h);
  if (!status) status = read_row_starts(input, &h, &a);
  if (!status) status = read_columns(input, &h, &a);
  if (!status) status = read_entries(input, &h, &a);
  if (!status) status = check_end(input);
  if (!status) status = finish_entries(input, &h, &a);
  if (!status && !a.column) status = karst_allocate(context, &a.column, 0, sizeof *a.column, "the matrix's columns");
  if (!status && !a.value) status = karst_allocate(context, &a.value, 0, sizeof *a.value, "the matrix's values");
  if (status) {
    release_arrays(context, &a);
    return status;
  }
  const karst_index rows = (karst_index)h.rows;
  return karst_matrix_adopt(context, rows, 1, rows, a.row_start, a.column, a.value, matrix);
}

karst_status karst_petsc_skip_matrix(karst_input *input, bool *found)
{
  unsigned char bytes[1 << 14];
  header h;
  *found = false;
  karst_status status = read_header(input, &h);
  if (status) return status;
  int64_t left = (int64_t)h.width * (h.rows + h.nonzeros) + (int64_t)sizeof(double) * h.nonzeros;
  while (left > 0 && !status) {
    const size_t part = left < (int64_t)sizeof bytes ? (size_t)left : sizeof bytes;
    status = karst_input_bytes(input, bytes, part);
    left -= (int64_t)part;
  }
  if (!status) status = karst_input_look(input);
  if (status || !karst_petsc_begins(input)) return status;
  const unsigned char *next = (const unsigned char *)input->buffer + input->begin;
  *found = input->end - input->begin >= h.width && decode(next, h.width) == VECTOR_ID;
  return status;
}

karst_status karst_petsc_read_vector(karst_input *input, int64_t *count, double **values)
{
  int64_t length = 0, room = 0;
  size_t width = 0;
  *values = NULL;
  *count = 0;
  karst_status status = read_class(input, VECTOR_ID, &width);
  if (!status) status = read_integers(input, width, 1, &length);
  if (status) return status;
  if (length < 0) return karst_input_fail(input, "the vector announces %lld values", (long long)length);
  if (length > input->text_limit / (int64_t)sizeof **values)
    return karst_input_fail(input, "%lld values are announced, but the file has only %lld bytes", (long long)length,
                            (long long)input->file_size);
  for (int64_t part; *count < length && !status; *count += part) {
    part = part_of(length, *count);
    status = karst_room_grow(input->context, values, &room, *count, part, length, sizeof **values, "a vector");
    if (!status) status = read_values(input, part, *values + *count);
  }
  if (!status) status = check_end(input);
  for (int64_t i = 0; i < length && !status; i++)
    if (!isfinite((*values)[i])) status = karst_input_fail(input, "the value %lld is not finite", (long long)i);
  if (!status) return KARST_SUCCESS;
  karst_release(input->context, *values);
  *values = NULL;
  return status;
}
