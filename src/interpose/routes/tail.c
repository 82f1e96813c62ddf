/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tail.c - dlsym() and dlvsym() as jumps.
 *
 * The C library resolves RTLD_NEXT and RTLD_DEFAULT for the object that the call returns to. If our
 * function called the real one and returned its result, that object would be this one, whichever
 * object called, and every program with a wrapper of its own would get the wrong function. So these
 * two save the caller's arguments, call C code to find the target (lookup.c), and jump there with
 * the original stack: the real function returns directly to the caller. They are assembly because a
 * compiler does not guarantee such a jump, least of all without optimization.
 */
#include "interpose/routes/lookup.h"

#if defined(__x86_64__)

/* Saved: rdi, rsi, rdx. The pushes align the stack to the 16 bytes that a call needs. */
/* clang-format off */
#define MAM_TAIL(name, target) \
	__asm__(".text\n" \
	        ".globl " name "\n" \
	        ".type " name ", @function\n" \
	        ".hidden " target "\n" \
	        ".p2align 4\n" \
	        name ":\n" \
	        "	.cfi_startproc\n" \
	        "	endbr64\n" \
	        "	pushq %rdi\n" \
	        "	.cfi_adjust_cfa_offset 8\n" \
	        "	pushq %rsi\n" \
	        "	.cfi_adjust_cfa_offset 8\n" \
	        "	pushq %rdx\n" \
	        "	.cfi_adjust_cfa_offset 8\n" \
	        "	call " target "\n" \
	        "	popq %rdx\n" \
	        "	.cfi_adjust_cfa_offset -8\n" \
	        "	popq %rsi\n" \
	        "	.cfi_adjust_cfa_offset -8\n" \
	        "	popq %rdi\n" \
	        "	.cfi_adjust_cfa_offset -8\n" \
	        "	jmp *%rax\n" \
	        "	.cfi_endproc\n" \
	        ".size " name ", . - " name "\n")
/* clang-format on */

#elif defined(__aarch64__)

/*
 * Saved: x0 to x2 and the return address. `hint 34` is a landing pad for indirect calls; a jump
 * through x16 may target it.
 */
/* clang-format off */
#define MAM_TAIL(name, target) \
	__asm__(".text\n" \
	        ".globl " name "\n" \
	        ".type " name ", %function\n" \
	        ".hidden " target "\n" \
	        ".p2align 4\n" \
	        name ":\n" \
	        "	.cfi_startproc\n" \
	        "	hint 34\n" \
	        "	stp x29, x30, [sp, #-48]!\n" \
	        "	.cfi_def_cfa_offset 48\n" \
	        "	.cfi_offset 29, -48\n" \
	        "	.cfi_offset 30, -40\n" \
	        "	mov x29, sp\n" \
	        "	stp x0, x1, [sp, #16]\n" \
	        "	str x2, [sp, #32]\n" \
	        "	bl " target "\n" \
	        "	mov x16, x0\n" \
	        "	ldp x0, x1, [sp, #16]\n" \
	        "	ldr x2, [sp, #32]\n" \
	        "	ldp x29, x30, [sp], #48\n" \
	        "	.cfi_restore 30\n" \
	        "	.cfi_restore 29\n" \
	        "	.cfi_def_cfa_offset 0\n" \
	        "	br x16\n" \
	        "	.cfi_endproc\n" \
	        ".size " name ", . - " name "\n")
/* clang-format on */

#else
#error "mam run knows x86-64 and aarch64: for another machine, add its jump here"
#endif

MAM_TAIL("dlsym", "mam_lookup_dlsym");
MAM_TAIL("dlvsym", "mam_lookup_dlvsym");
