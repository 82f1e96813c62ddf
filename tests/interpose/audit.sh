#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# audit.sh - mam run --route=audit: plugins that bind past the preload object are caught, and nothing else is any
# different from --route=preload.
# shellcheck disable=SC2086,SC2317 # $CC may be words; called through try
. "${MAM_SRCDIR:-.}/tests/lib.sh"
. "$MAM_SRCDIR/tests/interpose/interpose.sh"

audit=$MAM_BUILDDIR/.libs/libmam-audit.so
preload=$MAM_BUILDDIR/.libs/libmam-preload.so
sources=$MAM_SRCDIR/tests/clients
[ -f "$audit" ] || skip_all "audit" "this build has no $audit"

plugin() # NAME SOURCE WORD... - a client as a plugin
{
	plugin_name=$1
	plugin_source=$2
	shift 2
	$CC -std=gnu11 -O1 -g -fPIC -shared -pthread -Dmain=client_main -o "$scratch/$plugin_name.so" \
		"$sources/$plugin_source" "$sources/workload.c" "$sources/check.c" \
		"$MAM_SRCDIR/tests/interpose/programs/deepbind_play.c" "$@" -ldl
}
try "a host of plugins builds" $CC -std=gnu11 -O1 -o "$scratch/host" "$sources/deepbind_host.c" -ldl
try "a plugin on a shared runtime builds" plugin shared client_shared.c "$fakes/libcudart.so.13"
try "a plugin with the runtime's lookups inside builds" plugin static client_dlsym.c
try "a plugin on the driver builds" plugin driver client_driver.c "$fakes/libcuda.so.1"

for kind in shared static driver; do
	caught=none run='--route=preload' same_run "$kind plugin, preload" "$scratch/host" "$scratch/$kind.so"
	same "$kind plugin, preload: none of its calls is caught, and the statistics say so" 0 \
		"$(stat_of calls_caught)"
	run='--route=audit' same_run "$kind plugin, audit" "$scratch/host" "$scratch/$kind.so"
	same "$kind plugin, audit: every block is the pool's" "240 240" "$(stat_of allocs) $(stat_of frees)"
	run='--route=audit --free=deferred' same_run "$kind plugin, audit, deferred" "$scratch/host" "$scratch/$kind.so"
done
"$MAM" run --stats -- "$scratch/host" "$scratch/shared.so" > /dev/null 2> "$scratch/err"
try "the table on standard error says that nothing was caught" grep -q '^mam: intercepted no CUDA memory calls of' "$scratch/err"

# What is caught without it is caught by the same road with it.
for client in client_shared client_dlsym client_driver; do
	run='--route=preload' same_run "$client, preload" "$clients/$client" --rounds 5
	without="$(stat_of calls_runtime) $(stat_of calls_driver) $(stat_of calls_lookup) $(stat_of allocs)"
	run='--route=audit' same_run "$client, audit" "$clients/$client" --rounds 5
	same "$client: as many calls by the same roads" "$without" \
		"$(stat_of calls_runtime) $(stat_of calls_driver) $(stat_of calls_lookup) $(stat_of allocs)"
done
python=$(command -v python3)
if [ -n "$python" ]; then
	run='--route=audit' same_run "python by ctypes" "$python" "$sources/client_python.py" --rounds 1
else
	skip "python by ctypes" "there is no python3"
fi

# A wrapper behind the preload object asks for what stands behind it, and gets that.
$CC -O1 -shared -fPIC -o "$scratch/libcounter.so" "$MAM_SRCDIR/tests/interpose/programs/counter.c" -ldl
set="LD_PRELOAD=$scratch/libcounter.so" run='--route=audit' \
	same_run "a preloaded wrapper of cudaMalloc" "$clients/client_shared" --rounds 2
LD_PRELOAD=$scratch/libcounter.so "$MAM" run --route=audit --disable "$clients/client_shared" --rounds 2 \
	> /dev/null 2> "$scratch/err"
same "it sees every call when mam is switched off" \
	"$(LD_PRELOAD=$scratch/libcounter.so "$clients/client_shared" --rounds 2 2>&1 | grep counter)" \
	"$(grep counter "$scratch/err")"

# Two runtimes: the second one's own functions stay its own.
cp "$fakes/libcudart.so.13" "$scratch/libcudart-other.so"
run='--route=audit' same_run "two runtimes" "$probes/two_runtimes" "$fakes/libcudart.so.13" \
	"$scratch/libcudart-other.so"

# Where a libcudart is there already, a plugin's other one keeps its functions and is caught below.
try "another runtime builds" $CC -std=gnu11 -O1 -fPIC -shared -fvisibility=hidden -pthread -Wl,-Bsymbolic \
	-Wl,-soname,libcudart.so.12 -o "$scratch/libcudart.so.12" "$MAM_SRCDIR"/tests/fake/runtime*.c -ldl
try "a plugin on another runtime builds" plugin other client_shared.c "$scratch/libcudart.so.12"
LD_LIBRARY_PATH=$LD_LIBRARY_PATH:$scratch
run='--route=audit' same_run "another runtime's plugin, alone" "$scratch/host" "$scratch/other.so"
same "it is caught by its own symbols" "$(stat_of calls_caught)" "$(stat_of calls_runtime)"
set="LD_PRELOAD=$fakes/libcudart.so.13" run='--route=audit' \
	same_run "another runtime's plugin beside a first runtime" "$scratch/host" "$scratch/other.so"
same "it is caught at the driver" "$(stat_of calls_caught)" "$(stat_of calls_lookup)"

# The environment, and a process that has nothing to do with CUDA.
# shellcheck disable=SC2016 # the program expands them
{
	same "--route=audit sets both variables" "$(realpath "$preload") $(realpath "$audit")" \
		"$("$MAM" run --route=audit sh -c 'echo $LD_PRELOAD $LD_AUDIT')"
	same "--route=auto sets one" "$(realpath "$preload") " \
		"$("$MAM" run --route=auto sh -c 'echo "$LD_PRELOAD $LD_AUDIT"')"
}
same "the auditor without the preload object changes nothing" "$("$clients/client_shared" --rounds 2 2> /dev/null)" \
	"$(LD_AUDIT=$audit "$clients/client_shared" --rounds 2 2> /dev/null)"
same "the auditor shows nothing but what the linker asks for" "la_objopen la_symbind64 la_version" \
	"$(nm -D --defined-only "$audit" | awk '{ print $3 }' | LC_ALL=C sort | tr '\n' ' ' | sed 's/ $//')"
finish
