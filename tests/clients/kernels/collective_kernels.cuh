/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collective_kernels.cuh - the kernels of collective.cu: threads get memory in each form, write all
 * of it, and look whether it is still theirs; objects; and mistakes.
 *
 * What was not as it should be is counted in the table's `bad`, which the host reads between
 * kernels.
 */
#ifndef MAM_TESTS_CLIENTS_COLLECTIVE_KERNELS_CUH
#define MAM_TESTS_CLIENTS_COLLECTIVE_KERNELS_CUH

#define MAM_COLLECTIVE_NEW
#include <mam/collective.cuh>

#define THREADS 128
#define ROOM ((size_t)1 << 30)
#ifdef MAM_COLLECTIVE_HEAP /* which may grow up to what the device has */
#define TOO_MUCH ((size_t)1 << 40)
#else
#define TOO_MUCH ROOM
#endif
/* Mistakes that mistakes() makes of each thread, and of every second one, which a heap counts. */
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

/* ---- what threads do with a place ---------------------------------------------------------- */

__device__ static void wrong(struct table table, int what)
{
	atomicAdd(&table.bad[what], 1ull);
}

/* In the order of lanes, whatever the block's dimensions. */
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

/* Lanes go their own ways for a while. */
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

/* What a form takes: a block's the same, a warp's one of three, a lane's its own. */
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

/* One place of `every`, by a thread far from it. */
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

/* A pointer of each thread goes to its neighbour, who sees that it is right, and gives it back. */
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

/* All three at once, the block's held while warps and lanes come and go. */
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

/* A warp some of whose lanes have ended, and where the last warp is a part of one. */
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
 * What arrays are of. Not of stars: nvcc 13.0's delete[] of what has a virtual destructor jumps to
 * anywhere, if it is called through shared memory, and no less with the toolkit's own new.
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

/* One of each, arrays of some, given back by the neighbour, by their base class, or as arrays. */
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

/* ---- mistakes ------------------------------------------------------------------------------ */

__device__ static void answers(struct table table, bool as_wanted)
{
	if (!as_wanted)
		wrong(table, WRONG_ANSWER);
}

/* `zeros` are 64 bytes of no allocator's. */
__global__ void mistakes(struct table table, unsigned char *zeros)
{
	const size_t max = (size_t)1 << 40; /* 1 TiB */
	unsigned char *mine;

	answers(table, mam_cfree(NULL));
	answers(table, !mam_cmalloc(0));
	answers(table, !mam_cmalloc(0, MAM_COLLECTIVE_WARP));
	answers(table, !mam_cmalloc(0, MAM_COLLECTIVE_BLOCK));
	answers(table, !mam_cmalloc(max + 1));
	answers(table, !mam_cmalloc(~(size_t)0));
	answers(table, !mam_cmalloc(~(size_t)0, MAM_COLLECTIVE_BLOCK));
#ifndef MAM_COLLECTIVE_HEAP /* of which each lane asks for its own */
	answers(table, !mam_cmalloc(max / 31, MAM_COLLECTIVE_WARP));
	answers(table, !mam_cmalloc(max / 127, MAM_COLLECTIVE_BLOCK));
	answers(table, !mam_cmalloc(ROOM, MAM_COLLECTIVE_WARP));
#endif
	/* No mistake, but there is no room. */
	answers(table, !mam_cmalloc(TOO_MUCH, MAM_COLLECTIVE_BLOCK));
	answers(table, !(new (MAM_COLLECTIVE_BLOCK) char[TOO_MUCH]));
	answers(table, !mam_cfree(zeros + 16));
	answers(table, !mam_cfree(zeros + 20));
	/* Twice, while neighbours hold their parts. */
	mine = (unsigned char *)mam_cmalloc(24, MAM_COLLECTIVE_BLOCK);
	answers(table, mine && !mam_cfree(mine + 8));
	__syncthreads();
	if (threadIdx.x % 2)
		answers(table, mam_cfree(mine) && !mam_cfree(mine));
	__syncthreads();
	if (threadIdx.x % 2 == 0)
		answers(table, mam_cfree(mine));
}

__global__ void nobody(struct table table)
{
	answers(table, !mam_cmalloc(16));
	answers(table, !mam_cmalloc(16, MAM_COLLECTIVE_WARP));
	answers(table, !mam_cmalloc(16, MAM_COLLECTIVE_BLOCK));
	answers(table, mam_cfree(NULL));
}

/* Of a heap that is told. */
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

/* The same code for both sides: there it is libc's. */
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
	answers(table, both_sides(MAM_COLLECTIVE_ALONE));
	answers(table, both_sides(MAM_COLLECTIVE_WARP));
	answers(table, both_sides(MAM_COLLECTIVE_BLOCK));
}

#endif
