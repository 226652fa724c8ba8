#!/bin/sh
# The manual and the man pages are up to date with the commands and with karst.h, and what the manual shows compiles.
. "$srcdir/tests/support/report.sh"
echo 1..13
header=$builddir/include/karst.h manual=$srcdir/doc/manual.md

# same NAME FORM FILE SCRIPT: the text that the command prints for --help=FORM is what sed takes from the file.
same()
{
  text="$(basename "$3") has the options as $1 prints them"
  if [ "$1" = compare ] && ! "$builddir/tools/compare" --help | grep -q -e --plan; then
    skip "$text" 'built without jansson'
    return
  fi
  "$builddir/tools/$1" --help="$2" >"$scratch/printed"
  differs=$(sed -n "$4" "$srcdir/$3" | diff - "$scratch/printed" || echo 'make options-doc writes it')
  report "$text" "$differs"
}
same solve markdown doc/options.md p
for command in bench compare convert diff solve; do
  same $command man doc/karst-$command.1 '/^\.SH OPTIONS/,/^\.SH /{/^\.SH [^O]/!p}'
done

if command -v groff >/dev/null; then
  wrong=$(for page in "$srcdir"/doc/karst-*.1; do groff -ww -man -z -Tutf8 "$page" 2>&1; done)
  report "groff has no warning for a man page" "$wrong"
else
  skip "groff has no warning for a man page" 'no groff'
fi

values=$(sed -n '/^typedef enum karst_\(status\|reason\|decision\) {/,/^}/s/^  \(KARST_[A-Z_]*\) = .*/\1/p' "$header")
missing=$(for value in $values; do grep -q "\`$value\`" "$manual" || echo "$value"; done)
[ "$(echo "$values" | wc -l)" -gt 25 ] || missing="too few were found in karst.h: $values"
report "the manual has every status, reason and decision of karst.h" "$missing"

# A block with a function of its own is a file; any other block is the body of a function that has the usual objects.
awk -v folder="$scratch" '/^```c$/ { inside = 1; file = folder "/block" ++count ".txt"; next }
  /^```$/ { inside = 0 } inside { print >file }' "$manual"
compiler=$(sed -n 's/^CC = //p' "$builddir/Makefile")
wrong=
for block in "$scratch"/block*.txt; do
  name=$(basename "$block" .txt)
  {
    printf '#include <karst.h>\n#include <stdio.h>\n#include <stdlib.h>\n'
    if grep -q '^static ' "$block"; then
      cat "$block"
    else
      echo 'static karst_status example(karst_context *context, karst_options *options, karst_matrix *A,'
      echo '  karst_solver *solver, karst_vector *b, karst_vector *x, karst_index block_rows, karst_index *row_start,'
      echo '  karst_index *column, double *value, double *host) { karst_status status = KARST_SUCCESS;'
      echo '  karst_result result; (void)context, (void)options, (void)A, (void)solver, (void)b, (void)x;'
      echo '  (void)block_rows, (void)row_start, (void)column, (void)value, (void)host, (void)result;'
      cat "$block"
      echo 'return status; }'
    fi
  } >"$scratch/$name.c"
  $compiler -std=gnu11 -Wall -Wextra -Werror -Wno-unused-function -I"$builddir/include" -c "$scratch/$name.c" \
    -o "$scratch/$name.o" 2>"$scratch/$name.log" || { wrong="$wrong $name" && sed 's/^/# /' "$scratch/$name.log"; }
done
[ -e "$scratch/block3.txt" ] || wrong="too few blocks were found"
report "every C block of the manual compiles" "$wrong"

text="the manual has every key of solve's JSON object"
if "$builddir/tools/solve" poisson2d:8x8 --json >"$scratch/json" 2>&1; then
  missing=$(sed -n 's/^ *"\([a-z_]*\)":.*/\1/p' "$scratch/json" | while read -r key; do
    grep -q "\`$key\`" "$manual" || echo "$key"
  done)
  report "$text" "$missing"
else
  skip "$text" 'built without jansson'
fi

missing=$("$builddir/tools/solve" --help | sed -n '/^solvers:/,/^gallery:/s/^  \([a-z0-9-]*\) .*/\1/p' |
  while read -r name; do grep -q "\`$name\`" "$manual" || echo "$name"; done)
report "the manual has every method of solve" "$missing"

keys=$("$builddir/tools/solve" --help | sed -n '/^gallery:/,$p' | grep -o '[a-z]*=' | sort -u)
for text in manual.md karst-solve.1; do
  missing=$(for key in $keys; do grep -q "\(^\|[^a-z]\)$key" "$srcdir/doc/$text" || echo "$key"; done)
  [ "$(echo "$keys" | wc -l)" -gt 12 ] || missing="too few were found in --help: $keys"
  report "$text has every key of the gallery's problems" "$missing"
done
