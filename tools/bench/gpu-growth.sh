#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# gpu-growth.sh [MAM [FOLDER]] - heaps that grow while kernels run: measured, made to fail, and put under load, on a
# real GPU.
#
#   MAM     the installed command, whose library and headers are tested; default: $MAM, or the one on the path
#   FOLDER  for growth-<gpu>.csv, growth-<gpu>.log and growth-soak-<gpu>.log; default: $OUT, or results/<gpu> of
#           this folder
#
# gpu-growth.cu, part by part, each in a process of its own; then tests/clients/kernels/objects.cu on heaps that begin with 2
# MiB; and tests/clients/kernels/grow.cu, which README shows. The soak adds a line to growth-soak-<gpu>.log, so that many runs
# can add up to an hour. Heaps do not grow under compute-sanitizer: gpu-objects.sh runs it on other heaps.
#
# Environment: PARTS (reach new crowd equal ten idle causes stopped full streams pressure soak objects grow:
#     all of them), SECONDS_EACH (10: of the soak), BUDGET (100: seconds, after which no part starts), PROGRAMS (a folder
#     with gpu-growth, objects and grow, already built; default: nvcc builds them), NVCC,
#     MAM_PREFIX (with include/mam and lib/libmam.so; default: the folder above that of MAM), BENCH_COMMIT (if the
#     tree has no .git), KEEP=1 (keep the file's rows of parts that are not run, if it is of this commit).
# Exit status: 0, 1 if a part failed, 2 for invalid usage, 77 without GPU or nvcc.

here=$(cd "$(dirname "$0")" && pwd)
script='gpu-growth' # for the messages of gpu-lib.sh
all='reach new crowd equal ten idle causes stopped full streams pressure soak objects grow'
chosen=${PARTS:-$all}
seconds=${SECONDS_EACH:-10}
budget=${BUDGET:-100}
clients=$here/../../tests/clients

# shellcheck source=tools/bench/gpu-lib.sh
. "$here/gpu-lib.sh"
gpu_start "$@"
for word in "$seconds" "$budget"; do
	case $word in
	'' | *[!0-9]* | 0) stop 2 "SECONDS_EACH and BUDGET are whole numbers, not '$word'" ;;
	esac
done
gpu_parts "$all" "$chosen"
gpu_install

gpu_work
csv=$folder/growth-$gpu_name.csv
log=$folder/growth-$gpu_name.log
soak=$folder/growth-soak-$gpu_name.log
start=$(date +%s)
failed=0
: > "$work/rows"

build() # PROGRAM SOURCE
{
	if [ -n "${PROGRAMS:-}" ]; then
		cp "$PROGRAMS/$1" "$work/$1" && return
		stop 2 "there is no program $1 in $PROGRAMS"
	fi
	"$nvcc" -O2 -lineinfo -arch="sm_$arch" -I "$prefix/include" -I "$clients/kernels" -o "$work/$1" "$2" -L "$library" \
		-lmam > "$work/said" 2>&1 && return
	cat "$work/said" >&2
	stop 2 "$1 could not be built"
}

run() # NAME PROGRAM ARGUMENT... - its output goes to the log, its rows to the table
{
	name=$1
	shift
	echo "== $name" | tee -a "$log"
	timeout -k 5 $((seconds + 180)) "$@" > "$work/out" 2>&1
	status=$?
	if [ $status -eq 0 ] && grep -q '^all is well' "$work/out"; then
		echo "ok - $name" >> "$work/out"
	else
		echo "not ok - $name: status $status" >> "$work/out"
		failed=1
	fi
	sed -n 's/^row,//p' "$work/out" >> "$work/rows"
	grep -v '^row,' "$work/out" | tee -a "$log"
}

run_soak()
{
	run soak "$work/gpu-growth" soak --seconds "$seconds"
	[ -s "$soak" ] || printf '# SPDX-License-Identifier: Apache-2.0\n# gpu: %s\n' "$gpu" > "$soak"
	echo "$(date -u +%Y-%m-%dT%H:%M:%SZ) commit $commit: $(grep '^ok - soak\|^gpu-growth: ' "$work/out" | head -n 1)" \
		>> "$soak"
}

case " $chosen " in
*' grow '*) build grow "$clients/kernels/grow.cu" ;;
esac
case " $chosen " in
*' objects '*) build objects "$clients/kernels/objects.cu" ;;
esac
[ -z "$(echo " $chosen " | sed 's/ objects / /; s/ grow / /; s/ //g')" ] ||
	build gpu-growth "$here/growth/gpu-growth.cu"
LD_LIBRARY_PATH=$library${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH

if [ "${KEEP:-0}" = 1 ] && [ -s "$log" ]; then
	grep -q "^# commit: $commit\$" "$log" || stop 2 "$log is of another commit: its numbers do not go with new ones"
else
	printf '# SPDX-License-Identifier: Apache-2.0\n# gpu: %s\n# commit: %s\n' "$gpu" "$commit" > "$log"
fi
done_parts=
for part in $chosen; do
	if [ $(($(date +%s) - start)) -ge "$budget" ]; then
		echo "skip - $part: the $budget s are over" | tee -a "$log"
		continue
	fi
	case $part in
	soak) run_soak ;;
	objects) run objects "$work/objects" --first 2 --lanes 262144 ;;
	grow) run grow "$work/grow" ;;
	*) run "$part" "$work/gpu-growth" "$part" ;;
	esac
	done_parts="$done_parts $part "
done

if [ "${KEEP:-0}" = 1 ] && [ -s "$csv" ]; then
	grep -v '^#\|^what,' "$csv" | while IFS=, read -r what rest; do
		case $done_parts in
		*" $what "*) ;;
		*) echo "$what,$rest" ;;
		esac
	done > "$work/kept"
fi
{
	print_head "tools/bench/gpu-growth.sh" "part of gpu-growth.cu; what of it; value; unit; target, met (value at most\
 target) and ratio (value to target), each - where there is no target"
	echo what,parameter,value,unit,target,met,ratio
	cat "$work/kept" "$work/rows" 2> /dev/null
} > "$work/csv"
if ! { cp "$work/csv" "$csv.tmp" && mv "$csv.tmp" "$csv"; }; then
	rm -f "$csv.tmp"
	stop 2 "$csv could not be written"
fi
echo
awk -F, '/^#/ || $1 == "what" { next }
	{ printf "%-9s %-58s %12s %-9s %10s %s\n", $1, $2, $3, $4, $5 == "-" ? "" : "(" $5 ")", $6 == "no" ? "missed" : "" }' \
	"$csv"
echo "written to $csv and $log after $(($(date +%s) - start)) s"
exit $failed
