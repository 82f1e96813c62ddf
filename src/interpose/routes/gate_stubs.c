/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate_stubs.c - the stubs of gate.h, in assembly: C cannot pass on arguments that it does not
 * declare.
 *
 * A stub loads the address of its slot and jumps to a common part:
 *   1. Save the registers of arguments, and call mam_gate_begin(), which may wait.
 *   2. Restore them. If the call is not counted, jump to the function.
 *   3. Otherwise copy the arguments on the stack, as far as any of the functions has some, call the
 *      function, then mam_gate_end(), and return the function's result.
 * Words above the arguments are copied, too: they belong to the caller, and the function ignores them.
 */
#include "interpose/routes/gate.h"
#include "interpose/routes/gate_names.h"

#if defined(__x86_64__)

/* r11 and rax hold no arguments. 10 words from 16(%rbp) upward are copied. */
/* clang-format off */
#define COMMON \
	"	.globl mam_gate_common\n" \
	"	.hidden mam_gate_common\n" \
	"	.type mam_gate_common, %function\n" \
	"	.p2align 4\n" \
	"mam_gate_common:\n" \
	"	.cfi_startproc\n" \
	"	pushq %rbp\n" \
	"	.cfi_def_cfa_offset 16\n" \
	"	.cfi_offset %rbp, -16\n" \
	"	movq %rsp, %rbp\n" \
	"	.cfi_def_cfa_register %rbp\n" \
	"	subq $64, %rsp\n" \
	"	movq %rdi, -8(%rbp)\n" \
	"	movq %rsi, -16(%rbp)\n" \
	"	movq %rdx, -24(%rbp)\n" \
	"	movq %rcx, -32(%rbp)\n" \
	"	movq %r8, -40(%rbp)\n" \
	"	movq %r9, -48(%rbp)\n" \
	"	movq %r11, %rdi\n" \
	"	call mam_gate_begin\n" \
	"	movq %rdx, %r11\n" \
	"	movq -8(%rbp), %rdi\n" \
	"	movq -16(%rbp), %rsi\n" \
	"	movq -24(%rbp), %rdx\n" \
	"	movq -32(%rbp), %rcx\n" \
	"	movq -40(%rbp), %r8\n" \
	"	movq -48(%rbp), %r9\n" \
	"	testq %r11, %r11\n" \
	"	jz 1f\n" \
	"	pushq 88(%rbp)\n" \
	"	pushq 80(%rbp)\n" \
	"	pushq 72(%rbp)\n" \
	"	pushq 64(%rbp)\n" \
	"	pushq 56(%rbp)\n" \
	"	pushq 48(%rbp)\n" \
	"	pushq 40(%rbp)\n" \
	"	pushq 32(%rbp)\n" \
	"	pushq 24(%rbp)\n" \
	"	pushq 16(%rbp)\n" \
	"	call *%rax\n" \
	"	movl %eax, -8(%rbp)\n" \
	"	call mam_gate_end\n" \
	"	movl -8(%rbp), %eax\n" \
	"	leave\n" \
	"	.cfi_remember_state\n" \
	"	.cfi_def_cfa %rsp, 8\n" \
	"	ret\n" \
	"	.cfi_restore_state\n" \
	"1:	leave\n" \
	"	.cfi_def_cfa %rsp, 8\n" \
	"	jmp *%rax\n" \
	"	.cfi_endproc\n" \
	"	.size mam_gate_common, . - mam_gate_common\n"

#define BODY \
	"	.cfi_startproc\n" \
	"	endbr64\n" \
	"	leaq mam_gate_slots + 16 * mam_gate_next(%rip), %r11\n" \
	"	jmp mam_gate_common\n" \
	"	.cfi_endproc\n"
/* clang-format on */

#elif defined(__aarch64__)

/*
 * x9 to x17 hold no arguments. 10 words are copied from above the frame of 96 bytes. `hint 34` is a
 * landing pad for indirect calls; a jump through x16 may target one.
 */
/* clang-format off */
#define COMMON \
	"	.globl mam_gate_common\n" \
	"	.hidden mam_gate_common\n" \
	"	.type mam_gate_common, %function\n" \
	"	.p2align 4\n" \
	"mam_gate_common:\n" \
	"	.cfi_startproc\n" \
	"	stp x29, x30, [sp, #-96]!\n" \
	"	.cfi_def_cfa_offset 96\n" \
	"	.cfi_offset 29, -96\n" \
	"	.cfi_offset 30, -88\n" \
	"	mov x29, sp\n" \
	"	.cfi_def_cfa_register 29\n" \
	"	stp x0, x1, [x29, #16]\n" \
	"	stp x2, x3, [x29, #32]\n" \
	"	stp x4, x5, [x29, #48]\n" \
	"	stp x6, x7, [x29, #64]\n" \
	"	str x8, [x29, #80]\n" \
	"	mov x0, x17\n" \
	"	bl mam_gate_begin\n" \
	"	mov x16, x0\n" \
	"	mov x17, x1\n" \
	"	ldp x0, x1, [x29, #16]\n" \
	"	ldp x2, x3, [x29, #32]\n" \
	"	ldp x4, x5, [x29, #48]\n" \
	"	ldp x6, x7, [x29, #64]\n" \
	"	ldr x8, [x29, #80]\n" \
	"	cbz x17, 1f\n" \
	"	sub sp, sp, #80\n" \
	"	ldp x9, x10, [x29, #96]\n" \
	"	stp x9, x10, [sp]\n" \
	"	ldp x9, x10, [x29, #112]\n" \
	"	stp x9, x10, [sp, #16]\n" \
	"	ldp x9, x10, [x29, #128]\n" \
	"	stp x9, x10, [sp, #32]\n" \
	"	ldp x9, x10, [x29, #144]\n" \
	"	stp x9, x10, [sp, #48]\n" \
	"	ldp x9, x10, [x29, #160]\n" \
	"	stp x9, x10, [sp, #64]\n" \
	"	blr x16\n" \
	"	str x0, [x29, #16]\n" \
	"	bl mam_gate_end\n" \
	"	ldr x0, [x29, #16]\n" \
	"	mov sp, x29\n" \
	"	ldp x29, x30, [sp], #96\n" \
	"	.cfi_remember_state\n" \
	"	.cfi_restore 30\n" \
	"	.cfi_restore 29\n" \
	"	.cfi_def_cfa 31, 0\n" \
	"	ret\n" \
	"	.cfi_restore_state\n" \
	"1:	ldp x29, x30, [sp], #96\n" \
	"	.cfi_restore 30\n" \
	"	.cfi_restore 29\n" \
	"	.cfi_def_cfa 31, 0\n" \
	"	br x16\n" \
	"	.cfi_endproc\n" \
	"	.size mam_gate_common, . - mam_gate_common\n"

#define BODY \
	"	.cfi_startproc\n" \
	"	hint 34\n" \
	"	adrp x17, mam_gate_slots + 16 * mam_gate_next\n" \
	"	add x17, x17, :lo12:(mam_gate_slots + 16 * mam_gate_next)\n" \
	"	b mam_gate_common\n" \
	"	.cfi_endproc\n"
/* clang-format on */

#else
#error "mam run supports x86-64 and aarch64: add a stub for this machine here"
#endif

_Static_assert(sizeof(struct mam_gate_slot) == 16, "the stubs compute its address");
_Static_assert(MAM_GATE_STACK_WORDS == 10, "the stubs copy as many");
_Static_assert(MAM_GATE_LOOKUPS == 512 && MAM_GATE_STRIDE == 32, "as below");

/* The slots of names come first, in their order (gate.c). */
/* clang-format off */
#define NAMED(name) \
	"	.globl " #name "\n" \
	"	.type " #name ", %function\n" \
	"	.p2align 4\n" \
	#name ":\n" \
	BODY \
	"	.size " #name ", . - " #name "\n" \
	"	.set mam_gate_next, mam_gate_next + 1\n"

__asm__(".text\n"
	".hidden mam_gate_slots, mam_gate_begin, mam_gate_end\n"
	".set mam_gate_next, 0\n"
	COMMON
	MAM_GATE_NAMES(NAMED)
	"	.globl mam_gate_stubs\n"
	"	.hidden mam_gate_stubs\n"
	"	.p2align 5\n"
	"mam_gate_stubs:\n"
	"	.rept 512\n"
	"	.p2align 5\n"
	BODY
	"	.set mam_gate_next, mam_gate_next + 1\n"
	"	.endr\n");
/* clang-format on */
