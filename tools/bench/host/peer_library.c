/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer_library.c - peers in shared libraries (peer_library.h): RMM, PyTorch.
 *
 * A row's source is the environment variable that names the library, its variant the library's kind
 * of heap.
 */
#include "peer_library.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/harness/driver.h"

#define SPACE_MAX (24 * BENCH_GIB) /* as for mam's pools of device memory */

static const struct bench_library *library_of(const struct bench_peer *peer)
{
	return peer->heap;
}

/* Loaded once per row; several rows may share a library. */
static const struct bench_library *load(const struct bench_peer *peer, char *why, size_t why_bytes)
{
	const char *file = getenv(peer->source), *text;
	const struct bench_library *library = NULL;
	void *handle;

	if (file == NULL || file[0] == '\0') {
		snprintf(why, why_bytes, "%s does not name its library; gpu-host.sh builds it",
			 peer->source);
		return NULL;
	}
	handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
	if (handle != NULL)
		library = dlsym(handle, BENCH_LIBRARY_SYMBOL);
	if (library == NULL) {
		text = dlerror();
		snprintf(why, why_bytes, "%s", text != NULL ? text : "its library did not load");
	}
	return library;
}

/* NULL, or one sentence with the reason of the failure */
static const char *open_kind(struct bench_peer *peer)
{
	size_t initial_bytes = peer->growing ? 0 : peer->space_bytes;

	if (!bench_driver_enter())
		return "cannot use the device's context";
	if (peer->bounded && peer->chunk_bytes > 0)
		initial_bytes = peer->chunk_bytes;
	return library_of(peer)->open(peer->variant, initial_bytes,
				      peer->bounded ? peer->chunk_bytes : 0);
}

bool bench_library_probe(struct bench_peer *peer, char *why, size_t why_bytes)
{
	const struct bench_library *library;
	const char *trouble;
	void *block = NULL;

	if (!bench_cuda_probe(peer, why, why_bytes))
		return false;
	library = load(peer, why, why_bytes);
	if (library == NULL)
		return false;
	peer->space_bytes = bench_cuda_free_bytes() / 4 * 3 / BENCH_GIB * BENCH_GIB;
	if (peer->space_bytes > SPACE_MAX)
		peer->space_bytes = SPACE_MAX;
	peer->heap = (void *)(uintptr_t)library;
	peer->growing = true;
	trouble = open_kind(peer);
	if (trouble != NULL) {
		snprintf(why, why_bytes, "%.*s", (int)strcspn(trouble, "\n"), trouble);
		return false;
	}
	block = bench_library_alloc(peer, 256);
	if (block != NULL)
		bench_library_release(peer, block, 256);
	bench_library_close(peer);
	if (block == NULL)
		snprintf(why, why_bytes, "its first allocation was refused");
	return block != NULL;
}

bool bench_library_open(struct bench_peer *peer)
{
	return open_kind(peer) == NULL;
}

void bench_library_close(struct bench_peer *peer)
{
	bench_cuda_finish(peer);
	library_of(peer)->close();
}

void *bench_library_alloc(struct bench_peer *peer, size_t bytes)
{
	return library_of(peer)->alloc(bytes, bench_driver_stream(0));
}

void bench_library_release(struct bench_peer *peer, void *block, size_t bytes)
{
	library_of(peer)->release(block, bytes, bench_driver_stream(0));
}

void *bench_library_alloc_on(struct bench_peer *peer, size_t bytes, size_t which)
{
	return library_of(peer)->alloc(bytes, bench_driver_stream(which));
}

void bench_library_release_on(struct bench_peer *peer, void *block, size_t bytes, size_t which)
{
	library_of(peer)->release(block, bytes, bench_driver_stream(which));
}

bool bench_library_gauge(struct bench_peer *peer, struct bench_gauge *gauge)
{
	size_t now = 0, max = 0;

	library_of(peer)->reserved(&now, &max);
	*gauge = (struct bench_gauge){ .reserved = (double)now,
				       .peak_reserved = (double)max,
				       .physical = (double)now,
				       .peak_physical = (double)max };
	return true;
}

bool bench_library_trim(struct bench_peer *peer)
{
	bench_cuda_finish(peer);
	if (library_of(peer)->trim == NULL)
		return false;
	library_of(peer)->trim();
	return true;
}
