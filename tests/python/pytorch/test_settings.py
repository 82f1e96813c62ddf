# SPDX-License-Identifier: Apache-2.0
"""Settings, the history and the parts of statistics, as PyTorch's own tests check them."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from test_allocator import (  # noqa: E402
    MIB, Case, capture, mam, run, setUpModule, statistic, tensor, torch,  # noqa: F401
)


def set_allocator(text):
    torch.cuda.memory._set_allocator_settings(text)


def traces():
    return torch.cuda.memory._snapshot()["device_traces"][0]


class Settings(Case):
    def test_sizes_between_powers_of_two(self):
        self.addCleanup(set_allocator, "roundup_power2_divisions:1")
        for size, divisions, result in [(84, 4, 96), (84, 8, 88), (96, 4, 96), (64, 4, 64), (33, 2, 48), (84, 1, 84)]:
            set_allocator(f"roundup_power2_divisions:{divisions}")
            kept = tensor(size * MIB)
            self.assertEqual(torch.cuda.memory_allocated(), result * MIB, (size, divisions))
            self.assertEqual(statistic("requested_bytes.all.current"), size * MIB)
            del kept
        set_allocator("roundup_power2_divisions:4")
        kept = tensor(600)  # too small for four sizes
        self.assertEqual(torch.cuda.memory_allocated(), 1024)
        del kept

    def test_memory_that_is_not_counted(self):
        self.addCleanup(torch.cuda.caching_allocator_enable, True)
        torch.cuda.memory._record_memory_history(max_entries=100)
        self.addCleanup(torch.cuda.memory._record_memory_history, None)
        torch.cuda.caching_allocator_enable(False)
        kept = tensor(5000)
        self.assertEqual(statistic("allocation.all.allocated"), 0)
        torch.cuda.caching_allocator_enable(True)
        del kept
        self.assertEqual((statistic("allocation.all.freed"), torch.cuda.memory_allocated()), (0, 0))
        self.assertNotIn("alloc", [entry["action"] for entry in traces()])
        self.assertEqual(mam.Pool.default(0).stats().live_blocks, 0)

    def test_more_than_there_can_be(self):
        with self.assertRaisesRegex(torch.OutOfMemoryError, "Tried to allocate more than 1EB memory"):
            tensor(1 << 60)

    def test_fraction_from_the_environment(self):
        program = """
import mam, os, torch
mam.torch.enable(extension=True)
print(torch.cuda.get_per_process_memory_fraction(0))
if os.environ["FIRST"] == "pool":
    with torch.cuda.use_mem_pool(torch.cuda.MemPool()):
        torch.empty(1, device="cuda")
try:
    torch.empty(torch.cuda.mem_get_info()[1] // 2, dtype=torch.uint8, device="cuda")
except torch.OutOfMemoryError as error:
    print("limited to 256.00 MiB" in str(error))
"""
        if not hasattr(torch._C, "_cuda_getMemoryFraction"):
            self.skipTest("this PyTorch does not know the fraction")
        setting = "per_process_memory_fraction:0.25"
        for first in ("", "pool"):
            environment = {"PYTORCH_CUDA_ALLOC_CONF": setting, "MAM_OOM_REPORT": "", "FIRST": first}
            self.assertEqual(run(program, **environment), "0.25\nTrue\n", first)

    def test_fraction_includes_pools_with_other_allocators(self):
        library = mam.native.LIBRARY._name
        own = torch.cuda.memory.CUDAPluggableAllocator(library, "mam_torch_pool_alloc", "mam_torch_free")
        total = torch.cuda.mem_get_info()[1]
        self.addCleanup(torch.cuda.set_per_process_memory_fraction, 1.0)
        torch.cuda.set_per_process_memory_fraction(0.5)
        pool = torch.cuda.MemPool(own.allocator())
        with torch.cuda.use_mem_pool(pool):
            first = tensor(total // 4)
        with self.assertRaises(torch.OutOfMemoryError):
            tensor(total // 8 * 3)
        with self.assertRaises(torch.OutOfMemoryError), torch.cuda.use_mem_pool(pool):
            tensor(total // 8 * 3)
        del first, pool
        torch.cuda.empty_cache()
        tensor(total // 8 * 3)


class History(Case):
    def setUp(self):
        super().setUp()
        self.addCleanup(torch.cuda.memory._record_memory_history, None)

    def test_sizes_are_those_requested(self):
        torch.cuda.memory._record_memory_history(max_entries=100)
        tensor(5000)
        sizes = {entry["action"]: entry["size"] for entry in traces()}
        self.assertEqual([sizes[name] for name in ("alloc", "free_requested", "free_completed")], [5000] * 3)

    def test_segments_have_the_stack_of_their_call(self):
        torch.cuda.memory._record_memory_history(context="all", stacks="python")
        kept = tensor(5000)
        first = traces()[0]
        self.assertEqual(first["action"], "segment_alloc")
        self.assertIn("tensor", [frame["name"] for frame in first["frames"]])
        del kept
        torch.cuda.empty_cache()
        last = traces()[-1]
        self.assertIn(last["action"], ("segment_free", "segment_unmap"))
        self.assertIn("empty_cache", [frame["name"] for frame in last["frames"]])

    def test_metadata_and_regions(self):
        if not hasattr(torch.cuda.memory, "_set_memory_metadata"):
            self.skipTest("this PyTorch has no metadata")
        torch.cuda.memory._record_memory_history(context="all", stacks="python")
        self.addCleanup(torch.cuda.memory._set_memory_metadata, "")
        torch.cuda.memory._set_memory_metadata("step 1")
        tensor(5000)
        torch.cuda.memory._set_memory_metadata("")
        tensor(600)
        allocs = [entry for entry in traces() if entry["action"] == "alloc"]
        self.assertEqual([entry["user_metadata"] for entry in allocs], ["step 1", ""])
        self.assertEqual({entry["compile_context"] for entry in allocs}, {"N/A"})


class Parts(Case):
    def test_segments_of_private_pools(self):
        for size, name in ((1000, "small_pool"), (12 * MIB, "large_pool")):
            kept = tensor(5000)
            before = torch.cuda.memory_stats()
            pool = torch.cuda.MemPool()
            with torch.cuda.use_mem_pool(pool):
                private = tensor(size)
            after = torch.cuda.memory_stats()
            for kind in ("small_pool", "large_pool"):
                grown = after[f"reserved_bytes.{kind}.current"] - before[f"reserved_bytes.{kind}.current"]
                self.assertEqual(grown > 0, kind == name, (kind, name))
            for stat in ("segment", "reserved_bytes"):
                parts = [after[f"{stat}.{kind}.current"] for kind in ("small_pool", "large_pool", "all")]
                self.assertEqual(parts[0] + parts[1], parts[2])
            self.assertEqual(after["reserved_bytes.all.current"], mam.Pool.default(0).stats().physical_bytes)
            del private, pool, kept
            torch.cuda.empty_cache()

    def test_end_of_a_pool_keeps_the_cache_of_others(self):
        pool = torch.cuda.MemPool()
        kept = tensor(64 * MIB)
        with torch.cuda.use_mem_pool(pool):
            private = tensor(64 * MIB)
        del kept, private
        reserved = torch.cuda.memory_reserved()
        del pool
        self.assertEqual(torch.cuda.memory_reserved(), reserved - 64 * MIB)
        torch.cuda.empty_cache()
        self.assertEqual(torch.cuda.memory_reserved(), 0)


if __name__ == "__main__":
    unittest.main()
