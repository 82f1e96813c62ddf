#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# clients.sh - programs that reach CUDA through any interface give the same results with mam and
# without it, and mam intercepts their calls at that interface.
. "${MAM_SRCDIR:-.}/tests/lib.sh"
. "$MAM_SRCDIR/tests/interpose/interpose.sh"
on_both_sources

python=$(command -v python3)

through() # NAME KEY - all intercepted calls of the last run came through one interface
{
	same "$1" "$(stat_of calls_caught)" "$(stat_of "$2")"
}

same_run "shared runtime" "$clients/client_shared" --rounds 5
through "shared runtime: calls come through runtime symbols" calls_runtime
same "shared runtime: every call was served" "$(stat_of calls_caught)" "$(stat_of served)"
same "shared runtime: the pool counts an allocation per block" 240 "$(stat_of allocs)"
same "shared runtime: the pool counts a free per block" 240 "$(stat_of frees)"
same_run "static-like runtime" "$clients/client_dlsym" --rounds 5
through "static-like runtime: calls come through cuGetProcAddress" calls_lookup
same_run "driver API" "$clients/client_driver" --rounds 5
through "driver API: calls come through driver symbols" calls_driver
if [ -n "$python" ]; then
	same_run "python through ctypes" "$python" "$MAM_SRCDIR/tests/clients/client_python.py" --rounds 1
	through "python through ctypes: calls come through driver symbols" calls_driver
	caught=none same_run "python without CUDA" "$python" -c 'import sys; print(sys.version)'
else
	skip "python" "there is no python3"
fi
for client in client_shared client_dlsym client_driver; do
	same_run "$client: invalid calls" "$clients/$client" --rounds 2 --check
	same_run "$client: 8 threads" "$clients/$client" --rounds 3 --threads 8
	same_run "$client: a block that is never freed" "$clients/$client" --rounds 1 --leak
	same "$client: the leaked block is counted" 1 "$(stat_of live_blocks)"
	run='--free stream' same_run "$client: --free stream" "$clients/$client" --rounds 2
	run="--profile=$scratch/profile" same_run "$client: --profile, 8 threads" "$clients/$client" --rounds 3 --threads 8
	run="--profile=$scratch/profile --profile-rate=64K" same_run "$client: a sampled profile, invalid calls" \
		"$clients/$client" --rounds 2 --check
	run='--chunk 1M --growth 1M' same_run "$client: chunks of the minimum size" "$clients/$client" --rounds 2
	run='--chunk 100G' same_run "$client: a first chunk larger than any device" "$clients/$client" \
		--rounds 2
	same "$client: the pool serves every call without that chunk" "$(stat_of calls_caught)" "$(stat_of served)"
	run='--chunk largest --growth none' same_run "$client: all memory in the first chunk" "$clients/$client" --rounds 2
done
for client in client_dlsym client_driver; do
	same_run "$client: a context of the client's own" "$clients/$client" --rounds 2 --own-context
done
for client in client_shared client_dlsym; do
	same_run "$client: a reset" "$clients/$client" --rounds 2 --reset
	same "$client: a pool before the reset and a pool after it" 2 "$(stat_of pools)"
done

# Two runtimes in one process: the calls of the first are intercepted at its own symbols, those of
# the second at the driver, and each runtime keeps its own errors.
cp "$fakes/libcudart.so.13" "$scratch/libcudart-other.so"
same_run "two runtimes found by dlsym" "$probes/two_runtimes" "$fakes/libcudart.so.13" "$scratch/libcudart-other.so"
same "two runtimes: each is intercepted through its own interface" "3 3" "$(stat_of calls_runtime) $(stat_of calls_lookup)"

# A wrapper that is preloaded after mam still sees the calls that mam forwards.
$CC -O1 -shared -fPIC -o "$scratch/libcounter.so" "$MAM_SRCDIR/tests/interpose/programs/counter.c" -ldl
set="LD_PRELOAD=$scratch/libcounter.so" same_run "a preloaded wrapper of cudaMalloc" "$clients/client_shared" --rounds 2
LD_PRELOAD=$scratch/libcounter.so "$MAM" run --disable "$clients/client_shared" --rounds 2 > /dev/null 2> "$scratch/err"
same "a wrapper preloaded after mam works when mam is disabled" \
	"$(LD_PRELOAD=$scratch/libcounter.so "$clients/client_shared" --rounds 2 2>&1 | grep counter)" \
	"$(grep counter "$scratch/err")"
same "the wrapper sees each allocation" 1 "$(grep -c 'counter: 96 allocs' "$scratch/err")"

# mam warns in one line that the wrapper is bypassed. In the order that the manual shows there is no
# warning, and both see every call.
LD_PRELOAD=$scratch/libcounter.so "$MAM" run "$clients/client_shared" --rounds 2 > /dev/null 2> "$scratch/err"
same "wrapper preloaded after mam: one warning, no allocation seen" "1 1" \
	"$(grep -c '^mam: warning: .*/libcounter\.so defines cuda[MF][a-z]* and is preloaded after mam' "$scratch/err") \
$(grep -c 'counter: 0 allocs' "$scratch/err")"
rm -f "$scratch/stats"
# shellcheck disable=SC2016 # the program's shell expands it
"$MAM" run --stats="$scratch/stats" sh -c 'LD_PRELOAD=$1:$LD_PRELOAD exec "$2" --rounds 2' - "$scratch/libcounter.so" \
	"$clients/client_shared" > /dev/null 2> "$scratch/err"
same "wrapper preloaded before mam: no warning, every call seen" "0 1 96 96" \
	"$(grep -c '^mam:' "$scratch/err") $(grep -c 'counter: 96 allocs ' "$scratch/err") $(stat_of \
		call.cudaMalloc.runtime.served) $(stat_of call.cudaFree.runtime.served)"
# cuGetProcAddress bypasses a wrapper of driver functions, also under mam.
echo 'int cuMemAlloc_v2(void) { return 999; } int cuMemFree_v2(void) { return 999; }' > "$scratch/refuser.c"
$CC -shared -fPIC -o "$scratch/librefuser.so" "$scratch/refuser.c"
rm -f "$scratch/stats"
# shellcheck disable=SC2016 # the program's shell expands it
"$MAM" run --stats="$scratch/stats" sh -c 'LD_PRELOAD=$1:$LD_PRELOAD exec "$2" --rounds 2' - "$scratch/librefuser.so" \
	"$clients/client_dlsym" > /dev/null 2> "$scratch/err"
same "driver wrapper preloaded before mam: looked-up calls bypass it" "0 96 96" "$? $(stat_of \
	call.cuMemAlloc_v2.lookup) $(stat_of call.cuMemFree_v2.lookup)"
# There is no warning for objects that do not define CUDA functions, for CUDA itself, and with --log
# error.
echo 'int mam_test_other;' > "$scratch/other.c"
$CC -shared -fPIC -o "$scratch/other.so" "$scratch/other.c"
for preloaded in "$scratch/other.so" "$fakes/libcudart.so.13" "$fakes/libcuda.so.1 $scratch/none.so"; do
	LD_PRELOAD=$preloaded "$MAM" run "$clients/client_shared" --rounds 1 2>&1 > /dev/null | grep '^mam:' > "$scratch/err"
	same "no warning for ${preloaded##*/}" "" "$(cat "$scratch/err")"
done
LD_PRELOAD=$scratch/libcounter.so "$MAM" run --log error "$clients/client_shared" --rounds 2 2>&1 > /dev/null |
	grep '^mam:' > "$scratch/err"
same "no warning with --log error" "" "$(cat "$scratch/err")"

# The pool makes the difference: it allocates from the driver only a few times.
log=$scratch/log
FAKE_CUDA_LOG=$log "$MAM" run -- "$clients/client_dlsym" --rounds 5 > /dev/null 2>&1
calls=$(grep -c '^cuMemAlloc ' "$log")
if [ "$(grep -c "^$pool_call " "$log")" -ge 1 ] && [ "$calls" -le 3 ]; then
	ok "240 blocks: driver allocations: $calls"
else
	not_ok "few driver allocations" "$calls"
fi
rm -f "$log"
FAKE_CUDA_LOG=$log "$MAM" run --disable -- "$clients/client_dlsym" --rounds 5 > /dev/null 2>&1
same "--disable leaves every allocation to the driver" 240 "$(grep -c '^cuMemAlloc ' "$log")"
rm -f "$log"
FAKE_CUDA_LOG=$log MAM_DISABLE=1 "$MAM" run -- "$clients/client_shared" --rounds 5 > /dev/null 2>&1
same "MAM_DISABLE=1 leaves every allocation to the driver" 240 "$(grep -c '^cuMemAlloc ' "$log")"
rm -f "$log"
finish
