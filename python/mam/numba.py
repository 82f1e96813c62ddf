# SPDX-License-Identifier: Apache-2.0
"""mam as Numba's memory manager: an External Memory Management plugin, interface version 1.

Device memory comes from the default pool of Numba's context; pinned, mapped and managed memory stays Numba's own.
1. memalloc() allocates a block without stream order, and Numba calls its finalizer when the last array is gone.
2. The free follows the pool's policy: strict by default, so it waits for the GPU as cuMemFree does, and a kernel in
   any stream may still use the block.
3. Within defer_cleanup() nothing may wait: blocks that are freed there are kept until the outermost one ends.

Invariant: _live has the pool of each block that is allocated and not freed, the deferred ones included.
"""

from __future__ import annotations

import contextlib
import functools
from typing import Any, Dict, Iterator, List, Optional

from mam.native import Error, choose_source
from mam.pool import Pool


def enable(source: Optional[str] = None) -> None:
    """Make mam the memory manager of Numba, before Numba's first use of a GPU.

    source: "vmm", "cudamalloc", or None: as the environment says (MAM_SOURCE). IPC handles need "cudamalloc". The
    environment variable NUMBA_CUDA_MEMORY_MANAGER=mam.numba does the same without a call.
    """
    from numba import cuda

    if source is not None:
        choose_source(source)
    cuda.set_memory_manager(_manager())


def __getattr__(name: str) -> Any:
    if name == "_numba_memory_manager":  # what Numba looks up in the module of NUMBA_CUDA_MEMORY_MANAGER
        return _manager()
    raise AttributeError(f"module 'mam.numba' has no attribute '{name}'")


@functools.lru_cache(maxsize=None)
def _manager() -> Any:
    """The class of the plugin, made when it is needed, since its bases come from Numba."""
    from numba import cuda
    from numba.cuda.cudadrv import driver as numba_driver

    class MamMemoryManager(cuda.GetIpcHandleMixin, cuda.HostOnlyCUDAMemoryManager):  # type: ignore[misc]
        """Numba creates one for each context."""

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self._live: Dict[int, Pool] = {}
            self._deferred: List[int] = []
            self._deferring = 0

        def initialize(self) -> None:
            """Nothing to do: the pool is created by the first allocation, in Numba's context."""

        def memalloc(self, size: int) -> Any:
            pool = Pool.default(self.context.device.id)
            address = pool.take(size)
            self._live[address] = pool
            return cuda.MemoryPointer(
                self.context, _pointer(numba_driver, address), size, finalizer=functools.partial(self._free, address)
            )

        def _free(self, address: int) -> None:
            if self._deferring:
                self._deferred.append(address)
                return
            pool = self._live.pop(address, None)  # None: reset() freed it
            if pool is not None:
                pool.give(address)

        def get_ipc_handle(self, memory: Any) -> Any:
            """The handle of the block's chunk, with the block's offset in it."""
            pool = self._live.get(memory.device_pointer_value)
            if pool is not None and pool.source != "cudamalloc":
                raise Error(f"memory of the source '{pool.source}' has no IPC handles: use the source 'cudamalloc'")
            return super().get_ipc_handle(memory)

        def get_memory_info(self) -> Any:
            """Free and total bytes of the device; free is what the driver has, and the pool's free memory."""
            free, total = _driver_info(numba_driver)
            stats = Pool.default(self.context.device.id).stats()
            pooled = stats.physical_bytes - stats.live_rounded_bytes - stats.retired_bytes
            return cuda.MemoryInfo(free=min(free + max(pooled, 0), total), total=total)

        def reset(self) -> None:
            super().reset()
            self._deferred.clear()
            for address in list(self._live):
                self._live.pop(address).give(address)

        @contextlib.contextmanager
        def defer_cleanup(self) -> Iterator[None]:
            with super().defer_cleanup():
                self._deferring += 1
                try:
                    yield
                finally:
                    self._deferring -= 1
                    while self._deferred and not self._deferring:
                        self._free(self._deferred.pop())

        @property
        def interface_version(self) -> int:
            return 1

    return MamMemoryManager


def _pointer(numba_driver: Any, address: int) -> Any:
    """An address as the bindings of this Numba represent it: NVIDIA's, or ctypes."""
    if getattr(numba_driver, "USE_NV_BINDING", True):
        return numba_driver.binding.CUdeviceptr(address)
    return numba_driver.drvapi.cu_device_ptr(address)


def _driver_info(numba_driver: Any) -> Any:
    """(free, total) bytes of the current device."""
    if getattr(numba_driver, "USE_NV_BINDING", True):
        return numba_driver.driver.cuMemGetInfo()
    from ctypes import byref, c_size_t

    free, total = c_size_t(), c_size_t()
    numba_driver.driver.cuMemGetInfo(byref(free), byref(total))
    return free.value, total.value
