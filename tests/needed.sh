#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# needed.sh - shared libraries that our objects need at load time: only the C library. The CUDA
# driver is found at run time, so that everything starts on a machine without one. libmam-opencl
# also needs OpenCL's loader, and the command mam zlib and, for mam top, ncurses and, for mam profile,
# libdw.

. "${MAM_SRCDIR:-.}/tests/lib.sh"

command -v readelf > /dev/null || skip_all "needed libraries" "readelf is not installed"

# Sanitizers add libraries of their own.
allowed='^(libc|libm|libdl|libpthread|librt|ld-linux.*|libasan|libubsan|libtsan|libgcc_s)\.so'

loads_only() # NAME FILE ALSO-ALLOWED
{
	if [ ! -e "$2" ]; then
		skip "$1 needs only the C library" "$2 was not built"
		return
	fi
	readelf -d "$2" > "$scratch/dynamic"
	extra=$(sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p' "$scratch/dynamic" | grep -Ev "$allowed|$3" | tr '\n' ' ')
	same "$1 needs only the C library" "" "$extra"
	same "$1 has no text relocations" "" "$(grep -o TEXTREL "$scratch/dynamic" | head -n 1)"
	same "$1 has no stored search path" "" \
		"$(grep -Eo '(RPATH|RUNPATH).*' "$scratch/dynamic" | head -n 1)"
	same "$1 has no executable stack" "" \
		"$(readelf -lW "$2" | awk '$1 == "GNU_STACK" && $7 ~ /E/ { print "executable" }')"
}

loads_only libmam.so "$MAM_BUILDDIR/.libs/libmam.so.0" '^$'
loads_only libmam-preload.so "$MAM_BUILDDIR/.libs/libmam-preload.so" '^$'
loads_only mam "$MAM_BUILDDIR/mam" '^lib(z|ncursesw|tinfo|dw)\.so'
if [ "${HAVE_OPENCL:-no}" = yes ]; then
	loads_only libmam-opencl.so "$MAM_BUILDDIR/.libs/libmam-opencl.so.0" '^libOpenCL\.so'
else
	no_opencl
fi
finish
