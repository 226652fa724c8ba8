#!/bin/sh
# mpiexec karst-solve --ranks writes one report, and ends with the same status on all ranks.
. "$srcdir/tests/mpi/run.sh"
libraries=$builddir/.libs
if [ ! -e "$libraries/libkarst_mpi.so" ]; then
  echo "1..0 # SKIP built without a shared library"
  exit 0
fi
LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH

# solve RANKS ARGUMENT... sets $ended to the exit status; what is printed goes to $scratch/output.
solve()
{
  ranks=$1
  shift
  on_ranks "$ranks" "$builddir/tools/solve" "$@" --ranks >"$scratch/output" 2>&1 && ended=0 || ended=$?
}
# prints STATUS PATTERN prints what contradicts that the run has ended so and that one line has the pattern.
prints()
{
  [ "$ended" = "$1" ] && [ "$(grep -c -e "$2" "$scratch/output")" = 1 ] || shown "$scratch/output"
}

for ranks in 1 2 4; do
  solve $ranks blackoil:12x10x8 --solver gmres
  report "$ranks ranks write one report" "$(prints 0 "^ranks       $ranks, by MPI;")"
  report "they have converged" "$(prints 0 '^converged after')"
  report "the report is of the whole system" "$(prints 0 ': 2880 rows, .* grid 12x10x8')"
done
solve 2 poisson3d:10x9x8 --max-iterations 2 --history "$scratch/history"
report "a solve that does not converge has its report and status 1" "$(prints 1 '^not converged after 2 iterations')"
report "rank 0 writes the history" "$([ "$(wc -l <"$scratch/history")" -ge 3 ] || shown "$scratch/history")"
solve 2 absent.mtx
report "a file that is missing is one sentence and status 2" "$(prints 2 "no file named 'absent.mtx'")"
solve 2 poisson3d:5x5x5 --precond ras --overlap 4
report "so is an option that the ranks refuse" "$(prints 2 'overlap')"
solve 1 poisson3d:5x5x5 --solution "$scratch/x"
report "so is an option that needs the whole system" "$(prints 2 '^solve: --solution needs the whole system')"
solve 1 poisson3d:5x5x5 --device cuda:99
report "a device that is missing is status 3" "$(prints 3 '^solve: rank 0: ')"

# Rank 1 alone has another name for the matrix.
cat >"$scratch/differ" <<'end'
#!/bin/sh
name=poisson3d:5x5x5
[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" != 1 ] || name=absent.mtx
exec "$builddir/tools/solve" $name --ranks
end
chmod +x "$scratch/differ"
on_ranks 3 "$scratch/differ" >"$scratch/output" 2>&1 && ended=0 || ended=$?
report "what one rank cannot read ends all" "$(prints 2 'another rank cannot read the system')"

# It may be installed.
LD_LIBRARY_PATH='' solve 1 poisson3d:5x5x5
report "without libkarst_mpi a sentence says so" \
  "$([ $ended = 0 ] || prints 2 '^solve: --ranks needs the library libkarst_mpi')"
echo "1..$number"
