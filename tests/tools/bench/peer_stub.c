/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer_stub.c - a library with an allocator for `mam bench host`, as peer_library.h requires:
 * addresses without memory. It logs its arguments as lines "KIND INITIAL MAX" to the file PEER_LOG,
 * and the requests to each heap as lines "BLOCKS BYTES" to PEER_ASKED. The kind PEER_REFUSE creates
 * no heap. After PEER_HANG requests no call ever returns.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "peer_library.h"

static size_t live, max_live, limit, asked, asked_bytes;
static uintptr_t next = 4096;

static FILE *log_of(const char *variable)
{
	const char *path = getenv(variable);

	return path != NULL ? fopen(path, "a") : NULL;
}

static const char *open_stub(int kind, size_t initial_bytes, size_t max_bytes)
{
	const char *refuse = getenv("PEER_REFUSE");
	FILE *file = log_of("PEER_LOG");

	if (file != NULL) {
		fprintf(file, "%d %zu %zu\n", kind, initial_bytes, max_bytes);
		fclose(file);
	}
	if (refuse != NULL && atoi(refuse) == kind)
		return "this kind is refused";
	live = max_live = asked = asked_bytes = 0;
	limit = max_bytes;
	return NULL;
}

static void close_stub(void)
{
	FILE *file = log_of("PEER_ASKED");

	if (file == NULL)
		return;
	fprintf(file, "%zu %zu\n", asked, asked_bytes);
	fclose(file);
}

static void *alloc(size_t bytes, void *stream)
{
	const char *hang = getenv("PEER_HANG");
	static int answered;

	(void)stream;
	if (hang != NULL && __atomic_fetch_add(&answered, 1, __ATOMIC_RELAXED) >= atoi(hang))
		for (;;)
			sleep(1);
	if (limit > 0 && __atomic_load_n(&live, __ATOMIC_RELAXED) + bytes > limit)
		return NULL;
	if (__atomic_add_fetch(&live, bytes, __ATOMIC_RELAXED) > max_live)
		max_live = live;
	__atomic_add_fetch(&asked, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&asked_bytes, bytes, __ATOMIC_RELAXED);
	return (void *)__atomic_fetch_add(&next, 256, __ATOMIC_RELAXED);
}

static void release(void *block, size_t bytes, void *stream)
{
	(void)block;
	(void)stream;
	__atomic_sub_fetch(&live, bytes, __ATOMIC_RELAXED);
}

static void reserved(size_t *now, size_t *max)
{
	*now = live;
	*max = max_live;
}

__attribute__((visibility("default"))) const struct bench_library bench_library_2 = {
	open_stub, close_stub, alloc, release, NULL, reserved,
};
