#!/bin/sh
# The simulator of examples/twophase, built by its own Makefile against the library of this build: it conserves mass,
# is symmetric if the reservoir is, has the front of Buckley and Leverett, repeats its bits, survives matrices that
# cannot be factored, and refuses unknown options and bad values.
. "$srcdir/tests/support/report.sh"
. "$srcdir/tests/support/example.sh"

echo 1..31
build twophase

# The errors of both phases, at most 1e-8.
lost()
{
  awk '/^mass error/ { found = 1; if ($4 + 0 > 1e-8 || $4 + 0 < -1e-8 || $6 + 0 > 1e-8 || $6 + 0 < -1e-8) print }
    END { if (!found) print "no report" }' "$scratch/output"
}
run --grid 9x11x3 --days 300 --solution "$scratch/first.mtx"
report "mass is conserved" "$(lost)"
report "the seed is printed" "$(grep -q 'seed 1' "$scratch/output" || shown "$scratch/output")"
run --grid 9x11x3 --days 300 --solution "$scratch/second.mtx"
report "a second run has the same bits" "$(cmp "$scratch/first.mtx" "$scratch/second.mtx" 2>&1)"

# split NAME CELLS takes the state in NAME.mtx apart into files of its own for the pressures and saturations of cells.
split()
{
  sed '/^%/d' "$scratch/$1.mtx" | awk -v cells="$2" -v name="$scratch/$1" 'NR > 1 && NR <= 2 * cells + 1 {
    print > (name (NR % 2 ? "-saturation.txt" : "-pressure.txt")) }'
}

# differs NAME NAME prints what is wrong where the states are apart by more than the nonlinear tolerance.
differs()
{
  split "$1" 297 && split "$2" 297
  for field in pressure saturation; do
    "$builddir/tools/diff" "$scratch/$1-$field.txt" "$scratch/$2-$field.txt" --rtol 1e-5 2>&1 || echo "$field"
  done | grep -B 3 -E '^(pressure|saturation)$'
}
run --grid 9x11x3 --days 300 --solution "$scratch/other.mtx" --solver bicgstab --precond dilu --ordering rcm
report "another solver, preconditioner and order give the same solution" "$(differs first other)"
iterations() { sed -n 's/.* Newton and \([0-9]*\) linear iterations$/\1/p' "$scratch/output"; }
run --grid 9x11x3 --days 300 --solution "$scratch/ilu.mtx" --solver bicgstab
ilu=$(iterations)
run --grid 9x11x3 --days 300 --solution "$scratch/other.mtx" --solver bicgstab --precond cpr
[ "$(iterations)" -lt $((ilu / 2)) ] && more='' || more="$(iterations) linear iterations; ILU takes $ilu"
report "cpr gives the same solution in less than half of the linear iterations" "$(differs first other)$more"

with=$(iterations)
run --grid 9x11x3 --days 300 --solution "$scratch/beside.mtx" --wells beside --ordering rcm
report "wells beside the matrix give the same solution" "$(differs first beside; lost)"
run --grid 9x11x3 --days 300 --solution "$scratch/beside.mtx" --wells beside --solver bicgstab --precond cpr
[ "$(iterations)" -lt $((with * 5 / 4)) ] && more='' || more="$(iterations) linear iterations; in the matrix $with"
report "cpr takes about as many linear iterations with wells beside the matrix" "$(differs first beside)$more"

gpu="a GPU has the solution of the CPU"
if "$builddir/tools/solve" poisson2d:9x9 --device cuda --quiet >/dev/null 2>&1; then
  run --grid 9x11x3 --days 300 --solution "$scratch/gpu.mtx" --device cuda
  report "$gpu" "$(differs first gpu; lost)"
else
  skip "$gpu" 'no GPU'
fi

run --grid 9x11x3 --days 300 --fail 7
for kind in NaN singular; do
  report "a step with a bad matrix ($kind) is cut, and the reason is printed" "$(lost
    grep -q '^0*[1-9][0-9]* steps, 2 cuts' "$scratch/output" || shown "$scratch/output"
    [ "$(grep "cut: .*$kind" "$scratch/output" | grep -c 'block row 148')" = 1 ] || shown "$scratch/output")"
done

# A file of a constant permeability, one value a line, for an odd number of cells in both directions.
yes 100 | head -n 441 >"$scratch/constant"
run --grid 21x21 --perm "$scratch/constant" --solution "$scratch/mirror.mtx"
split mirror 441
report "a symmetric reservoir stays symmetric" "$(awk '
  { s[NR - 1] = $1 }
  END {
    for (i = 0; i < 441; i++) {
      x = i % 21; y = (i - x) / 21
      worst = max(worst, max(s[i] - s[20 - x + 21 * y], s[i] - s[x + 21 * (20 - y)]))
    }
    if (!(worst < 1e-6) || NR != 441) print "by " worst
  }
  function max(a, b) { return a > b ? a : b }' "$scratch/mirror-saturation.txt")"

# Nothing flows through a cell without permeability. Where no cell has any, the wells lack an equation for their
# pressure, and no step can be done.
{ head -n 200 "$scratch/constant"; echo 0; head -n 240 "$scratch/constant"; } >"$scratch/hole"
run --grid 21x21 --perm "$scratch/hole" --days 100
report "a cell may have no permeability" "$(lost)"
yes 0 | head -n 441 >"$scratch/tight"
run --grid 21x21 --perm "$scratch/tight"
status=$?
report "if no step is possible the error says why" "$([ $status = 2 ] && tail -n 1 "$scratch/output" |
  grep -q '^twophase: no step is short enough: .*singular' || shown "$scratch/output")"

# With s the saturation from 0 to 1 and M = 10 the ratio of viscosities the fractional flow is f = s^2 / (s^2 +
# (1 - s)^2 / M). Its tangent from 0 touches at s_f = 1 / sqrt(1 + M), so that the front is at the fraction f(s_f) / s_f
# of the mobile pore volumes that have come in: 0.15 / 0.6 f / s_f of each half. Implicit steps with upwind mobilities
# smear it over some cells, and both phases expand by a percent when the pressure falls.
run --grid 201x1 --perm "$scratch/constant" --days 20000 --inject 0.15 --solution "$scratch/front.mtx"
split front 201
report "the front is where Buckley and Leverett have it" "$(awk '
  { s[NR - 1] = $1 }
  END {
    sf = 1 / sqrt(11); f = sf * sf / (sf * sf + (1 - sf) * (1 - sf) / 10)
    expected = 100 * 0.15 / 0.6 * f / sf
    for (i = 100; s[i] > 0.2 + 0.6 * sf / 2; ) i++
    if (i - 100 < expected - 6 || i - 100 > expected + 6) print "at " i - 100 " and not " expected
  }' "$scratch/front-saturation.txt")"
report "wells keep their controls" "$(grep -q ' 0 cuts' "$scratch/output" || shown "$scratch/output")"

# refuses TEXT ARGUMENT...
refuses()
{
  text=$1
  shift
  run "$@"
  status=$?
  wrong="status $status: $(cat "$scratch/output")"
  [ $status = 2 ] && [ "$(wc -l <"$scratch/output")" = 1 ] && wrong=''
  report "$text" "$wrong"
}
refuses "an option that is unknown is refused" --levels 1
refuses "a value that is no number is refused" --days soon
refuses "a place of wells that is unknown is refused" --wells nowhere
refuses "a grid of four sizes is refused" --grid 10x10x10x10
refuses "a grid that is too small for its wells is refused" --grid 1x1x9
echo '1 2 3' | tr ' ' '\n' >"$scratch/short"
refuses "a file with too few numbers is refused" --perm "$scratch/short"

report "--help names the settings" \
  "$("$scratch/twophase" --help | grep -c -E '^--(grid|perm|days|device) ' | grep -v '^4$')"

# What cannot be written is refused before the run. Without a folder for programs gnuplot is not found, and the shell of
# popen is.
refuses "a folder for pictures that is missing is refused" --grid 5x5 --days 1 --pictures "$scratch/none"
report "the error names the missing folder, with gnuplot and without" \
  "$(grep -q 'the folder does not exist' "$scratch/output" || shown "$scratch/output")"
refuses "a solution that cannot be written is refused" --grid 5x5 --days 1 --solution "$scratch/none/solution.mtx"
cp "$scratch/constant" "$scratch/rock"
refuses "a solution that would replace the rock is refused" --grid 21x21 --perm "$scratch/rock" \
  --solution "$scratch/rock"
report "a refused run leaves the rock unchanged" "$(cmp "$scratch/constant" "$scratch/rock" 2>&1)"
mkdir "$scratch/empty" "$scratch/pictures"
PATH_OF_PROGRAMS=$PATH
PATH=$scratch/empty
run --grid 5x5 --days 1 --pictures "$scratch/pictures"
status=$?
PATH=$PATH_OF_PROGRAMS
report "without gnuplot pictures are refused, and the error says what to install" "$([ $status = 2 ] &&
  grep -q 'gnuplot not found; install it' "$scratch/output" &&
  [ "$(wc -l <"$scratch/output")" = 1 ] || shown "$scratch/output")"
text="an error says that the log cannot be written"
if [ -c /dev/full ]; then
  "$scratch/twophase" --grid 5x5 --days 1 >/dev/full 2>"$scratch/output"
  status=$?
  report "$text" "$([ $status = 2 ] && grep -q 'standard output' "$scratch/output" || shown "$scratch/output")"
else
  skip "$text" 'no /dev/full'
fi
# A shell would make a command of this name, and a string of gnuplot would end in it.
folder="$scratch/it's \"\$(touch harm)\""
mkdir "$folder"
if ! command -v gnuplot >/dev/null; then
  skip "pictures are drawn" 'no gnuplot'
  exit 0
fi
run --grid 5x5 --days 10 --pictures "$folder"
report "pictures are drawn, and the folder's name may hold any character" "$(
  [ "$(head -c 4 "$folder/day-0010.png" | tail -c 3)" = PNG ] && [ ! -e harm ] &&
    [ "$(ls "$folder" | wc -l)" = 11 ] || { cat "$scratch/output" && ls "$folder"; })"
