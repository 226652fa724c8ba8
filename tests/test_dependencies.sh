#!/bin/sh
# A change of a header rebuilds the CUDA objects that include it, directly or through other headers. "make -n -W FILE"
# prints what make would do if FILE had just changed.
if ! grep -q '^#define HAVE_CUDA 1' "$builddir/config.h"; then
  echo "1..0 # SKIP built without CUDA"
  exit 0
fi
number=0
sources=$(sed -n 's/^top_srcdir = //p' "$builddir/Makefile") # as make knows them
objects='gpu/diagonal.lo gpu/ilu/lists.lo gpu/vector.lo tools/bench_cuda.lo'
would_make() { (cd "$builddir" && MAKEFLAGS='' ${MAKE:-make} -n "$@"); }

# remakes HEADER OBJECT... checks that each object would be rebuilt.
remakes()
{
  number=$((number + 1)) header=$1 missing=
  shift
  commands=$(would_make -W "$sources/$header" "$@")
  for object in "$@"; do
    case $commands in *"-o $object "*) ;; *) missing="$missing $object" ;; esac
  done
  if [ -z "$missing" ]; then
    echo "ok $number - $header makes $* again"
  else
    echo "not ok $number - $header makes $* again: not$missing"
  fi
}
echo 1..5
remakes lib/search.h gpu/ilu/lists.lo
remakes lib/inline.h gpu/ilu/lists.lo gpu/vector.lo
remakes lib/karst.h.in gpu/ilu/lists.lo gpu/vector.lo tools/bench_cuda.lo
remakes gpu/invert.h gpu/diagonal.lo
case $(would_make $objects) in
*" -o "*) echo "not ok 5 - and without a change none is" ;;
*) echo "ok 5 - and without a change none is" ;;
esac
