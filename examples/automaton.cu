/* SPDX-License-Identifier: Apache-2.0 */
/*
 * automaton.cu - search many texts at once for a word with some errors, by an automaton whose lists
 * of states kernels allocate from a heap of mam; the result is compared with edit distances on the
 * host.
 *
 *	nvcc -O2 -arch=native -I PREFIX/include -o automaton automaton.cu -L PREFIX/lib -lmam
 *	./automaton [--texts 20000] [--length 200] ...
 *
 * Status 0; 1: wrong result or failure; 2: invalid options.
 */
static const char program[] = "automaton";

#include <vector>

#include "automaton.h"
#include "automaton_host.h"
#include "cuda_host.cuh"
#include "options.h"

enum { TEXTS, LENGTH, WORD, ERRORS, SEED };

static struct example_option options[] = {
	{ "texts", "number of texts", 1, 1u << 20, 20000 },
	{ "length", "symbols per text", 0, 4096, 200 },
	{ "word", "symbols of the word", 1, AUTOMATON_WORD_MAX, 12 },
	{ "errors", "maximum number of errors in the word", 0, AUTOMATON_ERRORS_MAX, 2 },
	{ "seed", "random seed of word and texts", 0, 1u << 20, 1 },
	{ NULL, NULL, 0, 0, 0 },
};

/* In device memory. */
struct table {
	const uint32_t *first, *targets, *accepts;
};

__global__ void search(struct mam_kheap *heap, struct table table, const unsigned char *texts,
		       uint32_t length, uint32_t count, uint32_t *found)
{
	automaton_search_all(mam_base_heap(heap), table.first, AUTOMATON_SYMBOLS, table.targets,
			     table.accepts, texts, length, count, found);
}

/* Of all texts together; exits at the first wrong result. */
static uint64_t compare(const struct automaton *made, const unsigned char *texts, uint32_t length,
			const std::vector<uint32_t> &found)
{
	uint64_t all = 0;
	size_t i;

	for (i = 0; i < found.size(); i++) {
		if (found[i] == AUTOMATON_NO_MEMORY)
			fail("a list of states", "out of memory");
		if (found[i] != automaton_expect(made, texts + i * length, length))
			fail("a text", "the match of the automaton is wrong");
		all += found[i];
	}
	return all;
}

int main(int argc, char **argv)
{
	uint32_t count, length, *device_found;
	unsigned char *texts, *device_texts;
	struct automaton made;
	struct stopwatch watch;
	struct mam_heap *heap;
	struct table table;
	uint64_t all;
	double ms;

	example_options(program, "Search texts for a word with errors, by lists of states.",
			options, argc, argv);
	count = (uint32_t)options[TEXTS].value;
	length = (uint32_t)options[LENGTH].value;
	texts = automaton_texts(options[SEED].value, count, length);
	if (!texts || !automaton_make(&made, options[SEED].value, (uint32_t)options[WORD].value,
				      (uint32_t)options[ERRORS].value))
		fail("the texts", "out of memory");
	std::vector<uint32_t> found(count);

	table.first = on_device(made.first, made.rows + 1);
	table.targets = on_device(made.targets, made.targets_count);
	table.accepts = on_device(made.accepts, made.states);
	device_texts = on_device(texts, (size_t)count * length + 1);
	device_found = on_device((uint32_t *)NULL, count);
	/* Each lane has at most two lists, each at most of the maximum length. */
	heap = heap_of((size_t)blocks_for(count) * THREADS * 2 * (automaton_max(&made) + 64) *
			       sizeof(uint32_t) +
		       ((size_t)16 << 20));

	begin(&watch);
	search<<<blocks_for(count), THREADS>>>(mam_heap_device(heap), table, device_texts, length,
					       count, device_found);
	ms = end(&watch, "search");
	to_host(found.data(), device_found, count);
	all = compare(&made, texts, length, found);
	end_heap(heap);
	check(cudaFree((void *)table.first), "cudaFree");
	check(cudaFree((void *)table.targets), "cudaFree");
	check(cudaFree((void *)table.accepts), "cudaFree");
	check(cudaFree(device_texts), "cudaFree");
	check(cudaFree(device_found), "cudaFree");
	std::printf(
		"%u texts of %u symbols, %u states: %llu places in %.3f ms, %.1f M lists/s; all "
		"of them are right\n",
		count, length, made.states, (unsigned long long)all, ms,
		(double)count * length / ms / 1e3);
	automaton_free(&made);
	std::free(texts);
	std::printf("all is well\n");
	return std::fflush(stdout) ? 1 : 0;
}
