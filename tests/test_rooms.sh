#!/bin/sh
# A room includes only what the plan of the house allows (doc/design.md): its own headers and those of the rooms named.
number=0
room()
{
  room=$1 number=$((number + 1)) wrong=''
  shift
  for include in $(cd "$srcdir" && sed -n 's/^#include "\(.*\)".*/\1/p' $(find "$room" -name '*.[ch]' -o -name '*.cu') | sort -u); do
    found=''
    case $include in karst.h | config.h) continue ;; esac
    for allowed in "$room" "$@"; do [ -e "$srcdir/$allowed/$include" ] && found=yes; done
    [ "$found" ] || wrong="$wrong $include"
  done
  if [ -z "$wrong" ]; then
    echo "ok $number - $room includes its own headers${*:+ and those of} $*"
  else
    echo "not ok $number - $room includes$wrong"
  fi
}
echo 1..8
room lib
room matrices lib
room symbolic lib
room gpu lib
room precond lib symbolic gpu
room krylov lib
room solver lib symbolic
room tools
