#!/bin/sh
# The script that draws the time of a cell against the unknowns, on lines as those of bench --grids --json.
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
"$plot" "$scratch/lines.json" >"$scratch/plot.svg"
status=$?
number=0
# expect WHAT COUNT PATTERN
expect()
{
  number=$((number + 1))
  found=$(grep -c "$3" "$scratch/plot.svg")
  if [ $status = 0 ] && [ "$found" = "$2" ]; then
    echo "ok $number - $1"
  else
    echo "not ok $number - $1: $found and not $2, status $status"
  fi
}
expect 'four panels' 4 '<rect.*stroke="#000"'
expect 'a curve for each program where there are figures' 6 '<polyline points="[0-9]'
expect 'names are safe in XML' 1 '>fgbilu:acc, &lt;cuda><'
# The program that takes n^2 times runs along the dashed line.
number=4
awk '
  /stroke-dasharray="6 4"/ {
    split($0, part, "\"")
    square = part[2] "," part[4] " " part[6] "," part[8]
  }
  /<polyline/ {
    split($0, part, "\"")
    if (square != "" && part[2] == square) same++
  }
  END { exit same != 3 }' "$scratch/plot.svg" && echo 'ok 4 - n^2 is a straight line' || echo 'not ok 4 - n^2'
if echo nothing | "$plot" >/dev/null 2>"$scratch/error"; then
  echo 'not ok 5 - lines of something else are drawn'
elif [ "$(grep -c plot_fgbilu: "$scratch/error")" = 1 ]; then
  echo 'ok 5 - lines of something else are refused with a sentence'
else
  echo 'not ok 5 - no sentence'
fi
