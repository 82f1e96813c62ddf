/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_added.c - a user's own allocator in `mam bench device`: a module compiled from an adapter
 * (device_example.cu is an example), named on the command line.
 *
 * 1. The file is read completely, and its header must be that of a fat binary or a cubin that ends
 *    where the file does: nothing else is passed to the driver.
 * 2. A heap is one block of zeros, except for its first 8 bytes, which have its size in bytes.
 * 3. If the module has a kernel `start`, it runs with one thread before any other.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device_allocators.h"
#include "device_job.h"
#include "bench/harness/gpu.h"
#include "kit/args.h"

#define FILE_MAX (UINT64_C(1) << 28)
#define FILE_MIN 64
#define NAME_BYTES 24
#define FATBIN_MAGIC 0xba55ed50u

/* The allocators that were read, by their module. */
static struct added {
	unsigned char *image;
	uint64_t bytes; /* of a heap; 0: as the cell specifies */
	char name[NAME_BYTES];
} table[DEVICE_ALLOCATORS_MAX];

static struct added *find(const unsigned char *module)
{
	size_t i;

	for (i = 0; i < DEVICE_ALLOCATORS_MAX; i++) {
		if (table[i].image == module)
			return &table[i];
	}
	return NULL;
}

static const char *fill_heap(struct device_heap *heap, uint64_t bytes)
{
	struct device_job job = { .heap = heap->heap, .askers = 1, .lanes = 1 };

	if (!bench_gpu_fill(heap->heap, 0, bytes) ||
	    !bench_gpu_put(heap->heap, &bytes, sizeof(bytes)))
		return bench_gpu_trouble();
	if (bench_gpu_kernel(heap->module, "start") != NULL &&
	    !device_launch_as(heap, "start", 1, 1, &job, NULL))
		return bench_gpu_trouble();
	return NULL;
}

static const char *make(struct device_heap *heap, uint64_t bytes, uint64_t object_bytes)
{
	const struct added *added = find(heap->allocator->module);

	(void)object_bytes;
	if (added != NULL && added->bytes > 0)
		bytes = added->bytes;
	heap->own[0] = bench_gpu_take(bytes);
	if (heap->own[0] == NULL)
		return "there is too little free memory on the device";
	heap->heap = heap->own[0];
	heap->space_bytes = bytes;
	heap->low = (uint64_t)(uintptr_t)heap->heap;
	heap->high = heap->low + bytes;
	return fill_heap(heap, bytes);
}

static bool reset(struct device_heap *heap)
{
	return fill_heap(heap, heap->space_bytes) == NULL;
}

/* Returns true if it is a complete fat binary or cubin. */
static bool is_module(const unsigned char *image, uint64_t bytes)
{
	uint16_t header;
	uint32_t magic;
	uint64_t rest;

	memcpy(&magic, image, sizeof(magic));
	if (magic != FATBIN_MAGIC)
		return memcmp(image, "\177ELF", 4) == 0;
	memcpy(&header, image + 6, sizeof(header));
	memcpy(&rest, image + 8, sizeof(rest));
	return header >= 16 && header <= bytes && rest <= bytes - header;
}

static unsigned char *read_file(const char *path, uint64_t *bytes, char *why, size_t why_bytes)
{
	FILE *file = fopen(path, "rb");
	unsigned char *image = NULL;
	long end = -1;

	if (file != NULL && fseek(file, 0, SEEK_END) == 0)
		end = ftell(file);
	if (file == NULL || end < 0 || fseek(file, 0, SEEK_SET) != 0) {
		snprintf(why, why_bytes, "cannot read %s: %s", path, strerror(errno));
	} else if (end < FILE_MIN || (uint64_t)end > FILE_MAX) {
		snprintf(why, why_bytes, "%s is not a fat binary: nvcc -fatbin makes one", path);
	} else {
		image = malloc((size_t)end);
		if (image == NULL || fread(image, 1, (size_t)end, file) != (size_t)end) {
			snprintf(why, why_bytes, "cannot read %s", path);
			free(image);
			image = NULL;
		}
		*bytes = (uint64_t)end;
	}
	if (file != NULL)
		fclose(file);
	return image;
}

/* "FILE[:BYTES]": the path, and the bytes if the text after the last colon is a size. */
static bool split(const char *text, char *path, size_t path_bytes, uint64_t *bytes)
{
	const char *colon = strrchr(text, ':');
	size_t length = strlen(text);

	*bytes = 0;
	if (colon != NULL && args_bytes(colon + 1, bytes))
		length = (size_t)(colon - text);
	if (length == 0 || length >= path_bytes)
		return false;
	memcpy(path, text, length);
	path[length] = '\0';
	return true;
}

/* The file's name without folder and extension. */
static void name_of(const char *path, char *name, size_t name_bytes)
{
	const char *slash = strrchr(path, '/'), *first = slash != NULL ? slash + 1 : path;
	const char *dot = strchr(first, '.');
	size_t length = dot != NULL && dot > first ? (size_t)(dot - first) : strlen(first);

	if (length >= name_bytes)
		length = name_bytes - 1;
	memcpy(name, first, length);
	name[length] = '\0';
}

bool device_added_read(const char *text, struct device_allocator *added, char *why,
		       size_t why_bytes)
{
	struct added *place = find(NULL);
	uint64_t heap_bytes, bytes = 0;
	char path[4096];

	if (place == NULL) {
		snprintf(why, why_bytes, "there are too many of them");
		return false;
	}
	if (!split(text, path, sizeof(path), &heap_bytes)) {
		snprintf(why, why_bytes, "'%.60s' names no file; FILE.fatbin[:BYTES] is wanted",
			 text);
		return false;
	}
	place->image = read_file(path, &bytes, why, why_bytes);
	if (place->image == NULL)
		return false;
	if (!is_module(place->image, bytes)) {
		snprintf(why, why_bytes, "%s is not a complete fat binary: nvcc -fatbin makes one",
			 path);
		free(place->image);
		place->image = NULL;
		return false;
	}
	place->bytes = heap_bytes;
	name_of(path, place->name, sizeof(place->name));
	*added = (struct device_allocator){ .name = place->name,
					    .role = DEVICE_ADDED,
					    .module = place->image,
					    .frees = true,
					    .make = make,
					    .end = device_heap_end_block,
					    .reset = reset };
	return true;
}

void device_added_fini(struct device_allocator *added)
{
	struct added *place = added->module != NULL ? find(added->module) : NULL;

	if (place != NULL) {
		free(place->image);
		memset(place, 0, sizeof(*place));
	}
	added->module = NULL;
}
