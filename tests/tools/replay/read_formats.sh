#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# read_formats.sh - the formats that mam replay reads besides its own traces: RMM's CSV logs and
# PyTorch's snapshots, real ones, odd ones, and malicious files.

. "${MAM_SRCDIR:-.}/tests/lib.sh"

data=$MAM_SRCDIR/tests/data
cd "$scratch" || exit 99

keys() # OPTIONS... FILE - some numbers of a replay, on a line
{
	"$MAM" replay -p -r 1 "$@" 2> said | awk '
		/^(events|allocs|peak_live_bytes|recorded_reserved_bytes|streams)\t/ { print $1 "=" $2 }' |
		paste -s -d ' '
}

events() # OPTIONS... FILE - as a trace of mam, with blocks numbered from 1
{
	rm -f events.trace
	"$MAM" replay -q -r 1 --export events.trace "$@" 2> said
	grep -v '^#' events.trace 2> refused | awk '
		!($2 in names) { names[$2] = ++count }
		{ $2 = names[$2]; print }' | paste -s -d ,
}

message() # the last message, without its prefix and file
{
	sed 's/^mam replay: [a-z]*: [^:]*: //' said
}

refuses() # NAME SENTENCE OPTIONS... FILE
{
	refuses_name=$1
	refuses_sentence=$2
	shift 2
	"$MAM" replay -p -r 1 "$@" > printed 2> said
	same "$refuses_name" "2 - $refuses_sentence" "$? - $(cat printed)$(message)"
}

# Real files, plain and gzip, from a pipe and with a given format.
same "RMM: a log of seven threads" \
	"events=3946 allocs=1976 peak_live_bytes=1539554307 streams=6" "$(keys "$data/rmm-workers.csv.gz")"
same "RMM: failures are counted and reported" \
	"allocations that failed in the program: 2, the first on line 1502" "$(message)"
gunzip -c "$data/rmm-workers.csv.gz" > log.csv
same "RMM: same result from a pipe" "events=3946 allocs=1976 peak_live_bytes=1539554307 streams=6" \
	"$(keys --format rmm - < log.csv)"
same "PyTorch: expandable segments" \
	"events=13179 allocs=6591 peak_live_bytes=345501756 recorded_reserved_bytes=406847488 streams=1" \
	"$(keys "$data/torch-gnn-expandable.pickle.gz")"
same "PyTorch: no message" "" "$(message)"
same "PyTorch: the last events of a program" \
	"events=3519 allocs=1761 peak_live_bytes=296019748 recorded_reserved_bytes=432013312 streams=1" \
	"$(keys "$data/torch-gnn-late.pickle.gz")"
same "PyTorch: older blocks are reported" "blocks older than the history: 280, treated as \
allocated before its first entry" "$(message)"
same "PyTorch: its own reserved bytes" 1 \
	"$("$MAM" replay -r 1 "$data/torch-gnn-expandable.pickle.gz" | grep -c "^program's own pool  *388.00 MiB")"

# RMM's formats over the years.
header=Thread,Time,Action,Pointer,Size,Stream
log() # LINES... - writes a log of them to x.csv
{
	printf '%s\n' "$header" "$@" > x.csv
}

log 5,10:00:01.000001,allocate,0x10,100,0 6,10:00:01.000002,allocate,0xA0,50,0x7f \
	'' 5,10:00:01.000004,free,0x10,100,0 '6,10:00:01.000005,free,0xA0,50,0x2'
same "RMM: current format" "a 1 100 0 thread=5 t=0,a 2 50 127 thread=6 t=1000,f 1 t=3000,f 2 stream=2 t=4000" \
	"$(events x.csv)"
log 5,10:00:01:000001,allocate,10,100,0 5,10:00:01:000003,free,10,100,0
same "RMM: colons before microseconds" "a 1 100 0 thread=5 t=0,f 1 t=2000" "$(events x.csv)"
printf '\n\r\nTime,Action,Pointer,Size,Stream\r\n9:59:59:5,allocate,0x10,7,12\r\n10:00:00:25,free,0x10,7,12' > x.csv
same "RMM: no threads, other line ends" "a 1 7 18 t=0,f 1 t=750000000" "$(events x.csv)"
cat > x.csv << 'END'
Event Type,Device ID,Address,Stream,Size (bytes),Free Memory,Total Memory,Current Allocs,Start,End,Elapsed,Location
Alloc,0,0x7f10,0,512,1,2,1,0.5,0.6,0.1,join.cu:12
Free,0,0x7f10,0,0,1,2,0,1.25,1.5,0.25,join.cu:40
END
same "RMM: manager's log of the first versions" "a 1 512 0 who=join.cu:12 t=0,f 1 t=750000000" \
	"$(events x.csv)"
log 1,23:59:59.9,allocate,0x1,1,0 1,00:00:00.1,allocate,0x2,1,0 1,23:59:59.95,free,0x1,1,0 \
	1,00:00:00.2,free,0x2,1,0 1,08:00:00,allocate,0x1,1,0 1,16:00:00,free,0x1,1,0 \
	1,00:00:01,allocate,0x1,1,0
same "RMM: past midnight" \
	"a 1 1 0 thread=1 t=0,a 2 1 0 thread=1 t=200000000,f 1 t=200000000,f 2 t=300000000,\
a 1 1 0 thread=1 t=28800100000000,f 1 t=57600100000000,a 1 1 0 thread=1 t=86401100000000" "$(events x.csv)"
log '1,2024-05-06 12.5,allocate,0x1,1,0' 1,13,free,0x1,1,0 1,soon,allocate,0x1,2,0
same "RMM: seconds, dates, and invalid times" \
	"a 1 1 0 thread=1 t=0,f 1 t=500000000,a 1 2 0 thread=1 t=500000000" "$(events x.csv)"
log '1,1,allocate,(nil),0,0' '1,1,free,(nil),0,0' '1,1,allocate failure,(nil),99,0' 1,1,allocate,0x1,5,0
same "RMM: null pointers are ignored" "a 1 5 0 thread=1 t=0" "$(events x.csv)"
same "RMM: one failure" "allocations that failed in the program: 1, the first on line 4" "$(message)"

# Devices: in RMM's first logs and in traces. Each is replayed as if it were alone in the file.
cat > x.csv << 'END'
Event Type,Device ID,Address,Stream,Size (bytes),Free Memory,Total Memory,Current Allocs,Start,End,Elapsed,Location
Alloc,0,0x10,0,512,1,2,1,0.5,0.6,0.1,a
Alloc,2,0x20,0,700,1,2,1,0.75,0.6,0.1,b
Free,2,0x20,0,0,1,2,0,1.25,1.5,0.25,c
END
same "RMM: the device with most events" "a 1 700 0 who=b t=0,f 1 t=500000000" "$(events x.csv)"
same "RMM: the device is named" "mam replay: note: x.csv: device 2 is replayed, with 2 events; 1 other device has 1 \
event (use --device N to choose)" "$(cat said)"
same "RMM: another device" "a 1 512 0 who=a t=0" "$(events --device 0 x.csv)"
refuses "RMM: missing device" "--device 1: the file has events of devices 0 and 2 only" --device 1 x.csv
printf '%s\n1,1,allocate,0x1,5,0\n' "$header" > plain.csv
refuses "RMM: log without device numbers" "--device 0: the file has no device numbers" --device 0 plain.csv
cat > x.trace << 'END'
# program: two devices
a 0 1048576 0 device=0
a 1 4194304 7 device=1
a 2 4194304 0 device=1
f 0
f 2
a 3 2097152 0 device=0
f 1
END
cat > alone.trace << 'END'
a 1 4194304 7
a 2 4194304 0
f 2
f 1
END
# With several threads, pages of free lists depend on their order.
for options in "" "--source vmm --simulate" "--free strict --cache on" "--threads 3"; do
	# shellcheck disable=SC2086 # words
	"$MAM" replay -p -r 1 $options alone.trace | grep -vE '^(device|ns_per|driver_ms|host_bytes)' > wanted
	# shellcheck disable=SC2086
	"$MAM" replay -p -r 1 $options x.trace 2> said | grep -vE '^(device|ns_per|driver_ms|host_bytes)' > printed
	same "trace of two devices: one as if alone${options:+, $options}" "$(cat wanted)" "$(cat printed)"
done
same "trace of two devices: the device is named" "mam replay: note: x.trace: device 1 is replayed, with 4 events; 1 other device has 3 \
events (use --device N to choose)" "$(cat said)"
same "-p: device and number of devices" "device	0 devices	2" "$("$MAM" replay -p -r 1 --device 0 x.trace 2> said |
	grep '^device' | paste -s -d ' ')"
same "no note if a device was chosen" "" "$(cat said)"
same "the table names the device" 1 "$("$MAM" replay -r 1 --device 0 x.trace | grep -c '^x, device 0: 2.00 MiB ')"
refuses "missing device" "--device 7: the file has events of devices 0 and 1 only" --device 7 x.trace
refuses "trace without device numbers" "--device 1: the file has no device numbers" --device 1 alone.trace
same "--compare: each row is of the chosen device" "2097152" "$("$MAM" replay -p -r 1 --device 0 --compare='source=host;cache=on' \
	x.trace 2> said | sed -n 's/^peak_live_bytes	//p' | sort -u)"
"$MAM" replay -q -r 1 --device 0 --map x.html --export x.json,y.trace x.trace
same "--map names the device" 1 "$(grep -c '<title>.*x, device 0.*</title>' x.html)"
same "--export: a trace" "a 0 1048576 0,f 0,a 3 2097152 0" "$(grep -v '^#' y.trace | paste -s -d ,)"
same "--export: for Perfetto" yes "$(grep -q 'x, device 0' x.json && echo yes)"

# All devices: one replay for each, in the order of their numbers, as if it were alone in the file.
all_devices() # FILE OPTION... - the lines for scripts, without times
{
	all_file=$1
	shift
	"$MAM" replay -p -r 1 "$@" "$all_file" 2>> said | grep -vE '^(file|path|ns_per|driver_ms)'
}
for options in "" "--source vmm --simulate"; do
	: > said
	# shellcheck disable=SC2086 # words
	same "--device all is --device 0 and --device 1${options:+, $options}" "$(all_devices x.trace --device 0 $options
		all_devices x.trace --device 1 $options)" "$(all_devices x.trace --device all $options)"
	same "--device all: no note${options:+, $options}" "" "$(cat said)"
done
same "--device all: devices with gaps" "0 2" "$(all_devices x.csv --device all | sed -n 's/^device	//p' | paste -s -d ' ')"
same "--device all of a file without device numbers" "$(all_devices alone.trace)" "$(all_devices alone.trace --device all)"
same "--device all of two files" "0 1 0 1" "$("$MAM" replay -p -r 1 --device all x.trace x.trace | sed -n 's/^device	//p' |
	paste -s -d ' ')"
same "--device all: a column per device" "device 0 1" "$("$MAM" replay -r 1 --device all x.trace | awk '/^device/ { $1 = $1; print }')"
printf 'a 1 100 0\na 2 100 0 device=9\na 3 100 0 device=2\na 4 100 0 device=5\n' > y.trace
same "--device all: in the order of the numbers" "2 5 9" "$(all_devices y.trace --device all | sed -n 's/^device	//p' |
	paste -s -d ' ')"
{ cat x.trace; echo 'a 4 100 0'; } > y.trace
: > said
same "--device all: events of unknown devices are not replayed" "0 1" "$(all_devices y.trace --device all | sed -n 's/^device	//p' |
	paste -s -d ' ')"
same "--device all: and counted" "mam replay: note: y.trace: 1 event of unknown devices is not replayed" "$(cat said)"
rm -f x.html x.*.html
"$MAM" replay -q -r 1 --device all --map x.html x.trace
same "--device all --map: one map per device" "x.0.html x.1.html" "$(echo x*.html)"
same "--device all --map: each is of its device" "1 1" "$(grep -c '<title>.*x, device 0.*</title>' x.0.html) \
$(grep -c '<title>.*x, device 1.*</title>' x.1.html)"
for device in 0 1; do
	"$MAM" replay -q -r 1 --device $device --map wanted.svg x.trace
	"$MAM" replay -q -r 1 --device all --map x.svg x.trace
	try "--device all --map: the still of device $device" cmp wanted.svg x.$device.svg
done
rm -f x*.html
"$MAM" replay -q -r 1 --device all --map x.html alone.trace
same "--device all --map of a file without device numbers" "x.html" "$(echo x*.html)"
refuses "--device all, standard input" "cannot be read once per device for --device all: not a regular file" --device all - < x.trace
refuses "--device all --export" "mam replay: error: --export requires one device; use --device N" --device all --export y.json x.trace
refuses "--device all --compare" "mam replay: error: --compare requires one device; use --device N" --device all --compare x.trace
refuses "--device with another word" "mam replay: error: --device expects a number of at least 1, not 'none'" --device none x.trace

# Lines of several threads, out of order.
log 1,1,allocate,0x1,10,0 2,3,allocate,0x1,20,0 1,2,free,0x1,10,0 2,4,free,0x1,20,0
same "RMM: order by time if lines contradict each other" \
	"a 1 10 0 thread=1 t=0,f 1 t=1000000000,a 1 20 0 thread=2 t=2000000000,f 1 t=3000000000" "$(events x.csv)"
same "RMM: order by time is reported" "the order of lines is inconsistent; using the order by time, which is less so" "$(message)"
log 1,1,allocate,0x1,10,0 2,1,allocate,0x1,20,0 1,1,free,0x1,10,0 2,1,free,0x1,20,0
same "RMM: a free that was overtaken" "a 1 10 0 thread=1 t=0,f 1 t=0,a 1 20 0 thread=2 t=0,f 1 t=0" \
	"$(events x.csv)"
same "RMM: overtaken frees are counted" "allocations of a pointer that was not yet freed: 1; each old block is treated as \
freed just before" "$(message)"
log 1,1,free,0x9,30,0 1,1,allocate,0x9,40,0 1,1,free,0x9,40,0 1,2,free,0x9,40,0
same "RMM: block older than the log, and double free" "a 1 30 0 thread=0 t=0,f 1 t=0,a 1 40 0 thread=1 t=0,f 1 t=0" \
	"$(events x.csv)"
same "RMM: older blocks and unknown frees are counted" "blocks older than the log: 1, treated as allocated before its \
first line
frees of unknown pointers: 1, ignored" "$(message)"

# Invalid logs.
log 1,1,allocate,0x1
refuses "RMM: line too short" "line 2: too few fields after '1'" x.csv
log 1,1,realloc,0x1,5,0
refuses "RMM: unknown action" "line 2: unknown action 'realloc'" x.csv
log 1,1,allocate,0xg,5,0
refuses "RMM: invalid pointer" "line 2: invalid pointer '0xg'" x.csv
log 1,1,allocate,0x1ffffffffffffffff,5,0
refuses "RMM: pointer too long" "line 2: invalid pointer '0x1ffffffffffffffff'" x.csv
log 1,1,allocate,0x1,-5,0
refuses "RMM: negative size" "line 2: invalid size '-5'" x.csv
echo a,b,c > x.csv
refuses "RMM: header of another format" "line 1: not an RMM log: its first line must name the columns \
Action, Pointer and Size" --format rmm x.csv
{
	printf '%s\n1,1,' "$header"
	awk 'BEGIN { for (i = 0; i < 70000; i++) printf "x" }'
} > x.csv
refuses "RMM: line too long" "after line 1: a line is too long" x.csv
gzip -c log.csv | head -c 20000 > cut.csv.gz
"$MAM" replay -p cut.csv.gz > printed 2> said
same "RMM: truncated" "2 - yes" "$? - $(cat printed)$(message | grep -q 'truncated; use --salvage' && echo yes)"
"$MAM" replay -p -r 1 --salvage cut.csv.gz > printed 2> said
same "RMM: truncated and salvaged" "0 yes yes" "$? $(grep -q '^events' printed && echo yes) $(
	message | grep -q 'truncated, and the rest is lost' && echo yes)"
: > x.csv
same "an empty file is an empty log" "events=0 allocs=0 peak_live_bytes=0 streams=0" \
	"$(keys --format rmm x.csv)"

# A given format is used.
refuses "a log is not a trace" "line 1: expected 'a ID BYTES STREAM', 'f ID' or '#', found '$header'" --format mam log.csv
refuses "a log is not a pickle" "byte 0: a text of 1634038376 bytes is too long" \
	--format torch log.csv
refuses "unknown format" "mam replay: error: --format expects auto, mam, rmm or torch, not 'csv'" --format csv log.csv

# Pickles without Python.
printf '\200\004\225\000\000' > x.pickle
refuses "PyTorch: truncated" "byte 2: the pickle is truncated, and its contents are lost; \
dump it again" x.pickle
refuses "PyTorch: nothing to salvage" "byte 2: the pickle is truncated, and its contents are lost; \
dump it again" --salvage x.pickle
gunzip -c "$data/torch-gnn-late.pickle.gz" | gzip -c | head -c 20000 > x.pickle.gz
"$MAM" replay -p x.pickle.gz > printed 2> said
same "PyTorch: truncated gzip" "2 - yes" "$? - $(cat printed)$(
	message | grep -q 'the gzip data is truncated' && echo yes)"
printf 'cos\nsystem\n(S"touch made"\ntR.' > x.pickle
refuses "PyTorch: a call" "byte 0: refused: opcode GLOBAL requests a call of os.system" --format torch x.pickle
printf '\200\002\214' > x.pickle
awk 'BEGIN { for (i = 0; i < 3000000; i++) printf "](" }' >> x.pickle
timeout 60 "$MAM" replay -p x.pickle > printed 2> said
same "PyTorch: endlessly nested lists" 2 "$?"
head -c 40000000 /dev/zero | tr '\000' ']' | gzip -c > bomb.gz
{
	printf '\200\002' | gzip -c
	cat bomb.gz
} > x.pickle.gz
refuses "PyTorch: a gzip bomb" "not a snapshot: it unpacks to more than 256 times its size" x.pickle.gz
same "PyTorch: no code was executed" no "$([ -e made ] && echo yes || echo no)"

if ! command -v python3 > /dev/null; then
	skip "pickles written by Python" "there is no python3"
	finish
fi

make() # NAME [PROTOCOL] - writes x.pickle
{
	PYTHONDONTWRITEBYTECODE=1 python3 "$MAM_SRCDIR/tests/tools/replay/read_make.py" "$@" > x.pickle
}

plain="a 1 5000 0 t=0,a 2 6000 7 t=1000,f 1 t=2000,f 2 t=3000,a 1 7000 0 t=4000"
for protocol in 4 5; do
	make plain "$protocol"
	same "PyTorch: a history, protocol $protocol" "$plain" "$(events x.pickle)"
done
same "PyTorch: out of memory is reported" "out-of-memory errors in the program: 1, the first at entry 12, \
for 9.00 MiB, when the device had 3.00 MiB left" "$(message)"
same "PyTorch: peak reserved bytes of its device" "recorded_reserved_bytes=33554432" \
	"$(keys x.pickle | grep -o 'recorded[^ ]*')"
for protocol in 0 1 2 3 4 5; do
	make frames "$protocol"
	same "PyTorch: call sites, protocol $protocol" "net.py:7%20forward,module.py:1790%20_call_impl,\
AddmmBackward0::apply,at::native::sum,-,-,<stdin>:1%20<module>,train.py:3%20z,step%203,Gradient,-,\
at::native::mm,net.py:7%20forward,net.py:7%20forward,net.py:7%20forward" "$(events x.pickle | tr , '\n' |
		awk '{ print (sub(/.*who=/, "") ? $0 : "-") }' | paste -s -d ,)"
done
make late
same "PyTorch: history that started late and was stopped" "a 1 100 0,a 2 300 0,a 3 900 0,a 4 77 0,f 2,\
a 2 350 0,f 3,a 5 2097152 0,f 5,a 6 1 0,f 6" "$(events x.pickle)"
same "PyTorch: older and younger blocks are reported" "blocks older than the history: 4, treated as \
allocated before its first entry
blocks younger than the history: 2, ignored; it was stopped before the snapshot was made" \
	"$(message)"
same "PyTorch: reserved before the history" "recorded_reserved_bytes=23592960" \
	"$(keys x.pickle | grep -o 'recorded[^ ]*')"
make devices
same "PyTorch: the device with most events" "a 1 30 0,a 2 20 0,f 2" "$(events x.pickle)"
same "PyTorch: other devices are counted" "mam replay: note: x.pickle: device 1 is replayed, with 3 events; 1 other \
device has 1 event (use --device N to choose)" "$(head -n 1 said)"
same "PyTorch: another device" "a 1 10 0" "$(events --device 0 x.pickle)"
same "PyTorch: no note if a device was chosen" "" "$(cat said)"
refuses "PyTorch: device without events" "--device 2: the file has events of devices 0 and 1 only" --device 2 x.pickle
refuses "PyTorch: missing device" "--device 3: the file has events of devices 0 and 1 only" --device 3 x.pickle
same "PyTorch: -p names the device" "device	1 devices	2" "$("$MAM" replay -p -r 1 x.pickle 2> said |
	grep '^device' | paste -s -d ' ')"
same "PyTorch: --device all" "events	1 device	0 events	3 device	1" "$("$MAM" replay -p -r 1 --device all x.pickle 2> said |
	grep -E '^(events|device)	' | paste -s -d ' ')"
make completed
same "PyTorch: frees that were only completed" "a 1 7 0,a 2 10 0,f 2,a 2 20 0,f 1" "$(events x.pickle)"
make old
same "PyTorch: format of 1.13" "a 1 600 0,a 2 10 0,f 2" "$(events x.pickle)"
make gaps
same "PyTorch: history with gaps" "a 1 10 0,f 1,a 1 20 0,f 1" "$(events x.pickle)"
same "PyTorch: gaps are reported" "the history has gaps: blocks that are never freed in it: 1; frees of unknown \
blocks: 0" "$(message)"

none="has no history of allocations; call torch.cuda.memory._record_memory_history() before the \
program allocates, and dump it again"
event="not an event"
while read -r name sentence; do
	make "$name"
	refuses "PyTorch: $name" "$sentence" --format torch x.pickle
done << END
nothing $none
none $none
list contains a list; write a snapshot with a history with torch.cuda.memory._dump_snapshot()
dict has no device_traces, so it is not a memory snapshot of PyTorch
number has no device_traces, so it is not a memory snapshot of PyTorch
no-address device 0: entry 1: has no address
no-size device 0: entry 1: has an invalid size
less device 0: entry 1: has an invalid size
huge device 0: entry 1: has an invalid size
no-event device 0: entry 2: is $event
wide device 0: entry 1: is $event
many has segments with more blocks than the file has bytes
END
for protocol in 0 1 2 3 4 5; do
	for name in call counter object; do
		make "$name" "$protocol"
		"$MAM" replay -q --format torch x.pickle 2> said
		same "PyTorch: pickle with an $name, protocol $protocol" "2 - refused" \
			"$? - $(message | grep -o refused)"
	done
done
same "PyTorch: no code was executed by any pickle" no "$([ -e made ] && echo yes || echo no)"

finish
