/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thunk.h - entry points that record that a program got the function from cuGetProcAddress().
 *
 * A thunk sets a flag of the thread and jumps to the hook, which has the same arguments, on the
 * stack too. The hook reads and clears the flag before it calls anything else. Assembly, because a
 * C function cannot pass on arguments that it does not declare.
 */
#ifndef MAM_INTERPOSE_THUNK_H
#define MAM_INTERPOSE_THUNK_H

#include <stdbool.h>

/* thread */
extern __thread bool mam_thunk_flag
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* True in a hook that a thunk called. For one use per call. */
static inline bool mam_thunk_take(void)
{
	bool taken = mam_thunk_flag;

	if (taken)
		mam_thunk_flag = false;
	return taken;
}

#if defined(__x86_64__)

/* r11 holds no argument. */
#define MAM_THUNK_BODY(target)                        \
	"	endbr64\n"                                  \
	"	movq mam_thunk_flag@gottpoff(%rip), %r11\n" \
	"	movb $1, %fs:(%r11)\n"                      \
	"	jmp " target "\n"

#elif defined(__aarch64__)

/* x9, x16 and x17 hold no arguments. `hint 34` is a landing pad for indirect calls. */
/* clang-format off */
#define MAM_THUNK_BODY(target) \
	"	hint 34\n" \
	"	mrs x16, tpidr_el0\n" \
	"	adrp x17, :gottprel:mam_thunk_flag\n" \
	"	ldr x17, [x17, #:gottprel_lo12:mam_thunk_flag]\n" \
	"	mov w9, #1\n" \
	"	strb w9, [x16, x17]\n" \
	"	b " target "\n"
/* clang-format on */

#else
#error "mam run supports x86-64 and aarch64: add a thunk for this machine here"
#endif

/*
 * Defines mam_thunk_<name>, after the hook in the same file. Its target is an alias, because another
 * preloaded object may define the hook's exported name as well.
 */
/* clang-format off */
#define MAM_THUNK(name) \
	extern __typeof__(name) mam_hook_##name \
		__attribute__((alias(#name), visibility("hidden"))); \
	__asm__(".text\n" \
	        ".globl mam_thunk_" #name "\n" \
	        ".hidden mam_thunk_" #name "\n" \
	        ".type mam_thunk_" #name ", %function\n" \
	        ".p2align 4\n" \
	        "mam_thunk_" #name ":\n" \
	        "	.cfi_startproc\n" \
	        MAM_THUNK_BODY("mam_hook_" #name) \
	        "	.cfi_endproc\n" \
	        ".size mam_thunk_" #name ", . - mam_thunk_" #name "\n")
/* clang-format on */

#endif
