# report.sh - results of a test script as TAP, for scripts that source it: . "$srcdir/tests/support/report.sh"
# $scratch is a folder that is removed at the end.
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT
number=0
# report TEXT WRONG prints a result. WRONG says what contradicts the text; it is empty if nothing does.
report()
{
  number=$((number + 1))
  if [ -z "$2" ]; then echo "ok $number - $1"; else echo "not ok $number - $1" && echo "$2" | sed 's/^/# /'; fi
}
# shown FILE prints a file as what contradicts a text, even if it is empty.
shown()
{
  echo 'the output:'
  cat "$1"
}
# skip TEXT WHY prints a result of a test that cannot run here.
skip()
{
  number=$((number + 1))
  echo "ok $number - $1 # SKIP $2"
}
