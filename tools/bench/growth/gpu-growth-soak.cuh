/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu-growth-soak.cuh - growth, use and trim, repeatedly, with all contents checked.
 *
 * 1. Four kernels in four streams allocate and free on one heap, which begins with 2 MiB and grows.
 * 2. The host checks: no objects overlap, contents are intact, the metadata agrees with the table.
 * 3. A kernel allocates large objects, blocks of the pool, writes and frees them; every second time
 *    it leaves them to the next round.
 * 4. Empty parts are released: with many live objects, with none (then no grant may be left), and
 *    sometimes from the pool to the driver, or by the end of the heap.
 */
#ifndef MAM_GPU_GROWTH_SOAK_CUH
#define MAM_GPU_GROWTH_SOAK_CUH

#include "gpu-growth.cuh"

#define SOAK_LARGE 256

/* One lane per large object, 300 KiB to 2 MiB. */
__global__ void soak_large(struct mam_kheap *heap, unsigned char **at, struct table table,
			   unsigned int seed)
{
	unsigned int place = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned int bytes = (300u << 10) + mix(place, seed) % (1748u << 10);

	stray(mix(place, ~seed));
	at[place] = (unsigned char *)mam_kmalloc(heap, bytes);
	if (!at[place]) {
		atomicAdd(table.vain, 1ull);
		return;
	}
	if (mam_kusable(heap, at[place]) < bytes)
		wrong(table, WRONG_USABLE);
	write_object(at[place], place, bytes);
}

__global__ void soak_large_free(struct mam_kheap *heap, unsigned char **at, struct table table,
				unsigned int seed)
{
	unsigned int place = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned int bytes = (300u << 10) + mix(place, seed) % (1748u << 10);

	if (!at[place])
		return;
	if (!is_written(at[place], place, bytes))
		wrong(table, WRONG_PATTERN);
	if (!mam_kfree(heap, at[place]))
		wrong(table, WRONG_FREE);
	at[place] = NULL;
}

struct soak {
	struct mam_pool *pool;
	struct mam_heap *heap;
	unsigned char **large; /* of SOAK_LARGE lanes */
	unsigned int large_seed;
	bool large_live;
	u64 rounds, heaps, grants, trimmed_bytes, large_objects, vain;
};

static void soak_begin(struct soak *soak)
{
	struct growth_wish wish = { 2 * MIB, MAM_HEAP_UNLIMITED, 0,
				    soak->heaps % 2 ? MAM_HEAP_AHEAD_NONE : 0, 0 };

	soak->heap = growing_heap(soak->pool, &wish);
	soak->heaps++;
}

static void soak_free_large(struct soak *soak, struct stage *objects)
{
	if (!soak->large_live)
		return;
	soak_large_free<<<SOAK_LARGE / THREADS, THREADS, 0, objects->streams[1]>>>(
		mam_heap_device(soak->heap), soak->large, objects->table, soak->large_seed);
	finish(objects->streams[1], "frees of large objects");
	soak->large_live = false;
}

static void soak_trim(struct soak *soak, bool empty)
{
	size_t freed;

	check(mam_heap_trim(soak->heap, NULL, &freed), "mam_heap_trim");
	soak->trimmed_bytes += freed;
	if (empty)
		same(0, info_of(soak->heap).grants, "grants after a trim with nothing live");
}

static void soak_round(struct soak *soak, struct stage *objects)
{
	struct mam_heap_info info;
	char why[256];

	run_churn(objects, soak->heap, 6 + (unsigned int)(soak->rounds % 11),
		  (unsigned int)(7919 * soak->rounds));
	soak_free_large(soak, objects);
	if (soak->rounds % 3 == 1) {
		soak->large_seed = (unsigned int)soak->rounds;
		soak_large<<<SOAK_LARGE / THREADS, THREADS, 0, objects->streams[0]>>>(
			mam_heap_device(soak->heap), soak->large, objects->table, soak->large_seed);
		finish(objects->streams[0], "large objects");
		soak->large_live = true;
		if (soak->rounds % 2)
			soak_free_large(soak, objects);
	}
	no_wrongs(objects->table.bad, "large objects");
	info = info_of(soak->heap);
	soak->grants = std::max<u64>(soak->grants, info.grants);
	soak->large_objects += soak->rounds % 3 == 1 ? SOAK_LARGE : 0;
	same(*objects->table.vain, refusals_of(&info), "requests in vain, counted");
	soak->rounds++;
	if (soak->rounds % 8 == 0) {
		soak_free_large(soak, objects);
		empty_heap(objects, soak->heap);
		soak_trim(soak, true);
		check(mam_pool_check(soak->pool, why, sizeof(why)), why);
	} else if (soak->rounds % 2 == 0) {
		soak_trim(soak, false);
	}
	if (soak->rounds % 24 == 0)
		check(mam_pool_trim(soak->pool, 0, NULL), "mam_pool_trim");
	if (soak->rounds % 40 == 0) {
		soak->vain += *objects->table.vain;
		check(mam_heap_destroy(soak->heap), "mam_heap_destroy");
		empty_table(objects);
		soak_begin(soak);
	}
}

static void make_soak(struct growth_stage *stage)
{
	struct stage *objects = &stage->objects;
	double begin = seconds_now(), tell = begin + 60;
	struct soak soak = {};

	objects->table.lanes = std::min(objects->table.lanes, 1u << 18);
	soak.pool = pool_of("vmm", 0);
	check(cudaMalloc(&soak.large, SOAK_LARGE * sizeof(*soak.large)), "memory");
	check(cudaMemset(soak.large, 0, SOAK_LARGE * sizeof(*soak.large)), "cudaMemset");
	empty_table(objects);
	soak_begin(&soak);
	while (seconds_now() - begin < stage->seconds) {
		soak_round(&soak, objects);
		alarm(2 * SECONDS);
		if (seconds_now() > tell) {
			std::printf("soak: %.0f s, %llu rounds\n", seconds_now() - begin,
				    soak.rounds);
			tell += 60;
		}
	}
	soak.vain += *objects->table.vain;
	check(mam_heap_destroy(soak.heap), "mam_heap_destroy");
	check(mam_pool_destroy(soak.pool), "mam_pool_destroy");
	check(cudaFree(soak.large), "cudaFree");
	std::printf("ok - soak: %.0f s, %llu rounds, %llu heaps, up to %llu grants, %llu MiB went "
		    "back, "
		    "%llu large objects, %llu requests in vain, 0 errors\n",
		    seconds_now() - begin, soak.rounds, soak.heaps, soak.grants,
		    soak.trimmed_bytes / MIB, soak.large_objects, soak.vain);
}

#endif
