#!/bin/sh
# The script that draws the time of a cell against the unknowns, on lines as those of bench --grids --json.
command -v gnuplot >/dev/null || {
  echo '1..0 # SKIP there is no gnuplot'
  exit 0
}
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
plot=$srcdir/doc/plots/plot_fgbilu

# row PROGRAM N MICROSECONDS
row()
{
  echo "{\"matrix\":\"ns3d:2x2x2\",\"block\":$2,\"program\":\"$1\",\"factorization\":{\"in_cache\":false,\
\"us_cell\":$3,\"steps\":4},\"sweeps\":{\"us_cell\":$3},\"residual\":{\"us_cell\":null},\
\"all\":{\"steps\":3,\"us_cell\":$3}}"
}
{
  row 'fgbilu:tiles, cuda' 16 1.6e-2
  row 'fgbilu:tiles, cuda' 4 1e-3
  row 'fgbilu:acc, <cuda>' 4 5
  row 'fgbilu:acc, <cuda>' 16 7.5
} >"$scratch/lines.json"

echo 1..5
"$plot" "$scratch/lines.json" >"$scratch/plot.svg" 2>"$scratch/error"
status=$?
number=0
# report WHAT, of the status of the command before
report()
{
  [ $? = 0 ] && [ $status = 0 ] && result=ok || result='not ok'
  number=$((number + 1))
  echo "$result $number - $1"
}
[ "$(grep -cE '>(all: a factorization and 3 steps|factorization|both sweeps)<' "$scratch/plot.svg")" = 3 ]
report 'a panel for each task that has figures'
[ "$(grep -cE '>fgbilu:(tiles, cuda|acc, &lt;cuda>)</text>' "$scratch/plot.svg")" = 2 ]
report 'the key names each program once, safely in XML'
grep -q '^</svg>' "$scratch/plot.svg"
report 'the picture is whole'
"$plot" <"$scratch/lines.json" 2>/dev/null | cmp -s - "$scratch/plot.svg"
report 'lines may come from standard input'
echo nothing | "$plot" >/dev/null 2>"$scratch/error"
[ $? = 2 ] && [ "$(cat "$scratch/error")" = 'plot_fgbilu: no lines of bench --grids --json' ]
report 'lines of something else are refused with a sentence'
