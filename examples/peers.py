"""Karst beside SciPy, PyAMG and pyamgcl: the same systems to the same true residual.

    python3 peers.py poisson3d:60x60x60 norne.kbsr.xz

prints a table for each problem of the gallery or file. Each way to solve runs in processes of its
own, with one thread. Seconds are those of the processor, the median of three processes; memory is
what the peak of the resident set grew by from before the set-up. The residual is |b - A x| / |b| by
NumPy. Above 1e-8 the way runs again with a tenth of its tolerance. Ways whose library is absent are
left out.
"""

from __future__ import annotations

import inspect
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

TARGET, TIMES, SECONDS, GIGABYTES = 1e-8, 3, 120, 8

# ---- the ways ----
#
# A generator has three steps: imports, set-up, solve. Its lines without the bare yields are those
# of the table. A is CSR, or BSR with the blocks of its cells; count is called in each iteration.


def scipy_splu(A, b, rtol, count):
    from scipy.sparse.linalg import splu

    yield
    factors = splu(A.tocsc())
    yield
    yield factors.solve(b)


def scipy_spilu_gmres(A, b, rtol, count):
    from scipy.sparse.linalg import LinearOperator, gmres, spilu

    yield
    factors = spilu(A.tocsc())
    yield
    M = LinearOperator(A.shape, factors.solve)
    yield gmres(A, b, M=M, rtol=rtol, maxiter=50, callback=count, callback_type="pr_norm")[0]


def scipy_spilu_bicgstab(A, b, rtol, count):
    from scipy.sparse.linalg import LinearOperator, bicgstab, spilu

    yield
    factors = spilu(A.tocsc(), drop_tol=1e-2, fill_factor=5, permc_spec="MMD_AT_PLUS_A")
    yield
    M = LinearOperator(A.shape, factors.solve)
    yield bicgstab(A, b, M=M, rtol=rtol, maxiter=1000, callback=count)[0]


def pyamg_aggregation(A, b, rtol, count):
    from pyamg import smoothed_aggregation_solver

    symmetry, accel = ("hermitian", "cg") if A.format == "csr" else ("nonsymmetric", "gmres")
    yield
    levels = smoothed_aggregation_solver(A, symmetry=symmetry)
    yield
    yield levels.solve(b, tol=rtol, maxiter=100, accel=accel, callback=count)


def pyamg_blackbox(A, b, rtol, count):
    from pyamg import blackbox

    accel = "cg" if A.format == "csr" else "gmres"
    yield
    levels = blackbox.solver(A, blackbox.solver_configuration(A, verb=False))
    yield
    yield levels.solve(b, tol=rtol, maxiter=100, accel=accel, callback=count)


def pyamgcl_amg(A, b, rtol, count):
    import pyamgcl

    krylov = "cg" if A.format == "csr" else "bicgstab"
    yield
    solve = pyamgcl.solver(pyamgcl.amg(A), {"type": krylov, "tol": rtol, "maxiter": 500})
    yield
    yield solve(b), solve.iters


def pyamgcl_ilu0(A, b, rtol, count):
    import pyamgcl

    yield
    M = pyamgcl.relaxation(A, {"type": "ilu0"})
    solve = pyamgcl.solver(M, {"type": "bicgstab", "tol": rtol, "maxiter": 1000})
    yield
    yield solve(b), solve.iters


def pykarst_iluk(A, b, rtol, count):
    import pykarst

    yield
    solver = pykarst.Solver(A)
    yield
    yield solver.solve(b, rtol=rtol), solver.result.iterations


def pykarst_auto(A, b, rtol, count):
    import pykarst

    yield
    solver = pykarst.Solver(A, "auto")
    yield
    yield solver.solve(b, rtol=rtol), solver.result.iterations


def pykarst_amg_cg(A, b, rtol, count):
    import pykarst

    yield
    solver = pykarst.Solver(A, "amg", solver="cg")
    yield
    yield solver.solve(b, rtol=rtol), solver.result.iterations


def pykarst_cpr(A, b, rtol, count):
    import pykarst

    yield
    solver = pykarst.Solver(A, "cpr")
    yield
    yield solver.solve(b, rtol=rtol), solver.result.iterations


SCIPY = {
    "SciPy: splu, direct": scipy_splu,
    "SciPy: spilu, gmres": scipy_spilu_gmres,
    "SciPy: spilu with drop_tol 1e-2, bicgstab": scipy_spilu_bicgstab,
}
PYAMG = {
    "PyAMG: smoothed aggregation": pyamg_aggregation,
    "PyAMG: blackbox": pyamg_blackbox,
}
AMGCL = {"pyamgcl: amg": pyamgcl_amg, "pyamgcl: ilu0, bicgstab": pyamgcl_ilu0}
KARST = {"pykarst: the default, iluk": pykarst_iluk, "pykarst: auto": pykarst_auto}
SCALAR = {**SCIPY, **PYAMG, **AMGCL, **KARST, "pykarst: amg, cg": pykarst_amg_cg}
BLOCKS = {**SCIPY, **PYAMG, **AMGCL, **KARST, "pykarst: cpr": pykarst_cpr}


# ---- one process ----


def peak():
    """The largest resident set so far, in MB. (That of getrusage begins with the parent's.)"""
    with open("/proc/self/status", encoding="ascii") as status:
        line = next(line for line in status if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024 / 1e6


def run(way, folder, rtol):
    """Prints what a way took, as JSON."""
    import numpy as np
    import scipy.sparse as sp

    resource.setrlimit(resource.RLIMIT_AS, (GIGABYTES << 30, GIGABYTES << 30))
    A, b = sp.load_npz(os.path.join(folder, "A.npz")), np.load(os.path.join(folder, "b.npy"))
    iterations = 0

    def count(_):
        nonlocal iterations
        iterations += 1

    steps = way(A, b, rtol, count)
    next(steps)
    before, clock = peak(), [time.process_time()]
    next(steps)
    clock.append(time.process_time())
    x = next(steps)
    clock.append(time.process_time())
    memory = peak() - before
    if isinstance(x, tuple):
        x, iterations = x
    figures = {"setup": clock[1] - clock[0], "solve": clock[2] - clock[1], "iterations": iterations}
    figures.update(memory=memory, residual=float(np.linalg.norm(b - A @ x) / np.linalg.norm(b)))
    print(json.dumps(figures))


# ---- all of them ----


def measure(name, folder, rtol):
    """What one process of a way prints, or a sentence on why it prints nothing."""
    command = [sys.executable, os.path.abspath(__file__), "--run", name, folder, repr(rtol)]
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=SECONDS, env={**os.environ, **one}
        )
    except subprocess.TimeoutExpired:
        return f"no result in {SECONDS} s"
    if done.returncode == 0:
        return json.loads(done.stdout.splitlines()[-1])
    last = (done.stderr.strip().splitlines() or ["it crashed"])[-1]
    return f"more than {GIGABYTES} GB" if "MemoryError" in last else last[:120]


def solve(name, folder):
    """The figures of a way that reaches the target, or a sentence."""
    rtol = TARGET
    while True:
        figures = measure(name, folder, rtol)
        if isinstance(figures, str):
            return figures
        if figures["residual"] <= TARGET:
            break
        if not figures["residual"] <= 1e4 * TARGET or rtol < 1e-3 * TARGET:
            return f"{figures['iterations']} iterations, to {figures['residual']:.1e}"
        rtol /= 10
    all_figures = [figures] + [measure(name, folder, rtol) for _ in range(TIMES - 1)]
    sentence = next((one for one in all_figures if isinstance(one, str)), None)
    if sentence is not None:
        return sentence
    return {key: statistics.median(one[key] for one in all_figures) for key in figures}


def lines_of(way):
    """The lines of code of a way."""
    lines = (line.strip() for line in inspect.getsource(way).splitlines()[1:])
    return sum(1 for line in lines if line not in ("", "yield"))


def table(problem):
    """Prints the table of a problem."""
    import numpy as np
    import scipy.sparse as sp

    import pykarst

    A, b = pykarst.read(problem) if os.path.exists(problem) else pykarst.gallery(problem)
    ways = SCALAR if A.format == "csr" else BLOCKS
    name, load = os.path.basename(problem), os.getloadavg()[0]
    blocks = "" if A.format == "csr" else f", blocks of {A.blocksize[0]}"
    print(f"\n{name}: {A.shape[0]} rows, {A.nnz} entries{blocks}; load {load:.1f}\n")
    print("| way | lines | set-up, s | solve, s | iterations | residual | memory, MB |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        sp.save_npz(os.path.join(folder, "A.npz"), A, compressed=False)
        np.save(os.path.join(folder, "b.npy"), np.ones(A.shape[0]) if b is None else b)
        for name, way in ways.items():
            found = solve(name, folder)
            if isinstance(found, str):
                if "No module named" not in found:
                    print(f"| {name} | {lines_of(way)} | {found} | | | | |", flush=True)
                continue
            row = "{setup:.2f} | {solve:.2f} | {iterations:.0f} | {residual:.1e} | {memory:.0f}"
            print(f"| {name} | {lines_of(way)} | {row.format(**found)} |", flush=True)


def main():
    if sys.argv[1:2] == ["--run"]:
        name, folder, rtol = sys.argv[2:]
        run({**SCALAR, **BLOCKS}[name], folder, float(rtol))
    elif len(sys.argv) > 1:
        for problem in sys.argv[1:]:
            table(problem)
    else:
        print(__doc__)


if __name__ == "__main__":
    main()
