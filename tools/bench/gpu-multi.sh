#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# gpu-multi.sh [MAM [FOLDER]] - mam on two GPUs: collectives, training, processes that share memory, pools and heaps.
#
#   MAM     the installed command; libmam.so and mam/*.h are next to it, in ../lib and ../include
#   FOLDER  for multi-<gpu>x<count>.csv and .log; default: $OUT, or results/<gpu> of this folder
#
# Parts, in the order of the run:
#   info     what mam info prints about links
#   heap     an in-kernel heap on one GPU, used by kernels of the other (clients/gpu-multi.cu)
#   peers    copies and kernels between pools of two GPUs (tests/clients/kernels/peer_pools.cu), and their speed
#   oom      out of memory on one GPU while the other one works (tests/clients/kernels/two_devices.cu); with traces and
#            statistics of it, for mam replay --device and the sections of mam info
#   ranks    NCCL's all-reduce, DDP and FSDP under torchrun (frameworks/torch_ranks.py) with PyTorch's own allocator,
#            expandable segments, mam as extension and plug-in, and under mam run with PyTorch's cache and without
#   ipc      handles per minute, cached opens, processes that are killed (clients/ipc_rate.cu)
#   pairs    eight threads on two GPUs compared with two processes of four
#   tensors  tensors that torch.multiprocessing shares (frameworks/torch_ipc.py). PyTorch cannot share any without its
#            cache, with or without mam
# multi-<gpu>x<count>.csv is rewritten after each part, so that earlier measurements are kept if the machine is lost.
#
# Environment:
#   PARTS          some of these (all)
#   MODES          allocators of part ranks: own expandable plug plug-vmm extension extension-vmm run run-vmm nocache
#                  nocache-vmm (all)
#   BUDGET (300)   seconds; parts without time left have a row with the reason
#   NVCC, PYTHON, BENCH_COMMIT (if the tree has no .git)
# NVLink multicast stays off (NCCL_NVLS_ENABLE=0).
# Exit status: 0, 1 if a row failed, 2 for invalid usage, 77 without two GPUs or nvcc.

started=$(date +%s)
here=$(cd "$(dirname "$0")" && pwd)
script='gpu-multi' # for the messages of gpu-lib.sh
budget=${BUDGET:-300}
all_parts='info heap peers oom ranks ipc pairs tensors'
all_modes='own expandable plug-vmm run nocache-vmm extension-vmm run-vmm plug nocache extension'
parts=${PARTS:-$all_parts}
modes=${MODES:-$all_modes}

# shellcheck source=tools/bench/gpu-lib.sh
. "$here/gpu-lib.sh"
gpu_parts "$all_parts" "$parts"
for mode in $modes; do
	case " $all_modes " in
	*" $mode "*) ;;
	*) stop 2 "there is no mode '$mode'; MODES are some of: $all_modes" ;;
	esac
done
gpu_start "$@"
gpu_install
count=$(nvidia-smi --query-gpu=name --format=csv,noheader | wc -l)
[ "$count" -ge 2 ] || stop 77 'there are fewer than two GPUs'
gpu_work
python=${PYTHON:-$(command -v python3)}
file=$folder/multi-${gpu_name}x$count.csv
log=$folder/multi-${gpu_name}x$count.log
tests=$here/../../tests/clients
rows=$work/rows
waiting=''
failures=0
: > "$rows"
: > "$log"
PYTHONDONTWRITEBYTECODE=1
PYTHONPATH=$here/frameworks:$here/../../python
LD_LIBRARY_PATH=$library${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
NCCL_NVLS_ENABLE=0 TORCH_SYMM_MEM_DISABLE_MULTICAST=1 TORCH_NCCL_USE_COMM_NONBLOCKING=0 CUDA_DEVICE_ORDER=PCI_BUS_ID
export PYTHONDONTWRITEBYTECODE PYTHONPATH LD_LIBRARY_PATH NCCL_NVLS_ENABLE TORCH_SYMM_MEM_DISABLE_MULTICAST \
	TORCH_NCCL_USE_COMM_NONBLOCKING CUDA_DEVICE_ORDER

left()
{
	echo $((budget - $(date +%s) + started))
}

# --- rows -----------------------------------------------------------------------------------------------------------

write_rows()
{
	{
		print_head "PARTS=\"$parts\" BUDGET=$budget tools/bench/gpu-multi.sh" "part; mode (who allocates: own is\
 PyTorch's allocator, expandable with expandable segments; plug, extension: mam, with -vmm on mapped memory, with -peers for kernels of several devices; run: PyTorch's\
 allocator under mam run; nocache: the same without PyTorch's cache; cuda: cudaMalloc; library: a pool); parameter (bytes,\
 devices); metric; value; ratio; to (what the ratio refers to); result (yes, or what came of it)"
		echo part,mode,parameter,metric,value,ratio,to,result
		cat "$rows"
	} > "$file.tmp" && mv "$file.tmp" "$file" && return
	rm -f "$file.tmp"
	echo "gpu-multi: $file could not be written" >&2
	failures=$((failures + 1))
}

row() # PART MODE PARAMETER METRIC VALUE RATIO TO RESULT
{
	row_result=$(printf '%s' "$8" | tr ',\n' '; ')
	echo "$1,$2,$3,$4,$5,$6,$7,$row_result" >> "$rows"
	case $8 in
	yes | - | skipped*) ;;
	*)
		failures=$((failures + 1))
		echo "FAIL: $1 $2 $3 $4 $5: $row_result"
		;;
	esac
	write_rows
}

# shellcheck disable=SC2317 # the trap calls it
end()
{
	end_status=$?
	trap - EXIT
	for end_rank in $waiting; do
		kill "$end_rank" 2> /dev/null
	done
	write_rows
	print_table
	echo "written to $file after $((budget - $(left))) s"
	rm -rf "$work"
	[ "$end_status" -eq 0 ] && [ "$failures" -gt 0 ] && end_status=1
	exit "$end_status"
}
trap end EXIT

# The ratios that matter, a line for each mode; of all-reduce the lowest of all sizes.
# shellcheck disable=SC2317 # end() calls it
print_table()
{
	awk -F, '
	{ part = $1; metric = $4
	  if (part ~ /^(allreduce|ddp|fsdp)$/) { metric = part "." metric; part = "ranks" }
	  key = sprintf("%-8s %-18s", part, $2)
	  if (!(key in seen)) { seen[key] = 1; order[++count] = key }
	  if ($8 !~ /^(yes|-)$/) bad[key] = bad[key] "; " metric " " $8
	  if ($6 == "-" && $5 ~ /^(0|-)$/) next
	  if (!((key, metric) in value)) { names[key] = names[key] " " metric; value[key, metric] = $6 == "-" ? "=" $5 : $6 }
	  else if ($6 != "-" && $6 < value[key, metric]) value[key, metric] = $6 }
	END { for (i = 1; i <= count; i++) {
		key = order[i]; line = ""; n = split(names[key], name, " ")
		for (j = 1; j <= n; j++) line = line " " name[j] (value[key, name[j]] ~ /^=/ ? "" : " x") value[key, name[j]]
		print key line bad[key] } }' "$rows" | cut -c 1-190
}

wanted() # PART
{
	case " $parts " in
	*" $1 "*) return 0 ;;
	esac
	return 1
}

# Whether SECONDS are left for a part; otherwise it gets a row.
time_for() # SECONDS PART MODE
{
	if [ "$(left)" -ge "$1" ]; then
		echo "[$((budget - $(left))) s] $2 $3" | tee -a "$log" >&2
		return 0
	fi
	row "$2" "$3" - - - - - "skipped: no time was left of $budget s"
	return 1
}

run() # SECONDS COMMAND... - leaves $work/out, $work/err and the status in $status
{
	run_limit=$1
	shift
	timeout -k 5 "$run_limit" "$@" > "$work/out" 2> "$work/err"
	status=$?
	{ echo "\$ $*" && cat "$work/out" "$work/err" && echo "status $status"; } >> "$log"
	return "$status"
}

last_words()
{
	tail -n 2 "$work/err" | tr '\n' ' ' | cut -c 1-200
}

said() # KEY [FILE] - its number
{
	said_found=$(sed -n "s/^$1 //p" "${2:-$work/out}" 2> /dev/null | tail -n 1)
	echo "${said_found:--}"
}

ratio() # VALUE REFERENCE
{
	awk -v a="$1" -v b="$2" 'BEGIN { if (a ~ /^[0-9.]+$/ && b ~ /^[0-9.]+$/ && b > 0) printf "%.3f", a / b; else printf "-" }'
}

judge() # STATUS - yes, or what came of the last run
{
	if [ "$1" -eq 0 ]; then
		echo yes
	else
		echo "failed: status $1: $(last_words)"
	fi
}

numbers() # PART MODE PARAMETER KEY... - a row for each number of the last run
{
	numbers_result=$(judge "$status")
	numbers_part=$1 numbers_mode=$2 numbers_parameter=$3
	shift 3
	for key in "$@"; do
		value=$(said "$key")
		case $numbers_mode in
		cuda | plain) printf '%s' "$value" > "$work/reference.$key" ;;
		esac
		reference=$(cat "$work/reference.$key" 2> /dev/null)
		row "$numbers_part" "$numbers_mode" "$numbers_parameter" "$key" "$value" "$(ratio "$value" "$reference")" \
			"$([ -n "$reference" ] && echo cuda || echo -)" "$numbers_result"
	done
}

# --- programs that are built ----------------------------------------------------------------------------------------

build() # PROGRAM SOURCE OPTION... - in the background; its messages are kept
{
	build_program=$1
	shift
	{ "$nvcc" -arch="sm_$arch" -O2 -o "$work/$build_program" "$@" -I "$prefix/include" ${library:+-L "$library"} \
		> "$work/$build_program.build" 2>&1 || rm -f "$work/$build_program"; } &
	eval "built_$build_program=\$!"
}

built() # PART MODE PROGRAM
{
	eval "wait \$built_$3"
	[ -x "$work/$3" ] && return 0
	cat "$work/$3.build" >> "$log"
	row "$1" "$2" - - - - - "failed: $3 could not be built: $(tail -n 1 "$work/$3.build" | cut -c 1-200)"
	return 1
}

build multi "$here/clients/gpu-multi.cu" -lmam
build multi_peers "$here/clients/gpu-multi.cu" -DMAM_KPEERS=1 -lmam
build peer_pools "$tests/kernels/peer_pools.cu" -lmam
build two_devices "$tests/kernels/two_devices.cu"
build two_devices_library "$tests/kernels/two_devices.cu" -DTWO_DEVICES_LIBRARY -lmam
build ipc_rate "$here/clients/ipc_rate.cu"

# --- ranks ----------------------------------------------------------------------------------------------------------

has_torch=no
if "$python" -c 'import importlib.util as u, sys; sys.exit(u.find_spec("torch") is None)' 2> /dev/null; then
	has_torch=yes
fi

# A mode imports PyTorch while other parts run, and waits for its turn.
start_mode() # MODE
{
	set -- "$1" "$here/frameworks/torch_ranks.py" "$work" "$1" 25 allreduce,ddp,fsdp
	starting=$1
	shift
	source=cudamalloc
	case $starting in
	*-vmm) source=vmm ;;
	esac
	case $starting in
	extension*) set -- "$@" --extension ;;
	plug*) set -- "$@" --plug "$library/libmam.so" ;;
	esac
	case $starting in
	run | nocache) # the launcher starts mam run
		set -- --no-python "$mam" run --source=$source --stats="$work/$starting.stats.%r.%p" -- "$python" "$@"
		;;
	esac
	set -- "$python" -m torch.distributed.run --standalone --nproc-per-node 2 "$@"
	case $starting in
	run-vmm | nocache-vmm) # mam run starts the launcher
		set -- "$mam" run --source=$source --stats="$work/$starting.stats.%r.%p" -- "$@"
		;;
	esac
	case $starting in
	expandable) set -- env PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True PYTORCH_ALLOC_CONF=expandable_segments:True "$@" ;;
	extension* | plug*) set -- env MAM_SOURCE=$source "$@" ;;
	nocache*) set -- env PYTORCH_NO_CUDA_MEMORY_CACHING=1 "$@" ;;
	esac
	timeout -k 5 "$budget" "$@" > "$work/$starting.log" 2>&1 &
	eval "rank_$(echo "$starting" | tr - _)=\$!"
	waiting="$waiting $!"
}

# The output of the ranks of MODE, as rows.
rank_rows() # MODE
{
	for rank_part in allreduce ddp fsdp; do
		mine=$work/$1.$rank_part
		result=yes
		for rank in 0 1; do
			if [ "$(said status "$mine.$rank.err")" != 0 ]; then
				result="failed: rank $rank: $(cat "$work/$1.log" "$mine.$rank.err" 2> /dev/null | grep '^[A-Za-z._]*Error' |
					tail -n 1 | cut -c 1-200)"
				tail -n 25 "$mine.$rank.err" "$work/$1.log" >> "$log" 2>&1
			fi
		done
		if [ $rank_part = allreduce ]; then
			[ "$result" = yes ] || row allreduce "$1" - - - - - "$result"
			while read -r bytes kind speed; do
				reference=$(sed -n "s/^$bytes $kind //p" "$work/own.allreduce.0.out" 2> /dev/null)
				to=own
				[ "$kind" = ncclmem ] && to='own registered' &&
					reference=$(sed -n "s/^$bytes registered //p" "$work/own.allreduce.0.out" 2> /dev/null)
				case $speed in
				*[!0-9.]*) row allreduce "$1" "$bytes" "$kind" - - - "failed: $speed" ;;
				*) row allreduce "$1" "$bytes" "$kind" "$speed" "$(ratio "$speed" "$reference")" "$to" yes ;;
				esac
			done < "$mine.0.out"
			continue
		fi
		ms=$(said ms_per_step "$mine.0.err")
		bytes=0
		for rank in 0 1; do
			before=$(said device_before "$mine.$rank.err")
			peak=$(said device_peak "$mine.$rank.err")
			[ "$before" != - ] && [ "$peak" != - ] && [ $((peak - before)) -gt "$bytes" ] && bytes=$((peak - before))
		done
		echo "device_bytes $bytes" > "$mine.bytes"
		if [ "$result" = yes ] && ! { cmp -s "$mine.0.out" "$work/own.$rank_part.0.out" &&
			cmp -s "$mine.1.out" "$work/own.$rank_part.1.out"; }; then
			result='no: losses differ'
		fi
		row $rank_part "$1" 2 ms_per_step "$ms" "$(ratio "$ms" "$(said ms_per_step "$work/own.$rank_part.0.err")")" own "$result"
		row $rank_part "$1" 2 device_bytes "$bytes" \
			"$(ratio "$bytes" "$(said device_bytes "$work/expandable.$rank_part.bytes")")" expandable "$result"
	done
}

ranks() # MODE...
{
	for mode in "$@"; do
		time_for 14 ranks "$mode" || continue
		: > "$work/$mode.go"
		eval "wait \$rank_$(echo "$mode" | tr - _)"
		rank_rows "$mode"
	done
}

# The statistics of all ranks in one table.
rank_stats()
{
	for mode in run nocache-vmm; do
		set -- "$work/$mode".stats.*
		[ -e "$1" ] || continue
		run 10 "$mam" info --stats "$@"
		row stats $mode 2 ranks "$(awk '$1 ~ /^[01]$/ { rows++ } END { print rows + 0 }' "$work/out")" - - "$(judge "$status")"
	done
}

# --- the other parts ------------------------------------------------------------------------------------------------

info()
{
	time_for 5 info mam || return
	run 20 "$mam" info
	case $(cat "$work/out") in
	*NVLink*0-1*) result=yes ;;
	*) result=$(grep '^link' "$work/out" | head -n 1) result="found: ${result:-no link}" ;;
	esac
	row info mam 2 link "$(sed -n 's/^link *//p' "$work/out" | head -n 1 | tr , ';')" - - "$result"
	row info mam 2 nccl "$(sed -n 's/^ *NCCL uses //p' "$work/out" | head -n 1 | tr , ';')" - - "$(judge "$status")"
}

heap()
{
	for mode in library-cudamalloc library-vmm library-vmm-peers; do
		program=multi source=${mode#library-}
		case $mode in
		*-peers) program=multi_peers source=${source%-peers} ;;
		esac
		time_for 6 heap $mode || continue
		built heap $mode $program || continue
		run 20 "$work/$program" heap "$source"
		result=$(judge "$status")
		row heap $mode 2 local_ns_per_pair "$(said local_ns_per_pair)" - - "$result"
		row heap $mode 2 remote_ns_per_pair "$(said remote_ns_per_pair)" \
			"$(ratio "$(said remote_ns_per_pair)" "$(said local_ns_per_pair)")" local "$result"
		row heap $mode 2 wrong_objects "$(said wrong_objects)" - - "$result"
		row heap $mode 2 wrong_objects_at_once "$(said wrong_objects_at_once)" - - "$result"
	done
}

peers()
{
	if time_for 8 peers library-vmm && built peers library-vmm peer_pools; then
		run 30 "$work/peer_pools"
		row peers library-vmm 2 peer_pools "$(tail -n 1 "$work/out" | tr , ';')" - - "$(judge "$status")"
	fi
	for source in cuda cudamalloc vmm; do
		mode=$source
		[ $source = cuda ] || mode=library-$source
		time_for 5 peers "$mode" || continue
		built peers "$mode" multi || continue
		run 20 "$work/multi" peer $source
		numbers peers "$mode" 1GiB peer_write_gb_per_s peer_read_gb_per_s peer_copy_gb_per_s
		row peers "$mode" 1GiB wrong_words "$(said wrong_words)" - - "$(judge "$status")"
	done
}

oom()
{
	for mode in run-cudamalloc-deferred run-vmm-strict library-vmm; do
		time_for 5 oom $mode || continue
		case $mode in
		run-*)
			source=${mode#run-}
			built oom $mode two_devices || continue
			run 30 "$mam" run --source="${source%-*}" --free="${source#*-}" --stats="$work/oom.stats" --trace="$work/oom.trace" \
				-- "$work/two_devices"
			;;
		library-*)
			built oom $mode two_devices_library || continue
			run 30 "$work/two_devices_library" "${mode#library-}"
			;;
		esac
		row oom $mode 2 request_ms "$(sed -n 's/.*request took \([0-9.]*\) ms.*/\1/p' "$work/out" | sort -n | tail -n 1)" \
			- - "$(judge "$status")"
	done
	[ -e "$work/oom.trace" ] || return
	run 20 "$mam" replay --device all "$work/oom.trace"
	row replay device-all 2 devices "$(grep -c ', device [01]: ' "$work/out")" - - "$(judge "$status")"
	run 20 "$mam" info --stats "$work/oom.stats"
	row stats one-process 2 devices "$(awk '$2 == "device" { all = 1 } all && $2 ~ /^[01]$/ { rows++ }
		END { print rows + 0 }' "$work/out")" - - "$(judge "$status")"
}

ipc()
{
	for mode in plain run-cudamalloc run-vmm; do
		time_for 12 ipc $mode || continue
		built ipc $mode ipc_rate || continue
		set -- "$work/ipc_rate" 2000 2 0 1
		[ $mode = plain ] || set -- "$mam" run --source="${mode#run-}" -- "$@"
		run 40 "$@"
		numbers ipc $mode 0-1 handles_per_minute cached_open_ns cached_close_ns leaked_bytes left_files wrong
	done
}

# Two devices in one process, compared with a process per device that run at the same time.
pairs()
{
	for mode in library-cudamalloc library-vmm run-cudamalloc run-vmm; do
		time_for 9 pairs $mode || continue
		built pairs $mode multi || continue
		source=cuda
		set -- env
		case $mode in
		library-*) source=${mode#library-} ;;
		run-*) set -- "$mam" run --source="${mode#run-}" -- ;;
		esac
		start=$(($(date +%s) + 3))
		for device in 0 1; do
			timeout -k 5 20 "$@" "$work/multi" pairs "$source" $device 1 4 $start > "$work/pairs.$device" 2>> "$log" &
			eval "pairs_$device=\$!"
		done
		# shellcheck disable=SC2154 # set by eval
		wait "$pairs_0" "$pairs_1"
		apart=$(($(said pairs_per_second "$work/pairs.0" | tr -c '0-9\n' 0) + $(said pairs_per_second "$work/pairs.1" | tr -c '0-9\n' 0)))
		run 20 "$@" "$work/multi" pairs "$source" 0 2 8 $(($(date +%s) + 3))
		row pairs $mode 2x4 two_processes_per_s "$apart" - - -
		row pairs $mode 2x4 one_process_per_s "$(said pairs_per_second)" "$(ratio "$(said pairs_per_second)" "$apart")" \
			two_processes "$(judge "$status")"
	done
}

# Correctness alone, so all run at the same time.
tensors()
{
	time_for 20 tensors all || return
	for mode in plain run run-vmm; do
		set -- "$python" "$here/frameworks/torch_ipc.py"
		case $mode in
		run) set -- "$mam" run --source=cudamalloc -- "$@" ;;
		run-vmm) set -- "$mam" run --source=vmm -- "$@" ;;
		esac
		timeout -k 5 "$(left)" "$@" > "$work/tensors.$mode" 2> "$work/tensors.$mode.err" &
		eval "tensors_$(echo $mode | tr - _)=\$!"
	done
	for mode in plain run run-vmm; do
		eval "wait \$tensors_$(echo $mode | tr - _)"
		status=$?
		cp "$work/tensors.$mode.err" "$work/err"
		cat "$work/tensors.$mode" "$work/err" >> "$log"
		result=$(judge "$status")
		cmp -s "$work/tensors.plain" "$work/tensors.$mode" || [ "$status" -ne 0 ] || result='no: output differs'
		row tensors $mode 2 ms_per_round "$(said ms_per_round "$work/err")" - - "$result"
	done
}

if wanted ranks; then
	if [ $has_torch = no ]; then
		row ranks own - - - - - 'skipped: python3 has no torch'
	else
		"$python" -c 'from mam import torch_build; torch_build.load()' >> "$log" 2>&1 &
		extension=$!
		for mode in $modes; do
			start_mode "$mode"
		done
	fi
fi
wanted info && info
wanted heap && heap
wanted peers && peers
wanted oom && oom
if wanted ranks && [ $has_torch = yes ]; then
	wait "$extension"
	# shellcheck disable=SC2046 # words
	ranks $(echo "$modes" | tr ' ' '\n' | head -n 6)
	rank_stats
fi
wanted ipc && ipc
wanted pairs && pairs
[ $has_torch = yes ] && wanted tensors && tensors
if wanted ranks && [ $has_torch = yes ]; then
	# shellcheck disable=SC2046 # words
	ranks $(echo "$modes" | tr ' ' '\n' | tail -n +7)
fi
exit 0
