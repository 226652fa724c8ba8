/* matrix.c - reads and writes matrices, and chooses their format, block size and grid.
 *
 * A Matrix Market file is written scalar by scalar: all entries of a block, zeros included, without the rows that pad
 * the last block. Its ISTL_STRUCT line restores blocks and padding when the file is read, and its grid line the grid.
 * Only .kbsr files can hold a map of cells. */
#include "config.h"

#include "format/format.h"
#include "lib/grid/grid.h"

#include <math.h>
#include <string.h>

/* Reads the matrix in the blocks of the file, and the block size and grid that it should get. stored: whether the
 * triangle that a symmetric file stores is the whole matrix. header->block_size is the caller's at first: only if it is
 * 0, PETSc's file of options beside the matrix is read. */
static karst_status read_stored_blocks(karst_input *input, const char *path, bool stored, karst_matrix **matrix,
                                       karst_market_header *header)
{
  karst_status status;
  if (karst_petsc_begins(input)) {
    status = karst_petsc_read_matrix(input, matrix);
    if (!status && !input->archive && header->block_size == 0)
      status = karst_petsc_block_size(input->context, path, &header->block_size);
    if (!status) karst_petsc_note_triangle(*matrix, header->block_size, path);
  } else if (karst_binary_begins(input)) {
    status = karst_binary_read(input, matrix);
    header->block_size = karst_matrix_block_size(*matrix);
  } else {
    status = karst_market_read_matrix(input, path, stored, matrix, header);
    if (!status && !input->archive) status = karst_istl_note_part(input->context, path);
  }
  if (!status) return KARST_SUCCESS;
  karst_matrix_destroy(*matrix);
  *matrix = NULL;
  return status;
}

/* Sets the grid that the file gives, unless its cells are blocks of another size. */
static void set_grid(const karst_market_header *header, const char *path, bool had_grid, karst_matrix *matrix)
{
  if (!had_grid && header->grid[0] == 0) return;
  if (header->grid[0] > 0 && karst_grid_cells(header->grid) == matrix->block_rows)
    karst_matrix_adopt_grid(matrix, header->grid, NULL);
  if (!karst_has_grid(matrix))
    karst_notify(matrix->context, KARST_MESSAGE_NOTE,
                 "%s: the grid is ignored, because its cells are not blocks of size %d", path, matrix->block_size);
}

/* Refuses a block size in the file's header that makes nearly all values of the blocks zero, because it would take
 * memory out of proportion to the file. A block size that the caller asks for is not checked. */
static karst_status check_blocks(const karst_matrix *stored, const char *path, int block_size)
{
  const int64_t always = 1 << 24, scalars_per_entry = 64;
  int64_t entries = karst_matrix_blocks(stored), most = always + scalars_per_entry * entries, blocks;
  if (karst_block_offset(block_size, entries + 1) <= most) return KARST_SUCCESS;
  karst_status status = karst_matrix_count_blocks(stored, block_size, &blocks);
  if (status || karst_block_offset(block_size, blocks) <= most) return status;
  return karst_fail(stored->context, KARST_ERROR_FORMAT,
                    "%s: the block size %d that its header names makes %lld scalars of %lld entries; pass the block "
                    "size to read it anyway",
                    path, block_size, (long long)karst_block_offset(block_size, blocks), (long long)entries);
}

static karst_status read_matrix(karst_context *context, const char *path, int block_size, bool stored,
                                karst_matrix **matrix)
{
  karst_input *input;
  karst_matrix *read = NULL;
  karst_market_header header = {.block_size = block_size};
  if (matrix) *matrix = NULL;
  if (!context || !matrix) return karst_missing(context, "the place for the matrix");
  if (!path) return karst_fail(context, KARST_ERROR_ARGUMENT, "the path of the matrix is NULL");
  if (block_size < 0 || block_size > KARST_BLOCK_SIZE_MAX)
    return karst_fail(context, KARST_ERROR_ARGUMENT,
                      "the block size %d is out of range (1 to %d, or 0 for the file's own)", block_size,
                      KARST_BLOCK_SIZE_MAX);
  karst_status status = karst_input_open(context, path, ".mtx", &input);
  if (status) return status;
  if (!input) return karst_fail(context, KARST_ERROR_FORMAT, "%s: the archive has no member NAME/NAME.mtx", path);
  status = read_stored_blocks(input, path, stored, &read, &header);
  karst_input_close(input);
  if (status) return status;
  bool own_size = block_size == 0;
  if (own_size && header.block_size == 0) karst_blocks_note(read, path);
  if (own_size) block_size = header.block_size > 0 ? header.block_size : 1;
  bool had_grid = karst_has_grid(read);
  if (block_size == karst_matrix_block_size(read)) {
    *matrix = read;
  } else {
    if (own_size) status = check_blocks(read, path, block_size);
    if (!status) status = karst_matrix_convert(read, block_size, matrix);
    karst_matrix_destroy(read);
  }
  if (!status) set_grid(&header, path, had_grid, *matrix);
  return status;
}

karst_status karst_matrix_read(karst_context *context, const char *path, int block_size, karst_matrix **matrix)
{
  return read_matrix(context, path, block_size, false, matrix);
}

karst_status karst_matrix_read_stored(karst_context *context, const char *path, int block_size, karst_matrix **matrix)
{
  return read_matrix(context, path, block_size, true, matrix);
}

/* Writes scalar row r of block row i. */
static karst_status write_row(const karst_matrix *A, const double *value, karst_index i, int r, karst_output *output)
{
  const int b = A->block_size;
  const karst_layout layout = karst_matrix_layout(A);
  const long long row = karst_layout_first(layout, i) + r + 1;
  karst_status status = KARST_SUCCESS;
  for (karst_index k = A->row_start[i]; k < A->row_start[i + 1]; k++) {
    const long long first = karst_layout_first(layout, A->column[k]) + 1;
    const int width = karst_matrix_height(A, A->column[k]);
    for (int c = 0; c < width && !status; c++)
      status =
          karst_output_print(output, "%lld %lld %.17g\n", row, first + c, value[karst_block_offset(b, k) + c * b + r]);
  }
  return status;
}

/* Counts the scalar entries to write, which are those outside the padding. */
static int64_t count_entries(const karst_matrix *A)
{
  int64_t count = 0;
  for (karst_index i = 0; i < A->block_rows; i++) {
    const int64_t height = karst_matrix_height(A, i);
    for (karst_index k = A->row_start[i]; k < A->row_start[i + 1]; k++)
      count += height * karst_matrix_height(A, A->column[k]);
  }
  return count;
}

static karst_status write_grid(const karst_matrix *A, karst_output *output)
{
  const karst_index *size = A->grid.size;
  if (!karst_has_grid(A)) return KARST_SUCCESS;
  if (!A->grid.cell)
    return karst_output_print(output, "%%%%karst grid %lld %lld %lld\n", (long long)size[0], (long long)size[1],
                              (long long)size[2]);
  karst_notify(A->context, KARST_MESSAGE_NOTE,
               "%s: the matrix's grid is not written: only .kbsr files can hold a map of its cells", output->path);
  return KARST_SUCCESS;
}

static karst_status write_market(const karst_matrix *A, const double *value, karst_output *output)
{
  int b = A->block_size;
  long long rows = A->rows_unpadded;
  karst_status status = karst_output_print(output, "%%%%MatrixMarket matrix coordinate real general\n");
  if (!status && b > 1) status = karst_output_print(output, "%% ISTL_STRUCT blocked %d %d\n", b, b);
  if (!status) status = write_grid(A, output);
  if (!status) status = karst_output_print(output, "%lld %lld %lld\n", rows, rows, (long long)count_entries(A));
  for (karst_index i = 0; i < A->block_rows; i++)
    for (int r = 0; r < karst_matrix_height(A, i) && !status; r++) status = write_row(A, value, i, r, output);
  return status;
}

/* Refuses values that are not finite, because Karst could not read the file again. */
static karst_status check_finite(const karst_matrix *A, const double *value, const char *path)
{
  for (karst_index i = 0; i < A->block_rows; i++) {
    int64_t end = karst_block_offset(A->block_size, A->row_start[i + 1]);
    for (int64_t k = karst_block_offset(A->block_size, A->row_start[i]); k < end; k++)
      if (!isfinite(value[k]))
        return karst_fail(A->context, KARST_ERROR_MATRIX, "%s is not written: a value in block row %lld is not finite",
                          path, (long long)i);
  }
  return KARST_SUCCESS;
}

karst_status karst_matrix_write(const karst_matrix *matrix, const char *path)
{
  karst_output *output = NULL;
  double *value;
  if (!matrix) return KARST_ERROR_ARGUMENT;
  karst_context *context = matrix->context;
  if (!path) return karst_fail(context, KARST_ERROR_ARGUMENT, "the path of the matrix is NULL");
  const bool binary = karst_path_ends(path, ".kbsr") || karst_path_ends(path, ".kbsr.gz");
  if (!binary && !karst_path_ends(path, ".mtx") && !karst_path_ends(path, ".mtx.gz") && !karst_place_is_alone(path))
    return karst_fail(context, KARST_ERROR_ARGUMENT, "%s does not end in .mtx, .mtx.gz, .kbsr or .kbsr.gz", path);
  karst_status status = karst_matrix_check_whole(matrix, "a file holds");
  if (!status) status = karst_matrix_host_value(matrix, &value);
  if (status) return status;
  status = check_finite(matrix, value, path);
  if (!status) status = karst_output_open(context, path, &output);
  if (!status) status = binary ? karst_binary_write(matrix, value, output) : write_market(matrix, value, output);
  status = karst_output_close(output, status);
  karst_matrix_host_value_done(matrix, value);
  return status;
}
