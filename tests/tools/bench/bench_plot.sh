#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# bench_plot.sh - `mam bench plot` draws what a file of results says: every picture is whole XML, every name and
# number is in it, later files win, and what is no result is refused. `mam bench trace` is a trace.
. "${MAM_SRCDIR:-.}/tests/lib.sh"

plot()
{
	"$MAM" bench plot "$@"
}

well_formed() # FILE
{
	if command -v xmllint >/dev/null 2>&1; then
		xmllint --noout "$1"
	elif command -v python3 >/dev/null 2>&1; then
		python3 -c 'import sys, xml.dom.minidom as x; x.parse(sys.argv[1])' "$1"
	else
		return 77
	fi
}

check_form() # FILE
{
	well_formed "$1" >"$scratch/form" 2>&1
	case $? in
	0) ok "$(basename "$1") is well-formed" ;;
	77) skip "$(basename "$1") is well-formed" "there is neither xmllint nor python3" ;;
	*) not_ok "$(basename "$1") is well-formed" "$(lib_tail "$scratch/form")" ;;
	esac
}

refused() # NAME TEXT ARGUMENT... - exit 2, one sentence with TEXT in it
{
	refused_name=$1
	refused_text=$2
	shift 2
	plot "$@" >"$scratch/out" 2>"$scratch/err"
	same "$refused_name: exit status" 2 $?
	if [ "$(wc -l <"$scratch/err")" -eq 1 ] && grep -q -e "$refused_text" "$scratch/err"; then
		ok "$refused_name: one sentence"
	else
		not_ok "$refused_name: one sentence" "$(lib_tail "$scratch/err")"
	fi
}

cat >"$scratch/first.csv" <<'EOF'
# gpu: made up <1>
# driver: 1.2.3
# cpu: four cores
# date: 2026-02-03T04:05:06Z
pair,mam-cudamalloc-cache,256B,pair_ns,21.5
pair,mam-cudamalloc-cache,1GiB,pair_ns,71.25
pair,cudaMalloc,256B,pair_ns,2642.05
pair,cudaMalloc,1GiB,pair_ns,557056
threads,mam-host-cache,1,mops,31
threads,mam-host-cache,16,mops,118
threads,rmm-pool,16,mops,0.206
training,torch,growing,reserved_ratio,1.0719
training,mam-vmm-cache,growing,reserved_ratio,1.5
training,mam-vmm-cache,growing,physical_ratio,1.006
replay,mam-vmm,"a<b&c, of mine",physical_ratio,1.25
replay,mam-vmm-simulated,"a<b&c, of mine",physical_ratio,1.5
replay,mam-vmm-simulated,other,physical_ratio,1.375
live,mam-cudamalloc,10,alloc_ns,31
live,mam-cudamalloc,100000,alloc_ns,41
live,mam-cudamalloc,10,free_ns,51
live,mam-cudamalloc,1000000,free_ns,61
live,cudaMalloc,10,alloc_ns,2200
holes,mam-host,1000,alloc_ns,44
holes,jemalloc,1000,alloc_ns,55
holes,mam-host,"1000,1B",alloc_ns,77
latency,mam-host-cache,mixed,alloc_p50_ns,40
latency,mam-host-cache,mixed,alloc_p999_ns,4000
latency,mam-host-cache,mixed,alloc_max_ns,50000
latency,mam-host-cache,mixed,free_p50_ns,30
latency,mam-host-cache,small,alloc_p50_ns,17
random,rmm-pool,"100000,1MiB",op_ns,60000
random,rmm-pool,"1000,4GiB",op_ns,471
random,rmm-pool,"100000,4GiB",op_ns,99
random,mimalloc,"1000,1MiB",op_ns,100
fill,cudaMalloc,1B,alloc_ns,2000
fill,cudaMalloc,128MiB,free_ns,300000
EOF
mkdir "$scratch/pictures"
plot -o "$scratch/pictures" "$scratch/first.csv" >"$scratch/out" 2>"$scratch/err"
same "all pictures: exit status" 0 $?
same "all pictures: no message" "" "$(cat "$scratch/err")"
same "all pictures: their names" \
	"latency.svg threads.svg live.svg holes.svg percentiles.svg random.svg sizes.svg footprint.svg" \
	"$(sed 's|.*/||' "$scratch/out" | tr '\n' ' ' | sed 's/ $//')"
for picture in latency threads live holes percentiles random sizes footprint; do
	check_form "$scratch/pictures/$picture.svg"
	try "$picture.svg says on what and when" grep -qF \
		'>made up &lt;1&gt;, driver 1.2.3; four cores; 2026-02-03</text>' "$scratch/pictures/$picture.svg"
	try "$picture.svg has colours for dark pages" grep -q 'prefers-color-scheme:dark' "$scratch/pictures/$picture.svg"
done
has() # PICTURE TEXT
{
	try "$1 says $2" grep -qF -- "$2" "$scratch/pictures/$1.svg"
}
has latency 'mam, 256B: 21.5'
has latency 'cudaMalloc, 1GiB: 557k'
has latency '>1k</text>'
has threads 'RMM pool, 16: 0.206'
has threads '>mam: 118</text>'
has footprint 'mam, mapped: 0.6%'
has footprint 'PyTorch: 7.19%'
has footprint 'a&lt;b&amp;c, of mine'
has footprint 'mam, simulated: 37.5%'
has live 'mam, alloc, 10: 31'
has live 'mam, free, 1M: 61'
has live '>free</text>'
has live '>ns an operation</text>'
has live '>live blocks</text>'
has holes 'jemalloc (CPU), alloc, 1k: 55'
has percentiles 'mam, alloc, 99.9%: 4k'
has percentiles 'mam, free, 50%: 30'
has random 'RMM pool, 1,000 blocks, 4096: 471'
has random 'RMM pool, 100,000 blocks, 1: 60k'
has random 'mimalloc (CPU): 100'
has sizes 'cudaMalloc, alloc, 1B: 2k'
has sizes 'cudaMalloc, free, 128MiB: 300k'
hides() # PICTURE TEXT
{
	if grep -qF -- "$2" "$scratch/pictures/$1.svg"; then
		not_ok "$1 does not say $2" "it does"
	else
		ok "$1 does not say $2"
	fi
}
has holes 'mam, alloc, 1k: 44'
hides holes 'mam, host memory' # the same again
hides percentiles ': 17<'         # of another case
hides holes ': 77<'               # of other sizes
same "one group has no line but the axis" 1 "$(grep -c 'class="axis"' "$scratch/pictures/latency.svg")"
same "a group without a value is none: two have a line between" 2 "$(grep -c 'class="axis"' "$scratch/pictures/random.svg")"
# A line is broken where the group changes: its pieces are as many as the groups.
same "a line is broken between groups" 2 \
	"$(grep -c 'class="line mam" points="[0-9]' "$scratch/pictures/live.svg")"
same "a point that nobody has takes no room" "10 100k 10 1M" \
	"$(sed -n 's/.*y="404.0" class="soft" text-anchor="middle">\([0-9kM]*\)<.*/\1/p' "$scratch/pictures/live.svg" |
		tr '\n' ' ' | sed 's/ $//')"
same "what was simulated is not drawn beside the real one" 1 \
	"$(grep -c 'mam, simulated: ' "$scratch/pictures/footprint.svg")"
same "a line has a point for each value and no other" 2 \
	"$(grep -c '<title>mam, [^<]*: [0-9.]*</title>' "$scratch/pictures/latency.svg")"
# More is higher up: 557k above 2.64k.
same "larger values are higher" yes "$(sed -n 's/.*class="line cuda" points="\([^"]*\)".*/\1/p' \
	"$scratch/pictures/latency.svg" | head -n 1 |
	awk -F '[ ,]' '{ print ($4 + 0 < $2 + 0) ? "yes" : "no: " $0 }')"

echo 'pair,cudaMalloc,256B,pair_ns,9000' >"$scratch/second.csv"
mkdir "$scratch/again"
plot -o "$scratch/again" "$scratch/first.csv" "$scratch/second.csv" >/dev/null 2>&1
try "a row of a later file wins" grep -qF 'cudaMalloc, 256B: 9k' "$scratch/again/latency.svg"
mkdir "$scratch/one"
plot -o "$scratch/one" "$scratch/second.csv" >/dev/null 2>&1
same "what has no rows is not drawn" "latency.svg" "$(ls "$scratch/one")"

for file in "$MAM_SRCDIR"/tools/bench/results/*/host-*.csv; do
	[ -e "$file" ] || continue # a release brings none
	mkdir -p "$scratch/stored"
	try "$(basename "$file") can be drawn" "$MAM" bench plot -o "$scratch/stored" "$file"
done

refused "no file" "name a file of results"
refused "a file that is not there" "nowhere.csv" "$scratch/nowhere.csv"
echo 'pair,cudaMalloc,256B,pair_ns,fast' >"$scratch/bad.csv"
refused "a value that is no number" "line 1" "$scratch/bad.csv"
echo 'pair,cudaMalloc,256B,pair_ns,12ns' >"$scratch/bad.csv"
refused "a number with something behind" "line 1" "$scratch/bad.csv"
echo 'pair,cudaMalloc,256B,pair_ns,12,13' >"$scratch/bad.csv"
refused "a field too many" "line 1" "$scratch/bad.csv"
echo 'pair,cudaMalloc,256B,pair_ns' >"$scratch/bad.csv"
refused "a field too few" "line 1" "$scratch/bad.csv"
echo 'pair,"cudaMalloc,256B,pair_ns,1' >"$scratch/bad.csv"
refused "a quote that does not end" "line 1" "$scratch/bad.csv"
echo 'vmm,cudaMalloc,256B,alloc_ns,1' >"$scratch/bad.csv"
refused "nothing to draw" "nothing to draw" "$scratch/bad.csv"
# A folder of results has tables of other tools in it: those are skipped, before and after others, and nothing of them is drawn.
printf '# gpu: other\n# driver: other\n# cpu: other\n# date: 2001-02-03T04:05:06Z\nclient,mode,unit,time\na,b,c,4\n' \
	>"$scratch/0other.csv"
cp "$scratch/0other.csv" "$scratch/other.csv"
printf '# gpu: none\n# driver: none\n# cpu: two cores\n# date: 2026-02-03T04:05:06Z\npair,glibc,256B,pair_ns,9\n' \
	>"$scratch/ours.csv"
mkdir "$scratch/skips"
plot -o "$scratch/skips" "$scratch/0other.csv" "$scratch/ours.csv" "$scratch/other.csv" >"$scratch/out" 2>"$scratch/err"
same "files with other columns: exit status and pictures" "0 latency.svg" "$? $(ls "$scratch/skips")"
same "files with other columns: a note each" 2 \
	"$(grep -c '^mam bench plot: note: .*other.csv is skipped: line 5 is not a row of results' "$scratch/err")"
try "files with other columns: the machine is that of the results" grep -qF '>two cores; 2026-02-03<' "$scratch/skips/latency.svg"
plot -o "$scratch/skips" "$scratch/0other.csv" "$scratch/other.csv" >"$scratch/out" 2>"$scratch/err"
same "nothing but other columns: exit status" 2 $?
try "nothing but other columns: an error after the notes" sh -c "tail -n 1 '$scratch/err' | grep -q 'there is nothing to draw'"
refused "one file with other columns" "line 5: no row of results" "$scratch/other.csv"
{
	cat "$scratch/ours.csv"
	echo "pair,glibc,1K"
} >"$scratch/damaged.csv"
refused "a damaged file among others" "damaged.csv, line 6: no row of results" "$scratch/ours.csv" "$scratch/damaged.csv"
# A computer without a GPU has no driver to name.
printf '# gpu: none\n# driver: none\n# cpu: two cores\n# date: 2026-02-03T04:05:06Z\npair,glibc,256B,pair_ns,9\n' \
	>"$scratch/cpu.csv"
mkdir "$scratch/cpu"
plot -o "$scratch/cpu" "$scratch/cpu.csv" >/dev/null 2>&1
try "without a GPU the processor is named" grep -qF '>two cores; 2026-02-03<' "$scratch/cpu/latency.svg"
refused "a folder that is not there" "no/such" -o "$scratch/no/such" "$scratch/first.csv"
same "nothing half written is left" "" "$(find "$scratch" -name '*.svg?*')"

# The made-up training run.
"$MAM" bench trace >"$scratch/training.trace" 2>"$scratch/err"
same "trace: exit status" 0 $?
"$MAM" bench trace | cmp -s - "$scratch/training.trace"
same "trace: the same every time" 0 $?
"$MAM" replay -p -r 1 "$scratch/training.trace" >"$scratch/keys" 2>"$scratch/err"
same "trace: mam replay takes it" 0 $?
same "trace: events" 207743 "$(awk -F '\t' '$1 == "events" { print $2 }' "$scratch/keys")"
same "trace: GiB live at its peak, as the manual says" 33.6 \
	"$(awk -F '\t' '$1 == "peak_live_bytes" { printf "%.1f", $2 / 1073741824 }' "$scratch/keys")"
"$MAM" bench trace now >/dev/null 2>"$scratch/err"
same "trace: a word too many: exit status" 2 $?

finish
