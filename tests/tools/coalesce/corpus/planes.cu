/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of two and three dimensions, and warps by division. */

/* An image: tiles in x and y, at whose edges threads are left over. */
__global__ void median_filter(const int *image, int width, int height, int *out)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x;
	int y = blockIdx.y * blockDim.y + threadIdx.y;
	int *window = (int *)malloc(9 * sizeof(int)); // want: block uniform
	int used = 0;

	if (x < width && y < height && window) {
		for (int dy = -1; dy <= 1; dy++)
			for (int dx = -1; dx <= 1; dx++) {
				int px = min(max(x + dx, 0), width - 1);
				int py = min(max(y + dy, 0), height - 1);
				int at = used++, value = image[py * width + px];

				for (; at > 0 && window[at - 1] > value; at--)
					window[at] = window[at - 1];
				window[at] = value;
			}
		out[y * width + x] = window[4];
	}
	free(window);
}

/* Rows of threads: which of them share a warp depends on the block's width. */
__global__ void by_rows(const int *weights, int *out)
{
	int thread = threadIdx.y * blockDim.x + threadIdx.x;
	int id = blockIdx.x * blockDim.x * blockDim.y + thread;
	int *line = nullptr;

	if (threadIdx.y % 2 == 0)
		line = (int *)malloc(blockDim.x * sizeof(int));           // want: none -
	int *rest = (int *)malloc(blockDim.x * blockDim.y * sizeof(int)); // want: block uniform
	if (rest) {
		rest[thread] = weights[id];
		out[id] = rest[thread];
	}
	if (line) {
		line[threadIdx.x] = id;
		out[id] += line[threadIdx.x];
	}
	free(line);
	free(rest);
}

/* Warps by division of the first index: right only where the block is a line. */
__global__ void by_division(int roles, int *out)
{
	int warp = threadIdx.x / 32, id = blockIdx.x * blockDim.x + threadIdx.x;
	char *role = nullptr, *name = nullptr;

	if (warp == 1)
		role = (char *)malloc(roles); // want: none -
	if ((threadIdx.x >> 5) % 2)
		name = (char *)malloc(24);             // want: none -
	char *badge = (char *)malloc(16 * (warp + 1)); // want: block varying
	if (role)
		role[roles - 1] = 1;
	if (name)
		name[23] = 2;
	if (badge)
		badge[16 * warp] = 4;
	out[id] = (role ? role[roles - 1] : 0) + (name ? name[23] : 0) +
		  (badge ? badge[16 * warp] : 0);
	free(role);
	free(name);
	free(badge);
}

/* Cubes: whole layers of blocks. */
__global__ void layers(int depth, int *out)
{
	int z = blockIdx.z * blockDim.z + threadIdx.z;
	int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
	int cells = blockDim.x * blockDim.y * blockDim.z;

	if (blockIdx.z * blockDim.z < depth) {
		int *column = (int *)malloc(depth * sizeof(int)); // want: block uniform

		if (z < depth && column != nullptr) {
			column[z] = thread + z;
			out[blockIdx.z * cells + thread] = column[z];
		}
		free(column);
	}
}

#ifdef CORPUS_MAIN
#include "../main.h"

int main(void)
{
	CORPUS_RUN(median_filter, dim3(3, 2), dim3(16, 8), corpus_numbers(40 * 13, 90, 1), 40, 13,
		   corpus_out);
	CORPUS_RUN(by_rows, 2, dim3(16, 6), corpus_numbers(192, 90, 2), corpus_out);
	CORPUS_RUN(by_division, 2, 128, 12, corpus_out);
	CORPUS_RUN(layers, dim3(1, 1, 4), dim3(4, 4, 4), 10, corpus_out);
	return 0;
}
#endif
