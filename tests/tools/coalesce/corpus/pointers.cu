/* SPDX-License-Identifier: Apache-2.0 */
/* Values that change through pointers and references. */

static __device__ void shape_of(int count, int *rows, int *columns)
{
	*rows = 1;
	while (*rows * *rows < count)
		++*rows;
	*columns = (count + *rows - 1) / *rows;
}

/* A helper fills in two numbers, from what is the same for all. */
__global__ void fold(const int *values, int count, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x, rows, columns;

	shape_of(count, &rows, &columns);
	int *sums = (int *)malloc(rows * sizeof(int)); // want: block uniform
	if (sums) {
		for (int r = 0; r < rows; r++) {
			sums[r] = id;
			for (int c = 0; c < columns && r * columns + c < count; c++)
				sums[r] += values[r * columns + c];
		}
		out[id] = sums[rows / 2] - sums[0];
	}
	free(sums);
}

static __device__ void add_lane(int &size)
{
	size += threadIdx.x & 31;
}

static __device__ void round_up(int &size, int to)
{
	size = (size + to - 1) / to * to;
}

/* References: one helper keeps it uniform, the other does not. */
__global__ void by_reference(int bytes, int *out)
{
	int size = bytes;

	round_up(size, 16);
	char *first = (char *)malloc(size); // want: block uniform
	add_lane(size);
	char *second = (char *)malloc(size + 1); // want: block varying

	if (first && second) {
		first[bytes - 1] = 1;
		second[size] = 2;
		out[blockIdx.x * blockDim.x + threadIdx.x] = first[bytes - 1] + second[size] + size;
	}
	free(first);
	free(second);
}

/* A pointer that leads to one of two locals; it writes to what is a size. */
__global__ void either_local(const int *values, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	int near = 8, far = 16;
	int *which = values[id] > 40 ? &near : &far;

	*which += 4;
	int *one = (int *)malloc(near * sizeof(int)); // want: block varying
	int *two = (int *)malloc(far * sizeof(int));  // want: block varying

	if (one && two) {
		one[near - 1] = id;
		two[far - 1] = near;
		out[id] = one[near - 1] + two[far - 1];
	}
	free(one);
	free(two);
}

/* An alias that only reads, and a pointer to the pointer that is allocated. */
static __device__ void open_into(int **place, const int &items)
{
	*place = (int *)malloc(items * sizeof(int)); // want: block uniform
}

__global__ void places(int items, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	int *work[2] = { nullptr, nullptr };

	open_into(&work[0], items);
	open_into(&work[1], 2 * items);
	if (work[0] && work[1]) {
		work[0][items - 1] = id;
		work[1][items] = work[0][items - 1] + 1;
		out[id] = work[1][items];
	}
	free(work[0]);
	free(work[1]);
}

/* The address of what was allocated differs from thread to thread. */
__global__ void by_address(int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	char *first = (char *)malloc(24); // want: block uniform
	char *second = nullptr;

	if (((size_t)first >> 4) % 2)
		second = (char *)malloc(24); // want: none -
	if (first)
		first[23] = (char)(id % 90);
	if (second)
		second[0] = 1;
	out[id] = first ? first[23] : 0;
	free(second);
	free(first);
}

#ifdef CORPUS_MAIN
#include "../main.h"

int main(void)
{
	CORPUS_RUN(fold, 2, 64, corpus_numbers(30, 90, 1), 30, corpus_out);
	CORPUS_RUN(by_reference, 2, 64, 20, corpus_out);
	CORPUS_RUN(either_local, 2, 64, corpus_numbers(128, 90, 2), corpus_out);
	CORPUS_RUN(places, 2, 64, 6, corpus_out);
	CORPUS_RUN(by_address, 2, 64, corpus_out);
	return 0;
}
#endif
