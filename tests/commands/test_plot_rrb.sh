#!/bin/sh
# The script that draws condition numbers and iterations of rrb against its levels, and the one that makes its table, on
# a program that answers as solve does.
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
plot=$srcdir/doc/plots/plot_rrb

printf 'N\tL\titerations\tcondition\n' >"$scratch/table"
# The condition number of the first size is the bound, that of the second has a gap.
awk 'BEGIN {
  for (level = 1; level <= 12; level++) printf "63\t%d\t%d\t%.10g\n", level, 5 + level, 1.81 * 1.236 ^ level
  for (level = 1; level <= 14; level++) printf "127\t%d\t%d\t%s\n", level, 6 + level, level == 7 ? "-" : "2.5"
}' >>"$scratch/table"

echo 1..13
"$plot" "$scratch/table" >"$scratch/plot.svg"
status=$?
number=0
report()
{
  number=$((number + 1))
  if [ "$2" = yes ]; then echo "ok $number - $1"; else echo "not ok $number - $1: $2, status $status"; fi
}
# expect WHAT COUNT PATTERN
expect()
{
  found=$(grep -c "$3" "$scratch/plot.svg")
  if [ $status = 0 ] && [ "$found" = "$2" ]; then report "$1" yes; else report "$1" "$found and not $2"; fi
}
expect 'two panels' 2 '<rect.*stroke="#000"'
expect 'a curve for each size in each' 4 '<polyline points="[0-9]'
expect 'a point for each figure' 51 '<circle'
expect 'a mark for each size' 2 'class="mark"'
expect 'a legend' 1 '>127 &#215; 127<'
expect 'the axes have titles' 2 '>red-black levels L<'
expect 'the bound is named' 1 '>1.81 &#183; 1.236^L<'
expect 'a size whose condition number is above its mark is told' 1 'exceed it for N = 63<'
# The curve that is the bound runs along the dashed line: the last point of the size's levels lies between its ends.
awk '
  /stroke-dasharray="6 4"/ { split($0, part, "\""); x1 = part[2]; y1 = part[4]; x2 = part[6]; y2 = part[8] }
  /<polyline/ && !curve { split($0, part, "\""); curve = part[2] }
  END {
    points = split(curve, point, " ")
    for (p = 1; p <= points; p++) {
      split(point[p], place, ",")
      gap = y1 + (y2 - y1) * (place[1] - x1) / (x2 - x1) - place[2]
      if (gap > 0.2 || gap < -0.2) wrong++
    }
    exit points != 12 || wrong > 0
  }' "$scratch/plot.svg" && report 'the bound is a straight line' yes || report 'the bound' elsewhere
if echo nothing | "$plot" >/dev/null 2>"$scratch/error"; then
  report 'lines of something else are refused' drawn
elif [ "$(grep -c plot_rrb: "$scratch/error")" = 1 ]; then
  report 'lines of something else are refused with a sentence' yes
else
  report 'lines of something else are refused with a sentence' silence
fi

cat >"$scratch/solve" <<'END'
#!/bin/sh
echo "$*" >>"${0%/*}/calls"
case $* in *1e-6*) echo '{'; echo '  "iterations": 7,' ;; *) echo '{'; echo '  "condition_number": 1.25e+1,' ;; esac
echo '  "converged": true'
echo '}'
case $* in *1e-6*) exit 1 ;; esac
END
chmod +x "$scratch/solve"
SOLVE=$scratch/solve SOLVE_OPTIONS='--device cuda' "$srcdir/doc/plots/rrb_levels" 5 >"$scratch/levels"
status=$?
awk -F '\t' 'NR > 1 && ($1 != 5 || $2 != NR - 1 || $3 != 7 || $4 != "1.25e+1") { wrong++ }
  END { exit NR != 7 || wrong }' "$scratch/levels" &&
  grep -q 'unitsquare:5x5 .*--rrb-levels 6 .*--rtol 1e-11 .*--device cuda' "$scratch/calls" &&
  report 'the table has a line for each number of levels' yes || report 'the table' wrong
# Bands of 5 x 5 nodes: 75 entries after one level, 45 after two.
LARGEST_BAND=45 SOLVE=$scratch/solve "$srcdir/doc/plots/rrb_levels" 5 >"$scratch/levels" &&
  awk -F '\t' 'NR == 2 && $2 != 2 { wrong++ } END { exit NR != 6 || wrong }' "$scratch/levels" &&
  report 'levels whose rest is too large for memory are left out' yes || report 'large rests' tried
if SOLVE=$scratch/none "$srcdir/doc/plots/rrb_levels" 5 >/dev/null 2>&1; then
  report 'a solve that fails ends the table' no
else
  report 'a solve that fails ends the table' yes
fi
