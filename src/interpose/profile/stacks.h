/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stacks.h - call stacks as numbers, and the lines of a trace that explain the numbers
 * (mam-trace.5).
 *
 *   1. A thread unwinds its stack (unwind.h) and hashes the return addresses to 128 bits. A cache
 *      has the number of each recent stack. It is read without a lock: a writer first invalidates
 *      the entry, and a reader checks it again after reading.
 *   2. A stack that is not there becomes a path in a tree, from the outermost frame inwards, under a
 *      lock. A node is a frame and the node of its caller; the innermost node is the stack's number.
 *      Each node is stored and written once.
 *   3. Frames of mam and of CUDA's libraries at the inner end are dropped: the first remaining one
 *      called CUDA.
 *   4. If the thread runs Python, its Python frames replace the native frames from the interpreter
 *      outwards.
 *   5. The sum of loaded and unloaded objects (modules.h) is a part of the hash: the same addresses
 *      are another stack after a file was unloaded.
 *
 * Invariant: a number is returned only after its lines, those of all callers included, were written.
 * Bound: 256 innermost native and 128 innermost Python frames, 2^22 nodes of 24 bytes, and 2^16
 * stacks in the cache.
 * Measured, as CPU time of an allocation and its free, above that without a watcher (0.4 us), on a
 * busy machine with two hardware threads, for stacks of 10, 30, 60 and 100 frames: --profile 0.5,
 * 0.7, 1.1 and 1.5 us; --trace 0.2 us; --leaks, which stops at 32 frames, 3.2, 5.6, 5.9 and 5.9 us.
 */
#ifndef MAM_INTERPOSE_STACKS_H
#define MAM_INTERPOSE_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAM_STACKS_DEPTH 256

struct mam_python_frame;

/*
 * Writes one line, its newline included. Called under the lock of this part. False: the line was not
 * written, and is passed again with the next new stack.
 */
typedef bool mam_stacks_put(const char *line, size_t bytes);

/* Returns the number of the calling thread's stack; 0: unknown, because memory or space ran out. */
uint32_t mam_stacks_here(mam_stacks_put *put);

/*
 * A call site: of a thread that runs Python, the innermost frame of Python code that is not of an
 * installed package, or the innermost one; otherwise the innermost one outside of mam and CUDA's
 * libraries.
 */
struct mam_stacks_site {
	const struct mam_python_frame *python; /* NULL: it is a native one */
	const void *address;                   /* return address of a native one */
};

/*
 * Returns the number of the calling thread's call site, and writes it; 0: it is unknown, or there are
 * MAM_STACKS_SITES of them already. Equal numbers are equal sites; a number may be used again in the
 * child of a fork. It needs more stack than a thread may have: call it by mam_altstack_call().
 */
#define MAM_STACKS_SITES 4096
uint32_t mam_stacks_site(struct mam_stacks_site *site);

/* Loads what mam_stacks_site() needs, in a thread that no other thread waits for. */
void mam_stacks_prepare(void);

/*
 * mam_stacks_begin - a new trace begins, which has no lines yet. No thread is in mam_stacks_here().
 * mam_stacks_restart - the same in the child of a fork.
 */
void mam_stacks_begin(void);
void mam_stacks_restart(void);

#endif
