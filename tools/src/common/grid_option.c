/* grid_option.c - reads the options --grid and --actnum; see grid_option.h. */
#include "tools/src/common/grid_option.h"
#include "tools/src/common/actnum.h"

#include <stdlib.h>
#include <string.h>

/* Reads the digits at *text as a size of the grid and moves *text past them. Returns false if there are none or too
 * many. */
static bool read_size(const char **text, karst_index *size)
{
  const char *end = *text + strspn(*text, "0123456789");
  char digits[24];
  long long number;
  size_t length = (size_t)(end - *text);
  if (length >= sizeof digits) return false;
  memcpy(digits, *text, length);
  digits[length] = '\0';
  if (!tool_integer(digits, 1, KARST_INDEX_BITS == 64 ? INT64_MAX : INT32_MAX, &number)) return false;
  *size = (karst_index)number;
  *text = end;
  return true;
}

int tool_parse_grid(const char *text, const char *actnum, struct tool_grid *grid)
{
  *grid = (struct tool_grid){.given = text != NULL, .size = {1, 1, 1}, .actnum = actnum};
  if (actnum && (!text || strcmp(text, "find") == 0))
    return tool_fail(TOOL_FAILED, "--actnum needs the sizes of the grid, --grid NXxNYxNZ");
  if (!text) return TOOL_GO_ON;
  grid->find = strcmp(text, "find") == 0;
  if (grid->find) return TOOL_GO_ON;
  const char *rest = text;
  for (int axis = 0; axis < 3 && read_size(&rest, &grid->size[axis]); axis++) {
    if (axis > 0 && *rest == '\0') return TOOL_GO_ON;
    if (*rest++ != 'x') break;
  }
  return tool_fail(TOOL_FAILED, "--grid takes NXxNYxNZ, NXxNY (NXx1 for one axis) or find, with sizes from 1, not '%s'",
                   text);
}

static int set_active(karst_context *context, const struct tool_grid *grid, const char *name, karst_matrix *matrix)
{
  const karst_index rows = karst_matrix_block_rows(matrix);
  karst_index *cell = calloc((size_t)rows + 1, sizeof *cell);
  if (!cell) return tool_fail_memory("the active cells");
  int exit_status = tool_read_actnum(grid->actnum, grid->size, rows, cell);
  const karst_status status =
      exit_status == TOOL_GO_ON ? karst_matrix_set_grid_cells(matrix, grid->size[0], grid->size[1], grid->size[2], cell)
                                : KARST_SUCCESS;
  free(cell);
  return status ? tool_fail_about(context, status, name) : exit_status;
}

int tool_set_grid(karst_context *context, const struct tool_grid *grid, const char *name, karst_matrix *matrix)
{
  if (!grid->given) return TOOL_GO_ON;
  if (grid->actnum) return set_active(context, grid, name, matrix);
  karst_status status = grid->find ? karst_matrix_find_grid(matrix)
                                   : karst_matrix_set_grid(matrix, grid->size[0], grid->size[1], grid->size[2]);
  return status ? tool_fail_about(context, status, name) : TOOL_GO_ON;
}
