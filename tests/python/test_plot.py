"""Report.plot draws the residual norms with their target, and every block of the pattern."""

import sys

from tap import done_testing, group, np, ok, raises, random_numbers, same, skip_all, sp
import pykarst
from pykarst import plot

try:
    import matplotlib
except ImportError:
    skip_all("no matplotlib")
matplotlib.use("agg")
from matplotlib import pyplot as plt  # noqa: E402
from scipy.sparse.linalg import aslinearoperator  # noqa: E402

random = random_numbers()
A, b = pykarst.gallery("blackoil:5x4x2")


def curves():
    with pykarst.Solver(A, rtol=1e-6, atol=1e-20) as solver:
        early = solver.report
        x = solver.solve(b)
        report = solver.report
        history, residual = solver.history, np.linalg.norm(b - A @ x)
    figure = report.plot()
    ax, pattern = figure.axes[:2]
    line, end, target = ax.lines
    same(list(line.get_ydata()), list(history), "the line has the history")
    same(list(end.get_xdata()), [len(history) - 1], "the ring is at the last iteration")
    ok(abs(end.get_ydata()[0] / residual - 1) < 1e-6, "and has the residual of x")
    ok(abs(target.get_ydata()[0] / np.linalg.norm(b) / 1e-6 - 1) < 1e-12, "the target is rtol |b|")
    same(ax.get_yscale(), "log", "the axis is logarithmic")
    ok(f"{len(history) - 1} iterations" in ax.get_title(), "the title has the iterations")
    same(pattern.get_title(), f"40 block rows, {A.indptr[-1]} blocks of 3 by 3", "and the blocks")
    figure.canvas.draw()
    same(len(early.plot().axes[0].lines), 0, "before a solve there is no line")
    figure, axes = plt.subplots()
    ok(report.plot((axes, None)) is figure and len(axes.lines) == 3, "axes may be the caller's")
    raises(ValueError, "a pair", lambda: report.plot((axes,)), "they have to be a pair")
    raises(ValueError, "a pair", lambda: report.plot((None, None)), "of which one is there")
    plt.close("all")


def columns():
    several = np.stack([b, 1e3 * b + 1], axis=1)
    with pykarst.Solver(A) as solver:
        solver.solve(several)
        lines = solver.report.plot().axes[0].lines
        same(len(lines), 6, "each column has three lines")
        first = [lines[0].get_ydata()[0], lines[3].get_ydata()[0]]
        ok(np.allclose(first, np.linalg.norm(several, axis=0), rtol=1e-12), "which begin at |b|")
    with pykarst.Solver(A, history=False) as solver:
        solver.solve(b)
        same(len(solver.report.plot().axes[0].lines), 0, "without a history there is no line")
    plt.close("all")


def norms():
    """The method iterates with another norm than the target's."""
    S, right = pykarst.gallery("poisson2d:9x9")
    for options in (
        {"scale": "block"},
        {"solver": "gmres", "side": "left"},
        {"solver": "cg", "norm": "preconditioned"},
    ):
        with pykarst.Solver(S, **options) as solver:
            solver.solve(right)
            same(len(solver.report.plot().axes[0].lines), 2, f"no target with {options}")
    with pykarst.Solver(aslinearoperator(S)) as solver:
        solver.solve(right)
        ax = solver.report.plot().axes[1]
        same([text.get_text() for text in ax.texts], ["an operator has no pattern"], "no pattern")
    plt.close("all")


def patterns():
    for rows, most in ((1, 4), (7, 10), (10, 10), (11, 10), (97, 10), (100, 9)):
        dense = random.random((rows, rows)) < 0.1
        made = sp.csr_matrix(dense)
        share, wide = plot.raster(plot.Pattern(made.indptr, made.indices, 1), most)
        expected = [
            [dense[i : i + wide, j : j + wide].mean() for j in range(0, rows, wide)]
            for i in range(0, rows, wide)
        ]
        ok(
            len(share) <= most and np.allclose(share, expected, rtol=1e-12),
            f"{rows} rows in at most {most} cells have the shares of a dense matrix",
        )
    large = sp.eye(1000, format="csr")
    with pykarst.Solver(large) as solver:
        figure = solver.report.plot()
        same(len(figure.axes), 3, "a large pattern has a scale of colours")
        figure.canvas.draw()
    plt.close("all")


def absent():
    kept = {
        name: sys.modules.pop(name) for name in list(sys.modules) if name.startswith("matplotlib")
    }
    sys.modules["matplotlib"] = None
    with pykarst.Solver(A) as solver:
        report = solver.report
    raises(ImportError, "pip install pykarst[plot]", report.plot, "a sentence without matplotlib")
    sys.modules.update(kept)


for checks in (curves, columns, norms, patterns, absent):
    group(checks)
done_testing()
