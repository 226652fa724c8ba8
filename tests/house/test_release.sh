#!/bin/sh
# NEWS and CITATION.cff state the version that configure.ac states.
. "$srcdir/tests/support/report.sh"
version=$(sed -n 's/^#define KARST_VERSION "\(.*\)"/\1/p' "$builddir/include/karst.h")
echo 1..2
for line in "NEWS:Karst $version" "CITATION.cff:version: $version"; do
  file=${line%%:*}
  report "$file has this version" "$(grep -q -x -F "${line#*:}" "$srcdir/$file" || echo "it lacks the line ${line#*:}")"
done
