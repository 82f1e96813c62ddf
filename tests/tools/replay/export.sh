#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# export.sh - mam replay --export: traces that read back unchanged; JSON and pickles that Python
# reads (export_read.py) and whose numbers match the trace; and exports that cannot be written.

. "${MAM_SRCDIR:-.}/tests/lib.sh"

real=$MAM_SRCDIR/tests/data/resnet50-train.trace.gz
cd "$scratch" || exit 99

events() # TRACE - its events alone
{
	grep -v '^#' "$1"
}

export_to() # NAMES TRACE OPTIONS...
{
	export_names=$1
	export_trace=$2
	shift 2
	"$MAM" replay -q -r 1 "$@" --export "$export_names" "$export_trace" 2> said
}

# Traces.
gunzip -c "$real" > real.trace
export_to back.trace,back.trace.gz real.trace
same "a real trace reads back byte by byte" "$(events real.trace | cksum)" \
	"$(events back.trace | cksum)"
same "a compressed trace reads back too" "$(cksum < back.trace)" "$(gunzip -c back.trace.gz | cksum)"
cat > whole.trace << 'END'
a 1 1000 0 thread=7 who=train.py:12:step%20one t=0
a 18446744073709551615 0 3 thread=8 who=a%25b%09c%0Ad%7F\"é t=5
f 1 stream=3 t=5
a 1 4096 0 thread=7 t=18446744073709551610
f 18446744073709551615 t=18446744073709551615
END
export_to back.trace whole.trace
same "threads, names, times, streams and ids read back" "$(cat whole.trace)" "$(events back.trace)"
cat > loose.trace << 'END'
# fields in another order, with gaps, and unknown ones
a 1 10 0 x=y t=100 by=driver
  a 2 10 0 t=50 who=%zz%4 thread=3

f 1 t=160 stream=0 implied=yes
END
export_to back.trace loose.trace
same "fields in any order are written in order" \
	'a 1 10 0 thread=0 who=driver t=0,a 2 10 0 thread=3 who=%25zz%254 t=0,f 1 t=60' \
	"$(events back.trace | paste -s -d ,)"
awk 'BEGIN { w = "%20"; while (length(w) < 3900) w = w "%20"; print "a 1 1 0 who=" w }' > long.trace
export_to back.trace long.trace
export_to again.trace back.trace
same "a name that is too long is cut between characters" "3498 same" \
	"$(sed -n 's/.*who=//p' back.trace | awk '{ print length($0) }') $(
		[ "$(events back.trace)" = "$(events again.trace)" ] && echo same)"
: > empty.trace
export_to back.trace empty.trace
same "an empty trace has no events" "" "$(events back.trace)"

# Exports that cannot be written: one line, and no file remains.
mkdir folder.json
ln -s /dev/full full.pickle
ls > before
refused() # NAME SENTENCE NAMES TRACES
{
	refused_name=$1
	refused_wanted=$2
	shift 2
	"$MAM" replay -q -r 1 --export "$@" 2> said
	same "$refused_name" "2 mam replay: error: $refused_wanted" "$? $(cat said)"
}
ending='the suffix must be .json, .pickle, .trace, .json.gz or .trace.gz'
refused "unknown suffix" "cannot export to 'a.txt': $ending" a.txt real.trace
refused "unknown suffix of one of several" "cannot export to 'b.pickle.gz': $ending" a.json,b.pickle.gz real.trace
refused "suffix without a name" "cannot export to '.json': $ending" .json real.trace
refused "empty name" "--export: a file name is empty" a.json, real.trace
refused "two traces" "--export accepts one trace, but 2 were given" a.json real.trace real.trace
refused "missing folder" "cannot write 'no/a.json': No such file or directory" \
	no/a.json real.trace
refused "folder as export" "cannot write an export to 'folder.json': not a regular file" \
	folder.json real.trace
refused "device as export" "cannot write an export to 'full.pickle': not a regular file" \
	full.pickle real.trace
refused "invalid trace" "before: line 1: expected 'a ID BYTES STREAM', 'f ID' or '#', \
found 'again.trace'" a.json before
for ending in json pickle trace json.gz trace.gz; do
	(
		trap '' XFSZ
		ulimit -f 8
		refused "full disk: $ending" "cannot write 'a.$ending': File too large" \
			"a.$ending" real.trace
		[ "$lib_failed" -eq 0 ]
	) > full.said
	cat full.said
	grep -q '^ok' full.said && lib_passed=$((lib_passed + 1)) || lib_failed=$((lib_failed + 1))
	rm -f full.said
done
ls > after
same "no file remains" "$(grep -v -e before -e said before)" \
	"$(grep -v -e after -e before -e said after)"
echo old > old.json
(trap '' XFSZ; ulimit -f 8; "$MAM" replay -q -r 1 --export old.json real.trace 2> said)
same "an old file stays" old "$(cat old.json)"

# Snapshots, read like PyTorch's own. The reader knows the address of a block, not the id; times are
# in whole microseconds.
numbered() # TRACE - its events, with ids in the order of allocations
{
	events "$1" | awk '{ if ($1 == "a") id[$2] = ++n; $2 = id[$2]; print }'
}

export_to real.pickle real.trace
export_to back.trace real.pickle
same "a snapshot of a real trace reads back as the trace" "$(numbered real.trace | cksum)" \
	"$(numbered back.trace | sed 's/ t=[0-9]*$//' | cksum)"
export_to real.pickle real.trace --source vmm --simulate
export_to back.trace real.pickle
same "a snapshot from mapped memory reads back as the trace" "$(numbered real.trace | cksum)" \
	"$(numbered back.trace | sed 's/ t=[0-9]*$//' | cksum)"
cat > torch.trace << 'END'
a 1 1000 0 who=train.py:12%20step t=0
a 2 500 7 t=2000
a 3 600 0 who=worker%20two t=2000
f 1 stream=9 t=4000
a 4 900 0 who=train.py:12%20step t=5000
END
export_to torch.pickle torch.trace
export_to back.trace torch.pickle
same "call sites, streams and times read back from a snapshot" "$(cat torch.trace)" "$(numbered back.trace)"
export_to again.pickle back.trace
export_to again.trace again.pickle
same "call sites, streams and times read back twice" "$(events back.trace | cut -d ' ' -f 3-)" \
	"$(events again.trace | cut -d ' ' -f 3-)"
rm -f ./*.pickle

# Contents that programs read from the other exports.
if ! command -v python3 > /dev/null; then
	skip "exports read by Python" "there is no python3"
	finish
fi

read_back() # NAME TRACE OPTIONS... - the contents of the exports go to the file found, and mam's keys to keys
{
	read_name=$1
	read_trace=$2
	shift 2
	"$MAM" replay -p -r 1 "$@" --export "$read_name.json,$read_name.pickle" "$read_trace" \
		> keys 2> said
	PYTHONDONTWRITEBYTECODE=1 python3 "$MAM_SRCDIR/tests/tools/replay/export_read.py" "$read_name" \
		> found 2> trouble || lib_tail trouble
}

found() # KEY...
{
	for found_key; do sed -n "s/^$found_key=//p" found; done | paste -s -d ' '
}

key() # KEY...
{
	for key_key; do sed -n "s/^$key_key	//p" keys; done | paste -s -d ' '
}

# events that allocate memory, the peak and the final live bytes, by a reader of our own
awk '$1 == "a" { size[$2] = $3; live += $3; n += $3 > 0; if (live > peak) peak = live }
	$1 == "f" { live -= size[$2]; m += size[$2] > 0 }
	{ if (n - m > most) most = n - m }
	END { printf "%d %d %.0f %.0f %d\n", n, m, peak, live, most }' real.trace > counted
read -r allocs frees peak left most < counted

for settings in '--source host' '--source vmm --simulate' '--chunk 256M --growth 64M' \
	'--align 64K --free deferred --lag 500'; do
	# shellcheck disable=SC2086 # several words
	read_back real "$real" $settings
	same "$settings: files that viewers accept" "none none" \
		"$(found json_problem pickle_problem)"
	same "$settings: each block has its slice, on the fewest tracks" "$allocs 0 0 $most" \
		"$(found slices without_slice failures tracks)"
	same "$settings: each event is in the snapshot" "$allocs $frees 0" \
		"$(found 'pickle alloc' 'pickle free_completed' 'pickle oom')"
	same "$settings: peaks" "$peak $peak $peak" \
		"$(found slices_peak pickle_peak) $(found 'json live' | cut -d ' ' -f 1)"
	same "$settings: leaked blocks" "$left $left $left" \
		"$(found slices_left pickle_left) $(found 'json live' | cut -d ' ' -f 2)"
	same "$settings: the pool's own counters" \
		"$(key high_water_bytes peak_reserved_bytes physical_peak_bytes)" \
		"$(for counter in 'high water' reserved physical; do
			found "json $counter" | cut -d ' ' -f 1
		done | paste -s -d ' ')"
done
read_back real "$real"
same "one chunk is one segment, up to the high water mark" "1 $(key high_water_bytes)" \
	"$(found segments segments_bytes)"
same "free bytes below the high water mark" "$(($(key high_water_bytes) - left))" \
	"$(found 'json free below high water' | cut -d ' ' -f 2)"
same "without times an event takes a microsecond" \
	"not in the trace: 1 us an event 0.0 0 0 1 2" "$(found json_times first_ts time_us)"
read_back real "$real" --chunk 256M --growth 64M
same "several chunks are several segments" "$(key chunks)" "$(found segments)"

cat > odd.trace << 'END'
a 1 1000 0 thread=7 who=/a/train.py:12:step t=1000000
a 2 500 0 thread=8 who=%00x%ff"\</script>%0A t=1002500
a 3 0 0 thread=8 t=1002600
a 4 600 0 thread=7 who=only:5%20f t=1002700
a 5 600 0 thread=7 who=ns::f(x:1) t=1002800
f 1 stream=9 t=1004000
f 3 t=1004000
END
read_back odd odd.trace
same "odd names: files that viewers accept" "none none" "$(found json_problem pickle_problem)"
same "times of the trace" "from the trace 0.0 4.0 0 0 2 2" \
	"$(found json_times first_ts first_dur time_us)"
same "a stack of one frame" \
	'[["/a/train.py|12|step"], [], ["only|5|f"], ["|0|ns::f(x:1)"]]' "$(found stacks)"
same "text that the viewer shows for a block" \
	"block 1, line 1, thread 7 / block 2, line 2, thread 8 / block 4, line 4, thread 7" \
	"$(found labels)"
same "a free has its own stream" "0 0 0 0 0 9 9" "$(found streams)"
same "blocks of size 0 have no slice" "4 4" "$(found slices 'pickle alloc')"
printf 'a 1 10 0 who=%%ff"\\</script>%%0A\377\n' > odd.trace
read_back odd odd.trace
same "invalid UTF-8 is replaced in labels" '"\ufffd\"\\</script>\n\ufffd"' "$(found first)"
same "invalid UTF-8 is replaced in a stack" '[["|0|\ufffd\"\\</script>\n\ufffd"]]' "$(found stacks)"
printf 'a 1 10 0\na 2 20 5\nf 1\n' > two.trace
read_back two two.trace
same "slices are grouped by streams" "blocks of stream 0, blocks of stream 5" "$(found groups)"
same "free bytes use rounded live bytes" "512 512" \
	"$(found 'json free below high water')"
printf 'a 1 10 0 thread=4\na 2 20 0 thread=5\na 3 9 0 thread=4' > two.trace
read_back two two.trace
same "slices are grouped by threads" "blocks of thread 4, blocks of thread 5" "$(found groups)"
same "live slices have a track each" 3 "$(found tracks)"
awk 'BEGIN { for (i = 0; i < 70; i++) print "a", i, 100, i }' > many.trace
read_back many many.trace
same "many streams share the last group" "64 blocks of other streams" \
	"$(found groups | awk -F ', ' '{ print NF, $NF }')"

read_back empty empty.trace
same "an empty trace" "none none 0 0 0" \
	"$(found json_problem pickle_problem slices segments 'pickle alloc')"
printf 'a 1 1000000 0\na 2 99999999999 0\na 3 18446744073709551615 3\nf 2\nf 1\n' > large.trace
read_back large large.trace --chunk 2M
same "failed allocations" "none none 1 2 1 2" \
	"$(found json_problem pickle_problem slices failures 'pickle alloc' 'pickle oom')"
same "failed allocations are not live" "1000000 0" "$(found 'json live')"

# More than viewers can handle.
awk 'BEGIN { for (i = 0; i < 5000; i++) print "a", i, i + 1, 0
	for (i = 0; i < 5000; i++) print "f", i }' > wide.trace
read_back wide wide.trace
same "tracks are limited" "none 4096 4096 904 12502500 0" \
	"$(found json_problem tracks slices without_slice 'json live')"
same "the limit is reported" "mam replay: note: wide.json: has slices of 4,096 of 5,000 blocks; \
its counters include all" "$(cat said)"
awk 'BEGIN { for (i = 0; i < 100010; i++)
	printf "a %d %d 0\nf %d\n", i, i < 20 ? 512 : 1024, i }' > deep.trace
read_back deep deep.trace
same "slices are limited, and the largest blocks have one" \
	"100000 10 $((99990 * 1024 + 10 * 512))" \
	"$(found slices without_slice slices_bytes)"
finish
