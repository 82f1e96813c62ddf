#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# bench_foreign.sh - tools/bench/foreign/foreign.py with stand-ins for mam, for its Python package and for each kind of suite:
# one test differs in one mode, one passes when it is repeated, one is skipped, one mode ends early, and one test never ends.
. "${MAM_SRCDIR:-.}/tests/lib.sh"

command -v python3 > /dev/null 2>&1 || skip_all "foreign suites" "there is no python3"

# mam run OPTION... -- COMMAND
cat > "$scratch/mam" << 'END'
#!/bin/sh
mode=$2$3
while [ "$1" != -- ]; do shift; done
shift
MODE=$mode exec "$@"
END
chmod +x "$scratch/mam"

foreign()
{
	python3 "$MAM_SRCDIR/tools/bench/foreign/foreign.py" --mam "$scratch/mam" "$@" > "$scratch/out" 2> "$scratch/err"
}

check() # SUITE TEST MODE [REASON] - the table of the suite below, in which TEST differs in MODE-vmm, in $scratch/out
{
	same "$1: plain" "plain 4 2 1 1 0" "$(sed -n 2p "$scratch/out" | tr -s ' ')"
	same "$1: a test that passes when it is repeated does not differ" "$3 4 1 2 1 0" "$(sed -n 3p "$scratch/out" | tr -s ' ')"
	same "$1: a test that fails in one mode" "$3-vmm 4 1 2 1 1" "$(sed -n 4p "$scratch/out" | tr -s ' ')"
	same "$1: it is named" "$2: passed in plain, failed in $3-vmm${4:+ ($4)}" "$(sed -n 5p "$scratch/out")"
}

# The result of a test: exit status 0, 1, or 2 for skipped.
cat > "$scratch/result" << 'END'
#!/bin/sh
case $1-$MODE in
good-*vmm) exit 1 ;;
good-*) exit 0 ;;
skips-*) exit 2 ;;
flaky-?*) [ -e "$STATE" ]; status=$?; touch "$STATE"; exit $status ;;
flaky-) exit 0 ;;
*) exit 1 ;;
esac
END
chmod +x "$scratch/result"
STATE=$scratch/state
export STATE
modes=strict,strict-vmm

mkdir -p "$scratch/samples/a"
for test in bad flaky good skips; do
	printf '#!/bin/sh\n"%s/result" %s\n' "$scratch" $test > "$scratch/samples/a/$test"
	chmod +x "$scratch/samples/a/$test"
done
echo data > "$scratch/samples/a/data.txt"
# Neither is a sample: CMake's own programs, and shared libraries.
mkdir -p "$scratch/samples/CMakeFiles/4.0"
cp "$scratch/samples/a/good" "$scratch/samples/CMakeFiles/4.0/a.out"
cp "$scratch/samples/a/good" "$scratch/samples/a/libgood.so.1"
foreign --modes $modes samples "$scratch/samples"
same "samples: exit status" 1 $?
check samples a/good strict

# Python's unittest, as PyTorch's and Numba's tests use it, and pytest's lines.
mkdir -p "$scratch/python/numba"
cat > "$scratch/python/play.py" << 'END'
import os, subprocess, unittest


class TestAll(unittest.TestCase):
    def play(self, name):
        status = subprocess.run([os.environ["RESULT"], name]).returncode
        if status == 2:
            self.skipTest("it is. not there")
        self.assertEqual(status, 0)

    def test_bad(self):
        self.play("bad")

    def test_good(self):
        """With a description."""
        print("and output ... ")
        self.play("good")

    def test_flaky(self):
        self.play("flaky")

    def test_skips(self):
        self.play("skips")


if __name__ == "__main__":
    unittest.main()
END
cp "$scratch/python/play.py" "$scratch/python/test_cuda.py"
touch "$scratch/python/numba/__init__.py"
cat > "$scratch/python/numba/runtests.py" << 'END'
import os, sys, unittest
if os.environ.get("NUMBA_CUDA_MEMORY_MANAGER") == "mam.numba":
    os.environ["MODE"] = os.environ["MAM_SOURCE"]
if sys.argv[1] == "-l":
    print(*(f"play.TestAll.test_{name}" for name in ("bad", "flaky", "good", "skips")), "4 tests found", sep="\n")
    sys.exit()
unittest.main(module=None, argv=["x", "-v", *(["play"] if sys.argv[2] == "numba.cuda" else sys.argv[2:])])
END
cat > "$scratch/python/mam.py" << 'END'
import os


class torch:
    def enable(source, extension=False):
        os.environ["MODE"] = source


cupy = torch
END
cat > "$scratch/python/pytest.py" << 'END'
import os, subprocess, sys
names = [word.split("::")[1] for word in sys.argv if "::" in word] or ["bad", "flaky", "good", "skips"]
if "--collect-only" in sys.argv:
    print(*(f"t.py::{name}" for name in names), "4 tests", sep="\n")
    sys.exit()
for name in names:
    status = subprocess.run([os.environ["RESULT"], name]).returncode
    print(f"t.py::{name}", ["PASSED", "FAILED", "SKIPPED"][status], "[ 10%]")
END
cat > "$scratch/python/gtest" << 'END'
#!/bin/sh
tests='bad flaky good skips'
case $1 in --gtest_filter=*) tests=${1#*=A.} ;; esac
for test in $tests; do
	"$RESULT" $test
	case $? in
	0) echo "[       OK ] A.$test (1 ms)" ;;
	1) echo "[  FAILED  ] A.$test, where GetParam() = 1 (0 ms)" ;;
	2) echo "[  SKIPPED ] A.$test (0 ms)" ;;
	esac
done
END
chmod +x "$scratch/python/gtest"
RESULT=$scratch/result PYTHONPATH=$scratch/python
export RESULT PYTHONPATH
reason='AssertionError: 1 != 0'
for suite in torch:test_cuda.py:TestAll.test_good numba:.:play.TestAll.test_good cupy:.:t.py::good gtest:gtest:A.good; do
	rest=${suite#*:}
	name=${suite%%:*}
	path=$scratch/python/${rest%%:*}
	case $name in torch | numba) why=$reason ;; *) why= ;; esac
	rm -f "$STATE"
	foreign --modes $modes "$name" "$path"
	same "$name: exit status" 1 $?
	check "$name" "${rest#*:}" strict "$why"
	[ "$name" != gtest ] || continue
	rm -f "$STATE"
	foreign --modes enable,enable-vmm "$name" "$path"
	check "$name, by the package" "${rest#*:}" enable "$why"
	rm -f "$STATE"
	foreign --jobs 3 --modes $modes "$name" "$path"
	check "$name, in several processes" "${rest#*:}" strict "$why"
done
foreign --jobs 2 --modes strict --leave-out 'bad|flaky' torch "$scratch/python/test_cuda.py" TestAll
same "tests that are left out" "plain 2 1 0 1 0" "$(sed -n 2p "$scratch/out" | tr -s ' ')"
foreign --modes enable gtest "$scratch/python/gtest"
same "a mode of other suites" 2 $?

# Past the time, what was found is printed.
cat > "$scratch/python/endless.py" << 'END'
import os, time, unittest


class TestAll(unittest.TestCase):
    def test_good(self):
        self.assertNotIn("MODE", os.environ)

    def test_long(self):
        if os.environ.get("MODE") == "--free=strict--source=vmm":
            time.sleep(600)


if __name__ == "__main__":
    unittest.main()
END
python3 "$MAM_SRCDIR/tools/bench/foreign/foreign.py" --mam "$scratch/mam" --modes $modes --jobs 2 torch "$scratch/python/endless.py" \
	> "$scratch/out" 2>&1 &
process=$!
tries=0
until grep -q '^strict ' "$scratch/out" || [ $tries -eq 600 ]; do
	sleep 0.1
	tries=$((tries + 1))
done
kill -TERM $process
wait $process
same "stopped: exit status" 143 $?
same "stopped: what was found" "TestAll.test_good: passed in plain, failed in strict" "$(sed -n '4s/ (.*//p' "$scratch/out")"

# A suite that ends early in one mode.
cat > "$scratch/python/early" << 'END'
#!/bin/sh
echo '[       OK ] A.first (1 ms)'
case $MODE-$1 in
*vmm-) kill -SEGV $$ ;;
esac
echo '[       OK ] A.second (1 ms)'
END
chmod +x "$scratch/python/early"
foreign --modes $modes gtest "$scratch/python/early"
same "an early end: missing tests are repeated" "0 strict-vmm 1 1 0 0 0" "$? $(sed -n 4p "$scratch/out" | tr -s ' ')"

foreign --modes fast samples "$scratch/samples"
same "unknown mode: exit status" 2 $?
foreign --jobs 0 torch "$scratch/python/test_cuda.py"
same "no process" "2 foreign.py: error: --jobs must be at least 1" "$? $(tail -n 1 "$scratch/err")"
foreign --leave-out '(' torch "$scratch/python/test_cuda.py"
same "bad expression" "2 foreign.py: error: --leave-out: missing ), unterminated subpattern at position 0" "$? $(tail -n 1 "$scratch/err")"
foreign samples "$scratch/missing"
same "no such folder" "1 foreign.py: error: there is no '$scratch/missing'" "$? $(cat "$scratch/err")"
foreign gtest /bin/true
same "no test" "2 foreign.py: error: gtest ran no test in '/bin/true'" "$? $(cat "$scratch/err")"
finish
