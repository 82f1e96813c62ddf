/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fiber.h - stacks of their own for pieces of a program that run one at a time and hand over by
 * call.
 *
 * On x86-64 a hand-over is some fifteen instructions: the registers that a call keeps go on the old
 * stack, the stack pointer changes, and they come from the new one. Elsewhere, and with
 * -DSIMT_UCONTEXT, it is swapcontext(), which asks the kernel for the signal mask and is ten times
 * slower.
 *
 * A stack is mapped once and used by one lane after another. A fiber that nobody will resume is
 * simply started anew. Tops of stacks are moved apart (coloured): stacks of one size would
 * otherwise all keep their hot lines in the same few sets of a cache. Below each stack lies a page
 * that faults.
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
	void *sp;     /* where it stopped; NULL while it runs */
	char *stack;  /* lowest usable byte; of a thread's own stack: once it was left, for the
			 address sanitizer */
	size_t bytes; /* usable ones */
	void *space;  /* as mapped; NULL for a thread's own stack */
	size_t mapped;
	void *shadow; /* the address sanitizer's */
	void (*entry)(void *argument);
	void *argument;
#ifdef SIMT_UCONTEXT
	ucontext_t context;
#endif
};

/*
 * Maps a stack; false if there is no memory. All zeros is a fiber that stands for a thread's own
 * stack.
 */
bool simt_fiber_init(struct simt_fiber *fiber, unsigned int colour);
void simt_fiber_fini(struct simt_fiber *fiber);
/*
 * The next switch to it calls entry(argument), which must not return. Whatever the fiber did before
 * is dropped.
 */
void simt_fiber_start(struct simt_fiber *fiber, void (*entry)(void *argument), void *argument);
/* Goes on in `to`; returns when somebody switches back to `from`, which is the one that runs. */
void simt_fiber_switch(struct simt_fiber *from, struct simt_fiber *to);
/* The same, but nobody will come back to `from`. */
void simt_fiber_leave(struct simt_fiber *from, struct simt_fiber *to) __attribute__((noreturn));
/*
 * Somebody jumped out of a fiber to `own`, the thread's stack, without a switch: the address
 * sanitizer must know.
 */
void simt_fiber_jumped(struct simt_fiber *own);
bool simt_fiber_holds(const struct simt_fiber *fiber, const volatile void *where);

#endif
