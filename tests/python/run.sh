#!/bin/sh
# Runs a test program of Python with the package of this tree and the library of this build: run.sh PROGRAM.
library=$builddir/.libs/libkarst.so
if [ -z "$PYTHON" ]; then
  echo "1..0 # SKIP no python3"
elif ! "$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 9))'; then
  echo "1..0 # SKIP $PYTHON is older than Python 3.9"
elif [ ! -e "$library" ]; then
  echo "1..0 # SKIP no shared library"
elif grep -q -e __asan_init -e __tsan_init "$library"; then
  echo "1..0 # SKIP the interpreter has no run-time library of a sanitizer"
else
  KARST_LIBRARY=$library KARST_COMPARE=$builddir/tools/compare PYTHONPATH=$srcdir/python PYTHONDONTWRITEBYTECODE=1
  export KARST_LIBRARY KARST_COMPARE PYTHONPATH PYTHONDONTWRITEBYTECODE
  exec "$PYTHON" -X faulthandler "$@"
fi
