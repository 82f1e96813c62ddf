# SPDX-License-Identifier: Apache-2.0
"""The names of the package torch_memory_saver, on mam's regions, for programs that use it.

    from mam.torch_memory_saver import torch_memory_saver

A tag may have regions with and without enable_cpu_backup: pause() keeps the contents of the former.
"""

from __future__ import annotations

from typing import List, Optional

from mam import torch_sleep

_KEPT = " (kept)"  # in the tags of regions with enable_cpu_backup


class TorchMemorySaver:
    """region(), pause() and resume(). Other attributes, such as hook_mode, can be set and have no effect."""

    def region(self, tag: str = "default", enable_cpu_backup: bool = False) -> torch_sleep.region:
        return torch_sleep.region(tag + _KEPT if enable_cpu_backup else tag)

    def pause(self, tag: Optional[str] = None) -> None:
        """After an error, regions with enable_cpu_backup are as before, and pause() can be called again. Of the others,
        some may be asleep, until resume(): their contents are lost."""
        tags = _tags(tag)
        kept = torch_sleep._select([name for name in tags if name.endswith(_KEPT)])
        lost = torch_sleep._select([name for name in tags if not name.endswith(_KEPT)])
        torch_sleep._sleep(kept, "host", then=lost)

    def resume(self, tag: Optional[str] = None) -> None:
        torch_sleep.wake(_tags(tag))


def _tags(tag: Optional[str]) -> List[str]:
    """The tags of the regions; an unknown tag has none, as with that package."""
    known = sorted({name for name, _ in torch_sleep._regions})
    return [name for name in known if tag is None or name in (tag, tag + _KEPT)]


torch_memory_saver = TorchMemorySaver()
