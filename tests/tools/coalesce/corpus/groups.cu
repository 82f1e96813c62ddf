/* SPDX-License-Identifier: Apache-2.0 */
/* Cooperative groups: blocks, tiles of a warp and of less, and groups of who is there. */

/* The toolkit's newest headers want C++17 here, and do not need it. */
#define CCCL_IGNORE_DEPRECATED_CPP_DIALECT
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

/* The block's group as an index and as a barrier. */
__global__ void block_group(const int *lengths, int *out)
{
	__shared__ int length;
	cg::thread_block block = cg::this_thread_block();

	if (block.thread_rank() == 0)
		length = lengths[blockIdx.x] + 1;
	block.sync();
	int *row = (int *)malloc(length * sizeof(int)); // want: block uniform
	if (row) {
		row[length - 1] = block.thread_rank();
		out[blockIdx.x * blockDim.x + threadIdx.x] = row[length - 1] + length;
	}
	free(row);
}

/* A leader by its rank in the group. */
__global__ void group_leader(const int *values, int *out)
{
	cg::thread_block block = cg::this_thread_block();
	int id = blockIdx.x * blockDim.x + block.thread_rank();
	int *log = (int *)malloc(2 * sizeof(int)); // want: block uniform

	if (log != nullptr) {
		log[0] = values[id];
		log[1] = values[id] + 1;
		out[id] = log[0] * log[1];
	}
	if (block.thread_rank() < 2) {
		int *headline = (int *)malloc(16); // want: none -

		if (headline && log)
			headline[3] = log[1];
		out[id] += headline && log ? headline[3] : 0;
		free(headline);
	}
	free(log);
}

/* A tile as large as a warp votes; one of eight lanes votes for itself. */
__global__ void tiles(const int *values, int *out)
{
	auto block = cg::this_thread_block();
	auto warp = cg::tiled_partition<32>(block);
	auto eight = cg::tiled_partition<8>(block);
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	int *wide = nullptr, *slim = nullptr;

	if (warp.any(values[id] > 86))
		wide = (int *)malloc(32 * sizeof(int)); // want: warp uniform
	if (eight.any(values[id] > 86))
		slim = (int *)malloc(8 * sizeof(int)); // want: none -
	if (wide) {
		wide[warp.thread_rank()] = values[id];
		out[id] = wide[warp.thread_rank()];
	}
	if (slim) {
		slim[eight.thread_rank()] = id;
		out[id] += slim[eight.thread_rank()];
	}
	free(wide);
	free(slim);
}

/* Those who happen to be here are a group, too, and no more than that. */
__global__ void whoever(const int *values, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;

	if (values[id] % 2 == 0) {
		cg::coalesced_group here = cg::coalesced_threads();
		int *part = (int *)malloc(64); // want: none -

		here.sync();
		if (part) {
			part[id % 16] = values[id];
			out[id] = part[id % 16];
		}
		free(part);
	}
}

#ifdef CORPUS_MAIN
#include "../main.h"

int main(void)
{
	CORPUS_RUN(block_group, 3, 64, corpus_numbers(3, 20, 1), corpus_out);
	CORPUS_RUN(group_leader, 2, 64, corpus_numbers(128, 60, 2), corpus_out);
	CORPUS_RUN(tiles, 2, 128, corpus_numbers(256, 90, 3), corpus_out);
	CORPUS_RUN(whoever, 2, 64, corpus_numbers(128, 90, 4), corpus_out);
	return 0;
}
#endif
