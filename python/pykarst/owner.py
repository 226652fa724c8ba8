"""What solvers and preconditioners share: one call at a time, and the end of their memory."""

from __future__ import annotations

import ctypes
from types import TracebackType
from typing import Any

from . import signals
from .context import Context
from .library import karst
from .matrix import Matrix
from .operators import Calls


class Owner:
    """An object of the library that is made for a matrix. It can be used in a with statement."""

    def __init__(self, matrix: Matrix) -> None:
        self._matrix = matrix
        self._context = matrix.context
        self._calls = Calls(matrix.context, matrix.pattern.kind, matrix.device, matrix.rows)
        self._use = _Use(matrix.context, self._calls)

    def used(self) -> _Use:
        """For a with statement around calls: another thread waits, a callback is refused."""
        return self._use

    def run(self, status: int) -> None:
        """Raises what a function of the caller's has raised, or the exception of a status."""
        if self._calls.exception is not None:
            self._calls.reraise()
        if status:
            self._context.check(status)

    def wrap(self, address: int) -> int:
        """A vector of the library around n doubles."""
        handle = ctypes.c_void_p()
        context = self._context.address
        self.run(karst.vector_wrap(context, self._matrix.rows, address, handle))
        assert handle.value is not None
        return handle.value

    def close(self) -> None:
        """Gives the memory back; later calls are refused."""
        if self._context.address is None:
            return
        if self._context.is_forked():
            self._context.close()
            return
        with self._use:
            self._context.close()

    def __enter__(self) -> Any:
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
    """The time of a call, for one thread."""

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
