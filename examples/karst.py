"""Karst from Python: x, result = Solver(A, precond="iluk", level=1).solve(b), A of scipy.sparse in BSR or CSR form with
sorted indices, or any object with such numpy arrays indptr, indices and data. KARST_LIBRARY may name the library."""
import os, weakref, numpy as np
from ctypes import CDLL, Structure, byref, c_char_p, c_double, c_int, c_int32, c_int64, c_void_p, util
lib = CDLL(os.environ.get("KARST_LIBRARY") or util.find_library("karst") or "libkarst.so.1")
lib.karst_context_error.restype = lib.karst_solver_explain.restype = c_char_p
# With 64-bit indices the names of two functions end in _int64.
wide, index = ("_int64", c_int64) if hasattr(lib, "karst_context_create_int64") else ("", c_int32)
class Result(Structure):  # karst_result
    _fields_ = [("reason", c_int), ("iterations", c_int), ("block_row", index),
                ("residual", c_double), ("relative_residual", c_double)]
# The address of a copy, which lives as long as the address. Complex numbers are refused.
def array(a, kind=float): return np.asarray(a).astype(kind, "C", "same_kind").ctypes.data_as(c_void_p)
class Solver:
    def __init__(self, A, device="cpu", threads=1, **options):
        if not hasattr(A, "indptr") or getattr(A, "format", "") == "csc": raise ValueError("A has to be CSR: A.tocsr()")
        rows, b = len(A.indptr) - 1, A.data.shape[1] if A.data.ndim == 3 else 1
        self.context, self.shape, self.length = None, (len(A.indices), b, b), c_int64(rows * b)
        self.context = context = self.make("context", "_create" + wide, None)
        for name, v in ("device", device.encode()), ("threads", threads): self.call("context_set_" + name, context, v)
        chosen = self.make("options", "_create", context)
        for name, v in options.items(): self.call("options_set", chosen, name.encode(), str(v).encode())
        pattern = index(rows), b, array(A.indptr, index), array(A.indices, index)
        self.matrix = self.make("matrix", "_create" + wide, context, *pattern, self.values(A.data), 0)  # KARST_COPY
        self.b, self.x = (self.make("vector", "_create", context, self.length) for name in "bx")
        self.solver = self.make("solver", "_create", context, chosen)
        self.call("solver_setup", self.solver, self.matrix)
    def call(self, name, *arguments):
        if getattr(lib, "karst_" + name)(*arguments): raise RuntimeError(lib.karst_context_error(self.context).decode())
    def make(self, kind, verb, *arguments):  # a handle, destroyed before those that were made earlier
        self.call(kind + verb, *arguments, byref(handle := c_void_p()))
        weakref.finalize(self, getattr(lib, f"karst_{kind}_destroy"), handle)
        return handle
    # SciPy stores blocks row by row, Karst column by column.
    def values(self, data): return array(np.reshape(data, self.shape).swapaxes(1, 2))
    def update(self, data):  # new values on the same pattern
        self.call("matrix_update_values", self.matrix, self.values(data))
        self.call("solver_update", self.solver)
    def solve(self, b):  # x, and how the solve ended: converged where result.reason is above 0
        x, result = np.zeros(self.length.value), Result()
        for v, a in (self.b, np.reshape(b, x.shape)), (self.x, x): self.call("vector_set", v, self.length, array(a))
        self.call("solver_solve", self.solver, self.b, self.x, byref(result))
        self.call("vector_get", self.x, self.length, x.ctypes.data_as(c_void_p))
        return x, result
    def explain(self): return lib.karst_solver_explain(self.solver).decode()  # the last solve, in a sentence
