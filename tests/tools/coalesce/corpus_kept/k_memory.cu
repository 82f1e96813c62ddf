/* SPDX-License-Identifier: Apache-2.0 */
/* Kept back: sizes out of memory, pointers to locals, arrays of the thread's own. */

/* A compressed matrix: each thread a row, or the block a row. */
__global__ void rows_of(const int *starts, const int *columns, int rows, int *out)
{
	int row = blockIdx.x * blockDim.x + threadIdx.x;
	int length = 0;
	int *mine, *same;

	if (row < rows)
		length = starts[row + 1] - starts[row];
	mine = (int *)malloc((length + 1) * sizeof(int));     // want: block varying
	same = (int *)malloc(starts[blockIdx.x + 1] * 4 + 4); // want: block varying
	if (mine && same) {
		mine[length] = row;
		for (int i = 0; i < length; i++)
			mine[i] = columns[starts[row] + i];
		same[0] = mine[0];
		out[row] = same[0] + mine[length];
	}
	free(mine);
	free(same);
}

/* Two locals change places through pointers; both are the host's. */
static __device__ void exchange(int *one, int *other)
{
	int keep = *one;

	*one = *other;
	*other = keep;
}

__global__ void ordered(int low, int high, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;

	if (low > high)
		exchange(&low, &high);
	int *span = (int *)malloc((high - low + 1) * sizeof(int)); // want: block uniform
	if (span) {
		span[high - low] = id;
		out[id] = span[high - low] + low;
	}
	free(span);
}

/* A callee that writes its lane through the pointer it is given. */
static __device__ void locate(int *row, int *column, int width)
{
	int id = threadIdx.x;

	*row = id / width;
	*column = width;
}

__global__ void located(int width, int *out)
{
	int row, column, id = blockIdx.x * blockDim.x + threadIdx.x;

	locate(&row, &column, width);
	int *line = (int *)malloc(column * sizeof(int));    // want: block uniform
	int *rest = (int *)malloc((row + 1) * sizeof(int)); // want: block varying
	if (line && rest) {
		line[column - 1] = row;
		rest[row] = id;
		out[id] = line[column - 1] + rest[row];
	}
	free(line);
	free(rest);
}

/* Arrays of the thread's own: with what all have in it, and with what the thread has. */
__global__ void small_arrays(int a, int b, const int *in, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	int sizes[3] = { a, b, a + b }, own[3] = { a, in[id] % 8 + 1, b };
	int sum = 0;

	for (int i = 0; i < 3; i++) {
		int *part = (int *)malloc(sizes[i] * sizeof(int)); // want: block uniform
		int *mine = (int *)malloc(own[i] * sizeof(int));   // want: block varying

		if (part && mine) {
			part[sizes[i] - 1] = id;
			mine[own[i] - 1] = part[sizes[i] - 1] + i;
			sum = sum * 3 + mine[own[i] - 1];
		}
		free(part);
		free(mine);
	}
	out[id] = sum;
}

/* A union, and a float's bits: a value goes one way and comes out another. */
union bits {
	float real;
	int whole;
};

__global__ void through_union(const float *in, float same, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	union bits mine, all;

	mine.real = in[id];
	all.real = same;
	char *one = (char *)malloc((mine.whole & 15) + 1);            // want: block varying
	char *two = (char *)malloc((all.whole >> 20 & 15) + 1);       // want: block uniform
	char *six = (char *)malloc((__float_as_int(in[id]) & 7) + 1); // want: block varying
	if (one && two && six) {
		one[mine.whole & 15] = 1;
		two[0] = 2;
		six[0] = 4;
		out[id] = one[mine.whole & 15] + two[0] + six[0];
	}
	free(one);
	free(two);
	free(six);
}

#ifdef CORPUS_MAIN
#include "../main.h"

static int *steps_of(int rows, int step)
{
	int *starts = corpus_numbers(rows + 1, 1, 1), i;

	for (i = 0; i <= rows; i++) {
		int start = i * step + i % 3;

		corpus_check(cudaMemcpy(starts + i, &start, sizeof(start), cudaMemcpyHostToDevice),
			     "cudaMemcpy");
	}
	return starts;
}

int main(void)
{
	CORPUS_RUN(rows_of, 2, 64, steps_of(100, 4), corpus_numbers(420, 90, 1), 100, corpus_out);
	CORPUS_RUN(ordered, 2, 64, 19, 4, corpus_out);
	CORPUS_RUN(located, 2, 64, 10, corpus_out);
	CORPUS_RUN(small_arrays, 2, 64, 3, 5, corpus_numbers(128, 90, 2), corpus_out);
	CORPUS_RUN(through_union, 2, 64, (const float *)corpus_numbers(128, 5000, 3), 3.5f,
		   corpus_out);
	return 0;
}
#endif
