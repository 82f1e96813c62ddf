/* SPDX-License-Identifier: Apache-2.0 */
/*
 * structures.cu - the structures of mam/ds.cuh under load on a GPU: everything that some hundred
 * thousand lanes insert at the same time is found afterwards, exactly once.
 *
 *	nvcc -arch=native -I PREFIX/include -o structures structures.cu -L PREFIX/lib -lmam
 *	./structures
 *
 * 1. A kernel fills a structure, over a heap of mam's or over CUDA's malloc().
 * 2. A second kernel reads it, and counts in a table what it finds of each lane.
 * 3. The host checks the table. Then a kernel takes the structure apart, and the heap must be
 *    empty.
 *
 * Prints "ok - BASE: STRUCTURE: ..." for each, "all is well" at the end, with status 0.
 */
#define CLIENT "structures"
#define SECONDS 60

#include <mam/ds.cuh>
#include <mam/heap.h>

#include "say.cuh"

#define LANES (256u * 1024)
#define THREADS 256u
#define KEYS 10007u /* different ones, each of which many lanes use */
#define BUCKETS 4096u

typedef unsigned long long u64;

enum { OVER_HEAP, OVER_CUDA };

struct all {
	struct mam_vector vector;
	struct mam_sll list;
	struct mam_arraylist lanes_list, blocks_list;
	struct mam_tree tree;
};

struct stage {
	struct all *all;
	struct mam_dsmap *map;
	struct mam_kheap *heap;
	unsigned int *seen; /* per lane, or key: how often it was found */
	unsigned int *odd;  /* number of errors */
};

struct item {
	struct mam_sll_node node;
	uint64_t lane;
};

struct leaf {
	struct mam_tree_node node;
	u64 wanted;
};

static __device__ unsigned int self(void)
{
	return blockIdx.x * blockDim.x + threadIdx.x;
}

template <int over> static __device__ struct mam_kbase base_of(struct stage stage)
{
	return over == OVER_HEAP ? mam_base_heap(stage.heap) : mam_base_cuda();
}

static __device__ void odd(struct stage stage, bool is)
{
	if (is)
		atomicAdd(stage.odd, 1u);
}

/* A number must be between 0 and LANES; it is counted. */
static __device__ void saw(struct stage stage, uint64_t number)
{
	odd(stage, number >= LANES);
	if (number < LANES)
		atomicAdd(&stage.seen[number], 1u);
}

/* Some lanes sleep, so that they diverge. */
static __device__ void part(void)
{
	if (self() * 2654435761u >> 30 == 0)
		__nanosleep(200);
}

template <int over> __global__ void fill_vector(struct stage stage)
{
	uint64_t number;
	uint64_t *place;

	part();
	place = (uint64_t *)mam_vector_push(&stage.all->vector, base_of<over>(stage), &number);
	odd(stage, !place || number >= LANES);
	if (!place)
		return;
	*place = self();
	odd(stage, mam_vector_get(&stage.all->vector, number) != place);
}

template <int over> __global__ void look_vector(struct stage stage)
{
	uint64_t *place = (uint64_t *)mam_vector_get(&stage.all->vector, self());

	odd(stage, !place || mam_vector_count(&stage.all->vector) != LANES);
	if (place)
		saw(stage, *place);
	if (!self())
		odd(stage, mam_vector_get(&stage.all->vector, LANES) != NULL);
}

template <int over> __global__ void end_vector(struct stage stage)
{
	mam_vector_fini(&stage.all->vector, base_of<over>(stage));
}

template <int over> __global__ void fill_list(struct stage stage)
{
	struct item *item = (struct item *)mam_base_alloc(base_of<over>(stage), sizeof(*item));

	odd(stage, !item);
	if (!item)
		return;
	part();
	item->lane = self();
	mam_sll_add(&stage.all->list, &item->node);
}

template <int over> __global__ void look_list(struct stage stage)
{
	struct mam_sll_node *node;

	if (self())
		return;
	for (node = mam_sll_first(&stage.all->list); node; node = mam_sll_next(node))
		saw(stage, ((struct item *)node)->lane);
}

template <int over> __global__ void end_list(struct stage stage)
{
	struct mam_sll_node *node = mam_sll_take(&stage.all->list), *next;

	for (; node; node = next) {
		next = mam_sll_next(node);
		odd(stage, !mam_base_free(base_of<over>(stage), node));
	}
	odd(stage, mam_sll_first(&stage.all->list) != NULL);
}

/* By lanes, each on its own. */
template <int over> __global__ void fill_lanes_list(struct stage stage)
{
	uint64_t number, *place;

	part();
	place = (uint64_t *)mam_arraylist_grow(&stage.all->lanes_list, base_of<over>(stage),
					       &number);
	odd(stage, !place || number >= LANES);
	if (place)
		*place = self();
}

static __device__ void look_arraylist(struct stage stage, struct mam_arraylist *list)
{
	struct mam_arraylist_block *block = mam_arraylist_newest(list);
	uint64_t i;

	odd(stage, mam_arraylist_count(list) != LANES);
	for (; block; block = mam_arraylist_older(block))
		for (i = self(); i < block->count; i += (uint64_t)gridDim.x * blockDim.x)
			saw(stage, *(uint64_t *)mam_arraylist_at(list, block, i));
}

template <int over> __global__ void look_lanes_list(struct stage stage)
{
	look_arraylist(stage, &stage.all->lanes_list);
}

template <int over> __global__ void end_lanes_list(struct stage stage)
{
	mam_arraylist_clear(&stage.all->lanes_list, base_of<over>(stage));
	odd(stage, mam_arraylist_count(&stage.all->lanes_list) != 0);
}

/* By blocks of threads: one of four threads requests four elements, for all of them. */
template <int over> __global__ void fill_blocks_list(struct stage stage)
{
	unsigned int count = threadIdx.x % 4 ? 0 : 4, i;
	uint64_t first, *place;

	MAM_SHARED(struct mam_arraylist_shared, shared);
	place = (uint64_t *)mam_arraylist_grow_local(&stage.all->blocks_list, base_of<over>(stage),
						     shared, count, &first);
	odd(stage, !place != !count);
	for (i = 0; place && i < count; i++)
		place[i] = self() + i;
	/* Once more, without any request. */
	place = (uint64_t *)mam_arraylist_grow_local(&stage.all->blocks_list, base_of<over>(stage),
						     shared, 0, &first);
	odd(stage, place != NULL);
}

template <int over> __global__ void look_blocks_list(struct stage stage)
{
	look_arraylist(stage, &stage.all->blocks_list);
}

template <int over> __global__ void end_blocks_list(struct stage stage)
{
	mam_arraylist_clear(&stage.all->blocks_list, base_of<over>(stage));
}

/* Every lane uses one of KEYS, in an order that keeps the tree shallow. */
static __device__ uint64_t key_of(unsigned int lane)
{
	return mam_dsmap_mix(lane % KEYS) | 1;
}

template <int over> __global__ void fill_tree(struct stage stage)
{
	struct leaf *leaf;

	part();
	leaf = (struct leaf *)mam_tree_ensure(&stage.all->tree, base_of<over>(stage),
					      key_of(self()), sizeof(*leaf));
	odd(stage, !leaf || leaf->node.key != key_of(self()));
	if (leaf)
		atomicAdd(&leaf->wanted, 1ull);
}

template <int over> __global__ void look_tree(struct stage stage)
{
	struct leaf *leaf = (struct leaf *)mam_tree_get(&stage.all->tree, key_of(self()));

	odd(stage, !leaf || leaf->wanted != (LANES - self() % KEYS + KEYS - 1) / KEYS);
	if (leaf)
		saw(stage, self());
}

template <int over> __global__ void end_tree(struct stage stage)
{
	struct mam_tree_node *node;
	unsigned int count = 0;

	while ((node = mam_tree_take(&stage.all->tree))) {
		count++;
		odd(stage, !mam_base_free(base_of<over>(stage), node));
	}
	odd(stage, count != KEYS);
}

/*
 * Each key with one value, from the first lane that inserts it; and each lane's own number, under
 * one of KEYS.
 */
template <int over> __global__ void fill_map(struct stage stage)
{
	uint64_t key = self() % KEYS;
	enum mam_dsmap_answer answer;

	part();
	answer = mam_dsmap_insert(stage.map, base_of<over>(stage), key, self());
	odd(stage, answer == MAM_DSMAP_NO_ROOM);
	if (answer == MAM_DSMAP_DONE)
		atomicAdd(&stage.odd[1], 1u);
	answer = mam_dsmap_insert_multi(stage.map, base_of<over>(stage), KEYS + key, self());
	odd(stage, answer != MAM_DSMAP_DONE);
}

template <int over> __global__ void look_map(struct stage stage)
{
	struct mam_dsmap_walk walk;
	uint64_t value;
	bool more;

	if (self() >= KEYS)
		return;
	odd(stage, !mam_dsmap_find(stage.map, self(), &value) || value % KEYS != self());
	odd(stage, mam_dsmap_count(stage.map) != KEYS + LANES);
	for (more = mam_dsmap_first(stage.map, KEYS + self(), &walk); more;
	     more = mam_dsmap_next(&walk)) {
		odd(stage, walk.value % KEYS != self());
		saw(stage, walk.value);
	}
}

template <int over> __global__ void end_map(struct stage stage)
{
	odd(stage, stage.odd[1] != KEYS);
	mam_dsmap_fini(stage.map, base_of<over>(stage));
}

typedef void (*kernel)(struct stage);

static void one(struct stage stage, const char *base, const char *what, kernel fill, kernel look,
		kernel end)
{
	static unsigned int seen[LANES];
	unsigned int i, count;

	check(cudaMemset(stage.seen, 0, sizeof(seen)), "cudaMemset");
	check(cudaMemset(stage.odd, 0, 2 * sizeof(*stage.odd)), "cudaMemset");
	fill<<<LANES / THREADS, THREADS>>>(stage);
	finish(NULL, what);
	look<<<LANES / THREADS, THREADS>>>(stage);
	finish(NULL, what);
	end<<<1, 1>>>(stage);
	finish(NULL, what);
	check(cudaMemcpy(seen, stage.seen, sizeof(seen), cudaMemcpyDeviceToHost), "cudaMemcpy");
	check(cudaMemcpy(&count, stage.odd, sizeof(count), cudaMemcpyDeviceToHost), "cudaMemcpy");
	if (count)
		fail(1, "%s: %s: %u errors", base, what, count);
	for (i = 0; i < LANES; i++)
		if (seen[i] != 1)
			fail(1, "%s: %s: the value of lane %u was found %u times", base, what, i,
			     seen[i]);
	std::printf("ok - %s: %s: %u lanes\n", base, what, LANES);
}

template <int over> static void every(struct stage stage, const char *base)
{
	struct all all = {};

	mam_vector_init(&all.vector, sizeof(uint64_t), 5);
	mam_sll_init(&all.list);
	mam_arraylist_init(&all.lanes_list, sizeof(uint64_t));
	mam_arraylist_init(&all.blocks_list, sizeof(uint64_t));
	mam_tree_init(&all.tree);
	check(cudaMemcpy(stage.all, &all, sizeof(all), cudaMemcpyHostToDevice), "cudaMemcpy");
	check(cudaMemset(stage.map, 0, mam_dsmap_bytes(BUCKETS)), "cudaMemset");
	{
		struct mam_dsmap head = {};

		mam_dsmap_init(&head, BUCKETS);
		check(cudaMemcpy(stage.map, &head, sizeof(head), cudaMemcpyHostToDevice),
		      "cudaMemcpy");
	}
	one(stage, base, "vector", fill_vector<over>, look_vector<over>, end_vector<over>);
	/*
	 * On an H100, CUDA's free() did not finish within a minute when one lane freed some
	 * thousands of objects of other lanes.
	 */
	if (over == OVER_CUDA)
		return;
	one(stage, base, "list of blocks, by lanes", fill_lanes_list<over>, look_lanes_list<over>,
	    end_lanes_list<over>);
	one(stage, base, "list of blocks, by blocks of threads", fill_blocks_list<over>,
	    look_blocks_list<over>, end_blocks_list<over>);
	one(stage, base, "list", fill_list<over>, look_list<over>, end_list<over>);
	one(stage, base, "tree", fill_tree<over>, look_tree<over>, end_tree<over>);
	one(stage, base, "map", fill_map<over>, look_map<over>, end_map<over>);
}

int main(void)
{
	struct mam_heap_attr attr = MAM_HEAP_ATTR_INIT;
	struct mam_heap_info info = {};
	struct stage stage = {};
	struct mam_heap *heap;

	check(cudaDeviceSetLimit(cudaLimitMallocHeapSize, (size_t)512 << 20), "cudaDeviceSetLimit");
	attr.bytes = (size_t)512 << 20;
	check(mam_heap_create(NULL, &attr, &heap), "mam_heap_create");
	stage.heap = mam_heap_device(heap);
	check(cudaMalloc(&stage.all, sizeof(*stage.all)), "cudaMalloc");
	check(cudaMalloc(&stage.map, mam_dsmap_bytes(BUCKETS)), "cudaMalloc");
	check(cudaMalloc(&stage.seen, LANES * sizeof(*stage.seen)), "cudaMalloc");
	check(cudaMalloc(&stage.odd, 2 * sizeof(*stage.odd)), "cudaMalloc");
	every<OVER_HEAP>(stage, "mam_kmalloc");
	info.size = sizeof(info);
	check(mam_heap_stats(heap, NULL, &info), "mam_heap_stats");
	if (info.objects)
		fail(1, "mam_kmalloc: %llu objects are left", (u64)info.objects);
	every<OVER_CUDA>(stage, "CUDA's malloc");
	check(mam_heap_destroy(heap), "mam_heap_destroy");
	std::printf("all is well\n");
	return std::fflush(stdout) ? 1 : 0;
}
