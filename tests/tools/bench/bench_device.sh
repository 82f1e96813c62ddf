#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# bench_device.sh - the parts of `mam bench host` that need a driver, on the fake driver: every
# workload of device memory runs, and its results satisfy relations that hold on any machine. Times
# are not checked.
. "${MAM_SRCDIR:-.}/tests/lib.sh"

fake=$MAM_BUILDDIR/tests/fake/lib
[ -e "$fake/libcuda.so.1" ] || skip_all "device workloads" "there is no fake driver in this build"

bench() # ARGUMENT...
{
	LD_LIBRARY_PATH=$fake${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} FAKE_CUDA_MEMORY=64G FAKE_CUDA_LAG_US=20000 \
		"$MAM" bench host --smoke --seconds 300 "$@" >"$scratch/out" 2>"$scratch/err"
}

value() # WORKLOAD ALLOCATOR PARAMETER METRIC
{
	awk -F, -v row="$1,$2,$3,$4" '{ text = $0; gsub(/"/, "", text) }
	index(text, row ",") == 1 { print $NF }' "$scratch/all.csv"
}

positive() # WORKLOAD ALLOCATOR PARAMETER METRIC
{
	positive_got=$(value "$@")
	if awk -v value="$positive_got" 'BEGIN { exit !(value + 0 > 0) }'; then
		ok "$1 $2 $3: $4 is above zero"
	else
		not_ok "$1 $2 $3: $4 is above zero" "got '$positive_got'; $(grep -m 1 "$1.*$2" "$scratch/out")"
	fi
}

bench --sources cudamalloc,vmm,pinned,managed --peers cudaMalloc,cudaHostAlloc,cudaMallocManaged,cuMemMap \
	--only pair,training,footprint,stream,vmm,foreign,ownstream,handover,multistream,bigchunk,latency,policy --csv "$scratch/all.csv"
same "exit status" 0 $?
same "no message" "" "$(cat "$scratch/err")"

for pool in mam-cudamalloc mam-cudamalloc-cache mam-vmm mam-vmm-cache; do
	positive pair $pool 256B pair_ns
	positive foreign $pool 2 mops
	positive ownstream $pool 16 mops
	positive handover $pool 16 mops
	positive handover $pool 16 p999_ns
	positive multistream $pool 4 total_us
	positive multistream $pool 4,warm total_us
	positive latency $pool mixed growths
	positive training $pool growing event_ns
	positive training $pool growing done_ratio
	positive footprint $pool trimmed peak_bytes
	positive stream $pool same,4KiB free_ns
	positive stream $pool other,4KiB free_ns
	same "stream $pool: calls do not wait for the kernel" yes \
		"$(value stream $pool same,4KiB waited_ratio | awk '{ print ($1 < 0.7) ? "yes" : "no: " $1 }')"
	same "footprint $pool: at most 4 MiB remain" yes \
		"$(value footprint $pool trimmed kept_bytes | awk '{ print ($1 <= 4194304) ? "yes" : "no: " $1 }')"
done
for pool in mam-cudamalloc mam-cudamalloc-cache mam-vmm mam-vmm-cache; do
	same "training $pool: runs to its end" 1 "$(value training $pool growing done_ratio)"
	for ratio in reserved_ratio physical_ratio; do
		same "training $pool: $ratio is at least 1" yes \
			"$(value training $pool growing $ratio | awk '{ print ($1 >= 0.999) ? "yes" : "no: " $1 }')"
	done
done
for pool in mam-pinned mam-managed cudaHostAlloc cudaMallocManaged cudaMalloc; do
	positive pair $pool 1MiB pair_ns
done
same "pools of host memory get no requests of 1 GiB" "" "$(value pair mam-pinned 1GiB pair_ns)"
for pool in mam-cudamalloc mam-vmm mam-pinned mam-managed; do
	for policy in strict deferred stream strict,cache deferred,cache stream,cache; do
		positive policy $pool $policy pair_ns
	done
done
positive bigchunk cudaMalloc 16GiB alloc_us
positive bigchunk cudaMalloc 16GiB free_us
for metric in reserve_us create_us map_us access_us unmap_us release_us unreserve_us remap_us; do
	positive vmm cuMemMap 2MiB $metric
done

# Libraries that are missing.
BENCH_RMM=$scratch/none.so BENCH_TORCH='' bench --only pair --peers rmm-pool,torch --sources cudamalloc
try "a missing library is listed" grep -q 'skipped rmm-pool.*: .*none\.so' "$scratch/out"
try "a library without a path is reported" grep -q 'skipped torch.*: BENCH_TORCH' "$scratch/out"

# ---- libraries that are peers ----

peer_opens() # KIND - the distinct arguments it was opened with, on one line
{
	grep "^$1 " "$scratch/opens" | sort -u | tr '\n' ';'
}

if ! $CC -shared -fPIC -I"$MAM_SRCDIR/tools/bench/host" "$MAM_SRCDIR/tests/tools/bench/peer_stub.c" -o "$scratch/peer.so" \
	>"$scratch/cc" 2>&1; then
	not_ok "the stub peer builds" "$(lib_tail "$scratch/cc")"
	finish
fi
export BENCH_RMM="$scratch/peer.so" BENCH_TORCH="$scratch/peer.so" PEER_LOG="$scratch/opens"
initial=$((24 << 30))
bench --only pair,training --sources none --csv "$scratch/all.csv" --peers rmm-pool,rmm-arena,rmm-binning
same "RMM's kinds: exit status" 0 $?
for peer in rmm-pool rmm-arena rmm-binning; do
	positive pair $peer 256B pair_ns
	same "training $peer: reserved equals peak live" 1 "$(value training $peer growing reserved_ratio)"
done
positive training rmm-pool-grow growing event_ns
same "a pool that only grows runs no pairs" "" "$(value pair rmm-pool-grow 256B pair_ns)"
same "a pool that only grows gets no initial size" "1 0 0;" "$(peer_opens 1)"
same "other pools get an initial size, or choose it" "0 0 0;0 $initial 0;" "$(peer_opens 0)"

: >"$scratch/opens"
PEER_REFUSE=1 bench --only pair --sources none --peers torch --csv "$scratch/all.csv"
same "PyTorch's kinds: exit status" 0 $?
same "each kind is opened" "0 1 2" "$(cut -d' ' -f1 "$scratch/opens" | sort -u | tr '\n' ' ' | sed 's/ $//')"
try "a kind without a heap is listed, with its reason" \
	grep -q 'skipped torch-expandable: this kind is refused' "$scratch/out"
for peer in torch torch-async; do
	positive pair $peer 256B pair_ns
done

# An allocator that hangs loses only its own results.
rm -f "$scratch/all.csv"
PEER_HANG=1000 BENCH_GRACE=5 LD_LIBRARY_PATH=$fake${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} timeout 100 "$MAM" bench host --smoke \
	--seconds 1 --verbose --only pair --sources host --peers rmm-pool --csv "$scratch/all.csv" \
	>"$scratch/out" 2>"$scratch/err"
same "an allocator that hangs: exit status" 1 $?
positive pair mam-host 256B pair_ns
try "an allocator that hangs: it is listed" grep -q '^note: pair 256B: rmm-pool did not come back' "$scratch/out"
same "an allocator that hangs: one message" 1 "$(grep -c 'did not return' "$scratch/err")"
try "--verbose prints each start, with its time" grep -q '^[0-9.]* s: pair 256B rmm-pool$' "$scratch/err"

# The C++ library allocates a text that the peer's library frees. jemalloc must not interpose even
# if it is loaded first.
cat >"$scratch/text.cc" <<'END'
#include <sstream>
#include "peer_library.h"
static std::string text;
static const char *open_text(int kind, size_t, size_t)
{
	std::ostringstream made;
	made << "kind " << kind << " of this library gives no heap, and says so in a text of its own";
	text = made.str();
	return text.c_str();
}
extern "C" const bench_library bench_library_2 = { open_text, nullptr, nullptr, nullptr, nullptr, nullptr };
END
if ! ${CXX:-c++} -shared -fPIC -I"$MAM_SRCDIR/tools/bench/host" "$scratch/text.cc" -o "$scratch/text.so" >"$scratch/cc" 2>&1; then
	skip "a C++ library next to jemalloc" "no C++ compiler"
	finish
fi
BENCH_RMM=$scratch/text.so GLIBC_TUNABLES=glibc.rtld.optional_static_tls=16384 bench --only pair --sources none \
	--peers jemalloc,rmm-arena
same "a C++ library next to jemalloc: exit status" 0 $?
try "a C++ library next to jemalloc: its text" \
	grep -q 'skipped rmm-arena: kind 2 of this library gives no heap, .* of its own' "$scratch/out"

# A free or allocation on a stream asks the driver about it.
(
	FAKE_CUDA_LOG=$scratch/calls
	export FAKE_CUDA_LOG
	bench --sources cudamalloc --peers none --only handover
)
try "handover uses streams" [ "$(grep -c cuStreamIsCapturing "$scratch/calls")" -gt 1000 ]
finish
