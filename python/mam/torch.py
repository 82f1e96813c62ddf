# SPDX-License-Identifier: Apache-2.0
"""mam as PyTorch's allocator of GPU memory.

enable() uses torch.cuda.memory.CUDAPluggableAllocator (mam/plug.h). enable(extension=True) uses PyTorch's own interface
of an allocator, for which it builds a small C++ file on first use (torch_build.py): then torch.cuda.memory_stats(),
snapshots, MemPool, and the private pools of CUDA graphs and torch.compile work. Either calls the library directly, so
Python adds nothing to an allocation. PyTorch cannot replace an allocator that it has used: enable() comes before the
first tensor on a GPU, and disable() too.
"""

from __future__ import annotations

from typing import Any, Dict, Optional

from mam import torch_build
from mam.native import LIBRARY, Error, address_of, choose_source
from mam.pool import Pool
from mam.torch_sleep import region, sleep, wake  # noqa: F401

_allocator: Any = None  # the library of torch_allocator.cpp, or a CUDAPluggableAllocator: PyTorch has no reference
_pluggable = False  # whether it is the latter
_previous: Any = None  # PyTorch's own allocator in that case; None: PyTorch does not return it


def enable(source: Optional[str] = None, extension: bool = False) -> None:
    """Make mam the allocator of PyTorch, before the first tensor on a GPU.

    source: "vmm" maps memory on demand and has the smallest footprint; "cudamalloc" allocates whole chunks, which network
    cards and other processes can use. None: MAM_SOURCE or, if it is not set, "vmm" on devices that can map memory and
    "cudamalloc" on others. The other variables of mam(7) apply too.
    extension: True: use PyTorch's own interface, with its statistics, snapshots and memory pools. The first use builds it,
    which needs g++ 11 or later. A second call does nothing. Raises Error if PyTorch has used its own allocator already,
    if a default pool has another source, or if the extension cannot be built.
    """
    global _allocator, _previous, _pluggable
    choose_source(source)
    if _allocator is not None:
        return
    if extension:
        allocator = torch_build.load()
        _use(allocator, True, "call mam.torch.enable() before PyTorch's first use of a GPU")
    else:
        allocator, _previous = _plug()
    _allocator, _pluggable = allocator, not extension


def disable() -> None:
    """Return to PyTorch's own allocator, before the first tensor on a GPU. Without enable() it does nothing."""
    global _allocator, _previous
    if _allocator is None:
        return
    what = "PyTorch has allocated memory from mam; start a new process"
    if not _pluggable:
        _use(_allocator, False, what)
    elif _previous is None:
        raise Error("PyTorch cannot remove a pluggable allocator; start a new process")
    else:
        import torch

        try:
            torch._C._cuda_changeCurrentAllocator(_previous)
        except RuntimeError as error:
            raise Error(f"{what}: {_first_line(error)}") from None
    _allocator = _previous = None


def _use(allocator: Any, is_mam: bool, what: str) -> None:
    error = allocator.mam_torch_use(is_mam)
    if error:
        raise Error(f"{what}: {_first_line(error.decode())}")


def _plug() -> Any:
    import torch

    plug = torch.cuda.memory.CUDAPluggableAllocator(LIBRARY._name, "mam_torch_alloc", "mam_torch_free")
    plug.allocator().set_record_stream_fn(address_of("mam_torch_record_stream"))
    plug.allocator().set_reset_fn(address_of("mam_torch_empty_cache"))
    previous = torch._C._cuda_getAllocator()
    try:
        torch.cuda.memory.change_current_allocator(plug)
    except RuntimeError as error:
        raise Error(f"call mam.torch.enable() before PyTorch's first use of a GPU: {_first_line(error)}") from None
    return plug, previous


def _first_line(error: object) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def memory_stats(device: Optional[int] = None) -> Dict[str, int]:
    """The statistics of mam's default pool under the keys of torch.cuda.memory_stats().

    device: the CUDA ordinal; None: the current one. Bytes: requested_bytes is as the program requested, allocated_bytes
    rounded to granules, reserved_bytes what the driver gave and did not get back. Counts: allocation, segment (chunks),
    num_ooms. The keys end in .all.current, .all.peak and, for allocation, .all.allocated and .all.freed. All other
    users of the default pool are included, and torch.cuda.memory_stats() has PyTorch's own requests alone.
    """
    stats = Pool.default(_ordinal(device)).stats()
    values = {
        "requested_bytes.all.current": stats.live_bytes,
        "requested_bytes.all.peak": stats.peak_live_bytes,
        "allocated_bytes.all.current": stats.live_rounded_bytes,
        "allocated_bytes.all.peak": stats.peak_live_rounded_bytes,
        "reserved_bytes.all.current": stats.physical_bytes,
        "reserved_bytes.all.peak": stats.peak_physical_bytes,
        "allocation.all.current": stats.live_blocks,
        "allocation.all.peak": stats.peak_live_blocks,
        "allocation.all.allocated": stats.allocs,
        "allocation.all.freed": stats.frees,
        "segment.all.current": stats.chunks,
        "segment.all.allocated": stats.grows,
        "segment.all.freed": stats.shrinks,
        "num_ooms": stats.failures,
    }
    return values


def memory_summary(device: Optional[int] = None) -> str:
    """A table of memory_stats(), of the largest free block, and of the calls of the driver, as text."""
    pool = Pool.default(_ordinal(device))
    stats = pool.stats()
    rows = [
        ("requested", stats.live_bytes, stats.peak_live_bytes),
        ("allocated (rounded)", stats.live_rounded_bytes, stats.peak_live_rounded_bytes),
        ("from the driver", stats.physical_bytes, stats.peak_physical_bytes),
        ("free blocks", stats.free_block_bytes, None),
        ("largest request without growth", stats.largest_free_bytes, None),
    ]
    lines = [f"mam: device {pool.device}, source {pool.source}"]
    lines.append(f"{'':32}{'now':>12}{'peak':>12}")
    for name, now, peak in rows:
        lines.append(f"{name:32}{_size(now):>12}{'' if peak is None else _size(peak):>12}".rstrip())
    lines.append(f"{stats.allocs} allocations, {stats.frees} frees, {stats.failures} out of memory")
    lines.append(f"{stats.driver_calls} calls of the driver for memory took {stats.driver_ns / 1e6:.1f} ms")
    return "\n".join(lines)


def _ordinal(device: Any) -> Optional[int]:
    """The ordinal of an int, or of a torch.device."""
    return getattr(device, "index", device) if not isinstance(device, int) else device


def _size(size: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.4g} {unit}"
        size /= 1024
    return f"{size:.2f} GiB"
