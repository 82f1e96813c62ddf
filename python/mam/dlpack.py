# SPDX-License-Identifier: Apache-2.0
"""DLPack capsules of arrays, made with ctypes.

1. capsule() allocates a DLManagedTensor, and holds it and its array in _exported under its address.
2. A consumer takes the tensor out of the capsule and renames the capsule to "used_dltensor". It calls the tensor's
   deleter when it is done, which removes the entry.
3. A capsule that no consumer took is destroyed with its old name; then its destructor calls the deleter.

Invariant: an array's _exports is the number of its tensors in _exported.
"""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_char_p, c_int, c_int32, c_int64, c_uint8, c_uint16, c_uint64, c_void_p, py_object
from typing import Any, Dict, Tuple

from mam.native import Error

#: kDLCUDA, kDLCUDAHost and kDLCUDAManaged, by source.
DEVICE_TYPES = {"cudamalloc": 2, "vmm": 2, "pinned": 3, "managed": 13}

_CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
_NAME = b"dltensor"
_INVALID_CONTEXT = 201  # CUDA_ERROR_INVALID_CONTEXT


class _Tensor(ctypes.Structure):
    """DLManagedTensor, with the DLTensor at its beginning."""

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
        ("manager_ctx", c_void_p),
        ("deleter", c_void_p),
    ]


_exported: Dict[int, Tuple[_Tensor, Any]] = {}


def _delete(tensor: int) -> None:
    entry = _exported.pop(tensor, None)
    if entry:
        entry[1]._exports -= 1


_new = ctypes.pythonapi.PyCapsule_New
_new.restype, _new.argtypes = py_object, [c_void_p, c_char_p, c_void_p]
# The destructor gets a capsule whose reference count is 0, which must not become a Python object again.
_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.restype, _is_valid.argtypes = c_int, [c_void_p, c_char_p]
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = c_void_p, [c_void_p, c_char_p]


def _destroy(capsule: int) -> None:
    if _is_valid(capsule, _NAME):
        _delete(_pointer(capsule, _NAME))


_DELETER = ctypes.CFUNCTYPE(None, c_void_p)(_delete)
_DESTRUCTOR = ctypes.PYFUNCTYPE(None, c_void_p)(_destroy)


def capsule(array: Any) -> Any:
    """A new capsule of an array of mam.pool."""
    device_type, device = array.__dlpack_device__()
    count = len(array.shape)
    tensor = _Tensor(
        data=array.address,
        device_type=device_type,
        device_id=device,
        ndim=count,
        code=_CODES[array.typestr[1]],
        bits=8 * int(array.typestr[2:]),
        lanes=1,
        shape=(c_int64 * count)(*array.shape),
        strides=None,  # C-contiguous
        deleter=ctypes.cast(_DELETER, c_void_p),
    )
    address = ctypes.addressof(tensor)
    _exported[address] = (tensor, array)
    array._exports += 1
    return _new(address, _NAME, ctypes.cast(_DESTRUCTOR, c_void_p))


def synchronize(stream: int, device: int) -> None:
    """Wait for a stream, so that a consumer on another stream sees its work.

    A default stream is that of the thread's context; without one, that of the primary context of the device.
    """
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise Error(f"cannot wait for the stream: {error}", "MAM_ERROR_NO_DEVICE") from None
    status = driver.cuStreamSynchronize(c_void_p(stream))
    if status == _INVALID_CONTEXT:
        context = c_void_p()
        status = driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
        if status == 0:
            status = driver.cuCtxPushCurrent_v2(context) or driver.cuStreamSynchronize(c_void_p(stream))
            driver.cuCtxPopCurrent_v2(ctypes.byref(context))
            driver.cuDevicePrimaryCtxRelease_v2(device)
    if status != 0:
        raise Error(f"cannot wait for the stream {stream:#x}: the CUDA driver returned {status}", "MAM_ERROR_DRIVER")
