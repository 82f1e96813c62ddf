#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CuPy's memory pool as a peer of `mam bench host`: the same workloads, cases and random numbers,
and rows in the form of its CSV file. CuPy's pool is only available in Python, so the calls are made
from there; Python's own time for a call is measured and subtracted (peer_python.py), and a note on
stderr reports it.

    usage: peer_cupy.py [--seconds N] [--limit N] [--only LIST] [--training TRACE] [TRACE...]

TRACE is the output of `mam bench trace`, or a trace of mam's own format, gzipped or not.
"""

import argparse
import gzip
import os
import sys
import threading

import peer_python as py
from peer_python import GIB, MIB, now

SEED = 20170
SMALL_LIVE = 16
PAIRS = 256
SIZE_BATCH = 32
GROUND = 24 * GIB
LIVE_BUDGET = min(16000 * MIB, GROUND // 3 * 2)
ALLOC_PERCENT = 73
LIMIT_S = 1.2  # the limit of one run of a trace; half of it for random steps
STRIDE = 1024  # steps between clock reads
SLOTS, CHOICES, LOOK_EVERY = 100, 4096, 64

SIZES = (("256B", 256), ("64KiB", 64 << 10), ("1MiB", MIB), ("16MiB", 16 * MIB),
         ("256MiB", 256 * MIB), ("1GiB", GIB))
PAIR_SIZES = [one for one in SIZES if one[0] in ("256B", "1MiB", "16MiB", "1GiB")]
RANDOM = [(n, text, mib) for n in (1000, 10000, 100000)
          for text, mib in (("1MiB", 1), ("4MiB", 4), ("64MiB", 64), ("1GiB", 1024),
                            ("4GiB", 4096))]
THREADS = (1, 2, 4, 8, 16)


class Pool:
    """A CuPy pool for one run."""

    def __init__(self):
        import cupy
        self.refused = cupy.cuda.memory.OutOfMemoryError
        self.settle = cupy.cuda.Device().synchronize
        self.pool = cupy.cuda.MemoryPool()
        self.take = self.pool.malloc

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.settle()
        self.pool.free_all_blocks()


def pair_batch(take, size):
    start = now()
    for _ in range(PAIRS):
        take(size)  # the returned block ends here
    return ((now() - start) / PAIRS,)


def run_pair(size):
    random = py.Random(SEED)
    with Pool() as pool:
        small = [pool.take(random.between(256, 16 << 10)) for _ in range(SMALL_LIVE)]
        found, = py.batches(lambda: pair_batch(pool.take, size))
        empty, = py.batches(lambda: pair_batch(py.nothing, size))
        del small
        return {"pair_ns": py.less(found, empty)}


def size_batch(take, size, order):
    blocks = [None] * len(order)
    start = now()
    for at in order:
        blocks[at] = take(size)
    middle = now()
    for at in order:
        blocks[at] = None
    end = now()
    return (middle - start) / len(order), (end - middle) / len(order)


def run_size(size):
    random = py.Random(SEED)
    order = list(range(min(SIZE_BATCH, GROUND // 4 * 3 // size)))
    for at in range(len(order) - 1, 0, -1):
        other = random.below(at + 1)
        order[at], order[other] = order[other], order[at]
    with Pool() as pool:
        found = py.batches(lambda: size_batch(pool.take, size, order))
    empty = py.batches(lambda: size_batch(py.nothing, size, order))
    return {"alloc_ns": py.less(found[0], empty[0]), "free_ns": py.less(found[1], empty[1])}


def plan_random(n, most, random):
    """The steps of work_random.c: (bytes, slot), 0 bytes for a free."""
    steps, sizes, order, live_bytes = [], [], [], 0
    while len(steps) < 2 * n:
        ask = len(sizes) < n and (not order or random.below(100) < ALLOC_PERCENT)
        size = random.between(1, most) if ask else 0
        if ask and (live_bytes + size < LIVE_BUDGET or not order):
            steps.append((size, len(sizes)))
            order.append(len(sizes))
            sizes.append(size)
            live_bytes += size
        else:
            at = random.below(len(order))
            slot, order[at] = order[at], order[-1]
            order.pop()
            live_bytes -= sizes[slot]
            steps.append((0, slot))
    return steps


def play(take, steps, slots, limit_ns, refused=MemoryError):
    """Returns how many steps were done, their time in ns, and how many requests failed."""
    blocks, done, failures, spent = [None] * slots, 0, 0, 0
    while done < len(steps) and spent < limit_ns:
        part = iter(steps[done:done + STRIDE])
        start = now()
        while True:
            try:
                for size, slot in part:
                    blocks[slot] = take(size) if size else None
                break
            except refused:
                failures += 1
        spent += now() - start
        done = min(done + STRIDE, len(steps))
    return done, spent, failures


def run_random(n, most, limit_ns):
    steps = plan_random(n, most, py.Random(SEED))
    done, spent, _ = play(py.nothing, steps, n, limit_ns)
    empty = spent / done
    with Pool() as pool:
        done, spent, failures = play(pool.take, steps, n, limit_ns, pool.refused)
        if done == len(steps) and spent < limit_ns / 2:
            done, spent, failures = play(pool.take, steps, n, limit_ns, pool.refused)
    return {"op_ns": py.less(spent / done, empty), "refused": failures,
            "done_ratio": done / len(steps)}


class Crew:
    """Threads that replace blocks until `stop` is set."""

    def __init__(self, take, count, seed):
        self.take, self.gate, self.stop = take, threading.Barrier(count + 1), False
        random = py.Random(seed)
        self.seeds = [random.next() for _ in range(count)]
        self.done, self.failures = [0] * count, []

    def choices(self, which):
        """Slots and sizes, a few at a time, repeated."""
        random, choices = py.Random(self.seeds[which]), []
        for _ in range(CHOICES):
            octave = 256 << random.below(12)
            choices.append((random.below(SLOTS), random.between(octave, 2 * octave)))
        return [choices[at:at + LOOK_EVERY] for at in range(0, CHOICES, LOOK_EVERY)]

    def work(self, which):
        take, blocks = self.take, [None] * SLOTS
        try:
            parts = self.choices(which)
            for at in range(SLOTS):
                blocks[at] = take(parts[at // LOOK_EVERY][at % LOOK_EVERY][1])
            self.gate.wait()
            while not self.stop:
                for slot, size in parts[self.done[which] % len(parts)]:
                    blocks[slot] = None
                    blocks[slot] = take(size)
                self.done[which] += 1
        except Exception as error:  # reported by the thread that started this one
            self.failures.append(error)
            self.gate.abort()

    def play(self):
        """ns per operation of all threads together"""
        threads = [threading.Thread(target=self.work, args=(which,))
                   for which in range(len(self.seeds))]
        for thread in threads:
            thread.start()
        try:
            self.gate.wait()
        except threading.BrokenBarrierError:
            pass  # the reason is among the failures
        start = now()
        while now() - start < 2 * py.SLICE_NS and not self.failures:
            threads[0].join(0.01)
        self.stop = True
        for thread in threads:
            thread.join()
        spent = now() - start
        if self.failures:
            raise self.failures[0]
        return spent / (2 * LOOK_EVERY * sum(self.done))


replacement = []  # ns per operation of a crew without an allocator, once measured


def run_threads(count):
    """Python's own time is that of one thread: it runs only one thread at a time."""
    if not replacement:
        replacement.append(Crew(py.nothing, 1, SEED).play())
    with Pool() as pool:
        found = Crew(pool.take, count, SEED).play()
    return {"mops": 1000 / max(py.less(found, replacement[0]), 1e-3)}


def read_trace(path):
    """Its steps, the number of slots they need, and the peak live bytes."""
    steps, slots, sizes, idle, live, peak = [], {}, {}, [], 0, 0
    with (gzip.open if path.endswith(".gz") else open)(path, "rt") as file:
        for line in file:
            words = line.split()
            if words and words[0] == "a":
                size = max(int(words[2]), 1)
                slots[words[1]] = slot = idle.pop() if idle else len(sizes)
                sizes[slot] = size
                live += size
                peak = max(peak, live)
                steps.append((size, slot))
            elif words and words[0] == "f" and words[1] in slots:
                slot = slots.pop(words[1])
                live -= sizes[slot]
                idle.append(slot)
                steps.append((0, slot))
    return steps, len(sizes), peak


def play_single(take, steps, slots, limit_ns, refused=MemoryError):
    """ns of each allocation and of each free"""
    blocks, allocs, frees, spent = [None] * slots, [], [], 0
    for size, slot in steps:
        start = now()
        try:
            blocks[slot] = take(size) if size else None
        except refused:
            pass
        took = now() - start
        (allocs if size else frees).append(took)
        spent += took
        if spent > limit_ns:
            break
    return allocs, frees


def run_trace(path, limit_ns):
    steps, slots, peak = read_trace(path)
    done, spent, _ = play(py.nothing, steps, slots, limit_ns)
    empty = spent / done
    empty_allocs, empty_frees = (
        py.median(one) for one in play_single(py.nothing, steps, slots, limit_ns))
    with Pool() as pool:
        numbers = {}
        allocs, frees = play_single(pool.take, steps, slots, limit_ns, pool.refused)
        events = len(allocs) + len(frees)
        whole = events == len(steps)
        if whole:  # it releases nothing by itself, so it now holds its peak
            held = pool.pool.total_bytes()
            numbers = {"reserved_bytes": held, "reserved_ratio": held / peak,
                       "physical_ratio": held / peak}
        numbers |= {"cold_alloc_mean_ns": py.less(sum(allocs) / len(allocs), empty_allocs),
                    "cold_free_mean_ns": py.less(sum(frees) / len(frees), empty_frees),
                    "cold_events": events, "done_ratio": events / len(steps)}
        numbers["cold_event_ns"] = (numbers["cold_alloc_mean_ns"] * len(allocs) +
                                    numbers["cold_free_mean_ns"] * len(frees)) / events
        warm, failures = [], 0
        while whole and len(warm) < 3:
            done, spent, failed = play(pool.take, steps, slots, limit_ns, pool.refused)
            whole = done == len(steps)
            warm.append(py.less(spent / done, empty))
            failures += failed
        numbers["event_ns"] = py.median(warm) if warm else numbers["cold_event_ns"]
        if whole:
            allocs, frees = play_single(pool.take, steps, slots, limit_ns, pool.refused)
            numbers |= {"alloc_ns": py.less(py.median(allocs), empty_allocs),
                        "free_ns": py.less(py.median(frees), empty_frees),
                        "alloc_p99_ns": py.less(py.quantile(allocs, 0.99), empty_allocs),
                        "free_p99_ns": py.less(py.quantile(frees, 0.99), empty_frees),
                        "alloc_mean_ns": py.less(sum(allocs) / len(allocs), empty_allocs),
                        "free_mean_ns": py.less(sum(frees) / len(frees), empty_frees)}
        if failures:
            numbers["failures"] = failures
        return numbers


def trace_name(path):
    """The name of the bench's case."""
    name = os.path.basename(path)
    for ending in (".gz", ".trace"):
        name = name.removesuffix(ending)
    return "".join("_" if one <= " " or one in '",' else one for one in name[:47])


def main():
    parser = argparse.ArgumentParser(description="CuPy's pool under mam bench host's workloads.")
    parser.add_argument("--seconds", type=float, default=45)
    parser.add_argument("--limit", type=float, default=LIMIT_S, metavar="SECONDS",
                        help="the longest that one play of a trace may take")
    parser.add_argument("--only", metavar="LIST", help="workloads, commas between")
    parser.add_argument("--training", metavar="TRACE", help="what mam bench trace prints")
    parser.add_argument("traces", metavar="TRACE", nargs="*")
    options = parser.parse_args()
    rows = py.Rows("cupy", options.seconds)
    limit_ns = int(options.limit * 1e9)
    try:
        with Pool() as pool:
            pool.take(256)
    except Exception as error:
        words = (str(error).splitlines() or ["?"])[0]
        print(f"peer_cupy.py: no CuPy here: {words}", file=sys.stderr)
        return 1
    empty, = py.batches(lambda: pair_batch(py.nothing, 256))
    rows.note(f"cupy: called from Python, whose own {empty:.0f} ns a pair of calls are taken off "
              f"(more where blocks are kept)")
    cases = [("pair", text, lambda size=size: run_pair(size)) for text, size in PAIR_SIZES]
    cases += [("threads", str(count), lambda count=count: run_threads(count)) for count in THREADS]
    if options.training:
        cases.append(("training", "growing", lambda: run_trace(options.training, limit_ns)))
    cases += [("replay", trace_name(path), lambda path=path: run_trace(path, limit_ns))
              for path in options.traces]
    cases += [("size", text, lambda size=size: run_size(size)) for text, size in SIZES]
    cases += [("random", f"{n},{text}",
               lambda n=n, mib=mib: run_random(n, mib * MIB, limit_ns // 2))
              for n, text, mib in RANDOM]
    for workload, parameter, run in cases:
        if options.only is None or workload in options.only.split(","):
            rows.play(workload, parameter, run)
    rows.end()
    return 0


if __name__ == "__main__":
    sys.exit(main())
