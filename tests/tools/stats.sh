#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# stats.sh - mam info --stats: a table of several files of mam run --stats, with the maximum over the
# mean and the rank that has it. A file of any other contents is one error, and nothing is printed.
# tests/interpose/ranks.sh has files of real runs.
. "${MAM_SRCDIR:-.}/tests/lib.sh"

# Writes a file of statistics.
write() # FILE PID RANK CALLS PEAK_LIVE PEAK_RESERVED PEAK_TOTAL LIVE_BLOCKS - RANK "": none
{
	{
		printf 'pid\t%s\n' "$2"
		[ -z "$3" ] || printf 'rank\t%s\n' "$3"
		printf 'calls_caught\t%s\nserved\t%s\nlive_blocks\t%s\npeak_live_bytes\t%s\n' "$4" "$4" "$8" "$5"
		printf 'peak_reserved_bytes\t%s\nreserved_ratio\t1.2500\npeak_together_bytes\t%s\n' "$6" "$7"
		printf 'call.cuMemAlloc_v2.driver.served\t%s\n' "$4"
	} > "$scratch/$1"
}

add_device() # FILE DEVICE CALLS PEAK_LIVE PEAK_RESERVED PEAK_TOTAL LIVE_BLOCKS
{
	for add_pair in "calls_caught $3" "peak_live_bytes $4" "peak_reserved_bytes $5" "peak_together_bytes $6" \
		"live_blocks $7" "reserved_ratio 1.0000"; do
		printf 'device.%s.%s\t%s\n' "$2" "${add_pair% *}" "${add_pair#* }"
	done >> "$scratch/$1"
}

stats() # FILE... - of the scratch folder, sets $status
{
	(cd "$scratch" && "$MAM" info "$@") > "$scratch/out" 2> "$scratch/err"
	status=$?
}

value_of() # KEY
{
	sed -n "s/^$1	//p" "$scratch/out"
}

write s.10 100 10 2000 1048576 4194304 4194304 0
write s.2 300 2 1000 3145728 4194304 8388608 3
write s.none 50 '' 3 0 0 0 0
stats --stats s.10 s.2
same "two ranks: the table" "0 rank     process          calls      peak live  peak reserved  peak in total    never freed
   2         300          1,000       3.00 MiB       4.00 MiB       8.00 MiB              3
  10         100          2,000       1.00 MiB       4.00 MiB       4.00 MiB              0

maximum over mean:
  calls          1.33  rank 10
  peak live      1.50  rank 2
  peak reserved  1.00  all equal
  peak in total  1.33  rank 2
  never freed    2.00  rank 2" "$status $(cat "$scratch/out")"
same "two ranks: nothing on stderr" "" "$(cat "$scratch/err")"
stats --stats s.none s.2 s.10
same "a process without a rank is the last row" "2 10 -" "$(awk 'NF == 0 { exit } NR > 1 { print $1 }' "$scratch/out" |
	paste -sd ' ')"
stats --stats s.none
same "one process: all equal" "0 5" "$status $(grep -c ' 1.00  all equal$' "$scratch/out")"
stats -s s.2
same "-s is --stats" 0 $status

stats --stats --plain s.10 s.2
same "plain: lines have a key and a value" "" "$(grep -v -E '^[a-zA-Z0-9_.]+	[0-9.]+$' "$scratch/out")"
same "plain: rows" "2 2 300 10 100 1048576" "$(value_of rows) $(value_of row.0.rank) $(value_of row.0.pid) \
$(value_of row.1.rank) $(value_of row.1.pid) $(value_of row.1.peak_live_bytes)"
same "plain: maximum over mean" "0 2097152.0 1.5000" "$(value_of max_row.peak_live_bytes) $(value_of mean.peak_live_bytes) \
$(value_of max_over_mean.peak_live_bytes)"

# Devices: a row for each. A process of one device has no number.
write d.0 7 0 9 300 400 500 0
add_device d.0 0 4 100 200 300 0
add_device d.0 63 5 200 200 200 0
write d.1 8 1 9 300 400 500 0
stats --stats d.0 d.1
same "devices: the rows" "0 0 0 7 0 63 7 1 - 8" "$status $(awk 'NF == 0 { exit } NR > 1 { print $1, $2, $3 }' "$scratch/out" |
	paste -sd ' ')"
same "devices: the maximum names rank" 1 "$(grep -c '^  peak live *1\.50  rank 1$' "$scratch/out")"
stats --stats d.0
same "devices: the maximum names rank and device" 1 "$(grep -c '^  peak live *1\.33  rank 0, device 63$' "$scratch/out")"
stats -ps d.0
same "devices, plain" "0 63" "$(value_of row.0.device) $(value_of row.1.device)"

# A process without calls, such as a launcher.
write launcher 1 '' 0 0 0 0 0
stats --stats launcher s.2 s.10
same "a process without calls is left out" "0 2" "$status $(grep -c '^ *[0-9][0-9]*  ' "$scratch/out")"
stats --stats launcher
same "only processes without calls: an error" "2 mam info: error: no process made CUDA memory calls" "$status $(cat "$scratch/err")"

# The largest numbers.
write huge.0 18446744073709551615 0 18446744073709551615 18446744073709551615 18446744073709551615 18446744073709551615 1
write huge.1 18446744073709551615 1 18446744073709551615 0 0 0 1
stats --stats huge.0 huge.1
same "largest numbers" "0 2.00" "$status $(awk '/^  peak live/ { print $3 }' "$scratch/out")"

# Bad files.
bad() # NAME TEXT FILE... - one error line with TEXT, status 2, and no output
{
	bad_name=$1
	bad_text=$2
	shift 2
	stats --stats "$@"
	same "$bad_name" "2 1 1 0" "$status $(wc -l < "$scratch/err") $(grep -c "^mam info: error: $bad_text\$" "$scratch/err") \
$(wc -c < "$scratch/out" | tr -d ' ')"
}
edit() # SED-SCRIPT - s.2, edited, as the file "edited"
{
	sed "$1" "$scratch/s.2" > "$scratch/edited"
}
form="'edited' has no statistics of mam run: line [0-9]* is not a key, a tab and a number"
bad "no such file" "cannot open 'none': No such file or directory" none
bad "a good file and a missing one" "cannot open 'none': No such file or directory" s.2 none
bad "a folder" "cannot read '.': Is a directory" .
bad "an empty file" "'/dev/null' has no statistics of mam run: the key 'pid' is missing" /dev/null
bad "a program" "'$MAM' has no statistics of mam run: line 1 is .*" "$MAM"
for script in 's/	/ /' 's/^pid	.*/pid	/' 's/^pid	.*/pid	1.5/' 's/^pid	.*/pid	-1/' 's/^pid	.*/pid	18446744073709551616/' \
	's/^pid	.*/	1/' 's/^pid	/p d	/' 's/^served	.*/served	1x/' 's/^served	.*/served	1.2.3/' 's/$/\r/' '2s/.*//' \
	's/^served	.*/device.x.served	1/' 's/^served	.*/device.64.served	1/' 's/^served	.*/device.1served	1/'; do
	edit "$script"
	bad "malformed line: $script" "$form" edited
done
printf 'pid\t%0300d\n' 1 > "$scratch/edited"
bad "a long line" "$form" edited
printf 'pid\0\t1\n' > "$scratch/edited"
bad "a null character" "$form" edited
whole=$(wc -c < "$scratch/s.2")
for bytes in $((whole - 1)) $((whole - 5)); do
	head -c $bytes "$scratch/s.2" > "$scratch/edited"
	bad "cut off after $bytes bytes of $whole" "$form" edited
done
for key in pid calls_caught live_blocks peak_live_bytes peak_reserved_bytes peak_together_bytes; do
	edit "/^$key	/d"
	bad "$key is missing" "'edited' has no statistics of mam run: the key '$key' is missing" edited
done
cat "$scratch/s.2" "$scratch/s.10" > "$scratch/edited"
bad "two files in one" "'edited' does not have the statistics of one process: line 11 repeats 'pid'" edited
edit 's/^served	.*/rank	2/'
bad "a repeated rank" "'edited' does not have the statistics of one process: line 4 repeats 'rank'" edited
cp "$scratch/d.0" "$scratch/edited"
printf 'device.63.calls_caught\t5\n' >> "$scratch/edited"
bad "a repeated key of a device" "'edited' does not .* repeats 'device.63.calls_caught'" edited
grep -v '^device.63.peak_live' "$scratch/d.0" > "$scratch/edited"
bad "a section that lacks a key" "'edited' has incomplete statistics: the key 'device.63.peak_live_bytes' is missing" edited

# Statistics pages. tests/interpose/stats.sh and tests/api/test_statpage.c have real ones.
XDG_RUNTIME_DIR=$scratch
export XDG_RUNTIME_DIR
bad "a process without a page" "there are no statistics of a process 4711, and no file '4711'.*" 4711
mkdir "$scratch/mam"
printf 'mamstat1' > "$scratch/mam/4711-5-0"
bad "an incomplete page" "'.*/mam/4711-5-0' is not a complete statistics page of this version of mam" 4711
truncate -s 262144 "$scratch/mam/4711-5-0"
bad "a page of another version" "'mam/4711-5-0' is not a complete statistics page of this version of mam" mam/4711-5-0
cp "$scratch/s.2" "$scratch/4711"
stats --stats 4711
same "a file whose name is a number" 0 "$status"
stats --stats
same "no file" "2 mam info: error: no file given; see 'mam info --help'" "$status $(cat "$scratch/err")"
(cd "$scratch" && "$MAM" info --stats s.2 > /dev/full 2> err)
same "full disk" "2 mam info: error: cannot write to standard output" "$? $(cat "$scratch/err")"
finish
