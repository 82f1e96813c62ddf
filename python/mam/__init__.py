# SPDX-License-Identifier: Apache-2.0
"""mam: pools of GPU memory.

    pool = mam.Pool("vmm", limit=8 << 30)
    array = pool.alloc((1024, 1024), "float32")      # for CuPy, Numba and, by DLPack, PyTorch
    with pool.stats() as period:
        ...
    print(period.peak_live_bytes)

mam.torch, mam.cupy, mam.numba and mam.rmm make mam the allocator of these libraries. mam.trace(), mam.replay() and
mam.heap_map() show what a program needs, and mam.tag() names the parts of it. `python -m mam` is the command mam(1).
"""

from mam import cupy, numba, rmm, torch
from mam.command import HeapMap, heap_map, replay
from mam.native import PREFIX, VERSION as __version__, Error, OutOfMemoryError, Stats
from mam.pool import Array, Pool
from mam.recording import Recording, profile, trace
from mam.tagging import tag

__all__ = [
    "Array",
    "Error",
    "HeapMap",
    "OutOfMemoryError",
    "PREFIX",
    "Pool",
    "Recording",
    "Stats",
    "__version__",
    "cupy",
    "heap_map",
    "numba",
    "profile",
    "replay",
    "rmm",
    "tag",
    "torch",
    "trace",
]
