"""Results of tests as TAP, and what several tests of pykarst need.

A test program imports this first: it skips the program where NumPy or SciPy is absent.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
import traceback
from typing import Any, Callable

_number = 0


def ok(condition: Any, name: str) -> bool:
    """Prints a result."""
    global _number
    _number += 1
    print(f"{'ok' if condition else 'not ok'} {_number} - {name}", flush=True)
    return bool(condition)


def note(text: str) -> None:
    """Prints a comment of one or several lines."""
    print("".join(f"# {line}\n" for line in text.splitlines()), end="", flush=True)


def same(found: Any, expected: Any, name: str) -> None:
    """Checks that a value is the one expected."""
    if not ok(found == expected, name):
        note(f"found:    {found!r}\nexpected: {expected!r}")


def raises(kind: type[BaseException], sentence: str, call: Callable[[], Any], name: str) -> Any:
    """Checks that a call raises an exception of this class, whose text has the sentence."""
    try:
        found = f"no exception, but {call()!r}"
    except BaseException as exception:
        if ok(type(exception) is kind and sentence in str(exception), name):
            return exception
        found = "".join(traceback.format_exception_only(type(exception), exception))
    else:
        ok(False, name)
    note(f"found:    {found.strip()}\nexpected: {kind.__name__}: {sentence}")
    return None


def group(function: Callable[[], None]) -> None:
    """Runs a function of several checks; an exception that leaves it is a failure."""
    try:
        function()
    except Exception:
        ok(False, f"{function.__name__} ends without an exception")
        note(traceback.format_exc())


def skip(name: str, why: str) -> None:
    """Prints the result of a check that cannot run here."""
    global _number
    _number += 1
    print(f"ok {_number} - {name} # SKIP {why}", flush=True)


def skip_all(why: str) -> None:
    """Ends a program that cannot run here."""
    print(f"1..0 # SKIP {why}")
    sys.exit()


def no_batches() -> str | None:
    """Why karst-compare does not run here; None: it does."""
    command = os.environ.get("KARST_COMPARE", "")
    if not os.path.exists(command):
        return "no command compare"
    about = subprocess.run([command, "--help"], stdout=subprocess.PIPE).stdout
    return "built without jansson" if b"needs jansson" in about else None


def done_testing() -> None:
    """Ends the results."""
    print(f"1..{_number}", flush=True)


try:
    import numpy as np
    import scipy.sparse as sp
except ImportError as error:
    skip_all(f"no {error.name} for {os.path.basename(sys.executable)}")


def random_numbers() -> np.random.Generator:
    """Random numbers from a seed that is printed; KARST_SEED=N repeats a run."""
    seed = int(os.environ.get("KARST_SEED") or time.time_ns() % 1000000)
    note(f"KARST_SEED={seed}")
    return np.random.default_rng(seed)


def random_system(random: np.random.Generator, n: int) -> tuple[Any, Any]:
    """A, a CSR matrix that is diagonally dominant, with sorted indices, and b.

    The condition number is below 10, so that errors of x are near those of the residual.
    """
    pattern = random.random((n, n)) < 4 / n
    dense = np.where(pattern, random.uniform(-1, 1, (n, n)), 0.0)
    np.fill_diagonal(dense, 1.3 * np.abs(dense).sum(axis=1) + 1)
    return sp.csr_matrix(dense), random.uniform(-1, 1, n)


def distance(x: Any, y: Any) -> float:
    """The largest difference of two arrays, relative to the largest element; inf for a NaN."""
    x, y = np.asarray(x), np.asarray(y)
    if x.shape != y.shape or not np.isfinite(x).all():
        return float("inf")
    return float(np.abs(x - y).max() / np.abs(y).max())
