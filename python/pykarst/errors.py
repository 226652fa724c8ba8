"""Exceptions: what a call of libkarst returned, with the library's sentence."""

from __future__ import annotations

import sys
import warnings
from typing import Any

__all__ = [
    "DeviceError",
    "KarstWarning",
    "KarstError",
    "MatrixError",
    "NotConverged",
    "NotFactored",
    "OptionError",
]


class KarstError(RuntimeError):
    """A call of the library failed; the text is the library's sentence on it."""


class OptionError(KarstError, ValueError):
    """An option has an unknown name, or it or another argument a value that is not allowed."""


class MatrixError(KarstError, ValueError):
    """A pattern is invalid, or lacks what a method needs; the sentence gives the block row."""


class DeviceError(KarstError):
    """A device is not available, or has failed."""


class KarstWarning(UserWarning):
    """The input is probably a mistake, or an option has no effect."""


class NotConverged(KarstError):
    """A solve ended without a solution.

    The sentence says why, and names the block row of a singular block or a NaN, counted from 0.

    Attributes
    ----------
    x : array
        The best x whose residual is known, of the shape of b.
    result : Result
        How the solve ended. Of several right-hand sides, that of the first that failed.
    """

    def __init__(self, sentence: str, x: Any, result: Any) -> None:
        super().__init__(sentence)
        self.x = x
        self.result = result

    def __reduce__(self) -> Any:
        return type(self), (str(self), self.x, self.result)


class NotFactored(KarstError):
    """A preconditioner could not be made from the values of its matrix.

    Attributes
    ----------
    reason : Reason
        SINGULAR_BLOCK, NOT_FINITE, INDEFINITE_PRECOND or OUT_OF_RANGE.
    block_row : int
        Where, counted from 0; -1: no row is known.
    """

    def __init__(self, sentence: str, reason: Any, block_row: int) -> None:
        super().__init__(sentence)
        self.reason = reason
        self.block_row = block_row

    def __reduce__(self) -> Any:
        return NotFactored, (str(self), self.reason, self.block_row)


# karst_status: the exception for each; KarstError for all others.
BY_STATUS: dict[int, type[Exception]] = {
    -1: MemoryError,
    -2: OptionError,
    -3: OptionError,
    -4: OSError,
    -5: MatrixError,
    -6: MatrixError,
    -8: DeviceError,
    -9: DeviceError,
    -10: MatrixError,
}


def warn(sentence: str, category: type[Warning]) -> None:
    """Warns of the line that calls this package."""
    package = __name__.partition(".")[0]
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_globals["__name__"].partition(".")[0] == package:
        frame, level = frame.f_back, level + 1
    warnings.warn(sentence, category, stacklevel=level)
