/* SPDX-License-Identifier: Apache-2.0 */
/* while and do loops: as many rounds for all, or not. */

/* Halving what the host gave. */
__global__ void halves(int size, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x, n = size, sum = 0;

	while (n > 0) {
		int *half = (int *)malloc(n * sizeof(int)); // want: block uniform

		if (half) {
			half[n - 1] = id + n;
			sum = sum * 3 + half[n - 1];
		}
		free(half);
		n /= 2;
	}
	out[id] = sum;
}

/* do: the first round is for all, the others for who is not done. */
__global__ void newton(const int *squares, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	int root = squares[id], last, rounds = 0;

	do {
		int *guess = (int *)malloc(2 * sizeof(int)); // want: none -

		last = root;
		root = root > 0 ? (root + squares[id] / root) / 2 : 0;
		if (guess) {
			guess[0] = last;
			guess[1] = root;
			rounds += guess[0] != guess[1];
		}
		free(guess);
	} while (root < last);
	out[id] = last * 100 + rounds;
}

/* do, with a count of the host's; what is asked for in it grows by the same for all. */
__global__ void doubling(int most, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	int room = 1;
	char *text = nullptr;

	do {
		char *larger = (char *)malloc(2 * room); // want: block uniform

		if (larger != nullptr) {
			for (int i = 0; text && i < room; i++)
				larger[i] = text[i];
			larger[2 * room - 1] = (char)(id % 26);
			if (text == nullptr)
				larger[0] = 'a';
		}
		free(text);
		text = larger;
		room = 2 * room;
	} while (room < most);
	if (text)
		out[id] = text[0] + text[room - 1] * 256;
	free(text);
}

/* Two counters; both are the block's. */
__global__ void euclid(int left, int right, int *out)
{
	int a = left * (blockIdx.x + 1), b = right;
	int steps = 0;

	while (b != 0) {
		int rest = a % b;

		a = b;
		b = rest;
		steps++;
	}
	int *list = (int *)malloc((a + steps) * sizeof(int)); // want: block uniform
	if (list) {
		list[steps] = threadIdx.x;
		out[blockIdx.x * blockDim.x + threadIdx.x] = list[steps] + a;
	}
	free(list);
}

/* Until the block is done: all vote in each round. */
__global__ void sweep(const int *seeds, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	int mine = seeds[id], rounds = 0;

	while (__syncthreads_or(mine > 10)) {
		int *swept = (int *)malloc(4 * sizeof(int)); // want: block uniform

		if (swept) {
			swept[rounds % 4] = mine - mine / 4;
			mine = swept[rounds % 4] - 1;
		}
		free(swept);
		rounds++;
	}
	out[id] = mine + 1000 * rounds;
}

#ifdef CORPUS_MAIN
#include "../main.h"

int main(void)
{
	CORPUS_RUN(halves, 2, 64, 100, corpus_out);
	CORPUS_RUN(newton, 2, 64, corpus_numbers(128, 4000, 1), corpus_out);
	CORPUS_RUN(doubling, 2, 64, 60, corpus_out);
	CORPUS_RUN(euclid, 3, 64, 84, 36, corpus_out);
	CORPUS_RUN(sweep, 2, 64, corpus_numbers(128, 400, 2), corpus_out);
	return 0;
}
#endif
