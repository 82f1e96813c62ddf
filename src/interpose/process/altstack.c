/* SPDX-License-Identifier: Apache-2.0 */
/*
 * altstack.c - see altstack.h.
 */
#define _GNU_SOURCE /* pthread_getattr_np */
#include "interpose/process/altstack.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STACKS 16
#define BYTES ((size_t)256 << 10)
#define ROOM ((size_t)64 << 10)
#define UNLIMITED ((size_t)8 << 20) /* of the main thread's stack, at least, without a limit */

/* Grows down from `is_claimed`, to the guard page. */
struct altstack {
	char bytes[BYTES - 64];
	atomic_bool is_claimed __attribute__((aligned(64))); /* atomic */
};

static struct altstack *_Atomic stacks; /* atomic; STACKS of them, NULL: not mapped yet */
/* The bounds of the thread's stack; high 0: not found yet, low equal to high: unknown. */
static __thread uintptr_t low __attribute__((tls_model("initial-exec")));  /* thread */
static __thread uintptr_t high __attribute__((tls_model("initial-exec"))); /* thread */

/* Calls run(argument) with the stack pointer `top`. */
void mam_altstack_switch(void (*run)(void *argument), void *argument, void *top)
	__attribute__((visibility("hidden")));

#if defined(__x86_64__)

/* clang-format off */
__asm__(".text\n"
	".globl mam_altstack_switch\n"
	".hidden mam_altstack_switch\n"
	".type mam_altstack_switch, @function\n"
	".p2align 4\n"
	"mam_altstack_switch:\n"
	"	.cfi_startproc\n"
	"	pushq %rbp\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset %rbp, -16\n"
	"	movq %rsp, %rbp\n"
	"	.cfi_def_cfa_register %rbp\n"
	"	movq %rdx, %rsp\n"
	"	movq %rdi, %rax\n"
	"	movq %rsi, %rdi\n"
	"	call *%rax\n"
	"	movq %rbp, %rsp\n"
	"	popq %rbp\n"
	"	.cfi_def_cfa %rsp, 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size mam_altstack_switch, . - mam_altstack_switch\n");
/* clang-format on */

#elif defined(__aarch64__)

/* clang-format off */
__asm__(".text\n"
	".globl mam_altstack_switch\n"
	".hidden mam_altstack_switch\n"
	".type mam_altstack_switch, %function\n"
	".p2align 4\n"
	"mam_altstack_switch:\n"
	"	.cfi_startproc\n"
	"	stp x29, x30, [sp, #-16]!\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset 29, -16\n"
	"	.cfi_offset 30, -8\n"
	"	mov x29, sp\n"
	"	.cfi_def_cfa_register 29\n"
	"	mov sp, x2\n"
	"	mov x9, x0\n"
	"	mov x0, x1\n"
	"	blr x9\n"
	"	mov sp, x29\n"
	"	.cfi_def_cfa_register 31\n"
	"	ldp x29, x30, [sp], #16\n"
	"	.cfi_restore 30\n"
	"	.cfi_restore 29\n"
	"	.cfi_def_cfa_offset 0\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size mam_altstack_switch, . - mam_altstack_switch\n");
/* clang-format on */

#else
#error "mam run supports x86-64 and aarch64: add a switch of stacks for this machine here"
#endif

/* The kernel lets this stack grow as far as the limit. The program's name is at its upper end. */
static void find_main_bounds(void)
{
	uintptr_t end = (uintptr_t)getauxval(AT_EXECFN);
	struct rlimit limit;

	if (end == 0 || getrlimit(RLIMIT_STACK, &limit) != 0)
		return;
	low = end - (limit.rlim_cur < end ? (uintptr_t)limit.rlim_cur : UNLIMITED);
	high = end;
}

/* The first thread of a process that a thread of its parent forked has another stack: unknown. */
static void find_bounds(void)
{
	pthread_attr_t attributes;
	void *begin;
	size_t bytes;

	low = high = 1; /* the program's malloc() may allocate memory of the GPU */
	if (syscall(SYS_gettid) == getpid()) {
		find_main_bounds();
		return;
	}
	if (pthread_getattr_np(pthread_self(), &attributes) != 0)
		return;
	if (pthread_attr_getstack(&attributes, &begin, &bytes) == 0) {
		low = (uintptr_t)begin;
		high = low + bytes;
	}
	pthread_attr_destroy(&attributes);
}

static bool has_room(void)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);

	if (__builtin_expect(high == 0, 0))
		find_bounds();
	return here - low < high - low && here - low >= ROOM;
}

static struct altstack *map(void)
{
	struct altstack *none = NULL,
			*made = mmap(NULL, STACKS * sizeof(*made), PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (made == MAP_FAILED)
		return NULL;
	for (int i = 0; i < STACKS; i++)
		mprotect(&made[i], (size_t)sysconf(_SC_PAGESIZE), PROT_NONE);
	if (atomic_compare_exchange_strong(&stacks, &none, made))
		return made;
	munmap(made, STACKS * sizeof(*made)); /* another thread was faster */
	return none;
}

static struct altstack *claim(void)
{
	struct altstack *all = atomic_load(&stacks);

	if (all == NULL)
		all = map();
	for (int i = 0; all != NULL && i < STACKS; i++)
		if (!atomic_exchange(&all[i].is_claimed, true))
			return &all[i];
	return NULL;
}

void mam_altstack_call(void (*run)(void *argument), void *argument)
{
	struct altstack *stack = __builtin_expect(has_room(), 1) ? NULL : claim();

	if (__builtin_expect(stack == NULL, 1)) {
		run(argument);
		return;
	}
	mam_altstack_switch(run, argument, (void *)&stack->is_claimed);
	atomic_store(&stack->is_claimed, false);
}

/* A call that the fork interrupted goes on in the old memory, which is not used again. */
void mam_altstack_restart(void)
{
	atomic_store(&stacks, NULL);
}
