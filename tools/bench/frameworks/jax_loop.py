#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small loop in JAX, with varying sizes. XLA maps memory by itself: mam counts it.

stdout has sums, stderr milliseconds per round.
"""

import os
import sys
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_ALLOCATOR", "platform")
# Otherwise XLA selects kernels by timing them, and sums differ from run to run.
os.environ.setdefault("XLA_FLAGS", "--xla_gpu_autotune_level=0 --xla_gpu_deterministic_ops=true")

import jax  # noqa: E402  (it reads the variable when it starts)
import jax.numpy as jnp  # noqa: E402

ROUNDS = 100


def play(number):
    size = 64 + 64 * (number % 8)
    x = jnp.arange(size * size, dtype=jnp.float32).reshape(size, size) / (size * size)
    return float(jnp.sum(jnp.tanh(x @ x.T)))


def main():
    assert jax.devices()[0].platform == "gpu"
    for number in range(8):
        play(number)
    start = time.monotonic()
    total = sum(play(number) for number in range(ROUNDS))
    print(f"ms_per_round {1000 * (time.monotonic() - start) / ROUNDS:.4f}", file=sys.stderr)
    print(f"sum {total:.3f}")


main()
