/* own.c - the names of a case that are not options of the library, for the command line, plans and rows. Names that
 * take no list have one value in a batch. */
#include "tools/src/compare/compare.h"
#include "tools/src/common/shared_rows.h"

#include <string.h>

static const struct compare_own own[] = {
    {"matrices", "", "", "", NULL, COMPARE_TEXT, true, true},
    {"block", "B,...", "what the file's header says, else 1", "block sizes", TOOL_BLOCK_DETAILS, COMPARE_COUNT, true,
     false},
    {"device", "cpu|cuda|cuda:N,...", "cpu", "where to compute",
     "A device that is missing is the outcome of its cases.", COMPARE_TEXT, true, false},
    {"threads", "T,...", "processors it may use", "threads of the CPU", "This is the option of solve.", COMPARE_COUNT,
     true, false},
    {TOOL_RHS_ROW, COMPARE_TEXT, false, false},
    {TOOL_GRID_ROW, COMPARE_TEXT, false, false},
    {TOOL_ACTNUM_ROW, COMPARE_TEXT, false, false},
    {TOOL_DUPLICATES_ROW, COMPARE_TEXT, false, false},
    {"repeat", "N", "", "then N times: new values, factor, solve; the median times", "This is the option of solve.",
     COMPARE_COUNT, false, false},
    {TOOL_NEGATE_ROW, COMPARE_SWITCH, false, false},
    {TOOL_INSERT_DIAGONAL_ROW, COMPARE_SWITCH, false, false},
    {TOOL_STORED_TRIANGLE_ROW, COMPARE_SWITCH, false, false},
};

enum { OWN = sizeof own / sizeof own[0] };
_Static_assert(sizeof own <= COMPARE_OWN_MAX * sizeof own[0], "the command line has room for each name");

const struct compare_own *compare_own(size_t i) { return i < OWN ? &own[i] : NULL; }

const struct compare_own *compare_find_own(const char *name)
{
  size_t i = 0;
  while (i < OWN && strcmp(own[i].name, name) != 0) i++;
  return compare_own(i);
}
