# SPDX-License-Identifier: Apache-2.0
"""mam as a memory resource of RMM, and so of everything that is built on RMM (cuDF, cuML, Dask)."""

from __future__ import annotations

from typing import Any, Optional

from mam.native import choose_source
from mam.pool import Pool

_PER_THREAD = 2  # RMM may mean it by 0; it is correct for the legacy stream too (mam/plug.h)


def resource(pool: Optional[Pool] = None, *, source: Optional[str] = None) -> Any:
    """An rmm.mr.CallbackMemoryResource that allocates from a pool of mam, in the order of RMM's streams.

        rmm.mr.set_current_device_resource(mam.rmm.resource(source="vmm"))

    pool: None: the default pool of the current device, which `source` configures ("vmm", "cudamalloc"; None: as the
    environment says). A request for which there is no memory raises mam.OutOfMemoryError, a MemoryError.
    """
    import rmm

    if source is not None:
        choose_source(source)

    def allocate(size: int, stream: Any) -> int:
        return (pool or Pool.default()).take(size, _handle(stream)) if size else 0

    def free(address: int, size: int, stream: Any) -> None:
        if address:
            (pool or Pool.default()).give(address, _handle(stream))

    return rmm.mr.CallbackMemoryResource(allocate, free)


def _handle(stream: Any) -> int:
    return stream.__cuda_stream__()[1] or _PER_THREAD
