#!/bin/sh
# Compiles tests/plugins/dune.cpp and examples/dune.cpp without a warning, and runs them: the first is a test
# program of its own, and the example has the same iterations with Karst's ILU(0) as with that of dune-istl.
. "$srcdir/tests/support/report.sh"
variable() { sed -n "s/^$1 = //p" "$builddir/Makefile"; }
if [ -z "$(variable DUNE_LIBS)" ]; then
  echo "1..0 # SKIP dune-istl is not there, or no C++ compiler"
  exit 0
fi

# compile SOURCE LIBRARY makes $scratch/program.
compile()
{
  "$builddir/libtool" --silent --tag=CC --mode=link $(variable CXX) -std=c++17 $(variable CFLAGS) -O0 -g1 \
    -Wall -Wextra -Wshadow -Wconversion -Werror -I"$srcdir" -I"$srcdir/plugins/dune" \
    -I"$builddir/include" $(variable DUNE_CPPFLAGS) "$srcdir/$1" "$builddir/$2" $(variable DUNE_LIBS) \
    -no-install -o "$scratch/program" >"$scratch/log" 2>&1 && return
  sed 's/^/# /' "$scratch/log"
  echo "Bail out! $1 does not compile"
  exit 1
}

# dune-istl releases the columns of a matrix with another size than it took, which a sanitizer minds.
ASAN_OPTIONS=$ASAN_OPTIONS${ASAN_OPTIONS:+:}new_delete_type_mismatch=0
export ASAN_OPTIONS

compile tests/plugins/dune.cpp tests/libtested.la
"$scratch/program" >"$scratch/results" || status=$?
grep -v '^1\.\.' "$scratch/results"
number=$(sed -n 's/^1\.\.//p' "$scratch/results")

compile examples/dune.cpp libkarst.la
"$builddir/tools/convert" blackoil:7x6x5 "$scratch/matrix.mtx" >"$scratch/log" 2>&1
"$scratch/program" "$scratch/matrix.mtx" "$scratch/matrix_b.mtx" 1e-8 >"$scratch/output" 2>&1
report "the example has the same iterations with either ILU(0)" "$(
  awk '/^SeqILU/ { theirs = $(NF - 1) } /^Karst::Precond/ { ours = $(NF - 1) } $NF < 2e-8 { solved++ }
    END { exit !(theirs > 0 && theirs == ours && solved == 3) }' "$scratch/output" ||
    cat "$scratch/log" "$scratch/output")"
echo "1..$number"
exit "${status-0}"
