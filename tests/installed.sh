#!/bin/sh
# What "make install" has put in place serves a user's program and shell. Run by "make installcheck", which sets srcdir,
# CC, CFLAGS, bindir, libdir, includedir and commands. TAP on standard output; exits 1 where a test failed.
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT
number=0 failed=0

# check TEXT COMMAND...: one test; what the command said is shown where it failed.
check()
{
  text=$1 number=$((number + 1))
  shift
  if "$@" >"$scratch/log" 2>&1; then
    echo "ok $number - $text"
  else
    echo "not ok $number - $text"
    sed 's/^/# /' "$scratch/log"
    failed=1
  fi
}

skip() { number=$((number + 1)); echo "ok $number - $1 # SKIP $2"; }

PKG_CONFIG_PATH=$libdir/pkgconfig
export PKG_CONFIG_PATH

with_shared_library()
{
  $CC $CFLAGS "$srcdir/examples/first_steps.c" $(pkg-config --cflags --libs karst) -Wl,-rpath,"$libdir" \
    -o "$scratch/first_steps" && "$scratch/first_steps"
}

with_static_library()
{
  $CC $CFLAGS "$srcdir/examples/first_steps.c" \
    $(pkg-config --static --cflags --libs karst | sed "s|-lkarst|$libdir/libkarst.a|") \
    -o "$scratch/first_steps" && "$scratch/first_steps"
}

with_cmake()
{
  # The sources may be read-only, and CMake wants them beside no earlier configuration.
  cp "$srcdir/examples/first_steps.c" "$srcdir/examples/CMakeLists.txt" "$scratch" &&
    cmake -S "$scratch" -B "$scratch/build" -DKarst_DIR="$libdir/cmake/Karst" -DCMAKE_C_COMPILER="${CC%% *}" \
      -DCMAKE_C_FLAGS="$CFLAGS" && cmake --build "$scratch/build" && "$scratch/build/first_steps"
}

one_header()
{
  [ -f "$includedir/karst.h" ] && ! ls "$includedir" | grep -i -E 'context|solver|backend'
}

check "karst.h is the one header" one_header
if [ -e "$libdir/libkarst.so" ]; then
  check "a program compiled with pkg-config runs" with_shared_library
else
  skip "a program compiled with pkg-config runs" "no shared library"
fi
if [ -e "$libdir/libkarst.a" ]; then
  check "a program linked with the static library runs" with_static_library
else
  skip "a program linked with the static library runs" "no static library"
fi
if command -v cmake >/dev/null; then
  check "a program configured with CMake runs" with_cmake
else
  skip "a program configured with CMake runs" "no cmake"
fi
for command in $commands; do
  check "karst-$command starts" "$bindir/karst-$command" --version
done
check "karst-solve solves" "$bindir/karst-solve" poisson2d:20x20
echo "1..$number"
exit $failed
