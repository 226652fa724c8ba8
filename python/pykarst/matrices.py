"""Sparse matrices of SciPy, CuPy and torch as block rows, the form that Karst works on.

Karst stores a block column by column, SciPy row by row. A list of entry numbers maps values
of SciPy to Karst's, so that new ones on the same pattern cost one pass over them. Sorted rows
without duplicates need no list: the values of CSR are used where they are.
"""

from __future__ import annotations

import ctypes
import math
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from .arrays import NUMPY, Numpy, kind_of, real
from .context import whole
from .errors import MatrixError, warn
from .library import INDEX, karst


class Source(NamedTuple):
    """A compressed sparse matrix of any library."""

    kind: Numpy
    format: str  # csr, csc or bsr
    start: Any  # as SciPy's indptr, indices and data
    index: Any
    data: Any  # of shape (entries,), or (blocks, block, block) for bsr
    rows: int
    block: int


def is_matrix(A: Any) -> bool:
    """Whether A is a sparse matrix, of a library or by its attributes."""
    return sp.issparse(A) or hasattr(A, "indptr") or _is_torch(A) or hasattr(A, "tocsr")


def _is_torch(A: Any) -> bool:
    return type(A).__module__.partition(".")[0] == "torch" and "sparse" in str(A.layout)


def _square(shape: Any) -> int:
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(f"A has the shape {tuple(shape)}, and has to be square")
    return int(shape[0])


def _length(array: Any) -> int:
    return int(kind_of(array).array(array).shape[0])


def _note(what: str) -> None:
    warn(
        f"A is converted from {what} to CSR: pass a CSR or BSR array to save this",
        sp.SparseEfficiencyWarning,
    )


def source(A: Any) -> Source:
    """Any sparse matrix or dense array as a compressed one; a note says what was converted."""
    if _is_torch(A):
        return _torch(A)
    if not hasattr(A, "indptr"):
        if hasattr(A, "tocsr"):
            real(A.dtype, "A")
            _note(getattr(A, "format", type(A).__name__).upper())
            A = A.tocsr()
        else:
            if A is None or isinstance(A, (str, bytes)):
                raise TypeError(
                    f"A is of the type {type(A).__name__}, and has to be a sparse matrix: "
                    "pykarst.read and pykarst.gallery make one of a name"
                )
            if callable(A):
                raise TypeError("A is a function, without a shape: pass a LinearOperator")
            dense = NUMPY.array(A)
            real(dense.dtype, "A")
            _square(dense.shape)
            _note("a dense array")
            A = sp.csr_matrix(dense)
    kind = kind_of(A.data)
    data = kind.array(A.data)
    real(data.dtype, "A")
    form = getattr(A, "format", "bsr" if len(data.shape) == 3 else "csr")
    block = 1
    if form == "bsr":
        block = data.shape[1]
        if block != data.shape[2]:
            _note(f"blocks of {block} by {data.shape[2]}")
            return source(A.tocsr())
    # An object that has the three arrays alone is square.
    if form not in ("csr", "csc", "bsr"):
        raise TypeError(f"A has the format {form}: pass a CSR, CSC or BSR array")
    rows = _square(A.shape) if hasattr(A, "shape") else (_length(A.indptr) - 1) * block
    return Source(kind, form, A.indptr, A.indices, data, rows, block)


def _torch(A: Any) -> Source:
    form = str(A.layout).rpartition("_")[2]
    rows = _square(A.shape)
    real(A.dtype, "A")
    A = A.detach()
    if form not in ("csr", "csc", "bsr"):
        _note(f"torch.sparse_{form}")
        A, form = A.to_sparse_csr(), "csr"
    start, index = (
        (A.ccol_indices, A.row_indices) if form == "csc" else (A.crow_indices, A.col_indices)
    )
    data = A.values()
    block = int(data.shape[1]) if form == "bsr" else 1
    return Source(kind_of(data), form, start(), index(), data, rows, block)


class BlockRows:
    """The pattern of a matrix in block rows, and how values of its source get there.

    Parameters
    ----------
    given : Source
    block : int or None
        Unknowns of a cell; None: the blocks of a BSR matrix, else 1.

    Attributes
    ----------
    rows, block : int
        Scalar rows, and the size of a block.
    start, column : ndarray
        Of shape (rows / block + 1,) and (blocks,), in host memory; copies.
    """

    def __init__(self, given: Source, block: int | None) -> None:
        self.kind = given.kind
        self.rows = given.rows
        self.block = given.block if block is None else whole(block, "block")
        if self.block < 1 or self.rows % self.block:
            raise ValueError(f"block={block} does not divide the {self.rows} rows of A")
        start, index = (np.array(kind_of(array).host(array)) for array in given[2:4])
        _check(start, index, given)
        # What update compares new matrices with, where they are.
        self._form = given.format, given.block
        self._pattern = (start, index) if given.kind.device == "cpu" else (given.start, given.index)
        self._shape = tuple(given.data.shape)
        self._slots: Any = None  # for each entry its place among those without duplicates
        self._entries: Any = None  # for each scalar of a block the number of its entry
        in_rows = given.format != "csc" and self.block == given.block
        if in_rows and _is_canonical(start, index):
            self.start, self.column = start, index
        else:
            self.start, self.column = self._convert(start, index, given)
        if self.column.size > np.iinfo(INDEX).max:
            raise OverflowError(
                f"A has {self.column.size} blocks, and this libkarst counts with {INDEX}: build "
                "one with --enable-int64"
            )
        self.start, self.column = self.start.astype(INDEX), self.column.astype(INDEX)

    def _convert(self, start: Any, index: Any, given: Source) -> tuple[Any, Any]:
        """The pattern of another form or block size, with the list of entry numbers."""
        make = {"csr": sp.csr_matrix, "csc": sp.csc_matrix, "bsr": sp.bsr_matrix}[given.format]
        numbers = np.arange(1, math.prod(self._shape) + 1).reshape(self._shape)
        B = make((numbers, index, start), shape=(self.rows, self.rows), copy=True)
        B.sort_indices()
        if given.format != "bsr" or self.block != given.block or not B.has_canonical_format:
            B = B.tocsr()
            B.sort_indices()
            if not B.has_canonical_format:
                B = self._without_duplicates(B)
            if self.block > 1:
                B = B.tobsr((self.block, self.block))
                B.sort_indices()
        # Entry 0 is a zero that fills up a block. It becomes -1, and gather appends a zero there.
        blocks = B.data.reshape(-1, self.block, self.block) - 1
        self._entries = np.ascontiguousarray(blocks.swapaxes(1, 2))
        return B.indptr, B.indices

    def _without_duplicates(self, B: Any) -> Any:
        """Adds entries of one row and column up, in the order of the source."""
        if self.kind is not NUMPY:
            raise ValueError("A has several entries of one row and column: A.sum_duplicates()")
        row = np.repeat(np.arange(self.rows), np.diff(B.indptr))
        first = np.ones(B.nnz, bool)
        first[1:] = (row[1:] != row[:-1]) | (B.indices[1:] != B.indices[:-1])
        self._slots = np.empty(B.nnz, np.int64)
        self._slots[B.data - 1] = np.cumsum(first) - 1
        numbers = np.arange(1, first.sum() + 1)
        start = np.concatenate(([0], np.cumsum(first)))[B.indptr]
        return sp.csr_matrix((numbers, B.indices[first], start), shape=B.shape)

    @property
    def in_place(self) -> bool:
        """Whether the source's values are those of the blocks, in their order."""
        return self._entries is None and self.block == 1

    def of(self, given: Any) -> Any:
        """Values of a matrix of the same form and pattern, or given as those of such a matrix."""
        return self.place(self._data(source(given)) if is_matrix(given) else given)

    def place(self, data: Any) -> Any:
        """Values for the blocks, of shape (blocks, block, block), from those of the source.

        They stay in the same memory where the layouts are equal, and on the same device always.
        """
        kind = kind_of(data)
        data = kind.double(kind.array(data), "values")
        if math.prod(data.shape) != math.prod(self._shape):
            raise ValueError(f"values has the shape {tuple(data.shape)}, and A has {self._shape}")
        if self._slots is not None:
            data = np.bincount(self._slots, data.reshape(-1))
        if self._entries is not None:
            return kind.gather(data.reshape(-1), self._entries)
        if self.block == 1:
            return data
        return data.reshape(-1, self.block, self.block).swapaxes(1, 2)

    def _data(self, given: Source) -> Any:
        form = given.format, given.block
        same = form == self._form and given.kind.device == self.kind.device
        kind, pattern = given.kind, (given.start, given.index)
        if kind.device == "cpu":
            kind, pattern = NUMPY, (kind.host(given.start), kind.host(given.index))
        if not same or given.rows != self.rows or not all(map(kind.same, pattern, self._pattern)):
            raise ValueError(
                "A has another pattern or form than the matrix of the set-up: make a new solver"
            )
        return given.data


def _check(start: Any, index: Any, given: Source) -> None:
    """Refuses a pattern that SciPy's conversions would follow out of its arrays."""
    for array, name in ((start, "indptr"), (index, "indices")):
        if array.ndim != 1 or array.dtype.kind not in "iu":
            raise TypeError(
                f"A.{name} has the type {array.dtype} and the shape {array.shape}, "
                "and has to be a list of whole numbers"
            )
    rows, entries = given.rows // given.block, len(index)
    ndim = 3 if given.format == "bsr" else 1
    if len(given.data.shape) != ndim or given.data.shape[0] != entries:
        raise ValueError(f"A.data has the shape {tuple(given.data.shape)} for {entries} indices")
    if len(start) != rows + 1 or rows * given.block != given.rows:
        raise ValueError(
            f"A.indptr has {len(start)} entries for {rows} rows: it has to have {rows + 1}"
        )
    steps = np.diff(start.astype(np.int64))
    if start[0] != 0 or start[-1] != entries or (steps < 0).any():
        raise MatrixError(f"A.indptr has to ascend from 0 to the number of indices, {entries}")
    wrong = (index < 0) | (index >= rows)
    if wrong.any():
        first = int(wrong.argmax())
        row = int(np.searchsorted(start, first, side="right")) - 1
        line = "column" if given.format == "csc" else "block row"
        raise MatrixError(f"{line} {row} of A has the index {index[first]}, out of {rows}")


def _is_canonical(start: Any, index: Any) -> bool:
    """Whether indices ascend strictly in each row."""
    ascends = index[1:] > index[:-1]
    begins = start[(start > 0) & (start < len(index))]
    ascends[begins - 1] = True  # from one row to the next
    return bool(ascends.all())


def to_scipy(matrix: int) -> Any:
    """A matrix of the library as SciPy's CSR, or BSR with its blocks; a copy."""
    block, rows = karst.matrix_block_size(matrix), karst.matrix_block_rows(matrix)
    blocks = karst.matrix_blocks(matrix)
    start = _copy(karst.matrix_row_start(matrix), rows + 1, INDEX)
    column = _copy(karst.matrix_column(matrix), blocks, INDEX)
    value = _copy(karst.matrix_value(matrix), blocks * block * block, np.dtype(np.float64))
    shape = (rows * block, rows * block)
    if block == 1:
        return sp.csr_matrix((value, column, start), shape=shape)
    data = value.reshape(-1, block, block).swapaxes(1, 2).copy()
    return sp.bsr_matrix((data, column, start), shape=shape)


def _copy(address: int, count: int, dtype: Any) -> Any:
    buffer = (ctypes.c_char * (count * dtype.itemsize)).from_address(address) if count else b""
    return np.frombuffer(buffer, dtype).copy()
