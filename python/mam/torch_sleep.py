# SPDX-License-Identifier: Apache-2.0
"""Release the GPU memory of parts of a PyTorch program for a while; their addresses stay.

A region is a pool on the source vmm, which mam_plug_pool() selects for the thread. If PyTorch uses its own allocator, or
mam's extension, a torch.cuda.MemPool of the region obtains its segments there. With mam as pluggable allocator, tensors
come directly from the pool.
"""

from __future__ import annotations

import contextlib
import threading
from typing import Any, Dict, Iterable, List, Tuple, Union

from mam.native import LIBRARY, Error
from mam.pool import Pool

Tags = Union[None, str, Iterable[str]]


class _Region:
    def __init__(self, tag: str, device: int) -> None:
        self.tag = tag
        self.pool = Pool.named(tag, device, source="vmm")
        self.is_asleep = False
        self.is_lazy = False  # asleep, but perhaps with its memory
        self.torch_pool: Any = None  # a torch.cuda.MemPool; None: not needed yet


_regions: Dict[Tuple[str, int], _Region] = {}
_plug: Any = None  # PyTorch has no reference to it
_thread = threading.local()


class region(contextlib.ContextDecorator):
    """Put the tensors that this thread creates, while the block or the decorated function runs, into a region.

        with mam.torch.region("weights"):
            model = load()

    tag: names the region for sleep() and wake(), at most 31 characters. device: the CUDA ordinal, a torch.device or its
    name; None: the current one. Blocks with the same tag and device share a region, and regions cannot be nested. Raises Error
    if the region is asleep, or if the device cannot map memory. Memory of a CUDA graph that is captured in the block
    belongs to the graph, not to the region, except with mam as pluggable allocator.
    """

    def __init__(self, tag: str, device: Any = None) -> None:
        self._tag = tag
        self._device = device

    def __enter__(self) -> "region":
        import torch

        if getattr(_thread, "is_inside", False):
            raise Error("regions cannot be nested: leave the other region first")
        device = torch.device(self._device) if isinstance(self._device, str) else self._device
        device = getattr(device, "index", device)
        device = torch.cuda.current_device() if device is None else device
        found = _regions.get((self._tag, device))
        if found is None:
            found = _regions.setdefault((self._tag, device), _Region(self._tag, device))
        if found.is_asleep:
            raise Error(f"the region '{self._tag}' is asleep: call mam.torch.wake('{self._tag}') first")
        _thread.open = contextlib.ExitStack()  # of the thread: several may run one decorated function
        if not _is_plugged():
            _thread.open.enter_context(torch.cuda.use_mem_pool(_torch_pool(found), device))
        LIBRARY.mam_plug_pool(found.pool._handle, device)
        _thread.is_inside = True
        return self

    def __exit__(self, *error: object) -> None:
        LIBRARY.mam_plug_pool(None, 0)
        _thread.is_inside = False
        _thread.open.close()


def _is_plugged() -> bool:
    """Whether mam is PyTorch's allocator as a plug-in, which has no memory pools."""
    from mam import torch as adapter

    return adapter._allocator is not None and adapter._pluggable


def _torch_pool(found: _Region) -> Any:
    global _plug
    import torch

    if _plug is None:
        _plug = torch.cuda.memory.CUDAPluggableAllocator(LIBRARY._name, "mam_torch_pool_alloc", "mam_torch_free")
    if found.torch_pool is None:
        found.torch_pool = torch.cuda.MemPool(_plug.allocator())
    return found.torch_pool


def _select(tags: Tags) -> List[_Region]:
    if tags is None:
        return list(_regions.values())
    wanted = [tags] if isinstance(tags, str) else list(tags)
    for tag in wanted:
        if not any(tag == known for known, _ in _regions):
            raise Error(f"there is no region '{tag}': create it with mam.torch.region('{tag}')")
    return [found for (tag, _), found in _regions.items() if tag in wanted]


def sleep(tags: Tags = None, to: str = "host", lazy: bool = False) -> None:
    """Release the GPU memory of regions until wake().

    tags: one or several; None: all regions. to: where the contents are kept: "host", in pinned memory; "discard", they
    are undefined afterwards; otherwise a folder, in a file there that has no name. lazy: the memory stays until mam needs
    it for another region, or for any tensor if it is PyTorch's allocator; the region that fell asleep first is released
    first, and if none is, wake() has nothing to do. Waits for all work of the GPU, unless lazy. Until wake(), the tensors
    must not be used, except to delete them; graphs that use them may run again afterwards. A region that is asleep stays
    as it is, but a lazy one releases its memory if this call is not. After an error the regions are as before, except
    that regions whose contents were discarded stay asleep.
    """
    _sleep(_select(tags), to, lazy)


def _sleep(regions: List[_Region], to: str, lazy: bool = False, then: Iterable[_Region] = ()) -> None:
    """then: regions that are discarded, last: their contents are lost if the call fails."""
    options: Dict[str, Any] = {"host": {}, "discard": {"discard": True}}.get(to, {"folder": to})
    kept: List[_Region] = []
    try:
        for found in regions:
            if _suspend(found, lazy=lazy, **options) and to != "discard":
                kept.append(found)
        for found in then:
            _suspend(found, discard=True)
    except Error:
        for found in kept:
            with contextlib.suppress(Error):
                _wake(found)
        raise


def _suspend(found: _Region, lazy: bool = False, **options: Any) -> bool:
    """Returns whether the region was awake."""
    was_awake = not found.is_asleep
    if was_awake or (found.is_lazy and not lazy):
        found.pool.suspend(lazy=lazy, **options)
        found.is_asleep, found.is_lazy = True, lazy
    return was_awake


def wake(tags: Tags = None, unpin: bool = False) -> None:
    """Map the memory of regions again, at the same addresses, with its contents.

    Pinned memory stays with a region that slept with to="host", so that the next sleep() only copies; unpin: free it.
    Raises OutOfMemoryError if the GPU does not have enough memory. Then nothing is lost: regions that were woken stay awake, and
    another wake() goes on with the others.
    """
    for found in _select(tags):
        _wake(found)
        if unpin:
            found.pool.unpin()


def _wake(found: _Region) -> None:
    found.pool.resume()
    found.is_asleep = found.is_lazy = False
