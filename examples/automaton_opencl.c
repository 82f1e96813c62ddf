/* SPDX-License-Identifier: Apache-2.0 */
/*
 * automaton_opencl.c - search many texts at once for a word with some errors, by an automaton whose
 * lists of states OpenCL kernels allocate from a heap of mam; the result is compared with edit
 * distances on the host.
 *
 *	cc -O2 -I PREFIX/include -o automaton_opencl automaton_opencl.c -L PREFIX/lib -lmam-opencl -lOpenCL
 *	./automaton_opencl [--texts 2000] [--length 200] [--platform 0] ...
 *
 * in this folder, where the kernels are. Status 0; 1: wrong result or failure; 2: invalid options;
 * 77: no OpenCL.
 */
#define _POSIX_C_SOURCE 200809L
static const char program[] = "automaton_opencl";

#include "automaton_host.h"
#include "opencl_host.h"
#include "options.h"

#define GROUP ((size_t)64)

enum { TEXTS, LENGTH, WORD, ERRORS, LANES, SEED, PLATFORM, DEVICE };

static struct example_option options[] = {
	{ "texts", "number of texts", 1, 1u << 20, 2000 },
	{ "length", "symbols per text", 0, 4096, 200 },
	{ "word", "symbols of the word", 1, AUTOMATON_WORD_MAX, 12 },
	{ "errors", "maximum number of errors in the word", 0, AUTOMATON_ERRORS_MAX, 2 },
	{ "lanes", "number of lanes, in groups of 64", 1, 1u << 20, 4096 },
	{ "seed", "random seed of word and texts", 0, 1u << 20, 1 },
	{ "platform", "number of the OpenCL platform", 0, PLATFORMS - 1, 0 },
	{ "device", "number of the platform's device", 0, DEVICES - 1, 0 },
	{ NULL, NULL, 0, 0, 0 },
};

struct work {
	struct opencl cl;
	struct automaton made;
	unsigned char *texts;
	uint32_t *found;
	cl_uint count, length;
};

/* Searches on the device, twice; returns the milliseconds of the second run. */
static double search(struct work *work, size_t lanes, cl_mem heap)
{
	cl_mem first = opencl_buffer(&work->cl, work->made.first,
				     (work->made.rows + 1) * sizeof(uint32_t), 0);
	cl_mem targets = opencl_buffer(&work->cl, work->made.targets,
				       work->made.targets_count * sizeof(uint32_t), 0);
	cl_mem accepts = opencl_buffer(&work->cl, work->made.accepts,
				       work->made.states * sizeof(uint32_t), 0);
	cl_mem texts = opencl_buffer(&work->cl, work->texts, (size_t)work->count * work->length, 0);
	cl_mem found = opencl_buffer(&work->cl, NULL, work->count * sizeof(uint32_t), 0);
	cl_uint symbols = AUTOMATON_SYMBOLS;
	double ms = 0;
	int round;

	opencl_build(&work->cl, "", "automaton.cl");
	/* The first run may include compilation. */
	for (round = 0; round < 2; round++)
		ms = opencl_run(&work->cl, "search", lanes, GROUP, 9, ARGUMENT(heap),
				ARGUMENT(first), ARGUMENT(symbols), ARGUMENT(targets),
				ARGUMENT(accepts), ARGUMENT(texts), ARGUMENT(work->length),
				ARGUMENT(work->count), ARGUMENT(found));
	opencl_read(&work->cl, found, work->found, work->count * sizeof(uint32_t));
	check(clReleaseMemObject(first), "clReleaseMemObject");
	check(clReleaseMemObject(targets), "clReleaseMemObject");
	check(clReleaseMemObject(accepts), "clReleaseMemObject");
	check(clReleaseMemObject(texts), "clReleaseMemObject");
	check(clReleaseMemObject(found), "clReleaseMemObject");
	return ms;
}

/* Of all texts together; exits at the first wrong result. */
static uint64_t compare(const struct work *work)
{
	uint64_t all = 0;
	size_t i;

	for (i = 0; i < work->count; i++) {
		if (work->found[i] == UINT32_MAX)
			fail("a list of states", "out of memory");
		if (work->found[i] !=
		    automaton_expect(&work->made, work->texts + i * work->length, work->length))
			fail("a text", "the match of the automaton is wrong");
		all += work->found[i];
	}
	return all;
}

int main(int argc, char **argv)
{
	struct mam_cl_heap *heap;
	struct work work;
	uint64_t all;
	size_t lanes;
	double ms;

	example_options(
		program,
		"Search texts for a word with errors, by lists of states in OpenCL kernels.",
		options, argc, argv);
	work.count = (cl_uint)options[TEXTS].value;
	work.length = (cl_uint)options[LENGTH].value;
	work.texts = automaton_texts(options[SEED].value, work.count, work.length);
	work.found = (uint32_t *)calloc(work.count, sizeof(uint32_t));
	if (!work.texts || !work.found ||
	    !automaton_make(&work.made, options[SEED].value, (uint32_t)options[WORD].value,
			    (uint32_t)options[ERRORS].value))
		fail("the texts", "out of memory");
	lanes = options[LANES].value < work.count ? options[LANES].value : work.count;
	lanes = (lanes + GROUP - 1) / GROUP * GROUP;
	opencl_open(&work.cl, options[PLATFORM].value, options[DEVICE].value);
	printf("%s\n", work.cl.name);
	/* Each lane has at most two lists, each at most of the maximum length. */
	heap = opencl_heap(&work.cl,
			   lanes * 2 * (automaton_max(&work.made) + 64) * sizeof(uint32_t) +
				   ((size_t)1 << 20));
	ms = search(&work, lanes, mam_cl_heap_buffer(heap));
	all = compare(&work);
	opencl_end_heap(&work.cl, heap);
	opencl_close(&work.cl);
	printf("%u texts of %u symbols, %u states: %llu places in %.3f ms, %.1f M lists/s; all of "
	       "them are right\n",
	       work.count, work.length, work.made.states, (unsigned long long)all, ms,
	       (double)work.count * work.length / ms / 1e3);
	automaton_free(&work.made);
	free(work.found);
	free(work.texts);
	printf("all is well\n");
	return fflush(stdout) ? 1 : 0;
}
