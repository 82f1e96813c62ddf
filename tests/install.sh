#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# install.sh - the files that `make install` installs work in place, work after the tree is moved,
# and are removed by `make uninstall`.

. "${MAM_SRCDIR:-.}/tests/lib.sh"

unset MAKEFLAGS MFLAGS MAKELEVEL
stage=$scratch/stage
prefix=$(sed -n 's/^prefix = //p' "$MAM_BUILDDIR/Makefile")
moved=$scratch/moved

cat > "$scratch/use.c" << 'EOF'
#include <mam/mam.h>
#include <stdio.h>

int main(void)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct mam_pool *pool;
	void *block;

	attr.source = "host";
	if (mam_pool_create(&attr, &pool) || mam_malloc(pool, 1000, &block) || mam_free(pool, block) ||
	    mam_pool_destroy(pool))
		return 1;
	puts(mam_version());
	return 0;
}
EOF

# shellcheck disable=SC2046,SC2086,SC2317 # words on purpose; called through try
build_and_run() # TREE - a program against an installed tree, with pkg-config
{
	pkgconfig=$(dirname "$(find "$1" -name mam.pc)")
	library=$(dirname "$(find "$1" -name 'libmam.so' -o -name 'libmam.a' | head -n 1)")
	$CC ${CFLAGS:-} "$scratch/use.c" -o "$scratch/use" \
		$(PKG_CONFIG_PATH=$pkgconfig ${PKG_CONFIG:-pkg-config} --cflags --libs mam) || return 1
	LD_LIBRARY_PATH=$library "$scratch/use" > "$scratch/use.out" || return 1
	grep -Eq '^[0-9]+\.[0-9]+\.[0-9]+(-.*)?$' "$scratch/use.out"
}

try "make install into DESTDIR" "${MAKE:-make}" -C "$MAM_BUILDDIR" install DESTDIR="$stage"
[ -d "$stage$prefix" ] || { not_ok "tree is under its prefix" "nothing in $prefix"; finish; }

# A header that says "not installed" is only for mam itself.
(cd "$MAM_SRCDIR/include" && grep -L 'not installed\.$' mam/*.h mam/*.cuh | LC_ALL=C sort) > "$scratch/wanted"
if [ "${HAVE_OPENCL:-no}" = yes ]; then
	echo mam/mam.cl >> "$scratch/wanted"
else
	grep -v '^mam/opencl\.h$' "$scratch/wanted" > "$scratch/fewer"
	mv "$scratch/fewer" "$scratch/wanted"
fi
LC_ALL=C sort -o "$scratch/wanted" "$scratch/wanted"
(cd "$stage$prefix/include" && find mam '(' -name device -o -name heap -o -name coalesce -o -name ds ')' -prune -o -type f -print | LC_ALL=C sort) > "$scratch/got"
try "every public header is installed" cmp "$scratch/wanted" "$scratch/got"
# Kernel headers find each other in their folder, without -I.
find "$stage$prefix/include/mam" -mindepth 2 -name '*.h' | while read -r path; do
	sed -n 's/^#include "\(.*\)"$/\1/p' "$path" | while read -r header; do
		[ -e "$(dirname "$path")/$header" ] || echo "$header"
	done
done > "$scratch/missing"
same "headers included by kernel headers are in their folder" "" "$(tr '\n' ' ' < "$scratch/missing")"

# A program with kernels in two files, as C++, alone and with the device linker.
cat > "$scratch/kernels.cu" << 'EOF'
#include <mam/heap.cuh>

__device__ int *pass(struct mam_kheap *heap, struct mam_kwalk *walk);

__global__ void pages(struct mam_kheap *heap, int **kept)
{
	struct mam_kwalk walk;
	int *page;

	mam_kpage_start(heap, &walk);
	page = (int *)mam_kpage_alloc_run(heap, &walk, 1 + threadIdx.x % 3);
	if (page)
		*page = (int)mam_kpage_number(heap, page);
	mam_kpage_free_run(heap, page, 1 + threadIdx.x % 3);
	kept[blockIdx.x * blockDim.x + threadIdx.x] = pass(heap, &walk);
}

int main(void)
{
	struct mam_heap_attr attr = MAM_HEAP_ATTR_INIT;
	struct mam_heap *heap;

	attr.kind = MAM_HEAP_PAGES;
	attr.bytes = 1 << 20;
	if (mam_heap_create(NULL, &attr, &heap) != MAM_OK)
		return 1;
	pages<<<1, 32>>>(mam_heap_device(heap), NULL);
	return mam_heap_destroy(heap) != MAM_OK;
}
EOF
cat > "$scratch/more.cu" << 'EOF'
#include <mam/heap.cuh>
#include <mam/heap.cuh>

__device__ int *pass(struct mam_kheap *heap, struct mam_kwalk *walk)
{
	return (int *)mam_kpage_alloc(heap, walk);
}

__global__ void give(struct mam_kheap *heap, int **kept)
{
	(void)mam_kpage_free(heap, kept[threadIdx.x]);
}
EOF

# shellcheck disable=SC2317 # called through try
kernels_build() # TREE - without a compiler message
{
	library=$(dirname "$(find "$1" -name 'libmam.so' -o -name 'libmam.a' | head -n 1)")
	"$NVCC" -arch=sm_90 -rdc=true -Xcompiler -Wall,-Wextra,-Wshadow -I "$1/include" \
		"$scratch/kernels.cu" "$scratch/more.cu" -L "$library" -lmam -o "$scratch/kernels" \
		> "$scratch/said" 2>&1 || { cat "$scratch/said"; return 1; }
	# Each file alone, as most programs build it.
	"$NVCC" -arch=sm_90 -Xcompiler -Wall,-Wextra -I "$1/include" -c "$scratch/more.cu" \
		-o "$scratch/more.o" >> "$scratch/said" 2>&1 || { cat "$scratch/said"; return 1; }
	[ ! -s "$scratch/said" ] || { cat "$scratch/said"; return 1; }
}

try "program builds against installed tree and runs" build_and_run "$stage$prefix"
# The next tests must not depend on the first location.
cp -R "$stage$prefix" "$moved"
mv "$stage$prefix" "$stage$prefix.away"
try "program builds against moved tree and runs" build_and_run "$moved"
if [ "$HAVE_CUDA" = yes ] && [ -n "$NVCC" ]; then
	try "program with kernels builds against moved tree" kernels_build "$moved"
else
	skip "program with kernels builds against moved tree" \
		"mam was built without the CUDA toolkit"
fi
same "mam --version works after the move" "$(cat "$scratch/use.out")" \
	"$("$moved/bin/mam" --version 2> /dev/null | sed -n 's/^mam //p')"
if [ -n "$(find "$moved" -name libmam-preload.so)" ]; then
	# shellcheck disable=SC2016 # the program expands it
	"$moved/bin/mam" run -- sh -c 'case $LD_PRELOAD in */moved/*) exit 7 ;; esac' > /dev/null 2>&1
	same "mam run after the move finds its preload object" 7 $?
else
	skip "mam run after the move finds its preload object" "it was not built"
fi
if [ -n "$(find "$moved" -name mam-coalesce -type f)" ]; then
	printf '__global__ void k(int **p, int n)\n{\n\tp[threadIdx.x] = (int *)malloc(n);\n}\n' > "$scratch/one.cu"
	same "mam coalesce after the move finds its program and its headers" block \
		"$(env -u COALESCE_INCLUDE "$moved/bin/mam" coalesce --plain "$scratch/one.cu" 2>&1 | cut -f 4)"
else
	skip "mam coalesce after the move finds its program and its headers" "it was not built"
fi
if can_plot; then
	echo 'pair,glibc,256B,pair_ns,9' > "$scratch/one.csv"
	same "mam bench plot after the move finds its script" "$scratch/latency.svg" \
		"$("$moved/bin/mam" bench plot -o "$scratch" "$scratch/one.csv" 2>&1)"
else
	no_matplotlib
fi
mv "$stage$prefix.away" "$stage$prefix"

if [ -n "$(find "$moved" -name libmam.a)" ]; then
	# shellcheck disable=SC2086 # CFLAGS are words
	try "program links to libmam.a alone" $CC ${CFLAGS:-} -I "$moved/include" "$scratch/use.c" \
		-o "$scratch/use-static" "$(find "$moved" -name libmam.a)" -lpthread -ldl
	try "program linked to libmam.a runs" "$scratch/use-static"
else
	skip "program links to libmam.a alone" "it was not built"
fi

# OpenCL: with its own package and one -I for kernels, and with the built-in text.
# shellcheck disable=SC2046,SC2086,SC2317 # words on purpose; called through try
opencl_build() # TREE
{
	pkgconfig=$(dirname "$(find "$1" -name mam-opencl.pc)")
	$CC ${CFLAGS:-} "$MAM_SRCDIR/tests/opencl/use.c" -o "$scratch/use-opencl" \
		$(PKG_CONFIG_PATH=$pkgconfig ${PKG_CONFIG:-pkg-config} --cflags --libs mam-opencl)
}

opencl_run() # TREE HOW...
{
	library=$(dirname "$(find "$1" -name 'libmam-opencl.so' -o -name 'libmam-opencl.a' | head -n 1)")
	shift
	POCL_CACHE_DIR=$scratch/cache LD_LIBRARY_PATH=$library "$scratch/use-opencl" "$@" > "$scratch/use-opencl.out" 2>&1
	case $? in
	0) ok "program with kernels of mam-opencl runs: $1" ;;
	77) no_opencl_device ;;
	*) not_ok "program with kernels of mam-opencl runs: $1" "$(lib_tail "$scratch/use-opencl.out")" ;;
	esac
}

if [ "${HAVE_OPENCL:-no}" = yes ]; then
	try "program builds with mam-opencl and pkg-config after the move" opencl_build "$moved"
	opencl_run "$moved" include "$moved/include"
	opencl_run "$moved" text
else
	no_opencl
fi

try "make uninstall" "${MAKE:-make}" -C "$MAM_BUILDDIR" uninstall DESTDIR="$stage"
same "uninstall leaves no file" "" "$(find "$stage" ! -type d | tr '\n' ' ')"
finish
