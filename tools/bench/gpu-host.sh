#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# gpu-host.sh - mam's host pools beside CUDA's own allocators, on a machine with a GPU.
#
#	usage: gpu-host.sh MAM FOLDER
#
# MAM is an installed or built `mam` command. Runs all of `mam bench host` with both sources, and
# writes FOLDER/host-<gpu>.csv, <gpu> being short: h100, a100, rtx4090. Takes about 4 minutes; it is
# stopped after MAM_BENCH_LIMIT seconds (300). The short table is printed last.
set -u

die()
{
	echo "gpu-host.sh: $1" >&2
	exit 2
}

[ $# -eq 2 ] || die "usage: gpu-host.sh MAM FOLDER"
mam=$1
folder=$2
[ -x "$mam" ] || die "$mam is not a program; give the path of the mam command"
mkdir -p "$folder" || die "$folder cannot be made; choose another folder"

name=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -n 1)
[ -n "$name" ] || die "nvidia-smi finds no GPU; run this on a machine that has one"

# "NVIDIA H100 80GB HBM3" -> h100; "NVIDIA GeForce RTX 4090" -> rtx4090
gpu=$(printf '%s\n' "$name" | tr '[:upper:]' '[:lower:]' |
	sed -e 's/nvidia//g; s/geforce//; s/tesla//; s/quadro//; s/\(rtx\|gtx\) */\1/' -e 's/^ *//' \
	    -e 's/[ -].*//' -e 's/[^a-z0-9]//g')
[ -n "$gpu" ] || gpu=gpu

# The runtime library, for cudaMalloc as programs call it; without it the driver's functions are timed.
find_cudart()
{
	for place in "${CUDA_HOME:-/usr/local/cuda}/lib64" /usr/local/cuda*/lib64 \
		/usr/local/cuda*/targets/*/lib \
		"$(python3 -c 'import nvidia, os; print(os.path.join(list(nvidia.__path__)[0], "cu13", "lib"))' \
			2>/dev/null)"; do
		ls "$place"/libcudart.so.1[23] >/dev/null 2>&1 && echo "$place" && return
	done
}
cudart=$(find_cudart)
[ -n "$cudart" ] && export LD_LIBRARY_PATH="$cudart${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
echo "GPU $name; libcudart in ${cudart:-no known place}"

log=$folder/host-$gpu.log
start=$(date +%s)
timeout "${MAM_BENCH_LIMIT:-300}" "$mam" bench host --sources host,cudamalloc \
	--peers glibc,cudaMalloc,cudaMallocAsync --csv "$folder/host-$gpu.csv" >"$log" 2>&1
status=$?
cat "$log"
echo
echo "status $status after $(($(date +%s) - start)) s; numbers in $folder/host-$gpu.csv"
exit $status
