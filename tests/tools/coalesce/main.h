/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.h - runs the kernels of a corpus file and prints a checksum of what each of them wrote, so
 * that the original and the rewritten file can be compared.
 *
 * For this a file is compiled with -DCORPUS_MAIN. If its kernels use a heap of mam's, it defines
 * CORPUS_HEAP and is linked to libmam. Kernels write to corpus_out, up to CORPUS_WORDS numbers, all
 * 0 before each of them. Inputs depend only on their arguments. Exit status: 1 if a call of CUDA
 * failed.
 */
#ifndef MAM_TESTS_COALESCE_TOOL_MAIN_H
#define MAM_TESTS_COALESCE_TOOL_MAIN_H

#include <cstdio>
#include <cstdlib>

#ifdef CORPUS_HEAP
#include <mam/heap.h>
#endif

#define CORPUS_WORDS 8192

static int *corpus_out;

static inline void corpus_check(cudaError_t code, const char *what)
{
	if (code == cudaSuccess)
		return;
	fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(code));
	exit(1);
}

/* corpus_numbers - `count` numbers on the device, each 0 or more and less than `limit` */
static inline int *corpus_numbers(int count, int limit, unsigned int seed)
{
	int *numbers = (int *)malloc(count * sizeof(int)), *there = nullptr;
	int i;

	if (numbers == nullptr)
		exit(1);
	for (i = 0; i < count; i++) {
		seed = seed * 1664525u + 1013904223u;
		numbers[i] = (int)((seed >> 9) % (unsigned int)limit);
	}
	corpus_check(cudaMalloc((void **)&there, count * sizeof(int)), "cudaMalloc");
	corpus_check(cudaMemcpy(there, numbers, count * sizeof(int), cudaMemcpyHostToDevice),
		     "cudaMemcpy");
	free(numbers);
	return there;
}

/* corpus_text - `count` lower-case letters on the device, with an occasional blank, and a 0 */
static inline char *corpus_text(int count, unsigned int seed)
{
	char *text = (char *)malloc(count + 1), *there = nullptr;
	int i;

	if (text == nullptr)
		exit(1);
	for (i = 0; i < count; i++) {
		seed = seed * 1664525u + 1013904223u;
		text[i] = (seed >> 9) % 6 == 0 ? ' ' : (char)('a' + (seed >> 12) % 26);
	}
	text[count] = '\0';
	corpus_check(cudaMalloc((void **)&there, count + 1), "cudaMalloc");
	corpus_check(cudaMemcpy(there, text, count + 1, cudaMemcpyHostToDevice), "cudaMemcpy");
	free(text);
	return there;
}

#ifdef CORPUS_HEAP
static inline struct mam_kheap *corpus_heap(void)
{
	struct mam_heap_attr attr = MAM_HEAP_ATTR_INIT;
	struct mam_heap *heap = nullptr;

	attr.bytes = (size_t)16 << 20;
	if (mam_heap_create(nullptr, &attr, &heap) != MAM_OK) {
		fprintf(stderr, "cannot create a heap\n");
		exit(1);
	}
	return mam_heap_device(heap);
}
#endif

static inline void corpus_begin(void)
{
	if (corpus_out == nullptr) {
		corpus_check(cudaMalloc((void **)&corpus_out, CORPUS_WORDS * sizeof(int)),
			     "cudaMalloc");
		/* For recursive functions. */
		corpus_check(cudaDeviceSetLimit(cudaLimitStackSize, 8192), "cudaDeviceSetLimit");
	}
	corpus_check(cudaMemset(corpus_out, 0, CORPUS_WORDS * sizeof(int)), "cudaMemset");
}

static inline void corpus_end(const char *name)
{
	static int words[CORPUS_WORDS];
	unsigned int sum = 2166136261u;
	int i;

	corpus_check(cudaGetLastError(), name);
	corpus_check(cudaDeviceSynchronize(), name);
	corpus_check(cudaMemcpy(words, corpus_out, sizeof(words), cudaMemcpyDeviceToHost), name);
	for (i = 0; i < CORPUS_WORDS; i++)
		sum = (sum ^ (unsigned int)words[i]) * 16777619u;
	printf("%s %08x\n", name, sum);
	fflush(stdout); /* the next kernel may not end */
}

/* The kernel's arguments follow its blocks and threads; its output is corpus_out. */
#define CORPUS_RUN(kernel, blocks, threads, ...)              \
	do {                                                  \
		corpus_begin();                               \
		kernel<<<(blocks), (threads)>>>(__VA_ARGS__); \
		corpus_end(#kernel);                          \
	} while (0)

#endif
