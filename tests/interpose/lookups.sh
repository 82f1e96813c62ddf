#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# lookups.sh - dlsym, dlvsym and dlopen return to every program what they return without mam.
# RTLD_NEXT is relative to the calling library at any optimization level, a library's own search
# path is honored, and CUDA is absent where it is not installed.
# shellcheck disable=SC2016,SC2317 # the linker expands $ORIGIN; called through try
. "${MAM_SRCDIR:-.}/tests/lib.sh"

preload=$MAM_BUILDDIR/.libs/libmam-preload.so
audit=$MAM_BUILDDIR/.libs/libmam-audit.so
[ -f "$preload" ] || skip_all "lookups" "this build has no $preload"
case "$CFLAGS" in
*-fsanitize=*) skip_all "lookups" "a sanitizer in the preload object needs one in the program" ;;
esac
case $(uname -m) in
aarch64) version=GLIBC_2.17 ;;
*) version=GLIBC_2.2.5 ;;
esac
here=$MAM_SRCDIR/tests/interpose

build() # FOLDER OPTIMIZATION
{
	mkdir -p "$1/beside" &&
	$CC "$2" -fPIC -shared -DVALUE=1 -DVERSION="\"$version\"" -o "$1/libwrapper-outer.so" "$here/programs/wrapper.c" \
		-Wl,-rpath,'$ORIGIN/beside' -Wl,--enable-new-dtags -ldl &&
	$CC "$2" -fPIC -shared -DVALUE=2 -o "$1/libwrapper-inner.so" "$here/programs/wrapper.c" &&
	$CC "$2" -fPIC -shared -DVALUE=3 -o "$1/beside/libwrapper-beside.so" "$here/programs/wrapper.c" &&
	$CC "$2" -rdynamic -o "$1/asker" "$here/programs/asker.c" -L"$1" -Wl,--no-as-needed -lwrapper-outer -lwrapper-inner \
		-Wl,-rpath,'$ORIGIN' -ldl
}

for optimization in -O0 -O2; do
	folder=$scratch/out$optimization
	try "programs compiled with $optimization build" build "$folder" "$optimization"
	"$folder/asker" > "$scratch/plain" 2>&1
	for auditor in '' "$audit"; do
		route="$optimization${auditor:+, audited}"
		MAM_SOURCE=vmm LD_PRELOAD=$preload LD_AUDIT=$auditor "$folder/asker" > "$scratch/caught" 2>&1
		try "$route: a program without CUDA gets the same results" cmp "$scratch/plain" "$scratch/caught"
		same "$route: RTLD_NEXT, dlvsym, RTLD_DEFAULT and RUNPATH resolve for the calling library" \
			"value 1 next 2 version 1 default 1 beside 3" "$(tail -n 1 "$scratch/caught")"
		try "$route: a program finds its own functions, with names like the driver's" \
			grep -q '^functions of the program: 1 1$' "$scratch/caught"
		grep -q 'cudaMalloc: found 0.*undefined symbol' "$scratch/caught" &&
			! grep -q 'cu.*found 1' "$scratch/caught"
		same "$route: CUDA is not found where it is not installed" 0 $?
	done
done
finish
