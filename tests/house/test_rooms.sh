#!/bin/sh
# A room includes only what the plan of the house allows (doc/design.md): its own headers and those of the rooms named,
# each by its path from the top. What drivers see of the system that they solve is an operator and sums. And the number
# of threads of each parallel region is that of a piece of work (lib/base/threads.h), which has one thread where the
# work is small, where other programs keep threads waiting, and after a fork.
number=0

room()
{
  room=$1 number=$((number + 1)) wrong=''
  shift
  for file in $(find "$room" -name '*.[ch]' -o -name '*.cu'); do
    for include in $(sed -n 's/^#include "\(.*\)".*/\1/p' "$file"); do
      case $include in karst.h | config.h) continue ;; esac
      found=''
      for allowed in "$room" "$@"; do case $include in "$allowed"/*) [ -e "$include" ] && found=yes ;; esac; done
      [ "$found" ] || wrong="$wrong $file:$include"
    done
  done
  if [ -z "$wrong" ]; then
    echo "ok $number - $room includes its own headers${*:+ and those of} $*"
  else
    echo "not ok $number - $room includes$wrong"
  fi
}

cd "$srcdir" || exit 1
echo 1..14
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
room tools support
number=$((number + 1))
wrong=$(grep -nE 'karst_matrix|backend->(dots|multiply|residual)\b' krylov/*.[ch])
if [ -z "$wrong" ]; then
  echo "ok $number - a driver knows an operator and no matrix, and takes its sums through lib/vector/sums.h"
else
  echo "not ok $number - a driver knows a matrix, or takes a sum by itself:" $wrong
fi

number=$((number + 1))
wrong=$(grep -rn 'pragma omp parallel' lib format matrices symbolic cpu precond krylov solver --include='*.[ch]' |
  grep -v 'num_threads([a-z]*\.threads)')
if [ -z "$wrong" ]; then
  echo "ok $number - each parallel region has the threads of a piece of work"
else
  echo "not ok $number - parallel regions take threads that no piece of work has:" $wrong
fi
