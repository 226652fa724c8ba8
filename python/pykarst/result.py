"""How a solve ended."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from . import library


class Reason(IntEnum):
    """How a solve or a factorization ended: positive if it converged, negative if it failed.

    The members are those of karst_reason in karst.h, which describes each; so does the manual.
    """

    SOUND = 0
    CONVERGED_RTOL = 1
    CONVERGED_ATOL = 2
    CONVERGED_MONITOR = 3
    CONVERGED_PRECONDITIONED = 4
    CONVERGED_ROUNDING = 5
    ITERATION_LIMIT = -1
    STAGNATED = -2
    BREAKDOWN_RHO = -3
    BREAKDOWN_ALPHA = -4
    BREAKDOWN_OMEGA = -5
    BREAKDOWN_ARNOLDI = -6
    BREAKDOWN_DIRECTION = -7
    INDEFINITE_OPERATOR = -8
    INDEFINITE_PRECOND = -9
    NOT_FINITE = -10
    SINGULAR_BLOCK = -11
    OUT_OF_RANGE = -12
    STOPPED = -13
    DIVERGED = -14


class Decision(IntEnum):
    """What a callback may return.

    GO_ON, as None, goes on. ACCEPT ends the solve as converged (CONVERGED_MONITOR), STOP as not
    converged (STOPPED); x is then the best whose residual is known.
    """

    GO_ON = 0
    ACCEPT = 1
    STOP = 2


class Result(int):
    """How a solve ended, and SciPy's ``info`` at the same time: 0 if it converged.

    As an integer it is the number of iterations if these were not enough, at least 1; else it is
    negative.

    Attributes
    ----------
    reason : Reason
    iterations : int
    residual : float
        |b - A x|, computed from x.
    relative_residual : float
        residual / |b|.
    block_row : int
        Of a singular block, a NaN or a pivot, counted from 0; -1: no row is known.
    explanation : str
        One sentence.
    """

    reason: Reason
    iterations: int
    residual: float
    relative_residual: float
    block_row: int
    explanation: str

    def __new__(cls, ended: library.Result, explanation: str) -> Result:
        """From karst_result and karst_solver_explain."""
        reason = ended.reason
        info = 0 if reason > 0 else max(1, ended.iterations) if reason == -1 else reason
        result = super().__new__(cls, info)
        result.reason = Reason(reason)
        result.iterations = ended.iterations
        result.residual = ended.residual
        result.relative_residual = ended.relative_residual
        result.block_row = ended.block_row
        result.explanation = explanation
        return result

    @property
    def converged(self) -> bool:
        """Whether x is a solution."""
        return self.reason > 0

    def __repr__(self) -> str:
        return f"<Result {int(self)}: {self.explanation}>"

    def __reduce__(self) -> Any:
        return _rebuild, (int(self), dict(self.__dict__))


def _rebuild(info: int, attributes: dict[str, Any]) -> Result:
    result = int.__new__(Result, info)
    result.__dict__.update(attributes)
    return result
