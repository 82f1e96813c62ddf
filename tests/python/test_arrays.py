# SPDX-License-Identifier: Apache-2.0
"""Arrays of mam.Pool: __cuda_array_interface__, and DLPack with a consumer made of ctypes."""

import ctypes
import gc
import unittest
from ctypes import c_char_p, c_int, c_void_p, py_object

import mam
from mam import dlpack

_pointer = ctypes.PYFUNCTYPE(c_void_p, py_object, c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))
_rename = ctypes.PYFUNCTYPE(c_int, py_object, c_char_p)(("PyCapsule_SetName", ctypes.pythonapi))
USED = b"used_dltensor"


class Consumer:
    """Takes a tensor out of a capsule, as torch.from_dlpack does, until release()."""

    def __init__(self, array, **arguments):
        capsule = array.__dlpack__(**arguments)
        self.address = _pointer(capsule, b"dltensor")
        self.tensor = dlpack._Tensor.from_address(self.address)
        _rename(capsule, USED)

    def release(self):
        ctypes.CFUNCTYPE(None, c_void_p)(self.tensor.deleter)(self.address)


class Arrays(unittest.TestCase):
    def setUp(self):
        self.pool = mam.Pool("cudamalloc")

    def tearDown(self):
        gc.collect()
        self.pool.destroy()

    def test_cuda_array_interface(self):
        array = self.pool.alloc((3, 5), "float32")
        self.assertEqual(
            array.__cuda_array_interface__,
            {
                "shape": (3, 5),
                "typestr": "<f4",
                "data": (array.address, False),
                "strides": None,
                "stream": None,
                "version": 3,
            },
        )
        self.assertEqual(self.pool.alloc(3, "<i8", stream=0).__cuda_array_interface__["stream"], 1)
        self.assertEqual(self.pool.alloc(0).__cuda_array_interface__["data"], (0, False))

    def test_types(self):
        class OfNumPy:
            str = "<c8"

        class float64:  # like numpy.float64, a class
            pass

        for dtype, typestr, size in (("bool", "|b1", 1), ("<u2", "<u2", 2), (OfNumPy(), "<c8", 8), (float64, "<f8", 8)):
            array = self.pool.alloc(7, dtype)
            self.assertEqual((array.typestr, array.nbytes), (typestr, 7 * size))

    def test_dlpack_describes_the_array(self):
        array = self.pool.alloc((3, 5), "float16")
        consumer = Consumer(array)
        tensor = consumer.tensor
        self.assertEqual((tensor.data, tensor.device_type, tensor.device_id), (array.address, 2, 0))
        self.assertEqual((tensor.code, tensor.bits, tensor.lanes), (2, 16, 1))
        self.assertEqual((tensor.ndim, tensor.shape[:2], bool(tensor.strides)), (2, [3, 5], False))
        self.assertEqual(array.__dlpack_device__(), (2, 0))
        consumer.release()

    def test_dlpack_holds_the_memory(self):
        array = self.pool.alloc(4096)
        consumer = Consumer(array)
        with self.assertRaisesRegex(mam.Error, "while DLPack tensors use its memory"):
            self.pool.free(array)
        del array
        gc.collect()
        self.assertEqual(self.pool.stats().live_blocks, 1)
        consumer.release()
        gc.collect()
        self.assertEqual(self.pool.stats().live_blocks, 0)

    def test_capsule_without_consumer(self):
        array = self.pool.alloc(4096)
        capsule = array.__dlpack__()
        self.assertEqual(array._exports, 1)
        del capsule
        gc.collect()
        self.assertEqual((array._exports, dlpack._exported), (0, {}))

    def test_consumer_on_another_stream_waits(self):
        waits = []
        synchronize, dlpack.synchronize = dlpack.synchronize, lambda *stream: waits.append(stream)
        try:
            array = self.pool.alloc(4096, stream=0)
            for stream in (None, 1, -1, 2):
                Consumer(array, stream=stream).release()
            Consumer(self.pool.alloc(4096), stream=2).release()
        finally:
            dlpack.synchronize = synchronize
        self.assertEqual(waits, [(0, 0)])  # for stream 2 alone

    def test_wait_for_a_stream(self):
        self.pool.alloc(4096)
        dlpack.synchronize(0, 0)
        with self.assertRaisesRegex(mam.Error, "the stream 0xbad: the CUDA driver returned"):
            dlpack.synchronize(0xBAD, 0)

    def test_kinds_of_memory(self):
        for source, kind in (("vmm", 2), ("pinned", 3), ("managed", 13)):
            with mam.Pool(source) as pool:
                self.assertEqual(pool.alloc(4).__dlpack_device__()[0], kind, source)
        with mam.Pool("host") as pool:
            array = pool.alloc(4)
            for use in (lambda: array.__cuda_array_interface__, array.__dlpack__, array.__dlpack_device__):
                with self.assertRaisesRegex(mam.Error, "'host' has addresses only"):
                    use()
            array.free()


if __name__ == "__main__":
    unittest.main()
