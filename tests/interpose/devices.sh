#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# devices.sh - the statistics of a process that used the memory of several devices have a section
# per device, and the sections add up to the whole. Those of one device have none. The scenes are in
# probe_pass.c.
. "${MAM_SRCDIR:-.}/tests/lib.sh"
. "$MAM_SRCDIR/tests/interpose/interpose.sh"
on_both_sources

probe=$probes/probe_pass
FAKE_CUDA_DEVICES=3
export FAKE_CUDA_DEVICES

watch() # OPTION... SCENE
{
	rm -f "$scratch/stats"
	"$MAM" run --stats="$scratch/stats" --chunk 2M --growth 2M "$@" > "$scratch/out" 2> "$scratch/err"
}

of_device() # DEVICE KEY... - their values
{
	of_prefix=device\\.$1\\.
	shift
	of_line=
	for of_key in "$@"; do
		of_line="$of_line $(stat_of "$of_prefix$of_key")"
	done
	echo "${of_line# }"
}

# The keys whose sums over the devices differ from the whole: all are added except the ratio and the
# estimate of the time saved, which are computed.
unequal()
{
	awk -F '\t' '
		/^device\./ { split($1, part, "."); sum[part[3]] += $2; next }
		{ whole[$1] = $2 }
		END {
			for (key in sum)
				if (key != "reserved_ratio" && key != "saved_ns" && sum[key] != whole[key])
					print key
		}' "$scratch/stats" | tr '\n' ' '
}

for policy in strict deferred stream; do
	watch --free $policy -- "$probe" limit-devices
	same "$policy: the devices used have a section, in order" "0 1" \
		"$(sed -n 's/^device\.\([0-9]*\)\.pools	.*/\1/p' "$scratch/stats" | paste -sd ' ')"
	same "$policy: sections add up to the whole" "" "$(unequal)"
	same "$policy: device 0" "4 2 2 0 132120576 1 1 1 0 0 62914560" "$(of_device 0 calls_caught served forwarded failed \
		bytes_asked pools allocs frees live_blocks live_bytes peak_live_bytes)"
	same "$policy: device 1" "8 2 6 0 113246208 1 2 0 2 12582912 12582912" "$(of_device 1 calls_caught served \
		forwarded failed bytes_asked pools allocs frees live_blocks live_bytes peak_live_bytes)"
	same "$policy: memory outside the pools" "0 62914560 6291456 20971520 4194304 69206016" \
		"$(of_device 0 peak_async_bytes peak_managed_bytes peak_physical_bytes) $(of_device 1 peak_async_bytes \
			peak_managed_bytes peak_physical_bytes)"
done
try "the driver's time is that of the device" test "$(of_device 0 driver_grows)" -gt 0 -a "$(of_device 0 driver_grow_ns)" -gt 0 \
	-a "$(of_device 1 driver_grows)" -gt 0 -a "$(of_device 1 driver_grow_ns)" -gt 0
same "the ratio is that of the device" "$(awk "BEGIN { printf \"%.4f\", $(of_device 1 peak_reserved_bytes) / 12582912 }")" \
	"$(of_device 1 reserved_ratio)"

# A second pool after a reset; calls that fail; a block that was freed twice, of unknown device;
# host memory, which belongs to no device.
watch -- "$probe" devices
same "pools of a context that ended are counted" "1 2 2 12582912" "$(of_device 0 pools) $(of_device 1 pools allocs \
	peak_live_bytes)"
same "failed calls count on the device of the context" "0 1" "$(of_device 0 failed) $(of_device 1 failed)"
same "a double free is in the whole only" "2" "$(stat_of failed)"
same "requested bytes" "4194304 16777216" "$(of_device 0 bytes_asked) $(of_device 1 bytes_asked)"
same "the section has no host memory" "3145728 0" "$(stat_of peak_host_bytes) $(grep -c '^device.*host' "$scratch/stats")"
same "lines have a key and a value" "" "$(grep -v -E '^[a-zA-Z0-9_.]+	[0-9.]+$' "$scratch/stats")"

watch -- "$probe" one-device
same "memory of one device: no section" "1048576 0" "$(stat_of peak_host_bytes) $(grep -c '^device' "$scratch/stats")"
"$MAM" run --stats -- "$probe" one-device > "$scratch/out" 2> "$scratch/err"
same "table of one device: no section" 0 "$(grep -c 'device [0-9]' "$scratch/err")"

# The table.
"$MAM" run --stats --chunk 2M --growth 2M -- "$probe" devices > "$scratch/out" 2> "$scratch/err"
try "table: calls of device 0" grep -q '^  device 0: 3 calls, 2 served, 1 forwarded, 0 failed$' "$scratch/err"
try "table: calls of device 1" grep -q '^  device 1: 6 calls, 2 served, 3 forwarded, 1 failed$' "$scratch/err"
same "table: memory of each device and of both" "  requested 20 MiB
    requested 4.00 MiB
    requested 16 MiB" "$(grep -o '^ *requested [0-9.]* [MK]iB' "$scratch/err")"
try "table: memory outside the pools, with its device" grep -q '^    outside the pools: stream-ordered memory, peak 2.00 MiB$' \
	"$scratch/err"
finish
