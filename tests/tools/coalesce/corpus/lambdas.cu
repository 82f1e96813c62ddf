/* SPDX-License-Identifier: Apache-2.0 */
/* Lambdas: what they capture, who calls them, and where they go. */

template <class F> static __device__ int sum_of(int n, F f)
{
	int sum = 0;

	for (int i = 0; i < n; i++)
		sum += f(i);
	return sum;
}

static __device__ int cell(int value, int bytes)
{
	int *p = (int *)malloc(bytes * sizeof(int)); // want: block varying
	int got = value;

	if (p) {
		p[bytes - 1] = value + 1;
		got = p[bytes - 1];
	}
	free(p);
	return got;
}

/* Called by all threads, with captures of every kind. */
__global__ void captures(int n, int *out)
{
	int id = threadIdx.x, own = id % 5 + 1, same = n + 2;
	auto by_value = [same](int x) {
		int *p = (int *)malloc(same * sizeof(int)); // want: block uniform
		int got = p ? x : 0;

		free(p);
		return got;
	};
	auto all_by_value = [=] {
		int *p = (int *)malloc(own * sizeof(int)); // want: block varying
		int got = p ? own : 0;

		free(p);
		return got;
	};
	auto by_reference = [&](int x) {
		int *p = (int *)malloc((x + same) * 4); // want: block uniform
		int got = p ? x : 0;

		free(p);
		return got;
	};
	auto own_by_reference = [&own]() {
		int *p = (int *)malloc(own * sizeof(int)); // want: block varying
		int got = p ? own : 0;

		free(p);
		return got;
	};

	out[id] = by_value(id) + all_by_value() + by_reference(n) + own_by_reference() + cell(id, own);
}

/* What it captured by value stays; by reference it changes. */
__global__ void later(int n, int *out)
{
	int id = threadIdx.x, size = n;
	auto changed = [&] {
		int *p = (int *)malloc(size * sizeof(int)); // want: block varying
		int got = p ? 2 : 0;

		free(p);
		return got;
	};

	size = id + 1;
	out[id] = changed();
}

__global__ void sooner(int n, int *out)
{
	int id = threadIdx.x, size = n;
	auto kept = [size] {
		int *p = (int *)malloc(size * sizeof(int)); // want: block uniform
		int got = p ? 1 : 0;

		free(p);
		return got;
	};

	size = id + 1;
	out[id] = kept() + size;
}

/* Passed to a template: in its loop all threads are together, after its guard they are not. */
template <class F> static __device__ int if_odd(int id, F &&f)
{
	return id & 1 ? f(id) : 0;
}

__global__ void passed(int n, int *out)
{
	int id = threadIdx.x;

	out[id] = sum_of(n, [=](int i) {
		int *p = (int *)malloc(i + 4); // want: block uniform
		int got = p ? i * id : 0;

		free(p);
		return got;
	});
	out[id] += if_odd(id, [=](int i) {
		int *p = (int *)malloc(n + 4); // want: none -
		int got = p ? i : 0;

		free(p);
		return got;
	});
}

/* Any code may call one that is a function pointer, and one that changes is not followed. */
__global__ void unknown(int n, int *out)
{
	int id = threadIdx.x, count = 0;
	int (*pointer)(int) = [](int x) {
		int *p = (int *)malloc(8); // want: none -
		int got = p ? x : 0;

		free(p);
		return got;
	};
	auto counter = [count]() mutable {
		int *p = (int *)malloc(++count * 8); // want: none -
		int got = p ? count : 0;

		free(p);
		return got;
	};

	out[id] = (id & 1 ? pointer(id) : 0) + (id > 3 ? counter() : n);
}

#ifdef CORPUS_MAIN
#include "../main.h"

int main(void)
{
	CORPUS_RUN(captures, 1, 64, 3, corpus_out);
	CORPUS_RUN(later, 1, 64, 3, corpus_out);
	CORPUS_RUN(sooner, 1, 64, 3, corpus_out);
	CORPUS_RUN(passed, 1, 64, 3, corpus_out);
	CORPUS_RUN(unknown, 1, 64, 3, corpus_out);
	return 0;
}
#endif
