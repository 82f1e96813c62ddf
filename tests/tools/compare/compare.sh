#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# compare.sh - several settings side by side: each row is what a replay of that setting alone says,
# what is reckoned is what comes out by hand, and what no user should write is refused by its word.

. "${MAM_SRCDIR:-.}/tests/lib.sh"

trace=$MAM_SRCDIR/tests/data/resnet50-train.trace.gz

# LINES | value SETTING KEY - what stands under a setting.
value()
{
	awk -F '\t' -v setting="$1" -v key="$2" '
		$1 == "setting" { here = $2 == setting }
		here && $1 == key { print $2; exit }'
}

refused() # NAME LIST SENTENCE
{
	"$MAM" replay --compare="$2" "$trace" > "$scratch/out" 2> "$scratch/err"
	same "$1" "2 mam replay: error: $3" "$? $(cat "$scratch/err")"
	[ -s "$scratch/out" ] && not_ok "$1: nothing else is printed" "$(head -n 1 "$scratch/out")"
}

# The usual settings, each as if it were alone.
"$MAM" replay -p -r 1 --simulate --compare "$trace" > "$scratch/usual"
same "the usual settings" \
	"one chunk/one chunk, cache/grown in chunks/vmm/vmm, cache/one chunk, align 256/one chunk, align 2M/one chunk, strict/one chunk, deferred/a cudaMalloc each/" \
	"$(sed -n 's/^setting	//p' "$scratch/usual" | tr '\n' '/')"

alone() # SETTING NEED-KEY OPTION...
{
	alone_name=$1
	alone_key=$2
	shift 2
	"$MAM" replay -p -r 1 "$@" "$trace" > "$scratch/alone"
	same "$alone_name: needs what it would alone" \
		"$(sed -n "s/^$alone_key	//p" "$scratch/alone")" \
		"$(value "$alone_name" needed_bytes < "$scratch/usual")"
	for key in high_water_bytes peak_reserved_bytes free_block_bytes_peak waste_bytes granule_bytes \
		cache free source; do
		echo "$(sed -n "s/^$key	//p" "$scratch/alone")" \
			"$(value "$alone_name" $key < "$scratch/usual")"
	done > "$scratch/pairs"
	same "$alone_name: plays as it would alone" "" \
		"$(awk 'NF != 2 || $1 != $2' "$scratch/pairs" | tr '\n' ' ')"
}

alone "one chunk" high_water_bytes
alone "one chunk, cache" high_water_bytes --cache on
alone "grown in chunks" peak_reserved_bytes --chunk 64M --growth auto
alone vmm physical_peak_bytes --source vmm --simulate
alone "vmm, cache" physical_peak_bytes --source vmm --simulate --cache on
alone "one chunk, align 256" high_water_bytes --align 256
alone "one chunk, align 2M" high_water_bytes --align 2M
alone "one chunk, strict" high_water_bytes --free strict
alone "one chunk, deferred" high_water_bytes --free deferred

# Reckoned by hand: 1000 B share a slab of 2 MiB, 3,000,000 B take two pages of 2 MiB; while both
# live the driver has 6 MiB. Time: 2.2 + 49 us; 49 us and half a 31st of 29 us more per 2 MiB...
printf 'a 1 1000 0\na 2 3000000 0\nf 1\na 3 500 0\nf 2\nf 3\n' > "$scratch/hand.trace"
"$MAM" replay -p -r 1 --compare=';cache=on' "$scratch/hand.trace" > "$scratch/hand"
same "a cudaMalloc each, by hand: memory" "6291456 2.0965 3290456" "$(for key in needed_bytes \
	needed_ratio waste_bytes; do value "a cudaMalloc each" $key < "$scratch/hand"; done |
	tr '\n' ' ' | sed 's/ $//')"
# small: twice 2.2 + 2.9 and a slab taken and given, each time: 2 (2.2 + 2.9 + 49 + 40) = 188.2 us;
# 4 MiB: 49 + 29 / 31 taken, 40 + 42 / 31 given: 91.29 us.
same "a cudaMalloc each, by hand: time" 0.279 \
	"$(value "a cudaMalloc each" driver_ms_in_all < "$scratch/hand" | cut -c 1-5)"
same "and an event of it" 46581.7 \
	"$(value "a cudaMalloc each" ns_per_event_in_all < "$scratch/hand")"

# Lists of the user's own.
names() # LIST OPTION... - the names that its settings get
{
	names_list=$1
	shift
	"$MAM" replay -p -r 1 --simulate --compare="$names_list" "$@" "$scratch/hand.trace" |
		sed -n 's/^setting	//p' | sed '$d' | tr '\n' '/'
}
same "names are made from what differs" "vmm/vmm, cache/one chunk, align 256, strict/" \
	"$(names 'source=vmm;source=vmm,cache=on;align=256,free=strict')"
same "blanks do not count" "vmm/vmm, cache/" "$(names ' source = vmm ; source=vmm , cache=on ')"
same "what all share is in no name" "plain/cache/" "$(names ';cache=on' --align 4K)"
same "sizes are told where they alone differ" \
	"grown in chunks/grown in chunks, growth 1.5G/one chunk of 4G/" \
	"$(names 'chunk=64M,growth=auto;chunk=1G,growth=1.5G;chunk=4G')"
same "and only there" "grown in chunks, chunk 64M/grown in chunks, chunk 1G/" \
	"$(names 'chunk=64M,growth=auto;chunk=1G,growth=auto')"
same "the same twice is two" "plain/plain, again 2/" "$(names ';')"
same "lags and limits" "deferred, lag 3/deferred/limit 1G/" \
	"$(names 'free=deferred,lag=3;free=deferred;limit=1G')"
same "the command line counts for all of them" "on on" \
	"$("$MAM" replay -p -r 1 --cache on --compare='align=256;align=512' "$trace" |
		sed -n 's/^cache	//p' | tr '\n' ' ' | sed 's/ $//')"
same "what the command line gives, the usual settings do not change" \
	"plain/cache/align 256/align 2M/strict/deferred/" "$(names '' --source vmm)"
same "nor do they say the same twice" "one chunk/grown in chunks/vmm/one chunk, align 256/one chunk, align 2M/one chunk, strict/one chunk, deferred/" \
	"$(names '' --cache on)"
same "a lag leaves out what does not wait" "plain/cache/align 256/align 2M/deferred/" \
	"$(names '' --lag 9 --source vmm)"

refused "an unknown word" 'source=vmm;cach=on' \
	"--compare: settings cannot differ in 'cach', only in source, simulate, chunk, growth, limit, footprint, align, free, lag, cache, streams and threads"
refused "a word of the command line alone" 'map=x.html' \
	"--compare: settings cannot differ in 'map', only in source, simulate, chunk, growth, limit, footprint, align, free, lag, cache, streams and threads"
refused "no value" 'align' "--compare: 'align' requires a value, as in align=BYTES"
refused "a wrong value" 'cache=maybe' "--cache expects on or off, not 'maybe'"
refused "a value too many" 'source=vmm,simulate=1' \
	"--compare: 'simulate' takes no value, but got '1'"
refused "no such source" 'source=moon' \
	"unknown source 'moon'; expected host, cudamalloc, vmm, pinned or managed"
refused "a contradiction" 'free=strict,lag=3' \
	"--lag has no effect with --free strict: no block waits"
refused "too many" ';;;;;;;;;;;;;;;;' "--compare supports at most 16 settings"

# What is chosen, and that the environment it names is one that mam takes.
same "the least of three" vmm "$("$MAM" replay -p -r 1 --simulate \
	--compare='align=2M;source=vmm;chunk=64M,growth=auto' "$trace" |
	sed -n 's/^choice	//p')"
for list in '' 'source=vmm' 'chunk=64M,growth=1G,align=256' 'cache=on,limit=8G'; do
	code=$("$MAM" replay -p -r 1 --simulate --compare="$list" "$trace" |
		sed -n 's/^choice_environment	//p')
	# shellcheck disable=SC2086 # words are meant
	same "the environment is one: $list" "" \
		"$(env $code "$MAM" info --options -p 2>&1 > /dev/null)$([ -n "$code" ] || echo none)"
done
same "one chunk as large as that is enough" 0 "$("$MAM" replay -p -r 1 --chunk \
	"$("$MAM" replay -p -r 1 --compare=';align=2M' "$trace" |
		sed -n 's/^choice_environment	MAM_CHUNK=\([0-9.]*[KMGT]\) .*/\1/p')" "$trace" |
	sed -n 's/^failures	//p')"

# The table.
"$MAM" replay -r 1 --simulate --compare "$trace" > "$scratch/table"
same "a table is 80 columns wide" "" "$(awk 'length > 80' "$scratch/table")"
same "the least has a star" "1.002x*" \
	"$(sed -n 's/^one chunk  *\([^ ]*\).*/\1/p' "$scratch/table")"
same "what is more has none" "1.416x" \
	"$(sed -n 's/^one chunk, align 2M  *\([^ ]*\).*/\1/p' "$scratch/table")"
"$MAM" replay -r 1 --compare=';limit=2G' "$trace" > "$scratch/table"
same "what did not fit is marked" "0.544x!" \
	"$(sed -n 's/^limit 2G  *\([^ ]*\).*/\1/p' "$scratch/table")"
same "and told" 1 "$(grep -c '^! limit 2G: .* of 18,849 allocations did not fit' "$scratch/table")"
same "nothing fits: nothing is chosen" 1 "$("$MAM" replay -r 1 --limit 2G --compare=';align=256' \
	"$trace" | grep -c '^None of these settings served every allocation.')"

# Several traces.
"$MAM" replay -p -r 1 --compare=';align=2M' "$trace" "$scratch/hand.trace" > "$scratch/both"
same "two traces: a geometric mean" yes "$(awk -F '\t' '
	$1 == "summary" { all = 1 }
	$1 == "setting" { name = $2 }
	$1 == "needed_ratio" && !all { sum[name] += log($2) }
	$1 == "needed_ratio" && all {
		difference = $2 / exp(sum[name] / 2) - 1
		if (difference > 0.001 || difference < -0.001)
			print name, $2
		rows++
	}
	END { print rows == 3 ? "yes" : rows }' "$scratch/both")"
same "each has its line of a file" 2 "$(grep -c '^file	' "$scratch/both")"
echo 'a 1' > "$scratch/bad.trace"
"$MAM" replay --compare "$scratch/hand.trace" "$scratch/bad.trace" > "$scratch/out" 2>&1
same "a bad trace among them: nothing is printed" "2 1" "$? $(wc -l < "$scratch/out" | tr -d ' ')"
: > "$scratch/empty.trace"
try "a trace of nothing" "$MAM" replay --compare "$scratch/empty.trace"
same "and its ratio is 1" 1.0000 "$("$MAM" replay -p --compare "$scratch/empty.trace" |
	value "one chunk" needed_ratio)"
finish
