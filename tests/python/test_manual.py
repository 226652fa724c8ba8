"""The Python code of the README and the manual runs as it stands, and without a warning.

Its one argument is the folder with both texts, by default that of the sources.
"""

import os
import re
import sys
import tempfile
import traceback
import warnings

from tap import done_testing, no_batches, note, ok, skip
import pykarst
from scipy.sparse import SparseEfficiencyWarning

OPTIONAL = ("cupy", "matplotlib")


def run(number, code, names):
    """Runs a block after those before it, whose names it uses."""
    name = f"block {number} runs"
    if "cupy" in code and pykarst.show_config("dicts")["GPUs"] == 0:
        skip(name, "no GPU")
        return
    if "pykarst.compare" in code and no_batches():
        skip(name, no_batches())
        return
    compiled = compile(code, f"block {number}", "exec")
    try:
        exec(compiled, names)
    except ImportError as error:
        if any(f"'{library}" in str(error) for library in OPTIONAL):
            skip(name, str(error))
        else:
            ok(False, name)
            note(str(error))
    except Exception:
        ok(False, name)
        note(traceback.format_exc())
    else:
        ok(True, name)


sources = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
blocks = []
for text in ("README.md", "doc/manual.md"):
    with open(os.path.join((sys.argv[1:] or [sources])[0], text), encoding="utf-8") as file:
        blocks += re.findall(r"^```python\n(.*?)^```$", file.read(), re.MULTILINE | re.DOTALL)
ok(len(blocks) >= 9, "the texts have code in Python")
os.environ["MPLBACKEND"] = "agg"
for own in (pykarst.KarstWarning, SparseEfficiencyWarning):
    warnings.simplefilter("error", own)
shared = {}
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for number, code in enumerate(blocks, 1):
        run(number, code, shared)
    os.chdir("/")
done_testing()
