"""Arrays of CuPy, torch and others in the memory of a GPU are used there, on their streams."""

from __future__ import annotations

import json
import os
import tempfile
from typing import Any, Callable

import tap

import numpy as np
import pykarst

try:
    import cupy
    import cupyx.scipy.sparse as cupy_sparse
    import torch
    from torch.profiler import ProfilerActivity, profile
except ImportError as error:
    tap.skip_all(f"no {error.name}")
if not torch.cuda.is_available() or not pykarst.show_config("dicts")["GPUs"]:
    tap.skip_all("no GPU, or this libkarst was built without CUDA")

A, b = pykarst.gallery("poisson3d:20x20x20")
n = A.shape[0]
expected, _ = pykarst.solve(A, b, rtol=1e-10)
on_gpu, right = cupy_sparse.csr_matrix(A), cupy.asarray(b)


def near(x: Any, factor: float = 1) -> bool:
    """Whether x, of any library, is the factor times the solution."""
    x = x.cpu() if isinstance(x, torch.Tensor) else x
    host = cupy.asnumpy(cupy.asarray(x)) if hasattr(x, "__cuda_array_interface__") else x
    return tap.distance(host, factor * expected) < 1e-7


def host_bytes(call: Callable[[], Any]) -> int:
    """The bytes that a call copies between host and device, as CUPTI counts them."""
    call()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiled:
        call()
        torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        profiled.export_chrome_trace(path)
        with open(path, encoding="utf-8") as trace:
            events = json.load(trace)["traceEvents"]
    copies = [event for event in events if event.get("cat") == "gpu_memcpy"]
    tap.note(f"{len(copies)} copies: {sum(event['args']['bytes'] for event in copies)} bytes")
    return sum(
        event["args"]["bytes"]
        for event in copies
        if "HtoD" in event["name"] or "DtoH" in event["name"]
    )


class Described:
    """An array of a library that is not known: by __cuda_array_interface__."""

    def __init__(self, array: Any) -> None:
        self.__cuda_array_interface__ = array.__cuda_array_interface__


class Exchanged:
    """An array of a library that is not known: by DLPack."""

    def __init__(self, array: Any) -> None:
        self.__dlpack__, self.__dlpack_device__ = array.__dlpack__, array.__dlpack_device__


def arrays() -> None:
    """Each kind of b gives an x of its kind, and no vector goes through the host."""
    solver = pykarst.Solver(on_gpu, rtol=1e-10)
    tensor = torch.as_tensor(right, device="cuda")
    kinds = (
        (right, cupy.ndarray),
        (tensor, torch.Tensor),
        (Described(right), pykarst.DeviceArray),
        (Exchanged(tensor), pykarst.DeviceArray),
    )
    for given, kind in kinds:
        name = type(given).__name__
        x = solver.solve(given)
        tap.ok(isinstance(x, kind) and near(x), f"{name}: x is the solution, as {kind.__name__}")
        copied = host_bytes(lambda given=given: solver.solve(given))
        tap.ok(copied < 1000, f"{name}: no vector is copied through the host")
    tap.ok(near(solver.solve(right, cupy.asarray(expected))), "x0")
    tap.ok(near(solver.solve(b)), "b in host memory has its x there")
    two = solver.solve(cupy.stack([right, 2 * right], axis=1))
    tap.ok(near(two[:, 0]) and near(two[:, 1], 2), "two columns of CuPy")
    two = solver.solve(torch.stack([tensor, 2 * tensor], dim=1))
    tap.ok(near(two[:, 0]) and near(two[:, 1], 2), "two columns of torch")


def streams() -> None:
    """Work that is queued on another stream is done before it is read."""
    solver = pykarst.Solver(on_gpu, rtol=1e-10)
    with cupy.cuda.Stream(non_blocking=True):
        sum_of_parts = cupy.zeros_like(right)
        for _ in range(200):
            sum_of_parts += right / 200
        tap.ok(near(solver.solve(sum_of_parts)), "b on another stream of CuPy")
        on_stream = pykarst.Solver(on_gpu, rtol=1e-10)
        tap.ok(near(on_stream.solve(right)), "a solver on that stream")
    tap.ok(near(on_stream.solve(right)), "which the solver keeps")
    on_stream.close()
    with torch.cuda.stream(torch.cuda.Stream()):
        tensor = torch.zeros(n, dtype=torch.float64, device="cuda")
        for _ in range(200):
            tensor += torch.as_tensor(right, device="cuda") / 200
        tap.ok(near(solver.solve(tensor)), "b on another stream of torch")


def matrices() -> None:
    """Matrices of CuPy and torch, and new values for them, by blocks too."""
    for form in ("csr", "csc"):
        x, _ = pykarst.solve(on_gpu.asformat(form), right, rtol=1e-10)
        tap.ok(near(x), f"CuPy's {form}")
    index = torch.tensor(A.indptr), torch.tensor(A.indices)
    tensor = torch.sparse_csr_tensor(*index, torch.tensor(A.data)).cuda()
    for name, matrix in (("CuPy", on_gpu), ("torch", tensor)):
        solver = pykarst.Solver(matrix, rtol=1e-10)
        copied = host_bytes(lambda: solver.update(matrix))
        tap.ok(copied < 1000, f"{name}: no value is copied through the host for an update")
        solver.update(2 * matrix)
        tap.ok(near(solver.solve(right), 0.5), f"{name}: an update is used")
    blocks, rhs = pykarst.gallery("blackoil:6x6x4")
    inside, _ = pykarst.solve(blocks, rhs, rtol=1e-11)
    index = torch.tensor(blocks.indptr), torch.tensor(blocks.indices)
    tensor = torch.sparse_bsr_tensor(*index, torch.tensor(blocks.data), size=blocks.shape).cuda()
    gathered = cupy_sparse.csr_matrix(blocks.tocsr())
    for name, matrix, block in (("torch's bsr", tensor, None), ("CuPy, block=3", gathered, 3)):
        x, _ = pykarst.solve(matrix, cupy.asarray(rhs), "cpr", block, rtol=1e-11)
        tap.ok(tap.distance(cupy.asnumpy(x), inside) < 1e-6, name)


def functions() -> None:
    """Functions get arrays of A's library, in place."""
    solver = pykarst.Solver(on_gpu, M=lambda r: r / 6, rtol=1e-10)
    tap.ok(near(solver.solve(right)), "a preconditioner of CuPy")
    tap.ok(host_bytes(lambda: solver.solve(right)) < 1000, "no vector is copied for it")
    x, _ = pykarst.solve(on_gpu, right, operator=lambda v: on_gpu @ v, rtol=1e-10)
    tap.ok(near(x), "an operator of CuPy")
    x, _ = pykarst.solve(A, b, device="cuda", M=lambda r: r / 6, rtol=1e-10)
    tap.ok(near(x), "a preconditioner of NumPy for a solver on a GPU")
    M = pykarst.Preconditioner(on_gpu)
    tap.ok(isinstance(M.apply(right), cupy.ndarray), "M^-1 r of CuPy")


def refusals() -> None:
    """What cannot be done in place is refused."""
    tap.raises(
        ValueError, "works on cpu", lambda: pykarst.Solver(A).solve(right), "b on a GPU, A is not"
    )
    tap.raises(
        TypeError, "float64", lambda: pykarst.solve(A, Described(right.astype("f4"))), "float32"
    )
    tap.raises(TypeError, "complex", lambda: pykarst.solve(on_gpu * 1j, right), "complex")
    tap.raises(
        pykarst.DeviceError, "cuda:99", lambda: pykarst.Solver(A, device="cuda:99"), "no such GPU"
    )


for check in (arrays, streams, matrices, functions, refusals):
    tap.group(check)
tap.done_testing()
