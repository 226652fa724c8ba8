"""The notebook doc/tour.ipynb is committed without outputs, and its code runs, without a warning of
Karst or SciPy.

The cells run in plain Python: what Jupyter does with the last value of a cell is left out.
"""

import json
import os
import traceback
import warnings

from tap import done_testing, no_batches, note, ok, skip_all

import pykarst
import scipy

try:
    import matplotlib
except ImportError:
    skip_all("no matplotlib")
if no_batches():
    skip_all(no_batches())
if tuple(map(int, scipy.__version__.split(".")[:2])) < (1, 12):
    skip_all("SciPy before 1.12, whose gmres has no rtol")
matplotlib.use("agg")

here = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(here, "..", "..", "doc", "tour.ipynb"), encoding="utf-8") as file:
    cells = json.load(file)["cells"]
names = [cell["id"] for cell in cells]
ok(len(set(names)) == len(names) and all(name.islower() for name in names), "cells have names")
code = [cell for cell in cells if cell["cell_type"] == "code"]
ok(not any(cell["outputs"] or cell["execution_count"] for cell in code), "there is no output")
for own in (pykarst.KarstWarning, scipy.sparse.SparseEfficiencyWarning):
    warnings.simplefilter("error", own)
shared = {"__name__": "tour"}
for cell in code:
    try:
        with warnings.catch_warnings():
            exec(compile("".join(cell["source"]), cell["id"], "exec"), shared)
        ok(True, f"{cell['id']} runs")
    except Exception:
        ok(False, f"{cell['id']} runs")
        note(traceback.format_exc())
        break
done_testing()
