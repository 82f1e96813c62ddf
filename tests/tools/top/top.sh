#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# top.sh - mam top without a screen: the table, the lines and the JSON of stand-in pages and of a
# program; options; invalid pages; NVML; and that reader and writer do not wait for each other.
# shellcheck disable=SC2317 # called through wait_for and refused_by

. "${MAM_SRCDIR:-.}/tests/lib.sh"
. "$MAM_SRCDIR/tests/tools/top/top_lib.sh"

top() # ARGUMENT... - sets $status
{
	"$MAM" top "$@" > "$scratch/out" 2> "$scratch/err"
	status=$?
}
refused_top()
{
	"$MAM" top "$@" > "$scratch/out" 2> "$scratch/err"
}
refused() # NAME TEXT ARGUMENT...
{
	refused_name=$1
	refused_text=$2
	shift 2
	refused_by refused_top "$refused_name" 2 "$refused_text" "$@"
}

try "stand-in pages are built" build_pages

# ---- options ----
top --help
explained_in "$MAM_SRCDIR/tools/mam-top.1"
refused "an argument" "unexpected argument 'now'; see 'mam top --help'" now
refused "two forms" "exclude each other" --plain --json
for delay in 0 -1 0.05 86401 x 1x nan inf ''; do
	refused "delay '$delay'" "is not a number of seconds from 0.1 to 86400" --plain -d "$delay"
done
top
same "no terminal: one table" "0 as with --plain" \
	"$status $(sed 1d "$scratch/out" > "$scratch/one"; "$MAM" top -n 1 --plain | sed 1d | cmp - "$scratch/one" && echo as with --plain)"
("$MAM" top -n 3 -d 0.1 -p > /dev/full) 2> "$scratch/err"
same "full disk" "2 mam top: error: cannot write to standard output" "$? $(cat "$scratch/err")"

# ---- no process ----
top -n 1 --plain
same "no process: a table without rows" "0 0 processes PID" "$status $(sed '1s/^.*, //; 2s/^ *PID  PROGRAM .*/PID/; /^$/d' "$scratch/out" |
	paste -sd ' ')"
top -n 1 --json
same "no process: JSON" '{"time":T,"processes":[],"nvml":[]}' "$(sed 's/"time":[0-9.]*/"time":T/' "$scratch/out")"

# ---- processes ----
start_pages 3
top -n 1 --plain
same "table" "PROGRAM GPU LIVE CACHED RETIRED RESERVED PEAK ALLOC/S FAIL DRIVER
train 0 7.00G 1.75G 896M 14.0G 7.88G - 0 1.79s
worker-2 2 48.0M 12.0M 6.00M 96.0M 54.0M - 0 12.0ms
worker-1 1 32.0M 8.00M 4.00M 64.0M 36.0M - 0 8.00ms
train 1 16.0M 4.00M 2.00M 32.0M 18.0M - 0 4.00ms" "$(sed '1d; /^$/d' "$scratch/out" | awk '{ $1 = ""; sub(/^ /, ""); print }')"
same "table: nothing on stderr" "" "$(cat "$scratch/err")"
top -n 1 -p
same "lines: all have the fields of the heading" "22 7" "$(awk -F '\t' '{ if (!seen[NF]++) fields = fields NF } END { print fields, NR }' "$scratch/out")"
field() # NAME ROW-PATTERN
{
	awk -F '\t' -v name="$1" -v row="$2" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i } $0 ~ row { print $at }' "$scratch/out"
}
same "lines: a pool" "vmm 0 in_use 4294967296 12288 8589934592 1024000000 40960" "$(for name in source gpu state live_bytes live_blocks reserved_bytes \
	driver_ns allocs; do field $name optimizer; done | paste -sd ' ')"
same "lines: no rate in the first sample" "" "$(field allocs_per_second optimizer)"
train=$(field pid optimizer)
top -n 2 -d 0.3 -p
same "lines: one heading, and every sample" "1 13" "$(grep -c '^time' "$scratch/out") $(wc -l < "$scratch/out" | tr -d ' ')"
same "lines: a rate in the second sample" "0.0" "$(field allocs_per_second optimizer | tail -n 1)"
top -n 1 --json
if command -v python3 > /dev/null; then
	python3 - "$scratch/out" > "$scratch/json" 2>&1 <<- 'END'
		import json, sys
		top = json.load(open(sys.argv[1]))
		train = next(p for p in top["processes"] if p["program"] == "train")
		print([g["gpu"] for g in train["gpus"]], [p["name"] for p in train["pools"]])
		print(train["gpus"][0]["live_bytes"], train["gpus"][0]["pools"], train["gpus"][0]["allocs_per_second"], train["rank"])
	END
	same "JSON" "[0, 1] ['default', 'activations', 'optimizer', 'default']
7516192768 3 None None" "$(cat "$scratch/json")"
else
	skip "JSON" "there is no python3"
fi

# ---- a program that is stopped is shown, and a reader that is stopped delays no writer ----
kill -STOP "$train"
top -n 1 --plain
same "stopped program is shown" "0 2" "$status $(grep -c "^ *$train " "$scratch/out")"
kill -CONT "$train"
mkfifo "$scratch/pipe"
"$MAM" top -d 0.1 -p > "$scratch/pipe" &
reader=$!
exec 7< "$scratch/pipe"
head -n 1 <&7 > /dev/null
kill -STOP "$reader"
echo "grow 1 1048576" >&8
changed()
{
	top -n 1 -p
	[ "$(field live_bytes worker-1)" = 34603008 ]
}
try "stopped reader: the program goes on" wait_for "stopped reader: the program goes on" changed
kill -CONT "$reader"
exec 7<&-
wait "$reader"
same "closed pipe: SIGPIPE ends it" $((128 + 13)) $?

# ---- invalid pages ----
head -c 1000 "$XDG_RUNTIME_DIR/mam/$train-"* > "$scratch/head"
start=$(echo "$XDG_RUNTIME_DIR/mam/$train-"* | sed "s/.*-\([0-9]*\)-0/\1/")
cp "$scratch/head" "$XDG_RUNTIME_DIR/mam/$train-$start-1"
top -n 3 -d 0.1 --plain
same "invalid page: one warning, and the others are shown" "0 1 1 12" "$status $(wc -l < "$scratch/err" | tr -d ' ') \
$(grep -c "mam top: warning: '.*/mam/$train-$start-1' is not a valid statistics page" "$scratch/err") $(grep -c -e train -e worker- "$scratch/out" | tr -d ' ')"
rm "$XDG_RUNTIME_DIR/mam/$train-$start-1"

# ---- NVML ----
cat > "$scratch/nvml.c" << 'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct memory { unsigned long long total, free, used; };
struct user { unsigned int pid; unsigned long long used; unsigned int gpu_instance, compute_instance; };
int nvmlInit_v2(void) { return getenv("NVML_FAILS") != NULL; }
int nvmlDeviceGetCount_v2(unsigned int *count) { *count = 3; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned int i, void **device) { *device = (char *)0 + i; return i == 2; }
int nvmlDeviceGetName(void *device, char *name, unsigned int bytes) { snprintf(name, bytes, "GPU \"%d\"", (int)(long)device); return 0; }
int nvmlDeviceGetMemoryInfo(void *device, struct memory *memory)
{ memory->total = 80ULL << 30; memory->used = (1ULL << 30) << (long)device; return 0; }
int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned int *count, struct user *users)
{
	users[0] = (struct user){ (unsigned int)atoi(getenv("NVML_PID")), (long)device ? 64ULL << 20 : 15ULL << 30, 0, 0 };
	users[1] = (struct user){ (unsigned int)getppid(), 5, 0, 0 };
	*count = 2;
	return 0;
}
END
mkdir "$scratch/nvml"
# shellcheck disable=SC2086 # flags are words
if $CC ${CFLAGS:-} -include unistd.h -shared -fPIC "$scratch/nvml.c" -o "$scratch/nvml/libnvidia-ml.so.1" 2> "$scratch/err"; then
	LD_LIBRARY_PATH=$scratch/nvml${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} NVML_PID=$train
	export LD_LIBRARY_PATH NVML_PID
	top -n 1 --plain
	same "NVML: a column" "NVML 15.0G - - 64.0M" "$(awk 'NR > 1 && NF { print $NF }' "$scratch/out" | paste -sd ' ')"
	top -n 1 --json
	same "NVML: JSON" '"nvml":[{"index":0,"name":"GPU \"0\"","used_bytes":1073741824,"total_bytes":85899345920},'\
'{"index":1,"name":"GPU \"1\"","used_bytes":2147483648,"total_bytes":85899345920},'\
'{"index":2,"name":"","used_bytes":0,"total_bytes":0}]}' "$(sed 's/^.*\("nvml":\)/\1/' "$scratch/out")"
	same "NVML: bytes of a process" 16106127360 "$(sed 's/^.*"program":"train"[^}]*"nvml_bytes":\([0-9]*\).*/\1/' "$scratch/out")"
	NVML_FAILS=1 top -n 1 --json
	same "NVML: it fails" 1 "$(grep -c '"nvml":\[\]}$' "$scratch/out")"
else
	skip "NVML" "a stand-in library cannot be built: $(lib_tail "$scratch/err")"
fi
stop_pages
top -n 1 --plain
same "processes that ended are not shown" "0 0" "$status $(grep -c -e train -e worker- "$scratch/out")"
finish
