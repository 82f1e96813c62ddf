# SPDX-License-Identifier: Apache-2.0
"""Build torch_allocator.cpp, mam as PyTorch's allocator by its own interface, for the installed PyTorch.

The interface is a C++ class of PyTorch that changes with its versions, so no wheel can contain the result. It is built
once per version of PyTorch and of mam, in the folder of PyTorch's extensions (TORCH_EXTENSIONS_DIR, or
~/.cache/torch_extensions), which takes about ten seconds. Processes that build at the same time do not disturb each
other: each renames its complete file. torch.utils.cpp_extension is not used: its import needs setuptools and starts
the CUDA driver, after which a forked process cannot use a GPU.
"""

from __future__ import annotations

import ctypes
import glob
import hashlib
import os
import shlex
import shutil
import subprocess
import tempfile
from typing import Any, List

from mam.native import Error

_SOURCES = [os.path.join(os.path.dirname(os.path.abspath(__file__)), name)
            for name in ("torch_allocator.cpp", "torch_memory.h", "torch_history.h")]


def load() -> Any:
    """The library of torch_allocator.cpp. Raises Error with the name of what is missing."""
    library = ctypes.CDLL(_build())
    library.mam_torch_use.restype = ctypes.c_char_p
    return library


def _build() -> str:
    """Build unless it was built before; returns the path."""
    import torch

    if not torch.version.cuda:
        raise Error("this PyTorch was built without CUDA")
    command = _command(torch)
    key = hashlib.sha256("\0".join([torch.__version__, str(torch.version.git_version), *command]).encode())
    for path in _SOURCES:
        with open(path, "rb") as source:
            key.update(source.read())
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = os.path.join(os.environ.get("TORCH_EXTENSIONS_DIR") or os.path.join(cache, "torch_extensions"), "mam")
    path = os.path.join(folder, f"libmam-torch-{key.hexdigest()[:16]}.so")
    if os.path.exists(path):
        return path
    try:
        os.makedirs(folder, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            output = os.path.join(scratch, "library.so")
            done = subprocess.run([*command, "-o", output], stdin=subprocess.DEVNULL, capture_output=True, text=True)
            if done.returncode:
                lines = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines()
                raise Error(f"'{command[0]}' cannot build mam's allocator for PyTorch {torch.__version__}: "
                            f"{lines[0] if lines else f'exit status {done.returncode}'}")
            os.rename(output, path)
    except OSError as error:
        raise Error(f"cannot build mam's allocator in '{folder}': {error}") from None
    return path


def _command(torch: Any) -> List[str]:
    compiler = shlex.split(os.environ.get("CXX", "")) or [shutil.which("c++") or shutil.which("g++") or ""]
    if not shutil.which(compiler[0]):
        raise Error("there is no C++ compiler: install g++ 11 or later")
    folder = os.path.dirname(torch.__file__)
    packages = os.path.dirname(folder)
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    toolkit = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH") or os.path.dirname(os.path.dirname(nvcc))
    headers = [*glob.glob(f"{packages}/nvidia/cu*/include"), f"{toolkit}/include"]
    # Those of the runtime include others, which can be in a folder of their own.
    cuda = [
        _folder_with(
            name,
            headers,
            f"the headers of CUDA are missing: install the packages nvidia-cuda-runtime and nvidia-cuda-crt (for "
            f"CUDA 12: nvidia-cuda-runtime-cu12 and nvidia-cuda-nvcc-cu12), or the CUDA toolkit {torch.version.cuda}",
        )
        for name in ("cuda_runtime_api.h", "crt/host_config.h")
    ]
    library = _loaded("libmam.so")
    lib = os.path.dirname(library)  # /usr/lib/x86_64-linux-gnu and /usr/include belong together, too
    mam = _folder_with(
        "mam/mam.h",
        [f"{lib}/../include", f"{lib}/../../include"],
        f"the headers of mam for '{library}' are missing: install the package libmam-dev",
    )
    torch_includes = (f"{folder}/include", f"{folder}/include/torch/csrc/api/include")
    includes = [argument for path in (*torch_includes, *cuda) for argument in ("-isystem", path)]
    return [
        *compiler, "-std=c++20", "-O2", "-shared", "-fPIC", "-fvisibility=hidden",
        f"-D_GLIBCXX_USE_CXX11_ABI={int(torch._C._GLIBCXX_USE_CXX11_ABI)}",
        *includes, "-idirafter", mam, _SOURCES[0], library,
        f"-L{folder}/lib", "-lc10", "-lc10_cuda", "-ltorch_cpu", "-ltorch_cuda",
        # PyTorch's, also with a compiler that adds its own: with two of them, streams of characters crash.
        _loaded("libstdc++.so"),
    ]


def _loaded(name: str) -> str:
    """The path of a library that this process has loaded."""
    with open("/proc/self/maps") as maps:
        paths = (line.split(None, 5)[-1].strip() for line in maps)
        return next(path for path in paths if os.path.basename(path).startswith(name))


def _folder_with(name: str, folders: List[str], error: str) -> str:
    for folder in folders:
        if os.path.exists(os.path.join(folder, name)):
            return folder
    raise Error(error)
