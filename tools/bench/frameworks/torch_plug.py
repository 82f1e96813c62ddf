#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's requirements on an allocator, with mam plugged in: one line per promise, "NAME yes",
"NAME no: WHY" or "NAME skipped: WHY", on stdout. Exit status 1 if one was broken.

Each runs in a process of its own, at the same time as the others. --mempool plugs mam into a
torch.cuda.MemPool instead, in addition to PyTorch's own cache. --extension adds the promises of
PyTorch's own interface.
"""

import argparse
import os
import random
import select
import signal
import subprocess
import sys
import time
import traceback

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")

import plug  # noqa: E402
import torch  # noqa: E402  (it reads the variables)

MANY = 1 << 22
MIB = 1 << 20
LIMIT = 40  # seconds until all have ended


def built(_):
    """The extension is built, which later processes need not do, and is PyTorch's allocator."""
    name = torch.cuda.get_allocator_backend()
    return name == "mam", f"the allocator is '{name}'"


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


def out_of_memory_text(_):
    """The error of the extension has PyTorch's type, text and counter, and mam's advice."""
    seen = []
    torch._C._cuda_attach_out_of_memory_observer(lambda *values: seen.append(values))
    kept = torch.ones(MANY, device="cuda")
    try:
        torch.empty(1 << 50, dtype=torch.uint8, device="cuda")
        said = "nothing"
    except torch.OutOfMemoryError as error:
        said = str(error)
    parts = ("Tried to allocate 1048576.00 GiB", "has a total capacity of", "mam: the largest free block has",
             "smaller batches")
    lacks = [part for part in parts if part not in said]
    count = torch.cuda.memory_stats()["num_ooms"]
    good = not lacks and count == 1 and len(seen) == 1 and kept.sum().item() == MANY
    return good, f"'{said}' lacks {lacks}; {count} counted, {len(seen)} observed"


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


def differences(found, wanted):
    """Two dictionaries: whether they are equal, and where not."""
    bad = [f"{key} {found[key]} instead of {value}" for key, value in wanted.items() if found[key] != value]
    return not bad, "; ".join(bad)


def statistics(library):
    """Every counter equals what the program requested, and mam has that memory."""
    choice = random.Random(1)
    sizes = [1, 511, 513, 5000, 300 << 10, MIB, MIB + 1, 3 * MIB, 77 * MIB + 5]
    live, count, total, now, peak = [], 0, 0, 0, 0
    for _ in range(2000):
        if live and choice.random() < 0.49:
            now -= live.pop(choice.randrange(len(live))).numel()
        else:
            size = choice.choice(sizes)
            live.append(torch.empty(size, dtype=torch.uint8, device="cuda"))
            live[-1].fill_(1)
            count, total, now = count + 1, total + size, now + size
        peak = max(peak, now)
    stats, pool = torch.cuda.memory_stats(), plug.stats(library)
    small = sum(tensor.numel() <= MIB for tensor in live)
    good, why = differences(stats, {
        "allocation.all.allocated": count, "allocation.all.freed": count - len(live),
        "allocation.all.current": len(live), "active.all.current": len(live),
        "allocation.small_pool.current": small, "allocation.large_pool.current": len(live) - small,
        "requested_bytes.all.allocated": total, "requested_bytes.all.current": now, "requested_bytes.all.peak": peak,
        "allocated_bytes.all.current": pool["live_rounded_bytes"],
        "allocated_bytes.all.peak": pool["peak_live_rounded_bytes"],
        "reserved_bytes.all.current": pool["physical_bytes"], "num_ooms": 0,
    })
    torch.cuda.reset_peak_memory_stats()
    reset, later = differences(torch.cuda.memory_stats(), {"requested_bytes.all.peak": now})
    shown = "| Allocated memory" in torch.cuda.memory_summary()
    return good and reset and shown, f"{why}; after the reset {later}; summary {shown}"


def snapshot(_):
    """A snapshot has every block, with its size and stack, and segments that sum to reserved memory."""
    torch.cuda.memory._record_memory_history(stacks="python")
    sizes = [5000, 600, 3 * MIB, 50 * MIB]
    live = [torch.empty(size, dtype=torch.uint8, device="cuda") for size in sizes]
    del live[0], sizes[0]
    found = torch.cuda.memory._snapshot()
    blocks = {block["address"]: block for segment in found["segments"] for block in segment["blocks"]
              if block["state"] == "active_allocated"}
    good = {tensor.data_ptr(): size for tensor, size in zip(live, sizes)} == \
        {address: block["requested_size"] for address, block in blocks.items()}
    named = all("snapshot" in [frame["name"] for frame in block["frames"]] for block in blocks.values())
    total = sum(segment["total_size"] for segment in found["segments"])
    actions = [entry["action"] for entry in found["device_traces"][0]]
    traced = [actions.count(name) for name in ("alloc", "free_requested", "free_completed")] == [4, 1, 1]
    reserved = torch.cuda.memory_reserved()
    return good and named and total == reserved and traced, \
        f"{len(blocks)} blocks, equal {good}, stacks {named}, segments {total} of {reserved} bytes, trace {actions}"


def private_pool(library):
    """Tensors of a MemPool are in segments of mam, which are returned with the pool."""
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        ones = torch.ones(MANY, device="cuda")
        del_later = ones * 2
    segments = pool.snapshot()
    inside = all(any(s["address"] <= tensor.data_ptr() < s["address"] + s["total_size"] for s in segments)
                 for tensor in (ones, del_later))
    total, live = (ones + del_later).sum().item(), torch.cuda.memory_allocated()
    served = plug.stats(library)["live_bytes"]
    del ones, del_later, pool
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    left = plug.stats(library)["live_bytes"], torch.cuda.memory_allocated(), torch.cuda.memory_reserved()
    good = inside and total == 3 * MANY and live >= 8 * MANY and served >= live and left == (0, 0, 0)
    return good, f"inside {inside}, sum {total}, {live} allocated, {served} of mam, left {left}"


def shared_graphs(library):
    """Graphs that share a pool keep its memory over empty_cache(), and return it with the last of them."""
    given = torch.zeros(MANY, dtype=torch.int64, device="cuda")
    first, second = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
    (given * 2).sum()
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    before = plug.stats(library)["live_bytes"]
    with torch.cuda.graph(first):
        doubled = given * 2 + 1
    with torch.cuda.graph(second, pool=first.pool()):
        result = (doubled * 3).sum()
    wrong = 0
    for number in range(20):
        given.fill_(number)
        others = [torch.full((MANY,), -1, dtype=torch.int64, device="cuda") for _ in range(4)]
        torch.cuda.empty_cache()
        first.replay()
        second.replay()
        wrong += result.item() != 3 * (2 * number + 1) * MANY
        wrong += any(int(other.sum().item()) != -MANY for other in others)
        del others
    used = plug.stats(library)["live_bytes"] - before
    del doubled, result
    first.reset()
    second.reset()
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    left = plug.stats(library)["live_bytes"] - before
    # The generator of random numbers keeps two blocks for all graphs.
    return wrong == 0 and used >= 16 * MANY and left <= 1024, f"{wrong} of 40 sums are wrong, {used} used, {left} left"


def train(**options):
    """The losses of a small network, compiled into CUDA graphs, and the number of private pools."""
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.GELU(), torch.nn.LayerNorm(512),
                                torch.nn.Linear(512, 16)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    compiled, losses = torch.compile(model, dynamic=False, **options), []
    generator = torch.Generator().manual_seed(2)
    for step in range(10):
        values = torch.randn(64 if step % 2 else 128, 256, generator=generator).cuda()
        torch.compiler.cudagraph_mark_step_begin()
        loss = (compiled(values) ** 2).mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        losses.append(float(loss.item()).hex())
    pools = {tuple(s["segment_pool_id"]) for s in torch.cuda.memory._snapshot()["segments"]} - {(0, 0)}
    return f"losses {' '.join(losses)} private pools {len(pools)}"


def compiled(_):
    """torch.compile with graph trees trains as it does without mam."""
    return train(mode="reduce-overhead")


def graph_trees(_):
    """The same without a compiler."""
    return train(backend="cudagraphs")


def processes(_):
    """Tensors are shared with another process."""
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "torch_ipc.py")
    done = subprocess.run([sys.executable, program, "--extension"], env={**os.environ, "MAM_SOURCE": "cudamalloc"},
                          capture_output=True, text=True)
    lines = done.stdout.splitlines()
    good = done.returncode == 0 and len(lines) == 11 and lines[-1] == "child 0" and \
        all(line.endswith("True") for line in lines[:-1])
    return good, f"status {done.returncode}, {' '.join(lines)[-200:]}, {done.stderr.strip().splitlines()[-1:]}"


PLUGGED = [out_of_memory, own_stream, record_stream, second_stream, empty_cache, graph]
EXTENSION = [out_of_memory_text, statistics, snapshot, private_pool, shared_graphs, processes]
COMPARED = [compiled, graph_trees]  # with their results without mam


def attempt(promise, options):
    """In a process of its own; its result is one line."""
    try:
        plug.use(options)
        found = promise(options.library)
    except Exception as error:  # each promise is independent
        traceback.print_exc()
        found = False, f"{type(error).__name__}: {error}".splitlines()[0]
    return found if isinstance(found, str) else f"{found[0]} {found[1]}"


def start(promise, options):
    """Returns the process and its pipe."""
    found, result = os.pipe()
    sys.stdout.flush()
    process = os.fork()
    if process == 0:
        os.setpgid(0, 0)
        line = attempt(promise, options)
        sys.stderr.flush()
        os.write(result, line.replace("\n", " ").encode()[:4000])
        os._exit(0)
    os.close(result)
    return process, found


def finish(process, found, deadline):
    """The line of a process, which ends with its children at the deadline."""
    ready, _, _ = select.select([found], [], [], max(0, deadline - time.monotonic()))
    line = os.read(found, 4096).decode() if ready else ""
    for _ in range(100 if ready else 1):  # its exit may take a moment
        done, status = os.waitpid(process, os.WNOHANG)
        if done:
            break
        time.sleep(0.01)
    else:
        try:
            os.killpg(process, signal.SIGKILL)
        except ProcessLookupError:
            os.kill(process, signal.SIGKILL)
        _, status = os.waitpid(process, 0)
    os.close(found)
    return line or (f"False ended with status {os.waitstatus_to_exitcode(status)}" if ready else "False no end in time")


def judge(promise, lines):
    """Prints and returns whether it is kept. A second line is the result without mam."""
    verdict, _, why = lines[0].partition(" ")
    if len(lines) > 1 and not lines[1].startswith("losses"):
        verdict, why = "skipped", f"without mam: {lines[1]}"
    elif len(lines) > 1:
        verdict, why = str(lines[0] == lines[1]), f"{lines[0]} instead of {lines[1]}"
    print(promise.__name__, {"True": "yes", "skipped": f"skipped: {why}"}.get(verdict, f"no: {why}"), flush=True)
    return verdict in ("True", "skipped")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library", help="path of libmam.so")
    parser.add_argument("--mempool", action="store_true")
    parser.add_argument("--extension", action="store_true")
    options = parser.parse_args()
    options.plug = None if options.extension or options.mempool else options.library
    own = argparse.Namespace(library=options.library, plug=None, extension=False)
    promises = [mempool] if options.mempool else PLUGGED
    compared = []
    if options.extension:
        promises, compared = PLUGGED + EXTENSION, COMPARED
    if options.extension and not judge(built, [finish(*start(built, options), time.monotonic() + LIMIT)]):
        return 1
    deadline = time.monotonic() + LIMIT
    started = [(promise, start(promise, options)) for promise in promises]
    started += [(promise, start(promise, options), start(promise, own)) for promise in compared]
    kept = [judge(promise, [finish(*run, deadline) for run in runs]) for promise, *runs in started]
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())
