"""What a solver chose, made and reached."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Iterator, Sequence

import numpy as np

from . import plot
from .library import Info, Value, karst, text
from .options import option

if TYPE_CHECKING:
    from .solver import Solver


class Report(Mapping[str, Any]):
    """The values of a solver by their names, as they were when it was asked for.

    Names are those of the command karst-solve: the options that were chosen; rows, block_size,
    device, threads; memory and factor_entries (bytes, scalars); time_order, time_symbolic,
    time_factor, time_transfer, time_solve (seconds); reason, iterations, residual,
    relative_residual of the last solve; and what the methods report, see ``units``.

    Attributes
    ----------
    units : dict
        The unit of each number that has one.
    """

    def __init__(self, solver: Solver) -> None:
        self.units: dict[str, str] = {}
        self._values = values = _chosen(solver)
        self._add_info(solver)
        self._add_methods(solver)
        if solver.results:
            result = solver.result
            values["converged"] = result.converged
            values["reason"] = result.reason.name.lower()
            for name in ("iterations", "residual", "relative_residual", "block_row", "explanation"):
                values[name] = getattr(result, name)
        self.history = solver.history
        self._curves = _curves(solver, self.history)
        self._pattern = solver._pattern

    def _add_info(self, solver: Solver) -> None:
        info = Info()
        solver._check(karst.solver_get_info(solver._handle, info))
        for name in (field[0] for field in Info._fields_):
            self._values[name] = getattr(info, name)
            if name.startswith("time"):
                self.units[name] = "s"
        self.units["memory"] = "bytes"

    def _add_methods(self, solver: Solver) -> None:
        value, i = Value(), 0
        while karst.solver_report(solver._handle, i, ctypes.byref(value)):
            name = text(value.name)
            self._values[name] = value.number if value.text is None else text(value.text)
            if value.unit:
                self.units[name] = text(value.unit)
            i += 1

    def plot(self, axes: Sequence[Any] | None = None) -> Any:
        """Draws the convergence of the last solve, and the pattern of the matrix.

        Residual norms are those of ``Solver.history``, with a line for the target,
        max(rtol |b|, atol), where the two have the same norm. A ring is |b - A x|, computed at
        the end. The pattern is that of A as it was passed, a pixel for each block, or the share
        of blocks that are stored where there are more than 400 block rows.

        Parameters
        ----------
        axes : pair of matplotlib Axes, optional
            For the convergence and the pattern; None leaves one out. Default: a new figure.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        ImportError
            Where there is no matplotlib.
        """
        title = f"{self.get('solver_used', self['solver'])} with {self['precond']}"
        if "auto_choice" in self:
            choice = self["auto_choice"].replace(" --ordering natural", "")
            title += f" ({choice.replace('--precond ', '').replace('--', '')})"
        if "iterations" in self:
            title += f": {self['iterations']} iterations"
        return plot.draw(self._curves, self._pattern, title, axes)

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        width = max(map(len, self._values))
        lines = (
            f"{name:{width}}  {value} {self.units.get(name, '')}".rstrip()
            for name, value in self._values.items()
        )
        return "\n".join(lines)


def _chosen(solver: Solver) -> dict[str, Any]:
    context, matrix = solver._context, solver._matrix
    values: dict[str, Any] = {
        "rows": matrix.rows,
        "block_size": matrix.pattern.block,
        "device": text(karst.context_device(context.address)),
        "threads": karst.context_threads(context.address),
    }
    for name in ("solver", "precond", "ordering"):
        values[name] = option(context, solver._options, name)
    return values


def _curves(solver: Solver, history: Any) -> list[plot.Curve]:
    """The convergence for each right-hand side of the last solve."""
    results = solver.results
    lengths = [result.iterations + 1 for result in results]
    if sum(lengths) != len(history):  # one has failed before its start, or there is no history
        results = results[-1:]
        lengths = [len(history)] * len(results)
    parts = np.split(history, np.cumsum(lengths)[:-1])
    return [
        plot.Curve(part, _target(solver, result), result.residual, result.iterations)
        for part, result in zip(parts, results)
    ]


def _target(solver: Solver, result: Any) -> float | None:
    """max(rtol |b|, atol), if the method iterates with the norm of b - A x."""
    context, options = solver._context, solver._options
    settings = (option(context, options, name) for name in ("norm", "scale", "side"))
    if tuple(settings) != ("true", "none", "right"):
        return None
    rtol, atol, _ = solver._tolerances
    b = result.residual / result.relative_residual if result.relative_residual else 0.0
    return float(max(rtol * b, atol))
