#!/bin/sh
# Systems over the ranks of an MPI communicator.
. "$srcdir/tests/mpi/run.sh"
for ranks in 1 2 4; do
  run $ranks test_solve
done
echo "1..$number"
