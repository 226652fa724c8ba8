/* entries.c - reads the entries of a Matrix Market coordinate file, or of a list of entries without a header, into a
 * scalar CSR matrix.
 *
 * A list has only lines "ROW COLUMN VALUE", as dune-istl's writeMatrixToMatlab writes them. Its matrix has as many rows
 * and columns as the largest index.
 *
 * Entries are read into three arrays that grow as needed, and are then sorted in place. An entry of a symmetric or
 * skew-symmetric file is mirrored when it is read, unless the caller wants only the stored triangle. Two of the arrays
 * become the matrix, so that with 32-bit indices the peak of memory is 4/3 of the matrix. The order of entries and
 * their line numbers are not kept. If an entry is repeated, the file is read again: to add up the values of each
 * position in the order of the file, with the same bits in every run and build, or to find the line to refuse. */
#include "config.h"

#include "format/format.h"

#include <math.h>

/* Reads the entries of a file one by one. */
typedef struct reader {
  karst_input *input;
  karst_market_header header;
  bool mirror;  /* each entry stands for its mirror image too */
  int64_t done; /* entries read so far */
  char *line;   /* the first entry of a list, which has been read to recognise it; else NULL */
} reader;

typedef struct entry {
  int64_t row, column; /* counted from 1 */
  double value;
} entry;

/* Returns whether the file is a list, which does not announce the number of its entries. */
static bool is_list(const reader *r) { return r->header.entries < 0; }

/* Returns whether the line is "ROW COLUMN VALUE", two integers and a number. */
static bool is_entry(const char *line)
{
  int64_t index;
  double value;
  for (int i = 0; i < 2 && line; i++) {
    line = karst_parse_integer(line, &index);
    if (line) line = karst_skip_spaces(line);
  }
  if (line) line = karst_parse_fortran(line, &value);
  return line && *karst_skip_spaces(line) == '\0';
}

static karst_status open_reader(reader *r, karst_input *input, bool stored)
{
  char *line;
  *r = (reader){.input = input};
  karst_status status = karst_input_line(input, &line);
  if (status) return status;
  if (!line) return karst_input_fail(input, "the file is empty");
  if (is_entry(line)) {
    const int64_t most = KARST_INDEX_MAX - 1;
    r->line = line;
    r->header = (karst_market_header){.coordinate = true, .rows = most, .columns = most, .entries = -1};
    return KARST_SUCCESS;
  }
  if (!karst_market_begins(line))
    return karst_input_fail(input, "unknown format: a Matrix Market file begins with %%%%MatrixMarket");
  status = karst_market_read_header(input, line, true, &r->header);
  r->mirror = !stored && r->header.symmetry != KARST_MARKET_GENERAL;
  if (!status && (r->header.rows >= KARST_INDEX_MAX || r->header.entries > KARST_INDEX_MAX))
    status =
        karst_fail(input->context, KARST_ERROR_INDEX_OVERFLOW,
                   "%s, line %lld: %lld rows and %lld entries are more than %d-bit indices can count", input->name,
                   (long long)input->line, (long long)r->header.rows, (long long)r->header.entries, KARST_INDEX_BITS);
  return status;
}

/* Reports what is wrong with the row or column index at text. */
static karst_status refuse_index(const reader *r, const char *text, const char *what)
{
  int64_t index;
  char word[KARST_WORD_SIZE];
  karst_quote_word(text, word);
  if (*text == '\0') return karst_input_fail(r->input, "the %s index is missing", what);
  if (!karst_parse_integer(text, &index))
    return karst_input_fail(r->input, "the %s index '%s' is not an integer", what, word);
  return karst_input_fail(r->input, "the %s index %s is out of range (1 to %lld)", what, word,
                          (long long)r->header.rows);
}

static karst_status refuse_value(const reader *r, const char *text)
{
  char word[KARST_WORD_SIZE];
  if (*text == '\0') return karst_input_fail(r->input, "the value is missing");
  return karst_input_fail(r->input, "the value '%s' is not a finite number%s", karst_quote_word(text, word),
                          r->header.integer ? " without a fraction" : "");
}

/* Reads "ROW COLUMN VALUE". */
static karst_status parse_entry(const reader *r, const char *text, entry *e)
{
  char word[KARST_WORD_SIZE];
  const char *end = karst_parse_integer(text, &e->row);
  if (!end || e->row < 1 || e->row > r->header.rows) return refuse_index(r, text, "row");
  text = karst_skip_spaces(end);
  end = karst_parse_integer(text, &e->column);
  if (!end || e->column < 1 || e->column > r->header.columns) return refuse_index(r, text, "column");
  text = karst_skip_spaces(end);
  end = karst_parse_fortran(text, &e->value);
  if (!end || (r->header.integer && e->value != trunc(e->value))) return refuse_value(r, text);
  text = karst_skip_spaces(end);
  if (*text != '\0') return karst_input_fail(r->input, "unexpected '%s' after the value", karst_quote_word(text, word));
  return KARST_SUCCESS;
}

/* Refuses entries outside the triangle that is stored: lower if symmetric, strictly lower if skew-symmetric. */
static karst_status check_triangle(const reader *r, const entry *e)
{
  bool skew = r->header.symmetry == KARST_MARKET_SKEW;
  if (r->header.symmetry == KARST_MARKET_GENERAL || e->row > e->column) return KARST_SUCCESS;
  if (e->row < e->column)
    return karst_input_fail(r->input, "the entry (%lld, %lld) is above the diagonal of a %s matrix", (long long)e->row,
                            (long long)e->column, skew ? "skew-symmetric" : "symmetric");
  return skew ? karst_input_fail(r->input, "the entry (%lld, %lld) is on the diagonal of a skew-symmetric matrix",
                                 (long long)e->row, (long long)e->column)
              : KARST_SUCCESS;
}

static karst_status check_end(reader *r)
{
  char *line;
  karst_status status = karst_input_line(r->input, &line);
  if (!status && line)
    status =
        karst_input_fail(r->input, "the file goes on after the %lld entries announced", (long long)r->header.entries);
  return status;
}

/* Reads the next entry; *found: whether there is one. */
static karst_status next_entry(reader *r, entry *e, bool *found)
{
  char *line = r->line;
  karst_status status = KARST_SUCCESS;
  *found = r->done != r->header.entries;
  if (!*found) return check_end(r);
  r->line = NULL;
  if (!line) status = karst_input_line(r->input, &line);
  if (!status && !line && is_list(r)) {
    *found = false;
    return KARST_SUCCESS;
  }
  if (!status && !line)
    status = karst_input_fail(r->input, "the file ends after %lld of %lld entries", (long long)r->done,
                              (long long)r->header.entries);
  if (!status) status = parse_entry(r, line, e);
  if (!status) status = check_triangle(r, e);
  r->done++;
  return status;
}

/* The entries read so far; column and value become arrays of the matrix. */
typedef struct assembly {
  int64_t count; /* entries, including mirrored ones */
  int64_t capacity;
  karst_index *start; /* [rows + 1] counts[i + 1] of row i first, then row starts */
  karst_index *row, *column;
  double *value;
} assembly;

/* Returns the next larger capacity for the entries of the file. */
static int64_t next_capacity(const reader *r, int64_t capacity, int64_t announced)
{
  const int64_t first = 1024;
  if (!is_list(r)) return karst_room_announced(capacity, announced);
  return capacity > 0 ? 2 * capacity : first;
}

/* Makes room for an entry and its mirror image, unless the capacity is all that was announced. */
static karst_status grow_entries(const reader *r, assembly *a)
{
  karst_context *context = r->input->context;
  int64_t announced = r->mirror ? 2 * r->header.entries : r->header.entries;
  if (a->row && (a->capacity - a->count >= 2 || a->capacity == announced)) return KARST_SUCCESS;
  int64_t capacity = next_capacity(r, a->capacity, announced);
  karst_status status = karst_room_enlarge(context, &a->row, a->count, capacity, sizeof *a->row, "sorting a matrix");
  if (!status)
    status = karst_room_enlarge(context, &a->column, a->count, capacity, sizeof *a->column, "the matrix's columns");
  if (!status)
    status = karst_room_enlarge(context, &a->value, a->count, capacity, sizeof *a->value, "the matrix's values");
  if (!status) a->capacity = capacity;
  return status;
}

static void release_assembly(karst_context *context, assembly *a)
{
  karst_release(context, a->start);
  karst_release(context, a->row);
  karst_release(context, a->column);
  karst_release(context, a->value);
  *a = (assembly){0};
}

/* Adds an entry and its mirror image; row and column count from 1. */
static void add_entry(assembly *a, int64_t row, int64_t column, double value)
{
  a->row[a->count] = (karst_index)(row - 1);
  a->column[a->count] = (karst_index)(column - 1);
  a->value[a->count++] = value;
}

static karst_status read_entries(reader *r, assembly *a)
{
  entry e;
  bool found;
  karst_status status = grow_entries(r, a);
  while (!status) {
    status = next_entry(r, &e, &found);
    if (status || !found) break;
    status = grow_entries(r, a);
    if (status) break;
    add_entry(a, e.row, e.column, e.value);
    if (r->mirror && e.row != e.column)
      add_entry(a, e.column, e.row, r->header.symmetry == KARST_MARKET_SKEW ? -e.value : e.value);
  }
  return status;
}

/* Sets the size of a list's matrix. Refuses a list that begins with the sizes of its matrix, which would be an entry in
 * its last row and column, and one that has too few entries for the memory that its rows take. */
static karst_status set_size(reader *r, const assembly *a)
{
  karst_index last = 0;
  if (!is_list(r)) return KARST_SUCCESS;
  for (int64_t k = 0; k < a->count; k++) {
    if (a->row[k] > last) last = a->row[k];
    if (a->column[k] > last) last = a->column[k];
  }
  r->header.rows = r->header.columns = (int64_t)last + 1;
  r->header.entries = a->count;
  if (a->count > 1 && a->row[0] == last && a->column[0] == last && a->value[0] == (double)(a->count - 1)) {
    r->input->line = 1;
    return karst_input_fail(r->input, "unknown format: a line of sizes without a line %%%%MatrixMarket before it");
  }
  return karst_input_check_rows(r->input, r->header.rows, r->header.entries);
}

/* Counts the entries of each row. This array is allocated last, when the file has proved to hold its entries. */
static karst_status count_rows(karst_context *context, karst_index rows, assembly *a)
{
  karst_status status =
      karst_allocate_zero(context, &a->start, (int64_t)rows + 1, sizeof *a->start, "the matrix's row starts");
  for (int64_t k = 0; k < a->count && !status; k++) a->start[a->row[k] + 1]++;
  return status;
}

/* What a second reading of the file looks for, or adds to. */
typedef struct again {
  karst_index row, column; /* the entry to refuse, counted from 0 */
  bool seen;               /* it has been read once */
  karst_index rows;        /* or the matrix to add to */
  const karst_index *row_start, *column_of;
  double *value;
} again;

static karst_status fail_changed(karst_context *context, const char *path)
{
  return karst_fail(context, KARST_ERROR_FILE, "%s changed while Karst read it", path);
}

/* Reads the file again and calls visit for each entry, until visit returns an error. entries: their former number. */
static karst_status read_again(karst_context *context, const char *path, bool stored, int64_t entries,
                               karst_status (*visit)(const reader *, const char *, const entry *, again *), again *what)
{
  karst_input *input;
  reader r;
  entry e;
  bool found = true;
  karst_status status = karst_input_open(context, path, ".mtx", &input);
  if (status) return status;
  if (!input) return fail_changed(context, path);
  status = open_reader(&r, input, stored);
  while (!status && found) {
    status = next_entry(&r, &e, &found);
    if (!status && found) status = visit(&r, path, &e, what);
  }
  if (!status && r.done != entries) status = fail_changed(context, path);
  karst_input_close(input);
  return status;
}

/* Reports the line that repeats an entry. */
static karst_status refuse_second(const reader *r, const char *path, const entry *e, again *what)
{
  const int64_t row = (int64_t)what->row + 1, column = (int64_t)what->column + 1;
  const bool same = e->row == row && e->column == column, mirrored = r->mirror && e->column == row && e->row == column;
  (void)path;
  if (what->seen && (same || mirrored))
    return karst_input_fail(r->input, "the entry (%lld, %lld) is repeated", (long long)e->row, (long long)e->column);
  what->seen = what->seen || same || mirrored;
  return KARST_SUCCESS;
}

/* Adds to the value at a row and column, counted from 1. */
static karst_status add_value(const reader *r, const char *path, int64_t row, int64_t column, double value, again *what)
{
  if (row > what->rows) return fail_changed(r->input->context, path);
  karst_index begin = what->row_start[row - 1], end = what->row_start[row];
  while (begin < end) {
    const karst_index middle = begin + (end - begin) / 2;
    if (what->column_of[middle] < column - 1)
      begin = middle + 1;
    else
      end = middle;
  }
  if (begin == what->row_start[row] || what->column_of[begin] != column - 1)
    return fail_changed(r->input->context, path);
  what->value[begin] += value;
  if (isfinite(what->value[begin])) return KARST_SUCCESS;
  return karst_input_fail(r->input, "the entries (%lld, %lld) add up to more than double precision holds",
                          (long long)row, (long long)column);
}

static karst_status add_entry_again(const reader *r, const char *path, const entry *e, again *what)
{
  const bool skew = r->header.symmetry == KARST_MARKET_SKEW;
  karst_status status = add_value(r, path, e->row, e->column, e->value, what);
  if (status || !r->mirror || e->row == e->column) return status;
  return add_value(r, path, e->column, e->row, skew ? -e->value : e->value, what);
}

/* Returns the number of different positions of the file's entries: without mirror images, which are not in the file. */
static int64_t count_places(const reader *r, const assembly *a)
{
  const karst_index rows = (karst_index)r->header.rows;
  int64_t count = r->mirror ? 0 : a->start[rows];
  for (karst_index i = 0; i < rows && r->mirror; i++)
    for (karst_index k = a->start[i]; k < a->start[i + 1]; k++) count += a->column[k] <= i;
  return count;
}

/* Adds up the entries of each position, in the order of the file. Sums start from -0, because -0 + x = x for all x. */
static karst_status add_up(const reader *r, const char *path, bool stored, assembly *a)
{
  karst_context *context = r->input->context;
  const karst_index rows = (karst_index)r->header.rows;
  karst_status status = karst_csr_add_up(context, rows, a->start, a->column, a->value);
  const int64_t left = a->start[rows];
  karst_release(context, a->value);
  karst_release(context, a->row);
  a->value = NULL;
  a->row = NULL;
  if (!status) status = karst_room_enlarge(context, &a->column, left, left, sizeof *a->column, "the matrix's columns");
  if (!status) status = karst_allocate(context, &a->value, left, sizeof *a->value, "the matrix's values");
  if (status) return status;
  for (int64_t k = 0; k < left; k++) a->value[k] = -0.0;
  again what = {.rows = rows, .row_start = a->start, .column_of = a->column, .value = a->value};
  status = read_again(context, path, stored, r->header.entries, add_entry_again, &what);
  if (!status) karst_csr_note_repeats(context, r->input->name, r->header.entries - count_places(r, a));
  return status;
}

karst_status karst_market_read_matrix(karst_input *input, const char *path, bool stored, karst_matrix **matrix,
                                      karst_market_header *header)
{
  karst_context *context = input->context;
  assembly a = {0};
  karst_index repeated;
  reader r;
  karst_status status = open_reader(&r, input, stored);
  if (!status) status = read_entries(&r, &a);
  if (!status) status = set_size(&r, &a);
  if (!status && a.count > KARST_INDEX_MAX)
    status = karst_fail(context, KARST_ERROR_INDEX_OVERFLOW, "%s: %lld entries are more than %d-bit indices can count",
                        input->name, (long long)a.count, KARST_INDEX_BITS);
  if (status) goto fail;
  karst_index rows = (karst_index)r.header.rows;
  status = count_rows(context, rows, &a);
  if (!status) status = karst_csr_from_entries(context, rows, a.start, a.row, a.column, a.value, &repeated);
  if (!status && repeated >= 0 && context->duplicates == KARST_DUPLICATES_REFUSE) {
    again second = {.row = (karst_index)karst_csr_row_of(a.start, repeated), .column = a.column[repeated]};
    status = read_again(context, path, stored, -1, refuse_second, &second);
  } else if (!status && repeated >= 0) {
    status = add_up(&r, path, stored, &a);
  }
  if (status) goto fail;
  *header = r.header;
  karst_release(context, a.row);
  return karst_matrix_adopt(context, rows, 1, rows, a.start, a.column, a.value, matrix);

fail:
  release_assembly(context, &a);
  return status;
}
