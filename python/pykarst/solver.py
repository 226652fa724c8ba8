"""Solver: set up once for a pattern, updated with new values, and solved with."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from . import library
from .arrays import Numpy, kind_of
from .context import number, weak, whole
from .errors import NotConverged
from .library import Monitor, karst, text
from .matrices import is_matrix
from .matrix import Matrix
from .operators import function_of
from .options import make_options, option
from .owner import Owner
from .plot import Pattern
from .report import Report
from .result import Decision, Result

Callback = Callable[[int, float], Any]


class Solver(Owner):
    """A Krylov method with a preconditioner, for systems of one pattern.

    Parameters
    ----------
    A : sparse matrix or array, or LinearOperator
        Square, of shape (n, n): of SciPy, CuPy or torch, or any object with ``indptr``,
        ``indices`` and ``data``. The values of CSR in double precision with sorted indices are
        used in place: if they change, solves are for the changed matrix, with the factors of the
        earlier one until ``update()``. Of a LinearOperator, or with ``operator``, nothing but
        products is known, and the default preconditioner is "none".
    precond : str, optional
        "iluk", "cpr", "amg", "auto", ...: the option precond. None is the library's default.
    block : int, optional
        Unknowns of a cell. None: the block size of a BSR matrix, else 1.
    M : LinearOperator or function, optional
        A preconditioner of the caller's, z = M(r), instead of ``precond``. A method that allows
        M to vary is chosen by ``solver="fgmres"``. On a GPU r is the solver's own vector, which M
        neither changes nor keeps.
    operator : LinearOperator or function, optional
        Solves operator(x) = b; A serves the preconditioner.
    grid : tuple of int or "find", optional
        (nx, ny, nz): block row i is cell i, x fastest. "find" finds the grid from the pattern.
    device : str, optional
        "cpu", "cuda" or "cuda:N". None: where the values of A are.
    threads : int, optional
        Of the CPU; None is the library's default, 1. Results have the same bits for each number.
    history : bool, optional
        Whether solves record the residual norms. False also leaves Ctrl-C to the end of a solve.
    **options
        Options of the library by their names: level=1, solver="gmres", max_iterations=500. Those
        of a preconditioner inside another have two underscores: first__amg_cycle="w".

    Raises
    ------
    OptionError, MatrixError, DeviceError, TypeError, ValueError

    Attributes
    ----------
    results : list of Result
        How the last solve ended, one for each column of b; ``result`` is the decisive one.

    Notes
    -----
    A singular block is found at set-up, and raised by ``solve``. Threads may use different solvers
    at the same time; one solver serves one at a time. A solver belongs to the process that made it.

    Examples
    --------
    >>> import numpy as np, pykarst
    >>> A, b = pykarst.gallery("poisson2d:30x30")
    >>> with pykarst.Solver(A, level=1) as solver:
    ...     x = solver.solve(b)
    ...     solver.update(2 * A)
    ...     half = solver.solve(b)
    >>> bool(np.allclose(x, 2 * half))
    True
    """

    def __init__(
        self,
        A: Any,
        precond: str | None = None,
        block: int | None = None,
        *,
        M: Any = None,
        operator: Any = None,
        grid: tuple[int, ...] | str | None = None,
        device: str | None = None,
        threads: int | None = None,
        history: bool = True,
        **options: Any,
    ) -> None:
        alone = not is_matrix(A) and hasattr(A, "matvec")
        if alone:
            operator = A if operator is None else operator
            A = sp.identity(A.shape[0], format="csr")  # products are all that is known
            precond = precond or ("none" if M is None else None)
        matrix = Matrix(A, block, device, threads)
        super().__init__(matrix)
        pattern = matrix.pattern
        self._pattern = None if alone else Pattern(pattern.start, pattern.column, pattern.block)
        if M is not None:
            if precond is not None:
                raise ValueError("precond and M are two preconditioners: pass one of them")
            precond = self._calls.register(function_of(M, matrix.rows, "M"))
        matrix.set_grid(grid)
        context = matrix.context
        self._options = make_options(context, {"precond": precond, **options})
        self._handle = context.make("solver_create", context.address, self._options)
        self._tolerances = self._defaults = tuple(
            kind(option(context, self._options, name))
            for kind, name in ((float, "rtol"), (float, "atol"), (int, "max-iterations"))
        )
        self._history: list[float] = []
        self._callback: Callback | None = None
        self._monitor = Monitor(weak(self._watch))
        context.kept.append(self._monitor)
        self._records = history
        self._uploads: list[int] = []  # b and x of arrays in host memory, on a GPU
        self.results: list[Result] = []
        if operator is not None:
            call = self._calls.multiply(function_of(operator, matrix.rows, "operator"))
            context.check(karst.solver_set_operator(self._handle, call, None))
        if history:
            karst.solver_monitor(self._handle, self._monitor, None)
        with self._in_use:
            self._check(karst.solver_setup(self._handle, matrix.handle))

    # ---- solving ----

    def solve(
        self,
        b: Any,
        x0: Any = None,
        *,
        callback: Callback | None = None,
        check: bool = True,
        rtol: float | None = None,
        atol: float | None = None,
        max_iterations: int | None = None,
    ) -> Any:
        """Solves A x = b.

        Parameters
        ----------
        b : array
            Of shape (n,), (n, 1) or (n, k), of NumPy, CuPy or torch, or any object with
            ``__cuda_array_interface__`` or ``__dlpack__``. Columns are solved one by one.
        x0 : array, optional
            The start, of the shape of b; None: zeros.
        callback : function, optional
            Called as callback(iteration, residual) with the norm that the iteration uses. It
            returns None, ``Decision.STOP`` or ``Decision.ACCEPT``. An exception ends the solve.
        check : bool, optional
            Whether a solve that fails raises NotConverged; else ``result`` tells.
        rtol, atol : float, optional
            The solve ends at |b - A x| <= max(rtol |b|, atol), of the computed residual. atol
            has the unit of b. None: the options of the solver.
        max_iterations : int, optional

        Returns
        -------
        x : array
            Of the shape, the library and the device of b, in double precision.

        Raises
        ------
        NotConverged
            With the best x and the result. The sentence names the block row of a singular block
            or a NaN.
        """
        with self._in_use:
            self._set_tolerances(rtol, atol, max_iterations)
            kind = kind_of(b)
            self._matrix.check_device(kind, "b")
            given, b = b, kind.array(b)
            x = kind.empty(self._shape(b, given))
            if x0 is not None:
                x0 = kind.array(x0)
                if tuple(x0.shape) != tuple(b.shape):
                    raise ValueError(f"x0 has the shape {tuple(x0.shape)}, and b has {b.shape}")
            self._history, self.results = [], []
            self._watched(kind, b, x, x0, callback)
            result = self.result  # before another thread solves
        if check and result != 0:
            raise NotConverged(result.explanation, x, result)
        return x

    def _shape(self, b: Any, given: Any) -> tuple[int, ...]:
        shape, n = tuple(b.shape), self._matrix.rows
        if len(shape) not in (1, 2) or shape[0] != n or shape[1:] == (0,):
            if is_matrix(given):
                raise TypeError("b is sparse, and has to be an array: pass b.toarray()")
            raise ValueError(
                f"b has the shape {shape}, and A has ({n}, {n}): the shape of b has to be ({n},), "
                f"({n}, 1) or ({n}, k)"
            )
        return shape

    def _set_tolerances(self, rtol: Any, atol: Any, max_iterations: Any) -> None:
        defaults = self._defaults
        chosen = (
            defaults[0] if rtol is None else number(rtol, "rtol"),
            defaults[1] if atol is None else number(atol, "atol"),
            defaults[2] if max_iterations is None else whole(max_iterations, "max_iterations"),
        )
        if chosen != self._tolerances:
            self._check(karst.solver_set_tolerances(self._handle, *chosen))
            self._tolerances = chosen

    def _watched(self, kind: Numpy, b: Any, x: Any, x0: Any, callback: Callback | None) -> None:
        """Solves for all columns."""
        self._callback = callback
        watches = callback is not None and not self._records
        if watches:
            karst.solver_monitor(self._handle, self._monitor, None)
        try:
            self._columns(kind, b, x, x0)
        finally:
            self._callback = None
            if watches:
                karst.solver_monitor(self._handle, Monitor(), None)

    def _columns(self, kind: Numpy, b: Any, x: Any, x0: Any) -> None:
        if len(b.shape) == 1:
            self._column(kind, b, x, x0)
            return
        for j in range(b.shape[1]):
            start = None if x0 is None else x0[:, j]
            self._column(kind, b[:, j], x[:, j], start)

    def _column(self, kind: Numpy, b: Any, x: Any, x0: Any) -> None:
        """Solves for one right-hand side."""
        b = kind.double(b, "b")
        start = None if x0 is None else kind.double(x0, "x0")
        matrix, n = self._matrix, self._matrix.rows

        def begin_and_solve(with_b: int, with_x: int) -> None:
            if start is None:
                self._check(karst.vector_fill(with_x, 0.0))
            else:
                self._check(karst.vector_set(with_x, n, kind.address(start)))
            self._solve(with_b, with_x)

        if kind.device == matrix.device:
            for array in (b, x) if start is None else (b, x, start):
                matrix.wait_for_caller(kind, array)
            self._with_vectors(kind, b, x, begin_and_solve)
            return
        while len(self._uploads) < 2:
            context = self._context
            self._uploads.append(context.make("vector_create", context.address, n))
        with_b, with_x = self._uploads
        self._check(karst.vector_set(with_b, n, kind.address(b)))
        begin_and_solve(with_b, with_x)
        self._check(karst.vector_get(with_x, n, kind.address(x)))

    def _solve(self, b: int, x: int) -> None:
        ended = library.Result()
        status = karst.solver_solve(self._handle, b, x, ended)
        if not status:
            self.results.append(Result(ended, text(karst.solver_explain(self._handle))))
        self._check(status)

    def _watch(self, user: None, iteration: int, residual: float) -> int:
        """The monitor. The library cannot pass an exception on: the solve ends instead."""
        try:
            if self._records:
                self._history.append(residual)
            if self._calls.exception is not None:  # of a signal's handler
                return Decision.STOP
            if self._callback is None:
                return Decision.GO_ON
            decision = self._calls.call(self._callback, iteration, residual)
            if decision is None or isinstance(decision, Decision):
                return decision or Decision.GO_ON
            raise TypeError(f"a callback has to return a Decision or None, not {decision!r}")
        except BaseException as exception:
            self._calls.fail(exception)
            return Decision.STOP

    # ---- new values ----

    def update(self, values: Any = None) -> None:
        """Takes new values on the same pattern, and factors.

        Parameters
        ----------
        values : sparse matrix or array, optional
            A matrix of the form and pattern of A, or the values of one, of the shape of
            ``A.data``. None: those of A itself have changed, which the solver uses in place (CSR
            in double precision with sorted indices).
        """
        with self._in_use:
            self._matrix.update(values)
            self._check(karst.solver_update(self._handle))

    def keep(self, values: Any = None) -> None:
        """Takes new values as ``update``, but keeps the factors: a lagged preconditioner.

        x then solves the system of the new values; it may take a few more iterations.
        """
        with self._in_use:
            self._matrix.update(values)
            self._check(karst.solver_keep(self._handle))

    # ---- what happened ----

    @property
    def result(self) -> Result:
        """How the last solve ended; of several columns the first that failed, or the slowest."""
        if not self.results:
            raise ValueError("nothing has been solved yet")
        failed = next((result for result in self.results if result != 0), None)
        return failed or max(self.results, key=lambda result: result.iterations)

    @property
    def history(self) -> np.ndarray[Any, Any]:
        """Residual norms of the last solve, from the start on, in the unit of b.

        They are those that the method iterates with: recursive ones for bicgstab, cg and
        orthomin. Columns follow each other.
        """
        return np.array(self._history)

    @property
    def report(self) -> Report:
        """What was chosen, made and reached: a mapping. See ``Report.plot``."""
        with self._in_use:
            return Report(self)

    def __repr__(self) -> str:
        return self._describe(self._chosen)

    def _chosen(self) -> str:
        names = ("solver", "precond", "ordering")
        chosen = ", ".join(option(self._context, self._options, name) for name in names)
        ended = self.result.explanation if self.results else "not solved yet"
        return f"<Solver of {self._matrix.describe()}: {chosen}; {ended}>"


def solve(
    A: Any,
    b: Any,
    precond: str | None = None,
    block: int | None = None,
    rtol: float = 1e-8,
    x0: Any = None,
    M: Any = None,
    callback: Callback | None = None,
    *,
    atol: float | None = None,
    max_iterations: int | None = None,
    device: str | None = None,
    threads: int | None = None,
    check: bool = True,
    **options: Any,
) -> tuple[Any, Result]:
    """Solves A x = b once.

    Parameters
    ----------
    A : sparse matrix or array, LinearOperator, or function
        See ``Solver``. A function is y = A(x).
    b : array
        Of shape (n,), (n, 1) or (n, k).
    precond, block, M, device, threads, **options
        See ``Solver``, and its other arguments: grid, operator. If b is in the memory of a GPU,
        the solve is there.
    rtol, atol, max_iterations, x0, callback, check
        See ``Solver.solve``.

    Returns
    -------
    x : array
        Of the shape, the library and the device of b.
    info : Result
        0, and how the solve ended.

    Raises
    ------
    NotConverged
        Unless check is False; info is then not 0.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp, pykarst
    >>> A = sp.diags([-1.0, 2.1, -1.0], [-1, 0, 1], shape=(1000, 1000), format="csr")
    >>> x, info = pykarst.solve(A, np.ones(1000))
    >>> info == 0
    True
    """
    if not is_matrix(A) and callable(A) and not hasattr(A, "matvec"):
        if not hasattr(b, "__len__"):
            raise TypeError(f"b is of the type {type(b).__name__}, and has to be an array")
        A = LinearOperator((len(b), len(b)), matvec=A, dtype=np.float64)
    on = kind_of(b).device
    if device is None and on != "cpu":
        device = on
    options.update(rtol=rtol, atol=atol, max_iterations=max_iterations)
    with Solver(A, precond, block, M=M, device=device, threads=threads, **options) as solver:
        x = solver.solve(b, x0, callback=callback, check=check)
        return x, solver.result
