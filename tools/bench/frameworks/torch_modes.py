#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run programs of this folder one after the other with one allocator, and measure the memory of the device.

    torch_modes.py FOLDER MODE LIMIT [OPTION...] -- PROGRAM STEPS [PROGRAM STEPS...]

Each program runs in a process of its own, for LIMIT seconds at most, forked from this one, which has imported PyTorch.
FOLDER/MODE.PROGRAM.out and .err have its output; .err also has: status, device_peak_bytes and device_end_bytes (of all
memory of the device that was allocated since the start), pid, and of PyTorch's statistics requested_peak_bytes,
requested_bytes (in total), requests, live_bytes (at the end) and reserved_bytes. A program starts when there is a file
FOLDER/MODE.PROGRAM.go: several of these import PyTorch at the same time, and then use the device one by one.
"""

import contextlib
import ctypes
import gc
import os
import runpy
import signal
import sys
import time
import traceback

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")

import plug  # noqa: E402
import torch  # noqa: E402  (cuBLAS reads the variable when it starts)

STATISTICS = (
    ("requested_peak_bytes", "requested_bytes.all.peak"),
    ("requested_bytes", "requested_bytes.all.allocated"),
    ("requests", "allocation.all.allocated"),
    ("live_bytes", "requested_bytes.all.current"),
    ("reserved_bytes", "reserved_bytes.all.current"),
)


class DeviceMemory:
    """The memory in use on a visible device, by NVML, which needs no context."""

    class Numbers(ctypes.Structure):
        _fields_ = [(name, ctypes.c_ulonglong) for name in ("total", "free", "used")]

    def __init__(self, ordinal=0):
        self.library, self.device = None, ctypes.c_void_p()
        with contextlib.suppress(OSError, ValueError):
            library = ctypes.CDLL("libnvidia-ml.so.1")
            visible = os.environ.get("CUDA_VISIBLE_DEVICES")
            index = int(visible.split(",")[ordinal]) if visible else ordinal
            if library.nvmlInit_v2() == 0 and \
                    library.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(self.device)) == 0:
                self.library = library

    def used(self):
        numbers = self.Numbers()
        if self.library:
            self.library.nvmlDeviceGetMemoryInfo(self.device, ctypes.byref(numbers))
        return numbers.used


def statistics(mode, options):
    """The numbers that the allocator counted, by name; without a cache PyTorch counts nothing."""
    gc.collect()
    torch._C._cuda_clearCublasWorkspaces()
    torch.cuda.synchronize()
    if "--plug" in options:
        found = plug.stats(options[options.index("--plug") + 1])
        return {"requested_peak_bytes": found["peak_live_bytes"], "requests": found["allocs"],
                "live_bytes": found["live_bytes"], "reserved_bytes": found["physical_bytes"]}
    if os.environ.get("PYTORCH_NO_CUDA_MEMORY_CACHING"):
        return {}
    found = torch.cuda.memory_stats()
    return {name: found[key] for name, key in STATISTICS}


def run(folder, mode, options, program, steps, ended, go_on):
    """In the child."""
    status = 1
    for number, kind in (1, "out"), (2, "err"):
        os.dup2(os.open(f"{folder}/{mode}.{program}.{kind}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666), number)
    try:
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), f"torch_{program}.py")
        sys.argv = [path, "--steps", steps, *options]
        runpy.run_path(path, run_name="__main__")
        for name, value in statistics(mode, options).items():
            print(name, value, file=sys.stderr)
        status = 0
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os.write(ended, b".")
    os.read(go_on, 1)  # until this process's memory at its end was read
    os._exit(status)


def measure(folder, mode, limit, options, program, steps, memory):
    (ended, child_ended), (child_go_on, go_on) = os.pipe(), os.pipe()
    before, deadline = memory.used(), time.monotonic() + limit
    child = os.fork()
    if child == 0:
        run(folder, mode, options, program, steps, child_ended, child_go_on)
    os.close(child_ended)
    os.set_blocking(ended, False)
    peak, status, end = 0, None, None
    while status is None:
        used = memory.used()
        peak = max(peak, used)
        with contextlib.suppress(BlockingIOError):
            if end is None and os.read(ended, 1):
                end = memory.used()
                os.write(go_on, b".")
        done, code = os.waitpid(child, os.WNOHANG)
        if done:
            status = os.waitstatus_to_exitcode(code)
        elif time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            status = f"no end after {limit:g} s"
        time.sleep(0.002)
    for end_of_pipe in (ended, child_go_on, go_on):
        os.close(end_of_pipe)
    with open(f"{folder}/{mode}.{program}.err", "a") as report:
        if memory.library:
            print(f"device_peak_bytes {peak - before}\ndevice_end_bytes {(end or used) - before}", file=report)
        print(f"pid {child}\nstatus {status}", file=report)
    return status == 0


def main():
    folder, mode, limit, *rest = sys.argv[1:]
    options, programs = rest[:rest.index("--")], rest[rest.index("--") + 1:]
    memory, good = DeviceMemory(), True
    for program, steps in zip(programs[::2], programs[1::2]):
        while not os.path.exists(f"{folder}/{mode}.{program}.go"):
            time.sleep(0.05)
        good &= measure(folder, mode, float(limit), options, program, steps, memory)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
