/* SPDX-License-Identifier: Apache-2.0 */
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__global__ void k(int *out, int n)
{
	cg::thread_block block = cg::this_thread_block();
	auto tile = cg::tiled_partition<32>(block);

	block.sync();
	out[0] = tile.shfl(n, 0) + tile.thread_rank() + cg::this_thread_block().size();
	cg::sync(tile);
	if (tile.any(n))
		__syncwarp();
	__syncthreads();
}
