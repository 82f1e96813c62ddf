#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# gpu-collective.sh [MAM [FOLDER]] - kernels rewritten by `mam coalesce`, on a real GPU: the same results, and faster.
#
#   MAM     the installed command, whose library and headers are used; default: $MAM, or the one on the path
#   FOLDER  for the files; default: $OUT, or results/<gpu> of this folder
#
# No libclang is needed here: REWRITTEN names the folder that tests/tools/coalesce/rewrite.sh has made elsewhere, with
# before/NAME.cu and after/NAME.cu.
#
# Part by part:
#   header     tests/clients/kernels/collective.cu, over CUDA's malloc() and over a heap: the guarantees of collective.cuh
#   corpus     each NAME's kernels before and after, twice each, as checksums of their output:
#              FOLDER/collective-<gpu>.csv
#   timing     gpu-collective.cu before and after, over CUDA's malloc() and over a heap: FOLDER/coalesce-<gpu>.csv
#   memcheck, synccheck
#              the kernels after, under that tool of compute-sanitizer: more rows of FOLDER/collective-<gpu>.csv
#
# Environment: REWRITTEN, PARTS (header corpus timing), NAMES (all: prefixes of names of the corpus part), QUICK=1
#     (timing of one shape), REPEATS (3) of each timed program, LIMIT (60) seconds per program, JOBS (one per CPU) at a
#     time, NVCC, MAM_PREFIX (with include/mam and lib/libmam.so; default: the folder above that of MAM), BENCH_COMMIT
#     (if the tree has no .git).
# Exit status: 0, 1 if a result differed or failed, 2 for invalid usage, 77 without GPU or nvcc.
# shellcheck disable=SC2154,SC2317 # of gpu-lib.sh; called through one_more

here=$(cd "$(dirname "$0")" && pwd)
script='gpu-collective' # for the messages of gpu-lib.sh
all='header corpus timing memcheck synccheck'
chosen=${PARTS:-header corpus timing}
limit=${LIMIT:-60}
repeats=${REPEATS:-3}
tests=$here/../../tests/tools/coalesce
clients=$here/../../tests/clients

# shellcheck source=tools/bench/gpu-lib.sh
. "$here/gpu-lib.sh"
gpu_start "$@"
gpu_parts "$all" "$chosen"
jobs=${JOBS:-$(nproc)}
for number in "LIMIT $limit" "REPEATS $repeats" "JOBS $jobs"; do
	case ${number#* } in
	'' | *[!0-9]* | 0*) stop 2 "${number%% *} is a whole number above 0, not '${number#* }'" ;;
	esac
done
gpu_install
rewritten=${REWRITTEN:-}
[ -n "$rewritten" ] || stop 2 'REWRITTEN names no folder: make one by tests/tools/coalesce/rewrite.sh, and set it'
if [ ! -e "$rewritten/before/gpu-collective.cu" ] || [ ! -e "$rewritten/after/gpu-collective.cu" ]; then
	stop 2 "$rewritten has no rewritten files: make them by tests/tools/coalesce/rewrite.sh $rewritten"
fi
rewritten=$(cd "$rewritten" && pwd)

gpu_work
LD_LIBRARY_PATH=$library${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
started=$(date +%s)
failed=0
sums=$folder/collective-$gpu_name.csv
times=$folder/coalesce-$gpu_name.csv
sums_columns='file,kernel,before,after,same'
times_columns='kernel,allocator,blocks,threads,before_us,after_us,ratio,same'

# The selected names of the corpus, and none of the timed ones.
names=
for file in "$rewritten"/after/*.cu; do
	name=$(basename "$file" .cu)
	[ "$name" != gpu-collective ] || continue
	[ -n "${NAMES:-}" ] || names="$names $name"
	for word in ${NAMES:-}; do
		case $name in
		"$word"*) names="$names $name" ;;
		esac
	done
done

say() # WORD...
{
	echo "[$(($(date +%s) - started)) s] $*"
}

build() # PROGRAM SOURCE OPTION...
{
	build_program=$1
	build_source=$2
	shift 2
	"$nvcc" -O2 -lineinfo -arch="sm_$arch" "$@" -I "$prefix/include" -I "$tests/corpus" -I "$tests" -I "$here" \
		-o "$work/$build_program" "$build_source" -L "$library" -lmam > "$work/$build_program.built" 2>&1
}

# Runs jobs in parallel: starts one more, and waits for all if that makes enough.
many=0
one_more() # COMMAND...
{
	"$@" &
	many=$((many + 1))
	[ "$many" -lt "$jobs" ] || all_done
}

all_done()
{
	wait
	many=0
}

# --- the header's guarantees -----------------------------------------------------------------------------------------

header()
{
	one_more build header-cuda "$clients/kernels/collective.cu"
	one_more build header-mam "$clients/kernels/collective.cu" -DMAM_COLLECTIVE_HEAP
	all_done
	for allocator in cuda mam; do
		if [ ! -x "$work/header-$allocator" ]; then
			cat "$work/header-$allocator.built" >&2
			header_status='it could not be built'
		else
			timeout -k 5 "$limit" "$work/header-$allocator" > "$work/said" 2>&1
			header_status="status $?"
			sed 's/^/   /' "$work/said"
			[ "$(tail -n 1 "$work/said")" = 'all is well' ] && header_status=
		fi
		say "header over $allocator: ${header_status:-all is well}"
		[ -z "$header_status" ] || failed=1
	done
}

# --- results ---------------------------------------------------------------------------------------------------------

run_corpus() # PROGRAM TIME - its output goes to PROGRAM.TIME, with its status
{
	timeout -k 5 "$limit" "$work/$1" > "$work/$1.$2" 2> "$work/$1.$2.err"
	echo $? > "$work/$1.$2.status"
}

corpus_one() # NAME
{
	for side in before after; do
		if ! build "$side-$1" "$rewritten/$side/$1.cu" -DCORPUS_MAIN; then
			echo "$1,-,-,-,failed: $side could not be built: $(grep -m 1 error "$work/$side-$1.built" |
				sed 's/^.*error: *//' | tr ',"' '; ')" > "$work/$1.rows"
			return
		fi
	done
	for time in 1 2; do
		run_corpus "before-$1" "$time"
		run_corpus "after-$1" "$time"
	done
	# A line is a kernel, whose name may contain blanks and commas, and a sum. If a name occurs more than once,
	# the first is compared with the first.
	awk -v name="$1" -v why="$(head -n 1 "$work/before-$1.1.err" | tr ',"' '; ')" -v ended="$(cat "$work/after-$1.1.status")" '
	FNR == 1 { split("", times) }
	{ sum = $NF; sub(/ [^ ]*$/, ""); time = ++times[$0]; key = $0 SUBSEP time
	  if (!(key in known)) { known[key] = $0; keys[++count] = key }
	  got[column, key] = sum }
	function of(column, key) { return (column, key) in got ? got[column, key] : "-" }
	END { if (!count) print name ",-,-,-,failed: no kernel ran: " why
	  for (i = 1; i <= count; i++) { key = keys[i]
		one = of(1, key); two = of(2, key); three = of(3, key); four = of(4, key)
		if (two == "-" || four == "-") same = "failed: after ended with status " ended
		else if (one == "-") same = "no"
		else if (one != three) same = "varies"
		else same = one == two && one == four ? "yes" : "no"
		printf "%s,%s,%s,%s,%s\n", name, known[key] ~ /,/ ? "\"" known[key] "\"" : known[key], one, two, same }
	}' column=1 "$work/before-$1.1" column=2 "$work/after-$1.1" column=3 "$work/before-$1.2" \
		column=4 "$work/after-$1.2" > "$work/$1.rows"
}

corpus()
{
	for name in $names; do
		one_more corpus_one "$name"
	done
	all_done
}

check_one() # TOOL NAME - the existing program, or builds it now, under compute-sanitizer
{
	if [ ! -x "$work/after-$2" ] && ! build "after-$2" "$rewritten/after/$2.cu" -DCORPUS_MAIN; then
		echo "$2,$1,-,-,failed: after could not be built" > "$work/$2.$1.rows"
		return
	fi
	timeout -k 5 "$limit" "$sanitizer" --tool "$1" --error-exitcode 9 "$work/after-$2" > "$work/$2.$1" 2>&1
	check_status=$?
	if [ "$check_status" -eq 0 ]; then
		echo "$2,$1,-,-,yes"
	else
		echo "$2,$1,-,-,failed: status $check_status: $(grep -m 1 '^=* *[A-Z][a-z].*' "$work/$2.$1" | tr ',"' '; ' |
			sed 's/^=* *//')"
		sed "s/^/$2: /" "$work/$2.$1" | head -n 40 >&2
	fi > "$work/$2.$1.rows"
}

check_all() # TOOL
{
	sanitizer=$(find_sanitizer)
	if [ -z "$sanitizer" ]; then
		say "$1: compute-sanitizer was not found; nothing was checked"
		return
	fi
	for name in $names; do
		one_more check_one "$1" "$name"
	done
	all_done
}

write_sums()
{
	{
		print_head "PARTS='$chosen' tools/bench/gpu-collective.sh" "$sums_columns"
		for name in $names; do
			for rows in "$work/$name".rows "$work/$name".*check.rows; do
				[ ! -e "$rows" ] || cat "$rows"
			done
		done
	} > "$sums.tmp" && mv "$sums.tmp" "$sums" || failed=1
	grep -v '^#' "$sums" | grep -v ',yes$' && say 'these are not as they were'
	grep -v '^#' "$sums" | grep -Eqv ',(yes|varies)$' && failed=1
	say "$(grep -c ',yes$' "$sums") kernels of $(grep -cv '^#' "$sums") give what they gave: $sums"
}

# --- times -----------------------------------------------------------------------------------------------------------

timing_build()
{
	override=$prefix/include/mam/kmalloc_override.cuh
	one_more build timed-before-cuda "$rewritten/before/gpu-collective.cu" -DCOLLECTIVE_MAIN
	one_more build timed-after-cuda "$rewritten/after/gpu-collective.cu" -DCOLLECTIVE_MAIN
	one_more build timed-before-mam "$rewritten/before/gpu-collective.cu" -DCOLLECTIVE_MAIN -include "$override"
	one_more build timed-after-mam "$rewritten/after/gpu-collective.cu" -DCOLLECTIVE_MAIN -DMAM_COLLECTIVE_HEAP
	all_done
}

# Lines "ALLOCATOR SIDE kernel blocks threads us sum others" of all runs, the two sides in turn.
timing_runs()
{
	for allocator in cuda mam; do
		timing_repeat=0
		while [ "$timing_repeat" -lt "$repeats" ]; do
			timing_repeat=$((timing_repeat + 1))
			for side in before after; do
				timing_program=timed-$side-$allocator
				if [ ! -x "$work/$timing_program" ]; then
					cat "$work/$timing_program.built" >&2
					echo "$script: $timing_program could not be built" >&2
					return 1
				fi
				timeout -k 5 "$limit" "$work/$timing_program" ${QUICK:+--quick} > "$work/said"
				timing_status=$?
				sed "s/^/$allocator $side /" "$work/said"
				[ $timing_status -eq 0 ] && continue
				echo "$script: $timing_program ended with status $timing_status" >&2
				return 1
			done
		done
	done
}

# A row for each kernel and shape: the median of the runs of either side, and the ratio of the times before and after.
timing_rows() # LINES
{
	awk '
	function median(side, key,    n, i, j, t, all) { n = runs[side, key]
		for (i = 1; i <= n; i++) { t = us[side, key, i]
			for (j = i - 1; j > 0 && all[j] > t; j--) all[j + 1] = all[j]
			all[j + 1] = t }
		return n ? all[int((n + 1) / 2)] : 0 }
	NF == 8 { key = $3 "," $1 "," $4 "," $5
	  if (!(key in known)) { known[key] = $7; keys[++count] = key; same[key] = "yes" }
	  us[$2, key, ++runs[$2, key]] = $6
	  if ($7 != known[key] || $8 != 0) same[key] = "no" }
	END { for (i = 1; i <= count; i++) { key = keys[i]
		before = median("before", key); after = median("after", key)
		if (before > 0 && after > 0)
			printf "%s,%.1f,%.1f,%.2f,%s\n", key, before, after, before / after, same[key]
		else
			printf "%s,%s,%s,-,failed: one of both did not run\n", key, before ? before : "-", after ? after : "-"
	} }' "$1"
}

timing()
{
	timing_build
	timing_runs > "$work/lines" || failed=1
	{
		print_head "QUICK=${QUICK:-} REPEATS=$repeats tools/bench/gpu-collective.sh" "$times_columns"
		timing_rows "$work/lines"
	} > "$times.tmp" && mv "$times.tmp" "$times" || failed=1
	grep -v '^#' "$times" | grep -qv ',yes$' && failed=1
	grep -v '^#' "$times" | awk -F, '
	BEGIN { form = "%-12s %-10s %7s %8s %12s %12s %8s  %s\n"
	  printf form, "kernel", "allocator", "blocks", "threads", "before us", "after us", "ratio", "same" }
	{ printf form, $1, $2, $3, $4, $5, $6, $7, $8 }'
	say "times are in $times"
}

# Timed programs have the GPU to themselves.
for part in header timing corpus memcheck synccheck; do
	case " $chosen " in
	*" $part "*) ;;
	*) continue ;;
	esac
	say "$part"
	case $part in
	header) header ;;
	timing) timing ;;
	corpus) corpus ;;
	*) check_all "$part" ;;
	esac
done
case " $chosen " in
*corpus* | *check*) write_sums ;;
esac
exit $failed
