# SPDX-License-Identifier: Apache-2.0
"""Tags: names for what a thread does, to find the memory that it uses."""

from __future__ import annotations

import contextlib

from mam.native import LIBRARY, Error


class tag(contextlib.ContextDecorator):
    """Give what this thread allocates a name, while the block or the decorated function runs.

        with mam.tag("kv cache"):
            ...

    Tags nest: "serving/kv cache". In a program under mam run, the blocks of cudaMalloc have tags: in traces, heap maps,
    dumps and the out-of-memory report. mam.trace() records them, too. A block that is cut from memory that a framework
    caches has none of its own. Each thread has its own tags, and a new thread begins without.

    Generators and coroutines that are suspended in the block leave the tag to whatever their thread runs meanwhile.
    Nothing happens if there is no room for another name: see mam/tag.h. An empty name, or one with a NUL, is an Error.
    """

    def __init__(self, name: str) -> None:
        if not name or "\0" in name:
            raise Error("a tag must have a name, without NUL characters")
        self._name = name.encode(errors="backslashreplace")

    def __enter__(self) -> "tag":
        LIBRARY.mam_tag_push(self._name)
        return self

    def __exit__(self, *error: object) -> None:
        LIBRARY.mam_tag_pop()
