/* SPDX-License-Identifier: Apache-2.0 */
/* Pointers and references to a thread's own variables; conditions that declare; matches. */

struct shape {
	int rows, columns;
	__device__ int cells() const
	{
		return rows * columns;
	}
};

static __device__ void put(int *out, int *p, int value)
{
	if (p) {
		*p = value;
		out[threadIdx.x] += *p;
	}
	free(p);
}

static __device__ void shape_of(const int &count, struct shape *shape, int &rest)
{
	shape->rows = count / 4 + 1;
	shape->columns = 4;
	rest = count % 4;
}

static __device__ void early(int *size, int lane)
{
	*size = 4;
	if (lane & 1)
		return;
	*size = 8;
}

static __device__ void both(int &one, int &other, int lane)
{
	one = 5;
	other = lane + 1;
}

/* Both names may be those of one variable. */
static __device__ void between(int &size, int &other, int lane, int *out)
{
	size = 5;
	other = lane + 1;
	put(out, (int *)malloc(size * 4), 7); // want: block varying
}

__global__ void filled_in(int count, int *out)
{
	struct shape shape = { 1, 1 };
	int rest, size, a = 1, b = 1, twice = 2;

	shape_of(count, &shape, rest);
	put(out, (int *)malloc(shape.cells() * 4), 1);  // want: block uniform
	put(out, (int *)malloc((rest + 1) * 4), 2);     // want: block uniform
	early(&size, threadIdx.x);
	put(out, (int *)malloc(size), 3);               // want: block varying
	both(a, b, threadIdx.x);
	put(out, (int *)malloc(a * 4), 4);              // want: block uniform
	put(out, (int *)malloc(b * 4), 5);              // want: block varying
	both(twice, twice, threadIdx.x);
	put(out, (int *)malloc(twice * 4), 6);          // want: block varying
	between(twice, twice, threadIdx.x, out);
}

/* Other names for one variable: what is written through one is read through the other. */
__global__ void names(int count, int *out)
{
	int size = count, list[3] = { count, count, count };
	int &name = size, *pointer = &size;
	const int *third = &list[2];

	put(out, (int *)malloc(name * 4), 1); // want: block uniform
	*pointer = count + 1;
	put(out, (int *)malloc(name * 4), 2);   // want: block uniform
	put(out, (int *)malloc(*third * 4), 3); // want: block uniform
	name += threadIdx.x;
	put(out, (int *)malloc(*pointer * 4), 4); // want: block varying
	list[2] = threadIdx.x + 1;
	put(out, (int *)malloc(*third * 4), 5); // want: block varying
}

/* A pointer that leads elsewhere for some. */
__global__ void moved(int count, int *out)
{
	int one = count, other = count, *pointer = &one;

	if (threadIdx.x > 3)
		pointer = &other;
	*pointer = 9;
	put(out, (int *)malloc(one * 4), 1); // want: block varying
}

/* A reference to a copy of another type keeps the old value. */
__global__ void copies(int count, int *out)
{
	int size = threadIdx.x + 1;
	const long long &old = size;

	size = count;
	put(out, (int *)malloc(old * 4), 1); // want: block varying
}

__global__ void declared(const int *values, int count, int *out)
{
	if (int rest = count % 4)
		put(out, (int *)malloc(rest * 4), 1); // want: block uniform
	if (int own = values[threadIdx.x]; own > 40)
		put(out, (int *)malloc(16), 2); // want: none -
	while (int left = count--)
		put(out, (int *)malloc(left * 4), 3); // want: block uniform
	int own = threadIdx.x % 3;
	while (int left = own--)
		put(out, (int *)malloc(left * 4), 4); // want: none -
}

__global__ void matches(const int *values, int count, int *out)
{
	int same, own = values[threadIdx.x] / 60;

	__match_all_sync(0xffffffff, own, &same);
	if (same)
		put(out, (int *)malloc(count * 4), 1); // want: warp uniform
	if (__match_all_sync(0xffffffff, own, &same))
		put(out, (int *)malloc(count * 4), 2); // want: warp uniform
	if (own)
		put(out, (int *)malloc(count * 4), 3); // want: none -
}

#ifdef CORPUS_MAIN
#include "../main.h"

int main(void)
{
	CORPUS_RUN(filled_in, 1, 64, 6, corpus_out);
	CORPUS_RUN(names, 1, 64, 6, corpus_out);
	CORPUS_RUN(moved, 1, 64, 6, corpus_out);
	CORPUS_RUN(copies, 1, 64, 6, corpus_out);
	CORPUS_RUN(declared, 1, 64, corpus_numbers(64, 90, 1), 6, corpus_out);
	CORPUS_RUN(matches, 1, 64, corpus_numbers(64, 90, 2), 6, corpus_out);
	return 0;
}
#endif
