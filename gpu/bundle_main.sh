#!/bin/sh
# bundle_main.sh PROGRAM... - writes the C program that runs one of these (tests/test_vector), which is its first
# argument, by the main function main_tests_test_vector that bundle.mk has made of its own.
cat <<'END'
#include <stdio.h>
#include <string.h>

END
for program; do
  echo "int main_$(echo "$program" | tr / _)(int, char **);"
done
cat <<'END'

int main(int count, char **arguments)
{
  static const struct {
    const char *name;
    int (*main)(int, char **); /* those that take nothing disregard the arguments */
  } programs[] = {
END
for program; do
  echo "    {\"$program\", main_$(echo "$program" | tr / _)},"
done
cat <<'END'
  };
  const char *wanted = count > 1 ? arguments[1] : "";
  for (size_t p = 0; p < sizeof programs / sizeof *programs; p++)
    if (!strcmp(wanted, programs[p].name)) return programs[p].main(count - 1, arguments + 1);
  fprintf(stderr, "the bundle has no program '%s'\n", wanted);
  return 2;
}
END
