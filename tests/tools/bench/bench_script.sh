#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# bench_script.sh - tools/bench/gpu-host.sh from its call to its table, with the fake driver and a
# stub of nvidia-smi that reports a GPU. The measured values are not checked.
. "${MAM_SRCDIR:-.}/tests/lib.sh"

script=$MAM_SRCDIR/tools/bench/gpu-host.sh
fake=$MAM_BUILDDIR/tests/fake/lib
mkdir "$scratch/bin" "$scratch/none" "$scratch/out"
drawn=no
can_plot && drawn=yes

sh "$script" "$MAM" >"$scratch/words" 2>&1
same "without a folder: exit status" 2 $?
sh "$script" "$scratch/no-mam" "$scratch/out" >"$scratch/words" 2>&1
same "without a command: exit status" 2 $?
printf '#!/bin/sh\nexit 9\n' >"$scratch/none/nvidia-smi"
chmod +x "$scratch/none/nvidia-smi"
PATH=$scratch/none:$PATH sh "$script" "$MAM" "$scratch/out" >"$scratch/words" 2>&1
same "without a GPU: exit status" 77 $?
try "without a GPU: message" grep -q 'finds no GPU' "$scratch/words"

printf '#!/bin/sh\necho NVIDIA GeForce RTX 4090\n' >"$scratch/bin/nvidia-smi"
printf '#!/bin/sh\nexit 1\n' >"$scratch/bin/python3"
chmod +x "$scratch/bin/nvidia-smi" "$scratch/bin/python3"
PATH=$scratch/bin:$PATH BUDGET=soon sh "$script" "$MAM" "$scratch/out" >"$scratch/words" 2>&1
same "invalid budget: exit status" 2 $?

# ---- a mam with known results ----

cat >"$scratch/bin/mam" <<'END'
#!/bin/sh
case "$1 $2" in
"bench host")
	echo "asked with $*"
	case "$* $BENCH_RMM" in
	*--smoke*ends.so) echo "no good"; exit 134 ;;
	*--smoke*) exit 0 ;;
	*torch-async*)
		[ "$PYTORCH_CUDA_ALLOC_CONF" = backend:cudaMallocAsync ] || exit 9
		KNOWN=$KNOWN.async ;;
	*rmm.so) exit 139 ;;
	esac
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

cat >"$scratch/known/csv.async" <<'END'
# gpu: not this line
pair,torch-async,256B,pair_ns,50
END

known() # ENVIRONMENT... - its output, and its exit status
{
	env PATH="$scratch/bin:$PATH" TRACES="$scratch/known/traces" KNOWN="$scratch/known/csv" BUDGET=60 \
		TMPDIR="$scratch/known" "$@" \
		sh "$script" "$scratch/bin/mam" "$scratch/known" >"$scratch/words" 2>&1
}

verdict() # WHAT WANTED - of the table's line that starts with WHAT
{
	same "the table: $1" "$2" "$(sed -n "s/^$1 .* \(met\|MISSED\|not measured\)\$/\1/p" "$scratch/words")"
}

known QUICK=1
same "success: exit status" 0 $?
try "the output of the bench is shown" grep -q 'asked with bench host --quick' "$scratch/words"
try "the output of the bench is stored" grep -q 'asked with bench host' "$scratch/known/host-rtx4090.log"
verdict "pair of 256 B, mam-host-cache" met
verdict "pair of 256 B, mam-vmm-cache" MISSED
verdict "pair of 256 B, mam-cudamalloc-cache" "not measured"
verdict "16 threads, own frees, mam-host-cache" met
verdict "16 threads, own frees, mam-vmm-cache" MISSED
verdict "random_allocations, worst point, mam-vmm-cache" MISSED
verdict "free, kernel in flight, same stream, mam-vmm-cache" met
verdict "kept after all is freed and trimmed, mam-vmm-cache" met
verdict "replay one_block, physical over live" met
verdict "replay one_block, simulated over real" MISSED
known ALONE=1
verdict "replay one_block, simulated over real" "not measured"
same "no temporary file remains" "" "$(find "$scratch/known" -name 'gpu-host.*')"
known STATUS=3
same "bench fails: exit status" 1 $?
try "bench fails: its results are kept" grep -q '^replay,mam-vmm,one_block,physical_ratio,1.01$' "$scratch/known/host-rtx4090.csv"

# ---- more peers, and peers that fail ----

ratio() # WHAT WANTED - the line of the table of ratios whose first part ends with WHAT
{
	same "the ratios: $1" "$2" "$(sed -n "s/  *$1  .*//p" "$scratch/words" | tr -s ' ' | sed 's/^ //')"
}

mkdir "$scratch/peers"
: >"$scratch/peers/peer_torch.so"
printf '#!/bin/sh\n' >"$scratch/bin/ldd"
cat >"$scratch/bin/python3" <<'END'
#!/bin/sh
case "$1" in
*peer_cupy.py) echo 'note: python is slow' >&2
	echo 'pair,cupy,256B,pair_ns,40'
	echo 'replay,cupy,one_block,event_ns,5' ;;
*peer_api.py) echo 'it broke' >&2; exit 3 ;;
*) exit 1 ;;
esac
END
chmod +x "$scratch/bin/ldd" "$scratch/bin/python3"
known PEERS="$scratch/peers" BUDGET=200
same "more peers: exit status" 0 $?
for row in pair,torch-async,256B,pair_ns,50 pair,cupy,256B,pair_ns,40 pair,mam-vmm-cache,256B,pair_ns,30; do
	try "more peers: $row" grep -qx "$row" "$scratch/known/host-rtx4090.csv"
done
same "no second header" 0 "$(grep -c 'not this' "$scratch/known/host-rtx4090.csv")"
try "a peer's note is shown" grep -qx 'note: python is slow' "$scratch/words"
try "a script that fails is listed" grep -q '^peer api: ended with status 3: it broke' "$scratch/words"
ratio "H1 pair 256B pair_ns" "- 0.750"
ratio "H4 threads 16 mops" "- -"
printf 'threads,cudaMalloc,16,mops,7\nthreads,torch,16,mops,35\nthreads,glibc,16,mops,140\n' >>"$scratch/known/csv"
known PEERS="$scratch/peers" BUDGET=200
ratio "H4 threads 16 mops" "- 0.500"
try "the best peer and the floor are named" grep -q '^ .*H4 threads 16 mops .*70 M/s *35 M/s torch .*140 M/s glibc' \
	"$scratch/words"
: >"$scratch/peers/ends.so"
known BENCH_RMM="$scratch/peers/ends.so" PEERS="$scratch/peers" BUDGET=200
same "peer ends its process: exit status" 0 $?
try "peer ends its process: it is left out" \
	grep -q '^peer rmm: ended a trial with status 134 .*: no good' "$scratch/words"
known BENCH_RMM="$scratch/peers/rmm.so" BUDGET=200
same "peer ends the bench: exit status" 1 $?
try "peer ends the bench: other peers run" grep -qx pair,mam-vmm-cache,256B,pair_ns,30 \
	"$scratch/known/host-rtx4090.csv"
known PEERS="$scratch/nowhere"
same "missing peers: exit status" 2 $?
printf '#!/bin/sh\nexit 1\n' >"$scratch/bin/python3"
rm "$scratch/bin/ldd"

known KNOWN=/nonexistent
same "bench without results: exit status" 1 $?
try "bench without results: message" grep -q 'wrote no numbers' "$scratch/words"

# ---- mam itself ----

[ -e "$fake/libcuda.so.1" ] || { skip "complete run" "there is no fake driver in this build"; finish; }

mkdir "$scratch/traces"
printf 'a 1 1000000 0\na 2 3000000 0\nf 1\nf 2\n' | gzip >"$scratch/traces/two blocks.trace.gz"
# The bench runs as little as possible: with its own times a slow machine would skip workloads.
cat >"$scratch/mam" <<'end'
#!/bin/bash
exec "$REAL_MAM" "${@/#--quick/--smoke}"
end
chmod +x "$scratch/mam"
PATH=$scratch/bin:$PATH LD_LIBRARY_PATH=$fake CUDA_HOME=$scratch/none FAKE_CUDA_MEMORY=64G BUDGET=240 QUICK=1 \
	TRACES=$scratch/traces BENCH_COMMIT=abc REAL_MAM=$MAM PYTHON=$plot_python sh "$script" "$scratch/mam" "$scratch/out" \
	>"$scratch/words" 2>&1
status=$?
if [ $drawn = yes ]; then
	same "complete run: exit status" 0 $status
else
	no_matplotlib
fi
csv=$scratch/out/host-rtx4090.csv
try "the file is named after the GPU" test -s "$csv"
same "eight header lines" 8 "$(head -n 8 "$csv" | grep -c '^# [a-z]*: ')"
try "the commit is the given one" grep -qx '# commit: abc' "$csv"
try "all output is stored" grep -q 'run on' "$scratch/out/host-rtx4090.log"
try "a peer that cannot be built is reported" grep -q '^peer torch: python3 has no torch' "$scratch/words"
for pool in mam-vmm mam-vmm-simulated; do
	same "replay, $pool: memory held over 4,000,000 bytes live" yes \
		"$(sed -n "s/^replay,$pool,two_blocks,physical_ratio,//p" "$csv" |
			awk '{ print ($1 > 1 && $1 < 20) ? "yes" : "no: " $1 }')"
done
same "the table ends with verdicts only" "" \
	"$(sed -n '/^what .*target/,/^$/p' "$scratch/words" | grep -vE '^what|^$|(met|MISSED|not measured)$')"
try "the table has one line per target" test "$(grep -cE '(met|MISSED|not measured)$' "$scratch/words")" -ge 20
same "no temporary file remains" "" "$(find "$scratch/out" -name '*.csv?*')"
[ $drawn = no ] || same "the plots are written" \
	"footprint.svg fragmented.svg latency.svg live.svg percentiles.svg random.svg sizes.svg threads.svg" \
	"$(cd "$scratch/out" && echo *.svg)"

finish
