"""Public names have docstrings whose examples run, and their users pass mypy --strict."""

import doctest
import importlib
import inspect
import os
import pkgutil
import subprocess
import sys
import tempfile

from tap import done_testing, group, no_batches, note, ok, same, skip
import pykarst

PROGRAM = """\
from __future__ import annotations

import numpy as np
import scipy.sparse as sp

import pykarst


def step(solver: pykarst.Solver, residual: np.ndarray) -> float:
    x = solver.solve(residual, callback=lambda iteration, norm: pykarst.Decision.GO_ON)
    return float(np.abs(x).max()) + solver.result.residual


A, b = pykarst.gallery("poisson2d:10x10")
x, info = pykarst.solve(A, b, "iluk", rtol=1e-6, level=1)
print(info == 0, info.iterations, info.reason.name)
with pykarst.Solver(A, threads=2) as solver:
    print(step(solver, b), solver.report["precond"], solver.history[0])
try:
    pykarst.solve(A, b, max_iterations=1)
except pykarst.NotConverged as failure:
    print(failure.x, failure.result.explanation)
"""


def modules():
    for _, name, _ in pkgutil.iter_modules(pykarst.__path__):
        yield importlib.import_module(f"pykarst.{name}")


def docstrings():
    same(sorted(set(pykarst.__all__)), sorted(pykarst.__all__), "__all__ names nothing twice")
    lacking = [m.__name__ for m in modules() if not m.__doc__]
    for name in pykarst.__all__:
        public = getattr(pykarst, name)
        if not callable(public):
            continue
        if not public.__doc__:
            lacking.append(name)
        if inspect.isclass(public) and public.__module__.startswith("pykarst"):
            lacking += [
                f"{name}.{part}"
                for part, value in vars(public).items()
                if part[0] != "_"
                and (callable(value) or isinstance(value, property))
                and not inspect.getdoc(value)
            ]
    same(lacking, [], "every module and public name has a docstring")


def examples():
    tried = 0
    for module in [pykarst, *modules()]:
        if module.__name__ == "pykarst.compare" and no_batches():
            continue
        failed, count = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
        tried += count
        if failed:
            ok(False, f"the examples of {module.__name__} run")
    ok(tried > 10, f"{tried} examples of the docstrings run")


def types():
    name = "a program and the package pass mypy --strict"
    if importlib.util.find_spec("mypy") is None:
        skip(name, "no mypy")
        return
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "program.py")
        with open(program, "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        package = os.path.dirname(pykarst.__file__)
        command = [
            sys.executable,
            "-m",
            "mypy",
            "--strict",
            "--ignore-missing-imports",
            "--cache-dir",
            folder,
        ]
        run = subprocess.run(
            [*command, program, package], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        if not ok(run.returncode == 0, name):
            note(run.stdout.decode())


for checks in (docstrings, examples, types):
    group(checks)
done_testing()
