#!/bin/sh
# configure refuses a PETSc that does not fit, with a sentence that says what to do: indices of another width, complex
# numbers, or none at all. Headers made here stand for those of such a PETSc.
. "$srcdir/tests/support/report.sh"
skip_all() { echo "1..0 # SKIP $1" && exit 0; }
[ ! -e "$srcdir/config.status" ] || skip_all 'the sources are configured, which rules out another build'
command -v pkg-config >/dev/null || skip_all 'no pkg-config'
bits=$(sed -n 's/^#define KARST_INDEX_BITS //p' "$builddir/include/karst.h")
[ "$bits" = 32 ] && wide='' || wide=--enable-int64

# refuses TEXT SCALAR INTEGER SENTENCE: of a PETSc with these types.
refuses()
{
  mkdir -p "$scratch/petsc/include" "$scratch/petsc/lib/pkgconfig"
  echo "typedef $2 PetscScalar; typedef $3 PetscInt;" >"$scratch/petsc/include/petscksp.h"
  printf '%s\n' "prefix=$scratch/petsc" 'Name: PETSc' 'Description: of a test' 'Version: 3.20.0' \
    'Cflags: -I${prefix}/include' >"$scratch/petsc/lib/pkgconfig/PETSc.pc"
  (cd "$scratch" && CONFIG_SHELL=/bin/sh /bin/sh "$srcdir/configure" -q $wide --disable-openmp --without-cuda \
    --without-zlib --without-libarchive --without-metis --without-suitesparse --without-jansson --without-mpi \
    --with-petsc="$scratch/petsc" >"$scratch/log" 2>&1) && echo 'it configures' >>"$scratch/log"
  report "$1" "$(grep -q "$4" "$scratch/log" || shown "$scratch/log")"
}

echo 1..2
refuses "complex numbers are refused" 'struct { double re, im; }' int 'has complex numbers or another precision'
refuses "indices of another width are refused" double short \
  "another width than Karst, which has $bits bits: .*--enable-int64"
