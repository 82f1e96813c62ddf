#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Train a transformer of GPT-2's size: 12 blocks, 768 wide, AdamW, bfloat16, varying lengths.

stdout has losses, the same in every run of one machine. stderr has milliseconds per step (the
median), and with PyTorch's own cache its peaks. Run it without mam and under `mam run`, with
PYTORCH_NO_CUDA_MEMORY_CACHING=1 and without, and compare.
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
from torch.nn import functional  # noqa: E402

WORDS = 50257
WIDTH = 768
HEADS = 12
BLOCKS = 12
LONGEST = 1024


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.inward, self.outward = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.wide, self.narrow = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def attention(self, x):
        batch, length, _ = x.shape
        query, key, value = (part.view(batch, length, HEADS, WIDTH // HEADS).transpose(1, 2)
                             for part in self.inward(x).split(WIDTH, 2))
        scores = query @ key.transpose(2, 3) / (WIDTH // HEADS) ** 0.5
        future = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)
        scores = scores.masked_fill(future, float("-inf")).softmax(3)
        return self.outward((scores @ value).transpose(1, 2).reshape(batch, length, WIDTH))

    def forward(self, x):
        x = x + self.attention(self.first(x))
        return x + self.narrow(functional.gelu(self.wide(self.second(x))))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(LONGEST, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(BLOCKS))
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, tokens):
        x = self.words(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        return self.norm(x) @ self.words.weight.t()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--batch", type=int, default=8)
    plug.add_options(parser)
    arguments = parser.parse_args()
    plug.use(arguments)
    torch.manual_seed(1)
    torch.use_deterministic_algorithms(True)
    lengths = random.Random(1)
    device = torch.device("cuda")
    model = Model().to(device)
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4)
    generator = torch.Generator().manual_seed(2)
    times = []
    for step in range(arguments.steps):
        length = lengths.randrange(256, LONGEST, 32)
        tokens = torch.randint(0, WORDS, (arguments.batch, length + 1), generator=generator)
        torch.cuda.synchronize()
        start = time.perf_counter()
        tokens = tokens.to(device)
        with torch.autocast("cuda", torch.bfloat16):
            scores = model(tokens[:, :-1])
            loss = functional.cross_entropy(scores.reshape(-1, WORDS).float(),
                                            tokens[:, 1:].reshape(-1))
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
        print(f"step {step} length {length} loss {loss.item():.4f}")
    # Times depend on the length, so the steps of the second half are summed.
    later = times[len(times) // 2:]
    print(f"ms_per_round {1000 * sum(later) / len(later):.3f}", file=sys.stderr)
    plug.report_peaks(arguments)


if __name__ == "__main__":
    main()
