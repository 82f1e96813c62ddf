/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of mam's heap in kernels. */

#include <mam/heap.cuh>

/* All together, with the host's size. */
__global__ void heap_rows(struct mam_kheap *heap, const int *from, int length, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;
	int *row = (int *)mam_kmalloc(heap, length * sizeof(int)); // want: block uniform

	if (row) {
		for (int i = 0; i < length; i++)
			row[i] = from[(id * 3 + i) % 100];
		for (int i = length - 1; i >= 0; i--)
			sum = sum * 5 + row[i];
		mam_kfree(heap, row);
	}
	out[id] = sum;
}

/* A hash table whose chains grow where keys fall. */
struct entry {
	int key;
	struct entry *next;
};

__global__ void heap_chains(struct mam_kheap *heap, const int *keys, int count, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	struct entry *chain[4] = { nullptr, nullptr, nullptr, nullptr };

	for (int i = 0; i < count; i++) {
		int key = (keys[i] * (id + 1)) % 97, place = key % 4;

		if (chain[place] == nullptr || chain[place]->key != key) {
			struct entry *entry =
				(struct entry *)mam_kmalloc(heap, sizeof(*entry)); // want: none -

			if (entry == nullptr)
				break;
			entry->key = key;
			entry->next = chain[place];
			chain[place] = entry;
		}
	}
	for (int i = 0; i < 4; i++)
		while (chain[i]) {
			struct entry *next = chain[i]->next;

			out[id] = out[id] * 7 + chain[i]->key;
			mam_kfree(heap, chain[i]);
			chain[i] = next;
		}
}

/* A warp's memory, where the warp has something to say. */
__global__ void heap_reports(struct mam_kheap *heap, const int *levels, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned int alarm = __ballot_sync(0xffffffffu, levels[id] > 85);

	if (alarm) {
		int bytes = 4 * __popc(alarm);
		int *report = (int *)mam_kmalloc(heap, bytes); // want: warp uniform

		if (report) {
			report[0] = levels[id];
			out[id] = report[0] + bytes;
		}
		mam_kfree(heap, report);
	}
}

/* Two heaps, and who takes which is the thread's matter: they come together, but not to one. */
__global__ void either_heap(struct mam_kheap *low, struct mam_kheap *high, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	struct mam_kheap *mine = threadIdx.x % 2 ? low : high;
	int *item = (int *)mam_kmalloc(mine, 32); // want: none -
	int *both = (int *)mam_kmalloc(low, 32);  // want: block uniform

	if (item && both) {
		item[0] = id;
		both[7] = item[0] * 3;
		out[id] = both[7];
	}
	mam_kfree(mine, item);
	mam_kfree(low, both);
}

/* A stack machine: its frame in the heap, its stack grows in steps by each thread's own need. */
__global__ void heap_stacks(struct mam_kheap *heap, const int *program, int length, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x, used = 0, room = 2;
	int *stack = (int *)mam_kmalloc(heap, room * sizeof(int)); // want: block uniform

	for (int i = 0; stack && i < length; i++) {
		if (program[i] % 3 == id % 3 && used > 0) {
			out[id] += stack[--used];
			continue;
		}
		if (used == room) {
			int *more = (int *)mam_kmalloc(heap, 8 * room); // want: none -

			for (int j = 0; more && j < used; j++)
				more[j] = stack[j];
			mam_kfree(heap, stack);
			stack = more;
			room *= 2;
		}
		if (stack)
			stack[used++] = program[i];
	}
	mam_kfree(heap, stack);
}

#ifdef CORPUS_MAIN
#define CORPUS_HEAP
#include "../main.h"

int main(void)
{
	struct mam_kheap *heap = corpus_heap(), *other = corpus_heap();

	CORPUS_RUN(heap_rows, 2, 64, heap, corpus_numbers(100, 50, 1), 9, corpus_out);
	CORPUS_RUN(heap_chains, 2, 64, heap, corpus_numbers(30, 900, 2), 30, corpus_out);
	CORPUS_RUN(heap_reports, 2, 128, heap, corpus_numbers(256, 90, 3), corpus_out);
	CORPUS_RUN(either_heap, 2, 64, heap, other, corpus_out);
	CORPUS_RUN(heap_stacks, 2, 64, heap, corpus_numbers(40, 90, 4), 40, corpus_out);
	return 0;
}
#endif
