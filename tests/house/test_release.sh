#!/bin/sh
# NEWS and CITATION.cff state the version that configure.ac states.
version=$(sed -n 's/^#define KARST_VERSION "\(.*\)"/\1/p' "$builddir/include/karst.h")
echo 1..2
# report NUMBER TEXT LINE FILE prints a test: whether the file has the line.
report()
{
  if grep -q -x -F "$3" "$srcdir/$4"; then echo "ok $1 - $2"; else echo "not ok $1 - $2: $4 lacks the line $3"; fi
}
report 1 "NEWS has this version" "Karst $version" NEWS
report 2 "CITATION.cff has this version" "version: $version" CITATION.cff
