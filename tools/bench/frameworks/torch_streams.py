#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Four streams, each with a cache that grows by concatenation and starts again, as in the serving of language models.

stdout has a sum, the same in every run of one machine. stderr has milliseconds per step (the median), and the peaks of
the allocator.
"""

import argparse
import sys
import time

import plug
import torch

STREAMS = 4
WIDTH = 1 << 20


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=240)
    plug.add_options(parser)
    arguments = parser.parse_args()
    plug.use(arguments)
    streams = [torch.cuda.Stream() for _ in range(STREAMS)]
    caches, sums, times, total = [None] * STREAMS, [None] * STREAMS, [], 0.0
    for step in range(arguments.steps):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for i, stream in enumerate(streams):
            with torch.cuda.stream(stream):
                new = torch.full((1 + (step * 7 + i * 3) % 9, WIDTH), 0.001 * (step + i), device="cuda")
                caches[i] = new if caches[i] is None else torch.cat([caches[i], new])
                sums[i] = (caches[i] * 1.5).sum(1).sum()
                if caches[i].shape[0] > 40 + 13 * i:
                    caches[i] = None
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
        total += sum(value.item() for value in sums)
    print(f"sum {total:.4f}")
    later = sorted(times[len(times) // 3:])
    print(f"ms_per_round {1000 * later[len(later) // 2]:.3f}", file=sys.stderr)
    plug.report_peaks(arguments)


main()
