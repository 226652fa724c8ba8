#!/bin/sh
# licenses.sh FOLDER LIBRARY TRACE... - writes into the folder the licence of each package that has parts in the wheel:
# archives, which the traces of the linker name, and shared libraries that LIBRARY needs and not every system has.
# Debian's packages have it in /usr/share/doc.
#
# None is under the GPL alone. GCC's run-time library for OpenMP is under the GPL with an exception for programs that
# GCC has compiled.
folder=$1 library=$2
shift 2
rm -rf "$folder"
mkdir -p "$folder"
{
  sed -n 's/^(\{0,1\}\(\/[^()]*\.a\)\()\|$\).*/\1/p' "$@"
  ldd "$library" | sed -n 's/.* => \(\/.*\) (0x.*/\1/p'
} | xargs -r realpath | sort -u | grep -v -E '/lib(c|m|dl|rt|pthread|c_nonshared|gcc|gcc_s|stdc\+\+)[-.]' |
  while read -r file; do
    # Packages may know a file by the path that it had before /lib was part of /usr.
    package=$(dpkg -S "$file" "${file#/usr}" 2>/dev/null | sed -n 's/[:,].*//p' | head -n 1)
    if ! cp "/usr/share/doc/$package/copyright" "$folder/$package.txt" 2>/dev/null; then
      echo "make wheel: the wheel lacks the licence of $file, which is of no Debian package" >&2
    fi
    case $package in
    libmetis*) cp -L /usr/share/common-licenses/Apache-2.0 "$folder" ;;
    libgomp*) cp -L /usr/share/common-licenses/GPL-3 "$folder" ;;
    esac
  done
