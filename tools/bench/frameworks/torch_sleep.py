#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Suspend and resume the memory of PyTorch between runs of a model with captured CUDA graphs.

    torch_sleep.py MODE [--cycles N] [--width N] [--blocks N]

MODE is plug-in or extension, in which all of PyTorch's memory is mam's and is suspended, or regions: weights and a cache
are in regions over PyTorch's own allocator, and the contents of the cache are discarded.

A transformer runs on fixed inputs by two graphs: of its forward pass and of a training step. Each cycle suspends memory,
resumes it, and replays the graph of the forward pass, whose output must be the same in every bit. Every
tenth cycle also replays the training step. The same was done before without a suspend, for the outputs to compare with
(and once more, as a control: different_without_sleep).

stdout: lines "WORKLOAD,PARAMETER,METRIC,VALUE". Exit status: 0, or 1 if an output differed or memory was not released.
"""

import argparse
import contextlib
import gc
import os
import statistics
import sys
import time

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")

import mam  # noqa: E402
import torch  # noqa: E402  (cuBLAS reads the variable when it starts)
from torch import nn  # noqa: E402

GIB = 1 << 30


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.inward, self.outward = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        query, key, value = (part.view(batch, length, width // 64, 64).transpose(1, 2)
                             for part in self.inward(self.norm(x)).split(width, 2))
        scores = (query @ key.transpose(2, 3) / 8).softmax(3)
        x = x + self.outward((scores @ value).transpose(1, 2).reshape(batch, length, width))
        return x + self.narrow(nn.functional.gelu(self.wide(x)))


def available():
    with open("/proc/meminfo") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("MemAvailable")) / (1 << 20)


def capture(function):
    """A graph of the function, and what it returned in the capture."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            function()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = function()
    return graph, result


class Case:
    def __init__(self, width, blocks, region=contextlib.nullcontext()):
        torch.manual_seed(1)
        with region:
            self.model = nn.Sequential(*(Block(width) for _ in range(blocks))).to("cuda", torch.bfloat16)
            self.input = torch.randn(4, 512, width, device="cuda", dtype=torch.bfloat16)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-3)
        self.forward_graph, self.output = capture(self.forward)
        self.step_graph, self.loss = capture(self.step)

    def forward(self):
        with torch.no_grad():
            return self.model(self.input)

    def step(self):
        self.optimizer.zero_grad(set_to_none=False)
        loss = self.model(self.input).float().square().mean()
        loss.backward()
        self.optimizer.step()
        return loss

    def bits(self):
        self.forward_graph.replay()
        return self.output.cpu().view(torch.int16), self.loss.item()


def history(case, cycles, between):
    """Outputs after each cycle, as sums that change with any bit, and losses."""
    seen = []
    for cycle in range(cycles):
        between()
        if cycle % 10 == 9:
            case.step_graph.replay()
        bits, loss = case.bits()
        weights = torch.arange(1, bits.numel() + 1, dtype=torch.int64)
        seen.append((int((bits.flatten().to(torch.int64) * weights).sum()), loss))
    return seen


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cycles", type=int, default=100)
    parser.add_argument("--width", type=int, default=1024)
    parser.add_argument("--blocks", type=int, default=4)
    parser.add_argument("mode", choices=("plug-in", "extension", "regions"))
    options = parser.parse_args()
    name, has_regions = options.mode, options.mode == "regions"
    torch.use_deterministic_algorithms(True)
    if not has_regions:
        mam.torch.enable(source="vmm", extension=name == "extension")

    def row(metric, value):
        print(f"torch,{name},{metric},{value:.6g}", flush=True)

    reference = history(Case(options.width, options.blocks), options.cycles, lambda: None)
    again = history(Case(options.width, options.blocks), 20, lambda: None)
    row("different_without_sleep", sum(a != b for a, b in zip(again, reference)))
    gc.collect()
    torch.cuda.empty_cache()
    region = mam.torch.region("weights") if has_regions else contextlib.nullcontext()
    case = Case(options.width, options.blocks, region)
    pools = [mam.Pool.named("weights", 0)] if has_regions else [mam.Pool.default(0)]
    if has_regions:
        with mam.torch.region("kv"):
            cache = torch.ones(1 << 28, device="cuda")
        pools.append(mam.Pool.named("kv", 0))
    out, back, kept, freed = [], [], [], []
    host = available()

    def suspend():
        if has_regions:
            mam.torch.sleep("weights")
            mam.torch.sleep("kv", to="discard")
        else:
            pools[0].suspend()

    def resume():
        if has_regions:
            mam.torch.wake()
            cache.fill_(1)
        else:
            pools[0].resume()

    def between():
        torch.cuda.synchronize()
        before = torch.cuda.mem_get_info()[0]
        began = time.perf_counter()
        suspend()
        out.append((time.perf_counter() - began) * 1e3)
        kept.append(sum(pool.stats().physical_bytes for pool in pools))
        asleep = sum(pool.stats().suspended_bytes for pool in pools)
        freed.append(torch.cuda.mem_get_info()[0] - before - asleep)
        began = time.perf_counter()
        resume()
        back.append((time.perf_counter() - began) * 1e3)

    row("mapped_gib", sum(pool.stats().physical_bytes for pool in pools) / GIB)
    seen = history(case, options.cycles, between)
    differing = sum(a != b for a, b in zip(seen, reference))
    row("cycles", len(seen))
    row("different_outputs", differing)
    row("distinct_outputs", len(set(seen)))
    row("suspend_ms", statistics.median(out))
    row("resume_ms", statistics.median(back))
    row("kept_mib", max(kept) / (1 << 20))
    row("not_freed_mib", max(0, -min(freed)) / (1 << 20))
    row("host_left_gib", host - available())
    return differing != 0 or max(kept) != 0 or min(freed) < 0


if __name__ == "__main__":
    sys.exit(main())
