#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# gpu-objects.sh [MAM [FOLDER]] - heaps of objects under load on a real GPU, and kernels that call malloc and new.
#
#   MAM     the installed command, whose library and headers are tested; default: $MAM, or the one on the path
#   FOLDER  for objects-<gpu>.log; default: $OUT, or results/<gpu> of this folder
#
# tests/clients/kernels/objects.cu with a million lanes and SECONDS_EACH seconds of random work; a small case of it under
# compute-sanitizer's memcheck, racecheck and synccheck; tests/clients/kernels/override.cu of two files, with -rdc=true and
# without.
#
# Environment: SECONDS_EACH (60), NVCC, MAM_PREFIX (with include/mam and lib/libmam.so; default: the folder above that
#     of MAM), BENCH_COMMIT (if the tree has no .git).
# Exit status: 0, 1 if a program failed, 2 for invalid usage, 77 without GPU or nvcc.

here=$(cd "$(dirname "$0")" && pwd)
script='gpu-objects' # for the messages of gpu-lib.sh
seconds=${SECONDS_EACH:-60}
clients=$here/../../tests/clients

# shellcheck source=tools/bench/gpu-lib.sh
. "$here/gpu-lib.sh"
gpu_start "$@"
case $seconds in
'' | *[!0-9]* | 0) stop 2 "SECONDS_EACH is a whole number, not '$seconds'" ;;
esac
gpu_install

gpu_work
log=$folder/objects-$gpu_name.log
printf '# SPDX-License-Identifier: Apache-2.0\n# gpu: %s\n# commit: %s\n' "$gpu" "$commit" > "$log"
failed=0

build() # OUTPUT OPTION...
{
	output=$1
	shift
	"$nvcc" -O2 -lineinfo -arch="sm_$arch" -I "$prefix/include" -o "$work/$output" "$@" > "$work/said" 2>&1 && return
	cat "$work/said" >&2
	stop 2 "$output could not be built"
}

part() # NAME COMMAND... - prints its output and its result
{
	name=$1
	shift
	echo "== $name" | tee -a "$log"
	if timeout -k 5 $((seconds + 300)) "$@" > "$work/out" 2>&1 && grep -q '^all is well' "$work/out" &&
		! grep -q 'SUMMARY: [1-9]' "$work/out"; then
		echo "ok - $name" >> "$work/out"
	else
		echo "not ok - $name" >> "$work/out"
		failed=1
	fi
	tee -a "$log" < "$work/out"
}

set -- -L "$library" -lmam -Xlinker -rpath="$library"
build objects "$clients/kernels/objects.cu" "$@"
for rdc in true false; do
	build one.o -rdc=$rdc -DFILES=2 -c "$clients/kernels/override.cu"
	build two.o -rdc=$rdc -DPART=2 -c "$clients/kernels/override.cu"
	build override-$rdc -rdc=$rdc "$work/one.o" "$work/two.o" "$@"
	part "malloc in kernels, -rdc=$rdc" "$work/override-$rdc"
done
part 'few lanes' "$work/objects" --lanes 4096
part "a million lanes, and $seconds s" "$work/objects" --seconds "$seconds"
if command -v compute-sanitizer > /dev/null; then
	for tool in memcheck racecheck synccheck; do
		part "$tool" compute-sanitizer --tool $tool "$work/objects" --lanes 1024
	done
else
	echo 'skip - compute-sanitizer was not found' | tee -a "$log"
fi
echo "written to $log"
exit $failed
