/* SPDX-License-Identifier: Apache-2.0 */
/*
 * altstack.h - calls that need more stack than the thread may have left.
 *
 * A program may allocate in a thread with 16 KiB of stack (PTHREAD_STACK_MIN), in a coroutine, in a
 * signal handler on an alternate stack, or at the end of a deep recursion. An unwinder needs more
 * than that, most of all when the dynamic linker loads it.
 *
 *   1. A thread finds the bounds of its stack once. If the stack pointer is inside of them and the
 *      rest is large enough, the call is made in place.
 *   2. Otherwise the thread claims one of a few stacks of mam and makes the call there. The frame in
 *      between has unwind information that leads back to the program's stack, so unwinders and
 *      debuggers go on to the caller.
 *   3. If all of them are in use, or there is no memory for them, the call is made in place. No call
 *      waits. A stack is lost if a signal handler leaves such a call with longjmp().
 *
 * Bound: 16 stacks of 256 KiB with a guard page each, mapped at the first need.
 */
#ifndef MAM_INTERPOSE_ALTSTACK_H
#define MAM_INTERPOSE_ALTSTACK_H

/* Calls run(argument) with at least 64 KiB of stack, if that is possible. Any thread; no lock. */
void mam_altstack_call(void (*run)(void *argument), void *argument);

/* Called in the child of a fork: other threads of the parent have claimed stacks for good. */
void mam_altstack_restart(void);

#endif
