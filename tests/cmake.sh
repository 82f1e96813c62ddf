#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# cmake.sh - a CMake project finds an installed mam, also after the tree was moved, and uses its targets (tests/cmake).

. "${MAM_SRCDIR:-.}/tests/lib.sh"

command -v cmake > /dev/null || skip_all "find_package(mam)" "cmake is not installed"
unset MAKEFLAGS MFLAGS MAKELEVEL LDFLAGS
prefix=$(sed -n 's/^prefix = //p' "$MAM_BUILDDIR/Makefile")
try "make install" "${MAKE:-make}" -C "$MAM_BUILDDIR" install DESTDIR="$scratch/stage"
mv "$scratch/stage$prefix" "$scratch/moved" || exit 1

configure() # FOLDER ARGUMENT... - configure tests/cmake against the moved tree
{
	configured=$scratch/$1
	shift
	CC=$CC cmake -S "$MAM_SRCDIR/tests/cmake" -B "$configured" -DCMAKE_PREFIX_PATH="$scratch/moved" "$@" \
		> "$scratch/cmake.out" 2>&1 || { cat "$scratch/cmake.out"; return 1; }
}

try "project finds the moved tree" configure plain
try "project builds" cmake --build "$scratch/plain"
same "program runs" "$("$MAM" version)" "$("$scratch/plain/use")"
same "project gets the version" "-- mam_VERSION $("$MAM" version | cut -d ' ' -f 2)" \
	"$(grep mam_VERSION "$scratch/cmake.out")"

# What must be refused: a later version, and a component that this mam does not have.
sed 's/find_package(mam 0.1 /find_package(mam 0.9 /' "$MAM_SRCDIR/tests/cmake/CMakeLists.txt" > "$scratch/CMakeLists.txt"
cp "$MAM_SRCDIR/tests/cmake/use.c" "$scratch"
if cmake -S "$scratch" -B "$scratch/later" -DCMAKE_PREFIX_PATH="$scratch/moved" > "$scratch/cmake.out" 2>&1; then
	not_ok "later version is refused" "it was accepted"
else
	try "later version is refused" grep -q 'mamConfig.cmake, version: ' "$scratch/cmake.out"
fi
if [ "${HAVE_OPENCL:-no}" = yes ]; then
	try "project builds with mam::opencl" configure opencl -DOPENCL="$MAM_SRCDIR/tests/opencl/use.c"
	try "program with mam::opencl links" cmake --build "$scratch/opencl" --target use-opencl
elif configure opencl -DOPENCL="$MAM_SRCDIR/tests/opencl/use.c" > /dev/null; then
	not_ok "absent component is refused" "it was accepted"
else
	try "absent component is refused" grep -q "without the component 'opencl'" "$scratch/cmake.out"
fi

if [ "$HAVE_CUDA" = yes ] && [ -n "$NVCC" ]; then
	try "project finds nvcc and mam::kernels" configure kernels -DKERNELS=ON -DCMAKE_CUDA_COMPILER="$NVCC" \
		-DCMAKE_CUDA_ARCHITECTURES=90
	try "program with mam::kernels builds" cmake --build "$scratch/kernels" --target kernels
else
	skip "program with mam::kernels builds" "mam was built without the CUDA toolkit"
fi
finish
