/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer_library.h - an allocator that mam's bench finds in a library of its own: what such a library
 * has to have. C++ allocators come in this way, and mam is built without them.
 *
 * BENCH_RMM and BENCH_TORCH in the environment name the libraries that peer_rmm.cc and
 * peer_torch.cc become; gpu-host.sh builds them where it finds what they need.
 */
#ifndef MAM_TOOLS_BENCH_PEER_LIBRARY_H
#define MAM_TOOLS_BENCH_PEER_LIBRARY_H

#include <stddef.h>

/* changes when struct bench_library does, so that a library of another day is not called */
#define BENCH_LIBRARY_SYMBOL "bench_library_2"

struct bench_library {
	/* open - a fresh heap of one of its kinds, counted from 0, on device 0, whose primary
	 * context is current. initial_bytes: to be taken at once, where it can; 0: as the kind
	 * does by itself. most_bytes: it is to hold no more than that, ever; 0: all there is.
	 * NULL, or one sentence: why not; it lives until the next open */
	const char *(*open)(int kind, size_t initial_bytes, size_t most_bytes);
	void (*close)(void);
	/* alloc - NULL: refused. stream: CUDA's */
	void *(*alloc)(size_t bytes, void *stream);
	void (*release)(void *block, size_t bytes, void *stream);
	/* trim - gives back what it can; NULL: there is no such call */
	void (*trim)(void);
	/* reserved - bytes it holds now, and the most it has held since it was opened */
	void (*reserved)(size_t *now, size_t *most);
};

#endif
