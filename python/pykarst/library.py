"""Loads libkarst and declares its functions: karst.h in the terms of ctypes.

ctypes gives up the interpreter's lock during each call, so that other Python threads run meanwhile.
"""

from __future__ import annotations

import ctypes
import os
from ctypes import (
    CFUNCTYPE,
    POINTER,
    c_char_p,
    c_double,
    c_int,
    c_int32,
    c_int64,
    c_size_t,
    c_void_p,
)
from ctypes.util import find_library
from types import SimpleNamespace
from typing import Any

import numpy as np

REFERENCE = 1  # KARST_REFERENCE of karst_ownership


def _name() -> str:
    """The library of KARST_LIBRARY, of the wheel, or of the system."""
    beside = os.path.join(os.path.dirname(__file__), "libkarst.so.1")
    named = os.environ.get("KARST_LIBRARY") or (beside if os.path.exists(beside) else None)
    return named or find_library("karst") or "libkarst.so.1"


def _open(path: str) -> Any:
    try:
        return ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(
            f"pykarst cannot load libkarst ({error}). Install a wheel of pykarst, or let "
            "the environment variable KARST_LIBRARY name libkarst.so"
        ) from None


path = _name()
_library = _open(path)
# With 64-bit indices the names of two functions end in _int64.
WIDE = hasattr(_library, "karst_context_create_int64")
INDEX: np.dtype[Any] = np.dtype(np.int64 if WIDE else np.int32)
c_index: Any = c_int64 if WIDE else c_int32


class Result(ctypes.Structure):
    """karst_result."""

    _fields_ = [
        ("reason", c_int),
        ("iterations", c_int),
        ("block_row", c_index),
        ("residual", c_double),
        ("relative_residual", c_double),
    ]


class Info(ctypes.Structure):
    """karst_solver_info."""

    _fields_ = [
        ("factor_entries", c_int64),
        ("fill", c_double),
        ("memory", c_int64),
        ("time_order", c_double),
        ("time_symbolic", c_double),
        ("time_factor", c_double),
        ("time_transfer", c_double),
        ("time_solve", c_double),
    ]


class Value(ctypes.Structure):
    """karst_value."""

    _fields_ = [("name", c_char_p), ("unit", c_char_p), ("number", c_double), ("text", c_char_p)]


class OptionInfo(ctypes.Structure):
    """karst_option_info."""

    _fields_ = [
        ("name", c_char_p),
        ("value", ctypes.c_char * 128),
        ("default_value", c_char_p),
        ("help", c_char_p),
        ("experiment", c_int),
        ("kind", c_int),
        ("details", c_char_p),
    ]


Monitor = CFUNCTYPE(c_int, c_void_p, c_int, c_double)
Message = CFUNCTYPE(None, c_void_p, c_int, c_char_p)
Multiply = CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p)
Prepare = CFUNCTYPE(c_int, c_void_p)
Apply = CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p)
Release = CFUNCTYPE(None, c_void_p)


class Method(ctypes.Structure):
    """karst_precond_method."""

    _fields_ = [
        ("name", c_char_p),
        ("help", c_char_p),
        ("needs_diagonal", c_int),
        ("options", c_void_p),
        ("settings", c_size_t),
        ("user", c_void_p),
        ("setup", Prepare),
        ("update", Prepare),
        ("apply", Apply),
        ("destroy", Release),
        ("details", c_char_p),
    ]


_handle = c_void_p
_out = POINTER(c_void_p)
# What a function returns, and what it takes. An array is passed by its address.
_STATUS = {
    "context_create": (c_void_p, _out),
    "context_set_device": (_handle, c_char_p),
    "context_set_stream": (_handle, c_void_p),
    "context_set_threads": (_handle, c_int),
    "context_synchronize": (_handle,),
    "context_fail": (_handle, c_int, c_char_p),
    "gallery_create": (_handle, c_char_p, c_int, _out, _out),
    "matrix_create": (_handle, c_index, c_int, c_void_p, c_void_p, c_void_p, c_int, _out),
    "matrix_create_pattern": (_handle, c_index, c_int, c_void_p, c_void_p, c_int, _out),
    "matrix_find_grid": (_handle,),
    "matrix_read": (_handle, c_char_p, c_int, _out),
    "matrix_set_grid": (_handle, c_index, c_index, c_index),
    "matrix_update_values": (_handle, c_void_p),
    "matrix_values_changed": (_handle,),
    "matrix_write": (_handle, c_char_p),
    "options_create": (_handle, _out),
    "options_get": (_handle, c_char_p, POINTER(c_char_p)),
    "options_set": (_handle, c_char_p, c_char_p),
    "precond_apply": (_handle, _handle, _handle),
    "precond_create": (_handle, _handle, _handle, _out),
    "precond_keep": (_handle,),
    "precond_register": (_handle, POINTER(Method)),
    "precond_update": (_handle,),
    "solver_create": (_handle, _handle, _out),
    "solver_get_info": (_handle, POINTER(Info)),
    "solver_keep": (_handle,),
    "solver_set_operator": (_handle, Multiply, c_void_p),
    "solver_set_tolerances": (_handle, c_double, c_double, c_int),
    "solver_setup": (_handle, _handle),
    "solver_solve": (_handle, _handle, _handle, POINTER(Result)),
    "solver_update": (_handle,),
    "vector_create": (_handle, c_int64, _out),
    "vector_fill": (_handle, c_double),
    "vector_get": (_handle, c_int64, c_void_p),
    "vector_read_beside": (_handle, c_char_p, _out),
    "vector_set": (_handle, c_int64, c_void_p),
    "vector_wrap": (_handle, c_int64, c_void_p, _out),
    "vector_write": (_handle, c_char_p),
}
_OTHER = {
    "build_features": (c_char_p,),
    "context_destroy": (None, _handle),
    "context_device": (c_char_p, _handle),
    "context_error": (c_char_p, _handle),
    "context_set_message": (None, _handle, Message, c_void_p),
    "context_stream": (c_void_p, _handle),
    "context_threads": (c_int, _handle),
    "device_count": (c_int, c_char_p),
    "matrix_block_rows": (c_index, _handle),
    "matrix_block_size": (c_int, _handle),
    "matrix_blocks": (c_int64, _handle),
    "matrix_column": (c_void_p, _handle),
    "matrix_destroy": (None, _handle),
    "matrix_row_start": (c_void_p, _handle),
    "matrix_value": (c_void_p, _handle),
    "matrix_values": (c_void_p, _handle),
    "options_destroy": (None, _handle),
    "options_info": (c_int, _handle, c_size_t, POINTER(OptionInfo)),
    "options_used": (c_int, _handle, c_char_p),
    "precond_destroy": (None, _handle),
    "precond_outcome": (c_int, _handle, POINTER(c_index)),
    "processors": (c_int,),
    "reason_text": (c_char_p, c_int),
    "solver_destroy": (None, _handle),
    "solver_explain": (c_char_p, _handle),
    "solver_monitor": (None, _handle, Monitor, c_void_p),
    "solver_report": (c_int, _handle, c_size_t, POINTER(Value)),
    "vector_const_values": (c_void_p, _handle),
    "vector_destroy": (None, _handle),
    "vector_length": (c_int64, _handle),
    "vector_values": (c_void_p, _handle),
    "version": (c_char_p,),
}


def _declared(name: str, result: Any, arguments: Any) -> Any:
    suffix = "_int64" if WIDE and name in ("context_create", "matrix_create") else ""
    try:
        function = getattr(_library, "karst_" + name + suffix)
    except AttributeError:
        raise ImportError(
            f"{path} is not a libkarst of this pykarst: it lacks karst_{name}"
        ) from None
    function.restype, function.argtypes = result, arguments
    return function


# The functions by their names without karst_: karst.solver_solve(...).
karst: Any = SimpleNamespace(
    **{name: _declared(name, c_int, arguments) for name, arguments in _STATUS.items()},
    **{name: _declared(name, result, rest) for name, (result, *rest) in _OTHER.items()},
)


def text(value: bytes | None) -> str:
    """A text of the library; file names in it may have any bytes."""
    return (value or b"").decode("utf-8", "surrogateescape")
