/* A search in ascending numbers has the result of a linear search. */
#include "lib/base/search.h"

#include "tests/support/tap.h"

enum { COUNT = 24, CASES = 200 };

/* Draws ascending numbers, with some of them equal if distinct is false. */
static void draw(bool distinct, karst_index number[COUNT])
{
  karst_index last = -3;
  for (int i = 0; i < COUNT; i++) number[i] = last += (karst_index)(tap_random_index(3) + (distinct ? 1 : 0));
}

static void test_lower_bound(void)
{
  bool right = true;
  for (int c = 0; c < CASES; c++) {
    karst_index number[COUNT], first = (karst_index)tap_random_index(COUNT + 1);
    const karst_index end = first + (karst_index)tap_random_index(COUNT - first + 1);
    draw(false, number);
    for (karst_index wanted = -5; wanted < 2 * COUNT; wanted++) {
      karst_index place = first;
      while (place < end && number[place] < wanted) place++;
      right = right && karst_lower_bound(number, first, end, wanted) == place;
    }
  }
  tap_ok(right, "the first number that is not below the wanted one, or the end");
}

static void test_find_column(void)
{
  bool right = true;
  for (int c = 0; c < CASES; c++) {
    karst_index column[COUNT], first = (karst_index)tap_random_index(COUNT + 1);
    const karst_index end = first + (karst_index)tap_random_index(COUNT - first + 1);
    draw(true, column);
    for (karst_index j = -5; j < 3 * COUNT; j++) {
      karst_index place = -1;
      for (karst_index k = first; k < end; k++)
        if (column[k] == j) place = k;
      right = right && karst_find_column(column, first, end, j) == place;
    }
  }
  tap_ok(right, "a column of a row, or -1, also where the next row has it");
}

int main(void)
{
  test_lower_bound();
  test_find_column();
  return tap_done();
}
