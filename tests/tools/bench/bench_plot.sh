#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# bench_plot.sh - `mam bench plot` draws what a file of results says: every picture is whole XML, every name and
# number is in it, later files win, and what is no result is refused. `mam bench trace` is a trace.
. "${MAM_SRCDIR:-.}/tests/lib.sh"

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

results=$MAM_SRCDIR/tools/bench/results
plots=$MAM_SRCDIR/tools/bench/plots

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

# Without matplotlib, or without Python, one sentence names the package, and no result is lost.
mkdir -p "$scratch/stub/matplotlib"
echo 'raise ImportError("there is none")' >"$scratch/stub/matplotlib/__init__.py"
echo 'pair,glibc,256B,pair_ns,9' >"$scratch/one.csv"
without()
{
	PYTHONPATH=$scratch/stub "$MAM" bench "$@" >"$scratch/out" 2>"$scratch/err"
}
if command -v python3 >/dev/null 2>&1; then
	refused_by without "no matplotlib" 1 "^mam bench plot: error: .*there is none.*install python3-matplotlib" \
		plot -o "$scratch" "$scratch/one.csv"
	refused_by without "--plot without matplotlib" 1 "^mam bench host: error: .*install python3-matplotlib" \
		host --smoke --only pair --sources host --peers none --csv "$scratch/kept.csv" --plot "$scratch/kept.svg"
	same "and nothing is measured in vain, or written" "" "$(ls "$scratch"/kept* 2>/dev/null)"
else
	skip "no matplotlib" "there is no python3"
fi
no_python()
{
	PYTHON=$scratch/nowhere "$MAM" bench plot "$@" >"$scratch/out" 2>"$scratch/err"
}
refused_by no_python "no Python" 1 "cannot run '$scratch/nowhere'.*python3-matplotlib" -o "$scratch" "$scratch/one.csv"

can_plot || {
	no_matplotlib
	finish
}

# The interpreters that are tried.
if [ -z "${PYTHON:-}" ] && /usr/bin/python3 -c 'import matplotlib' >/dev/null 2>&1; then
	mkdir "$scratch/bin" "$scratch/from"
	printf '#!/bin/sh\nexec /usr/bin/python3 -S "$@"\n' >"$scratch/bin/python3" # without packages
	chmod +x "$scratch/bin/python3"
	PATH=$scratch/bin:$PATH "$MAM" bench plot -o "$scratch/from" "$scratch/one.csv" >/dev/null 2>"$scratch/err"
	same "python3 without matplotlib: the system's draws" "0 latency.svg " "$? $(ls "$scratch/from") $(cat "$scratch/err")"
	rm -f "$scratch/bin/python3" "$scratch/from/latency.svg"
	(PATH=$scratch/bin && "$MAM" bench plot -o "$scratch/from" "$scratch/one.csv") >/dev/null 2>"$scratch/err"
	same "no python3 in PATH: the system's draws" "0 latency.svg " "$? $(ls "$scratch/from") $(cat "$scratch/err")"
else
	skip "python3 without matplotlib: the system's draws" "/usr/bin/python3 has no matplotlib"
fi

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
fragmented,mam-host,1000,alloc_ns,44
fragmented,jemalloc,1000,alloc_ns,55
fragmented,mam-host,"1000,1B",alloc_ns,77
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
	"latency.svg threads.svg live.svg fragmented.svg percentiles.svg random.svg sizes.svg footprint.svg" \
	"$(sed 's|.*/||' "$scratch/out" | tr '\n' ' ' | sed 's/ $//')"
mkdir "$scratch/second"
plot -o "$scratch/second" "$scratch/first.csv" >/dev/null 2>&1
for picture in latency threads live fragmented percentiles random sizes footprint; do
	check_form "$scratch/pictures/$picture.svg"
	try "$picture.svg says on what and when" grep -qF \
		'>made up &lt;1&gt;, driver 1.2.3; four cores; 2026-02-03</text>' "$scratch/pictures/$picture.svg"
	try "$picture.svg is the same the second time" cmp "$scratch/pictures/$picture.svg" "$scratch/second/$picture.svg"
	same "$picture.svg has its texts as text, and no date" 0 \
		"$(grep -c -e 'DejaVuSans-' -e '<dc:date>' -e 'Matplotlib v' "$scratch/pictures/$picture.svg")"
done
has() # PICTURE TEXT
{
	try "$1 says $2" grep -qF -- "$2" "$scratch/pictures/$1.svg"
}
has latency 'mam, 256 B: 21.5'
has latency 'cudaMalloc, 1 GiB: 557k'
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
has live '>ns per operation</text>'
has live '>live blocks</text>'
has fragmented 'jemalloc (CPU), alloc, 1k: 55'
has percentiles 'mam, alloc, 99.9%: 4k'
has percentiles 'mam, free, 50%: 30'
has random 'RMM pool, 1,000 blocks, 4096: 471'
has random 'RMM pool, 100,000 blocks, 1: 60k'
has random 'mimalloc (CPU): 100'
has sizes 'cudaMalloc, alloc, 1 B: 2k'
has sizes 'cudaMalloc, free, 128 MiB: 300k'
hides() # PICTURE TEXT
{
	if grep -qF -- "$2" "$scratch/pictures/$1.svg"; then
		not_ok "$1 does not say $2" "it does"
	else
		ok "$1 does not say $2"
	fi
}
has fragmented 'mam, alloc, 1k: 44'
hides fragmented 'mam, host memory' # the same again
hides percentiles ': 17<'         # of another case
hides fragmented ': 77<'               # of other sizes
parts() # FILE - what it shows, one line per part
{
	"$plot_python" "$MAM_SRCDIR/tests/tools/bench/svg_parts.py" "$1"
}
drawn() # PICTURE...
{
	for picture in "$@"; do
		parts "$scratch/pictures/$picture.svg"
	done
}
same "one group has one pair of axes" 1 "$(grep -c 'id="axes_' "$scratch/pictures/latency.svg")"
same "a group without a value is none: two have axes" 2 "$(grep -c 'id="axes_' "$scratch/pictures/random.svg")"
# A line is broken where the group changes: its pieces are as many as the groups.
same "a line is broken between groups" 2 "$(drawn live | grep -c '^line	#0072b2	solid')"
same "a point that nobody has takes no room" "10 100k 10 1M" \
	"$(drawn live | awk -F '\t' '$4 == "12px" && $5 ~ /^10*[kM]?$/ && $3 > 390 { printf "%s%s", blank, $5; blank = " " }')"
same "what was simulated is not drawn beside the real one" 1 \
	"$(grep -c '<title>mam, simulated: ' "$scratch/pictures/footprint.svg")"
same "a line has a point for each value and no other" 2 \
	"$(grep -c '<title>mam, [^<]*: [0-9.]*</title>' "$scratch/pictures/latency.svg")"
same "mam is blue in each figure" "#0072b2" \
	"$(drawn latency threads live fragmented percentiles footprint |
		awk -F '\t' '$1 == "value" && $5 ~ /^mam[,:]/ && !/simulated/ { print $4 }' | sort -u)"
same "cudaMalloc is gray in each figure" "#5f6877" \
	"$(drawn latency live sizes | awk -F '\t' '$1 == "value" && $5 ~ /^cudaMalloc,/ { print $4 }' | sort -u)"
# More is higher up, and a ratio is the same distance everywhere: of 21.5, 71.25, 2642 and 557056 ns.
same "heights are those of the logarithms" "yes yes" "$(drawn latency | awk -F '\t' '
	$1 == "value" { split($5, name, ": "); y[name[1]] = $3 }
	END {
		per = (y["mam, 256 B"] - y["cudaMalloc, 1 GiB"]) / log(557056 / 21.5)
		off = y["mam, 256 B"] - y["cudaMalloc, 256 B"] - per * log(2642.05 / 21.5)
		more = y["mam, 256 B"] - y["mam, 1 GiB"] - per * log(71.25 / 21.5)
		print (per > 10 ? "yes" : "no: " per), (off * off + more * more < 0.01 ? "yes" : "no: " off " " more)
	}')"
same "bars are as long as their values" yes "$(drawn footprint | awk -F '\t' '
	$1 == "value" { end[$5] = $2 }
	END {
		off = (end["mam, simulated: 37.5%"] - end["mam, mapped: 25%"]) / 12.5 - (end["mam, mapped: 25%"] - end["PyTorch: 7.19%"]) / 17.81
		print off * off < 0.0001 ? "yes" : "no: " off
	}')"

echo 'pair,cudaMalloc,256B,pair_ns,9000' >"$scratch/second.csv"
mkdir "$scratch/piped"
# shellcheck disable=SC2002 # a pipe on purpose
cat "$scratch/second.csv" | plot -o "$scratch/piped" /dev/stdin >"$scratch/out" 2>&1
same "results of a pipe are drawn" "$scratch/piped/latency.svg" "$(cat "$scratch/out")"
mkdir "$scratch/again"
plot -o "$scratch/again" "$scratch/first.csv" "$scratch/second.csv" >/dev/null 2>&1
try "a row of a later file wins" grep -qF 'cudaMalloc, 256 B: 9k' "$scratch/again/latency.svg"
mkdir "$scratch/one"
plot -o "$scratch/one" "$scratch/second.csv" >/dev/null 2>&1
same "what has no rows is not drawn" "latency.svg" "$(ls "$scratch/one")"

for file in "$results"/*/host-*.csv*; do
	[ -e "$file" ] || continue # a release brings none
	mkdir -p "$scratch/stored"
	try "$(basename "$file") can be drawn" "$MAM" bench plot -o "$scratch/stored" "$file"
done

# Every value of a stored file is where it belongs: one line over 21 points, and groups of several lines.
shown() # AWK-CONDITION - values of rows, as figures show them
{
	awk -F , "!/^#/ && $1"' { v = $5; u = ""
		if (v >= 999500) { v /= 1e6; u = "M" } else if (v >= 999.5) { v /= 1e3; u = "k" }
		printf "%.3g%s ", v, u }' "$scratch/device.csv"
}
values() # FIGURE PATTERN - of the points whose names match
{
	parts "$scratch/device/$1" | sed -n "s/^value	.*	$2: //p" | tr '\n' ' '
}
if [ -e "$results/h100/device-h100.csv.gz" ]; then
	mkdir "$scratch/device" "$scratch/crowded"
	gzip -dc "$results/h100/device-h100.csv.gz" > "$scratch/device.csv"
	plot -o "$scratch/device" "$results/h100/device-h100.csv.gz" >/dev/null 2>&1
	for pair in mam=mam cuda-malloc='CUDA malloc' rw='RW, one size' bump=counter; do
		same "device-threads.svg has each value of ${pair%%=*}" \
			"$(shown "\$1 == \"device-scale\" && \$2 == \"${pair%%=*}\" && \$4 == \"mops\" && \$3 ~ /^64B/")" \
			"$(values device-threads.svg "${pair#*=}, [0-9]*[KM]\{0,1\}")"
	done
	for threads in 1M 128K; do
		same "device-frees.svg has each value of mam, $threads threads" \
			"$(shown "\$1 == \"device-w1\" && \$2 == \"mam\" && \$4 == \"free_mops\" && \$3 ~ / $threads\$/")" \
			"$(values device-frees.svg "mam, $threads threads, [0-9]*K\{0,1\}")"
	done
	# Names at the right are apart, however many, and none leaves the figure: 6.5 px is the mean width of a letter.
	plot -o "$scratch/crowded" "$results"/h100/xmalloc-h100.csv.gz "$results"/h100/mpi-h100.csv.gz \
		"$results"/h100/model-h100.csv.gz "$results"/h100/kma-h100.csv.gz "$results"/h100/pages-h100.csv.gz >/dev/null 2>&1
	for file in "$scratch"/crowded/*.svg "$scratch"/device/*.svg; do
		same "$(basename "$file"): no names overlap" "" "$(parts "$file" |
			awk -F '\t' '$1 == "text" && $2 + 0 == 631 { print $3 "\t" $5 }' | sort -n |
			awk -F '\t' 'NR > 1 && $1 - y < 16 { print "near: " $2 } { y = $1 } 631 + 6.5 * length($2) > 820 { print "long: " $2 }')"
	done
fi

# Figures show rows that the plans measure, by the same names.
for suite in pages device kma xmalloc mpi case model; do
	"$MAM" bench $suite --list | awk -F '\t' -v suite=$suite '$1 == "cell" { print suite "-" $2 }'
done >"$scratch/cells"
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$plots "$plot_python" - "$scratch/cells" >"$scratch/unmeasured" 2>&1 <<'EOF'
import sys
from figures import FIGURES
cells = set(open(sys.argv[1]).read().splitlines())
points = 0
for file, _, _, _, _, workload, _, *groups in FIGURES:
    # Not those of mam bench host, which have no cells, and those that are computed of several.
    if "-" not in workload or workload in ("model-atomic", "xmalloc-speedup", "mpi-speedup"):
        continue
    workload = {"pages-free": "pages-get", "model-ratio": "model-get"}.get(workload, workload)
    for _, group in groups:
        for parameter, _, _ in group:
            points += 1
            if workload == "model-found":
                parameter = parameter.split()[0]
            if f"{workload} {parameter}" not in cells:
                print(file, parameter)
if points < 400:
    print("only", points, "points")
EOF
same "figures show what is measured" "" "$(head -n 3 "$scratch/unmeasured")"
same "no bytecode is left beside the script" "" "$(find "$plots" -name '*.pyc')"

refused "no file" "no file of results given"
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
bad() # NAME ROW
{
	printf '%s\n' "$2" >"$scratch/bad.csv"
	refused "$1" "bad.csv, line 1: not a row of results" "$scratch/bad.csv"
}
bad "NaN" 'pair,cudaMalloc,256B,pair_ns,nan'
bad "infinity" 'pair,cudaMalloc,256B,pair_ns,-inf'
bad "a number beyond all" 'pair,cudaMalloc,256B,pair_ns,1e400'
bad "a number too large for an axis" 'pair,cudaMalloc,256B,pair_ns,1e100'
bad "a number with a unit" 'pair,cudaMalloc,256B,pair_ns,12 us'
bad "a number that only Python reads" 'pair,cudaMalloc,256B,pair_ns,1_000'
bad "a number of other digits" 'pair,cudaMalloc,256B,pair_ns,١٢'
bad "no number" 'pair,cudaMalloc,256B,pair_ns,'
bad "text after a quote" 'pair,"cudaMalloc"x,256B,pair_ns,1'
bad "other separators" 'pair;cudaMalloc;256B;pair_ns;1'
head -c 700 "$scratch/first.csv" >"$scratch/bad.csv"
refused "a truncated file" "bad.csv, line [0-9]*: not a row of results" "$scratch/bad.csv"
gzip -c "$scratch/first.csv" | head -c 100 >"$scratch/bad.csv"
refused "a truncated compressed file" "cannot read '.*bad.csv': its gzip data is damaged" "$scratch/bad.csv"
head -c 5000 "$MAM" >"$scratch/bad.csv"
refused "a program" "bad.csv, line [0-9]*: not a row of results" "$scratch/bad.csv"
: >"$scratch/bad.csv"
refused "an empty file" "nothing to draw" "$scratch/bad.csv"
refused "a folder" "cannot read '$scratch'" "$scratch"
echo 'pair,cudaMalloc,256B,pair_us,1' >"$scratch/bad.csv"
refused "another unit" "nothing to draw" "$scratch/bad.csv"
printf 'pair,cudaMalloc,256B,pair_ns,0\npair,cudaMalloc,1MiB,pair_ns,-3\n' >"$scratch/bad.csv"
refused "values that have no logarithm" "nothing to draw" "$scratch/bad.csv"
# Lines of other systems, and invalid bytes, which the name of a trace may contain.
mkdir "$scratch/crlf" "$scratch/bytes"
{
	printf '\357\273\277'
	sed 's/$/\r/' "$scratch/first.csv"
} >"$scratch/crlf.csv"
plot -o "$scratch/crlf" "$scratch/crlf.csv" >/dev/null 2>"$scratch/err"
same "CRLF and a byte order mark: exit status" 0 $?
try "CRLF and a byte order mark: the same figures" diff -r "$scratch/pictures" "$scratch/crlf"
# shellcheck disable=SC2016 # no variable
printf 'replay,torch,"\377\001\000 $x^2$ \357\277\277",reserved_ratio,1.5\n# gpu: \033[1m\201\n' >"$scratch/bytes.csv"
plot -o "$scratch/bytes" "$scratch/bytes.csv" >/dev/null 2>"$scratch/err"
same "a name of any bytes: exit status" 0 $?
check_form "$scratch/bytes/footprint.svg"
# shellcheck disable=SC2016
try "a name of any bytes: what is text stays" grep -qF ' $x^2$ ' "$scratch/bytes/footprint.svg"
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
try "nothing but other columns: an error after the notes" sh -c "tail -n 1 '$scratch/err' | grep -q 'error: nothing to draw'"
refused "one file with other columns" "line 5: not a row of results" "$scratch/other.csv"
{
	cat "$scratch/ours.csv"
	echo "pair,glibc,1K"
} >"$scratch/damaged.csv"
refused "a damaged file among others" "damaged.csv, line 6: not a row of results" "$scratch/ours.csv" "$scratch/damaged.csv"
# A computer without a GPU has no driver to name.
printf '# gpu: none\n# driver: none\n# cpu: two cores\n# date: 2026-02-03T04:05:06Z\npair,glibc,256B,pair_ns,9\n' \
	>"$scratch/cpu.csv"
mkdir "$scratch/cpu"
plot -o "$scratch/cpu" "$scratch/cpu.csv" >/dev/null 2>&1
try "without a GPU the processor is named" grep -qF '>two cores; 2026-02-03<' "$scratch/cpu/latency.svg"
refused "a folder that is not there" "no/such" -o "$scratch/no/such" "$scratch/first.csv"
mkdir -p "$scratch/taken/latency.svg"
refused "a figure that is a folder" "not a regular file" -o "$scratch/taken" "$scratch/one.csv"
same "nothing half written is left" "" "$(find "$scratch" -name '*.svg?*')"
plot --help >"$scratch/out" 2>&1
same "--help: exit status" 0 $?
explained_in "$MAM_SRCDIR/tools/mam-bench.1"

finish
