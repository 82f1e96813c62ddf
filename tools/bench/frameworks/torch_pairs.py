#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Create and destroy small tensors without work on the GPU: what an allocation costs.

stdout has the number of pairs; stderr has milliseconds per 1,000 pairs (the median).
"""

import argparse
import sys
import time

import plug
import torch


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=100)
    plug.add_options(parser)
    arguments = parser.parse_args()
    plug.use(arguments)
    times = []
    for _ in range(arguments.steps):
        start = time.perf_counter()
        for _ in range(1000):
            torch.empty(4096, device="cuda")
        times.append(time.perf_counter() - start)
    torch.cuda.synchronize()
    print(f"pairs {1000 * arguments.steps}")
    print(f"ms_per_round {1000 * sorted(times)[len(times) // 2]:.4f}", file=sys.stderr)
    plug.report_peaks(arguments)


main()
