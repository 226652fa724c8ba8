#!/bin/sh
# The script that draws the time of a cell against the unknowns, on lines as those of bench --grids --json.
command -v gnuplot >/dev/null || {
  echo '1..0 # SKIP there is no gnuplot'
  exit 0
}
. "$srcdir/tests/support/report.sh"
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
drawn=$?
# counts NUMBER PATTERN prints what is wrong unless the picture is drawn and has this number of lines that match.
counts()
{
  [ $drawn = 0 ] && [ "$(grep -cE "$2" "$scratch/plot.svg")" = "$1" ] ||
    echo "status $drawn" | cat - "$scratch/error" "$scratch/plot.svg"
}
report 'a panel for each task that has figures' \
  "$(counts 3 '>(all: a factorization and 3 steps|factorization|both sweeps)<')"
report 'the key names each program once, safely in XML' "$(counts 2 '>fgbilu:(tiles, cuda|acc, &lt;cuda>)</text>')"
report 'the picture is complete' "$(counts 1 '^</svg>')"
report 'lines may come from standard input' \
  "$(counts 1 '^</svg>' && "$plot" <"$scratch/lines.json" 2>/dev/null | cmp - "$scratch/plot.svg" 2>&1)"
echo nothing | "$plot" >/dev/null 2>"$scratch/error"
status=$?
report 'other lines are refused with a sentence' "$([ $status = 2 ] &&
  [ "$(cat "$scratch/error")" = 'plot_fgbilu: no lines of bench --grids --json' ] || shown "$scratch/error")"
