# SPDX-License-Identifier: Apache-2.0
"""Shared by the peers of `mam bench host` that are called from Python: rows in the bench's format,
its random numbers, the clock, and Python's own cost of a call.

That cost is measured by running the same loop with `slice`, a built-in type whose call makes a
small object and whose end frees it, in place of the allocator's call. It is subtracted, as the
bench subtracts the cost of reading the clock. The result is at least 0.
"""

import gc
import sys
import time

MIB = 1 << 20
GIB = 1 << 30
WORD = (1 << 64) - 1
SLICE_NS = 50_000_000

now = time.perf_counter_ns
nothing = slice  # called with a number of bytes, it makes an object and keeps no memory


class Random:
    """The numbers of struct bench_random: splitmix64 (Steele, Lea and Flood 2014)."""

    def __init__(self, seed):
        self.state = seed

    def next(self):
        self.state = z = (self.state + 0x9E3779B97F4A7C15) & WORD
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & WORD
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & WORD
        return z ^ (z >> 31)

    def below(self, bound):
        return (self.next() * bound) >> 64

    def between(self, least, most):
        return least + self.below(most - least + 1)


class Rows:
    """CSV rows on stdout, notes on stderr, and the remaining time."""

    def __init__(self, allocator, seconds):
        self.allocator = allocator
        self.until = time.monotonic() + seconds
        self.late = []

    def add(self, workload, parameter, metric, value, allocator=None):
        if "," in parameter:
            parameter = f'"{parameter}"'
        print(f"{workload},{allocator or self.allocator},{parameter},{metric},{value:.6g}")

    def note(self, text):
        print(f"note: {text}", file=sys.stderr)

    def play(self, workload, parameter, run):
        """Runs a case, if there is time for it. It fails by an exception, which is reported."""
        if time.monotonic() > self.until:
            self.late.append(f"{workload} {parameter}")
            return
        gc.collect()
        gc.disable()
        try:
            numbers = run()
        except Exception as error:  # the next case may succeed
            words = str(error).splitlines() or [type(error).__name__]
            self.note(f"{workload} {parameter}: {self.allocator} left out: {words[0][:200]}")
            return
        finally:
            gc.enable()
        for metric, value in numbers.items():
            self.add(workload, parameter, metric, value)

    def end(self):
        if self.late:
            self.note(f"{self.allocator}: cells left out, the time was up: {', '.join(self.late)}")
        sys.stdout.flush()


def median(values):
    values = sorted(values)
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2


def quantile(values, part):
    values = sorted(values)
    return values[min(len(values) - 1, int(part * len(values)))]


def less(value, overhead):
    return max(value - overhead, 0.0)


def batches(one, slice_ns=SLICE_NS, least=5):
    """Medians of the results of `one`, a tuple of nanoseconds; its first result is the warm-up."""
    one()
    answers = []
    until = now() + slice_ns
    while len(answers) < least or (now() < until and len(answers) < 20_000):
        answers.append(one())
    return [median(column) for column in zip(*answers)]
