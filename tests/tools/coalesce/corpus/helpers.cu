/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations in functions that kernels call, some levels down. */

struct matrix {
	int rows, columns;
	int *cells;
};

static __device__ int cells_of(int rows, int columns)
{
	return (rows * columns + 3) / 4 * 4;
}

static __device__ bool matrix_open(struct matrix *m, int rows, int columns)
{
	m->rows = rows;
	m->columns = columns;
	m->cells = (int *)malloc(cells_of(rows, columns) * sizeof(int)); // want: block uniform
	return m->cells != nullptr;
}

static __device__ void matrix_close(struct matrix *m)
{
	free(m->cells);
	m->cells = nullptr;
}

/* All callers are reached by all, and what they pass is the host's. */
__global__ void powers(int size, int exponent, int *out)
{
	struct matrix a, b;
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	bool fine = matrix_open(&a, size, size);

	fine &= matrix_open(&b, size, 1);
	if (fine) {
		for (int i = 0; i < size * size; i++)
			a.cells[i] = (i + id) % 3;
		for (int i = 0; i < size; i++)
			b.cells[i] = 1;
		for (int e = 0; e < exponent; e++)
			for (int i = 0; i < size; i++)
				for (int j = 0; j < size; j++)
					b.cells[i] += a.cells[i * size + j] * b.cells[j] % 11;
		out[id] = b.cells[0];
	}
	matrix_close(&a);
	matrix_close(&b);
}

/* A chain of three; what comes in is the thread's. */
static __device__ char *text_new(int bytes)
{
	return (char *)malloc(bytes); // want: block varying
}

static __device__ char *text_copy(const char *from, int length)
{
	char *text = text_new(length + 1);

	for (int i = 0; text && i < length; i++)
		text[i] = from[i];
	if (text)
		text[length] = '\0';
	return text;
}

__global__ void cut_words(const char *from, int length, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	int at = id % (length / 2);
	char *text = text_copy(from + at, 1 + id % 9);
	int sum = 0;

	for (int i = 0; text && text[i]; i++)
		sum += text[i] * (i + 1);
	out[id] = sum;
	free(text);
}

/* The helper decides itself, by what it is given. */
static __device__ int *room_for(int wanted, int most)
{
	if (wanted > most)
		return nullptr;
	return (int *)malloc(most * sizeof(int)); // want: none -
}

static __device__ int *room_if(bool wanted, int items)
{
	int *room = nullptr;

	if (wanted)
		room = (int *)malloc(items * sizeof(int)); // want: block uniform
	return room;
}

__global__ void choosers(const int *values, bool wanted, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	int *some = room_for(values[id], 32), *all = room_if(wanted, 8);

	if (some)
		some[values[id] % 32] = id;
	if (all)
		all[id % 8] = values[id];
	out[id] = (some ? some[values[id] % 32] : -1) + (all ? all[id % 8] : -2);
	free(some);
	free(all);
}

/* A helper whose return ends the helper, not the thread: behind it all are there. */
static __device__ int first_digit(int number)
{
	if (number < 10)
		return number;
	while (number >= 10)
		number /= 10;
	return number;
}

__global__ void after_helper(const int *values, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	int digit = first_digit(values[id]);
	int *counts = (int *)malloc(10 * sizeof(int)); // want: block uniform

	if (counts != nullptr) {
		counts[digit] = values[id];
		out[id] = counts[digit];
	}
	free(counts);
	counts = (int *)malloc((digit + 1) * sizeof(int)); // want: block varying
	if (counts != nullptr) {
		counts[digit] = digit;
		out[id] += counts[digit];
	}
	free(counts);
}

#ifdef CORPUS_MAIN
#include "../main.h"

int main(void)
{
	CORPUS_RUN(powers, 2, 64, 4, 3, corpus_out);
	CORPUS_RUN(cut_words, 2, 64, corpus_text(100, 1), 100, corpus_out);
	CORPUS_RUN(choosers, 2, 64, corpus_numbers(128, 50, 2), true, corpus_out);
	CORPUS_RUN(after_helper, 2, 64, corpus_numbers(128, 5000, 3), corpus_out);
	return 0;
}
#endif
