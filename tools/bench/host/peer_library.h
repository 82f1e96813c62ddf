/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer_library.h - an allocator that mam's bench loads from a shared library, and the interface
 * that such a library must have. C++ allocators are added in this way, and mam is built without
 * them.
 *
 * BENCH_RMM and BENCH_TORCH in the environment name the libraries built from peer_rmm.cc and
 * peer_torch.cc; gpu-host.sh builds them if it finds their dependencies.
 */
#ifndef MAM_TOOLS_BENCH_PEER_LIBRARY_H
#define MAM_TOOLS_BENCH_PEER_LIBRARY_H

#include <stddef.h>

/* changes with struct bench_library, so that a library of another version is not called */
#define BENCH_LIBRARY_SYMBOL "bench_library_2"

struct bench_library {
	/*
	 * open - make a fresh heap of one of its kinds, counted from 0, on device 0, whose primary
	 * context is current. initial_bytes: allocated at once, if possible; 0: the kind's default.
	 * max_bytes: limit of the heap; 0: all memory. Returns NULL, or one sentence with the
	 * reason of the failure, valid until the next open
	 */
	const char *(*open)(int kind, size_t initial_bytes, size_t max_bytes);
	void (*close)(void);
	/* alloc - return NULL on failure. stream: CUDA's */
	void *(*alloc)(size_t bytes, void *stream);
	void (*release)(void *block, size_t bytes, void *stream);
	/* trim - release as much as possible; NULL: not supported */
	void (*trim)(void);
	/* reserved - bytes it holds now, and their peak since open */
	void (*reserved)(size_t *now, size_t *max);
};

#endif
