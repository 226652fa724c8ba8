#!/bin/sh
# bootstrap names what it will install before it installs it. With --no-install it names what is missing and installs
# nothing, with --configure-only it only makes configure, and with --help it only prints how it is used. Here scripts
# that print their names replace its programs.
. "$srcdir/tests/support/report.sh"
mkdir "$scratch/bin" "$scratch/few" && cp "$srcdir/bootstrap" "$srcdir/configure.ac" "$scratch" || exit 99
for program in autoreconf apt-get sudo autoconf automake libtoolize; do
  echo "echo \"called: $program \$*\"" >"$scratch/bin/$program"
done
echo 'echo "called: configure $*"' >"$scratch/configure"
chmod +x "$scratch/bin"/* "$scratch/configure" "$scratch/bootstrap"

# matches TEXT OUTPUT EXPECTED checks that the output of bootstrap matches the expected pattern.
matches()
{
  case $2 in
  $3) report "$1" '' ;;
  *) report "$1" "it prints: $2" ;;
  esac
}
# This compiler finds no header, so that packages are missing.
compiler=false
run() { PATH=$scratch/bin:$PATH CC=$compiler "$scratch/bootstrap" "$@" 2>&1; }

echo 1..14
matches "bootstrap names missing packages before it installs them" "$(run --prefix=/p)" \
  "bootstrap: missing, and to be installed now*libmetis-dev*called: *install*called: autoreconf*"\
"called: configure --prefix=/p"
matches "a library that is left out is not installed" "$(run --without-metis | grep metis-dev)" ""
matches "--configure-only makes configure and does nothing else" "$(run --configure-only)" "called: autoreconf -fi"
matches "--configure-only with other options is refused" "$(run --configure-only --prefix=/p)" \
  "bootstrap: *no other options*"

matches "--no-install names what has to be there, and stops" "$(run --no-install)" \
  "bootstrap: please install these first*libc6-dev*for all that Karst can do:*libmetis-dev*"
matches "--no-install installs nothing and makes nothing" "$(run --no-install | grep called)" ""
# This compiler finds the headers of C alone.
compiler=$scratch/bin/some
echo 'while read -r line; do case $line in *stdlib*) exit 0 ;; esac; done; exit 1' >"$compiler"
chmod +x "$compiler"
matches "--no-install goes on without an optional library, and makes configure without running it" \
  "$(run --no-install)" \
  "bootstrap: building without*libmetis-dev*called: autoreconf -fi
bootstrap: now run configure, here (./configure) or in another folder, and then make"
matches "--no-install with options runs configure" "$(run --no-install --prefix=/p --without-zlib)" \
  "bootstrap: building without*libmetis-dev*called: autoreconf -fi
called: configure --prefix=/p --without-zlib"
matches "--no-install does not name what options leave out" "$(run --no-install --without-metis | grep metis-dev)" ""

# A folder with programs that every system has, without Autotools.
for program in sh env dirname id sed; do
  ln -s "$(command -v $program)" "$scratch/few"
done
run_bare() { PATH=$scratch/few CC=false "$scratch/bootstrap" "$@" 2>&1; }
matches "--configure-only names the packages that it needs" "$(run_bare --configure-only; echo "status $?")" \
  "bootstrap: please install these first (Debian's names): autoconf automake libtool pkg-config
status 1"
for option in --help -h; do
  matches "$option prints how it is used and does nothing else" "$(run "$option"; echo "status $?")" \
    "Makes a checkout ready for make: ./bootstrap *--configure-only*configure --help*
status 0"
done
matches "--help after other options does nothing else" "$(run --no-install --prefix=/p --help | grep called)" ""
matches "--version prints the version and does nothing else" "$(run --version)" "karst [0-9]*.[0-9]*.[0-9]*"
