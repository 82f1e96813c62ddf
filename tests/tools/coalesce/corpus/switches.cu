/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations in switches. */

enum operation { OP_COPY, OP_SUM, OP_PAIRS };

/* The host says which operation. */
__global__ void run_operation(enum operation operation, const int *values, int count, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	int *work = nullptr;

	switch (operation) {
	case OP_COPY:
		work = (int *)malloc(sizeof(int)); // want: block uniform
		if (work)
			work[0] = values[id % count];
		break;
	case OP_SUM:
		work = (int *)malloc(count * sizeof(int)); // want: block uniform
		for (int i = 0; work && i < count; i++)
			work[i] = values[i] + (i > 0 ? work[i - 1] : id);
		break;
	default:
		work = (int *)malloc(2 * count * sizeof(int)); // want: block uniform
		for (int i = 0; work && i < 2 * count; i++)
			work[i] = values[i / 2] * (i % 2 ? id : 1);
		break;
	}
	if (work)
		out[id] = work[operation == OP_COPY ? 0 : count - 1];
	free(work);
}

/* Each thread has its own kind of token. */
__global__ void tokens(const char *text, int length, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	char *token = nullptr;

	switch (text[id % length] % 3) {
	case 0:
		token = (char *)malloc(8); // want: none -
		break;
	case 1:
		token = (char *)malloc(16); // want: none -
		break;
	}
	if (token != nullptr) {
		token[3] = text[(id + 1) % length];
		out[id] = token[3];
	}
	char *always = (char *)malloc(4); // want: block uniform
	if (always != nullptr) {
		always[0] = text[(id + 2) % length];
		out[id] += always[0];
	}
	free(always);
	free(token);
}

/* The size comes out of a switch: of the block's number, then of the thread's. */
__global__ void sizes_by_case(int *out)
{
	int small, large;

	switch (blockIdx.x % 3) {
	case 0: small = 16; break;
	case 1: small = 48; break;
	default: small = 80;
	}
	switch (threadIdx.x & 1) {
	case 0: large = 128; break;
	default: large = 256;
	}
	char *first = (char *)malloc(small);  // want: block uniform
	char *second = (char *)malloc(large); // want: block varying
	if (first && second) {
		first[small - 1] = 1;
		second[large - 1] = 2;
		out[blockIdx.x * blockDim.x + threadIdx.x] =
			first[small - 1] * small + second[large - 1] * large;
	}
	free(first);
	free(second);
}

/* A state machine whose states all threads go through alike, but for one that some leave it by. */
__global__ void states(int rounds, const int *stop, int *out)
{
	int state = 0, sum = 0;

	for (int i = 0; i < rounds; i++) {
		int *frame;

		switch (state) {
		case 0:
			frame = (int *)malloc(12); // want: block uniform
			if (frame)
				frame[0] = i + threadIdx.x;
			sum += frame ? frame[0] : 0;
			free(frame);
			state = 1;
			break;
		case 1: state = i % 4 == 3 ? 2 : 0; break;
		case 2:
			if (stop[threadIdx.x % 16] > i) {
				frame = (int *)malloc(20); // want: none -
				if (frame)
					frame[4] = i;
				sum -= frame ? frame[4] : 0;
				free(frame);
			}
			state = 0;
			break;
		}
	}
	out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

#ifdef CORPUS_MAIN
#include "../main.h"

int main(void)
{
	CORPUS_RUN(run_operation, 2, 64, OP_COPY, corpus_numbers(20, 50, 1), 20, corpus_out);
	CORPUS_RUN(run_operation, 2, 64, OP_SUM, corpus_numbers(20, 50, 1), 20, corpus_out);
	CORPUS_RUN(run_operation, 2, 64, OP_PAIRS, corpus_numbers(20, 50, 1), 20, corpus_out);
	CORPUS_RUN(tokens, 2, 64, corpus_text(77, 2), 77, corpus_out);
	CORPUS_RUN(sizes_by_case, 4, 64, corpus_out);
	CORPUS_RUN(states, 2, 64, 20, corpus_numbers(16, 20, 3), corpus_out);
	return 0;
}
#endif
