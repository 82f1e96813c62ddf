# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
#
# gpu-lib.sh - functions shared by gpu-*.sh. A script sets $here to its folder and $script to its name, sets the
# defaults of its arguments, sources this file, and calls one of:
#   gpu_start    of gpu-clients.sh and gpu-stress.sh: which mam, which GPU, which compiler, and the head of a results
#                file. Sets mam, folder, nvcc, gpu, gpu_name (short: h100-80gb-hbm3 is h100), arch, cuda_home, commit
#                gpu_install, called after it, finds the library and headers that programs are built against
#   bench_start  of gpu-pages.sh and gpu-device.sh, which compile nothing. Sets mam, folder, gpu (short), csv, log,
#                begun, work (a folder that is removed at the end), budget, start, failed
# shellcheck disable=SC2034,SC2154 # shared with those

stop() # STATUS SENTENCE
{
	echo "$script: $2" >&2
	exit "$1"
}

first_line() # COMMAND... - or "unknown"
{
	lib_first=$("$@" 2> /dev/null | head -n 1)
	echo "${lib_first:-unknown}"
}

gpu_start() # [MAM [FOLDER]]
{
	mam=${1:-${MAM:-$(command -v mam)}}
	folder=${2:-${OUT:-}}
	case $mam in
	'') stop 2 'the mam command was not found: name it as the first argument' ;;
	/*) ;;
	*) mam=$(pwd)/$mam ;;
	esac
	[ -x "$mam" ] || stop 2 "$mam cannot be run: name the installed mam command as the first argument"
	if [ -n "$folder" ] && { [ ! -d "$folder" ] || [ ! -w "$folder" ]; }; then
		stop 2 "$folder is not a writable folder"
	fi
	nvcc=${NVCC:-$(command -v nvcc || command -v /usr/local/cuda/bin/nvcc)}
	[ -n "$nvcc" ] || stop 77 'nvcc was not found: set NVCC, or add it to PATH'
	gpu=$(nvidia-smi --query-gpu=name --format=csv,noheader 2> /dev/null | head -n 1)
	[ -n "$gpu" ] || stop 77 'nvidia-smi names no GPU'
	gpu_name=$(echo "$gpu" | tr '[:upper:] ' '[:lower:]-' |
		sed 's/^nvidia-//; s/-[0-9]*gb.*//; s/[^a-z0-9-]//g')
	if [ -z "$folder" ]; then
		folder=$here/results/$gpu_name
		mkdir -p "$folder" || stop 2 "cannot create '$folder': name another folder as the second argument"
	fi
	arch=$(first_line nvidia-smi --query-gpu=compute_cap --format=csv,noheader | tr -d .)
	case $arch in
	*[!0-9]* | '') arch=90 ;;
	esac
	cuda_home=$(dirname "$(dirname "$(readlink -f "$nvcc")")")
	commit=${BENCH_COMMIT:-$(first_line git -C "$here" rev-parse --short HEAD)}
}

gpu_install() # the library and the headers of $mam. Sets prefix and library
{
	prefix=${MAM_PREFIX:-$(dirname "$(dirname "$(readlink -f "$mam")")")}
	for library in "$prefix/lib" "$prefix/lib64" ''; do
		[ -e "$library/libmam.so" ] && [ -e "$prefix/include/mam/heap.cuh" ] && return
	done
	stop 2 "there is no libmam below $prefix: set MAM_PREFIX to where mam was installed"
}

gpu_parts() # ALL CHOSEN - checks that each selected part exists
{
	for part in $2; do
		case " $1 " in
		*" $part "*) ;;
		*) stop 2 "there is no part '$part'; PARTS are some of: $1" ;;
		esac
	done
}

gpu_work() # a folder that is removed at the end. Sets work
{
	work=$(mktemp -d "${TMPDIR:-/tmp}/$script.XXXXXX") || exit 2
	trap 'rm -rf "$work"' EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
}

bench_start() # WHAT MAM FOLDER - of mam bench WHAT; numbers go to FOLDER/WHAT-<gpu>.csv
{
	mam=$2
	folder=$3
	[ -x "$mam" ] || stop 2 "$mam is not a program; give the path of the mam command"
	mkdir -p "$folder" || stop 2 "$folder cannot be made; choose another folder"
	case $budget in
	'' | *[!0-9]*) stop 2 "BUDGET is a number of seconds, not '$budget'" ;;
	esac
	name=$(nvidia-smi --query-gpu=name --format=csv,noheader 2> /dev/null | head -n 1)
	[ -n "$name" ] || stop 77 "nvidia-smi finds no GPU; run this on a machine that has one"
	# "NVIDIA H100 80GB HBM3" -> h100; "NVIDIA GeForce RTX 4090" -> rtx4090
	gpu=$(printf '%s\n' "$name" | tr '[:upper:]' '[:lower:]' |
		sed -e 's/nvidia//g; s/geforce//; s/tesla//; s/quadro//; s/\(rtx\|gtx\) */\1/' -e 's/^ *//' \
			-e 's/[ -].*//' -e 's/[^a-z0-9]//g')
	[ -n "$gpu" ] || gpu=gpu
	csv=$folder/$1-$gpu.csv
	log=$folder/$1-$gpu.log
	begun=$folder/$1-$gpu.begun
	: > "$log"
	: > "$begun"
	rm -f "$csv"
	gpu_work
	start=$(date +%s)
	failed=0
}

left() # seconds of the budget
{
	left_now=$((budget - ($(date +%s) - start)))
	echo $((left_now > 1 ? left_now : 1))
}

say() # WORD...
{
	echo "$*" | tee -a "$log"
}

find_sanitizer()
{
	command -v compute-sanitizer || command -v "${CUDA_HOME:-/usr/local/cuda}/bin/compute-sanitizer"
}

# Runs a bench on small heaps under compute-sanitizer, where kernels may take long.
sanitize() # TOOL WHOM WHAT OPTION...
{
	sanitize_tool=$1
	sanitize_whom=$2
	sanitize_what=$3
	shift 3
	[ "$(left)" -gt 8 ] || { say "compute-sanitizer $sanitize_tool, $sanitize_whom: no time left"; return; }
	BENCH_GRACE=60 timeout -k 5 "$(left)" "$sanitizer" --tool "$sanitize_tool" --target-processes all --error-exitcode 9 \
		"$mam" bench "$sanitize_what" --smoke "$@" -p > "$work/words" 2>&1
	sanitize_status=$?
	cat "$work/words" >> "$log"
	say "compute-sanitizer $sanitize_tool, $sanitize_whom: status $sanitize_status; $(
		grep 'ERROR SUMMARY\|RACECHECK SUMMARY' "$work/words" | tail -n 1 | sed 's/=* *//')"
	[ $sanitize_status -eq 0 ] || failed=1
}

# The eight lines at the beginning of every results file.
print_head() # COMMAND COLUMNS
{
	echo "# gpu: $gpu"
	echo "# driver: $(first_line nvidia-smi --query-gpu=driver_version --format=csv,noheader)"
	echo "# cuda: $("$nvcc" --version | sed -n 's/.*release \([0-9.]*\).*/\1/p')"
	echo "# cpu: $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores"
	echo "# date: $(date -u +%Y-%m-%d)"
	echo "# commit: $commit"
	echo "# command: $1"
	echo "# columns: $2"
}

# One line per client, with values that differ between modes next to each other.
print_clients() # CSV
{
	awk -F, '
	function show(n, m) { return (n, m) in value ? value[n, m] : "-" }
	function add(all, m, text) { return all (all == "" ? "" : "; ") (m == "-" ? "" : m " ") text }
	/^#/ || $1 == "client" { next }
	{ if (!($1 in seen)) { seen[$1] = 1; names[++count] = $1; correct[$1] = "-" }
	  if ($3 != "-") unit[$1] = $3
	  value[$1, $2] = $4
	  if ($2 != "plain" && $5 + 0 > calls[$1]) calls[$1] = $5
	  if ($2 != "plain" && $7 != "-" && $7 != "") route[$1] = $7
	  if ($2 != "plain" && $8 != "-" && $8 != "") ratio[$1] = ratio[$1] (ratio[$1] == "" ? "" : " ") $8
	  if ($6 == "yes" || $6 == "found" || $6 == "documented") {
		if (correct[$1] == "-") correct[$1] = "yes"
	  } else if ($6 ~ /^skipped/) {
		if (correct[$1] != "no") correct[$1] = "skipped"
		why[$1] = add(why[$1], $2, $6)
	  } else if ($6 != "-") {
		correct[$1] = "no"
		why[$1] = add(why[$1], $2, $6)
	  } }
	END { form = "%-32s %-7s %-8s %8s %-12s %11s %11s %11s %11s  %-20s %s\n"
	  printf form, "client", "route", "correct", "caught", "unit", "plain", "strict", "deferred", "stream",
		"reserved ratio", ""
	  for (i = 1; i <= count; i++) { n = names[i]
		printf form, n, route[n] == "" ? "-" : route[n], correct[n],
			calls[n] == "" ? "-" : calls[n], unit[n] == "" ? "-" : unit[n], show(n, "plain"),
			show(n, "strict"), show(n, "deferred"), show(n, "stream"),
			ratio[n] == "" ? "-" : ratio[n], why[n] } }
	' "$1"
}
