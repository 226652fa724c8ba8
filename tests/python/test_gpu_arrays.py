"""Arrays of torch and CuPy are taken; memory of a GPU is refused where there is none."""

import importlib.util

from tap import (
    distance,
    done_testing,
    group,
    np,
    ok,
    raises,
    random_numbers,
    random_system,
    same,
    skip,
    sp,
)
import pykarst

random = random_numbers()
N = 60
A, b = random_system(random, N)
exact = np.linalg.solve(A.toarray(), b)
NEAR = 1e-8  # rtol is 1e-10, and the condition number below 10
GPUS = pykarst.show_config(mode="dicts")["GPUs"]


class Elsewhere:
    """An array in the memory of a GPU that is not there."""

    shape, dtype = (N,), np.dtype(np.float64)

    def __init__(self, **given):
        self.__cuda_array_interface__ = {
            "shape": (N,),
            "typestr": "<f8",
            "data": (4096, False),
            "version": 3,
            **given,
        }


class ByDlpack:
    """One that knows DLPack only."""

    shape, dtype = (N,), np.dtype(np.float64)

    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self, stream=None):
        raise BufferError("no such memory")


class OnTheHost(ByDlpack):
    """DLPack of host memory, which NumPy reads."""

    def __dlpack_device__(self):
        return b.__dlpack_device__()

    def __dlpack__(self, **given):
        return b.__dlpack__(**given)


def without_gpu():
    name = "memory of a GPU is refused where there is none"
    if GPUS:
        skip(name, "there is a GPU")
        return
    for given in ({}, {"shape": (N, 2)}, {"typestr": "<f4"}, {"strides": (16,)}):
        raises(
            pykarst.DeviceError,
            "",
            lambda: pykarst.solve(A, Elsewhere(**given)),
            f"{name}, {given}",
        )
    raises(
        BufferError, "no such memory", lambda: pykarst.solve(A, ByDlpack()), f"{name}, by DLPack"
    )
    with pykarst.Preconditioner(A) as M:
        raises(
            pykarst.DeviceError, "", lambda: M.apply(Elsewhere()), f"{name}, of a preconditioner"
        )


def host():
    if not hasattr(np, "from_dlpack"):
        skip("DLPack of host memory", "this NumPy does not read DLPack")
        return
    x, _ = pykarst.solve(A, OnTheHost(), rtol=1e-10)
    ok(distance(x, exact) < NEAR, "DLPack of host memory")


def torch_tensors():
    if importlib.util.find_spec("torch") is None:
        skip("tensors of torch", "no torch")
        return
    import torch

    for device in ["cpu"] + ["cuda"] * bool(GPUS):
        given = torch.from_numpy(b).to(device)
        csr = torch.sparse_csr_tensor(
            *map(torch.from_numpy, (A.indptr, A.indices, A.data)), A.shape
        ).to(device)
        with pykarst.Solver(csr, rtol=1e-10) as solver:
            x = solver.solve(given)
            ok(
                x.device == given.device and x.dtype == torch.float64,
                f"torch on {device}: x is a tensor",
            )
            ok(distance(x.cpu(), exact) < NEAR, f"torch on {device}: that solves the system")
            x = solver.solve(torch.stack([given, 2 * given], dim=1))
            ok(distance(x[:, 1].cpu(), 2 * exact) < NEAR, f"torch on {device}: columns")
            solver.update(2 * csr.values())
            ok(
                distance(2 * solver.solve(given).cpu(), exact) < NEAR,
                f"torch on {device}: new values",
            )
            solver.update(csr)
            ok(
                distance(solver.solve(given).cpu(), exact) < NEAR,
                f"torch on {device}: those of a matrix",
            )
            raises(
                TypeError,
                "b is sparse",
                lambda: solver.solve(given.to_sparse()),
                f"torch on {device}: sparse b",
            )
            raises(
                TypeError,
                "b is complex",
                lambda: solver.solve(given * 1j),
                f"torch on {device}: complex b",
            )
        diagonal = torch.from_numpy(A.diagonal()).to(device)
        # On a GPU r is the solver's own vector, which M may not change.
        in_place = [lambda r: r.div_(diagonal)] if device == "cpu" else []
        for M in (lambda r: r / diagonal, lambda r: (r / diagonal).tolist(), *in_place):
            x, _ = pykarst.solve(csr, given, rtol=1e-10, M=M)
            ok(distance(x.cpu(), exact) < NEAR, f"torch on {device}: M gets tensors")


def cupy_arrays():
    if importlib.util.find_spec("cupy") is None or not GPUS:
        skip("arrays of CuPy", "no CuPy, or no GPU")
        return
    import cupy
    import cupyx.scipy.sparse as cupy_sparse

    csr, given = cupy_sparse.csr_matrix(A), cupy.asarray(b)
    with pykarst.Solver(csr, rtol=1e-10) as solver:
        x = solver.solve(given)
        ok(
            isinstance(x, cupy.ndarray) and distance(x.get(), exact) < NEAR,
            "CuPy: x is an array that solves it",
        )
        solver.update(2 * csr)
        ok(distance(2 * solver.solve(given).get(), exact) < NEAR, "CuPy: new values")
        ok(distance(2 * solver.solve(b), exact) < NEAR, "CuPy: b in host memory")


def columns():
    array = pykarst.DeviceArray(4096, (N, 2), None, np.float32)
    column = array[:, 1].__cuda_array_interface__
    same(column["typestr"], "<f4", "a column has the type of its array")
    same(column["data"][0], 4096 + 4 * N, "and begins behind the one before")


for checks in (without_gpu, host, columns, torch_tensors, cupy_arrays):
    group(checks)
done_testing()
