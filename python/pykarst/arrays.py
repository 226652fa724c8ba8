"""Vectors of other libraries in place: their addresses, their streams, and new ones of their kind.

An array is one of NumPy, CuPy or torch, or of any type that has ``__cuda_array_interface__`` or
``__dlpack__``. It is not copied if it is contiguous and in double precision. What is in the memory
of a GPU stays there.
"""

from __future__ import annotations

import ctypes
import math
from typing import Any, Tuple

import numpy as np

from . import dlpack
from .context import Context
from .library import karst

Shape = Tuple[int, ...]


def real(dtype: Any, name: str) -> None:
    """Refuses complex numbers and what is not a number."""
    kind = getattr(dtype, "kind", "f")
    if kind == "c" or getattr(dtype, "is_complex", False):
        raise TypeError(
            f"{name} is complex ({dtype}), and Karst solves real systems only: solve that of twice "
            "the size, [[A.real, -A.imag], [A.imag, A.real]]"
        )
    if kind not in "biuf":
        raise TypeError(f"{name} has the type {dtype}, which is not one of real numbers")


class Numpy:
    """Arrays in host memory, and what the other kinds of arrays have in common."""

    device = "cpu"

    def array(self, array: Any) -> Any:
        """What has a shape, and columns array[:, j]: the array itself if it is of this kind."""
        if type(array) is np.ndarray:
            return array
        if np.ma.is_masked(array):
            raise TypeError("an array has masked elements, which have no value")
        if hasattr(array, "__dlpack__") and not hasattr(array, "__array__"):
            return np.from_dlpack(array)
        return np.asarray(array)

    def double(self, array: Any, name: str) -> Any:
        """The array as contiguous doubles: itself if it is that already."""
        real(array.dtype, name)
        return np.ascontiguousarray(array, np.float64)

    def empty(self, shape: Shape) -> Any:
        """A new array of doubles, whose columns are contiguous."""
        return np.empty(shape, order="F")

    def address(self, array: Any) -> int:
        """Where the first element is."""
        if array.flags.writeable and array.size > 0:  # takes a third of the time of the other way
            return ctypes.addressof(ctypes.c_char.from_buffer(array))
        return int(array.__array_interface__["data"][0])

    def view(self, address: int, shape: Shape) -> Any:
        """Doubles of the library as an array, without a copy."""
        doubles = (ctypes.c_double * math.prod(shape)).from_address(address)
        return np.ctypeslib.as_array(doubles).reshape(shape)

    def stream(self, array: Any) -> int | None:
        """The cudaStream_t of the caller's work on the array; None: there is no such work."""
        return None

    def stream_object(self) -> Any:
        """The caller's current stream, which exists as long as this object; None: there is none."""
        return None

    def wait(self, array: Any) -> None:
        """Waits for the caller's work on the array."""

    def host(self, array: Any) -> Any:
        """The elements in host memory."""
        return np.asarray(array)

    def gather(self, array: Any, entries: Any) -> Any:
        """array[entry] for each entry, and 0 where it is the number of elements."""
        return np.append(array, 0.0)[entries]

    def same(self, one: Any, other: Any) -> bool:
        """Whether two arrays have the same shape and elements."""
        return np.array_equal(one, other)


class Cupy(Numpy):
    """Arrays of CuPy on one GPU."""

    def __init__(self, array: Any) -> None:
        import cupy

        self.cupy = cupy
        self.on = array.device
        self.device = f"cuda:{self.on.id}"

    def array(self, array: Any) -> Any:
        return self.cupy.asarray(array)

    def double(self, array: Any, name: str) -> Any:
        real(array.dtype, name)
        with self.on:
            return self.cupy.ascontiguousarray(array, np.float64)

    def empty(self, shape: Shape) -> Any:
        with self.on:
            return self.cupy.empty(shape, order="F")

    def address(self, array: Any) -> int:
        return int(array.data.ptr)

    def view(self, address: int, shape: Shape) -> Any:
        cuda = self.cupy.cuda
        memory = cuda.UnownedMemory(address, 8 * math.prod(shape), self, self.on.id)
        return self.cupy.ndarray(shape, memptr=cuda.MemoryPointer(memory, 0))

    def stream(self, array: Any) -> int | None:
        return int(self.stream_object().ptr)

    def stream_object(self) -> Any:
        with self.on:
            return self.cupy.cuda.get_current_stream()

    def wait(self, array: Any) -> None:
        self.stream_object().synchronize()

    def host(self, array: Any) -> Any:
        return self.cupy.asnumpy(array)

    def gather(self, array: Any, entries: Any) -> Any:
        return self.cupy.append(array, 0.0)[self.cupy.asarray(entries)]

    def same(self, one: Any, other: Any) -> bool:
        return bool(self.cupy.array_equal(one, other))


class Torch(Numpy):
    """Tensors of torch on one device, in host memory too."""

    def __init__(self, array: Any) -> None:
        import torch

        self.torch = torch
        self.on = array.device
        self.device = f"cuda:{self.on.index}" if self.on.type == "cuda" else "cpu"

    def array(self, array: Any) -> Any:
        if isinstance(array, self.torch.Tensor):
            return array.detach()
        return self.torch.as_tensor(super().array(array), device=self.on)

    def double(self, array: Any, name: str) -> Any:
        real(array.dtype, name)
        if array.layout != self.torch.strided:
            raise TypeError(f"{name} is sparse, and has to be an array: pass {name}.to_dense()")
        return array.to(self.torch.float64).contiguous()

    def empty(self, shape: Shape) -> Any:
        array = self.torch.empty(shape[::-1], dtype=self.torch.float64, device=self.on)
        return array.T if len(shape) == 2 else array

    def address(self, array: Any) -> int:
        return int(array.data_ptr())

    def view(self, address: int, shape: Shape) -> Any:
        if self.device == "cpu":
            return self.torch.from_numpy(super().view(address, shape))
        doubles = DeviceArray(address, (math.prod(shape),), None)
        return self.torch.as_tensor(doubles, device=self.on).reshape(shape)

    def stream(self, array: Any) -> int | None:
        return None if self.device == "cpu" else int(self.stream_object().cuda_stream)

    def stream_object(self) -> Any:
        return None if self.device == "cpu" else self.torch.cuda.current_stream(self.on)

    def wait(self, array: Any) -> None:
        self.stream_object().synchronize()

    def host(self, array: Any) -> Any:
        return array.detach().cpu().numpy()

    def gather(self, array: Any, entries: Any) -> Any:
        padded = self.torch.cat((array, array.new_zeros(1)))
        return padded[self.torch.as_tensor(entries, device=self.on)]

    def same(self, one: Any, other: Any) -> bool:
        return bool(self.torch.equal(one, other))


class DeviceArray:
    """Doubles in the memory of a GPU, for each library that knows ``__cuda_array_interface__``.

    A solve returns it where b is of a library that pykarst does not know: ``cupy.asarray(x)``,
    ``torch.as_tensor(x)`` and ``numba.cuda.as_cuda_array(x)`` use it in place.

    Attributes
    ----------
    shape : tuple of int
    dtype : dtype
    """

    def __init__(self, address: int, shape: Shape, owner: Any, dtype: Any = np.float64) -> None:
        self.shape = shape
        self.dtype = np.dtype(dtype)
        self._address = address
        self._owner = owner  # keeps the memory

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        size = self.dtype.itemsize
        strides = tuple(size * math.prod(self.shape[:axis]) for axis in range(len(self.shape)))
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self._address, False),
            "strides": strides,  # columns are contiguous
            "version": 3,
            "stream": None,  # a call returns once the elements are there
        }

    def __getitem__(self, key: Tuple[slice, int]) -> DeviceArray:
        """Column key[1]; the slice takes all rows."""
        size = self.dtype.itemsize * self.shape[0]
        return DeviceArray(self._address + size * key[1], self.shape[:1], self, self.dtype)


class Device(Numpy):
    """Arrays in the memory of a GPU of which only the description is known."""

    def __init__(self, array: Any) -> None:
        self.device = f"cuda:{dlpack.device_number(dlpack.memory(array).address)}"

    def array(self, array: Any) -> Any:
        memory = dlpack.memory(array)
        rows = DeviceArray(memory.address, memory.shape, memory.owner, memory.type)
        columns = rows.__cuda_array_interface__["strides"]
        if memory.strides is None and min(memory.shape[1:], default=1) > 1:
            raise TypeError("an array in the memory of a GPU has to be stored column by column")
        if memory.strides is not None and len(memory.shape) > 0 and memory.strides != columns:
            raise TypeError("an array in the memory of a GPU has to be contiguous, by columns")
        return rows

    def double(self, array: Any, name: str) -> Any:
        real(array.dtype, name)
        if array.dtype != np.float64:
            raise TypeError(
                f"{name} has the type {array.dtype}, and pykarst converts in the memory of a GPU "
                "only what is of CuPy or torch: pass float64"
            )
        return array

    def gather(self, array: Any, entries: Any) -> Any:
        raise TypeError(
            "a matrix in the memory of a GPU that is not of CuPy or torch has to be CSR with "
            "sorted rows and no block size"
        )

    def host(self, array: Any) -> Any:
        return dlpack.host(dlpack.memory(array))

    def empty(self, shape: Shape) -> Any:
        context = Context(self.device, None, None)
        vector = context.make("vector_create", context.address, math.prod(shape))
        return DeviceArray(karst.vector_values(vector), shape, context)

    def address(self, array: Any) -> int:
        return int(array._address)

    def stream(self, array: Any) -> int | None:
        return dlpack.memory(array).stream

    def wait(self, array: Any) -> None:
        stream = self.stream(array)
        if stream is not None:
            dlpack.wait_for_stream(stream)

    def view(self, address: int, shape: Shape) -> Any:
        return DeviceArray(address, shape, None)


NUMPY = Numpy()


def kind_of(array: Any) -> Numpy:
    """The kind of an array: what knows how to use it."""
    if type(array) is np.ndarray:
        return NUMPY
    library = type(array).__module__.partition(".")[0]
    if library == "cupy":
        return Cupy(array)
    if library == "torch":
        return Torch(array)
    return Device(array) if dlpack.on_gpu(array) else NUMPY
