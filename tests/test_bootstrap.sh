#!/bin/sh
# bootstrap says what it will install before it installs it, and with --configure-only it only makes configure. Here it
# calls stand-ins for its programs, which print their names.
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/bin" && cp "$srcdir/bootstrap" "$scratch" || exit 99
for program in autoreconf apt-get sudo; do
  echo "echo \"called: $program \$*\"" >"$scratch/bin/$program"
done
echo 'echo "called: configure $*"' >"$scratch/configure"
chmod +x "$scratch/bin"/* "$scratch/configure" "$scratch/bootstrap"

# report TEXT SAID EXPECTED checks that the output of bootstrap matches the expected pattern.
number=0
report()
{
  number=$((number + 1))
  case $2 in
  $3) echo "ok $number - $1" ;;
  *) echo "not ok $number - $1" && echo "$2" | sed 's/^/# /' ;;
  esac
}
# This compiler finds no header, so that packages are missing.
run() { PATH=$scratch/bin:$PATH CC=false "$scratch/bootstrap" "$@" 2>&1; }

echo 1..4
report "what is missing is named before it is installed" "$(run --prefix=/p)" \
  "bootstrap: missing, and to be installed now*libmetis-dev*called: *install*called: autoreconf*called: configure --prefix=/p"
report "a library that is left out is not installed" "$(run --without-metis | grep metis-dev)" ""
report "--configure-only makes configure and does nothing else" "$(run --configure-only)" "called: autoreconf -fi"
report "--configure-only with other options is refused" "$(run --configure-only --prefix=/p)" "bootstrap: *no other options*"
