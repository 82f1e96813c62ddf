/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/fiber.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ASAN 1
#endif
#endif

#if defined(__SANITIZE_THREAD__)
#define WITH_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WITH_TSAN 1
#endif
#endif

#ifdef WITH_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#define STACK_BYTES ((size_t)256 << 10) /* instrumented frames are wide */
#else
#define STACK_BYTES ((size_t)64 << 10)
#endif
/*
 * Two pages in steps of seven cache lines: the hot lines of 18 lanes share no set of a 32 KiB
 * cache.
 */
#define COLOURS 18
#define COLOUR_BYTES ((size_t)448)
#define GUARDED_MAX 16384

#ifndef SIMT_UCONTEXT
/*
 * simt_fiber_swap(save, sp): stores the old stack pointer at `save`. simt_fiber_begin() calls rbx
 * with r12.
 */
void simt_fiber_swap(void **save, void *sp);
void simt_fiber_begin(void);
__asm__(".text\n"
	".p2align 4\n"
	".globl simt_fiber_swap\n"
	".hidden simt_fiber_swap\n"
	".type simt_fiber_swap, @function\n"
	"simt_fiber_swap:\n"
	"	pushq %rbp\n"
	"	pushq %rbx\n"
	"	pushq %r12\n"
	"	pushq %r13\n"
	"	pushq %r14\n"
	"	pushq %r15\n"
	"	movq %rsp, (%rdi)\n"
	"	movq %rsi, %rsp\n"
	"	popq %r15\n"
	"	popq %r14\n"
	"	popq %r13\n"
	"	popq %r12\n"
	"	popq %rbx\n"
	"	popq %rbp\n"
	"	ret\n"
	".size simt_fiber_swap, . - simt_fiber_swap\n"
	".globl simt_fiber_begin\n"
	".hidden simt_fiber_begin\n"
	".type simt_fiber_begin, @function\n"
	"simt_fiber_begin:\n"
	"	movq %r12, %rdi\n"
	"	callq *%rbx\n"
	"	ud2\n"
	".size simt_fiber_begin, . - simt_fiber_begin\n");

/* The values that simt_fiber_swap() pops from a stack, lowest address first. */
struct frame {
	uint64_t r15, r14, r13, r12, rbx, rbp;
	void (*next)(void);
};
#endif

#ifdef WITH_TSAN
/*
 * The thread sanitizer's own library reports a change of stacks as an invalid access, so such a
 * program is skipped.
 */
static void __attribute__((constructor)) skip(void)
{
	puts("skip - the simulator's fibers do not run under the thread sanitizer");
	fflush(stdout);
	_exit(EXIT_SUCCESS);
}
#endif

#ifdef WITH_ASAN
/* The fiber that was left last: its stack bounds are recorded when the next one starts. */
static struct simt_fiber *left;

static void arrive(struct simt_fiber *fiber)
{
	const void *bottom;
	size_t bytes;

	__sanitizer_finish_switch_fiber(fiber->shadow, &bottom, &bytes);
	if (left && !left->space) {
		left->stack = (char *)(uintptr_t)bottom;
		left->bytes = bytes;
	}
}
#endif

static void begin(void *argument)
{
	struct simt_fiber *fiber = argument;

#ifdef WITH_ASAN
	fiber->shadow = NULL;
	arrive(fiber);
#endif
	fiber->entry(fiber->argument);
	abort();
}

#ifdef SIMT_UCONTEXT
/* makecontext() passes ints: the pointer is split into two of them. */
static void begin_context(unsigned int high, unsigned int low)
{
	begin((void *)(uintptr_t)((uint64_t)high << 32 | low));
}
#endif

bool simt_fiber_init(struct simt_fiber *fiber, unsigned int colour)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t mapped = page + STACK_BYTES + COLOURS * COLOUR_BYTES / page * page + page;
	static unsigned int guarded;
	char *space = mmap(NULL, mapped, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (space == MAP_FAILED)
		return false;
	/*
	 * Each guard page is a separate mapping. The kernel allows about 65,000 mappings, and a
	 * fiber works without a guard page.
	 */
	if (guarded < GUARDED_MAX && !mprotect(space, page, PROT_NONE))
		guarded++;
	memset(fiber, 0, sizeof(*fiber));
	fiber->space = space;
	fiber->mapped = mapped;
	fiber->stack = space + page;
	fiber->bytes = mapped - page - colour % COLOURS * COLOUR_BYTES;
	return true;
}

void simt_fiber_fini(struct simt_fiber *fiber)
{
	if (!fiber->space)
		return;
#ifdef WITH_ASAN
	__asan_unpoison_memory_region(
		fiber->stack, fiber->mapped - (size_t)(fiber->stack - (char *)fiber->space));
#endif
	munmap(fiber->space, fiber->mapped);
	memset(fiber, 0, sizeof(*fiber));
}

void simt_fiber_start(struct simt_fiber *fiber, void (*entry)(void *argument), void *argument)
{
	fiber->entry = entry;
	fiber->argument = argument;
#ifdef WITH_ASAN
	__asan_unpoison_memory_region(fiber->stack, fiber->bytes);
#endif
#ifdef SIMT_UCONTEXT
	getcontext(&fiber->context);
	fiber->context.uc_stack.ss_sp = fiber->stack;
	fiber->context.uc_stack.ss_size = fiber->bytes;
	fiber->context.uc_link = NULL;
	makecontext(&fiber->context, (void (*)(void))(uintptr_t)begin_context, 2,
		    (unsigned int)((uint64_t)(uintptr_t)fiber >> 32),
		    (unsigned int)(uintptr_t)fiber);
	fiber->sp = fiber->stack;
#else
	{
		char *top = fiber->stack + fiber->bytes;
		struct frame *frame = (struct frame *)(top - 64 - (uintptr_t)top % 16) - 1;

		/*
		 * As at a call: simt_fiber_begin() starts with the stack pointer at a multiple of
		 * 16.
		 */
		frame->rbx = (uint64_t)(uintptr_t)begin;
		frame->r12 = (uint64_t)(uintptr_t)fiber;
		frame->rbp = 0;
		frame->next = simt_fiber_begin;
		fiber->sp = frame;
	}
#endif
}

static void hand_over(struct simt_fiber *from, struct simt_fiber *to)
{
#ifdef SIMT_UCONTEXT
	from->sp = from->stack;
	swapcontext(&from->context, &to->context);
#else
	simt_fiber_swap(&from->sp, to->sp);
#endif
}

void simt_fiber_switch(struct simt_fiber *from, struct simt_fiber *to)
{
#ifdef WITH_ASAN
	left = from;
	__sanitizer_start_switch_fiber(&from->shadow, to->stack, to->bytes);
#endif
	hand_over(from, to);
#ifdef WITH_ASAN
	arrive(from);
#endif
}

void simt_fiber_leave(struct simt_fiber *from, struct simt_fiber *to)
{
#ifdef WITH_ASAN
	left = from;
	__sanitizer_start_switch_fiber(NULL, to->stack, to->bytes);
#endif
	hand_over(from, to);
	abort();
}

void simt_fiber_jumped(struct simt_fiber *own)
{
#ifdef WITH_ASAN
	__sanitizer_start_switch_fiber(NULL, own->stack, own->bytes);
	__sanitizer_finish_switch_fiber(own->shadow, NULL, NULL);
#else
	(void)own;
#endif
}

bool simt_fiber_contains(const struct simt_fiber *fiber, const volatile void *where)
{
	return (uintptr_t)where - (uintptr_t)fiber->stack < fiber->bytes;
}
