/* SPDX-License-Identifier: Apache-2.0 */
/*
 * two_runtimes.c - a program whose plugins each opened a CUDA runtime of their own, found by dlsym.
 *
 * Arguments: the runtimes' files. An error belongs to the runtime that was called, so the program
 * queries each of them. Memory that one runtime allocates is freed by the other.
 */
#include <dlfcn.h>
#include <stdio.h>

struct runtime {
	int (*alloc)(void **block, size_t bytes);
	int (*release)(void *block);
	int (*last_error)(void);
};

static void *find(void *library, const char *name)
{
	void *found = dlsym(library, name);

	if (found == NULL)
		printf("%s: not found\n", name);
	return found;
}

static int open_runtime(const char *file, struct runtime *runtime)
{
	void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);

	if (library == NULL) {
		printf("%s\n", dlerror());
		return 1;
	}
	*(void **)&runtime->alloc = find(library, "cudaMalloc");
	*(void **)&runtime->release = find(library, "cudaFree");
	*(void **)&runtime->last_error = find(library, "cudaGetLastError");
	return 0;
}

int main(int count, char **arguments)
{
	struct runtime runtimes[2];
	void *blocks[2];

	if (count != 3 || open_runtime(arguments[1], &runtimes[0]) != 0 ||
	    open_runtime(arguments[2], &runtimes[1]) != 0)
		return 2;
	for (int i = 0; i < 2; i++)
		printf("alloc %d: %d\n", i, runtimes[i].alloc(&blocks[i], 5000));
	for (int i = 0; i < 2; i++)
		printf("free %d: %d\n", i, runtimes[i].release(blocks[1 - i]));
	for (int i = 0; i < 2; i++) {
		printf("free %d again: %d", i, runtimes[i].release(blocks[i]));
		printf(" last errors %d %d\n", runtimes[0].last_error(), runtimes[1].last_error());
	}
	return 0;
}
