#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's requirements on an allocator, with mam plugged in: one line per promise, "NAME yes" or
"NAME no: WHY", on stdout. Exit status 1 if one was broken.

--mempool plugs mam into a torch.cuda.MemPool instead, in addition to PyTorch's own cache.
"""

import argparse
import sys
import traceback

import plug
import torch

MANY = 1 << 22


def kept(name, found, why=""):
    print(f"{name} {'yes' if found else 'no: ' + str(why)}", flush=True)
    return found


def out_of_memory(_):
    """An impossible request raises an error, and later ones work."""
    try:
        torch.empty(1 << 50, dtype=torch.uint8, device="cuda")
    except RuntimeError as error:
        said = str(error)
    else:
        said = "nothing"
    total = torch.ones(MANY, device="cuda").sum().item()
    return "CUDA out of memory" in said and total == MANY, said.splitlines()[0]


def own_stream(_):
    """Memory freed on a stream is reused there at once."""
    first = torch.ones(MANY, device="cuda")
    place = first.data_ptr()
    del first
    second = torch.ones(MANY, device="cuda")
    return second.data_ptr() == place, "another place"


def record_stream(_):
    """Memory that a second stream reads stays unchanged until it was read."""
    side, main, sums, early = torch.cuda.Stream(), torch.cuda.current_stream(), [], 0
    # A kernel's first launch waits for running work, after which a block may legitimately be free.
    torch.full((MANY,), 0, dtype=torch.int32, device="cuda").sum()
    torch.cuda._sleep(1)
    torch.cuda.synchronize()
    for number in range(40):
        values = torch.full((MANY,), number, dtype=torch.int32, device="cuda")
        side.wait_stream(main)
        with torch.cuda.stream(side):
            torch.cuda._sleep(10_000_000)
            sums.append(values.sum())
        values.record_stream(side)
        place = values.data_ptr()
        del values
        other = torch.full((MANY,), -1, dtype=torch.int32, device="cuda")
        early += other.data_ptr() == place
        del other
    torch.cuda.synchronize()
    wrong = [n for n, s in enumerate(sums) if s.item() != n * MANY]
    return not wrong and not early, f"sums {wrong} are wrong, {early} blocks were early"


def second_stream(_):
    """A block of one stream is reused on another when its work is done, and not before."""
    side, main, wrong = torch.cuda.Stream(), torch.cuda.current_stream(), 0
    for number in range(40):
        values = torch.full((MANY,), number, dtype=torch.int32, device="cuda")
        torch.cuda._sleep(5_000_000)
        total = values.sum()
        del values
        with torch.cuda.stream(side):
            other = torch.full((MANY,), -1, dtype=torch.int32, device="cuda")
            del other
        wrong += total.item() != number * MANY
    main.synchronize()
    return wrong == 0, f"{wrong} sums are wrong"


def graph(_):
    """A captured graph finds its memory unchanged, whatever is allocated between replays."""
    given = torch.zeros(MANY, dtype=torch.int64, device="cuda")
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        doubled = given * 2
        result = doubled + given
        del doubled
    wrong = 0
    for number in range(20):
        given.fill_(number)
        others = [torch.full((MANY,), -1, dtype=torch.int64, device="cuda") for _ in range(4)]
        captured.replay()
        wrong += result.sum().item() != 3 * number * MANY
        wrong += any(int(other.sum().item()) != -MANY for other in others)
    return wrong == 0, f"{wrong} of 40 sums are wrong"


def empty_cache(library):
    """Free memory is released to the driver."""
    block = torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
    del block
    torch.cuda.synchronize()
    before = plug.stats(library)["physical_bytes"]
    torch.cuda.empty_cache()
    after = plug.stats(library)["physical_bytes"]
    return before - after >= 1 << 30, f"{before} bytes before, {after} after"


def mempool(library):
    """PyTorch's own cache, with segments from mam in one pool."""
    from torch.cuda import memory
    plugged = memory.CUDAPluggableAllocator(library, "mam_torch_pool_alloc", "mam_torch_free")
    pool = torch.cuda.MemPool(plugged.allocator())
    with torch.cuda.use_mem_pool(pool):
        ones = torch.ones(MANY, device="cuda")
        try:
            torch.empty(1 << 50, dtype=torch.uint8, device="cuda")
            said = False
        except torch.OutOfMemoryError:
            said = True
    total = ones.sum().item()
    served = plug.stats(library)["allocs"]
    return said and total == MANY and served > 0, f"raised {said}, {served} blocks of mam"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library", help="path of libmam.so")
    parser.add_argument("--mempool", action="store_true")
    arguments = parser.parse_args()
    promises = [out_of_memory, own_stream, record_stream, second_stream, empty_cache, graph]
    if arguments.mempool:
        promises = [mempool]
    else:
        plug.torch(arguments.library)
    broken = 0
    for promise in promises:
        try:
            found, why = promise(arguments.library)
        except Exception as error:  # each promise is independent
            traceback.print_exc()
            found, why = False, f"{type(error).__name__}: {error}".splitlines()[0]
        broken += not kept(promise.__name__, found, why)
    return 1 if broken else 0


sys.exit(main())
