#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kernels written in Python with Numba, on arrays that are allocated and freed.

stdout has a sum, stderr milliseconds per round.
"""

import sys
import time

import numpy

# Numba uses names at startup that the latest NumPy no longer has.
for old, new in (("row_stack", "vstack"), ("in1d", "isin"), ("trapz", "trapezoid")):
    if not hasattr(numpy, old) and hasattr(numpy, new):
        setattr(numpy, old, getattr(numpy, new))

from numba import cuda  # noqa: E402

ROUNDS = 200


@cuda.jit
def add(words, value):
    at = cuda.grid(1)
    if at < words.size:
        words[at] += value


def play(number):
    words = cuda.to_device(numpy.arange(10000 + 100 * (number % 50), dtype=numpy.int64))
    add[(words.size + 255) // 256, 256](words, number)
    return int(words.copy_to_host().sum())


def main():
    play(0)
    start = time.monotonic()
    total = sum(play(number) for number in range(ROUNDS))
    print(f"ms_per_round {1000 * (time.monotonic() - start) / ROUNDS:.4f}", file=sys.stderr)
    print("sum", total)


main()
