#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# profile.sh - mam run --profile: bytes per function and line are exact, with threads, recursion,
# libraries that are unloaded, forks, and processes that are killed.
. "${MAM_SRCDIR:-.}/tests/lib.sh"
. "$MAM_SRCDIR/tests/interpose/interpose.sh"

source=$MAM_SRCDIR/tests/interpose/profile
APP=$scratch/app
profile=$scratch/profile
export APP

mkdir "$APP"
build() # OUTPUT OPTIONS...
{
	build_output=$1
	shift
	# shellcheck disable=SC2086 # CFLAGS are words
	$CC $CFLAGS -O1 -g -fno-inline -o "$APP/$build_output" "$@" "$fakes/libcudart.so.13" -ldl -pthread \
		2> "$scratch/log"
}
if ! build scenes "$source/scenes.c" ||
	! build plugin-a.so -shared -fPIC -fomit-frame-pointer -DBYTES=64 "$source/plugin.c" ||
	! build plugin-b.so -shared -fPIC -fomit-frame-pointer -DBYTES=128 "$source/plugin.c" ||
	! build plugin-d.so -shared -fPIC -fomit-frame-pointer -DBYTES=192 -DLARGE "$source/plugin.c" ||
	! build plugin-c.so -shared -fPIC -DBYTES=256 -DCONSTRUCTOR "$source/plugin.c" ||
	! build plugin-p.so -shared -fPIC -DBYTES=320 -DPYTHON "$source/plugin.c"; then
	not_ok "programs build" "$(tail -n 1 "$scratch/log")"
	finish
fi

watch() # OPTIONS... - one run's profile, as text; a deadlock or a wrong unwinder might not return
{
	rm -f "$profile"*
	timeout 100 "$MAM" run --profile="$profile" "$@" > "$scratch/out" 2> "$scratch/err"
	watch_status=$?
	: > "$scratch/lines"
	[ ! -f "$profile" ] || gzip -dcf < "$profile" > "$scratch/lines" 2> /dev/null
	return $watch_status
}

# Prints a line for each frame of the stacks of blocks of some size: how many blocks, the distance from
# the innermost frame, module, offset. Any number that the trace does not explain is "unknown".
frames() # BYTES
{
	awk -v bytes="$1" '
	$1 == "#module" { path[$2] = $3 }
	$1 == "#frame" { parent[$2] = $3; module[$2] = $5; offset[$2] = $6; kind[$2] = $4 }
	$1 == "a" && $3 == bytes {
		stack = 0
		for (i = 5; i <= NF; i++)
			if ($i ~ /^stack=/)
				stack = substr($i, 7)
		blocks[stack]++
	}
	END {
		for (stack in blocks) {
			if (!(stack in parent))
				print blocks[stack], 0, "unknown", 0
			depth = 0
			for (at = stack; at in parent; at = parent[at])
				print blocks[stack], depth++, (kind[at] == "native" ? path[module[at]] : kind[at]), offset[at]
		}
	}' "$scratch/lines"
}

line_of() # NAME - the line of scenes.c that allocates in the function NAME
{
	grep -n "/\* $1 \*/" "$source/scenes.c" | cut -d: -f1
}

# Prints "BLOCKS FUNCTION:LINE" of the innermost frames.
callers() # BYTES
{
	frames "$1" | awk '$2 == 0' | while read -r callers_blocks _ callers_path callers_offset; do
		echo "$callers_blocks $(addr2line -f -e "$callers_path" "$callers_offset" 2>&1 | sed 's|.*/[^:]*:||; s| .*||' | paste -s -d:)"
	done | awk '{ sum[$2] += $1 } END { for (name in sum) print sum[name], name }' | LC_ALL=C sort
}

if command -v addr2line > /dev/null 2>&1; then
	watch -- "$APP/scenes" lines
	same "the program runs normally" 0 $?
	same "function and line of five blocks" "5 weights:$(line_of weights)" "$(callers 4096)"
	same "function and line of 300 blocks" "300 scratch:$(line_of scratch)" "$(callers 512)"
	same "a call through the runtime library names its caller" "1 ordered:$(line_of ordered)" "$(callers 96)"
	same "each frame is written once" "" "$(sed -n 's/^#frame [0-9]* //p' "$scratch/lines" | sort | uniq -d)"
	same "a module has its build ID" "$(readelf -n "$APP/scenes" | sed -n 's/.*Build ID: //p')" \
		"$(sed -n "s|^#module [0-9]* $APP/scenes ||p" "$scratch/lines" | sed 's/^-$//')"
	same "frees have no stack" "300 0" \
		"$(grep -c '^f' "$scratch/lines") $(grep -c '^f.*stack=' "$scratch/lines")"
	same "the profile replays as a trace" "306 300" \
		"$("$MAM" replay -p -r 1 "$profile" | sed -n 's/^\(allocs\|frees\)	//p' | tr '\n' ' ' | sed 's/ $//')"

	watch -- "$APP/scenes" threads
	same "threads: functions and lines" "2000 even:$(line_of even) 2000 odd:$(line_of odd)" \
		"$(callers 1000) $(callers 2000)"

	watch -- "$APP/scenes" recursion
	same "recursion: the innermost frame" "1 weights:$(line_of weights)" "$(callers 4096)"
	same "recursion: at most 256 frames" yes \
		"$(frames 4096 | awk 'END { print (NR > 240 && NR <= 256 ? "yes" : NR " frames") }')"

	watch -- "$APP/scenes" small
	same "threads with the smallest stack" "0 2000 even:$(line_of even) 2000 odd:$(line_of odd)" \
		"$? $(callers 1000) $(callers 2000)"
	watch -- "$APP/scenes" cancelled
	same "threads that are cancelled" "0 200 farewell:$(line_of farewell)" "$? $(callers 700)"
	watch -- "$APP/scenes" coroutine
	same "a coroutine with 8 KiB of stack" "0 2 weights:$(line_of weights) 1 scratch:$(line_of scratch)" \
		"$? $(callers 4096) $(callers 512)"
	watch -- "$APP/scenes" handler
	same "a signal handler with 8 KiB of stack" "0 1 weights:$(line_of weights)" "$? $(callers 4096)"
	same "its stack goes on to the code that the signal interrupted" yes \
		"$(frames 4096 | awk '$3 ~ /scenes/ { own++ } END { print (own >= 4 ? "yes" : own " frames") }')"

	watch -- "$APP/scenes" killed
	same "killed: events and frames are in the ring" "1 306 yes" \
		"$(grep -c . "$scratch/lines") $("$MAM" replay -p -r 1 "$profile" | sed -n 's/^allocs	//p') $(
			strings -n 8 "$profile.ring" | grep -q "^#module [0-9]* $APP/scenes " && echo yes)"
else
	skip "functions and lines" "no addr2line"
fi

# Libraries take turns at one address. The frame outside of them is always plug().
watch -- "$APP/scenes" plugins
same "plugins: the program runs normally" 0 $?
if [ "$(sort -u "$scratch/out" | wc -l)" -lt 10 ]; then
	ok "plugins share addresses"
else
	skip "plugins share addresses" "the linker loaded them at different ones"
fi
for plugin in "64 a" "128 b" "192 d"; do
	same "plugin-${plugin#* }.so: each stack is its own, and goes on in the program" "30 0 plugin-${plugin#* }.so 30 1 scenes" \
		"$(frames "${plugin% *}" | awk '$2 < 2 { sub(".*/", "", $3); sum[$2 " " $3] += $1 }
			END { for (key in sum) print sum[key], key }' | sort -k 2 | tr '\n' ' ' | sed 's/ $//')"
done

watch -- "$APP/scenes" jit
map=$(cat "$scratch/out")
same "code of no file: the perf map is named, once" "0 #perf-map $map" "$? $(grep '^#perf-map' "$scratch/lines")"
same "it has the function's name" "12288 3 jit_function" \
	"$("$MAM" profile --plain "$profile" 2> "$scratch/err" | awk -F '\t' '$1 == "live" { print $2, $3, $5 }')"
case $map in
/tmp/perf-*.map)
	if [ "$(id -u)" = 0 ]; then
		chown 12345 "$map"
		same "a perf map of another user is not read" "" "$("$MAM" profile --plain "$profile" 2> "$scratch/err" | grep jit_function)"
	else
		skip "a perf map of another user is not read" "only root can give a file away"
	fi
	rm -f "$map"
	;;
esac

watch -- "$APP/scenes" interpreter
same "an interpreter that is unloaded is not read" "0 3 3" "$? $(grep -c '^a [0-9]* 320 .* stack=' "$scratch/lines") $(
	grep -c '^a [0-9]* 4096 .* stack=' "$scratch/lines")"

watch -- "$APP/scenes" constructor
same "allocations in a constructor, while other threads begin" "0 101 4000" \
	"$? $(frames 256 | awk '$2 == 0 && $3 ~ /plugin-c/ { sum += $1 } END { print sum }') $(grep -c '^a [0-9]* [12]000 .* stack=' "$scratch/lines")"

watch -- "$APP/scenes" family
same "fork: the parent's stacks" "0 1 scenes" "$? $(frames 4096 | awk '$2 == 0 { sub(".*/", "", $3); print $1, $3 }')"
cat "$profile".[0-9]* | gzip -dcf > "$scratch/lines"
same "fork: the child's stacks" "1 scenes" "$(frames 512 | awk '$2 == 0 { sub(".*/", "", $3); print $1, $3 }')"
watch -- "$APP/scenes" forks
same "forks of a process that allocates" "0 4000 0" \
	"$? $(grep -c '^a [0-9]* [12]000 .* stack=' "$scratch/lines") $(frames 1000 | grep -c unknown)"

# Sampling: the sum of the weights estimates the bytes. Each of the 12,000,000 bytes in blocks of 1,000
# and 2,000 is chosen with the same probability; six standard errors do not happen by chance.
watch --profile-rate=10K -- "$APP/scenes" threads
same "sampling is in the heading" "#sampled 10240" "$(sed -n 2p "$scratch/lines")"
same "sampling: the estimate" yes "$(awk '
	BEGIN { for (s = 1000; s <= 2000; s += 1000) {
		p = 1 - exp(-s / 10240); exact += 2000 * s; variance += 2000 * s * s * (1 - p) / p
	} }
	$1 == "a" { sum += $3 / (1 - exp(-$3 / 10240)); n++ }
	END {
		error = (sum - exact) / sqrt(variance)
		print (error < 6 && error > -6 && n < 2000 ? "yes" : sum " of " exact " bytes, off by " error " standard errors")
	}' "$scratch/lines")"
same "sampling: each free has its allocation" "" "$(awk '
	$1 == "a" { live[$2] = 1 } $1 == "f" && !($2 in live) { print $2 } $1 == "f" { delete live[$2] }' "$scratch/lines")"

watch -- "$probes/probe_watched" limited
same "no space for the profile: the program runs" "0 joined 1" \
	"$? $(tail -n 1 "$scratch/out") $(grep -c "^mam: error: cannot write profile '.*': .*too large" "$scratch/err")"
watch -- true
try "nothing to profile: one warning" \
	grep -q "^mam: warning: profile '.*' was not written: no allocation was intercepted" "$scratch/err"

# Python: the native frames up to the interpreter, then those of Python.
cat > "$APP/train.py" << 'END'
import ctypes
import os
cuda = ctypes.CDLL("libcudart.so.13")
def allocate(size=768):
    block = ctypes.c_void_p()
    cuda.cudaMalloc(ctypes.byref(block), ctypes.c_size_t(size))
def main():
    allocate()
main()
def deep(n):
    return deep(n - 1) if n else allocate(640)
deep(600)
library = ctypes.CDLL(os.environ["APP"] + "/native.so")
def native():
    library.native(70, ctypes.byref(ctypes.c_void_p()))
native()
END
cat > "$APP/native.c" << 'END'
#include <stddef.h>
int cudaMalloc(void **address, size_t bytes);
int native(int depth, void **block)
{
	int error = depth > 0 ? native(depth - 1, block) : cudaMalloc(block, 1280);

	__asm__ volatile("" : : "r"(block) : "memory");
	return error;
}
END
if python3 -c "import ctypes" 2> /dev/null && build native.so -shared -fPIC -fno-omit-frame-pointer "$APP/native.c"; then
	watch -- python3 "$APP/train.py"
	same "Python: functions and lines, outermost last" "6:$APP/train.py:allocate 8:$APP/train.py:main 9:$APP/train.py:<module> " \
		"$(awk '$1 == "#frame" { parent[$2] = $3; text[$2] = $4 == "python" ? $5 ":" $6 ":" $7 : "" }
			$1 == "a" && $3 == 768 { for (i = 5; i <= NF; i++) if ($i ~ /^stack=/) stack = substr($i, 7) }
			END { for (; stack in parent; stack = parent[stack]) if (text[stack] != "") printf "%s ", text[stack] }' "$scratch/lines")"
	same "Python: at most 128 frames of Python" 128 "$(frames 640 | grep -c ' python ')"
	same "Python: many native frames before the interpreter, and none of its own" "71 native.so python 2" \
		"$(frames 1280 | awk '{ sub(".*/", "", $3) } $3 == "native.so" { own++ } $3 == "python" { python++ }
			$3 ~ /^(lib)?python/ && $3 != "python" { wrong++ } END { print own, "native.so python", python wrong }')"
	same "Python: native frames outside of the interpreter come first" "native native" \
		"$(frames 768 | awk '$2 < 2 { print $3 ~ /^\// ? "native" : $3 }' | tr '\n' ' ' | sed 's/ $//')"
else
	skip "Python frames" "no python3 with ctypes"
fi

cd "$scratch" || exit 1
"$MAM" run --profile -- "$APP/scenes" lines && gzip -dcf < mam.profile > "$scratch/lines"
same "the default name" 306 "$(grep -c '^a .* stack=' "$scratch/lines")"
"$MAM" run --trace=t --profile -- true 2> "$scratch/err"
same "--trace and --profile exclude each other" "2 1" "$? $(grep -c 'exclude each other' "$scratch/err")"
"$MAM" run --profile-rate=1M -- true 2> "$scratch/err"
same "--profile-rate without --profile is refused" "2 1" "$? $(grep -c 'requires --profile' "$scratch/err")"
finish
