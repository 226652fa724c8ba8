# example.sh - builds an example that has a folder, by its own Makefile, against the library of this build, for scripts
# that source it after report.sh: . "$srcdir/tests/support/example.sh". Without pkg-config the script ends.
if ! command -v pkg-config >/dev/null; then
  echo "1..0 # SKIP no pkg-config"
  exit 0
fi

# variable NAME prints what this build's Makefile sets.
variable() { sed -n "s/^$1 = //p" "$builddir/Makefile"; }

# describe writes a description of the library as it lies in the build tree, where the shared one may be missing.
describe()
{
  if [ -e "$builddir/.libs/libkarst.so" ]; then
    libraries="-L$builddir/.libs -lkarst -Wl,-rpath,$builddir/.libs"
  else
    libraries="$builddir/.libs/libkarst.a $(variable STATIC_LIBS)"
  fi
  sed "s|^Cflags:.*|Cflags: -I$builddir/include|; s|^Libs:.*|Libs: $libraries|" "$builddir/karst.pc" \
    >"$scratch/karst.pc"
}

# compile FOLDER VARIABLE=VALUE... runs make in a copy of the example, and prints what it says.
compile()
{
  folder=$1
  shift
  (cd "$folder" && PKG_CONFIG_PATH=$scratch MAKEFLAGS='' ${MAKE:-make} CC="$(variable CC)" \
    CFLAGS="$(variable OPTIMIZE) $(variable CFLAGS) -Wall -Wextra -Wshadow -Wconversion" "$@" 2>&1 >/dev/null)
}

# build NAME VARIABLE=VALUE... builds the example in $scratch, and reports whether that gives a warning.
build()
{
  example=$1
  shift
  describe && find "$srcdir/examples/$example" \( -name '*.[ch]' -o -name '*.cu' -o -name Makefile \) \
    -exec cp {} "$scratch" \; && chmod -R u+w "$scratch" || exit 99
  report "it builds through pkg-config without a warning" "$(compile "$scratch" "$@")"
}

# run ARGUMENT... runs it; what it prints goes to $scratch/output.
run() { "$scratch/$example" "$@" >"$scratch/output" 2>&1; }
