# SPDX-License-Identifier: Apache-2.0
"""The command mam from Python: replay a trace, and draw its heap."""

from __future__ import annotations

import html
import os
import shutil
import subprocess
import tempfile
from typing import Dict, List, Union

from mam.native import PREFIX, Error

Value = Union[int, float, str]
Trace = Union[str, "os.PathLike[str]"]


def find() -> str:
    """The path of the command: the one in this package, otherwise the system's."""
    if PREFIX:
        return os.path.join(PREFIX, "bin", "mam")
    command = shutil.which("mam")
    if command is None:
        raise Error("the command mam was not found: install the package mam, or add its folder to PATH")
    return command


def _run(*arguments: str) -> str:
    done = subprocess.run([find(), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        raise Error(lines[-1] if lines else f"mam {arguments[0]} ended with status {done.returncode}")
    return done.stdout


def _options(options: Dict[str, Union[Value, bool]]) -> List[str]:
    """check=True is --check, and align=4096 is --align=4096."""
    words = []
    for name, value in options.items():
        if value is not False:
            words.append(f"--{name}" if value is True else f"--{name}={value}")
    return words


def _number(text: str) -> Value:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def replay(trace: Trace, **options: Union[Value, bool]) -> Dict[str, Value]:
    """Play a trace through a pool, and return the measured values by name.

    trace: a trace of mam, a log of RMM, or a snapshot of PyTorch (mam-replay(1), FILES).
    options: those of `mam replay`, without dashes: source="vmm", align=4096, limit="16G", simulate=True.

    Sizes are in bytes, times in the unit of their name (mam-replay(1), PLAIN OUTPUT). A table for pandas:
    pandas.DataFrame(mam.replay(trace, align=n) for n in (512, 4096)). No GPU is needed.
    """
    output = _run("replay", "--plain", *_options(options), "--", os.fspath(trace))
    return {key: _number(value) for key, _, value in (line.partition("\t") for line in output.splitlines())}


class HeapMap:
    """A drawing of the heap over time: a page of HTML, which a notebook shows. `html` is its text."""

    def __init__(self, html_text: str) -> None:
        self.html = html_text

    def save(self, path: Trace) -> None:
        """Write the page to a file, for a browser."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.html)

    def _repr_html_(self) -> str:
        text = html.escape(self.html, quote=True)
        return f'<iframe srcdoc="{text}" style="width: 100%; height: 640px; border: 0"></iframe>'


def heap_map(trace: Trace, **options: Union[Value, bool]) -> HeapMap:
    """Play a trace through a pool, and draw each block: its addresses by its lifetime (mam-replay(1), THE MAP).

    The arguments are those of replay(). The map is a page of HTML that uses no network.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "heap.html")
        _run("replay", "--quiet", f"--map={path}", *_options(options), "--", os.fspath(trace))
        with open(path, encoding="utf-8") as file:
            return HeapMap(file.read())
