/* SPDX-License-Identifier: Apache-2.0 */
/*
 * structures.cl - each structure's calls as OpenCL C, with a base that the program provides; only
 * compiled, not run.
 */
#define MAM_DS_BASE __global void *
static __global void *own_alloc(__global void *base, size_t bytes)
{
	return bytes ? base : 0;
}

static bool own_free(__global void *base, __global void *block)
{
	return base != block;
}

#define mam_ds_alloc(base, bytes) own_alloc(base, bytes)
#define mam_ds_free(base, block) own_free(base, block)
#include "ds/arraylist.h"
#include "ds/map.h"
#include "ds/slist.h"
#include "ds/tree.h"
#include "ds/vector.h"

struct all {
	struct mam_vector vector;
	struct mam_sll list;
	struct mam_arraylist blocks;
	struct mam_tree tree;
	struct mam_dsmap map;
};

MAM_KERNEL(every)
{
	__global struct all *all = argument;
	__global struct mam_tree_node *node;
	struct mam_dsmap_walk walk;
	uint64_t number = 0;

	MAM_SHARED(struct mam_arraylist_shared, shared);
	(void)mam_vector_push(&all->vector, argument, &number);
	(void)mam_vector_get(&all->vector, mam_vector_count(&all->vector));
	(void)mam_arraylist_grow(&all->blocks, argument, &number);
	(void)mam_arraylist_grow_local(&all->blocks, argument, shared, 2, &number);
	(void)mam_arraylist_get(&all->blocks, mam_arraylist_count(&all->blocks));
	mam_arraylist_clear(&all->blocks, argument);
	node = mam_tree_ensure(&all->tree, argument, 3, 64);
	mam_sll_add(&all->list, (__global struct mam_sll_node *)(node + 1));
	(void)mam_sll_take(&all->list);
	(void)mam_tree_add(&all->tree, mam_tree_take(&all->tree));
	(void)mam_dsmap_insert(&all->map, argument, 1, 2);
	(void)mam_dsmap_insert_multi(&all->map, argument, 1, 2);
	(void)mam_dsmap_find(&all->map, 1, &number);
	mam_dsmap_walk_begin(&all->map, 0, &walk);
	mam_vector_clear(&all->vector);
	mam_vector_fini(&all->vector, argument);
	mam_dsmap_fini(&all->map, argument);
	(void)mam_dsmap_count(&all->map);
}
