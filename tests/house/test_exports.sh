#!/bin/sh
# The shared library exports exactly the functions of karst.h, which Debian's list of symbols has too. No two kernels of
# the library have the same name, static or not, because clang makes the function global by which the loader chooses a
# version.
library=$builddir/.libs/libkarst.so
objects=$builddir/.libs/libkarstcore.a
NM=${NM:-nm}
echo 1..4
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT
# report NUMBER TEXT WRONG prints a test; WRONG lists what contradicts the text.
report()
{
  if [ -z "$3" ]; then echo "ok $1 - $2"; else echo "not ok $1 - $2:" $3; fi
}
all="every function of karst.h is exported" only="nothing else is exported" names="every kernel has a name of its own"
# A declaration may take several lines; its name precedes the first parenthesis.
tr '\n' ' ' <"$builddir/include/karst.h" | tr ';' '\n' |
  sed -n 's/.*KARST_EXPORT [^(]*[ *]\(karst_[a-z0-9_]*\)(.*/\1/p' | sort >"$scratch/declared"
if [ -e "$library" ]; then
  # With 64-bit indices some names end in the width.
  $NM -D --defined-only "$library" | sed 's/.* //; s/@.*//; s/_int64$//' | sort >"$scratch/exported"
  report 1 "$all" "$(comm -23 "$scratch/declared" "$scratch/exported")"
  report 2 "$only" "$(comm -13 "$scratch/declared" "$scratch/exported")"
else
  echo "ok 1 - $all # SKIP built without a shared library"
  echo "ok 2 - $only # SKIP built without a shared library"
fi
resolvers=$($NM "$objects" | sed -n 's/.* \(.*\)\.resolver$/\1/p')
if [ "$resolvers" ]; then
  report 3 "$names" "$(echo "$resolvers" | sort | uniq -d)"
else
  echo "ok 3 - $names # SKIP built without a choice by processor"
fi
sed -n 's/^ \(karst_.*\)@Base .*/\1/p' "$srcdir/packaging/debian/libkarst1.symbols" | sort >"$scratch/listed"
report 4 "Debian's list of symbols has the functions of karst.h" "$(comm -3 "$scratch/declared" "$scratch/listed")"
