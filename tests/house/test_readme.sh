#!/bin/sh
# README is up to date: its C program is the one that is compiled and run, and it names every option of solve.
echo 1..2
report()
{
  if [ -z "$3" ]; then echo "ok $1 - $2"; else echo "not ok $1 - $2:" $3; fi
}
shown=$(sed -n '/^```c$/,/^```$/p' "$srcdir/README.md" | sed '/^```/d')
[ "$shown" = "$(cat "$srcdir/examples/first_steps.c")" ] && differs='' || differs="examples/first_steps.c differs"
report 1 "README shows examples/first_steps.c" "$differs"
missing=$("$builddir/tools/solve" --help | sed -n 's/^  --\([a-z-]*\).*/\1/p' | while read -r option; do
  grep -q -e "\`--$option" "$srcdir/README.md" || echo "--$option"
done)
report 2 "README names every option of solve" "$missing"
