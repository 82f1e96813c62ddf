/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collective_kernels.cuh - the kernels of collective.cu: threads allocate memory in each form,
 * write all of it, and check that it is unchanged; objects; and invalid calls.
 *
 * The table's `bad` counts the errors, and the host reads it between kernels.
 */
#ifndef MAM_TESTS_CLIENTS_COLLECTIVE_KERNELS_CUH
#define MAM_TESTS_CLIENTS_COLLECTIVE_KERNELS_CUH

#define MAM_COLLECTIVE_NEW
#include <mam/collective.cuh>

#define THREADS 128
#define ROOM ((size_t)1 << 30)
#ifdef MAM_COLLECTIVE_HEAP /* which may grow up to the memory of the device */
#define TOO_MUCH ((size_t)1 << 40)
#else
#define TOO_MUCH ROOM
#endif
/* Errors that mistakes() makes per thread, and per second thread, as a heap counts them. */
#ifdef MAM_COLLECTIVE_HEAP
#define MISTAKES (3 * THREADS + THREADS / 2)
#else
#define MISTAKES 0
#endif

typedef unsigned long long u64;

enum { WRONG_PATTERN, WRONG_FREE, WRONG_NULL, WRONG_ANSWER, WRONG_OBJECT, WRONGS };

struct table {
	unsigned int places;
	unsigned char **at;
	unsigned int *bytes;
	u64 *bad;
};

/* ---- operations of threads on an entry ----------------------------------------------------- */

__device__ static void wrong(struct table table, int what)
{
	atomicAdd(&table.bad[what], 1ull);
}

/* In the order of lanes, for any dimensions of the block. */
__device__ static unsigned int number(void)
{
	return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}

__device__ static unsigned int threads(void)
{
	return blockDim.x * blockDim.y * blockDim.z;
}

__device__ static unsigned int mix(unsigned int a, unsigned int b)
{
	unsigned int x = a * 2654435761u ^ b * 40503u;

	x ^= x >> 15;
	x *= 2246822519u;
	return x ^ x >> 13;
}

/* Lets lanes diverge for a while. */
__device__ static void stray(unsigned int random)
{
	if (random % 3 == 0)
		__nanosleep(random % 500);
}

__device__ static void write_all(unsigned char *at, unsigned int place, unsigned int bytes)
{
	for (unsigned int i = 0; i < bytes; i++)
		at[i] = (unsigned char)mix(place, bytes + i);
}

__device__ static bool is_written(const unsigned char *at, unsigned int place, unsigned int bytes)
{
	for (unsigned int i = 0; i < bytes; i++)
		if (at[i] != (unsigned char)mix(place, bytes + i))
			return false;
	return true;
}

/* Sizes by form: one per block, one of three within a warp, one per lane. */
__device__ static unsigned int bytes_for(enum mam_coalesce form, unsigned int seed)
{
	unsigned int lane = number() % 32;

	switch (form) {
	case MAM_COLLECTIVE_BLOCK: return mix(blockIdx.x, seed) % 300 + 1;
	case MAM_COLLECTIVE_WARP: return mix(blockIdx.x + number() / 32, seed + lane % 3) % 300 + 1;
	default: return mix(blockIdx.x * threads() + number(), seed) % 300 + 1;
	}
}

/* ---- kernels ------------------------------------------------------------------------------- */

__global__ void __launch_bounds__(1024)
	fill(struct table table, enum mam_coalesce form, unsigned int seed)
{
	unsigned int place = blockIdx.x * threads() + number(), bytes = bytes_for(form, seed);
	unsigned char *mine = (unsigned char *)mam_cmalloc(bytes, form);

	if (!mine)
		wrong(table, WRONG_NULL);
	else
		write_all(mine, place, bytes);
	table.at[place] = mine;
	table.bytes[place] = bytes;
}

/* By other threads than those that filled it. */
__global__ void __launch_bounds__(1024) look(struct table table)
{
	unsigned int place = table.places - 1 - (blockIdx.x * THREADS + threadIdx.x);

	if (place < table.places && table.at[place] &&
	    !is_written(table.at[place], place, table.bytes[place]))
		wrong(table, WRONG_PATTERN);
}

/* Frees one of `every` entries, by a thread far from the one that allocated it. */
__global__ void __launch_bounds__(1024)
	drop(struct table table, unsigned int every, unsigned int seed)
{
	unsigned int i = blockIdx.x * THREADS + threadIdx.x;
	unsigned int place = (unsigned int)((u64)i * 7919 % table.places); /* a prime */

	if (i >= table.places || mix(place, seed) % every)
		return;
	if (table.at[place] && !is_written(table.at[place], place, table.bytes[place]))
		wrong(table, WRONG_PATTERN);
	stray(mix(i, seed));
	if (!mam_cfree(table.at[place]))
		wrong(table, WRONG_FREE);
	table.at[place] = NULL;
}

/* Each thread passes its pointer to its neighbor, which checks the contents and frees it. */
__device__ static void hand_on(struct table table, unsigned char **all, unsigned char *mine,
			       unsigned int bytes, unsigned int seed)
{
	unsigned int me = number(), count = threads(), left = (me + 1) % count;
	__shared__ unsigned int sizes[THREADS];

	if (mine)
		write_all(mine, me, bytes);
	all[me] = mine;
	sizes[me] = bytes;
	__syncthreads();
	stray(mix(me, seed));
	if (all[left] && !is_written(all[left], left, sizes[left]))
		wrong(table, WRONG_PATTERN);
	if (!mam_cfree(all[left]))
		wrong(table, WRONG_FREE);
	__syncthreads();
}

/*
 * All three forms at once: the block's memory stays allocated while warps and lanes allocate and
 * free.
 */
__global__ void mixed(struct table table, unsigned int rounds)
{
	__shared__ unsigned char *all[THREADS];
	unsigned int me = number();

	for (unsigned int round = 0; round < rounds; round++) {
		unsigned int each = bytes_for(MAM_COLLECTIVE_BLOCK, round), bytes = 0;
		unsigned char *held = (unsigned char *)mam_cmalloc(each, MAM_COLLECTIVE_BLOCK);
		unsigned char *other = NULL;

		if (!held)
			wrong(table, WRONG_NULL);
		else
			write_all(held, me + 1000, each);
		stray(mix(me, round));
		if ((me / 32 + round) % 2) {
			__syncwarp();
			bytes = bytes_for(MAM_COLLECTIVE_WARP, round);
			other = (unsigned char *)mam_cmalloc(bytes, MAM_COLLECTIVE_WARP);
		} else if (mix(me, round) % 3) {
			bytes = bytes_for(MAM_COLLECTIVE_ALONE, round);
			other = (unsigned char *)mam_cmalloc(bytes);
		}
		if (bytes && !other)
			wrong(table, WRONG_NULL);
		hand_on(table, all, other, bytes, round);
		if (held && !is_written(held, me + 1000, each))
			wrong(table, WRONG_PATTERN);
		if (!mam_cfree(held))
			wrong(table, WRONG_FREE);
	}
}

/* A warp in which some lanes have exited, also the last warp of a block that is not full. */
__global__ void ended(struct table table, unsigned int lanes)
{
	unsigned int place = blockIdx.x * threads() + number();
	unsigned char *mine;

	table.at[place] = NULL;
	table.bytes[place] = 40;
	if (number() % 32 >= lanes)
		return;
	mine = (unsigned char *)mam_cmalloc(40, MAM_COLLECTIVE_WARP);
	if (!mine)
		wrong(table, WRONG_NULL);
	else
		write_all(mine, place, 40);
	table.at[place] = mine;
}

/* ---- objects ------------------------------------------------------------------------------- */

__device__ static unsigned int there; /* objects */

struct shape {
	unsigned int sides;

	__device__ explicit shape(unsigned int n = 3) : sides(n)
	{
		atomicAdd(&there, 1u);
	}
	__device__ virtual unsigned int corners(void) const
	{
		return sides;
	}
	__device__ virtual ~shape()
	{
		atomicSub(&there, 1u);
	}
};

struct star : shape {
	unsigned char filler[60];

	__device__ explicit star(unsigned int n = 5) : shape(n)
	{
		write_all(filler, n, sizeof(filler));
	}
	__device__ unsigned int corners(void) const override
	{
		return is_written(filler, sides, sizeof(filler)) ? 2 * sides : 0;
	}
};

/*
 * The element type of arrays. star is not used: in code of nvcc 13.0, delete[] of a type with a
 * virtual destructor through shared memory jumps to a random address, also with the toolkit's own
 * new.
 */
struct pebble {
	unsigned char filler[52];

	__device__ pebble()
	{
		write_all(filler, 5, sizeof(filler));
		atomicAdd(&there, 1u);
	}
	__device__ bool is_well() const
	{
		return is_written(filler, 5, sizeof(filler));
	}
	__device__ ~pebble()
	{
		atomicSub(&there, 1u);
	}
};

/* One of each, and arrays, freed by the neighbor, through their base class, or as arrays. */
__global__ void make_objects(struct table table, unsigned int rounds)
{
	__shared__ shape *ones[THREADS];
	__shared__ pebble *arrays[THREADS];
	unsigned int me = number(), left = (me + 1) % threads();

	for (unsigned int round = 0; round < rounds; round++) {
		shape *one = new (MAM_COLLECTIVE_BLOCK) star(me + round);
		pebble *few = new (MAM_COLLECTIVE_BLOCK) pebble[3];
		shape *warps = NULL, *lanes = NULL;
		int *words = new (MAM_COLLECTIVE_BLOCK) int[7];

		if (me / 32 % 2) {
			__syncwarp();
			warps = new (MAM_COLLECTIVE_WARP) shape(9);
		}
		if (mix(me, round) % 2)
			lanes = new star(11); /* MAM_COLLECTIVE_ALONE */
		if (!one || !few || !words || (me / 32 % 2 && !warps))
			wrong(table, WRONG_NULL);
		if (words)
			words[6] = (int)me;
		ones[me] = one;
		arrays[me] = few;
		__syncthreads();
		if (!ones[left] || ones[left]->corners() != 2 * (left + round) || !arrays[left] ||
		    !arrays[left][2].is_well())
			wrong(table, WRONG_OBJECT);
		if ((warps && warps->corners() != 9) || (lanes && lanes->corners() != 22))
			wrong(table, WRONG_OBJECT);
		if (words && words[6] != (int)me)
			wrong(table, WRONG_OBJECT);
		stray(mix(me, round));
		delete ones[left];
		delete[] arrays[left];
		delete warps;
		delete lanes;
		delete[] words;
		__syncthreads();
	}
}

__global__ void count_objects(unsigned int *count)
{
	*count = there;
}

/* ---- invalid calls ------------------------------------------------------------------------- */

__device__ static void expect(struct table table, bool as_wanted)
{
	if (!as_wanted)
		wrong(table, WRONG_ANSWER);
}

/* `zeros` are 64 bytes that belong to no allocator. */
__global__ void mistakes(struct table table, unsigned char *zeros)
{
	const size_t max = (size_t)1 << 40; /* 1 TiB */
	unsigned char *mine;

	expect(table, mam_cfree(NULL));
	expect(table, !mam_cmalloc(0));
	expect(table, !mam_cmalloc(0, MAM_COLLECTIVE_WARP));
	expect(table, !mam_cmalloc(0, MAM_COLLECTIVE_BLOCK));
	expect(table, !mam_cmalloc(max + 1));
	expect(table, !mam_cmalloc(~(size_t)0));
	expect(table, !mam_cmalloc(~(size_t)0, MAM_COLLECTIVE_BLOCK));
#ifndef MAM_COLLECTIVE_HEAP /* where each lane allocates separately */
	expect(table, !mam_cmalloc(max / 31, MAM_COLLECTIVE_WARP));
	expect(table, !mam_cmalloc(max / 127, MAM_COLLECTIVE_BLOCK));
	expect(table, !mam_cmalloc(ROOM, MAM_COLLECTIVE_WARP));
#endif
	/* A valid request for which there is no room. */
	expect(table, !mam_cmalloc(TOO_MUCH, MAM_COLLECTIVE_BLOCK));
	expect(table, !(new (MAM_COLLECTIVE_BLOCK) char[TOO_MUCH]));
	expect(table, !mam_cfree(zeros + 16));
	expect(table, !mam_cfree(zeros + 20));
	/* Double frees, while the neighbors' parts are live. */
	mine = (unsigned char *)mam_cmalloc(24, MAM_COLLECTIVE_BLOCK);
	expect(table, mine && !mam_cfree(mine + 8));
	__syncthreads();
	if (threadIdx.x % 2)
		expect(table, mam_cfree(mine) && !mam_cfree(mine));
	__syncthreads();
	if (threadIdx.x % 2 == 0)
		expect(table, mam_cfree(mine));
}

__global__ void without_heap(struct table table)
{
	expect(table, !mam_cmalloc(16));
	expect(table, !mam_cmalloc(16, MAM_COLLECTIVE_WARP));
	expect(table, !mam_cmalloc(16, MAM_COLLECTIVE_BLOCK));
	expect(table, mam_cfree(NULL));
}

/* An explicit heap. */
__global__ void of_heap(struct mam_kheap *heap, struct table table)
{
	unsigned int me = number(), own = 3 + mix(me, blockIdx.x) % 200;
	unsigned char *three[3] = {
		(unsigned char *)mam_ckmalloc(heap, own, MAM_COLLECTIVE_BLOCK),
		(unsigned char *)mam_ckmalloc(heap, own, MAM_COLLECTIVE_WARP),
		(unsigned char *)mam_ckmalloc(heap, own),
	};

	for (unsigned char *one : three) {
		if (!one)
			wrong(table, WRONG_NULL);
		else
			write_all(one, me, own);
		if ((u64)(uintptr_t)one % 16)
			wrong(table, WRONG_ANSWER);
	}
	__syncthreads();
	for (unsigned char *one : three) {
		if (one && !is_written(one, me, own))
			wrong(table, WRONG_PATTERN);
		if (one && !mam_kfree(heap, one))
			wrong(table, WRONG_FREE);
	}
}

/* The same code for host and device: on the host it uses libc. */
__host__ __device__ static bool both_sides(enum mam_coalesce form)
{
	int *words = (int *)mam_cmalloc(16, form), *one = new (form) int(3), *two = new int[4];
	bool well = words && one && *one == 3 && two;

	delete one;
	delete[] two;
	return mam_cfree(words) && well;
}

__global__ void on_device(struct table table)
{
	expect(table, both_sides(MAM_COLLECTIVE_ALONE));
	expect(table, both_sides(MAM_COLLECTIVE_WARP));
	expect(table, both_sides(MAM_COLLECTIVE_BLOCK));
}

#endif
