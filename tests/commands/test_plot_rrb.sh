#!/bin/sh
# The script that draws condition numbers and iterations of rrb against its levels, and the script that makes its table,
# with a program in place of solve.
. "$srcdir/tests/support/report.sh"
plot=$srcdir/doc/plots/plot_rrb
echo 1..6

printf 'N\tL\titerations\tcondition\n' >"$scratch/table"
awk 'BEGIN {
  for (level = 1; level <= 12; level++) printf "63\t%d\t%d\t%.10g\n", level, 5 + level, 1.81 * 1.236 ^ level
  for (level = 1; level <= 14; level++) printf "127\t%d\t%d\t%s\n", level, 6 + level, level == 7 ? "-" : "2.5"
}' >>"$scratch/table"
if command -v gnuplot >/dev/null; then
  report 'two panels with a curve for each size, and the bound' "$({
    "$plot" "$scratch/table" >"$scratch/plot.svg" &&
      [ "$(grep -cE '>(condition number|iterations)<' "$scratch/plot.svg")" = 2 ] &&
      [ "$(grep -cE '>(63 x 63|127 x 127)</text>' "$scratch/plot.svg")" = 4 ] &&
      grep -q '>1.81 \* 1.236^L<' "$scratch/plot.svg"
  } || echo "status $?")"
  report 'the picture is complete' "$(grep -q '^</svg>' "$scratch/plot.svg" || echo 'its end is missing')"
  echo nothing >"$scratch/table"
  "$plot" "$scratch/table" >/dev/null 2>"$scratch/error"
  status=$?
  report 'other input is refused with a sentence' \
    "$([ $status = 2 ] && [ "$(grep -c plot_rrb: "$scratch/error")" = 1 ] || echo "status $status")"
else
  for part in panels end refusal; do skip "the picture: $part" 'there is no gnuplot'; done
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
report 'the table has a line for each number of levels' "$({
  awk -F '\t' 'NR > 1 && ($1 != 5 || $2 != NR - 1 || $3 != 7 || $4 != "1.25e+1") { wrong++ }
    END { exit NR != 7 || wrong }' "$scratch/levels" &&
    grep -q 'unitsquare:5x5 .*--rrb-levels 6 .*--rtol 1e-11 .*--device cuda' "$scratch/calls"
} || shown "$scratch/levels")"
# Bands of 5 x 5 nodes: 75 entries after one level, 45 after two.
report 'levels whose rest is too large for memory are left out' "$({
  LARGEST_BAND=45 SOLVE=$scratch/solve "$srcdir/doc/plots/rrb_levels" 5 >"$scratch/levels" &&
    awk -F '\t' 'NR == 2 && $2 != 2 { wrong++ } END { exit NR != 6 || wrong }' "$scratch/levels"
} || shown "$scratch/levels")"
report 'a solve that fails ends the table' \
  "$(SOLVE=$scratch/none "$srcdir/doc/plots/rrb_levels" 5 >/dev/null 2>&1 && echo 'the table is complete')"
