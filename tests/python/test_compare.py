"""pykarst.compare returns a row for each case, whether it solved or failed, and the command's
sentence where it refuses all of them. Rows agree with a Solver of the same settings."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

from tap import done_testing, group, no_batches, np, ok, raises, same, skip, skip_all, sp
import pykarst

if no_batches():
    skip_all(no_batches())
command = os.environ["KARST_COMPARE"]
A, b = pykarst.gallery("blackoil:6x5x2")


def products():
    rows = pykarst.compare(
        "blackoil:6x5x2", precond=["iluk", "jacobi"], level=np.arange(2), threads=1
    )
    chosen = [(row["precond"], row.get("level")) for row in rows]
    same(
        chosen,
        [("iluk", 0), ("iluk", 1), ("jacobi", None)],
        "each combination that differs is a row",
    )
    for row in rows:
        with pykarst.Solver(A, row["precond"], level=row.get("level"), threads=1) as solver:
            solver.solve(b)
            result, report, history = solver.result, solver.report, list(enumerate(solver.history))
        name = f"{row['precond']}, level {row.get('level')}"
        same(
            (row["outcome"], row["iterations"]),
            ("converged", result.iterations),
            f"{name}: iterations",
        )
        same((row["residual"], row["history"]), (result.residual, history), f"{name}: bits")
        same(
            (row["rows"], row["block_size"], row["memory"]),
            (180, 3, report["memory"]),
            f"{name}: sizes",
        )
        same(
            (row["matrix"], row["device"], row["threads"]),
            ("blackoil:6x5x2", "cpu", 1),
            f"{name}: case",
        )
        ok(0 < row["time_solve"] < row["time_total"] and row["time_setup"] > 0, f"{name}: times")
        ok(row["peak_memory"] > row["memory"] and row["time_update"] is None, f"{name}: memory")


def matrices():
    scalar = A.tocsr()
    rows = pykarst.compare([A, (A, b), (scalar, b), "poisson2d:9x9"], precond="iluk", threads=1)
    same(
        [row["matrix"] for row in rows],
        ["matrices[0]", "matrices[1]", "matrices[2]", "poisson2d:9x9"],
        "names",
    )
    same([row["block_size"] for row in rows], [3, 3, 1, 1], "blocks of BSR arrays are blocks")
    for row, (matrix, right) in zip(rows, [(A, np.ones(180)), (A, b), (scalar, b)]):
        history = row["history"]
        ok(
            abs(history[0][1] / np.linalg.norm(right) - 1) < 1e-14,
            f"{row['matrix']}: its right-hand side",
        )
        with pykarst.Solver(matrix, "iluk") as solver:
            solver.solve(right)
            same(
                history, list(enumerate(solver.history)), f"{row['matrix']}: the bits of its values"
            )
    rows = pykarst.compare({"mine": A, "other": sp.eye(4, format="csr")}, threads=1)
    same([row["matrix"] for row in rows], ["mine", "other"], "a dict names its matrices")
    same(len(pykarst.compare(A, threads=1)), 1, "a matrix needs no list")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "small.mtx")
        with open(path, "w", encoding="utf-8") as file:
            file.write("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 3\n2 2 5\n")
        row = pykarst.compare([path], threads=1)[0]
        same((row["matrix"], row["rows"]), (path, 2), "a file keeps its name")


def settings():
    rows = pykarst.compare(
        A,
        cases=[{"precond": "cpr", "first__amg_cycle": ["v", "w"]}, {"precond": "jacobi"}],
        threads=1,
    )
    cycles = [(row["precond"], row.get("first__amg_cycle")) for row in rows]
    same(cycles, [("cpr", "v"), ("cpr", "w"), ("jacobi", None)], "cases are products of their own")
    row = pykarst.compare(A, max_iterations=2, rtol=[1e-13], precond="jacobi", threads=1)[0]
    same((row["outcome"], row["iterations"]), ("not converged", 2), "options have underscores")
    same((row["max_iterations"], row["rtol"]), (2, 1e-13), "and their values are numbers")
    row = pykarst.compare(A, repeat=2, precond="auto", grid=(6, 5, 2), threads=1)[0]
    ok(row["time_update"] > 0 and row["time_again"] > 0, "repeat measures updates")
    rows = pykarst.compare(A, precond=["iluk", "jacobi"], baseline="precond=iluk", threads=1)
    times = [row["time_total"] for row in rows]
    same(
        [row["speed_up"] for row in rows],
        [1.0, times[0] / times[1]],
        "baseline names the case to compare with",
    )
    ok(row["auto_choice"].startswith("--precond"), "auto says what it chose")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "all.jsonl")
        first = pykarst.compare("poisson2d:9x9", results=path, threads=1)
        same(
            pykarst.compare("poisson2d:9x9", results=path, threads=1),
            first,
            "results are not run again",
        )


def failures():
    hollow = sp.csr_matrix(np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 2.0], [0.0, 3.0, 1.0]]))
    hollow.eliminate_zeros()
    rows = pykarst.compare([hollow, "poisson2d:4x4"], precond="iluk", threads=1)
    same([row["outcome"] for row in rows], ["failed", "converged"], "a case that fails is a row")
    ok("matrices[0]: block row 0 has no diagonal" in rows[0]["explanation"], "which says why")
    same((rows[0]["iterations"], rows[0]["history"]), (None, []), "and has no figures")
    if pykarst.show_config("dicts")["GPUs"] == 0:
        row = pykarst.compare("poisson2d:4x4", device="cuda")[0]
        same(row["outcome"], "no device", "a missing device is an outcome")
    else:
        skip("a missing device is an outcome", "there is one")
    row = pykarst.compare("poisson3d:90x90x90", precond="jacobi", time_limit=0.01, threads=1)[0]
    same(row["outcome"], "out of time", "so is a limit of time")


def refusals():
    error = pykarst.KarstError
    raises(
        error,
        'karst-compare: precond "nonsense" is unknown',
        lambda: pykarst.compare(A, precond="nonsense"),
        "method",
    )
    raises(error, '"nonsense" is unknown', lambda: pykarst.compare(A, nonsense=1), "option")
    raises(error, "no file named 'nofile'", lambda: pykarst.compare("nofile"), "file")
    raises(error, "takes an array of objects", lambda: pykarst.compare(A, cases=3), "cases")
    raises(ValueError, "b has 3 elements", lambda: pykarst.compare((A, b[:3])), "right-hand side")
    raises(TypeError, "complex", lambda: pykarst.compare([1j * A]), "complex values")
    os.environ["KARST_COMPARE"] = "/nowhere/compare"
    raises(FileNotFoundError, "/nowhere/compare has none", lambda: pykarst.compare(A), "no command")
    os.environ["KARST_COMPARE"] = command


def interruption():
    """In a process of its own, because the signal is for the main thread."""
    program = (
        "import signal, pykarst\n"
        # A program in the background of a shell ignores SIGINT.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "pykarst.compare('poisson3d:120x120x120', precond='jacobi', rtol=1e-14)"
    )
    process = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + 20
    while not _children(process.pid) and process.poll() is None and time.monotonic() < end:
        time.sleep(0.05)
    children = _children(process.pid)
    time.sleep(0.2)  # until the parent waits
    process.send_signal(signal.SIGINT)
    watch = threading.Timer(20, process.kill)
    watch.start()
    errors = process.communicate()[1]
    watch.cancel()
    ok(children and "KeyboardInterrupt" in errors, "Ctrl-C ends the batch")
    ok(not any(os.path.exists(f"/proc/{child}") for child in children), "and the command")


def _children(process):
    try:
        with open(f"/proc/{process}/task/{process}/children", encoding="ascii") as file:
            return file.read().split()
    except OSError:
        return []


for checks in (products, matrices, settings, failures, refusals, interruption):
    group(checks)
done_testing()
