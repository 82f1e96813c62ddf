/* SPDX-License-Identifier: Apache-2.0 */
/* Kept back: templates, classes, macros, lambdas, new. */

#define MAKE(T) static_cast<T *>(malloc(sizeof(T)))
#define ONLY_IF(condition) \
	if (!(condition))  \
	return

template <typename Key, int Room> class small_map
{
	Key *keys;
	int *values;
	int used;

      public:
	__device__ small_map() : used(0)
	{
		keys = new Key[Room];   // want: block uniform
		values = new int[Room]; // want: block uniform
	}
	__device__ ~small_map()
	{
		delete[] keys;
		delete[] values;
	}
	__device__ void add(Key key, int value)
	{
		int at = 0;

		while (at < used && keys[at] != key)
			at++;
		if (at == Room)
			return;
		keys[at] = key;
		values[at] = at == used ? value : values[at] + value;
		used += at == used;
	}
	__device__ int sum(void) const
	{
		int sum = used;

		for (int i = 0; i < used; i++)
			sum = sum * 3 + values[i] * (int)keys[i];
		return sum % 100003;
	}
};

template <typename Key> __global__ void count_keys(const int *in, int count, int *out)
{
	small_map<Key, 8> map;
	int id = blockIdx.x * blockDim.x + threadIdx.x;

	for (int i = 0; i < count; i++)
		map.add((Key)(in[i] * (id + 1) % 13), i);
	out[id] = map.sum();
}

template __global__ void count_keys<int>(const int *, int, int *);
template __global__ void count_keys<unsigned char>(const int *, int, int *);

/* Macros around the call and around the way out. */
struct record {
	int id, score;
};

__global__ void records(const int *in, int limit, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	record *one = MAKE(record); // want: block uniform
	int score = in[id];

	if (one) {
		one->id = id;
		one->score = score;
		out[id] = one->id - one->score;
	}
	free(one);
	ONLY_IF(score > limit);
	record *two = MAKE(record); // want: none -
	if (two) {
		two->score = score * 2;
		out[id] += two->score;
	}
	free(two);
}

/* A temporary of a class that allocates, in one arm of a choice, and as a return value. */
struct text {
	char *bytes;
	int length;

	__device__ text(int length, char fill)
	    : bytes(new char[length]), length(length) // want: none -
	{
		for (int i = 0; i < length; i++)
			bytes[i] = fill;
	}
	__device__ text(const text &) = delete;
	__device__ ~text()
	{
		delete[] bytes;
	}
	__device__ int weight(void) const
	{
		return bytes[length - 1] * length;
	}
};

__global__ void temporaries(const int *in, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;

	out[id] = in[id] % 3 == 1 ? text(in[id] + 1, 'q').weight() : -1;
}

/* A lambda: what is in it is reached where it is called. */
__global__ void lambdas(const int *in, int items, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	auto sum_of = [=](int first) {
		int *cells = (int *)malloc(items * sizeof(int)); // want: none -
		int sum = first;

		for (int i = 0; cells && i < items; i++) {
			cells[i] = first + i;
			sum += cells[i];
		}
		free(cells);
		return sum;
	};

	if (in[id] > 50)
		out[id] = sum_of(in[id]);
	int *plain = new int(items); // want: block uniform
	out[id] += *plain;
	delete plain;
}

/* A guard object whose constructor is for all, within a loop that all go through. */
struct scratch {
	short *words;

	__device__ explicit scratch(size_t bytes)
	{
		words = (short *)malloc(bytes); // want: block uniform
	}
	__device__ ~scratch()
	{
		free(words);
	}
};

__global__ void scratch_rounds(int rounds, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;

	for (int i = 1; i <= rounds; i++) {
		scratch scratch(i * sizeof(short));

		if (scratch.words == nullptr)
			continue;
		scratch.words[i - 1] = (short)(id + i);
		out[id] = out[id] * 2 + scratch.words[i - 1];
	}
}

#ifdef CORPUS_MAIN
#include "../main.h"

int main(void)
{
	CORPUS_RUN(count_keys<int>, 2, 64, corpus_numbers(20, 90, 1), 20, corpus_out);
	CORPUS_RUN(count_keys<unsigned char>, 2, 64, corpus_numbers(20, 90, 1), 20, corpus_out);
	CORPUS_RUN(records, 2, 64, corpus_numbers(128, 90, 2), 40, corpus_out);
	CORPUS_RUN(temporaries, 2, 64, corpus_numbers(128, 30, 3), corpus_out);
	CORPUS_RUN(lambdas, 2, 64, corpus_numbers(128, 90, 4), 5, corpus_out);
	CORPUS_RUN(scratch_rounds, 2, 64, 6, corpus_out);
	return 0;
}
#endif
