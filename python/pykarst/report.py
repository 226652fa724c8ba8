"""What a solver chose, made and reached."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Iterator

from .library import Info, Value, karst, text

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

    def _add_info(self, solver: Solver) -> None:
        info = Info()
        solver.run(karst.solver_get_info(solver._handle, info))
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
        values[name] = context.option(solver._options, name)
    return values
