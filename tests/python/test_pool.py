# SPDX-License-Identifier: Apache-2.0
"""mam.Pool, its statistics and its errors, on the stand-in driver."""

import gc
import os
import re
import threading
import unittest

import mam
from mam import native

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def fields(header, struct):
    """The names of a C struct's fields, from its header."""
    with open(os.path.join(ROOT, "include", "mam", header)) as file:
        body = re.search(r"struct %s \{(.*?)\n\};" % struct, file.read(), re.DOTALL).group(1)
    body = re.sub(r"/\*.*?\*/", "", body, flags=re.DOTALL)
    return re.findall(r"(\w+);", body)


class Structs(unittest.TestCase):
    def test_structs_are_those_of_the_headers(self):
        for header, struct, layout in (
            ("stats.h", "mam_stats", native.StatsStruct),
            ("mam.h", "mam_pool_attr", native.PoolAttr),
            ("mam.h", "mam_segment_info", native.SegmentInfo),
            ("pools.h", "mam_pool_info", native.PoolInfo),
            ("pools.h", "mam_suspend_attr", native.SuspendAttr),
        ):
            self.assertEqual(fields(header, struct), [name for name, *_ in layout._fields_], struct)


class Pools(unittest.TestCase):
    def test_blocks_are_counted_and_freed(self):
        with mam.Pool("cudamalloc", name="counted") as pool:
            array = pool.alloc(1000)
            self.assertEqual((array.address % 512, array.nbytes), (0, 1000))
            stats = pool.stats()
            self.assertEqual((stats.live_blocks, stats.live_bytes, stats.live_rounded_bytes), (1, 1000, 1024))
            pool.free(array)
            self.assertEqual(pool.stats().live_blocks, 0)
            pool.check()
            self.assertEqual((pool.name, pool.source, pool.device), ("counted", "cudamalloc", 0))

    def test_collected_array_frees_its_block(self):
        pool = mam.Pool("cudamalloc")
        array = pool.alloc(1000)
        self.assertEqual(pool.stats().live_blocks, 1)
        del array
        gc.collect()
        self.assertEqual(pool.stats().live_blocks, 0)
        pool.destroy()

    def test_array_holds_its_pool(self):
        array = mam.Pool("cudamalloc").alloc(1000)
        gc.collect()
        self.assertEqual(array.pool.stats().live_blocks, 1)

    def test_alignment_and_stream_order(self):
        with mam.Pool("vmm") as pool:
            below = pool.alloc(1)
            aligned = pool.alloc(1, alignment=1 << 20)
            self.assertEqual(aligned.address % (1 << 20), 0)
            self.assertNotEqual(below.address, aligned.address)
            first = pool.alloc(1 << 20, stream=0)
            address = first.address
            pool.free(first)
            self.assertEqual(pool.alloc(1 << 20, stream=0).address, address)
            with self.assertRaisesRegex(mam.Error, "alignment"):
                pool.alloc(1, stream=0, alignment=4096)

    def test_unknown_stream(self):
        with mam.Pool("cudamalloc") as pool:
            address = pool.take(64)
            with self.assertRaises(mam.Error) as caught:
                pool.give(address, 0xBAD)
            self.assertEqual(caught.exception.status, "MAM_ERROR_INVALID_VALUE")
            pool.give(address)

    def test_cache(self):
        for cache in (False, True):
            with mam.Pool("host", cache=cache) as pool:
                for _ in range(100):
                    pool.free(pool.alloc(4096))
                self.assertEqual(pool.stats().cached_blocks > 0, cache)

    def test_period_of_statistics(self):
        with mam.Pool("host") as pool:
            old = pool.alloc(1 << 20)
            with pool.stats() as period:
                pool.free(pool.alloc(4096))
            self.assertEqual((period.allocs, period.frees), (1, 1))
            self.assertEqual(period.peak_live_bytes, (1 << 20) + 4096)
            pool.free(old)
            self.assertEqual(dict(period)["allocs"], 1)
            self.assertIn("allocs=1", repr(period))

    def test_limit_reserve_and_trim(self):
        with mam.Pool("host", limit=1 << 20, cache=False) as pool:
            self.assertEqual(pool.limit, 1 << 20)
            with self.assertRaisesRegex(mam.OutOfMemoryError, "^cannot allocate 2097152 bytes from the pool '.*': "):
                pool.alloc(2 << 20)
            with self.assertRaises(MemoryError):
                pool.alloc(2 << 20)
            pool.limit = 64 << 20
            pool.reserve(2 << 20)
            grown = pool.stats().grows
            pool.free(pool.alloc(2 << 20))
            self.assertEqual(pool.stats().grows, grown)
            self.assertGreaterEqual(pool.trim(), 2 << 20)
            self.assertEqual(pool.stats().reserved_bytes, 0)

    def test_suspend_and_resume(self):
        with mam.Pool("vmm", cache=False) as pool:
            array = pool.alloc(4 << 20)
            for arguments in ({}, {"folder": "/tmp"}, {"discard": True}):
                pool.suspend(**arguments)
                self.assertEqual((pool.stats().physical_bytes, pool.stats().suspended_bytes > 0), (0, True))
                with self.assertRaisesRegex(mam.Error, "suspended"):
                    pool.alloc(1000)
                pool.resume()
                self.assertEqual(pool.stats().suspended_bytes, 0)
            with self.assertRaisesRegex(mam.Error, "^cannot suspend the pool"):
                pool.suspend(folder="/proc/nothing")
            pool.free(array)
        with mam.Pool("host") as pool:
            with self.assertRaisesRegex(mam.Error, "^cannot suspend the pool"):
                pool.suspend()

    def test_segments(self):
        with mam.Pool("host") as pool:
            arrays = [pool.alloc(size) for size in (100, 2000)]
            live = [segment for segment in pool.segments() if segment["live"]]
            self.assertEqual(sorted(segment["requested"] for segment in live), [100, 2000])
            self.assertEqual({segment["base"] for segment in live}, {array.address for array in arrays})
            del arrays

    def test_default_and_named_pools_are_shared(self):
        array = mam.Pool.default().alloc(5000)
        self.assertGreaterEqual(mam.Pool.default(0).stats().live_bytes, 5000)
        del array
        first = mam.Pool.named("shared", source="host")
        block = first.take(4096)
        second = mam.Pool.named("shared")
        self.assertEqual((second.source, second.stats().live_bytes), ("host", 4096))
        second.give(block)
        second.destroy()

    def test_errors(self):
        for message, call in (
            ("unknown free policy 'never'", lambda: mam.Pool("host", free="never")),
            ("on the source 'nowhere'", lambda: mam.Pool("nowhere")),
            ("limit is negative", lambda: mam.Pool("host", limit=-1)),
            ("unknown dtype 'int3'", lambda: mam.Pool("host").alloc(1, "int3")),
            ("negative size", lambda: mam.Pool("host").alloc((2, -1))),
        ):
            with self.assertRaisesRegex(mam.Error, message):
                call()

    def test_second_free_and_live_blocks(self):
        pool = mam.Pool("host")
        array = pool.alloc(4096)
        address = array.address
        with self.assertRaises(mam.Error) as caught:
            pool.destroy()
        self.assertEqual(caught.exception.status, "MAM_ERROR_LIVE_BLOCKS")
        array.free()
        with self.assertRaisesRegex(mam.Error, "the array was freed"):
            array.free()
        with self.assertRaises(mam.Error) as caught:
            pool.give(address)
        self.assertEqual(caught.exception.status, "MAM_ERROR_DOUBLE_FREE")
        pool.destroy()
        with self.assertRaises(mam.Error) as caught:
            pool.alloc(1)
        self.assertEqual(caught.exception.status, "MAM_ERROR_DESTROYED")

    def test_pool_ends_with_its_block_or_its_last_array(self):
        with mam.Pool("host") as pool:
            pass
        with self.assertRaisesRegex(mam.Error, "destroyed"):
            pool.stats()
        with mam.Pool("host", name="later") as pool:
            array = pool.alloc(1)
        self.assertEqual(pool.stats().live_blocks, 1)
        with self.assertRaisesRegex(mam.Error, "the pool 'later' has ended"):
            pool.alloc(1)
        array.free()
        with self.assertRaisesRegex(mam.Error, "destroyed"):
            pool.stats()

    def test_exception_in_a_block_is_not_replaced(self):
        with self.assertRaises(ZeroDivisionError):
            with mam.Pool("host") as pool:
                array = pool.alloc(1)
                1 / 0
        array.free()

    def test_threads(self):
        errors = []
        with mam.Pool("host") as pool:

            def work():
                try:
                    for size in range(1, 300):
                        pool.free(pool.alloc(size * 100))
                except Exception as error:
                    errors.append(error)

            threads = [threading.Thread(target=work) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(errors, [])
            stats = pool.stats()
            self.assertEqual((stats.allocs, stats.live_blocks), (4 * 299, 0))
            pool.check()


if __name__ == "__main__":
    unittest.main()
