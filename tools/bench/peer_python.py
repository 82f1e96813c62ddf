# SPDX-License-Identifier: Apache-2.0
"""What peers of `mam bench host` that are reached through Python share: rows as the bench writes
them, its random numbers, the clock, and what a call costs in Python before the allocator has done
anything.

That cost is measured by playing the same loop with `slice`, a type of Python's own whose call makes
a small object and whose end frees it, in place of the allocator's call; it is taken off, as the
bench takes off its look at the clock. What remains is never below 0.
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
    """CSV rows on stdout, notes on stderr, and the time that is left."""

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
        """A case, if there is time for it. It fails by an exception, which is told."""
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
    """Medians of what `one` answers, a tuple of nanoseconds; its first answer was the warm-up."""
    one()
    answers = []
    until = now() + slice_ns
    while len(answers) < least or (now() < until and len(answers) < 20_000):
        answers.append(one())
    return [median(column) for column in zip(*answers)]
