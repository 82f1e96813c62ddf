#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# whole.sh - mam ctl suspends a whole process by the driver's checkpoint, and resumes it. Whichever call
# of the driver fails or is interrupted, the process runs or is suspended, and its calls are not held.
. "${MAM_SRCDIR:-.}/tests/lib.sh"
. "$MAM_SRCDIR/tests/interpose/interpose.sh"
. "$MAM_SRCDIR/tests/interpose/control/talk.sh"

probe=$probes/probe_sleep
talk_source=vmm
XDG_RUNTIME_DIR=$scratch/run
export XDG_RUNTIME_DIR
mkdir -m 700 "$XDG_RUNTIME_DIR"

alone() # starts the probe without mam run
{
	rm -f "$scratch/in"
	: > "$scratch/out"
	mkfifo "$scratch/in"
	"$probe" < "$scratch/in" > "$scratch/out" 2> "$scratch/err" &
	process=$!
	exec 3> "$scratch/in"
	until_true has_lines 1 || not_ok "the probe starts" "$(lib_tail "$scratch/err")"
	tell "fill 4 100000" > /dev/null
}

stop() # NAME
{
	exec 3>&-
	wait "$process"
	same "$1: exit status" 0 $?
}

# The test may itself run where SIGINT is ignored, which no shell can undo.
interruptible='env --default-signal=INT'
$interruptible true 2> /dev/null || interruptible='env'

ctl() # [NAME=VALUE] ARGUMENT... - one request with a setting of the driver; stdout in out1, stderr in err1
{
	case $1 in
	*=*) setting=$1 && shift ;;
	*) setting=FAKE_CUDA_FAIL_AT= ;;
	esac
	(export "${setting?}" && exec $interruptible "$MAM" ctl "$process" "$@" > "$scratch/out1" 2> "$scratch/err1")
}

refused() # NAME TEXT
{
	same "$1: exit status" 1 $?
	same "$1: the reason" "mam ctl: error: $2" "$(sed "s/$process/PID/g" "$scratch/err1")"
}

# Suspends the process, unless it is suspended already, and resumes it. Fails if its calls are held.
not_held()
{
	ctl suspend --whole || grep -q "is already suspended" "$scratch/err1" || return 1
	ctl resume && [ "$(tell check)" = 0 ]
}

# Success, without mam run.
alone
log=$scratch/log
ctl "FAKE_CUDA_LOG=$log" suspend --whole
same "suspend a process without mam: exit status" 0 $?
same "what it prints" "suspended as a whole; the process holds no memory of a GPU" "$(cat "$scratch/out1")"
same "the steps; the driver is initialized before the first" \
	"cuCheckpointProcessGetState cuInit cuCheckpointProcessLock cuCheckpointProcessCheckpoint" \
	"$(cut -d ' ' -f 1 "$log" | paste -sd ' ')"
same "they are those of the process" 3 "$(grep -c "pid=$process result=0" "$log")"
send check
sleep 0.2
try "the process is held" test "$(wc -l < "$scratch/out")" -lt "$lines"
ctl suspend --whole
refused "a second suspend" "process PID is already suspended"
rm "$log"
ctl "FAKE_CUDA_LOG=$log" resume
same "resume: exit status" 0 $?
same "what it prints" "resumed as a whole" "$(cat "$scratch/out1")"
same "the steps" "cuCheckpointProcessGetState cuInit cuCheckpointProcessRestore cuCheckpointProcessUnlock" \
	"$(cut -d ' ' -f 1 "$log" | paste -sd ' ')"
until_true has_lines "$lines"
same "the held call goes on" 0 "$(tail -n 1 "$scratch/out")"
ctl resume
refused "a second resume" "process PID is not suspended"

# Errors of each step. The process continues.
step() # CALL CODE TEXT - of a suspend
{
	ctl "FAKE_CUDA_FAIL_AT=$1:1:$2" suspend --whole
	refused "$1 returns $2" "$3"
	same "$1 returns $2: the process continues" 0 "$(tell check)"
}

root="the driver has no access to process PID, for which it may require root"
several="the driver cannot checkpoint process PID, perhaps because of managed memory, memory of other processes or several GPUs"
step cuCheckpointProcessGetState 1 "process PID does not use CUDA"
step cuCheckpointProcessGetState 304 "$root: cuCheckpointProcessGetState returned CUDA_ERROR_OPERATING_SYSTEM (304)"
step cuCheckpointProcessGetState 801 \
	"the driver cannot checkpoint process PID: cuCheckpointProcessGetState returned CUDA_ERROR_NOT_SUPPORTED (801)"
step cuInit 100 "the CUDA driver cannot be used: cuInit returned CUDA_ERROR_NO_DEVICE (100)"
step cuCheckpointProcessLock 600 "calls or work of process PID have not ended within 10 seconds; it continues"
step cuCheckpointProcessLock 401 "another command suspends or resumes process PID"
step cuCheckpointProcessLock 800 "$root: cuCheckpointProcessLock returned CUDA_ERROR_NOT_PERMITTED (800)"
step cuCheckpointProcessLock 999 "cuCheckpointProcessLock returned CUDA_ERROR_UNKNOWN (999) for process PID"
step cuCheckpointProcessCheckpoint 2 "the host has too little memory for the contents of process PID; it continues"
step cuCheckpointProcessCheckpoint 801 "$several (CUDA_ERROR_NOT_SUPPORTED (801)); it continues"
step cuCheckpointProcessCheckpoint 999,cuCheckpointProcessUnlock:1 "$several (CUDA_ERROR_UNKNOWN (999)); it continues"
ctl FAKE_CUDA_FAIL_AT=cuCheckpointProcessCheckpoint:1,cuCheckpointProcessUnlock:1+ suspend --whole
refused "an unlock that always fails" \
	"$several (CUDA_ERROR_UNKNOWN (999)); its calls of CUDA are still held: try mam ctl PID resume"
ctl resume
same "a resume unlocks it" 0 "$(tell check)"
ctl FAKE_CUDA_FAIL_AT=cuCheckpointProcessLock:1:600,cuCheckpointProcessUnlock:1+ suspend --whole
refused "an unlock that fails after a failed lock" "calls or work of process PID have not ended within 10 seconds; \
its calls of CUDA are still held: try mam ctl PID resume"
ctl resume
same "a resume unlocks it, too" 0 "$(tell check)"
ctl suspend --whole
ctl FAKE_CUDA_FAIL_AT=cuCheckpointProcessRestore:1:2 resume
refused "too little memory at the resume" "the device has too little free memory; process PID stays suspended"
ctl FAKE_CUDA_FAIL_AT=cuCheckpointProcessRestore:1:304 resume
refused "no access at the resume" "the driver cannot restore process PID: it may require root, or does not repeat a \
resume that lacked memory (CUDA_ERROR_OPERATING_SYSTEM (304))"
ctl FAKE_CUDA_FAIL_AT=cuCheckpointProcessUnlock:1+ resume
refused "an unlock that fails at the resume" "process PID is restored, but its calls of CUDA are still held: try again"
ctl resume
same "a later resume" 0 $?
same "the process continues" 0 "$(tell check)"

# Any call fails, or a Ctrl-C comes in it.
for how in "" :int; do
	bad=0 at=1
	while [ $at -le 6 ]; do
		ctl "FAKE_CUDA_FAIL_AT=*:$at$how" suspend --whole
		status=$?
		[ -z "$how" ] || [ $at -gt 4 ] || [ $status -eq 130 ] || bad=$((bad + 1))
		[ $status -eq 0 ] || grep -q "^suspended" "$scratch/out1" || [ "$(tell check)" = 0 ] || bad=$((bad + 1))
		not_held || bad=$((bad + 1))
		ctl suspend --whole
		ctl "FAKE_CUDA_FAIL_AT=*:$at$how" resume
		not_held || bad=$((bad + 1))
		at=$((at + 1))
	done
	same "no call that $([ -z "$how" ] && echo fails || echo "gets a Ctrl-C") leaves the process with held calls" 0 $bad
done
ctl FAKE_CUDA_FAIL_AT=cuCheckpointProcessLock:1:int suspend --whole
same "interrupted in the lock: exit status" 130 $?
same "interrupted in the lock: the message" "mam ctl: error: interrupted: process PID was not suspended; it continues" \
	"$(sed "s/$process/PID/" "$scratch/err1")"
(trap '' INT && interruptible='env' && ctl FAKE_CUDA_FAIL_AT=cuCheckpointProcessLock:1:int suspend --whole)
same "a Ctrl-C that is ignored" 0 $?
ctl resume

# The command is killed.
ctl FAKE_CUDA_FAIL_AT=cuCheckpointProcessCheckpoint:1:kill suspend --whole 2> /dev/null
ctl suspend --whole
refused "after a command that was killed" \
	"another command suspends or resumes process PID, or was killed: mam ctl PID resume lets it continue"
ctl resume
same "a resume lets the process continue" 0 "$(tell check)"

# The process is killed, or a thread.
log=$scratch/log2
(export FAKE_CUDA_LAG_US=1000000 "FAKE_CUDA_LOG=$log" &&
	exec "$MAM" ctl "$process" suspend --whole > "$scratch/out1" 2> "$scratch/err1") &
waiter=$!
until_true grep -q cuCheckpointProcessLock "$log"
kill -9 "$process"
wait "$process" 2> /dev/null
exec 3>&-
wait $waiter
refused "a process that is killed during its checkpoint" "process PID has ended"
ctl suspend --whole
refused "a process that has ended" "there is no process PID"
alone
tell "threads 1" > /dev/null
main=$process
process=$(find "/proc/$main/task" -mindepth 1 -maxdepth 1 ! -name "$main" | sed 's,.*/,,')
ctl suspend --whole
refused "a thread" "PID is a thread of process $main"
process=$main

# Errors that end a process for CUDA, and drivers without checkpoints.
failed_before() # NAME
{
	ctl suspend --whole
	refused "$1, then a suspend" "process PID cannot be suspended: an earlier checkpoint has failed"
	ctl resume
	refused "$1, then a resume" "process PID cannot be resumed: a checkpoint or a restore has failed"
	kill -9 "$process"
	wait "$process" 2> /dev/null
	exec 3>&-
	alone
}

ctl FAKE_CUDA_FAIL_AT=cuCheckpointProcessLock:1:719 suspend --whole
refused "a lock that fails for good" \
	"cuCheckpointProcessLock returned CUDA_ERROR_LAUNCH_FAILED (719) for process PID; it cannot use CUDA any more"
failed_before "a lock that failed for good"
ctl FAKE_CUDA_FAIL_AT=cuCheckpointProcessCheckpoint:1:719 suspend --whole
refused "a checkpoint that fails for good" "$several (CUDA_ERROR_LAUNCH_FAILED (719)); it cannot use CUDA any more"
failed_before "a checkpoint that failed for good"
ctl suspend --whole
ctl FAKE_CUDA_FAIL_AT=cuCheckpointProcessRestore:1:719 resume
refused "a restore that fails for good" "cuCheckpointProcessRestore returned CUDA_ERROR_LAUNCH_FAILED (719) for process PID"
failed_before "a restore that failed for good"
mkdir "$scratch/broken"
: > "$scratch/broken/libcuda.so.1"
ctl "LD_LIBRARY_PATH=$MAM_BUILDDIR/tests/fake/old" suspend --whole
refused "an old driver" "the CUDA driver cannot checkpoint processes: it is older than 570"
ctl "LD_LIBRARY_PATH=$scratch/broken" suspend --whole
refused "no driver" "there is no usable CUDA driver (libcuda.so.1)"
stop "a process without mam"
process=$$
ctl suspend --whole
refused "a process without CUDA" "process PID does not use CUDA"
process=0
ctl suspend --whole
same "no process" 1 $?

# Under mam run, suspended in both ways.
start --log=error
tell "fill 4 100000" > /dev/null
ctl suspend
ctl suspend --whole
same "suspended in both ways" 0 $?
send check
sleep 0.2
try "the program is held" test "$(wc -l < "$scratch/out")" -lt "$lines"
ctl resume
same "one resume undoes both: exit status" 0 $?
same "what it prints" "resumed as a whole resumed" "$(paste -sd ' ' "$scratch/out1")"
until_true has_lines "$lines"
same "contents" 0 "$(tail -n 1 "$scratch/out")"
"$MAM" ctl probe_sleep suspend --whole > "$scratch/out1"
same "by name" 0 $?
ctl resume
same "suspended as a whole only: exit status" 0 $?
same "what it prints" "resumed as a whole" "$(cat "$scratch/out1")"
try "no message" test ! -s "$scratch/err1"
ctl "LD_LIBRARY_PATH=$scratch/broken" suspend
ctl "LD_LIBRARY_PATH=$scratch/broken" resume
same "without a driver, resume undoes the other kind" resumed "$(cat "$scratch/out1")"
for arguments in "suspend discard --whole" "trim --whole" "resume --whole"; do
	# shellcheck disable=SC2086 # words
	ctl $arguments
	same "mam ctl $arguments: exit status" 2 $?
done
stop "a program under mam run"
finish
