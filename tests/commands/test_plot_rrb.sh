#!/bin/sh
# The script that draws condition numbers and iterations of rrb against its levels, and the one that makes its table, on
# a program that answers as solve does.
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
plot=$srcdir/doc/plots/plot_rrb
number=0
report()
{
  number=$((number + 1))
  if [ "$2" = yes ]; then echo "ok $number - $1"; else echo "not ok $number - $1: $2"; fi
}
echo 1..6

printf 'N\tL\titerations\tcondition\n' >"$scratch/table"
awk 'BEGIN {
  for (level = 1; level <= 12; level++) printf "63\t%d\t%d\t%.10g\n", level, 5 + level, 1.81 * 1.236 ^ level
  for (level = 1; level <= 14; level++) printf "127\t%d\t%d\t%s\n", level, 6 + level, level == 7 ? "-" : "2.5"
}' >>"$scratch/table"
if command -v gnuplot >/dev/null; then
  if "$plot" "$scratch/table" >"$scratch/plot.svg" &&
    [ "$(grep -cE '>(condition number|iterations)<' "$scratch/plot.svg")" = 2 ] &&
    [ "$(grep -cE '>(63 x 63|127 x 127)</text>' "$scratch/plot.svg")" = 4 ] &&
    grep -q '>1.81 \* 1.236^L<' "$scratch/plot.svg"; then
    report 'two panels with a curve for each size, and the bound' yes
  else
    report 'two panels with a curve for each size, and the bound' "status $?"
  fi
  grep -q '^</svg>' "$scratch/plot.svg" && report 'the picture is whole' yes || report 'the picture' cut
  echo nothing >"$scratch/table"
  "$plot" "$scratch/table" >/dev/null 2>"$scratch/error"
  [ $? = 2 ] && [ "$(grep -c plot_rrb: "$scratch/error")" = 1 ] && said=yes || said=silence
  report 'lines of something else are refused with a sentence' $said
else
  for number in 1 2 3; do echo "ok $number - a picture # SKIP there is no gnuplot"; done
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
