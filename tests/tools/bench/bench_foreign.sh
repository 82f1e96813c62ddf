#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# bench_foreign.sh - tools/bench/foreign/foreign.py with stand-ins for mam and for each kind of suite: one test differs in one
# mode, one passes when it is repeated, one is skipped, and one mode ends early.
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

check() # SUITE TEST - the table of the suite below, in which TEST differs, in $scratch/out
{
	same "$1: plain" "plain 4 2 1 1 0" "$(sed -n 2p "$scratch/out" | tr -s ' ')"
	same "$1: a test that passes when it is repeated does not differ" "strict 4 1 2 1 0" "$(sed -n 3p "$scratch/out" | tr -s ' ')"
	same "$1: a test that fails in one mode" "strict-vmm 4 1 2 1 1" "$(sed -n 4p "$scratch/out" | tr -s ' ')"
	same "$1: it is named" "$2: passed in plain, failed in strict-vmm" "$(sed -n 5p "$scratch/out")"
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
check samples a/good

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
import sys, unittest
unittest.main(module=None, argv=["x", "-v", *(["play"] if sys.argv[2] == "numba.cuda" else sys.argv[2:])])
END
cat > "$scratch/python/pytest.py" << 'END'
import os, subprocess, sys
names = [word.split("::")[1] for word in sys.argv if "::" in word] or ["bad", "flaky", "good", "skips"]
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
for suite in torch:test_cuda.py:TestAll.test_good numba:.:play.TestAll.test_good cupy:.:t.py::good gtest:gtest:A.good; do
	rest=${suite#*:}
	rm -f "$STATE"
	foreign --modes $modes "${suite%%:*}" "$scratch/python/${rest%%:*}"
	same "${suite%%:*}: exit status" 1 $?
	check "${suite%%:*}" "${rest#*:}"
done

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
foreign samples "$scratch/missing"
same "no such folder" "1 foreign.py: error: there is no '$scratch/missing'" "$? $(cat "$scratch/err")"
foreign gtest /bin/true
same "no test" "2 foreign.py: error: gtest ran no test in '/bin/true'" "$? $(cat "$scratch/err")"
finish
