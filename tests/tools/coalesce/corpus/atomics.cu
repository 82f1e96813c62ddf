/* SPDX-License-Identifier: Apache-2.0 */
/* What atomic operations, clocks and lanes give is each thread's own. */

/* A ticket for each thread; late ones get no slot. */
__global__ void slots(int *next, int room, int *out)
{
	int ticket = atomicAdd(next, 1);
	int *slot = nullptr;

	if (ticket < room)
		slot = (int *)malloc(4 * sizeof(int)); // want: none -
	if (slot != nullptr) {
		slot[0] = 1;
		atomicAdd(&out[0], slot[0]);
	}
	free(slot);
	int *spare = (int *)malloc((ticket % 4 + 1) * sizeof(int)); // want: block varying
	if (spare != nullptr) {
		spare[ticket % 4] = 3;
		atomicAdd(&out[1], spare[ticket % 4]);
	}
	free(spare);
}

/* Who comes first to a vertex owns it, and its list. */
__global__ void claim(int *owners, const int *targets, int vertices, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	int vertex = targets[id] % vertices;

	if (atomicCAS(&owners[vertex], 0, 1) == 0) {
		int *list = (int *)malloc(8 * sizeof(int)); // want: none -

		if (list) {
			list[vertex % 8] = vertex;
			out[vertex] = list[vertex % 8] + 1;
		}
		free(list);
	}
}

/* Lanes and clocks by assembly. */
__global__ void lane_numbers(int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned int lane;
	long long now = clock64();
	char *odd = nullptr;

	asm("mov.u32 %0, %%laneid;" : "=r"(lane));
	if (lane & 1)
		odd = (char *)malloc(16);                // want: none -
	char *sized = (char *)malloc(lane + 1);          // want: block varying
	char *timed = (char *)malloc(now % 2 ? 32 : 48); // want: block varying
	if (odd)
		odd[15] = 5;
	if (sized && timed) {
		sized[lane] = 3;
		timed[31] = 1;
		out[id] = sized[lane] + timed[31] + (odd ? odd[15] : 0);
	}
	free(odd);
	free(sized);
	free(timed);
}

/* Only the counting is atomic; who comes and how much is the host's. */
__global__ void count_words(const char *text, int length, int *counts)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	int *local = (int *)malloc(26 * sizeof(int)); // want: block uniform

	if (local == nullptr)
		return;
	for (int i = 0; i < 26; i++)
		local[i] = 0;
	for (int i = id; i < length; i += gridDim.x * blockDim.x)
		if (text[i] >= 'a' && text[i] <= 'z')
			local[text[i] - 'a']++;
	for (int i = 0; i < 26; i++)
		if (local[i] > 0)
			atomicAdd(&counts[i], local[i]);
	free(local);
}

#ifdef CORPUS_MAIN
#include "../main.h"

int main(void)
{
	CORPUS_RUN(slots, 2, 64, corpus_numbers(1, 1, 1), 50, corpus_out);
	CORPUS_RUN(claim, 2, 64, corpus_numbers(40, 1, 2), corpus_numbers(128, 90, 3), 40,
		   corpus_out);
	CORPUS_RUN(lane_numbers, 2, 64, corpus_out);
	CORPUS_RUN(count_words, 2, 64, corpus_text(700, 4), 700, corpus_out);
	return 0;
}
#endif
