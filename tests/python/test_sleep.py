# SPDX-License-Identifier: Apache-2.0
"""Regions of PyTorch that sleep: which pool tensors are in, contents, errors, and the names of torch_memory_saver."""

import contextlib
import ctypes
import os
import subprocess
import sys
import tempfile
import threading
import types
import unittest

import fakes
import mam
from mam import torch_sleep
from mam.torch_memory_saver import torch_memory_saver

MIB = 1 << 20


def driver():
    return ctypes.CDLL("libcuda.so.1")


def setUpModule():
    """The primary context is current, as PyTorch makes it."""
    context = ctypes.c_void_p()
    driver().cuInit(0)
    driver().cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
    driver().cuCtxPushCurrent_v2(context)


def tearDownModule():
    driver().cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))
    driver().cuDevicePrimaryCtxRelease_v2(0)


def failing(**_):
    raise mam.Error("planted")


class Tensor:
    """A block that the current allocator of the stand-in of PyTorch allocates, with bytes in it."""

    def __init__(self, torch, size, value):
        pool = torch.pool
        self.plug, self.size, self.value = pool.allocator if pool else torch.current, size, value
        self.address = self.plug.alloc(size, 0, None)
        self.write(value)

    def write(self, value):
        self.value = value
        assert driver().cuMemcpyHtoD_v2(ctypes.c_uint64(self.address), bytes([value]) * self.size,
                                        ctypes.c_size_t(self.size)) == 0

    def is_good(self):
        found = ctypes.create_string_buffer(self.size)
        status = driver().cuMemcpyDtoH_v2(found, ctypes.c_uint64(self.address), ctypes.c_size_t(self.size))
        return status == 0 and found.raw == bytes([self.value]) * self.size

    def free(self):
        self.plug.free(self.address, self.size, 0, None)


def physical(tag):
    return mam.Pool.named(tag, 0).stats().physical_bytes


class Regions(unittest.TestCase):
    is_plugged = False

    def setUp(self):
        self.torch = fakes.install_torch()
        mam.torch._allocator = None
        torch_sleep._regions.clear()
        torch_sleep._plug = None
        if self.is_plugged:
            mam.torch.enable()
        else:
            own = fakes.Plug(mam.native.LIBRARY._name, "mam_torch_alloc", "mam_torch_free")
            self.torch.current = own  # outside of regions
        self.tensors = []

    def tearDown(self):
        mam.torch.wake()
        for tensor in self.tensors:
            tensor.free()
        for tag in {tag for tag, _ in torch_sleep._regions}:
            mam.Pool.named(tag, 0).destroy()
        if self.is_plugged:
            mam.torch.disable()

    def tensor(self, size, value):
        self.tensors.append(Tensor(self.torch, size, value))
        return self.tensors[-1]

    def check(self):
        for tensor in self.tensors:
            self.assertTrue(tensor.is_good())

    def test_tensors_are_in_the_pool_of_their_region(self):
        before = mam.Pool.default(0).stats().live_bytes
        with mam.torch.region("weights"):
            self.tensor(5000, 1)
        with mam.torch.region("kv", device=types.SimpleNamespace(index=0)):  # torch.device("cuda:0")
            self.tensor(7000, 2)
        with mam.torch.region("kv", device="cuda:0"):
            self.tensor(3000, 4)
        self.tensor(9000, 3)
        self.assertEqual(mam.Pool.named("weights", 0).stats().live_bytes, 5000)
        self.assertEqual(mam.Pool.named("kv", 0).stats().live_bytes, 10000)
        self.assertEqual(mam.Pool.default(0).stats().live_bytes, before + 9000)
        self.assertEqual(mam.Pool.named("kv", 0).source, "vmm")

    def test_contents_come_back(self):
        for to in ("host", tempfile.gettempdir(), "host"):
            with mam.torch.region("weights"):
                inside = self.tensor(3 * MIB, 1)
                self.tensor(5000, 2)
            outside = self.tensor(MIB, 3)
            mam.torch.sleep("weights", to=to)
            self.assertEqual(physical("weights"), 0)
            self.assertTrue(outside.is_good())
            self.assertFalse(inside.is_good())
            mam.torch.sleep(to="discard")  # it is asleep already
            mam.torch.wake(["weights"])
            self.check()
            mam.torch.wake("weights")

    def test_discarded_memory_is_usable_again(self):
        with mam.torch.region("kv"):
            tensor = self.tensor(3 * MIB, 1)
        mam.torch.sleep(["kv"], to="discard")
        self.assertEqual(physical("kv"), 0)
        mam.torch.wake()
        tensor.write(2)
        self.check()

    def test_tags_are_separate(self):
        for tag in ("weights", "kv", "activations"):
            with mam.torch.region(tag):
                self.tensor(3 * MIB, len(tag))
        mam.torch.sleep(("weights", "kv"))
        self.assertEqual((physical("weights"), physical("kv")), (0, 0))
        self.assertGreater(physical("activations"), 0)
        mam.torch.wake("kv")
        self.assertGreater(physical("kv"), 0)
        mam.torch.sleep()
        self.assertEqual((physical("kv"), physical("activations")), (0, 0))
        mam.torch.wake()
        self.check()

    def test_tensors_may_be_deleted_meanwhile(self):
        with mam.torch.region("weights"):
            self.tensor(3 * MIB, 1)
            self.tensor(5 * MIB, 2)
        mam.torch.sleep()
        self.tensors.pop().free()
        mam.torch.wake()
        self.check()

    def test_asleep_region_has_no_memory(self):
        with mam.torch.region("weights"):
            self.tensor(5000, 1)
        mam.torch.sleep()
        with self.assertRaisesRegex(mam.Error, r"'weights' is asleep: call mam.torch.wake\('weights'\) first"):
            mam.torch.region("weights").__enter__()
        mam.torch.wake()
        with mam.torch.region("weights"):
            self.tensor(5000, 2)
        self.check()

    def test_misuse(self):
        with mam.torch.region("weights"):
            with self.assertRaisesRegex(mam.Error, "regions cannot be nested"):
                with mam.torch.region("kv"):
                    pass
            self.tensor(5000, 1)
        self.assertEqual(mam.Pool.named("weights", 0).stats().live_bytes, 5000)
        for call in (mam.torch.sleep, mam.torch.wake):
            with self.assertRaisesRegex(mam.Error, "there is no region 'other'"):
                call(["weights", "other"])
        self.assertGreater(physical("weights"), 0)

    def test_only_its_own_thread_is_inside(self):
        blocks = []
        thread = threading.Thread(target=lambda: blocks.append(self.torch.current.alloc(5000, 0, None)))
        before = mam.Pool.default(0).stats().live_bytes
        with mam.torch.region("weights"):
            self.tensor(7000, 2)
            thread.start()
            thread.join()
        self.assertEqual(mam.Pool.default(0).stats().live_bytes, before + 5000)
        self.torch.current.free(blocks[0], 5000, 0, None)

    def test_threads_may_run_one_decorated_function(self):
        inside, ended, log = threading.Event(), threading.Event(), []

        @contextlib.contextmanager
        def use_mem_pool(pool, device):
            yield
            log.append(threading.current_thread())

        @mam.torch.region("weights")
        def load(waits):
            if waits:
                inside.set()
                ended.wait()

        sys.modules["torch"].cuda.use_mem_pool = use_mem_pool
        first = threading.Thread(target=load, args=(True,))
        first.start()
        inside.wait()
        load(False)
        ended.set()
        first.join()
        self.assertEqual(log, [] if self.is_plugged else [threading.current_thread(), first])

    def test_error_in_the_block_ends_the_region(self):
        with contextlib.suppress(KeyError):
            with mam.torch.region("weights"):
                raise KeyError
        self.tensor(5000, 1)
        self.assertEqual(mam.Pool.named("weights", 0).stats().live_bytes, 0)
        self.assertIsNone(self.torch.pool)

    def test_sleep_of_all_or_none(self):
        for tag in ("weights", "kv"):
            with mam.torch.region(tag):
                self.tensor(3 * MIB, 1)
        with self.assertRaisesRegex(mam.Error, "cannot suspend the pool 'weights'"):
            mam.torch.sleep(to="/proc/no such folder")
        self.assertFalse(any(found.is_asleep for found in torch_sleep._regions.values()))
        second = torch_sleep._regions["kv", 0].pool
        suspend = second.suspend
        second.suspend = lambda **_: suspend(folder="/proc/no such folder")
        with self.assertRaisesRegex(mam.Error, "cannot suspend the pool 'kv'"):
            mam.torch.sleep()
        self.check()
        self.assertFalse(any(found.is_asleep for found in torch_sleep._regions.values()))

    def test_wake_without_memory(self):
        with mam.torch.region("weights"):
            self.tensor(8 * MIB, 1)
        mam.torch.sleep()
        pool = mam.Pool.named("weights", 0)
        pool.limit = MIB
        with self.assertRaises(mam.OutOfMemoryError):
            mam.torch.wake()
        with self.assertRaisesRegex(mam.Error, "is asleep"):
            mam.torch.region("weights").__enter__()
        pool.limit = 0
        mam.torch.wake()
        self.check()

    def test_lazy_region_keeps_its_memory(self):
        with mam.torch.region("weights"):
            self.tensor(3 * MIB, 1)
        for _ in range(2):
            mam.torch.sleep("weights", lazy=True)
            self.assertGreater(physical("weights"), 0)
            with self.assertRaisesRegex(mam.Error, "'weights' is asleep"):
                mam.torch.region("weights").__enter__()
        mam.torch.wake()
        self.check()
        mam.torch.sleep(lazy=True)
        mam.torch.sleep()
        self.assertEqual(physical("weights"), 0)
        mam.torch.sleep(lazy=True)  # it is asleep already
        mam.torch.wake()
        self.check()

    def test_lazy_region_makes_room(self):
        for tag in ("first", "second", "third"):
            with mam.torch.region(tag):
                self.tensor(20 * MIB, len(tag))
        mam.torch.sleep("second", lazy=True)
        mam.torch.sleep("first", lazy=True)
        filler, free = ctypes.c_uint64(), ctypes.c_size_t()
        mam.Pool.default(0).trim()  # other tests may have left idle memory in it
        driver().cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(ctypes.c_size_t()))
        driver().cuMemAlloc_v2(ctypes.byref(filler), ctypes.c_size_t(free.value - 4 * MIB))
        with mam.torch.region("third"):
            self.tensor(20 * MIB, 9)
        self.assertEqual(physical("second"), 0)
        self.assertGreater(physical("first"), 0)
        mam.torch.wake("first")
        with self.assertRaises(mam.OutOfMemoryError):
            mam.torch.wake()
        driver().cuMemFree_v2(filler)
        mam.torch.wake()
        self.check()

    def test_pinned_memory_stays_until_it_is_freed(self):
        with mam.torch.region("weights"):
            self.tensor(3 * MIB, 1)
        pool = mam.Pool.named("weights", 0)
        mam.torch.sleep()
        self.assertEqual(pool.unpin(), 0)
        mam.torch.wake()
        self.assertGreaterEqual(pool.unpin(), 3 * MIB)
        mam.torch.sleep()
        mam.torch.wake(unpin=True)
        self.assertEqual(pool.unpin(), 0)
        self.check()

    def test_discarded_regions_stay_asleep_after_an_error(self):
        for tag in ("kv", "other"):
            with mam.torch.region(tag):
                self.tensor(3 * MIB, 1)
        second = torch_sleep._regions["other", 0].pool
        second.suspend, suspend = failing, second.suspend
        with self.assertRaisesRegex(mam.Error, "planted"):
            mam.torch.sleep(to="discard")
        self.assertEqual(physical("kv"), 0)
        self.assertGreater(physical("other"), 0)
        second.suspend = suspend
        mam.torch.sleep(to="discard")
        self.assertEqual(physical("other"), 0)
        mam.torch.wake()
        for tensor in self.tensors:
            tensor.write(2)
        self.check()

    def test_pause_that_fails(self):
        tensors = []
        for tag, backup in (("a", False), ("a", True), ("b", False), ("b", True), ("c", False)):
            with torch_memory_saver.region(tag, enable_cpu_backup=backup):
                tensors.append((backup, self.tensor(3 * MIB, 1 + len(tensors))))
        for (tag, _), region in sorted(torch_sleep._regions.items()):
            region.pool.suspend, suspend = failing, region.pool.suspend
            with self.assertRaisesRegex(mam.Error, "planted"):
                torch_memory_saver.pause()
            for backup, tensor in tensors:
                self.assertTrue(tensor.is_good() or not backup)
            for (other, _), found in torch_sleep._regions.items():
                self.assertEqual(found.is_asleep, physical(other) == 0)
            region.pool.suspend = suspend
            if tag in ("a", "b (kept)"):  # otherwise it is called again without a resume
                torch_memory_saver.resume()
                self.assertFalse(any(found.is_asleep for found in torch_sleep._regions.values()))
            torch_memory_saver.pause()
            self.assertEqual({physical(other) for other, _ in torch_sleep._regions}, {0})
            torch_memory_saver.resume()
            for backup, tensor in tensors:
                if not backup:
                    tensor.write(tensor.value + 1)
            self.check()

    def test_names_of_torch_memory_saver(self):
        torch_memory_saver.hook_mode = "torch"
        with torch_memory_saver.region(tag="weights", enable_cpu_backup=True):
            self.tensor(3 * MIB, 1)
        with torch_memory_saver.region("weights"):
            lost = self.tensor(3 * MIB, 2)
        with torch_memory_saver.region():
            other = self.tensor(5000, 3)
        torch_memory_saver.pause("weights")
        torch_memory_saver.pause("nothing")
        self.assertEqual((physical("weights"), physical("weights (kept)")), (0, 0))
        self.assertTrue(other.is_good())
        torch_memory_saver.resume("weights")
        lost.write(4)
        self.check()
        torch_memory_saver.pause()
        self.assertEqual(physical("default"), 0)
        torch_memory_saver.resume()
        for tensor in (lost, other):
            tensor.write(5)
        self.check()


class PluggedRegions(Regions):
    """With mam as PyTorch's pluggable allocator."""

    is_plugged = True


def run(program, **environment):
    here = os.path.dirname(os.path.abspath(__file__))
    paths = os.pathsep.join([here, os.environ.get("PYTHONPATH", "")])
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": paths, **environment})


class Processes(unittest.TestCase):
    def test_regions_alone_need_no_default_pool(self):
        done = run("""
import fakes, mam
torch = fakes.install_torch()
with mam.torch.region("weights"):
    plug = torch.pool.allocator
    block = plug.alloc(5000, 0, None)
mam.torch.sleep()
plug.free(block, 5000, 0, None)
mam.torch.wake()
visit = mam.native.POOL_VISIT(lambda info, _: print(info.contents.name.decode()) or True)
mam.native.LIBRARY.mam_pool_each(visit, None)
""")
        self.assertEqual((done.stdout, done.stderr), ("weights\n", ""))

    def test_device_that_cannot_map_memory(self):
        done = run("import fakes, mam; fakes.install_torch(); mam.torch.region('weights').__enter__()", FAKE_CUDA_VMM="0")
        self.assertIn("cannot use the pool 'weights'", done.stderr)
