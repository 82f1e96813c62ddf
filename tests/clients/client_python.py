#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The work of workload.c in Python, on the CUDA driver through ctypes, with the same result line.

ctypes looks up each function with dlsym under its full name, such as cuMemAlloc_v2.
"""

import argparse
import ctypes
import struct
import sys
import time
import zlib

BLOCKS = 48
HEAD = 1024
GOLDEN = 0x9E3779B97F4A7C15
MASK = (1 << 64) - 1


class Random:
    """splitmix64, as in workload.c."""

    def __init__(self, seed):
        self.state = seed

    def draw(self):
        self.state = (self.state + GOLDEN) & MASK
        z = self.state
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
        return z ^ (z >> 31)


class Driver:
    def __init__(self, device):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        context = ctypes.c_void_p()
        self.must(self.cuda.cuInit(0))
        self.must(self.cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
        self.must(self.cuda.cuCtxSetCurrent(context))

    @staticmethod
    def must(result):
        if result != 0:
            print("failed: error %d" % result)
            sys.exit(1)

    def alloc(self, size):
        address = ctypes.c_uint64()
        self.must(self.cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size)))
        return address.value

    def release(self, address):
        self.must(self.cuda.cuMemFree_v2(ctypes.c_uint64(address)))

    def up(self, address, data):
        self.must(self.cuda.cuMemcpyHtoD_v2(ctypes.c_uint64(address), data, ctypes.c_size_t(len(data))))

    def down(self, address, size):
        data = ctypes.create_string_buffer(size)
        self.must(self.cuda.cuMemcpyDtoH_v2(data, ctypes.c_uint64(address), ctypes.c_size_t(size)))
        return data.raw

    def fill(self, address, value, size):
        self.must(
            self.cuda.cuMemsetD8_v2(ctypes.c_uint64(address), ctypes.c_ubyte(value), ctypes.c_size_t(size))
        )

    def wait(self):
        self.must(self.cuda.cuCtxSynchronize())


def head_of(key):
    words = ((key + word * GOLDEN) & MASK for word in range(HEAD // 8))
    return struct.pack("<%dQ" % (HEAD // 8), *words)


class Work:
    def __init__(self, driver, options):
        self.driver = driver
        self.options = options
        self.random = Random(1)
        self.live = []
        self.made = self.bytes = self.errors = self.checksum = 0

    def make(self):
        number = self.random.draw()
        size = 1 << number % self.options.bytes.bit_length()
        size += (number >> 8) % size
        key = self.random.draw()
        address = self.driver.alloc(size)
        self.errors += address % 256 != 0
        self.made += 1
        self.bytes += size
        self.driver.fill(address, key & 0xFF, size)
        self.driver.up(address, head_of(key)[:size])
        self.live.append((address, size, key))

    def drop(self, at):
        address, size, key = self.live[at]
        self.live[at] = self.live[-1]
        self.live.pop()
        start = min(size, HEAD)
        rest = size - start if self.options.check else min(size - start, 64)
        data = self.driver.down(address, start)
        equal = data == head_of(key)[:start]
        self.checksum = zlib.crc32(data, self.checksum)
        if rest:
            equal = equal and self.driver.down(address + size - rest, rest) == bytes([key & 0xFF]) * rest
        self.errors += not equal
        self.driver.release(address)

    def round(self):
        for _ in range(BLOCKS):
            self.make()
            if self.live and self.random.draw() % 3 == 0:
                self.drop(self.random.draw() % len(self.live))
        while self.live:
            self.drop(self.random.draw() % len(self.live))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--bytes", type=int, default=1 << 20)
    parser.add_argument("--device", type=int, default=0)
    parser.add_argument("--check", action="store_true", help="read whole blocks back")
    options = parser.parse_args()
    start = time.monotonic()
    work = Work(Driver(options.device), options)
    for _ in range(options.rounds):
        work.round()
    work.driver.wait()
    print(
        "rounds %d blocks %d bytes %d refused 0 errors %d checksum %08x"
        % (options.rounds, work.made, work.bytes, work.errors, work.checksum)
    )
    print("ms_per_round %.4f" % ((time.monotonic() - start) * 1e3 / options.rounds), file=sys.stderr)
    return 1 if work.errors else 0


if __name__ == "__main__":
    sys.exit(main())
