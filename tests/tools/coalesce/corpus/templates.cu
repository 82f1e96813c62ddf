/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels and helpers that are templates. */

template <typename T> __global__ void reverse_rows(const T *rows, int length, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	T *row = (T *)malloc(length * sizeof(T)); // want: block uniform

	if (row != nullptr) {
		for (int i = 0; i < length; i++)
			row[length - 1 - i] = rows[(id + i) % 64];
		out[id] += (int)row[0] - (int)row[length / 2];
	}
	free(row);
}

template <int Width, bool Shift> __global__ void stencil(const int *cells, int count, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	int *window = (int *)malloc((2 * Width + 1) * sizeof(int)); // want: block uniform
	int sum = 0;

	if (window == nullptr)
		return;
	for (int i = -Width; i <= Width; i++)
		window[i + Width] = cells[(id + i + count) % count];
	if (Shift) {
		int *copy = (int *)malloc(Width * sizeof(int)); /* later: block */ // want: none -

		if (copy)
			copy[Width - 1] = window[0];
		sum = copy ? copy[Width - 1] : 0;
		free(copy);
	}
	for (int i = 0; i < 2 * Width + 1; i++)
		sum += window[i];
	out[id] = sum;
	free(window);
}

template <typename T> struct vector {
	T *items;
	int count, room;
};

template <typename T> __device__ void vector_open(vector<T> *v, int room)
{
	v->items = (T *)malloc(room * sizeof(T)); // want: block uniform
	v->count = 0;
	v->room = v->items ? room : 0;
}

template <typename T> __device__ void vector_push(vector<T> *v, T item)
{
	if (v->count == v->room) {
		T *items = (T *)malloc(2 * (v->room + 1) * sizeof(T)); // want: none -

		for (int i = 0; items && i < v->count; i++)
			items[i] = v->items[i];
		free(v->items);
		v->items = items;
		v->room = items ? 2 * (v->room + 1) : 0;
		if (items == nullptr)
			v->count = 0;
	}
	if (v->count < v->room)
		v->items[v->count++] = item;
}

template <typename T> __global__ void collect(const int *values, int count, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	vector<T> found;

	vector_open(&found, 2);
	for (int i = 0; i < count; i++)
		if (values[i] % 7 == id % 7)
			vector_push(&found, (T)values[i]);
	for (int i = 0; i < found.count; i++)
		out[id] += (int)found.items[i];
	free(found.items);
}

#ifdef CORPUS_MAIN
#include "../main.h"
#endif

/* So that there is an instance of each without the main, too. */
template __global__ void reverse_rows<int>(const int *, int, int *);
template __global__ void reverse_rows<char>(const char *, int, int *);
template __global__ void stencil<1, false>(const int *, int, int *);
template __global__ void stencil<3, true>(const int *, int, int *);
template __global__ void collect<short>(const int *, int, int *);
template __global__ void collect<double>(const int *, int, int *);

#ifdef CORPUS_MAIN
int main(void)
{
	int *numbers = corpus_numbers(200, 90, 1);

	CORPUS_RUN(reverse_rows<int>, 2, 64, numbers, 9, corpus_out);
	CORPUS_RUN(reverse_rows<char>, 2, 64, corpus_text(64, 2), 9, corpus_out);
	corpus_begin();
	stencil<1, false><<<2, 64>>>(numbers, 200, corpus_out);
	corpus_end("stencil<1, false>");
	corpus_begin();
	stencil<3, true><<<2, 64>>>(numbers, 200, corpus_out);
	corpus_end("stencil<3, true>");
	CORPUS_RUN(collect<short>, 2, 64, numbers, 60, corpus_out);
	CORPUS_RUN(collect<double>, 2, 64, numbers, 60, corpus_out);
	return 0;
}
#endif
