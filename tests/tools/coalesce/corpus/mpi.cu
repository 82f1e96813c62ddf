/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of ranks: a thread is a rank, and each does what all do, or what its rank says. */

#define RANKS 64
#define RANK_ROOT 0

static __device__ int rank_of_thread(void)
{
	return threadIdx.x;
}

/* Everybody's piece for everybody goes through buffers that all make together. */
static __device__ void all_to_all(const int *send, int *receive, int count)
{
	__shared__ const int *sent[RANKS];
	int rank = rank_of_thread();
	int *packed = (int *)malloc(count * RANKS * sizeof(int)); // want: block uniform

	for (int i = 0; packed && i < count * RANKS; i++)
		packed[i] = send[i];
	sent[rank] = packed;
	__syncthreads();
	for (int from = 0; from < RANKS; from++)
		for (int i = 0; i < count; i++)
			receive[from * count + i] = sent[from] ? sent[from][rank * count + i] : -1;
	__syncthreads();
	free(packed);
}

__global__ void exchange(int count, int *out)
{
	int rank = rank_of_thread(), sum = 0;
	int *send = (int *)malloc(count * RANKS * sizeof(int));    // want: block uniform
	int *receive = (int *)malloc(count * RANKS * sizeof(int)); // want: block uniform

	for (int i = 0; send && i < count * RANKS; i++)
		send[i] = rank * 100 + i;
	if (__syncthreads_and(send != nullptr && receive != nullptr))
		all_to_all(send, receive, count);
	for (int i = 0; receive && i < count * RANKS; i++)
		sum = sum * 3 + receive[i];
	out[blockIdx.x * RANKS + rank] = sum;
	free(send);
	free(receive);
}

/* The root gathers; the others have nothing to hold. */
__global__ void gather(const int *values, int *out)
{
	__shared__ int *gathered;
	int rank = rank_of_thread();
	int *mine = (int *)malloc(2 * sizeof(int)); // want: block uniform

	if (rank == RANK_ROOT)
		gathered = (int *)malloc(RANKS * sizeof(int)); // want: none -
	if (mine) {
		mine[0] = values[blockIdx.x * RANKS + rank];
		mine[1] = rank;
	}
	__syncthreads();
	if (gathered && mine)
		gathered[rank] = mine[0] * mine[1];
	__syncthreads();
	if (rank == RANK_ROOT && gathered) {
		for (int i = 0; i < RANKS; i++)
			out[blockIdx.x] += gathered[i];
		free(gathered);
	}
	free(mine);
}

/* A ring: even ranks send first, odd ones second, each with a message of its own. */
static __device__ int *message_new(int items)
{
	return (int *)malloc(items * sizeof(int)); // want: none -
}

__global__ void ring(int rounds, int *out)
{
	__shared__ int *box[RANKS];
	int rank = rank_of_thread(), token = rank;

	for (int round = 0; round < rounds; round++) {
		if (rank % 2 == 0)
			box[rank] = message_new(2);
		else
			box[rank] = message_new(3);
		if (box[rank])
			box[rank][1] = token;
		__syncthreads();
		int *from = box[(rank + RANKS - 1) % RANKS];

		token = from ? from[1] + 1 : -1;
		__syncthreads();
		free(box[rank]);
	}
	out[blockIdx.x * RANKS + rank] = token;
}

#ifdef CORPUS_MAIN
#include "../main.h"

int main(void)
{
	CORPUS_RUN(exchange, 1, RANKS, 3, corpus_out);
	CORPUS_RUN(gather, 2, RANKS, corpus_numbers(128, 90, 1), corpus_out);
	CORPUS_RUN(ring, 2, RANKS, 5, corpus_out);
	return 0;
}
#endif
