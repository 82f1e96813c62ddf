/* SPDX-License-Identifier: Apache-2.0 */
/* Votes: what a whole warp, or a whole block, agrees on. */

#define ALL_LANES 0xffffffffu

/* A warp that has work at all gets room for it. */
__global__ void warp_queue(const int *work, int limit, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	bool busy = work[id] > limit;

	if (__any_sync(ALL_LANES, busy)) {
		int *queue = (int *)malloc(32 * sizeof(int)); // want: warp uniform

		if (queue != nullptr) {
			queue[threadIdx.x % 32] = busy ? work[id] : 0;
			out[id] = queue[threadIdx.x % 32];
		}
		free(queue);
	}
}

/* As much as there are lanes with a value. */
__global__ void compact(const int *values, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned int keep = __ballot_sync(0xffffffff, values[id] % 3 == 0);
	int kept = __popc(keep);

	if (kept >= 8) {
		int *list = (int *)malloc(kept * sizeof(int)); // want: warp uniform

		if (list) {
			list[kept - 1] = values[id];
			out[id] = list[kept - 1] + kept;
		}
		free(list);
	} else {
		out[id] = -kept;
	}
}

/* The block votes, at a barrier. */
__global__ void block_votes(const int *values, int limit, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	int high = __syncthreads_count(values[id] > limit);
	int *tall = nullptr;

	if (high > 10) {
		tall = (int *)malloc(high * sizeof(int)); // want: block uniform
		if (tall)
			tall[high - 1] = id;
	}
	if (__syncthreads_and(values[id] >= 0)) {
		short *plain = (short *)malloc(2 * sizeof(short)); // want: block uniform

		if (plain) {
			plain[1] = (short)values[id];
			out[id] = plain[1];
		}
		free(plain);
	}
	out[id] += tall ? tall[high - 1] : 0;
	free(tall);
}

/* Votes of lanes that only some named, and of whoever happens to be there. */
__global__ void partial_votes(const int *values, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	int lane = threadIdx.x & 31;
	unsigned int half = lane < 16 ? 0x0000ffffu : 0xffff0000u;
	char *one = nullptr, *two = nullptr;

	if (__any_sync(half, values[id] > 80))
		one = (char *)malloc(10); // want: none -
	if (values[id] % 2) {
		unsigned int here = __activemask();

		if (__popc(here) > 0)
			two = (char *)malloc(20); // want: none -
	}
	if (one)
		one[9] = 1;
	if (two)
		two[19] = 2;
	out[id] = (one ? one[9] : 0) + (two ? two[19] : 0);
	free(one);
	free(two);
}

/* Lanes of equal keys find each other; whether all are equal is the same for all. */
__global__ void equal_keys(const int *keys, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x, same;
	unsigned int peers = __match_any_sync(ALL_LANES, keys[id]);

	__match_all_sync(ALL_LANES, keys[id], &same);
	if (__all_sync(ALL_LANES, keys[id] < 4)) {
		int *small = (int *)malloc(4 * sizeof(int)); // want: warp uniform

		if (small) {
			small[keys[id]] = __popc(peers);
			out[id] = small[keys[id]];
		}
		free(small);
	}
	if (__popc(peers) > 12) {
		int *group = (int *)malloc(12 * sizeof(int)); // want: none -

		if (group) {
			group[same] = id;
			out[id] += group[same];
		}
		free(group);
	}
}

#ifdef CORPUS_MAIN
#include "../main.h"

int main(void)
{
	CORPUS_RUN(warp_queue, 2, 128, corpus_numbers(256, 90, 1), 87, corpus_out);
	CORPUS_RUN(compact, 2, 128, corpus_numbers(256, 90, 2), corpus_out);
	CORPUS_RUN(block_votes, 4, 64, corpus_numbers(256, 90, 3), 75, corpus_out);
	CORPUS_RUN(partial_votes, 2, 128, corpus_numbers(256, 90, 4), corpus_out);
	CORPUS_RUN(equal_keys, 4, 64, corpus_numbers(256, 3, 5), corpus_out);
	return 0;
}
#endif
