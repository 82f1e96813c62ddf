#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# bench.sh - `mam bench host` runs, prints what its manual specifies, and rejects invalid requests.
# The measured values are not checked, except that they are numbers above zero.
. "${MAM_SRCDIR:-.}/tests/lib.sh"

bench()
{
	"$MAM" bench host "$@"
}

refused() # NAME TEXT ARGUMENT... - exit status 2, one line with TEXT in it, nothing on stdout
{
	refused_name=$1
	refused_text=$2
	shift 2
	bench "$@" >"$scratch/out" 2>"$scratch/err"
	same "$refused_name: exit status" 2 $?
	if [ "$(wc -l <"$scratch/err")" -eq 1 ] && grep -q -e "$refused_text" "$scratch/err"; then
		ok "$refused_name: one line"
	else
		not_ok "$refused_name: one line" "$(lib_tail "$scratch/err")"
	fi
}

# The manual page lists the keys that are printed.
keys=$(sed -n '/^\.SH PLAIN OUTPUT/,/^\.SH CSV/p' "$MAM_SRCDIR/tools/mam-bench.1" |
	sed -n '/^\.nf/,/^\.fi/p' | sed '/^\./d; s/ .*//')
[ "$(printf '%s\n' "$keys" | wc -l)" -ge 15 ] && ok "the manual page lists the keys" ||
	not_ok "the manual page lists the keys" "found: $keys"

# No peers here: 200,000 blocks of malloc are too much for a small machine.
plot=
can_plot && plot="--plot $scratch/all.svg"
# shellcheck disable=SC2086 # two words or none
bench --smoke --seconds 300 -p --sources host,simulated --peers none --csv "$scratch/all.csv" $plot \
	--trace "$MAM_SRCDIR/tests/data/resnet50-train.trace.gz" >"$scratch/keys" 2>"$scratch/err"
same "smoke: exit status" 0 $?
same "smoke: no message" "" "$(cat "$scratch/err")"
for key in $keys; do
	value=$(awk -F'\t' -v key="$key" '$1 == key { print $2 }' "$scratch/keys")
	if awk -v value="$value" 'BEGIN { exit !(value + 0 > 0) }'; then
		ok "$key is a number above zero"
	else
		not_ok "$key is a number above zero" "got '$value'"
	fi
done
for key in targets_met targets_missed; do
	try "$key is counted" grep -qE "^$key	[0-9]+\$" "$scratch/keys"
done
same "every line has a key, a tab and a value" "" \
	"$(grep -vE '^[A-Za-z0-9_.-]+	[0-9.e+-]+$' "$scratch/keys")"

# The CSV file.
same "csv: eight lines of header" "gpu driver cpu kernel date commit command columns" \
	"$(sed -n 's/^# \([a-z]*\): ..*/\1/p' "$scratch/all.csv" | tr '\n' ' ' | sed 's/ $//')"
same "csv: the header comes first" 8 "$(head -n 8 "$scratch/all.csv" | grep -c '^# ')"
for workload in pair size fragmented live threads foreign create random training footprint latency fill policy replay \
	smallest; do
	try "csv: has $workload" grep -qE "^$workload,mam-host,(\"[^\"]*\"|[^,]*),[a-z_]+,[0-9.e+-]+\$" \
		"$scratch/all.csv"
done
for workload in pair threads foreign random training footprint latency fill policy replay; do
	try "csv: has $workload of the simulated source" grep -q "^$workload,mam-simulated" "$scratch/all.csv"
done
same "csv: no temporary file remains" "" "$(find "$scratch" -name 'all.csv?*')"

# Relations that hold on any machine.
holds() # NAME ALLOCATOR... - NAME is a condition in awk on v["WORKLOAD,ALLOCATOR,PARAMETER,METRIC"]; p is the allocator
{
	holds_what=$1
	shift
	for pool in "$@"; do
		holds_got=$(awk -F, -v p="$pool" '!/^#/ { text = $0; gsub(/"/, "", text); sub(/,[^,]*$/, "", text); v[text] = $NF + 0 }
			function at(name) { if (!(name in v)) { print "there is no " name; bad = 1; exit }; return v[name] }
			END { if (!bad) print ('"$holds_what"') ? "yes" : "no" }' "$scratch/all.csv")
		same "$pool: $holds_what" yes "$holds_got"
	done
}
for kind in alloc free; do
	latency="latency,\" p \",mixed,${kind}"
	for pair in p50:p90 p90:p99 p99:p999 p999:max; do
		holds "at(\"${latency}_${pair%:*}_ns\") <= at(\"${latency}_${pair#*:}_ns\")" mam-host mam-host-cache mam-simulated
	done
done
holds 'at("latency," p ",mixed,growths") >= 1' mam-host mam-host-cache mam-simulated
holds 'at("latency," p ",mixed,growth_ns") <= at("latency," p ",mixed,growth_max_ns")' mam-host mam-simulated
holds 'at("latency," p ",mixed,clock_ns") > 0' mam-host
holds 'at("replay," p ",resnet50-train,cold_events") == 37695' mam-host mam-simulated-cache
holds 'at("replay," p ",resnet50-train,failures") == 0' mam-host mam-simulated-cache
holds 'at("replay," p ",resnet50-train,reserved_ratio") >= 1' mam-host mam-simulated-cache
holds 'at("training," p ",growing,alloc_p99_ns") >= at("training," p ",growing,alloc_ns")' mam-host
holds 'at("training," p ",growing,cold_alloc_mean_ns") > 0 && at("training," p ",growing,cold_free_mean_ns") > 0' mam-host
holds 'at("smallest," p ",training,chunk_ratio") >= 1' mam-host mam-host-cache
holds 'at("smallest," p ",training,fails_ratio") < at("smallest," p ",training,chunk_ratio")' mam-host mam-host-cache
holds 'at("fill," p ",full,fills") >= 2' mam-host mam-simulated
for range in 1B 8B 64B 512B 4KiB 32KiB 256KiB 2MiB 16MiB 128MiB; do
	holds "at(\"fill,\" p \",$range,alloc_ns\") > 0 && at(\"fill,\" p \",$range,free_ns\") > 0" mam-host
done
for policy in strict deferred stream strict,cache deferred,cache stream,cache; do
	holds "at(\"policy,\" p \",$policy,pair_ns\") > 0 && at(\"policy,\" p \",$policy,op_ns\") > 0" mam-host mam-simulated
done

# The plot: complete, with the measured values in it.
if [ -n "$plot" ]; then
	try "plot: it is well-formed" python3 -c 'import sys, xml.dom.minidom as x; x.parse(sys.argv[1])' "$scratch/all.svg"
	for title in 'Time of one allocation and free' 'Threads that share one pool' 'Time of an operation with many live blocks' \
		'Latency percentiles of single operations' 'Random sizes until memory is exhausted' 'Memory held beyond live memory'; do
		try "plot: has '$title'" grep -qF ">$title<" "$scratch/all.svg"
	done
	try "plot: names the machine" grep -qF "$(sed -n 's/^# cpu: //p' "$scratch/all.csv")" "$scratch/all.svg"
	try "plot: has the date" grep -qF "; $(sed -n 's/^# date: \(.*\)T.*/\1/p' "$scratch/all.csv")<" "$scratch/all.svg"
	try "plot: has each value of pair" sh -c "sed -n 's/^pair,mam-host-cache,256B,pair_ns,//p' '$scratch/all.csv' |
		awk '{ printf \"mam, 256 B: %.3g<\", \$1 }' | grep -qFf - '$scratch/all.svg'"
else
	no_matplotlib
fi

# The keys are the same in every run.
bench --smoke -p --only pair,fragmented,create --sources host --peers none 2>/dev/null | cut -f 1 >"$scratch/once"
bench --smoke -p --only pair,fragmented,create --sources host --peers none 2>/dev/null | cut -f 1 >"$scratch/twice"
same "the keys are the same in every run" "$(cat "$scratch/once")" "$(cat "$scratch/twice")"
[ "$(wc -l <"$scratch/once")" -ge 8 ] && ok "keys are printed" || not_ok "keys are printed" "$(cat "$scratch/once")"

# A peer's results carry its name; only requested workloads are run.
bench --smoke -p --only pair --peers glibc >"$scratch/keys" 2>/dev/null
try "a peer's keys carry its name" grep -qE '^glibc\.pair_ns	[0-9.]+$' "$scratch/keys"
same "--only runs no other workload" "" "$(grep alloc_1000 "$scratch/keys")"

# The printed table.
bench --smoke --only pair --peers glibc >"$scratch/table" 2>/dev/null
try "the table has target and result" grep -qE '<= 80.*(met|missed)' "$scratch/table"

# Each allocator is measured, or listed with the reason why not.
bench --smoke --only pair,vmm --csv "$scratch/pair.csv" >"$scratch/table" 2>/dev/null
for name in $(bench --list | awk '$1 != "workload" { print $2 }'); do
	if grep -qE "^(pair|vmm),$name," "$scratch/pair.csv" ||
		grep -qE "^note: skipped.*[ ,]${name}[,:].*:? [a-z]+" "$scratch/table"; then
		ok "$name is measured, or skipped with a message"
	else
		not_ok "$name is measured, or skipped with a message" "neither a row nor a note"
	fi
done

# The list contains the values that the other options accept.
bench --list >"$scratch/list"
for name in $(awk '$1 == "workload" { print $2 }' "$scratch/list"); do
	try "--list has $name, as in the manual" grep -qx "\.B $name" "$MAM_SRCDIR/tools/mam-bench.1"
done

# Every option has its paragraph.
bench --help >"$scratch/help"
for option in $(sed -n 's/^ *\(-., *\)\{0,1\}--\([a-z]*\).*/\2/p' "$scratch/help"); do
	[ "$option" = help ] || try "the manual page explains --$option" \
		grep -qE "^\.(B|BI|BR).*\\\\-\\\\-$option( |\"|\$)" "$MAM_SRCDIR/tools/mam-bench.1"
done

refused "unknown workload" "'speed'" --only pair,speed
refused "unknown source" "'moon'" --sources moon
refused "unknown peer" "'tcmalloc'" --peers glibc,tcmalloc
refused "extra argument" "'now'" --smoke now
refused "unknown option" "'--fast'" --fast
refused "csv without a file" "'--csv'" --csv
bench --smoke --only pair --peers none --csv "$scratch/no/such/place.csv" >/dev/null 2>"$scratch/err"
same "csv cannot be written: exit status" 2 $?
try "csv cannot be written: message names it" grep -q 'no/such/place.csv' "$scratch/err"
refused "plot without a file" "'--plot'" --plot
refused "plot cannot be written" "no/such/place.svg" --smoke --only pair --peers none --plot "$scratch/no/such/place.svg"
refused "trace does not exist" "nowhere.trace" --smoke --only replay --trace "$scratch/nowhere.trace"
echo 'mam-trace 1' >"$scratch/empty.trace"
refused "trace without events" "empty.trace" --smoke --only replay --trace "$scratch/empty.trace"
echo 'hello' >"$scratch/bad.trace"
refused "not a trace" "bad.trace" --smoke --only replay --trace "$scratch/bad.trace"
if can_plot; then
	bench --smoke --only create --sources host --peers none --csv "$scratch/none.csv" --plot "$scratch/none.svg" \
		>/dev/null 2>"$scratch/err"
	same "nothing to plot: exit status" 2 $?
	try "nothing to plot: message" grep -q '^mam bench host: error: nothing to draw' "$scratch/err"
	try "nothing to plot: no plot remains" test ! -e "$scratch/none.svg"
	try "nothing to plot: the results are kept" grep -q '^create,mam-host,' "$scratch/none.csv"
fi
bench --seconds 1 --sources host --peers glibc --only pair,threads,foreign >"$scratch/table" 2>/dev/null
same "--seconds ends the bench: exit status" 0 $?
try "--seconds: the skipped part is listed" grep -q "^note: foreign: cells left out" "$scratch/table"
refused "invalid number of seconds" "'soon'" --seconds soon
"$MAM" bench moon >/dev/null 2>"$scratch/err"
same "unknown benchmark: exit status" 2 $?

finish
