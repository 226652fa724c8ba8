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
    rhs = ctypes.c_void_p()
    matrix = ctypes.c_void_p()
    context.check(
        karst.gallery_create(context.address, bytes_of(problem, "problem"), 0, matrix, rhs)
    )
    A, b = _both(context, matrix, rhs)
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
    rhs = ctypes.c_void_p()
    matrix = ctypes.c_void_p()
    name = bytes_of(os.fsdecode(path), "path")
    context.check(karst.matrix_read(context.address, name, whole(block, "block"), matrix))
    status = karst.vector_read_beside(context.address, name, rhs)
    try:
        context.check(status)
    except BaseException:
        karst.matrix_destroy(matrix)
        raise
    return _both(context, matrix, rhs)


def _both(context: Context, matrix: ctypes.c_void_p, rhs: ctypes.c_void_p) -> tuple[Any, Any]:
    assert matrix.value is not None
    A, b = to_scipy(matrix.value), None
    if rhs.value is not None:
        length = karst.vector_length(rhs)
        b = NUMPY.view(karst.vector_values(rhs), (length,)).copy()
        karst.vector_destroy(rhs)
    karst.matrix_destroy(matrix)
    context.close()
    return A, b
