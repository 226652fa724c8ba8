"""Preconditioner: M^-1 alone, for Krylov methods of SciPy or of the caller."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator

from .arrays import NUMPY, kind_of
from .errors import NotFactored
from .library import c_index, karst, text
from .matrix import Matrix
from .options import make_options
from .owner import Owner
from .result import Reason


class Preconditioner(Owner, LinearOperator):  # type: ignore[misc]
    """z = M^-1 r, as a LinearOperator.

    Parameters
    ----------
    A : sparse matrix or array
    precond, block, grid, device, threads, **options
        As for ``Solver``: those of the preconditioner, such as level=1.

    Raises
    ------
    NotFactored
        For a singular block or a NaN, with its block row.

    Examples
    --------
    >>> import numpy as np, pykarst
    >>> from scipy.sparse.linalg import gmres
    >>> A, b = pykarst.gallery("poisson2d:30x30")
    >>> x, info = gmres(A, b, M=pykarst.Preconditioner(A, "iluk", level=1), restart=30)
    >>> info
    0
    """

    def __init__(
        self,
        A: Any,
        precond: str | None = None,
        block: int | None = None,
        *,
        grid: tuple[int, ...] | str | None = None,
        device: str | None = None,
        threads: int | None = None,
        **options: Any,
    ) -> None:
        matrix = Matrix(A, block, device, threads)
        Owner.__init__(self, matrix)
        LinearOperator.__init__(self, np.dtype(np.float64), (matrix.rows, matrix.rows))
        matrix.set_grid(grid)
        context = matrix.context
        chosen = make_options(context, {"precond": precond, **options}, solves=False)
        with self._in_use:
            address = context.address
            self._handle = context.make("precond_create", address, chosen, matrix.handle)
            self._check_outcome()

    def _check_outcome(self) -> None:
        row = c_index()
        reason = Reason(karst.precond_outcome(self._handle, row))
        if reason == Reason.SINGULAR_BLOCK:
            sentence = f"the pivot block of block row {row.value} is singular"
            raise NotFactored(sentence, reason, row.value)
        if reason < 0:
            where = f", in block row {row.value}" if row.value >= 0 else ""
            raise NotFactored(f"{text(karst.reason_text(reason))}{where}", reason, row.value)

    def update(self, values: Any = None) -> None:
        """Takes new values on the same pattern, as ``Solver.update``, and factors."""
        with self._in_use:
            self._matrix.update(values)
            self._check(karst.precond_update(self._handle))
            self._check_outcome()

    def keep(self, values: Any = None) -> None:
        """Takes new values on the same pattern, and keeps the factors of earlier ones."""
        with self._in_use:
            self._matrix.update(values)
            self._check(karst.precond_keep(self._handle))

    def apply(self, r: Any) -> Any:
        """z = M^-1 r, of shape (n,), in the library and on the device of r.

        z of CuPy and torch is complete in the order of their current stream, any other z when the
        call returns.
        """
        kind = kind_of(r)
        self._matrix.check_device(kind, "r")
        r = kind.array(r)
        if tuple(r.shape) != (self._matrix.rows,):
            raise ValueError(f"r has the shape {tuple(r.shape)}, not ({self._matrix.rows},)")
        if kind.device != self._matrix.device:
            raise ValueError(f"r is in host memory, and M on {self._matrix.device}")
        r, z = kind.double(r, "r"), kind.empty(tuple(r.shape))

        def precondition(with_r: int, with_z: int) -> None:
            self._check(karst.precond_apply(self._handle, with_r, with_z))
            if kind.stream(z) != self._matrix.stream:
                self._check(karst.context_synchronize(self._context.address))

        with self._in_use:
            for array in (r, z):
                self._matrix.wait_for_caller(kind, array)
            self._with_vectors(kind, r, z, precondition)
        return z

    def matvec(self, x: Any) -> Any:
        """The same for a LinearOperator's callers; x of CuPy or torch stays where it is."""
        return super().matvec(x) if kind_of(x) is NUMPY else self.apply(x)

    def _matvec(self, x: Any) -> Any:
        return self.apply(np.asarray(x).reshape(-1))

    def _rmatvec(self, x: Any) -> Any:
        raise NotImplementedError("Karst applies no transposed preconditioner: take another method")

    def __repr__(self) -> str:
        return self._describe(lambda: f"<Preconditioner of {self._matrix.describe()}>")
