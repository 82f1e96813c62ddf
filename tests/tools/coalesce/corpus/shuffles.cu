/* SPDX-License-Identifier: Apache-2.0 */
/* Values that go from lane to lane. */

/* The first lane says how much; the warp has the same then, the block has not. */
__global__ void broadcast_size(const int *sizes, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	int size = __shfl_sync(0xffffffff, sizes[id], 0);
	int *part = (int *)malloc(size * sizeof(int) + 4); // want: block varying

	if (part != nullptr) {
		part[size] = id;
		out[id] = part[size] + size;
	}
	free(part);
	if (size % 2 == 0) {
		int *even = (int *)malloc(size * sizeof(int) + 8); // want: warp uniform

		if (even != nullptr) {
			even[size + 1] = size;
			out[id] += even[size + 1];
		}
		free(even);
	}
}

/* The number of the warp, told by its first lane to all, so that the compiler knows it, too. */
__global__ void warp_roles(const int *values, int *out)
{
	int warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0);
	int id = blockIdx.x * blockDim.x + threadIdx.x;

	if (warp == 0) {
		int *producer = (int *)malloc(64); // want: warp uniform

		if (producer) {
			producer[id % 16] = values[id];
			out[id] = producer[id % 16];
		}
		free(producer);
	} else {
		int *consumer = (int *)malloc(warp * 16); // want: warp uniform

		if (consumer) {
			consumer[warp] = warp;
			out[id] = consumer[warp];
		}
		free(consumer);
	}
}

/* A scan: each lane has a sum of its own; the last lane's is everybody's. */
__global__ void scan_then_list(const int *counts, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
	int sum = counts[id];

	for (int step = 1; step < 32; step *= 2) {
		int left = __shfl_up_sync(0xffffffff, sum, step);

		if (lane >= step)
			sum += left;
	}
	char *own = (char *)malloc(sum + 1); // want: block varying
	int total = __shfl_sync(0xffffffff, sum, 31);
	if (total > 60) {
		char *whole = (char *)malloc(total); // want: warp uniform

		if (whole)
			whole[total - 1] = (char)lane;
		out[id] = whole ? whole[total - 1] : 0;
		free(whole);
	}
	if (own) {
		own[sum] = 7;
		out[id] += own[sum] + total;
	}
	free(own);
}

/* Sources that differ, and groups smaller than a warp. */
__global__ void other_shuffles(const int *sizes, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
	int turned = __shfl_sync(0xffffffff, sizes[id], (lane + 1) % 32);
	int quarter = __shfl_sync(0xffffffff, sizes[id], 0, 8);
	int partner = __shfl_xor_sync(0xffffffff, sizes[id], 1);
	int *list = nullptr;

	if (turned > 10)
		list = (int *)malloc(40); // want: none -
	if (quarter > 10 && list == nullptr)
		list = (int *)malloc(40);           // want: none -
	int *tail = (int *)malloc(partner * 4 + 4); // want: block varying
	if (list && tail) {
		list[9] = turned;
		tail[partner] = quarter;
		out[id] = list[9] + tail[partner];
	}
	free(list);
	free(tail);
}

/* The greatest of the warp by one instruction. */
__global__ void widest(const unsigned int *widths, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned int most = __reduce_max_sync(0xffffffff, widths[id]);

	while (most > 4) {
		int *line = (int *)malloc(most * sizeof(int)); // want: warp uniform

		if (line) {
			line[most - 1] = (int)(widths[id] + most);
			out[id] ^= line[most - 1];
		}
		free(line);
		most /= 2;
	}
}

#ifdef CORPUS_MAIN
#include "../main.h"

int main(void)
{
	CORPUS_RUN(broadcast_size, 2, 128, corpus_numbers(256, 20, 1), corpus_out);
	CORPUS_RUN(warp_roles, 2, 128, corpus_numbers(256, 20, 2), corpus_out);
	CORPUS_RUN(scan_then_list, 2, 128, corpus_numbers(256, 5, 3), corpus_out);
	CORPUS_RUN(other_shuffles, 2, 128, corpus_numbers(256, 20, 4), corpus_out);
	CORPUS_RUN(widest, 2, 128, (const unsigned int *)corpus_numbers(256, 50, 5), corpus_out);
	return 0;
}
#endif
