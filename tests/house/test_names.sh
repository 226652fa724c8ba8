#!/bin/sh
# No two parts of the library define types of the same name. In C++, the language of gpu/, this is undefined behaviour
# even in separate sources (the one-definition rule). And no two headers have one name.
. "$srcdir/tests/support/report.sh"
cd "$srcdir" || exit 1
rooms=
for room in lib format matrices symbolic precond cpu krylov solver gpu baselines; do
  [ -d $room ] && rooms="$rooms $room"
done
echo 1..3
report "a type has a name of its own among the headers" "$(
  find $rooms -name '*.h' | sort | xargs awk '
    match($0, /^(typedef )?(struct|enum|union|class) ([a-z(]+[^ ]*\) )?[A-Za-z_0-9]+ {/) {
      name = $0
      sub(/ {.*/, "", name)
      sub(/.* /, "", name)
      if (name in file) print name ": " file[name] " and " FILENAME
      file[name] = FILENAME
    }')"
report "what a CUDA source alone uses is in an anonymous namespace: types, constants, templates" "$(
  find $rooms -name '*.cu' | sort | xargs awk '
    FNR == 1 { hidden = 0 }
    /^namespace$/ { hidden = 1 }
    /^} \/\/ namespace/ { hidden = 0 }
    hidden || /;$/ { next }
    /^(struct|enum|union|class|typedef|using|constexpr|template) / { print FILENAME ":" FNR ": " $0 }')"
report "a header has a name of its own" "$(
  find $rooms support tools tests -name '*.h' | sed 's|.*/||' | sort | uniq -d)"
