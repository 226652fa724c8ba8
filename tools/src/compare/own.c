/* own.c - the names of a case that are no options of the library, for the command line, plans and rows alike.
 * Those of solve that are not listed have one value in a batch. */
#include "tools/src/compare/compare.h"

#include <string.h>

static const struct compare_own own[] = {
    {{"matrices", "", "", ""}, COMPARE_TEXT, true, true},
    {{"block", "B,...", "what the file's header says, else 1", "block sizes"}, COMPARE_COUNT, true, false},
    {{"device", "cpu|cuda|cuda:N,...", "cpu", "where to compute"}, COMPARE_TEXT, true, false},
    {{"threads", "T,...", "processors it may use", "threads of the CPU"}, COMPARE_COUNT, true, false},
    {{"rhs", "FILE|ones|Aones|random[:SEED]", "what came with the matrix, else ones", "right-hand side"},
     COMPARE_TEXT,
     false,
     false},
    {{"grid", "NXxNYxNZ|find", "what came with the matrix", "cells along each axis, or find them"},
     COMPARE_TEXT,
     false,
     false},
    {{"duplicates", "sum|refuse", "sum", "entries of one row and column in a file"}, COMPARE_TEXT, false, false},
    {{"repeat", "N", "", "then N times: new values, factor, solve; the median times"}, COMPARE_COUNT, false, false},
    {{"negate", "", "", "multiply the matrices by -1"}, COMPARE_SWITCH, false, false},
    {{"insert-diagonal", "", "", "add missing diagonal blocks as zeros"}, COMPARE_SWITCH, false, false},
    {{"stored-triangle", "", "", "take the stored triangle of a symmetric file as the whole matrix"},
     COMPARE_SWITCH,
     false,
     false},
};

enum { OWN = sizeof own / sizeof own[0] };

const struct compare_own *compare_own(size_t i) { return i < OWN ? &own[i] : NULL; }

const struct compare_own *compare_find_own(const char *name)
{
  size_t i = 0;
  while (i < OWN && strcmp(own[i].info.name, name) != 0) i++;
  return compare_own(i);
}
