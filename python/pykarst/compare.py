"""Batches: many matrices and settings, each case in a process of its own, by karst-compare."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from typing import Any

import numpy as np

from .arrays import kind_of
from .errors import KarstError
from .library import karst
from .matrices import is_matrix
from .matrix import Matrix


def compare(matrices: Any, **settings: Any) -> list[dict[str, Any]]:
    """Solves each matrix with each combination of settings.

    Parameters
    ----------
    matrices : list, or dict of names and matrices
        Each is a file or a folder of files, a problem of the gallery such as
        "blackoil:20x20x5", a sparse matrix, or a pair of a sparse matrix and its right-hand side,
        as ``read`` and ``gallery`` return it. Where there is no right-hand side it is all ones.
        A single one needs no list.
    **settings
        Options of the library, and those of the command karst-compare (its manual page), by their
        names, each with one value or a list of values: precond=["iluk", "cpr"], level=range(3),
        block=[1, 3], threads=[1, 2], device=["cpu", "cuda"], repeat=5, time_limit=60,
        memory_limit="4G". cases=[{...}, ...] are products of their own. threads is the number of
        processors unless it is given. report="folder" writes a page with pictures. With
        results="file.jsonl" an interrupted batch of files and problems continues where it was.

    Returns
    -------
    rows : list of dict
        One for each case, for ``pandas.DataFrame(rows)``: matrix and the settings of the case;
        outcome ("converged", "not converged", "failed", "no device", "crashed", "out of time" or
        "out of memory"), explanation, a sentence; iterations, residual, relative_residual; rows,
        block_size, fill, memory (of the solver, bytes), peak_memory (of the process, bytes);
        time_setup, time_solve, time_total (seconds), and time_update and time_again, the medians
        of ``repeat``; speed_up against the case of ``baseline``; solver_used, auto_choice;
        history, up to 200 pairs of an iteration and its residual norm. None where a case has no
        such value.

    Raises
    ------
    KarstError
        If the command refuses the settings, a file or the plan, with its sentence. A case that
        fails is a row.
    FileNotFoundError
        If there is no karst-compare. It is in the wheel, or on the path, or named by the
        environment variable KARST_COMPARE, with karst-solve beside it.

    Examples
    --------
    >>> import pykarst
    >>> rows = pykarst.compare("poisson2d:30x30", precond="iluk", level=[0, 1], threads=1)
    >>> [(row["level"], row["outcome"]) for row in rows]
    [(0, 'converged'), (1, 'converged')]
    """
    command = _command()
    if isinstance(matrices, (str, os.PathLike, tuple)) or is_matrix(matrices):
        matrices = [matrices]
    if not isinstance(matrices, Mapping):
        matrices = {_name(i, matrix): matrix for i, matrix in enumerate(matrices)}
    with tempfile.TemporaryDirectory(prefix="pykarst-") as folder:
        names: dict[str, str] = {}  # of the matrices by what the command is given for them
        for name, matrix in matrices.items():
            names[_place(folder, len(names), matrix)] = name
        table = os.path.join(folder, "table.json")
        plan: dict[str, Any] = {
            "matrices": list(names),
            "results": os.path.join(folder, "results.jsonl"),
        }
        given = {name: value for name, value in settings.items() if value is not None}
        plan.update(_plain("", given))
        path = os.path.join(folder, "plan.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(plan, file)
        _run([command, "--plan", path, "--json", table, "--quiet"], path)
        with open(table, encoding="utf-8") as file:
            found = json.load(file)["results"]
        # The table has no long histories.
        with open(plan["results"], encoding="utf-8") as file:
            histories = {one["key"]: one["history"] for one in map(json.loads, file)}
        return [_row(one, names, histories.get(one.get("key"), [])) for one in found]


def _command() -> str:
    beside = os.path.join(os.path.dirname(__file__), "bin", "karst-compare")
    named = os.environ.get("KARST_COMPARE")
    found = shutil.which(named or beside) or (None if named else shutil.which("karst-compare"))
    if found is None:
        raise FileNotFoundError(
            f"compare needs the command karst-compare, and {named or 'the path'} has none: install "
            "Karst or a wheel of pykarst, or let the environment variable KARST_COMPARE name it"
        )
    return found


def _name(i: int, matrix: Any) -> str:
    return os.fspath(matrix) if isinstance(matrix, (str, os.PathLike)) else f"matrices[{i}]"


def _place(folder: str, i: int, matrix: Any) -> str:
    """What the command is given for a matrix: a name, or a new file of it."""
    if isinstance(matrix, (str, os.PathLike)):
        return os.fspath(matrix)
    A, b = matrix if isinstance(matrix, tuple) else (matrix, None)
    path = os.path.join(folder, f"{i}.kbsr")
    held = Matrix(A, None, None, None)
    context = held.context
    context.check(karst.matrix_write(held.handle, path.encode()))
    if b is not None:
        b = np.ascontiguousarray(kind_of(b).host(b), np.float64).reshape(-1)
        if b.size != held.rows:
            raise ValueError(f"b has {b.size} elements, and A has the shape {2 * (held.rows,)}")
        vector = context.make("vector_create", context.address, b.size)
        context.check(karst.vector_set(vector, b.size, b.ctypes.data))
        context.check(karst.vector_write(vector, os.path.join(folder, f"{i}_b.mtx").encode()))
    context.close()
    return path


def _plain(name: str, value: Any) -> Any:
    """A setting in the terms of JSON."""
    if isinstance(value, Mapping):
        return {key.replace("__", "."): _plain(key, one) for key, one in value.items()}
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, np.generic):
        return value.item()
    if name == "grid" and isinstance(value, tuple):
        return "x".join(map(str, value))
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    return [_plain(name, one) for one in value]


def _run(command: list[str], plan: str) -> None:
    """Runs the command to its end. Ctrl-C ends it, and the case that it runs."""
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        try:
            errors = process.communicate()[1].decode("utf-8", "surrogateescape")
        except BaseException:
            process.terminate()
            raise
    if process.returncode:
        lines = errors.strip().splitlines() or [f"it ended with status {process.returncode}"]
        sentence = re.sub("^(karst-)?compare: ", "", lines[-1]).replace(f"{plan}: ", "", 1)
        raise KarstError(f"karst-compare: {sentence}")


def _row(found: dict[str, Any], names: dict[str, str], history: list[Any]) -> dict[str, Any]:
    """A row of the command's table in names of Python."""
    case, solve = found["case"], found["solve"] or {}
    times, again = solve.get("times") or {}, solve.get("repeat") or {}
    given = case["matrix"]
    row = {"matrix": names.get(given, given), "device": case["device"]}
    row["threads"] = solve.get("threads", case["threads"])
    for name, value in case["options"].items():
        row[name.replace("-", "_").replace(".", "__")] = _number(value)
    row["outcome"] = found["outcome"]
    row["explanation"] = found["sentence"].replace(given, row["matrix"])
    for name in ("iterations", "residual", "relative_residual", "rows"):
        row[name] = solve.get(name)
    row["block_size"] = solve.get("block", case["block"])
    for name in ("fill", "memory"):
        row[name] = solve.get(name)
    row["peak_memory"] = found["peak_memory"]
    row.update(time_setup=found["time_setup"], time_solve=times.get("solve"))
    row.update(time_total=found["time_total"], speed_up=found["speed_up"])
    row.update(time_update=again.get("factor"), time_again=again.get("solve"))
    for name in ("solver_used", "auto_choice"):
        row[name] = solve.get(name)
    row["history"] = [(iteration, residual) for iteration, residual in history]
    return row


def _number(text: Any) -> Any:
    """An option's value: a number where its text is one."""
    for kind in (int, float):
        try:
            return kind(text)
        except (TypeError, ValueError):
            pass
    return text
