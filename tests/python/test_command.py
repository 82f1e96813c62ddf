# SPDX-License-Identifier: Apache-2.0
"""Traces, replays, maps, and the command."""

import ctypes
import os
import subprocess
import sys
import tempfile
import threading
import unittest

import mam
from mam import native

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TRAINING = os.path.join(ROOT, "tests", "data", "resnet50-train.trace.gz")


def command(*arguments):
    """Run `python -m mam`, and return its status, output and messages."""
    done = subprocess.run([sys.executable, "-m", "mam", *arguments], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


class Traces(unittest.TestCase):
    def record(self, path=None):
        with mam.Pool("host", cache=False) as pool:
            older = pool.alloc(300)
            with mam.trace(path) as trace:
                first = pool.alloc(1000)
                second = pool.alloc((2, 1000), "float32", stream=7)
                pool.free(first)
                pool.free(older)
            pool.free(second)
        return trace

    def test_events(self):
        trace = self.record()
        events = [(event["event"], event["bytes"], event["stream"]) for event in trace.events]
        self.assertEqual(events, [("a", 1000, 0), ("a", 8000, 7), ("f", 1000, 0)])
        self.assertEqual(trace.events[0]["id"], trace.events[2]["id"])
        times = [event["t"] for event in trace.events]
        self.assertEqual(times, sorted(times))

    def test_events_before_the_end(self):
        with mam.Pool("host") as pool, mam.trace() as trace:
            block = pool.alloc(1000)
            self.assertLessEqual(len(trace.events), 1)
            pool.free(block)
        self.assertEqual([event["event"] for event in trace.events], ["a", "f"])

    def test_dump(self):
        with mam.Pool("host", cache=False) as pool, mam.trace() as trace:
            block = pool.alloc(1000)
            trace.dump()
            self.assertEqual([event["bytes"] for event in trace.events], [1000])
            pool.free(block)
            trace.dump()
            self.assertEqual([event["event"] for event in trace.events], ["a", "f"])
        with self.assertRaisesRegex(mam.Error, "cannot write the recording"):
            trace.dump()

    def test_trace_can_be_replayed(self):
        trace = self.record()
        result = mam.replay(trace)
        self.assertEqual((result["allocs"], result["frees"], result["peak_live_bytes"]), (2, 1, 9000))
        self.assertEqual(result["source"], "host")
        self.assertIsInstance(result["ns_per_event"], float)

    def test_file_of_a_trace(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.trace")
            self.assertEqual(self.record(path).path, path)
            status, output, _ = command("profile", "--format", "tree", path)
        self.assertEqual(status, 0)
        self.assertIn("test_command.py", output)

    def test_device_of_a_trace(self):
        with mam.Pool("cudamalloc") as pool, mam.trace() as trace:
            pool.free(pool.alloc(64, stream=1))
        self.assertEqual([(event["device"], event["stream"]) for event in trace.events], [(0, 1), (0, 1)])

    def test_trace_of_threads(self):
        with mam.Pool("host") as pool, mam.trace() as trace:

            def work():
                for _ in range(200):
                    pool.free(pool.alloc(512))

            threads = [threading.Thread(target=work) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        result = mam.replay(trace)
        self.assertEqual((result["allocs"], result["frees"]), (800, 800))

    def test_one_at_a_time(self):
        with mam.trace():
            with self.assertRaisesRegex(mam.Error, "the process records a file already"):
                mam.trace().__enter__()

    def test_blocks_of_a_plug_in(self):
        library = native.LIBRARY
        library.mam_torch_alloc.restype = ctypes.c_void_p
        with mam.trace() as trace:
            block = library.mam_torch_alloc(ctypes.c_ssize_t(5000), 0, None)
            library.mam_torch_free(ctypes.c_void_p(block), ctypes.c_ssize_t(5000), 0, None)
        self.assertEqual([(event["event"], event["bytes"]) for event in trace.events], [("a", 5000), ("f", 5000)])


class Replays(unittest.TestCase):
    def test_options(self):
        fine, coarse = (mam.replay(TRAINING, align=align, repeat=1) for align in (512, 1 << 21))
        self.assertEqual(fine["peak_live_bytes"], coarse["peak_live_bytes"])
        self.assertGreater(coarse["high_water_bytes"], fine["high_water_bytes"])
        self.assertEqual(mam.replay(TRAINING, source="vmm", simulate=True, repeat=1)["simulated"], "yes")

    def test_map(self):
        heap = mam.heap_map(TRAINING)
        self.assertTrue(heap.html.startswith("<!DOCTYPE html>"))
        shown = heap._repr_html_()
        self.assertTrue(shown.startswith('<iframe srcdoc="&lt;!DOCTYPE html&gt;'))
        self.assertNotIn("<script", shown)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "heap.html")
            heap.save(path)
            self.assertEqual(os.path.getsize(path), len(heap.html.encode()))

    def test_errors(self):
        with self.assertRaisesRegex(mam.Error, "cannot open '/none.trace': No such file"):
            mam.replay("/none.trace")
        with self.assertRaisesRegex(mam.Error, "--color"):
            mam.heap_map(TRAINING, color=3)


class Command(unittest.TestCase):
    def test_version(self):
        self.assertEqual(command("--version"), (0, f"mam {mam.__version__}\n", ""))

    def test_status_of_an_error(self):
        status, _, messages = command("replay")
        self.assertEqual(status, 2)
        self.assertIn("mam replay: error: ", messages)

    def test_run_intercepts_a_program(self):
        program = os.path.join(ROOT, "tests", "clients", "client_python.py")
        status, output, messages = command("run", "--stats", "--", sys.executable, program, "--rounds", "2")
        self.assertEqual(status, 0, messages)
        self.assertIn("errors 0", output)
        self.assertRegex(messages, r"cuMemAlloc_v2 +96 +96 +0 +0")

    def test_library_of_the_package(self):
        self.assertTrue(mam.PREFIX)
        for path in ("bin/mam", "lib/libmam.so.0", "lib/mam/libmam-preload.so", "include/mam/heap.cuh"):
            self.assertTrue(os.path.exists(os.path.join(mam.PREFIX, path)), path)
        self.assertTrue(ctypes.CDLL(os.path.join(mam.PREFIX, "lib", "libmam.so.0")).mam_version)


if __name__ == "__main__":
    unittest.main()
