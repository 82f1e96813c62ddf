#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pass CUDA tensors to another process and back with torch.multiprocessing.

stdout has sums, the same in every run; stderr milliseconds per round.
"""

import argparse
import sys
import time

import plug
import torch
import torch.multiprocessing as multiprocessing

ROUNDS = 10


def child(inward, outward, options):
    plug.use(options)
    for _ in range(ROUNDS):
        tensor = inward.get()
        tensor += 1
        outward.put(float(tensor.double().sum().item()))
        del tensor
    inward.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    plug.add_options(parser)
    options = parser.parse_args()
    plug.use(options)
    multiprocessing.set_start_method("spawn")
    inward, outward = multiprocessing.Queue(), multiprocessing.Queue()
    process = multiprocessing.Process(target=child, args=(inward, outward, options))
    process.start()
    start = 0
    for number in range(ROUNDS):
        if number == 1:
            start = time.monotonic()
        tensor = torch.arange(100000 + 1000 * number, device="cuda", dtype=torch.float32)
        torch.cuda.synchronize()
        inward.put(tensor)
        there = outward.get(timeout=30)
        print(number, there, float(tensor.double().sum().item()) == there)
        del tensor
    print(f"ms_per_round {1000 * (time.monotonic() - start) / (ROUNDS - 1):.3f}", file=sys.stderr)
    process.join(30)
    print("child", process.exitcode)


if __name__ == "__main__":
    main()
