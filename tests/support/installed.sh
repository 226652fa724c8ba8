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

PYTHON=${PYTHON:-python3}
PKG_CONFIG_PATH=$libdir/pkgconfig${petsc_folder:+:$petsc_folder/lib/pkgconfig}
export PKG_CONFIG_PATH

# Each takes the name of an example.
with_shared_library()
{
  $CC $CFLAGS "$srcdir/examples/$1.c" $(pkg-config --cflags --libs karst) -Wl,-rpath,"$libdir" \
    -o "$scratch/$1" && "$scratch/$1"
}

static_libraries() { pkg-config --static --libs karst | sed "s|-lkarst|$libdir/libkarst.a|"; }

with_static_library()
{
  $CC $CFLAGS $(pkg-config --cflags karst) "$srcdir/examples/$1.c" $(static_libraries) -o "$scratch/$1" &&
    "$scratch/$1"
}

# Of the two that is there.
libraries()
{
  if [ -e "$libdir/libkarst.so" ]; then
    echo "$(pkg-config --libs karst) -Wl,-rpath,$libdir"
  else
    static_libraries
  fi
}

# With the MPI of the build; a single process needs no mpiexec.
with_mpi()
{
  $CC $CFLAGS "$srcdir/examples/mpi.c" $(pkg-config --cflags --libs karst-mpi) -Wl,-rpath,"$libdir" \
    -o "$scratch/mpi" && OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "$scratch/mpi"
}

# The header serves C++ too, and the example is C++ as it is.
as_cxx()
{
  c++ $(pkg-config --cflags karst) -Wall -Wextra -Werror -x c++ "$srcdir/examples/$1.c" -x none $(libraries) \
    -o "$scratch/$1_cxx" && "$scratch/$1_cxx"
}

# The handles of karst.hpp need C++17.
with_cxx_handles()
{
  c++ -std=c++17 -Wall -Wextra -Werror $(pkg-config --cflags karst) "$docdir/examples/blackoil.cpp" $(libraries) \
    -o "$scratch/blackoil" && "$scratch/blackoil"
}

# The header for dune-istl, by the flags of pkg-config alone.
beside_dune()
{
  echo '#include <karst.hh>' | c++ -std=c++17 -Wall -Wextra -Werror $(pkg-config --cflags karst) -fsyntax-only -x c++ -
}

has_cxx17() { echo 'template <auto> struct s;' | c++ -std=c++17 -x c++ -c - -o "$scratch/17.o"; }

# The Python code of the texts, with the package of the sources and the installed library and command.
with_python()
{
  KARST_LIBRARY=$libdir/libkarst.so KARST_COMPARE=$bindir/karst-compare PYTHONPATH=$srcdir/python \
    PYTHONDONTWRITEBYTECODE=1 "$PYTHON" "$srcdir/tests/python/test_manual.py" "$docdir" >"$scratch/tap" 2>&1
  cat "$scratch/tap"
  grep -q '^1\.\.[1-9]' "$scratch/tap" && ! grep -q '^not ok' "$scratch/tap"
}

# Each file of the folders that a text refers to is there, for the folders are those of the sources.
links_lead_somewhere()
{
  ! for text in README.md INSTALL.md CONTRIBUTING.md $(cd "$docdir" && echo doc/*.md); do
    sed -n 's/](\([^)]*\))/\n@\1\n/gp' "$docdir/$text" | sed -n 's/^@\([^#:]\{1,\}\)\(#.*\)\{0,1\}$/\1/p' |
      while read -r link; do
        [ -e "$docdir/$(dirname "$text")/$link" ] || echo "$text: $link"
      done
  done | grep .
}

# README's program, by README's line.
shown_in_readme()
{
  line=$(sed -n 's/^    \(cc flow\.c .*\)/\1/p' "$docdir/README.md")
  mkdir -p "$scratch/readme" && [ "$line" ] &&
    sed -n '/^```c$/,/^```$/p' "$docdir/README.md" | sed '/^```/d' >"$scratch/readme/flow.c" &&
    (cd "$scratch/readme" && LD_LIBRARY_PATH=$libdir && export LD_LIBRARY_PATH && eval "$line")
}

# The line of the manual that compiles with the command, in an empty folder. With 64-bit indices the interfaces of the
# example in Fortran differ, as it says.
as_written()
{
  line=$(sed -n "s|^    \($1 examples/.*\)|\1|p" "$docdir/doc/manual.md" | head -n 1)
  mkdir -p "$scratch/written" && cp -R "$docdir/examples" "$scratch/written" && [ "$line" ] || return
  [ "$(pkg-config --variable=index_bits karst)" = 32 ] ||
    sed 's/= c_int32_t/= c_int64_t/; s/name="\([a-z_]*\)"/name="\1_int64"/' "$docdir/examples/first_steps.f90" \
      >"$scratch/written/examples/first_steps.f90"
  [ "$1" != gfortran ] || line=$fortran${line#gfortran}
  (cd "$scratch/written" && unset LD_LIBRARY_PATH && eval "$line")
}

has_a_man_page() { [ -f "$mandir/man1/karst-$1.1" ]; }

# CMake takes the compiler from CC, which may have several words.
with_cmake()
{
  # The sources may be read-only, and CMake refuses sources that lie beside another configuration.
  cp "$srcdir"/examples/*.c "$srcdir/examples/CMakeLists.txt" "$scratch" &&
    CC=$CC cmake -S "$scratch" -B "$scratch/build" -DKarst_DIR="$libdir/cmake/Karst" -DCMAKE_C_FLAGS="$CFLAGS" &&
    cmake --build "$scratch/build" && "$scratch/build/first_steps" && "$scratch/build/wells" &&
    "$scratch/build/operator" && "$scratch/build/cpr" || return
  [ ! -e "$libdir/libkarst_mpi.so" ] || OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "$scratch/build/mpi"
}

# The files for programs are copied to another place. The first place still exists, but nothing may come from it.
with_cmake_moved()
{
  moved=$scratch/moved library=${libdir#"$prefix"} include=${includedir#"$prefix"}
  rm -rf "$scratch/build" && mkdir -p "$moved$library" "$moved$include" &&
    cp -RP "$libdir"/libkarst* "$libdir/cmake" "$moved$library" && cp "$includedir"/karst*.h "$moved$include" &&
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

# Whether a program compiles with these statements, without warnings counting as errors.
compiles()
{
  echo "#include <karst.h>
    static void watch(void *user, int iteration, double residual) { (void)user, (void)iteration, (void)residual; }
    int main(void) {
      karst_context *context = NULL; karst_solver *solver = NULL; void (*monitor)(void *, int, double) = watch;
      if (!monitor || karst_context_create(NULL, &context)) return 1;
      $1
      karst_solver_destroy(solver); karst_context_destroy(context); return 0; }" >"$scratch/old.c"
  $CC $CFLAGS -Wno-error $(pkg-config --cflags karst) -c "$scratch/old.c" -o "$scratch/old.o"
}

links() { $CC $CFLAGS "$scratch/old.o" $(libraries) -o "$scratch/old"; }

# Statements that were right with the header of version 0.1. Where it is a type or the arguments of a function that have
# changed the compiler has to say so, for in a run the program would read other fields than the library has written. A
# function that is gone is missed by the linker at the latest.
refuses_programs_for_0_1()
{
  compiles '' && links || return
  for statements in 'karst_options options; options.precond = "jacobi";' \
    'karst_options options = {0}; if (karst_solver_create(context, &options, &solver)) return 1;' \
    'karst_option_info info; if (!karst_options_info(0, &info)) return 1;' \
    'if (!karst_options_method("precond", 0, NULL)) return 1;' \
    'karst_solver_info info; if (!karst_solver_get_info(solver, &info) && info.levels_lower) return 1;'; do
    if compiles "$statements"; then
      echo "compiles: $statements"
      return 1
    fi
  done
  ! { compiles 'karst_solver_set_monitor(solver, monitor, NULL);' && links; }
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

# runs NAME ARGUMENT...: an example with a folder, by its own Makefile, which asks pkg-config alone.
runs()
{
  example=$1
  shift
  mkdir -p "$scratch/$example" && cp "$srcdir/examples/$example"/*.[ch] "$srcdir/examples/$example/Makefile" \
    "$scratch/$example" && (cd "$scratch/$example" && MAKEFLAGS='' ${MAKE:-make} CC="$CC" CFLAGS="$CFLAGS" OPENMP='' \
      LDFLAGS="-Wl,-rpath,$libdir" && "./$example" "$@")
}

# As a user of PETSc does, who has the header of MPI from its compiler.
with_petsc()
{
  $CC $CFLAGS $mpi_flags "$docdir/examples/petsc.c" $(pkg-config --cflags --libs karst-petsc karst) \
    -Wl,-rpath,"$libdir" -o "$scratch/petsc" $mpi_libraries && "$scratch/petsc" -pc_type karst -ksp_view |
    grep 'type: karst' && [ -e "$(pkg-config --variable=plugin karst-petsc)" ]
}

one_header()
{
  [ -f "$includedir/karst.h" ] && ! ls "$includedir" | grep -i -E 'context|solver|backend'
}

check "karst.h is the one header" one_header
if [ -e "$libdir/libkarst.so" ]; then
  for example in cpr first_steps tridiagonal wells; do
    check "$example, compiled with pkg-config, runs" with_shared_library $example
  done
  check "the simulator is built through pkg-config and runs" runs twophase --days 100
  check "so is the flow solver" runs euler3d --scheme implicit --end 0.01
  check "a program for indices of the other width does not link" \
    refuses_the_other_width -L"$libdir" -lkarst -Wl,-rpath,"$libdir"
else
  skip "a program compiled with pkg-config runs" "no shared library"
fi
if [ -e "$libdir/libkarst_mpi.so" ]; then
  check "mpi, compiled with pkg-config, runs" with_mpi
fi
if [ -e "$libdir/libkarst.a" ]; then
  for example in cpr first_steps tridiagonal wells; do
    check "$example, linked with the static library, runs" with_static_library $example
  done
  check "a program for indices of the other width does not link with the static library" \
    refuses_the_other_width "$libdir/libkarst.a" $(pkg-config --static --libs karst | sed 's|-lkarst||')
else
  skip "a program linked with the static library runs" "no static library"
fi
if command -v c++ >/dev/null; then
  for example in cpr wells; do
    check "$example is C++, too" as_cxx $example
  done
else
  skip "cpr and wells are C++, too" "no c++"
fi
if ! command -v c++ >/dev/null; then
  skip "the handles for C++ work" "no c++"
elif ! has_cxx17 2>/dev/null; then
  skip "the handles for C++ work" "c++ does not know C++17"
else
  check "the handles for C++ work" with_cxx_handles
fi
if echo '#include <dune/istl/bcrsmatrix.hh>' | c++ -std=c++17 -E -x c++ - >/dev/null 2>&1; then
  check "the header for dune-istl compiles" beside_dune
else
  skip "the header for dune-istl compiles" "no c++ for C++17, or no dune-istl"
fi
if [ ! -e "$libdir/libkarst.so" ]; then
  skip "Karst serves Python" "no shared library"
elif ! "$PYTHON" -c 'import sys, numpy, scipy; sys.exit(sys.version_info < (3, 9))' 2>/dev/null; then
  skip "Karst serves Python" "no python3 of version 3.9 with numpy and scipy"
else
  check "Karst serves Python, as README and the manual show" with_python
fi
if [ -e "$libdir/libkarst_petsc.so" ]; then
  check "petsc, compiled with pkg-config, runs in PETSc" with_petsc
else
  skip "petsc runs in PETSc" "built without PETSc"
fi
if command -v cc >/dev/null; then
  check "README's line compiles README's program" shown_in_readme
else
  skip "README's line compiles README's program" "no cc"
fi
if command -v c++ >/dev/null && has_cxx17 2>/dev/null; then
  check "the manual's line compiles the program in C++" as_written 'c++ -std=c++17'
else
  skip "the manual's line compiles the program in C++" "no c++ for C++17"
fi
fortran=${FC:-gfortran}
if command -v "$fortran" >/dev/null; then
  check "the manual's line compiles the program in Fortran" as_written gfortran
else
  skip "the manual's line compiles the program in Fortran" "no $fortran"
fi
check "what the installed texts refer to is installed" links_lead_somewhere
check "a program for version 0.1 does not compile" refuses_programs_for_0_1
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
  check "karst-$command has a man page" has_a_man_page $command
done
check "karst-solve solves" "$bindir/karst-solve" poisson2d:20x20
echo "1..$number"
exit $failed
