#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# port_cuda.sh - each of port.h's atomics becomes the one PTX instruction with its order and its
# scope, through the compiler's builtins and through port_ptx.h, on the oldest architecture that
# nvcc supports and on sm_90.
#
# A kernel for each order and scope makes every call that may have them, each after a line of PTX
# that names it. The instructions after such a line are compared with the table below.

. "${MAM_SRCDIR:-.}/tests/lib.sh"

if [ "$HAVE_CUDA" != yes ] || [ -z "$NVCC" ]; then
	skip_all "port_cuda" "mam was built without the CUDA toolkit"
fi

oldest=$("$NVCC" --list-gpu-arch | sed -n 's/^compute_\([0-9]*\)$/\1/p' | awk '$1 >= 70' |
	sort -n | head -n 1)

by_nvcc() # ARCHITECTURE FLAG... - without warnings
{
	by_nvcc_target=compute_$1
	shift
	"$NVCC" -arch="$by_nvcc_target" "$@" -ptx -I "$MAM_SRCDIR/src" -o "$scratch/ptx" \
		"$scratch/kernels.cu" > "$scratch/said" 2>&1 && [ ! -s "$scratch/said" ]
}

# Writes kernels.cu and wanted: lines "ORDER SCOPE CALL: INSTRUCTION...". Names that start with "g"
# are for words that are known to be in device memory (port_global.h).
awk -v source="$scratch/kernels.cu" -v wanted="$scratch/wanted" '
function call(name, text, instructions)
{
	printf "\tasm volatile(\"// @ %s %s %s\" ::: \"memory\");\n", order, scope, name > source
	printf "\t%s;\n", text > source
	printf "%s %s %s:%s\n", order, scope, name, instructions > wanted
}
# The call of that name and its operands; it returns a value.
function get(name, operands, instructions)
{
	function_name = name ~ /^g/ ? "mam_global_" substr(name, 2) : "mam_atomic_" name
	call(name, "out[at++] = " function_name "(p" bits operands ", " how ")",
		before " " instructions)
}
function change(name, op, type)
{
	get(name bits, ", v" bits, "atom." op "." access ptx "." type bits)
}
function calls()
{
	if (bits > 16) {
		change("or", "or", "b")
		change("and", "and", "b")
		change("add", "add", "u")
		change("xchg", "exch", "b")
	}
	get("cas" bits, ", 77, v" bits, "atom.cas." access ptx ".b" bits)
	if (order != "release" && order != "acq_rel")
		get("load" bits, "", "ld." access ptx ".b" bits)
	if (order != "acquire" && order != "acq_rel")
		call("store" bits, "mam_atomic_store" bits "(p" bits ", v" bits ", " how ")",
			before " st." (order == "seq_cst" ? "relaxed." : access) ptx ".b" bits)
}
function global_calls()
{
	if (order == "relaxed" || order == "acquire")
		get("gload64", "", "ld." access ptx ".global.b64")
	get("gor64", ", v64", "atom." access ptx ".global.or.b64")
	get("gand64", ", v64", "atom." access ptx ".global.and.b64")
	get("gcas64", ", 77, v64", "atom." access ptx ".global.cas.b64")
}
function kernel()
{
	how = "MAM_" toupper(order) ", MAM_AT_" toupper(scope)
	before = order == "seq_cst" ? " fence.sc." ptx : ""
	access = (order == "seq_cst" ? "acquire" : order) "."
	printf "extern \"C\" __global__ void %s_%s(", order, scope > source
	print "uint16_t *p16, uint32_t *p32, uint64_t *p64, uint16_t v16, uint32_t v32, uint64_t v64,\n" \
		"uint64_t *out)" > source
	print "{\n\tint at = 0;\n" > source
	for (bits = 16; bits <= 64; bits *= 2)
		calls()
	bits = 64
	if (order != "seq_cst")
		global_calls()
	call("fence", "mam_fence(" how ")", order == "relaxed" ? "" : \
		order == "seq_cst" ? " fence.sc." ptx : " fence.acq_rel." ptx)
	print "\tasm volatile(\"// @\" ::: \"memory\");\n}" > source
}
BEGIN {
	split("relaxed acquire release acq_rel seq_cst", orders, " ")
	split("block device system", scopes, " ")
	split("cta gpu sys", places, " ")
	print "#include \"device/port.h\"\n#include \"device/port_global.h\"" > source
	for (i = 1; i <= 5; i++)
		for (j = 1; j <= 3; j++) {
			order = orders[i]
			scope = scopes[j]
			ptx = places[j]
			kernel()
		}
}'

# Prints all PTX instructions that access memory, except parameters and the plain stores of results.
instructions() # PTX
{
	awk '
	/\/\/ @/ {
		if (name != "")
			print name ":" list
		name = $3 == "" ? "" : $3 " " $4 " " $5
		list = ""
		next
	}
	/^[ \t]*(@%[a-z0-9]+ +)?(atom|red|ld|st|fence|membar)[.]/ {
		sub(/;$/, "", $1)
		if ($1 !~ /^ld\.param/ && $1 !~ /^st\.(global\.)?[bu]64$/)
			list = list " " $1
	}' "$1"
}

same "calls in the table" 276 "$(wc -l < "$scratch/wanted")"
as_wanted() # NAME - the PTX matches the table
{
	instructions "$scratch/ptx" > "$scratch/got"
	if cmp -s "$scratch/wanted" "$scratch/got"; then
		ok "$1"
	else
		diff "$scratch/wanted" "$scratch/got" | grep '^[<>]' | head -n 2 > "$scratch/why"
		not_ok "$1" "$(tr '\n' ' ' < "$scratch/why")"
	fi
}

for architecture in "$oldest" 90; do
	for way in BUILTINS PTX; do
		name="calls have their order and scope: $way, sm_$architecture"
		if by_nvcc "$architecture" "-DMAM_PORT_$way=1"; then
			as_wanted "$name"
		else
			not_ok "$name" "$(lib_tail "$scratch/said")"
		fi
	done
done

# For heaps of several devices, the scope of the device is that of the system.
cp "$scratch/wanted" "$scratch/wanted.device"
sed '/^[a-z_]* device /s/\.gpu/.sys/g' "$scratch/wanted.device" > "$scratch/wanted"
for way in BUILTINS PTX; do
	name="with MAM_KPEERS, the scope is that of the system: $way"
	if by_nvcc 90 "-DMAM_PORT_$way=1" -DMAM_KPEERS=1; then
		as_wanted "$name"
	else
		not_ok "$name" "$(lib_tail "$scratch/said")"
	fi
done
mv "$scratch/wanted.device" "$scratch/wanted"

# clang as the CUDA compiler: it lacks these builtins, and needs help with headers of toolkits that
# are newer than itself.
cat > "$scratch/kernel.cu" << 'EOF'
#include <mam/heap.cuh>

__global__ void take(struct mam_kheap *heap, void **kept)
{
	struct mam_kwalk walk;

	mam_kpage_start(heap, &walk);
	kept[threadIdx.x] = mam_kpage_alloc(heap, &walk);
	(void)mam_kpage_free(heap, kept[threadIdx.x ^ 1]);
	kept[threadIdx.x] = mam_kmalloc(heap, threadIdx.x);
	(void)mam_kfree(heap, kept[threadIdx.x ^ 1]);
}
EOF
mkdir "$scratch/shim"
: > "$scratch/shim/texture_fetch_functions.h"
by_clang() # SOURCE
{
	clang -x cuda --cuda-device-only --cuda-gpu-arch=sm_80 --cuda-path="$(dirname "$NVCC")/.." \
		-Wno-unknown-cuda-version -I "$scratch/shim" -D__CLANG_CUDA_TEXTURE_INTRINSICS_H__ \
		-Wall -Wextra -Werror -O2 -I "$MAM_SRCDIR/include" -I "$MAM_SRCDIR/src" \
		-S -o "$scratch/ptx" "$1" > "$scratch/said" 2>&1
}
echo '__global__ void probe(int *at) { *at = threadIdx.x; }' > "$scratch/probe.cu"
if by_clang "$scratch/probe.cu"; then
	if by_clang "$scratch/kernels.cu"; then
		as_wanted "calls have their order and scope: clang"
	else
		not_ok "calls have their order and scope: clang" "$(lib_tail "$scratch/said")"
	fi
	if by_clang "$scratch/kernel.cu"; then
		ok "clang compiles a kernel that allocates"
	else
		not_ok "clang compiles a kernel that allocates" "$(lib_tail "$scratch/said")"
	fi
	# clang itself does not check the operands of instructions.
	try "ptxas assembles what clang generates" "$(dirname "$NVCC")/ptxas" -O0 -arch=sm_80 -o "$scratch/cubin" "$scratch/ptx"
else
	skip "clang compiles a kernel that allocates" "no clang that supports this toolkit"
fi

# HIP on CUDA devices is CUDA: HIP's headers define this macro when nvcc compiles them.
try "kernels of a program that includes HIP's headers compile" "$NVCC" -arch=compute_90 -ptx -D__HIPCC__ \
	-I "$MAM_SRCDIR/include" -I "$MAM_SRCDIR/src" -o "$scratch/ptx" "$scratch/kernel.cu"

# The error for an older architecture names it. -arch=sm_60 itself is unknown to new compilers.
"$NVCC" -arch="compute_$oldest" -ptx -U__CUDA_ARCH__ -D__CUDA_ARCH__=600 -I "$MAM_SRCDIR/src" \
	-o "$scratch/ptx" "$scratch/kernels.cu" > "$scratch/said" 2>&1
try "architectures below sm_70 are rejected" grep -q 'needs sm_70 or later' "$scratch/said"
finish
