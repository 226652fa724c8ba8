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
solve 1 poisson3d:5x5x5 --spy "$scratch/x.svg"
report "so is an option that needs the whole system" "$(prints 2 '^solve: --spy draws the whole pattern')"
solve 1 poisson3d:5x5x5 --device cuda:99
report "a device that is missing is status 3" "$(prints 3 '^solve: rank 0: ')"

# once STATUS PATTERN ARGUMENT... checks that 2 ranks print the error once, in JSON too. mpiexec may print a line of one
# stream within one of the other, so they go to files of their own.
once()
{
  status=$1 pattern=$2
  shift 2
  on_ranks 2 "$builddir/tools/solve" poisson3d:5x5x5 "$@" $json --ranks >"$scratch/json" 2>"$scratch/output" &&
    ended=0 || ended=$?
  report "2 ranks print one error: $*" "$(prints "$status" "^solve: .*$pattern")"
  mv "$scratch/json" "$scratch/output"
  [ -z "$json" ] || report "and one in JSON" "$(prints "$status" "^{\"error\": .*$pattern")"
}
json=--json
"$builddir/tools/solve" poisson2d:2x2 --json 2>&1 | grep -q 'without jansson' && json=''
once 2 'bogus' --precond bogus
once 3 'rank 0: ' --device cuda:99
once 2 '--exact needs' --exact --rhs ones
once 2 'no/history' --history "$scratch/no/history"
once 2 'overlap' --precond ras --overlap 4
cat >"$scratch/differ" <<'end'
#!/bin/sh
[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" != 1 ] || set -- --rtol x
exec "$builddir/tools/solve" poisson3d:5x5x5 --ranks "$@"
end
chmod +x "$scratch/differ"
on_ranks 3 "$scratch/differ" >"$scratch/output" 2>&1 && ended=0 || ended=$?
report "what one rank alone refuses is the error of all" "$(prints 2 '^solve: rank 1: .*rtol')"
solve 3 --help
report "help comes once" "$(prints 0 '^exit status: ')"

# Rank 1 alone has another name for the matrix.
cat >"$scratch/differ" <<'end'
#!/bin/sh
name=poisson3d:5x5x5
[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" != 1 ] || name=absent.mtx
exec "$builddir/tools/solve" $name --ranks
end
chmod +x "$scratch/differ"
on_ranks 3 "$scratch/differ" >"$scratch/output" 2>&1 && ended=0 || ended=$?
report "what one rank cannot make ends all, with its sentence" "$(prints 2 '^solve: rank 1: .*problem "absent.mtx"')"

# Rank 1 alone has no file of parts.
mkdir "$scratch/empty"
awk 'BEGIN { for (i = 0; i < 125; i++) print i % 3 }' >"$scratch/thirds"
top=$(cd "$builddir" && pwd)
cat >"$scratch/differ" <<end
#!/bin/sh
LD_LIBRARY_PATH=$top/.libs
cd "$scratch"
[ "\${OMPI_COMM_WORLD_RANK:-\$PMI_RANK}" != 1 ] || cd empty
exec "$top/tools/solve" poisson3d:5x5x5 --ranks --partition thirds
end
on_ranks 3 "$scratch/differ" >"$scratch/output" 2>&1 && ended=0 || ended=$?
report "nor can one rank lack the file of parts" "$(prints 2 '^solve: rank 1: --partition takes even, metis or a file')"

# alike WHAT RANKS ARGUMENT... checks that ranks write the solution that one process has, in the same order.
alike()
{
  what=$1 ranks=$2
  shift 2
  rm -f "$scratch/alone.mtx" "$scratch/ranks.mtx"
  "$builddir/tools/solve" "$@" --rtol 1e-11 --quiet --solution "$scratch/alone.mtx" 2>/dev/null
  solve "$ranks" "$@" $partition --rtol 1e-11 --solution "$scratch/ranks.mtx"
  report "$what has the solution of one process" "$(prints 0 '^converged after' &&
    "$builddir/tools/diff" --rtol 1e-7 "$scratch/alone.mtx" "$scratch/ranks.mtx" >"$scratch/differ" 2>&1 ||
    shown "$scratch/differ")"
}
awk 'BEGIN { for (i = 0; i < 960; i++) print int(i * 7 / 3) % 3 }' >"$scratch/parts"
"$builddir/tools/convert" blackoil:12x10x8 "$scratch/oil.kbsr" 2>/dev/null
for partition in '--partition even' "--partition $scratch/parts" ''; do
  alike "a problem on 3 ranks ${partition:-by default}" 3 blackoil:12x10x8 --solver gmres
  alike "a file on 3 ranks ${partition:-by default}" 3 "$scratch/oil.kbsr" --rhs random:3 --solver gmres
done
partition=''
alike 'a problem with random numbers' 4 poisson3d:6x5x4 --rhs random:5
alike 'a problem that is negated' 2 poisson3d:6x5x4 --negate --rhs Aones
awk 'BEGIN { for (i = 0; i < 34; i++) print 1 - i % 2 }' >"$scratch/few"
partition="--partition $scratch/few"
alike 'a last block that is padded, on the first rank,' 2 poisson2d:25x4 --block 3
partition=''
if "$builddir/tools/solve" --version | grep -q METIS; then
  solve 2 "$scratch/oil.kbsr"
  report "files are divided by METIS" "$(prints 0 '^partition   metis: the largest part has')"
  solve 3 blackoil:12x10x8 --partition metis --json
  report "so are problems that ask for it; JSON says so" "$(prints 0 '"partition": *"metis"')"
else
  solve 2 blackoil:12x10x8 --partition metis
  report "METIS is missing, which a sentence says" "$(prints 2 '^solve: a partition needs METIS')"
fi

# refuses WHAT PATTERN checks what is said of the file $scratch/bad, on 2 ranks.
refuses()
{
  for name in poisson2d:2x2 "$scratch/small.kbsr"; do
    solve 2 $name --partition "$scratch/bad"
    report "$1 is refused, of $(basename "$name")" "$(prints 2 "^solve: .*$2")"
  done
}
"$builddir/tools/convert" poisson2d:2x2 "$scratch/small.kbsr" 2>/dev/null
refuses 'a file of parts that is missing' 'even, metis or a file, and .*bad cannot be read'
printf '0\n1\n2\n0\n' >"$scratch/bad"
refuses 'a part that is no rank' "bad, line 3: '2' is not the number of one of 2 processes"
printf '0\n1\nx\n0\n' >"$scratch/bad"
refuses 'a word' "bad, line 3: 'x' is not the number"
printf '0\n1\n' >"$scratch/bad"
refuses 'a short file' 'bad, line 3: the file ends, but the matrix has 4 block rows'
printf '0\n1\n1\n0\n1\n' >"$scratch/bad"
refuses 'a long file' 'bad, line 5: the matrix has only 4 block rows'
"$builddir/tools/solve" poisson2d:2x2 --partition even >"$scratch/output" 2>&1 && ended=0 || ended=$?
report "--partition needs --ranks" "$(prints 2 '^solve: --partition divides a system over the processes of mpiexec')"

# singular NAME VALUE writes a five-point matrix of 20x20 whose row 234, from 0, has this on the diagonal alone; "" has
# no entry there.
singular()
{
  awk -v value="$2" 'BEGIN {
    n = 20; print "%%MatrixMarket matrix coordinate real general"
    for (i = 0; i < n * n; i++) {
      x = i % n
      if (i != 234 || value != "") line[++lines] = i + 1 " " i + 1 " " (i == 234 ? value : 4)
      if (i == 234 && value != "") continue
      if (x > 0) line[++lines] = i + 1 " " i " -1"
      if (x < n - 1) line[++lines] = i + 1 " " i + 2 " -1"
      if (i >= n) line[++lines] = i + 1 " " i + 1 - n " -1"
      if (i < n * (n - 1)) line[++lines] = i + 1 " " i + 1 + n " -1"
    }
    print n * n, n * n, lines
    for (i = 1; i <= lines; i++) print line[i]
  }' >"$scratch/$1.mtx"
}
singular zero 0
singular missing ''
awk 'BEGIN { for (i = 0; i < 400; i++) print (i * 7) % 3 }' >"$scratch/scattered"
awk 'BEGIN { for (i = 0; i < 400; i++) print int(i * 7 / 3) % 2 }' >"$scratch/halves"
for partition in "--partition $scratch/scattered" ''; do
  solve 3 "$scratch/zero.mtx" --precond jacobi $partition
  report "a singular block row has the number of the file ${partition:-by default}" \
    "$(prints 1 '^not solved: the pivot block of block row 234 is singular')"
  solve 3 "$scratch/missing.mtx" --precond iluk $partition
  report "so has one without a diagonal entry, with what to try" \
    "$(prints 2 'missing.mtx: block row 234 has no diagonal entry; try --insert-diagonal, which adds 1 zero block$')"
done
if [ "$json" ]; then
  solve 3 "$scratch/zero.mtx" --precond jacobi --partition "$scratch/scattered" --json
  report "and in JSON" "$(prints 1 '"block_row": 234')"
fi
solve 2 "$scratch/missing.mtx" --insert-diagonal --precond jacobi
report "--insert-diagonal works on ranks" "$(prints 1 'block row 234 is singular')"

# A method of lines needs a grid on each rank.
solve 3 poisson2d:20x20 --precond lines
report "ranks that cut lines of a grid are one sentence" \
  "$(prints 2 'no grid in natural order .*: try a number of ranks that divides the layers')"
solve 2 poisson2d:20x20 --precond lines
report "the number of ranks that it asks for works" "$(prints 0 '^converged after')"
solve 2 poisson2d:20x20 --precond lines --partition "$scratch/halves"
report "a partition that leaves no grid says so" \
  "$(prints 2 'no grid in natural order .*, which the partition has taken from all over: try --partition even$')"

# What follows from the solution.
"$builddir/tools/solve" unitsquare:15x15 --exact --rtol 1e-12 >"$scratch/alone"
error=$(sed -n "s/^error .* = \([^ ]*\) against.*/\1/p" "$scratch/alone")
solve 3 unitsquare:15x15 --exact --rtol 1e-12
report "ranks have the error of one process" "$([ "$error" ] && prints 0 "= $error against the exact solution" || shown "$scratch/alone")"
solve 3 blackoil:6x5x4 --repeat 2 --view
report "ranks repeat a solve" "$(prints 0 '^repeated    2 times')"
report "and say what was chosen" "$(prints 0 '^options read:')"
solve 2 blackoil:6x5x4 --reference
if grep -q 'configured without SuiteSparse' "$scratch/output"; then
  skip "rank 0 has a direct solution" 'built without UMFPACK'
else
  report "rank 0 has a direct solution" "$(prints 0 '^reference   UMFPACK: |x - x_ref| / |x_ref| = [0-9.]*e-')"
fi
solve 2 blackoil:6x5x4 --plot "$scratch/plot.svg"
if grep -q gnuplot "$scratch/output"; then
  skip "rank 0 draws" 'gnuplot is missing'
else
  report "rank 0 draws" "$([ -s "$scratch/plot.svg" ] && prints 0 '^converged after')"
fi
solve 2 poisson3d:5x5x5 --solution "$scratch/no/x.mtx"
report "a solution that cannot be written is one sentence" "$(prints 2 "^solve: $scratch/no/x.mtx: ")"

# Processes meet before they read files of options.
echo ranks >"$scratch/options"
"$builddir/tools/solve" poisson3d:5x5x5 --options "$scratch/options" >"$scratch/output" 2>&1
ended=$?
report "--ranks in a file of options is refused" "$(prints 2 '^solve: --ranks belongs on the command line')"

# It may be installed.
LD_LIBRARY_PATH='' solve 1 poisson3d:5x5x5
report "without libkarst_mpi a sentence says so" \
  "$([ $ended = 0 ] || prints 2 '^solve: --ranks needs the library libkarst_mpi')"
echo "1..$number"
