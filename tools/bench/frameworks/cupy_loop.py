#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CuPy with its own memory pool off: every array is one cudaMalloc. Or with mam plugged in, or with
its pool. Uses integers, so that results of runs are equal.

stdout has a checksum; stderr has milliseconds per round.
"""

import argparse
import sys
import time

import cupy
import plug

WARM_UP = 5


def work(number):
    count = 1000 + number * 7919 % 200000
    values = cupy.arange(count, dtype=cupy.uint64)
    mixed = (values * cupy.uint64(2654435761)) ^ (values >> cupy.uint64(7))
    odd = mixed[mixed % cupy.uint64(2) == 1]
    return int(cupy.sort(odd)[::3].sum()) + int(mixed.sum())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--plug", metavar="LIBMAM", help="let mam allocate, by this libmam.so")
    parser.add_argument("--pool", action="store_true", help="leave CuPy's own pool on")
    options = parser.parse_args()
    if options.plug:
        plug.cupy(options.plug)
    elif not options.pool:
        cupy.cuda.set_allocator(None)
    checksum = 0
    start = time.monotonic()
    for number in range(options.rounds + WARM_UP):
        if number == WARM_UP:
            cupy.cuda.Device().synchronize()
            start = time.monotonic()
        checksum = (checksum * 31 + work(number)) % (1 << 64)
    cupy.cuda.Device().synchronize()
    print("rounds %d checksum %016x" % (options.rounds, checksum))
    taken = time.monotonic() - start
    print("ms_per_round %.4f" % (taken * 1e3 / options.rounds), file=sys.stderr)
    if options.plug:
        plug.report(options.plug)
    elif options.pool:
        reserved = cupy.get_default_memory_pool().total_bytes()
        print("peak_reserved_bytes %d" % reserved, file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
