#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Train a small transformer for a few steps, the same numbers in every run.

Sequences have a different length in each step, so allocation sizes vary. stdout has losses and an
exact sum over all weights; stderr has milliseconds per step. Run it without mam and under `mam
run`, with PYTORCH_NO_CUDA_MEMORY_CACHING=1 and without, and compare.
"""

import argparse
import os
import sys
import time

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")

import plug  # noqa: E402
import torch  # noqa: E402  (cuBLAS reads the variable when it starts)
from torch import nn  # noqa: E402

WORDS = 512
WIDTH = 256
HEADS = 4
WARM_UP = 5


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.before_attention = nn.LayerNorm(WIDTH)
        self.before_mlp = nn.LayerNorm(WIDTH)
        self.inward = nn.Linear(WIDTH, 3 * WIDTH)
        self.outward = nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def attention(self, x):
        batch, length, _ = x.shape
        parts = self.inward(x).view(batch, length, 3, HEADS, WIDTH // HEADS)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        scores = query @ key.transpose(-2, -1) / (WIDTH // HEADS) ** 0.5
        future = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)
        weights = scores.masked_fill(future, float("-inf")).softmax(-1)
        return self.outward((weights @ value).transpose(1, 2).reshape(batch, length, WIDTH))

    def forward(self, x):
        x = x + self.attention(self.before_attention(x))
        return x + self.mlp(self.before_mlp(x))


class Model(nn.Module):
    def __init__(self, blocks):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.blocks = nn.Sequential(*[Block() for _ in range(blocks)])
        self.scores = nn.Linear(WIDTH, WORDS)

    def forward(self, x):
        return self.scores(self.blocks(self.words(x)))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--blocks", type=int, default=3)
    plug.add_options(parser)
    options = parser.parse_args()

    plug.use(options)
    torch.manual_seed(1)
    torch.use_deterministic_algorithms(True)
    torch.backends.cuda.matmul.allow_tf32 = False
    device = torch.device("cuda")
    model = Model(options.blocks).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    random = torch.Generator().manual_seed(2)
    start = time.monotonic()
    for step in range(options.steps + WARM_UP):
        if step == WARM_UP:
            torch.cuda.synchronize()
            start = time.monotonic()
        length = 32 + step * 37 % 160
        # The next word follows from the last one, so there is something to learn.
        first = torch.randint(WORDS, (8, 1), generator=random)
        words = ((first + torch.arange(length + 1) * 7) % WORDS).to(device)
        scores = model(words[:, :-1])
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), words[:, 1:].flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        if step % 5 == 0:
            print("step %d loss %s" % (step, float(loss.item()).hex()))
    torch.cuda.synchronize()
    taken = time.monotonic() - start
    total = sum(float(p.detach().double().sum().item()) for p in model.parameters())
    print("weights %s" % total.hex())
    print("ms_per_round %.4f" % (taken * 1e3 / options.steps), file=sys.stderr)
    plug.report_peaks(options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
