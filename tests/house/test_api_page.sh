#!/bin/sh
# "make html" makes a page of karst.h without a warning. Each function and constant has a text there, and each link
# leads to a file.
. "$srcdir/tests/support/report.sh"
echo 1..3
if ! command -v doxygen >/dev/null; then
  for part in warnings texts links; do skip "the page of karst.h: $part" 'doxygen is not installed'; done
  exit 0
fi

wrong=$(cd "$builddir" && MAKEFLAGS='' ${MAKE:-make} -s html html_folder="$scratch/html" 2>&1 | grep -v '^  GEN')
report "make html has no warning" "$wrong"

# Each function has a table with its name and, after it, a text of paragraphs.
awk '/class="memname"/ {
    name = match($0, /karst_[a-z0-9_]* *<\/td>/) ? substr($0, RSTART, RLENGTH) : ""
    sub(/ *<.*/, "", name)
  }
  /<p>/ && name { print name; name = "" }' \
  "$scratch"/html/group__*.html | sort -u >"$scratch/described"
declared=$(tr '\n' ' ' <"$builddir/include/karst.h" | tr ';' '\n' |
  sed -n 's/.*KARST_EXPORT [^(]*[ *]\(karst_[a-z0-9_]*\)(.*/\1/p')
missing=$(for name in $declared; do grep -q -x "$name" "$scratch/described" || echo "$name"; done
  sed -n 's/^  \(KARST_[A-Z_]*\)[ ,].*/\1/p' "$builddir/include/karst.h" | while read -r name; do
    grep -q "$name&#160;.*fielddoc" "$scratch"/html/group__*.html || echo "$name"
  done)
[ "$(echo "$declared" | wc -l)" -gt 80 ] || missing="too few were found in karst.h: $declared"
report "every function and constant of karst.h has a text" "$missing"

wrong=$(cd "$scratch/html" && sed 's/href="/\n@/g' ./*.html | sed -n 's/^@\([^"#]*\).*/\1/p' | sort -u |
  while read -r link; do [ -e "$link" ] || echo "$link"; done)
report "every link leads to a file" "$wrong"
