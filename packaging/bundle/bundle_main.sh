#!/bin/sh
# bundle_main.sh PROGRAM... - writes the C program whose first argument is a path that ends with the name of one of them
# (tests/lib/test_vector); it calls main_tests_test_vector, as bundle.mk renames that program's main, with the path as
# argv[0].
cat <<'END'
#include <stdio.h>
#include <string.h>

END
for program; do
  echo "int main_$(echo "$program" | tr / _)(int, char **);"
done
cat <<'END'

static int ends_with(const char *path, const char *name)
{
  const size_t length = strlen(path), of_name = strlen(name);
  return length > of_name && path[length - of_name - 1] == '/' && !strcmp(path + length - of_name, name);
}

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
  const char *path = count > 1 ? arguments[1] : "";
  for (size_t p = 0; p < sizeof programs / sizeof *programs; p++)
    if (ends_with(path, programs[p].name)) return programs[p].main(count - 1, arguments + 1);
  fprintf(stderr, "the bundle has no program '%s'\n", path);
  return 2;
}
END
