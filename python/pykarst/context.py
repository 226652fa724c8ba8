"""A context of the library with the objects made in it, for one solver or preconditioner."""

from __future__ import annotations

import ctypes
import logging
import operator
import os
import threading
import weakref
from typing import Any, Callable

import numpy as np

from .errors import BY_STATUS, KarstError
from .library import Message, karst, text

log = logging.getLogger("pykarst")
_PHASE, _NOTE, _WARNING = range(3)  # karst_message_kind


class Context:
    """A karst_context, and the handles made in it, which are destroyed in reverse order.

    Parameters
    ----------
    device : str
        "cpu", "cuda" or "cuda:N".
    threads : int or None
        Threads of the CPU; None is the library's default, 1.
    stream : int or None
        A cudaStream_t for all work, 0 for CUDA's default stream; None makes a stream.
    """

    def __init__(self, device: str, threads: int | None, stream: int | None) -> None:
        self.address: int | None = None
        self.process = os.getpid()
        # A call for one object at a time; its own callbacks pass, and the library refuses them.
        self.lock = threading.RLock()
        self.messages: list[str] = []
        self._handles: list[tuple[Any, int | None]] = []
        # Functions that the library may call as long as the context lives, and its stream. None of
        # them refers to the context or its owner, whose memory would then wait for the garbage
        # collector.
        self.kept: list[Any] = [Message(_receiver(self.messages))]
        handle = ctypes.c_void_p()
        if karst.context_create(None, handle):
            raise MemoryError("no memory for a context")
        self.address = handle.value
        try:
            karst.context_set_message(self.address, self.kept[0], None)
            self.check(karst.context_set_device(self.address, bytes_of(device, "device")))
            if threads is not None:
                self.check(karst.context_set_threads(self.address, whole(threads, "threads")))
            if stream is not None:
                self.check(karst.context_set_stream(self.address, stream))
        except BaseException:
            self.close()
            raise

    def check(self, status: int) -> None:
        """Raises the exception of a status other than 0."""
        if status:
            sentence = text(karst.context_error(self.address)) or "the library has no memory left"
            raise BY_STATUS.get(status, KarstError)(sentence)

    def make(self, create: str, *arguments: Any) -> int:
        """Calls karst_CREATE(..., &handle), and keeps the handle until the context is closed."""
        handle = ctypes.c_void_p()
        self.check(getattr(karst, create)(*arguments, handle))
        assert handle.value
        self.own(create.split("_")[0], handle)
        return handle.value

    def own(self, kind: str, handle: ctypes.c_void_p) -> None:
        """Keeps a handle of a kind such as "matrix" until the context is closed."""
        self._handles.append((getattr(karst, kind + "_destroy"), handle.value))

    def use(self) -> None:
        """Refuses a context that is closed, or that another process made."""
        if self.address is None:
            raise ValueError("this solver or preconditioner is closed")
        if self.is_forked():
            raise RuntimeError(
                f"process {self.process} made this solver, and a fork does not copy its threads "
                f"and devices to process {os.getpid()}: make a new one in each process"
            )

    def is_forked(self) -> bool:
        """Whether this process is a copy of the one that made the context."""
        return self.process != os.getpid()

    def close(self) -> None:
        """Destroys all objects. A forked process leaves them: they are its parent's."""
        if self.address is not None and not self.is_forked():
            while self._handles:
                destroy, handle = self._handles.pop()
                destroy(handle)
            karst.context_destroy(self.address)
        self.address = None

    def __del__(self) -> None:
        self.close()


def whole(value: Any, name: str) -> int:
    """Any whole number as an int of C."""
    if isinstance(value, (bool, np.bool_)) or not hasattr(value, "__index__"):
        raise TypeError(f"{name}={value!r} is not a whole number")
    number = operator.index(value)
    if not -(2**31) <= number < 2**31:
        raise OverflowError(f"{name}={value!r} is out of range")
    return number


def number(value: Any, name: str) -> float:
    """Any real number as a double of C."""
    try:
        if not isinstance(value, (bool, np.bool_, str)):
            return float(value)
    except (TypeError, ValueError):
        pass
    raise TypeError(f"{name}={value!r} is not a number")


def weak(method: Callable[..., int]) -> Callable[..., int]:
    """A method as a function that does not keep its object; the object outlives the calls."""
    reference = weakref.WeakMethod(method)

    def call(*arguments: Any) -> int:
        found = reference()
        assert found is not None
        return found(*arguments)

    return call


def _receiver(messages: list[str]) -> Callable[[int | None, int, bytes], None]:
    """What the library gives its messages to."""

    def receive(user: int | None, kind: int, message: bytes) -> None:
        if kind == _PHASE:
            return
        sentence = text(message)
        messages.append(sentence)
        log.log(logging.WARNING if kind == _WARNING else logging.INFO, "%s", sentence)

    return receive


def bytes_of(name: Any, what: str) -> bytes:
    """A text for the library, which ends texts at a byte 0."""
    if not isinstance(name, str):
        raise TypeError(f"{what}={name!r} is not a text")
    if "\0" in name:
        raise ValueError(f"{what}={name!r} has a byte 0")
    return os.fsencode(name)
