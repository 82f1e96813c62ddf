#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# audit.sh - mam run --route=audit intercepts the calls of plugins that bind past the preload
# object, and otherwise behaves like --route=preload.
# shellcheck disable=SC2086,SC2317 # $CC may be words; called through try
. "${MAM_SRCDIR:-.}/tests/lib.sh"
. "$MAM_SRCDIR/tests/interpose/interpose.sh"

audit=$MAM_BUILDDIR/.libs/libmam-audit.so
preload=$MAM_BUILDDIR/.libs/libmam-preload.so
sources=$MAM_SRCDIR/tests/clients
[ -f "$audit" ] || skip_all "audit" "this build has no $audit"

plugin() # NAME SOURCE WORD... - build a client as a plugin
{
	plugin_name=$1
	plugin_source=$2
	shift 2
	$CC -std=gnu11 -O1 -g -fPIC -shared -pthread -Dmain=client_main -o "$scratch/$plugin_name.so" \
		"$sources/$plugin_source" "$sources/workload.c" "$sources/check.c" \
		"$MAM_SRCDIR/tests/interpose/programs/deepbind_play.c" "$@" -ldl
}
try "plugin host builds" $CC -std=gnu11 -O1 -o "$scratch/host" "$sources/deepbind_host.c" -ldl
try "plugin linked to a shared runtime builds" plugin shared client_shared.c "$fakes/libcudart.so.13"
try "plugin with a static runtime's lookups builds" plugin static client_dlsym.c
try "plugin linked to the driver builds" plugin driver client_driver.c "$fakes/libcuda.so.1"

for kind in shared static driver; do
	caught=none run='--route=preload' same_run "$kind plugin, preload" "$scratch/host" "$scratch/$kind.so"
	same "$kind plugin, preload: no call is intercepted, and the statistics report 0" 0 \
		"$(stat_of calls_caught)"
	run='--route=audit' same_run "$kind plugin, audit" "$scratch/host" "$scratch/$kind.so"
	same "$kind plugin, audit: the pool serves every block" "240 240" "$(stat_of allocs) $(stat_of frees)"
	run='--route=audit --free=deferred' same_run "$kind plugin, audit, deferred" "$scratch/host" "$scratch/$kind.so"
done
"$MAM" run --stats -- "$scratch/host" "$scratch/shared.so" > /dev/null 2> "$scratch/err"
try "table on stderr reports that no call was intercepted" grep -q '^mam: intercepted no CUDA memory calls of' "$scratch/err"

# Calls that --route=preload intercepts are intercepted through the same interface under
# --route=audit.
for client in client_shared client_dlsym client_driver; do
	run='--route=preload' same_run "$client, preload" "$clients/$client" --rounds 5
	without="$(stat_of calls_runtime) $(stat_of calls_driver) $(stat_of calls_lookup) $(stat_of allocs)"
	run='--route=audit' same_run "$client, audit" "$clients/$client" --rounds 5
	same "$client: audit intercepts the same calls through the same interfaces" "$without" \
		"$(stat_of calls_runtime) $(stat_of calls_driver) $(stat_of calls_lookup) $(stat_of allocs)"
done
python=$(command -v python3)
if [ -n "$python" ]; then
	run='--route=audit' same_run "python through ctypes" "$python" "$sources/client_python.py" --rounds 1
else
	skip "python through ctypes" "there is no python3"
fi

# A wrapper preloaded after mam's object looks up the next definition, and gets it.
$CC -O1 -shared -fPIC -o "$scratch/libcounter.so" "$MAM_SRCDIR/tests/interpose/programs/counter.c" -ldl
set="LD_PRELOAD=$scratch/libcounter.so" run='--route=audit' \
	same_run "a preloaded wrapper of cudaMalloc" "$clients/client_shared" --rounds 2
LD_PRELOAD=$scratch/libcounter.so "$MAM" run --route=audit --disable "$clients/client_shared" --rounds 2 \
	> /dev/null 2> "$scratch/err"
same "the wrapper sees every call when mam is disabled" \
	"$(LD_PRELOAD=$scratch/libcounter.so "$clients/client_shared" --rounds 2 2>&1 | grep counter)" \
	"$(grep counter "$scratch/err")"

# Two runtimes: the second one keeps its own functions.
cp "$fakes/libcudart.so.13" "$scratch/libcudart-other.so"
run='--route=audit' same_run "two runtimes" "$probes/two_runtimes" "$fakes/libcudart.so.13" \
	"$scratch/libcudart-other.so"

# If a libcudart is already loaded, a plugin's own runtime keeps its functions, and mam intercepts
# its driver calls.
try "second runtime builds" $CC -std=gnu11 -O1 -fPIC -shared -fvisibility=hidden -pthread -Wl,-Bsymbolic \
	-Wl,-soname,libcudart.so.12 -o "$scratch/libcudart.so.12" "$MAM_SRCDIR"/tests/fake/runtime*.c -ldl
try "plugin linked to the second runtime builds" plugin other client_shared.c "$scratch/libcudart.so.12"
LD_LIBRARY_PATH=$LD_LIBRARY_PATH:$scratch
run='--route=audit' same_run "plugin of the second runtime alone" "$scratch/host" "$scratch/other.so"
same "calls are intercepted at the runtime's symbols" "$(stat_of calls_caught)" "$(stat_of calls_runtime)"
set="LD_PRELOAD=$fakes/libcudart.so.13" run='--route=audit' \
	same_run "plugin of the second runtime next to a first runtime" "$scratch/host" "$scratch/other.so"
same "calls are intercepted at the driver" "$(stat_of calls_caught)" "$(stat_of calls_lookup)"

# The environment, and a process that does not use CUDA.
# shellcheck disable=SC2016 # the program expands them
{
	same "--route=audit sets LD_PRELOAD and LD_AUDIT" "$(realpath "$preload") $(realpath "$audit")" \
		"$("$MAM" run --route=audit sh -c 'echo $LD_PRELOAD $LD_AUDIT')"
	same "--route=auto sets only LD_PRELOAD" "$(realpath "$preload") " \
		"$("$MAM" run --route=auto sh -c 'echo "$LD_PRELOAD $LD_AUDIT"')"
}
same "the auditor without the preload object changes nothing" "$("$clients/client_shared" --rounds 2 2> /dev/null)" \
	"$(LD_AUDIT=$audit "$clients/client_shared" --rounds 2 2> /dev/null)"
same "the auditor exports only the functions that the linker calls" "la_objopen la_symbind64 la_version" \
	"$(nm -D --defined-only "$audit" | awk '{ print $3 }' | LC_ALL=C sort | tr '\n' ' ' | sed 's/ $//')"
finish
