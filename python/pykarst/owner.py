"""What solvers and preconditioners share: one call at a time, and the end of their memory."""

from __future__ import annotations

import ctypes
from types import TracebackType
from typing import Any, Callable, TypeVar

from . import signals
from .arrays import Numpy
from .context import Context
from .library import karst
from .matrix import Matrix
from .operators import Calls


Self = TypeVar("Self", bound="Owner")  # typing has its own from Python 3.11 on


class Owner:
    """An object of the library that is made for a matrix. It can be used in a with statement."""

    def __init__(self, matrix: Matrix) -> None:
        self._matrix = matrix
        self._context = matrix.context
        self._calls = Calls(matrix.context, matrix.pattern.kind, matrix.device, matrix.rows)
        # For a with statement around calls: another thread waits, a callback is refused.
        self._in_use = _Use(matrix.context, self._calls)

    def _check(self, status: int) -> None:
        """Raises what a function of the caller's has raised, or the exception of a status."""
        if self._calls.exception is not None:
            self._calls.reraise()
        if status:
            self._context.check(status)

    def _with_vectors(
        self, kind: Numpy, read: Any, write: Any, call: Callable[[int, int], None]
    ) -> None:
        """Calls with two vectors of the library around arrays of n doubles."""
        vectors = [ctypes.c_void_p(), ctypes.c_void_p()]
        context, n = self._context.address, self._matrix.rows
        try:
            for vector, array in zip(vectors, (read, write)):
                self._check(karst.vector_wrap(context, n, kind.address(array), vector))
            call(vectors[0].value, vectors[1].value)  # type: ignore[arg-type]
        finally:
            for vector in vectors:
                karst.vector_destroy(vector)

    def _describe(self, describe: Callable[[], str]) -> str:
        """What repr shows: no other thread closes the object meanwhile."""
        name = type(self).__name__
        context = self._context
        if not context.lock.acquire(blocking=False):
            return f"<{name}: in use by another thread>"
        try:
            if context.address is None:
                return f"<{name}: closed>"
            return f"<{name}: of process {context.process}>" if context.is_forked() else describe()
        finally:
            context.lock.release()

    def close(self) -> None:
        """Gives the memory back; later calls are refused."""
        if self._context.address is None:
            return
        if self._context.is_forked():
            self._context.close()
            return
        with self._in_use:
            self._context.close()

    def __enter__(self: Self) -> Self:
        self._context.use()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise TypeError(
            f"a {type(self).__name__} cannot be pickled or copied, for it has memory of the "
            "library: make one in each process from the matrix"
        )


class _Use:
    """Locks the object for one call of one thread."""

    def __init__(self, context: Context, calls: Calls) -> None:
        self.context = context
        self.calls = calls
        self.busy = False
        self.kept: signals.Kept = []

    def __enter__(self) -> None:
        context = self.context
        context.use()  # in a forked process the lock may be that of a thread which is not there
        context.lock.acquire()
        try:
            context.use()
            if self.busy:
                raise RuntimeError("a function that a solver calls cannot use this solver")
            self.kept = signals.keep(self.calls)
        except BaseException:
            context.lock.release()
            raise
        self.busy = True

    def __exit__(self, *raised: Any) -> None:
        try:
            signals.restore(self.kept)
            exception = self.calls.take()  # before another thread has one
        finally:
            self.busy = False
            self.context.lock.release()
        if exception is not None:
            raise exception
