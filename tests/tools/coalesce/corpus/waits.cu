/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops in which a thread may wait for another, which then must not wait for it at an allocation;
 * and ones that look so, and end by themselves. Warps that go different ways write and read.
 */

/* The first thread opens the gate behind its allocation. */
__global__ void gates(volatile int *gate, int *out)
{
	int i = 0;

	if (threadIdx.x > 0)
		while (gate[i & 1] == 0)
			i++;
	int *mine = (int *)malloc(sizeof(int)); // want: none -

	if (mine != nullptr) {
		*mine = threadIdx.x;
		out[threadIdx.x] = *mine;
	}
	free(mine);
	gate[threadIdx.x & 1] = 1;
}

/* A count that begins again is none. */
__global__ void back_off(int *lock, int *out)
{
	for (unsigned int ns = 8; ns > 0; ns = ns < 256 ? 2 * ns : ns) {
		if (atomicCAS(lock, 0, 1) == 0)
			break;
		__nanosleep(ns);
	}
	int *mine = (int *)malloc(sizeof(int)); // want: none -

	if (mine != nullptr) {
		*mine = 1;
		out[threadIdx.x] = *mine;
	}
	free(mine);
	atomicExch(lock, 0);
}

/* It goes to and fro, or on where somebody says so. */
__global__ void to_and_fro(int go, int *flag, int *out)
{
	if (threadIdx.x > 0)
		for (int i = 0; i < 2; i = 1 - i)
			if (atomicAdd(flag, 0) > 0)
				break;
	int *mine = (int *)malloc(sizeof(int)); // want: none -

	atomicExch(flag, 1);
	for (int i = 0; i < 8;) {
		if (go)
			i++;
		if (atomicAdd(flag, 0) > 1)
			break;
	}
	int *late = (int *)malloc(sizeof(int)); // want: none -

	if (mine && late) {
		*mine = *late = 1;
		out[threadIdx.x] = *mine + *late;
	}
	free(mine);
	free(late);
}

/* Tries are counted: nobody waits for ever. */
__global__ void tries(int *slots, int *out)
{
	int found = 0, left = 8;

	for (int i = threadIdx.x; i < 256; i += blockDim.x)
		if (atomicCAS(&slots[i], 0, 1) == 0) {
			found = 1;
			break;
		}
	int *mine = (int *)malloc(4 * sizeof(int)); // want: block uniform

	while (left-- > 0)
		if (atomicCAS(&slots[left], 0, 1) == 0)
			break;
	int *more = (int *)malloc(4 * sizeof(int)); // want: block uniform

	if (mine && more) {
		mine[3] = found;
		more[3] = 1;
		out[threadIdx.x] = mine[3] * 0 + more[3];
	}
	free(mine);
	free(more);
}

/* One warp writes while another, on its other way, reads. */
__global__ void ways(const int *flags, int *out)
{
	__shared__ int size, left;
	int *mine = nullptr;

	if (threadIdx.x == 0)
		size = left = 4;
	__syncthreads();
	if (__any_sync(0xffffffffu, flags[threadIdx.x] > 1))
		size = 6;
	else
		mine = (int *)malloc(size * sizeof(int)); // want: warp varying
	if (mine != nullptr)
		mine[0] = 1;
	free(mine);
	if (__all_sync(0xffffffffu, flags[threadIdx.x] > 1)) {
		left = 5;
		return;
	}
	mine = (int *)malloc(left * sizeof(int)); // want: warp varying
	if (mine != nullptr) {
		mine[0] = 1;
		out[threadIdx.x] = mine[0] + 1;
	}
	free(mine);
}

#ifdef CORPUS_MAIN
#include "../main.h"

int main(void)
{
	CORPUS_RUN(gates, 1, 64, corpus_numbers(2, 1, 1), corpus_out);
	CORPUS_RUN(back_off, 1, 64, corpus_numbers(1, 1, 1), corpus_out);
	CORPUS_RUN(to_and_fro, 1, 64, 1, corpus_numbers(1, 1, 1), corpus_out);
	CORPUS_RUN(tries, 1, 64, corpus_numbers(256, 1, 1), corpus_out);
	CORPUS_RUN(ways, 1, 64, corpus_numbers(64, 90, 2), corpus_out);
	return 0;
}
#endif
