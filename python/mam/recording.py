# SPDX-License-Identifier: Apache-2.0
"""Traces and profiles of what a part of the program allocates.

libmam records each block of its pools, whoever allocated it: mam.Pool, and PyTorch, CuPy, Numba and RMM with mam plugged
in. Under mam run, it also records the calls of CUDA's functions. The file is that of mam run --profile (mam-trace(5)).
"""

from __future__ import annotations

import gzip
import os
import shutil
import tempfile
import weakref
from typing import Dict, Iterator, List, Optional, Union

from mam.native import LIBRARY, Error, check

Event = Dict[str, Union[int, str]]
Path = Union[str, "os.PathLike[str]"]


class Recording:
    """A trace or a profile. `path` is its file, which is complete when the `with` block has ended, or up to the last dump().

    events: a dict per event, in order: event ("a" or "f"), id, bytes (of the request), stream (its address, 0: the
    default stream), device (-1: not on a device), tag (as mam_tag_path() returns it), t (nanoseconds since the
    beginning). pandas.DataFrame(trace.events) is a table of them. mam.replay() and mam.heap_map() accept the object
    itself.
    """

    def __init__(self, path: Optional[Path], rate: int) -> None:
        if path is None:
            folder = tempfile.mkdtemp()
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
            path = os.path.join(folder, "mam.trace")
        self.path: str = os.fspath(path)
        self._rate = rate
        self._events: Optional[List[Event]] = None

    def __fspath__(self) -> str:
        return self.path

    def __enter__(self) -> "Recording":
        self._events = None
        status = LIBRARY.mam_profile_start(os.fsencode(self.path), self._rate)
        if LIBRARY.mam_status_name(status) == b"MAM_ERROR_UNSUPPORTED":
            raise Error(
                "cannot record: the process records a file already, lacks libmam-preload.so, or has MAM_DISABLE=1 under mam run",
                "MAM_ERROR_UNSUPPORTED",
            )
        check(status, f"cannot record '{self.path}'")
        return self

    def __exit__(self, *error: object) -> None:
        self._events = None  # the file may have been read before it was complete
        check(LIBRARY.mam_profile_stop(), "cannot end the recording")

    def dump(self) -> None:
        """Write all events until now to the file, and continue: `path` and `events` have them, also if the process is killed."""
        self._events = None
        check(LIBRARY.mam_profile_dump(), "cannot write the recording")

    @property
    def events(self) -> List[Event]:
        if self._events is None:
            self._events = list(_events(self.path))
        return self._events


def _events(path: str) -> Iterator[Event]:
    blocks: Dict[int, Event] = {}
    with open(path, "rb") as raw:
        packed = raw.read(2) == b"\x1f\x8b"
    with gzip.open(path, "rt") if packed else open(path) as file:
        for line in file:
            words = line.split()
            if not words or words[0] not in ("a", "f"):
                continue
            fields = dict(word.split("=", 1) for word in words if "=" in word)
            number = int(words[1])
            if words[0] == "a":
                block: Event = {"event": "a", "id": number, "bytes": int(words[2]), "stream": int(words[3])}
                block.update(device=int(fields.get("device", -1)), tag=fields.get("tag", ""), t=int(fields["t"]))
                blocks[number] = block
                yield block
            elif number in blocks:
                yield {**blocks.pop(number), "event": "f", "stream": int(fields.get("stream", 0)), "t": int(fields["t"])}


def trace(path: Optional[Path] = None) -> Recording:
    """Record what the process allocates from mam's pools while the block runs, in all threads.

        with mam.trace() as trace:
            ...
        mam.heap_map(trace)

    path: the file; None: a temporary one, which lives as long as the returned object. A process records one file at a
    time.
    """
    return Recording(path, 0)


def profile(path: Path, rate: int = 0) -> Recording:
    """Record which code allocates memory of the GPU while the block runs, in all threads.

        with mam.profile("out.mam"):
            ...

    `mam profile out.mam` shows the call stacks. rate: record one allocation per that many bytes, chosen at random; 0: all.
    """
    return Recording(path, rate)
