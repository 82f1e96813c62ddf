#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# port_cuda.sh - each of port.h's atomics becomes the one PTX instruction that its order and its scope name, by
# the compiler's builtins and by port_ptx.h, on the oldest architecture that nvcc has and on sm_90.
#
# A kernel for each order and scope makes every call that may have them, each behind a line of PTX that names
# it. What follows such a line is compared with the table below.

. "${MAM_SRCDIR:-.}/tests/lib.sh"

[ "$HAVE_CUDA" = yes ] && [ -n "$NVCC" ] || skip_all "port_cuda" "mam was built without the CUDA toolkit"

oldest=$("$NVCC" --list-gpu-arch | sed -n 's/^compute_\([0-9]*\)$/\1/p' | awk '$1 >= 70' | sort -n | head -n 1)

# Writes kernels.cu and wanted: "ORDER SCOPE CALL: INSTRUCTION..." a line.
awk -v source="$scratch/kernels.cu" -v wanted="$scratch/wanted" '
function call(name, text, instructions)
{
	printf "\tasm volatile(\"// @ %s %s %s\" ::: \"memory\");\n\t%s;\n", order, scope, name, text > source
	printf "%s %s %s:%s\n", order, scope, name, instructions > wanted
}
function change(name, op, type, bits)
{
	call(name bits, "out[at++] = mam_atomic_" name bits "(p" bits ", v" bits ", " how ")",
		before " atom." op "." access ptx "." type bits)
}
BEGIN {
	split("relaxed acquire release acq_rel seq_cst", orders, " ")
	split("block device system", scopes, " ")
	split("cta gpu sys", places, " ")
	print "#include \"heap/port.h\"" > source
	for (i = 1; i <= 5; i++)
		for (j = 1; j <= 3; j++) {
			order = orders[i]
			scope = scopes[j]
			how = "MAM_" toupper(order) ", MAM_AT_" toupper(scope)
			ptx = places[j]
			before = order == "seq_cst" ? " fence.sc." ptx : ""
			access = (order == "seq_cst" ? "acquire" : order) "."
			printf "extern \"C\" __global__ void %s_%s(uint32_t *p32, uint64_t *p64, " \
				"uint32_t v32, uint64_t v64, uint64_t *out)\n{\n\tint at = 0;\n\n", order, scope > source
			for (bits = 32; bits <= 64; bits += 32) {
				change("or", "or", "b", bits)
				change("and", "and", "b", bits)
				change("add", "add", "u", bits)
				change("xchg", "exch", "b", bits)
				call("cas" bits, "out[at++] = mam_atomic_cas" bits "(p" bits ", 77, v" bits ", " how ")",
					before " atom.cas." access ptx ".b" bits)
				if (order != "release" && order != "acq_rel")
					call("load" bits, "out[at++] = mam_atomic_load" bits "(p" bits ", " how ")",
						before " ld." access ptx ".b" bits)
				if (order != "acquire" && order != "acq_rel")
					call("store" bits, "mam_atomic_store" bits "(p" bits ", v" bits ", " how ")",
						before " st." (order == "seq_cst" ? "relaxed." : access) ptx ".b" bits)
			}
			call("fence", "mam_fence(" how ")", order == "relaxed" ? "" : \
				order == "seq_cst" ? " fence.sc." ptx : " fence.acq_rel." ptx)
			print "\tasm volatile(\"// @\" ::: \"memory\");\n}" > source
		}
}'

# Everything in PTX that touches memory, but for parameters and the plain stores of results.
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

same "calls in the table" 201 "$(wc -l < "$scratch/wanted")"
for architecture in "$oldest" 90; do
	for way in builtins PTX; do
		flags=
		[ "$way" = PTX ] && flags=-DMAM_PORT_PTX=1
		# shellcheck disable=SC2086 # none or one
		if ! "$NVCC" $flags -arch="compute_$architecture" -ptx -I "$MAM_SRCDIR/src" -o "$scratch/ptx" \
			"$scratch/kernels.cu" > "$scratch/said" 2>&1 || [ -s "$scratch/said" ]; then
			not_ok "by $way on sm_$architecture it compiles without a word" "$(lib_tail "$scratch/said")"
			continue
		fi
		instructions "$scratch/ptx" > "$scratch/got"
		if cmp -s "$scratch/wanted" "$scratch/got"; then
			ok "by $way on sm_$architecture each call is what it says"
		else
			not_ok "by $way on sm_$architecture each call is what it says" \
				"$(diff "$scratch/wanted" "$scratch/got" | grep '^[<>]' | head -n 2 | tr '\n' ' ')"
		fi
	done
done

# An older architecture is refused by name. -arch=sm_60 itself is unknown to new compilers.
"$NVCC" -arch="compute_$oldest" -ptx -U__CUDA_ARCH__ -D__CUDA_ARCH__=600 -I "$MAM_SRCDIR/src" -o "$scratch/ptx" \
	"$scratch/kernels.cu" > "$scratch/said" 2>&1
try "below sm_70 the compiler says so" grep -q 'needs sm_70 or later' "$scratch/said"
finish
