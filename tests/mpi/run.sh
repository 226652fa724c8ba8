# run.sh - runs test programs as several ranks of MPI, for scripts that source it: . "$srcdir/tests/mpi/run.sh". Without
# libkarst_mpi the script ends.
. "$srcdir/tests/support/report.sh"
if [ -z "$MPIEXEC" ]; then
  echo "1..0 # SKIP built without MPI"
  exit 0
fi
# For Open MPI 4 and 5: root may run them, and there may be more ranks than processors. Where processes may not read
# each other's memory, messages go through shared memory.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 \
  PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe OMPI_MCA_btl_vader_single_copy_mechanism=none \
  OMPI_MCA_hwloc_base_binding_policy=none OMP_NUM_THREADS=1

# on_ranks RANKS COMMAND... runs a command as so many ranks.
on_ranks()
{
  ranks=$1
  shift
  timeout 300 $MPIEXEC -n "$ranks" "$@"
}

# run RANKS PROGRAM ARGUMENT... runs a test program of this folder, and prints its lines with numbers of this script.
run()
{
  ranks=$1 program=$2
  shift 2
  on_ranks "$ranks" "$builddir/tests/mpi/$program" "$@" >"$scratch/output" 2>&1
  ended=$?
  sed -n -e '/^ok /p' -e '/^not ok /p' -e '/^#/p' "$scratch/output" |
    awk -v number="$number" -v ranks="$ranks" '
      /^#/ { print; next }
      { sub(/ok [0-9]+ -/, "ok " ++number " - " ranks (ranks == 1 ? " rank:" : " ranks:")); print }'
  number=$((number + $(grep -c -E '^(not )?ok ' "$scratch/output")))
  wrong=''
  grep -q '^1\.\.' "$scratch/output" && [ $ended = 0 ] || wrong="status $ended: $(shown "$scratch/output")"
  report "$program ends well on $ranks" "$wrong"
}
