# SPDX-License-Identifier: Apache-2.0
"""Profiles: which code allocates memory of the GPU."""

from __future__ import annotations

import os
from typing import Union

from mam.native import LIBRARY, Error, check


class profile:
    """Record the call stacks of CUDA's allocations while the block runs, in all threads.

        with mam.profile("out.mam"):
            ...

    `mam profile out.mam` shows them. The program must run under mam run (`python -m mam run -- python3 PROGRAM`)
    without --trace and --profile. rate: record one allocation per that many bytes, chosen at random; 0: all.
    """

    def __init__(self, path: "Union[str, os.PathLike[str]]", rate: int = 0) -> None:
        self._path = os.fsencode(path)
        self._rate = rate

    def __enter__(self) -> "profile":
        status = LIBRARY.mam_profile_start(self._path, self._rate)
        if LIBRARY.mam_status_name(status) == b"MAM_ERROR_UNSUPPORTED":
            raise Error(
                "cannot record a profile: the program does not run under mam run, or records a file already",
                "MAM_ERROR_UNSUPPORTED",
            )
        check(status, f"cannot record '{os.fsdecode(self._path)}'")
        return self

    def __exit__(self, *error: object) -> None:
        check(LIBRARY.mam_profile_stop(), "cannot end the profile")
