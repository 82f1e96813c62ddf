/* SPDX-License-Identifier: Apache-2.0 */
/*
 * structures.cl - structures over a heap, filled by many work items. Their contents are copied to
 * `out`, for the host to compare with the values that it computes; `counts` as in kernels.cl.
 */
static void note(__global ulong *counts, uint which, ulong n)
{
	if (n)
		(void)mam_atomic_add64(&counts[which], n, MAM_RELAXED, MAM_AT_DEVICE);
}

struct all {
	struct mam_vector vector;
	struct mam_sll list;
	struct mam_arraylist lanes, groups;
	struct mam_tree tree;
};

struct item {
	struct mam_sll_node node;
	ulong value;
};

struct leaf {
	struct mam_tree_node node;
	ulong visits;
};

__kernel void make(__global struct all *all, __global struct mam_dsmap *map, ulong buckets)
{
	mam_vector_init(&all->vector, 8, 4);
	mam_sll_init(&all->list);
	mam_arraylist_init(&all->lanes, 8);
	mam_arraylist_init(&all->groups, 8);
	mam_tree_init(&all->tree);
	mam_dsmap_init(map, buckets);
}

/* Inserts each item once into each structure; keys are items modulo `keys`. */
__kernel void fill(__global void *heap, __global struct all *all, __global struct mam_dsmap *map,
		   __global ulong *counts, uint keys)
{
	ulong self = get_global_id(0), key = self % keys, number = 0;
	__global ulong *place = mam_vector_push(&all->vector, heap, &number);
	__global struct item *item = mam_cl_malloc(heap, sizeof(*item));
	__global struct leaf *leaf = (__global struct leaf *)mam_tree_ensure(
		&all->tree, heap, mam_dsmap_mix(key), sizeof(*leaf));
	enum mam_dsmap_answer once = mam_dsmap_insert(map, heap, key, key * 3);

	note(counts, 0, !place + !item + !leaf);
	if (place)
		*place = self;
	if (item) {
		item->value = self;
		mam_sll_add(&all->list, &item->node);
	}
	if (leaf)
		(void)mam_atomic_add64(&leaf->visits, 1, MAM_RELAXED, MAM_AT_DEVICE);
	place = mam_arraylist_grow(&all->lanes, heap, &number);
	note(counts, 0, !place);
	if (place)
		*place = self;
	note(counts, 3, once == MAM_DSMAP_DONE);
	note(counts, 1, mam_dsmap_insert_multi(map, heap, keys + key, self) != MAM_DSMAP_DONE);
}

/* Five items share one request per round: they insert 0 to 4 elements, ten in total. */
__kernel void fill_groups(__global void *heap, __global struct all *all, __global ulong *counts)
{
	MAM_SHARED(struct mam_arraylist_shared, shared);
	ulong self = get_global_id(0), first = 0;
	__global ulong *place;
	uint n, i, round;

	for (round = 0; round < 5; round++) {
		n = (uint)((self + round) % 5);
		place = mam_arraylist_grow_local(&all->groups, heap, shared, n, &first);
		note(counts, 0, n && !place);
		for (i = 0; place && i < n; i++)
			place[i] = self;
	}
}

/* Counts each item in the vector, to out[0 to n - 1]; in the list of lanes, to n to 2n - 1; ... */
__kernel void collect(__global struct all *all, __global struct mam_dsmap *map,
		      __global ulong *counts, __global uint *out, uint keys)
{
	ulong self = get_global_id(0), n = get_global_size(0), value = 0;
	__global ulong *place = mam_vector_get(&all->vector, self);
	__global struct leaf *leaf =
		(__global struct leaf *)mam_tree_get(&all->tree, mam_dsmap_mix(self % keys));
	struct mam_dsmap_walk walk;
	uint found = 0;
	bool more;

	note(counts, 0, !place + !leaf);
	if (place)
		(void)mam_atomic_add32(&out[*place], 1, MAM_RELAXED, MAM_AT_DEVICE);
	if (leaf && self < keys)
		out[3 * n + self] = (uint)leaf->visits;
	if (!mam_dsmap_find(map, self % keys, &value) || value != self % keys * 3)
		note(counts, 1, 1);
	if (mam_dsmap_find(map, 2 * keys + self, &value))
		note(counts, 1, 1);
	if (self >= keys)
		return;
	for (more = mam_dsmap_first(map, keys + self, &walk); more; more = mam_dsmap_next(&walk))
		found++;
	out[4 * n + self] = found;
}

/* One item follows the links from element to element. */
__kernel void follow(__global void *heap, __global struct all *all, __global struct mam_dsmap *map,
		     __global ulong *counts, __global uint *out, ulong n, __global ulong *sums)
{
	__global struct mam_sll_node *node = mam_sll_take(&all->list), *next;
	__global struct mam_arraylist_block *block;
	__global struct mam_tree_node *leaf;
	ulong i;

	sums[0] = mam_vector_count(&all->vector);
	sums[1] = mam_arraylist_count(&all->lanes);
	sums[2] = mam_arraylist_count(&all->groups);
	sums[3] = mam_dsmap_count(map);
	for (; node; node = next) {
		next = mam_sll_next(node);
		out[2 * n + ((__global struct item *)node)->value]++;
		note(counts, 2, !mam_cl_free(heap, node));
	}
	for (block = mam_arraylist_newest(&all->lanes); block; block = mam_arraylist_older(block))
		for (i = 0; i < block->count; i++)
			out[n + *(__global ulong *)mam_arraylist_at(&all->lanes, block, i)]++;
	for (block = mam_arraylist_newest(&all->groups); block; block = mam_arraylist_older(block))
		for (i = 0; i < block->count; i++)
			out[5 * n + *(__global ulong *)mam_arraylist_at(&all->groups, block, i)]++;
	sums[4] = 0;
	while ((leaf = mam_tree_take(&all->tree)) != 0) {
		sums[4]++;
		note(counts, 2, !mam_cl_free(heap, leaf));
	}
	mam_vector_fini(&all->vector, heap);
	mam_arraylist_clear(&all->lanes, heap);
	mam_arraylist_clear(&all->groups, heap);
	mam_dsmap_fini(map, heap);
}
