/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations, guards and indices by macros. A label is where the macro is used. */

#define NEW_ARRAY(type, count) ((type *)malloc((count) * sizeof(type)))
#define GLOBAL_ID (blockIdx.x * blockDim.x + threadIdx.x)
#define IS_LEADER (threadIdx.x == 0)
#define FOR_EACH_ITEM(i, n) for (int i = GLOBAL_ID; i < (n); i += gridDim.x * blockDim.x)
#define FOR_EACH_STEP(i, n) for (int i = 0; i < (n); i++)
#define CHECK_OR_RETURN(pointer)          \
	do {                              \
		if ((pointer) == nullptr) \
			return;           \
	} while (0)
#define WORK_BYTES 96

/* The size and the call are macros'. */
__global__ void by_macro(const int *values, int count, int *out)
{
	int *copy = NEW_ARRAY(int, count); // want: block uniform

	if (copy != nullptr) {
		FOR_EACH_STEP(i, count)
		copy[i] = values[i] + (int)GLOBAL_ID;
		out[GLOBAL_ID] = copy[count / 2];
	}
	free(copy);
}

/* The guard hides in a macro. */
__global__ void leader_by_macro(int rounds, int *out)
{
	int *notes = nullptr;

	if (IS_LEADER)
		notes = (int *)malloc(WORK_BYTES); // want: none -
	FOR_EACH_STEP(r, rounds)
	{
		int *page = (int *)malloc(WORK_BYTES * 2); // want: block uniform

		if (page)
			page[r % 48] = r + (int)GLOBAL_ID;
		out[GLOBAL_ID] += page ? page[r % 48] : 0;
		free(page);
	}
	if (notes) {
		notes[0] = rounds;
		out[GLOBAL_ID] += notes[0];
	}
	free(notes);
}

/* The loop of the macro is another one than it seems. */
__global__ void items_by_macro(const int *values, int count, int *out)
{
	FOR_EACH_ITEM(i, count)
	{
		int *pair = NEW_ARRAY(int, 2); // want: none -

		if (pair == nullptr)
			continue;
		pair[0] = values[i];
		pair[1] = i;
		out[i] = pair[0] - pair[1];
		free(pair);
	}
}

/* A return hides in a macro. */
__global__ void checked_by_macro(int width, int *out)
{
	int *front = (int *)malloc(width * sizeof(int)); // want: block uniform
	CHECK_OR_RETURN(front);
	int *back = (int *)malloc(width * sizeof(int)); // want: none -

	front[width - 1] = GLOBAL_ID;
	if (back) {
		back[0] = front[width - 1] * 2;
		out[GLOBAL_ID] = back[0];
	}
	free(back);
	free(front);
}

#ifdef CORPUS_MAIN
#include "../main.h"

int main(void)
{
	CORPUS_RUN(by_macro, 2, 64, corpus_numbers(11, 90, 1), 11, corpus_out);
	CORPUS_RUN(leader_by_macro, 2, 64, 5, corpus_out);
	CORPUS_RUN(items_by_macro, 2, 64, corpus_numbers(200, 90, 2), 200, corpus_out);
	CORPUS_RUN(checked_by_macro, 2, 64, 9, corpus_out);
	return 0;
}
#endif
