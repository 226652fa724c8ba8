/* market.c - the head of a Matrix Market file (Boisvert, Pozo, Remington, The Matrix Market exchange formats, NISTIR
 * 5935, 1996):
 *     %%MatrixMarket matrix coordinate|array FIELD SYMMETRY
 *     % comments; "% ISTL_STRUCT blocked b b" (dune-istl) gives a block size, and
 *       "%%karst grid NX NY NZ" a grid whose cells are the block rows, x fastest
 *     ROWS COLUMNS ENTRIES, or ROWS COLUMNS for an array
 * Words are compared without regard to case; blank lines are skipped everywhere. */
#include "config.h"

#include "format/format.h"
#include "lib/grid/grid.h"

#include <string.h>
#include <strings.h>

static const char banner[] = "%%MatrixMarket";

bool karst_market_begins(const char *line)
{
  size_t length = sizeof banner - 1;
  return strncasecmp(line, banner, length) == 0 && strchr(" \t", line[length]);
}

/* Returns whether the word at *text is this one, and if so moves *text past it and the spaces that follow. */
static bool take_word(const char **text, const char *word)
{
  size_t length = strcspn(*text, " \t");
  if (length != strlen(word) || strncasecmp(*text, word, length) != 0) return false;
  *text = karst_skip_spaces(*text + length);
  return true;
}

/* Reports that Karst does not read the word at text in the banner. */
static karst_status refuse_word(karst_input *input, const char *text, const char *wanted)
{
  char word[KARST_WORD_SIZE];
  if (*text == '\0') return karst_input_fail(input, "the header ends before one of %s", wanted);
  return karst_input_fail(input, "the header says '%s', but Karst reads %s", karst_quote_word(text, word), wanted);
}

static karst_status read_field(karst_input *input, const char **text, karst_market_header *header)
{
  header->integer = take_word(text, "integer");
  if (header->integer || take_word(text, "real") || take_word(text, "double")) return KARST_SUCCESS;
  if (take_word(text, "pattern"))
    return karst_input_fail(input, "the file holds a pattern without values, which cannot be solved");
  if (take_word(text, "complex"))
    return karst_input_fail(input, "the values are complex, but Karst reads real or integer");
  return refuse_word(input, *text, "real or integer");
}

static karst_status read_symmetry(karst_input *input, const char **text, karst_market_header *header)
{
  if (take_word(text, "general"))
    header->symmetry = KARST_MARKET_GENERAL;
  else if (header->coordinate && take_word(text, "symmetric"))
    header->symmetry = KARST_MARKET_SYMMETRIC;
  else if (header->coordinate && take_word(text, "skew-symmetric"))
    header->symmetry = KARST_MARKET_SKEW;
  else
    return refuse_word(input, *text, header->coordinate ? "general, symmetric or skew-symmetric" : "general");
  return KARST_SUCCESS;
}

static karst_status read_banner(karst_input *input, const char *text, bool coordinate, karst_market_header *header)
{
  char word[KARST_WORD_SIZE];
  *header = (karst_market_header){.coordinate = coordinate};
  take_word(&text, banner);
  if (!take_word(&text, "matrix")) return refuse_word(input, text, "matrix");
  if (!coordinate && take_word(&text, "coordinate"))
    return karst_input_fail(input, "the file holds a sparse matrix, but a vector is an array of one column");
  if (coordinate && take_word(&text, "array"))
    return karst_input_fail(input, "the file holds a dense array, but a sparse matrix is in coordinate form");
  if (!take_word(&text, coordinate ? "coordinate" : "array"))
    return refuse_word(input, text, coordinate ? "coordinate" : "array");
  karst_status status = read_field(input, &text, header);
  if (!status) status = read_symmetry(input, &text, header);
  if (!status && *text != '\0')
    status = karst_input_fail(input, "unexpected '%s' after the header", karst_quote_word(text, word));
  return status;
}

/* Reads the three sizes of a grid. */
static karst_status read_grid(karst_input *input, const char *text, karst_market_header *header)
{
  char word[KARST_WORD_SIZE], fault[KARST_FAULT_SIZE];
  karst_index cells;
  for (int axis = 0; axis < 3; axis++) {
    int64_t size;
    const char *end = karst_parse_integer(text, &size);
    if (!end || size < 1 || size > KARST_INDEX_MAX)
      return karst_input_fail(input, "size %d of the grid, '%s', is out of range (1 to %lld)", axis + 1,
                              karst_quote_word(text, word), (long long)KARST_INDEX_MAX);
    header->grid[axis] = (karst_index)size;
    text = karst_skip_spaces(end);
  }
  if (*text != '\0') return karst_input_fail(input, "unexpected '%s' after the grid", karst_quote_word(text, word));
  if (!karst_grid_is_valid(header->grid, &cells, fault)) return karst_input_fail(input, "%s", fault);
  if (header->grid_line > 0) return karst_input_fail(input, "the file gives a second grid");
  header->grid_line = input->line;
  return KARST_SUCCESS;
}

/* Refuses a grid, by its line, if its cells cannot be the block rows of the matrix. If the file has no block size, the
 * caller checks the grid when it chooses one. */
static karst_status check_grid(karst_input *input, const karst_market_header *header)
{
  int64_t b = header->block_size, cells = karst_grid_cells(header->grid);
  int64_t block_rows = b > 0 ? header->rows / b + (header->rows % b > 0) : header->rows;
  if (cells == 0 || cells == block_rows || (b == 0 && cells < block_rows)) return KARST_SUCCESS;
  input->line = header->grid_line;
  return karst_input_fail(input, "the grid %lldx%lldx%lld has %lld cells, where the file has %lld block rows",
                          (long long)header->grid[0], (long long)header->grid[1], (long long)header->grid[2],
                          (long long)cells, (long long)block_rows);
}

/* Reads a comment, which may give the matrix's block size or grid. */
static karst_status read_comment(karst_input *input, const char *text, karst_market_header *header)
{
  int64_t size[2];
  text = karst_skip_spaces(text + 1);
  if (header->coordinate && take_word(&text, "%karst"))
    return take_word(&text, "grid") ? read_grid(input, text, header) : KARST_SUCCESS;
  if (!header->coordinate || !take_word(&text, "ISTL_STRUCT") || !take_word(&text, "blocked")) return KARST_SUCCESS;
  for (int i = 0; i < 2; i++) {
    const char *end = karst_parse_integer(text, &size[i]);
    if (!end || size[i] < 1 || size[i] > KARST_BLOCK_SIZE_MAX) {
      char word[KARST_WORD_SIZE];
      return karst_input_fail(input, "the block size '%s' is out of range (1 to %d)", karst_quote_word(text, word),
                              KARST_BLOCK_SIZE_MAX);
    }
    text = karst_skip_spaces(end);
  }
  if (size[0] != size[1])
    return karst_input_fail(input, "blocks of %lld by %lld are not square", (long long)size[0], (long long)size[1]);
  header->block_size = (int)size[0];
  return KARST_SUCCESS;
}

/* Reads one number of the size line. */
static karst_status read_size(karst_input *input, const char **text, const char *what, int64_t *size)
{
  char word[KARST_WORD_SIZE];
  const char *end = karst_parse_integer(*text, size);
  karst_quote_word(*text, word);
  if (**text == '\0') return karst_input_fail(input, "the size line ends before the number of %s", what);
  if (!end) return karst_input_fail(input, "the number of %s, '%s', is not an integer", what, word);
  if (*size < 0) return karst_input_fail(input, "the number of %s, %s, is negative", what, word);
  if (*size == INT64_MAX) return karst_input_fail(input, "the number of %s, %s, is too large", what, word);
  *text = karst_skip_spaces(end);
  return KARST_SUCCESS;
}

/* Refuses sizes that are too large for the file before memory is allocated for them. */
static karst_status check_sizes(karst_input *input, const karst_market_header *header)
{
  const int64_t shortest = header->coordinate ? 6 : 2; /* bytes of the shortest line, "1 1 1\n" or "1\n" */
  if (header->coordinate && header->rows != header->columns)
    return karst_input_fail(input, "the matrix is not square: %lld rows and %lld columns", (long long)header->rows,
                            (long long)header->columns);
  if (!header->coordinate && header->columns != 1)
    return karst_input_fail(input, "the array has %lld columns, but a vector has one", (long long)header->columns);
  if (header->entries > input->text_limit / shortest + 1)
    return karst_input_fail(input, "%lld entries are announced, but the file has only %lld bytes",
                            (long long)header->entries, (long long)input->file_size);
  return header->coordinate ? karst_input_check_rows(input, header->rows, header->entries) : KARST_SUCCESS;
}

static karst_status read_size_line(karst_input *input, const char *text, karst_market_header *header)
{
  char word[KARST_WORD_SIZE];
  karst_status status = read_size(input, &text, "rows", &header->rows);
  if (!status) status = read_size(input, &text, "columns", &header->columns);
  if (!status && header->coordinate) status = read_size(input, &text, "entries", &header->entries);
  if (!header->coordinate) header->entries = header->rows;
  if (!status && *text != '\0')
    status = karst_input_fail(input, "unexpected '%s' after the sizes", karst_quote_word(text, word));
  if (!status) status = check_sizes(input, header);
  return status ? status : check_grid(input, header);
}

karst_status karst_market_read_header(karst_input *input, const char *line, bool coordinate,
                                      karst_market_header *header)
{
  char *next;
  karst_status status = read_banner(input, line, coordinate, header);
  while (!status) {
    status = karst_input_line(input, &next);
    if (status) break;
    if (!next) return karst_input_fail(input, "the file ends before its size line");
    if (*next != '%') return read_size_line(input, next, header);
    status = read_comment(input, next, header);
  }
  return status;
}
