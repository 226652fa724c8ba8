/* binary.c - .kbsr, Karst's compact binary form of a block matrix; doc/binary-format.md describes it.
 *
 * The file holds a header, a second header if the matrix has a grid, and then row_start, column, value and the grid's
 * map as they lie in memory. Each array begins at a multiple of 8 bytes. The headers determine the file's size to the
 * byte, which is checked before any allocation. The size of a compressed file is unknown, so its arrays grow while they
 * are read. */
#include "config.h"

#include "format/format.h"
#include "lib/grid/grid.h"

#include <math.h>
#include <string.h>

static const unsigned char magic[8] = {0x89, 'K', 'B', 'S', 'R', '\r', '\n', 0x1a};

enum { VERSION = 1, VERSION_GRID = 2, BYTE_ORDER_MARK = 0x01020304, SWAPPED_MARK = 0x04030201 };

typedef struct header { /* 48 bytes, without gaps */
  unsigned char magic[8];
  uint32_t byte_order; /* BYTE_ORDER_MARK in the writer's byte order */
  uint32_t version;
  uint32_t index_bits; /* 32 or 64 */
  uint32_t block_size;
  int64_t block_rows;
  int64_t rows_unpadded;
  int64_t blocks;
} header;

typedef struct grid_header { /* 32 bytes; only of version 2 */
  int64_t size[3];
  int64_t mapped; /* 1: a map from block rows to cells follows the values; 0: no map */
} grid_header;

bool karst_binary_begins(const karst_input *input) { return karst_input_begins(input, magic, sizeof magic); }

/* Returns the bytes of padding behind an array of count indices, up to a multiple of 8. */
static size_t gap(uint32_t index_bits, int64_t count) { return index_bits == 32 && count % 2 != 0 ? 4 : 0; }

/* Adds an array of count elements and its padding to *size; returns false if the sum passes 63 bits. */
static bool add_array(int64_t *size, int64_t count, int64_t bytes)
{
  int64_t array;
  if (__builtin_mul_overflow(count, bytes, &array) || __builtin_add_overflow(*size, array, size) ||
      __builtin_add_overflow(*size, 7, size))
    return false;
  *size = *size / 8 * 8;
  return true;
}

/* Returns the size in bytes of a file with these headers, whose counts are valid, or -1 if it passes 63 bits. */
static int64_t size_of_file(const header *h, const grid_header *grid)
{
  int64_t size = (int64_t)sizeof *h + (h->version == VERSION_GRID ? (int64_t)sizeof *grid : 0),
          index = h->index_bits / 8, block = (int64_t)h->block_size * h->block_size * 8;
  bool fits = add_array(&size, h->block_rows + 1, index) && add_array(&size, h->blocks, index) &&
              add_array(&size, h->blocks, block) && (!grid->mapped || add_array(&size, h->block_rows, index));
  return fits ? size : -1;
}

static karst_status check_kind(karst_input *input, const header *h)
{
  if (h->byte_order == SWAPPED_MARK)
    return karst_input_fail(input, "the file was written on a machine with the other byte order");
  if (h->byte_order != BYTE_ORDER_MARK)
    return karst_input_fail(input, "the byte order mark is %#x, not %#x", h->byte_order, BYTE_ORDER_MARK);
  if (h->version != VERSION && h->version != VERSION_GRID)
    return karst_input_fail(input, "version %u of the format is not supported: Karst reads versions %d and %d",
                            h->version, VERSION, VERSION_GRID);
  if (h->index_bits != 32 && h->index_bits != 64)
    return karst_input_fail(input, "indices of %u bits are not supported: Karst reads 32 and 64", h->index_bits);
  if (h->block_size < 1 || h->block_size > KARST_BLOCK_SIZE_MAX)
    return karst_input_fail(input, "the block size %u is out of range (1 to %d)", h->block_size, KARST_BLOCK_SIZE_MAX);
  return KARST_SUCCESS;
}

static karst_status check_counts(karst_input *input, const header *h, const grid_header *grid)
{
  if (h->block_rows < 0 || h->blocks < 0)
    return karst_input_fail(input, "a negative count: %lld block rows, %lld blocks", (long long)h->block_rows,
                            (long long)h->blocks);
  if (h->block_rows >= KARST_INDEX_MAX || h->blocks > KARST_INDEX_MAX)
    return karst_fail(input->context, KARST_ERROR_INDEX_OVERFLOW,
                      "%s: %lld block rows and %lld blocks are more than %d-bit indices can count", input->name,
                      (long long)h->block_rows, (long long)h->blocks, KARST_INDEX_BITS);
  int64_t padding; /* at most block_size - 1 rows */
  if (__builtin_mul_overflow(h->block_rows, (int64_t)h->block_size, &padding) ||
      __builtin_sub_overflow(padding, h->rows_unpadded, &padding) || padding < 0 || padding >= h->block_size ||
      h->rows_unpadded < 0)
    return karst_input_fail(input, "%lld rows do not fill %lld block rows of %u", (long long)h->rows_unpadded,
                            (long long)h->block_rows, h->block_size);
  const int64_t size = size_of_file(h, grid);
  const bool fits = karst_input_is_plain(input) ? size == input->file_size : size >= 0 && size <= input->text_limit;
  if (!fits)
    return karst_input_fail(input, "%lld block rows and %lld blocks of size %u do not fill the %lld bytes of the file",
                            (long long)h->block_rows, (long long)h->blocks, h->block_size, (long long)input->file_size);
  return KARST_SUCCESS;
}

/* Reads the second header into *grid, which is zero for version 1, and its sizes into size as indices of this build. */
static karst_status read_grid_header(karst_input *input, const header *h, grid_header *grid, karst_index size[3])
{
  char fault[KARST_FAULT_SIZE];
  karst_index cells;
  *grid = (grid_header){{0, 0, 0}, 0};
  if (h->version != VERSION_GRID) return KARST_SUCCESS;
  karst_status status = karst_input_bytes(input, grid, sizeof *grid);
  if (status) return status;
  if (grid->mapped != 0 && grid->mapped != 1)
    return karst_input_fail(input, "the flag of the grid's map is %lld, not 0 or 1", (long long)grid->mapped);
  for (int axis = 0; axis < 3; axis++) {
    if (grid->size[axis] > KARST_INDEX_MAX)
      return karst_fail(input->context, KARST_ERROR_INDEX_OVERFLOW,
                        "%s: size %lld of the grid is more than %d-bit indices can count", input->name,
                        (long long)grid->size[axis], KARST_INDEX_BITS);
    size[axis] = grid->size[axis] < 1 ? 0 : (karst_index)grid->size[axis];
  }
  if (!karst_grid_is_valid(size, &cells, fault)) return karst_input_fail(input, "%s", fault);
  if (!grid->mapped && cells != h->block_rows)
    return karst_input_fail(input, "the grid has %lld cells and no map, but the matrix has %lld block rows",
                            (long long)cells, (long long)h->block_rows);
  return KARST_SUCCESS;
}

/* Reads indices of the other width through a small buffer. A value that does not fit becomes -1, which every check
 * refuses. */
static karst_status read_foreign(karst_input *input, uint32_t index_bits, int64_t count, karst_index *to)
{
  enum { CHUNK = 512 };
  union {
    int32_t narrow[CHUNK];
    int64_t wide[CHUNK];
  } chunk;
  for (int64_t done = 0; done < count;) {
    int64_t part = count - done < CHUNK ? count - done : CHUNK;
    karst_status status = karst_input_bytes(input, &chunk, (size_t)part * index_bits / 8);
    if (status) return status;
    for (int64_t i = 0; i < part; i++) {
      int64_t index = index_bits == 32 ? chunk.narrow[i] : chunk.wide[i];
      to[done + i] = index >= 0 && index <= KARST_INDEX_MAX ? (karst_index)index : -1;
    }
    done += part;
  }
  return KARST_SUCCESS;
}

/* Allocates an array of count elements and reads it. If the file's size is unknown, the array grows while it is read.
 * index_bits: the width of indices in the file, 0 for values. */
static karst_status read_array(karst_input *input, uint32_t index_bits, int64_t count, void *array, size_t size,
                               const char *what)
{
  char filler[8], *bytes = NULL;
  int64_t room = 0;
  karst_status status = KARST_SUCCESS;
  do {
    const int64_t done = room;
    room = karst_input_is_plain(input) ? count : karst_room_announced(done, count);
    status = karst_room_enlarge(input->context, array, done, room, size, what);
    if (status) return status;
    memcpy(&bytes, array, sizeof bytes);
    bytes += (size_t)done * size;
    status = index_bits == 0 || index_bits == KARST_INDEX_BITS
                 ? karst_input_bytes(input, bytes, (size_t)(room - done) * size)
                 : read_foreign(input, index_bits, room - done, (karst_index *)(void *)bytes);
  } while (!status && room < count);
  return status ? status : karst_input_bytes(input, filler, gap(index_bits, count));
}

/* Checks that the arrays are a matrix: a valid pattern with as many blocks as announced, and finite values. */
static karst_status check_arrays(karst_input *input, const header *h, const karst_index *row_start,
                                 const karst_index *column, const double *value)
{
  int64_t block = (int64_t)h->block_size * h->block_size, values = block * h->blocks;
  char fault[KARST_FAULT_SIZE];
  if (row_start[h->block_rows] != h->blocks)
    return karst_input_fail(input, "the last row start is %lld, but the matrix has %lld blocks",
                            (long long)row_start[h->block_rows], (long long)h->blocks);
  if (!karst_pattern_is_valid((karst_index)h->block_rows, row_start, column, fault))
    return karst_input_fail(input, "%s", fault);
  for (int64_t i = 0; i < values; i++)
    if (!isfinite(value[i]))
      return karst_input_fail(input, "a value of block %lld is not finite", (long long)(i / block));
  return KARST_SUCCESS;
}

/* Reads the map and sets the grid of the matrix. */
static karst_status read_grid(karst_input *input, const header *h, const grid_header *grid, const karst_index size[3],
                              karst_matrix *matrix)
{
  karst_context *context = input->context;
  char fault[KARST_FAULT_SIZE];
  karst_index *cell = NULL;
  karst_status status = KARST_SUCCESS;
  if (h->version != VERSION_GRID) return KARST_SUCCESS;
  if (grid->mapped) {
    status = read_array(input, h->index_bits, h->block_rows, &cell, sizeof *cell, "the cells of block rows");
    if (!status) status = karst_grid_check_cells(context, size, matrix->block_rows, cell, fault);
    if (!status && fault[0]) status = karst_input_fail(input, "%s", fault);
  }
  if (status)
    karst_release(context, cell);
  else
    karst_matrix_adopt_grid(matrix, size, cell);
  return status;
}

/* Refuses a file that goes on after the matrix; check_counts does so if the file's size is known. */
static karst_status check_end(karst_input *input)
{
  const karst_status status = karst_input_look(input);
  if (status || karst_input_is_at_end(input)) return status;
  return karst_input_fail(input, "the file goes on after the matrix");
}

karst_status karst_binary_read(karst_input *input, karst_matrix **matrix)
{
  karst_context *context = input->context;
  karst_index *row_start = NULL, *column = NULL;
  double *value = NULL;
  header h;
  grid_header grid;
  karst_index size[3];
  karst_status status = karst_input_bytes(input, &h, sizeof h);
  if (!status) status = check_kind(input, &h);
  if (!status) status = read_grid_header(input, &h, &grid, size);
  if (!status) status = check_counts(input, &h, &grid);
  if (status) return status;
  size_t block = (size_t)h.block_size * h.block_size * sizeof *value;
  status = read_array(input, h.index_bits, h.block_rows + 1, &row_start, sizeof *row_start, "the matrix's row starts");
  if (!status) status = read_array(input, h.index_bits, h.blocks, &column, sizeof *column, "the matrix's columns");
  if (!status) status = read_array(input, 0, h.blocks, &value, block, "the matrix's values");
  if (!status) status = check_arrays(input, &h, row_start, column, value);
  if (status) {
    karst_release(context, row_start);
    karst_release(context, column);
    karst_release(context, value);
    return status;
  }
  status = karst_matrix_adopt(context, (karst_index)h.block_rows, (int)h.block_size, h.rows_unpadded, row_start, column,
                              value, matrix);
  if (!status) status = read_grid(input, &h, &grid, size, *matrix);
  if (!status) status = check_end(input);
  if (!status) return KARST_SUCCESS;
  karst_matrix_destroy(*matrix);
  *matrix = NULL;
  return status;
}

static karst_status write_indices(karst_output *output, const karst_index *index, int64_t count)
{
  static const char zeros[8];
  karst_status status = karst_output_bytes(output, index, (size_t)count * sizeof *index);
  return status ? status : karst_output_bytes(output, zeros, gap(KARST_INDEX_BITS, count));
}

karst_status karst_binary_write(const karst_matrix *matrix, const double *value, karst_output *output)
{
  header h = {.byte_order = BYTE_ORDER_MARK,
              .version = karst_has_grid(matrix) ? VERSION_GRID : VERSION,
              .index_bits = KARST_INDEX_BITS,
              .block_size = (uint32_t)matrix->block_size,
              .block_rows = matrix->block_rows,
              .rows_unpadded = matrix->rows_unpadded,
              .blocks = karst_matrix_blocks(matrix)};
  const karst_index *size = matrix->grid.size, *cell = matrix->grid.cell;
  const grid_header grid = {{size[0], size[1], size[2]}, cell != NULL};
  memcpy(h.magic, magic, sizeof magic);
  karst_status status = karst_output_bytes(output, &h, sizeof h);
  if (!status && h.version == VERSION_GRID) status = karst_output_bytes(output, &grid, sizeof grid);
  if (!status) status = write_indices(output, matrix->row_start, h.block_rows + 1);
  if (!status) status = write_indices(output, matrix->column, h.blocks);
  size_t values = (size_t)karst_block_offset(matrix->block_size, h.blocks);
  if (!status) status = karst_output_bytes(output, value, values * sizeof *value);
  return status || !cell ? status : write_indices(output, cell, h.block_rows);
}
