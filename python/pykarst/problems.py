"""Matrices of files and of the gallery, as SciPy has them."""

from __future__ import annotations

import ctypes
import os
from typing import Any

import numpy as np

from .arrays import NUMPY
from .context import Context, bytes_of, whole
from .library import karst
from .matrices import to_scipy


def gallery(problem: str) -> tuple[Any, np.ndarray[Any, Any]]:
    """Makes a model problem, and its right-hand side.

    Parameters
    ----------
    problem : str
        NAME:SIZES[,key=value...], such as "poisson3d:40x40x40" or "blackoil:60x220x10,seed=7".

    Returns
    -------
    A : csr_matrix, or bsr_matrix with the unknowns of a cell
    b : ndarray of shape (n,)
        Ones if the problem has no right-hand side.

    Raises
    ------
    OptionError
        For an unknown problem, with a list of those that are known, and for invalid sizes.
    """
    context = Context("cpu", None, None)
    name = bytes_of(problem, "problem")
    matrix, rhs = ctypes.c_void_p(), ctypes.c_void_p()
    context.check(karst.gallery_create(context.address, name, 0, matrix, rhs))
    context.own("matrix", matrix)
    A, b = _both(context, matrix.value, rhs)
    return A, np.ones(A.shape[0]) if b is None else b


def read(path: str | os.PathLike[str], block: int = 0) -> tuple[Any, Any]:
    """Reads a matrix file, and its right-hand side if there is one beside or in it.

    Parameters
    ----------
    path : str or path
        Matrix Market, an archive of the SuiteSparse collection, PETSc's binary form, Karst's, or
        what OPM Flow and dune-istl write; compressed or not.
    block : int, optional
        Unknowns of a cell; 0: what the file says, else 1.

    Returns
    -------
    A : csr_matrix or bsr_matrix
    b : ndarray of shape (n,) or None
    """
    context = Context("cpu", None, None)
    name = bytes_of(os.fsdecode(path), "path")
    matrix = context.make("matrix_read", context.address, name, whole(block, "block"))
    rhs = ctypes.c_void_p()
    context.check(karst.vector_read_beside(context.address, name, rhs))
    return _both(context, matrix, rhs)


def _both(context: Context, matrix: Any, rhs: ctypes.c_void_p) -> tuple[Any, Any]:
    """Copies of a matrix and of its right-hand side, if there is one. Closes the context."""
    context.own("vector", rhs)
    A, b = to_scipy(matrix), None
    if rhs.value is not None:
        b = NUMPY.view(karst.vector_values(rhs), (karst.vector_length(rhs),)).copy()
    context.close()
    return A, b
