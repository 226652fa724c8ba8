/* nearest.c - see nearest.h. */
#include "support/nearest.h"

#include <stdbool.h>
#include <string.h>

enum { LEAST = 2 /* letters of a name that is compared */ };

/* Names of options may have '_' for '-'. */
static bool same(char a, char b) { return a == b || ((a == '-' || a == '_') && (b == '-' || b == '_')); }

/* Whether a and b differ by one letter, or by two neighbours that have changed places. */
static bool is_one_slip(const char *a, size_t of_a, const char *b, size_t of_b)
{
  while (of_a > 0 && of_b > 0 && same(*a, *b)) {
    a++, b++;
    of_a--, of_b--;
  }
  while (of_a > 0 && of_b > 0 && same(a[of_a - 1], b[of_b - 1])) {
    of_a--;
    of_b--;
  }
  return (of_a <= 1 && of_b <= 1) || (of_a == 2 && of_b == 2 && a[0] == b[1] && a[1] == b[0]);
}

/* Whether one text begins with the letters of another, which is not longer. */
static bool begins(const char *text, const char *part, size_t of_part)
{
  size_t k = 0;
  while (k < of_part && same(text[k], part[k])) k++;
  return k == of_part;
}

/* Whether whole contains part. */
static bool is_inside(const char *part, size_t of_part, const char *whole, size_t of_whole)
{
  for (size_t at = 0; at + of_part <= of_whole; at++)
    if (begins(whole + at, part, of_part)) return true;
  return false;
}

int karst_nearness(const char *given, size_t length, const char *name)
{
  const size_t whole = strlen(name);
  if (length < LEAST || whole < LEAST) return 0;
  if (length <= whole && begins(name, given, length)) return 3;
  if (length > LEAST && is_one_slip(given, length, name, whole)) return 2;
  return is_inside(given, length, name, whole) || is_inside(name, whole, given, length);
}

const char *karst_nearest(const char *given, size_t length, const char *(*name)(const void *user, size_t i),
                          const void *user)
{
  const char *found = NULL, *known;
  int nearest = 0;
  for (size_t i = 0; (known = name(user, i)); i++) {
    const int near = karst_nearness(given, length, known);
    if (near <= nearest) continue;
    nearest = near;
    found = known;
  }
  return found;
}
