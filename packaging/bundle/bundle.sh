#!/bin/sh
# bundle.sh FOLDER JOINED PROGRAM... - makes FOLDER (an absolute path), which runs on any x86-64 Linux machine with an
# NVIDIA driver: the programs (tools/NAME, tests/NAME), which are in JOINED, the file that bundle.mk makes; every
# library they need with the C library and its loader, run-tests and check. Only the driver's own library is the
# machine's. bundle.mk runs it in the build folder; LIBTOOL, STRIP and srcdir come from there.
#
# cuSPARSE, which --precond cusparse and bench open when they are asked to, is left out for its size (260 MB with what
# it needs). On a machine with CUDA, LD_LIBRARY_PATH=/usr/local/cuda/lib64 lets the programs find it; for another,
#     cp -L /usr/local/cuda/lib64/{libcusparse.so.12,libnvJitLink.so.1?} gpu-bundle/lib
set -e
folder=$1 joined=$2
shift 2
rm -rf "$folder"
mkdir -p "$folder/lib"

$LIBTOOL --silent --mode=install cp "$joined" "$folder/programs"
${STRIP:-strip} "$folder/programs"
# ldd writes "NAME => PATH (ADDRESS)" for a library, "PATH (ADDRESS)" for the loader.
ldd "$folder/programs" | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p; s/^[[:space:]]*\(\/[^ ]*\) (.*/\1/p' |
  while read -r library; do
    cp -L "$library" "$folder/lib/"
    # What is opened later may need the rest of the C library, which has to be of the same version.
    case $library in
    */libc.so.6)
      for part in libdl.so.2 libpthread.so.0 librt.so.1; do
        cp -L "${library%/*}/$part" "$folder/lib/" 2>/dev/null || true
      done
      ;;
    esac
  done

cat >"$folder/start" <<'END'
#!/bin/sh
# A copy of this script has the name of each program, and starts that program of the file programs with the libraries
# of this folder.
self=$(readlink -f "$0")
here=${self%/*}
while [ ! -e "$here/programs" ]; do here=${here%/*}; done
KARST_SOLVE=${KARST_SOLVE:-$here/tools/solve} # compare itself sees the loader where its own program should be
export KARST_SOLVE
exec "$here/lib/ld-linux-x86-64.so.2" --library-path "$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" \
  "$here/programs" "$self" "$@"
END
for program; do
  mkdir -p "$folder/${program%/*}"
  cp "$folder/start" "$folder/$program"
  chmod +x "$folder/$program"
done
rm "$folder/start"

cp "$srcdir/tests/support/device_lock.sh" "$folder/"
cp "$srcdir/tests/gpu/check.sh" "$folder/check"

cat >"$folder/run-tests" <<'END'
#!/bin/sh
# Runs the tests, or those named (test_vector ...), and sums up; the full output goes into results/. Exit status 1 where
# one fails.
cd "$(dirname "$0")" || exit 1
srcdir=$PWD builddir=$PWD OMP_WAIT_POLICY=passive
export srcdir builddir OMP_WAIT_POLICY
mkdir -p results
# Others may run tests of this folder at the same time.
run_test() { sh ./device_lock.sh results/device.lock "$1" "$1"; }
[ $# -gt 0 ] || set -- tests/*/*
passed=0 failed=0 skipped=0 broken=''
for test; do
  log=results/$(basename "$test").log
  run_test "$(echo tests/*/"$(basename "$test")")" >"$log" 2>&1
  status=$?
  # A log may hold bytes that are no text.
  skips=$(grep -ac '^\(ok\|1\.\.0\).*# SKIP' "$log") bad=$(grep -ac '^not ok' "$log")
  good=$(grep -a '^ok' "$log" | grep -avc '# SKIP')
  printf '%-20s %5d passed %3d failed %3d skipped\n' "$(basename "$test")" "$good" "$bad" "$skips"
  [ "$status" = 0 ] || broken="$broken $(basename "$test")"
  grep -a -e '^not ok' -e '^Bail' "$log"
  passed=$((passed + good)) failed=$((failed + bad)) skipped=$((skipped + skips))
done
echo "in all: $passed passed, $failed failed, $skipped skipped${broken:+; failing:$broken}"
[ -z "$broken" ]
END
chmod +x "$folder/run-tests"
