/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu-growth-reach.cuh - the latency until a warp can use a new part of the heap.
 *
 * reach: one warp allocates until the heap has grown as often as it can. Another warp polls the
 * stage of growth meanwhile (growth.h), and records when the first one makes its request, when the
 * host's reply arrives, and when the new part is available to all. The whole call, in which the
 * warp first searched for space everywhere, has a row of its own. Hot: one growth after another.
 * Asleep: a pause before each, in which the service falls asleep.
 * new: the same with grants that the pool must first get from the driver.
 * crowd: a thousand warps find the heap full at the same moment.
 */
#ifndef MAM_GPU_GROWTH_REACH_CUH
#define MAM_GPU_GROWTH_REACH_CUH

#include "gpu-growth.cuh"

#define REACH_GROWTHS 1024 /* maximum that is recorded per launch */

struct reach_sample {
	u64 cycles, grew;
};

/* The times that the polling warp sees of one fetch; 0: it was too fast. */
struct reach_fetch {
	u64 asked, answered, made;
};

__device__ static void reach_watch(const struct mam_kheap *heap, struct reach_fetch *fetches,
				   volatile u64 *done)
{
	volatile const uint64_t *stage = (volatile const uint64_t *)&heap->growth->stage.value;
	u64 first = *stage >> 8, seen = *stage, now;

	for (now = seen; !*done || now != seen; now = *stage) {
		u64 ns = now_ns(), number = (now >> 8) - first;

		if (now == seen)
			continue;
		if (now >> 8 != seen >> 8 && number && number <= REACH_GROWTHS)
			fetches[number - 1].made = ns;
		if (number < REACH_GROWTHS && (now & 255) == MAM_STAGE_ASKING)
			fetches[number].asked = ns;
		if (number < REACH_GROWTHS && (now & 255) == MAM_STAGE_MAKING)
			fetches[number].answered = ns;
		seen = now;
	}
}

/* The first block allocates, the second one polls. numbers: ns and cycles of all of it; the end. */
__global__ void reach(struct mam_kheap *heap, struct table table, unsigned int count,
		      unsigned int bytes, u64 pause_ns, struct reach_sample *samples,
		      struct reach_fetch *fetches, u64 *numbers)
{
	unsigned int lane = threadIdx.x;
	u64 ns = now_ns(), cycles = (u64)clock64();

	if (blockIdx.x) {
		if (lane == 0)
			reach_watch(heap, fetches, &numbers[2]);
		return;
	}
	/* Until that one polls. */
	pause_for(100000);

	for (unsigned int i = 0; i < count; i++) {
		unsigned int place = i * blockDim.x + lane;
		u64 before, start, end, grew;
		unsigned char *at;

		__syncwarp();
		before = parts_of(heap);
		start = (u64)clock64();
		at = (unsigned char *)mam_kmalloc(heap, bytes);
		__syncwarp();
		end = (u64)clock64();
		grew = parts_of(heap) - before;
		if (lane == 0) {
			samples[i].cycles = end - start;
			samples[i].grew = grew;
		}
		table.at[place] = at;
		table.bytes[place] = bytes;
		if (at)
			write_object(at, place, bytes);
		else
			atomicAdd(table.vain, 1ull);
		if (grew && pause_ns)
			pause_for(pause_ns);
	}
	if (lane == 0) {
		numbers[0] = now_ns() - ns;
		numbers[1] = (u64)clock64() - cycles;
		__threadfence();
		numbers[2] = 1;
	}
}

/* Microseconds, of one growth each. */
struct reach_times {
	std::vector<double> call, fetch, answer, metadata;
};

static void reach_add(const std::vector<struct reach_fetch> &fetches, struct reach_times *times)
{
	/* Before the first one the host did other work. */
	for (size_t i = 1; i < fetches.size(); i++) {
		const struct reach_fetch *one = &fetches[i];

		if (!one->made)
			break;
		if (!one->asked || !one->answered)
			continue;
		times->fetch.push_back((double)(one->made - one->asked) / 1e3);
		times->answer.push_back((double)(one->answered - one->asked) / 1e3);
		times->metadata.push_back((double)(one->made - one->answered) / 1e3);
	}
}

/* Allocates `count` times `bytes` per lane; adds the durations of growth to `times`. */
static void run_reach(struct growth_stage *stage, struct mam_heap *heap, unsigned int lanes,
		      unsigned int count, unsigned int bytes, u64 pause_ns,
		      struct reach_times *times)
{
	std::vector<struct reach_fetch> fetches(REACH_GROWTHS);
	std::vector<struct reach_sample> all(count);
	size_t fetch_bytes = REACH_GROWTHS * sizeof(fetches[0]);
	struct stage *objects = &stage->objects;
	struct reach_sample *samples;
	struct reach_fetch *watched;
	u64 *numbers, host[3] = { 0, 0, 0 };
	bool first = true;

	check(cudaMalloc(&samples, count * sizeof(*samples)), "memory");
	check(cudaMalloc(&watched, fetch_bytes), "memory");
	check(cudaMalloc(&numbers, sizeof(host)), "memory");
	check(cudaMemset(watched, 0, fetch_bytes), "cudaMemset");
	check(cudaMemset(numbers, 0, sizeof(host)), "cudaMemset");
	empty_table(objects);
	reach<<<2, lanes, 0, objects->streams[0]>>>(mam_heap_device(heap), objects->table, count,
						    bytes, pause_ns, samples, watched, numbers);
	finish(objects->streams[0], "a warp that asks for more");
	same(0, *objects->table.vain, "requests in vain");
	compare(objects, heap, "after growth");
	check(cudaMemcpy(all.data(), samples, count * sizeof(*samples), cudaMemcpyDeviceToHost),
	      "cudaMemcpy");
	check(cudaMemcpy(fetches.data(), watched, fetch_bytes, cudaMemcpyDeviceToHost),
	      "cudaMemcpy");
	check(cudaMemcpy(host, numbers, sizeof(host), cudaMemcpyDeviceToHost), "cudaMemcpy");
	for (const auto &sample : all) {
		if (sample.grew && !first)
			times->call.push_back((double)sample.cycles * (double)host[0] /
					      (double)host[1] / 1e3);
		first = first && !sample.grew;
	}
	reach_add(fetches, times);
	check(cudaFree(samples), "cudaFree");
	check(cudaFree(watched), "cudaFree");
	check(cudaFree(numbers), "cudaFree");
}

static void reach_rows(const char *what, const char *name, const struct reach_times *times,
		       double target)
{
	const struct {
		const char *name;
		const std::vector<double> *values;
		double share, target;
	} rows[] = {
		{ "ask to new part p50", &times->fetch, 0.5, target },
		{ "ask to new part p99", &times->fetch, 0.99, 0 },
		{ "of it the reply p50", &times->answer, 0.5, 0 },
		{ "of it the reply p99", &times->answer, 0.99, 0 },
		{ "of it the metadata p50", &times->metadata, 0.5, 0 },
		{ "whole call p50", &times->call, 0.5, 0 },
		{ "whole call p99", &times->call, 0.99, 0 },
	};
	char words[96];

	for (const auto &one : rows) {
		std::snprintf(words, sizeof(words), "%s; %s", name, one.name);
		row(what, words, share_of(*one.values, one.share), "us", one.target);
	}
	std::printf("ok - %s: %s: %zu growths, %zu of them watched\n", what, name,
		    times->call.size(), times->fetch.size());
}

static void reach_case(struct growth_stage *stage, struct mam_pool *pool, const char *name,
		       unsigned int lanes, unsigned int ahead, u64 pause_ns, unsigned int rounds,
		       double target)
{
	struct growth_wish wish = { MIB, MAM_HEAP_UNLIMITED, 2 * MIB, ahead, 0 };
	struct mam_heap *heap = growing_heap(pool, &wish);
	struct reach_times times;

	for (unsigned int round = 0; round < rounds; round++) {
		/*
		 * 64 KiB for a lone lane, 8 KiB per lane of a full warp; up to 40 grants of 2 MiB.
		 */
		run_reach(stage, heap, lanes,
			  (unsigned int)(80 * MIB / (lanes == 1 ? 65536 : 262144)),
			  lanes == 1 ? 65536 : 8192, pause_ns, &times);
		shrink(heap);
	}
	reach_rows("reach", name, &times, target);
	check(mam_heap_destroy(heap), "mam_heap_destroy");
}

static void make_reach(struct growth_stage *stage)
{
	struct mam_pool *pool = pool_of("vmm", 0);
	unsigned int none = MAM_HEAP_AHEAD_NONE;

	map_ahead(pool, 256 * MIB);
	reach_case(stage, pool, "hot; none ahead; warp", 32, none, 0, 8, 10);
	reach_case(stage, pool, "hot; one ahead; warp", 32, 0, 0, 8, 10);
	reach_case(stage, pool, "hot; four ahead; warp", 32, 4, 0, 8, 10);
	reach_case(stage, pool, "hot; none ahead; lane", 1, none, 0, 8, 10);
	reach_case(stage, pool, "asleep; none ahead; warp", 32, none, 20000000, 2, 0);
	reach_case(stage, pool, "asleep; one ahead; warp", 32, 0, 20000000, 2, 0);
	check(mam_pool_destroy(pool), "mam_pool_destroy");
}

/* Grants that are not mapped: released to the driver between rounds. */
static void new_case(struct growth_stage *stage, const char *source, size_t grant, double target)
{
	struct mam_pool *pool = pool_of(source, 0);
	struct growth_wish wish = { MIB, MAM_HEAP_UNLIMITED, grant, MAM_HEAP_AHEAD_NONE, 0 };
	struct mam_heap *heap = growing_heap(pool, &wish);
	struct reach_times times;
	char words[64];

	for (unsigned int round = 0; round < 3; round++) {
		run_reach(stage, heap, 32, (unsigned int)(10 * grant / 262144), 8192, 0, &times);
		shrink(heap);
		check(mam_pool_trim(pool, 0, NULL), "mam_pool_trim");
	}
	std::snprintf(words, sizeof(words), "%s %zu MiB", source, grant / MIB);
	reach_rows("new", words, &times, target);
	check(mam_heap_destroy(heap), "mam_heap_destroy");
	check(mam_pool_destroy(pool), "mam_pool_destroy");
}

static void make_new(struct growth_stage *stage)
{
	new_case(stage, "vmm", 64 * MIB, 2000);
	new_case(stage, "vmm", 2 * MIB, 0);
	new_case(stage, "cudamalloc", 64 * MIB, 2000);
}

/*
 * All warps wait at a gate, then the first `lanes` lanes of each allocate. The first warp comes
 * after a large object, so that the service is awake.
 */
__global__ void crowd(struct mam_kheap *heap, struct table table, unsigned int lanes,
		      unsigned int bytes, bool wake, u64 *gate, u64 *from, u64 *to)
{
	unsigned int thread = blockIdx.x * blockDim.x + threadIdx.x, warp = thread / 32;
	unsigned int lane = thread % 32, warps = gridDim.x * blockDim.x / 32;
	unsigned char *at = NULL;

	if (wake && thread == 0) {
		void *large = mam_kmalloc(heap, MIB / 2);

		if (!large || !mam_kfree(heap, large))
			wrong(table, WRONG_FREE);
	}
	__syncwarp();
	if (lane == 0) {
		atomicAdd(gate, 1ull);
		while (*(volatile u64 *)gate < warps)
			;
		from[warp] = now_ns();
	}
	__syncwarp();
	if (lane < lanes)
		at = (unsigned char *)mam_kmalloc(heap, bytes);
	__syncwarp();
	if (lane == 0)
		to[warp] = now_ns();
	if (lane >= lanes)
		return;
	table.at[warp * lanes + lane] = at;
	table.bytes[warp * lanes + lane] = bytes;
	if (at)
		write_object(at, warp * lanes + lane, bytes);
	else
		atomicAdd(table.vain, 1ull);
}

/* Microseconds from the opening of the gate to the last warp's result. */
static double crowd_once(struct growth_stage *stage, struct mam_heap *heap, unsigned int warps,
			 unsigned int lanes, unsigned int bytes, bool wake)
{
	struct stage *objects = &stage->objects;
	std::vector<u64> times(2 * warps);
	u64 *device;

	check(cudaMalloc(&device, (1 + 2 * warps) * sizeof(*device)), "memory");
	check(cudaMemset(device, 0, sizeof(*device)), "cudaMemset");
	empty_table(objects);
	crowd<<<warps / 4, 128, 0, objects->streams[0]>>>(mam_heap_device(heap), objects->table,
							  lanes, bytes, wake, device, device + 1,
							  device + 1 + warps);
	look<<<blocks_of(objects->table.lanes), THREADS, 0, objects->streams[0]>>>(
		mam_heap_device(heap), objects->table);
	finish(objects->streams[0], "a crowd");
	no_wrongs(objects->table.bad, "a crowd");
	check(cudaMemcpy(times.data(), device + 1, 2 * warps * sizeof(*device),
			 cudaMemcpyDeviceToHost),
	      "cudaMemcpy");
	check(cudaFree(device), "cudaFree");
	return (double)(*std::max_element(times.begin() + warps, times.end()) -
			*std::min_element(times.begin(), times.begin() + warps)) /
	       1e3;
}

/* One object of 64 KiB fills the root. */
__global__ void take_root(struct mam_kheap *heap, u64 *numbers)
{
	numbers[0] = mam_kmalloc(heap, MAM_HEAP_BLOCK) != NULL;
}

static void crowd_case(struct growth_stage *stage, struct mam_pool *pool, const char *name,
		       unsigned int warps, unsigned int lanes, unsigned int bytes, size_t grow,
		       bool wake, double target)
{
	struct growth_wish wish = { MAM_HEAP_BLOCK, MAM_HEAP_UNLIMITED, grow, MAM_HEAP_AHEAD_NONE,
				    0 };
	struct mam_heap *heap = growing_heap(pool, &wish);
	struct mam_heap_info info;
	std::vector<double> times;
	char words[96];

	for (unsigned int round = 0; round < 15; round++) {
		take_root<<<1, 1>>>(mam_heap_device(heap), stage->numbers);
		finish(NULL, "a lane that takes all");
		same(1, stage->numbers[0], "objects that take all of the root");
		same(0, info_of(heap).grants, "grants before a crowd");
		times.push_back(crowd_once(stage, heap, warps, lanes, bytes, wake));
		same(0, *stage->objects.table.vain, "requests in vain");
		info = info_of(heap);
		if (bytes > 256 * 1024)
			same(warps * lanes, info.host_objects, "large objects");
		else
			same(warps * lanes + 1, info.objects, "objects");
		shrink(heap);
	}
	std::snprintf(words, sizeof(words), "%s p50", name);
	row("crowd", words, median_of(times), "us", target);
	std::snprintf(words, sizeof(words), "%s slowest", name);
	row("crowd", words, share_of(times, 1), "us");
	std::printf("ok - crowd: %s: %llu grants, %llu large objects\n", name, (u64)info.grants,
		    (u64)info.host_objects);
	check(mam_heap_destroy(heap), "mam_heap_destroy");
}

static void make_crowd(struct growth_stage *stage)
{
	struct mam_pool *pool = pool_of("vmm", 0);

	map_ahead(pool, 1024 * MIB);
	crowd_case(stage, pool, "1000 lanes 1 KiB; one grant", 1000, 1, 1024, 64 * MIB, true, 100);
	crowd_case(stage, pool, "1000 warps of 32 x 512 B; one grant", 1000, 32, 512, 64 * MIB,
		   true, 100);
	crowd_case(stage, pool, "1000 lanes 16 KiB; grants of 2 MiB", 1000, 1, 16384, 2 * MIB, true,
		   100);
	crowd_case(stage, pool, "1000 lanes 1 KiB; one grant; asleep", 1000, 1, 1024, 64 * MIB,
		   false, 0);
	crowd_case(stage, pool, "500 lanes 512 KiB; each a block of the pool", 500, 1, 512 * 1024,
		   2 * MIB, true, 100);
	check(mam_pool_destroy(pool), "mam_pool_destroy");
}

#endif
