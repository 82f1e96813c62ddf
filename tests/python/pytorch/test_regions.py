# SPDX-License-Identifier: Apache-2.0
"""Regions of a real PyTorch that sleep, on the stand-in driver, which runs no kernels: tensors are filled by copies."""

import os
import subprocess
import sys
import unittest

try:
    import torch
except ImportError:
    raise unittest.SkipTest("PyTorch is not installed") from None
if not (torch.version.cuda or "").startswith("13."):
    raise unittest.SkipTest("the stand-in replaces the runtime of CUDA 13, and PyTorch has another one")

PROGRAM = """
import gc, mam, torch, warnings

{enable}
MIB = 1 << 20

def filled(size, value):
    host = torch.full((size,), value, dtype=torch.uint8)
    return torch.empty(size, dtype=torch.uint8, device="cuda").copy_(host)

def is_filled(tensor, value):
    return bool((tensor.cpu() == value).all())

def physical(tag):
    return mam.Pool.named(tag, 0).stats().physical_bytes

with mam.torch.region("weights"):
    weights = [filled(3 * MIB, 1), filled(5000, 2)]
with mam.torch.region("kv"):
    cache = filled(30 * MIB, 3)
outside = filled(MIB, 4)
stream = torch.cuda.Stream()
graph = torch.cuda.CUDAGraph()
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    with torch.cuda.graph(graph):
        weights[0][MIB:2 * MIB].copy_(weights[0][:MIB])
added = []
addresses = [tensor.data_ptr() for tensor in (*weights, cache, outside)]
for cycle in range(3):
    assert physical("weights") >= 3 * MIB and physical("kv") >= 30 * MIB
    mam.torch.sleep("weights")
    mam.torch.sleep("kv", to="discard")
    assert physical("weights") == 0 and physical("kv") == 0
    assert is_filled(outside, 4)
    other = filled(20 * MIB, 5)
    mam.torch.wake("weights")
    assert is_filled(weights[0], 1) and is_filled(weights[1], 2) and all(is_filled(more, 6) for more in added)
    graph.replay()
    mam.torch.wake()
    assert addresses == [tensor.data_ptr() for tensor in (*weights, cache, outside)]
    cache.copy_(torch.full((30 * MIB,), cycle, dtype=torch.uint8))
    assert is_filled(cache, cycle) and is_filled(other, 5)
    with mam.torch.region("weights"):
        added.append(filled(MIB, 6))
for tag in ("weights", "kv"):
    mam.Pool.named(tag, 0).check()
{end}
print("good")
"""

ENABLE = {
    "own": "",
    "extension": "mam.torch.enable(extension=True)",
    "plug": "mam.torch.enable(source='vmm')",
}


class Regions(unittest.TestCase):
    def run_program(self, allocator, end=""):
        program = PROGRAM.format(enable=ENABLE[allocator], end=end)
        done = subprocess.run([sys.executable, "-c", program], env=os.environ, capture_output=True, text=True)
        if "C++ compiler" in done.stderr or "cannot build" in done.stderr:
            self.skipTest(done.stderr.splitlines()[-1])
        self.assertEqual((done.stdout, done.returncode), ("good\n", 0), done.stderr)

    def test_allocator_of_pytorch(self):
        self.run_program("own")

    def test_extension(self):
        self.run_program("extension", """
stats = torch.cuda.memory_stats()
assert stats["requested_bytes.all.current"] >= 54 * MIB
assert stats["reserved_bytes.all.current"] >= stats["allocated_bytes.all.current"]
""")

    def test_plug_in(self):
        self.run_program("plug", """
del weights, cache
gc.collect()
assert mam.Pool.named("kv", 0).stats().live_bytes == 0
""")
