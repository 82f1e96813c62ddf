# SPDX-License-Identifier: Apache-2.0
"""mam.tag: nesting, errors, threads and names of any characters; under mam run, the tags of blocks that other code
allocates, and mam.profile."""

import gzip
import os
import subprocess
import sys
import tempfile
import threading
import unittest

import mam
from mam import native

# Allocates by CUDA's runtime, as a framework does.
PROGRAM = """
import ctypes, mam
runtime = ctypes.CDLL("libcudart.so.13")
def take(size):
    assert runtime.cudaMalloc(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(size)) == 0
with mam.tag("training"):
    with mam.tag("kv cache"):
        take(1000)
    take(2000)
take(3000)
"""


PROFILES = PROGRAM.split("with")[0] + '''
import sys
for number in range(2):
    try:
        with mam.profile(sys.argv[1] + str(number)):
            take(1000 + number)
            raise KeyError
    except KeyError:
        take(3000)
'''


def path():
    return native.LIBRARY.mam_tag_path().decode()


class Tags(unittest.TestCase):
    def tearDown(self):
        self.assertEqual(path(), "")

    def test_tags_nest(self):
        with mam.tag("training"):
            with mam.tag("kv cache"):
                self.assertEqual(path(), "training/kv%20cache")
            self.assertEqual(path(), "training")

    def test_an_exception_ends_the_tag(self):
        with self.assertRaises(ZeroDivisionError), mam.tag("a"), mam.tag("b"):
            self.assertEqual(path(), "a/b")
            1 / 0

    def test_decorator(self):
        @mam.tag("f")
        def f(depth):
            return f(depth - 1) if depth else path()

        self.assertEqual(f(2), "f/f/f")
        self.assertEqual(len(f(200)), 255)

    def test_one_object_may_be_used_again(self):
        tag = mam.tag("a")
        with tag, tag:
            self.assertEqual(path(), "a/a")
        with tag:
            self.assertEqual(path(), "a")

    def test_names_of_any_characters(self):
        for name, written in (("\x01\n/", "%01%0A%2F"), ("é", "%C3%A9"), ("\ud800", "\\ud800"), ("n" * 10000, "")):
            with mam.tag(name):
                self.assertEqual(path(), written)

    def test_names_that_are_refused(self):
        for name in ("", "a\0b"):
            with self.assertRaisesRegex(mam.Error, "a tag must have a name"):
                mam.tag(name)
        with self.assertRaises(TypeError):
            mam.tag(7)

    def test_threads_have_their_own(self):
        seen = []

        def run():
            seen.append(path())
            with mam.tag("thread"):
                seen.append(path())

        with mam.tag("main"):
            thread = threading.Thread(target=run)
            thread.start()
            thread.join()
            self.assertEqual(path(), "main")
        self.assertEqual(seen, ["", "thread"])

    def test_a_pop_too_many(self):
        self.assertEqual(native.LIBRARY.mam_status_name(native.LIBRARY.mam_tag_pop()), b"MAM_ERROR_INVALID_VALUE")

    def test_trace_has_tags(self):
        with mam.Pool("host") as pool, mam.trace() as trace:
            with mam.tag("kv cache"):
                block = pool.alloc(1000)
            pool.free(block)
            pool.free(pool.alloc(2000))
        self.assertEqual([event["tag"] for event in trace.events], ["kv%20cache", "kv%20cache", "", ""])

    def test_blocks_of_a_program_under_mam_run(self):
        with tempfile.TemporaryDirectory() as folder:
            trace = os.path.join(folder, "trace")
            command = [sys.executable, "-m", "mam", "run", "--trace", trace, "--", sys.executable, "-c", PROGRAM]
            done = subprocess.run(command, capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            with open(trace, "rb") as file:
                start = file.read(2)
            with (gzip.open if start == b"\x1f\x8b" else open)(trace, "rt") as file:
                blocks = [line.split() for line in file if line.startswith("a ")]
        tags = {words[2]: words[-1] for words in blocks if words[2] in ("1000", "2000", "3000")}
        self.assertEqual((tags["1000"], tags["2000"]), ("tag=training/kv%20cache", "tag=training"))
        self.assertFalse(tags["3000"].startswith("tag="))


class Profiles(unittest.TestCase):
    def test_a_program_under_mam_run(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "profile")
            command = [sys.executable, "-m", "mam", "run", "--", sys.executable, "-c", PROFILES, path]
            done = subprocess.run(command, capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            for number in range(2):
                with open(path + str(number), "rb") as file:
                    start = file.read(2)
                with (gzip.open if start == b"\x1f\x8b" else open)(path + str(number), "rt") as file:
                    blocks = [line.split() for line in file if line.startswith("a ")]
                self.assertEqual([words[2] for words in blocks], [str(1000 + number)])
                self.assertIn("stack=", " ".join(blocks[0]))

    def test_a_file_that_cannot_be_written(self):
        with self.assertRaisesRegex(mam.Error, "cannot record '/none/file'") as raised:
            with mam.profile("/none/file"):
                self.fail("it began")
        self.assertEqual(raised.exception.status, "MAM_ERROR_IO")


if __name__ == "__main__":
    unittest.main()
