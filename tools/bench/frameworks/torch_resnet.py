#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Train a network of ResNet-50's shape on images of varying sizes.

stdout has losses, the same in every run of one machine. stderr has milliseconds per step (the mean of the second half),
and the peaks of the allocator.
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

CLASSES = 1000
STAGES = ((64, 3), (128, 4), (256, 6), (512, 3))  # width and number of blocks
SIZES = (160, 192, 224, 256, 288)


def convolution(inputs, outputs, size, stride=1):
    return nn.Sequential(nn.Conv2d(inputs, outputs, size, stride, size // 2, bias=False), nn.BatchNorm2d(outputs))


class Block(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        self.first = convolution(inputs, width, 1)
        self.second = convolution(width, width, 3, stride)
        self.third = convolution(width, 4 * width, 1)
        same = stride == 1 and inputs == 4 * width
        self.shortcut = nn.Identity() if same else convolution(inputs, 4 * width, 1, stride)

    def forward(self, x):
        y = functional.relu(self.first(x))
        y = functional.relu(self.second(y))
        return functional.relu(self.third(y) + self.shortcut(x))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, inputs, blocks = convolution(3, 64, 7, 2), 64, []
        for stage, (width, count) in enumerate(STAGES):
            for i in range(count):
                blocks.append(Block(inputs, width, 2 if stage and i == 0 else 1))
                inputs = 4 * width
        self.blocks, self.scores = nn.Sequential(*blocks), nn.Linear(inputs, CLASSES)

    def forward(self, x):
        x = functional.max_pool2d(functional.relu(self.stem(x)), 3, 2, 1)
        return self.scores(self.blocks(x).mean((2, 3)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--batch", type=int, default=32)
    plug.add_options(parser)
    arguments = parser.parse_args()
    plug.use(arguments)
    torch.manual_seed(1)
    torch.backends.cudnn.deterministic = True
    device = torch.device("cuda")
    model = Model().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    choice, generator = random.Random(1), torch.Generator().manual_seed(2)
    times = []
    for step in range(arguments.steps):
        size = choice.choice(SIZES)
        images = torch.randn(arguments.batch, 3, size, size, generator=generator)
        labels = torch.randint(0, CLASSES, (arguments.batch,), generator=generator)
        torch.cuda.synchronize()
        start = time.perf_counter()
        loss = functional.cross_entropy(model(images.to(device)), labels.to(device))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
        print(f"step {step} size {size} loss {loss.item():.4f}")
    # Times depend on the size, so the steps of the second half are summed.
    later = times[len(times) // 2:]
    print(f"ms_per_round {1000 * sum(later) / len(later):.3f}", file=sys.stderr)
    plug.report_peaks(arguments)


main()
