# SPDX-License-Identifier: Apache-2.0
"""libmam through ctypes: the library, its structs, and its errors as exceptions.

The library is the one in this package, otherwise the one that the dynamic linker finds. It needs no GPU to load. Each
function of LIBRARY that returns an enum mam_status raises through check(); ctypes releases the interpreter's lock
during each call.
"""

from __future__ import annotations

import ctypes
import os
from ctypes import POINTER, byref, c_bool, c_char_p, c_int, c_size_t, c_uint64, c_void_p
from typing import Optional

_TREE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "prefix")

#: The folder with bin/, lib/ and include/ of this package; None if the package uses the system's mam.
PREFIX: Optional[str] = _TREE if os.path.isdir(_TREE) else None


class Error(Exception):
    """A call of mam failed. `status` is the name of the cause, as in mam.h: "MAM_ERROR_DOUBLE_FREE"."""

    def __init__(self, message: str, status: str = "MAM_ERROR_INVALID_VALUE") -> None:
        super().__init__(message)
        self.status = status


class OutOfMemoryError(Error, MemoryError):
    """The pool has no memory for a request, and neither have its source, its limit or its quota."""


class Stats:
    """The counters of a pool, in bytes unless their name says otherwise; mam/stats.h explains each.

    dict(stats) gives the same values, so pandas.DataFrame([stats, ...]) has a column for each. As a context manager,
    the object begins a period: after the block, counts of operations and peaks cover the block alone.
    """

    live_blocks: int
    live_bytes: int
    live_rounded_bytes: int
    peak_live_blocks: int
    peak_live_bytes: int
    peak_live_rounded_bytes: int
    chunks: int
    reserved_bytes: int
    peak_reserved_bytes: int
    high_water_bytes: int
    segments: int
    free_blocks: int
    free_block_bytes: int
    largest_free_block_bytes: int
    largest_free_bytes: int
    allocs: int
    frees: int
    failures: int
    grows: int
    shrinks: int
    host_bytes: int
    retired_blocks: int
    retired_bytes: int
    peak_retired_bytes: int
    physical_bytes: int
    peak_physical_bytes: int
    remaps: int
    driver_calls: int
    driver_ns: int
    cached_blocks: int
    cached_bytes: int
    suspended_bytes: int

    def __init__(self, pool: "c_void_p") -> None:
        self._pool = pool
        self._read("mam_pool_stats")

    def _read(self, function: str) -> None:
        values = StatsStruct(size=ctypes.sizeof(StatsStruct))
        check(getattr(LIBRARY, function)(self._pool, byref(values)), "cannot read the pool's statistics")
        for name in self.keys():
            setattr(self, name, getattr(values, name))

    def keys(self) -> "list[str]":
        """The names of the counters, in the order of mam/stats.h."""
        return list(Stats.__annotations__)

    def __getitem__(self, name: str) -> int:
        value: int = getattr(self, name)
        return value

    def __enter__(self) -> "Stats":
        check(LIBRARY.mam_stats_push(self._pool), "cannot begin a period of statistics")
        return self

    def __exit__(self, *error: object) -> None:
        self._read("mam_stats_pop")

    def __repr__(self) -> str:
        return "Stats(" + ", ".join(f"{name}={self[name]}" for name in self.keys() if self[name]) + ")"


class StatsStruct(ctypes.Structure):
    """struct mam_stats."""

    _fields_ = [("size", c_size_t)] + [(name, c_uint64) for name in Stats.__annotations__]


class PoolAttr(ctypes.Structure):
    """struct mam_pool_attr."""

    _fields_ = [
        ("size", c_size_t),
        ("source", c_char_p),
        ("device", c_int),
        ("chunk_bytes", c_size_t),
        ("growth_bytes", c_size_t),
        ("limit_bytes", c_size_t),
        ("granule", c_size_t),
        ("free_policy", c_int),
        ("name", c_char_p),
        ("cache", c_int),
        ("quota", c_void_p),
        ("spare_bytes", c_size_t),
        ("footprint", c_size_t),
    ]


class SuspendAttr(ctypes.Structure):
    """struct mam_suspend_attr."""

    _fields_ = [("size", c_size_t), ("folder", c_char_p), ("discard", c_bool), ("lazy", c_bool)]


class SegmentInfo(ctypes.Structure):
    """struct mam_segment_info."""

    _fields_ = [
        ("size", c_size_t),
        ("base", c_void_p),
        ("bytes", c_size_t),
        ("requested", c_size_t),
        ("live", c_bool),
        ("retired", c_bool),
        ("chunk_base", c_void_p),
        ("chunk_bytes", c_size_t),
    ]


class PoolInfo(ctypes.Structure):
    """struct mam_pool_info."""

    _fields_ = [
        ("size", c_size_t),
        ("pool", c_void_p),
        ("name", c_char_p),
        ("source", c_char_p),
        ("device", c_int),
    ]


SEGMENT_VISIT = ctypes.CFUNCTYPE(c_bool, POINTER(SegmentInfo), c_void_p)
POOL_VISIT = ctypes.CFUNCTYPE(c_bool, POINTER(PoolInfo), c_void_p)

# Every function that returns an enum mam_status, with its arguments.
_FUNCTIONS = {
    "mam_plug_source": [c_char_p],
    "mam_pool_create": [POINTER(PoolAttr), POINTER(c_void_p)],
    "mam_pool_named": [c_char_p, c_int, POINTER(PoolAttr), POINTER(c_void_p)],
    "mam_pool_default": [c_int, POINTER(c_void_p)],
    "mam_pool_destroy": [c_void_p],
    "mam_malloc_aligned": [c_void_p, c_size_t, c_size_t, POINTER(c_void_p)],
    "mam_malloc_async": [c_void_p, c_size_t, c_void_p, POINTER(c_void_p)],
    "mam_free": [c_void_p, c_void_p],
    "mam_free_async": [c_void_p, c_void_p, c_void_p],
    "mam_pool_walk": [c_void_p, SEGMENT_VISIT, c_void_p],
    "mam_pool_trim": [c_void_p, c_size_t, POINTER(c_size_t)],
    "mam_pool_stats": [c_void_p, POINTER(StatsStruct)],
    "mam_stats_push": [c_void_p],
    "mam_stats_pop": [c_void_p, POINTER(StatsStruct)],
    "mam_pool_check": [c_void_p, c_char_p, c_size_t],
    "mam_pool_each": [POOL_VISIT, c_void_p],
    "mam_pool_set_limit": [c_void_p, c_size_t],
    "mam_pool_limit": [c_void_p, POINTER(c_size_t)],
    "mam_pool_reserve": [c_void_p, c_size_t],
    "mam_profile_dump": [],
    "mam_profile_start": [c_char_p, c_uint64],
    "mam_profile_stop": [],
    "mam_tag_push": [c_char_p],
    "mam_tag_pop": [],
    "mam_pool_suspend": [c_void_p, POINTER(SuspendAttr)],
    "mam_pool_resume": [c_void_p],
    "mam_pool_unpin": [c_void_p, POINTER(c_size_t)],
}


def _load() -> ctypes.CDLL:
    name = os.path.join(PREFIX, "lib", "libmam.so.0") if PREFIX else "libmam.so.0"
    try:
        library = ctypes.CDLL(name)
    except OSError as error:
        raise ImportError(f"cannot load libmam: {error}") from None
    for function, arguments in _FUNCTIONS.items():
        getattr(library, function).argtypes = arguments
        getattr(library, function).restype = c_int
    library.mam_plug_pool.argtypes = [c_void_p, c_int]
    library.mam_plug_pool.restype = None
    for function in ("mam_version", "mam_strerror", "mam_status_name", "mam_tag_path"):
        getattr(library, function).restype = c_char_p
    return library


LIBRARY = _load()
VERSION: str = LIBRARY.mam_version().decode()


def check(status: int, what: str) -> None:
    """Raise Error, or OutOfMemoryError, unless the status of a call is MAM_OK. `what` begins the sentence."""
    if status == 0:
        return
    name = LIBRARY.mam_status_name(status).decode()
    kind = OutOfMemoryError if name.startswith("MAM_ERROR_OUT_OF") else Error
    why = LIBRARY.mam_strerror(status).decode()
    raise kind(f"{what}: {why[:1].lower()}{why[1:].rstrip('.')}", name)


def address_of(function: str) -> int:
    """The address of a function of libmam, for libraries that take one."""
    return ctypes.cast(getattr(LIBRARY, function), c_void_p).value or 0


def choose_source(source: Optional[str]) -> None:
    """Select the source of the default pools, in place of MAM_SOURCE. The first default pool decides.

    None: if MAM_SOURCE is not set and no source was selected, "vmm" on devices that can map memory.
    """
    status = LIBRARY.mam_plug_source(None if source is None else source.encode())
    what = f"the default pools cannot use the source '{source}'"
    if LIBRARY.mam_status_name(status) == b"MAM_ERROR_UNSUPPORTED":
        from mam.pool import Pool  # which imports this module

        raise Error(f"{what}: this process uses '{Pool.default().source}' already", "MAM_ERROR_UNSUPPORTED")
    check(status, what)
