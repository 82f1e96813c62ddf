#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# bench_python.sh - the peers of mam bench host that are called through Python, with stub modules
# for CuPy and PyTorch: the rows are printed, the requests are those that the bench itself makes,
# and failures are reported.
. "${MAM_SRCDIR:-.}/tests/lib.sh"

tools=$MAM_SRCDIR/tools/bench/host
fake=$MAM_BUILDDIR/tests/fake/lib
export PYTHONDONTWRITEBYTECODE=1
python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null || skip_all "peers in Python" "no Python 3.9 or later"

mkdir "$scratch/stub" "$scratch/stub/cupy" "$scratch/stub/torch" "$scratch/none"
cat >"$scratch/stub/cupy/__init__.py" <<'END'
"""Blocks are numbers: SPARE bytes can be had, and what each pool was asked for is written down."""
import os


class Block:
    def __init__(self, pool, size):
        self.pool, self.size = pool, size
        pool.live += size
        pool.most = max(pool.most, pool.live)

    def __del__(self):
        self.pool.live -= self.size


class Pool:
    def __init__(self):
        self.live = self.most = self.asked = self.asked_bytes = 0

    def malloc(self, size):
        self.asked += 1
        self.asked_bytes += size
        if self.live + size > int(os.environ.get("SPARE", 1 << 50)):
            raise cuda.memory.OutOfMemoryError("out of memory")
        return Block(self, size)

    def total_bytes(self):
        return 2 * self.most

    def free_all_blocks(self):
        with open(os.environ["ASKED"], "a") as file:
            print(self.asked, self.asked_bytes, file=file)


class cuda:
    MemoryPool = Pool

    class memory:
        class OutOfMemoryError(MemoryError):
            pass

    class Device:
        def synchronize(self):
            pass

    def set_allocator(allocator):
        cuda.allocator = allocator


uint8 = "uint8"


def empty(size, dtype):
    return cuda.allocator(size)
END
cat >"$scratch/stub/torch/__init__.py" <<'END'
uint8 = "uint8"


class cuda:
    def init():
        pass

    def caching_allocator_alloc(size):
        return size

    def caching_allocator_delete(block):
        pass


def empty(size, dtype, device):
    raise RuntimeError("no such device\nand more")
END

peer() # SCRIPT ARGUMENT...
{
	peer_script=$1
	shift
	PYTHONPATH=$scratch/stub ASKED=$scratch/asked python3 "$tools/$peer_script" "$@" >"$scratch/rows" 2>"$scratch/err"
}

each() # FILE - the requests to the first heap that was used, in bytes for 1,000,000 blocks
{
	awk '$1 >= 1000 { printf "%.0f\n", $2 / $1 * 1000000; exit }' "$1"
}

# ---- CuPy ----

"$MAM" bench trace >"$scratch/training"
printf 'a 1 1000 0\na 2 3000 0\nf 1\na 3 500 0\nf 9\n' | gzip >"$scratch/a program.trace.gz"
peer peer_cupy.py --only pair,size,threads,replay "$scratch/a program.trace.gz"
same "CuPy: exit status" 0 $?
try "CuPy: Python's own time is reported" grep -q '^note: cupy: .* own [1-9][0-9]* ns' "$scratch/err"
same "CuPy: no other note" 1 "$(wc -l <"$scratch/err")"
for row in pair,cupy,256B,pair_ns pair,cupy,1GiB,pair_ns size,cupy,64KiB,alloc_ns size,cupy,1GiB,free_ns \
	threads,cupy,1,mops threads,cupy,16,mops replay,cupy,a_program,event_ns; do
	same "CuPy: one row of $row, with a number" 1 "$(grep -cE "^$row,[0-9.e+-]+\$" "$scratch/rows")"
done
# 2 x 4,000 bytes of the stub's pool, over 4,000 bytes live
same "CuPy: reserved over live memory" 2 "$(sed -n 's/^replay,cupy,a_program,reserved_ratio,//p' "$scratch/rows")"
same "CuPy: all events are replayed" 1 "$(sed -n 's/^replay,cupy,a_program,done_ratio,//p' "$scratch/rows")"
same "CuPy: rows of five fields" "" "$(grep -vE '^[a-z]+,cupy,("[^"]*"|[^",]*),[a-z0-9_]+,[^,]+$' "$scratch/rows")"

peer peer_cupy.py --only random --seconds 0
same "without time: exit status" 0 $?
same "without time: no rows" "" "$(cat "$scratch/rows")"
try "without time: reported" grep -q 'cells left out, the time was up: random 1000,1MiB, ' "$scratch/err"

SPARE=2000 peer peer_cupy.py --only size,threads,replay "$scratch/a program.trace.gz"
same "without memory: exit status" 0 $?
try "without memory: the case is listed" grep -q '^note: size 64KiB: cupy left out: out of memory' "$scratch/err"
try "without memory: threads are reported" grep -q '^note: threads 4: cupy left out: out of memory' "$scratch/err"
try "without memory: requests that fit are replayed" grep -q '^replay,cupy,a_program,failures,[1-9]' "$scratch/rows"

PYTHONPATH=$scratch/none python3 "$tools/peer_cupy.py" >"$scratch/rows" 2>"$scratch/err"
same "without CuPy: exit status" 1 $?
try "without CuPy: reported" grep -q '^peer_cupy.py: no CuPy here: ' "$scratch/err"

# ---- Python's calls ----

peer peer_api.py
same "Python's calls: exit status" 0 $?
for way in torch-api cupy-api cupy-array; do
	same "Python's calls, $way: rows" 6 "$(grep -cE "^python,$way,(256B|1MiB),(alloc|free|call)_ns,[0-9.e+-]+\$" "$scratch/rows")"
done
try "Python's calls: the failed part is listed" \
	grep -qx 'note: python 256B: torch-tensor left out: no such device' "$scratch/err"
peer peer_api.py jax
same "Python's calls, unknown module: exit status" 2 $?

# ---- the same requests as in the bench ----

if [ ! -e "$fake/libcuda.so.1" ]; then
	skip "the same requests" "there is no fake driver in this build"
	finish
fi
$CC -shared -fPIC -I"$tools" "$MAM_SRCDIR/tests/tools/bench/peer_stub.c" -o "$scratch/peer.so"
for workload in random training; do
	rm -f "$scratch/asked" "$scratch/bench.asked"
	LD_LIBRARY_PATH=$fake FAKE_CUDA_MEMORY=80G BENCH_TORCH=$scratch/peer.so PEER_ASKED=$scratch/bench.asked \
		"$MAM" bench host --smoke --seconds 240 --only $workload --sources none --peers torch >"$scratch/out" 2>&1
	peer peer_cupy.py --limit 60 --only $workload --training "$scratch/training"
	same "$workload: the bench makes the same requests" "$(each "$scratch/bench.asked")" "$(each "$scratch/asked")"
done

finish
