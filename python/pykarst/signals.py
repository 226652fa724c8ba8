"""Signals during calls of the library, such as SIGINT of Ctrl-C.

Python runs a signal's handler before the next function of its own, which here is one that the
library calls. An exception of the handler would be lost there, with what the function returns to
the library. So it is kept until the library has returned.
"""

from __future__ import annotations

import _signal  # the functions of signal, without their conversions, in a tenth of the time
import signal
import threading
from typing import Any, Callable, List, Tuple

from .operators import Calls

_NUMBERS = [int(number) for number in signal.valid_signals()]


class Handler:
    """A handler of the caller's, whose exception a solver keeps."""

    def __init__(self, handler: Callable[..., Any], calls: Calls) -> None:
        self.handler = handler
        self.calls = calls

    def __call__(self, number: int, frame: Any) -> None:
        if self.calls.inside:
            self.handler(number, frame)
            return
        try:
            self.handler(number, frame)
        except BaseException as exception:
            self.calls.fail(exception)


Kept = List[Tuple[int, Any, Handler]]


def keep(calls: Calls) -> Kept:
    """Keeps the exceptions of handlers, until ``restore`` is called with the result."""
    kept: Kept = []
    if threading.current_thread() is not threading.main_thread():
        return kept
    try:
        for number in _NUMBERS:
            before = _signal.getsignal(number)
            if callable(before):
                # In a call within a call the inner one ends first.
                caller = before.handler if isinstance(before, Handler) else before
                ours = Handler(caller, calls)
                kept.append((number, before, ours))
                _signal.signal(number, ours)
    except BaseException:  # of a handler
        restore(kept)
        raise
    return kept


def restore(kept: Kept) -> None:
    """Restores the earlier handlers, except where a function has set another."""
    for number, before, ours in kept:
        if _signal.getsignal(number) is ours:
            _signal.signal(number, before)
