#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# demo.cu builds with the static and with the shared runtime. Where there is a GPU it also runs, and
# its result is compared with one that was computed on a CPU.
. "${MAM_SRCDIR:-.}/tests/lib.sh"

if [ "$HAVE_CUDA" != yes ] || [ -z "$NVCC" ]; then
	skip_all demo 'mam was built without the CUDA toolkit'
fi

result='rounds 20 checksum d9c152bfbaefdbd5'

for runtime in static shared; do
	demo=$scratch/demo-$runtime
	if ! "$NVCC" -O2 -cudart "$runtime" -o "$demo" "$MAM_SRCDIR/tests/clients/kernels/demo.cu" \
		> "$scratch/build" 2>&1; then
		not_ok "demo, $runtime runtime, builds" "$(lib_tail "$scratch/build")"
		continue
	fi
	linked=$(ldd "$demo" | grep -c libcudart)
	case $runtime in
	static) same 'demo, static runtime, needs no libcudart' 0 "$linked" ;;
	shared) same 'demo, shared runtime, needs libcudart' 1 "$linked" ;;
	esac
	if nvidia-smi > /dev/null 2>&1; then
		same "demo, $runtime runtime, prints the right result" "$result" \
			"$(LD_LIBRARY_PATH=$(dirname "$NVCC")/../lib64 "$demo" 20 2> "$scratch/err")"
	else
		skip "demo, $runtime runtime, prints the right result" 'there is no GPU'
	fi
done

finish
