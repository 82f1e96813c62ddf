# SPDX-License-Identifier: Apache-2.0
"""Traces of what Python allocates from pools.

A recording gets each event from mam.pool while it runs, keeps the events in memory, and writes them at its end. An
event is recorded by calls that the interpreter executes as a whole (append, next, pop), so no lock is needed, and a
free that the garbage collector runs in the middle of an allocation is safe. A free is recorded before the call and an
allocation after it: so an address that another thread gets at once is never live twice.
"""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
import time
import weakref
from typing import Dict, List, Optional, Union

from mam.native import LIBRARY, VERSION

Event = Dict[str, Union[int, str]]

_active: "List[Recording]" = []


class Recording:
    """The events of a period. `path` is the trace's file, which exists when the period has ended.

    events: a dict per event, in order: event ("a" or "f"), id, bytes (of the request), stream (its address, 0: the
    default stream), device (-1: not on a device), tag (as mam_tag_path() returns it), t (nanoseconds since the
    beginning). pandas.DataFrame(trace.events) is a table of them. mam.replay() and mam.heap_map() accept the object
    itself.
    """

    def __init__(self, path: "Union[None, str, os.PathLike[str]]" = None) -> None:
        if path is None:
            folder = tempfile.mkdtemp()
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
            path = os.path.join(folder, "mam.trace")
        self.path: str = os.fspath(path)
        self.events: List[Event] = []
        self._ids = itertools.count()
        self._live: Dict[int, Event] = {}
        self._start = 0

    def __fspath__(self) -> str:
        return self.path

    def __enter__(self) -> "Recording":
        self._start = time.monotonic_ns()
        _active.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        _active.remove(self)
        with open(self.path, "w", encoding="ascii") as file:
            file.write(f"# mam {VERSION} trace of Python, process {os.getpid()}\n")
            file.writelines(_line(event) for event in self.events)

    def _append(self, event: Event) -> None:
        self.events.append({**event, "t": time.monotonic_ns() - self._start})


def _line(event: Event) -> str:
    """The event as mam-trace(5) has it."""
    if event["event"] == "f":
        stream = f" stream={event['stream']}" if event["stream"] else ""
        return f"f {event['id']} t={event['t']}{stream}\n"
    device = f" device={event['device']}" if event["device"] != -1 else ""
    tag = f" tag={event['tag']}" if event["tag"] else ""
    return f"a {event['id']} {event['bytes']} {event['stream']} t={event['t']}{device}{tag}\n"


def note_alloc(address: int, size: int, stream: int, device: int) -> None:
    """Record an allocation of `size` bytes in all running recordings."""
    for recording in tuple(_active):
        block: Event = {"event": "a", "id": next(recording._ids), "bytes": size, "stream": stream, "device": device}
        block["tag"] = LIBRARY.mam_tag_path().decode()
        recording._live[address] = block
        recording._append(block)


def note_free(address: int, stream: int) -> None:
    """Record the free of a block; blocks older than a recording are not in it."""
    for recording in tuple(_active):
        block = recording._live.pop(address, None)
        if block is not None:
            recording._append({**block, "event": "f", "stream": stream})


def trace(path: Optional[str] = None) -> Recording:
    """Record what this process allocates from pools in Python while the block runs.

        with mam.trace("app.trace") as trace:
            ...
        mam.heap_map(trace)

    path: the file; None: a temporary one, which lives as long as the returned object. Recorded are mam.Pool and the
    adapters of Numba and RMM. PyTorch and CuPy call the library directly, and are not recorded. `python -m mam run
    --trace FILE` records each cudaMalloc of a program, and a snapshot of PyTorch's own allocator each tensor.
    """
    return Recording(path)
