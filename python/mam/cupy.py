# SPDX-License-Identifier: Apache-2.0
"""mam as CuPy's allocator, through cupy.cuda.CFunctionAllocator (mam/plug.h).

An allocator of CuPy passes one stream to all its calls. So there is one for each stream: a block is allocated in the
order of the current stream, as in CuPy's own pool, and freed in the same order.
"""

from __future__ import annotations

from typing import Any, Dict, Optional

from mam.native import LIBRARY, OutOfMemoryError, address_of, choose_source

_previous: Any = None


def enable(source: Optional[str] = None) -> None:
    """Make mam the allocator of CuPy on all devices; arrays that exist keep their memory.

    source: "vmm", "cudamalloc", or None: as the environment says (MAM_SOURCE). If there is no memory, CuPy raises
    mam.OutOfMemoryError, which is a MemoryError. A second call does nothing.
    """
    global _previous
    import cupy

    if source is not None:
        choose_source(source)
    if _previous is not None:
        return
    functions = address_of("mam_cupy_alloc"), address_of("mam_cupy_free")
    allocators: Dict[int, Any] = {}  # by stream

    def allocate(size: int) -> Any:
        stream = cupy.cuda.get_current_stream().ptr
        allocator = allocators.get(stream)
        if allocator is None:
            allocator = allocators[stream] = cupy.cuda.CFunctionAllocator(stream, *functions, LIBRARY)
        block = allocator.malloc(size)
        if size and not block.ptr:
            raise OutOfMemoryError(f"CuPy cannot allocate {size} bytes from mam", "MAM_ERROR_OUT_OF_MEMORY")
        return block

    _previous = cupy.cuda.get_allocator()
    cupy.cuda.set_allocator(allocate)


def disable() -> None:
    """Return to the allocator that CuPy had before enable(). Arrays that exist keep their memory."""
    global _previous
    import cupy

    if _previous is not None:
        cupy.cuda.set_allocator(_previous)
        _previous = None
