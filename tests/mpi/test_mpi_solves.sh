#!/bin/sh
# Systems over the ranks of an MPI communicator, and the example, which a user compiles.
. "$srcdir/tests/mpi/run.sh"
for ranks in 1 2 4; do
  run $ranks test_solve
done

# variable NAME prints what this build's Makefile sets.
variable() { sed -n "s/^$1 = //p" "$builddir/Makefile"; }
# example RANKS ARGUMENT... runs the example as so many ranks.
example()
{
  ranks=$1
  shift
  on_ranks "$ranks" "$scratch/mpi" "$@" >"$scratch/output" 2>&1
}
if [ -e "$builddir/.libs/libkarst_mpi.so" ]; then
  warnings=$($(variable CC) $(variable OPTIMIZE) $(variable CFLAGS) -Wall -Wextra -Wshadow -Wconversion \
    "$srcdir/examples/mpi.c" -I"$srcdir/mpi" -I"$builddir/include" $(variable MPI_CFLAGS) -L"$builddir/.libs" \
    -lkarst_mpi -lkarst -Wl,-rpath,"$builddir/.libs" $(variable MPI_LIBS) -o "$scratch/mpi" 2>&1)
  report "the example compiles without a warning" "$warnings"
  for ranks in 1 3; do
    example $ranks solver cg precond amg
    report "it converges on $ranks" \
      "$(grep -q "^ranks: $ranks, by MPI: converged after" "$scratch/output" || shown "$scratch/output")"
  done
  example 2 precond nonsense && ended=0 || ended=$?
  report "an error of all ranks has one sentence and a status" \
    "$([ $ended != 0 ] && [ "$(grep -c 'precond "nonsense" is unknown' "$scratch/output")" = 1 ] ||
      shown "$scratch/output")"
else
  skip "the example compiles" 'built without a shared library'
fi
echo "1..$number"
