# SPDX-License-Identifier: Apache-2.0
"""Pools of GPU memory (mam.h, pools.h), and the arrays in them.

An array holds a reference to its pool, and a consumer (CuPy, Numba, a DLPack tensor) to the array. So a block is freed
when the last user is gone, or earlier by Pool.free(), which refuses while a DLPack consumer exists.
"""

from __future__ import annotations

import ctypes
import functools
import os
from ctypes import byref, c_size_t, c_void_p
from typing import Any, Dict, List, Optional, Tuple, Union

from mam import dlpack
from mam.native import (
    LIBRARY,
    POOL_VISIT,
    SEGMENT_VISIT,
    Error,
    PoolAttr,
    SegmentInfo,
    Stats,
    SuspendAttr,
    check,
)

Shape = Union[int, Tuple[int, ...]]

_FREE = {"default": 0, "strict": 1, "stream": 2, "deferred": 3}

_DTYPES = {
    "bool": "|b1",
    "int8": "|i1",
    "uint8": "|u1",
    "int16": "<i2",
    "uint16": "<u2",
    "int32": "<i4",
    "uint32": "<u4",
    "int64": "<i8",
    "uint64": "<u8",
    "float16": "<f2",
    "float32": "<f4",
    "float64": "<f8",
    "complex64": "<c8",
    "complex128": "<c16",
}


def _type_string(dtype: Any) -> str:
    """The type string of __array_interface__ for a name, a type string, or a dtype of NumPy."""
    text = getattr(dtype, "str", dtype)  # numpy.dtype
    text = getattr(text, "__name__", text)  # numpy.float32
    name: str = _DTYPES.get(text, text)
    if name not in _DTYPES.values():
        raise Error(f"unknown dtype '{dtype}': use one of {', '.join(_DTYPES)}")
    return name


class Array:
    """A block of a pool as a C-contiguous array; its contents are undefined at first.

    shape: a tuple of int. typestr: the element type, such as "<f4". nbytes: the size in bytes. address: that of the
    first element. stream: the stream (its handle as an int) in whose order the block was allocated and is freed; None:
    none. The attributes __cuda_array_interface__ (version 3) and __dlpack__ share the memory without a copy.
    """

    def __init__(self, pool: "Pool", address: int, shape: Tuple[int, ...], typestr: str, stream: Optional[int]) -> None:
        self.pool = pool
        self.shape = shape
        self.typestr = typestr
        self.stream = stream
        self.nbytes = _size(shape, typestr)
        self._address: Optional[int] = address
        self._exports = 0  # DLPack tensors that use the memory

    @property
    def address(self) -> int:
        """The address of the first element; 0 if the array has no elements."""
        if self._address is None:
            raise Error("the array was freed")
        return self._address

    @property
    def __cuda_array_interface__(self) -> Dict[str, Any]:
        self.pool._must_have_memory()
        return {
            "shape": self.shape,
            "typestr": self.typestr,
            "data": (self.address, False),
            "strides": None,
            "stream": 1 if self.stream == 0 else self.stream,  # there 1 is the legacy default stream
            "version": 3,
        }

    def __dlpack_device__(self) -> Tuple[int, int]:
        return self.pool._must_have_memory(), max(self.pool.device, 0)

    def __dlpack__(self, *, stream: Optional[int] = None, **_: Any) -> Any:
        """A DLPack capsule. stream: that of the consumer; None: the default stream; -1: do not synchronize."""
        if stream != -1 and self.stream is not None and (self.stream or 1) != (stream or 1):
            dlpack.synchronize(self.stream, max(self.pool.device, 0))
        return dlpack.capsule(self)

    def free(self) -> None:
        """Free the block now; pool.free(array) is the same."""
        self.pool.free(self)

    def __del__(self) -> None:
        address, self._address = getattr(self, "_address", None), None
        if address and not self.pool._is_destroyed:
            try:
                self.pool.give(address, self.stream)
            except Error:
                pass  # the context is gone, and its memory with it

    def __repr__(self) -> str:
        place = "freed" if self._address is None else f"at {self._address:#x}"
        return f"<mam.Array {self.shape} {self.typestr} {place}>"


def _size(shape: Tuple[int, ...], typestr: str) -> int:
    size = int(typestr[2:])
    for extent in shape:
        if extent < 0:
            raise Error(f"negative size in the shape {shape}")
        size *= extent
    return size


class Pool:
    """A pool of GPU memory.

    source: where its memory comes from (source.h): "cudamalloc", "vmm", "pinned", "managed"; "host" and "simulated"
        have addresses only and need no GPU.
    device: the CUDA ordinal; None: that of the current context.
    chunk, growth, limit, spare: bytes, as chunk_bytes, growth_bytes, limit_bytes and spare_bytes in mam.h. 0 is the
        default.
    footprint: percent over the live bytes above which the pool uses memory that other streams freed before it grows,
        while the GPU waits for them; 0: only in place of an out-of-memory error.
    granule: the unit of block sizes in bytes, a power of two from 16 to 2 MiB; 0: 512.
    free: when a freed block may be reused: "strict" (the default on a device; a free waits for the GPU), "stream",
        "deferred" or "default".
    cache: whether threads keep freed blocks.
    name: for reports, at most 31 characters.

    Threads need no lock. `with Pool(...) as pool:` destroys the pool at the end of the block; if arrays still exist, it
    allocates no more and is destroyed with the last of them.
    """

    def __init__(
        self,
        source: str = "cudamalloc",
        device: Optional[int] = None,
        *,
        chunk: int = 0,
        growth: int = 0,
        limit: int = 0,
        spare: int = 0,
        footprint: int = 0,
        granule: int = 0,
        free: str = "default",
        cache: bool = True,
        name: Optional[str] = None,
    ) -> None:
        handle = c_void_p()
        attr = _attr(source, device, chunk, growth, limit, spare, footprint, granule, free, cache, name)
        check(LIBRARY.mam_pool_create(byref(attr), byref(handle)), f"cannot create a pool on the source '{source}'")
        self._adopt(handle, True)

    @classmethod
    def default(cls, device: Optional[int] = None) -> "Pool":
        """The default pool of a device (None: the current one), which the adapters use too; mam(7) configures it."""
        handle = c_void_p()
        check(LIBRARY.mam_pool_default(_ordinal(device), byref(handle)), "cannot use the default pool")
        return cls._of(handle)

    @classmethod
    def named(cls, name: str, device: Optional[int] = None, **attributes: Any) -> "Pool":
        """The pool of this name on a device, created by the first call with the attributes of Pool().

        It lives until destroy(), whatever happens to this object.
        """
        handle = c_void_p()
        attr = _attr(**{**_DEFAULTS, **attributes}, device=device)
        status = LIBRARY.mam_pool_named(name.encode(), _ordinal(device), byref(attr), byref(handle))
        check(status, f"cannot use the pool '{name}'")
        return cls._of(handle)

    @classmethod
    def _of(cls, handle: c_void_p) -> "Pool":
        pool = cls.__new__(cls)
        pool._adopt(handle, False)
        return pool

    def _adopt(self, handle: c_void_p, is_owned: bool) -> None:
        self._handle = handle
        self._is_owned = is_owned
        self._is_destroyed = False
        self._is_ending = False
        #: name: for reports. source: as in Pool(). device: the CUDA ordinal; -1: not on a device.
        self.name, self.source, self.device = _describe(handle.value)

    def _must_have_memory(self) -> int:
        """The DLPack type of the pool's memory: CUDA, CUDA host, CUDA managed."""
        kind = dlpack.DEVICE_TYPES.get(self.source)
        if kind is None:
            raise Error(f"the source '{self.source}' has addresses only, which no array can use")
        return kind

    def alloc(
        self, shape: Shape, dtype: Any = "uint8", *, stream: Optional[int] = None, alignment: int = 0
    ) -> Array:
        """Allocate an array.

        shape: the number of elements, or a tuple of extents. dtype: a name such as "float32", or a dtype of NumPy;
        by default the elements are bytes. stream: the handle of the CUDA stream in whose order the memory is used, and
        later freed; 0: the legacy default stream; None: no stream order, so a free follows the pool's policy.
        alignment: of the address in bytes, a power of two, at most with stream None; 0: the granule.

        Raises OutOfMemoryError. Does not wait for the GPU while the pool's source has memory.
        """
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        typestr = _type_string(dtype)
        address = self.take(_size(shape, typestr), stream, alignment)
        return Array(self, address, shape, typestr, stream)

    def free(self, array: Array) -> None:
        """Free an array now, in the order of its stream, or by the pool's policy if it has none."""
        if array._exports:
            raise Error("cannot free an array while DLPack tensors use its memory")
        self.give(array.address, array.stream)
        array._address = None

    def take(self, size: int, stream: Optional[int] = None, alignment: int = 0) -> int:
        """Allocate `size` bytes and return the address, for adapters: nothing frees the block automatically."""
        if self._is_ending:
            raise Error(f"the pool '{self.name}' has ended", "MAM_ERROR_DESTROYED")
        block = c_void_p()
        if stream is None:
            status = LIBRARY.mam_malloc_aligned(self._handle, size, alignment or 1, byref(block))
        elif alignment:
            raise Error("cannot align a stream-ordered block: leave out the alignment or the stream")
        else:
            status = LIBRARY.mam_malloc_async(self._handle, size, stream, byref(block))
        check(status, f"cannot allocate {size} bytes from the pool '{self.name}'")
        return block.value or 0

    def give(self, address: int, stream: Optional[int] = None) -> None:
        """Free the block at an address; take() describes `stream`."""
        if stream is None:
            status = LIBRARY.mam_free(self._handle, address)
        else:
            status = LIBRARY.mam_free_async(self._handle, address, stream)
        check(status, f"cannot free the block at {address:#x} of the pool '{self.name}'")
        if self._is_ending:
            self._end()

    def stats(self) -> Stats:
        """The pool's counters now. `with pool.stats() as period:` leaves those of the block in `period`."""
        return Stats(self._handle)

    @property
    def limit(self) -> int:
        """The maximum size of the pool in bytes; 0: no limit. It can be set at any time (mam_pool_set_limit)."""
        value = c_size_t()
        check(LIBRARY.mam_pool_limit(self._handle, byref(value)), "cannot read the pool's limit")
        return value.value

    @limit.setter
    def limit(self, size: int) -> None:
        check(LIBRARY.mam_pool_set_limit(self._handle, size), f"cannot limit the pool to {size} bytes")

    def reserve(self, size: int) -> None:
        """Ensure that a block of `size` bytes can be allocated next without a call to the driver."""
        check(LIBRARY.mam_pool_reserve(self._handle, size), f"cannot reserve {size} bytes")

    def trim(self, keep: int = 0) -> int:
        """Return free memory to the driver while the pool keeps `keep` bytes; returns the released bytes."""
        released = c_size_t()
        check(LIBRARY.mam_pool_trim(self._handle, keep, byref(released)), "cannot trim the pool")
        return released.value

    def suspend(self, folder: Optional[str] = None, discard: bool = False, lazy: bool = False) -> None:
        """Release the pool's device memory until resume(); the addresses of its blocks stay.

        Contents are kept in pinned host memory, or in a file in `folder`, or are discarded. lazy: only when another
        pool needs the memory. Only pools on the source vmm can be suspended (mam_pool_suspend)."""
        place = os.fsencode(folder) if folder is not None else None
        attr = SuspendAttr(ctypes.sizeof(SuspendAttr), place, discard, lazy)
        check(LIBRARY.mam_pool_suspend(self._handle, byref(attr)), f"cannot suspend the pool '{self.name}'")

    def resume(self) -> None:
        """Map the memory of a suspended pool again, with its contents. If it raises an error, nothing is lost, and it
        can be called again."""
        check(LIBRARY.mam_pool_resume(self._handle), f"cannot resume the pool '{self.name}'")

    def unpin(self) -> int:
        """Free the pinned host memory that the pool keeps after resume() for its next suspend(), and return its
        bytes."""
        released = c_size_t()
        check(LIBRARY.mam_pool_unpin(self._handle, byref(released)), "cannot unpin the pool's host memory")
        return released.value

    def segments(self) -> List[Dict[str, Union[int, bool]]]:
        """Every segment in address order, a dict each: base, bytes, requested, live, retired, chunk_base,
        chunk_bytes (struct mam_segment_info). pandas.DataFrame(pool.segments()) is a table of the pool."""
        found = []

        def visit(segment: Any, _: Any) -> bool:
            values = ((name, getattr(segment.contents, name)) for name, *_ in SegmentInfo._fields_[1:])
            found.append({name: 0 if value is None else value for name, value in values})
            return True

        check(LIBRARY.mam_pool_walk(self._handle, SEGMENT_VISIT(visit), None), "cannot list the pool's segments")
        return found

    def check(self) -> None:
        """Check every invariant of the pool's metadata; raises Error if one is violated."""
        why = ctypes.create_string_buffer(256)
        status = LIBRARY.mam_pool_check(self._handle, why, len(why))
        check(status, f"the pool is inconsistent ({why.value.decode()})" if why.value else "cannot check the pool")

    def destroy(self) -> None:
        """Return all memory to the driver and end the pool; raises Error while it has live blocks."""
        check(LIBRARY.mam_pool_destroy(self._handle), f"cannot destroy the pool '{self.name}'")
        self._is_destroyed = True

    def __enter__(self) -> "Pool":
        return self

    def __exit__(self, *error: Any) -> None:
        self._is_ending = True
        self._end()

    def _end(self) -> None:
        """Destroy the pool unless it has live blocks; the free of the last one tries again."""
        if not self._is_destroyed and LIBRARY.mam_pool_destroy(self._handle) == 0:
            self._is_destroyed = True

    def __del__(self) -> None:
        if getattr(self, "_is_owned", False) and not self._is_destroyed:
            LIBRARY.mam_pool_destroy(self._handle)

    def __repr__(self) -> str:
        return f"<mam.Pool '{self.name}' on {self.source}, device {self.device}>"


_DEFAULTS: Dict[str, Any] = dict(
    source="cudamalloc", chunk=0, growth=0, limit=0, spare=0, footprint=0, granule=0, free="default",
    cache=True, name=None
)


def _ordinal(device: Optional[int]) -> int:
    return -1 if device is None else device


def _attr(
    source: str, device: Optional[int], chunk: int, growth: int, limit: int, spare: int, footprint: int, granule: int,
    free: str, cache: bool, name: Optional[str],
) -> PoolAttr:
    if free not in _FREE:
        raise Error(f"unknown free policy '{free}': use one of {', '.join(_FREE)}")
    sizes = dict(chunk=chunk, growth=growth, limit=limit, spare=spare, footprint=footprint, granule=granule)
    for what, size in sizes.items():
        if size < 0:
            raise Error(f"{what} is negative: {size}")
    return PoolAttr(
        size=ctypes.sizeof(PoolAttr),
        source=source.encode(),
        device=_ordinal(device),
        chunk_bytes=chunk,
        growth_bytes=growth,
        limit_bytes=limit,
        granule=granule,
        free_policy=_FREE[free],
        name=name.encode() if name else None,
        cache=1 if cache else 2,
        spare_bytes=spare,
        footprint=footprint,
    )


@functools.lru_cache(maxsize=64)
def _describe(handle: int) -> Tuple[str, str, int]:
    """The name, the source and the device of a pool, which never change; a handle is never reused."""
    found = []

    def visit(info: Any, _: Any) -> bool:
        if info.contents.pool == handle:
            found.append((info.contents.name.decode(), info.contents.source.decode(), info.contents.device))
        return not found

    check(LIBRARY.mam_pool_each(POOL_VISIT(visit), None), "cannot list the pools")
    if not found:
        raise Error("the pool was destroyed", "MAM_ERROR_DESTROYED")
    return found[0]
