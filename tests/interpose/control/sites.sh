#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# sites.sh - mam ctl sites: the call sites of a program that runs, as mam top prints them; of one that
# is killed, forks, unloads the code of a site, or runs Python.
# shellcheck disable=SC2317 # called through until_true
. "${MAM_SRCDIR:-.}/tests/lib.sh"
. "$MAM_SRCDIR/tests/interpose/interpose.sh"
. "$MAM_SRCDIR/tests/interpose/control/talk.sh"

probe=$probes/probe_control
XDG_RUNTIME_DIR=$scratch/run
export XDG_RUNTIME_DIR
mkdir -m 700 "$XDG_RUNTIME_DIR"

stop()
{
	exec 3>&-
	wait "$process"
	same "$1: exit status" 0 $?
}

ctl() # ARGUMENT... - one request; the output is in $scratch/reply
{
	"$MAM" ctl "$@" > "$scratch/reply" 2>&1
}

# The sites of the table, as "BYTES BLOCKS NAME,"; offsets are 0x.
sites()
{
	"$MAM" top -n 1 --plain | sed -n '/^call sites of/,/^$/p' | sed 1,2d |
		sed 's/+0x[0-9a-f]*/+0x/; s/^ *//' | awk 'NF > 1 { printf "%s,", $0 }' | tr -s ' '
}

# ---- on and off ----
start
tell "alloc 10 6291456" > /dev/null
same "no sampling: no sites" "" "$(sites)"
ctl "$process" sites
same "no argument" "mam ctl: error: 'sites' requires an argument; see 'mam ctl --help'" "$(cat "$scratch/reply")"
ctl "$process" sites now
same "an invalid argument" "mam ctl: error: the argument of sites is 'now', but must be on or off" "$(cat "$scratch/reply")"
ctl "$process" sites on
same "on" "call sites are sampled; see mam top" "$(cat "$scratch/reply")"
same "blocks from before have no site" "60.0M (allocated before)," "$(sites)"
tell "alloc 4 67108864" > /dev/null
same "large blocks are exact" "256M 0 4 probe_control+0x,60.0M (allocated before)," "$(sites)"
same "JSON" "268435456 4 62914560" "$("$MAM" top -n 1 --json |
	sed 's/.*"unsampled_bytes":\([0-9]*\),"sites":\[{"name":"probe_control+0x[0-9a-f]*","live_bytes":\([0-9]*\),"error_bytes":0,"live_blocks":\([0-9]*\)}\].*/\2 \3 \1/')"
ctl "$process" sites on
same "on again: nothing is lost" "256M 0 4 probe_control+0x,60.0M (allocated before)," "$(sites)"
tell free > /dev/null
same "freed blocks are gone" "" "$(sites)"
tell "threads 4" > /dev/null
good=0
for i in 1 2 3 4 5 6 7 8 9 10; do
	ctl "$process" sites off && ctl "$process" sites on && good=$((good + 1))
done
same "off and on while 4 threads allocate" 10 $good
until_true sh -c '[ -n "$("$1" top -n 1 --plain | grep "  probe_control+0x")" ]' sh "$MAM" &&
	ok "their site is found"
ctl "$process" sites off
same "off" "call sites are no longer sampled " "$(cat "$scratch/reply") $(sites)"
stop "the program"

# ---- the page of a killed process, and a child ----
start
tell "alloc 1 1000" > /dev/null
ctl "$process" sites on
tell "alloc 3 67108864" > /dev/null
child=$(tell fork)
same "a child does not sample" "192M 0 3 probe_control+0x,0.98K (allocated before)," "$(sites)"
page=$(find "$XDG_RUNTIME_DIR/mam" -name "$process-*" ! -name '*.ctl')
kill -9 "$process"
wait "$process"
exec 3>&-
same "the page of a killed process has the sites" 1 "$(strings "$page" | grep -c '^probe_control+0x')"
until_true sh -c '! kill -0 "$1"' sh "$child" 2> /dev/null

# ---- other recorders of call sites ----
start --leaks="$scratch/leaks"
tell "alloc 1 1000" > /dev/null
ctl "$process" sites on
same "--leaks has all of them" "the program records all call sites (--leaks)" "$(sed 's/.*: //' "$scratch/reply")"
stop "with --leaks"
start --profile="$scratch/profile"
tell "alloc 1 1000" > /dev/null
ctl "$process" sites on
tell "alloc 2 67108864" > /dev/null
same "beside a profile" "128M 0 2 probe_control+0x,0.98K (allocated before)," "$(sites)"
stop "with a profile"

# ---- code that is unloaded ----
cat > "$scratch/plugin.c" << 'END'
int cuMemAlloc_v2(unsigned long long *address, unsigned long bytes);
int plugin_alloc(void)
{
	unsigned long long address;
	int code = cuMemAlloc_v2(&address, 67108864);

	return code == 0 ? 0 : 1;
}
END
cat > "$scratch/loader.c" << 'END'
#include <dlfcn.h>
#include <stdio.h>
int cuMemAlloc_v2(unsigned long long *address, unsigned long bytes);
int cuInit(unsigned int);
int cuDevicePrimaryCtxRetain(void **, int);
int cuCtxSetCurrent(void *);
int main(int argc, char **argv)
{
	unsigned long long address;
	void *context, *plugin;
	char line[64];
	int (*call)(void);

	cuInit(0);
	cuDevicePrimaryCtxRetain(&context, 0);
	cuCtxSetCurrent(context);
	cuMemAlloc_v2(&address, 1000);
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin) != NULL) {
		plugin = dlopen(argv[argc - 1], RTLD_NOW);
		*(void **)&call = dlsym(plugin, "plugin_alloc");
		call();
		dlclose(plugin);
		puts("done");
		fflush(stdout);
	}
	return 0;
}
END
# shellcheck disable=SC2086 # flags are words
try "a plugin is built" $CC -shared -fPIC -o "$scratch/plugin.so" "$scratch/plugin.c" -L"$fakes" -l:libcuda.so.1
# shellcheck disable=SC2086
try "its program is built" $CC -o "$scratch/loader" "$scratch/loader.c" -L"$fakes" -l:libcuda.so.1 -ldl
: > "$scratch/out"
mkfifo "$scratch/loader.in"
"$MAM" run -- "$scratch/loader" "$scratch/plugin.so" < "$scratch/loader.in" > "$scratch/out" 2> "$scratch/err" &
process=$!
exec 3> "$scratch/loader.in"
until_true has_lines 1
ctl "$process" sites on
tell more > /dev/null
tell more > /dev/null
same "the site has its name after its code is unloaded" "128M 0 2 plugin_alloc@plugin.so,0.98K (allocated before)," "$(sites)"
stop "the program with a plugin"

# ---- Python ----
python=$(command -v python3)
if [ -n "$python" ] && "$python" -c 'import ctypes, sys; sys.exit(sys.version_info < (3, 9))' 2> /dev/null; then
	cat > "$scratch/train.py" <<- 'END'
		import ctypes, sys
		cuda = ctypes.CDLL("libcuda.so.1")
		context, address = ctypes.c_void_p(), ctypes.c_ulonglong()
		cuda.cuInit(0)
		cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
		cuda.cuCtxSetCurrent(context)
		def load_batch():
		    assert cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(64 << 20)) == 0
		load_batch()
		print("ready", flush=True)
		for line in sys.stdin:
		    load_batch()
		    print("done", flush=True)
	END
	: > "$scratch/out"
	mkfifo "$scratch/python.in"
	"$MAM" run -- "$python" "$scratch/train.py" < "$scratch/python.in" > "$scratch/out" 2> "$scratch/err" &
	process=$!
	exec 3> "$scratch/python.in"
	until_true has_lines 1
	ctl "$process" sites on
	tell more > /dev/null
	tell more > /dev/null
	same "Python" "128M 0 2 load_batch@train.py:8,64.0M (allocated before)," "$(sites)"
	stop "Python"
else
	skip "Python" "there is no Python 3.9"
fi
finish
