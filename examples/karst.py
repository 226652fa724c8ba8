"""Karst from Python: x, result = Solver(A, precond="iluk", level=1).solve(b), A of scipy.sparse in BSR or CSR form with
sorted indices, or any object with such numpy arrays indptr, indices and data. KARST_LIBRARY may name the library."""
import os, numpy as np
from ctypes import CDLL, Structure, byref, c_char_p, c_double, c_int, c_int32, c_int64, c_void_p, util
lib = CDLL(os.environ.get("KARST_LIBRARY") or util.find_library("karst") or "libkarst.so.1")
lib.karst_context_error.restype = lib.karst_solver_explain.restype = c_char_p
wide = "_int64" if hasattr(lib, "karst_context_create_int64") else ""  # with 64-bit indices two names end in this
index, c_index = (np.int64, c_int64) if wide else (np.int32, c_int32)
KINDS = dict(solver="solver", x="vector", b="vector", matrix="matrix", options="options", context="context")
class Result(Structure):  # karst_result
    _fields_ = [*zip(("reason", "iterations", "block_row", "residual", "relative_residual"),
                     (c_int, c_int, c_index, c_double, c_double))]
def array(a, kind=float):  # an address that keeps the array alive; SciPy stores blocks row by row, Karst by columns
    a = np.asarray(np.swapaxes(a, 1, 2) if np.ndim(a) > 2 else a)
    return np.ascontiguousarray(a.astype(kind, casting="same_kind")).ctypes.data_as(c_void_p)  # no complex numbers
class Solver:
    def __init__(self, A, device="cpu", threads=1, **options):
        self.__dict__.update((name, c_void_p()) for name in KINDS)
        if getattr(A, "format", "csr") not in ("csr", "bsr"): raise ValueError("A is to be in CSR form: A.tocsr()")
        rows, b = len(A.indptr) - 1, A.data.shape[1] if A.data.ndim == 3 else 1
        self.shape, self.length = (len(A.indices), b, b), c_int64(rows * b)
        self.make("context", "_create" + wide, None)
        for n, v in ("device", device.encode()), ("threads", threads): self.call("context_set_" + n, self.context, v)
        self.make("options", "_create", self.context)
        for n, v in options.items(): self.call("options_set", self.options, n.encode(), str(v).encode())
        pattern = c_index(rows), b, array(A.indptr, index), array(A.indices, index)  # then 0: KARST_COPY
        self.make("matrix", "_create" + wide, self.context, *pattern, array(np.reshape(A.data, self.shape)), 0)
        for name, size in ("b", self.length), ("x", self.length), ("solver", self.options):
            self.make(name, "_create", self.context, size)
        self.call("solver_setup", self.solver, self.matrix)
    def call(self, name, *arguments):
        if getattr(lib, "karst_" + name)(*arguments): raise RuntimeError(lib.karst_context_error(self.context).decode())
    def make(self, name, verb, *arguments): self.call(KINDS[name] + verb, *arguments, byref(getattr(self, name)))
    def update(self, data):  # new values on the same pattern
        self.call("matrix_update_values", self.matrix, array(np.reshape(data, self.shape)))
        self.call("solver_update", self.solver)
    def solve(self, b):  # x, and how the solve ended: converged where result.reason is above 0
        x, result = np.zeros(self.length.value), Result()
        for v, a in (self.b, np.reshape(b, x.shape)), (self.x, x): self.call("vector_set", v, self.length, array(a))
        self.call("solver_solve", self.solver, self.b, self.x, byref(result))
        self.call("vector_get", self.x, self.length, array(x))
        return x, result
    def __del__(self):
        for name, kind in KINDS.items(): getattr(lib, f"karst_{kind}_destroy")(getattr(self, name))
