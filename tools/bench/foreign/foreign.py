#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run a test suite of another project without mam and with it, and compare the results test by test.

    foreign.py [OPTION]... SUITE PATH [ARGUMENT]...

SUITE    PATH, to files that are already there: nothing is fetched
samples  a folder with built cuda-samples; each program in it is a test, except CMake's own; status 2 means skipped
cupy     the root of CuPy's source, whose tests run with pytest; ARGUMENT: files or options of pytest
torch    PyTorch's test/test_cuda.py; ARGUMENT: classes, as TestCuda
numba    the folder in which the tests run; ARGUMENT: modules, by default numba.cuda
gtest    a program built with GoogleTest, as those of RMM, cuDF and CCCL; ARGUMENT: its options

The suite runs once per mode: plain, then under mam run with each free policy and source. The modes enable and enable-vmm
use the Python package instead, in the suites torch, cupy and numba: mam.torch.enable(extension=True) and so on before the
tests. A test whose result differs from that of plain, or that is missing because the suite ended early, is repeated alone,
plain and in this mode: it differs if no result of the mode was ever one of plain. With --jobs, the tests of these suites
are spread over processes, and one that fails in plain is repeated alone, too. The table has the sums per mode. Exit
status: 0, 1 if a test differs, 2 if the suite has no test.
"""

import argparse
import concurrent.futures
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
ENABLED = {"enable": "cudamalloc", "enable-vmm": "vmm"}  # by the Python package, with this source
ENABLE = {  # the program before a suite's own
    "torch": "import mam, runpy, sys; mam.torch.enable(sys.argv.pop(1), extension=True); sys.argv.pop(0); "
             "sys.path.insert(0, ''); runpy.run_path(sys.argv[0], run_name='__main__')",
    "cupy": "import mam, runpy, sys; mam.cupy.enable(sys.argv.pop(1)); "
            "runpy.run_module('pytest', run_name='__main__', alter_sys=True)",
    "numba": "import mam, os, sys; os.environ.update(NUMBA_CUDA_MEMORY_MANAGER='mam.numba', MAM_SOURCE=sys.argv.pop(1)); "
             "os.execv(sys.executable, [sys.executable, '-m', 'numba.runtests', *sys.argv[1:]])",
}
LIST = (  # the tests of a file
    "import runpy, sys, unittest\nsys.path.insert(0, '')\n"
    "for name, kind in runpy.run_path(sys.argv.pop(1)).items():\n"
    "    if isinstance(kind, type) and issubclass(kind, unittest.TestCase):\n"
    "        print(*(f'{name}.{test}' for test in unittest.TestLoader().getTestCaseNames(kind)), sep='\\n')"
)
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


def reason_of(status, output):
    """The last line that names an exception, or the signal that ended the program."""
    if status is None or status < 0:
        return "time limit" if status is None else signal.Signals(-status).name
    lines = re.findall(r"^(?:E +)?(\w[\w.]*(?:Error|Exception|Failure)\b.*)$", output, re.M)
    return lines[-1][:160] if lines else ""


def kill(group):
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass  # it has ended


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
        self.jobs = options.jobs if self.kind in ENABLE else 1
        self.leave_out, self.tests, self.reasons = options.leave_out, [], {}
        self.running, self.is_over = set(), False
        if not os.path.exists(self.path):
            sys.exit(f"foreign.py: error: there is no '{options.path}'")

    def python(self, mode, program, *arguments):
        """A command of Python in this mode; `program`: -m MODULE, or a file."""
        if mode in ENABLED:
            return [sys.executable, "-c", ENABLE[self.kind], ENABLED[mode], *arguments]
        return [sys.executable, *program, *arguments]

    def command(self, mode, tests):
        """The command for these tests, or for all; its folder; the reader of its output."""
        folder, some = os.path.dirname(self.path), tests or self.more
        if self.kind == "cupy":
            arguments = ["-v", "--tb=line" if len(some) == 1 else "--tb=no", f"--rootdir={self.path}", *some]
            return self.python(mode, ["-m", "pytest"], *arguments), self.path, parse_pytest
        if self.kind == "torch":
            return self.python(mode, [], self.path, "-v", *some), folder, parse_unittest
        if self.kind == "numba":
            some = some or ["numba.cuda"]
            return self.python(mode, ["-m", "numba.runtests"], "-v", *some), self.path, parse_unittest
        return [self.path, *self.more] + ([f"--gtest_filter={':'.join(tests)}"] if tests else []), folder, parse_gtest

    def names(self):
        """All tests by name, in order."""
        if self.kind == "cupy":
            command = [sys.executable, "-m", "pytest", "--collect-only", "-q", f"--rootdir={self.path}", *self.more]
            pattern, folder = r"^\S+?::.+$", self.path
        elif self.kind == "torch":
            command, pattern = [sys.executable, "-c", LIST, self.path], r"^\w+\.\w+$"
            folder = os.path.dirname(self.path)
        else:
            command = [sys.executable, "-m", "numba.runtests", "-l", *(self.more or ["numba.cuda"])]
            pattern, folder = r"^\w+(?:\.\w+)+$", self.path
        found = re.findall(pattern, self.execute(command, folder, "plain", self.limit)[1], re.M)
        if self.kind == "torch" and self.more:
            found = [test for test in found if test in self.more or test.split(".")[0] in self.more]
        return found

    def execute(self, command, folder, mode, limit):
        """The exit status, None past the time limit; the output."""
        if MODES.get(mode) is not None:
            command = [self.mam, "run", *MODES[mode], "--", *command]
        if self.is_over:
            return None, ""
        process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, start_new_session=True)
        self.running.add(process.pid)
        if self.is_over:  # since it was read above
            kill(process.pid)
        status = 0
        try:
            output = process.communicate(timeout=limit)[0]
        except BaseException as error:
            kill(process.pid)
            output = process.communicate()[0]
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            status = None
        finally:
            self.running.discard(process.pid)
        return process.returncode if status == 0 else None, output.decode(errors="replace")

    def stop(self, *_):
        """The handler of SIGTERM: what was found so far is still printed."""
        self.is_over = True
        for group in list(self.running):
            kill(group)
        sys.exit(143)

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
        command, folder, parse = self.command(mode, tests)
        status, output = self.execute(command, folder, mode, self.limit)
        found = parse(output)
        if tests and len(tests) == 1 and found.get(tests[0]) not in ("passed", "skipped"):
            self.reasons[mode, tests[0]] = reason_of(status, output)
        return found

    def run_all(self, mode):
        """As run(), with the tests spread over several processes."""
        if self.jobs == 1:
            return self.run(mode)
        self.tests = self.tests or [test for test in self.names() if not re.search(self.leave_out, test)]
        parts = min(3 * self.jobs, len(self.tests))
        found = {}
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            for results in pool.map(lambda part: self.run(mode, self.tests[part::parts]), range(parts)):
                found.update(results)
        for test in self.tests:
            if mode == "plain" and found.get(test) not in ("passed", "skipped"):
                found.update(self.run(mode, [test]))
        return found


def repeat(suite, mode, results, retries):
    """Repeat the tests in `results`, as far as no result of the mode is one of plain: {test: (of plain, of the mode)}."""
    for attempt in range(retries):
        left = [test for test, (own, other) in results.items() if not own & other]
        jobs = suite.jobs if attempt == 0 else 1  # then without others at the same time

        def once(test):
            own, other = results[test]
            other.add(suite.run(mode, [test]).get(test, "missing"))
            if not own & other:
                own.add(suite.run("plain", [test]).get(test, "missing"))

        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            list(pool.map(once, left))


def describe(suite, mode, test, own, other):
    reason = suite.reasons.get((mode, test))
    return (f"{'/'.join(sorted(own))} in plain, {'/'.join(sorted(other))} in {mode}"
            f"{f' ({reason})' if reason else ''}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mam", default="mam", help="the installed command; default: that on the path")
    parser.add_argument("--modes", help=f"of {', '.join([*MODES, *ENABLED])}; default: all of the suite")
    parser.add_argument("--jobs", type=int, default=1, help="processes at the same time, in torch, cupy and numba")
    parser.add_argument("--leave-out", default="^$", metavar="REGEX", help="tests that do not run, with --jobs")
    parser.add_argument("--retries", type=int, default=2, help="of a test that differs; default: 2")
    parser.add_argument("--timeout", type=float, help="seconds per run of the suite, or of a sample")
    parser.add_argument("suite", choices=["samples", "cupy", "torch", "numba", "gtest"])
    parser.add_argument("path")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    all_modes = [*MODES, *(ENABLED if options.suite in ENABLE else [])]
    modes = options.modes.split(",") if options.modes else all_modes
    unknown = [mode for mode in modes if mode not in all_modes]
    if unknown:
        parser.error(f"unknown mode '{unknown[0]}'")
    if options.jobs < 1:
        parser.error("--jobs must be at least 1")
    try:
        re.compile(options.leave_out)
    except re.error as error:
        parser.error(f"--leave-out: {error}")
    suite, differ = Suite(options), {}
    signal.signal(signal.SIGTERM, suite.stop)
    plain = suite.run_all("plain")
    if not plain:
        print(f"foreign.py: error: {options.suite} ran no test in '{options.path}'", file=sys.stderr)
        return 2
    print(f"{'mode':14}{'tests':>7}{'passed':>8}{'failed':>8}{'skipped':>9}{'differ':>8}")
    try:
        for mode in dict.fromkeys(["plain", *modes]):
            found = plain if mode == "plain" else suite.run_all(mode)
            differ[mode] = {test: ({plain.get(test, "missing")}, {found.get(test, "missing")})
                            for test in sorted(set(plain) | set(found)) if plain.get(test) != found.get(test)}
            repeat(suite, mode, differ[mode], options.retries)
            differ[mode] = {test: both for test, both in differ[mode].items() if not both[0] & both[1]}
            results = list(found.values())
            print(f"{mode:14}{len(found):7}{results.count('passed'):8}{results.count('failed'):8}"
                  f"{results.count('skipped'):9}{len(differ[mode]):8}", flush=True)
    finally:  # also if the time is over
        for test in sorted({test for tests in differ.values() for test in tests}):
            why = [describe(suite, mode, test, *tests[test]) for mode, tests in differ.items()
                   if test in tests and not tests[test][0] & tests[test][1]]
            if why:
                print(f"{test}: {'; '.join(why)}")
    return 1 if any(differ.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
