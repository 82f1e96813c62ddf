#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The cost of a block for a Python program, by the calls that such programs make: rows of workload
"python" in the form of `mam bench host`'s CSV file.

    torch-api     torch.cuda.caching_allocator_alloc and caching_allocator_delete
    torch-tensor  torch.empty(N, dtype=torch.uint8, device="cuda"), and its end
    cupy-api      MemoryPool.malloc(N), and the end of its result
    cupy-array    cupy.empty(N, dtype=cupy.uint8), and its end

alloc_ns and free_ns are medians of batches; call_ns is Python's own time for such a call,
which is part of both: a program pays it.

    usage: peer_api.py [--seconds N] [torch] [cupy]
"""

import argparse
import sys

import peer_python as py
from peer_python import MIB, now

BATCH = 32
SIZES = (("256B", 256), ("1MiB", MIB))


def batch(take, give, size):
    """alloc and free of one block; give None: the end of the object frees it"""
    blocks = [None] * BATCH
    start = now()
    for at in range(BATCH):
        blocks[at] = take(size)
    middle = now()
    if give:
        for at in range(BATCH):
            give(blocks[at])
    else:
        for at in range(BATCH):
            blocks[at] = None
    return (middle - start) / BATCH, (now() - middle) / BATCH


def torch_ways():
    import torch
    torch.cuda.init()
    yield ("torch-api", torch.cuda.caching_allocator_alloc, torch.cuda.caching_allocator_delete)
    yield ("torch-tensor", lambda size: torch.empty(size, dtype=torch.uint8, device="cuda"), None)


def cupy_ways():
    import cupy
    pool = cupy.cuda.MemoryPool()
    cupy.cuda.set_allocator(pool.malloc)
    yield ("cupy-api", pool.malloc, None)
    yield ("cupy-array", lambda size: cupy.empty(size, dtype=cupy.uint8), None)


def main():
    parser = argparse.ArgumentParser(description="The cost of a block for a Python program.")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("which", metavar="torch|cupy", nargs="*", default=["torch", "cupy"])
    options = parser.parse_args()
    ways = {"torch": torch_ways, "cupy": cupy_ways}
    rows, missing = py.Rows("", options.seconds), 0
    for one in options.which:
        if one not in ways:
            parser.error(f"there is no {one}; torch and cupy are known")
        try:
            for rows.allocator, take, give in ways[one]():
                call, _ = py.batches(lambda: batch(py.nothing, None, 256))
                for text, size in SIZES:
                    def run(size=size):
                        alloc, free = py.batches(lambda: batch(take, give, size))
                        return {"alloc_ns": alloc, "free_ns": free, "call_ns": call}
                    rows.play("python", text, run)
        except Exception as error:
            rows.note(f"python: {one} left out: {(str(error).splitlines() or ['?'])[0][:200]}")
            missing += 1
    rows.end()
    return 1 if missing == len(options.which) else 0


if __name__ == "__main__":
    sys.exit(main())
