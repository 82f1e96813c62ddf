#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# registers.sh - kernels that call the device headers compile to machine code for each architecture
# in the table of docs/kernels.md, and need as many registers as the table states. The figures are
# those of nvcc 13.0. With other releases, two blocks of 256 threads must still run on an SM.

. "${MAM_SRCDIR:-.}/tests/lib.sh"

if [ "$HAVE_CUDA" != yes ] || [ -z "$NVCC" ]; then
	skip_all "registers" "mam was built without the CUDA toolkit"
fi

cat > "$scratch/sites.cu" << 'EOF_CU'
#include <mam/heap.cuh>

extern "C" __global__ void mallocs(struct mam_kheap *heap, void **out)
{
	out[threadIdx.x] = mam_kmalloc(heap, threadIdx.x);
}

extern "C" __global__ void frees(struct mam_kheap *heap, void **out)
{
	(void)mam_kfree(heap, out[threadIdx.x]);
}

extern "C" __global__ void page_allocs(struct mam_kheap *heap, void **out)
{
	struct mam_kwalk walk;

	mam_kpage_start(heap, &walk);
	out[threadIdx.x] = mam_kpage_alloc(heap, &walk);
}

extern "C" __global__ void page_frees(struct mam_kheap *heap, void **out)
{
	(void)mam_kpage_free(heap, out[threadIdx.x]);
}
EOF_CU

# Reads ptxas' report: the registers of each kernel, and the local memory of mallocs.
measured() # REPORT
{
	awk '
	/Compiling entry function/ { split($0, part, "\047"); kernel = part[2] }
	/Function properties for/ { own = $NF == kernel; next }
	own && /bytes stack frame/ { stack[kernel] = $1; own = 0 }
	/Used [0-9]+ registers/ { sub(/.*Used /, ""); used[kernel] = $1 + 0 }
	END { print used["mallocs"], stack["mallocs"], used["frees"], used["page_allocs"], used["page_frees"] }' "$1"
}

exact=no
"$NVCC" --version | grep -q 'release 13\.0,' && exact=yes
supported=" $("$NVCC" --list-gpu-code | tr '\n' ' ') "
sed -n 's/^| \(sm_[0-9]*\) | \(.*\) |$/\1 \2/p' "$MAM_SRCDIR/docs/kernels.md" | tr -d '|' > "$scratch/table"
same "architectures in the table" "sm_75 sm_80 sm_86 sm_89 sm_90 sm_100 sm_120" \
	"$(cut -d ' ' -f 1 "$scratch/table" | paste -s -d ' ')"
while read -r architecture malloc local_bytes free page page_free; do
	name="registers on $architecture"
	case ${TEST_SHARE:-1},$architecture in
	1,* | *,sm_75 | *,sm_90) ;;
	*) continue ;;
	esac
	case $supported in
	*" $architecture "*) ;;
	*)
		skip "$name" "this nvcc does not support it"
		continue
		;;
	esac
	if ! "$NVCC" -arch="$architecture" -I "$MAM_SRCDIR/include" -I "$MAM_SRCDIR/src" -Xptxas -v -cubin \
		-o "$scratch/cubin" "$scratch/sites.cu" > "$scratch/said" 2>&1; then
		not_ok "$name" "$(lib_tail "$scratch/said")"
	elif [ $exact = yes ]; then
		same "$name" "$malloc $local_bytes $free $page $page_free" "$(measured "$scratch/said")"
	else
		same "$name" "at most 128" "$(measured "$scratch/said" |
			awk '{ print NF == 5 && $1 <= 128 && $3 <= 128 && $4 <= 128 && $5 <= 128 ? "at most 128" : $0 }')"
	fi
done < "$scratch/table"
finish
