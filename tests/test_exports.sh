#!/bin/sh
# The shared library exports the functions of karst.h: all of them and nothing else.
library=$builddir/.libs/libkarst.so
if ! [ -e "$library" ]; then
  echo "1..0 # SKIP built without a shared library"
  exit 0
fi
# A declaration may go over several lines; its name stands before the first parenthesis.
declared=$(tr '\n' ' ' <"$builddir/include/karst.h" | tr ';' '\n' | sed -n 's/.*KARST_EXPORT [^(]*[ *]\(karst_[a-z0-9_]*\)(.*/\1/p' | sort)
exported=$(${NM:-nm} -D --defined-only "$library" | sed 's/.* //; s/@.*//' | sort)
echo 1..2
report()
{
  if [ -z "$3" ]; then echo "ok $1 - $2"; else echo "not ok $1 - $2:" $3; fi
}
scratch=${TMPDIR:-/tmp}/karst-exports-$$
echo "$declared" >"$scratch.declared"
echo "$exported" >"$scratch.exported"
report 1 "every function of karst.h is exported" "$(comm -23 "$scratch.declared" "$scratch.exported")"
report 2 "nothing else is exported" "$(comm -13 "$scratch.declared" "$scratch.exported")"
rm -f "$scratch.declared" "$scratch.exported"
