"""Python functions as the operator and the preconditioner of a solver."""

from __future__ import annotations

import ctypes
import math
from typing import Any, Callable

from .arrays import NUMPY, Numpy
from .context import Context, weak
from .library import Apply, Method, Multiply, Prepare, Release, karst

Function = Callable[[Any], Any]
_FAILED = -2  # KARST_ERROR_ARGUMENT


def function_of(operator: Any, rows: int, name: str) -> Function:
    """A function y = f(x), of a LinearOperator or any object with ``matvec``, or a function."""
    shape = getattr(operator, "shape", (rows, rows))
    if tuple(shape) != (rows, rows):
        raise ValueError(f"{name} has the shape {tuple(shape)}, and A has ({rows}, {rows})")
    if getattr(getattr(operator, "dtype", None), "kind", "f") == "c":
        raise TypeError(f"{name} is complex, and Karst solves real systems only")
    if hasattr(operator, "matvec"):
        return operator.matvec  # type: ignore[no-any-return]
    if hasattr(operator, "__matmul__"):
        return lambda x: operator @ x
    if callable(operator):
        return operator  # type: ignore[no-any-return]
    raise TypeError(f"{name} has to be a LinearOperator, a matrix or a function, y = {name}(x)")


class Calls:
    """Calls of the library back into Python, with the exception of one that failed.

    An exception does not pass through the library: the call returns a failure, and the solver
    raises the exception again when the library has returned.
    """

    def __init__(self, context: Context, kind: Numpy, device: str, rows: int) -> None:
        self.context = context
        self.kind = kind  # of A, and so of what the functions get
        # A function may keep or change an array in host memory, which is a copy.
        self.in_place = kind.device == device != "cpu"
        self.host = kind if kind.device == "cpu" else NUMPY
        self.rows = rows
        self.exception: BaseException | None = None
        self.inside = False  # whether a function of the caller's runs, whose exceptions are caught

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Calls a function of the caller's within a try statement, unless an exception waits."""
        self.reraise()
        self.inside = True
        try:
            return function(*arguments)
        finally:
            self.inside = False

    def fail(self, exception: BaseException) -> None:
        """Keeps an exception, the first one, until the library has returned."""
        if self.exception is None:
            self.exception = exception

    def take(self) -> BaseException | None:
        """The exception that is kept, which is the caller's to raise then."""
        exception, self.exception = self.exception, None
        return exception

    def reraise(self) -> None:
        """Raises what a call back has raised."""
        exception = self.take()
        try:
            if exception is not None:
                raise exception
        finally:
            del exception  # it refers to this frame, and the frame to it

    def _run(self, function: Function, name: str, x: int, y: int) -> int:
        try:
            if self.in_place:
                given = self.kind.view(karst.vector_const_values(x), (self.rows,))
                to = self.kind.view(karst.vector_values(y), (self.rows,))
                to[...] = self._result(self.kind, self.call(function, given), name)
            else:
                given = self.host.empty((self.rows,))
                self.context.check(karst.vector_get(x, self.rows, self.host.address(given)))
                made = self._result(self.host, self.call(function, given), name)
                self.context.check(karst.vector_set(y, self.rows, self.host.address(made)))
            return 0
        except BaseException as exception:
            self.fail(exception)
            sentence = f"{name} raised {type(exception).__name__}"
            return int(karst.context_fail(self.context.address, _FAILED, ascii(sentence).encode()))

    def _result(self, kind: Numpy, made: Any, name: str) -> Any:
        made = kind.array(made)
        if math.prod(made.shape) != self.rows:
            raise ValueError(
                f"{name} returned an array of shape {tuple(made.shape)}, not ({self.rows},)"
            )
        return kind.double(made.reshape(self.rows), f"what {name} returned")

    def multiply(self, function: Function) -> Any:
        """The operator for karst_solver_set_operator."""
        run = weak(self._run)
        call = Multiply(lambda user, x, y: run(function, "the operator", x, y))
        self.context.kept.append(call)
        return call

    def register(self, function: Function) -> str:
        """Registers z = M^-1 r as a preconditioner, and returns its name."""
        run = weak(self._run)
        nothing = Prepare(lambda precond: 0)
        method = Method(
            name=b"python",
            help=b"a Python function, z = M(r)",
            setup=nothing,
            update=nothing,
            apply=Apply(lambda precond, r, z: run(function, "the preconditioner M", r, z)),
            destroy=Release(lambda precond: None),
        )
        self.context.kept.append(method)
        self.context.check(karst.precond_register(self.context.address, ctypes.byref(method)))
        return "python"
