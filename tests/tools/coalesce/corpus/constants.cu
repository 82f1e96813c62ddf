/* SPDX-License-Identifier: Apache-2.0 */
/* Constants: of the language, and of the device's constant memory. */

#define TAPS 7

enum { WORD_BYTES = 4, LINE_WORDS = 12 };

static const int table_rows = 6;
constexpr int table_columns = 5;

__constant__ int tap[TAPS] = { 1, 3, 7, 12, 7, 3, 1 };
__constant__ int levels_of_block[4] = { 2, 5, 3, 4 };
__constant__ bool with_history = true;

static_assert(sizeof(int) == WORD_BYTES, "words");

/* Taps are read at the same place by all. */
__global__ void fir(const int *signal, int count, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;
	int *delay = (int *)malloc(TAPS * sizeof(*delay)); // want: block uniform

	if (delay == nullptr)
		return;
	for (int i = 0; i < TAPS; i++)
		delay[i] = signal[(id + i) % count];
	for (int i = 0; i < TAPS; i++)
		sum += tap[i] * delay[i];
	out[id] = sum;
	free(delay);
}

/* What constant memory holds is the same for who reads the same of it. */
__global__ void leveled(int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	int levels = levels_of_block[blockIdx.x % 4];
	int other = levels_of_block[threadIdx.x % 4];
	int *level = (int *)malloc(levels * sizeof(int)); // want: block uniform
	int *mine = (int *)malloc(other * sizeof(int));   // want: block varying

	if (with_history) {
		int *history = (int *)malloc(LINE_WORDS * WORD_BYTES); // want: block uniform

		if (history)
			history[LINE_WORDS - 1] = id;
		out[id] = history ? history[LINE_WORDS - 1] : 0;
		free(history);
	}
	if (level && mine) {
		level[levels - 1] = other;
		mine[other - 1] = levels;
		out[id] += level[levels - 1] * mine[other - 1];
	}
	free(level);
	free(mine);
}

/* Loops over constants, and what can be worked out from them. */
__global__ void tables(int *out)
{
	const int id = blockIdx.x * blockDim.x + threadIdx.x;
	const size_t bytes = table_rows * table_columns * sizeof(short);
	int sum = 0;

	for (int round = 0; round < table_rows; ++round) {
		short *table = (short *)malloc(bytes + round * warpSize); // want: block uniform

		if (!table)
			continue;
		for (int i = 0; i < table_rows * table_columns; i++)
			table[i] = (short)(i * round + id % 9);
		sum = sum * 2 + table[id % (table_rows * table_columns)];
		free(table);
	}
	out[id] = sum;
}

/* A table of the function's own; static in a kernel is memory of the device. */
__global__ void own_tables(int kind, int *out)
{
	static __device__ int calls[2];
	const int sizes[4] = { 8, 24, 40, 56 };
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	char *text = (char *)malloc(sizes[kind % 4]); // want: block uniform
	char *more = (char *)malloc(calls[0] + 8);    // want: block varying

	if (text && more) {
		text[sizes[kind % 4] - 1] = (char)(id % 100);
		more[0] = text[sizes[kind % 4] - 1];
		out[id] = more[0];
	}
	free(text);
	free(more);
}

#ifdef CORPUS_MAIN
#include "../main.h"

int main(void)
{
	CORPUS_RUN(fir, 2, 64, corpus_numbers(60, 90, 1), 60, corpus_out);
	CORPUS_RUN(leveled, 4, 64, corpus_out);
	CORPUS_RUN(tables, 2, 64, corpus_out);
	CORPUS_RUN(own_tables, 2, 64, 6, corpus_out);
	return 0;
}
#endif
