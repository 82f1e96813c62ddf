#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Train a small graph network on graphs of varying sizes: many small kernels, and sizes that never
recur.

stdout has losses. stderr has milliseconds per step (the median), and the peaks of the allocator.
Run it without mam and under `mam run`, with PYTORCH_NO_CUDA_MEMORY_CACHING=1 and without, and compare.
"""

import argparse
import os
import random
import sys
import time

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")

import plug  # noqa: E402
import torch  # noqa: E402  (cuBLAS reads the variable when it starts)
from torch import nn  # noqa: E402

WIDTH = 128
LAYERS = 6


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.message = nn.Sequential(nn.Linear(2 * WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH))
        self.update = nn.Sequential(nn.Linear(2 * WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH))
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, nodes, source, target, order, starts):
        messages = self.message(torch.cat([nodes[source], nodes[target]], 1))
        # Sums by sorted target: the same in every run, unlike atomic additions.
        gathered = torch.segment_reduce(messages[order], "sum", offsets=starts, axis=0)
        return self.norm(nodes + self.update(torch.cat([nodes, gathered], 1)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=60)
    plug.add_options(parser)
    arguments = parser.parse_args()
    plug.use(arguments)
    torch.manual_seed(1)
    device = torch.device("cuda")
    sizes = random.Random(1)
    generator = torch.Generator().manual_seed(2)
    layers = nn.ModuleList(Layer() for _ in range(LAYERS)).to(device)
    last = nn.Linear(WIDTH, 1).to(device)
    optimiser = torch.optim.Adam([*layers.parameters(), *last.parameters()], lr=1e-3, foreach=False)
    times = []
    for step in range(arguments.steps):
        count, edges = sizes.randrange(2000, 12000), sizes.randrange(16000, 80000)
        nodes = torch.randn(count, WIDTH, generator=generator)
        ends = torch.randint(0, count, (2, edges), generator=generator)
        ends = ends[:, ends[1].argsort(stable=True)]
        starts = torch.searchsorted(ends[1], torch.arange(count + 1))
        torch.cuda.synchronize()
        start = time.perf_counter()
        x, ends, starts = nodes.to(device), ends.to(device), starts.to(device)
        order = torch.arange(edges, device=device)
        for layer in layers:
            x = layer(x, ends[0], ends[1], order, starts)
        loss = (last(x).mean(0) ** 2).sum() + (x ** 2).mean()
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
        print(f"step {step} nodes {count} edges {edges} loss {loss.item():.3f}")
    later = sorted(times[len(times) // 3:])
    print(f"ms_per_round {1000 * later[len(later) // 2]:.3f}", file=sys.stderr)
    plug.report_peaks(arguments)


main()
