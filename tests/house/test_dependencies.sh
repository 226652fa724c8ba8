#!/bin/sh
# Configuring again leaves the public header untouched, on which all sources depend. A change of a header rebuilds the
# CUDA objects that include it, directly or through other headers. "make -n -W FILE" prints what make would do if FILE
# had just changed.
number=0
sources=$(sed -n 's/^top_srcdir = //p' "$builddir/Makefile") # as make knows them
objects='gpu/diagonal.lo gpu/ilu/slices/lists.lo gpu/vector.lo tools/src/bench/bench_cuda.lo'
would_make() { (cd "$builddir" && MAKEFLAGS='' ${MAKE:-make} -n "$@"); }

# report TEXT DONE says whether something was done.
report()
{
  number=$((number + 1))
  if [ "$2" = yes ]; then echo "ok $number - $1"; else echo "not ok $number - $1"; fi
}

scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT
touch -r "$builddir/include/karst.h" "$scratch/before"
untouched=no
if (cd "$builddir" && ${SHELL:-sh} ./config.status --silent include/karst.h.new) &&
  [ -z "$(find "$builddir/include/karst.h" -newer "$scratch/before")" ]; then
  untouched=yes
fi
report "configuring again leaves the header as it is" $untouched
case $(would_make -W "$sources/include/karst.h.in" include/karst.h) in
*config.status*) made=yes ;;
*) made=no ;;
esac
report "a change of its source makes it again" $made

if ! grep -q '^#define HAVE_CUDA 1' "$builddir/config.h"; then
  echo "ok 3 - a change of a header makes CUDA objects again # SKIP built without CUDA"
  echo 1..3
  exit 0
fi

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
remakes lib/base/search.h gpu/ilu/slices/lists.lo
remakes lib/base/inline.h gpu/ilu/slices/lists.lo gpu/vector.lo
remakes include/karst.h.in gpu/ilu/slices/lists.lo gpu/vector.lo tools/src/bench/bench_cuda.lo
remakes gpu/block_inverse.h gpu/diagonal.lo
case $(would_make $objects) in
*" -o "*) echo "not ok 7 - and without a change none is" ;;
*) echo "ok 7 - and without a change none is" ;;
esac
echo 1..7
