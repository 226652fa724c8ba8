#!/bin/sh
# The files that "make install" installs work for a user's program and shell. "make installcheck" runs this script and
# sets srcdir, CC, CFLAGS, prefix, bindir, libdir, includedir and commands. It prints TAP and exits 1 if a test failed.
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT
number=0 failed=0

# check TEXT COMMAND... is one test; the command's output is shown if it failed.
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
  # The sources may be read-only, and CMake refuses sources that lie beside another configuration.
  cp "$srcdir/examples/first_steps.c" "$srcdir/examples/CMakeLists.txt" "$scratch" &&
    cmake -S "$scratch" -B "$scratch/build" -DKarst_DIR="$libdir/cmake/Karst" -DCMAKE_C_COMPILER="${CC%% *}" \
      -DCMAKE_C_FLAGS="$CFLAGS" && cmake --build "$scratch/build" && "$scratch/build/first_steps"
}

# The files for programs are copied to another place. The first place still exists, but nothing may come from it.
with_cmake_moved()
{
  moved=$scratch/moved library=${libdir#"$prefix"} include=${includedir#"$prefix"}
  rm -rf "$scratch/build" && mkdir -p "$moved$library" "$moved$include" &&
    cp -RP "$libdir"/libkarst* "$libdir/cmake" "$moved$library" && cp "$includedir/karst.h" "$moved$include" &&
    (libdir=$moved$library && with_cmake) &&
    grep "Karst_LIBRARY:FILEPATH=$moved$library/" "$scratch/build/CMakeCache.txt" &&
    grep "$moved$include" "$scratch/build/CMakeFiles/first_steps.dir/flags.make"
}

# A program that includes the header for indices of the other width does not link with this library. The same program
# with the header of this width does.
refuses_the_other_width()
{
  mkdir -p "$scratch/same" "$scratch/other" && cp "$includedir/karst.h" "$scratch/same" &&
    sed 's/\(KARST_INDEX_BITS\) 32$/\1 other/; s/\(KARST_INDEX_BITS\) 64$/\1 32/; s/other$/64/' \
      "$includedir/karst.h" >"$scratch/other/karst.h" || return
  echo '#include <karst.h>
    int main(void) { karst_context *context; return (int)karst_context_create(NULL, &context); }' >"$scratch/width.c"
  link="$CC $CFLAGS $scratch/width.c -o $scratch/width"
  $link -I"$scratch/same" "$@" && ! $link -I"$scratch/other" "$@" 2>"$scratch/undefined" &&
    grep karst_context_create "$scratch/undefined"
}

# The shared library's name depends on the width, so that a linked program cannot load the library of the other width.
names_the_width()
{
  name=$(readelf -d "$libdir/libkarst.so" | sed -n 's/.*SONAME.*\[\(.*\)\.so.*/\1/p')
  case $(pkg-config --variable=index_bits karst) in
  32) [ "$name" = libkarst ] ;;
  64) [ "$name" = libkarst-int64 ] ;;
  *) false ;;
  esac
}

one_header()
{
  [ -f "$includedir/karst.h" ] && ! ls "$includedir" | grep -i -E 'context|solver|backend'
}

check "karst.h is the one header" one_header
if [ -e "$libdir/libkarst.so" ]; then
  check "a program compiled with pkg-config runs" with_shared_library
  check "a program for indices of the other width does not link" \
    refuses_the_other_width -L"$libdir" -lkarst -Wl,-rpath,"$libdir"
else
  skip "a program compiled with pkg-config runs" "no shared library"
fi
if [ -e "$libdir/libkarst.a" ]; then
  check "a program linked with the static library runs" with_static_library
  check "a program for indices of the other width does not link with the static library" \
    refuses_the_other_width "$libdir/libkarst.a" $(pkg-config --static --libs karst | sed 's|-lkarst||')
else
  skip "a program linked with the static library runs" "no static library"
fi
if command -v cmake >/dev/null; then
  check "a program configured with CMake runs" with_cmake
  case $libdir@$includedir in
  "$prefix"/*@"$prefix"/*) check "a program configured with CMake runs after all files were moved" with_cmake_moved ;;
  esac
else
  skip "a program configured with CMake runs" "no cmake"
fi
if [ -e "$libdir/libkarst.so" ] && command -v readelf >/dev/null; then
  check "the shared library's name tells the width of indices" names_the_width
fi
for command in $commands; do
  check "karst-$command starts" "$bindir/karst-$command" --version
done
check "karst-solve solves" "$bindir/karst-solve" poisson2d:20x20
echo "1..$number"
exit $failed
