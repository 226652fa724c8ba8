#!/bin/sh
# README is short and correct: its commands print the output that it shows, and its program compiles and converges.
. "$srcdir/tests/support/report.sh"
echo 1..5
readme=$srcdir/README.md

words=$(wc -w <"$readme")
[ "$words" -le 900 ] && wrong='' || wrong="it has $words"
report "README has at most 900 words" "$wrong"

missing=$("$builddir/tools/solve" --help | sed -n '/^preconditioners:/,/^$/s/^  \([a-z0-9-]*\) .*/\1/p' |
  while read -r name; do
    case $name in none | cusparse | hypre) continue ;; esac # they are for comparison
    grep -q "^| .*\`$name\`.* |" "$readme" || echo "$name"
  done)
report "README's table has every preconditioner" "$missing"

# The commands, on fewer cells.
wrong=$(sed -n 's/^    .*\(tools\/solve [a-z].*\)/\1/p' "$readme" | sed 's/60x220x10/12x44x10/' | while read -r line; do
  (cd "$builddir" && sh -c "$line") >"$scratch/output" 2>&1 || echo "$line: $(tail -n 1 "$scratch/output")"
done)
report "README's commands run" "$wrong"

# The output of the last command. Numbers may differ, and "..." is left out.
wrong=$(sed -n '/^    \$ tools\/solve/,/^$/s/^    //p' "$readme" | sed '1d; /^\.\.\.$/d' | while read -r line; do
  sed 's/[0-9][0-9.e+-]*/N/g' "$scratch/output" | grep -q -x -F -e "$(echo "$line" | sed 's/[0-9][0-9.e+-]*/N/g')" ||
    echo "no line is like '$line'"
done)
[ "$(wc -l <"$scratch/output")" -gt 5 ] || wrong='README shows no output'
report "README's last command prints what README shows" "$wrong"

variable() { sed -n "s/^$1 = //p" "$builddir/Makefile"; }
sed -n '/^```c$/,/^```$/p' "$readme" | sed '/^```/d' >"$scratch/flow.c"
# It leaves freeing to the system.
CC=$(variable CC) CFLAGS="$(variable CFLAGS) $(variable OPENMP_CFLAGS)"
wrong=$({
  cd "$scratch" && $CC $CFLAGS -Wall -Wextra -Werror -I"$builddir/include" -c flow.c -o flow.o &&
    "$builddir/libtool" --silent --tag=CC --mode=link $CC $CFLAGS flow.o "$builddir/libkarst.la" -o flow &&
    ASAN_OPTIONS=detect_leaks=0 ./flow >result && grep -q '^converged' result
} 2>&1 || echo "failed")
report "README's program compiles without a warning, and converges" "$wrong"
