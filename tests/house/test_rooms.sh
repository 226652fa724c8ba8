#!/bin/sh
# A room includes only what the plan of the house allows (doc/design.md): its own headers and those of the rooms named,
# each by its path from the top. A driver sees the system that it solves as an operator and sums. Each parallel region
# has the number of threads of a piece of work (lib/base/threads.h), which is 1 if the work is small, if other programs
# keep threads waiting, and after a fork.
. "$srcdir/tests/support/report.sh"

# room ROOM ALLOWED... checks what the files of a room include.
room()
{
  room=$1 wrong=''
  shift
  for file in $(find "$room" -name '*.[ch]' -o -name '*.cu' -o -name '*.hh'); do
    for include in $(sed -n 's/^#include "\(.*\)".*/\1/p' "$file"); do
      case $include in karst.h | config.h) continue ;; esac
      found=''
      for allowed in "$room" "$@"; do case $include in "$allowed"/*) [ -e "$include" ] && found=yes ;; esac; done
      [ "$found" ] || wrong="$wrong $file:$include"
    done
  done
  report "$room includes its own headers${*:+ and those of} $*" "$wrong"
}

cd "$srcdir" || exit 1
echo 1..16
room support
room lib support
room format lib support
room matrices lib format support
room symbolic lib
room cpu lib symbolic
room gpu lib
room baselines lib cpu gpu
room precond lib symbolic
room krylov lib
room solver lib symbolic support
room mpi
room tools support
room plugins
report "a driver knows an operator and no matrix, and takes its sums through lib/vector/sums.h" \
  "$(grep -nE 'karst_matrix|backend->(dots|multiply|residual)\b' krylov/*.[ch])"
report "each parallel region has the threads of a piece of work" \
  "$(grep -rn 'pragma omp parallel' lib format matrices symbolic cpu precond krylov solver --include='*.[ch]' |
    grep -v 'num_threads([a-z]*\.threads)')"
