#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# bench_script.sh - tools/bench/gpu-host.sh from its call to its table, with the driver of tests/fake and a
# nvidia-smi that names a GPU. The numbers are no matter here.
. "${MAM_SRCDIR:-.}/tests/lib.sh"

script=$MAM_SRCDIR/tools/bench/gpu-host.sh
fake=$MAM_BUILDDIR/tests/fake/lib
mkdir "$scratch/bin" "$scratch/none" "$scratch/out"

sh "$script" "$MAM" >"$scratch/words" 2>&1
same "without a folder: exit status" 2 $?
sh "$script" "$scratch/no-mam" "$scratch/out" >"$scratch/words" 2>&1
same "without a command: exit status" 2 $?
printf '#!/bin/sh\nexit 9\n' >"$scratch/none/nvidia-smi"
chmod +x "$scratch/none/nvidia-smi"
PATH=$scratch/none:$PATH sh "$script" "$MAM" "$scratch/out" >"$scratch/words" 2>&1
same "without a GPU: exit status" 77 $?
try "without a GPU: said so" grep -q 'finds no GPU' "$scratch/words"

printf '#!/bin/sh\necho NVIDIA GeForce RTX 4090\n' >"$scratch/bin/nvidia-smi"
printf '#!/bin/sh\nexit 1\n' >"$scratch/bin/python3"
chmod +x "$scratch/bin/nvidia-smi" "$scratch/bin/python3"
PATH=$scratch/bin:$PATH BUDGET=soon sh "$script" "$MAM" "$scratch/out" >"$scratch/words" 2>&1
same "a budget that is no number: exit status" 2 $?

# ---- a mam whose numbers are known ----

cat >"$scratch/bin/mam" <<'END'
#!/bin/sh
case "$1 $2" in
"bench host")
	echo "asked with $*"
	while [ $# -gt 1 ]; do
		[ "$1" = --csv ] && cp "$KNOWN" "$2"
		shift
	done
	exit "${STATUS:-0}" ;;
"bench plot") exit 0 ;;
replay*)
	case "$*" in
	*--simulate*) [ -z "${ALONE:-}" ] || exit 1; peak=1030 ;;
	*) peak=1010 ;;
	esac
	printf 'peak_live_bytes\t1000\nphysical_peak_bytes\t%s\nns_per_event\t40\n' "$peak" ;;
esac
END
chmod +x "$scratch/bin/mam"
mkdir "$scratch/known" "$scratch/known/traces"
printf 'a 1 1000 0\n' | gzip >"$scratch/known/traces/one block.trace.gz"
cat >"$scratch/known/csv" <<'END'
pair,mam-host-cache,256B,pair_ns,20
pair,mam-vmm-cache,256B,pair_ns,30
threads,mam-host-cache,16,mops,90
threads,mam-vmm-cache,16,mops,70
random,mam-vmm-cache,"64,4KiB",op_ns,100
random,mam-vmm-cache,"64,8KiB",op_ns,130
stream,mam-vmm-cache,"same,4KiB",free_ns,90
footprint,mam-vmm-cache,trimmed,kept_bytes,2097152
END

known() # ENVIRONMENT... - its words, and its exit status
{
	env PATH="$scratch/bin:$PATH" TRACES="$scratch/known/traces" KNOWN="$scratch/known/csv" BUDGET=60 \
		TMPDIR="$scratch/known" "$@" \
		sh "$script" "$scratch/bin/mam" "$scratch/known" >"$scratch/words" 2>&1
}

verdict() # WHAT WANTED - of the table's line that begins so
{
	same "the table: $1" "$2" "$(sed -n "s/^$1 .* \(met\|MISSED\|not measured\)\$/\1/p" "$scratch/words")"
}

known QUICK=1
same "all is well: exit status" 0 $?
try "the bench's words are shown" grep -q 'asked with bench host --quick' "$scratch/words"
try "the bench's words are kept" grep -q 'asked with bench host' "$scratch/known/host-rtx4090.log"
verdict "pair of 256 B, mam-host-cache" met
verdict "pair of 256 B, mam-vmm-cache" MISSED
verdict "pair of 256 B, mam-cudamalloc-cache" "not measured"
verdict "16 threads, own frees, mam-host-cache" met
verdict "16 threads, own frees, mam-vmm-cache" MISSED
verdict "random_allocations, worst point, mam-vmm-cache" MISSED
verdict "free, kernel in flight, same stream, mam-vmm-cache" met
verdict "kept after all is freed and trimmed, mam-vmm-cache" met
verdict "replay one block, physical over live" met
verdict "replay one block, simulated over real" MISSED
known ALONE=1
verdict "replay one block, simulated over real" "not measured"
same "no scratch is left" "" "$(find "$scratch/known" -name 'gpu-host.*')"
known STATUS=3
same "a bench that failed: exit status" 1 $?
try "its numbers are kept all the same" grep -q '^replay,mam-vmm,one block,physical_ratio,1.01$' "$scratch/known/host-rtx4090.csv"
known KNOWN=/nonexistent
same "a bench without numbers: exit status" 1 $?
try "a bench without numbers: said so" grep -q 'wrote no numbers' "$scratch/words"

# ---- mam itself ----

[ -e "$fake/libcuda.so.1" ] || { skip "a whole run" "there is no fake driver in this build"; finish; }

mkdir "$scratch/traces"
printf 'a 1 1000000 0\na 2 3000000 0\nf 1\nf 2\n' | gzip >"$scratch/traces/two blocks.trace.gz"
# The bench is asked for as little as can be: with its own times a slow machine would leave workloads out.
cat >"$scratch/mam" <<'end'
#!/bin/bash
exec "$REAL_MAM" "${@/#--quick/--smoke}"
end
chmod +x "$scratch/mam"
PATH=$scratch/bin:$PATH LD_LIBRARY_PATH=$fake CUDA_HOME=$scratch/none FAKE_CUDA_MEMORY=64G BUDGET=240 QUICK=1 \
	TRACES=$scratch/traces BENCH_COMMIT=abc REAL_MAM=$MAM sh "$script" "$scratch/mam" "$scratch/out" \
	>"$scratch/words" 2>&1
same "a whole run: exit status" 0 $?
csv=$scratch/out/host-rtx4090.csv
try "the file is named after the GPU" test -s "$csv"
same "eight lines of header" 8 "$(head -n 8 "$csv" | grep -c '^# [a-z]*: ')"
try "the commit is the one that was named" grep -qx '# commit: abc' "$csv"
try "all words are kept" grep -q 'run on' "$scratch/out/host-rtx4090.log"
try "a peer that cannot be built is said so" grep -q '^peer torch: python3 has no torch' "$scratch/words"
for pool in mam-vmm mam-vmm-simulated; do
	same "replay, $pool: memory held over 4,000,000 bytes live" yes \
		"$(sed -n "s/^replay,$pool,two blocks,physical_ratio,//p" "$csv" |
			awk '{ print ($1 > 1 && $1 < 20) ? "yes" : "no: " $1 }')"
done
same "the table ends with verdicts only" "" \
	"$(sed -n '/^what .*target/,/^$/p' "$scratch/words" | grep -vE '^what|^$|(met|MISSED|not measured)$')"
try "the table has a line a target" test "$(grep -cE '(met|MISSED|not measured)$' "$scratch/words")" -ge 20
same "nothing half written is left" "" "$(find "$scratch/out" -name '*.part')"
same "there are pictures of it" "footprint.svg latency.svg threads.svg" \
	"$(cd "$scratch/out" && echo *.svg)"

finish
