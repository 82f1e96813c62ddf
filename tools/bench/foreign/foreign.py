#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run a test suite of another project without mam and under mam run, and compare it test by test.

    foreign.py [OPTION]... SUITE PATH [ARGUMENT]...

SUITE    PATH, to files that are already there: nothing is fetched
samples  a folder with built cuda-samples; each program in it is a test, except CMake's own; status 2 means skipped
cupy     the root of CuPy's source, whose tests run with pytest; ARGUMENT: files or options of pytest
torch    PyTorch's test/test_cuda.py; ARGUMENT: classes, as TestCuda
numba    the folder in which the tests run; ARGUMENT: modules, by default numba.cuda
gtest    a program built with GoogleTest, as those of RMM, cuDF and CCCL; ARGUMENT: its options

The suite runs once per mode: plain, then under mam run with each free policy and source. A test whose result differs
from that of plain, or that is missing because the suite ended early, is repeated alone, plain and in this mode: it
differs if no result of the mode was ever one of plain. The table has the sums per mode. Exit status: 0, 1 if a test
differs, 2 if the suite has no test.
"""

import argparse
import os
import re
import signal
import subprocess
import sys

MODES = {
    "plain": None,
    "strict": ["--free=strict", "--source=cudamalloc"],
    "deferred": ["--free=deferred", "--source=cudamalloc"],
    "strict-vmm": ["--free=strict", "--source=vmm"],
    "deferred-vmm": ["--free=deferred", "--source=vmm"],
}
WORDS = {
    "ok": "passed", "passed": "passed", "xfail": "passed", "expected failure": "passed", "skipped": "skipped",
    "fail": "failed", "failed": "failed", "error": "failed", "xpass": "failed", "unexpected success": "failed",
}


def parse_pytest(text):
    """Lines such as 'tests/test_a.py::TestA::test_b[1] PASSED [ 10%]'."""
    return {m[1]: WORDS[m[2].lower()] for m in
            re.finditer(r"^(\S+?::.+?) (PASSED|FAILED|SKIPPED|ERROR|XFAIL|XPASS)\b", text, re.M)}


def parse_unittest(text):
    """'test_b (module.TestA.test_b) ... ok'; a description and output may precede the result."""
    found, test = {}, None
    for line in text.splitlines():
        start = re.match(r"(\w+) \(([\w.]+)\)", line)
        if start:
            test = start[2] if start[2].endswith("." + start[1]) else f"{start[2]}.{start[1]}"
            test = test.removeprefix("__main__.")
        end = re.search(r"(?:^|\.\.\. )(?:(ok|FAIL|ERROR|expected failure|unexpected success)$|(skipped) )", line)
        if test and end:
            found[test] = WORDS[(end[1] or end[2]).lower()]
            test = None
    return found


def parse_gtest(text):
    return {m[2]: WORDS[m[1].lower()] for m in
            re.finditer(r"^\[ +(OK|FAILED|SKIPPED) +\] (\S+?)(?:,.*)? \(\d+ ms\)$", text, re.M)}


def is_program(path):
    if "/CMakeFiles/" in path or ".so" in os.path.basename(path) or not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return os.access(path, os.X_OK) and file.read(4)[:2] in (b"\x7fE", b"#!")


class Suite:
    """How to run all tests, or some by name, and read their results."""

    def __init__(self, options):
        self.path, self.more, self.limit = os.path.abspath(options.path), options.arguments, options.timeout
        self.mam, self.kind = options.mam, options.suite
        if not os.path.exists(self.path):
            sys.exit(f"foreign.py: error: there is no '{options.path}'")

    def command(self, tests):
        """The command for these tests, or for all; its folder; the reader of its output."""
        python, folder = sys.executable, os.path.dirname(self.path)
        some = tests or self.more
        if self.kind == "cupy":
            return [python, "-m", "pytest", "-v", "--tb=no", f"--rootdir={self.path}", *some], self.path, parse_pytest
        if self.kind == "torch":
            return [python, self.path, "-v", *some], folder, parse_unittest
        if self.kind == "numba":
            return [python, "-m", "numba.runtests", "-v", *(some or ["numba.cuda"])], self.path, parse_unittest
        return [self.path, *self.more] + ([f"--gtest_filter={':'.join(tests)}"] if tests else []), folder, parse_gtest

    def execute(self, command, folder, mode, limit):
        if MODES[mode] is not None:
            command = [self.mam, "run", *MODES[mode], "--", *command]
        process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, start_new_session=True)
        try:
            output = process.communicate(timeout=limit)[0]
        except BaseException as error:
            os.killpg(process.pid, signal.SIGKILL)
            output = process.communicate()[0]
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
        return process.returncode, output.decode(errors="replace")

    def run_samples(self, mode, tests):
        found = {}
        if not tests:
            files = [os.path.join(folder, name) for folder, _, names in os.walk(self.path) for name in names]
            tests = sorted(os.path.relpath(file, self.path) for file in files if is_program(file))
        for test in tests:
            program = os.path.join(self.path, test)
            status, _ = self.execute([program], os.path.dirname(program), mode, self.limit)
            found[test] = {0: "passed", 2: "skipped"}.get(status, "failed")
        return found

    def run(self, mode, tests=None):
        if self.kind == "samples":
            return self.run_samples(mode, tests)
        command, folder, parse = self.command(tests)
        return parse(self.execute(command, folder, mode, self.limit)[1])


def differing(suite, mode, plain, found, retries):
    """The tests of which no result in this mode was ever one of plain, with both."""
    different = {}
    for test in sorted(set(plain) | set(found)):
        own, other = {plain.get(test, "missing")}, {found.get(test, "missing")}
        for _ in range(retries):
            if own & other:
                break
            own.add(suite.run("plain", [test]).get(test, "missing"))
            other.add(suite.run(mode, [test]).get(test, "missing"))
        if not own & other:
            different[test] = f"{'/'.join(sorted(own))} in plain, {'/'.join(sorted(other))} in {mode}"
    return different


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mam", default="mam", help="the installed command; default: that on the path")
    parser.add_argument("--modes", default=",".join(MODES), help="default: %(default)s")
    parser.add_argument("--retries", type=int, default=2, help="of a test that differs; default: 2")
    parser.add_argument("--timeout", type=float, help="seconds per run of the suite, or of a sample")
    parser.add_argument("suite", choices=["samples", "cupy", "torch", "numba", "gtest"])
    parser.add_argument("path")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    modes = options.modes.split(",")
    unknown = [mode for mode in modes if mode not in MODES]
    if unknown:
        parser.error(f"unknown mode '{unknown[0]}'")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    suite, differ = Suite(options), {}
    plain = suite.run("plain")
    if not plain:
        print(f"foreign.py: error: {options.suite} ran no test in '{options.path}'", file=sys.stderr)
        return 2
    print(f"{'mode':14}{'tests':>7}{'passed':>8}{'failed':>8}{'skipped':>9}{'differ':>8}")
    for mode in dict.fromkeys(["plain", *modes]):
        found = plain if mode == "plain" else suite.run(mode)
        new = differing(suite, mode, plain, found, options.retries) if mode != "plain" else {}
        results = list(found.values())
        print(f"{mode:14}{len(found):7}{results.count('passed'):8}{results.count('failed'):8}"
              f"{results.count('skipped'):9}{len(new):8}", flush=True)
        for test, why in new.items():
            differ.setdefault(test, []).append(why)
    for test, reasons in differ.items():
        print(f"{test}: {'; '.join(reasons)}")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
