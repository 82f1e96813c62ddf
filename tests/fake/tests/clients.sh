#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Every client works with the fakes alone, without mam: the same result through each interface.
. "${MAM_SRCDIR:-.}/tests/lib.sh"

clients=$MAM_BUILDDIR/tests/clients
LD_LIBRARY_PATH=$MAM_BUILDDIR/tests/fake/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
unset LD_PRELOAD

result='rounds 3 blocks 144 bytes 21922325 refused 0 errors 0 checksum dcec7bac'

prints() # NAME WANTED COMMAND... - its standard output, and status 0
{
	prints_name=$1
	prints_wanted=$2
	shift 2
	if "$@" > "$scratch/out" 2> "$scratch/err"; then
		same "$prints_name" "$prints_wanted" "$(cat "$scratch/out")"
	else
		not_ok "$prints_name" "status $?: $(lib_tail "$scratch/out") $(lib_tail "$scratch/err")"
	fi
}

for client in client_shared client_driver client_dlsym; do
	prints "$client" "$result" "$clients/$client" --rounds 3
done

if python3 -c 'import ctypes' 2> /dev/null; then
	prints client_python "$result" python3 "$MAM_SRCDIR/tests/clients/client_python.py" --rounds 3
else
	skip client_python 'there is no python3 with ctypes'
fi

# The program's own context, and work that lags, do not change the result.
prints 'client_driver, own context' "$result" "$clients/client_driver" --rounds 3 --own-context
prints 'client_dlsym, own context' "$result" "$clients/client_dlsym" --rounds 3 --own-context
prints 'client_dlsym, lagging work' "$result" \
	env FAKE_CUDA_LAG_US=20 "$clients/client_dlsym" --rounds 3
prints 'client_shared, second device' "$result" \
	env FAKE_CUDA_DEVICES=2 "$clients/client_shared" --rounds 3 --device 1

threads=$("$clients/client_shared" --rounds 3 --threads 4 2> /dev/null)
case $threads in
*' blocks 576 '*' refused 0 errors 0 '*) ok 'four threads' ;;
*) not_ok 'four threads' "got '$threads'" ;;
esac
prints 'four threads, driver API' "$threads" "$clients/client_driver" --rounds 3 --threads 4

runtime_answers="$result
allocate nothing: 0 last error 0 then 0
free the null address: 0 last error 0 then 0
free twice: 1 last error 1 then 0
free inside a block: 1 last error 1 then 0
free an address of the stack: 1 last error 1 then 0
allocate 64 TiB: 2 last error 2 then 0
the pointer is null
allocate nearly all addresses: 2 last error 2 then 0
allocate until full: 2 last error 2 then 0
and again after freeing: 0 last error 0 then 0"
driver_answers=$(printf '%s\n' "$runtime_answers" | sed 's/ last error.*//; s/^\(allocate nothing\): 0/\1: 1/
	s/pointer is null/pointer is unchanged/')
prints "invalid calls of the runtime return its errors" "$runtime_answers" "$clients/client_shared" --rounds 3 --check
prints "invalid calls of the driver return its errors" "$driver_answers" "$clients/client_driver" --rounds 3 --check
prints 'invalid calls found by dlsym return the same errors' "$driver_answers" "$clients/client_dlsym" --rounds 3 --check

prints 'blocks are allocated again after a reset' "$result
reset: 0
$result" "$clients/client_shared" --rounds 3 --reset

# Insufficient memory causes refused allocations, not errors.
small=$(FAKE_CUDA_MEMORY=4M "$clients/client_dlsym" --rounds 3 2> /dev/null)
case $small in
*' refused 0 '*) not_ok 'a small device refuses allocations' "got '$small'" ;;
*' refused '*' errors 0 '*) ok 'a small device refuses allocations' ;;
*) not_ok 'a small device refuses allocations' "got '$small'" ;;
esac

fails() # NAME STATUS WANTED COMMAND... - its standard output, and this status
{
	fails_name=$1
	fails_status=$2
	fails_wanted=$3
	shift 3
	"$@" > "$scratch/out" 2> "$scratch/err"
	same "$fails_name" "$fails_status $fails_wanted" "$? $(cat "$scratch/out")"
}

fails 'a client exits with the requested status' 7 "$result" "$clients/client_dlsym" --rounds 3 --exit 7
fails 'no device, runtime' 1 'no device: error 100' env FAKE_CUDA_DEVICES=0 "$clients/client_shared"
fails 'no device, driver' 1 'no device: error 100' env FAKE_CUDA_DEVICES=0 "$clients/client_dlsym"
fails 'an unknown option fails' 2 '' "$clients/client_dlsym" --no-such-option
"$clients/client_dlsym" --rounds 3 --bytes 99x > /dev/null 2> "$scratch/err"
same 'an invalid number fails' "2 client: '99x' is not a number from 1 to 17179869184" \
	"$? $(cat "$scratch/err")"

# A failed copy is counted, and changes the exit status.
FAKE_CUDA_FAIL_AT=cuMemcpyHtoD:5 "$clients/client_dlsym" --rounds 1 > "$scratch/out" 2> /dev/null
failed_status=$?
case "$failed_status $(tr '\n' ' ' < "$scratch/out")" in
'1 failed: error 999 '*' errors '[1-9]*) ok 'a failed copy is an error' ;;
*) not_ok 'a failed copy is an error' "status $failed_status: $(lib_tail "$scratch/out")" ;;
esac

# The client that mimics a static runtime looks up one name by dlsym, so its log begins with look-ups.
FAKE_CUDA_LOG=$scratch/log "$clients/client_dlsym" --rounds 1 > /dev/null 2>&1
same 'client_dlsym looks up its calls first' 'cuGetProcAddress symbol= version=0 flags=0 status=1 result=0' \
	"$(head -n 1 "$scratch/log")"
same 'each allocated block is freed' "$(grep -c '^cuMemAlloc ' "$scratch/log")" \
	"$(grep -c '^cuMemFree ' "$scratch/log")"

lines=$("$clients/alloc_loop" --pairs 20 --largest 65536 | grep -c '^[0-9]* [0-9.]*$')
same 'alloc_loop prints a line per size' 2 "$lines"

finish
