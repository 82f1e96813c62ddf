#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# gpu_collective.sh - gpu-collective.sh without a GPU. nvidia-smi, nvcc and compute-sanitizer are
# stubs. A program built by the nvcc stub is its source: a script that prints what the kernels would
# have printed.
# shellcheck disable=SC2317 # called through refused_by
. "${MAM_SRCDIR:-.}/tests/lib.sh"

bench=$MAM_SRCDIR/tools/bench
tools=$scratch/bin
mkdir -p "$tools" "$scratch/mam/bin" "$scratch/mam/lib" "$scratch/mam/include/mam" "$scratch/out" \
	"$scratch/kernels/before" "$scratch/kernels/after"
: > "$scratch/mam/lib/libmam.so"
: > "$scratch/mam/include/mam/heap.cuh"
cat > "$scratch/mam/bin/mam" << 'end'
#!/bin/sh
end
cat > "$tools/nvidia-smi" << 'end'
#!/bin/sh
case $* in
*name*) echo 'NVIDIA Stand-In 1GB' ;;
*) echo 9.0 ;;
esac
end
cat > "$tools/nvcc" << 'end'
#!/bin/sh
side= over=cuda
while [ $# -gt 0 ]; do
	case $1 in
	--version) echo 'release 13.0, V13.0'; exit 0 ;;
	-o) out=$2; shift ;;
	-include | -DMAM_COLLECTIVE_HEAP) over=mam ;;
	*.cu) source=$1 ;;
	esac
	shift
done
case $source in
*/clients/kernels/collective.cu)
	printf '#!/bin/sh\necho "ok - mixed"\necho "${HEADER:-all is well}"\n' > "$out"
	chmod +x "$out"
	exit 0
	;;
esac
grep -q 'no such name' "$source" && { echo "$source(3): error: no such name"; exit 1; }
{ echo '#!/bin/sh'; echo "over=$over"; cat "$source"; } > "$out"
chmod +x "$out"
end
cat > "$tools/compute-sanitizer" << 'end'
#!/bin/sh
# --tool TOOL --error-exitcode 9 PROGRAM
echo '========= COMPUTE-SANITIZER'
case $2$5 in
synccheck*after-differs) echo '========= Barrier error detected. Divergent thread(s) in block.'; exit 9 ;;
esac
end
chmod +x "$scratch/mam/bin/mam" "$tools"/*
PATH=$tools:$PATH NVCC=$tools/nvcc BENCH_COMMIT=0123abc REWRITTEN=$scratch/kernels CUDA_HOME=$scratch JOBS=2
export PATH NVCC BENCH_COMMIT REWRITTEN CUDA_HOME JOBS

gpu() # leaves its output in $scratch/said and $scratch/err
{
	sh "$bench/gpu-collective.sh" "$scratch/mam/bin/mam" "$scratch/out" > "$scratch/said" 2> "$scratch/err"
}

refused_by gpu 'without rewritten files' 2 'make them by tests/tools/coalesce/rewrite.sh'
without_folder() { (unset REWRITTEN && gpu); }
refused_by without_folder 'without REWRITTEN' 2 'REWRITTEN names no folder'
for number in LIMIT JOBS REPEATS; do
	with_number() { (eval "$number=many" && export LIMIT JOBS REPEATS && gpu); }
	refused_by with_number "invalid $number" 2 "$number is a whole number above 0, not 'many'"
done
with_part() { (PARTS=none && export PARTS && gpu); }
refused_by with_part 'unknown part' 2 "there is no part 'none'"

kernel() # SIDE NAME - reads its lines from stdin
{
	cat > "$scratch/kernels/$1/$2.cu"
}

# Kernels that are correct, with two of one name and one with a comma in its name; that differ; that
# differ from run to run; that end early or never; that cannot be built.
for side in before after; do
	printf 'echo "rows 01234567"\necho "stencil<1, false> 89abcdef"\necho "rows 00000001"\n' | kernel $side same
	printf 'echo "rows %s"\necho "others 89abcdef"\n' $side | kernel $side differs
	printf 'echo "race $$"\n' | kernel $side races
	echo 'echo "first 01234567"' | kernel $side ends
	echo 'echo "first 01234567"' | kernel $side hangs
	echo 'echo "first 01234567"' | kernel $side broken
	echo 'echo "no device" >&2' | kernel $side silent
	cat << 'end' | kernel $side gpu-collective
case $0 in
*before-cuda) echo "rows 12 256 300.0 01234567 0" ;;
*after-cuda) echo "rows 12 256 100.0 01234567 0" ;;
*before-mam) echo "rows 12 256 200.0 01234567 0" ;;
*after-mam) echo "rows 12 256 400.0 $sum 0" ;;
esac
[ "$over" = "${0##*-}" ] || exit 1
end
done
echo 'echo "second 01234567"' >> "$scratch/kernels/before/ends.cu"
echo 'exit 3' >> "$scratch/kernels/after/ends.cu"
echo 'echo "second 01234567"' >> "$scratch/kernels/before/hangs.cu"
echo 'exec sleep 30' >> "$scratch/kernels/after/hangs.cu"
echo 'no such name' >> "$scratch/kernels/after/broken.cu"
LIMIT=2 sum=01234567 REPEATS=1
export LIMIT sum REPEATS

sums=$scratch/out/collective-stand-in.csv
times=$scratch/out/coalesce-stand-in.csv
row() # FILE KERNEL - the fields after these two
{
	sed -n "s/^$1,$2,//p" "$sums" | tr '\n' ' '
}
PARTS='corpus memcheck synccheck'
export PARTS
gpu
same 'kernels that differ fail the run' 1 $?
same 'sums: eight header lines' 8 "$(grep -c '^# [a-z]*: ' "$sums")"
same 'sums: the commit is the given one' '# commit: 0123abc' "$(grep '^# commit' "$sums")"
same 'one name twice' '01234567,01234567,yes 00000001,00000001,yes ' "$(row same rows)"
same 'name with a comma' '89abcdef,89abcdef,yes ' "$(row same '"stencil<1, false>"')"
same 'different sum' 'before,after,no ' "$(row differs rows)"
same 'other kernels of that file' '89abcdef,89abcdef,yes ' "$(row differs others)"
same 'kernel that varies from run to run' varies "$(sed -n 's/^races,race,.*,//p' "$sums")"
same 'program that ends early' '01234567,-,failed: after ended with status 3 ' "$(row ends second)"
same 'first kernel of that program' '01234567,01234567,yes ' "$(row ends first)"
same 'kernel that never ends' '01234567,-,failed: after ended with status 124 ' "$(row hangs second)"
same 'kernel that cannot be built' '-,-,failed: after could not be built: no such name ' "$(row broken -)"
same 'no kernel runs' '-,-,failed: no kernel ran: no device ' "$(row silent -)"
same 'clean memcheck' '-,-,yes ' "$(row differs memcheck)"
same 'divergent barrier' '-,-,failed: status 9: Barrier error detected. Divergent thread(s) in block. ' \
	"$(row differs synccheck)"
try 'output lists the kernel that differs' grep -q '^differs,rows,before,after,no$' "$scratch/said"

PARTS=header
gpu
same 'header passes over both allocators' '0 2' "$? $(grep -c 'header over .*: all is well$' "$scratch/said")"
with_header() { (HEADER='collective: mixed: no' && export HEADER && gpu); }
with_header
same 'header fails over both allocators' '1 2' "$? $(grep -c 'header over .*: status 0$' "$scratch/said")"

PARTS=corpus NAMES='sam races'
export NAMES
gpu
same 'correct kernels and one that varies succeed' 0 $?
same 'no other kernels run' '3 1 0' "$(grep -c ^same "$sums") $(grep -c ^races "$sums") $(grep -c ^differs "$sums")"

PARTS=timing
gpu
same 'timing succeeds' 0 $?
same 'times: eight header lines' 8 "$(grep -c '^# [a-z]*: ' "$times")"
same 'times: over both allocators' 'rows,cuda,12,256,300.0,100.0,3.00,yes rows,mam,12,256,200.0,400.0,0.50,yes ' \
	"$(grep -v '^#' "$times" | tr '\n' ' ')"
same 'times: a table' 1 "$(grep -c '^rows  *cuda  *12 .* 3.00  yes$' "$scratch/said")"
sum=7654321
gpu
same 'a different sum fails timing' 1 $?
same 'the row of a different sum has no as result' 'no' "$(sed -n 's/^rows,mam,.*,//p' "$times")"
finish
