# SPDX-License-Identifier: Apache-2.0
"""The adapters of PyTorch, CuPy, Numba and RMM, with the stand-ins of fakes.py on the stand-in driver."""

import contextlib
import ctypes
import gc
import os
import subprocess
import sys
import types
import unittest

import fakes
import mam

NO_SIZE = 1 << 50  # more than any device has


def live():
    """The live bytes of the default pool."""
    gc.collect()
    return mam.Pool.default().stats().live_bytes


@contextlib.contextmanager
def primary_context():
    """The primary context of device 0, which is current in Numba's threads."""
    driver, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
    driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
    driver.cuCtxPushCurrent_v2(context)
    yield
    driver.cuCtxPopCurrent_v2(ctypes.byref(context))
    driver.cuDevicePrimaryCtxRelease_v2(0)


class PyTorch(unittest.TestCase):
    def setUp(self):
        self.torch = fakes.install_torch()
        mam.torch._allocator = None

    def test_enable_and_disable(self):
        mam.torch.enable()
        plug = self.torch.current
        mam.torch.enable()
        self.assertIs(self.torch.current, plug)
        mam.torch.disable()
        self.assertEqual(self.torch.current, "PyTorch's own")
        mam.torch.disable()

    def test_allocator_that_pytorch_does_not_return(self):
        sys.modules["torch"]._C._cuda_getAllocator = lambda: None  # PyTorch 2.15, before the first change
        mam.torch.enable()
        with self.assertRaisesRegex(mam.Error, "cannot remove a pluggable allocator"):
            mam.torch.disable()

    def test_functions_are_those_of_mam(self):
        mam.torch.enable()
        plug = self.torch.current
        before = live()
        block = plug.alloc(5000, 0, None)
        self.assertEqual(live(), before + 5000)
        plug.record_stream(block, None)
        plug.free(block, 5000, 0, None)
        self.assertEqual(live(), before)
        plug.reset()
        self.assertEqual(mam.Pool.default().stats().reserved_bytes, 0)

    def test_too_late(self):
        self.torch.is_used = True
        with self.assertRaisesRegex(mam.Error, "before PyTorch's first use of a GPU: Can't swap .* allocator$"):
            mam.torch.enable()
        self.torch.is_used = False
        mam.torch.enable()
        self.torch.is_used = True
        with self.assertRaisesRegex(mam.Error, "start a new process"):
            mam.torch.disable()

    def test_statistics(self):
        mam.torch.enable()
        before = mam.torch.memory_stats()
        block = self.torch.current.alloc(5000, 0, None)
        stats = mam.torch.memory_stats(types.SimpleNamespace(index=0))  # torch.device("cuda:0")
        change = {key: stats[key] - before[key] for key in stats}
        self.assertEqual((change["requested_bytes.all.current"], change["allocated_bytes.all.current"]), (5000, 5120))
        self.assertEqual((change["allocation.all.current"], change["allocation.all.allocated"]), (1, 1))
        self.assertGreaterEqual(stats["reserved_bytes.all.peak"], stats["allocated_bytes.all.peak"])
        summary = mam.torch.memory_summary(0)
        source = mam.Pool.default().source
        self.assertIn(f"mam: device 0, source {source}\n", summary)
        self.assertRegex(summary, r"requested +4\.883 KiB")
        self.torch.current.free(block, 5000, 0, None)


class CuPy(unittest.TestCase):
    def setUp(self):
        self.cupy = fakes.install_cupy()
        mam.cupy._previous = None
        mam.cupy.enable()

    def tearDown(self):
        mam.cupy.disable()
        self.assertEqual(self.cupy.allocator, "CuPy's own")

    def test_arrays_are_allocated_and_freed(self):
        before = live()
        block = self.cupy.allocator(5000)
        self.assertEqual(live(), before + 5000)
        self.assertTrue(block.ptr)
        del block
        self.assertEqual(live(), before)
        self.assertEqual(self.cupy.allocator(0).ptr, 0)

    def test_current_stream_is_used(self):
        first = self.cupy.allocator(1 << 20)
        address = first.ptr
        self.cupy.stream = 2
        second = self.cupy.allocator(1 << 20)
        self.assertNotEqual(second.ptr, address)
        del first  # freed on stream 0, which the allocation on stream 0 may reuse at once
        self.cupy.stream = 0
        self.assertEqual(self.cupy.allocator(1 << 20).ptr, address)

    def test_out_of_memory(self):
        with self.assertRaisesRegex(MemoryError, f"CuPy cannot allocate {NO_SIZE} bytes from mam"):
            self.cupy.allocator(NO_SIZE)

    def test_second_enable(self):
        allocator = self.cupy.allocator
        mam.cupy.enable()
        self.assertIs(self.cupy.allocator, allocator)


class Numba(unittest.TestCase):
    def setUp(self):
        self.numba = fakes.install_numba()
        mam.numba._manager.cache_clear()
        mam.numba.enable()
        context = types.SimpleNamespace(device=types.SimpleNamespace(id=0))
        self.manager = self.numba.manager(context=context)
        self.manager.initialize()
        self.before = live()

    def test_memory_is_allocated_and_freed(self):
        memory = self.manager.memalloc(5000)
        self.assertEqual((live(), memory.size), (self.before + 5000, 5000))
        self.assertTrue(memory.device_pointer_value)
        del memory
        self.assertEqual((live(), self.manager._live), (self.before, {}))

    def test_explicit_free(self):
        memory = self.manager.memalloc(5000)
        memory.free()
        self.assertEqual(live(), self.before)

    def test_cleanup_is_deferred(self):
        with self.manager.defer_cleanup():
            self.assertTrue(self.manager.is_deferring)
            with self.manager.defer_cleanup():
                self.manager.memalloc(5000)
                self.assertEqual(live(), self.before + 5000)
            self.assertEqual(live(), self.before + 5000)
        self.assertEqual(live(), self.before)

    def test_reset_frees_everything_once(self):
        memory = self.manager.memalloc(5000)
        with self.manager.defer_cleanup():
            self.manager.memalloc(6000)
            self.manager.reset()
            self.assertEqual(live(), self.before)
        self.assertTrue(self.manager.was_reset)
        memory.free()
        self.assertEqual(live(), self.before)

    def test_ipc(self):
        memory = self.manager.memalloc(5000)
        self.assertEqual(self.manager.get_ipc_handle(memory), ("handle", memory))
        with mam.Pool("vmm") as pool:
            array = pool.alloc(64)
            self.manager._live[array.address] = pool
            pointer = types.SimpleNamespace(device_pointer_value=array.address)
            with self.assertRaisesRegex(mam.Error, "the source 'vmm' has no IPC handles"):
                self.manager.get_ipc_handle(pointer)
            del self.manager._live[array.address], array

    def test_memory_information(self):
        with mam.Pool("cudamalloc") as pool:
            pool.alloc(4096)  # makes a context
            with primary_context():
                memory = self.manager.memalloc(64 << 20)
                less = self.manager.get_memory_info()
                del memory
                gc.collect()
                more = self.manager.get_memory_info()
        self.assertEqual((more.total, more.free - less.free), (less.total, 64 << 20))
        self.assertLess(more.free, more.total)

    def test_out_of_memory(self):
        with self.assertRaisesRegex(MemoryError, f"cannot allocate {NO_SIZE} bytes"):
            self.manager.memalloc(NO_SIZE)

    def test_environment_variable(self):
        self.assertIs(mam.numba._numba_memory_manager, self.numba.manager)
        with self.assertRaises(AttributeError):
            mam.numba.something_else


class RMM(unittest.TestCase):
    def setUp(self):
        fakes.install_rmm()

    def test_default_pool(self):
        before = live()
        resource = mam.rmm.resource()
        for stream in map(fakes.RMMStream, (0, 1, 2)):
            block = resource.allocate(5000, stream)
            self.assertEqual(live(), before + 5000)
            resource.free(block, 5000, stream)
            self.assertEqual(live(), before)
        self.assertEqual(resource.allocate(0, fakes.RMMStream(0)), 0)
        resource.free(0, 0, fakes.RMMStream(0))

    def test_pool_of_the_caller(self):
        with mam.Pool("vmm") as pool:
            resource = mam.rmm.resource(pool)
            block = resource.allocate(5000, fakes.RMMStream(0))
            self.assertEqual(pool.stats().live_bytes, 5000)
            with self.assertRaisesRegex(mam.OutOfMemoryError, "cannot allocate"):
                resource.allocate(NO_SIZE, fakes.RMMStream(0))
            resource.free(block, 5000, fakes.RMMStream(0))


class Sources(unittest.TestCase):
    """The first default pool decides, so each case has its own process."""

    def run_python(self, text, **environment):
        here = os.path.dirname(os.path.abspath(__file__))
        variables = {name: value for name, value in os.environ.items() if name != "MAM_SOURCE"}
        done = subprocess.run(
            [sys.executable, "-c", "import fakes, mam\n" + text],
            cwd=here,
            env={**variables, **environment},
            capture_output=True,
            text=True,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    def source_of(self, text, **environment):
        return self.run_python(text + "\nprint(mam.Pool.default().source)", **environment)

    def test_source_of_the_default_pool(self):
        enable = "fakes.install_torch(); mam.torch.enable(source='{}')"
        for source in "vmm", "cudamalloc", "managed":
            self.assertEqual(self.source_of(enable.format(source)), source)
            self.assertEqual(self.source_of(enable.format(source), MAM_SOURCE="pinned"), source)

    def test_pytorch_prefers_mapped_memory(self):
        enable = "fakes.install_torch(); mam.torch.enable()"
        self.assertEqual(self.source_of(enable), "vmm")
        self.assertEqual(self.source_of(enable, FAKE_CUDA_VMM="0"), "cudamalloc")
        self.assertEqual(self.source_of(enable, MAM_SOURCE="cudamalloc"), "cudamalloc")
        self.assertEqual(self.source_of(enable + "\nmam.torch.enable(source='managed')"), "managed")

    def test_other_frameworks_do_not(self):
        self.assertEqual(self.source_of("fakes.install_cupy(); mam.cupy.enable()"), "cudamalloc")
        self.assertEqual(self.source_of("fakes.install_rmm(); mam.rmm.resource()"), "cudamalloc")
        self.assertEqual(self.source_of("fakes.install_numba(); mam.numba.enable()"), "cudamalloc")
        self.assertEqual(self.source_of("fakes.install_rmm(); mam.rmm.resource(source='vmm')"), "vmm")

    def test_source_is_for_this_process_only(self):
        text = "import os; fakes.install_cupy(); mam.cupy.enable(source='vmm'); print(os.environ.get('MAM_SOURCE'))"
        self.assertEqual(self.run_python(text), "None")

    def refused(self, text):
        return self.run_python(f"try:\n    {text}\nexcept mam.Error as error:\n    print(error.status, error)")

    def test_source_that_comes_too_late(self):
        text = "fakes.install_cupy(); mam.Pool.default(); mam.cupy.enable(source='vmm')"
        self.assertRegex(self.refused(text), "cannot use the source 'vmm': this process uses 'cudamalloc' already")

    def test_unknown_source(self):
        text = "fakes.install_cupy(); mam.cupy.enable(source='disk')"
        self.assertRegex(self.refused(text), "MAM_ERROR_INVALID_VALUE the default pools cannot use the source 'disk': ")


if __name__ == "__main__":
    unittest.main()
