"""A matrix in a context of the library, which a solver or a preconditioner is set up for."""

from __future__ import annotations

from typing import Any

import numpy as np

from .arrays import NUMPY, Device, Numpy, kind_of
from .context import Context, whole
from .library import REFERENCE, karst, text
from .matrices import BlockRows, source


class Matrix:
    """A karst_matrix, and the context that it is in.

    Parameters
    ----------
    A : sparse matrix
    block : int or None
    device : str or None
        None: where A is.
    threads : int or None
    """

    def __init__(self, A: Any, block: int | None, device: str | None, threads: int | None) -> None:
        given = source(A)
        self.pattern = pattern = BlockRows(given, block)
        self.rows = pattern.rows
        device = device or pattern.kind.device
        values = pattern.place(given.data)
        stream = pattern.kind.stream(values) if device == pattern.kind.device else None
        if stream == 2:  # CUDA's stream of a thread, on which the library cannot queue its work
            stream = None
        self.context = context = Context(device, threads, stream)
        context.kept.append(pattern.kind.stream_object())
        self.device = "cuda:0" if device == "cuda" else device
        self.stream = karst.context_stream(context.address) or (0 if device != "cpu" else None)
        self._reference: Any = None  # values that the library reads in place
        self._callers: Any = None  # A, if the values are those of its array
        arrays = context.address, len(pattern.start) - 1, pattern.block
        addresses = NUMPY.address(pattern.start), NUMPY.address(pattern.column)
        if pattern.in_place and self.device == "cpu":
            self._reference = values
            place = pattern.kind.address(values)
            callers = getattr(A, "data", None)
            if isinstance(callers, np.ndarray) and callers.flags.c_contiguous:
                self._callers = A if NUMPY.address(callers) == place else None
            self.handle = context.make("matrix_create", *arrays, *addresses, place, REFERENCE)
        else:
            self.handle = context.make("matrix_create_pattern", *arrays, *addresses, REFERENCE)
            self._store(values)

    def _store(self, values: Any) -> None:
        """Writes values where the library keeps them."""
        kind = kind_of(values)
        self.check_device(kind, "values")
        if kind.device == self.device and not isinstance(kind, Device):
            self.wait_for_caller(kind, values)
            kind.view(karst.matrix_values(self.handle), tuple(values.shape))[...] = values
            self.wait_for_caller(kind, values)
            self.context.check(karst.matrix_values_changed(self.handle))
            return
        self.wait_for_caller(kind, values)
        place = kind.address(kind.double(values, "values"))
        self.context.check(karst.matrix_update_values(self.handle, place))

    def update(self, values: Any) -> None:
        """Takes new values; None: those in the arrays of A, which have changed."""
        if values is None:
            if self._callers is None:
                raise ValueError(
                    "update() without values takes those of A again, which the solver reads in "
                    "place only of CSR in double precision with sorted indices: pass A"
                )
            values = self._callers  # its data may be another array by now
        values = self.pattern.of(values)
        if self._reference is None:
            self._store(values)
            return
        kind = kind_of(values)
        self.check_device(kind, "values")
        place = kind.address(values)
        if place == kind.address(self._reference):
            self.context.check(karst.matrix_values_changed(self.handle))
        else:
            self.context.check(karst.matrix_update_values(self.handle, place))
            self._reference = None

    def wait_for_caller(self, kind: Numpy, array: Any) -> None:
        """Waits for the caller's work on an array, unless it is in the library's stream."""
        stream = kind.stream(array)
        if stream is not None and stream != self.stream:
            kind.wait(array)

    def set_grid(self, grid: Any) -> None:
        """Sets the grid (nx, ny, nz) of the block rows, or finds it; None: no grid."""
        if grid is None:
            return
        if isinstance(grid, str) and grid == "find":
            self.context.check(karst.matrix_find_grid(self.handle))
            return
        if not isinstance(grid, (tuple, list, np.ndarray)) or not 1 <= len(grid) <= 3:
            raise TypeError(f"grid={grid!r} is neither (nx, ny, nz) nor 'find'")
        sizes = [whole(size, "size of grid") for size in (*grid, 1, 1)[:3]]
        self.context.check(karst.matrix_set_grid(self.handle, *sizes))

    def check_device(self, kind: Numpy, name: str) -> None:
        """Refuses an array in the memory of another GPU, or of one for a solver on the CPU."""
        if kind.device not in ("cpu", self.device):
            raise ValueError(
                f"{name} is in the memory of {kind.device}, and the solver works on {self.device}: "
                f"make it with device={kind.device!r}"
            )

    def describe(self) -> str:
        """Size, block size, device."""
        device = text(karst.context_device(self.context.address))
        return f"{self.rows} rows, block size {self.pattern.block}, {device}"
