"""Karst for Python: sparse block linear systems of reservoir simulation, on CPUs and GPUs.

    x, info = pykarst.solve(A, b)

solves once. ``Solver`` is set up for a pattern, takes new values, and solves; ``Preconditioner``
serves the Krylov methods of SciPy. The manual of Karst describes the methods and their options.
"""

from .arrays import DeviceArray
from .compare import compare
from .config import __version__, processors, show_config
from .errors import (
    DeviceError,
    KarstError,
    KarstWarning,
    MatrixError,
    NotConverged,
    NotFactored,
    OptionError,
)
from .precond import Preconditioner
from .problems import gallery, read
from .report import Report
from .result import Decision, Reason, Result
from .solver import Solver, solve

__all__ = [
    "Decision",
    "DeviceArray",
    "DeviceError",
    "KarstError",
    "KarstWarning",
    "MatrixError",
    "NotConverged",
    "NotFactored",
    "OptionError",
    "Preconditioner",
    "Reason",
    "Report",
    "Result",
    "Solver",
    "__version__",
    "compare",
    "gallery",
    "processors",
    "read",
    "show_config",
    "solve",
]
