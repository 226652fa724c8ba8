"""Options of the library, from the arguments of a call."""

from __future__ import annotations

import ctypes
import difflib
import os
from typing import Any, Iterator

import numpy as np

from .context import Context, bytes_of
from .errors import KarstWarning, OptionError, warn
from .library import OptionInfo, karst, text

# Names that other libraries have for the like.
_FOREIGN = {
    "maxiter": "max_iterations",
    "tol": "rtol",
    "drop_tol": "level",
    "fill_factor": "level",
    "restrt": "restart",
    "accel": "solver",
}
_ARGUMENTS = "block callback check device grid history operator threads x0".split()


def make_options(context: Context, chosen: dict[str, Any], solves: bool = True) -> int:
    """Makes a set of options, which has the life of the context.

    Parameters
    ----------
    chosen : dict
        Values by name; first__level stands for first.level, and None for the default.
    solves : bool
        Whether a solver reads them, or a preconditioner alone.
    """
    given = {name: value for name, value in chosen.items() if value is not None}
    precond = given.get("precond", "")
    if not isinstance(precond, str):
        raise TypeError(
            f"precond is of the type {type(precond).__name__}, and has to be a name such as "
            "'iluk': pass x0, M and callback by their names"
        )
    options = _set(context, given)
    solver_alone = None if solves else _set(context, {"precond": "none"})
    for name, value in given.items():
        used = karst.options_used(options, _name(name))
        if solver_alone is not None and name != "precond":
            used = used and not karst.options_used(solver_alone, _name(name))
        if not used:
            sentence = f"{name}={value!r} has no effect: the chosen methods do not read it"
            warn(sentence, KarstWarning)
    return options


def _set(context: Context, given: dict[str, Any]) -> int:
    options = context.make("options_create", context.address)
    for name, value in given.items():
        status = karst.options_set(options, _name(name), _value(value))
        if status and name.partition("__")[0].replace("-", "_") not in _known(context):
            raise OptionError(_unknown(name, list(_known(context))))
        context.check(status)
    return options


def option(context: Context, options: int, name: str) -> str:
    """The value of an option, or its default."""
    value = ctypes.c_char_p()
    context.check(karst.options_get(options, name.encode(), value))
    return text(value.value)


def _known(context: Context) -> Iterator[str]:
    info, i = OptionInfo(), 0
    while karst.options_info(context.address, i, info):
        yield text(info.name).replace("-", "_")
        i += 1


def _unknown(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known + _ARGUMENTS)
    near = [_FOREIGN[name]] if name in _FOREIGN else near
    hint = f": did you mean {near[0]}?" if near else "."
    return f"option {name!r} is unknown{hint} The options are {', '.join(known)}"


def _name(name: str) -> bytes:
    return bytes_of(name.replace("__", "."), "option")


def _value(value: Any) -> bytes:
    if isinstance(value, (bool, np.bool_)):
        return b"yes" if value else b"no"
    if isinstance(value, float):
        return repr(float(value)).encode()
    if isinstance(value, (tuple, list)):  # the sizes of a grid
        return "x".join(map(str, value)).encode()
    return bytes_of(os.fspath(value) if isinstance(value, os.PathLike) else str(value), "value")
