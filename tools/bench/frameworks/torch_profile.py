#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What mam.profile costs in a training of GPT-2's size (torch_gpt2.py), measured in one process.

    PYTORCH_NO_CUDA_MEMORY_CACHING=1 mam run -- python3 torch_profile.py FOLDER

In each round it trains without a profile (twice), with one of all stacks, and with one that is
sampled at 512 KiB, in random order. Profiles go to FOLDER. stdout has a line per part of a round:
round, mode, milliseconds of the first step, in which stacks are new, and of the others. stderr has,
for each mode, the median over the rounds of its step compared with those without a profile, in
percent, and the standard error of that median.
"""

import argparse
import contextlib
import os
import random
import statistics
import sys
import time

import mam
import torch
from torch.nn import functional

from torch_gpt2 import BLOCKS, LONGEST, WORDS, Model

MODES = ("none", "none_again", "all", "sampled")
RATE = 512 << 10


def profile(folder, mode, number):
    if mode not in ("all", "sampled"):
        return contextlib.nullcontext()
    return mam.profile(os.path.join(folder, "%s-%d.mam" % (mode, number)), RATE if mode == "sampled" else 0)


def report(rounds):
    """Noise is what two parts without a profile differ by."""
    bases = [statistics.median(times["none"][1:] + times["none_again"][1:]) for times in rounds]
    print("ms_per_round %.3f" % statistics.median(bases), file=sys.stderr)
    for mode in MODES:
        cost = [100 * (statistics.median(times[mode][1:]) / base - 1) for times, base in zip(rounds, bases)]
        error = 1.25 * statistics.stdev(cost) / len(cost) ** 0.5 if len(cost) > 1 else float("inf")
        first = statistics.median(100 * (times[mode][0] / base - 1) for times, base in zip(rounds, bases))
        print("%s %+.2f %% of a step, error %.2f, first step %+.2f %%" % (mode, statistics.median(cost), error, first),
              file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", metavar="FOLDER")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--steps", type=int, default=4, help="of each part, besides its first")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--length", type=int, default=LONGEST // 2)
    parser.add_argument("--seconds", type=float, default=600, help="begin no further round after this time")
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()
    device = torch.device(options.device)
    wait = torch.cuda.synchronize if device.type == "cuda" else lambda: None
    end = time.monotonic() + options.seconds
    torch.manual_seed(1)
    model = Model().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    tokens = torch.randint(0, WORDS, (options.batch, options.length + 1)).to(device)

    def step():
        wait()
        start = time.perf_counter()
        with torch.autocast(device.type, torch.bfloat16):
            scores = model(tokens[:, :-1])
            loss = functional.cross_entropy(scores.reshape(-1, WORDS).float(), tokens[:, 1:].reshape(-1))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        wait()
        return 1000 * (time.perf_counter() - start)

    print("# %d blocks, batch %d, length %d" % (BLOCKS, options.batch, options.length))
    for _ in range(5):
        step()
    order = random.Random(3)
    rounds = []
    for number in range(options.rounds):
        times = {}
        for mode in order.sample(MODES, len(MODES)):
            with profile(options.folder, mode, number):
                times[mode] = [step() for _ in range(1 + options.steps)]
            print(number, mode, *("%.3f" % ms for ms in times[mode]), flush=True)
        rounds.append(times)
        if time.monotonic() > end:
            break
    report(rounds)


main()
