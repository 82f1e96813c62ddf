#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# cuda.sh - ds.cuh as installed by 'make install': the example in it, as C++11 to C++20, every call,
# and that the base's functions are called directly. A compiler may not print anything.
# shellcheck disable=SC2154,SC2317 # device.sh sets $include and $architecture; called through try
. "${MAM_SRCDIR:-.}/tests/lib.sh"

device_test=structures
. "$MAM_SRCDIR/tests/clients/device.sh"

staged ds.cuh install-device-headers

# The first program in its comment.
awk '/^ \*\t#include/ { on = 1 }
	on && /^ \* / { exit }
	on { sub(/^ \*\t?/, ""); print }' "$include/mam/ds.cuh" > "$scratch/shown.cu"
try 'the example contains a kernel' grep -q '__global__' "$scratch/shown.cu"
standards='11 14 17 20'
[ "${TEST_SHARE:-1}" -eq 1 ] || standards='11 20'
for standard in $standards; do
	try "the example builds: C++$standard" compile shown.o "$scratch/shown.cu" -std=c++$standard
done

# Every call, with a base of two functions; the host may create structures, too.
cat > "$scratch/every.cu" << 'EOF'
#include <mam/ds.cuh>
#include <mam/ds.cuh>

__device__ void *volatile stack;

static __device__ void *own_alloc(void *, size_t)
{
	return stack;
}

static __device__ bool own_free(void *, void *block)
{
	stack = block;
	return true;
}

struct all {
	struct mam_vector vector;
	struct mam_sll list;
	struct mam_arraylist blocks;
	struct mam_tree tree;
	struct mam_dsmap map;
};

__global__ void every(struct all *all)
{
	struct mam_kbase base = { own_alloc, own_free, NULL, 0 };
	struct mam_dsmap_walk walk;
	uint64_t number = 0;

	MAM_SHARED(struct mam_arraylist_shared, shared);
	mam_vector_push(&all->vector, base, &number);
	mam_vector_get(&all->vector, mam_vector_count(&all->vector));
	mam_arraylist_grow(&all->blocks, base, &number);
	mam_arraylist_grow_local(&all->blocks, base, shared, 2, &number);
	mam_arraylist_get(&all->blocks, mam_arraylist_count(&all->blocks));
	mam_arraylist_clear(&all->blocks, base);
	mam_sll_add(&all->list, (struct mam_sll_node *)(mam_tree_ensure(&all->tree, base, 3, 64) + 1));
	mam_sll_take(&all->list);
	mam_tree_add(&all->tree, mam_tree_take(&all->tree));
	mam_dsmap_insert(&all->map, base, 1, 2);
	mam_dsmap_insert_multi(&all->map, base, 1, 2);
	mam_dsmap_find(&all->map, 1, &number);
	mam_dsmap_walk_begin(&all->map, 0, &walk);
	mam_vector_clear(&all->vector);
	mam_vector_fini(&all->vector, base);
	mam_dsmap_fini(&all->map, base);
	mam_dsmap_count(&all->map);
}

void make(struct all *all)
{
	mam_vector_init(&all->vector, 4, 5);
	mam_sll_init(&all->list);
	mam_arraylist_init(&all->blocks, 4);
	mam_tree_init(&all->tree);
	mam_dsmap_init(&all->map, 1);
}
EOF
try 'every call builds' compile every.o "$scratch/every.cu" -std=c++11 -Xcompiler -Wshadow
try 'every call compiles to PTX' "$NVCC" -arch=sm_90 -I "$include" -ptx -o "$scratch/every.ptx" "$scratch/every.cu"
same 'no call is indirect' '' "$(grep 'prototype_' "$scratch/every.ptx" | head -n 1)"
finish
