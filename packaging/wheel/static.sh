#!/bin/sh
# static.sh FLAG... - prints the flags for the linker, with static archives in the place of some shared libraries: of
# those whose licences allow it, where the archive is there and its code can be part of what is linked. CC is the
# compiler.
scratch=$(mktemp -d) || exit
trap 'rm -rf "$scratch"' EXIT
folders=''
echo '{ local: *; };' >"$scratch/exports"
in_library="-shared -Wl,--version-script=$scratch/exports" in_program='-pie -nostartfiles'

# first HOW FLAGS... prints the first flags which can be linked so, with all that an archive has. Debian compiles its
# archives for programs, and some can be part of a shared library that exports none of their names.
first()
{
  how=$1
  shift
  for candidate; do
    # shellcheck disable=SC2086 # lists of flags
    if $CC $how -o "$scratch/probe" $folders -Wl,--whole-archive $candidate -Wl,--no-whole-archive 2>/dev/null; then
      echo "$candidate"
      return
    fi
  done
}

for flag; do
  case $flag in
  -L*) folders="$folders $flag" && echo "$flag" ;;
  -lamd) first "$in_library" '-l:libamd.a -l:libsuitesparseconfig.a' -lamd ;;
  -lz | -larchive | -lmetis) first "$in_library" "-l:lib${flag#-l}.a" "$flag" ;;
  -ljansson) first "$in_program" -l:libjansson.a -ljansson ;;
  # libarchive's own, which may be there without a package for developers.
  -lbz2) first "$in_library" -l:libbz2.a -lbz2 -l:libbz2.so.1.0 ;;
  -llzma) first "$in_library" -l:liblzma.a -llzma -l:liblzma.so.5 ;;
  # Without zstd's training of dictionaries, which writes to stderr.
  -lzstd) first "$in_library" '-Wl,--no-whole-archive,-u,ZSTD_decompressStream -l:libzstd.a' -lzstd -l:libzstd.so.1 ;;
  *) echo "$flag" ;;
  esac
done
