#!/bin/sh
# The ranks of an MPI communicator: the transport, and how GPUs reach each other, with a stand-in for NCCL.
. "$srcdir/tests/mpi/run.sh"
for ranks in 1 2 4; do
  run $ranks test_communicator
done

# with_nccl FOLDER RANKS ARGUMENT... runs test_queue with the libnccl.so.2 of a folder.
with_nccl()
{
  folder=$1 ranks=$2
  shift 2
  LD_LIBRARY_PATH=$folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} run "$ranks" test_queue "$@"
}
if [ ! -e "$builddir/tests/mpi/.libs/libnccl.so.2" ]; then
  skip "ranks on GPUs reach each other by NCCL" 'built without shared libraries'
  echo "1..$number"
  exit
fi
with_nccl "$builddir/tests/mpi/.libs" 1
with_nccl "$builddir/tests/mpi/.libs" 2
with_nccl "$builddir/tests/mpi/.libs" 3
export FAKE_NCCL_FAILS=1
with_nccl "$builddir/tests/mpi/.libs" 3 'on rank 1 invalid usage'
# A library that is none, and one without NCCL's functions.
mkdir "$scratch/none" "$scratch/other"
echo none >"$scratch/none/libnccl.so.2"
with_nccl "$scratch/none" 2 'on rank 0 libnccl.so.2 cannot be opened'
ln -s "$builddir/tests/.libs/libtested.so" "$scratch/other/libnccl.so.2"
with_nccl "$scratch/other" 2 'on rank 0 libnccl.so.2 is older than 2.7'
echo "1..$number"
