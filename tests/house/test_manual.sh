#!/bin/sh
# The manual and the man pages are up to date with the commands and with karst.h, and what the manual shows compiles.
echo 1..13
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT
header=$builddir/include/karst.h manual=$srcdir/doc/manual.md
# report NUMBER TEXT WRONG prints a test; WRONG lists what contradicts the text.
report()
{
  if [ -z "$3" ]; then echo "ok $1 - $2"; else echo "not ok $1 - $2:" $3; fi
}

# same NUMBER NAME FORM FILE SCRIPT: tests that what the command prints for --help=FORM is what sed takes from the file.
same()
{
  text="$(basename "$4") has the options as $2 prints them"
  if [ "$2" = compare ] && ! "$builddir/tools/compare" --help | grep -q -e --plan; then
    echo "ok $1 - $text # SKIP built without jansson"
    return
  fi
  "$builddir/tools/$2" --help="$3" >"$scratch/printed"
  sed -n "$5" "$srcdir/$4" | diff - "$scratch/printed" >"$scratch/differs" && differs= || differs="make options-doc"
  sed 's/^/# /' "$scratch/differs"
  report "$1" "$text" "$differs"
}
same 1 solve markdown doc/options.md p
number=1
for command in bench compare convert diff solve; do
  number=$((number + 1))
  same $number $command man doc/karst-$command.1 '/^\.SH OPTIONS/,/^\.SH /{/^\.SH [^O]/!p}'
done

if command -v groff >/dev/null; then
  wrong=$(for page in "$srcdir"/doc/karst-*.1; do groff -ww -man -z -Tutf8 "$page" 2>&1; done)
  report 7 "groff has no warning for a man page" "$wrong"
else
  echo "ok 7 - groff has no warning for a man page # SKIP no groff"
fi

values=$(sed -n '/^typedef enum karst_\(status\|reason\|decision\) {/,/^}/s/^  \(KARST_[A-Z_]*\) = .*/\1/p' "$header")
missing=$(for value in $values; do grep -q "\`$value\`" "$manual" || echo "$value"; done)
[ "$(echo "$values" | wc -l)" -gt 25 ] || missing="too few were found in karst.h: $values"
report 8 "the manual has every status, reason and decision of karst.h" "$missing"

# A block with a function of its own is a file; another one is the body of a function that has the usual objects.
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
      echo 'karst_status example(karst_context *context, karst_options *options, karst_matrix *A, karst_solver *solver,'
      echo '  karst_vector *b, karst_vector *x, karst_index block_rows, karst_index *row_start, karst_index *column,'
      echo '  double *value, double *host);'
      echo 'karst_status example(karst_context *context, karst_options *options, karst_matrix *A, karst_solver *solver,'
      echo '  karst_vector *b, karst_vector *x, karst_index block_rows, karst_index *row_start, karst_index *column,'
      echo '  double *value, double *host) { karst_status status = KARST_SUCCESS; karst_result result; (void)context;'
      echo '  (void)options, (void)A, (void)solver, (void)b, (void)x, (void)block_rows, (void)row_start, (void)column;'
      echo '  (void)value, (void)host, (void)result;'
      cat "$block"
      echo 'return status; }'
    fi
  } >"$scratch/$name.c"
  $compiler -std=gnu11 -Wall -Wextra -Werror -Wno-unused-function -I"$builddir/include" -c "$scratch/$name.c" \
    -o "$scratch/$name.o" 2>"$scratch/$name.log" || { wrong="$wrong $name" && sed 's/^/# /' "$scratch/$name.log"; }
done
[ -e "$scratch/block3.txt" ] || wrong="hardly a block was found"
report 9 "every C block of the manual compiles" "$wrong"

text="the manual has every key of solve's JSON object"
if "$builddir/tools/solve" poisson2d:8x8 --json >"$scratch/json" 2>&1; then
  missing=$(sed -n 's/^ *"\([a-z_]*\)":.*/\1/p' "$scratch/json" | while read -r key; do
    grep -q "\`$key\`" "$manual" || echo "$key"
  done)
  report 10 "$text" "$missing"
else
  echo "ok 10 - $text # SKIP built without jansson"
fi

missing=$("$builddir/tools/solve" --help | sed -n '/^solvers:/,/^gallery:/s/^  \([a-z0-9-]*\) .*/\1/p' |
  while read -r name; do grep -q "\`$name\`" "$manual" || echo "$name"; done)
report 11 "the manual has every method of solve" "$missing"

keys=$("$builddir/tools/solve" --help | sed -n '/^gallery:/,$p' | grep -o '[a-z]*=' | sort -u)
for text in manual.md karst-solve.1; do
  missing=$(for key in $keys; do grep -q "\(^\|[^a-z]\)$key" "$srcdir/doc/$text" || echo "$key"; done)
  [ "$(echo "$keys" | wc -l)" -gt 12 ] || missing="too few were found in --help: $keys"
  [ $text = manual.md ] && number=12 || number=13
  report $number "$text has every key of the gallery's problems" "$missing"
done
