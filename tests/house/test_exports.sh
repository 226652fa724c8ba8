#!/bin/sh
# The shared library exports exactly the functions of karst.h, which Debian's list of symbols has too. No two kernels of
# the library have the same name, static or not: the loader chooses a version of a kernel by a function that clang makes
# global.
library=$builddir/.libs/libkarst.so
objects=$builddir/.libs/libkarstcore.a
NM=${NM:-nm}
. "$srcdir/tests/support/report.sh"
echo 1..5
all="every function of karst.h is exported" only="nothing else is exported" names="every kernel has a name of its own"
# A declaration may take several lines; its name precedes the first parenthesis.
tr '\n' ' ' <"$builddir/include/karst.h" | tr ';' '\n' |
  sed -n 's/.*KARST_EXPORT [^(]*[ *]\(karst_[a-z0-9_]*\)(.*/\1/p' | sort >"$scratch/declared"
if [ -e "$library" ]; then
  # With 64-bit indices some names end in the width.
  $NM -D --defined-only "$library" | sed 's/.* //; s/@.*//; s/_int64$//' | sort >"$scratch/exported"
  report "$all" "$(comm -23 "$scratch/declared" "$scratch/exported")"
  report "$only" "$(comm -13 "$scratch/declared" "$scratch/exported")"
else
  skip "$all" 'built without a shared library'
  skip "$only" 'built without a shared library'
fi
mpi="libkarst_mpi exports the functions of karst_mpi.h alone"
if [ -e "$builddir/.libs/libkarst_mpi.so" ]; then
  sed -n 's/^KARST_EXPORT [^(]*[ *]\(karst_[a-z0-9_]*\)(.*/\1/p' "$srcdir/mpi/karst_mpi.h" | sort >"$scratch/declared_mpi"
  $NM -D --defined-only "$builddir/.libs/libkarst_mpi.so" | sed 's/.* //; s/@.*//' | sort >"$scratch/exported_mpi"
  report "$mpi" "$(comm -3 "$scratch/declared_mpi" "$scratch/exported_mpi")"
else
  skip "$mpi" 'built without it'
fi
resolvers=$($NM "$objects" | sed -n 's/.* \(.*\)\.resolver$/\1/p')
if [ "$resolvers" ]; then
  report "$names" "$(echo "$resolvers" | sort | uniq -d)"
else
  skip "$names" 'built without a choice by processor'
fi
sed -n 's/^ \(karst_.*\)@Base .*/\1/p' "$srcdir/packaging/debian/libkarst1.symbols" | sort >"$scratch/listed"
report "Debian's list of symbols has the functions of karst.h" "$(comm -3 "$scratch/declared" "$scratch/listed")"
