"""Memory of a GPU as other libraries describe it: ``__cuda_array_interface__`` and DLPack.

The sources are version 3 of Numba's CUDA array interface and dlpack.h, version 1.0, of which the
part that is the same in all versions is read here.
"""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_int, c_int32, c_int64, c_uint8, c_uint16, c_uint64, c_void_p
from typing import Any, NamedTuple, Tuple

import numpy as np

from .errors import DeviceError

_CUDA, _CUDA_MANAGED = 2, 13  # DLDeviceType
_TYPES = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}  # DLDataTypeCode, as the letters of NumPy


_pointer = ctypes.PYFUNCTYPE(c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


class Memory(NamedTuple):
    """An array in the memory of a GPU."""

    address: int
    shape: Tuple[int, ...]
    strides: Tuple[int, ...] | None  # in bytes; None: row by row
    type: str  # as NumPy names it, such as "f8"
    stream: int | None  # that of the work on it, a cudaStream_t; None: the work is complete
    owner: Any  # what keeps the memory


class _Tensor(ctypes.Structure):
    """DLTensor."""

    _fields_ = [
        ("data", c_void_p),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("ndim", c_int32),
        ("code", c_uint8),
        ("bits", c_uint8),
        ("lanes", c_uint16),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    ]


def on_gpu(array: Any) -> bool:
    """Whether an array says that it is in the memory of a GPU."""
    if hasattr(array, "__cuda_array_interface__"):
        return True
    device = getattr(array, "__dlpack_device__", None)
    return device is not None and device()[0] in (_CUDA, _CUDA_MANAGED)


def memory(array: Any) -> Memory:
    """Where the elements of an array are. DLPack's producer orders its work into stream 0."""
    interface = getattr(array, "__cuda_array_interface__", None)
    if interface is None:
        return _from_dlpack(array)
    stream = interface.get("stream")
    return Memory(
        interface["data"][0] or 0,
        tuple(interface["shape"]),
        interface.get("strides"),
        interface["typestr"][1:],
        0 if stream == 1 else stream,
        array,
    )


def _from_dlpack(array: Any) -> Memory:
    capsule = array.__dlpack__(stream=1)  # 1 is CUDA's default stream here, and 0 not allowed
    # A DLManagedTensor begins with the tensor. The capsule releases it, as its name stays.
    tensor = _Tensor.from_address(_pointer(capsule, b"dltensor"))
    if tensor.lanes != 1 or tensor.code not in _TYPES:
        raise TypeError(f"an array by DLPack has elements of an unknown type, code {tensor.code}")
    size = tensor.bits // 8
    axes = range(tensor.ndim)
    return Memory(
        (tensor.data or 0) + tensor.byte_offset,
        tuple(tensor.shape[axis] for axis in axes),
        tuple(size * tensor.strides[axis] for axis in axes) if tensor.strides else None,
        f"{_TYPES[tensor.code]}{size}",
        0,
        capsule,
    )


def device_number(address: int) -> int:
    """The number of the GPU that has the memory."""
    number = c_int()
    ordinal = 9  # CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
    _driver("cuPointerGetAttribute", ctypes.byref(number), ordinal, ctypes.c_uint64(address))
    return number.value


def wait_for_stream(stream: int) -> None:
    """Waits for all work in a stream of the current CUDA context."""
    _driver("cuStreamSynchronize", c_void_p(stream))


def host(array: Memory) -> np.ndarray[Any, Any]:
    """A contiguous array, copied to host memory."""
    if array.stream is not None:
        wait_for_stream(array.stream)
    copy = np.empty(array.shape, array.type)
    to, source = c_void_p(copy.ctypes.data), ctypes.c_uint64(array.address)
    _driver("cuMemcpyDtoH_v2", to, source, ctypes.c_size_t(copy.nbytes))
    return copy


def _driver(function: str, *arguments: Any) -> None:
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise DeviceError(
            f"an array is in the memory of a GPU, and this machine has no driver: {error}"
        ) from None
    status = getattr(driver, function)(*arguments)
    if status:
        raise DeviceError(f"{function} of the CUDA driver failed with status {status}")
