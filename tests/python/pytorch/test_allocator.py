# SPDX-License-Identifier: Apache-2.0
"""mam as PyTorch's allocator by its own interface: a real PyTorch on the stand-in driver, which runs no kernels.

The environment comes from python.sh: FAKE_CUDA_CLOCK_NS and FAKE_CUDA_LAG_US make a fill take longer than all calls of
a test, and a wait end at once.
"""

import ctypes
import gc
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import warnings

try:
    import torch
except ImportError:
    raise unittest.SkipTest("PyTorch is not installed") from None
if not (torch.version.cuda or "").startswith("13."):
    raise unittest.SkipTest("the stand-in replaces the runtime of CUDA 13, and PyTorch has another one")

import mam  # noqa: E402

KIB, MIB = 1 << 10, 1 << 20
NO_SIZE = 1 << 50  # more than any device has


def setUpModule():
    try:
        mam.torch.enable(extension=True)
    except mam.Error as error:
        raise unittest.SkipTest(str(error)) from None


def tensor(size):
    return torch.empty(size, dtype=torch.uint8, device="cuda")


def statistic(name):
    return torch.cuda.memory_stats().get(name, 0)


def run(program, **environment):
    """Run a program in a new process; returns its output."""
    done = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, **environment}, capture_output=True, text=True
    )
    if done.returncode:
        raise AssertionError(f"status {done.returncode}: {done.stderr}")
    return done.stdout


def live():
    return mam.Pool.default(0).stats().live_rounded_bytes


def capture(graph, program, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the graph has no kernels
        with torch.cuda.graph(graph, **options):
            return program()


class Case(unittest.TestCase):
    def setUp(self):
        gc.collect()
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        self.assertEqual((torch.cuda.memory_allocated(), torch.cuda.memory_reserved(), live()), (0, 0, 0))
        torch.cuda.reset_peak_memory_stats()
        torch.cuda.reset_accumulated_memory_stats()


class Recordings(Case):
    def test_tensors_with_tags_and_the_line_that_made_them(self):
        with mam.trace() as trace:
            with mam.tag("kv cache"):
                first = tensor(3 * MIB)
            second = tensor(5 * MIB)
            del first, second
        self.assertEqual(
            [(event["event"], event["bytes"], event["tag"]) for event in trace.events],
            [("a", 3 * MIB, "kv%20cache"), ("a", 5 * MIB, ""), ("f", 3 * MIB, "kv%20cache"), ("f", 5 * MIB, "")],
        )
        with tempfile.TemporaryDirectory() as folder:
            report = os.path.join(folder, "report.txt")
            command = [sys.executable, "-m", "mam", "profile", "--format", "tree", "-o", report, trace]
            subprocess.run(command, check=True)
            with open(report) as file:
                self.assertIn(" tensor (test_allocator.py:", file.read())


class Statistics(Case):
    def test_every_counter_of_a_sequence(self):
        choice = random.Random(1)
        tensors, count, freed, requested, peak = [], 0, 0, 0, 0
        allocated_peak = 0
        for _ in range(400):
            if tensors and choice.random() < 0.45:
                requested -= tensors.pop(choice.randrange(len(tensors))).numel()
                freed += 1
            else:
                size = choice.choice([1, 511, 513, 5000, 300 * KIB, MIB, MIB + 1, 3 * MIB])
                tensors.append(tensor(size))
                requested += size
                count += 1
            peak = max(peak, requested)
            allocated_peak = max(allocated_peak, live())
        stats = torch.cuda.memory_stats()
        for key, value in {
            "allocation.all.allocated": count,
            "allocation.all.freed": freed,
            "allocation.all.current": count - freed,
            "active.all.current": count - freed,
            "requested_bytes.all.current": requested,
            "requested_bytes.all.peak": peak,
            "allocated_bytes.all.current": live(),
            "allocated_bytes.all.peak": allocated_peak,
            "active_bytes.all.current": live(),
            "reserved_bytes.all.current": mam.Pool.default(0).stats().physical_bytes,
            "num_ooms": 0,
        }.items():
            self.assertEqual(stats[key], value, key)
        small = sum(t.numel() <= MIB for t in tensors)
        self.assertEqual(stats["allocation.small_pool.current"], small)
        self.assertEqual(stats["allocation.large_pool.current"], len(tensors) - small)
        self.assertGreaterEqual(stats["reserved_bytes.all.peak"], stats["allocated_bytes.all.peak"])

    def test_peaks_are_reset(self):
        tensor(8 * MIB)
        self.assertEqual(torch.cuda.max_memory_allocated(), 8 * MIB)
        reserved = torch.cuda.max_memory_reserved()
        torch.cuda.empty_cache()
        self.assertEqual(torch.cuda.max_memory_reserved(), reserved)
        self.assertEqual(torch.cuda.memory_reserved(), 0)
        torch.cuda.reset_peak_memory_stats()
        self.assertEqual((torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()), (0, 0))
        tensor(MIB)
        self.assertEqual(torch.cuda.max_memory_allocated(), MIB)
        self.assertEqual(statistic("allocation.all.allocated"), 2)
        torch.cuda.reset_accumulated_memory_stats()
        self.assertEqual(statistic("allocation.all.allocated"), 0)

    def test_threads(self):
        def work():
            for _ in range(200):
                tensor(5000)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(statistic("allocation.all.allocated"), 800)
        self.assertEqual((torch.cuda.memory_allocated(), live()), (0, 0))

    def test_other_reports(self):
        kept = tensor(5000)
        self.assertEqual(torch.accelerator.memory_stats()["requested_bytes.all.current"], 5000)
        self.assertIn("| Allocated memory      |   5120 B", torch.cuda.memory_summary())
        self.assertEqual(torch.cuda.get_allocator_backend(), "mam")
        del kept

    def test_zero_bytes(self):
        self.assertEqual(tensor(0).data_ptr(), 0)
        self.assertEqual(statistic("allocation.all.allocated"), 0)

    def test_memory_by_address(self):
        address = torch.cuda.caching_allocator_alloc(5000)
        self.assertEqual(statistic("requested_bytes.all.current"), 5000)
        torch.cuda.caching_allocator_delete(address)
        self.assertEqual(torch.cuda.memory_allocated(), 0)
        with self.assertRaisesRegex(RuntimeError, "invalid device pointer"):
            torch.cuda.caching_allocator_delete(address)


class Streams(Case):
    def write(self, tensor):
        """Start work on the current stream. PyTorch 2.11 has a kernel for zero_(), and the stand-in runs no kernels."""
        half = tensor.numel() // 2
        tensor[:half].copy_(tensor[half:])

    def pending(self, tensor):
        return ctypes.CDLL("libcuda.so.1").fake_pending(ctypes.c_ulonglong(tensor.data_ptr()), ctypes.c_size_t(1))

    def test_memory_stays_with_its_stream(self):
        first = tensor(2 * MIB)
        address = first.data_ptr()
        self.write(first)
        self.assertEqual(self.pending(first), 1)
        del first
        with torch.cuda.stream(torch.cuda.Stream()):
            self.assertNotEqual(tensor(2 * MIB).data_ptr(), address)
        self.assertEqual(tensor(2 * MIB).data_ptr(), address)

    def test_free_is_ordered_by_the_stream_of_the_allocation(self):
        with torch.cuda.stream(torch.cuda.Stream()):
            first = tensor(2 * MIB)
            self.write(first)
        address = first.data_ptr()
        del first
        self.assertNotEqual(tensor(2 * MIB).data_ptr(), address)

    def test_recorded_streams_end_first(self):
        other = torch.cuda.Stream()
        for is_recorded in (False, True):
            torch.cuda.synchronize()
            first = tensor(2 * MIB)
            address = first.data_ptr()
            with torch.cuda.stream(other):
                self.write(first)
            if is_recorded:
                first.record_stream(other)
            del first
            second = tensor(2 * MIB)
            self.assertEqual(self.pending(second), 0 if is_recorded else 1)
            self.assertEqual(second.data_ptr() == address, not is_recorded)
            self.assertEqual(statistic("allocation.all.current"), 1)
            del second


class History(Case):
    def setUp(self):
        super().setUp()
        self.addCleanup(torch.cuda.memory._record_memory_history, None)

    def test_snapshot_has_every_block(self):
        torch.cuda.memory._record_memory_history(stacks="python")
        sizes = [5000, 600, 3 * MIB]
        tensors = [tensor(size) for size in sizes]
        snapshot = torch.cuda.memory._snapshot()
        blocks = {
            block["address"]: block for segment in snapshot["segments"] for block in segment["blocks"]
            if block["state"] == "active_allocated"
        }
        self.assertEqual(set(blocks), {t.data_ptr() for t in tensors})
        for t, size in zip(tensors, sizes):
            self.assertEqual(blocks[t.data_ptr()]["requested_size"], size)
            self.assertIn("tensor", [frame["name"] for frame in blocks[t.data_ptr()]["frames"]])
        self.assertEqual(sum(s["total_size"] for s in snapshot["segments"]), torch.cuda.memory_reserved())
        self.assertEqual(sum(s["allocated_size"] for s in snapshot["segments"]), torch.cuda.memory_allocated())

    def test_actions(self):
        torch.cuda.memory._record_memory_history(max_entries=100)
        first = tensor(3 * MIB)
        address = first.data_ptr()
        del first
        torch.cuda.empty_cache()
        trace = torch.cuda.memory._snapshot()["device_traces"][0]
        self.assertEqual(
            [entry["action"] for entry in trace],
            ["segment_alloc", "alloc", "free_requested", "free_completed", "segment_free"],
        )
        self.assertEqual([(e["addr"], e["size"]) for e in trace[1:4]], [(address, 3 * MIB)] * 3)
        self.assertGreaterEqual(trace[0]["size"], 3 * MIB)
        times = [entry["time_us"] for entry in trace]
        self.assertEqual(times, sorted(times))
        self.assertLess(abs(times[0] / 1e6 - time.time()), 3600)
        torch.cuda.memory._record_memory_history(max_entries=2)
        for _ in range(9):
            tensor(600)
        self.assertEqual(len(torch.cuda.memory._snapshot()["device_traces"][0]), 2)


class OutOfMemory(Case):
    def test_message_observer_and_counter(self):
        seen = []
        torch._C._cuda_attach_out_of_memory_observer(lambda *values: seen.append(values))
        kept = tensor(3 * MIB)
        message = (
            r"CUDA out of memory\. Tried to allocate 1048576\.00 GiB\. GPU 0 has a total capacity of .* "
            r"mam: the largest free block has .* smaller batches"
        )
        with self.assertRaisesRegex(torch.OutOfMemoryError, message):
            tensor(NO_SIZE)
        self.assertEqual(seen[0][:2], (0, NO_SIZE))
        self.assertEqual((statistic("num_ooms"), statistic("num_alloc_retries")), (1, 1))
        self.assertEqual(statistic("allocation.all.current"), 1)
        del kept

    def test_memory_fraction(self):
        total = torch.cuda.mem_get_info()[1]
        torch.cuda.set_per_process_memory_fraction(0.25)
        self.addCleanup(torch.cuda.set_per_process_memory_fraction, 1.0)
        self.assertEqual(torch.cuda.get_per_process_memory_fraction(), 0.25)
        tensor(total // 8)
        with self.assertRaisesRegex(torch.OutOfMemoryError, "limited to 256.00 MiB"):
            tensor(total // 2)
        torch.cuda.set_per_process_memory_fraction(1.0)
        tensor(total // 2)

    def test_unused_private_memory_is_returned_first(self):
        total = torch.cuda.mem_get_info()[1]
        graph = torch.cuda.CUDAGraph()
        capture(graph, lambda: tensor(total // 2))
        with self.assertRaises(torch.OutOfMemoryError):
            tensor(total // 4 * 3)
        graph.reset()
        tensor(total // 4 * 3)

    def test_pool_that_may_be_used_instead(self):
        total = torch.cuda.mem_get_info()[1]
        pool = torch.cuda.MemPool(use_on_oom=True)
        with torch.cuda.use_mem_pool(pool):
            address = tensor(total // 4 * 3).data_ptr()
        second = tensor(total // 2)
        self.assertEqual(second.data_ptr(), address)
        self.assertEqual(torch.cuda.memory_allocated(), total // 2)
        with self.assertRaisesRegex(torch.OutOfMemoryError, "mam: the largest free block"):
            tensor(total // 2)
        self.assertEqual(pool.use_count(), 1)
        del second, pool


def empty_graph():
    """A graph, and what PyTorch keeps as long as there is one: 2.11 keeps two blocks for random numbers."""
    graph = torch.cuda.CUDAGraph()
    capture(graph, lambda: None)
    return graph, {
        name: statistic(f"{name}.all.current") for name in ("allocation", "requested_bytes", "allocated_bytes")
    }


class PrivatePools(Case):
    def test_memory_pool(self):
        pool = torch.cuda.MemPool()
        with torch.cuda.use_mem_pool(pool):
            tensor(4 * MIB)
            first = tensor(3 * MIB)
        self.assertEqual(torch.cuda.max_memory_allocated(), 4 * MIB)
        second = tensor(5000)
        self.assertEqual(statistic("requested_bytes.all.current"), 3 * MIB + 5000)
        self.assertEqual(statistic("reserved_bytes.all.current"), mam.Pool.default(0).stats().physical_bytes)
        segments = pool.snapshot()
        self.assertEqual([s["segment_pool_id"] for s in segments], [pool.id])
        self.assertEqual(segments[0]["address"], first.data_ptr())
        owner = [s for s in mam.Pool.default(0).segments() if s["base"] == segments[0]["address"]]
        self.assertTrue(owner and owner[0]["live"])  # mam's memory
        everything = torch.cuda.memory._snapshot()["segments"]
        self.assertEqual(sum(s["total_size"] for s in everything), torch.cuda.memory_reserved())
        del first
        self.assertEqual(statistic("requested_bytes.all.current"), 5000)
        self.assertGreaterEqual(live(), 3 * MIB)
        del pool, segments
        torch.cuda.empty_cache()
        self.assertEqual(live(), 5120)
        del second

    def test_allocator_of_the_caller(self):
        kept = tensor(5000)
        library = mam.native.LIBRARY._name
        own = torch.cuda.memory.CUDAPluggableAllocator(library, "mam_torch_pool_alloc", "mam_torch_free")
        pool = torch.cuda.MemPool(own.allocator())
        with torch.cuda.use_mem_pool(pool):
            first = tensor(3 * MIB)
        self.assertEqual(statistic("allocation.all.current"), 2)
        # Memory that mam does not have in its own pools counts in addition, and this allocator could be any.
        size = pool.snapshot()[0]["total_size"]
        self.assertEqual(statistic("reserved_bytes.all.current"), mam.Pool.default(0).stats().physical_bytes + size)
        del first, pool, kept
        torch.cuda.empty_cache()

    def test_graph_keeps_its_memory(self):
        _empty, own = empty_graph()
        graph = torch.cuda.CUDAGraph()

        def program():
            kept, intermediate = tensor(3 * MIB), tensor(5 * MIB)
            return kept, kept.data_ptr(), intermediate.data_ptr()

        kept, *addresses = capture(graph, program)
        self.assertEqual(torch.cuda.memory_allocated(), own["allocated_bytes"] + 3 * MIB)
        used = live()
        self.assertGreaterEqual(used, 8 * MIB)
        torch.cuda.empty_cache()
        others = [tensor(size * MIB) for size in (1, 2, 3, 5, 8)]
        for t in others:
            for address in addresses:
                self.assertFalse(t.data_ptr() <= address < t.data_ptr() + t.numel())
        self.assertEqual(live(), used + 19 * MIB)
        graph.replay()
        del others, t, kept
        torch.cuda.empty_cache()
        self.assertEqual(live(), used)  # it may be replayed
        graph.reset()
        torch.cuda.empty_cache()
        self.assertEqual(live(), own["allocated_bytes"])

    def test_graphs_share_a_pool(self):
        _empty, own = empty_graph()
        first, second = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
        address = capture(first, lambda: tensor(3 * MIB).data_ptr())
        self.assertEqual(capture(second, lambda: tensor(3 * MIB).data_ptr(), pool=first.pool()), address)
        first.reset()
        torch.cuda.empty_cache()
        self.assertGreaterEqual(live(), 3 * MIB)
        second.reset()
        torch.cuda.empty_cache()
        self.assertEqual(live(), own["allocated_bytes"])

    def test_checkpoint(self):
        """As torch.compile's graph trees: return the pool to a state in which a tensor is live that was freed."""
        _empty, own = empty_graph()
        graph = torch.cuda.CUDAGraph()
        first = capture(graph, lambda: tensor(3 * MIB))
        state = torch._C._cuda_getCheckpointState(0, graph.pool())
        address = first.data_ptr()
        other = torch.cuda.CUDAGraph()
        second = capture(other, lambda: tensor(3 * MIB), pool=graph.pool())
        self.assertTrue(torch._C._cuda_checkPoolLiveAllocations(0, graph.pool(), {address, second.data_ptr()}))
        del first
        self.assertEqual(statistic("allocation.all.current"), own["allocation"] + 1)
        stale = [second.untyped_storage()._cdata]
        torch._C._cuda_setCheckpointPoolState(0, state, stale, [])
        self.assertTrue(torch._C._cuda_checkPoolLiveAllocations(0, graph.pool(), {address}))
        for name in ("requested_bytes", "allocated_bytes"):
            self.assertEqual(statistic(f"{name}.all.current"), own[name] + 3 * MIB)
        self.assertEqual(statistic("allocation.all.current"), own["allocation"] + 1)
        del second  # it has no memory any more
        self.assertEqual(statistic("allocation.all.current"), own["allocation"] + 1)
        torch._C._cuda_cudaCachingAllocator_raw_delete(address)
        self.assertEqual(statistic("allocation.all.current"), own["allocation"])
        graph.reset()
        other.reset()
        torch.cuda.empty_cache()
        self.assertEqual(live(), own["allocated_bytes"])


class Calls(unittest.TestCase):
    """Functions of the interface that Python does not reach, by calls.cpp."""

    PROGRAM = """
import ctypes, os, subprocess, sys, mam, torch
mam.torch.enable(source="cudamalloc", extension=True)
calls = ctypes.CDLL(os.environ["CALLS"])
calls.open_handle.restype = ctypes.c_void_p
calls.largest.restype = ctypes.c_size_t
def tensor(size):
    return torch.empty(size, dtype=torch.uint8, device="cuda")
"""

    @classmethod
    def setUpClass(cls):
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "calls.cpp")
        command = mam.torch_build._command(torch)
        cls.folder = tempfile.TemporaryDirectory()
        cls.library = os.path.join(cls.folder.name, "calls.so")
        subprocess.run(
            [source if word.endswith("torch_allocator.cpp") else word for word in command] + ["-o", cls.library],
            check=True,
        )

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def run_program(self, program, **environment):
        return run(self.PROGRAM + program, CALLS=self.library, **environment)

    def test_memory_is_shared_with_another_process(self):
        reader = self.PROGRAM + """
tensor(1)
handle = bytes.fromhex(sys.argv[1])
first = calls.open_handle(handle, len(handle))
assert calls.open_handle(handle, len(handle)) == first  # the driver opens a handle only once
data = (ctypes.c_ubyte * 4)()
calls.copy_to_host(data, ctypes.c_void_p(first + int(sys.argv[2])), 4)
calls.close_handles()
again = calls.open_handle(handle, len(handle))
assert again
print(*data)
"""
        self.assertEqual(self.run_program("""
below, shared = tensor(5000), tensor(4)
shared.copy_(torch.tensor([1, 2, 3, 4], dtype=torch.uint8))
torch.cuda.synchronize()
handle, offset = ctypes.create_string_buffer(200), ctypes.c_ssize_t()
length = calls.share(ctypes.c_void_p(shared.data_ptr()), handle, ctypes.byref(offset))
base, size = ctypes.c_void_p(), ctypes.c_size_t()
calls.base(ctypes.c_void_p(shared.data_ptr()), ctypes.byref(base), ctypes.byref(size))
assert base.value + offset.value == shared.data_ptr() and offset.value + 4 <= size.value
print(subprocess.run([sys.executable, "-c", os.environ["READER"], handle.raw[:length].hex(), str(offset.value)],
                     stdout=subprocess.PIPE, text=True, check=True).stdout, end="")
""", READER=reader), "1 2 3 4\n")

    def test_largest_block(self):
        self.assertEqual(self.run_program("""
free = torch.cuda.mem_get_info()[0]
print(calls.largest(ctypes.c_size_t(0)) == free)
tensor(3 << 20)
print(calls.largest(ctypes.c_size_t(1)) >= 3 << 20)
"""), "True\nTrue\n")

    def test_fragmentation(self):
        self.assertRegex(self.run_program("""
blocks = [tensor(16 << 20) for _ in range(60)]
del blocks[::2]
try:
    tensor(200 << 20)
except torch.OutOfMemoryError as error:
    print(error)
"""), r"largest free block has \d+\.\d\d MiB; fragmentation costs [345]\d\d\.\d\d MiB; mam\.torch\.enable")

    def test_tracker(self):
        self.assertEqual(self.run_program("""
torch.cuda.init()
calls.track()
tensor(5000)
pool = torch.cuda.MemPool()
with torch.cuda.use_mem_pool(pool):
    tensor(5000)
print(calls.tracked())
"""), "2\n")

    def test_two_devices(self):
        self.assertEqual(self.run_program("""
here = torch.arange(256, dtype=torch.uint8).to("cuda:0")
there = torch.empty(256, dtype=torch.uint8, device="cuda:1")
print(calls.copy(ctypes.c_void_p(there.data_ptr()), 1, ctypes.c_void_p(here.data_ptr()), 0, 256, 0))
torch.cuda.synchronize(0)
print(there.cpu().sum().item() == sum(range(256)))
print(torch.cuda.memory_allocated(0), torch.cuda.memory_allocated(1))
pool = torch.cuda.MemPool()
with torch.cuda.use_mem_pool(pool, device=1):
    first = torch.empty(5000, dtype=torch.uint8, device="cuda:1")
    second = tensor(600)  # of another device
print(torch.cuda.memory_allocated(0), torch.cuda.memory_allocated(1))
with torch.cuda.device(0):
    del first, there
print(torch.cuda.memory_allocated(0), torch.cuda.memory_allocated(1))
""", FAKE_CUDA_DEVICES="2"), "0\nTrue\n512 512\n1536 5632\n1536 0\n")


class Processes(Case):
    def test_mapped_memory_cannot_be_shared(self):
        kept = tensor(5000)
        with self.assertRaisesRegex(RuntimeError, r'no IPC handle .* mam\.torch\.enable\(source="cudamalloc"\)'):
            kept.untyped_storage()._share_cuda_()

    def test_disable(self):
        self.assertEqual(run("""
import mam, torch
mam.torch.enable(extension=True)
mam.torch.disable()
print(torch.cuda.get_allocator_backend())
mam.torch.enable(extension=True)
kept = torch.empty(1000, device="cuda")
try:
    mam.torch.disable()
except mam.Error as error:
    print(error)
"""), "native\nPyTorch has allocated memory from mam; start a new process: "
            "Can't swap an already initialized allocator\n")

    def test_a_forked_process_may_use_the_gpu(self):
        self.assertEqual(run("""
import os, mam, torch
mam.torch.enable(extension=True)
child = os.fork()
if child == 0:
    print(torch.empty(1000, dtype=torch.uint8, device="cuda").numel(), torch.cuda.get_allocator_backend(), flush=True)
    os._exit(0)
os.waitpid(child, 0)
"""), "1000 mam\n")

    def test_too_late(self):
        self.assertEqual(run("""
import mam, torch
kept = torch.empty(1000, device="cuda")
try:
    mam.torch.enable(extension=True)
except mam.Error as error:
    print(error)
"""), "call mam.torch.enable() before PyTorch's first use of a GPU: "
            "Can't swap an already initialized allocator\n")

    def enable_with(self, compiler):
        """The error of enable(); then mam is a pluggable allocator."""
        return run("""
import mam, torch
try:
    mam.torch.enable(extension=True)
except mam.Error as error:
    print(error)
print(torch.cuda.get_allocator_backend())
mam.torch.enable()
kept = torch.empty(1000, device="cuda")
print(mam.torch.memory_stats()["allocation.all.current"])
""", CXX=compiler)

    def test_compiler_that_links_its_own_library(self):
        self.assertRegex(run("""
import mam, torch
mam.torch.enable(extension=True)
try:
    torch.empty(1 << 50, dtype=torch.uint8, device="cuda")
except torch.OutOfMemoryError as error:
    print(error)
for line in open("/proc/self/maps"):
    if "libmam-torch-" in line:
        path = line.split()[-1]
print(b"_ZNSt7codecvt" in open(path, "rb").read())
""", CXX="g++ -static-libstdc++"), r"^CUDA out of memory. Tried to allocate 1048576.00 GiB.*\nFalse\n$")

    def test_no_compiler(self):
        self.assertEqual(self.enable_with("no-such-compiler"),
                         "there is no C++ compiler: install g++ 11 or later\nnative\n1\n")

    def test_compiler_that_fails(self):
        self.assertRegex(self.enable_with("false"),
                         r"^'false' cannot build mam's allocator for PyTorch .*\nnative\n1\n$")


if __name__ == "__main__":
    unittest.main()
