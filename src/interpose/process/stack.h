/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack.h - call stacks, each stored once and identified by a number.
 *
 *   1. The C library's backtrace() unwinds the calling thread by its unwind tables. Its first use
 *      loads a helper library, which waits for a thread in dlopen(), whose constructors may call
 *      CUDA. So no thread may wait for the one that does this: it is done in a call, not in
 *      mam_stack_start().
 *   2. Frames of this object are skipped: the first remaining one called CUDA's function.
 *   3. A hash over the return addresses finds the stack among the known ones. Nodes are never
 *      changed or removed, so a lookup needs no lock. A new node is inserted by compare-and-swap.
 *      If two threads add the same new stack at once, it is stored twice, which affects only the
 *      grouping.
 * Bound: 32 frames per stack, 2^20 stacks, 8 bytes per frame. Measured: 2.0 us for a stack of 11
 * frames, nearly all of it in the C library.
 */
#ifndef MAM_INTERPOSE_STACK_H
#define MAM_INTERPOSE_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAM_STACK_DEPTH 32

struct mam_stack {
	struct mam_stack *next; /* lock: none, set before it is published */
	uint64_t hash;
	uint32_t number;          /* starts at 1 */
	uint32_t count;           /* frames */
	const char *_Atomic name; /* atomic; of mam_stack_name(); NULL: unset */
	void *frames[];           /* return addresses, innermost first */
};

/* Called once, before the first mam_stack_here(). */
void mam_stack_start(void);

/* Returns the calling thread's stack; NULL if there is no memory for it, or no frames. */
const struct mam_stack *mam_stack_here(void);

/*
 * mam_stack_name - return the call site in one word without blanks: the innermost frame outside of
 * CUDA's libraries, as FUNCTION@LIBRARY or LIBRARY+0xOFFSET. Returns "" if no loaded object has
 * such a frame, or if there is no memory. At most MAM_STACK_NAME_BYTES including the terminator;
 * stored with the stack. mam_stack_print() stores nothing. Any thread may call them.
 */
#define MAM_STACK_NAME_BYTES 192
const char *mam_stack_name(const struct mam_stack *stack);
void mam_stack_print(const struct mam_stack *stack, char name[MAM_STACK_NAME_BYTES]);

/* Whether a file without its folder is one of CUDA's libraries, or mam. */
bool mam_stack_is_of_cuda(const char *object);

/*
 * Writes at most `max` bytes of `text`, with %XX for bytes that a word of a trace cannot contain.
 * Returns the end. If it reaches `end`, the rest is not written.
 */
char *mam_stack_put_word(char *at, const char *end, const char *text, size_t max);

/* mam_stack_cut - allocate memory that is never freed; NULL if there is none. */
void *mam_stack_cut(size_t bytes);

#endif
