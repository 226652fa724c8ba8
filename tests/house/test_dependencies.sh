#!/bin/sh
# Configuring again leaves the public header untouched, on which all sources depend. A change of a header rebuilds the
# CUDA objects that include it, directly or through other headers. "make -n -W FILE" prints what make would do if FILE
# had just changed.
. "$srcdir/tests/support/report.sh"
sources=$(sed -n 's/^top_srcdir = //p' "$builddir/Makefile") # as make knows them
objects='gpu/diagonal.lo gpu/ilu/slices/lists.lo gpu/vector.lo tools/src/bench/bench_cuda.lo'
would_make() { (cd "$builddir" && MAKEFLAGS='' ${MAKE:-make} -n "$@"); }

touch -r "$builddir/include/karst.h" "$scratch/before"
report "configuring again leaves the public header unchanged" "$(
  (cd "$builddir" && ${SHELL:-sh} ./config.status --silent include/karst.h.new) || echo 'config.status fails'
  find "$builddir/include/karst.h" -newer "$scratch/before")"
made=$(would_make -W "$sources/include/karst.h.in" include/karst.h)
report "a change of its source makes the public header again" \
  "$(echo "$made" | grep -q config.status || echo "it would make: $made")"

if ! grep -q '^#define HAVE_CUDA 1' "$builddir/config.h"; then
  skip "a change of a header makes CUDA objects again" 'built without CUDA'
  echo 1..3
  exit 0
fi

# remakes HEADER OBJECT... checks that each object would be rebuilt.
remakes()
{
  header=$1 missing=
  shift
  commands=$(would_make -W "$sources/$header" "$@")
  for object in "$@"; do
    case $commands in *"-o $object "*) ;; *) missing="$missing $object" ;; esac
  done
  report "a change of $header makes $* again" "$missing"
}
remakes lib/base/search.h gpu/ilu/slices/lists.lo
remakes lib/base/inline.h gpu/ilu/slices/lists.lo gpu/vector.lo
remakes include/karst.h.in gpu/ilu/slices/lists.lo gpu/vector.lo tools/src/bench/bench_cuda.lo
remakes gpu/block_inverse.h gpu/diagonal.lo
report "without a change no object is made" "$(would_make $objects | grep -e ' -o ')"
echo 1..7
