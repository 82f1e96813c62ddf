/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fiber.h - separate stacks for parts of a program that run one at a time and switch by a call.
 *
 * On x86-64 a switch is about fifteen instructions: the callee-saved registers are pushed to the
 * old stack, the stack pointer changes, and they are popped from the new one. On other machines,
 * and with -DSIMT_UCONTEXT, it is swapcontext(), which asks the kernel for the signal mask and is
 * ten times slower.
 *
 * A stack is mapped once and used by one lane after another. A fiber that will not be resumed is
 * simply restarted. The tops of stacks are at different offsets (colored): stacks of one size would
 * otherwise all keep their hot lines in the same few sets of a cache. A guard page precedes each
 * stack.
 */
#ifndef MAM_TESTS_SIMT_FIBER_H
#define MAM_TESTS_SIMT_FIBER_H

#include <stdbool.h>
#include <stddef.h>

#if !defined(__x86_64__) && !defined(SIMT_UCONTEXT)
#define SIMT_UCONTEXT 1
#endif
#ifdef SIMT_UCONTEXT
#include <ucontext.h>
#endif

struct simt_fiber {
	void *sp;     /* saved stack pointer; NULL while the fiber runs */
	char *stack;  /* lowest usable byte; a thread's own: set once it was left, for ASan */
	size_t bytes; /* usable bytes */
	void *space;  /* the mapping; NULL for a thread's own stack */
	size_t mapped;
	void *shadow; /* of the address sanitizer */
	void (*entry)(void *argument);
	void *argument;
#ifdef SIMT_UCONTEXT
	ucontext_t context;
#endif
};

/* Maps a stack; false: out of memory. A zeroed fiber represents a thread's own stack. */
bool simt_fiber_init(struct simt_fiber *fiber, unsigned int colour);
void simt_fiber_fini(struct simt_fiber *fiber);
/*
 * The next switch to it calls entry(argument), which must not return. The previous state of the
 * fiber is discarded.
 */
void simt_fiber_start(struct simt_fiber *fiber, void (*entry)(void *argument), void *argument);
/* Continues in `to`; returns when another fiber switches back to `from`, the running one. */
void simt_fiber_switch(struct simt_fiber *from, struct simt_fiber *to);
/* The same, but `from` will not be resumed. */
void simt_fiber_leave(struct simt_fiber *from, struct simt_fiber *to) __attribute__((noreturn));
/*
 * Control left a fiber for `own`, the thread's stack, by longjmp and not by a switch: informs the
 * address sanitizer.
 */
void simt_fiber_jumped(struct simt_fiber *own);
bool simt_fiber_contains(const struct simt_fiber *fiber, const volatile void *where);

#endif
